"""Words for numbers and dates: bounds, and `Decimal`s, sent as a number or as the string that spells one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from toolsmith._arguments.shapes import dict_of, list_of, number_of

_NOUN: Final = "a decimal number"
_EXAMPLE: Final = 12.5
"""What the words for the format "decimal" have as their example."""

Counted = Callable[[int | float, str], str]


def number(noun: str, facts: Mapping[str, Any], counted: Counted) -> str:
    """A number with its bounds: "a whole number from 1 to 50"."""
    low, high = bound(facts.get("minimum")), bound(facts.get("maximum"))
    above, below = bound(facts.get("exclusiveMinimum")), bound(facts.get("exclusiveMaximum"))
    if facts.get("exclusiveMinimum") is True:  # draft 4
        low, above = None, low
    if facts.get("exclusiveMaximum") is True:
        high, below = None, high
    if low is not None and high is not None:
        noun += f" from {low} to {high}"
    elif low is not None or high is not None:
        noun += f" of at least {low}" if low is not None else f" of at most {high}"
    limits = [f"greater than {above}"] if above is not None else []
    limits += [f"less than {below}"] if below is not None else []
    if limits:
        joint = " and" if low is not None or high is not None else ""
        noun += f"{joint} {' and '.join(limits)}"
    for word, kind in (("maxDigits", "digit"), ("maxPlaces", "decimal place"), ("maxWholeDigits", "digit")):
        if (most := number_of(facts.get(word))) is not None:
            before = " before the point" if word == "maxWholeDigits" else ""
            noun += f" of at most {counted(most, kind)}{before}"
    multiple = bound(facts.get("multipleOf"))
    return noun if multiple is None else f"{noun} that is a multiple of {multiple}"


def decimal(example: str, facts: Mapping[str, Any], counted: Counted) -> str:
    """A decimal number with its bounds.

    Args:
        example: the words with the usual example, which are left out where that one is not within the bounds.
        facts: the keywords of the schema.
        counted: writes a number of things.
    """
    words = number(_NOUN, facts, counted)
    if not example or not _admits_example(facts):
        return words
    limits = words.removeprefix(f"{_NOUN} ")
    return example if limits == words else f"{example}, {limits}"


def _admits_example(facts: Mapping[str, Any]) -> bool:
    low, high = number_of(facts.get("minimum")), number_of(facts.get("maximum"))
    above, below = number_of(facts.get("exclusiveMinimum")), number_of(facts.get("exclusiveMaximum"))
    digits, places, whole = (number_of(facts.get(w)) for w in ("maxDigits", "maxPlaces", "maxWholeDigits"))
    return (
        (low is None or low <= _EXAMPLE)
        and (high is None or high >= _EXAMPLE)
        and (above is None or above < _EXAMPLE)
        and (below is None or below > _EXAMPLE)
        and (digits is None or digits >= 4)
        and (places is None or places >= 2)
        and (whole is None or whole >= 2)
        and "multipleOf" not in facts
    )


def one_decimal(branches: Sequence[Any]) -> Sequence[Any]:
    """Alternatives, with the number and the string of a `Decimal` as one."""
    kinds = [(dict_of(b).get("type"), dict_of(b).get("format")) for b in branches]
    if ("string", "decimal") not in kinds or not any(kind == "number" for kind, _ in kinds):
        return branches
    return [
        {**branch, "format": "decimal"} if kind[0] == "number" else branch
        for branch, kind in zip(branches, kinds, strict=True)
        if kind != ("string", "decimal")
    ]


_MOMENTS: Final = {"date", "date-time", "time", "full-time"}
_AS_MOMENTS: Final = {
    "minimum": "not before",
    "exclusiveMinimum": "after",
    "maximum": "not after",
    "exclusiveMaximum": "before",
}
_AS_AMOUNTS: Final = {
    "minimum": "at least",
    "exclusiveMinimum": "more than",
    "maximum": "at most",
    "exclusiveMaximum": "less than",
}


def beyond(facts: Mapping[str, Any]) -> str:
    """The bounds of a date, or of another text, that no schema can say: ", not before 2024-01-01"."""
    limits = dict_of(facts.get("beyond"))
    if not limits:
        return ""
    branches = [facts, *map(dict_of, list_of(facts.get("anyOf")))]
    formats = {b["format"] for b in branches if "format" in b}
    words = _AS_AMOUNTS if formats.isdisjoint(_MOMENTS) and formats else _AS_MOMENTS
    if not formats and len(branches) == 1:
        return "".join(f', {words[name]} "{limit}" in alphabetical order' for name, limit in limits.items())
    return "".join(f", {words[name]} {limit}" for name, limit in limits.items())


def bound(value: object) -> int | float | None:
    """A bound as it is said: 1000, not 1000.0."""
    found = number_of(value)
    return int(found) if isinstance(found, float) and found.is_integer() and abs(found) < 1e15 else found
