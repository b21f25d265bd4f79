"""What makes a tool, once it is made: from a function, or from a JSON Schema and a handler."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import CodeType
from typing import Any, Protocol, cast

from toolsmith._derive.adapter import build
from toolsmith._derive.defaults import warn_of_defaults
from toolsmith._derive.judged import Plain
from toolsmith._derive.names import name_problem
from toolsmith._derive.rawschema import contract
from toolsmith._derive.schema import derive
from toolsmith._derive.signature import EMPTY, VAR_KEYWORD, VAR_POSITIONAL, Reading, innermost, read, shown
from toolsmith._run.context import RunContext
from toolsmith.errors import DefinitionError


class Validator(Protocol):
    """Takes JSON text, gives values by parameter name."""

    def validate_json(self, data: Any, /, *, strict: bool | None = None) -> Any: ...


class Caller(Protocol):
    """Calls a function with values by parameter name."""

    @property
    def by_name(self) -> bool: ...

    def call(self, function: Callable[..., Any], values: Any, context: RunContext[Any] | None) -> Any: ...


@dataclass(frozen=True, eq=False)
class Definition:
    """A tool, its name and options aside.

    Attributes:
        schema: neutral JSON Schema of the arguments; shared, never changed.
        takes_context: whether a parameter is handed the `RunContext`.
    """

    schema: dict[str, Any]
    description: str
    validator: Validator
    caller: Caller
    takes_context: bool


def kind_of(call: Any) -> tuple[bool, CodeType | None]:
    """Whether calling it gives a coroutine or an async generator, at once; and then its code, where there is some.

    A sync function may still give back something to await.
    """
    while isinstance(call, (functools.partial, staticmethod, classmethod)) or inspect.ismethod(call):
        call = cast("Any", call).func if isinstance(call, functools.partial) else cast("Any", call).__func__
    if not inspect.isroutine(call) and not inspect.isclass(call) and not hasattr(call, "__wrapped__"):
        call = cast("Any", type(call)).__call__
    is_async = inspect.iscoroutinefunction(call) or inspect.isasyncgenfunction(call)
    return is_async, getattr(call, "__code__", None) if is_async else None


def gives_nothing(call: Any) -> bool:
    """Whether a function is declared to give back None: that says that all is done, not that nothing was found."""
    try:
        declared = getattr(innermost(call), "__annotations__", {}).get("return", call)
    except Exception:  # noqa: BLE001 - annotations may be evaluated only now, and are anybody's code
        return False
    return declared is None or declared is type(None) or declared == "None"


def not_callable(given: object) -> str:
    """What to tell who makes a tool of what cannot be called."""
    text = (
        "Tool takes a function, Tool(fn); or a JSON Schema and a handler, Tool(name=, description=, parameters=, "
        f"handler=). It was given {shown(repr(given))}."
    )
    if not isinstance(given, str):
        return text
    option = "description" if name_problem(given) else "name"
    return f"{text} Write @tool({option}={given!r}), or Tool(fn, {option}={given!r})."


def is_callable(call: object) -> bool:
    """Whether a tool can be made of it; a `classmethod` in its class's body is not yet callable, but will be."""
    return callable(call) or isinstance(call, classmethod)


def bound_to(call: Any, instance: Any, owner: type[Any] | None) -> Callable[..., Any] | None:
    """A method of an instance or, for a `classmethod`, of a class; None where there is nothing to bind it to."""
    if instance is None and not isinstance(call, classmethod):
        return None
    return cast("Any", call).__get__(instance, owner)


def dress(tool: Any, call: Any, *, is_async: bool) -> None:
    """Make a tool look like its function, for `help()`, `inspect.signature` and the like."""
    for attribute in ("__module__", "__name__", "__qualname__", "__doc__"):
        value = getattr(call, attribute, None)
        if isinstance(value, str):
            setattr(tool, attribute, value)
    tool.__wrapped__ = call
    if is_async and sys.version_info >= (3, 12):
        inspect.markcoroutinefunction(tool)


def no_instance(reading: Reading) -> str:
    """What to tell who offers a method's tool without taking it from an instance."""
    owner, _, method = reading.function.__qualname__.rpartition(".")
    return (
        f"{reading.place}: {reading.name!r} is a method of {owner}, and no model can send the object that it works on. "
        f"Take the tool from an instance: {owner}(...).{method}"
    )


def _no_data(reading: Reading) -> list[str]:
    """Why a class cannot be a tool, and what can; nothing where its instances are data, or there is no class."""
    cls = reading.call
    while isinstance(cls, functools.partial):
        cls = cast("Any", cls).func
    if not inspect.isclass(cls):
        return []
    from toolsmith._calls.jsonable import can_show

    if can_show(cls):
        return []
    way = f"offer a method of an instance: tool({cls.__name__}(...).method); or write a function that uses one"
    if any("__call__" in vars(base) for base in cls.__mro__):
        way = f"offer an instance, which can be called: tool({cls.__name__}(...))"
    return [
        f"{reading.place}: the class {cls.__name__} cannot be a tool: what it makes is no JSON data, and could not be "
        f"shown to a model. Make it a dataclass if it is data; else {way}."
    ]


