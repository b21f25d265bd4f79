"""Results that are too long for the model: cut, and kept, so that it can read on.

A cut result names a handle. With it the model calls the reader, a tool that stands in its list from the first request
on, and gets a part: items of a list, members of an object, lines of a text, at any place in the result. A call of it
is a call like others: it counts for `Limits(calls=...)`, and has its record and its events.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import field, replace
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any, Final, cast

from toolsmith._dataclass import dataclass
from toolsmith._run.cutting import Cutter, Gap, Path, counted, cut, head_end, tail_start
from toolsmith._run.places import find, place_of
from toolsmith.limits import LEAST_READ_ON
from toolsmith.messages import Message, ToolCall, ToolOutput, ToolResult

if TYPE_CHECKING:
    from toolsmith._feedback import Feedback
    from toolsmith.tool import Tool

NAME: Final = "read_more"

MAX_KEPT: Final = 10_000_000
"""Characters of results that one run keeps for reading on; they are part of a `Pending` too."""
MAX_RESULTS: Final = 100
_BODY: Final = 40
"""Characters under which a cut result is its note alone."""
_ISSUED: Final = re.compile(r'"handle"\s*:\s*"r(\d{1,6})"')


Tell = Callable[[ToolResult], str]
"""Gives a success as the model reads it."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a call of the reader asks for."""

    handle: str
    at: str
    start: int


@dataclass(slots=True, eq=False)
class Kept:
    """A result that was cut.

    Attributes:
        tool: which gave it.
        data: all of it; once it is kept, as JSON text, since the program may go on to change what it gave.
        size: characters of it as text.
        bound: characters of a part of it, the note included.
        untrusted: others have written it.
    """

    tool: str
    data: Any
    size: int
    bound: int
    untrusted: bool = False
    frozen: bool = False
    _value: Any = None

    @property
    def value(self) -> Any:
        """The data; of a text that is JSON, what it says."""
        if self._value is None:
            self._value = json.loads(self.data) if self.frozen else structure(self.data)
        return self._value

    def freeze(self) -> None:
        """Let go of what belongs to the program."""
        if not isinstance(self.data, str):
            self.data, self.frozen = json.dumps(self.data, ensure_ascii=False), True
        self._value = None


