"""The loop that one would write by hand on the SDKs, as their documentation shows it.

`create(...)` with the history as a list of dicts, arguments through pydantic, the calls of a turn by `asyncio.gather`.
It bounds nothing, explains no error and tells nobody what happens: it is the least that answers.
"""

from __future__ import annotations

import asyncio
import inspect
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple


class Called(NamedTuple):
    """A call that the model asks for."""

    id: str
    name: str
    arguments: Any  # JSON text; from Claude at once, what was parsed of it


class Known(NamedTuple):
    """A tool: the function, pydantic's validator that also calls it, and what the model is told."""

    function: Callable[..., Any]
    validator: Any
    schema: dict[str, Any]
    description: str


def patient() -> Any:
    """Time to connect. The SDKs' own five seconds fail most of a thousand runs at once, which then cost nothing."""
    from httpx2 import Timeout

    return Timeout(600, connect=300)


class ByHand(ABC):
    """A loop on an SDK's own client.

    Attributes:
        client: the SDK's.
        pieces: of words and arguments that streams have given so far.
    """

    def __init__(self, url: str, tools: Sequence[tuple[Callable[..., Any], Any, dict[str, Any], str]]) -> None:
        from pydantic_core import to_json

        self._to_json = to_json
        known = [Known(*tool) for tool in tools]
        self._known = {tool.function.__name__: tool for tool in known}
        self._asked = self.asked([(tool.function.__name__, tool.description, tool.schema) for tool in known])
        self.client = self.made(url)
        self.pieces = 0

    @abstractmethod
    def made(self, url: str) -> Any:
        """The SDK's client."""

    @abstractmethod
    def asked(self, tools: Sequence[tuple[str, str, dict[str, Any]]]) -> dict[str, Any]:
        """What is the same in each request."""

    @abstractmethod
    async def turn(self, history: list[Any]) -> tuple[str, list[Called]]:
        """Ask once; the words, or the calls. Puts the answer into the history."""

    @abstractmethod
    async def streamed_turn(self, history: list[Any]) -> tuple[str, list[Called]]:
        """The same, of a stream."""

    @abstractmethod
    def add(self, history: list[Any], results: Sequence[tuple[str, str]]) -> None:
        """Put results into the history."""

    def put(self, history: list[Any], message: dict[str, Any]) -> None:
        """Add a message."""
        history.append(message)

    async def run(self, prompt: str, *, stream: bool) -> str:
        history: list[Any] = []
        self.put(history, {"role": "user", "content": prompt})
        ask = self.streamed_turn if stream else self.turn
        while True:
            words, calls = await ask(history)
            if not calls:
                return words
            made = [self._call(call) for call in calls]
            results = [await made[0]] if len(made) == 1 else await asyncio.gather(*made)
            self.add(history, [(call.id, result) for call, result in zip(calls, results, strict=True)])

    async def _call(self, call: Called) -> str:
        validator = self._known[call.name].validator
        text = isinstance(call.arguments, str)
        result = validator.validate_json(call.arguments) if text else validator.validate_python(call.arguments)
        if inspect.isawaitable(result):
            result = await result
        return result if isinstance(result, str) else self._to_json(result).decode()


class OpenAIByHand(ByHand):
    def made(self, url: str) -> Any:
        from openai import AsyncOpenAI

        return AsyncOpenAI(base_url=url, api_key="k", max_retries=0, timeout=patient())


class ChatByHand(OpenAIByHand):
    def asked(self, tools: Sequence[tuple[str, str, dict[str, Any]]]) -> dict[str, Any]:
        made = [{"name": name, "description": words, "parameters": schema} for name, words, schema in tools]
        return {"model": "gpt-4.1", "tools": [{"type": "function", "function": function} for function in made]}

    async def turn(self, history: list[Any]) -> tuple[str, list[Called]]:
        answer = await self.client.chat.completions.create(messages=history, **self._asked)
        message = answer.choices[0].message
        calls = [Called(c.id, c.function.name, c.function.arguments) for c in message.tool_calls or ()]
        self._keep(history, message.content, calls)
        return message.content or "", calls

    async def streamed_turn(self, history: list[Any]) -> tuple[str, list[Called]]:
        more = {"stream": True, "stream_options": {"include_usage": True}}
        words: list[str] = []
        made: dict[int, tuple[str, str, list[str]]] = {}
        async for chunk in await self.client.chat.completions.create(messages=history, **self._asked, **more):
            if not chunk.choices:
                continue
            delta = chunk.choices[0].delta
            if delta.content:
                words.append(delta.content)
                self.pieces += 1
            for piece in delta.tool_calls or ():
                _, _, pieces = made.setdefault(piece.index, (piece.id, piece.function.name, []))
                pieces.append(piece.function.arguments or "")
                self.pieces += 1
        calls = [Called(label, name, "".join(pieces)) for label, name, pieces in made.values()]
        self._keep(history, "".join(words), calls)
        return "".join(words), calls

    def _keep(self, history: list[Any], words: str | None, calls: Sequence[Called]) -> None:
        entries = [
            {"id": c.id, "type": "function", "function": {"name": c.name, "arguments": c.arguments}} for c in calls
        ]
        self.put(history, {"role": "assistant", "content": words, **({"tool_calls": entries} if entries else {})})

    def add(self, history: list[Any], results: Sequence[tuple[str, str]]) -> None:
        for label, text in results:
            self.put(history, {"role": "tool", "tool_call_id": label, "content": text})


