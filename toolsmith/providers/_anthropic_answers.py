"""Answers of the Messages API, at once or streamed -> `Reply`.

Sources: anthropic/types/message.py, raw_message_stream_event.py, stop_reason.py, usage.py and the SDK's own accumulator
(lib/streaming/_messages.py), version 2.14.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic_core import from_json

from toolsmith._plain import sound
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
from toolsmith.providers._hosted import claude_citations
from toolsmith.providers._stream import AnswerStream
from toolsmith.providers._wire import (
    CallIds,
    arguments_object,
    arguments_text,
    arr,
    bad_response,
    dump,
    load,
    num,
    obj,
    txt,
    wire_id,
    wire_name,
)

_STOPS: dict[str, Stop] = {
    "end_turn": "end",
    "stop_sequence": "end",
    "tool_use": "tool_calls",
    "pause_turn": "pause",
    "compaction": "pause",  # beta: send the block back and go on
    "max_tokens": "length",
    "model_context_window_exceeded": "context",
    "refusal": "refusal",
}


def read_message(provider: str, body: bytes) -> Reply:
    """An answer that came at once.

    Raises:
        ProviderError: it is an error, or none of this API.
    """
    written: dict[int, str] = {}
    try:
        message = obj(load(body))
    except ValueError:
        try:
            message = obj(load(_inputs_as_text(body)))
        except ValueError:
            raise bad_response(provider, body) from None
        for position, block in enumerate(map(obj, arr(message.get("content")))):
            if isinstance(text := block.get("input"), str):
                written[position] = text
                block["input"] = arguments_object(text) or {}
    if message.get("error"):
        raise refusal(provider, message)
    if not isinstance(message.get("content"), list):
        raise bad_response(provider, body)
    return _reply(message, written, body)


_TOKEN = rb'(?s)"[^"\\]*+(?:\\.[^"\\]*+)*+"|[\[\]{}]'


def _inputs_as_text(body: bytes) -> bytes:
    """A message in which the arguments of its calls are texts, as in a stream.

    Arguments may be nested deeper than any parser goes. That is the model's mistake, and it is to hear of it; a stream
    brings them as text anyway.
    """
    kept: list[bytes] = []
    depth = begun = end = 0
    of_content, key = False, b""
    for found in re.finditer(_TOKEN, body):
        match found[0]:
            case b"{" | b"[":
                depth += 1
                if depth == 2:
                    of_content = key == b'"content"'
                elif depth == 4 and of_content and key == b'"input"':
                    begun = found.start()
            case b"}" | b"]":
                if depth == 4 and begun:
                    text = body[begun : found.end()].decode("utf-8", "replace")
                    kept += body[end:begun], dump(text)
                    begun, end = 0, found.end()
                depth -= 1
            case name if depth < 4:
                key = name  # or a value, which no bracket follows
            case _:
                pass
    return b"".join((*kept, body[end:]))


def _reply(message: Mapping[str, Any], written: Mapping[int, str], body: bytes = b"") -> Reply:
    """A whole message.

    Args:
        message: as the API sends it at once.
        written: by position of its block, a call's arguments as the model wrote them, where they are known as text.
        body: the message as JSON text, where it came at once.
    """
    ids = CallIds(message.get("id"))
    parts: list[Part] = []
    kept: list[Any] = []
    for position, raw in enumerate(arr(message.get("content"))):
        block = obj(raw)
        kind = txt(block.get("type"))
        if kind == "tool_use":
            label = wire_id(ids.take(block.get("id")))
            text = written.get(position) or _input_text(block.get("input"), position, body)
            parts.append(ToolCall(label, txt(block.get("name")), text))
            block = {**block, "id": label, "name": wire_name(txt(block.get("name")))}
        elif kind == "text":
            if text := txt(block.get("text")):
                parts.append(Text(text, claude_citations(block)))
            if not text.strip():
                continue  # the service may send a blank block, but refuses to take one back
        else:
            parts.append(Reasoning(txt(block.get("thinking"))) if kind == "thinking" else Opaque(kind))
        kept.append(block)
    reason, details = txt(message.get("stop_reason")), obj(message.get("stop_details"))
    stop = _STOPS.get(reason, "unknown")
    category = txt(details.get("category"))
    if stop == "refusal":
        parts.append(Refusal(txt(details.get("explanation")), category))
    if stop == "tool_calls" and not any(isinstance(p, ToolCall) for p in parts):
        stop = "unknown"
    items = dump({"role": "assistant", "content": kept}) if kept else b""
    return Reply(
        Message("assistant", tuple(parts), Native("anthropic", items)),
        stop,
        _usage(obj(message.get("usage"))),
        f"stop_reason: {reason or None}" + (f" ({category})" if category else ""),
        txt(message.get("model")),
        txt(message.get("id")),
    )


_KEPT = frozenset({str, int, bool, type(None)})
"""Types of values of which nothing is lost when JSON is read."""


def _input_text(value: Any, position: int, body: bytes) -> str:
    """A call's arguments as JSON text, with all digits of their numbers, of which a float may have kept less."""
    if body and value.__class__ is dict and not _KEPT.issuperset(map(type, value.values())):
        from toolsmith._arguments.digits import may_be_cut
        from toolsmith._arguments.jsontext import Parsed, parse, written

        read = parse(body) if may_be_cut(body) else None
        if isinstance(read, Parsed) and read.exact:
            return written(read.value["content"][position]["input"], exact=True).decode()
    return arguments_text(value)


