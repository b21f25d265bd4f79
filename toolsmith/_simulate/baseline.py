"""Arguments that a tool accepts, made from nothing but its schema: the same schema always gives the same ones."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from math import ceil, floor
from typing import TYPE_CHECKING, Any, Final, cast

from toolsmith._arguments.problems import Path, Schema
from toolsmith._arguments.shapes import Shapes, closed_set, dict_of, json_type, list_of, matches, number_of
from toolsmith._simulate.patterns import NoString, string_for

if TYPE_CHECKING:
    from toolsmith.tool import Tool

FORMATS: Final[Mapping[str, str]] = {
    "date": "2026-11-30",
    "date-time": "2026-11-30T18:05:00Z",
    "time": "18:05:00Z",
    "duration": "PT5M",
    "uuid": "12345678-1234-4678-9234-567812345678",
    "uri": "https://example.org/page",
    "url": "https://example.org/page",
    "email": "ada@example.org",
    "hostname": "example.org",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "ipvanyaddress": "192.0.2.1",
    "path": "notes.txt",
    "file-path": "notes.txt",
    "directory-path": ".",
    "base64url": "aGVsbG8=",
    "byte": "aGVsbG8=",
    "json-string": '{"a": 1}',
    "regex": "a+",
    "decimal": "12.50",
    "fraction": "3/4",
    "complex": "1+2j",
}
_WORD: Final = "example"
_DEEP: Final = 3
"""Levels down to which optional members are given."""
_DEEPEST: Final = 24
_ORDER: Final = ("object", "array", "string", "integer", "number", "boolean", "null")


class NoBaseline(ValueError):
    """No valid arguments could be made from a schema; the text says why, for people."""


def baseline(tool: Tool[..., Any]) -> dict[str, Any]:
    """Arguments that the tool's check accepts: all that there are, if these go together, else the required ones.

    Raises:
        NoBaseline: neither is accepted.
    """
    schema = tool.spec.schema
    why = ""
    for full in (True, False):
        try:
            made: Any = _Maker(schema, full=full).value(schema, ())
        except (NoString, NoBaseline) as error:
            why = f"nothing fits {error}" if isinstance(error, NoString) else str(error)
            continue
        checked = tool.check(json.dumps(made))
        if checked.error is None and isinstance(made, dict):
            return cast("dict[str, Any]", made)
        why = checked.error or "its arguments are no object"
    raise NoBaseline(why)


def value_for(root: Schema, node: Schema) -> Any:
    """A value for one node of a schema, with all its members.

    Raises:
        NoBaseline, NoString: there is none that could be made.
    """
    return _Maker(root, full=True).value(node, ())


class _Maker:
    """Makes a value for each node of one schema.

    Args:
        root: the whole schema.
        full: optional members too.
    """

    def __init__(self, root: Schema, *, full: bool) -> None:
        self._shapes = Shapes(root)
        self._full = full

    def value(self, node: Schema, path: Path, nth: int = 0) -> Any:
        """A value for a node; another one for each `nth`, where lists must not repeat themselves."""
        if len(path) > _DEEPEST:
            raise NoBaseline("its schema has no end")
        facts = self._facts(node)
        if not nth and (shown := self._shown(node, facts)) is not None:
            return shown
        if (values := closed_set(facts)) is not None:
            return self._nth([v for v in values if v is not None] or list(values), nth)
        for word in ("anyOf", "oneOf"):
            if branches := list_of(facts.get(word)):
                return self._branch(branches, path, nth)
        types = self._shapes.types(node)
        kind = next((k for k in _ORDER if k in types), None)
        if len(types) > 6:
            kind = "string"  # anything at all
        match kind:
            case "object":
                return self._object(facts, path)
            case "array":
                return self._array(facts, path)
            case "string":
                return self._string(facts, nth)
            case "integer" | "number":
                return self._number(facts, nth, whole="number" not in types)
            case "boolean":
                return nth % 2 == 0
            case "null":
                return None
            case _:
                raise NoBaseline(f"nothing is accepted at {'.'.join(map(str, path))}")

    def _facts(self, node: Schema) -> dict[str, Any]:
        facts: dict[str, Any] = {}
        for part in self._shapes.parts(node):
            if isinstance(part, Mapping):
                facts = {**part, **facts}
        return facts

    def _shown(self, node: Schema, facts: Mapping[str, Any]) -> Any:
        """What the schema itself shows: its first example, or a default that is a plain value."""
        types = self._shapes.types(node)
        for value in (*list_of(facts.get("examples"))[:1], facts.get("default")):
            kind = json_type(value)
            if kind in types and kind not in ("null", "object", "array") and value != "":
                return value
        return None

    def _nth(self, values: Sequence[Any], nth: int) -> Any:
        if nth >= len(values):
            raise NoBaseline("a list must not repeat itself, and there are too few values")
        return values[nth]

    def _branch(self, branches: Sequence[Any], path: Path, nth: int) -> Any:
        solid = [b for b in branches if self._shapes.types(b) - {"null"}]
        if not solid or (len(path) > 3 * _DEEP and len(solid) < len(branches)):
            return None
        # Deep inside the last branch is tried first: what refers to itself comes to its end there, if anywhere.
        why: ValueError | None = None
        for branch in sorted(solid, key=self._weight) if len(path) > _DEEP else solid:
            try:
                return self.value(branch, path, nth)
            except (NoBaseline, NoString) as error:
                why = error
        raise why or NoBaseline("an alternative without alternatives")

    def _weight(self, branch: Schema) -> int:
        return bool(self._shapes.types(branch) & {"object", "array"})

    def _object(self, facts: Mapping[str, Any], path: Path) -> dict[str, Any]:
        named = dict_of(facts.get("properties"))
        required = list_of(facts.get("required"))
        full = self._full and len(path) < _DEEP
        made = {n: self.value(s, (*path, n)) for n, s in named.items() if n in required or full}
        for name in required:
            made.setdefault(name, _WORD)
        rest: Any = facts.get("additionalProperties")
        least = int(number_of(facts.get("minProperties")) or 0)
        if isinstance(rest, Mapping) and (not named or len(made) < least):
            keys: Any = facts.get("propertyNames", {})
            number = 0
            while len(made) < max(least, 1):
                made[str(self.value(keys, (), number)) if keys else f"key_{number + 1}"] = self.value(
                    cast("Schema", rest), (*path, "key")
                )
                number += 1
                if number > 100:
                    raise NoBaseline("too few names are accepted")
        return made

    def _array(self, facts: Mapping[str, Any], path: Path) -> list[Any]:
        least, most = int(number_of(facts.get("minItems")) or 0), number_of(facts.get("maxItems"))
        first = list_of(facts.get("prefixItems"))
        items: Any = facts.get("items", True)
        if least == 0 and len(path) > 2 * _DEEP:
            return []
        made = [self.value(s, (*path, i)) for i, s in enumerate(first)]
        if items is False or isinstance(items, list):
            return made
        wanted = max(least, 1) if not first else least
        wanted = wanted if most is None else min(wanted, int(most))
        distinct = bool(facts.get("uniqueItems"))
        made += [self.value(items, (*path, i), i if distinct else 0) for i in range(len(made), wanted)]
        return made

    def _string(self, facts: Mapping[str, Any], nth: int) -> str:
        form, pattern = facts.get("format"), facts.get("pattern")
        if facts.get("contentMediaType") == "application/json":
            form = "json-string"
        if isinstance(form, str) and form in FORMATS and not nth:
            return FORMATS[form]
        low, high = number_of(facts.get("minLength")) or 0, number_of(facts.get("maxLength"))
        word = f"{_WORD}{nth + 1}" if nth else _WORD
        text = word if high is None else word[: int(high)] if not nth else word[-int(high) :]
        while len(text) < low:
            text += word[: int(low) - len(text)]
        if isinstance(pattern, str) and not matches(pattern, text):
            made = string_for(pattern)
            return made if len(made) >= low else made + (made[-1:] or "a") * (int(low) - len(made))
        return text

    def _number(self, facts: Mapping[str, Any], nth: int, *, whole: bool) -> int | float:
        low, high = number_of(facts.get("minimum")), number_of(facts.get("maximum"))
        above, below = number_of(facts.get("exclusiveMinimum")), number_of(facts.get("exclusiveMaximum"))
        step = number_of(facts.get("multipleOf")) or (1 if whole else 0.5)
        if above is not None and (low is None or above >= low):
            low = above + (step if not whole or float(above).is_integer() else 0)
            if not whole and below is not None and low >= below:
                return above + (below - above) / 2
        if below is not None and (high is None or below <= high):
            high = below - (step if not whole or float(below).is_integer() else 0)
        start = 1 if whole else 1.5
        least = start if low is None else low
        least = min(least, high) if high is not None and low is None else least
        if low is not None and low <= start and (high is None or start <= high):
            least = start
        made = (floor if low is None else ceil)(least / step) * step + nth * step
        return int(made) if whole else made
