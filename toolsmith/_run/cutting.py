"""Data as JSON text of a bounded length: valid JSON, in which strings say what is left out and how much of it.

Room is shared evenly among the parts of a value, and what a small part does not need goes to the large ones. An object
keeps its names as long as there is room for them, a list its first and last items, a text its beginning and its end.
The work is bounded by the room, not by the data: nothing is measured further than it could be shown.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Sequence
from decimal import Decimal
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, cast

if TYPE_CHECKING:
    from toolsmith._feedback import Feedback
    from toolsmith._wording.size import What

Path = tuple[int, ...]
"""A place: which item of a list, or which member of an object, from the outside in."""

Gap = tuple[Path, int]
"""What is missing: in which value, and from which position on."""

_ITEM: Final = 150
"""Characters that an item of a long list is given at least, before another one is shown beside it."""
_VALUE: Final = 28
"""The same for a member's value, so that it can say what is left out of it."""
_BARE: Final = 5
"""Characters of `"..."`."""
_MEMBERS: Final = 40
"""An object of no more names keeps them all, if need be without values."""
_ESCAPED = re.compile(r'[\x00-\x1f"\\]')
_SHORT: Final = frozenset('"\\\n\r\t\b\f')
_JOINERS: Final = frozenset("\u200d\ufe0e\ufe0f")


def cut(value: Any, room: int, words: Feedback) -> tuple[str, list[Gap]]:
    """JSON text of at most `room` characters, and its gaps in the order in which they stand.

    Args:
        value: JSON data; numbers may be `Decimal`.
        room: at least 40.
        words: says what is left out.
    """
    cutter = Cutter(words)
    return cutter.write(value, room, ()), cutter.gaps


