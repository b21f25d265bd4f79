"""The fields of classes that may have to be made from a plain object: attrs, msgspec, dataclasses, TypedDicts."""

from __future__ import annotations

import dataclasses
import inspect
import re
import sys
import typing
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType
from typing import Annotated, Any, cast, get_args, get_origin

import pydantic
import typing_extensions
from pydantic.dataclasses import is_pydantic_dataclass

from toolsmith._dataclass import dataclass

_QUALIFIERS = (
    typing.Required,
    typing.NotRequired,
    typing_extensions.Required,
    typing_extensions.NotRequired,
    typing_extensions.ReadOnly,
)
_OPTIONAL = (typing.NotRequired, typing_extensions.NotRequired)
_REQUIRED = (typing.Required, typing_extensions.Required)


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a class.

    Attributes:
        name: to make the class with.
        key: in JSON.
        default: to be told, None for none.
    """

    name: str
    key: str
    annotation: Any
    optional: bool
    default: Any = None


@dataclass(frozen=True, slots=True)
class Fields:
    """What a class is made from.

    Attributes:
        make: takes the fields by name.
        foreign: pydantic does not know such classes at all.
    """

    fields: tuple[Field, ...]
    make: Callable[..., Any]
    foreign: bool


def fields_of(cls: Any) -> Fields | None:
    """The fields of a class that is here known; None for any other, or where its annotations cannot be resolved."""
    if "__attrs_attrs__" in cls.__dict__:
        return Fields(tuple(_of_attrs(cls)), cls, foreign=True)
    msgspec = sys.modules.get("msgspec")
    if msgspec is not None and issubclass(cls, msgspec.Struct):
        return Fields(tuple(_of_struct(cls)), cls, foreign=True)
    try:
        if typing_extensions.is_typeddict(cls):
            # Before Python 3.12 typing's own does not keep what pydantic needs to know.
            foreign = sys.version_info < (3, 12) and type(cls).__module__ == "typing"
            return Fields(tuple(typed_dict_fields(cls)), dict, foreign or _is_shaded(cls))
        if "__dataclass_fields__" in cls.__dict__ and not is_pydantic_dataclass(cls):
            # pydantic describes a field that is not in `__init__`, and then refuses it.
            foreign = not all(f.init for f in dataclasses.fields(cls))
            return Fields(tuple(_of_dataclass(cls)), cls, foreign or _is_shaded(cls))
    except (NameError, TypeError, KeyError, ValueError):
        return None
    return None


_names: ContextVar[Mapping[str, Any]] = ContextVar("_names", default=MappingProxyType({}))


@contextmanager
def names_at_hand(names: Mapping[str, Any]) -> Generator[None]:
    """What is named where the tool is made, while it is: classes that are made there may name each other."""
    token = _names.set(names)
    try:
        yield
    finally:
        _names.reset(token)


def _hints(cls: Any) -> dict[str, Any]:
    """The annotations of a class, by field. A local class means local ones first; others, where all else fails."""
    near: dict[str, Any] = dict(_names.get())
    members = cast("Mapping[str, Any]", vars(cls))
    own = {name: held for name, held in members.items() if isinstance(held, type)} | {cls.__name__: cls}
    if "<locals>" in cls.__qualname__:
        # Not the variables, which may be another frame's: their names are often those of types.
        classes = {name: held for name, held in near.items() if isinstance(held, type)}
        try:
            return typing_extensions.get_type_hints(cls, localns=classes | own, include_extras=True)
        except NameError:
            return typing_extensions.get_type_hints(cls, localns=near | own, include_extras=True)
    try:
        return typing_extensions.get_type_hints(cls, include_extras=True)
    except NameError:
        return typing_extensions.get_type_hints(cls, localns=near | own, include_extras=True)


def _is_shaded(cls: Any) -> bool:
    """Whether a local class names another local one for which pydantic would take a global class of the same name."""
    if "<locals>" not in cls.__qualname__:
        return False
    known = vars(sys.modules.get(cls.__module__, typing))
    shaded = [n for n, held in _names.get().items() if isinstance(held, type) and known.get(n, held) is not held]
    bases = cast("tuple[type[Any], ...]", cls.__mro__)
    said = str([inspect.get_annotations(base) for base in bases]) if shaded else ""
    return any(re.search(rf"\b{re.escape(name)}\b", said) for name in shaded)


def typed_dict_fields(cls: Any) -> list[Field]:
    """The keys of a TypedDict, `Required` and `NotRequired` told by their meaning.

    `__optional_keys__` alone does not see them where annotations are postponed.
    """
    made: list[Field] = []
    for name, hint in _hints(cls).items():
        optional = name in cls.__optional_keys__
        while (origin := get_origin(hint)) in _QUALIFIERS:
            optional = origin in _OPTIONAL or (optional and origin not in _REQUIRED)
            hint = get_args(hint)[0]
        made.append(Field(name, name, hint, optional))
    return made


def _of_dataclass(cls: Any) -> list[Field]:
    hints = _hints(cls)
    made: list[Field] = []
    for name, parameter in inspect.signature(cls).parameters.items():  # as `__init__` has it, `InitVar`s too
        hint = hints[name]
        optional = parameter.default is not inspect.Parameter.empty
        annotation: Any = cast("Any", hint).type if isinstance(hint, dataclasses.InitVar) else hint
        made.append(Field(name, name, annotation, optional, parameter.default if optional else None))
    return made


def _of_attrs(cls: Any) -> list[Field]:
    import attrs

    hints = _hints(cls)
    made: list[Field] = []
    for a in attrs.fields(cls):
        if a.init:
            default = None if isinstance(a.default, cast("Any", attrs).Factory) else a.default
            optional = a.default is not attrs.NOTHING
            made.append(Field(a.alias, a.alias, hints.get(a.name, Any), optional, default if optional else None))
    return made


def _of_struct(cls: Any) -> list[Field]:
    import msgspec

    hints = _hints(cls)
    return [
        Field(
            f.name,
            f.encode_name,
            _constrained(hints[f.name]),
            not f.required,
            None if f.default is msgspec.NODEFAULT else f.default,
        )
        for f in msgspec.structs.fields(cls)
    ]


_META = ("gt", "ge", "lt", "le", "multiple_of", "pattern", "min_length", "max_length", "description", "title")


def _constrained(annotation: Any) -> Any:
    """`Annotated[int, msgspec.Meta(ge=0)]` with the bounds where pydantic looks for them."""
    if get_origin(annotation) is not Annotated:
        return annotation
    import msgspec

    first, *metadata = get_args(annotation)
    for meta in metadata:
        if isinstance(meta, msgspec.Meta):
            said = {name: value for name in _META if (value := getattr(meta, name)) is not None}
            metadata.append(cast("Any", pydantic.Field)(**said))
    return Annotated[(first, *metadata)]
