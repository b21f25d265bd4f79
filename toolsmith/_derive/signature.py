"""Reads a callable: its parameters with their types, its docstring, where it stands. Knows nothing of schemas.

Bound, class and static methods, `functools.partial` and `functools.wraps`, callable instances and classes all come down
to a list of parameters that a model may fill, and one function whose module says what the annotations mean.
"""

from __future__ import annotations

import functools
import inspect
import re
import sys
import typing
from collections.abc import Callable
from dataclasses import field
from inspect import Parameter as _Python
from typing import Annotated, Any, cast, get_args, get_origin

import typing_extensions

from toolsmith._dataclass import dataclass
from toolsmith._derive.annotations import Scope, Unresolved
from toolsmith._derive.classfields import typed_dict_fields
from toolsmith._derive.lexical import names_at_hand
from toolsmith._derive.places import Place
from toolsmith._derive.shading import misread
from toolsmith._run.context import RunContext

EMPTY: Any = _Python.empty
POSITIONAL_ONLY = _Python.POSITIONAL_ONLY
VAR_POSITIONAL = _Python.VAR_POSITIONAL
VAR_KEYWORD = _Python.VAR_KEYWORD
KEYWORD_ONLY = _Python.KEYWORD_ONLY

UNPACK = (typing.Unpack, typing_extensions.Unpack)


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of the function.

    Attributes:
        annotation: the type, resolved; for `*args: T` and `**kwargs: T` it is T.
        default: `EMPTY` where there is none.
        optional: whether a call may leave it out.
        is_context: it is handed the `RunContext`, and no model sees it.
    """

    name: str
    kind: Any
    annotation: Any
    default: Any = EMPTY
    optional: bool = False
    is_context: bool = False


@dataclass(slots=True)
class Reading:
    """What a callable says of itself.

    Attributes:
        function: the innermost function, which has the annotations and the docstring.
        parameters: what a call may fill, in order.
        documented: names that the docstring may speak of: also those that are bound, or hidden from the model.
        reserved: names that a key of `**kwargs` would be taken for by Python, bound ones among them.
        problems: why this cannot be a tool; empty if it can.
        deferred: a name of an annotation that the module defines only further down.
        doc_of_class: the docstring is a class's, and its entries may be attributes.
        final: a name that is not there yet will not come.
        call: what is to be the tool, as it was given.
        unbound: a method that is still being defined in its class: its first parameter is left out.
    """

    function: Callable[..., Any]
    name: str
    doc: str | None
    place: Place
    parameters: list[Parameter] = field(default_factory=list[Parameter])
    documented: set[str] = field(default_factory=set[str])
    reserved: set[str] = field(default_factory=set[str])
    problems: list[str] = field(default_factory=list[str])
    deferred: str | None = None
    final: bool = False
    doc_of_class: bool = False
    unbound: bool = False
    call: Any = None


def read(call: Callable[..., Any], *, final: bool = False) -> Reading:
    """Read a callable. Never raises: what is wrong is in `problems`.

    Args:
        final: a name that the module defines further down is not waited for.
    """
    function = innermost(call)
    reading = Reading(function, name_of(call), doc_of(call, function), Place.of(function, call))
    if not reading.doc or inspect.isclass(call):
        reading.doc, reading.doc_of_class = _doc_of_class(call), True
    reading.final, reading.call = final, call
    try:
        signature = _signature(call)
    except (ValueError, TypeError) as error:
        reading.problems.append(f"{reading.place}: {_unsigned(call, reading.name, error)}")
        return reading
    parameters = list(signature.parameters.values())
    if _has_its_object(call):
        del parameters[:1]
    if parameters and _dispatches(call) and parameters[0].kind is _Python.POSITIONAL_OR_KEYWORD:
        parameters[0] = parameters[0].replace(kind=POSITIONAL_ONLY)
    # Also what a partial has bound: the docstring is the whole function's.
    reading.documented = {p.name for p in parameters} | _own_names(function)
    reading.unbound = _is_unbound(call, function, parameters)
    if reading.unbound:
        parameters = parameters[1:]
    bound = _bound_names(call)
    named = {p.name for p in signature.parameters.values() if p.kind in {_Python.POSITIONAL_OR_KEYWORD, KEYWORD_ONLY}}
    reading.reserved = named | _own_names(function, by_keyword=True) | bound
    scope = Scope(function, call)
    with names_at_hand(scope.at_hand):
        for parameter in parameters:
            if parameter.name not in bound:
                _take(reading, scope, parameter)
    return reading


def _unsigned(call: Any, name: str, error: Exception) -> str:
    if typing_extensions.is_typeddict(call):
        return (
            f"the TypedDict {call.__name__} says what data looks like, and does nothing that a tool could do. Write a "
            f"function that takes it, def {name}(data: {call.__name__}), and make that the tool; or take its keys as "
            f"arguments, def {name}(**data: Unpack[{call.__name__}])."
        )
    return (
        f"Python cannot tell the parameters of {name!r} ({error}). Write a function with annotated parameters that "
        f"calls it, and make that the tool."
    )


def innermost(call: Any) -> Callable[..., Any]:
    """The function at the bottom of partials, methods, wrappers and instances; builtins and the like as they are."""
    for _ in range(64):  # a wrapper that wraps itself must not hang the import
        if isinstance(call, functools.partial):
            call = cast("Any", call).func
        elif isinstance(call, (staticmethod, classmethod)) or inspect.ismethod(call):
            call = cast("Any", call).__func__
        elif inspect.isfunction(call):
            if not hasattr(call, "__wrapped__"):
                return call
            call = cast("Any", call).__wrapped__
        elif hasattr(call, "__wrapped__"):
            call = call.__wrapped__
        elif inspect.isclass(call):
            made = cast("Any", call).__init__
            return made if inspect.isfunction(made) else call
        elif inspect.isroutine(call) or not callable(call):
            return call
        else:
            call = cast("Any", type(call)).__call__
    return call


def _called(call: Any) -> Any:
    """What a partial calls; and the instance, where that is its `__call__`."""
    while isinstance(call, functools.partial):
        call = cast("Any", call).func
    is_own_call = inspect.ismethod(call) and getattr(call, "__name__", "") == "__call__"
    return cast("Any", call).__self__ if is_own_call else call


def name_of(call: Any) -> str:
    """The name a tool gets if none is given: the function's, or the class's in snake_case."""
    call = _called(call)
    name = getattr(call, "__name__", None)
    if isinstance(name, str) and not inspect.isclass(call):
        return name
    name = call.__name__ if inspect.isclass(call) else type(call).__name__
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name.strip("_")).lower()


def doc_of(call: Any, function: Callable[..., Any]) -> str | None:
    """The docstring of the function, which a method may have from the one it overrides."""
    if function.__doc__ or not inspect.ismethod(call):
        return function.__doc__
    said = inspect.getdoc(call)
    return None if said == type.__call__.__doc__ else said  # Python's own, of every `__call__`


def _doc_of_class(call: Any) -> str | None:
    """The docstring of a callable instance's class, for a `__call__` without one."""
    call = _called(call)
    if inspect.isroutine(call) or hasattr(call, "__wrapped__"):
        return None
    kind = cast("type[Any]", call if inspect.isclass(call) else type(call))
    doc = kind.__doc__
    return None if doc is None or doc.startswith(f"{kind.__name__}(") else doc