def from_function(
    reading: Reading, *, description: str | None, strict_docs: bool, problems: Sequence[str] = ()
) -> Definition:
    """A function as a tool.

    Args:
        reading: what `_signature.read` gave, under the name that the tool will have.
        problems: what else is wrong, to be told in the same breath.

    Raises:
        DefinitionError: every problem at once.
        Deferred: a type is not defined yet.
    """
    if wrong := name_problem(reading.name):
        problems = [f"{reading.place}: {reading.name!r} cannot be a tool as it is: {wrong}.", *problems]
    problems = [*_no_data(reading), *problems]
    if reading.problems:
        from toolsmith._derive.misfits import misused

        reading.problems = misused(reading) or reading.problems
    made = derive(reading, description=description, strict_docs=strict_docs, problems=problems)
    warn_of_defaults(reading)
    takes_context = made.context_parameter is not None
    return Definition(made.schema, made.description, made.validator, made.binder, takes_context)


# ---- the raw road: a JSON Schema from elsewhere, and a handler


class ByName:
    """Calls a handler with the arguments by name; or, where it has one parameter of another name, with one dict."""

    by_name = False

    def __init__(self, context: str | None, whole: bool, only: str | None) -> None:
        self._context = context
        self._whole = whole
        self._only = only

    def call(self, function: Callable[..., Any], values: dict[str, Any], context: RunContext[Any] | None) -> Any:
        extra = {} if self._context is None else {self._context: context or RunContext()}
        if self._only is not None:
            return function(values[self._only], **extra)
        return function(values, **extra) if self._whole else function(**values, **extra)


def from_schema(
    reading: Reading,
    *,
    description: str,
    parameters: Mapping[str, Any] | None,
    handler: Callable[..., Any],
    problems: Sequence[str] = (),
) -> Definition:
    """A JSON Schema and a handler as a tool. Without a schema the tool takes one string, `input`.

    Raises:
        DefinitionError: every problem at once.
    """
    found = [*problems]
    if wrong := name_problem(reading.name):
        found.append(f"{reading.place}: {reading.name!r} cannot be a tool as it is: {wrong}.")
    schema: dict[str, Any] = {}
    validator: Validator | None = None
    try:
        if parameters is None:
            schema, validator = _single_string()
        else:
            made = contract(parameters, name=reading.name, origin=str(reading.place))
            schema, validator = made.schema, made.validator
    except DefinitionError as error:
        found += error.problems
    only = "input" if parameters is None else None
    takes = _takes(handler)
    whole = only is None and takes is not None and _takes_whole(takes, schema)
    if validator is not None and takes is not None and only is None and not whole:
        found += _unfit(reading, takes, schema)
    if found or validator is None:
        raise DefinitionError(found)
    caller = ByName(_context_of(handler), whole, only)
    return Definition(schema, description, validator, caller, _context_of(handler) is not None)


def _single_string() -> tuple[dict[str, Any], Validator]:
    made = build("input", {"input": str})
    return made.schema, Plain(made.adapter)


def _takes(handler: Callable[..., Any]) -> list[inspect.Parameter] | None:
    """The handler's parameters but for the context; None where Python cannot tell."""
    try:
        parameters = inspect.signature(handler).parameters.values()
    except (TypeError, ValueError):
        return None
    context = _context_of(handler)
    return [p for p in parameters if p.name != context]


def _context_of(handler: Callable[..., Any]) -> str | None:
    for parameter in read(handler, final=True).parameters:
        if parameter.is_context:
            return parameter.name
    return None


def _takes_whole(takes: list[inspect.Parameter], schema: Mapping[str, Any]) -> bool:
    if len(takes) != 1 or takes[0].kind in {VAR_POSITIONAL, VAR_KEYWORD}:
        return False
    return takes[0].name not in schema.get("properties", {})


def _unfit(reading: Reading, takes: list[inspect.Parameter], schema: Mapping[str, Any]) -> list[str]:
    """Where the handler cannot be called with what the schema allows."""
    properties = set(schema.get("properties", {}))
    required = set(schema.get("required", ()))
    names = {p.name for p in takes}
    found: list[str] = []
    if not any(p.kind is VAR_KEYWORD for p in takes) and (lacks := sorted(properties - names)):
        found.append(
            f"{reading.place}: the handler of {reading.name!r} has no parameter {' or '.join(map(repr, lacks))}, which "
            f"its schema allows. Add it, or **rest; or let the handler take one parameter: all arguments as a dict."
        )
    for parameter in takes:
        needed = parameter.default is EMPTY and parameter.kind not in {VAR_POSITIONAL, VAR_KEYWORD}
        if needed and parameter.name not in required:
            found.append(
                f"{reading.place}: the handler of {reading.name!r} needs {parameter.name!r}, which its schema does not "
                f"require. Give the parameter a default, or name it under `required`."
            )
    return found
