"""The arguments of a call as texts, each with its place; pure."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final, cast

from toolsmith._dataclass import dataclass

_DEEPEST: Final = 20


@dataclass(frozen=True, slots=True)
class Leaf:
    """A text or a number of JSON data, or the name of a member.

    Attributes:
        place: "to", "lines[2].text".
    """

    place: str
    text: str
    is_name: bool = False


def leaves_of(value: Any, place: str, depth: int = 0) -> Iterator[Leaf]:
    """The texts and numbers of JSON data, by place; JSON within a text as well."""
    match value:
        case str():
            inner = _parsed(value) if depth < _DEEPEST else None
            if inner is None:
                yield Leaf(place, value)
            else:
                yield from leaves_of(inner, place, depth + 1)
        case bool() | None:
            pass
        case int() | float():
            whole = isinstance(value, float) and value.is_integer()
            yield Leaf(place, str(int(value) if whole else value))
        case dict() if depth < _DEEPEST:
            for name, item in cast("dict[str, Any]", value).items():
                yield Leaf(place, name, is_name=True)
                yield from leaves_of(item, f"{place}.{name}" if len(name) <= 40 else place, depth + 1)
        case list() if depth < _DEEPEST:
            for number, item in enumerate(cast("list[Any]", value)):
                yield from leaves_of(item, f"{place}[{number}]", depth + 1)
        case _:
            yield Leaf(place, json.dumps(value, ensure_ascii=False))


def _parsed(text: str) -> Any:
    """JSON data in a text; None where it is a text."""
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
