"""The harness of the benchmarks: what it keeps, what it says of where figures come from, and what failed.

Little is measured here: the derivation by hand, in an environment that is this one.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

PROJECT = Path(__file__).resolve().parents[1]
KEPT = ("benchmarks/results.json", "benchmarks/RESULTS.md", "docs/speed.md")
pytestmark = pytest.mark.skipif(
    not (PROJECT / "benchmarks" / "run.py").exists(), reason="the benchmarks are not part of this distribution"
)
MINE = """
from peers.raw import DISTS, IMPORT, INSTALL, WIRES, Session, caller

NAME = "my own loop"


def derive(fn):
    raise RuntimeError("broken on purpose")
"""


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The benchmarks and their pages, with environments for two sides that are this Python."""
    unwanted = shutil.ignore_patterns(".work", "__pycache__", "*_tuning.json")
    shutil.copytree(PROJECT / "benchmarks", tmp_path / "benchmarks", ignore=unwanted)
    shutil.copytree(PROJECT / "docs", tmp_path / "docs")
    for side in ("raw", "mine"):
        python = tmp_path / "work" / "venvs" / side / "bin" / "python"
        python.parent.mkdir(parents=True)
        python.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} "$@"\n', encoding="utf-8")
        python.chmod(0o755)
        (python.parents[1] / ".installed").touch()
    return tmp_path


def command(copy: Path, script: str, *arguments: str) -> list[str]:
    work = ("--work", str(copy / "work")) if script == "run.py" else ()
    return [sys.executable, str(copy / "benchmarks" / script), *arguments, *work]


def ran(copy: Path, script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(copy, script, *arguments), capture_output=True, text=True, timeout=100, check=False)


def kept(copy: Path) -> list[str]:
    return [(copy / name).read_text(encoding="utf-8") for name in KEPT]


def known(copy: Path) -> dict[str, Any]:
    return json.loads((copy / KEPT[0]).read_text(encoding="utf-8"))


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Any]:
    monkeypatch.setattr(sys, "path", [str(PROJECT / "benchmarks"), *sys.path])
    return import_module


@pytest.fixture
def figures() -> dict[str, Any]:
    return json.loads((PROJECT / KEPT[0]).read_text(encoding="utf-8"))


# ---- the program


@pytest.mark.parametrize(
    ("script", "arguments", "words"),
    [
        ("run.py", "--only", "expected at least one argument"),
        ("run.py", "--sides", "expected at least one argument"),
        ("run.py", "--rounds 0", "'0' is no number of at least 1"),
        ("run.py", "--only thousand --sides agno", "the stage thousand measures none of these sides"),
        ("import_cost.py", "--runs 0", "'0' is no number of at least 1"),
        ("contract.py", "--rounds 0", "'0' is no number of at least 1"),
        ("loop.py", "--rounds 0", "'0' is no number of at least 1"),
        ("soak.py", "--runs 0", "'0' is no number of at least 1"),
        ("soak.py", "--api", "expected at least one argument"),
    ],
)
def test_wrong_arguments_are_told(script: str, arguments: str, words: str) -> None:
    """In a line, with exit code 2, before anything is measured or written."""
    done = ran(PROJECT, script, *arguments.split())
    assert done.returncode == 2
    assert words in done.stderr.splitlines()[-1]


@pytest.mark.parametrize(("text", "words"), [(None, "cannot be read"), ("{", "is no JSON"), ("[]", "holds no figures")])
def test_a_report_without_figures_is_an_error_in_a_line(copy: Path, text: str | None, words: str) -> None:
    """And `--into` needs figures into which it could put more; the pages stay."""
    path = copy / KEPT[0]
    path.unlink() if text is None else path.write_text(text, encoding="utf-8")
    before = [(copy / name).read_bytes() for name in KEPT[1:]]
    for arguments in (["--report"], ["--into", "--only", "derive", "--sides", "raw"]):
        done = ran(copy, "run.py", *arguments)
        assert done.returncode == 1
        assert words in done.stderr
        assert len(done.stderr.splitlines()) == 1
    assert [(copy / name).read_bytes() for name in KEPT[1:]] == before


