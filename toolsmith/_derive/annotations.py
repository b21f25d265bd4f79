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
from dataclasses import field
from functools import lru_cache, partial
from pathlib import Path
from types import FrameType, SimpleNamespace
from typing import Annotated, Any, ForwardRef, Literal, cast, get_args, get_origin

from toolsmith._dataclass import dataclass
from toolsmith._derive.lexical import ABSENT, AtHand, Bound, binds, global_meaning, names_in
from toolsmith._derive.trees import parsed

_MOST_NAMES = 64
"""How many missing names one annotation may have; a bound, in case a lookup and Python disagree for ever."""


class Unresolved(Exception):
    """An annotation names something that cannot be found.

    Attributes:
        name: the missing name.
        why: what was tried, "" where there was nothing to try.
        later: the module defines the name further down, so that it may be there when the tool is first used.
        owner: the function whose name it is, where there is another one in the module.
    """

    def __init__(self, name: str, why: str = "", *, later: bool = False, owner: str = "") -> None:
        super().__init__(name)
        self.name = name
        self.why = why
        self.later = later
        self.owner = owner


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
    """Where the names of one function's annotations are looked for.

    Args:
        function: the innermost one, which has the annotations.
        call: what is to be the tool; a bound method says whose it is.
    """

    def __init__(self, function: Callable[..., Any], call: Any = None) -> None:
        self.globals: dict[str, Any] = getattr(function, "__globals__", {})
        self._running = _decorating(self.globals)
        self.locals: dict[str, Any] = {}
        self._classes = _owners(function, call)
        self._place: str = getattr(function, "__qualname__", "")
        for frame in reversed(self._running):
            self.locals.update(_enclosing(function, frame))
        for owner in reversed(self._classes):
            self.locals.update((name, held) for name, held in vars(owner).items() if _defined_in(owner, name, held))
        self.locals.update((p.__name__, p) for p in getattr(function, "__type_params__", ()))
        cells = _cells(function)
        self.locals.update(cells)
        if self._classes:
            self.locals.setdefault(self._classes[0].__name__, self._classes[0])
        around = self._around() if "<locals>" in self._place else {}
        self.at_hand = AtHand(
            place=self._place,
            globals=self.globals,
            scopes={name: frame.f_locals for name, frame in around.items()},
            binds={name: binds(frame) for name, frame in around.items()},
            cells=cells,
            names=self.locals,
        )

    def _around(self) -> dict[str, FrameType]:
        """The running functions that this one is defined in, by their qualified names; of two runs the innermost."""
        found = ((frame.f_code.co_qualname, frame) for frame in reversed(self._running))
        return {name: frame for name, frame in found if self._place.startswith(f"{name}.<locals>.")}

    def resolve(self, annotation: Any) -> Any:
        """The type that an annotation stands for.

        Raises:
            Unresolved: a name cannot be found.
            Exception: whatever else evaluating the annotation raises.
        """
        if "<locals>" in self._place:
            self._refuse_global(annotation)
        for _ in range(_MOST_NAMES):
            try:
                return evaluate(annotation, self.globals, self.locals)
            except NameError as error:
                missing = error.name or str(error).split("'")[1]
                self.locals[missing] = self.find(missing)
        raise Unresolved(str(annotation))

    def _refuse_global(self, annotation: Any) -> None:
        """Do not take a global thing for one of the same name that belongs to the function around the tool's."""
        module = self.globals.get("__name__")
        for name in names_in([annotation]) - self.locals.keys():
            meant = (
                ABSENT if global_meaning(name, module) is ABSENT else self.at_hand.meaning(name, self._place, module)
            )
            if isinstance(meant, Bound):
                raise Unresolved(name, later=meant.running, owner=meant.function)

    def find(self, name: str) -> Any:
        """What a name stands for that is not a global one.

        Raises:
            Unresolved: it cannot be found.
        """
        if name in self.locals:
            return self.locals[name]
        for frame in self._running:
            if name in frame.f_locals:
                return frame.f_locals[name]
        for owner in self._classes:
            if name in vars(owner):
                return vars(owner)[name]
        path = self.globals.get("__file__")
        checking = type_checking(path) if isinstance(path, str) else Checking()
        if name in checking.imports:
            return self._imported(name, *checking.imports[name])
        coming = any(name in (*f.f_code.co_varnames, *f.f_code.co_cellvars) for f in self._running)
        raise Unresolved(name, later=coming or name in checking.defined)

    def expects(self, name: str) -> bool:
        """Whether a name that cannot be found is defined further down."""
        try:
            self.find(name)
        except Unresolved as missing:
            return missing.later
        return True

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
        tree = parsed(Path(path).read_bytes())
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


def _enclosing(function: Callable[..., Any], frame: FrameType) -> dict[str, Any]:
    """The names of a running frame, if it is a scope that the function is defined in; of a class, its classes."""
    place = getattr(function, "__qualname__", "")
    scope = frame.f_code.co_qualname
    if place.startswith(f"{scope}.<locals>."):
        return dict(frame.f_locals)
    if place.rpartition(".")[0] == scope:
        # A method may be named like a type, `list` say, and its neighbours still mean the type.
        return {name: held for name, held in frame.f_locals.items() if isinstance(held, type)}
    return {}


def _cells(function: Callable[..., Any]) -> dict[str, Any]:
    """What a function has kept of the scopes around it."""
    code = getattr(function, "__code__", None)
    closure = getattr(function, "__closure__", None)
    found: dict[str, Any] = {}
    if code is not None and closure:
        for name, cell in zip(code.co_freevars, closure, strict=False):
            try:
                found[name] = cell.cell_contents
            except ValueError:  # not yet assigned: the enclosing function is still running
                continue
    return found


def _owners(function: Callable[..., Any], call: Any) -> tuple[type, ...]:
    """The class that a method is defined in and those that this one inherits from, where they can be found."""
    while isinstance(call, partial):
        call = cast("Any", call).func
    if inspect.ismethod(call):
        bound = call.__self__
    else:
        bound = None if inspect.isroutine(call) or hasattr(call, "__wrapped__") else call
    cls = bound if isinstance(bound, type) else type(bound)
    head = getattr(function, "__qualname__", "").rpartition(".")[0]
    for position, one in enumerate(cls.__mro__):
        if head and one.__qualname__ == head:
            return cls.__mro__[position:-1]
    owner = _owner(function)
    return () if owner is None else owner.__mro__[:-1]


def _defined_in(owner: type, name: str, held: object) -> bool:
    return isinstance(held, type) and held.__qualname__ == f"{owner.__qualname__}.{name}"


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
