"""Words for what JSON Schema has no keyword for: they become part of descriptions, or tell why there is no tool."""

from __future__ import annotations

import math
from typing import Any, Final, cast

Json = dict[str, Any]


class Unfit(TypeError):
    """Metadata that cannot be held; the text says why and what to do, after "is annotated ...,"."""


class Words(str):
    """Stands where a default would, until descriptions are complete: pydantic adds a field's own last of all."""

    __slots__ = ()


TOLD: Final = "$told"
"""The keyword of bounds in words, until then."""


def tell(node: Any) -> None:
    """Move bounds and defaults that are words to where words belong."""
    if isinstance(node, dict):
        schema = cast("Json", node)
        for key in (TOLD, "default"):
            if isinstance(words := schema.get(key), Words):
                del schema[key]
                schema["description"] = sentences(schema.get("description", ""), str(words))
        for value in schema.values():
            tell(value)
    elif isinstance(node, list):
        for item in cast("list[Any]", node):
            tell(item)


def words_for(default: Any) -> str:
    """A default that is no JSON, in words; "" where there is nothing to say."""
    if isinstance(default, float) and not math.isfinite(default):
        word = "not a number" if math.isnan(default) else "infinity" if default > 0 else "minus infinity"
        return f"Default: {word}."
    return ""


def sentences(first: str, second: str) -> str:
    """Two remarks in a row."""
    if not first:
        return second
    return f"{first}{'' if first[-1] in '.!?:' else '.'} {second}"
