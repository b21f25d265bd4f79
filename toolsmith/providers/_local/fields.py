"""What a tool takes, read from its JSON Schema into the few kinds of value that can be found in a text. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

Kind = Literal["string", "integer", "number", "boolean", "enum", "array", "object", "null", "any"]

_DEPTH = 6  # a recursive schema is read this deep; deeper members are left out


@dataclass(frozen=True, slots=True)
class Field:
    """One argument, or one member or item of one.

    Attributes:
        optional: it may be left out.
        nullable: null is a value; an argument that must be given and is not in the text gets it.
        values: of an enum or const, in the schema's order.
        fields: of an object.
        items: of an array.
    """

    name: str
    kind: Kind
    description: str = ""
    optional: bool = False
    nullable: bool = False
    values: tuple[Any, ...] = ()
    format: str = ""
    pattern: str = ""
    minimum: float | None = None
    maximum: float | None = None
    longest: int | None = None
    fewest: int = 0
    fields: tuple[Field, ...] = ()
    items: Field | None = None

    def admits(self, value: object) -> bool:
        """Whether bounds and pattern let a value of the right kind through."""
        if isinstance(value, str):
            if self.longest is not None and len(value) > self.longest:
                return False
            return not self.pattern or _matches(self.pattern, value)
        if isinstance(value, int | float):
            return (self.minimum is None or value >= self.minimum) and (self.maximum is None or value <= self.maximum)
        return True


def read(schema: Mapping[str, Any]) -> tuple[Field, ...]:
    """The arguments of a tool, in the order of its schema."""
    defs = cast("Mapping[str, Any]", schema.get("$defs") or schema.get("definitions") or {})
    return _field("", schema, defs, depth=0, optional=False).fields


def _field(name: str, schema: Any, defs: Mapping[str, Any], *, depth: int, optional: bool) -> Field:
    if not isinstance(schema, Mapping):
        return Field(name, "any", optional=optional)
    raw = _resolved(schema, defs)
    variants = [_resolved(v, defs) for v in _variants(raw)]
    solid = [v for v in variants if v.get("type") != "null"]
    chosen = solid[0] if solid else raw
    kind, nullable = _type(chosen)
    made = Field(
        name,
        "any",
        description=str(raw.get("description") or chosen.get("description") or ""),
        optional=optional,
        nullable=nullable or len(solid) < len(variants) or raw.get("nullable") is True,
    )
    if "const" in chosen or "enum" in chosen:
        given = cast("Sequence[Any]", chosen["enum"] if "enum" in chosen else [chosen["const"]])
        values = tuple(v for v in given if v is not None)
        return replace(made, kind="enum", values=values, nullable=made.nullable or len(values) < len(given))
    match kind:
        case "integer" | "number":
            low, high = _bounds(chosen, step=1 if kind == "integer" else 0)
            return replace(made, kind=kind, minimum=low, maximum=high)
        case "string":
            form, pattern = str(chosen.get("format") or ""), str(chosen.get("pattern") or "")
            return replace(made, kind=kind, format=form, pattern=pattern, longest=_whole(chosen.get("maxLength")))
        case "boolean" | "null":
            return replace(made, kind=kind)
        case "array" if depth < _DEPTH:
            items = _field(name, chosen.get("items") or {}, defs, depth=depth + 1, optional=False)
            return replace(made, kind=kind, items=items, fewest=_whole(chosen.get("minItems")) or 0)
        case "object" if depth < _DEPTH:
            return replace(made, kind=kind, fields=_members(chosen, defs, depth))
        case _:
            return made


def _members(schema: Mapping[str, Any], defs: Mapping[str, Any], depth: int) -> tuple[Field, ...]:
    given = cast("Mapping[str, Any]", schema.get("properties") or {})
    required = cast("Sequence[str]", schema.get("required") or ())
    return tuple(_field(k, v, defs, depth=depth + 1, optional=k not in required) for k, v in given.items())


def _type(schema: Mapping[str, Any]) -> tuple[str, bool]:
    """The type's name, and whether null is named beside it."""
    given = schema.get("type")
    if not isinstance(given, list):
        return str(given), False
    names = [str(t) for t in cast("list[object]", given)]
    return next((t for t in names if t != "null"), "null"), "null" in names


def _resolved(schema: Any, defs: Mapping[str, Any]) -> Mapping[str, Any]:
    """Follow `$ref` and a lone `allOf`; what stands beside them wins."""
    for _ in range(_DEPTH):
        if not isinstance(schema, Mapping):
            return {}
        node = cast("Mapping[str, Any]", schema)
        ref, alone = node.get("$ref"), cast("Sequence[Any]", node.get("allOf") or ())
        if not isinstance(ref, str) and len(alone) != 1:
            return node
        target: Any = defs.get(ref.rsplit("/", 1)[-1]) if isinstance(ref, str) else alone[0]
        beside = {k: v for k, v in node.items() if k not in ("$ref", "allOf")}
        schema = {**cast("Mapping[str, Any]", target), **beside} if isinstance(target, Mapping) else beside
    return {}


def _variants(schema: Mapping[str, Any]) -> Sequence[Any]:
    for key in ("anyOf", "oneOf"):
        given = schema.get(key)
        if isinstance(given, list) and given:
            return cast("list[Any]", given)
    return [schema]


def _bounds(schema: Mapping[str, Any], *, step: int) -> tuple[float | None, float | None]:
    """Lower and upper bound; an exclusive one counts as the next whole number, or as a hair's breadth."""
    hair = step or 1e-9
    low, high = _number(schema.get("minimum")), _number(schema.get("maximum"))
    above, below = _number(schema.get("exclusiveMinimum")), _number(schema.get("exclusiveMaximum"))
    if above is not None:
        low = above + hair if low is None else max(low, above + hair)
    if below is not None:
        high = below - hair if high is None else min(high, below - hair)
    return low, high


def _number(value: object) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _matches(pattern: str, value: str) -> bool:
    try:
        return re.search(pattern, value) is not None
    except re.error:  # ECMA syntax that Python lacks: the tool's own validator decides
        return True
