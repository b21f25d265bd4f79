"""What `from toolsmith import Agent, tool` loads. How long that takes is measured by benchmarks/import_cost.py."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

HEAVY = frozenset(
    {
        "anthropic",
        "openai",
        "httpx",
        "httpx2",
        "httpcore2",
        "anyio",
        "tenacity",
        "jsonschema",
        "docstring_parser",
        "rich",
        "numpy",
        "tokenizers",
        "safetensors",
        "wordllama",
        "xllamacpp",
        "llguidance",
        "attrs",
        "attr",
        "msgspec",
    }
)
"""Each costs more than the names of toolsmith, and most programs need a few of them."""

SCHEMAS = frozenset({"pydantic", "pydantic_core", "annotated_types", "asyncio", "ssl", "logging"})
"""Needed as soon as there is a tool; a module that only names `Agent` and `tool` does not pay for them."""


def loaded(code: str) -> set[str]:
    """The modules that a fresh interpreter has loaded after some code."""
    report = f"import json, sys\n{code}\nprint(json.dumps(sorted(sys.modules)))"
    # "-S" would be cleaner, but hides the packages; what site itself loads is taken off.
    done = subprocess.run([sys.executable, "-c", report], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout.splitlines()[-1]))


@pytest.fixture(scope="module")
def before() -> set[str]:
    return loaded("pass")


def test_the_names_alone_load_no_schemas(before: set[str]) -> None:
    """What keeps `from toolsmith import Agent, tool` below the cost of `import pydantic`."""
    roots = {name.split(".")[0] for name in loaded("from toolsmith import Agent, tool") - before}
    assert not roots & (HEAVY | SCHEMAS)


@pytest.mark.parametrize(
    "code",
    [
        "from toolsmith import *",
        "from toolsmith import Agent\nAgent('anthropic:claude-opus-5-5')",
        "from toolsmith import tool\n@tool\ndef add(a: int, b: int = 2) -> int:\n    return a + b\nadd.input_schema",
        "from toolsmith.config import find_model\nfind_model('openai:x')",
    ],
)
def test_no_sdk_and_nothing_heavy_is_loaded(code: str, before: set[str]) -> None:
    """A tool without a documented parameter, and an agent that has not run yet, need no SDK and no parser."""
    roots = {name.split(".")[0] for name in loaded(code) - before}
    assert not roots & HEAVY


def test_the_package_alone_loads_next_to_nothing(before: set[str]) -> None:
    """`import toolsmith` is for `__version__` too."""
    new = {n for n in loaded("import toolsmith") - before if n.split(".")[0] not in sys.stdlib_module_names}
    assert new == {"toolsmith"}


def test_events_and_errors_need_no_pydantic(before: set[str]) -> None:
    """An observer, or an `except`, does not pay for schemas."""
    new = loaded("from toolsmith import ToolsmithError, ToolResultReady, Limits, Usage") - before
    assert "pydantic" not in new


def test_the_command_line_answers_questions_about_itself_at_once(before: set[str]) -> None:
    code = "from toolsmith.cli import main\ntry:\n    main(['--version'])\nexcept SystemExit:\n    pass"
    roots = {name.split(".")[0] for name in loaded(code) - before}
    assert not roots & (HEAVY | {"pydantic"})
