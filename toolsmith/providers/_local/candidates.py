"""Values that a text offers for numbers, choices and yes-or-no arguments; and which of two passages is which. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from toolsmith.providers._local.english import (
    AVOIDING,
    COUNTED,
    COUNTING,
    DETERMINERS,
    EDGE_WORDS,
    NEGATIVE,
    POLITE,
    QUESTION_WORDS,
    SOURCES,
    TARGETS,
    VERBS,
    stem,
    stems,
)
from toolsmith.providers._local.fields import Field
from toolsmith.providers._local.kinds import names
from toolsmith.providers._local.spans import Number, Reading, Span, Word


@dataclass(frozen=True, slots=True)
class Candidate:
    """A value, and where the text gives it (-1: nowhere)."""

    value: Any
    start: int = -1
    end: int = -1

    @property
    def literal(self) -> str:
        return json.dumps(self.value, ensure_ascii=False)


@dataclass
class Source:
    """A text that values are taken from, once each.

    Attributes:
        reading: the text.
        vocabulary: stems of the words that describe the tool itself; they name the deed, not its object.
        taken: the passages that are used up.
    """

    reading: Reading
    vocabulary: frozenset[str] = frozenset()
    taken: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])

    def free(self, start: int, end: int) -> bool:
        return all(end <= a or start >= b for a, b in self.taken)

    def take(self, candidate: Candidate, about: Field | None = None) -> None:
        """Use a passage up, with the words beside it that only say which argument it is ("30 *minutes*")."""
        if candidate.start < 0:
            return
        start, end = candidate.start, candidate.end
        if about is not None:
            cues = stems(about.name)
            words = self.reading.words
            after = next((w for w in words if w.start >= end), None)
            before = next((w for w in reversed(words) if w.end <= start), None)
            if after is not None and stem(after.text) in cues:
                end = after.end
            elif before is not None and stem(before.text) in cues:
                start = before.start
        self.taken.append((start, end))

    def set_apart(self) -> list[Span]:
        """What the text marks as words to be taken as they are: the quoted passages, else what follows a colon."""
        quoted = [s for s in self.reading.quoted if self.free(s.start, s.end)]
        return quoted or [s for s in self.reading.tails() if self.free(s.start, s.end)]

    @cached_property
    def imperative(self) -> Word | None:
        """The verb that a command begins with ("*Turn* off ..."), None in a question."""
        words = self.reading.words
        for i, w in enumerate(words):
            if w.bare in QUESTION_WORDS and w.bare != "do":
                return None
            if w.bare not in POLITE and w.bare not in EDGE_WORDS:
                object_follows = i + 1 < len(words) and words[i + 1].bare in DETERMINERS
                verb = w.bare in VERBS or object_follows or stem(w.text) in self.vocabulary
                return w if verb else None
        return None


def numbers(f: Field, source: Source, others: Sequence[Field] = ()) -> list[Candidate]:
    """Numbers for a field: those that the words beside them assign to it, else those that are assigned to no other."""
    fit = [n for n in _numbers(source) if _suits(f, n)]
    mine = [n for n in fit if cue(f, n, source) > max((cue(o, n, source) for o in others if o != f), default=0)]
    left = [n for n in fit if all(cue(o, n, source) <= cue(f, n, source) for o in others)]
    return [Candidate(_as(f, n), n.start, n.end) for n in mine or left or fit]


def cue(f: Field, number: Number, source: Source) -> int:
    """How plainly the text says that a number is this field's: 3 by its name, 1 by its description, 0 not at all."""
    if number.percent:
        return 3 if stems(f.name, f.description) & {"percent", "rat", "tip", "percentag", "discount"} else 0
    words = source.reading.words
    after = [w for w in words if w.start >= number.end][:1]
    before = [w for w in reversed(words) if w.end <= number.start][:2]
    near = {stem(w.text) for w in (*after, *before)}
    tail = re.match(r"[a-zA-Z]+", source.reading.text[number.end :])
    if tail:
        near.add(stem(tail[0]))
    if near & stems(f.name):
        return 3
    if _bounded(f, number, source):
        return 3
    follows = {stem(w.text) for w in after}
    if names(f) & COUNTING and follows & (COUNTED | source.vocabulary):
        return 3  # "the last 3 orders", asked of a tool that lists orders
    return 1 if near & stems(f.description) else 0