def _dispatches(call: Any) -> bool:
    """Whether `functools.singledispatch` looks at the first argument, which it finds by its position only."""
    while isinstance(call, functools.partial):
        call = cast("Any", call).func
    ours = getattr(call, "__globals__", None) is vars(functools) or type(call).__module__ == functools.__name__
    return ours and hasattr(call, "register")


def _has_its_object(call: Any) -> bool:
    """Whether it is a `functools.singledispatchmethod` of an instance: its signature still has `self`."""
    code = getattr(call, "__code__", None)
    if code is None or not code.co_qualname.startswith(f"{functools.singledispatchmethod.__name__}."):
        return False
    inside = dict(zip(code.co_freevars, call.__closure__, strict=True))
    return "obj" in inside and inside["obj"].cell_contents is not None


def _signature(call: Any) -> inspect.Signature:
    if isinstance(call, (staticmethod, classmethod)):
        call = cast("Any", call).__func__
    if sys.version_info >= (3, 14):
        import annotationlib

        return inspect.signature(call, annotation_format=annotationlib.Format.FORWARDREF)
    return inspect.signature(call)


def _bound_names(call: Any) -> set[str]:
    """Keywords that a `functools.partial` has fixed.

    Python would let a caller override them. Here they stay as the author fixed them, and unseen: often they are keys.
    """
    names: set[str] = set()
    while isinstance(call, functools.partial):
        partial = cast("functools.partial[Any]", call)
        names |= partial.keywords.keys()
        call = partial.func
    return names


