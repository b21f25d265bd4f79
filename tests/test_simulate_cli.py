"""`toolsmith simulate`: what it prints where, and what its exit codes mean.

Rules guarded: standard output has the report and nothing else; nothing is executed; a text that fails its grade fails
the command; every wrong word on the command line is one message and exit code 2.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from own_modules import forgotten

from toolsmith.cli import main
from toolsmith.testing import MISTAKES

DESK = '''
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from toolsmith import Agent, ToolRegistry, tool


@tool
def book(
    city: Annotated[str, Field(min_length=2)],
    nights: Annotated[int, Field(ge=1, le=14)] = 1,
    room: Literal["single", "double"] = "single",
) -> None:
    """Book a room."""
    raise SystemExit("it was called")


@tool
def note(text: str) -> None:
    """Note something."""
    raise SystemExit("it was called")


def odd(number: int) -> int:
    if number % 2 == 0:
        raise ValueError("Sorry, the ValueError is yours.")
    return number


@tool
def rude(number: Annotated[int, AfterValidator(odd)]) -> None:
    """Has a check with bad manners."""


def never(text: str) -> str:
    if text != "sesame":
        raise ValueError("Say the word.")
    return text


@tool
def door(word: Annotated[str, AfterValidator(never)]) -> None:
    """Open."""


registry = ToolRegistry([book, note])
agent = Agent("local:smollm2", tools=[book, note])
'''


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    (tmp_path / "desk.py").write_text(DESK, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    with forgotten(tmp_path):
        yield tmp_path


Ran = tuple[int, str, str]


def run(capfd: pytest.CaptureFixture[str], *words: str) -> Ran:
    code = main(["simulate", *words])
    out, err = capfd.readouterr()
    return code, out, err


def lines(out: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.splitlines()]


def test_it_shows_each_mistake_with_the_text_and_its_grade(desk: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """For people: what is sent, what the model would read, what does not apply; the function is not called."""
    code, out, err = run(capfd, "desk:book")
    assert code == 0, err
    assert out.startswith("book, with arguments in its own form\n")
    assert (
        "  near-enum: sends a value that is nearly one of the set  [told, passes]\n"
        '    book({"city": "example", "nights": 1, "room": "sinle"})\n'
        '    `book` was not run. `room` must be "single" or "double"; you sent "sinle". Did you mean "single"? '
        "Correct this and call `book` again.\n"
    ) in out
    assert "  enum-case: writes one of the set in another case  [mended, passes]\n" in out
    assert "  date-format: does not apply, only where there is a date, a time or a duration\n" in out
    assert re.search(r"\d+ mistakes sent: \d+ told, \d+ mended; no texts fail the grade\.\n$", out)
    for mistake in MISTAKES:
        assert f"  {mistake.name}: " in out


def test_every_place_can_be_shown(desk: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A mistake has several places; one is shown unless asked otherwise."""
    _, out, _ = run(capfd, "desk:book", "--mistake", "null")
    assert out.count("null: ") == 1
    assert "... and 2 more" in out
    _, out, _ = run(capfd, "desk:book", "--mistake", "null", "--every-place")
    assert out.count("null: ") == 3
    assert "more, at" not in out