@dataclass(slots=True, eq=False)
class Pages:
    """The results of one run that can be read on.

    Attributes:
        reader: the tool to read on with.
        words: what is said of cuts.
    """

    reader: Tool[..., Any]
    words: Feedback
    history: Sequence[Message] = ()
    _kept: dict[str, Kept] = field(default_factory=dict[str, Kept])
    _dropped: dict[str, str] = field(default_factory=dict[str, str])
    _last: int = -1

    def keep(self, result: Kept) -> str:
        """Keep a result; its handle, "" for one that is too large to be kept."""
        if result.size > MAX_KEPT or result.bound < LEAST_READ_ON:
            return ""
        if self._last < 0:
            self._last = _last_issued(self.history)
        self._last += 1
        handle = f"r{self._last}"
        self._kept[handle] = result
        while sum(k.size for k in self._kept.values()) > MAX_KEPT or len(self._kept) > MAX_RESULTS:
            oldest = next(iter(self._kept))
            self._dropped[oldest] = self._kept.pop(oldest).tool
        return handle

    def read(self, wanted: Wanted, tell: Tell, notes: Sequence[str] = ()) -> ToolResult:
        """A part of a result.

        Args:
            wanted: which.
            tell: gives it as the model reads it.
            notes: what else the model will be told with it; all together keeps to the bound.
        """
        words, reader = self.words, self.reader.name
        handle = wanted.handle.strip().strip("`\"'")
        kept = self._kept.get(handle)
        if kept is None:
            if handle in self._dropped:
                return ToolResult(False, error=words.no_longer_kept(reader, handle, self._dropped[handle]))
            return ToolResult(False, error=words.not_kept(reader, handle, list(self._kept)))
        found, path, whole = find(kept.value, wanted.at)
        what, total = counted(found)
        if not whole:
            known = place_of(kept.value, path)
            return ToolResult(False, error=words.no_such_place(reader, wanted.at, known, what, total))
        if wanted.start and wanted.start >= total:
            return ToolResult(False, error=words.past_the_end(reader, what or "digit", wanted.start, total))
        return _Page(self, kept, handle, path, found, wanted.start).made(tell, notes)

    def arguments(self, handle: str, kept: Kept, gap: Gap) -> str:
        """What to send for what is missing, as JSON; of a place that is too long to say, for what it is in."""
        path, start = gap
        while (at := place_of(kept.value, path, most=kept.bound // 3)) is None:
            path, start = path[:-1], 0
        sent: dict[str, Any] = {"handle": handle}
        if at:
            sent["at"] = at
        if start:
            sent["start"] = start
        return json.dumps(sent, ensure_ascii=False)

    # ---- beyond this process

    def dump(self) -> dict[str, Any]:
        """As JSON data, for `load`."""
        kept = {h: [k.tool, k.data, k.size, k.bound, k.untrusted, k.frozen] for h, k in self._kept.items()}
        return {"last": self._last, "kept": kept, "dropped": {**self._dropped}}

    def take_over(self, dumped: Mapping[str, Any]) -> None:
        """Go on from what `dump` gave."""
        self._last = int(dumped["last"])
        self._kept = {str(h): Kept(*k) for h, k in dumped["kept"].items()}
        self._dropped = dict(dumped["dropped"])


def _last_issued(history: Iterable[Message]) -> int:
    """The number of the last handle in what was said before: a new one must not be taken for an old one."""
    last = 0
    for message in history:
        for part in message.parts:
            text = part.text if isinstance(part, ToolOutput) else part.arguments if isinstance(part, ToolCall) else ""
            if '"handle"' in text:
                last = max(last, *(int(n) for n in _ISSUED.findall(text)), 0)
    return last


# ---- cutting


def shortened(
    result: ToolResult,
    tool: str,
    bound: int,
    tell: Tell,
    words: Feedback,
    pages: Pages | None,
    *,
    divisible: bool = True,
) -> str:
    """What the model reads of a success, in at most `bound` characters.

    Args:
        result: what the tool gave.
        tool: its name.
        bound: characters.
        tell: gives a result as the model reads it.
        words: what is said of cuts.
        pages: keeps it for reading on; None where there is no reader.
        divisible: the tool takes arguments, by which it can be asked for a smaller part.
    """
    data = words.media_lines(result.data) if result.media else result.data
    total = len(words.result_text(ToolResult(True, data)))
    kept = Kept(tool, data, total, bound, result.untrusted)
    value = kept.value

    def told(body: str, *notes: str) -> str:
        return tell(replace(result, data=body, notes=(*notes, *result.notes)))

    if value is not data and bound >= _BODY:
        # A JSON text may be short enough without its spaces.
        body, gaps = _body(value, bound, words)
        if not gaps and len(text := told(body)) <= bound:
            return text
    handle = pages.keep(kept) if pages is not None else ""
    say = words.cut_note if divisible else words.cut_whole
    text = _cut_to(bound, kept, told, words, say, pages, handle)
    if handle:
        kept.freeze()
    return text


def _cut_to(
    bound: int,
    kept: Kept,
    told: Callable[..., str],
    words: Feedback,
    say: Callable[..., str],
    pages: Pages | None,
    handle: str,
) -> str:
    """As much of a result as there is room for beside a note that says how to see the rest."""
    tool, total, value = kept.tool, kept.size, kept.value

    def note(gaps: Sequence[Gap]) -> str:
        more = pages.arguments(handle, kept, gaps[0]) if pages is not None and handle and gaps else ""
        return say(tool, total, reader=pages.reader.name if pages is not None and more else "", more=more)

    room = bound - len(told("x", note([((), total)]))) + 1
    for _ in range(4):
        if room < _BODY:
            break
        body, gaps = _body(value, room, words)
        text = told(body, note(gaps))
        if len(text) <= bound:
            return text
        room = len(body) - (len(text) - bound)
    return _clipped(note([((), 0)]), bound)


def _body(value: Any, room: int, words: Feedback) -> tuple[str, list[Gap]]:
    """As much of a value as there is room for, and what is missing of it."""
    if not isinstance(value, str):
        return cut(value, room, words)
    if len(value) <= room:
        return value, []
    budget = room - len(words.left_out("character", len(value), len(value))) - 2
    if budget < 0:
        return words.left_out("character", len(value))[:room], [((), 0)]
    head = head_end(value, budget * 4 // 5)
    tail = max(tail_start(value, budget - budget * 4 // 5), head)
    mark = words.left_out("character", tail - head, head)
    before = "" if not head or value[head - 1] == "\n" else "\n"
    return f"{value[:head]}{before}{mark}\n{value[tail:]}", [((), head)]


def _clipped(text: str, bound: int) -> str:
    return text[: head_end(text, bound)]


def structure(data: Any) -> Any:
    """What a text says that is a JSON object or list; all else as it is."""
    if not isinstance(data, str) or data[:64].lstrip()[:1] not in ("{", "[") or len(data) > MAX_KEPT:
        return data
    import jiter

    try:
        return cast("Any", jiter.from_json)(
            data.encode(), allow_inf_nan=False, catch_duplicate_keys=True, float_mode="decimal"
        )
    except (ValueError, RecursionError):
        return data


# ---- pages


@dataclass(frozen=True, slots=True)
class _Page:
    """A part of what stands at a place of a result, from a position on."""

    pages: Pages
    kept: Kept
    handle: str
    path: Path
    value: Any
    start: int

    def made(self, tell: Tell, notes: Sequence[str]) -> ToolResult:
        """The part and where it stands, within the bound."""
        bound = self.kept.bound

        def part(body: str, *notes: str) -> ToolResult:
            return ToolResult(True, body, notes=notes, untrusted=self.kept.untrusted)

        room = bound - len(tell(part("x", self._note(self.start, self.start, []), *notes))) + 1
        for _ in range(4):
            if room < _BODY:
                break
            body, end, gaps = self._body(room)
            note = self._note(self.start, end, gaps)
            length = len(tell(part(body, note, *notes)))
            if length <= bound:
                return part(body, note)
            room = len(body) - (length - bound)
        # What else is to be said leaves no room; the part can be asked for again.
        return ToolResult(True, _clipped(self._note(self.start, self.start, []), bound))

    def _note(self, start: int, end: int, gaps: Sequence[Gap]) -> str:
        words, pages = self.pages.words, self.pages
        what, total = counted(self.value)
        if what is None:
            return words.result_place(place_of(self.kept.value, self.path))
        more = ""
        if end < total:
            said = place_of(self.kept.value, self.path, most=self.kept.bound // 3) is not None
            more = pages.arguments(self.handle, self.kept, (self.path, end)) if said else json.dumps({"start": end})
        return words.page_note(
            what,
            start,
            end,
            total,
            place=place_of(self.kept.value, self.path),
            reader=pages.reader.name,
            more=more,
            gap=pages.arguments(self.handle, self.kept, gaps[0]) if gaps else "",
        )

    def _body(self, room: int) -> tuple[str, int, list[Gap]]:
        """The part, the position behind its end, and what is missing inside it."""
        value, start = self.value, self.start
        if isinstance(value, str):
            end = head_end(value, room, start=start)
            return value[start:end], end, []
        cutter = Cutter(self.pages.words)
        if not isinstance(value, (list, dict)):
            return cutter.write(value, room, self.path), 1, cutter.gaps
        named = isinstance(value, dict)
        shown: list[str] = []
        left = room - 1
        for name, item in islice(_members(value), start, start + room):
            cost = cutter.size(item, left) + (cutter.size(name, left) + 2 if named else 1)
            if cost > left and shown and left < room // 2:
                break
            # One that does not fit is shown in part, if much of the room would be empty without it.
            most = left if cost <= left else left // 2
            label = "" if not named else f"{cutter.label(name, start + len(shown), most)}:"
            shown.append(label + cutter.write(item, left - len(label) - 1, (*self.path, start + len(shown))))
            left -= cost
            if left < 0:
                break
        body = ",".join(shown)
        return f"{{{body}}}" if named else f"[{body}]", start + len(shown), cutter.gaps


def _members(value: Any) -> Iterable[tuple[str, Any]]:
    """Names and values; the items of a list have no names."""
    if isinstance(value, dict):
        return cast("dict[str, Any]", value).items()
    return (("", item) for item in cast("list[Any]", value))


# ---- the reader


def reader_tool(tools: Container[str], words: Feedback) -> Tool[..., Any]:
    """The tool to read on with, under a name that no other tool has."""
    from pydantic import Field

    from toolsmith.tool import Tool

    def read(handle: str, at: str = "", start: int = 0) -> Wanted:
        return Wanted(handle, at, start)

    read.__annotations__ = {
        "handle": Annotated[str, Field(description=words.reader_handle())],
        "at": Annotated[str, Field(description=words.reader_at())],
        "start": Annotated[int, Field(description=words.reader_start(), ge=0)],
        "return": Wanted,
    }
    name = NAME
    while name in tools:
        name += "_"
    # Not strict: what room a service has for strict tools belongs to the user's.
    return Tool(read, name=name, description=words.reader_described(), strict=False, read_only=True)
