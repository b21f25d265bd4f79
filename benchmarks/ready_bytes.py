"""How little a loop on the SDKs' clients can cost: ready bytes in, ready bytes out, and nothing else.

The loop of `by_hand.py`, but each message is written as JSON once, when it is added; a request is these bytes joined
and handed to the client's own `post`; an answer is parsed into plain dicts, a stream is cut into events from its bytes.
What toolsmith costs above this is its limits, checks, messages, events and records.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

from by_hand import ByHand, Called, ChatByHand, MessagesByHand, ResponsesByHand, patient


class OnBytes(ByHand):
    """A loop on an SDK's client that never builds one of the SDK's models."""

    PATH, LIST = "", b'"messages":'
    STREAMS = b',"stream":true'

    def __init__(self, url: str, tools: Sequence[tuple[Callable[..., Any], Any, dict[str, Any], str]]) -> None:
        super().__init__(url, tools)
        from httpx2 import Response
        from pydantic_core import from_json

        self._from_json, self._response = from_json, Response
        self._head = self._to_json(self._asked)[:-1]

    def put(self, history: list[Any], message: dict[str, Any]) -> None:
        history.append(self._to_json(message))

    def _body(self, history: list[bytes], more: bytes = b"") -> bytes:
        return b"".join((self._head, more, b",", self.LIST, b"[", b",".join(history), b"]}"))

    async def _answer(self, history: list[bytes]) -> Any:
        response = await self.client.post(self.PATH, content=self._body(history), cast_to=self._response)
        return self._from_json(response.content)

    async def _events(self, history: list[bytes]) -> AsyncIterator[Any]:
        response = await self.client.post(
            self.PATH,
            content=self._body(history, self.STREAMS),
            cast_to=self._response,
            options={"headers": {"X-Stainless-Raw-Response": "stream"}},
            stream=True,
            stream_cls=self.stream_class(),
        )
        rest = b""
        async for chunk in getattr(response, "http_response", response).aiter_bytes():
            *whole, rest = (rest + chunk).split(b"\n\n")
            for event in whole:
                data = event.partition(b"data: ")[2]
                if data.startswith(b"{"):
                    yield self._from_json(data)

    def stream_class(self) -> Any:
        from openai import AsyncStream

        return AsyncStream[dict[str, Any]]


class OnOpenAI(OnBytes):
    def made(self, url: str) -> Any:
        from openai import AsyncOpenAI, DefaultAioHttpClient

        client = DefaultAioHttpClient(timeout=patient())
        return AsyncOpenAI(base_url=url, api_key="k", max_retries=0, http_client=client)


class ChatOnBytes(OnOpenAI, ChatByHand):
    PATH, STREAMS = "/chat/completions", b',"stream":true,"stream_options":{"include_usage":true}'

    async def turn(self, history: list[Any]) -> tuple[str, list[Called]]:
        message = (await self._answer(history))["choices"][0]["message"]
        calls = [
            Called(c["id"], c["function"]["name"], c["function"]["arguments"]) for c in message.get("tool_calls") or ()
        ]
        self._keep(history, message["content"], calls)
        return message["content"] or "", calls

    async def streamed_turn(self, history: list[Any]) -> tuple[str, list[Called]]:
        words: list[str] = []
        made: dict[int, tuple[str, str, list[str]]] = {}
        async for chunk in self._events(history):
            if not chunk["choices"]:
                continue
            delta = chunk["choices"][0]["delta"]
            if text := delta.get("content"):
                words.append(text)
                self.pieces += 1
            for piece in delta.get("tool_calls") or ():
                function = piece["function"]
                _, _, pieces = made.setdefault(piece["index"], (piece.get("id"), function.get("name"), []))
                pieces.append(function["arguments"])
                self.pieces += 1
        calls = [Called(label, name, "".join(pieces)) for label, name, pieces in made.values()]
        self._keep(history, "".join(words), calls)
        return "".join(words), calls


class ResponsesOnBytes(OnOpenAI, ResponsesByHand):
    PATH, LIST = "/responses", b'"input":'

    async def turn(self, history: list[Any]) -> tuple[str, list[Called]]:
        output = (await self._answer(history))["output"]
        words = "".join(part["text"] for item in output if item["type"] == "message" for part in item["content"])
        return words, self._kept(history, output)

    async def streamed_turn(self, history: list[Any]) -> tuple[str, list[Called]]:
        words: list[str] = []
        items: list[Any] = []
        async for event in self._events(history):
            kind = event["type"]
            if kind == "response.output_text.delta":
                words.append(event["delta"])
                self.pieces += 1
            elif kind == "response.function_call_arguments.delta":
                self.pieces += 1
            elif kind == "response.output_item.done":
                items.append(event["item"])
        return "".join(words), self._kept(history, items)

    def _kept(self, history: list[Any], items: Sequence[Any]) -> list[Called]:
        wanted = [item for item in items if item["type"] == "function_call"]
        for item in wanted:
            self.put(history, item)
        return [Called(item["call_id"], item["name"], item["arguments"]) for item in wanted]


class MessagesOnBytes(OnBytes, MessagesByHand):
    PATH = "/v1/messages"

    def made(self, url: str) -> Any:
        from anthropic import AsyncAnthropic, DefaultAioHttpClient

        client = DefaultAioHttpClient(timeout=patient())
        return AsyncAnthropic(base_url=url, api_key="k", max_retries=0, http_client=client)

    def stream_class(self) -> Any:
        from anthropic import AsyncStream

        return AsyncStream[dict[str, Any]]

    async def turn(self, history: list[Any]) -> tuple[str, list[Called]]:
        content = (await self._answer(history))["content"]
        words = "".join(block["text"] for block in content if block["type"] == "text")
        uses = [Called(b["id"], b["name"], b["input"]) for b in content if b["type"] == "tool_use"]
        self.put(history, {"role": "assistant", "content": content})
        return words, uses

    async def streamed_turn(self, history: list[Any]) -> tuple[str, list[Called]]:
        words: list[str] = []
        made: dict[int, tuple[str, str, list[str]]] = {}
        async for event in self._events(history):
            kind = event["type"]
            if kind == "content_block_start" and event["content_block"]["type"] == "tool_use":
                made[event["index"]] = (event["content_block"]["id"], event["content_block"]["name"], [])
            elif kind == "content_block_delta":
                self.pieces += 1
                delta = event["delta"]
                if delta["type"] == "text_delta":
                    words.append(delta["text"])
                elif delta["type"] == "input_json_delta":
                    made[event["index"]][2].append(delta["partial_json"])
        uses = [Called(label, name, self._from_json("".join(p))) for label, name, p in made.values()]
        self._keep(history, "".join(words), uses)
        return "".join(words), uses


SKETCHES: dict[str, type[OnBytes]] = {"chat": ChatOnBytes, "resp": ResponsesOnBytes, "ant": MessagesOnBytes}
