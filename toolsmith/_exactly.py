"""Literals and enums of numbers, told apart as JSON tells them: 1, 1.0 and true."""

from __future__ import annotations

import enum
from collections.abc import Hashable, Iterable
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator
from pydantic_core import PydanticKnownError


class Exactly:
    """Tells 1, 1.0 and true apart before pydantic compares: its Literal and Enum take true for 1, and 1 for true."""

    def __init__(self, members: Iterable[tuple[Hashable, Any]], kind: Literal["enum", "literal_error"]) -> None:
        # By type and value: 1 and True are equal, and would be one key.
        self._members: dict[tuple[type, Hashable], Any] = {(type(v), v): m for v, m in members}
        shown = [repr(v) for _, v in self._members]
        self._expected = shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} or {shown[-1]}"
        self._kind: Literal["enum", "literal_error"] = kind

    def __call__(self, value: Any) -> Any:
        key = value
        if isinstance(value, float) and value.is_integer() and (float, value) not in self._members:
            key = int(value)  # JSON Schema makes no difference between 1 and 1.0
        try:
            return self._members[type(key), key]
        except (KeyError, TypeError):
            raise PydanticKnownError(self._kind, {"expected": self._expected}) from None


def exact_literal(annotation: Any, args: tuple[Any, ...]) -> Any:
    """The same `Literal`, exact; itself where pydantic is exact too."""
    if all(isinstance(a, str) for a in args) or any(isinstance(a, (bytes, enum.Enum)) for a in args):
        return annotation
    return Annotated[annotation, BeforeValidator(Exactly([(a, a) for a in args], "literal_error"))]


def exact_enum(cls: type[enum.Enum]) -> Any:
    """The same enum, exact; itself where pydantic is exact too, or its members are found by code of its own."""
    values = [m.value for m in cls]
    if all(isinstance(v, str) for v in values) or not all(isinstance(v, (str, int, float)) for v in values):
        return cls
    if "_missing_" in cls.__dict__:
        return cls
    return Annotated[cls, BeforeValidator(Exactly([(_plain(m.value), m) for m in cls], "enum"))]


def _plain(value: Any) -> Any:
    """As JSON has it: the value of an `IntEnum` member is a plain int, whatever its class."""
    for kind in (bool, int, float, str):
        if isinstance(value, kind):
            return kind(value)
    return value