def test_a_choice_is_printed_and_changes_no_page(copy: Path) -> None:
    """A side is one module in peers/, and is in the table at once; where one fails, that is said at the end."""
    (copy / "benchmarks" / "peers" / "mine.py").write_text(MINE, encoding="utf-8")
    before = kept(copy)
    done = ran(copy, "run.py", "--only", "derive", "--sides", "raw", "mine", "--rounds", "1")
    assert done.returncode == 1, done.stderr
    head, first = (line.split("  ") for line in done.stdout.splitlines() if line.startswith(("what", "derive a tool")))
    assert [words.strip() for words in head if words] == [
        "what", "API", "by hand", "my own loop", "of by hand", "wanted", "met",
    ]  # fmt: skip
    assert "failed" in [words.strip() for words in first]
    assert done.stdout.splitlines()[-1].endswith(
        "my own loop failed in the stage derive: RuntimeError: broken on purpose"
    )
    assert kept(copy) == before
    last = json.loads((copy / "work" / "last.json").read_text(encoding="utf-8"))
    assert set(last["derive"]) == {"raw", "mine"}


def test_an_interrupted_measurement_keeps_what_had_ended_and_what_was_there(copy: Path) -> None:
    """One line and exit code 130; with `--into` the stage that had ended is in the figures and on the pages."""
    before = known(copy)
    arguments = ["--only", "derive", "blocking", "--sides", "raw", "--rounds", "1", "--into"]
    with subprocess.Popen(
        command(copy, "run.py", *arguments),
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
    ) as running:  # fmt: skip
        assert running.stdout is not None
        for line in running.stdout:
            if "derive: round 1" in line:
                break
        while known(copy) == before:  # it is written after it is told
            assert running.poll() is None
        os.killpg(running.pid, signal.SIGINT)
        rest = running.stdout.read().splitlines()
    assert running.returncode == 130, rest
    assert [line[9:] for line in rest] == ["interrupted: stages that had ended are kept"]
    after = known(copy)
    assert set(after["measured"]) == {"derive"}
    assert {*after["measured"]["derive"]["raw"]} == {"date", "commit", "rounds", "load", "python", "machine"}
    assert len(after["derive"]["raw"][""]) == 1
    for found in (before, after):
        found["derive"].pop("raw")
        found["versions"].pop("raw")
        found.pop("measured", None)
    assert after == before


def test_an_environment_whose_python_is_gone_is_made_anew(copy: Path) -> None:
    """Here that fails, for nothing can be installed: a message, and the figures stay."""
    (copy / "work" / "venvs" / "raw" / "bin" / "python").unlink()
    before = kept(copy)
    side = copy / "benchmarks" / "peers" / "raw.py"
    text = side.read_text(encoding="utf-8")
    side.write_text(text.replace('INSTALL = ["openai"', 'INSTALL = ["./there-is-no-such-folder"'), encoding="utf-8")
    done = ran(copy, "run.py", "--only", "derive", "--sides", "raw", "--into")
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1].endswith("install raw")
    assert done.stderr.startswith("raw could not be installed into ")
    assert "Traceback" not in done.stderr
    assert kept(copy) == before


def test_a_module_that_lacks_something_is_named(copy: Path) -> None:
    (copy / "benchmarks" / "peers" / "mine.py").write_text("NAME = 'mine'\n", encoding="utf-8")
    done = ran(copy, "run.py", "--report")
    assert done.returncode == 1
    assert "mine.py has no INSTALL, DISTS, IMPORT, WIRES, derive, caller, Session" in done.stderr


# ---- what is kept, and the pages


ORIGIN = {
    "date": "2026-12-24",
    "commit": "abc1234+",
    "load": "0.5",
    "machine": "a machine",
    "python": {"agno": "3.11.9"},
}


def test_a_stage_replaces_its_own_figures_alone(module: Callable[[str], Any], figures: dict[str, Any]) -> None:
    """The page then names both days, and what was measured when; old files have the day of all in one place."""
    before = json.loads(json.dumps(figures))
    fresh = {"agno": {"": [{"100": 1.0, "1000": 1.0}] * 2}}
    module("figures").merge(figures, "derive", fresh, {"agno": {"agno": "9"}}, ORIGIN, keep=True)
    assert figures["derive"]["agno"] == fresh["agno"]
    assert figures["measured"]["derive"]["agno"] == ORIGIN | {"python": "3.11.9", "rounds": 2}
    page = module("report").page(figures)
    oldest = figures["about"]["date"] if "about" in figures else None
    assert "to 2026-12-24 by" in page
    assert oldest is None or f"Measured from {oldest} to" in page
    assert "| derive | agno | 2026-12-24 | abc1234+ | 2 | 0.5 |" in page
    figures["derive"]["agno"], figures["versions"]["agno"] = before["derive"]["agno"], before["versions"]["agno"]
    assert {name: figures[name] for name in before if name != "measured"} == {
        name: before[name] for name in before if name != "measured"
    }


