"""Defaults that contradict their annotation: the function gets them, and no call of a model could send them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, Literal, cast, get_args

from toolsmith._derive.signature import EMPTY, shown

if TYPE_CHECKING:
    from toolsmith._derive.signature import Parameter, Reading

_FIT: Final[Mapping[Any, frozenset[type]]] = {
    int: frozenset({int, bool}),
    float: frozenset({float, int, bool}),
    bool: frozenset({bool, int}),  # 0 and 1 are meant as much
    str: frozenset({str}),
    list: frozenset({list}),
    dict: frozenset({dict}),
}
"""What is no mistake, by annotation. None is the usual sign for «not given» and is never one; nor is any other type."""
_PLAIN: Final = frozenset({int, float, bool, str, list, dict})


def warn_of_defaults(reading: Reading) -> None:
    """Tell the author of each default that certainly does not fit; where there may be a reason for it, nothing."""
    for parameter in _contradicting(reading.parameters):
        import warnings

        from toolsmith.errors import DefinitionWarning

        default = repr(parameter.default)
        default = default if len(default) <= 60 else f"{default[:57]}..."
        place = reading.place.of_parameter(parameter.name)
        text = (
            f"{place}: parameter {parameter.name!r} of {reading.name!r} is annotated {shown(parameter.annotation)!r}, "
            f"and its default {default} is something else: a model is told of it, and could not send it. Correct one "
            f"of the two."
        )
        warnings.warn_explicit(text, DefinitionWarning, place.path or "toolsmith", place.line or 1)


def _contradicting(parameters: Iterable[Parameter]) -> list[Parameter]:
    """This runs for each tool."""
    found: list[Parameter] = []
    for parameter in parameters:
        default: Any = parameter.default
        if default is EMPTY or default is None or default.__class__ is parameter.annotation:
            continue
        kind = cast("type[Any]", default.__class__)
        if kind in _PLAIN and not _fits(parameter.annotation, kind, default):
            found.append(parameter)
    return found


def _fits(annotation: Any, kind: type[Any], default: Any) -> bool:
    for _ in range(3):  # Annotated[list[int], ...] -> list[int] -> list
        origin = getattr(annotation, "__origin__", None)
        if origin is Literal:
            odd = (one for one in get_args(annotation) if one is not None and one.__class__ not in _PLAIN)
            return default in get_args(annotation) or any(odd)
        if origin is None:
            break
        annotation = origin
    fit = _FIT.get(annotation) if isinstance(annotation, type) else None
    return fit is None or kind in fit
