"""What a name in an annotation means by Python's scopes, at the place where the annotation stands.

Postponed annotations are only text by the time a tool is made, and pydantic, like `typing.get_type_hints`, looks for
their names in the module. Where a function around them has a name of its own, or a class has a type parameter, that is
a different thing. The values are taken from where they can be seen to be the right ones: the functions that are running
where the tool is made, what the tool's function has kept, what is imported. Of the rest it is only known that they are
none of the module's.
"""

from __future__ import annotations

import ast
import builtins
import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import field
from functools import lru_cache
from types import CodeType, FrameType
from typing import Annotated, Any, ForwardRef, Literal, cast, get_args, get_origin

import typing_extensions

from toolsmith._dataclass import dataclass
from toolsmith._derive.bindings import ABSENT, LOCALS, bodies, imported_value
from toolsmith._derive.trees import parsed_expression

_HAS_TYPE_PARAMETERS = sys.version_info >= (3, 12)


@dataclass(frozen=True, slots=True)
class Bound:
    """A name that a scope binds, whose value is not at hand: the function has not come to it, or has ended."""

    scope: str
    running: bool = False
    is_class: bool = False

    @property
    def owner(self) -> str:
        """Whose name it is, to be told."""
        return self.scope if self.is_class else f"{self.scope}()"


class Run:
    """A function, or the body of a class, that is running where the tool is made.

    Attributes:
        place: its qualified name.
        line: where it is.
    """

    __slots__ = ("_frame", "_names", "code", "line", "place")

    def __init__(self, frame: FrameType) -> None:
        self._frame, self.code, self.line = frame, frame.f_code, frame.f_lineno
        self.place = self.code.co_qualname
        self._names: Mapping[str, Any] | None = None

    @property
    def names(self) -> Mapping[str, Any]:
        """What it has bound so far."""
        if self._names is None:
            self._names = self._frame.f_locals
        return self._names

    @property
    def bound(self) -> tuple[str, ...]:
        """All names that are its own."""
        return _bound_by(self.code)

    def made(self, what: object, place: str) -> bool:
        """Whether this run, and not an earlier one of the same function, has made a function or a class.

        Args:
            place: qualified name of `what`, which stands in this function.
        """
        first, *rest = place[len(self.place) + len(LOCALS) :].split(".")
        if rest and rest[0] == LOCALS.strip("."):
            return first in self.names  # made by a function in this one; by which run of that cannot be told
        arguments = self.code.co_argcount + self.code.co_kwonlyargcount
        one: object = self.names.get(first) if first not in self.code.co_varnames[:arguments] else None
        for part in rest:
            one = getattr(one, "__dict__", {}).get(part)
        return innermost_of(one) is what or self._at(first) is not None

    def defines(self, function: Any) -> bool:
        """Whether it is just now defining a function, whose decorators are at work."""
        return self._at(function.__code__.co_name, function.__code__) is not None

    def bound_again(self, name: str, place: str) -> bool:
        """Whether it bound a name both before and after it made what stands in it at that place."""
        first = place[len(self.place) + len(LOCALS) :].partition(".")[0]
        if self._at(first) is not None:
            return False
        syntax = _syntax(self.code)
        places = [lines for code, lines in syntax.definitions if code.co_name == first]
        stored = syntax.stored.get(name, ())
        arguments = self.code.co_argcount + self.code.co_kwonlyargcount
        return any(
            any(line > lines[-1] for line in stored)
            and (name in self.code.co_varnames[:arguments] or any(line < lines[0] for line in stored))
            for lines in places
        )

    def _at(self, name: str, code: CodeType | None = None) -> range | None:
        """The lines of the definition that is under way, if it is that of a function or a class of that name."""
        return next(
            (
                lines
                for one, lines in _syntax(self.code).definitions
                if one.co_name == name and self.line in lines and (code is None or one is code)
            ),
            None,
        )


@dataclass(frozen=True, slots=True)
class _Syntax:
    """The definitions in a function, each with its lines, decorators among them; and the lines where it binds names."""

    definitions: list[tuple[CodeType, range]]
    stored: dict[str, list[int]]


@lru_cache(maxsize=256)
def _syntax(code: CodeType) -> _Syntax:
    import dis

    found = _Syntax([], {})
    for step in dis.get_instructions(code):
        at = step.positions
        value: Any = step.argval
        if at is None or at.lineno is None or at.end_lineno is None:
            continue
        if isinstance(value, CodeType):
            found.definitions.append((value, range(value.co_firstlineno, at.end_lineno + 1)))
            if value.co_name.startswith("<generic parameters of"):
                found.definitions.extend(_syntax(value).definitions)
        elif step.opname.startswith(("STORE_FAST", "STORE_DEREF", "STORE_NAME")):
            # Python 3.13 stores two at once, or stores one and loads another.
            names = cast("tuple[str, ...]", value if isinstance(value, tuple) else (value,))
            for name in names[:1] if "LOAD" in step.opname else names:
                found.stored.setdefault(name, []).append(at.lineno)
    return found


