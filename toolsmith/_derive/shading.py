"""Classes whose fields name one thing and were given another: a global one, of the same name as a local one."""

from __future__ import annotations

import sys
import typing
from collections.abc import Iterator, Mapping
from dataclasses import is_dataclass
from functools import partial
from typing import Annotated, Any, Literal, cast, get_args, get_origin
from weakref import ref

import typing_extensions
from pydantic import BaseModel, TypeAdapter
from pydantic.dataclasses import is_pydantic_dataclass

from toolsmith._derive.bindings import ABSENT, LOCALS, bodies
from toolsmith._derive.lexical import (
    Bound,
    at_hand,
    global_meaning,
    meanings,
    module_names,
    names_in,
    raw_annotations,
)

_ALIASES = (typing_extensions.TypeAliasType, getattr(typing, "TypeAliasType", typing_extensions.TypeAliasType))
_PLAIN = frozenset({"builtins", "typing", "collections.abc", "datetime", "decimal", "uuid", "pathlib", "enum"})
_GLOBAL: dict[int, ref[type[Any]]] = {}
"""Models in which all names are global ones, by their ids."""
_SAME_ANNOTATIONS = sys.version_info < (3, 14)
_BASES_ARE_KEPT = sys.version_info >= (3, 12)


def layers(cls: Any, *, nested: bool = False) -> Iterator[tuple[type[Any], dict[str, Any]]]:
    """The classes that a class has its fields from, itself last, each with the annotations of its own.

    Each is read in its own scopes. A TypedDict is no subclass of those that it was made from, and has their
    annotations among its own.

    Args:
        nested: only those that stand in a function or in a class.
    """
    if not typing_extensions.is_typeddict(cls):
        for base in reversed(cls.__mro__):
            if (not nested or "." in base.__qualname__) and (own := raw_annotations(base)):
                yield base, own
        return
    left = raw_annotations(cls)
    for base in _typed_dicts_below(cls):
        theirs = raw_annotations(base)
        same = {k for k, a in left.items() if k in theirs and (theirs[k] is a or not _SAME_ANNOTATIONS)}
        for one, own in layers(base, nested=nested):
            yield one, {key: a for key, a in own.items() if key in same}
        left = {key: a for key, a in left.items() if key not in same}
    if not nested or "." in cls.__qualname__:
        yield cls, left


def _typed_dicts_below(cls: Any) -> list[type[Any]]:
    if "__orig_bases__" in cls.__dict__:
        bases = [get_origin(base) or base for base in cls.__dict__["__orig_bases__"]]
        return [base for base in bases if typing_extensions.is_typeddict(base)]
    own = {id(a) for a in raw_annotations(cls).values() if names_in([a])}
    if _BASES_ARE_KEPT or not own:
        return []
    # They hand on the very annotations; and a class comes after those that it is made from.
    made = cast("list[type[Any]]", dict.__subclasses__())
    older = [one for one in made[: made.index(cls)] if typing_extensions.is_typeddict(one)]
    return [one for one in older if any(id(a) in own for a in raw_annotations(one).values())]


def is_shaded(cls: type[Any]) -> bool:
    """Whether pydantic would take something else for a name in the fields of a class than what it means there."""
    return any(meant is not taken and not isinstance(meant, Bound) for _, _, meant, taken in _taken(cls, None))