_LEAST = re.compile(r"(?:over|above|at least|more than|from|min(?:imum)?)\s+(?:of\s+)?[$€£]?$", re.IGNORECASE)
_UTMOST = re.compile(
    r"(?:under|below|at most|up to|less than|no more than|within|max(?:imum)?)\s+(?:of\s+)?[$€£]?$", re.IGNORECASE
)


def _bounded(f: Field, number: Number, source: Source) -> bool:
    """Whether the text calls a number a bound of the field's kind: "over 10" for `min_amount`."""
    before = source.reading.text[: number.start]
    called = names(f)
    utmost = _UTMOST.search(before) is not None  # first: "no more than" ends like "more than"
    if called & {"max", "maximum", "upper", "limit", "most"}:
        return utmost
    return bool(called & {"min", "minimum", "lower", "least"}) and not utmost and _LEAST.search(before) is not None


def _numbers(source: Source) -> list[Number]:
    reading = source.reading
    blocked = [(s.start, s.end) for s in (*reading.dates, *reading.times)]
    return [
        n
        for n in reading.numbers
        if source.free(n.start, n.end) and all(n.end <= a or n.start >= b for a, b in blocked)
    ]


def _suits(f: Field, number: Number) -> bool:
    whole = float(number.value).is_integer()
    return (whole or f.kind == "number") and f.admits(number.value)


def _as(f: Field, number: Number) -> int | float:
    return int(number.value) if float(number.value).is_integer() else number.value


def mentions(f: Field, source: Source) -> list[Candidate]:
    """The values of an enum that the text names, in the order of the text."""
    found: list[Candidate] = []
    for value in f.values:
        wanted = [stem(w) for w in re.findall(r"[\w.+-]+", str(value).replace("_", " "))]
        if not wanted:
            continue
        words = source.reading.words
        for i in range(len(words) - len(wanted) + 1):
            group = words[i : i + len(wanted)]
            same = all(stem(w.text) == x for w, x in zip(group, wanted, strict=True))
            if same and source.free(group[0].start, group[-1].end):
                found.append(Candidate(value, group[0].start, group[-1].end))
                break
    return sorted(found, key=lambda c: c.start)


def truth(f: Field, source: Source) -> bool | None:
    """What the text says of a yes-or-no argument; None where it says nothing."""
    words = source.reading.words
    cues = stems(f.name, f.description)
    about = [i for i, w in enumerate(words) if w.bare == f.name.lower() or stem(w.text) in cues]
    if any(w.bare in NEGATIVE for w in words) and (about or not f.optional):
        return bool(names(f) & AVOIDING)  # "without tolls" means avoid_tolls, but not include_tolls
    return True if about else None


def named(c: Candidate, f: Field, source: Source) -> bool:
    """Whether the text puts a field's name right before a passage: "bed North" for `bed`."""
    before = [w for w in source.reading.words if w.end <= c.start]
    return bool(before) and not before[-1].breaks and stem(before[-1].text) in stems(f.name)


def role(f: Field, found: Sequence[Candidate], source: Source) -> list[Candidate]:
    """Of two places or units, the one that a field is about: "from" one, "to", "into" or "in" the other."""
    called = names(f)
    if not called & (SOURCES | TARGETS):
        return list(found)
    words = source.reading.words

    def lead(c: Candidate) -> str:
        before = [w for w in words if w.end <= c.start and w.bare not in ("the", "a", "an", "my")]
        return before[-1].bare if before else ""

    def after_number(c: Candidate) -> bool:
        return any(
            n.end <= c.start and not source.reading.text[n.end : c.start].strip() for n in source.reading.numbers
        )

    outward = [c for c in found if lead(c) == "from" or after_number(c)]
    inward = [c for c in found if lead(c) in ("to", "into", "in", "towards", "as") and c not in outward]
    mine, others = (outward, inward) if called & SOURCES else (inward, outward)
    return mine or [c for c in found if c not in others] or list(found)