def _usage(usage: Mapping[str, Any]) -> Usage:
    cached, written = num(usage.get("cache_read_input_tokens")), num(usage.get("cache_creation_input_tokens"))
    return Usage(
        input_tokens=num(usage.get("input_tokens")) + cached + written,  # the API counts the three apart
        output_tokens=num(usage.get("output_tokens")),
        cached_tokens=cached,
        cache_write_tokens=written,
        reasoning_tokens=num(obj(usage.get("output_tokens_details")).get("thinking_tokens")),
        requests=1,
        searches=num(obj(usage.get("server_tool_use")).get("web_search_requests")),
    )


class _Block:
    """A content block under way: what its start said, and what the deltas add to its text or input."""

    __slots__ = ("begun", "body", "call_id", "closed", "pieces")

    def __init__(self, begun: dict[str, Any], call_id: str) -> None:
        self.begun = begun
        self.body = begun
        self.closed = False
        self.call_id = call_id  # "" for all but calls of our tools
        self.pieces: list[str] = []

    def merge(self, delta: Mapping[str, Any]) -> None:
        """A delta that has no text of its own, or one of a kind that is newer than we: it goes into the block."""
        body = self.body = dict(self.body)
        for key, value in delta.items():
            old = body.get(key)
            if key == "type":
                continue
            if key == "citation":  # the block keeps them as a list
                body["citations"] = [*arr(body.get("citations")), value]
            elif key != "signature" and isinstance(value, str) and isinstance(old, str):
                body[key] = old + value
            else:
                body[key] = value

    def text(self) -> str:
        """All that the deltas have brought."""
        return sound("".join(self.pieces))

    def whole(self) -> dict[str, Any]:
        """The whole block, as the API takes it back."""
        text, kind = self.text(), txt(self.body.get("type"))
        if kind in ("text", "thinking"):
            return {**self.body, kind: sound(txt(self.body.get(kind))) + text}
        if text.strip():  # cut or invalid: the API takes nothing but an object
            return {**self.body, "input": arguments_object(text) or {}}
        return self.body


