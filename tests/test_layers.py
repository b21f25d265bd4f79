"""The shape of the package: imports run one way, and nothing grows a tail.

Read from the source with `ast`; nothing is imported. `LAYERS` is the floor plan: a new module is given its place there.
A folder's modules stand where the folder stands unless they are named themselves.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "toolsmith"

MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 50

LAYERS: tuple[tuple[str, str], ...] = (
    (
        "words that everything is said in",
        "_dataclass _given errors media _sniffing messages limits events history remedies counters _plain _callids "
        "_extras _wordllama _run.result _run.citing",
    ),
    (
        "types, schemas and JSON text",
        "_derive _dialects _arguments _wording _untrusted _references _tables dialects _run.context",
    ),
    ("one call, carried out", "_calls"),
    (
        "tools",
        "_derive.definition _arguments.check _calls.results _feedback tool _decorator registry feedback untrusted",
    ),
    ("the run", "_run approvals"),
    ("carrying it out", "_run.drive _run.line _run.retry _run.run _run.taking providers"),
    ("services and settings", "providers.* config"),
    ("built-in tools", "_readable rag web"),
    ("the agent", "_run.nested _builtin _models agent streams"),
    ("trials of tools", "_simulate"),
    ("leaves", "__main__ cli testing"),
)

SDKS = frozenset({"anthropic", "openai", "httpx2", "xllamacpp", "wordllama", "llguidance"})
"""Only providers speak to services; the scripted model of `testing` answers them over the same transport."""

CHEAP = frozenset({"pydantic", "pydantic_core", "jiter", "typing_extensions", "annotated_types"})
"""What a module may import when it is loaded; everything else waits for its first use (see test_import_cost)."""

LOADED_ON_DEMAND = ("providers.", "testing", "cli", "__main__")
"""Modules that are themselves loaded only when they are needed, and may import what they stand for."""


@dataclass(frozen=True)
class Import:
    """One import statement: what is imported, from where, and when."""

    target: str
    line: int
    typing_only: bool
    deferred: bool


def sources() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def module_name(path: Path) -> str:
    """`toolsmith/providers/anthropic.py` -> "providers.anthropic"; the package itself is ""."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


NAMES = frozenset(module_name(p) for p in sources())


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


@cache
def imports(path: Path) -> tuple[Import, ...]:
    return tuple(_walk(parsed(path), typing_only=False, deferred=False))


def _walk(node: ast.AST, *, typing_only: bool, deferred: bool) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        match child:
            case ast.Import(names):
                for alias in names:
                    yield Import(alias.name, child.lineno, typing_only, deferred)
            case ast.ImportFrom(module, names, level):
                assert level == 0, f"line {child.lineno}: write imports in full"
                for alias in names:
                    full = f"{module}.{alias.name}"
                    is_module = full.removeprefix("toolsmith.") in NAMES
                    yield Import(full if is_module else module or "", child.lineno, typing_only, deferred)
            case ast.If(ast.Name("TYPE_CHECKING"), body, orelse):
                yield from _walk(ast.Module(body, []), typing_only=True, deferred=deferred)
                yield from _walk(ast.Module(orelse, []), typing_only=typing_only, deferred=deferred)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
                yield from _walk(child, typing_only=typing_only, deferred=True)
            case _:
                yield from _walk(child, typing_only=typing_only, deferred=deferred)


def own_imports(path: Path) -> Iterator[tuple[str, Import]]:
    """Imports of toolsmith's own modules that happen at run time, with the module's short name."""
    for found in imports(path):
        if found.target.split(".")[0] == "toolsmith" and not found.typing_only:
            yield found.target.partition(".")[2], found


def layer(name: str) -> int:
    place = {member: level for level, (_, members) in enumerate(LAYERS) for member in members.split()}
    if name in place:
        return place[name]
    parent = name.rpartition(".")[0]
    while parent:
        if (level := place.get(f"{parent}.*", place.get(parent))) is not None:
            return level
        parent = parent.rpartition(".")[0]
    pytest.fail(f"toolsmith/{name.replace('.', '/')}.py has no place in LAYERS: give it the lowest one that fits.")


def shown(path: Path, line: int) -> str:
    return f"{path.relative_to(ROOT)}:{line}"


def test_imports_run_one_way() -> None:
    """A module imports from its own layer or lower ones, inside functions too; only annotations may look up."""
    wrong: list[str] = []
    for path in sources():
        name = module_name(path)
        if not name:
            continue
        here = layer(name)
        for target, found in own_imports(path):
            # The package itself loads everything lazily; from it comes only the version.
            there = layer(target) if target else 0
            if there > here:
                wrong.append(f"{shown(path, found.line)} {name} ({LAYERS[here][0]}) -> {target} ({LAYERS[there][0]})")
    assert not wrong, "imports upwards:\n" + "\n".join(wrong)


