"""Which passages of a text may become the value of an argument: the narrowing that the grammar is made of. Pure.

Rules here are about English requests in general (where a noun phrase ends, what an article number looks like), never
about particular tools.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from toolsmith.providers._local.fields import Field
from toolsmith.providers._local.spans import (
    EDGE_WORDS,
    EMAIL,
    EXTENSION,
    PATH,
    URL,
    UUID,
    Number,
    Reading,
    Span,
    Word,
)

FREE_NAMES = frozenset(
    """text body message content query question subject title note reason comment description sql pattern task words
    prompt summary name label phrase sentence topic keywords search caption remark""".split()
)
_CODE_NAMES = frozenset("id sku symbol ticker number code key ref reference serial isbn vin iban version".split())
_PATH_NAMES = frozenset("path file folder directory dir filename document".split())
# Verbs that ask for something; they do not begin a value ("hear Jolene" asks for Jolene).
_ASKING = frozenset("want need like know hear show tell give find get look see check make put let help mention".split())
_QUESTION = frozenset("what what's which who who's whose where where's when why how is are was were do does did has".split())
_POLITE = frozenset("please can could would will you kindly just now then also and i i'd we need want like to".split())
_NEGATIVE = frozenset("off no not without don't never disable disabled stop false hide hidden close closed".split())
_COUNTING = frozenset("limit count top max maximum n k number num size".split())
_COUNTED = frozenset("result hit match entr item row".split())
_SOURCES = frozenset("from source src origin old start departure sender".split())
_TARGETS = frozenset("to target destination dest new arrival into recipient".split())
_LONGEST_SLOT, _LONGEST_FREE, _MOST = 7, 40, 400


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
        for w in self.reading.words:
            if w.bare in _QUESTION and w.bare not in ("do",):
                return None
            if w.bare not in _POLITE and w.bare not in EDGE_WORDS:
                coded = any(c.isdigit() for c in w.text) or (len(w.text) > 1 and w.text.isupper()) or "." in w.text
                return None if coded else w
        return None


def stem(word: str) -> str:
    """A word without its common English endings; only ever compared with another stem."""
    w = word.lower().strip(".,;:!?'\"")
    for ending in ("ing", "ies", "ed", "es", "s"):
        if w.endswith(ending) and len(w) - len(ending) >= 3:
            w = w[: -len(ending)]
            break
    return w[:-1] if len(w) > 3 and w[-1] in "eyi" else w


def stems(*texts: str) -> frozenset[str]:
    """The stems of the words of names and descriptions, little words left out."""
    words = re.findall(r"[A-Za-z][A-Za-z'-]*|\d+", re.sub(r"(?<=[a-z])(?=[A-Z])|_", " ", " ".join(texts)))
    return frozenset(stem(w) for w in words if w.lower() not in EDGE_WORDS)


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
    follows = {stem(w.text) for w in after}
    if _names(f) & _COUNTING and follows & (_COUNTED | source.vocabulary):
        return 3  # "the last 3 orders", asked of a tool that lists orders
    return 1 if near & stems(f.description) else 0


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
    if any(w.bare in _NEGATIVE for w in words) and (about or not f.optional):
        return False
    return True if about else None


def strings(f: Field, source: Source) -> list[Candidate]:
    """Passages that may be the value of a string field, the likely ones only, or wider where there are none."""
    for finder in (_formatted, _typed):
        exact = finder(f, source)
        if exact is not None:
            return [c for c in exact if f.admits(c.value)]
    free = is_free_text(f)
    for strictness in (3, 2, 1, 0):
        spans = _shaped(_spans(f, source, free=free, strictness=strictness))
        found = [Candidate(s.text, s.start, s.end) for s in spans if f.admits(s.text)]
        if found:
            return found[:_MOST]
    return []


def is_free_text(f: Field) -> bool:
    """Whether a field takes words as they were said (a note, a query) rather than a name of something."""
    return bool(_names(f) & FREE_NAMES)


def is_marked(f: Field) -> bool:
    """Whether the shape of a word alone shows that it is this field's (a path, an article number, a date)."""
    parts = _parts(f)
    return bool(f.format or f.pattern or parts & _PATH_NAMES or parts & _CODE_NAMES)


def role(f: Field, found: Sequence[Candidate], source: Source) -> list[Candidate]:
    """Of two places or units, the one that a field is about: "from" one, "to", "into" or "in" the other."""
    names = _names(f)
    if not names & (_SOURCES | _TARGETS):
        return list(found)
    words = source.reading.words

    def lead(c: Candidate) -> str:
        before = [w for w in words if w.end <= c.start and w.bare not in ("the", "a", "an", "my")]
        return before[-1].bare if before else ""

    def after_number(c: Candidate) -> bool:
        return any(n.end <= c.start and not source.reading.text[n.end : c.start].strip() for n in source.reading.numbers)

    outward = [c for c in found if lead(c) == "from" or after_number(c)]
    inward = [c for c in found if lead(c) in ("to", "into", "in", "towards", "as") and c not in outward]
    mine, others = (outward, inward) if names & _SOURCES else (inward, outward)
    return mine or [c for c in found if c not in others] or list(found)


