"""One answer in the bytes of each API, at once and streamed, written from the SDKs' types: what provider tests read.

answer = Answer([Thought("hm"), Words("Hello"), Call("c1", "add", {"a": 1})])
at_once("openai", answer); streamed("openai", answer, size=3)
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st


@dataclass(frozen=True)
class Words:
    text: str


@dataclass(frozen=True)
class Thought:
    text: str


@dataclass(frozen=True)
class Call:
    id: str
    name: str
    arguments: Mapping[str, Any]

    @property
    def text(self) -> str:
        return compact(self.arguments)


Piece = Words | Thought | Call


@dataclass(frozen=True)
class Answer:
    pieces: Sequence[Piece]
    stop: str | None = None  # the API's own word; None for what follows from the pieces
    usage: tuple[int, int] = (11, 7)
    more: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def calls(self) -> list[Call]:
        return [p for p in self.pieces if isinstance(p, Call)]


def compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def cut(text: str, size: int) -> list[str]:
    return [text[i : i + size] for i in range(0, len(text), size)]


def event(data: object, name: str | None = None) -> bytes:
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {data if isinstance(data, str) else compact(data)}\n\n".encode()


def at_once(api: str, answer: Answer) -> bytes:
    build = {"anthropic": claude_message, "openai": openai_response, "openai-chat": chat_completion}[api]
    return compact(build(answer)).encode()


def streamed(api: str, answer: Answer, *, size: int = 5) -> bytes:
    build = {"anthropic": claude_events, "openai": openai_events, "openai-chat": chat_events}[api]
    return b"".join(build(answer, size))


# --- Claude


def claude_message(answer: Answer) -> dict[str, Any]:
    blocks: list[dict[str, Any]] = []
    for piece in answer.pieces:
        match piece:
            case Words(text):
                blocks.append({"type": "text", "text": text})
            case Thought(text):
                blocks.append({"type": "thinking", "thinking": text, "signature": "c2ln"})
            case Call(call_id, name, arguments):
                blocks.append({"type": "tool_use", "id": call_id, "name": name, "input": dict(arguments)})
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-opus-5-5",
        "content": blocks,
        "stop_reason": answer.stop or ("tool_use" if answer.calls else "end_turn"),
        "stop_sequence": None,
        "usage": {"input_tokens": answer.usage[0], "output_tokens": answer.usage[1]},
        **answer.more,
    }


def claude_events(answer: Answer, size: int) -> Iterator[bytes]:
    whole = claude_message(answer)
    start: dict[str, Any] = {
        **whole,
        "content": [],
        "stop_reason": None,
        "usage": {**whole["usage"], "output_tokens": 1},
    }
    yield event({"type": "message_start", "message": start}, "message_start")
    yield event({"type": "ping"}, "ping")
    for index, block in enumerate(whole["content"]):
        yield from _claude_block(index, block, size)
    delta = {key: whole[key] for key in ("stop_reason", "stop_sequence", "stop_details") if key in whole}
    usage = {"output_tokens": whole["usage"]["output_tokens"]}
    yield event({"type": "message_delta", "delta": delta, "usage": usage}, "message_delta")
    yield event({"type": "message_stop"}, "message_stop")


def _claude_block(index: int, block: dict[str, Any], size: int) -> Iterator[bytes]:
    def say(kind: str, **more: object) -> bytes:
        return event({"type": kind, "index": index, **more}, kind)

    start: dict[str, Any]
    match block["type"]:
        case "text":
            start, deltas = {**block, "text": ""}, [("text_delta", "text", t) for t in cut(block["text"], size)]
        case "thinking":
            start = {**block, "thinking": "", "signature": ""}
            deltas = [("thinking_delta", "thinking", t) for t in cut(block["thinking"], size)]
            deltas.append(("signature_delta", "signature", block["signature"]))
        case "tool_use":
            start = {**block, "input": {}}
            text = compact(block["input"]) if block["input"] else ""
            deltas = [("input_json_delta", "partial_json", t) for t in ["", *cut(text, size)]]
        case _:
            start, deltas = block, []
    yield say("content_block_start", content_block=start)
    for kind, key, text in deltas:
        yield say("content_block_delta", delta={"type": kind, key: text})
    yield say("content_block_stop")


# --- OpenAI Responses


def openai_response(answer: Answer) -> dict[str, Any]:
    items: list[dict[str, Any]] = []
    for number, piece in enumerate(answer.pieces):
        match piece:
            case Words(text):
                content: dict[str, Any] = {"type": "output_text", "text": text, "annotations": []}
                items.append(
                    {
                        "id": f"msg_{number}",
                        "type": "message",
                        "role": "assistant",
                        "status": "completed",
                        "content": [content],
                        "phase": "final_answer",
                    }
                )
            case Thought(text):
                summary = [{"type": "summary_text", "text": text}]
                items.append(
                    {"id": f"rs_{number}", "type": "reasoning", "summary": summary, "encrypted_content": "whole"}
                )
            case Call(call_id, name, _):
                items.append(
                    {
                        "id": f"fc_{number}",
                        "type": "function_call",
                        "call_id": call_id,
                        "name": name,
                        "arguments": piece.text,
                        "status": "completed",
                    }
                )
    return {
        "id": "resp_1",
        "object": "response",
        "status": answer.stop or "completed",
        "model": "gpt-6-astra",
        "output": items,
        "error": None,
        "incomplete_details": None,
        "usage": {"input_tokens": answer.usage[0], "output_tokens": answer.usage[1]},
        **answer.more,
    }


def openai_events(answer: Answer, size: int) -> Iterator[bytes]:
    whole = openai_response(answer)
    begun: dict[str, Any] = {**whole, "status": "in_progress", "output": [], "usage": None}
    yield event({"type": "response.created", "response": begun}, "response.created")
    for index, item in enumerate(whole["output"]):
        yield from _openai_item(index, item, size)
    kind = f"response.{whole['status']}"
    yield event({"type": kind, "response": whole}, kind)


def _openai_item(index: int, item: dict[str, Any], size: int) -> Iterator[bytes]:
    at = {"output_index": index, "item_id": item["id"]}

    def say(kind: str, **more: object) -> bytes:
        return event({"type": f"response.{kind}", **at, **more}, f"response.{kind}")

    match item["type"]:
        case "message":
            yield say("output_item.added", item={**item, "content": []})
            for text in cut(item["content"][0]["text"], size):
                yield say("output_text.delta", content_index=0, delta=text)
        case "reasoning":
            yield say("output_item.added", item={**item, "summary": [], "encrypted_content": "wh"})
            yield say("reasoning_summary_part.added", summary_index=0)
            for text in cut(item["summary"][0]["text"], size):
                yield say("reasoning_summary_text.delta", summary_index=0, delta=text)
        case _:
            yield say("output_item.added", item={**item, "arguments": ""})
            for text in cut(item["arguments"], size):
                yield say("function_call_arguments.delta", delta=text)
    yield say("output_item.done", item=item)


# --- Chat Completions


def chat_completion(answer: Answer) -> dict[str, Any]:
    words = "".join(p.text for p in answer.pieces if isinstance(p, Words))
    message: dict[str, Any] = {"role": "assistant", "content": words or None, "refusal": None}
    if thoughts := "".join(p.text for p in answer.pieces if isinstance(p, Thought)):
        message["reasoning_content"] = thoughts
    if answer.calls:
        message["tool_calls"] = [
            {"id": c.id, "type": "function", "function": {"name": c.name, "arguments": c.text}} for c in answer.calls
        ]
    finish = answer.stop or ("tool_calls" if answer.calls else "stop")
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1_793_000_000,
        "model": "gpt-6-astra",
        "choices": [{"index": 0, "message": message, "finish_reason": finish, "logprobs": None}],
        "usage": {"prompt_tokens": answer.usage[0], "completion_tokens": answer.usage[1]},
        **answer.more,
    }


def chat_events(answer: Answer, size: int) -> Iterator[bytes]:
    whole = chat_completion(answer)
    choice = whole["choices"][0]
    message = choice["message"]
    yield chat_chunk({"role": "assistant", "content": "" if message["content"] else None, "refusal": None})
    for key in ("reasoning_content", "content"):
        for text in cut(message.get(key) or "", size):
            yield chat_chunk({key: text})
    for index, call in enumerate(message.get("tool_calls", ())):
        function = call["function"]
        yield chat_chunk({"tool_calls": [{"index": index, **call, "function": {**function, "arguments": ""}}]})
        for text in cut(function["arguments"], size):
            yield chat_chunk({"tool_calls": [{"index": index, "function": {"arguments": text}}]})
    yield chat_chunk({}, finish=choice["finish_reason"])
    yield chat_chunk(None, usage=whole["usage"])
    yield event("[DONE]")


def chat_chunk(delta: Mapping[str, Any] | None, *, finish: str | None = None, usage: object = None) -> bytes:
    """One chunk; `delta=None` for one without choices."""
    choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}]
    return event(
        {
            "id": "chatcmpl-1",
            "object": "chat.completion.chunk",
            "created": 1_793_000_000,
            "model": "gpt-6-astra",
            "choices": choices,
            "usage": usage,
        }
    )


# --- what hypothesis draws

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30)
NAMES = st.from_regex(r"\A[a-z_][a-z0-9_]{0,10}\Z")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=5,
)


def _numbered(pieces: Iterable[Piece]) -> list[Piece]:
    return [Call(f"call_{n}", p.name, p.arguments) if isinstance(p, Call) else p for n, p in enumerate(pieces)]


def _answer(pieces: list[Piece]) -> Answer:
    return Answer(_numbered(pieces))


ANSWERS: st.SearchStrategy[Answer] = st.builds(
    _answer,
    st.lists(
        TEXTS.map(Words)
        | TEXTS.map(Thought)
        | st.builds(Call, st.just(""), NAMES, st.dictionaries(TEXTS, JSON, max_size=3)),
        min_size=1,
        max_size=4,
    ),
)