def _own_names(function: Callable[..., Any], *, by_keyword: bool = False) -> set[str]:
    """The names of a function's parameters; or of those only that may be given by keyword."""
    code = getattr(function, "__code__", None)
    if code is None:
        return set()
    if by_keyword:
        return set(code.co_varnames[code.co_posonlyargcount : code.co_argcount + code.co_kwonlyargcount])
    starred = bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    return set(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount + starred])


def _is_unbound(call: Any, function: Callable[..., Any], parameters: list[_Python]) -> bool:
    if isinstance(call, classmethod):
        return True
    if not inspect.isfunction(call) or not parameters:
        return False
    first = parameters[0]
    owner, _, _ = function.__qualname__.rpartition(".")
    return (
        first.name in {"self", "cls"}
        and first.annotation is EMPTY
        and bool(owner)
        and not owner.endswith("<locals>")
        and first.kind in {POSITIONAL_ONLY, _Python.POSITIONAL_OR_KEYWORD}
    )


def _take(reading: Reading, scope: Scope, parameter: _Python) -> None:
    """Sort one parameter of the signature into a reading."""
    annotation = parameter.annotation
    if annotation is EMPTY:
        reading.problems.append(_unannotated(reading, parameter))
        return
    try:
        resolved = annotation if is_context(annotation) else _resolve(scope, annotation)
    except Unresolved as missing:
        if missing.later and not reading.final:
            reading.deferred = reading.deferred or missing.name
        else:
            reading.problems.append(_unresolved(reading, parameter, missing))
        return
    except Exception as error:  # noqa: BLE001 - evaluating an annotation runs the author's code
        reading.problems.append(
            f"{reading.place.of_parameter(parameter.name)}: parameter {parameter.name!r} of {reading.name!r} is "
            f"annotated {shown(annotation)!r}, which is not a type: {type(error).__name__}: {error}"
        )
        return
    _sort(reading, parameter, resolved)


def _sort(reading: Reading, parameter: _Python, resolved: Any) -> None:
    name, kind, default = parameter.name, parameter.kind, parameter.default
    if is_context(resolved):
        reading.parameters.append(Parameter(name, kind, resolved, default, default is not EMPTY, is_context=True))
    elif kind is VAR_POSITIONAL:
        if getattr(resolved, "__unpacked__", False):  # `*xs: *tuple[int, str]`, not postponed
            resolved = typing.Unpack[get_origin(resolved)[get_args(resolved)]]
        reading.parameters.append(Parameter(name, kind, resolved, EMPTY, optional=get_origin(resolved) not in UNPACK))
    elif kind is VAR_KEYWORD and get_origin(resolved) in UNPACK:
        _spread(reading, parameter, get_args(resolved)[0])
    else:
        optional = default is not EMPTY or kind is VAR_KEYWORD
        reading.parameters.append(Parameter(name, kind, resolved, default, optional))