class Cutter:
    """Writes values, and knows what it left out.

    Attributes:
        gaps: so far.
    """

    def __init__(self, words: Feedback) -> None:
        self.gaps: list[Gap] = []
        self._words = words
        self._sizes: dict[int, tuple[int, bool]] = {}

    def size(self, value: Any, most: int) -> int:
        """Characters of a value as JSON, or some number above `most`."""
        if value.__class__ is str:
            return len(value) + 2 if len(value) + 2 > most else len(text_of(value))
        if value.__class__ is not list and value.__class__ is not dict:
            return len(text_of(value))
        known = self._sizes.get(id(value))
        if known is not None and (known[1] or known[0] > most):
            return known[0]
        total = 1 if value else 2
        exact = True
        members = cast("dict[str, Any]", value).items() if value.__class__ is dict else ((None, i) for i in value)
        for name, item in members:
            total += 1 if name is None else self.size(name, most - total) + 2
            total += self.size(item, most - total) if total <= most else 1
            if total > most:
                exact = False
                break
        self._sizes[id(value)] = (total, exact)
        return total

    def write(self, value: Any, room: int, path: Path) -> str:
        """The value in no more than `room` characters, of which it is given at least 5."""
        if self.size(value, room) <= room:
            return text_of(value)
        before = len(self.gaps)
        made = ""
        if isinstance(value, str):
            made = self._text(value, room, path)
        elif isinstance(value, list):
            made = self._list(cast("list[Any]", value), room, path)
        elif isinstance(value, dict):
            made = self._object(cast("dict[str, Any]", value), room, path)
        if not made or len(made) > room:
            del self.gaps[before:]
            made = self._stub(value, room)
            self.gaps.append((path, 0))
        return made

    def _stub(self, value: Any, room: int) -> str:
        what, total = counted(value)
        text = text_of(self._words.left_out(what or "digit", total))
        return text if len(text) <= room else '"..."'

    def _mark(self, what: What, count: int, start: int) -> str:
        return text_of(self._words.left_out(what, count, start))

    def _text(self, value: str, room: int, path: Path) -> str:
        budget = room - len(self._mark("character", len(value), len(value)))
        if budget < 12:
            return ""
        head = head_end(value, budget * 2 // 3, escaped=True)
        tail = max(tail_start(value, budget - budget * 2 // 3, escaped=True), head)
        self.gaps.append((path, head))
        mark = self._words.left_out("character", tail - head, head)
        return text_of(f"{value[:head]}{mark}{value[tail:]}")

    def label(self, name: str, number: int, most: int) -> str:
        """A member's name; of a very long one its beginning and its number, which keeps two that begin alike apart."""
        if self.size(name, most) <= most:
            return text_of(name)
        return text_of(f"{name[: head_end(name, most - 14, escaped=True)]}...#{number}")

    # ---- lists

    def _list(self, items: list[Any], room: int, path: Path) -> str:
        number, budget = len(items), room - 2
        few = max(1, min(number, 8, budget // _ITEM))
        mark = 0 if few == number else len(self._mark("item", number, number)) + 1
        budget -= mark
        head, tail = self._whole(items, budget + 1) if mark else (0, 0)
        room_of: dict[int, int] = {}
        if head < 2 or head + number - tail < 3:
            budget -= few - 1
            if budget < few * _BARE:
                return ""
            last = 1 if 3 <= few < number else 0
            head, tail = few - last, number - last
            shown = [*range(head), *range(tail, number)]
            room_of = dict(zip(shown, _shared([self.size(items[i], budget) for i in shown], budget), strict=True))
        parts = [self.write(items[i], room_of.get(i, room), (*path, i)) for i in range(head)]
        if head < tail:
            parts.append(self._mark("item", tail - head, head))
            self.gaps.append((path, head))
        parts += [self.write(items[i], room_of.get(i, room), (*path, i)) for i in range(tail, number)]
        return f"[{','.join(parts)}]"

    def _whole(self, items: list[Any], budget: int) -> tuple[int, int]:
        """Where the gap begins and ends if only whole items are shown: of the room a fifth for those at the end.

        (0, 0) where that leaves half of the room empty.
        """
        head, tail, left = 0, len(items), budget
        at_head = at_tail = True
        for_tail = budget // 5
        while head < tail and (at_head or at_tail):
            last_shown = tail < len(items) or head == 0
            first = at_head and (not at_tail or (last_shown and left > for_tail))
            cost = self.size(items[head if first else tail - 1], left) + 1
            if cost > left:
                at_head, at_tail = (False, at_tail) if first else (at_head, False)
            elif first:
                head, left = head + 1, left - cost
            else:
                tail, left = tail - 1, left - cost
        return (0, 0) if left > budget // 2 else (head, tail)

    # ---- objects

    def _object(self, members: dict[str, Any], room: int, path: Path) -> str:
        number, budget = len(members), room - 2
        names = self._names(members, budget)
        kept = number if len(names) == number and self._fits(members, names, budget) else 0
        mark = ""
        if not kept:
            mark = self._mark("name", number, number)
            budget -= len(mark) + len('"...":,')
            kept = self._some(members, names, budget)
            if not kept:
                return ""
        names = names[:kept]
        values = [*islice(members.values(), kept)]
        budget -= sum(map(len, names)) + 2 * kept - 1
        sizes = [self.size(v, budget) for v in values]
        shares = _shared(sizes, budget)
        parts = [
            f"{name}:{self.write(value, share, (*path, i))}"
            for i, (name, value, share) in enumerate(zip(names, values, shares, strict=True))
        ]
        if kept < number:
            gap = "..."
            while gap in members:
                gap += "."
            parts.append(f"{text_of(gap)}:{self._mark('name', number - kept, kept)}")
            self.gaps.append((path, kept))
        return f"{{{','.join(parts)}}}"

    def _names(self, members: dict[str, Any], budget: int) -> list[str]:
        """The first names, as JSON, as many as there could be room for; a very long one in part."""
        most = max(24, budget // 6)
        names: list[str] = []
        for i, name in enumerate(members):
            made = self.label(name, i, most)
            budget -= len(made) + 2
            if budget < 0:
                break
            names.append(made)
        return names

    def _fits(self, members: dict[str, Any], names: Sequence[str], budget: int) -> bool:
        """Whether all names can be kept, and each value can at least say what it is."""
        budget -= sum(map(len, names)) + 2 * len(names) - 1
        for least in (_VALUE, _BARE) if len(names) <= _MEMBERS else (_VALUE,):
            if sum(min(self.size(v, least), least) for v in members.values()) <= budget:
                return True
        return False

    def _some(self, members: dict[str, Any], names: Sequence[str], budget: int) -> int:
        """How many of the first members to show: those that fit whole, or a few in part."""
        kept = 0
        for least in (budget, _ITEM, 2 * _VALUE, _BARE):
            kept, left = 0, budget
            for name, value in zip(names, members.values(), strict=False):
                cost = len(name) + 2 + min(self.size(value, least), least)
                if cost > left:
                    break
                kept, left = kept + 1, left - cost
            if kept >= 3 and left < budget // 2:
                break
        return kept


def text_of(value: Any) -> str:
    """Compact JSON, as `Feedback.result_text` writes it; a `Decimal` as the number that it was."""
    if value.__class__ is list:
        return f"[{','.join(map(text_of, value))}]"
    if value.__class__ is dict:
        members = cast("dict[str, Any]", value).items()
        return f"{{{','.join(f'{text_of(name)}:{text_of(item)}' for name, item in members)}}}"
    return str(value) if isinstance(value, Decimal) else json.dumps(value, ensure_ascii=False)


def counted(value: Any) -> tuple[What | None, int]:
    """What a value has many of, and how many; None for what has no parts."""
    if isinstance(value, list):
        return "item", len(cast("list[Any]", value))
    if isinstance(value, dict):
        return "name", len(cast("dict[str, Any]", value))
    return ("character", len(value)) if isinstance(value, str) else (None, len(text_of(value)))


def _shared(sizes: Sequence[int], budget: int) -> list[int]:
    """What each may have: small ones all they need, the others the same."""
    shares = [0] * len(sizes)
    left = len(sizes)
    for i in sorted(range(left), key=lambda i: sizes[i]):
        shares[i] = min(sizes[i], budget // left)
        budget -= shares[i]
        left -= 1
    return shares


# ---- texts


def _cost(char: str, *, escaped: bool) -> int:
    if not escaped or not _ESCAPED.match(char):
        return 1
    return 2 if char in _SHORT else 6


def head_end(text: str, room: int, *, escaped: bool = False, start: int = 0) -> int:
    """Where a piece from `start` on, of at most `room` characters, best ends: behind a line, a word or a character.

    Args:
        escaped: each character counts as JSON writes it.
    """
    end = min(start + max(room, 0), len(text))
    if escaped and _ESCAPED.search(text, start, end):
        end, left = start, room
        while end < len(text) and (left := left - _cost(text[end], escaped=True)) >= 0:
            end += 1
    if end == len(text):
        return end
    least = end - (end - start) // 4
    for mark in ("\n", " "):
        found = text.rfind(mark, least, end)
        if found > start:
            return found + 1
    return _between(text, end, max(start + 1, end - 16))


def tail_start(text: str, room: int, *, escaped: bool = False) -> int:
    """Where a last piece of at most `room` characters best begins."""
    start = max(len(text) - max(room, 0), 0)
    if escaped and _ESCAPED.search(text, start):
        start, left = len(text), room
        while start > 0 and (left := left - _cost(text[start - 1], escaped=True)) >= 0:
            start -= 1
    if start == 0:
        return start
    most = start + (len(text) - start) // 4
    for mark in ("\n", " "):
        found = text.find(mark, start, most)
        if found >= 0:
            return found + 1
    while start < len(text) and start < most and _joined(text, start):
        start += 1
    return start


def _between(text: str, end: int, least: int) -> int:
    """The nearest place before `end` where no accent and no half of an emoji is torn off."""
    place = end
    while place > least and _joined(text, place):
        place -= 1
    return end if _joined(text, place) else place


def _joined(text: str, place: int) -> bool:
    """Whether the characters on both sides of a place belong together."""
    before, after = text[place - 1], text[place]
    if before in _JOINERS and before == "\u200d":
        return True
    if after in _JOINERS or "\U0001f3fb" <= after <= "\U0001f3ff":
        return True
    return (before == "\r" and after == "\n") or unicodedata.combining(after) != 0
