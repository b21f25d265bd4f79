"""Arguments for a chosen tool: rules narrow each argument to the passages it may take, the language model picks one.

`Choose` is the model: it is given the beginning of a JSON text and the JSON literals that may follow, and gives back
one of them. It runs under a grammar that admits nothing else, so what comes out is always valid and never made up.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from toolsmith.providers._local.candidates import Candidate, Source, cue, mentions, named, numbers, role, truth
from toolsmith.providers._local.english import EDGE_WORDS, LEADS, stems
from toolsmith.providers._local.fields import Field
from toolsmith.providers._local.kinds import is_free_text, is_marked
from toolsmith.providers._local.passages import strings

Choose = Callable[[str, Sequence[str]], str]
Alike = Callable[[str, str], float]
_AFFINE, _APART = 0.15, 0.1  # cosines: a passage is this near to one argument's name, and that much less to the others'
_ABSENT = object()


@dataclass(frozen=True, slots=True)
class Filled:
    """Arguments in the order of the schema, and the required ones that the text does not give."""

    values: dict[str, Any]
    missing: tuple[str, ...] = ()


@dataclass
class Filler:
    """Fills the arguments of one call from one text.

    Attributes:
        choose: the language model.
        source: the text, and what of it is used up.
        known: values from earlier in the conversation, by argument name, used where the text gives none.
        alike: how near in meaning two texts are ("French" and "language"), as a cosine.
    """

    choose: Choose
    source: Source
    known: Mapping[str, Any] = field(default_factory=dict[str, Any])
    alike: Alike = lambda _left, _right: 0.0
    _settled: dict[int, Any] = field(default_factory=dict[int, Any])

    def fill(self, fields: Sequence[Field]) -> Filled:
        """Find a value for each field; easy ones first, for each narrows what is left for the others."""
        self._settle_plain(list(_flat(fields)))
        return self._object(fields, "")

    def _object(self, fields: Sequence[Field], prefix: str) -> Filled:
        values = {f.name: self._settled[id(f)] for f in fields if id(f) in self._settled}
        for f in sorted((f for f in fields if f.name not in values), key=self._difficulty):
            opened = prefix + _opened(values) + json.dumps(f.name) + ": "
            value = self._value(f, fields, opened)
            if value is not _ABSENT:
                values[f.name] = value
        missing: list[str] = []
        for f in fields:
            if f.name in values or f.optional:
                continue
            if f.nullable:
                values[f.name] = None
            else:
                missing.append(f.name)
        return Filled({f.name: values[f.name] for f in fields if f.name in values}, tuple(missing))

    def _difficulty(self, f: Field) -> tuple[int, int]:
        """The order of filling: what the text marks plainly, then names, then free text, then what may be left out."""
        if f.kind in ("enum", "boolean"):
            rank = 0 if not f.optional else 1
        elif f.kind in ("integer", "number"):
            rank = 2
        elif f.kind == "string" and is_free_text(f):
            # A quoted passage, or what follows a colon, is the free text, before a name may claim it.
            rank = 3 if self.source.set_apart() else 6
        elif f.kind == "string":
            rank = 4 if is_marked(f) else 5
        else:
            rank = 7
        return (1 if (f.optional or f.nullable) else 0, rank)

    def _settle_plain(self, fields: Sequence[Field]) -> None:
        """Take what the text assigns by name: "30 minutes", "high priority", a single date."""
        for f in fields:
            if f.kind == "enum":
                same = [g for g in fields if g.kind == "enum" and g.values == f.values]
                said = mentions(f, self.source)
                if len(said) == 1 and len(same) == 1:
                    self._take(f, said[0])
            elif f.kind in ("integer", "number"):
                rivals = [g for g in fields if g.kind in ("integer", "number")]
                found = numbers(f, self.source, rivals)
                sure = [c for c in found if self._assigned(f, c)]
                if len(sure) == 1:
                    self._take(f, sure[0])

    def _assigned(self, f: Field, candidate: Candidate) -> bool:
        number = next(n for n in self.source.reading.numbers if n.start == candidate.start)
        return cue(f, number, self.source) >= 3

    def _take(self, f: Field, candidate: Candidate) -> None:
        self.source.take(candidate, f)
        self._settled[id(f)] = candidate.value

    def _value(self, f: Field, fields: Sequence[Field], prefix: str) -> Any:
        match f.kind:
            case "enum":
                return self._enum(f, prefix)
            case "integer" | "number":
                return self._number(f, fields, prefix)
            case "boolean":
                return self._boolean(f, prefix)
            case "string" | "any":
                return self._string(f, fields, prefix)
            case "array":
                return self._array(f, prefix)
            case "object":
                return self._nested(f, prefix)
            case "null":
                return None

    def _pick(self, f: Field, found: Sequence[Candidate], prefix: str, *, none: bool = False) -> Any:
        """Let the model choose; a single candidate needs no choice."""
        literals = list(dict.fromkeys(c.literal for c in found))
        if none and literals:
            literals.append("null")
        if not literals:
            return _ABSENT
        chosen = literals[0] if len(literals) == 1 else self.choose(prefix, literals)
        candidate = next((c for c in found if c.literal == chosen), None)
        if candidate is None:
            return _ABSENT
        self.source.take(candidate, f)
        return candidate.value

    def _enum(self, f: Field, prefix: str) -> Any:
        said = mentions(f, self.source)
        if said:
            return self._pick(f, role(f, said, self.source), prefix)
        if f.optional or f.nullable:
            return _ABSENT
        return self._pick(f, [Candidate(v) for v in f.values], prefix)

    def _number(self, f: Field, fields: Sequence[Field], prefix: str) -> Any:
        rivals = [g for g in fields if g.kind in ("integer", "number")]
        found = numbers(f, self.source, rivals)
        if not found and f.name in self.known and not f.optional:
            return self.known[f.name]
        return self._pick(f, found, prefix)

    def _boolean(self, f: Field, prefix: str) -> Any:
        said = truth(f, self.source)
        if said is not None:
            return said
        return _ABSENT if f.optional or f.nullable else self._pick(f, [Candidate(True), Candidate(False)], prefix)

    def _string(self, f: Field, fields: Sequence[Field], prefix: str) -> Any:
        if f.optional or f.nullable:
            return self._pick(f, self._leftovers(f), prefix)
        found = self._unclaimed(f, fields, strings(f, self.source))
        if f.name in self.known and (not found or (is_marked(f) and not _looks_sure(found))):
            return self.known[f.name]
        return self._pick(f, role(f, found, self.source), prefix)

    def _unclaimed(self, f: Field, fields: Sequence[Field], found: list[Candidate]) -> list[Candidate]:
        """Leave out what plainly means another argument ("French" where there is a `language`)."""
        rivals = [g for g in fields if g.kind == "string" and not g.format and g.name != f.name and not is_free_text(g)]
        claimed = [c for c in found for g in rivals if self._means(c, g, [o for o in (f, *rivals) if o != g])]
        left = [c for c in found if all(c.end <= o.start or c.start >= o.end for o in claimed)]
        return left or found

    def _means(self, c: Candidate, f: Field, others: Sequence[Field]) -> bool:
        if named(c, f, self.source):
            return True
        near = self.alike(str(c.value), f.name.replace("_", " "))
        return near >= _AFFINE and all(
            near - self.alike(str(c.value), o.name.replace("_", " ")) >= _APART for o in others
        )

    def _leftovers(self, f: Field) -> list[Candidate]:
        """For an optional text: what no other argument took and a preposition introduces ("*for* the rent")."""
        words = self.source.reading.words
        found: list[Candidate] = []
        apart = {(s.start, s.end) for s in self.source.set_apart()}
        for c in strings(f, self.source, least=3):
            said = self.source.reading.text
            remark = is_free_text(f) and c.end >= len(said.rstrip(" .!")) and _follows_comma(said, c.start)
            if remark or ((c.start, c.end) in apart and is_free_text(f)):
                found.append(c)
                continue
            before = [w.bare for w in words if w.end <= c.start][-2:]
            led = bool(before) and (before[-1] in LEADS or (before[-1] in EDGE_WORDS and before[0] in LEADS))
            if led or stems(str(before[-1:])) & stems(f.name) or self._means(c, f, ()):
                found.append(c)
        longest: dict[int, Candidate] = {}
        for c in found:
            if c.start not in longest or c.end > longest[c.start].end:
                longest[c.start] = c
        return list(longest.values())

    def _array(self, f: Field, prefix: str) -> Any:
        items = f.items or Field("", "any")
        if items.kind == "enum":
            found = mentions(items, self.source)
        elif items.kind in ("integer", "number"):
            found = numbers(Field(f.name, items.kind, minimum=items.minimum, maximum=items.maximum), self.source)
        elif items.kind in ("string", "any") and not f.optional:
            return self._listing(f, items, prefix)
        else:
            found = []
        if not found and (f.optional or f.fewest):
            return _ABSENT
        for c in found:
            self.source.take(c)
        return [c.value for c in found]

    def _listing(self, f: Field, items: Field, prefix: str) -> Any:
        """A list of names: "the hall, the kitchen and the office"."""
        like = Field(f.name, "string", items.description or f.description, format=items.format, pattern=items.pattern)
        found = [c for c in strings(like, self.source) if " and " not in str(c.value)]
        first = self._pick(f, found, prefix + "[")
        if first is _ABSENT:
            return _ABSENT if f.fewest else []
        begun = self.source.taken[-1]
        behind = self._coordinated(found, begun, forward=True)
        before = self._coordinated(found, begun, forward=False)
        return [*reversed(before), first, *behind]

    def _coordinated(self, found: Sequence[Candidate], begun: tuple[int, int], *, forward: bool) -> list[Any]:
        """What is joined to a passage by commas and "and", on one side of it; the longest candidates."""
        text, values = self.source.reading.text, list[Any]()
        start, end = begun
        while True:
            joined = [
                c
                for c in found
                if self.source.free(c.start, c.end)
                and (_joins(text[end : c.start]) if forward else c.end <= start and _joins(text[c.end : start]))
            ]
            if not joined:
                return values
            chosen = max(joined, key=lambda c: c.end - c.start)
            self.source.take(chosen)
            values.append(chosen.value)
            start, end = chosen.start, chosen.end

    def _nested(self, f: Field, prefix: str) -> Any:
        if f.optional and not any(strings(g, self.source) for g in f.fields if is_marked(g)):
            return _ABSENT
        filled = self._object(f.fields, prefix)
        return _ABSENT if filled.missing and (f.optional or f.nullable) else filled.values


def _flat(fields: Sequence[Field]) -> Iterator[Field]:
    for f in fields:
        yield f
        yield from _flat(f.fields)


def _follows_comma(text: str, start: int) -> bool:
    """Whether a clause begins there: "..., the cable was replaced"."""
    before = text[:start].rstrip()
    for article in (" the", " a", " it", " my"):
        before = before.removesuffix(article).rstrip()
    return before.endswith(",") and len(text[start:].split()) >= 2


def _joins(between: str) -> bool:
    words = [w for w in between.replace(",", " , ").split() if w not in ("the", "a", "my", "an")]
    return bool(words) and all(w in (",", "and", "&", "or", "plus") for w in words)


def _looks_sure(found: Sequence[Candidate]) -> bool:
    return any(any(ch.isdigit() or ch in "./@" for ch in str(c.value)) for c in found)


def _opened(values: Mapping[str, Any]) -> str:
    inner = ", ".join(f"{json.dumps(k)}: {json.dumps(v, ensure_ascii=False)}" for k, v in values.items())
    return "{" + inner + (", " if inner else "")
