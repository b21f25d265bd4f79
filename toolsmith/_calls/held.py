"""What a pydantic model holds, seen before pydantic writes it, which knows no bound and reads iterators to the end."""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Collection
from functools import lru_cache
from typing import Any, Literal, cast

from pydantic import PlainSerializer, WrapSerializer

from toolsmith._plain import MAX_DEPTH

_ATOMS = frozenset({bool, int, float})


class Held:
    """Goes through all that a model would be written with, as often as it would be written.

    Attributes:
        iterators: whether there are any.
    """

    def __init__(self, values: int, characters: int) -> None:
        self.iterators = False
        self._values = values
        self._characters = characters

    def take(self, value: Any, depth: int = MAX_DEPTH) -> Literal["deep", "large"] | None:
        """What speaks against writing it."""
        parts = self._parts(value)
        self._values -= len(parts)
        if depth == 0 and parts:
            return "deep"
        for part in parts:
            if isinstance(part, str):
                self._characters -= len(part)
            elif part is not None and part.__class__ not in _ATOMS and (why := self.take(part, depth - 1)):
                return why
            if self._values < 0 or self._characters < 0:
                return "large"
        return None

    def _parts(self, value: Any) -> Collection[Any]:
        if isinstance(value, (list, tuple, set, frozenset, deque)):
            return cast("Collection[Any]", value)
        if isinstance(value, dict):
            return cast("dict[Any, Any]", value).values()
        if hasattr(value, "model_dump"):
            values: dict[str, Any] = value.__dict__
            more: dict[str, Any] = getattr(value, "__pydantic_extra__", None) or {}
            return [*(values.get(name) for name in _written(value.__class__)), *more.values()]
        if dataclasses.is_dataclass(value):
            return [getattr(value, field.name, None) for field in dataclasses.fields(value)]
        self.iterators = self.iterators or hasattr(value, "__next__")
        return ()


@lru_cache(maxsize=1024)
def _written(cls: type[Any]) -> tuple[str, ...]:
    """The fields of a model that pydantic writes with all that they hold; none where somebody's own code does it."""
    own = getattr(cls, "__pydantic_decorators__", None)
    if own is None or own.model_serializers or own.field_serializers:
        return ()
    fields: dict[str, Any] = cls.model_fields
    serializers = (PlainSerializer, WrapSerializer)
    return tuple(
        name
        for name, field in fields.items()
        if not field.exclude and not any(isinstance(mark, serializers) for mark in field.metadata)
    )
