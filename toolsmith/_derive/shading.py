"""Classes whose fields name one thing and were given another: a global one, of the same name as a local one."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any, cast, get_args

from pydantic import BaseModel, TypeAdapter
from pydantic.dataclasses import is_pydantic_dataclass

from toolsmith._derive.lexical import ABSENT, Bound, at_hand, global_meaning, local_meanings, raw_annotations


def is_shaded(cls: type[Any]) -> bool:
    """Whether pydantic would take something else for a name in the fields of a class than what it means there."""
    return "<locals>" in cls.__qualname__ and any(
        meant is not taken for _, meant, taken in _taken(cls) if not isinstance(meant, Bound)
    )


def misread(cls: type[Any]) -> str:
    """What in the fields of a local class was taken for a global thing of its name, or would be; "" for nothing.

    pydantic reads the names in a model when the class is made, and later nobody can change that. The other classes are
    read when the tool is made, and go wrong only if what they name is not at hand then.
    """
    for one, holder in _within(cls):
        for name, meant, taken in _taken(one):
            if meant is taken or taken is ABSENT:
                continue
            read = _fields_read(holder or one)
            if read is not None:
                wrong = _holds(holder, taken) if holder is not one else any(_mentions(a, taken) for a in read)
                if wrong:
                    return _too_late(name, one)
            elif isinstance(meant, Bound):
                return (
                    f"{name!r} in the fields of {one.__name__} means the {name!r} of {meant.function}(), which "
                    f"cannot be reached from where the tool is made, and there is another {name!r} that can. Make the "
                    f"tool within {meant.function}(), after that {name!r}; or give one of the two another name"
                )
    return ""


def _too_late(name: str, cls: type[Any]) -> str:
    how = ", without `from __future__ import annotations`" if is_pydantic_dataclass(cls) else ""
    return (
        f"{name!r} in the fields of {cls.__name__} means the {name!r} of the function that {cls.__name__} is defined "
        f"in, but pydantic has taken the module's. Define that {name!r} before {cls.__name__}{how}, or give one of the "
        f"two another name"
    )


def _taken(cls: type[Any]) -> Iterator[tuple[str, Any, Any]]:
    """Names in the fields that are not global: what each means, and what pydantic would take, `ABSENT` for nothing."""
    for name, meant in local_meanings(cls).items():
        taken = global_meaning(name, cls.__module__)
        yield name, meant, at_hand().names.get(name, ABSENT) if taken is ABSENT else taken


def _fields_read(cls: type[Any]) -> list[Any] | None:
    """The annotations of a class that pydantic has already read; None for other classes."""
    if issubclass(cls, BaseModel):
        return [f.annotation for f in cls.model_fields.values()]
    if is_pydantic_dataclass(cls):
        return [f.annotation for f in cast("Any", cls).__pydantic_fields__.values()]
    return None


def _within(cls: type[Any]) -> Iterator[tuple[type[Any], type[Any] | None]]:
    """A local class, and those that its models hold, each with the model by which pydantic has read it, if any.

    What holds others otherwise is looked into field by field, when its turn comes.
    """
    seen: set[Any] = set()
    left: list[tuple[Any, Any]] = [(cls, None)]
    while left:
        one, holder = left.pop()
        if one in seen or not (inspect.isclass(one) and "<locals>" in one.__qualname__):
            left += [(a, holder) for a in get_args(one)]
            continue
        seen.add(one)
        read = _fields_read(one)
        holder = one if read is not None else holder
        yield one, holder
        left += [(a, holder) for a in (raw_annotations(one) if read is None and holder else read or ())]


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
