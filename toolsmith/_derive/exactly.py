"""Literals and enums of numbers, told apart as JSON tells them: 1, 1.0 and true."""

from __future__ import annotations

import enum
import json
from collections.abc import Hashable, Iterable
from typing import Annotated, Any, Literal, cast

from pydantic import BeforeValidator
from pydantic_core import PydanticKnownError


class Exactly:
    """Tells 1, 1.0 and true apart before pydantic compares: its Literal and Enum take true for 1, and 1 for true.

    Gives the member that a JSON value stands for, also where pydantic's strict mode would ask for the member itself.
    """

    def __init__(self, members: Iterable[tuple[Any, Any]], kind: Literal["enum", "literal_error"]) -> None:
        # By type and value: 1 and True are equal, and would be one key.
        self._members: dict[Hashable, Any] = {_key(v): m for v, m in members}
        shown = [key[1] if key[0] == "json" else repr(key[1]) for key in map(_pair, self._members)]
        self._expected = shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} or {shown[-1]}"
        self._kind: Literal["enum", "literal_error"] = kind

    def __call__(self, value: Any) -> Any:
        key = _key(value)
        if key not in self._members and isinstance(value, int | float) and not isinstance(value, bool):
            # JSON Schema makes no difference between 1 and 1.0, and JavaScript writes both as 1.
            key = (int if isinstance(value, float) else float, value)
        try:
            return self._members[key]
        except KeyError:
            raise PydanticKnownError(self._kind, {"expected": self._expected}) from None


def exact_literal(annotation: Any, args: tuple[Any, ...]) -> Any:
    """The same `Literal`, exact; itself where pydantic is exact too."""
    if all(isinstance(a, str) and not isinstance(a, enum.Enum) for a in args) or any(
        isinstance(a, bytes) for a in args
    ):
        return annotation
    members = [(a.value if isinstance(a, enum.Enum) else a, a) for a in args]
    return Annotated[annotation, BeforeValidator(Exactly(members, "literal_error"))]


def exact_enum(cls: type[enum.Enum]) -> Any:
    """The same enum, exact; itself where pydantic is exact too, or its members are found by code of its own."""
    if all(isinstance(m.value, str) for m in cls) or "_missing_" in cls.__dict__:
        return cls
    try:
        return Annotated[cls, BeforeValidator(Exactly([(m.value, m) for m in cls], "enum"))]
    except (TypeError, ValueError):  # values that are no JSON: pydantic says so
        return cls


def _key(value: Any) -> Hashable:
    """One for each JSON value. The value of an `IntEnum` member is a plain int, whatever its class."""
    for kind in (bool, int, float, str, type(None)):
        if isinstance(value, kind):
            return kind, value
    return "json", json.dumps(value, sort_keys=True)


def _pair(key: Hashable) -> tuple[Any, Any]:
    return cast("tuple[Any, Any]", key)
