"""From an annotation as it stands in the source to a type: postponed, forward, local and type-checking-only names.

A name is looked for where Python itself would find it, then where only the author knows it to be: in the scopes of the
frames that are just now decorating, and among the imports of the module's `if TYPE_CHECKING:` blocks.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import sys
import typing
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from types import FrameType, SimpleNamespace
from typing import Annotated, Any, ForwardRef, Literal, get_args, get_origin

_MOST_NAMES = 64
"""How many missing names one annotation may have; a bound, in case a lookup and Python disagree for ever."""


class Unresolved(Exception):
    """An annotation names something that cannot be found.

    Attributes:
        name: the missing name.
        why: what was tried, "" where there was nothing to try.
        later: the module defines the name further down, so that it may be there when the tool is first used.
    """

    def __init__(self, name: str, why: str = "", *, later: bool = False) -> None:
        super().__init__(name)
        self.name = name
        self.why = why
        self.later = later


@dataclass(frozen=True, slots=True)
class Checking:
    """What a module's source says of its names.

    Attributes:
        imports: what `if TYPE_CHECKING:` blocks import, by local name: (module, attribute or "", level).
        defined: the names that its top level binds when it runs.
    """

    imports: dict[str, tuple[str, str, int]] = field(default_factory=dict[str, tuple[str, str, int]])
    defined: set[str] = field(default_factory=set[str])


class Scope:
    """Where the names of one function's annotations are looked for."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.globals: dict[str, Any] = getattr(function, "__globals__", {})
        self.locals: dict[str, Any] = {p.__name__: p for p in getattr(function, "__type_params__", ())}
        code = getattr(function, "__code__", None)
        closure = getattr(function, "__closure__", None)
        if code is not None and closure:
            for name, cell in zip(code.co_freevars, closure, strict=False):
                try:
                    self.locals[name] = cell.cell_contents
                except ValueError:  # not yet assigned: the enclosing function is still running
                    continue
        owner = _owner(function)
        if owner is not None:
            self.locals.setdefault(owner.__name__, owner)

    def resolve(self, annotation: Any) -> Any:
        """The type that an annotation stands for.

        Raises:
            Unresolved: a name cannot be found.
            Exception: whatever else evaluating the annotation raises.
        """
        for _ in range(_MOST_NAMES):
            try:
                return evaluate(annotation, self.globals, self.locals)
            except NameError as error:
                missing = error.name or str(error).split("'")[1]
                self.locals[missing] = self._find(missing)
        raise Unresolved(str(annotation))

    def _find(self, name: str) -> Any:
        for frame in _decorating(self.globals):
            if name in frame.f_locals:
                return frame.f_locals[name]
        path = self.globals.get("__file__")
        checking = type_checking(path) if isinstance(path, str) else Checking()
        if name in checking.imports:
            return self._imported(name, *checking.imports[name])
        raise Unresolved(name, later=name in checking.defined)

    def _imported(self, name: str, module: str, attribute: str, level: int) -> Any:
        where = f"{'.' * level}{module}"
        try:
            package = self.globals.get("__package__") or None
            loaded = importlib.import_module(where, package if level else None)
            if not attribute:
                # `import a.b` binds `a`; `import a.b as c` binds the module itself.
                return loaded if name != module.partition(".")[0] else sys.modules[name]
            if hasattr(loaded, attribute):
                return getattr(loaded, attribute)
            return importlib.import_module(f"{loaded.__name__}.{attribute}")
        except Exception as error:  # noqa: BLE001 - importing runs somebody's code
            what = f"{type(error).__name__}: {error}"
            raise Unresolved(
                name, f"it is imported under TYPE_CHECKING from {where!r}, which failed ({what})"
            ) from None


def evaluate(annotation: Any, globalns: dict[str, Any], localns: dict[str, Any]) -> Any:
    """Turn strings and forward references, at any depth, into types.

    Raises:
        NameError: a name is neither global nor local.
    """
    if not _refers(annotation):
        return type(None) if annotation is None else annotation
    holder = SimpleNamespace(__annotations__={"value": annotation})
    return typing.get_type_hints(holder, globalns, localns, include_extras=True)["value"]


def _refers(annotation: Any) -> bool:
    """Whether there may be a string or a forward reference in an annotation that stands for a type."""
    if isinstance(annotation, (str, ForwardRef)):
        return True
    if isinstance(annotation, type) or annotation is None:
        return False
    origin = get_origin(annotation)
    if origin is Literal:
        return False
    args = get_args(annotation)
    return any(map(_refers, args[:1] if origin is Annotated else args))


@lru_cache(maxsize=256)
def type_checking(path: str) -> Checking:
    """Read the imports under `if TYPE_CHECKING:` of a source file, and the names that its top level defines."""
    try:
        tree = ast.parse(Path(path).read_bytes())
    except (OSError, SyntaxError, ValueError):
        return Checking()
    checking = Checking()
    _read(tree.body, checking)
    return checking


def _read(body: list[ast.stmt], found: Checking) -> None:
    for node in body:
        match node:
            case ast.If(test=ast.Name(id="TYPE_CHECKING") | ast.Attribute(attr="TYPE_CHECKING")):
                for statement in node.body:
                    found.imports.update(_imports(statement))
                _read(node.orelse, found)
            case ast.If():
                _read([*node.body, *node.orelse], found)
            case ast.Try():
                _read([*node.body, *(n for h in node.handlers for n in h.body), *node.orelse, *node.finalbody], found)
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                found.defined.add(name)
            case ast.Assign(targets=targets):
                found.defined.update(t.id for t in targets if isinstance(t, ast.Name))
            case ast.AnnAssign(target=ast.Name(id=name)):
                found.defined.add(name)
            case ast.Import() | ast.ImportFrom():
                found.defined.update(_imports(node))
            case _ if type(node).__name__ == "TypeAlias":  # Python 3.12: `type X = ...`
                found.defined.add(getattr(node, "name").id)  # noqa: B009 - older Pythons do not know the class
            case _:
                pass


def _imports(node: ast.stmt) -> dict[str, tuple[str, str, int]]:
    match node:
        case ast.Import(names=names):
            return {a.asname or a.name.partition(".")[0]: (a.name, "", 0) for a in names}
        case ast.ImportFrom(module=module, names=names, level=level):
            return {a.asname or a.name: (module or "", a.name, level) for a in names if a.name != "*"}
        case _:
            return {}


def _decorating(globalns: dict[str, Any]) -> list[FrameType]:
    """The frames of the function's own module that are running now, innermost first: the scopes it is defined in."""
    found: list[FrameType] = []
    frame = inspect.currentframe()
    while frame is not None:
        if frame.f_globals is globalns:
            found.append(frame)
        frame = frame.f_back
    return found


def _owner(function: Callable[..., Any]) -> type | None:
    """The class that a method is defined in, where it is already made and can be named from the module."""
    head, _, _ = getattr(function, "__qualname__", "").rpartition(".")
    if not head or head.endswith("<locals>"):
        return None
    first, *rest = head.split(".")
    found: object = getattr(function, "__globals__", {}).get(first)
    for part in rest:
        found = getattr(found, part, None)
    return found if isinstance(found, type) else None
