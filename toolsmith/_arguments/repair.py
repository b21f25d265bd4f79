"""Reads parsed arguments against their schema: mends what has one certain meaning, records what is wrong.

It runs only after the tool's validator said no, and what it mends goes through that validator again: it explains and
proposes, it never decides.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final, cast

from toolsmith._arguments.jsontext import Exact, Parsed, parse
from toolsmith._arguments.likeness import nearest
from toolsmith._arguments.problems import ABSENT, Broken, Findings, Kind, Path, Problem, Repair, RepairKind, Schema
from toolsmith._arguments.shapes import (
    JsonType,
    Shapes,
    as_decimal,
    closed_set,
    dict_of,
    json_equal,
    json_type,
    list_of,
    matches,
    number_of,
    schema_of,
)
from toolsmith._dataclass import dataclass

MAX_PROBLEMS: Final = 50
"""More than a model can use in one answer; the rest is found on its next try."""
_VISITS: Final = 1_000_000
"""Values looked at in one reading, unions counted once per branch: bounds its time on megabytes and on deep unions."""

_WHOLE = re.compile(r"-?(?:0|[1-9][0-9]{0,4299})")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
_BOOLEANS = {"true": True, "false": False}
_INFINITY = float("inf")
_EXACT_BELOW = 2.0**53


@dataclass(slots=True)
class _Budget:
    left: int = _VISITS


class Reader:
    """One reading of one set of arguments.

        reader = Reader(shapes, coerce=False)
        mended = reader.read(shapes.root, arguments)
        reader.found.problems, reader.found.repairs

    Args:
        shapes: of the whole schema.
        coerce: whether a string that holds a number, true or false may stand for it, and null for "left out".
    """

    def __init__(self, shapes: Shapes, *, coerce: bool = False, _budget: _Budget | None = None) -> None:
        self.found = Findings()
        self._shapes = shapes
        self._coerce = coerce
        self._budget = _budget or _Budget()

    def read(self, node: Schema, value: Any, path: Path = (), *, optional: bool = False) -> Any:
        """Look at a value and all within it; give it back, mended where the meaning is certain."""
        self._budget.left -= 1
        if self._budget.left < 0 or len(self.found.problems) >= MAX_PROBLEMS:
            self.found.complete = False
            return value
        facts = self._shapes.facts(node)
        kind = json_type(value)
        if kind == "number" and value in (_INFINITY, -_INFINITY):
            self._say("overflow", path, value, node)
            return value
        if facts.plain and kind in facts.types:
            return value
        if facts.forbidden:
            self._say("forbidden", path, value, node)
            return value
        if kind == "number" and "number" not in facts.types and "integer" in facts.types and value.is_integer():
            value, kind = _whole(value), "integer"  # 5.0 is an integer to JSON Schema
        if kind not in facts.types:
            return self._wrong_type(node, value, path, facts.types, optional)
        if kind == "string" and facts.closed is not None and value not in facts.closed:
            return self._wrong_value(node, value, path, facts.closed)
        before = len(self.found.problems)
        for part in facts.parts:
            value = self._part(part, node, value, path, kind)
        for part in facts.parts:
            if len(self.found.problems) == before:
                for word in ("anyOf", "oneOf"):
                    if branches := list_of(part.get(word)):
                        value = self._choose(branches, value, path)
        return value

    def _say(
        self, kind: Kind, path: Path, sent: Any, expected: Schema, *, near: str = "", optional: bool = False
    ) -> None:
        problem = Problem(path, kind, sent, expected, self._shapes.root, near=near, optional=optional)
        self.found.problems.append(problem)

    def _mend(self, kind: RepairKind, path: Path, sent: Any, used: Any) -> None:
        self.found.repairs.append(Repair(path, kind, sent, used))

    def _trial(self, node: Schema, value: Any, path: Path) -> tuple[Any, Findings]:
        reader = Reader(self._shapes, coerce=self._coerce, _budget=self._budget)
        return reader.read(node, value, path), reader.found

    def _take(self, found: Findings) -> None:
        self.found.problems += found.problems
        self.found.repairs += found.repairs
        self.found.complete &= found.complete

    # ---- a value of another type

    def _wrong_type(self, node: Schema, value: Any, path: Path, types: frozenset[JsonType], optional: bool) -> Any:
        if isinstance(value, str):
            if value.lstrip()[:1] in ("{", "["):
                return self._json_text(node, value, path, types)
            if self._coerce and (scalar := spelled(value, types)) is not None:
                used, found = self._trial(node, scalar, path)
                if not found.problems:
                    self._mend("boolean" if isinstance(used, bool) else "number", path, value, used)
                    return used
        self._say("type", path, value, node, optional=optional)
        return value

    def _json_text(self, node: Schema, value: str, path: Path, types: frozenset[JsonType]) -> Any:
        inner = parse(value)
        if isinstance(inner, Broken) and inner.kind in ("duplicates", "constants"):
            self.found.problems.append(Problem(path, "json_text", value, node, self._shapes.root, broken=inner))
            return value
        if not isinstance(inner, Parsed) or inner.repairs or json_type(inner.value) not in types:
            self._say("type", path, value, node)
            return value
        used, found = self._trial(node, inner.value, path)
        if inner.infinite and not found.problems:
            self._say("overflow", path, value, node)
            return value
        if found.problems or not found.complete:
            self._say("json_text", path, value, node)
            self._take(found)
            return value
        self._mend("json_text", path, value, used)
        self._take(found)
        return used

    def _wrong_value(self, node: Schema, value: str, path: Path, closed: Sequence[str]) -> str:
        folded = value.strip().casefold()
        alike = [c for c in closed if c.casefold() == folded]
        if len(alike) == 1:
            self._mend("case", path, value, alike[0])
            return alike[0]
        self._say("value", path, value, node, near=nearest(value, closed))
        return value

    # ---- what one schema says of a value of the right type

    def _part(self, part: Mapping[str, Any], node: Schema, value: Any, path: Path, kind: JsonType) -> Any:
        values = closed_set(part)
        if values is not None and not any(json_equal(value, v) for v in values):
            self._say("value", path, value, node)
            return value
        match kind:
            case "integer" | "number":
                if not _in_range(part, value):
                    self._say("range", path, value, node)
            case "string":
                self._string(part, node, value, path)
            case "array":
                return self._array(part, node, value, path)
            case "object":
                return self._object(part, node, value, path)
            case "null" | "boolean":
                pass
        return value

    def _string(self, part: Mapping[str, Any], node: Schema, value: str, path: Path) -> None:
        if not _within(len(value), part.get("minLength"), part.get("maxLength")):
            self._say("length", path, value, node)
        elif isinstance(pattern := part.get("pattern"), str) and not matches(pattern, value):
            self._say("pattern", path, value, node)

    def _array(self, part: Mapping[str, Any], node: Schema, value: list[Any], path: Path) -> list[Any]:
        if not _within(len(value), part.get("minItems"), part.get("maxItems")):
            self._say("count", path, value, node)
            return value
        items: Any = part.get("items")
        first = list_of(part.get("prefixItems") or items)  # draft 7 has the fixed members under `items`
        rest: Any = part.get("additionalItems") if isinstance(items, list) else items
        if not first and schema_of(rest) is None:
            return value
        mended = value
        for index, item in enumerate(value):
            member = schema_of(first[index] if index < len(first) else rest)
            if member is not None:
                used = self.read(member, item, (*path, index))
                if used is not item:
                    mended = list(value) if mended is value else mended
                    mended[index] = used
        return mended

    def _object(self, part: Mapping[str, Any], node: Schema, value: dict[str, Any], path: Path) -> dict[str, Any]:
        if not _within(len(value), part.get("minProperties"), part.get("maxProperties")):
            self._say("count", path, value, node)
        named = dict_of(part.get("properties"))
        required = [r for r in list_of(part.get("required")) if isinstance(r, str)]
        missing = [r for r in required if r not in value]
        mended = value
        for name, item in value.items():
            if len(self.found.problems) >= MAX_PROBLEMS:
                self.found.complete = False
                break
            members = self._members(part, named, name)
            if not members:
                missing = self._unknown(path, name, item, named, missing, value)
                continue
            used = item
            for member in members:
                if item is None and self._means_absent(member, name, required):
                    self._mend("null", (*path, name), None, ABSENT)
                    used = ABSENT
                    break
                used = self.read(member, used, (*path, name), optional=name in named and name not in required)
            if used is not item:
                mended = dict(value) if mended is value else mended
                if used is ABSENT:
                    del mended[name]
                else:
                    mended[name] = used
        for name in missing:
            self._say("missing", (*path, name), ABSENT, named.get(name, True))
        return mended

    def _members(self, part: Mapping[str, Any], named: Mapping[str, Any], name: str) -> list[Schema]:
        """The schemas for a member of an object; none where its name is not accepted."""
        found: list[Any] = [named[name]] if name in named else []
        for pattern, member in dict_of(part.get("patternProperties")).items():
            if matches(pattern, name):
                found.append(member)
        if not found:
            rest: Any = part.get("additionalProperties", True)
            found = [] if rest is False else [rest]
        return [m for m in map(schema_of, found) if m is not None]

    def _means_absent(self, member: Schema, name: str, required: Collection[str]) -> bool:
        return self._coerce and name not in required and "null" not in self._shapes.types(member)

    def _unknown(
        self,
        path: Path,
        name: str,
        item: Any,
        named: Mapping[str, Any],
        missing: list[str],
        sent: Collection[str],
    ) -> list[str]:
        """Record a name that is not accepted; what remains missing if it is another's misspelling."""
        free = [n for n in named if n not in sent]
        same = [n for n in self._shapes.other_names.get(name, ()) if n in free]
        near = same[0] if same else nearest(name, missing) or nearest(name, free)
        inside = cast("dict[str, Any]", item) if isinstance(item, dict) and not near else {}
        holds = tuple(n for n in free if n in inside)
        problem = Problem(
            (*path, name),
            "unknown",
            item,
            named.get(near, True),
            self._shapes.root,
            near=near,
            near_is_missing=near in missing,
            accepted=tuple(named),
            holds=holds,
        )
        self.found.problems.append(problem)
        return [m for m in missing if m != near and m not in holds]

    # ---- unions

    def _choose(self, branches: Sequence[Any], value: Any, path: Path) -> Any:
        """Read a value by the branch that was meant."""
        kind = json_type(value)
        known = [b for b in map(schema_of, branches) if b is not None]
        usable = [b for b in known if kind in self._shapes.types(b)]
        if kind == "object" and len(usable) > 1:
            if (told := self._tagged(usable, value, path)) is None:
                return value
            usable = list(told)
        if len(usable) == 1:
            return self.read(as_decimal(usable[0], known), value, path)
        trials = [self._trial(b, value, path) for b in usable]
        good = [t for t in trials if not t[1].problems and t[1].complete]
        if good:
            good.sort(key=lambda t: len(t[1].repairs))
            used, found = good[0]
            if not found.repairs or all(json_equal(used, other) for other, _ in good[1:]):
                self._take(found)
                return used
        elif trials and kind in ("object", "array"):
            best = min(trials, key=lambda t: _distance(t[1].problems, path))
            self._take(best[1])
            return value
        self._say("mismatch", path, value, {"anyOf": list(usable or branches)})
        return value

    def _tagged(self, branches: Sequence[Schema], value: dict[str, Any], path: Path) -> Sequence[Schema] | None:
        """The branches that a discriminating member leaves; None where that member itself is wrong and was recorded."""
        tags = [self._constants(b) for b in branches]
        for name in tags[0]:
            if not all(name in t for t in tags):
                continue
            every = list(dict.fromkeys(v for t in tags for v in t[name]))
            if len(every) < len(tags):
                continue
            accepted: Schema = {"enum": every}
            if name not in value:
                if not all(self._requires(b, name) for b in branches):
                    continue
                self.found.problems.append(self._without_tag(branches, name, accepted, value, path))
                return None
            tag, found = self._trial(accepted, value[name], (*path, name))
            if found.problems:
                self._take(found)
                return None
            return [b for b, t in zip(branches, tags, strict=True) if tag in t[name]]
        return branches

    def _without_tag(
        self, branches: Sequence[Schema], name: str, accepted: Schema, value: dict[str, Any], path: Path
    ) -> Problem:
        parts = [p for b in branches for p in self._shapes.facts(b).parts]
        known = {n for p in parts for n in dict_of(p.get("properties"))}
        if typo := nearest(name, [n for n in value if n not in known]):
            root, sent = self._shapes.root, value[typo]
            return Problem((*path, typo), "unknown", sent, accepted, root, near=name, near_is_missing=True)
        return Problem((*path, name), "missing", ABSENT, accepted, self._shapes.root)

    def _requires(self, branch: Schema, name: str) -> bool:
        return any(name in list_of(p.get("required")) for p in self._shapes.facts(branch).parts)

    def _constants(self, branch: Schema) -> dict[str, tuple[str, ...]]:
        """The members of an object that take only certain strings, with those strings."""
        found: dict[str, tuple[str, ...]] = {}
        for part in self._shapes.parts(branch):
            if isinstance(part, Mapping):
                for name, member in dict_of(part.get("properties")).items():
                    if self._shapes.types(member) <= {"string"} and (closed := self._shapes.closed_strings(member)):
                        found[name] = closed
        return found


