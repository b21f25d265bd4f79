"""A turn in the words of OpenAI's Responses API: the JSON of a whole answer, and the events of a stream.

Shapes follow the types of the openai SDK 3.57 (types/responses/response.py, response_stream_event.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from toolsmith.testing.binding import encrypt, reasons_by_default
from toolsmith.testing.hosted import responses_item, url_annotations
from toolsmith.testing.recorded import dumps, pieces
from toolsmith.testing.script import Block, Call, Refuse, Say, ScriptError, Search, Think
from toolsmith.testing.speech import Voice
from toolsmith.testing.wire import sse, usual_error

_INCOMPLETE = {"length": "max_output_tokens", "filter": "content_filter", "unknown": "a_reason_of_the_future"}
_ECHOED = ("instructions", "max_output_tokens", "metadata", "previous_response_id", "temperature", "top_p", "user")
CREATED = 1_793_000_000
REASONED = "_r"  # ends the id of an item that was made after reasoning, and is worth nothing without it

_Emit = Callable[..., bytes]


def body(voice: Voice) -> bytes:
    """The answer at once."""
    return dumps(_response(voice, _items(voice))).encode()


def events(voice: Voice) -> Iterator[bytes]:
    """The same answer as a stream."""
    number = -1

    def emit(kind: str, **more: Any) -> bytes:
        nonlocal number
        number += 1
        return sse(kind, {"type": kind, "sequence_number": number, **more})

    items = _items(voice)
    whole = _response(voice, items)
    begun: dict[str, Any] = {
        **whole,
        "status": "in_progress",
        "output": [],
        "usage": None,
        "error": None,
        "incomplete_details": None,
    }
    begun.pop("completed_at", None)
    yield emit("response.created", response=begun)
    yield emit("response.in_progress", response=begun)
    for index, item in enumerate(items):
        yield from _item_events(voice, emit, index, item)
    yield emit(f"response.{whole['status']}", response=whole)


def _items(voice: Voice) -> list[dict[str, Any]]:
    turn, found = voice.turn, list[dict[str, Any]]()
    parts = turn.parts
    if not any(isinstance(part, Think) for part in parts) and reasons_by_default(voice.request.model):
        parts = (Think(), *parts)
    calls = any(isinstance(part, Call) for part in parts)
    reasoned = ""
    for part in parts:
        match part:
            case Think():
                reasoned = REASONED
                found.append(_reasoning(voice.ids.new("rs_"), part))
            case Say():
                cited = url_annotations(part)
                content: dict[str, Any] = {
                    "type": "output_text",
                    "text": part.text,
                    "annotations": cited,
                    "logprobs": [],
                }
                phase = part.phase or ("commentary" if calls else "final_answer")
                found.append(_message(voice.ids.new("msg_", reasoned), content, phase))
            case Refuse():
                found.append(_message(voice.ids.new("msg_", reasoned), {"type": "refusal", "refusal": part.text}, None))
            case Call():
                found.append(
                    {
                        "id": voice.ids.new("fc_", reasoned),
                        "type": "function_call",
                        "status": "completed",
                        "arguments": voice.text(part),
                        "call_id": voice.ids.new("call_") if part.id is None else part.id,
                        "name": part.name,
                    }
                )
            case Search():
                found.append(responses_item(voice.request, part, voice.ids.new("ws_", reasoned)))
            case Block():
                found.append(dict(part.raw))
    if turn.stop != "end" and turn.stop in _INCOMPLETE and found and found[-1].get("status") == "completed":
        found[-1]["status"] = "incomplete"
    return found


def _message(item_id: str, content: dict[str, Any], phase: str | None) -> dict[str, Any]:
    item = {"id": item_id, "type": "message", "status": "completed", "role": "assistant", "content": [content]}
    return item if phase is None else {**item, "phase": phase}


def _reasoning(item_id: str, part: Think) -> dict[str, Any]:
    summary = [{"type": "summary_text", "text": part.text}] if part.text else []
    return {"id": item_id, "type": "reasoning", "summary": summary, "encrypted_content": encrypt(item_id)}


def _response(voice: Voice, items: list[dict[str, Any]]) -> dict[str, Any]:
    request, turn = voice.request.body, voice.turn
    status, details, error = "completed", None, None
    if turn.stop == "pause":
        raise ScriptError("The Responses API has no pause; `pause(...)` is for Claude.")
    if turn.raw_stop is not None or turn.stop in _INCOMPLETE:
        status, details = "incomplete", {"reason": turn.raw_stop or _INCOMPLETE[turn.stop]}
    elif turn.stop == "error":
        status = "failed"
        inner = usual_error("openai", "server")[1]
        error = {"code": inner["code"], "message": inner["message"]}
    found: dict[str, Any] = {
        "id": voice.ids.new("resp_"),
        "object": "response",
        "created_at": CREATED,
        "status": status,
        "background": False,
        "error": error,
        "incomplete_details": details,
        "model": voice.request.model,
        "output": items,
        "parallel_tool_calls": request.get("parallel_tool_calls", True),
        "reasoning": {"effort": None, "summary": None},
        "service_tier": "default",
        "store": request.get("store", True),
        "text": {"format": {"type": "text"}, "verbosity": "medium"},
        "tool_choice": request.get("tool_choice", "auto"),
        "tool_usage": {"web_search": {"num_requests": voice.usage.searches}},
        "tools": request.get("tools", []),
        "truncation": "disabled",
        "usage": _usage(voice),
    }
    found |= {key: request.get(key) for key in _ECHOED}
    return found | ({"completed_at": CREATED + 1} if status == "completed" else {})


def _usage(voice: Voice) -> dict[str, Any]:
    usage = voice.usage
    return {
        "input_tokens": usage.input_tokens,
        "input_tokens_details": {"cached_tokens": usage.cached_tokens, "cache_write_tokens": usage.cache_write_tokens},
        "output_tokens": usage.output_tokens,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
        "total_tokens": usage.total_tokens,
    }


def _item_events(voice: Voice, emit: _Emit, index: int, item: dict[str, Any]) -> Iterator[bytes]:
    at = {"output_index": index, "item_id": item.get("id")}
    chop = voice.how.chop
    match item.get("type"):
        case "function_call":
            yield _added(emit, index, {**item, "arguments": "", "status": "in_progress"})
            kind = "response.function_call_arguments"
            for piece in pieces(item["arguments"], chop):
                yield emit(f"{kind}.delta", **at, delta=piece)
            yield emit(f"{kind}.done", **at, arguments=item["arguments"])
        case "message":
            yield _added(emit, index, {**item, "content": [], "status": "in_progress"})
            for number, part in enumerate(item["content"]):
                yield from _content_events(emit, at | {"content_index": number}, part, chop)
        case "reasoning":
            # what `added` shows of the encrypted content is not the whole of it
            early = str(item.get("encrypted_content") or "")[:12]
            yield _added(emit, index, {**item, "summary": [], "encrypted_content": early})
            yield from _summary_events(emit, at, item["summary"], chop)
        case "web_search_call":
            yield _added(emit, index, {**item, "status": "in_progress"})
            for step in ("in_progress", "searching", "completed"):
                yield emit(f"response.web_search_call.{step}", **at)
        case _:
            yield _added(emit, index, item)
    yield emit("response.output_item.done", output_index=index, item=item)


def _added(emit: _Emit, index: int, item: dict[str, Any]) -> bytes:
    return emit("response.output_item.added", output_index=index, item=item)


def _content_events(emit: _Emit, at: dict[str, Any], part: dict[str, Any], chop: Any) -> Iterator[bytes]:
    key = "refusal" if part["type"] == "refusal" else "text"
    kind = "response.refusal" if key == "refusal" else "response.output_text"
    more: dict[str, Any] = {} if key == "refusal" else {"logprobs": []}
    empty: dict[str, Any] = {**part, key: ""}
    if key == "text":
        empty["annotations"] = []
    yield emit("response.content_part.added", **at, part=empty)
    for piece in pieces(part[key], chop):
        yield emit(f"{kind}.delta", **at, delta=piece, **more)
    for number, one in enumerate(part.get("annotations") or ()):
        yield emit(f"{kind}.annotation.added", **at, annotation_index=number, annotation=one)
    yield emit(f"{kind}.done", **at, **{key: part[key]}, **more)
    yield emit("response.content_part.done", **at, part=part)


def _summary_events(emit: _Emit, at: dict[str, Any], summary: Sequence[Any], chop: Any) -> Iterator[bytes]:
    kind = "response.reasoning_summary"
    for number, part in enumerate(summary):
        here = at | {"summary_index": number}
        yield emit(f"{kind}_part.added", **here, part={**part, "text": ""})
        for piece in pieces(part["text"], chop):
            yield emit(f"{kind}_text.delta", **here, delta=piece)
        yield emit(f"{kind}_text.done", **here, text=part["text"])
        yield emit(f"{kind}_part.done", **here, part=part)