def test_json_lines(desk: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """One object a line; the last is the account."""
    code, out, _ = run(capfd, "desk:registry", "--json", "--provider", "openai", "--strict")
    assert code == 0
    *told, end = lines(out)
    answers = [t for t in told if t["event"] == "answer"]
    assert {a["tool"] for a in answers} == {"book", "note"}
    assert {a["form"] for a in answers} == {"OpenAI strict"}
    assert end == {"event": "end", "exit_code": 0, "answers": len(answers), "failed": 0, "taken": 1}
    (meant,) = [a for a in answers if a["mistake"] == "null" and '"nights": null' in a["sent"]]
    assert (meant["outcome"], meant["text"]) == ("meant", "")
    assert {"event": "not_applicable", "tool": "note", "mistake": "near-enum"} in told


def test_a_mistake_that_is_taken_fails_only_if_asked(desk: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """`note` takes an empty text: that is a question of its schema, and told."""
    code, out, _ = run(capfd, "desk:note")
    assert code == 0
    assert "`text` may be empty: Field(min_length=1) would catch it" in out
    assert run(capfd, "desk:note", "--catch-all")[0] == 1
    assert run(capfd, "desk:book", "--catch-all")[0] == 0


def test_a_text_that_fails_fails_the_command(desk: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """The words of a validator reach the model, and are graded."""
    code, out, _ = run(capfd, "desk:rude")
    assert code == 1
    assert "[told, FAILS: class name, apology]" in out
    assert "text fails the grade" in out or "texts fail the grade" in out
    code, out, _ = run(capfd, "desk:rude", "--json")
    assert code == 1
    assert lines(out)[-1]["failed"] > 0


def test_without_valid_arguments(desk: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """It says that none could be made, and why; given ones are taken."""
    code, out, _ = run(capfd, "desk:door")
    assert code == 1
    assert "No valid arguments could be made of its schema" in out
    assert "Say the word." in out
    assert "--arguments JSON" in out
    code, out, _ = run(capfd, "desk:door", "--arguments", '{"word": "sesame"}')
    assert code == 0
    code, _, err = run(capfd, "desk:door", "--arguments", '{"word": "open"}')
    assert code == 2
    assert "not accepted themselves" in err


def test_of_an_agent_and_of_one_tool(desk: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """An agent's tools; its model is not asked."""
    code, out, _ = run(capfd, "desk:agent", "--tool", "note", "--mistake", "unknown-tool")
    assert code == 0
    assert out.startswith("note, with")
    assert "book, with" not in out
    assert "The tools are `book` and `note`." in out


def test_the_list(capfd: pytest.CaptureFixture[str]) -> None:
    """All mistakes with their sources, for people and for machines."""
    code, out, _ = run(capfd, "--list")
    assert code == 0
    assert "near-enum        sends a value that is nearly one of the set\n" in out
    assert "seen in 567-labs/instructor#77\n" in out
    _, out, _ = run(capfd, "--list", "--json")
    assert [m["name"] for m in lines(out)] == [m.name for m in MISTAKES]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "Name a tool"),
        (["desk:bok"], "has no 'bok'. Did you mean 'book'?"),
        (["desk:book", "--tool", "bok"], "There is no tool 'bok'; there are: book."),
        (["desk:book", "--mistake", "nul"], "There is no mistake 'nul'"),
        (["desk:book", "--strict"], "name one with `provider` (--provider)"),
        (["desk:book", "--arguments", "{'city': 1}"], "--arguments is no JSON"),
        (["desk:book", "--arguments", "[1]"], "must be a JSON object"),
        (["desk:registry", "--arguments", "{}"], "are for one tool"),
        (["desk:odd", "desk:odd"], "given twice"),
    ],
)
def test_wrong_words(desk: Path, capfd: pytest.CaptureFixture[str], words: list[str], told: str) -> None:
    """One message, on standard error; machines get it as the end."""
    code, out, err = run(capfd, *words)
    assert (code, out) == (2, "")
    assert told in err
    assert "Traceback" not in err
    code, out, _ = run(capfd, *words, "--json")
    assert lines(out)[-1]["exit_code"] == code == 2


def test_as_a_command(desk: Path) -> None:
    """In a process of its own; what a module prints goes to standard error; the help says that nothing is executed."""
    (desk / "desk.py").write_text(f'print("noise while importing")\n{DESK}', encoding="utf-8")
    command = [sys.executable, "-W", "error", "-m", "toolsmith", "simulate"]
    done = subprocess.run([*command, "desk.py:book"], capture_output=True, text=True, check=False, cwd=desk)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("passes]") > 12
    assert "noise" not in done.stdout
    assert "noise while importing" in done.stderr
    helped = subprocess.run([*command, "--help"], capture_output=True, text=True, check=True)
    assert "No tool is executed" in helped.stdout