def _resolve(scope: Scope, annotation: Any) -> Any:
    try:
        return scope.resolve(annotation)
    except Unresolved:
        # RunContext[Deps], where Deps is only imported for type checkers: the brackets matter to them alone.
        if isinstance(annotation, str) and (head := re.match(r"\s*([\w.]+)\s*\[", annotation)) is not None:
            resolved = scope.resolve(head.group(1))
            if is_context(resolved):
                return resolved
        raise


def is_context(annotation: Any) -> bool:
    """Whether a parameter of this type is handed the `RunContext`."""
    origin = get_origin(annotation)
    if origin is Annotated:
        return is_context(get_args(annotation)[0])
    if origin is not None and not isinstance(origin, type):
        return any(is_context(a) for a in get_args(annotation) if a is not type(None))
    kind = origin or annotation
    if kind is not None and getattr(kind, "__name__", "") == "UnionType":  # X | Y
        return any(is_context(a) for a in get_args(annotation))
    return isinstance(kind, type) and issubclass(kind, RunContext)


def _spread(reading: Reading, parameter: _Python, fields: Any) -> None:
    """`**kw: Unpack[SomeTypedDict]`: its keys are parameters like any other."""
    taken = {p.name for p in reading.parameters}
    if why := misread(fields):
        reading.problems.append(
            f"{reading.place.of_parameter(parameter.name)}: parameter {parameter.name!r} of {reading.name!r} cannot be "
            f"described: {why}."
        )
        return
    for field_ in typed_dict_fields(fields):
        if field_.name in taken:
            reading.problems.append(
                f"{reading.place.of_parameter(parameter.name)}: key {field_.name!r} of {fields.__name__} is also a "
                f"parameter of {reading.name!r}. Rename one of them."
            )
        reading.documented.add(field_.name)
        reading.parameters.append(Parameter(field_.name, KEYWORD_ONLY, field_.annotation, EMPTY, field_.optional))


def _unannotated(reading: Reading, parameter: _Python) -> str:
    name = parameter.name
    where = f"{reading.place.of_parameter(name)}: parameter "
    if parameter.kind in {VAR_POSITIONAL, VAR_KEYWORD}:
        stars = "*" if parameter.kind is VAR_POSITIONAL else "**"
        return (
            f"{where}'{stars}{name}' of {reading.name!r} has no annotation, so a model cannot be told what to send. "
            f"Write {stars}{name}: str (the type of one value); or, if a decorator has wrapped {reading.name!r}, let "
            f"it use functools.wraps."
        )
    return (
        f"{where}{name!r} of {reading.name!r} has no annotation, so a model cannot be told what to send. Write "
        f"{name}: str, or whatever it takes; {name}: Any takes any JSON value."
    )


def _unresolved(reading: Reading, parameter: _Python, missing: Unresolved) -> str:
    why = f": {missing.why}" if missing.why else ", neither in the module nor where the tool is made"
    what = f"parameter {parameter.name!r} of {reading.name!r} is annotated {shown(parameter.annotation)!r}"
    if missing.owner and not missing.owner.endswith("()"):
        return (
            f"{reading.place.of_parameter(parameter.name)}: {what}, and may mean the {missing.name!r} of the class "
            f"{missing.owner} or the one outside of it. Give one of the two another name."
        )
    if missing.owner:
        return (
            f"{reading.place.of_parameter(parameter.name)}: {what}, and means the {missing.name!r} of {missing.owner}, "
            f"which cannot be reached from where the tool is made; there is another one that can. Make the tool within "
            f"{missing.owner}, after that {missing.name!r}; or give one of the two another name."
        )
    return (
        f"{reading.place.of_parameter(parameter.name)}: {what}, but {missing.name!r} cannot be found{why}. Import or "
        f"define {missing.name!r} at the top of the module, outside of `if TYPE_CHECKING:` and before the tool is made."
    )


def shown(annotation: Any) -> str:
    """An annotation as its author wrote it, more or less."""
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return re.sub(r" at 0x[0-9a-f]+", "", text)
