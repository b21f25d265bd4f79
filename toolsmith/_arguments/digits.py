"""Numbers of more digits than a float keeps, where a `Decimal` is to have them all: an amount of money, say.

pydantic's JSON reader makes a float of each number with a point or an exponent, before a `Decimal` is made of it
(pydantic-core 2.46, November 2026). A string that spells the number keeps the digits.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, cast

from toolsmith._arguments.jsontext import Exact
from toolsmith._arguments.problems import Path, Schema
from toolsmith._arguments.refusals import node_at
from toolsmith._arguments.shapes import Shapes, dict_of, list_of

_LONG = re.compile(rb"[0-9][0-9.]{15}|[0-9][eE][-+]?[0-9]{2}")
"""A float keeps all numbers of up to 15 digits."""


def may_be_cut(data: bytes) -> bool:
    """Whether JSON text has a number of which a float may keep less than is written."""
    return _LONG.search(data) is not None


def has_decimals(schema: Schema) -> bool:
    """Whether a `Decimal` stands anywhere in a schema that was made of a signature."""
    waiting: list[Any] = [schema]
    while waiting:
        node = waiting.pop()
        if isinstance(node, list):
            waiting += cast("list[Any]", node)
        elif isinstance(node, Mapping):
            members = cast("Mapping[str, Any]", node)
            if members.get("format") == "decimal":
                return True
            waiting += [v for v in members.values() if v.__class__ is dict or v.__class__ is list]
    return False


def spelled_out(value: Any, shapes: Shapes) -> Any:
    """Parsed arguments with a string for each `Exact` number that is to be a `Decimal`; else they are the same."""

    def read(item: Any, path: Path) -> Any:
        if isinstance(item, Exact):
            return item.text if _is_decimal(shapes, node_at(shapes, path, value)) else item
        if isinstance(item, dict):
            return {k: read(v, (*path, k)) for k, v in cast("dict[str, Any]", item).items()}
        if isinstance(item, list):
            return [read(v, (*path, i)) for i, v in enumerate(cast("list[Any]", item))]
        return item

    return read(value, ())


def _is_decimal(shapes: Shapes, node: Schema) -> bool:
    """Whether a number may be sent as the string that spells it, and that string means nothing else."""
    strings: list[Any] = []
    waiting: list[Schema] = [node]
    for at in waiting:  # grows on the way
        for part in shapes.parts(at):
            branches = [*list_of(dict_of(part).get("anyOf")), *list_of(dict_of(part).get("oneOf"))]
            if not branches and "string" in shapes.types(at):
                strings.append(dict_of(part).get("format"))
            waiting += branches
        if len(waiting) > 1_000:
            return False
    return bool(strings) and set(strings) == {"decimal"}
