"""Whether a value is JSON data as it stands."""

from __future__ import annotations

from math import isfinite
from typing import Any, Final, cast

MAX_DEPTH: Final = 200
MAX_BITS: Final = 14_000
"""Of a whole number: Python itself prints up to 4,300 digits, and readers elsewhere give up sooner."""
MAX_ITEMS: Final = 100_000
"""Items taken from an iterator, which may be endless."""
_NUMBERS = frozenset({int, float})
_MANY: Final = 1_000
"""Lists and dicts of one level from which on it pays to look at each only once."""


def is_plain(value: Any) -> bool:
    """Whether a value is JSON data as it stands: built-in types only, texts that can be encoded, finite numbers.

    This runs over every result, so it calls as little as it can. It goes level by level, which bounds it for data that
    contains itself.
    """
    kind = type(value)  # pyright: ignore[reportUnknownVariableType]
    if kind is str:
        return value.isascii() or encodable(value)
    if kind is not dict and kind is not list:
        return value is None or kind is bool or (kind in _NUMBERS and _is_plain_number(value))
    level: list[Any] = [value]
    for _ in range(MAX_DEPTH):
        deeper: list[Any] = []
        for container in level:
            if container.__class__ is dict:  # a type checker would narrow `type(container)` to nothing useful
                for key in container:
                    if type(key) is not str or not (key.isascii() or encodable(key)):
                        return False
                container = container.values()
            for item in container:
                kind = type(item)  # pyright: ignore[reportUnknownVariableType] - quicker than __class__
                if kind is str:
                    if not (item.isascii() or encodable(item)):
                        return False
                elif kind is dict or kind is list:
                    deeper.append(item)
                elif kind is int:
                    if item.bit_length() > MAX_BITS:
                        return False
                elif kind is float:
                    if item - item != 0.0:  # NaN and the infinities
                        return False
                elif item is not None and kind is not bool:
                    return False
        if not deeper:
            return True
        # What contains itself twice would double with each level.
        level = deeper if len(deeper) < _MANY else list({id(item): item for item in deeper}.values())
    return False


def _is_plain_number(value: int | float) -> bool:
    return isfinite(value) if type(value) is float else cast("int", value).bit_length() <= MAX_BITS


def sound(text: str) -> str:
    """A text that UTF-8 can hold: U+FFFD for each half of a surrogate pair, two halves in a row as their character."""
    if text.isascii() or encodable(text):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def encodable(text: str) -> bool:
    """Whether a text has no half of a surrogate pair in it."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