def _names(f: Field) -> set[str]:
    return {p.lower() for p in re.split(r"_|(?<=[a-z])(?=[A-Z])", f.name)}


def _parts(f: Field) -> set[str]:
    text = {w for w in re.findall(r"[a-z]+", f.description.lower()) if w in ("number", "identifier", "symbol", "path")}
    return _names(f) | {"path" if w == "path" else "code" for w in text}


def _formatted(f: Field, source: Source) -> list[Candidate] | None:
    """For a field with a format: the passages that have it; None for other fields."""
    reading = source.reading
    shape = {"email": EMAIL, "uri": URL, "uuid": UUID}.get(f.format)
    if shape is not None:
        return [Candidate(w.text, w.start, w.end) for w in reading.words if shape.match(w.text) and source.free(w.start, w.end)]
    match f.format:
        case "date":
            spans: Iterable[Span] = reading.dates
        case "time":
            spans = reading.times
        case "date-time":
            clock = reading.times[0].text if reading.times else "00:00:00"
            spans = [replace(d, text=f"{d.text}T{clock}") for d in reading.dates]
        case _:
            return None
    return [Candidate(s.text, s.start, s.end) for s in spans if source.free(s.start, s.end)]


def _typed(f: Field, source: Source) -> list[Candidate] | None:
    """For a field that is called a path, a number or an address: words that look so; None where there are none."""
    parts = _parts(f)
    words = [w for w in source.reading.words if source.free(w.start, w.end)]
    if parts & {"email", "mail", "to", "recipient"}:
        found = [w for w in words if EMAIL.match(w.text)]
    elif parts & {"url", "link", "uri"}:
        found = [w for w in words if URL.match(w.text)]
    elif parts & _PATH_NAMES:
        found = [w for w in words if PATH.match(w.text) and ("/" in w.text or EXTENSION.search(w.text))]
    elif parts & _CODE_NAMES:
        found = [w for w in words if _is_code(w.text)] or [w for w in words if w.text.isdigit()]
    else:
        return None
    return [Candidate(w.text, w.start, w.end) for w in found] or None


def _is_code(text: str) -> bool:
    letters = any(c.isalpha() for c in text)
    return letters and len(text) > 1 and (any(c.isdigit() for c in text) or text.isupper())


def _shaped(spans: list[Span]) -> list[Span]:
    quoted = [s for s in spans if s.quoted]
    return quoted or spans


def _spans(f: Field, source: Source, *, free: bool, strictness: int) -> list[Span]:
    """Runs of words, by falling strictness: 3 all rules, 2 the tool's words too, 1 the verb too, 0 anything."""
    reading = source.reading
    quoted = [s for s in reading.quoted if source.free(s.start, s.end)]
    if free and (apart := source.set_apart()):
        return apart
    spans, own = list(quoted), stems(f.name)
    for span in reading.runs(_LONGEST_FREE if free else _LONGEST_SLOT):
        inner = [w for w in reading.words if w.start >= span.start and w.end <= span.end]
        if not source.free(span.start, span.end):
            continue
        if strictness >= 1 and (not _is_whole(span, reading, source) or (not free and not _is_phrase(span, inner))):
            continue
        if strictness >= 2 and inner[0] is source.imperative:
            continue
        if strictness >= 3 and (
            _asks(inner[0])
            or _names_deed(inner[0], source)
            or (_names_deed(inner[-1], source) and (free or len(inner) == 1 or stem(inner[-1].text) not in own))
        ):
            continue
        spans.append(span)
    return spans


def _asks(word: Word) -> bool:
    return word.bare in _ASKING


def _names_deed(word: Word, source: Source) -> bool:
    """Whether a word only says what to do: it stands in the tool's own description, and is no name."""
    name = word.text[0].isupper() and word is not source.reading.words[0]
    return not name and not word.text[0].isdigit() and stem(word.text) in source.vocabulary


def _is_phrase(span: Span, words: list[Word]) -> bool:
    """Whether a run is one noun phrase: no preposition inside, unless it is a name ("Blue in Green"), no comma."""
    if "," in span.text:
        return False
    if not any(w.bare in EDGE_WORDS for w in words):
        return True
    return words[0].text[0].isupper() and words[-1].text[0].isupper()


def _is_whole(span: Span, reading: Reading, source: Source) -> bool:
    """Whether a run does not cut a name in two ("New" of "New York", "12" of "12 Main Street")."""
    words = reading.words
    first = next(i for i, w in enumerate(words) if w.start == span.start)
    last = next(i for i, w in enumerate(words) if w.end == span.end)
    return not (
        (first > 0 and _glued(words[first - 1], words[first], reading, source))
        or (last + 1 < len(words) and _glued(words[last], words[last + 1], reading, source))
    )


def _glued(left: Word, right: Word, reading: Reading, source: Source) -> bool:
    if reading.text[left.end : right.start].strip() or not source.free(left.start, right.end):
        return False
    if left is source.imperative or left.bare in EDGE_WORDS or right.bare in EDGE_WORDS:
        return False
    named = left.text[0].isupper() and left is not reading.words[0]
    return (named and (right.text[0].isupper() or right.text.isdigit())) or (
        left.text.isdigit() and right.text[0].isupper()
    )
