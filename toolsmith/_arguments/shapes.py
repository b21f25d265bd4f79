"""What a node of a JSON Schema admits: references followed, conjunctions collected, types and closed sets computed.

It serves to *explain* and to *mend* arguments. Whether they are accepted is decided by the tool's validator alone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal, cast
from urllib.parse import unquote

from pydantic_core import SchemaError, SchemaValidator, core_schema

from toolsmith._arguments.problems import Schema
from toolsmith._dataclass import dataclass

JsonType = Literal["null", "boolean", "integer", "number", "string", "array", "object"]

ALL_TYPES: frozenset[JsonType] = frozenset({"null", "boolean", "integer", "number", "string", "array", "object"})
_NO_TYPE: frozenset[JsonType] = frozenset()
_WHOLE: frozenset[JsonType] = frozenset({"integer"})
_DEPTH = 24
"""How far unions and references are followed to learn what a node admits; deeper ones admit anything."""


_BY_CLASS: Mapping[type, JsonType] = {
    type(None): "null",
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
}


def json_type(value: Any) -> JsonType:
    """The JSON type of parsed JSON; 5.0 is a "number" here, though a schema may take it for an integer."""
    known = _BY_CLASS.get(value.__class__)
    return known if known is not None else "number" if isinstance(value, float) else "object"


def json_equal(one: Any, other: Any) -> bool:
    """Equality as JSON sees it: 1 equals 1.0, true does not equal 1."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, list) and isinstance(other, list):
        left, right = cast("list[Any]", one), cast("list[Any]", other)
        return len(left) == len(right) and all(map(json_equal, left, right))
    if isinstance(one, dict) and isinstance(other, dict):
        mine, theirs = cast("dict[str, Any]", one), cast("dict[str, Any]", other)
        return mine.keys() == theirs.keys() and all(json_equal(v, theirs[k]) for k, v in mine.items())
    return one == other


def pointed(reference: str, root: Schema) -> Any:
    """What a local `$ref` points at; None where there is nothing."""
    node: Any = root if reference.startswith("#") else None
    for part in reference[1:].split("/")[1:]:
        key = unquote(part).replace("~1", "/").replace("~0", "~")
        if isinstance(node, Mapping):
            node = cast("Mapping[str, Any]", node).get(key)
        elif isinstance(node, list):
            items = cast("list[Any]", node)
            node = items[int(key)] if key.isdecimal() and int(key) < len(items) else None
        else:
            return None
    return node


def schema_of(value: object) -> Schema | None:
    """The value, if it can be a schema at all."""
    return cast("Schema", value) if isinstance(value, (Mapping, bool)) else None


def list_of(value: object) -> Sequence[Any]:
    """The value, if it is a list; else an empty one. Schemas from elsewhere hold anything anywhere."""
    return cast("list[Any]", value) if isinstance(value, list) else ()


def dict_of(value: object) -> Mapping[str, Any]:
    """The value, if it is a mapping; else an empty one."""
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def number_of(value: object) -> int | float | None:
    """The value, if it is a number; True and False are none."""
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def as_decimal(branch: Schema, branches: Sequence[Schema]) -> Schema:
    """One of several alternatives, with the name of its type where it is the number of a `Decimal`."""
    if dict_of(branch).get("type") != "number" or all(dict_of(b).get("format") != "decimal" for b in branches):
        return branch
    return {**dict_of(branch), "format": "decimal"}


@dataclass(frozen=True, slots=True, eq=False)
class Facts:
    """What a reading asks of a node for each value that stands there.

    Attributes:
        node: kept here, so that no other one can come to have its id.
        forbidden: it admits nothing.
        parts: the objects among the schemas that hold there.
        types: as `Shapes.types`.
        closed: as `Shapes.closed_strings`.
        plain: nothing but types is asked of a value.
    """

    node: Schema
    forbidden: bool
    parts: tuple[Mapping[str, Any], ...]
    types: frozenset[JsonType]
    closed: tuple[str, ...] | None
    plain: bool


_PLAIN_WORDS = frozenset({"type", "$ref", "$defs", "title", "description", "default", "examples", "format"})


