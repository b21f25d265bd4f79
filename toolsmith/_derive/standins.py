"""Types that stand in for annotations which pydantic takes another way than JSON and the function need.

Each stand-in gives the function a value of the annotated type; only the way there differs. What is nested in a pydantic
model is out of reach: there `neutral` notes what needs a second judge.
"""

from __future__ import annotations

import collections.abc as abc
import enum
import types
import typing
from collections import namedtuple
from typing import Annotated, Any, Final, Literal, NotRequired, Union, cast, get_args, get_origin

import pydantic
import typing_extensions
from pydantic import AfterValidator
from typing_extensions import TypedDict

from toolsmith._derive.classfields import Fields, fields_of
from toolsmith._derive.exactly import exact_enum, exact_literal
from toolsmith._derive.shading import misread

_PLAIN = frozenset[Any]({str, int, float, bool, type(None), bytes, list, dict, set, tuple, object})
_ALIASES = (typing_extensions.TypeAliasType, getattr(typing, "TypeAliasType", typing_extensions.TypeAliasType))
# pydantic reads Iterable lazily, so that a bad item would be met inside the function; the others it does not know.
_LITERAL_STRINGS: tuple[Any, ...] = (typing.LiteralString, typing_extensions.LiteralString)  # type checkers' own
_AS_LIST: tuple[Any, ...] = (abc.Iterable, abc.Collection, abc.Reversible, abc.Container)
_AS_ITERATOR: tuple[Any, ...] = (abc.Iterator, abc.Generator)
_KEPT = (type, cast("type", abc.Callable))

_UNPACK = (typing.Unpack, typing_extensions.Unpack)

_Open = abc.Mapping[Any, Any]
"""The aliases and classes being looked into, each with what stands for it within itself: it may come again there."""
_NONE_OPEN: Final[_Open] = {}


class NoStandIn(TypeError):
    """A type that is known here but cannot be carried; the text says why, and what to do."""


def stand_in(annotation: Any, open_: _Open = _NONE_OPEN, *, exact: bool = True) -> Any:
    """The type to validate by; the annotation itself where pydantic does right by it.

    Args:
        annotation: resolved.
        exact: also where pydantic only confuses 1 and true; False within classes that need not be rebuilt for more.

    Raises:
        NoStandIn: no JSON can carry it.
    """
    if isinstance(annotation, type) and annotation in _PLAIN:
        return annotation
    origin = get_origin(annotation)
    if origin is not None:
        return _generic(annotation, origin, open_, exact)
    if annotation in _LITERAL_STRINGS:
        return str
    if isinstance(annotation, _ALIASES):
        return _alias(annotation, open_, exact)
    if isinstance(annotation, typing.NewType):
        changed = stand_in(annotation.__supertype__, open_, exact=exact)
        return annotation if changed is annotation.__supertype__ else changed
    if isinstance(annotation, typing.TypeVar):
        return _variable(annotation, open_, exact)
    if isinstance(annotation, type):
        return _class(cast("type[Any]", annotation), open_, exact)
    return annotation


def unpacked(annotation: Any) -> bool:
    """Whether it is `*tuple[...]` or `Unpack[...]`."""
    return bool(getattr(annotation, "__unpacked__", False)) or get_origin(annotation) in _UNPACK


def _generic(annotation: Any, origin: Any, open_: _Open, exact: bool) -> Any:
    args = get_args(annotation)
    if origin is Literal:
        if any(isinstance(a, bytes) for a in args):
            raise NoStandIn(
                f"JSON has no bytes, so that {annotation} can never be sent. Write the same Literal of strings, and "
                f"encode() it in the function"
            )
        return exact_literal(annotation, args) if exact else annotation
    if origin is Annotated:
        changed = stand_in(args[0], open_, exact=exact)
        return annotation if changed is args[0] else Annotated[(changed, *args[1:])]
    if origin is tuple and any(map(unpacked, args)):
        raise NoStandIn(
            "pydantic does not take a tuple with another one unpacked in it. Write tuple[A, B] for so many items, "
            "list[A | B] for any number; or take the first ones as parameters of their own"
        )
    if origin in _AS_LIST or origin in _AS_ITERATOR:
        many = list[stand_in(args[0], open_, exact=exact) if args else Any]
        return many if origin in _AS_LIST else Annotated[many, AfterValidator(iter)]
    is_union = origin is Union or origin is types.UnionType
    if not is_union and (not isinstance(origin, type) or origin in _KEPT):
        return annotation
    if not is_union and (why := misread(origin, rebuilt=False)):
        raise NoStandIn(why)
    # Keys are always text in JSON; `neutral` sees to those that mean something else.
    keys = 1 if not is_union and issubclass(cast("type", origin), abc.Mapping) else 0
    if is_union and str in args and bytes in args:
        args = tuple(a for a in args if a is not bytes)  # what JSON has is text, and pydantic would take the first
        if len(args) == 1:
            return str
        annotation = Union[args]  # noqa: UP007 - as above
    changed = args[:keys] + tuple(a if a is Ellipsis else stand_in(a, open_, exact=exact) for a in args[keys:])
    if all(a is b for a, b in zip(changed, args, strict=True)):
        return annotation
    return Union[changed] if is_union else cast("Any", origin)[changed]  # noqa: UP007 - members known only now


