"""`toolsmith rag`: what it prints where, and what its exit codes mean."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from toolsmith.cli import main


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with two documents in it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "guide.md").write_text("# Guide\n\n## Install\n\nRun the installer with sudo.\n")
    (tmp_path / "docs" / "shop.md").write_text("The shop opens at nine.\n")
    return tmp_path


def rag(*words: str) -> int:
    return main(["rag", *words, "--words-only"])


def test_add_search_stats_remove(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    """The index stands in the current folder; a second time nothing is read."""
    assert rag("add", "docs") == 0
    assert capsys.readouterr().out == "2 added, 0 unchanged; 2 passages written\n"
    assert (folder / ".toolsmith" / "rag.sqlite3").is_file()
    assert rag("add", "docs") == 0
    assert capsys.readouterr().out == "0 added, 2 unchanged; 0 passages written\n"
    assert rag("search", "how", "is", "it", "installed?") == 0
    assert capsys.readouterr().out == (
        "[docs-1] docs/guide.md, Guide > Install, line 5 (0.83)\n    Run the installer with sudo.\n"
    )
    assert rag("stats") == 0
    assert capsys.readouterr().out.startswith("bucket docs: 2 documents, 2 passages (0 with a vector), 51 characters;")
    assert rag("remove", "docs/guide.md", "none.md") == 1
    assert capsys.readouterr().out == "removed: docs/guide.md\nnot there: none.md\n"
    assert rag("search", "installer") == 1
    assert capsys.readouterr().err == "Nothing was found.\n"


def test_for_machines(capsys: pytest.CaptureFixture[str]) -> None:
    assert rag("add", "docs", "none.pdf", "--json", "--metadata", "lang=en", "--metadata", "year=2024") == 1
    account = json.loads(capsys.readouterr().out)
    assert account["added"] == ["docs/guide.md", "docs/shop.md"]
    assert account["failed"][0]["source"] == "none.pdf"
    assert account["exit_code"] == 1
    assert (
        rag("search", "shop", "--json", "--where", "lang=en,de", "--where", "year>=2024", "--where", "year<2025") == 0
    )
    hit = json.loads(capsys.readouterr().out)
    assert (hit["source"], hit["metadata"]) == ("docs/shop.md", {"lang": "en", "year": 2024})
    assert rag("search", "shop", "--json", "--where", "year!=2024") == 1
    assert capsys.readouterr().out == ""
    assert rag("stats", "--json") == 0
    assert json.loads(capsys.readouterr().out)["sources"] == ["docs/guide.md", "docs/shop.md"]


def test_what_failed_is_named_and_the_code_says_so(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    """Names of files cannot steer the terminal."""
    (folder / "docs" / "bad\x1b[31m.txt").write_bytes(bytes(100))
    assert rag("add", "docs", "-q") == 1
    assert capsys.readouterr().out == "failed: docs/bad\\x1b[31m.txt: it holds binary data, not text\n"


def test_a_misspelt_folder_is_no_text(capsys: pytest.CaptureFixture[str]) -> None:
    """From Python a word may be a text; here it is a path."""
    assert rag("add", "dosc", "docs/*.md", "my notes", "what is [this] of mine?") == 1
    assert capsys.readouterr().out == (
        "2 added, 0 unchanged, 3 failed; 2 passages written\n"
        "failed: dosc: there is no such file\nfailed: my notes: there is no such file\n"
        "failed: what is [this] of mine?: there is no such file\n"
    )


@pytest.mark.parametrize("name", ["x" * 300, f"{'x' * 300}*", "docs/guide.md/x"])
def test_a_name_that_cannot_be(capsys: pytest.CaptureFixture[str], name: str) -> None:
    """It hurts no other document."""
    assert rag("add", name, "docs") == 1
    said = capsys.readouterr().out
    assert said.startswith("2 added, 0 unchanged, 1 failed; 2 passages written\n")
    assert f"failed: {name}: " in said


def test_nothing_to_add_is_told(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    (folder / "empty").mkdir()
    assert rag("add", "empty") == 0
    assert capsys.readouterr().err == "toolsmith: there is no document in empty, by their names.\n"
    assert rag("add", "docs", "--match", "*.txt") == 0
    assert capsys.readouterr().err == "toolsmith: there is no document in docs that fits *.txt.\n"


def test_what_is_removed_is_a_document(capsys: pytest.CaptureFixture[str]) -> None:
    """A folder, or a misspelt source, leads to those that there are."""
    assert rag("add", "docs") == 0
    capsys.readouterr()
    assert rag("remove", "docs/", "docs/guid.md") == 1
    assert capsys.readouterr().out == (
        "not there: docs/ (name its documents: docs/guide.md, docs/shop.md)\n"
        "not there: docs/guid.md. Did you mean docs/guide.md?\n"
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["add"], "rag add needs files and folders"),
        (["search"], "rag search needs a query"),
        (["search", " ", ""], "the query is empty"),
        (["add", "https://example.com/x"], "is an address"),
        (["search", "x", "--index", ""], "--index is empty"),
        ([], "say what to do: add, search, stats, remove"),
        (["stats", "shop"], "for a bucket: --bucket shop"),
        (["search", "x", "--metadata", "lang=en"], "--where filters a search"),
        (["add", "docs", "--where", "lang=en"], "--metadata gives documents theirs"),
        (["remove", "docs", "--limit", "3"], "--limit is an option of toolsmith rag search"),
        (["add", "docs", "--metadata", "nonsense"], "is no KEY=VALUE"),
        (["add", "docs", "--metadata", "a=1", "--metadata", "a=2"], "'a' is given twice"),
        (["stats", "--bucket", "No Bucket"], "a bucket's name is"),
        (["stats", "--postgres"], "TOOLSMITH_POSTGRES, which is not set"),
        (["search", "x"], "there is no index .toolsmith/rag.sqlite3 in "),
        (["stats", "--index", "typo"], "there is no index typo in "),
    ],
    ids=" ".join,
)
def test_wrong_usage(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    folder: Path,
    words: list[str],
    said: str,
) -> None:
    """Told before anything is made or read."""
    monkeypatch.delenv("TOOLSMITH_POSTGRES", raising=False)
    assert rag(*words) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert said in captured.err
    assert [path.name for path in folder.iterdir()] == ["docs"]


@pytest.mark.parametrize(
    ("filters", "said"),
    [
        (["nonsense"], "is no filter"),
        (["=3"], "is no filter"),
        (["year!3"], "is no filter"),
        (["year>>3"], "there is no operator >>; there are = != < <= > >=. Did you mean year>3?"),
        (["year==3"], "there is no operator ==; there are = != < <= > >=. Did you mean year=3?"),
        (["year=>3"], "Did you mean year>=3?"),
        (["year <> 3"], "Did you mean year!=3?"),
        (["year!==3"], "Did you mean year!=3?"),
        (["year>="], "there is no value"),
        (["lang= "], "there is no value"),
        (["lang=en and year>3"], "Give each with a --where of its own"),
        (["year>3,4"], "> takes one value"),
        (["tag=red,,blue"], "an empty value between commas"),
        (["year>true"], "takes a number or a string"),
        (["tag=red", "tag=blue"], "'tag' has a filter with = already"),
    ],
    ids=" ".join,
)
def test_filters_that_cannot_be(capsys: pytest.CaptureFixture[str], filters: list[str], said: str) -> None:
    """Each is an error that says what is allowed, not a search that finds nothing."""
    rag("add", "docs")
    capsys.readouterr()
    assert rag("search", "shop", *(word for text in filters for word in ("--where", text))) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert said in captured.err


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        (["year=2024"], True),
        (["year >= 2024", "year<2025"], True),
        (["lang!=de,fr"], True),
        (["lang!=de,en"], False),
        (['name="Doe, J."'], True),
        (['mark=">3"'], True),
        (['mark!=">3"'], False),
        (['empty=""'], True),
        (["tag=red"], True),
        (['tag=["green", "blue"]'], True),
        (["tag=green,black"], False),
        (["page=x?a=b"], True),
        (["nan=NaN"], True),
    ],
    ids=str,
)
def test_filters(filters: list[str], found: bool) -> None:
    """Values in JSON are taken as such; a text in double quotes may hold anything."""
    metadata = ["year=2024", "lang=en", "name=Doe, J.", "mark=>3", "empty=", 'tag=["red", "blue"]', "page=x?a=b"]
    assert rag("add", "docs", *(word for text in [*metadata, "nan=NaN"] for word in ("--metadata", text))) == 0
    assert rag("search", "shop", *(word for text in filters for word in ("--where", text))) == (0 if found else 1)


def test_a_bucket_or_a_key_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    """A misspelt name is told with those that there are."""
    assert rag("add", "docs", "--bucket", "shop", "--metadata", "year=2024") == 0
    assert rag("search", "shop", "--bucket", "shpo") == 2
    assert "there is no bucket 'shpo'; there are: shop. Did you mean shop?\n" in capsys.readouterr().err
    for words in (["search", "shop"], ["stats"], ["remove", "docs/shop.md"]):
        assert rag(*words) == 2
        assert "there is no bucket 'docs'; there are: shop. Name one with --bucket.\n" in capsys.readouterr().err
    assert rag("search", "shop", "--bucket", "shop", "--where", "yaer=2024") == 1
    assert capsys.readouterr().err == (
        "Nothing was found: no document has 'yaer' in its metadata; there are: year. Did you mean year?\n"
    )


def test_a_damaged_index(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    (folder / "index").write_bytes(b"no index at all" * 99)
    assert rag("search", "x", "--index", "index", "--json") == 1
    captured = capsys.readouterr()
    assert "is damaged, or no index" in captured.err
    assert json.loads(captured.out)["exit_code"] == 1


def test_help_documents_the_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["rag", "--help"])
    said = capsys.readouterr().out
    assert "exit codes:\n  0    added, found, removed" in said
    assert "  130  interrupted" in said


def test_a_bar_shows_how_far_it_is(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """At a terminal, on standard error; what is for programs stays clean."""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert rag("add", "docs") == 0
    captured = capsys.readouterr()
    assert captured.out == "2 added, 0 unchanged; 2 passages written\n"
    assert "reading" in captured.err
    assert "2/2" in captured.err
    assert rag("add", "docs", "-q") == 0
    assert capsys.readouterr().err == ""


def test_interrupted_while_adding(folder: Path) -> None:
    """Ctrl-C is heard within a large document too, and ends with its code; what was stored stays."""
    assert rag("add", "docs") == 0
    (folder / "large.txt").write_text("\n\n".join(f"Paragraph {n} of a large document." for n in range(2_000_000)))
    command = [sys.executable, "-m", "toolsmith", "rag", "add", "large.txt", "--words-only"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        while not list(folder.glob(".toolsmith/*-wal")) and process.poll() is None:
            time.sleep(0.05)
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        began = time.monotonic()
        _, said = process.communicate(timeout=60)
    assert (process.returncode, said) == (130, "toolsmith: interrupted\n")
    assert time.monotonic() - began < 10
    assert rag("search", "installer") == 0
    assert rag("search", "paragraph") == 1
