"""Numbers too large for a float, such as 1e400: JSON may hold them, Python reads infinity and nobody is told.

Python's JSON parsers, pydantic's included, have no switch for it, so the arguments of each call are looked through;
here is how that costs next to nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any, Final, cast

from toolsmith._arguments.problems import Path, Schema
from toolsmith._arguments.refusals import node_at
from toolsmith._arguments.shapes import JsonType, Shapes, dict_of, list_of, schema_of

Places = tuple[tuple[str, ...], ...]
"""Where numbers stand in arguments, by the names that lead there."""

_FLOAT_BITS: Final = 1023
"""Whole numbers of more bits may be too large for a float."""
_MOST_PLACES: Final = 6
"""Above this many it is quicker to search the text."""

# A number overflows with an exponent of three digits, or with at least 210 digits before the point: more is missing to
# 1.8e308 than an exponent of two digits makes up for.
_SMALL_E = re.compile(rb"e[+0-9][0-9]{2}")
_CAPITAL_E = re.compile(rb"E[+0-9][0-9]{2}")
_THREE_DIGITS = re.compile(rb"[0-9]{3}")
_MANY_DIGITS = re.compile(rb"[0-9]{209}")


def overflows(parsed: Any, data: bytes, places: Places | None) -> bool:
    """Whether parsed arguments hold an infinite number, or may hold one.

    Args:
        parsed: the arguments.
        data: their text, searched where `places` is None: quick, but it also answers True for some innocent texts.
        places: what `number_places` gave.
    """
    if places is None:
        return _may_overflow(data)
    for path in places:
        value: Any = parsed
        for name in path:
            value = value.get(name) if value.__class__ is dict else None
        if value.__class__ is float:
            if value - value != 0.0:
                return True
        elif value.__class__ is int and value.bit_length() > _FLOAT_BITS:
            return True
    return False


def _may_overflow(data: bytes) -> bool:
    if _SMALL_E.search(data) or (b"E" in data and _CAPITAL_E.search(data)):
        return True
    # Of 209 digits in a row every 69th character meets three; the slow search is for texts where that is so.
    return len(data) > 209 and _THREE_DIGITS.search(data[::69]) is not None and _MANY_DIGITS.search(data) is not None


def infinite(value: Any, shapes: Shapes) -> Path | None:
    """Where a number has become infinite, if one has; or would, as a whole number that is to be a float."""
    whole = value
    waiting: list[tuple[Any, Path]] = [(value, ())]
    while waiting:
        item, path = waiting.pop()
        if isinstance(item, float):
            if not isfinite(item):
                return path
        elif isinstance(item, int):
            if item.bit_length() > _FLOAT_BITS and _is_float(shapes, node_at(shapes, path, whole)):
                return path
        elif isinstance(item, dict):
            waiting += [(v, (*path, k)) for k, v in cast("dict[str, Any]", item).items()]
        elif isinstance(item, list):
            waiting += [(v, (*path, i)) for i, v in enumerate(cast("list[Any]", item))]
    return None


def _is_float(shapes: Shapes, node: Schema) -> bool:
    """Whether a whole number that stands here becomes a float: a number is asked for, and nowhere a whole one."""
    names: set[str] = set()
    waiting: list[Schema] = [node]
    for at in waiting:  # grows on the way
        if len(waiting) > 1_000:
            return True
        parts = [p for p in shapes.parts(at) if isinstance(p, Mapping)]
        for part in parts:
            kind: Any = part.get("type", ())
            names.update(cast("list[str]", [kind] if isinstance(kind, str) else kind))
            waiting += [*list_of(part.get("anyOf")), *list_of(part.get("oneOf"))]
    return "number" in names and "integer" not in names


def number_places(schema: Schema) -> Places | None:
    """Where a schema has numbers that are not whole; None where that cannot be listed: within lists, for one."""
    shapes = Shapes(schema)
    found: list[tuple[str, ...]] = []
    return tuple(found) if _list(shapes, schema, (), found) and len(found) <= _MOST_PLACES else None


def _list(shapes: Shapes, node: Schema, path: tuple[str, ...], found: list[tuple[str, ...]]) -> bool:
    """Add the places of numbers in a node; False where they cannot be listed."""
    types = shapes.types(node)
    if "number" in types:
        found.append(path)
    if not types & {"array", "object"}:
        return True
    if not _has_numbers(shapes, node, itself=False):
        return True
    parts = [p for p in shapes.parts(node) if isinstance(p, Mapping)]
    if types & {"array"} or len(path) > 4 or any(p.keys() & _BRANCHING for p in parts) or _is_open(parts, types):
        return False
    if not any(p.get("additionalProperties") is False for p in parts):
        return False  # a mapping: its keys are not known
    members = [(n, schema_of(m)) for p in parts for n, m in dict_of(p.get("properties")).items()]
    return all(m is None or _list(shapes, m, (*path, n), found) for n, m in members)


_BRANCHING = frozenset({"anyOf", "oneOf", "patternProperties"})


def _has_numbers(shapes: Shapes, start: Schema, *, itself: bool = True) -> bool:
    """Whether there may be a number that is not whole in what a node describes."""
    seen: set[int] = set()
    waiting: list[Schema] = [start]
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        types = shapes.types(node)
        parts = [p for p in shapes.parts(node) if isinstance(p, Mapping)]
        if ("number" in types and (itself or node is not start)) or _is_open(parts, types):
            return True
        for part in parts:
            waiting += _children(part)
    return False


def _is_open(parts: Sequence[Mapping[str, Any]], types: frozenset[JsonType]) -> bool:
    """Whether members of any kind may stand here that no keyword describes."""
    if any("anyOf" in p or "oneOf" in p for p in parts):
        return False  # the branches are looked at one by one
    items = any("items" in p or ("prefixItems" in p and "maxItems" in p) for p in parts)
    members = any("additionalProperties" in p for p in parts)
    return ("array" in types and not items) or ("object" in types and not members)


def _children(part: Mapping[str, Any]) -> list[Schema]:
    found: list[Any] = []
    for word in ("properties", "patternProperties"):
        found += dict_of(part.get(word)).values()
    for word in ("items", "prefixItems", "anyOf", "oneOf"):
        value = part.get(word)
        found += cast("list[Any]", value) if isinstance(value, list) else [value]
    found += [part.get("additionalProperties"), part.get("additionalItems")]
    return [c for c in map(schema_of, found) if c is not None and c is not False]
