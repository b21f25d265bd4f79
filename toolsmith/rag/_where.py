"""Filters on metadata: `{"lang": "en", "year": {"gte": 2020}, "tag": ["a", "b"]}` as checked conditions.

    value                    equal to it
    list, tuple or set       equal to one of them
    {"gte": 2020, "lt": 2024}  all of these: eq, ne, in, gt, gte, lt, lte

Where a document's own value is a list, a condition holds if it holds for one of its elements. Ranges compare numbers
with numbers and strings with strings, so that ISO dates work; a value of the other type does not match. A document
without the key matches nothing but `ne`.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal, TypeGuard, cast, get_args

from toolsmith._dataclass import dataclass

Operator = Literal["in", "ne", "gt", "gte", "lt", "lte"]
Scalar = str | int | float | bool | None
SYMBOLS: Final[Mapping[str, str]] = {"gt": ">", "gte": ">=", "lt": "<", "lte": "<="}
_COMPARED: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "gt": operator.gt,
    "gte": operator.ge,
    "lt": operator.lt,
    "lte": operator.le,
}
_KNOWN: Final = ", ".join(("eq", *get_args(Operator)))
_MEANT: Final[Mapping[str, str]] = {
    **dict.fromkeys(("=", "==", "===", "is", "equals"), "eq"),
    **dict.fromkeys(("!=", "<>", "!==", "not", "neq", "nin", "not_in", "not in"), "ne"),
    **dict.fromkeys((">", ">>", "after"), "gt"),
    **dict.fromkeys(("<", "<<", "before"), "lt"),
    **dict.fromkeys((">=", "=>", "ge", "min", "from", "since"), "gte"),
    **dict.fromkeys(("<=", "=<", "le", "max", "to", "until"), "lte"),
    **{name: name for name in ("eq", *get_args(Operator))},
    "any": "in",
}
"""What operators are called elsewhere."""
_SIGNS: Final = "[<>!=]{2,3}|[<>=]"
_IN_KEY: Final = re.compile(rf"(.+?)\s*({_SIGNS}|__(?:eq|ne|in|gt|gte|lt|lte))")
_IN_VALUE: Final = re.compile(rf"\s*({_SIGNS})\s*(?=-?\d)")
_NUMBER: Final = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?")
_MAX_CONDITIONS, _MAX_VALUES, _MAX_INTEGER = 50, 1_000, 2**63 - 1


@dataclass(frozen=True, slots=True)
class Condition:
    """One thing that metadata must fulfil. For a range, `values` has one member."""

    key: str
    operator: Operator
    values: tuple[Scalar, ...]


def conditions(where: Mapping[str, Any] | None) -> tuple[Condition, ...]:
    """A filter, checked.

    Raises:
        TypeError: it is no mapping.
        ValueError: an operator that does not exist, or a value that metadata cannot have; says which and where.
    """
    if where is not None and not isinstance(where, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"where={where!r}: give a dict, as in where={{'lang': 'en'}}, or None.")
    found: list[Condition] = []
    for key, wanted in (where or {}).items():
        if not is_key(key):
            raise ValueError(f"where: {key!r} is no key: a printable string without quotes is.")
        if key.lower() in ("$and", "$or", "$nor", "$not"):
            raise ValueError(f"where has no {key!r}: all of its keys must hold, and a list means any of its values.")
        match wanted:
            case Mapping():
                found += _operators(key, cast("Mapping[Any, Any]", wanted))
            case _:
                _check_form(key, wanted)
                found.append(Condition(key, "in", _values(key, wanted)))
    if len(found) > _MAX_CONDITIONS:
        raise ValueError(f"where: {len(found)} conditions; {_MAX_CONDITIONS} are the most.")
    return tuple(found)


def fulfils(metadata: Mapping[str, Any], wanted: Sequence[Condition]) -> bool:
    """Whether a document's metadata fulfils conditions: what the backends say in SQL."""
    return all(_holds(condition, metadata) for condition in wanted)