class Shapes:
    """Answers about the nodes of one schema, remembered by node.

    Args:
        other_names: by a name that is not in the schema those in it that are the same to somebody.
    """

    def __init__(self, root: Schema, other_names: Mapping[str, Sequence[str]] | None = None) -> None:
        self.root = root
        self.other_names = other_names or {}
        # By identity; the node is kept with the answer, so that no other one can come to have its id.
        self._parts: dict[int, tuple[Schema, tuple[Schema, ...]]] = {}
        self._types: dict[int, tuple[Schema, frozenset[JsonType]]] = {}
        self._facts: dict[int, Facts] = {}

    def facts(self, node: Schema) -> Facts:
        """All that a reading asks of a node."""
        found = self._facts.get(id(node))
        if found is None:
            parts = self.parts(node)
            objects = tuple(p for p in parts if isinstance(p, Mapping))
            plain = False not in parts and all(p.keys() <= _PLAIN_WORDS for p in objects)
            found = Facts(node, False in parts, objects, self.types(node), self.closed_strings(node), plain)
            self._facts[id(node)] = found
        return found

    def parts(self, node: Schema) -> tuple[Schema, ...]:
        """All schemas that hold together at a node: itself, what its `$ref` names, the members of its `allOf`."""
        found = self._parts.get(id(node))
        if found is None:
            gathered: list[Schema] = []
            self._gather(node, gathered, set())
            found = self._parts[id(node)] = (node, tuple(gathered))
        return found[1]

    def _gather(self, node: Schema, into: list[Schema], seen: set[int]) -> None:
        if id(node) in seen or schema_of(node) is None:
            return
        seen.add(id(node))
        into.append(node)
        if isinstance(node, bool):
            return
        if isinstance(reference := node.get("$ref"), str):
            found = schema_of(pointed(reference, self.root))
            self._gather(True if found is None else found, into, seen)
        for member in list_of(node.get("allOf")):
            self._gather(member, into, seen)

    def types(self, node: Schema, depth: int = 0) -> frozenset[JsonType]:
        """The JSON types of which a node admits at least one value."""
        found = self._types.get(id(node))
        if found is None:
            if depth > _DEPTH:
                return ALL_TYPES
            admitted = ALL_TYPES
            for part in self.parts(node):
                admitted &= self._part_types(part, depth)
            found = self._types[id(node)] = (node, admitted)
        return found[1]

    def _part_types(self, part: Schema, depth: int) -> frozenset[JsonType]:
        if isinstance(part, bool):
            return ALL_TYPES if part else frozenset()
        admitted = ALL_TYPES
        if "type" in part:
            named: Any = part["type"]
            names = cast("list[Any]", named) if isinstance(named, list) else [named]
            known: list[JsonType] = [n for n in names if n in ALL_TYPES]
            admitted = frozenset(known)
            if "number" in admitted:
                admitted = admitted.union(_WHOLE)
        if (values := closed_set(part)) is not None:
            kinds = frozenset[JsonType]([json_type(v) for v in values])
            admitted &= kinds.union(_WHOLE) if "number" in kinds else kinds
        for word in ("anyOf", "oneOf"):
            if branches := list_of(part.get(word)):
                admitted &= _NO_TYPE.union(*[self.types(b, depth + 1) for b in branches])
        return admitted

    def closed_strings(self, node: Schema, depth: int = 0) -> tuple[str, ...] | None:
        """The strings that a node admits, in order; None where it also admits strings that cannot be listed."""
        if depth > _DEPTH:
            return None
        closed: tuple[str, ...] | None = None
        for part in self.parts(node):
            listed = self._part_strings(part, depth)
            if listed is not None:
                closed = listed if closed is None else tuple(s for s in closed if s in listed)
        return closed

    def _part_strings(self, part: Schema, depth: int) -> tuple[str, ...] | None:
        if isinstance(part, bool) or "string" not in self._part_types(part, depth):
            return None if part is True else ()
        if (values := closed_set(part)) is not None:
            return tuple(v for v in values if isinstance(v, str))
        for word in ("anyOf", "oneOf"):
            if branches := list_of(part.get(word)):
                each = [self.closed_strings(b, depth + 1) for b in branches if "string" in self.types(b, depth + 1)]
                if all(e is not None for e in each):
                    return tuple(dict.fromkeys(s for e in each for s in e or ()))
        return None


def closed_set(part: Schema) -> Sequence[Any] | None:
    """The values of an `enum` or `const`; None where there is neither."""
    if isinstance(part, bool):
        return None
    if "const" in part:
        return (part["const"],)
    return list_of(part["enum"]) if "enum" in part else None


def is_small(value: list[Any] | dict[str, Any], room: int) -> bool:
    """Whether a value is short enough to be shown as it is, in about so many characters."""
    most = room
    waiting: list[Any] = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            members = cast("dict[str, Any]", item)
            room -= 2 + sum(4 + len(k) for k in list(members)[:most]) + 4 * max(len(members) - most, 0)
            waiting += list(members.values())[:most]
        elif isinstance(item, list):
            items = cast("list[Any]", item)
            room -= 2 + 2 * len(items)
            waiting += items[:most]
        elif isinstance(item, str):
            room -= 2 + len(item)
        else:
            room -= item.bit_length() // 3 + 1 if isinstance(item, int) else 5
        if room < 0:
            return False
    return True


@lru_cache(maxsize=512)
def _compiled(pattern: str) -> SchemaValidator | re.Pattern[str] | None:
    try:
        # The engine that pydantic uses: it runs in linear time, so no string can make it hang.
        return SchemaValidator(core_schema.str_schema(pattern=pattern))
    except SchemaError:
        pass
    try:
        return re.compile(pattern)  # look-around, back references
    except (re.error, RecursionError, OverflowError):
        return None


def matches(pattern: str, text: str) -> bool:
    """Whether a `pattern` of a schema is found in a string; True where the pattern itself cannot be read."""
    match _compiled(pattern):
        case None:
            return True
        case re.Pattern() as compiled:
            return compiled.search(text) is not None
        case validator:
            return validator.isinstance_python(text)
