"""What a name in the fields of a class means: for a class made inside of a function, first what that function defines.

Postponed annotations are only text by the time a tool is made, and pydantic, like `typing.get_type_hints`, looks for
their names in the module. Where the function that made the class has a name of its own, that is a different thing.
"""

from __future__ import annotations

import ast
import builtins
import sys
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import field
from functools import lru_cache
from pathlib import Path
from types import FrameType
from typing import Any, ForwardRef, Literal, cast, get_args, get_origin

import typing_extensions

from toolsmith._dataclass import dataclass
from toolsmith._derive.trees import parsed, parsed_expression

_INSIDE = ".<locals>."
ABSENT: Any = object()


@dataclass(frozen=True, slots=True)
class Bound:
    """A name that a function binds, whose value is not at hand: the function has not come to it, or has ended."""

    function: str
    running: bool


@dataclass(frozen=True, slots=True)
class AtHand:
    """The names around the place where a tool is made.

    Attributes:
        place: qualified name of the tool's function.
        globals: of its module.
        scopes: what each of the running functions around it has bound so far, by their qualified names.
        binds: what they bind at all.
        cells: what the function itself has kept of them.
        names: all of these, the nearest first.
    """

    place: str = ""
    globals: Mapping[str, Any] = field(default_factory=dict[str, Any])
    scopes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])
    binds: Mapping[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    cells: Mapping[str, Any] = field(default_factory=dict[str, Any])
    names: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def meaning(self, name: str, place: str, module: str | None) -> Any:
        """What a name means within a function, or a class of a function.

        Args:
            place: qualified name of that function or class.
            module: the name of its module.

        Returns:
            The value; `Bound` where a function binds it and the value is not at hand; `ABSENT` for a global name.
        """
        held = sys.modules.get(module or "")
        ours = held is not None and vars(held) is self.globals
        for function in functions_around(place):
            running = self.scopes.get(function) if ours else None
            if running is not None and name in running:
                return running[name]
            known = self.binds[function] if running is not None else _local_names(held).get(function, frozenset())
            if name in known:
                nearest = next(iter(functions_around(self.place)), "") == function
                return (
                    self.cells[name]
                    if ours and nearest and name in self.cells
                    else Bound(function, running is not None)
                )
        return ABSENT


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


def functions_around(place: str) -> Iterator[str]:
    """The qualified names of the functions around a class or a function, innermost first."""
    while _INSIDE in place:
        place = place.rpartition(_INSIDE)[0]
        yield place


def local_meanings(cls: Any) -> dict[str, Any]:
    """What the names in the fields of a class mean that are not global, by name; a value may be `Bound`."""
    near = _at_hand.get()
    found: dict[str, Any] = {}
    for base in cast("tuple[type[Any], ...]", cls.__mro__):
        if _INSIDE not in base.__qualname__:
            continue
        for name in names_in(raw_annotations(base)):
            meant = near.meaning(name, base.__qualname__, base.__module__)
            if meant is not ABSENT and name not in vars(base) and name != base.__name__:
                found.setdefault(name, meant)
    return found


def raw_annotations(cls: type[Any]) -> list[Any]:
    """The annotations of a class's own fields as they stand there."""
    return list(typing_extensions.get_annotations(cls, format=typing_extensions.Format.FORWARDREF).values())


def global_meaning(name: str, module: str | None) -> Any:
    """What a name means in a module, `ABSENT` for nothing."""
    held = vars(sys.modules.get(module or "", builtins))
    return held.get(name, vars(builtins).get(name, ABSENT))


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
        elif get_origin(one) is not Literal:
            left += get_args(one)
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
            case ast.Name(id=name):
                found.add(name)
            case ast.Constant(value=str(inner)) if inner != text:
                found |= _names_of(inner)
            case node:
                left += ast.iter_child_nodes(node)
    return frozenset(found)


def binds(frame: FrameType) -> frozenset[str]:
    """The names that are a running function's own."""
    code = frame.f_code
    return frozenset((*code.co_varnames, *code.co_cellvars))


def _local_names(module: Any) -> Mapping[str, frozenset[str]]:
    path = getattr(module, "__file__", None)
    return _bound_in(path) if isinstance(path, str) else {}


@lru_cache(maxsize=64)
def _bound_in(path: str) -> Mapping[str, frozenset[str]]:
    """What each function of a source file binds, by qualified name; imports aside, which most often are global too."""
    found: dict[str, set[str]] = {}
    try:
        _visit(parsed(Path(path).read_bytes()), "", set(), found)
    except (OSError, SyntaxError, ValueError, RecursionError):
        return {}
    return {place: frozenset(names) for place, names in found.items()}


def _visit(node: ast.AST, prefix: str, bound: set[str], found: dict[str, set[str]]) -> None:
    """Gather what a scope binds into `bound`, and what the functions in it do into `found`."""
    elsewhere: set[str] = set()
    for child in ast.iter_child_nodes(node):
        match child:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                bound.add(name)
                _visit(child, f"{prefix}{name}{_INSIDE}", found.setdefault(f"{prefix}{name}", set()), found)
            case ast.ClassDef(name=name):
                bound.add(name)
                _visit(child, f"{prefix}{name}.", set(), found)
            case ast.Lambda() | ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                pass  # a scope of its own
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                bound.add(name)
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                elsewhere.update(names)
            case _:
                _visit(child, prefix, bound, found)
    bound -= elsewhere