def test_no_cycles() -> None:
    """Modules of one layer are in an order too."""
    graph = {module_name(p): {t for t, _ in own_imports(p) if t and t != module_name(p)} for p in sources()}
    try:
        order = tuple(TopologicalSorter(graph).static_order())
    except CycleError as error:
        pytest.fail(f"modules import each other: {' -> '.join(error.args[1])}")
    assert set(graph) <= set(order)


def test_leaves_do_not_import_each_other() -> None:
    """`cli`, `testing` and the others can each be taken away without harm to the rest."""
    leaves = set(LAYERS[-1][1].split()) - {"__main__"}
    wrong = [
        f"{shown(path, found.line)} {module_name(path)} -> {target}"
        for path in sources()
        if (leaf := module_name(path).split(".")[0]) in leaves
        for target, found in own_imports(path)
        if target.split(".")[0] in leaves - {leaf}
    ]
    assert not wrong, "\n".join(wrong)


def test_every_module_of_the_plan_exists() -> None:
    """The table names nothing twice, and nothing that is not there."""
    members = [name for _, names in LAYERS for name in names.split()]
    assert len(members) == len(set(members))
    assert {name.removesuffix(".*") for name in members} <= NAMES


def allowed_in(name: str) -> frozenset[str]:
    """The web tools ask search engines and fetch pages, over the transport that is there anyway; one file embeds."""
    if name == "rag.openai_embeddings":
        return frozenset({"openai"})
    return frozenset({"httpx2"}) if name.startswith("web.") else frozenset()


def test_only_providers_import_sdks() -> None:
    """A change of SDK touches one file."""
    wrong = [
        f"{shown(path, found.line)} imports {found.target}"
        for path in sources()
        if not module_name(path).startswith(("providers.", "testing"))
        for found in imports(path)
        if found.target.split(".")[0] in SDKS - allowed_in(module_name(path)) and not found.typing_only
    ]
    assert not wrong, "\n".join(wrong)


def test_costly_imports_wait_for_their_first_use() -> None:
    """`from toolsmith import Agent, tool` loads pydantic and nothing heavier."""
    import sys

    cheap = sys.stdlib_module_names | CHEAP | {"toolsmith"}
    wrong = [
        f"{shown(path, found.line)} imports {found.target} when it is loaded"
        for path in sources()
        if not module_name(path).startswith(LOADED_ON_DEMAND)
        for found in imports(path)
        if found.target.split(".")[0] not in cheap and not found.typing_only and not found.deferred
    ]
    assert not wrong, "\n".join(wrong)


def test_the_old_transport_is_not_used() -> None:
    """Both SDKs run on httpx2; objects of the old `httpx` make them raise."""
    files = [*sources(), *(ROOT / "tests").glob("*.py"), *(ROOT / "examples").rglob("*.py")]
    wrong = [
        f"{shown(path, found.line)} imports {found.target}"
        for path in files
        for found in imports(path)
        if found.target.split(".")[0] == "httpx"
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("path", sources(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_files_and_functions_stay_short(path: Path) -> None:
    """At most 400 lines a file and 50 a function, docstring included."""
    lines = len(path.read_text(encoding="utf-8").splitlines())
    assert lines <= MAX_FILE_LINES, f"{lines} lines: split the file along its nouns"
    long = [
        f"{shown(path, node.lineno)} {node.name}: {size} lines"
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (size := (node.end_lineno or node.lineno) - node.lineno + 1) > MAX_FUNCTION_LINES
    ]
    assert not long, "\n".join(long)


@pytest.mark.parametrize("path", sources(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_modules_are_named_for_what_they_hold(path: Path) -> None:
    """A module called `utils` has room for everything, and gets it."""
    vague = {"util", "utils", "helper", "helpers", "manager", "managers", "base", "common", "misc", "core", "types"}
    assert path.stem.strip("_") not in vague


@pytest.mark.parametrize("path", sources(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_modules_say_what_they_are_for(path: Path) -> None:
    doc = ast.get_docstring(parsed(path))
    assert doc, f"{path.relative_to(ROOT)} has no docstring"


def test_what_a_model_reads_is_written_in_one_place() -> None:
    """The error of a `ToolResult` comes from `_feedback`: no other module words one itself."""
    wrong: list[str] = []
    for path in sources():
        if module_name(path) == "_feedback" or module_name(path).startswith("testing"):
            continue
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "ToolResult":
                texts = [*node.args[2:3], *(k.value for k in node.keywords if k.arg == "error")]
                if any(isinstance(t, ast.JoinedStr) or (isinstance(t, ast.Constant) and t.value) for t in texts):
                    wrong.append(shown(path, node.lineno))
    assert not wrong, "\n".join(wrong)


def test_the_library_never_prints() -> None:
    """Standard output belongs to the program; the library has a log and events."""
    wrong = [
        shown(path, node.lineno)
        for path in sources()
        if not module_name(path).startswith(("cli", "__main__"))
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    ]
    assert not wrong, "\n".join(wrong)
