"""Answers of OpenAI's Responses API, at once or streamed -> `Reply`.

Sources: openai/types/responses/response.py, response_output_item.py, response_stream_event.py, response_error.py and
response_usage.py, version 3.57.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic_core import from_json

from toolsmith.errors import RETRYABLE
from toolsmith.events import Delta, ReasoningDelta, TextDelta, ToolArgumentsDelta, ToolCallStarted
from toolsmith.messages import (
    Message,
    Native,
    Opaque,
    Part,
    Reasoning,
    Refusal,
    Reply,
    Stop,
    Text,
    ToolCall,
    Usage,
    Words,
)
from toolsmith.providers._failures import cut_short, refusal
from toolsmith.providers._hosted import url_citations
from toolsmith.providers._stream import AnswerStream
from toolsmith.providers._wire import (
    CallIds,
    arguments_text,
    arr,
    bad_response,
    dump,
    load,
    num,
    obj,
    sounded,
    txt,
    wire_id,
    wire_name,
)

_INCOMPLETE: dict[str, Stop] = {"max_output_tokens": "length", "content_filter": "filter"}
# "failed" with one of these is a policy's verdict, not a fault (response_error.py).
_POLICIES = frozenset({"bio_policy", "misalignment_policy_violation", "image_content_policy_violation"})


def read_response(provider: str, body: bytes) -> Reply:
    """An answer that came at once.

    Raises:
        ProviderError: it is an error, or none of this API.
    """
    try:
        response = obj(load(body))
    except ValueError:
        raise bad_response(provider, body) from None
    if isinstance(response.get("output"), list):
        return _reply(provider, response)
    if response.get("error") or response.get("detail"):
        raise refusal(provider, response)
    raise bad_response(provider, body)


def _reply(provider: str, response: Mapping[str, Any]) -> Reply:
    ids = CallIds(response.get("id"))
    searches = 0
    parts: list[Part] = []
    items: list[dict[str, Any]] = []
    for raw in arr(response.get("output")):
        item = obj(raw)
        if item.get("type") == "function_call":
            label = wire_id(ids.take(item.get("call_id")))
            parts.append(ToolCall(label, txt(item.get("name")), arguments_text(item.get("arguments"))))
            item = {**item, "call_id": label, "name": wire_name(txt(item.get("name")))}
        else:
            parts += _parts(item)
            searches += item.get("type") == "web_search_call" and _searches(item)
        items.append(item)
    while items and items[-1].get("type") == "reasoning":
        items.pop()  # cut before what it led to: the API refuses reasoning "without its required following item"
    stop, detail = _stop(response, parts)
    error = obj(response.get("error"))
    if stop == "error" and not items:
        failed = refusal(provider, {"error": error})
        if failed.category in RETRYABLE:  # nothing of a turn is there to keep, and the same request may yet succeed
            raise failed
    if stop == "filter" and error:
        parts.append(Refusal(txt(error.get("message")), txt(error.get("code"))))
    native = Native("openai", b",".join([dump(item) for item in items]))
    return Reply(
        Message("assistant", tuple(parts), native),
        stop,
        _usage(obj(response.get("usage")), _billed(response.get("tool_usage"), searches)),
        detail,
        txt(response.get("model")),
        txt(response.get("id")),
    )


def _parts(item: Mapping[str, Any]) -> list[Part]:
    match item.get("type"):
        case "message":
            return [part for raw in arr(item.get("content")) if (part := _content(obj(raw)))]
        case "reasoning":
            shown = arr(item.get("summary")) or arr(item.get("content"))
            return [Reasoning("\n\n".join(txt(obj(raw).get("text")) for raw in shown))]
        case kind:
            return [Opaque(txt(kind))]


def _content(content: Mapping[str, Any]) -> Part | None:
    match content.get("type"):
        case "output_text":
            return Text(text, url_citations(content)) if (text := txt(content.get("text"))) else None
        case "refusal":
            return Refusal(txt(content.get("refusal")))
        case kind:
            return Opaque(txt(kind))


def _stop(response: Mapping[str, Any], parts: Sequence[Part]) -> tuple[Stop, str]:
    """Why it ended, in our word and in the service's."""
    status = txt(response.get("status"))
    reason = txt(obj(response.get("incomplete_details")).get("reason"))
    error = obj(response.get("error"))
    code, said = txt(error.get("code")), txt(error.get("message"))
    more = reason or ": ".join(words for words in (code, said) if words)
    detail = f"status: {status or None}" + (f" ({more})" if more else "")
    match status:
        case "completed":
            if any(isinstance(p, ToolCall) for p in parts):
                return "tool_calls", detail
            return ("refusal" if any(isinstance(p, Refusal) for p in parts) else "end"), detail
        case "incomplete":
            return _INCOMPLETE.get(reason, "unknown"), detail
        case "failed" | "cancelled":
            return ("filter" if code in _POLICIES else "error"), detail
        case _:  # "queued" and "in_progress" of a background response, or newer than we
            return "unknown", detail