class MessageStream(AnswerStream):
    """Puts one streamed message together from its raw events; an `Accumulator`."""

    def __init__(self, provider: str) -> None:
        super().__init__(provider, read_message)
        self._ids = CallIds("")
        self._message: dict[str, Any] = {}
        self._begun: list[tuple[int, _Block]] = []
        self._at: dict[int, _Block] = {}  # the one under way, by the index that its events carry
        self._ended = False
        self._words = Words()

    @property
    def over(self) -> bool:
        """Whether the answer has had its end, or an error in its place."""
        return self._ended or self._error is not None

    def _whole(self) -> Reply:
        if not self._ended:
            raise cut_short(self._provider)
        # by index; a server that gives each block the same one means the order in which they came
        blocks = [block for _, block in sorted(self._begun, key=lambda begun: begun[0])]
        written = {at: text for at, b in enumerate(blocks) if b.call_id and (text := b.text()).strip()}
        return _reply({**self._message, "content": [b.whole() for b in blocks]}, written)

    def _take(self, found: Sequence[bytes]) -> list[Delta]:
        deltas: list[Delta] = []
        for data in found:
            if self._error is not None:
                break
            try:
                event = obj(from_json(data))
            except ValueError:
                if (event := self._halved(data)) is None:
                    break
            if event.get("type") == "content_block_delta":
                delta = self._delta(event)
                if delta is not None:
                    deltas.append(delta)
            else:
                deltas += self._other(event)
        return deltas

    def _delta(self, event: Mapping[str, Any]) -> Delta | None:
        delta = obj(event.get("delta"))
        index: Any = event.get("index", 0)
        block = self._at.get(index if index.__class__ is int else num(index))
        if block is None:
            if delta.get("type") != "text_delta":  # of what? To leave it out would be to lose it silently
                self._error = bad_response(self._provider, dump(event))
                return None
            block = self._begin(num(index), {"type": "text", "text": ""})
        match delta.get("type"):
            case "text_delta":
                text = txt(delta.get("text"))
                block.pieces.append(text)
                return TextDelta(self._words.next(text)) if text else None
            case "input_json_delta":
                text = txt(delta.get("partial_json"))
                block.pieces.append(text)
                return ToolArgumentsDelta(block.call_id, text) if text and block.call_id else None
            case "thinking_delta":
                text = txt(delta.get("thinking"))
                block.pieces.append(text)
                return ReasoningDelta(text) if text else None
            case _:
                block.merge(delta)
                return None

    def _other(self, event: Mapping[str, Any]) -> list[Delta]:
        match event.get("type"):
            case "content_block_start":
                return self._start(event)
            case "content_block_stop":
                return self._stop(event)
            case "message_start":
                self._message = obj(event.get("message"))
                self._ids = CallIds(self._message.get("id"))
            case "message_delta":
                self._message.update(obj(event.get("delta")))
                usage = {k: v for k, v in obj(event.get("usage")).items() if v is not None}  # cumulative
                self._message["usage"] = {**obj(self._message.get("usage")), **usage}
            case "message_stop":
                self._ended = True
            case "error":
                self._error = refusal(self._provider, event)
            case _:  # ping, and what is newer than we
                pass
        return []

    def _start(self, event: Mapping[str, Any]) -> list[Delta]:
        body, index = obj(event.get("content_block")), num(event.get("index"))
        under_way = self._at.get(index)
        if under_way is not None and not under_way.closed and under_way.begun == body:
            return []  # the same event again
        block = self._begin(index, body)
        if block.call_id:
            return [ToolCallStarted(block.call_id, txt(body.get("name")))]
        text = txt(body.get("text")) if body.get("type") == "text" else ""
        return [TextDelta(self._words.next(text))] if text else []

    def _begin(self, index: int, body: dict[str, Any]) -> _Block:
        call_id = wire_id(self._ids.take(body.get("id"))) if body.get("type") == "tool_use" else ""
        if body.get("type") not in ("text", "thinking", "tool_use"):
            self._words.interrupt()
        block = self._at[index] = _Block(body, call_id)
        self._begun.append((index, block))
        return block

    def _stop(self, event: Mapping[str, Any]) -> list[Delta]:
        block = self._at.get(num(event.get("index")))
        if block is None:
            return []
        block.closed = True
        if not block.call_id or block.pieces or not block.body.get("input"):
            return []
        block.pieces.append(arguments_text(block.body["input"]))  # a compatible server that sends arguments whole
        return [ToolArgumentsDelta(block.call_id, block.pieces[0])]
