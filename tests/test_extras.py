"""Packages that only parts need: what an error advises to install is what brings that package.

Rule guarded: each extra that the code or a page names is one of pyproject.toml, and has the package that is missing.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from toolsmith import ConfigError, _extras
from toolsmith.providers._local.engine import INSTALL

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]


def packages(extra: str) -> set[str]:
    """Names of the packages that an extra brings, as pip takes them."""
    return {name[0] for needed in EXTRAS[extra] if (name := re.match(r"[\w.-]+(\[[\w,-]+\])?", needed))}


def loads() -> Iterator[tuple[str, str, str]]:
    """Each `_extras.load` of the code: its place, the package, the extra."""
    for path in sorted((ROOT / "toolsmith").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.Call(ast.Attribute(ast.Name("_extras"), "load"), [ast.Constant(str(module))], keywords):
                    given = {k.arg: k.value.value for k in keywords if isinstance(k.value, ast.Constant)}
                    package = given.get("package", module.partition(".")[0])
                    yield f"{path.relative_to(ROOT)}:{node.lineno}", str(package), str(given["extra"])
                case _:
                    pass


def test_each_extra_has_the_package() -> None:
    found = list(loads())
    assert len(found) >= 8
    wrong = [(place, package, extra) for place, package, extra in found if package not in packages(extra)]
    assert not wrong


def test_each_extra_that_is_named_is_there() -> None:
    """In the code and on the pages, with the name that the project has on the package index."""
    texts = [*(ROOT / "toolsmith").rglob("*.py"), *(ROOT / "docs").glob("*.md"), ROOT / "README.md"]
    named = {
        (path.name, extra)
        for path in texts
        for extras in re.findall(r"toolsmith(?:-agents)?\[([a-z, -]+)\]", path.read_text(encoding="utf-8"))
        for extra in re.split(r"[, ]+", extras)
    }
    assert ("engine.py", "local") in named
    assert not [one for one in named if one[1] not in EXTRAS]
    assert PROJECT["name"] == "toolsmith-agents"
    assert INSTALL[0] == f'pip install "{PROJECT["name"]}[local]"'
    assert {"xllamacpp", "wordllama", "tokenizers", "safetensors", "numpy"} <= packages("local")


@pytest.mark.parametrize(("package", "alone"), [("no-such", "no-such"), ("no-such[all]", '"no-such[all]"')])
def test_the_error_says_how_to_install_it(package: str, alone: str) -> None:
    with pytest.raises(ConfigError) as caught:
        _extras.load("no_such_module.part", extra="rag", purpose="Reading", package=package)
    assert str(caught.value) == (
        f'Reading needs the package {package!r}: pip install "toolsmith-agents[rag]" (or pip install {alone}).'
    )