def _searches(call: Mapping[str, Any]) -> bool:
    """Whether a call of the service's own search does search, and not only open a page."""
    return obj(call.get("action")).get("type", "search") == "search"


def _billed(tool_usage: Any, searches: int) -> int:
    """The service's own count of searches; where it gives none, of those that stand in the answer."""
    told = obj(obj(tool_usage).get("web_search")) if tool_usage else None
    return num(told.get("num_requests")) if told else searches


def _usage(usage: Mapping[str, Any], searches: int) -> Usage:
    details = obj(usage.get("input_tokens_details"))
    return Usage(
        input_tokens=num(usage.get("input_tokens")),
        output_tokens=num(usage.get("output_tokens")),
        cached_tokens=num(details.get("cached_tokens")),
        cache_write_tokens=num(details.get("cache_write_tokens")),
        reasoning_tokens=num(obj(usage.get("output_tokens_details")).get("reasoning_tokens")),
        requests=1,
        searches=searches,
    )


class ResponseStream(AnswerStream):
    """Puts one streamed response together from its raw events; an `Accumulator`.

    Items are taken from `output_item.done`: what `output_item.added` shows of encrypted reasoning may be incomplete.
    """

    def __init__(self, provider: str) -> None:
        super().__init__(provider, read_response)
        self._ids = CallIds("")
        self._calls: dict[int, str] = {}  # output index -> call id
        self._written: set[int] = set()  # output indexes whose arguments came in pieces
        self._items: dict[int, Any] = {}
        self._response: dict[str, Any] | None = None  # of the terminal event
        self._words = Words()

    @property
    def over(self) -> bool:
        """Whether the answer has had its end, or an error in its place."""
        return self._response is not None or self._error is not None

    def _whole(self) -> Reply:
        if self._response is None:
            raise cut_short(self._provider)
        whole = arr(self._response.get("output"))
        done = [self._items[index] for index in sorted(self._items)]
        response = {**self._response, "output": done if len(done) >= len(whole) else whole}
        return _reply(self._provider, response if self._halves is None else sounded(response))

    def _take(self, found: Sequence[bytes]) -> list[Delta]:
        deltas: list[Delta] = []
        for data in found:
            if self._error is not None or data == b"[DONE]":
                break
            try:
                event = obj(from_json(data))
            except ValueError:
                if (event := self._halved(data)) is None:
                    break
            match event.get("type"):
                case "response.output_text.delta":
                    if text := txt(event.get("delta")):
                        deltas.append(TextDelta(self._words.next(text)))
                case "response.function_call_arguments.delta":
                    deltas += self._arguments(event)
                case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta":
                    if text := txt(event.get("delta")):
                        deltas.append(ReasoningDelta(text))
                case "response.reasoning_summary_part.added" if num(event.get("summary_index")):
                    deltas.append(ReasoningDelta("\n\n"))
                case "response.output_item.added":
                    deltas += self._added(num(event.get("output_index")), obj(event.get("item")))
                case "response.output_item.done":
                    deltas += self._done(num(event.get("output_index")), obj(event.get("item")))
                case _:
                    self._other(event)
        return deltas

    def _arguments(self, event: Mapping[str, Any]) -> list[Delta]:
        index, text = num(event.get("output_index")), txt(event.get("delta"))
        if not text or index not in self._calls:
            return []
        self._written.add(index)
        return [ToolArgumentsDelta(self._calls[index], text)]

    def _added(self, index: int, item: Mapping[str, Any]) -> list[Delta]:
        if item.get("type") not in ("message", "reasoning", "function_call"):
            self._words.interrupt()
        if item.get("type") != "function_call" or index in self._calls:
            return []
        self._calls[index] = call_id = wire_id(self._ids.take(item.get("call_id")))
        return [ToolCallStarted(call_id, txt(item.get("name")))]

    def _done(self, index: int, item: dict[str, Any]) -> list[Delta]:
        self._items[index] = item
        deltas = self._added(index, item)
        if index in self._calls and index not in self._written and (text := txt(item.get("arguments"))):
            deltas.append(ToolArgumentsDelta(self._calls[index], text))
        return deltas

    def _other(self, event: Mapping[str, Any]) -> None:
        match event.get("type"):
            case "response.created":
                self._ids = CallIds(obj(event.get("response")).get("id"))
            case "response.completed" | "response.incomplete" | "response.failed":
                self._response = obj(event.get("response"))
            case "error":
                self._error = refusal(self._provider, event)
            case _:
                if event.get("error") and not event.get("type"):
                    self._error = refusal(self._provider, event)