def _whole(number: float) -> int:
    """The integer that was written: 1e23 is that, though the float is less by some millions."""
    return int(number) if isinstance(number, Exact) or abs(number) < _EXACT_BELOW else int(Decimal(repr(number)))


def _distance(problems: Sequence[Problem], path: Path) -> tuple[int, int]:
    """How far a value is from a branch: names that do not fit weigh most, then the number of problems."""
    names = sum(p.kind in ("unknown", "missing") and len(p.path) == len(path) + 1 for p in problems)
    return names, len(problems)


def spelled(text: str, types: frozenset[JsonType]) -> int | float | bool | None:
    """The number or truth value that a string spells; None where it spells none that is due."""
    bare = text.strip()
    if "boolean" in types and (truth := _BOOLEANS.get(bare.lower())) is not None:
        return truth
    if "integer" in types and _WHOLE.fullmatch(bare):
        return int(bare)
    if types & {"number", "integer"} and len(bare) < 400 and _NUMBER.fullmatch(bare):
        number = float(bare)
        if number in (_INFINITY, -_INFINITY):
            return None
        return number if "number" in types or number.is_integer() else None
    return None


def _within(size: int, least: object, most: object) -> bool:
    low, high = number_of(least), number_of(most)
    return (low is None or size >= low) and (high is None or size <= high)


def _in_range(part: Mapping[str, Any], value: int | float) -> bool:
    if not _within(cast("int", value), part.get("minimum"), part.get("maximum")):
        return False
    above, below = part.get("exclusiveMinimum"), part.get("exclusiveMaximum")
    low, high = number_of(above), number_of(below)
    # Draft 4 has them as switches beside `minimum` and `maximum`.
    if (above is True and value == part.get("minimum")) or (below is True and value == part.get("maximum")):
        return False
    return (low is None or value > low) and (high is None or value < high)