def innermost_of(thing: Any) -> Any:
    """What is below a tool, a partial, a static or class method, or what `functools.wraps` has wrapped."""
    for _ in range(64):
        below = next((b for name in _BELOW if (b := getattr(thing, name, None)) is not None), None)
        if below is None or isinstance(thing, type):
            return thing
        thing = below
    return thing


_BELOW = ("__wrapped__", "__func__", "func")


def _bound_by(code: CodeType | None) -> tuple[str, ...]:
    return () if code is None else (*code.co_varnames, *code.co_cellvars)


def _code_at(scope: str, globalns: Mapping[str, Any]) -> CodeType | None:
    """The code of a function, by its qualified name, where the module still has it."""
    head, *inner = scope.split(LOCALS)
    code = getattr(_reached(head, globalns), "__code__", None)
    for name in ".".join(inner).split(".") if inner else ():
        code = None if code is None else next(_codes(code, name), None)
    return code


def _reached(path: str, globalns: Mapping[str, Any]) -> Any:
    """The function or class of a qualified name without functions around, if the module still has it; else None."""
    first, *rest = path.split(".")
    one: Any = globalns.get(first)
    for part in rest:
        one = getattr(one, "__dict__", {}).get(part)
    one = innermost_of(one)
    return one if getattr(one, "__qualname__", "") == path else None


def _codes(code: CodeType, name: str) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            if constant.co_name == name:
                yield constant
            elif constant.co_name.startswith("<generic parameters of"):
                yield from _codes(constant, name)


@dataclass(frozen=True, slots=True)
class AtHand:
    """The names around the place where a tool is made.

    Attributes:
        made: the tool's function, or the class that it is a method of.
        place: qualified name of the tool's function.
        globals: of its module.
        runs: the functions and classes of that module that are running, the innermost first.
        cells: what the function itself has kept.
        names: all of these, the nearest first.
        find: looks for a name that is not global; `ABSENT` for nothing.
    """

    made: object = None
    place: str = ""
    globals: Mapping[str, Any] = field(default_factory=dict[str, Any])
    runs: tuple[Run, ...] = ()
    cells: Mapping[str, Any] = field(default_factory=dict[str, Any])
    names: Mapping[str, Any] = field(default_factory=dict[str, Any])
    find: Callable[[str], Any] = lambda _: ABSENT

    def is_likely(self, value: Any, name: str, bound: Bound) -> bool:
        """Whether a class is by its own name what a function that has ended meant."""
        named = getattr(value, "__qualname__", "") == f"{bound.scope}{LOCALS}{name}"
        return named and all(run.place != bound.scope for run in self.runs)

    def meaning(self, name: str, made: Any, place: str, globalns: Mapping[str, Any]) -> Any:
        """What a name means in the header of a function, or in the body of a class; the class's own names aside.

        Args:
            made: that function or class; for a method its class, where it is at hand.
            place: its qualified name.
            globalns: of its module.

        Returns:
            The value; `Bound` where a scope binds it and the value is not at hand; `ABSENT` for a global name.
        """
        for scope, is_function in scopes_around(place):
            found = self._in_function(name, scope, made, place, globalns) if is_function else ABSENT
            if found is ABSENT and _HAS_TYPE_PARAMETERS:
                found = self._type_parameter(name, scope, is_function, made, globalns)
            if found is not ABSENT:
                return found
        return ABSENT

    def _in_function(self, name: str, scope: str, made: Any, place: str, globalns: Mapping[str, Any]) -> Any:
        runs = [r for r in self.runs if r.place == scope] if globalns is self.globals else []
        if runs and name not in runs[0].bound:
            return ABSENT
        whose = made.__qualname__ if isinstance(made, type) else place
        run = next((r for r in runs if r.made(made, whose)), None)
        if run is not None and name in run.names:
            return Bound(scope) if run.bound_again(name, whose) else run.names[name]
        body = bodies(globalns).get(scope)
        bindings = body.bound.get(name, []) if body is not None else []
        if not runs and not bindings and (body is not None or name not in _bound_by(_code_at(scope, globalns))):
            return ABSENT
        ours = made is self.made or self.cells.get(getattr(made, "__name__", "")) is made
        if ours and name in self.cells:
            return self.cells[name]
        value = imported_value(bindings, globalns.get("__package__")) if bindings else ABSENT
        return Bound(scope, running=run is not None) if value is ABSENT else value

    def _type_parameter(self, name: str, scope: str, is_function: bool, made: Any, globalns: Mapping[str, Any]) -> Any:
        found = self._scope_itself(scope, made, globalns)
        if found is None:
            body = bodies(globalns).get(scope)
            known = body is not None and name in body.parameters
            return Bound(scope, is_class=not is_function) if known else ABSENT
        return next((p for p in found if p.__name__ == name), ABSENT)

    def _scope_itself(self, scope: str, made: Any, globalns: Mapping[str, Any]) -> Iterable[Any] | None:
        """The type parameters of a function or a class around; None where it is not at hand."""
        if isinstance(made, type) and made.__qualname__ == scope:
            return getattr(made, "__type_params__", ())
        ran = next((r for r in self.runs if r.place == scope), None) if globalns is self.globals else None
        if ran is not None and "__type_params__" in ran.names and "__qualname__" in ran.names:
            return ran.names["__type_params__"]  # the body of a class
        if LOCALS in scope:
            return None
        one = _reached(scope, globalns)
        if one is None or (ran is not None and getattr(one, "__code__", None) is not ran.code):
            return None
        return getattr(one, "__type_params__", ())