def misread(cls: Any, *, rebuilt: bool = True) -> str:
    """What in the fields of a class was taken for a global thing of its name, or would be; "" for nothing.

    pydantic reads the names in a model when the class is made, and later nobody can change that. The other classes are
    read when the tool is made, and go wrong only if what they name is not at hand then.

    Args:
        rebuilt: pydantic need not read the fields of the class itself. A generic one it must.
    """
    known = _GLOBAL.get(id(cls))
    if cls.__module__ in _PLAIN or (known is not None and known() is cls):
        return ""
    local = False
    for one, holder in _within(cls, rebuilt=rebuilt):
        for base, name, meant, taken in _taken(one, holder):
            local = True
            if meant is taken or taken is ABSENT:
                continue
            reader = base if _fields_read(base) is not None else holder
            if reader is not None:
                if _has_taken(reader, base, name, meant, taken):
                    return _too_late(name, base, meant)
            elif isinstance(meant, Bound):
                if not at_hand().is_likely(taken, name, meant):
                    return _out_of_reach(name, base, meant)
            elif one is not cls or not rebuilt:
                return _too_late(name, base, meant)
    if not local and getattr(cls, "__pydantic_complete__", False):
        _GLOBAL[id(cls)] = ref(cls, partial(_forget, id(cls)))
    return ""


def _forget(key: int, gone: ref[type[Any]]) -> None:
    if _GLOBAL.get(key) is gone:
        del _GLOBAL[key]


def _out_of_reach(name: str, cls: type[Any], meant: Bound) -> str:
    if meant.is_class:
        return (
            f"{name!r} in the fields of {cls.__name__} means a type parameter of {meant.owner}, but pydantic would "
            f"take another {name!r}. Give one of the two another name"
        )
    return (
        f"{name!r} in the fields of {cls.__name__} means the {name!r} of {meant.owner}, which "
        f"cannot be reached from where the tool is made, and there is another {name!r} that can. Make the "
        f"tool within {meant.owner}, after that {name!r}; or give one of the two another name"
    )


def _too_late(name: str, cls: type[Any], meant: Any) -> str:
    read = is_pydantic_dataclass(cls) or _fields_read(cls) is None
    how = ", without `from __future__ import annotations`" if read else ""
    if LOCALS not in cls.__qualname__:
        return (
            f"{name!r} in the fields of {cls.__name__} means another {name!r} than the one that pydantic has taken, "
            f"which is that of a class around it. Give one of the two another name"
        )
    return (
        f"{name!r} in the fields of {cls.__name__} means the {name!r} of the function that {cls.__name__} is defined "
        f"in, but pydantic has taken the module's. Define that {name!r} before {cls.__name__}{how}, or give one of the "
        f"two another name"
    )


def _taken(cls: type[Any], holder: type[Any] | None) -> Iterator[tuple[type[Any], str, Any, Any]]:
    """Names in the fields that are not global: in which class, what each means, and what pydantic takes for it.

    That may be `ABSENT`. pydantic looks among the names that were there when a model was made, then in the module.

    Args:
        holder: the model by which pydantic has read the class, if any.
    """
    for base, own in layers(cls, nested=not _is_stray(cls)):
        reader = base if _fields_read(base) is not None else holder
        # pydantic does not look there for the fields of a plain dataclass.
        near = _names_near(reader if reader is base or not is_dataclass(base) else None)
        globalns = module_names(base)
        in_function = _around(base).endswith(LOCALS[:-1])
        meant = {**_strays(base, own), **meanings(base, own.values())}
        if near and reader is base and not in_function:
            for name in names_in(own.values()) & near.keys() - vars(base).keys():
                meant.setdefault(name, global_meaning(name, globalns))
        for name, what in meant.items():
            if name in near:
                if in_function and reader is not None and _around(reader) == _around(base):
                    continue  # the very names that the function had
                if what is not ABSENT:
                    yield base, name, what, near[name]
                continue
            taken = global_meaning(name, globalns)
            yield base, name, what, at_hand().find(name) if taken is ABSENT else taken


def _around(cls: type[Any]) -> str:
    return cls.__qualname__.rpartition(".")[0]


def _is_stray(cls: Any) -> bool:
    """Whether a class may have fields of which nobody can tell where they stand."""
    return not _BASES_ARE_KEPT and typing_extensions.is_typeddict(cls) and "__orig_bases__" not in cls.__dict__