def _holds(condition: Condition, metadata: Mapping[str, Any]) -> bool:
    if condition.key not in metadata:
        return condition.operator == "ne"
    value = metadata[condition.key]
    own = cast("Sequence[Scalar]", value if isinstance(value, list | tuple) else (value,))
    return any(_meets(one, condition) for one in own) != (condition.operator == "ne")


def _meets(own: Any, condition: Condition) -> bool:
    match condition.operator:
        case "in" | "ne":
            return any(own == value and _kind(own) == _kind(value) for value in condition.values)
        case compared:
            bound = cast("Any", condition.values[0])
            return _kind(own) == _kind(bound) and _COMPARED[compared](own, bound)


def _kind(value: Any) -> str:
    """Of JSON: true is no number."""
    match value:
        case bool() | None:
            return repr(value)
        case str():
            return "string"
        case _:
            return "number"


def _operators(key: str, wanted: Mapping[Any, Any]) -> list[Condition]:
    if not wanted:
        raise ValueError(f"where[{key!r}] is an empty dict: give an operator, such as {{'gte': 2020}}.")
    found: list[Condition] = []
    for name, value in wanted.items():
        match name:
            case "eq" | "in":
                found.append(Condition(key, "in", _values(key, value)))
            case "ne":
                found.append(Condition(key, "ne", _values(key, value)))
            case "gt" | "gte" | "lt" | "lte":
                if isinstance(value, bool) or not isinstance(value, str | int | float) or not is_scalar(value):
                    raise ValueError(f"where[{key!r}][{name!r}] takes a number or a string, not {value!r}.")
                found.append(Condition(key, name, (value,)))
            case _:
                meant = _MEANT.get(str(name).lstrip("$").lower())
                guess = f" Did you mean {meant!r}?" if meant else ""
                raise ValueError(f"where[{key!r}]: there is no operator {name!r}; there are {_KNOWN}.{guess}")
    return found


def _check_form(key: str, wanted: Any) -> None:
    """Refuse what would be compared as it stands, and was meant as more: it would find nothing, and never say so.

    Raises:
        ValueError: an operator that stands in the key or in the value; says how it is written.
    """
    in_key = _IN_KEY.fullmatch(key)
    in_value = _IN_VALUE.match(wanted) if isinstance(wanted, str) else None
    if in_key is not None:
        name, written, value = in_key[1], in_key[2], repr(wanted)
    elif in_value is not None:
        bound = cast("str", wanted)[in_value.end() :].strip()
        name, written, value = key, in_value[1], bound if _NUMBER.fullmatch(bound) else repr(bound)
    else:
        return
    meant = _MEANT.get(written.strip("_"), "eq")
    raise ValueError(
        f"where[{key!r}] = {wanted!r}: write {{{name!r}: {{{meant!r}: {value}}}}}; the operators are {_KNOWN}. If this "
        f"is the {'key' if in_key else 'value'} itself, write {{{key!r}: {{'eq': {wanted!r}}}}}."
    )


def _values(key: str, value: Any) -> tuple[Scalar, ...]:
    many = cast("Sequence[Any]", value if isinstance(value, list | tuple | set | frozenset) else (value,))
    values = tuple(many)
    if len(values) > _MAX_VALUES:
        raise ValueError(f"where[{key!r}]: {len(values)} values; {_MAX_VALUES} are the most.")
    for one in values:
        if not is_scalar(one):
            raise ValueError(f"where[{key!r}]: {one!r} is no string, finite number, boolean or None.")
    return values


def is_key(key: object) -> TypeGuard[str]:
    """Whether metadata may have it: quotes and backslashes cannot stand in SQLite's paths."""
    return isinstance(key, str) and key.isprintable() and not set(key) & {'"', "\\"}


def is_scalar(value: Any) -> TypeGuard[Scalar]:
    """Whether a value, or an element of a list, can be stored and compared."""
    match value:
        case None | bool() | str():
            return True
        case int():
            return abs(value) <= _MAX_INTEGER
        case float():
            return math.isfinite(value)
        case _:
            return False
