"""Which parameters cannot be described to a model, and what to do about each. Only asked when a tool cannot be made."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Mapping
from types import FunctionType
from typing import TYPE_CHECKING, Any, cast

from pydantic import PydanticSchemaGenerationError
from pydantic.errors import PydanticInvalidForJsonSchema, PydanticUndefinedAnnotation

from toolsmith._derive.adapter import NothingButNull, build
from toolsmith._derive.annotations import Scope
from toolsmith._derive.signature import EMPTY, read, shown
from toolsmith._derive.standins import NoStandIn, stand_in
from toolsmith._derive.words import Unfit

if TYPE_CHECKING:
    from toolsmith._derive.places import Place
    from toolsmith._derive.signature import Reading

_WAY_OUT = (
    "Let the parameter be what a model can write (a name, an id, a path, a dataclass) and make the object from that in "
    "the function; or let it be handed in: by RunContext[...] for what a run brings along, by functools.partial for "
    "what never changes."
)
_ANSWER_WAY_OUT = (
    "Let it be what a model can write: a dataclass, a pydantic model, a TypedDict, a text, a number, a Literal, or a "
    "list or dict of these."
)
_LINK = re.compile(r"\s*For further information visit \S+")


def misfits(reading: Reading, hints: Mapping[str, Any], scope: Scope, *, known: bool) -> list[str]:
    """One sentence or two for each parameter that pydantic or JSON cannot take.

    Args:
        hints: the fields of the arguments' TypedDict.
        scope: where the names in their types are looked for.
        known: something else is known to be wrong, so that it is no wonder if nothing is found here.
    """
    found: list[str] = []
    for parameter in reading.parameters:
        if parameter.name in hints and (why := _why(hints[parameter.name], scope)):
            place = reading.place.of_parameter(parameter.name)
            what = f"parameter {parameter.name!r} of {reading.name!r} is annotated {shown(parameter.annotation)!r}"
            found.append(f"{place}: {what}, {why}")
    if found or known:
        return found
    why = _why(hints, scope, whole=reading.name) or "for a reason that did not show again: please report this."
    return [f"{reading.place}: {reading.name!r} cannot be a tool, {why}"]


def unfit_answer(kind: Any, place: Place | None) -> str:
    """Why a type cannot be that of an answer, where and what to do; "" where that cannot be told.

    Args:
        place: of the agent that has it as `output_type`.
    """
    where = f"{place or 'Agent'}: output_type is {shown(kind)!r}"
    if isinstance(kind, str):
        return f"{where}, a text. Give the type itself, not its name."
    try:
        why = _why(stand_in(kind), Scope(unfit_answer), way_out=_ANSWER_WAY_OUT)
    except NoStandIn as error:
        return f"{where}: {error}."
    return f"{where}, {why}" if why else ""


def misused(reading: Reading) -> list[str] | None:
    """What is wrong with a callable itself, and not with its parameters; None where that is nothing."""
    call = reading.call
    if isinstance(call, functools.partial):
        return _unfit_partial(reading, cast("functools.partial[Any]", call))
    if not isinstance(call, FunctionType) or reading.unbound:
        return None
    first = next(iter(inspect.signature(call).parameters.values()), None)
    if first is None or first.name not in {"self", "cls"} or first.annotation is not EMPTY:
        return None
    said = (
        f"{reading.place.of_parameter(first.name)}: {reading.name!r} is a function, not a method of an object or a "
        f"class, so that nothing is given to its parameter {first.name!r}. Remove {first.name}; or, if some object has "
        f"it as a method, offer that: tool(the_object.{call.__name__})."
    )
    return [said, *read(functools.partial(call, None), final=reading.final).problems]


def _unfit_partial(reading: Reading, call: functools.partial[Any]) -> list[str] | None:
    try:
        takes = inspect.signature(call.func)
    except (TypeError, ValueError):
        return None
    try:
        takes.bind_partial(*call.args, **call.keywords)
    except TypeError as error:
        has = ", ".join(takes.parameters) or "none"
        return [
            f"{reading.place}: functools.partial gives {reading.name!r} what it does not take: {error} (its "
            f"parameters: {has}). Correct the partial."
        ]
    return None


def _why(hint: Any, scope: Scope, *, whole: str = "", way_out: str = _WAY_OUT) -> str:
    fields: Mapping[str, Any] = hint if whole else {"value": hint}
    try:
        build(whole or "arguments", fields, scope)
    except PydanticUndefinedAnnotation as error:
        return (
            f"which names {error.name!r} in a field, but {error.name!r} cannot be found, neither in the module of that "
            f"type nor where the tool is made. Define or import {error.name!r} there before the tool is made."
        )
    except PydanticSchemaGenerationError as error:
        named = re.search(r"schema for (.+?)\. Set ", str(error), re.DOTALL)
        return f"and no JSON can carry {_type_name(named.group(1)) if named else 'that'}. {way_out}"
    except PydanticInvalidForJsonSchema as error:
        return f"and no JSON can carry {_carried(_LINK.sub('', error.message))}. {way_out}"
    except Unfit as error:
        return f"{str(error).removesuffix('.')}."
    except NothingButNull:
        return f"of which JSON can carry nothing but null. {way_out}"
    except Exception as error:  # noqa: BLE001 - types may run anybody's code
        text = _LINK.sub("", str(error)).strip()
        return f"which pydantic refuses: {type(error).__name__}: {text}"
    return ""


def _carried(text: str) -> str:
    """What pydantic has no JSON Schema for, out of "Cannot generate a JsonSchema for core_schema.CallableSchema"."""
    text = text.removeprefix("Cannot generate a JsonSchema for ").removeprefix("core_schema.")
    if text.startswith("CallableSchema"):
        return "a function"
    named = re.search(r"\((<.+>)\)", text)
    return _type_name(named.group(1)) if named else text


def _type_name(text: str) -> str:
    match = re.fullmatch(r"<(?:class|enum|built-in function) '?([^'>]+)'?>", text)
    return match.group(1) if match else re.sub(r" at 0x[0-9a-f]+", "", text)
