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
import typing
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import field
from functools import lru_cache
from types import ModuleType
from typing import Annotated, Any, ForwardRef, Literal, get_args, get_origin

import typing_extensions

from toolsmith._dataclass import dataclass
from toolsmith._derive.bindings import ABSENT, LOCALS, bodies, imported_value
from toolsmith._derive.runs import Run, bound_by, code_at, reached
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
        if not runs and not bindings and (body is not None or name not in bound_by(code_at(scope, globalns))):
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
        one = reached(scope, globalns)
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


_CONSTRUCTS: tuple[Any, ...] = (
    type,
    ModuleType,
    ForwardRef,
    typing.TypeVar,
    typing.NewType,
    typing_extensions.TypeAliasType,
    getattr(typing, "TypeAliasType", typing_extensions.TypeAliasType),
    type(typing.Union),
    type(typing.LiteralString),
)


def is_type(held: Any) -> bool:
    """Whether an annotation may name it: a type, an alias of one, or a module that has some."""
    return isinstance(held, _CONSTRUCTS) or get_origin(held) is not None


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
