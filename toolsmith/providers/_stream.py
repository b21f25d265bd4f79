"""What the accumulators of the three APIs share: events out of bytes, cut characters, an answer that came whole."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from toolsmith._plain import sound
from toolsmith.errors import ProviderError
from toolsmith.events import Delta, ReasoningDelta, TextDelta, ToolArgumentsDelta, ToolCallStarted
from toolsmith.messages import Message, Opaque, Reasoning, Reply, Text, ToolCall, Words
from toolsmith.providers._sse import EventSplitter
from toolsmith.providers._wire import bad_response, is_whole, load, obj

# Keys whose texts go on in the next event; a half in any other text has nothing to wait for.
_PIECES = frozenset(
    {"text", "partial_json", "thinking", "delta", "content", "arguments", "refusal", "reasoning", "reasoning_content"}
)


class AnswerStream:
    """Base of the accumulators. `_take` reads events, `_whole` makes the answer of them.

    Attributes:
        _halves: of cut characters; None until an event has one.
    """

    def __init__(self, provider: str, read: Callable[[str, bytes], Reply]) -> None:
        self._provider = provider
        self._read = read  # of an answer that was sent at once
        self._events = EventSplitter()
        self._error: ProviderError | None = None
        self._reply: Reply | None = None
        self._halves: Halves | None = None

    def feed(self, chunk: bytes) -> Sequence[Delta]:
        """Take the next bytes, cut anywhere; give the events they complete."""
        deltas = self._take(self._events.feed(chunk))
        return deltas if self._halves is None else self._halves.joined(deltas)

    def end(self) -> Sequence[Delta]:
        """The bytes have ended: the events that were waiting for more. None, where the answer is not whole."""
        if self._reply is not None or self._error is not None:
            return ()
        deltas = self._take([data for data in self._events.end() if is_whole(data)])
        try:
            if self._error is not None:
                return ()
            if plain := self._events.plain.strip():  # not a stream: a page, an error, or an answer sent at once
                self._reply = self._read(self._provider, plain)
                return told(self._reply.message)
            self._reply = self._whole()
        except ProviderError as error:
            self._error = error
            return ()
        return deltas if self._halves is None else self._halves.joined(deltas, last=True)

    def finish(self) -> Reply:
        """The whole answer, as it would be if it had been sent at once."""
        self.end()
        if self._error is not None:
            raise self._error
        assert self._reply is not None
        return self._reply

    def _take(self, found: Sequence[bytes]) -> list[Delta]:
        raise NotImplementedError

    def _whole(self) -> Reply:
        raise NotImplementedError

    def _halved(self, data: bytes) -> dict[str, Any] | None:
        """An event that cannot be read as it is: one with half of a character. None, and an error, for all others."""
        try:
            load(data)
            event = json.loads(data)
        except ValueError:
            self._error = bad_response(self._provider, data)
            return None
        if self._halves is None:
            self._halves = Halves()
        return obj(_kept(event))


class Halves:
    """Puts characters together that a server has cut in two, one half in each of two events.

    Such a server cuts JSON text or UTF-16 where it likes: "\\ud83d" comes in one event, "\\ude00" in the next.
    """

    def __init__(self) -> None:
        self._held: dict[object, TextDelta | ReasoningDelta | ToolArgumentsDelta] = {}

    def joined(self, deltas: Sequence[Delta], *, last: bool = False) -> list[Delta]:
        """The same pieces; a first half waits for the next piece of its kind, and what stays alone becomes U+FFFD.

        Args:
            deltas: in any text of which may be halves.
            last: nothing comes after them.
        """
        joined: list[Delta] = []
        for delta in deltas:
            key = delta.call_id if isinstance(delta, (ToolArgumentsDelta, ToolCallStarted)) else type(delta)
            # Calls may be written in turns, words may not.
            joined += self._given_up([held for held in self._held if held != key and not isinstance(held, str)])
            if isinstance(delta, ToolCallStarted):
                joined.append(delta)
                continue
            text = self._held.pop(key).text + delta.text if key in self._held else delta.text
            if "\ud800" <= text[-1] <= "\udbff":
                self._held[key] = replace(delta, text=text[-1])
                text = text[:-1]
            if text:
                joined.append(replace(delta, text=sound(text)))
        return joined + self._given_up(list(self._held)) if last else joined

    def _given_up(self, keys: Sequence[object]) -> list[Delta]:
        held = [self._held.pop(key) for key in keys]
        return [replace(delta, text=sound(delta.text)) for delta in held]


def _kept(value: Any, key: str = "") -> Any:
    """An event with halves left only where the next event may bring the other one."""
    match value:
        case str():
            return value if key in _PIECES else sound(value)
        case Mapping():
            return {sound(k): _kept(v, k) for k, v in cast("Mapping[str, Any]", value).items()}
        case list():
            return [_kept(item, key) for item in cast("list[Any]", value)]
        case _:
            return value


def told(message: Message) -> list[Delta]:
    """A turn that came whole, as the events of a stream."""
    words, deltas = Words(), list[Delta]()
    for part in message.parts:
        match part:
            case Text(text):
                deltas.append(TextDelta(words.next(text)))
            case Reasoning(text) if text:
                deltas.append(ReasoningDelta(text))
            case ToolCall(call_id, name, arguments):
                deltas += (ToolCallStarted(call_id, name), ToolArgumentsDelta(call_id, arguments))
            case Opaque():
                words.interrupt()
            case _:
                pass
    return deltas