def test_what_fails_does_not_take_the_place_of_a_figure_unless_all_is_measured(
    module: Callable[[str], Any], figures: dict[str, Any]
) -> None:
    """With all measured the row stays and says so; it counts as a target that is missed."""
    merge, report = module("figures").merge, module("report")
    fresh = {"toolsmith": {"": [{"failed": "Traceback\nRuntimeError: broken\n"}]}}
    origin = ORIGIN | {"python": {"toolsmith": "3.11.9"}}
    before = json.loads(json.dumps(figures))
    merge(figures, "call", fresh, {"toolsmith": {}}, origin, keep=True)
    assert figures == before
    merge(figures, "call", fresh, {"toolsmith": {}}, origin, keep=False)
    rows = {line.name: line for line in report.lines(figures)}
    row = rows["a call, 2 arguments, async"]
    assert (row.ours, row.met) == ("failed", "**no**")
    assert "- toolsmith failed in the stage call: `RuntimeError: broken`" in report.page(figures)


def test_figures_of_runs_that_failed_are_marked(module: Callable[[str], Any], figures: dict[str, Any]) -> None:
    """A side is no best other where runs of it failed, however quick they were."""
    sample = {"seconds": 0.001, "failed": 461, "error": ["x"], "KB a run": 1.0}
    figures["1,000 at once"]["agno"] = {"chat": [sample]}
    report = module("report")
    row = next(line for line in report.lines(figures) if (line.name, line.api) == ("1,000 runs at once", "Chat"))
    assert "(agno)" not in row.other
    assert "| agno | 1.00 ms" not in report.page(figures)
    assert "| agno | 0.00 s, 461 runs failed |" in report.page(figures)


@pytest.mark.parametrize(
    "left", [{"import": ["toolsmith_plain"]}, {"derive": ["raw"]}, {"cold": ["agno", "toolsmith"]}]
)
def test_few_figures_make_a_report_that_says_what_is_missing(
    module: Callable[[str], Any], figures: dict[str, Any], left: dict[str, list[str]]
) -> None:
    [(stage, sides)] = left.items()
    found = {name: figures[name] for name in ("about", "versions", "measured") if name in figures}
    found[stage] = {side: figures[stage][side] for side in sides}
    page = module("report").page(found)
    missing = [name for name in module("figures").stages(figures) if name != stage]
    assert "\n\nNot measured: " in page
    assert all(name in page.partition("Not measured: ")[2].partition("\n")[0] for name in missing)


def test_the_growth_of_a_turn_is_that_of_the_plot(module: Callable[[str], Any], figures: dict[str, Any]) -> None:
    """A ratio of two medians, not a median of ratios; with the lowest and the highest round beside it."""
    samples = [{"200 turns": {"seconds": [1.0], "by turn": {"10": a, "200": b}}} for a, b in ((1, 1), (2, 3), (1, 4))]
    figures["200 turns"]["toolsmith"]["chat"] = samples
    row = next(line for line in module("report").lines(figures) if line.name.startswith("a turn at 200"))
    assert (row.api, row.ours, row.rounds) == ("Chat", "3 x", "1–4")


def test_rows_without_the_extra_are_marked_and_counted(module: Callable[[str], Any], figures: dict[str, Any]) -> None:
    """Whoever installs toolsmith alone finds what holds for that."""
    report = module("report")
    marked = {line.name for line in report.lines(figures) if line.name.endswith("(1)")}
    assert marked == {"program start to answer (1)", "import (1)"}
    for text in report.pages(figures).values():
        if "| import (1) |" in text:
            assert "\n\n(1) toolsmith as it is installed without the extra aiohttp" in text
            assert "\n\nWithout the extra aiohttp " in text


def test_the_order_of_sides_is_kept(module: Callable[[str], Any]) -> None:
    assert list(module("sides").NAMES) == [
        "raw", "sketch", "toolsmith", "toolsmith_plain", "pydantic_ai", "openai_agents", "langchain", "agno",
        "openai_runner", "anthropic_runner",
    ]  # fmt: skip
