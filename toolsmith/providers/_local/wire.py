"""The wire form of the embedded model: our own, small, JSON.

A request:  {"model", "instructions", "tools": [{"name", "description", "parameters"}], "tool_choice", "settings",
            "stream", "messages": [...]}
Messages:   {"role": "user", "text"}
            {"role": "assistant", "content": [<part>, ...]}
            {"role": "tool", "results": [{"call_id", "name", "text", "is_error"}]}
Parts:      {"type": "text", "text"} | {"type": "tool_call", "id", "name", "arguments": <JSON text>}
An answer:  {"model", "stop": "end" | "tool_calls" | "length", "content": [...], "usage": {"input_tokens", ...}}
A stream:   a JSON object a line: {"event": "text", "text"}, {"event": "call", "id", "name"},
            {"event": "arguments", "id", "text"}, and at last {"event": "done", "reply": <an answer>}.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from toolsmith.media import File, Image, Media
from toolsmith.messages import Message, Part, Text, ToolCall, ToolOutput


def packed(value: Any) -> bytes:
    """Compact JSON; half a character (a lone surrogate) becomes a question mark."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def message(given: Message, in_words: Callable[[Media, int], str]) -> bytes:
    """A neutral message; b"" where nothing of it concerns this model (reasoning, another service's blocks).

    Args:
        given: the message.
        in_words: what stands for an image or a file; it is told its number in a tool's result, 0 in a prompt.
    """

    def words(part: Part) -> str:
        return in_words(part, 0) if isinstance(part, (Image, File)) else part.text if isinstance(part, Text) else ""

    match given.role:
        case "user":
            return packed({"role": "user", "text": "\n".join(text for p in given.parts if (text := words(p)))})
        case "assistant":
            content = [part for p in given.parts if (part := _part(p)) is not None]
            return packed({"role": "assistant", "content": content}) if content else b""
        case "tool":
            results = [
                {
                    "call_id": p.call_id,
                    "name": p.name,
                    "text": "\n".join([p.text, *(in_words(one, number) for number, one in enumerate(p.media, 1))]),
                    "is_error": p.is_error,
                }
                for p in given.parts
                if isinstance(p, ToolOutput)
            ]
            return packed({"role": "tool", "results": results})


def _part(part: object) -> dict[str, Any] | None:
    match part:
        case Text(text):
            return {"type": "text", "text": text}
        case ToolCall(call_id, name, arguments):
            return {"type": "tool_call", "id": call_id, "name": name, "arguments": arguments}
        case _:
            return None


def reply(content: Mapping[str, Any], *, model: str, stop: str, input_tokens: int, output_tokens: int) -> bytes:
    """An answer of one part."""
    usage = {"input_tokens": input_tokens, "output_tokens": output_tokens}
    return packed({"model": model, "stop": stop, "content": [content], "usage": usage})


def event(kind: str, **members: Any) -> bytes:
    """A line of a stream."""
    return packed({"event": kind, **members}) + b"\n"


def next_id(messages: Sequence[Mapping[str, Any]]) -> str:
    """An id that no call of the history has; the same for the same history."""
    used = {
        part.get("id")
        for m in messages
        if m.get("role") == "assistant"
        for part in cast("Sequence[Mapping[str, Any]]", m.get("content") or ())
    }
    number = sum(1 for i in used if i) + 1
    while f"local_{number}" in used:
        number += 1
    return f"local_{number}"