def _variable(variable: Any, open_: _Open, exact: bool) -> Any:
    """A TypeVar means what it is bound to, or any of what it is constrained to; `AnyStr` so means str."""
    choices: tuple[Any, ...] = variable.__constraints__
    meant: Any = Union[choices] if choices else variable.__bound__  # noqa: UP007 - members known only now
    if meant is None or isinstance(meant, str | typing.ForwardRef):
        return variable
    changed = stand_in(meant, open_, exact=exact)
    return variable if changed is meant else changed


def _alias(alias: Any, open_: _Open, exact: bool) -> Any:
    """A PEP 695 alias stays one, so that it may be recursive; but not if something in it needs a stand-in."""
    if alias in open_:
        return open_[alias]
    changed = stand_in(alias.__value__, {**open_, alias: alias}, exact=exact)
    return alias if changed is alias.__value__ else changed


def _class(cls: type[Any], open_: _Open, exact: bool) -> Any:
    if issubclass(cls, enum.Enum):
        return exact_enum(cls) if exact else cls
    if cls in _AS_LIST:
        return list[Any]
    if cls in _AS_ITERATOR:
        return Annotated[list[Any], AfterValidator(iter)]
    if cls is bytearray:
        return Annotated[bytes, AfterValidator(bytearray)]
    if cls in open_:
        return open_[cls]
    if why := misread(cls):
        raise NoStandIn(why)
    made = fields_of(cls)
    if made is None:
        return cls
    inner = {**open_, cls: cls}
    if not made.foreign and all(stand_in(f.annotation, inner, exact=False) is f.annotation for f in made.fields):
        return cls
    return _built(cls, made, open_)


def _built(cls: type[Any], made: Fields, open_: _Open) -> Any:
    """A closed object with the fields of `cls`, from which `cls` is made.

    It is there before its fields have their types, so that they may hold more of it.
    """
    if hasattr(cls, "_field_defaults"):
        return _named_tuple(cls, made, open_)
    names = {f.key: f.name for f in made.fields}
    shape = cast("Any", TypedDict)(cls.__name__, {f.key: NotRequired[Any] if f.optional else Any for f in made.fields})
    shape.__doc__ = _own_doc(cls)

    def make(values: dict[str, Any]) -> Any:
        try:
            return made.make(**{names[key]: value for key, value in values.items()})
        except TypeError as error:  # pydantic tells the model of a ValueError; attrs' own validators raise TypeError
            raise ValueError(str(error)) from error

    whole = shape if made.make is dict else Annotated[shape, AfterValidator(make)]
    for f in made.fields:
        annotation = stand_in(f.annotation, {**open_, cls: whole})
        if f.default is not None and isinstance(f.default, (bool, int, float, str)):
            annotation = Annotated[annotation, pydantic.Field(json_schema_extra={"default": f.default})]
        shape.__annotations__[f.key] = NotRequired[annotation] if f.optional else annotation
    return whole


def _named_tuple(cls: Any, made: Fields, open_: _Open) -> Any:
    """A named tuple of the same fields, which may be an object or an array; `cls` is made from it."""
    names = [f.name for f in made.fields]
    shape = cast("Any", namedtuple)(cls.__name__, names, defaults=[*cls._field_defaults.values()])
    whole = Annotated[shape, AfterValidator(cls._make)]
    hints = {f.name: stand_in(f.annotation, {**open_, cls: whole}) for f in made.fields}
    shape.__annotations__, shape.__doc__ = hints, _own_doc(cls)
    return whole


def _own_doc(cls: type[Any]) -> str | None:
    doc = cls.__dict__.get("__doc__")
    # a dataclass without one is given its signature
    return None if doc is None or doc.startswith(f"{cls.__name__}(") else doc
