"""Whether a value is JSON data as it stands, and within bounds."""

from __future__ import annotations

from typing import Any, Final, cast

MAX_DEPTH: Final = 200
MAX_BITS: Final = 14_000
"""Of a whole number: Python itself prints up to 4,300 digits, and readers elsewhere give up sooner."""
MAX_ITEMS: Final = 100_000
"""Items taken from an iterator, which may be endless."""
MAX_VALUES: Final = 2_000_000
"""Values that one result may have. What shares its parts, or makes them as they are asked for, may be of any size
though it takes no memory."""
MAX_CHARACTERS: Final = 100_000_000
"""Of all its texts and names."""
FEW_LEFT: Final = MAX_VALUES - 1_000
"""Whoever has more values left than this has too few of them for their texts to be worth counting."""
NOT_PLAIN: Final = 0


def values_left(value: Any, depth: int = MAX_DEPTH, left: int = MAX_VALUES) -> int:
    """Whether a value is JSON data as it stands: built-in types only, texts that can be encoded, finite numbers.

    Args:
        depth: levels of lists and dicts that there may be.
        left: values that there may be.

    Returns:
        How many more there might be, if it is JSON data; `NOT_PLAIN`; or less than 0, if it is too large.
    """
    kind = type(value)  # pyright: ignore[reportUnknownVariableType] - quicker than __class__
    if kind is str:
        return left if value.isascii() or encodable(value) else NOT_PLAIN
    if kind is dict or kind is list:
        return _left(value, kind, depth, left)
    if kind is int:
        return left if value.bit_length() <= MAX_BITS else NOT_PLAIN
    return _left([value], list, 1, left)


def _left(value: Any, kind: type[Any], depth: int, left: int) -> int:
    """`values_left` of a list or a dict.

    This runs over every result, so it calls as little as it can: itself for lists and dicts only. What contains itself
    is too deep, which is seen on the first way down. What contains the same part many times over is counted as often
    as it would be written, so that it comes to an end.
    """
    if not depth:
        return NOT_PLAIN
    left -= len(value)
    items: Any = value
    if kind is dict:
        for key in value:
            if type(key) is not str or not (key.isascii() or encodable(key)):
                return NOT_PLAIN
        items = value.values()
    for item in items:
        kind = type(item)  # pyright: ignore[reportUnknownVariableType]
        if kind is str:
            if not (item.isascii() or encodable(item)):
                return NOT_PLAIN
        elif kind is dict or kind is list:
            left = _left(item, kind, depth - 1, left)
            if left <= 0:
                return left
        elif kind is int:
            if item.bit_length() > MAX_BITS:
                return NOT_PLAIN
        elif kind is float:
            if item - item != 0.0:  # NaN and the infinities
                return NOT_PLAIN
        elif item is not None and kind is not bool:
            return NOT_PLAIN
    return left


def characters_left(value: Any, left: int = MAX_CHARACTERS) -> int:
    """How many more characters there might be in the texts of some JSON data; less than 0 if it has too many.

    Args:
        value: of no more than `MAX_VALUES` values.
        left: characters that there may be.
    """
    if isinstance(value, str):
        return left - len(value)
    items: Any = ()
    if isinstance(value, dict):
        left -= sum(map(len, cast("dict[str, Any]", value)))
        items = cast("dict[str, Any]", value).values()
    elif isinstance(value, list):
        items = cast("list[Any]", value)
    for item in items:
        left = characters_left(item, left)
        if left < 0:
            break
    return left


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
