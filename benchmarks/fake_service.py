"""A service for the benchmarks: answers Messages, Responses and Chat Completions from a plan in the user's prompt.

    PLAN turns=5 calls=4 deltas=1 size=0

It calls the tool `lookup` `calls` times in each of `turns` turns (`size` characters of text among the arguments), and
then answers with `deltas` words. The turn is read from the number of results in the request, so the service keeps no
state. It runs in a process of its own, so that what is measured is the client alone:

    with FakeService(faults=0.05) as service:
        service.url("anthropic")

`faults` is the share of the requests that go wrong: HTTP errors, pages of proxies, connections that end too early.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any, Self

PLAN = re.compile(rb"PLAN turns=(\d+) calls=(\d+) deltas=(\d+) size=(\d+)")
RESULT = re.compile(rb'"(?:role": ?"tool|type": ?"function_call_output|type": ?"tool_result)"')
LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)
PIECE = 20
APIS = ("anthropic", "openai", "openai-chat")


class FakeService:
    """The service, in a process of its own, for the length of a `with` block."""

    def __init__(self, *, faults: float = 0.0, seed: int = 1) -> None:
        self._arguments = [f"--faults={faults}", f"--seed={seed}"]
        self._process: subprocess.Popen[str] | None = None
        self.port = 0

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def url(self, api: str) -> str:
        """The base URL for the SDK client of that API."""
        return f"http://127.0.0.1:{self.port}" + ("" if api == "anthropic" else "/v1")

    def __enter__(self) -> Self:
        command = [sys.executable, __file__, *self._arguments]
        # Ctrl-C does not reach it: the end of its input ends it in any case.
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
        )
        assert self._process.stdout is not None
        self.port = int(self._process.stdout.readline())
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process is not None
        self._process.communicate()  # the end of its input ends it


# ---- what it says


def dumps(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


def calls_of(turn: int, calls: int, size: int) -> list[tuple[str, str]]:
    """The ids and arguments of one turn."""
    filler = {"note": ("lorem ipsum dolor sit amet " * (size // 27 + 1))[:size]} if size else {}
    return [(f"{turn:04d}{n:04d}", dumps({"key": f"{turn}/{n}", "number": n, **filler})) for n in range(calls)]


def chat(turn: int, calls: Sequence[tuple[str, str]], words: Sequence[str]) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": None if calls else "".join(words), "refusal": None}
    if calls:
        message["tool_calls"] = [
            {"id": f"call_{i}", "type": "function", "function": {"name": "lookup", "arguments": a}} for i, a in calls
        ]
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "tool_calls" if calls else "stop"}
    usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
    return {**_chat_head(turn, "chat.completion"), "choices": [choice], "usage": usage}


def chat_events(turn: int, calls: Sequence[tuple[str, str]], words: Sequence[str]) -> Iterator[str]:
    head = _chat_head(turn, "chat.completion.chunk")

    def chunk(delta: dict[str, Any], finish: str | None = None) -> str:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return f"data: {dumps({**head, 'choices': [choice], 'usage': None})}\n\n"

    yield chunk({"role": "assistant", "content": "", "refusal": None})
    for number, (label, arguments) in enumerate(calls):
        function = {"name": "lookup", "arguments": ""}
        call = {"index": number, "id": f"call_{label}", "type": "function", "function": function}
        yield chunk({"tool_calls": [call]})
        for piece in pieces(arguments):
            yield chunk({"tool_calls": [{"index": number, "function": {"arguments": piece}}]})
    for word in () if calls else words:
        yield chunk({"content": word})
    yield chunk({}, "tool_calls" if calls else "stop")
    usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
    yield f"data: {dumps({**head, 'choices': [], 'usage': usage})}\n\n"
    yield "data: [DONE]\n\n"


def _chat_head(turn: int, kind: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{turn:04d}", "object": kind, "created": 1_790_000_000, "model": "m"}


def responses(turn: int, calls: Sequence[tuple[str, str]], words: Sequence[str]) -> dict[str, Any]:
    return _response(turn, "completed", _items(turn, calls, words))


def responses_events(turn: int, calls: Sequence[tuple[str, str]], words: Sequence[str]) -> Iterator[str]:
    number = -1

    def event(kind: str, **more: Any) -> str:
        nonlocal number
        number += 1
        return f"event: {kind}\ndata: {dumps({'type': kind, 'sequence_number': number, **more})}\n\n"

    items = _items(turn, calls, words)
    yield event("response.created", response=_response(turn, "in_progress", []))
    for index, item in enumerate(items):
        at = {"output_index": index, "item_id": item["id"]}
        if item["type"] == "function_call":
            yield event("response.output_item.added", output_index=index, item={**item, "arguments": ""})
            for piece in pieces(item["arguments"]):
                yield event("response.function_call_arguments.delta", **at, delta=piece)
            yield event("response.function_call_arguments.done", **at, arguments=item["arguments"])
        else:
            at["content_index"] = 0
            yield event("response.output_item.added", output_index=index, item={**item, "content": []})
            yield event("response.content_part.added", **at, part={**item["content"][0], "text": ""})
            for word in words:
                yield event("response.output_text.delta", **at, delta=word, logprobs=[])
            yield event("response.output_text.done", **at, text="".join(words), logprobs=[])
        yield event("response.output_item.done", output_index=index, item=item)
    yield event("response.completed", response=_response(turn, "completed", items))


def _items(turn: int, calls: Sequence[tuple[str, str]], words: Sequence[str]) -> list[dict[str, Any]]:
    if calls:
        same = {"type": "function_call", "name": "lookup", "status": "completed"}
        return [{**same, "id": f"fc_{i}", "call_id": f"call_{i}", "arguments": a} for i, a in calls]
    content: dict[str, Any] = {"type": "output_text", "text": "".join(words), "annotations": [], "logprobs": []}
    return [
        {"type": "message", "id": f"msg_{turn:04d}", "status": "completed", "role": "assistant", "content": [content]}
    ]


def _response(turn: int, status: str, items: list[dict[str, Any]]) -> dict[str, Any]:
    usage = {
        "input_tokens": 100,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": 20,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 120,
    }
    return {
        "id": f"resp_{turn:04d}",
        "object": "response",
        "created_at": 1_790_000_000,
        "status": status,
        "error": None,
        "incomplete_details": None,
        "model": "m",
        "output": items,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": usage,
    }


def messages(turn: int, calls: Sequence[tuple[str, str]], words: Sequence[str]) -> dict[str, Any]:
    stop = "tool_use" if calls else "end_turn"
    return {**_message(turn), "content": _blocks(calls, words), "stop_reason": stop}


def messages_events(turn: int, calls: Sequence[tuple[str, str]], words: Sequence[str]) -> Iterator[str]:
    def event(kind: str, **more: Any) -> str:
        return f"event: {kind}\ndata: {dumps({'type': kind, **more})}\n\n"

    yield event("message_start", message=_message(turn))
    for index, block in enumerate(_blocks(calls, words)):
        if calls:
            yield event("content_block_start", index=index, content_block={**block, "input": {}})
            deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces(calls[index][1])]
        else:
            yield event("content_block_start", index=index, content_block={"type": "text", "text": ""})
            deltas = [{"type": "text_delta", "text": word} for word in words]
        for delta in deltas:
            yield event("content_block_delta", index=index, delta=delta)
        yield event("content_block_stop", index=index)
    ending = {"stop_reason": "tool_use" if calls else "end_turn", "stop_sequence": None}
    yield event("message_delta", delta=ending, usage={"output_tokens": 20})
    yield event("message_stop")


def _message(turn: int) -> dict[str, Any]:
    return {
        "id": f"msg_{turn:04d}",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 100, "output_tokens": 20},
    }


def _blocks(calls: Sequence[tuple[str, str]], words: Sequence[str]) -> list[dict[str, Any]]:
    if calls:
        return [{"type": "tool_use", "id": f"toolu_{i}", "name": "lookup", "input": json.loads(a)} for i, a in calls]
    return [{"type": "text", "text": "".join(words)}]


def pieces(text: str) -> list[str]:
    return [text[i : i + PIECE] for i in range(0, len(text), PIECE)]


Speaker = tuple[Callable[..., dict[str, Any]], Callable[..., Iterator[str]]]
SPEAKERS: dict[bytes, Speaker] = {
    b"/v1/messages": (messages, messages_events),
    b"/v1/responses": (responses, responses_events),
    b"/v1/chat/completions": (chat, chat_events),
}


@lru_cache(maxsize=4096)
def answer(path: bytes, plan: tuple[int, int, int, int], turn: int, *, stream: bool) -> bytes:
    """The whole HTTP answer, made once."""
    turns, calls, deltas, size = plan
    made = calls_of(turn, calls, size) if turn < turns else []
    whole, events = SPEAKERS[path]
    if not stream:
        return http(200, dumps(whole(turn, made, ["word "] * deltas)).encode())
    parts = [b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"]
    for event in events(turn, made, ["word "] * deltas):
        data = event.encode()
        parts.append(b"%x\r\n%b\r\n" % (len(data), data))
    return b"".join([*parts, b"0\r\n\r\n"])


def http(status: int, body: bytes, *more: bytes, kind: bytes = b"application/json") -> bytes:
    head = [b"HTTP/1.1 %d X" % status, b"content-type: " + kind, b"content-length: %d" % len(body), *more]
    return b"\r\n".join(head) + b"\r\n\r\n" + body


# ---- how it goes wrong


def broken(whole: bytes, chance: random.Random) -> tuple[bytes, bool]:
    """What is sent instead of an answer, and whether the connection stays."""
    error = b'{"type":"error","error":{"type":"api_error","message":"Oh","code":null}}'
    match chance.randrange(7):
        case 0:
            return http(500, error), True
        case 1:
            return http(529, error.replace(b"api_error", b"overloaded_error")), True
        case 2:
            return http(429, error.replace(b"api_error", b"rate_limit_error"), b"retry-after: 0"), True
        case 3:
            return http(502, b"<html><body>Bad gateway</body></html>", kind=b"text/html"), True
        case 4:
            return b"", False
        case 5:
            return whole[: chance.randrange(len(whole))], False
        case _:
            return http(200, b"<html><body>Sign in</body></html>", kind=b"text/html"), True


class Connection(asyncio.Protocol):
    """One client's connection; requests come one after the other."""

    def __init__(self, faults: float, chance: random.Random) -> None:
        self._faults, self._chance = faults, chance
        self._held = bytearray()
        self._missing = 0
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._held += data
        while len(self._held) >= self._missing:
            end = self._held.find(b"\r\n\r\n")
            if end < 0:
                return
            length = LENGTH.search(self._held, 0, end)
            self._missing = end + 4 + (int(length[1]) if length else 0)
            if len(self._held) < self._missing:
                return
            self._respond(bytes(self._held[:end]), bytes(self._held[end + 4 : self._missing]))
            del self._held[: self._missing]
            self._missing = 0
            if not self._held:
                return

    def _respond(self, head: bytes, body: bytes) -> None:
        assert self._transport is not None
        path = head.split(b" ", 2)[1].partition(b"?")[0]
        plan = PLAN.search(body)
        assert plan is not None, "no plan in the prompt"
        turns, calls, deltas, size = (int(n) for n in plan.groups())
        turn = len(RESULT.findall(body)) // max(calls, 1)
        stream = b'"stream":true' in body or b'"stream": true' in body
        whole = answer(path, (turns, calls, deltas, size), turn, stream=stream)
        stays = True
        if self._faults and self._chance.random() < self._faults:
            whole, stays = broken(whole, self._chance)
        self._transport.write(whole)
        if not stays:
            self._transport.close()


async def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--faults", type=float, default=0.0)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    chance = random.Random(options.seed)
    loop = asyncio.get_running_loop()
    made = await loop.create_server(lambda: Connection(options.faults, chance), "127.0.0.1", 0, backlog=2048)
    print(made.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)
    made.close()


if __name__ == "__main__":
    asyncio.run(main())
