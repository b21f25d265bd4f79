"""Types that stand in for annotations which pydantic takes another way than JSON and the function need.

Each stand-in gives the function a value of the annotated type; only the way there differs. What is nested in somebody's
own model is out of reach: there `_neutral` notes what needs a second judge.
"""

from __future__ import annotations

import collections.abc as abc
import dataclasses
import enum
import sys
import types
import typing
from collections.abc import Callable, Hashable, Iterable
from typing import Annotated, Any, Literal, NotRequired, Union, cast, get_args, get_origin

import typing_extensions
from pydantic import AfterValidator, BeforeValidator, Field
from pydantic_core import PydanticKnownError
from typing_extensions import TypedDict

_PLAIN = frozenset[Any]({str, int, float, bool, type(None), bytes, list, dict, set, tuple, object})
_ALIASES = (typing_extensions.TypeAliasType, getattr(typing, "TypeAliasType", typing_extensions.TypeAliasType))
# pydantic reads Iterable lazily, so that a bad item would be met inside the function; the others it does not know.
_AS_LIST = (abc.Iterable, abc.Collection, abc.Reversible, abc.Container)
_AS_ITERATOR = (abc.Iterator, abc.Generator)
_KEPT = (type, cast("type", abc.Callable))

_Open = tuple[Any, ...]
"""The aliases and classes being looked into, outermost first: where one comes again, it is recursive."""


class NoStandIn(TypeError):
    """A type that is known here but cannot be carried; the text says why, and what to do."""


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


def stand_in(annotation: Any, open_: _Open = ()) -> Any:
    """The type to validate by; the annotation itself where pydantic does right by it.

    Raises:
        NoStandIn: no JSON can carry it.
    """
    if isinstance(annotation, type) and annotation in _PLAIN:
        return annotation
    origin = get_origin(annotation)
    if origin is not None:
        return _generic(annotation, origin, open_)
    if isinstance(annotation, _ALIASES):
        return _alias(annotation, open_)
    if isinstance(annotation, type):
        return _class(cast("type[Any]", annotation), open_)
    return annotation


def _generic(annotation: Any, origin: Any, open_: _Open) -> Any:
    args = get_args(annotation)
    if origin is Literal:
        return annotation if all(isinstance(a, str) for a in args) else _exact_literal(annotation, args)
    if origin is Annotated:
        changed = stand_in(args[0], open_)
        return annotation if changed is args[0] else Annotated[(changed, *args[1:])]
    if origin in _AS_LIST:
        return list[stand_in(args[0], open_)]
    if origin in _AS_ITERATOR:
        return Annotated[list[stand_in(args[0], open_)], AfterValidator(iter)]
    is_union = origin is Union or origin is types.UnionType
    if not is_union and (not isinstance(origin, type) or origin in _KEPT):
        return annotation
    # Keys are always text in JSON; `_neutral` sees to those that mean something else.
    keys = 1 if not is_union and issubclass(cast("type", origin), abc.Mapping) else 0
    changed = args[:keys] + tuple(a if a is Ellipsis else stand_in(a, open_) for a in args[keys:])
    if all(a is b for a, b in zip(changed, args, strict=True)):
        return annotation
    return Union[changed] if is_union else cast("Any", origin)[changed]  # noqa: UP007 - members known only now


def _alias(alias: Any, open_: _Open) -> Any:
    """A PEP 695 alias stays one, so that it may be recursive; but not if something in it needs a stand-in."""
    if alias in open_:
        return alias
    changed = stand_in(alias.__value__, (*open_, alias))
    return alias if changed is alias.__value__ else changed


def _class(cls: type[Any], open_: _Open) -> Any:
    if issubclass(cls, enum.Enum):
        if not all(isinstance(m.value, (str, int, float)) for m in cls) or "_missing_" in cls.__dict__:
            return cls
        if all(isinstance(m.value, str) for m in cls):
            return cls
        return Annotated[cls, BeforeValidator(Exactly([(_plain(m.value), m) for m in cls], "enum"))]
    if cls in _AS_LIST:
        return list[Any]
    if cls in _AS_ITERATOR:
        return Annotated[list[Any], AfterValidator(iter)]
    if cls is bytearray:
        return Annotated[bytes, AfterValidator(bytearray)]
    if "__attrs_attrs__" in cls.__dict__:
        return _built(cls, _attrs_fields(cls), open_)
    msgspec = sys.modules.get("msgspec")
    if msgspec is not None and issubclass(cls, msgspec.Struct):
        return _built(cls, _struct_fields(cls), open_)
    return cls


def _exact_literal(annotation: Any, args: tuple[Any, ...]) -> Any:
    if any(isinstance(a, (bytes, enum.Enum)) for a in args):
        return annotation
    return Annotated[annotation, BeforeValidator(Exactly([(a, a) for a in args], "literal_error"))]


def _plain(value: Any) -> Any:
    """As JSON has it: the value of an `IntEnum` member is a plain int, whatever its class."""
    for kind in (bool, int, float, str):
        if isinstance(value, kind):
            return kind(value)
    return value


@dataclasses.dataclass(frozen=True, slots=True)
class _Field:
    """One field of a class that pydantic does not know. `key` is its name in JSON."""

    name: str
    key: str
    annotation: Any
    optional: bool
    default: Any = None


def _built(cls: type[Any], fields: list[_Field], open_: _Open) -> Any:
    """A closed object with the fields of `cls`, from which `cls` is made."""
    if cls in open_:
        raise NoStandIn(
            f"{cls.__name__} contains itself, which works for dataclasses and pydantic models, but not here"
        )
    hints: dict[str, Any] = {}
    for f in fields:
        annotation = stand_in(f.annotation, (*open_, cls))
        if f.default is not None and isinstance(f.default, (bool, int, float, str)):
            annotation = Annotated[annotation, Field(json_schema_extra={"default": f.default})]
        hints[f.key] = NotRequired[annotation] if f.optional else annotation
    names = {f.key: f.name for f in fields}
    shape = cast("Any", TypedDict)(cls.__name__, hints)
    shape.__doc__ = cls.__doc__ if cls.__dict__.get("__doc__") else None

    def make(values: dict[str, Any]) -> Any:
        try:
            return cls(**{names[key]: value for key, value in values.items()})
        except TypeError as error:  # pydantic tells the model of a ValueError; attrs' own validators raise TypeError
            raise ValueError(str(error)) from error

    return Annotated[shape, AfterValidator(make)]


def _attrs_fields(cls: Any) -> list[_Field]:
    import attrs

    hints = typing.get_type_hints(cls, include_extras=True)
    made: list[_Field] = []
    for a in attrs.fields(cls):
        if a.init:
            default = None if isinstance(a.default, cast("Any", attrs).Factory) else a.default
            optional = a.default is not attrs.NOTHING
            made.append(_Field(a.alias, a.alias, hints.get(a.name, Any), optional, default if optional else None))
    return made


def _struct_fields(cls: Any) -> list[_Field]:
    import msgspec

    hints = typing.get_type_hints(cls, include_extras=True)
    return [
        _Field(
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
            metadata.append(cast("Callable[..., Any]", Field)(**said))
    return Annotated[(first, *metadata)]
