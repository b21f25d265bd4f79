"""A turn in the words of Chat Completions: the JSON of a whole answer, and the chunks of a stream.

Shapes follow the types of the openai SDK 3.57 (types/chat/chat_completion.py, chat_completion_chunk.py). Reasoning is
written as `reasoning_content`, as compatible servers do; OpenAI's own Chat Completions shows none.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from toolsmith.testing.recorded import dumps, inside, pieces
from toolsmith.testing.responses_wire import CREATED
from toolsmith.testing.script import Block, Call, Refuse, Say, ScriptError, Search, Think
from toolsmith.testing.speech import Voice
from toolsmith.testing.wire import sse

_FINISH = {
    "end": "stop",
    "tool_calls": "tool_calls",
    "length": "length",
    "refusal": "stop",
    "filter": "content_filter",
    "unknown": "a_reason_of_the_future",
}


def body(voice: Voice) -> bytes:
    """The answer at once."""
    envelope = _envelope(voice, "chat.completion")
    choice = {"index": 0, "message": _message(voice), "logprobs": None, "finish_reason": _finish(voice)}
    found = {**envelope, "choices": [choice]}
    if "no_usage" not in voice.how.quirks:
        found["usage"] = _usage(voice)
    return dumps(found).encode()


def events(voice: Voice) -> Iterator[bytes]:
    """The same answer as a stream."""
    envelope = _envelope(voice, "chat.completion.chunk")
    asked = inside(voice.request.body, "stream_options", "include_usage") is True
    asked = asked and "no_usage" not in voice.how.quirks

    def chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return sse(None, {**envelope, "choices": [choice], **({"usage": None} if asked else {})})

    message = _message(voice)
    calls = message.pop("tool_calls", [])
    yield chunk({"role": "assistant", "content": None if message["content"] is None else "", "refusal": None})
    for key in ("reasoning_content", "content", "refusal"):
        for piece in pieces(message.pop(key, None) or "", voice.how.chop):
            yield chunk({key: piece})
    message.pop("role")
    message.pop("annotations")
    if message:  # what the script added of its own
        yield chunk(message)
    for index, call in enumerate(calls):
        for delta in _call_deltas(voice, index, call):
            yield chunk({"tool_calls": [delta]})
    yield chunk({}, _finish(voice))
    if asked:
        yield sse(None, {**envelope, "choices": [], "usage": _usage(voice)})
    if "no_done" not in voice.how.quirks:
        yield sse(None, "[DONE]")


def _envelope(voice: Voice, kind: str) -> dict[str, Any]:
    return {
        "id": voice.ids.new("chatcmpl-"),
        "object": kind,
        "created": CREATED,
        "model": voice.request.model,
        "service_tier": "default",
        "system_fingerprint": "fp_0123456789",
    }


def _message(voice: Voice) -> dict[str, Any]:
    words = thoughts = refusal = ""
    calls: list[dict[str, Any]] = []
    more: dict[str, Any] = {}
    for part in voice.turn.parts:
        match part:
            case Say():
                words += part.text
            case Think():
                thoughts += part.text
            case Refuse():
                refusal += part.text
            case Call():
                calls.append(_call(voice, part))
            case Search():
                raise ScriptError("Chat Completions has no web search of the service; `search(...)` is for the others.")
            case Block():
                more |= part.raw
    found: dict[str, Any] = {
        "role": "assistant",
        "content": words or None if calls or refusal else words,
        "refusal": refusal or None,
        "annotations": [],
    }
    if thoughts:
        found["reasoning_content"] = thoughts
    if calls:
        found["tool_calls"] = calls
    return found | more


def _call(voice: Voice, part: Call) -> dict[str, Any]:
    arguments: object = voice.text(part)
    if "dict_arguments" in voice.how.quirks:
        arguments = json.loads(voice.text(part))
    made = {"type": "function", "function": {"name": part.name, "arguments": arguments}}
    if "no_id" in voice.how.quirks:
        return made
    return {"id": voice.ids.new("call_") if part.id is None else part.id, **made}


def _call_deltas(voice: Voice, index: int, call: dict[str, Any]) -> Iterator[dict[str, Any]]:
    quirks = voice.how.quirks
    at: dict[str, Any] = {} if "no_index" in quirks else {"index": 0 if "same_index" in quirks else index}
    function = call["function"]
    if isinstance(function["arguments"], dict):
        yield {**at, **call}
        return
    yield {**at, **call, "function": {**function, "arguments": ""}}
    for piece in pieces(function["arguments"], voice.how.chop):
        if "repeat_names" in quirks:
            yield {**at, **call, "function": {**function, "arguments": piece}}
        else:
            yield {**at, "function": {"arguments": piece}}


def _finish(voice: Voice) -> str | None:
    turn, quirks = voice.turn, voice.how.quirks
    if "no_finish" in quirks:
        return None
    if turn.raw_stop is not None:
        return turn.raw_stop
    if turn.stop not in _FINISH:
        raise ScriptError(f"Chat Completions has no way to say {turn.stop!r}.")
    return "stop" if "finish_stop" in quirks else _FINISH[turn.stop]


def _usage(voice: Voice) -> dict[str, Any]:
    usage = voice.usage
    return {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.total_tokens,
        "prompt_tokens_details": {
            "cached_tokens": usage.cached_tokens,
            "cache_write_tokens": usage.cache_write_tokens,
            "audio_tokens": 0,
        },
        "completion_tokens_details": {
            "reasoning_tokens": usage.reasoning_tokens,
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    }
