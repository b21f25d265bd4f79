"""Names that a field has besides the one of the schema: its own in Python, and the further ones of `AliasChoices`.

A model that knows the class, or similar ones, sends them by mistake.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any, cast, get_args, get_origin

import typing_extensions
from pydantic import AliasChoices
from pydantic.fields import FieldInfo

if TYPE_CHECKING:
    from toolsmith._derive.signature import Parameter

_MOST_TYPES = 1_000
_ATTRS = "__attrs_attrs__"


def other_names(parameters: Iterable[Parameter]) -> dict[str, list[str]]:
    """By each such name those that the schema has for it.

    This takes a while, so it is done when a call has failed.
    """
    found: dict[str, list[str]] = {}
    waiting: list[Any] = []
    for parameter in parameters:
        _note(found, parameter.name, _said([parameter.default, *_metadata(parameter.annotation)]))
        waiting.append(parameter.annotation)
    seen: set[int] = set()
    while waiting and len(seen) < _MOST_TYPES:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        waiting += [*get_args(one), get_origin(one), getattr(one, "__value__", None)]  # the last of an alias
        if isinstance(one, type):
            for name, said, annotation in _fields(cast("type[Any]", one)):
                _note(found, name, said)
                waiting.append(annotation)
    return found


def _note(found: dict[str, list[str]], name: str, said: Iterable[str]) -> None:
    shown, *others = [*said, name]
    for other in others:
        if other != shown and shown not in found.setdefault(other, []):
            found[other].append(shown)


def _metadata(annotation: Any) -> Iterable[Any]:
    return get_args(annotation)[1:] if get_origin(annotation) is Annotated else ()


def _said(marks: Iterable[Any]) -> list[str]:
    """The aliases that some metadata gives, the one of the schema first."""
    for mark in marks:
        if not isinstance(mark, FieldInfo):
            continue
        alias = mark.validation_alias or mark.alias
        choices = alias.choices if isinstance(alias, AliasChoices) else [alias]
        if names := [one for one in choices if isinstance(one, str)]:
            return names
    return []


def _fields(cls: type[Any]) -> Iterator[tuple[str, list[str], Any]]:
    """Of a class the fields: the name, the aliases, the type."""
    known: Any = getattr(cls, "model_fields", None) or getattr(cls, "__pydantic_fields__", None)
    if isinstance(known, Mapping):
        for name, info in cast("Mapping[str, FieldInfo]", known).items():
            yield name, _said([info]), info.annotation
        return
    names: tuple[str, ...] = getattr(cls, "__struct_fields__", ())
    keys: dict[str, str] = dict(zip(names, getattr(cls, "__struct_encode_fields__", names), strict=True))
    if not (keys or dataclasses.is_dataclass(cls) or typing_extensions.is_typeddict(cls) or hasattr(cls, _ATTRS)):
        return
    try:
        hints = typing_extensions.get_type_hints(cls, include_extras=True)
    except Exception:  # noqa: BLE001 - names of a place that is no more; it is only about a hint
        return
    for name, hint in hints.items():
        said = [keys[name]] if name in keys else _said([vars(cls).get(name), *_metadata(hint)])
        yield name, said, hint
