"""From checked values, by parameter, to the arguments of a Python call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from toolsmith._derive.signature import EMPTY, KEYWORD_ONLY, POSITIONAL_ONLY, VAR_KEYWORD, VAR_POSITIONAL, Parameter
from toolsmith._run.context import RunContext


class Binder:
    """Calls a function with values by parameter name. What is absent stays absent: Python applies its default.

    Attributes:
        by_name: every value goes by its name, nothing is to be put anywhere: the caller may use `f(**values)` itself.
    """

    __slots__ = ("_contexts", "_extra", "_many", "_positional", "by_name")

    def __init__(self, parameters: Sequence[Parameter]) -> None:
        self._contexts = [p for p in parameters if p.is_context]
        self._many = next((p.name for p in parameters if p.kind is VAR_POSITIONAL), None)
        self._extra = next((p.name for p in parameters if p.kind is VAR_KEYWORD), None)
        # With *args, whatever stands before it can only be given by position; without, only what must be.
        before = [p for p in parameters if p.kind not in {KEYWORD_ONLY, VAR_KEYWORD, VAR_POSITIONAL}]
        self._positional = before if self._many is not None else [p for p in before if p.kind is POSITIONAL_ONLY]
        self.by_name = not (self._contexts or self._many or self._extra or self._positional)

    def call(self, function: Callable[..., Any], values: dict[str, Any], context: RunContext[Any] | None) -> Any:
        """Call the function.

        Args:
            values: by parameter name, as the validator gave them; used up.
            context: for the parameters that take one; left to their default where it is None and they have one.
        """
        if self.by_name:
            return function(**values)
        for parameter in self._contexts:
            if context is not None or not parameter.optional:
                values[parameter.name] = context if context is not None else RunContext()
        extra: dict[str, Any] = values.pop(self._extra, {}) if self._extra is not None else {}
        many = values.pop(self._many, ()) if self._many is not None else ()
        return function(*self._by_position(values, bool(many)), *many, **values, **extra)

    def _by_position(self, values: dict[str, Any], reach: bool) -> list[Any]:
        """Take the values that go by position; defaults fill the gaps before the last one that is given."""
        names = [p.name for p in self._positional]
        last = len(names) if reach else max((i + 1 for i, n in enumerate(names) if n in values), default=0)
        if self._many is not None and not reach:
            # No values for *args: only what cannot go by name goes by position.
            only = [i + 1 for i, p in enumerate(self._positional) if p.kind is POSITIONAL_ONLY and p.name in values]
            last = max(only, default=0)
        given: list[Any] = []
        for parameter in self._positional[:last]:
            if parameter.name in values:
                given.append(values.pop(parameter.name))
            else:
                assert parameter.default is not EMPTY, f"{parameter.name} is required, so it was checked to be there"
                given.append(parameter.default)
        return given
