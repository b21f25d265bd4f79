"""Whether a value is JSON data as it stands."""

from __future__ import annotations

from typing import Any, Final

MAX_DEPTH: Final = 200
MAX_BITS: Final = 14_000
"""Of a whole number: Python itself prints up to 4,300 digits, and readers elsewhere give up sooner."""
MAX_ITEMS: Final = 100_000
"""Items taken from an iterator, which may be endless."""


def is_plain(value: Any, depth: int = MAX_DEPTH) -> bool:
    """Whether a value is JSON data as it stands: built-in types only, texts that can be encoded, finite numbers.

    This runs over every result, so it calls as little as it can: itself for lists and dicts only. What contains itself
    is too deep, which is seen on the first way down.

    Args:
        depth: levels of lists and dicts that there may be.
    """
    kind = type(value)  # pyright: ignore[reportUnknownVariableType] - quicker than __class__
    if kind is str:
        return value.isascii() or encodable(value)
    items: Any = value
    if kind is dict:
        for key in value:
            if type(key) is not str or not (key.isascii() or encodable(key)):
                return False
        items = value.values()
    elif kind is not list:
        items, depth = (value,), 1
    if not depth:
        return False
    for item in items:
        kind = type(item)  # pyright: ignore[reportUnknownVariableType]
        if kind is str:
            if not (item.isascii() or encodable(item)):
                return False
        elif kind is dict or kind is list:
            if not is_plain(item, depth - 1):
                return False
        elif kind is int:
            if item.bit_length() > MAX_BITS:
                return False
        elif kind is float:
            if item - item != 0.0:  # NaN and the infinities
                return False
        elif item is not None and kind is not bool:
            return False
    return True


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
