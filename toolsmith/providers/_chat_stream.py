"""A streamed answer of Chat Completions, from OpenAI or a server like it -> deltas, and in the end a `Reply`.

Servers disagree on how calls come in pieces. What decides here: a new id begins a new call, whatever the index says; an
index alone goes on with its call; where neither tells, a name and the beginning of an object after complete arguments
begin a new one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic_core import from_json

from toolsmith.events import Delta, ReasoningDelta, TextDelta, ToolArgumentsDelta, ToolCallStarted
from toolsmith.messages import Reply
from toolsmith.providers._chat_answers import REASONING_KEYS, call_ids, label_of, read_completion, reply_of
from toolsmith.providers._failures import cut_short, refusal
from toolsmith.providers._stream import AnswerStream
from toolsmith.providers._wire import arguments_object, arguments_text, arr, obj, sounded, txt


class _Call:
    """A call under way."""

    __slots__ = ("entry", "label", "name", "pieces", "repeats", "sent")

    def __init__(self, sent: str, label: str) -> None:
        self.sent = sent  # the id that the server gave it
        self.label = label
        self.name = ""
        self.pieces: list[str] = []
        self.repeats = False  # this server writes the name into each piece
        self.entry: dict[str, Any] = {}

    def wire(self) -> dict[str, Any]:
        """The call as an answer sent at once would hold it."""
        function = {**obj(self.entry.get("function")), "name": self.name, "arguments": "".join(self.pieces)}
        return {**self.entry, "id": self.sent, "function": function}

    def is_over(self, sent: str, name: str, piece: str) -> bool:
        """Whether this piece belongs to another call."""
        if sent and self.sent and sent != self.sent:
            return True
        if not name or not self.name:
            return False
        begins = piece.lstrip().startswith("{") if piece else not (sent or self.repeats)
        return begins and arguments_object("".join(self.pieces)) is not None


class ChatStream(AnswerStream):
    """Puts one streamed completion together from its raw chunks; an `Accumulator`."""

    def __init__(self, provider: str) -> None:
        super().__init__(provider, read_completion)
        self._completion: dict[str, Any] = {}  # the first chunk, and the usage of the last
        self._ids = call_ids({})
        self._content: list[Any] = []  # str, or items where the server answers in parts
        self._more: dict[str, Any] = {}  # the message's other keys
        self._calls: list[_Call] = []
        self._at: dict[int, _Call] = {}
        self._finish: object = None
        self._ended = False

    @property
    def over(self) -> bool:
        """Whether the answer has had its end, or an error in its place."""
        return self._ended or self._error is not None

    def _whole(self) -> Reply:
        if not self._ended and self._finish is None:
            raise cut_short(self._provider)
        message = {**self._more, "role": "assistant", "content": self._whole_content()}
        if self._calls:
            message["tool_calls"] = [call.wire() for call in self._calls]
        return reply_of(self._completion, message if self._halves is None else sounded(message), self._finish)

    def _whole_content(self) -> str | list[Any] | None:
        if not self._content:
            return None
        if all(isinstance(piece, str) for piece in self._content):
            return "".join(self._content)
        items = [{"type": "text", "text": piece} if isinstance(piece, str) else piece for piece in self._content]
        return items if self._halves is None else _put_together(items)

    def _take(self, found: Sequence[bytes]) -> list[Delta]:
        deltas: list[Delta] = []
        for data in found:
            if self._ended or self._error is not None:
                break
            if data == b"[DONE]":
                self._ended = True
                break
            try:
                chunk = obj(from_json(data))
            except ValueError:
                if (chunk := self._halved(data)) is None:
                    break
            deltas += self._chunk(chunk)
        return deltas

    def _chunk(self, chunk: dict[str, Any]) -> list[Delta]:
        if not self._completion:
            self._completion = {**chunk, "usage": None}
            self._ids = call_ids(chunk)
        if usage := chunk.get("usage"):
            self._completion["usage"] = usage
        choice = _first(arr(chunk.get("choices")))
        if error := chunk.get("error") or choice.get("error"):
            self._error = refusal(self._provider, error if isinstance(error, str) else {"error": error})
            return []
        if chunk.get("object") == "error":
            self._error = refusal(self._provider, chunk)
            return []
        if (finish := choice.get("finish_reason")) is not None:
            self._finish = finish
        delta = obj(choice.get("delta"))
        content = delta.get("content")
        deltas = self._words(content) if content is not None else []
        if len(delta) > 1 or content is None:
            deltas = self._others(delta) + deltas  # reasoning comes before the words of the same chunk
        return deltas

    def _words(self, content: object) -> list[Delta]:
        if isinstance(content, str):
            self._content.append(content)
            return [TextDelta(content)] if content else []
        deltas: list[Delta] = []
        for raw in arr(content):
            item = obj(raw)
            self._content.append(item)
            thinking = item.get("thinking")
            if (
                thought := thinking
                if isinstance(thinking, str)
                else "".join(txt(obj(t).get("text")) for t in arr(thinking))
            ):
                deltas.append(ReasoningDelta(thought))
            if text := txt(item.get("text")):
                deltas.append(TextDelta(text))
        return deltas

    def _others(self, delta: Mapping[str, Any]) -> list[Delta]:
        deltas: list[Delta] = []
        thought = next((text for key in REASONING_KEYS if (text := txt(delta.get(key)))), "")
        if thought:
            deltas.append(ReasoningDelta(thought))
        for key, value in delta.items():
            if value is None or key in ("content", "role"):
                continue
            if key == "tool_calls":
                for raw in arr(value):
                    deltas += self._call(obj(raw))
            elif key == "function_call":  # the form before tool_calls
                deltas += self._call({"index": 0, "function": value})
            else:
                _merge(self._more, key, value)
        return deltas

    def _call(self, entry: Mapping[str, Any]) -> list[Delta]:
        function = obj(entry.get("function"))
        sent, name, arguments = txt(entry.get("id")), txt(function.get("name")), function.get("arguments")
        piece = arguments if isinstance(arguments, str) else "" if arguments is None else arguments_text(arguments)
        call = self._target(entry.get("index"), sent, name, piece)
        deltas: list[Delta] = []
        if name and not call.name:
            call.name = name
            deltas.append(ToolCallStarted(call.label, name))
            if call.pieces:
                deltas.append(ToolArgumentsDelta(call.label, "".join(call.pieces)))
        elif name:
            call.repeats = True
        if piece:
            call.pieces.append(piece)
            if call.name:
                deltas.append(ToolArgumentsDelta(call.label, piece))
        for key, value in entry.items():
            if value is not None and key not in ("index", "id", "type", "function"):
                _merge(call.entry, key, value)
        return deltas

    def _target(self, index: object, sent: str, name: str, piece: str) -> _Call:
        """The call that a piece belongs to; a new one where it is the first of its call."""
        last = self._calls[-1] if self._calls else None
        if isinstance(index, int):
            call = self._at.get(index, None if sent or name else last)
        elif sent:
            call = next((c for c in reversed(self._calls) if c.sent == sent), None)
        else:
            call = last
        if call is not None and isinstance(index, int) is False and not sent and name and call.name not in ("", name):
            call = None  # another name, and nothing else to go by
        if call is None or call.is_over(sent, name, piece):
            call = _Call(sent, label_of(self._ids.take(sent)))
            self._calls.append(call)
        if isinstance(index, int):
            self._at[index] = call
        return call


def _first(choices: Sequence[Any]) -> dict[str, Any]:
    """The choice that a run follows; a server may leave its index out."""
    for choice in map(obj, choices):
        if choice.get("index") in (0, None):
            return choice
    return {}


def _put_together(items: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Texts that follow each other as one: a character was cut between two of them."""
    whole: list[dict[str, Any]] = []
    for item in items:
        before = whole[-1] if whole else {}
        if before.keys() == item.keys() == {"type", "text"}:
            whole[-1] = {**item, "text": txt(before["text"]) + txt(item["text"])}
        else:
            whole.append(item)
    return whole


def _merge(into: dict[str, Any], key: str, value: Any) -> None:
    """What the server added of its own: texts and lists grow, objects are filled, the rest is replaced."""
    old = into.get(key)
    if isinstance(old, str) and isinstance(value, str):
        into[key] = old + value
    elif isinstance(old, list) and isinstance(value, list):
        into[key] = [*arr(old), *arr(value)]
    elif isinstance(old, dict) and isinstance(value, dict):
        into[key] = {**obj(old), **obj(value)}
    else:
        into[key] = value
