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
from toolsmith._derive.bindings import ABSENT, LOCALS
from toolsmith._derive.classbody import class_body
from toolsmith._derive.lexical import AtHand, Bound, global_meaning, names_in
from toolsmith._derive.runs import Run, innermost_of
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
        self._place: str = getattr(function, "__qualname__", "")
        self._parameters = {p.__name__: p for p in getattr(function, "__type_params__", ())}
        cells = _cells(function)
        runs = tuple(Run(f) for f in self._running if f.f_code.co_name != "<module>")
        self._classes = _owners(function, call, runs)
        owner = self._classes[0] if self._classes else None
        self._body = class_body(function, owner, runs) if "." in self._place else None
        self._made: Any = owner or function
        self.locals: dict[str, Any] = {}
        whose = owner.__qualname__ if owner is not None else self._place
        for run in reversed(runs) if LOCALS in whose else ():
            if whose.startswith(f"{run.place}{LOCALS}") and run.made(self._made, whose):
                self.locals.update(run.names)
        self.locals.update(cells)
        self.locals.update(self._parameters)
        self.at_hand = AtHand(self._made, self._place, self.globals, runs, cells, self._names_of_classes(), self._look)

    def _names_of_classes(self) -> dict[str, Any]:
        """What is named where the tool is made, the classes of the classes around it too."""
        if "." not in self._place:
            return self.locals
        found: dict[str, Any] = {}
        for owner in reversed(self._classes):
            found.update((name, held) for name, held in vars(owner).items() if _defined_in(owner, name, held))
        if self._body is not None:
            found.update((name, held) for name, held in self._body.names.items() if isinstance(held, type))
        if self._classes:
            found.setdefault(self._classes[0].__name__, self._classes[0])
        return {**found, **self.locals}

    def resolve(self, annotation: Any) -> Any:
        """The type that an annotation stands for.

        Raises:
            Unresolved: a name cannot be found.
            Exception: whatever else evaluating the annotation raises.
        """
        if "." in self._place:
            self._settle(annotation)
        for _ in range(_MOST_NAMES):
            try:
                return evaluate(annotation, self.globals, self.locals)
            except NameError as error:
                missing = error.name or str(error).split("'")[1]
                self.locals[missing] = self.find(missing)
        raise Unresolved(str(annotation))

    def _settle(self, annotation: Any) -> None:
        """Give what the scopes around mean by a name; never a global thing for one of the same name that is theirs."""
        for name in names_in([annotation]) - self._parameters.keys():
            outer = self.at_hand.meaning(name, self._made, self._place, self.globals)
            everywhere = global_meaning(name, self.globals)
            meant = ABSENT
            if self._body is not None:
                meant = self._body.meaning(name, everywhere if outer is ABSENT else outer)
            meant = outer if meant is ABSENT else meant
            if isinstance(meant, Bound):
                meant = self._reached(name, meant, everywhere)
            if meant is not ABSENT:
                self.locals[name] = meant

    def _reached(self, name: str, bound: Bound, everywhere: Any) -> Any:
        """A class that is by its own name what a scope out of reach means; `ABSENT` where nothing could be mixed up.

        Raises:
            Unresolved: something else has that name here.
        """
        other = everywhere
        if self._classes and self._classes[0].__name__ == name:
            return self._classes[0]
        if other is ABSENT:
            other = self._look(name)
        if other is ABSENT or self.at_hand.is_likely(other, name, bound):
            return other
        raise Unresolved(name, later=bound.running, owner=bound.owner)

    def _look(self, name: str) -> Any:
        try:
            return self.find(name)
        except Unresolved:
            return ABSENT

    def find(self, name: str) -> Any:
        """What a name stands for that is not a global one.

        Raises:
            Unresolved: it cannot be found.
        """
        near = self.at_hand.names
        if name in self.locals or name in near:
            return self.locals[name] if name in self.locals else near[name]
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


def _owners(function: Callable[..., Any], call: Any, runs: tuple[Run, ...]) -> tuple[type, ...]:
    """The class that a method is defined in and those that this one inherits from, where they can be found."""
    place = getattr(function, "__qualname__", "").rpartition(".")[0]
    if not place or place.endswith(LOCALS[:-1]):
        return ()
    while isinstance(call, partial):
        call = cast("Any", call).func
    if inspect.ismethod(call):
        bound = call.__self__
    else:
        bound = None if inspect.isroutine(call) or hasattr(call, "__wrapped__") else call
    cls = bound if isinstance(bound, type) else type(bound)
    named = [one for one in cls.__mro__ if one.__qualname__ == place]
    # A subclass in another module may have the same name.
    sure = [one for one in named if innermost_of(vars(one).get(function.__name__)) is function]
    same = [one for one in named if one.__module__ == function.__module__]
    owner = next(iter([*sure, *same, *named]), None) or _owner(function, place, runs)
    return () if owner is None else owner.__mro__[:-1]


def _defined_in(owner: type, name: str, held: object) -> bool:
    return isinstance(held, type) and held.__qualname__ == f"{owner.__qualname__}.{name}"


def _owner(function: Callable[..., Any], place: str, runs: tuple[Run, ...]) -> type | None:
    """The class that a method is defined in, where it is already made and can be named from what is at hand."""
    scope, inside, path = place.rpartition(LOCALS)
    first, *rest = path.split(".")
    for names in [r.names for r in runs if r.place == scope] if inside else [getattr(function, "__globals__", {})]:
        found: object = names.get(first)
        for part in rest:
            found = getattr(found, part, None)
        if isinstance(found, type) and not (inside and vars(found).get(function.__name__) is None):
            return found
    return None