_at_hand: ContextVar[AtHand] = ContextVar("_at_hand", default=AtHand())  # noqa: B039 - frozen


@contextmanager
def names_at_hand(names: AtHand) -> Generator[None]:
    """What is named where the tool is made, while it is: classes that are made there may name each other."""
    token = _at_hand.set(names)
    try:
        yield
    finally:
        _at_hand.reset(token)


def at_hand() -> AtHand:
    """What is named where the tool is made."""
    return _at_hand.get()


def scopes_around(place: str) -> Iterator[tuple[str, bool]]:
    """The qualified names of what a class or a function stands in, innermost first, and whether it is a function."""
    while head := place.rpartition(".")[0]:
        is_function = head.endswith(LOCALS[:-1])
        place = head[: 1 - len(LOCALS)] if is_function else head
        yield place, is_function


def meanings(cls: type[Any], annotations: Iterable[Any]) -> dict[str, Any]:
    """What the names in a class's own annotations mean that are not global, by name; a value may be `Bound`."""
    if "." not in cls.__qualname__:
        return {}
    near, globalns = _at_hand.get(), module_names(cls)
    own = {cls.__name__, *vars(cls), *(p.__name__ for p in getattr(cls, "__type_params__", ()))}
    found = {
        name: near.meaning(name, cls, cls.__qualname__, globalns) for name in names_in(annotations) if name not in own
    }
    return {name: meant for name, meant in found.items() if meant is not ABSENT}


def module_names(cls: type[Any]) -> Mapping[str, Any]:
    """The names of a class's module."""
    return vars(sys.modules.get(cls.__module__, builtins))


def raw_annotations(cls: type[Any]) -> dict[str, Any]:
    """The annotations of a class's own fields as they stand there."""
    return dict(typing_extensions.get_annotations(cls, format=typing_extensions.Format.FORWARDREF))


def global_meaning(name: str, globalns: Mapping[str, Any]) -> Any:
    """What a name means in a module, `ABSENT` for nothing."""
    return globalns.get(name, vars(builtins).get(name, ABSENT))


def names_in(annotations: Iterable[Any]) -> set[str]:
    """The names in annotations that are text, at any depth."""
    found: set[str] = set()
    left: list[Any] = list(annotations)
    while left:
        one = left.pop()
        if isinstance(one, ForwardRef):
            one = one.__forward_arg__
        if isinstance(one, str):
            found |= _names_of(one)
        elif (origin := get_origin(one)) is not Literal:
            left += get_args(one)[: 1 if origin is Annotated else None]
    return found


@lru_cache(maxsize=1024)
def _names_of(text: str) -> frozenset[str]:
    """The names in an annotation that is text, also in strings within it."""
    found: set[str] = set()
    try:
        left: list[ast.AST] = [parsed_expression(text.strip())]
    except (SyntaxError, ValueError):
        return frozenset()
    while left:
        match left.pop():
            case ast.Subscript(value=ast.Name(id="Literal") | ast.Attribute(attr="Literal")):
                continue
            case ast.Subscript(
                value=ast.Name(id="Annotated") | ast.Attribute(attr="Annotated"),
                slice=ast.Tuple(elts=[kind, *metadata]),
            ):
                left.append(kind)
                found.update(n.id for m in metadata for n in ast.walk(m) if isinstance(n, ast.Name))
            case ast.Name(id=name):
                found.add(name)
            case ast.Constant(value=str(inner)) if inner != text:
                found |= _names_of(inner)
            case node:
                left += ast.iter_child_nodes(node)
    return frozenset(found)
