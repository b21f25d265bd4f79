"""`dataclass` with slots, made in a fifth of the time: the standard library's, apart from its generated methods.

The standard decorator compiles six methods for a frozen class, some 400 us of work; a program with one tool loads a
hundred such classes, a tenth of its whole start. Here only `__init__` is compiled, and it fills the slots directly,
which takes two thirds of the time for each instance; the other methods are closures over the names of the fields. What
comes out is a dataclass to everybody else: `fields`, `replace`, `asdict`, `match`, `copy` and `pickle` work as ever,
and `tests/test_dataclass.py` holds each class of ours against the one that the standard library would make.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Mapping
from functools import partial
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

__all__ = ["dataclass"]


class _Unset:
    """Stands for a default that a factory makes anew for each instance."""

    def __repr__(self) -> str:
        return "<factory>"


_UNSET = _Unset()
_EMPTY: Mapping[Any, str] = {dict: "{}", list: "[]"}


def _quick(
    cls: Any = None,
    /,
    *,
    frozen: bool = False,
    eq: bool = True,
    repr: bool = True,
    kw_only: bool = False,
    slots: bool = False,
) -> Any:
    """The standard decorator's meaning for these flags; `slots` must be true; no `InitVar`, no parent."""
    if cls is None:
        return partial(_quick, frozen=frozen, eq=eq, repr=repr, kw_only=kw_only, slots=slots)
    if not slots:
        raise TypeError(f"{cls.__qualname__}: this decorator makes classes with slots; use dataclasses.dataclass")
    parent: type[Any]
    for parent in cls.__mro__[1:]:
        if dataclasses.is_dataclass(parent):
            raise TypeError(
                f"{cls.__qualname__} derives from the dataclass {parent.__name__}; use dataclasses.dataclass"
            )
    own: Mapping[str, Any] = cls.__dict__
    if not cls.__doc__:
        cls.__doc__ = cls.__name__  # else the standard decorator works out a signature to write there
    made: Any = dataclasses.dataclass(init=False, repr=False, eq=False, slots=True, kw_only=kw_only)(cls)
    parameters = made.__dataclass_params__
    parameters.init, parameters.repr, parameters.eq, parameters.frozen = True, repr, eq, frozen
    fields = dataclasses.fields(made)
    made.__init__ = _init(made, fields, frozen=frozen)
    if repr and "__repr__" not in own:
        made.__repr__ = _repr(tuple(x.name for x in fields if x.repr))
    if eq:
        if "__eq__" not in own:
            made.__eq__ = _eq(_key(tuple(x.name for x in fields if x.compare)))
        if own.get("__hash__") is None:  # which Python itself puts there, beside an `__eq__`
            hashed = tuple(x.name for x in fields if (x.compare if x.hash is None else x.hash))
            made.__hash__ = _hash(_key(hashed)) if frozen else None
    if frozen:
        names = frozenset(x.name for x in fields)
        made.__setattr__, made.__delattr__ = _refusals(made, names)
        if "__getstate__" not in own:
            made.__getstate__, made.__setstate__ = _state, _restore
    return made


if TYPE_CHECKING:
    from dataclasses import dataclass
else:
    dataclass = _quick


def _init(cls: type[Any], fields: tuple[dataclasses.Field[Any], ...], *, frozen: bool) -> Callable[..., None]:
    scope: dict[str, Any] = {"_unset": _UNSET}
    plain: list[str] = []
    named: list[str] = []
    body: list[str] = []
    for field in fields:
        name, value = field.name, field.name
        if field.default_factory is not dataclasses.MISSING:
            # `dict[str, int]()` takes six times as long as `{}`, for the attempt to note its type in the new dict.
            factory: Any = getattr(field.default_factory, "__origin__", field.default_factory)
            made = _EMPTY.get(factory, f"_make_{name}()")
            scope[f"_make_{name}"] = factory
            value = f"{made} if {name} is _unset else {name}" if field.init else made
            default = "=_unset"
        elif field.default is not dataclasses.MISSING:
            scope[f"_else_{name}"] = field.default
            value = name if field.init else f"_else_{name}"
            default = f"=_else_{name}"
        elif field.init:
            default = ""
        else:
            continue  # its owner sets it
        if field.init:
            (named if field.kw_only else plain).append(name + default)
        if frozen:
            scope[f"_set_{name}"] = getattr(cls, name).__set__
            body.append(f"  _set_{name}(self, {value})")
        else:
            body.append(f"  self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        body.append("  self.__post_init__()")
    heads = ", ".join(["self", *plain, *(["*", *named] if named else [])])
    lines = [f"def make({', '.join(scope)}):", f" def __init__({heads}):", *(body or ["  pass"]), " return __init__"]
    around: dict[str, Any] = {}
    # In the class's own module, as the standard decorator does it: the annotations are names there.
    exec("\n".join(lines), sys.modules[cls.__module__].__dict__, around)
    init = around["make"](**scope)
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    init.__annotations__ = {x.name: x.type for x in fields if x.init} | {"return": None}
    return init


def _key(names: tuple[str, ...]) -> Callable[[Any], Any]:
    return attrgetter(*names) if names else lambda instance: ()


def _eq(key: Callable[[Any], Any]) -> Callable[[Any, object], bool]:
    def equal(self: Any, other: object) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return key(self) == key(other)

    return equal


def _hash(key: Callable[[Any], Any]) -> Callable[[Any], int]:
    def hashed(self: Any) -> int:
        return hash(key(self))

    return hashed


def _repr(names: tuple[str, ...]) -> Callable[[Any], str]:
    @recursive_repr()
    def shown(self: Any) -> str:
        return f"{self.__class__.__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"

    return shown


def _refusals(cls: type[Any], names: frozenset[str]) -> tuple[Callable[..., None], Callable[..., None]]:
    def assign(self: Any, name: str, value: object) -> None:
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)

    def delete(self: Any, name: str) -> None:
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)

    return assign, delete


def _state(self: Any) -> list[Any]:
    """What pickle and copy keep, for a frozen class refuses to have its slots set one by one; a child's fields too."""
    return [getattr(self, x.name) for x in dataclasses.fields(self)]


def _restore(self: Any, values: list[Any]) -> None:
    for field, value in zip(dataclasses.fields(self), values, strict=True):
        object.__setattr__(self, field.name, value)
