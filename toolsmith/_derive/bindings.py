"""What each function and each class of a source file binds, by qualified name: read from its text, nothing is run."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping
from dataclasses import field
from functools import lru_cache
from importlib.util import resolve_name
from pathlib import Path
from typing import Any

from toolsmith._dataclass import dataclass
from toolsmith._derive.trees import parsed

LOCALS = ".<locals>."
ABSENT: Any = object()


@dataclass(frozen=True, slots=True)
class Imported:
    """Where an import statement has a name from; `attribute` is "" where it is the module itself."""

    module: str
    attribute: str
    level: int


@dataclass(frozen=True, slots=True)
class Binding:
    """One place where a name is bound: by an import, by a `def`, or by something else."""

    line: int
    imported: Imported | None = None
    is_function: bool = False


@dataclass(frozen=True, slots=True)
class Body:
    """The body of a function or a class.

    Attributes:
        bound: what it binds, a function's parameters among it.
        parameters: its type parameters, `class Store[Id]`.
        elsewhere: what it says to be `global` or `nonlocal`.
    """

    bound: dict[str, list[Binding]] = field(default_factory=dict[str, list[Binding]])
    parameters: set[str] = field(default_factory=set[str])
    elsewhere: set[str] = field(default_factory=set[str])


def bodies(globalns: Mapping[str, Any]) -> Mapping[str, Body]:
    """The functions and classes of a module, by qualified name; none where its source cannot be read."""
    path = globalns.get("__file__")
    return _read(path) if isinstance(path, str) else {}


def imported_value(bindings: list[Binding], package: str | None) -> Any:
    """What a name means that is only imported, if all that is loaded already; `ABSENT` otherwise. Runs nothing."""
    values = [_loaded(b.imported, package) for b in bindings]
    return values[0] if values and all(v is values[0] for v in values) else ABSENT


def _loaded(imported: Imported | None, package: str | None) -> Any:
    if imported is None:
        return ABSENT
    try:
        where = resolve_name("." * imported.level + imported.module, package)
    except ImportError:
        return ABSENT
    module = sys.modules.get(where)
    if module is None or not imported.attribute:
        return ABSENT if module is None else module
    return vars(module).get(imported.attribute, sys.modules.get(f"{where}.{imported.attribute}", ABSENT))


@lru_cache(maxsize=64)
def _read(path: str) -> Mapping[str, Body]:
    found: dict[str, Body] = {}
    try:
        _visit(parsed(Path(path).read_bytes()), "", Body(), found)
    except (OSError, SyntaxError, ValueError, RecursionError):
        return {}
    return found


def _visit(node: ast.AST, prefix: str, body: Body, found: dict[str, Body]) -> None:
    """Gather what a scope binds into `body`, and what the functions and classes in it do into `found`."""
    for child in ast.iter_child_nodes(node):
        match child:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                _bind(body, name, child)
                inner = found.setdefault(f"{prefix}{name}", Body())
                inner.parameters.update(p.name for p in getattr(child, "type_params", ()))
                _visit(child, f"{prefix}{name}{'.' if isinstance(child, ast.ClassDef) else LOCALS}", inner, found)
                for name in inner.elsewhere:
                    inner.bound.pop(name, None)
            case ast.Lambda() | ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                for name in _walruses(child):
                    _bind(body, name, child)
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                body.elsewhere.update(names)
            case ast.Import(names=aliases):
                for a in aliases:
                    name = a.asname or a.name.partition(".")[0]
                    _bind(body, name, child, Imported(a.name if a.asname else name, "", 0))
            case ast.ImportFrom(module=module, names=aliases, level=level):
                for a in aliases:
                    _bind(body, a.asname or a.name, child, Imported(module or "", a.name, level))
            case _:
                for name in _stored(child):
                    _bind(body, name, child)
                _visit(child, prefix, body, found)


def _bind(body: Body, name: str, node: ast.AST, imported: Imported | None = None) -> None:
    is_function = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    body.bound.setdefault(name, []).append(Binding(getattr(node, "lineno", 0), imported, is_function))


def _stored(node: ast.AST) -> Iterator[str]:
    """The name that a piece of syntax binds itself; those in it are not its own."""
    match node:
        case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
            yield name
        case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
            yield name
        case ast.ExceptHandler(name=str(name)):
            yield name
        case _:
            return


def _walruses(node: ast.AST) -> Iterator[str]:
    """What `:=` binds within a comprehension: it belongs to the scope around that. A lambda keeps its own."""
    if isinstance(node, ast.Lambda):
        return
    if isinstance(node, ast.NamedExpr):
        yield node.target.id
    for child in ast.iter_child_nodes(node):
        yield from _walruses(child)