def _strays(cls: Any, own: Mapping[str, Any]) -> dict[str, Any]:
    """Names in fields that a TypedDict has from one that is gone, as far as they may be those of a function."""
    if not _is_stray(cls):
        return {}
    known = bodies(module_names(cls))
    body = known.get(cls.__qualname__)
    if body is None:
        return {}
    names = names_in(a for key, a in own.items() if key not in body.bound)
    return {name: Bound(place) for place, one in known.items() for name in names & one.bound.keys()}


def _names_near(reader: Any) -> Mapping[str, Any]:
    """What was named where a model was made, as pydantic has kept it."""
    held = cast("dict[str, Any]", {} if reader is None else vars(reader))
    kept = cast("dict[str, Any]", held.get("__pydantic_parent_namespace__") or {})
    return {name: v() if "WeakRef" in type(v).__name__ else v for name, v in kept.items()}


def _fields_read(cls: type[Any]) -> list[Any] | None:
    """The annotations of a class that pydantic has already read; None for other classes."""
    if issubclass(cls, BaseModel):
        return [f.annotation for f in cls.model_fields.values()]
    if is_pydantic_dataclass(cls):
        return [f.annotation for f in cast("Any", cls).__pydantic_fields__.values()]
    return None


def _within(top: Any, *, rebuilt: bool) -> Iterator[tuple[type[Any], type[Any] | None]]:
    """A class, and those that its models hold, each with the model by which pydantic has read it, if any.

    What holds others otherwise is looked into field by field, when its turn comes.
    """
    seen: set[Any] = set()
    left: list[tuple[Any, Any]] = [(top, None)]
    while left:
        one, holder = left.pop()
        origin = get_origin(one)
        if origin is not None:
            args = () if origin is Literal else get_args(one)[: 1 if origin is Annotated else None]
            left += [(a, holder) for a in (origin, *args)]
        elif isinstance(one, typing.NewType):
            left.append((one.__supertype__, holder))
        elif isinstance(one, typing.TypeVar):
            left += [(a, holder) for a in (one.__bound__, *one.__constraints__)]
        elif isinstance(one, _ALIASES):
            if (one, holder) not in seen:
                seen.add((one, holder))
                left.append((one.__value__, holder))
        elif isinstance(one, type) and one.__module__ not in _PLAIN and (one, holder) not in seen:
            seen.add((one, holder))
            read = _fields_read(one)
            holder = one if read is not None else holder
            yield one, holder
            if read is not None or one is not top or not rebuilt:
                left += [(a, holder) for a in (_held(one) if read is None else read)]


def _held(cls: type[Any]) -> Iterator[Any]:
    """What a class has in its fields, as pydantic takes it."""
    for base, own in layers(cls):
        yield from own.values()
        yield from (global_meaning(name, module_names(base)) for name in names_in(own.values()))


def _has_taken(reader: type[Any], base: type[Any], name: str, meant: Any, taken: Any) -> bool:
    """Whether a model has indeed what pydantic was going to take; its author may have rebuilt it."""
    if reader is base:
        read = _fields_read(base) or []
        if name in names_in(read):
            return True
        if isinstance(taken, type):
            return any(_mentions(a, taken) for a in read)
        return isinstance(meant, Bound) or not any(_mentions(a, meant) for a in read)
    return not _shows(taken) or _holds(reader, taken)


def _shows(what: Any) -> bool:
    """Whether a class is to be seen where pydantic has read it."""
    try:
        return isinstance(what, type) and _holds(what, what)
    except Exception:  # noqa: BLE001 - pydantic may know nothing of it, or may not have all of it
        return False


def _holds(model: Any, what: Any) -> bool:
    """Whether pydantic has read a class anywhere in a model."""
    left: list[Any] = [TypeAdapter(model).core_schema]
    while left:
        one = left.pop()
        if one is what:
            return True
        if isinstance(one, dict):
            left += cast("dict[Any, Any]", one).values()
        elif isinstance(one, (list, tuple)):
            left += cast("list[Any]", one)
    return False


def _mentions(annotation: Any, what: Any) -> bool:
    return annotation is what or any(_mentions(a, what) for a in get_args(annotation))
