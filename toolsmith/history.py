"""Keeping a conversation: to JSON and back without loss, and back into shape where it was damaged.

    text = dump_messages(result.messages)
    ...
    agent.run_sync("And tomorrow?", message_history=load_messages(text))

The JSON holds what the user, the model and the tools said, and beside each turn the service's own items as it sent
them. It may hold encrypted reasoning and whatever the tools returned, images and files too: keep it where you keep such
data.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, fields, replace
from typing import Any, cast, get_args

from toolsmith._callids import another_id
from toolsmith.errors import HistoryError
from toolsmith.media import File, Image, Media
from toolsmith.messages import (
    Citation,
    Message,
    Native,
    Opaque,
    Part,
    Reasoning,
    Refusal,
    Role,
    Text,
    ToolCall,
    ToolOutput,
)

VERSION = 1
"""Of the JSON. A version that this package does not know is refused, never guessed at."""

_KINDS: dict[str, type[Part]] = {
    "text": Text,
    "image": Image,
    "file": File,
    "refusal": Refusal,
    "reasoning": Reasoning,
    "tool_call": ToolCall,
    "tool_output": ToolOutput,
    "opaque": Opaque,
}
_ROLES = get_args(Role)
_NAMES = {kind: name for name, kind in _KINDS.items()}


def dump_messages(messages: Sequence[Message]) -> str:
    """A history as JSON text."""
    return json.dumps({"toolsmith_history": VERSION, "messages": [_dump(m) for m in messages]})


def load_messages(text: str | bytes) -> list[Message]:
    """A history from what `dump_messages` gave.

    Raises:
        HistoryError: this is no such JSON; the text says where it is wrong.
    """
    if not isinstance(text, (str, bytes, bytearray)):  # pyright: ignore[reportUnnecessaryIsInstance] - not all check
        raise HistoryError(
            f"load_messages takes the text that dump_messages() gave, not {type(text).__name__}. Keep it as a text; "
            "what a database has parsed is one again after json.dumps()."
        )
    try:
        data: Any = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise HistoryError(f"This is no dumped history: {error}.") from None
    if not isinstance(data, dict) or "toolsmith_history" not in data:
        raise HistoryError("This is no dumped history: it has no 'toolsmith_history'. Give what dump_messages() gave.")
    held = cast("dict[str, Any]", data)
    if held["toolsmith_history"] != VERSION:
        raise HistoryError(
            f"This history has version {held['toolsmith_history']!r}; this toolsmith reads version {VERSION}. "
            "Load it with the release that wrote it."
        )
    messages = held.get("messages")
    if not isinstance(messages, list):
        raise HistoryError("messages: must be a list.")
    return [_load(m, f"messages[{i}]") for i, m in enumerate(cast("list[Any]", messages))]


def _dump(message: Message) -> dict[str, Any]:
    dumped: dict[str, Any] = {"role": message.role, "parts": [_dump_part(p) for p in message.parts]}
    if message.native is not None:
        # Text, not JSON within JSON: the bytes must come back as they were, to the last space.
        dumped["native"] = {
            "api": message.native.api,
            "items": message.native.items.decode("utf-8"),
            "prefix": message.native.prefix,
        }
    return dumped


def _dump_part(part: Part) -> dict[str, Any]:
    if isinstance(part, (Image, File)):
        return dump_media(part)
    dumped: dict[str, Any] = {"part": _NAMES[type(part)], **{f.name: getattr(part, f.name) for f in fields(part)}}
    if isinstance(part, Text):
        citations = dumped.pop("citations")
        if citations:
            dumped["citations"] = [asdict(one) for one in citations]
    if isinstance(part, ToolOutput):
        media = dumped.pop("media")
        if media:
            dumped["media"] = [dump_media(one) for one in media]
    return dumped


def dump_media(media: Media) -> dict[str, Any]:
    """An image or a file as JSON data, its bytes in base64; `load_media` reads it."""
    held = {f.name: getattr(media, f.name) for f in fields(media) if getattr(media, f.name)}
    if media.data is not None:
        held["data"] = base64.b64encode(media.data).decode()
    return {"part": _NAMES[type(media)], **held}


def load_media(data: Any, where: str) -> Media:
    """What `dump_media` gave.

    Raises:
        HistoryError: this is none of that; the text says what is wrong at `where`.
    """
    entry = dict(_mapping(data, where))
    name = entry.pop("part", None)
    kind = _KINDS.get(name) if isinstance(name, str) else None
    if kind is not Image and kind is not File:
        raise HistoryError(f"{where}.part: must be image or file.")
    for name, value in entry.items():
        if not isinstance(value, str):
            raise HistoryError(f"{where}.{name}: {value!r} does not belong here.")
    try:
        if "data" in entry:
            entry["data"] = base64.b64decode(entry["data"], validate=True)
        return kind(**entry)
    except binascii.Error as error:
        raise HistoryError(f"{where}.data: this is no base64: {error}.") from None
    except (TypeError, ValueError) as error:
        raise HistoryError(f"{where}: {error}") from None


def _load(data: Any, where: str) -> Message:
    entry = _mapping(data, where)
    role = entry.get("role")
    if role not in _ROLES:
        raise HistoryError(f"{where}.role: {role!r} must be one of {', '.join(_ROLES)}.")
    parts = entry.get("parts")
    if not isinstance(parts, list):
        raise HistoryError(f"{where}.parts: must be a list.")
    loaded = tuple(_load_part(p, f"{where}.parts[{i}]") for i, p in enumerate(cast("list[Any]", parts)))
    native = None
    if entry.get("native") is not None:
        held = _mapping(entry["native"], f"{where}.native")
        api, items, prefix = held.get("api"), held.get("items"), held.get("prefix", "")
        if not isinstance(api, str) or not isinstance(items, str) or not isinstance(prefix, str):
            raise HistoryError(f"{where}.native: must have the texts 'api' and 'items'.")
        try:
            native = Native(api, items.encode("utf-8"), prefix)
        except UnicodeEncodeError:
            raise HistoryError(f"{where}.native.items: has half of a surrogate pair.") from None
    return Message(cast("Role", role), loaded, native)


def _load_part(data: Any, where: str) -> Part:
    entry = dict(_mapping(data, where))
    name = entry.pop("part", None)
    kind = _KINDS.get(name) if isinstance(name, str) else None
    if kind is None:
        raise HistoryError(f"{where}.part: must be one of {', '.join(_KINDS)}.")
    if kind is Image or kind is File:
        return load_media(data, where)
    types = {f.name: bool if f.name == "is_error" else str for f in fields(kind)}
    types.pop("media", None)
    types.pop("citations", None)
    cited: Any = entry.pop("citations", None) if kind is Text else None
    media = cast("list[Any]", entry.pop("media", [])) if kind is ToolOutput else []
    for name, value in entry.items():
        if name not in types or not isinstance(value, types[name]):
            raise HistoryError(f"{where}.{name}: {value!r} does not belong here.")
    if not isinstance(media, list):  # pyright: ignore[reportUnnecessaryIsInstance] - it was read from JSON
        raise HistoryError(f"{where}.media: must be a list.")
    if media:
        entry["media"] = tuple(load_media(one, f"{where}.media[{i}]") for i, one in enumerate(media))
    if cited:
        entry["citations"] = _load_citations(cited, f"{where}.citations")
    make = cast("Callable[..., Part]", kind)
    try:
        return make(**entry)
    except TypeError as error:
        raise HistoryError(f"{where}: {error}.") from None


def _load_citations(data: Any, where: str) -> tuple[Citation, ...]:
    if not isinstance(data, list):
        raise HistoryError(f"{where}: must be a list.")
    found: list[Citation] = []
    for number, one in enumerate(cast("list[Any]", data)):
        entry = _mapping(one, f"{where}[{number}]")
        for name, value in entry.items():
            wanted = int if name in ("start", "end") else str
            if not isinstance(value, wanted) or isinstance(value, bool):
                raise HistoryError(f"{where}[{number}].{name}: {value!r} does not belong here.")
        try:
            found.append(Citation(**entry))
        except TypeError as error:
            raise HistoryError(f"{where}[{number}]: {error}.") from None
    return tuple(found)


def _mapping(data: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(data, dict):
        raise HistoryError(f"{where}: must be an object.")
    return cast("dict[str, Any]", data)


def given_history(history: object) -> Sequence[Message]:
    """What a user gave as `message_history`.

    Raises:
        TypeError: it is no list of messages, or a message has something for a `Native` that is none; the text says
            what to give.
        HistoryError: a message of a role that there is not.
    """
    if not isinstance(history, Sequence) or isinstance(history, (str, bytes)):
        instead = {"str": "write load_messages(text)", "bytes": "write load_messages(text)"}
        instead |= {"RunResult": "write result.messages", "Pending": "write pending.messages"}
        instead |= {"Message": "write [message]", "generator": "write list(...)"}
        kind = type(history).__name__
        raise TypeError(
            f"message_history takes a list of Message, not {kind}: {instead.get(kind, 'give result.messages')}."
        )
    held = cast("Sequence[object]", history)
    for index, message in enumerate(held):
        if not isinstance(message, Message):
            raise TypeError(
                f"message_history[{index}] is a {type(message).__name__}, and no Message. What dump_messages() gave is "
                "read by load_messages(); of other data make Message('user', (Text('...'),))."
            )
        if message.role not in _ROLES:
            raise HistoryError(
                f"message_history[{index}] has the role {message.role!r}; there are {', '.join(_ROLES)}. Instructions "
                "are given as Agent(instructions=...)."
            )
        native: object = message.native
        if native is not None and not _is_native(native):
            raise TypeError(
                f"message_history[{index}].native is no Native, or not one of an API's name and bytes. Leave it out, "
                "and the parts of the message are sent: replace(message, native=None)."
            )
    return cast("Sequence[Message]", held)


def _is_native(value: object) -> bool:
    if not isinstance(value, Native):
        return False
    held: tuple[object, ...] = (value.api, value.items, value.prefix)
    return tuple(map(type, held)) == (str, bytes, str)


def mend(messages: Sequence[Message], lost: Callable[[str], str]) -> tuple[list[Message], list[str]]:
    """A history in which each call is followed by its one answer, as every service demands; and what had to be done.

    A call without an answer gets one that says so; where answers follow answers the later ones stand, as after a run
    that waited for a person (`RunResult.new_messages` of both); an answer without a call is left out, and so are calls
    and answers in messages where they cannot stand. Of what stands there twice the second gets ids of its own. A
    history that is in order comes back as it is: nothing that was sent before may change.

    Args:
        messages: any history, also a trimmed or interrupted one.
        lost: what to tell the model about a call whose answer is lost, by the tool's name.
    """
    mending = _Mending(lost)
    for index, message in enumerate(messages):
        mending.take(index, message)
    mending.answer(len(messages), None)
    return mending.messages, mending.notes


class _Mending:
    """A history on its way into shape.

    Attributes:
        messages: what is in shape so far.
        notes: what had to be done, for people.
    """

    def __init__(self, lost: Callable[[str], str]) -> None:
        self.messages: list[Message] = []
        self.notes: list[str] = []
        self._lost = lost
        self._open: list[tuple[ToolCall, str]] = []  # with the id as it came
        self._ids: set[str] = set()
        self._items: set[bytes] = set()

    def take(self, index: int, message: Message) -> None:
        """The next message."""
        if message.role == "tool":
            self.answer(index, message)
            return
        self.answer(index, None)
        message = self._placed(index, message)
        if message.role == "assistant":
            message = self._single(index, message)
        self.messages.append(message)

    def answer(self, index: int, message: Message | None) -> None:
        """The answers to the calls that are open; None where something else follows them."""
        calls, self._open = self._open, []
        given = [] if message is None else [p for p in message.parts if isinstance(p, ToolOutput)]
        in_order = [o.call_id for o in given] == [c.id for c, _ in calls]
        if in_order and (message is None or (calls and len(given) == len(message.parts))):
            self.messages += () if message is None else (message,)
            return
        if not calls and given and self.messages and self.messages[-1].role == "tool":
            given = self._later(index, given)
        outputs: list[ToolOutput] = []
        for call, call_id in calls:
            match = next((o for o in given if o.call_id == call_id), None)
            if match is None:
                self.notes.append(f"messages[{index}]: call {call.id!r} of {call.name!r} had no answer; one was added.")
                outputs.append(ToolOutput(call.id, call.name, self._lost(call.name), True))
            else:
                given.remove(match)
                outputs.append(replace(match, call_id=call.id))
        self.notes += [f"messages[{index}]: an answer to the unknown call {o.call_id!r} was left out." for o in given]
        if outputs:
            self.messages.append(Message("tool", tuple(outputs)))

    def _later(self, index: int, given: list[ToolOutput]) -> list[ToolOutput]:
        """Answers that follow answers: what stood for them before gives way. The ones that answer nothing."""
        before = self.messages[-1]
        later = {o.call_id: o for o in given}
        parts = tuple(later.pop(p.call_id, p) if isinstance(p, ToolOutput) else p for p in before.parts)
        if len(later) < len(given):
            self.messages[-1] = replace(before, parts=parts)
            self.notes.append(f"messages[{index}]: answers that came later took the place of earlier ones.")
        return [o for o in given if later.get(o.call_id) is o]

    def _placed(self, index: int, message: Message) -> Message:
        """A message without the calls and answers that its role does not have; some services refuse them there."""
        strange = ToolOutput if message.role == "assistant" else (ToolCall, ToolOutput)
        parts = tuple(p for p in message.parts if not isinstance(p, strange))
        if len(parts) == len(message.parts):
            return message
        left_out = len(message.parts) - len(parts)
        self.notes.append(f"messages[{index}]: {left_out} calls or answers cannot stand there; they were left out.")
        return Message(message.role, parts)

    def _single(self, index: int, message: Message) -> Message:
        """A turn of the model with ids that no turn before it has: a history may hold a turn twice.

        Some servers count anew with each answer, so that equal ids alone do not make it the same turn.
        """
        calls, native = message.tool_calls, message.native
        known = native is not None and b'"id":' in native.items and native.items in self._items
        if native is not None:
            self._items.add(native.items)
        ids: list[str] = []
        for call in calls:
            ids.append(another_id(call.id, self._ids) if call.id in self._ids else call.id)
            self._ids.add(ids[-1])
        if not known and ids == [call.id for call in calls]:
            self._open = [(call, call.id) for call in calls]
            return message
        if native is not None and native.api != "openai-chat":  # Chat Completions finds its own ids again
            self.notes.append(f"messages[{index}]: has ids that an earlier one has too; it was given others.")
            native = None
        new = iter(ids)
        parts = tuple(replace(p, id=next(new)) if isinstance(p, ToolCall) else p for p in message.parts)
        message = replace(message, parts=parts, native=native)
        self._open = [(new, old.id) for new, old in zip(message.tool_calls, calls, strict=True)]
        return message
