"""The fields of classes that may have to be made from a plain object: attrs, msgspec, dataclasses, TypedDicts."""

from __future__ import annotations

import dataclasses
import inspect
import sys
import typing
from collections.abc import Callable
from typing import Annotated, Any, cast, get_args, get_origin

import pydantic
import typing_extensions
from pydantic.dataclasses import is_pydantic_dataclass

from toolsmith._dataclass import dataclass
from toolsmith._derive.bindings import ABSENT
from toolsmith._derive.lexical import Bound, at_hand, is_type, meanings
from toolsmith._derive.shading import is_shaded, layers

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
            return Fields(tuple(typed_dict_fields(cls)), dict, foreign or is_shaded(cls))
        if hasattr(cls, "__dataclass_fields__") and not is_pydantic_dataclass(cls):
            shaded = is_shaded(cls)
            if shaded or "__dataclass_fields__" in cls.__dict__:
                # pydantic describes a field that is not in `__init__`, and then refuses it.
                foreign = not all(f.init for f in dataclasses.fields(cls))
                return Fields(tuple(_of_dataclass(cls)), cls, foreign or shaded)
        if hasattr(cls, "_field_defaults"):
            shaded = is_shaded(cls)
            return Fields(tuple(_of_named_tuple(cls)), cls, shaded) if shaded or "_fields" in cls.__dict__ else None
    except (NameError, TypeError, KeyError, ValueError):
        return None
    return None


def _hints(cls: Any) -> dict[str, Any]:
    """The annotations of a class, by field. Names that are nowhere else are those of the place of the tool."""
    hints: dict[str, Any] = {}
    for base, own in layers(cls):
        names = {name: meant for name, meant in meanings(base, own.values()).items() if not isinstance(meant, Bound)}
        names |= {p.__name__: p for p in getattr(base, "__type_params__", ())}
        names |= {name: held for name, held in vars(base).items() if is_type(held)} | {base.__name__: base}
        hints |= _evaluated(type(base.__name__, (), {"__annotations__": own, "__module__": base.__module__}), names)
    return hints


def _evaluated(holder: Any, names: dict[str, Any]) -> dict[str, Any]:
    """The annotations of one class, of which `names` are not global."""
    while True:
        try:
            return typing_extensions.get_type_hints(holder, localns=names, include_extras=True)
        except NameError as error:
            if error.name is None or error.name in names or (found := at_hand().find(error.name)) is ABSENT:
                raise
            names[error.name] = found


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


def _of_named_tuple(cls: Any) -> list[Field]:
    defaults = cast("dict[str, Any]", cls._field_defaults)
    return [Field(n, n, hint, n in defaults, defaults.get(n)) for n, hint in _hints(cls).items()]


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