class ResponsesByHand(OpenAIByHand):
    def asked(self, tools: Sequence[tuple[str, str, dict[str, Any]]]) -> dict[str, Any]:
        same = {"type": "function", "strict": False}
        made = [{**same, "name": name, "description": words, "parameters": schema} for name, words, schema in tools]
        return {"model": "gpt-4.1", "tools": made}

    async def turn(self, history: list[Any]) -> tuple[str, list[Called]]:
        answer = await self.client.responses.create(input=history, **self._asked)
        return answer.output_text, self._keep(history, answer.output)

    async def streamed_turn(self, history: list[Any]) -> tuple[str, list[Called]]:
        words: list[str] = []
        items: list[Any] = []
        async for event in await self.client.responses.create(input=history, stream=True, **self._asked):
            if event.type == "response.output_text.delta":
                words.append(event.delta)
                self.pieces += 1
            elif event.type == "response.function_call_arguments.delta":
                self.pieces += 1
            elif event.type == "response.output_item.done":
                items.append(event.item)
        return "".join(words), self._keep(history, items)

    def _keep(self, history: list[Any], items: Sequence[Any]) -> list[Called]:
        calls = [Called(item.call_id, item.name, item.arguments) for item in items if item.type == "function_call"]
        for c in calls:
            self.put(history, {"type": "function_call", "call_id": c.id, "name": c.name, "arguments": c.arguments})
        return calls

    def add(self, history: list[Any], results: Sequence[tuple[str, str]]) -> None:
        for label, text in results:
            self.put(history, {"type": "function_call_output", "call_id": label, "output": text})


class MessagesByHand(ByHand):
    def made(self, url: str) -> Any:
        from anthropic import AsyncAnthropic

        return AsyncAnthropic(base_url=url, api_key="k", max_retries=0, timeout=patient())

    def asked(self, tools: Sequence[tuple[str, str, dict[str, Any]]]) -> dict[str, Any]:
        made = [{"name": name, "description": words, "input_schema": schema} for name, words, schema in tools]
        return {"model": "claude-sonnet-4-6", "max_tokens": 4096, "tools": made}

    async def turn(self, history: list[Any]) -> tuple[str, list[Called]]:
        answer = await self.client.messages.create(messages=history, **self._asked)
        words = "".join(b.text for b in answer.content if b.type == "text")
        uses = [Called(b.id, b.name, b.input) for b in answer.content if b.type == "tool_use"]
        self._keep(history, words, uses)
        return words, uses

    async def streamed_turn(self, history: list[Any]) -> tuple[str, list[Called]]:
        words: list[str] = []
        made: dict[int, tuple[str, str, list[str]]] = {}
        async for event in await self.client.messages.create(messages=history, stream=True, **self._asked):
            if event.type == "content_block_start" and event.content_block.type == "tool_use":
                made[event.index] = (event.content_block.id, event.content_block.name, [])
            elif event.type == "content_block_delta":
                self.pieces += 1
                if event.delta.type == "text_delta":
                    words.append(event.delta.text)
                elif event.delta.type == "input_json_delta":
                    made[event.index][2].append(event.delta.partial_json)
        uses = [Called(label, name, json.loads("".join(pieces))) for label, name, pieces in made.values()]
        self._keep(history, "".join(words), uses)
        return "".join(words), uses

    def _keep(self, history: list[Any], words: str, uses: Sequence[Called]) -> None:
        blocks: list[Any] = [{"type": "text", "text": words}] if words else []
        blocks += [{"type": "tool_use", "id": c.id, "name": c.name, "input": c.arguments} for c in uses]
        self.put(history, {"role": "assistant", "content": blocks})

    def add(self, history: list[Any], results: Sequence[tuple[str, str]]) -> None:
        blocks = [{"type": "tool_result", "tool_use_id": label, "content": text} for label, text in results]
        self.put(history, {"role": "user", "content": blocks})


BY_HAND: dict[str, type[ByHand]] = {"chat": ChatByHand, "resp": ResponsesByHand, "ant": MessagesByHand}
