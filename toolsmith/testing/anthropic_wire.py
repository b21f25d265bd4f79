"""A turn in the words of Claude's Messages API: the JSON of a whole answer, and the events of a stream.

Shapes follow the types of the anthropic SDK 2.14 (types/message.py, types/raw_message_stream_event.py).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, cast

from toolsmith.messages import Usage
from toolsmith.testing.binding import replayed, thinks_by_default, thought_tail
from toolsmith.testing.hosted import claude_blocks, claude_citations
from toolsmith.testing.recorded import dumps, pieces
from toolsmith.testing.script import Block, Call, Refuse, Say, ScriptError, Search, Think, Turn
from toolsmith.testing.speech import Voice
from toolsmith.testing.wire import sse

_STOP = {
    "end": "end_turn",
    "tool_calls": "tool_use",
    "length": "max_tokens",
    "context": "model_context_window_exceeded",
    "refusal": "refusal",
    "filter": "refusal",
    "pause": "pause_turn",
    "unknown": "a_reason_of_the_future",
}
_CUT = ("max_tokens", "model_context_window_exceeded", "refusal")  # before its end, so that no call of it is run


def _message(voice: Voice, blocks: list[dict[str, Any]]) -> dict[str, Any]:
    turn = voice.turn
    found: dict[str, Any] = {
        "id": voice.ids.new("msg_01"),
        "type": "message",
        "role": "assistant",
        "model": voice.request.model,
        "content": blocks,
        "stop_reason": turn.raw_stop or _STOP[turn.stop],
        "stop_sequence": None,
        "usage": _usage(voice.usage),
    }
    details = _stop_details(turn)
    return found | ({"stop_details": details} if details else {})


def body(voice: Voice) -> bytes:
    """The answer at once."""
    return dumps(_message(voice, [block for block, _ in _blocks(voice)])).encode()


def events(voice: Voice) -> Iterator[bytes]:
    """The same answer as a stream."""
    blocks = list(_blocks(voice))
    whole = _message(voice, [block for block, _ in blocks])
    start: dict[str, Any] = {**whole, "content": [], "stop_reason": None}
    start.pop("stop_details", None)
    start["usage"] = {**whole["usage"], "output_tokens": 1}
    start["usage"].pop("output_tokens_details", None)
    yield _event("message_start", message=start)
    for index, (block, text) in enumerate(blocks):
        yield from _block_events(voice, index, block, text)
        if index == 0:
            yield _event("ping")
    delta = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    if "stop_details" in whole:
        delta["stop_details"] = whole["stop_details"]
    yield _event("message_delta", delta=delta, usage=whole["usage"])
    yield _event("message_stop")


def _blocks(voice: Voice) -> Iterator[tuple[dict[str, Any], str]]:
    """Each block, and beside it the text that its stream is made of."""
    request, parts = voice.request, voice.turn.parts
    conversation = replayed(request.body)
    if not any(isinstance(part, Think) for part in parts) and thinks_by_default(request.body):
        parts = (Think(), *parts)
    thought = False
    for part in parts:
        text = ""
        match part:
            case Say():
                block, text = {"type": "text", "text": part.text, **claude_citations(part)}, part.text
            case Search():
                for block, text in claude_blocks(request, part, voice.ids.new):
                    conversation.add("assistant", block)
                    yield block, text
                continue
            case Think(redacted=True):
                thought, block = True, {"type": "redacted_thinking", "data": conversation.sign("")}
            case Think():
                thought, text = True, part.text
                block = {"type": "thinking", "thinking": text, "signature": conversation.sign(text)}
            case Call():
                text = voice.text(part)
                tail = thought_tail(request.body) if thought else ""
                block = {
                    "type": "tool_use",
                    "id": voice.ids.new("toolu_01", tail) if part.id is None else part.id,
                    "name": part.name,
                    "input": {} if request.streamed else _object(part.name, text, voice.turn),
                    "caller": {"type": "direct"},
                }
            case Refuse():
                continue  # says nothing: it is a stop reason with details
            case Block():
                block = dict(part.raw)
                text = _streamed_text(block)
        conversation.add("assistant", block)
        yield block, text
    if voice.turn.stop == "pause":
        query = {"query": "what was asked for"}
        block = {
            "type": "server_tool_use",
            "id": voice.ids.new("srvtoolu_01"),
            "name": "web_search",
            "input": query,
            "caller": {"type": "direct"},
        }
        yield block, dumps(query)


def _block_events(voice: Voice, index: int, block: dict[str, Any], text: str) -> Iterator[bytes]:
    def delta(kind: str, **what: str) -> bytes:
        return _event("content_block_delta", index=index, delta={"type": kind, **what})

    chop = voice.how.chop
    match block["type"]:
        case "text":
            cited: list[Any] = block.get("citations") or []
            empty: dict[str, Any] = {**block, "text": "", **({"citations": []} if cited else {})}
            yield _event("content_block_start", index=index, content_block=empty)
            for piece in pieces(text, chop):
                yield delta("text_delta", text=piece)
            for one in cited:
                yield _event("content_block_delta", index=index, delta={"type": "citations_delta", "citation": one})
        case "thinking":
            yield _event("content_block_start", index=index, content_block={**block, "thinking": "", "signature": ""})
            for piece in pieces(text, chop):
                yield delta("thinking_delta", thinking=piece)
            yield delta("signature_delta", signature=block["signature"])
        case "tool_use" | "server_tool_use":
            yield _event("content_block_start", index=index, content_block={**block, "input": {}})
            yield delta("input_json_delta", partial_json="")
            # a call without arguments has no further delta
            for piece in pieces("" if text == "{}" else text, chop):
                yield delta("input_json_delta", partial_json=piece)
        case _:
            yield _event("content_block_start", index=index, content_block=block)
    yield _event("content_block_stop", index=index)


def _streamed_text(block: dict[str, Any]) -> str:
    match block.get("type"):
        case "text" | "thinking" as kind:
            return str(block.get(kind, ""))
        case "tool_use" | "server_tool_use":
            return dumps(block.get("input", {}))
        case _:
            return ""


def _object(name: str, text: str, turn: Turn) -> dict[str, Any]:
    """Arguments as the object that an answer at once holds; an empty one where the turn was cut before its end.

    Raises:
        ScriptError: they are none. Another object in their place would be run, and no such call was in the script.
    """
    if not text:
        return {}
    try:
        value = json.loads(text, object_pairs_hook=_each_once, parse_constant=_no_number)
        if isinstance(value, dict):
            return cast("dict[str, Any]", value)
        why = "this is none"
    except (ValueError, RecursionError) as error:
        why = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
    if (turn.raw_stop or _STOP[turn.stop]) in _CUT:
        return {}
    raise ScriptError(
        f"raw_call({name!r}, ...): an answer of Claude that is not streamed holds arguments as a JSON object, so that "
        f"{text!r:.200} cannot be sent: {why}. To test it, stream the run, or use another API."
    )


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name stands twice in it")
    return found


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is no JSON")


def _stop_details(turn: Turn) -> dict[str, Any] | None:
    if turn.stop not in ("refusal", "filter"):
        return None
    said = next((part for part in turn.parts if isinstance(part, Refuse)), Refuse())
    return {"type": "refusal", "category": said.category, "explanation": said.text or None}


def _usage(usage: Usage) -> dict[str, Any]:
    fresh = max(usage.input_tokens - usage.cached_tokens - usage.cache_write_tokens, 0)
    return {
        "input_tokens": fresh,
        "cache_creation_input_tokens": usage.cache_write_tokens,
        "cache_read_input_tokens": usage.cached_tokens,
        "cache_creation": {
            "ephemeral_5m_input_tokens": usage.cache_write_tokens,
            "ephemeral_1h_input_tokens": 0,
        },
        "output_tokens": usage.output_tokens,
        "output_tokens_details": {"thinking_tokens": usage.reasoning_tokens},
        "server_tool_use": {"web_search_requests": usage.searches, "web_fetch_requests": 0} if usage.searches else None,
        "service_tier": "standard",
        "inference_geo": "global",
    }


def _event(kind: str, **more: Any) -> bytes:
    return sse(kind, {"type": kind, **more})
