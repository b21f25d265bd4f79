"""The public names: complete, lazy, and the same to Python, to type checkers and to readers."""

from __future__ import annotations

import ast
import copy
import importlib
import inspect
import pickle
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import get_args

import pytest

import toolsmith
from toolsmith import (
    ConfigError,
    DefinitionError,
    Limits,
    Message,
    ModelRetry,
    ModelSettings,
    ProviderError,
    RunError,
    Text,
    ToolCall,
    ToolError,
    ToolResult,
    ToolsmithError,
    Usage,
    events,
)

ROOT = Path(__file__).parent.parent
SOURCE = Path(toolsmith.__file__)


def typed_names() -> dict[str, str]:
    """name -> module, as the `TYPE_CHECKING` block tells it to type checkers."""
    (block,) = [n for n in ast.parse(SOURCE.read_text()).body if isinstance(n, ast.If)]
    return {
        alias.name: statement.module or ""
        for statement in block.body
        if isinstance(statement, ast.ImportFrom)
        for alias in statement.names
    }


def run(code: str) -> str:
    """What a fresh interpreter prints."""
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("name", toolsmith.__all__)
def test_each_public_name_resolves(name: str) -> None:
    assert getattr(toolsmith, name) is not None


def test_type_checkers_see_what_python_gives() -> None:
    """The lazy table, the typed imports and `__all__` are three lists of one thing."""
    typed = typed_names()
    assert set(typed) | {"__version__"} == set(toolsmith.__all__)
    for name, module in typed.items():
        assert getattr(toolsmith, name) is getattr(importlib.import_module(module), name), name


def test_every_event_is_exported() -> None:
    """An observer matches on them."""
    names = {kind.__name__ for kind in get_args(events.Event)}
    assert names <= set(toolsmith.__all__)
    assert names == {n for n, v in vars(events).items() if inspect.isclass(v) and v.__module__ == events.__name__}


def test_all_names_nothing_twice() -> None:
    """Its order is ruff's."""
    assert len(toolsmith.__all__) == len(set(toolsmith.__all__))


def test_dir_shows_names_that_are_not_loaded_yet() -> None:
    assert run("import toolsmith; print(set(toolsmith.__all__) <= set(dir(toolsmith)))") == "True"


def test_star_import() -> None:
    assert run("from toolsmith import *\nprint(callable(tool), Agent.__name__, __version__)").startswith("True Agent")


def test_unknown_name() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Agnet'"):
        toolsmith.Agnet  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(ImportError):
        exec("from toolsmith import Agnet")


@pytest.mark.parametrize(
    "code",
    [
        "from toolsmith import Agent, tool",
        "from toolsmith import tool, Agent",
        "import toolsmith.tool; from toolsmith import tool",
        "from toolsmith.tool import Tool; from toolsmith import tool",
        "import toolsmith.agent; from toolsmith import tool",
        "import importlib; importlib.import_module('toolsmith.tool'); from toolsmith import tool",
        "import toolsmith; toolsmith.Agent; tool = toolsmith.tool",
    ],
)
def test_tool_is_the_decorator_whatever_was_imported_before(code: str) -> None:
    """There is a module of the same name, which the import system would put in its place."""
    assert run(f"{code}\nprint(type(tool).__name__, tool.__module__)") == "function toolsmith._decorator"


def test_modules_keep_their_own_name() -> None:
    assert isinstance(toolsmith, ModuleType)
    assert toolsmith.__name__ == "toolsmith"
    assert importlib.reload(toolsmith).__version__ == toolsmith.__version__


def test_every_public_class_and_function_has_a_docstring() -> None:
    bare = [
        name
        for name in toolsmith.__all__
        if (inspect.isclass(value := getattr(toolsmith, name)) or inspect.isfunction(value))
        # A dataclass without a docstring is given its signature.
        and ((value.__doc__ or "").strip() == "" or (value.__doc__ or "").startswith(f"{name}("))
    ]
    assert not bare


def test_errors_form_one_tree() -> None:
    """`except ToolsmithError` catches all."""
    for error in (ConfigError, DefinitionError, RunError, ProviderError, ToolError, ModelRetry):
        assert issubclass(error, ToolsmithError)
    assert issubclass(ProviderError, RunError)
    assert issubclass(ModelRetry, ToolError)


@pytest.mark.parametrize(
    "value",
    [
        Limits(turns=3),
        ModelSettings(model="openai:x", api_key="k"),
        Usage(1, 2),
        ToolResult(True, data={"a": [1]}),
        ToolCall("1", "add", "{}"),
        Message("user", (Text("hello"),)),
    ],
    ids=lambda v: type(v).__name__,
)
def test_values_can_be_copied_and_pickled(value: object) -> None:
    """Histories and settings go through queues and process pools."""
    assert pickle.loads(pickle.dumps(value)) == value
    assert copy.deepcopy(value) == value


@pytest.mark.parametrize(
    "error",
    [
        ConfigError(["one", "two"]),
        DefinitionError("one"),
        RunError("ended", messages=[Message("user", (Text("hello"),))], usage=Usage(1, 2)),
        ProviderError("down", category="overloaded", provider="openai:x", status=529, retry_after=2.0),
        ToolError("no", hint="try", use="other", args={"a": 1}),
        ModelRetry("again"),
    ],
    ids=lambda e: type(e).__name__,
)
def test_errors_can_be_pickled(error: ToolsmithError) -> None:
    """An exception in a worker process reaches the one who waits, with all it carries."""
    back = pickle.loads(pickle.dumps(error))
    assert type(back) is type(error)
    assert str(back) == str(error)
    assert vars(back) == vars(error)


def test_version_is_the_top_entry_of_the_changelog() -> None:
    found = re.search(r"^## \[?(\d[^\]\s]*)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert found is not None
    assert found[1] == toolsmith.__version__


def test_the_package_is_marked_as_typed() -> None:
    assert (SOURCE.parent / "py.typed").is_file()
