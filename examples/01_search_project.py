"""Ask a model about the files of a project: four tools, one of which fails first and is repaired by another.

Run it on this project, with the embedded model (no key, no network):

    toolsmith run examples/01_search_project.py:tools "Which lines mention the word tenacity?"

`search_files` needs an index that nobody has built yet. It says so with a `ToolError` that names the tool to call,
`build_index`; the model calls it and searches again. Set `PROJECT` to search in another folder.
"""

from __future__ import annotations

import os
import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field

from toolsmith import Agent, ToolError, ToolRegistry, tool

ROOT = Path(os.environ.get("PROJECT", Path(__file__).parent.parent)).resolve()
TEXT_FILES = {".py", ".md", ".toml", ".txt", ".cfg", ".json", ".yml", ".yaml"}
LARGEST = 1_000_000  # bytes; larger files are most likely data

_index: sqlite3.Connection | None = None


@dataclass(frozen=True)
class Hit:
    """A line that contains what was searched for."""

    file: str
    line: int
    text: str


@tool
def build_index() -> str:
    """Build the search index over all text files of the project. Needed once before search_files."""
    global _index
    index = sqlite3.connect(":memory:", check_same_thread=False)
    index.execute("CREATE VIRTUAL TABLE lines USING fts5(text, file UNINDEXED, line UNINDEXED)")
    files = list(_text_files())
    for file in files:
        lines = file.read_text("utf-8", errors="replace").splitlines()
        name = file.relative_to(ROOT).as_posix()
        index.executemany("INSERT INTO lines VALUES (?, ?, ?)", ((t, name, n) for n, t in enumerate(lines, 1)))
    _index = index
    return f"The index is built: {len(files)} files."


@tool
def search_files(
    word: Annotated[str, Field(min_length=2, max_length=60)],
    limit: Annotated[int, Field(ge=1, le=50)] = 5,
) -> list[Hit]:
    """Find the lines of the project's files that contain a word.

    For one known file use read_file instead. Gives the best hits first, an empty list where nothing matches.

    Args:
        word: what to look for, such as "tenacity"
        limit: how many lines at the most
    """
    if _index is None:
        raise ToolError("There is no search index yet.", use="build_index")
    quoted = '"' + word.replace('"', '""') + '"'
    found = _index.execute(
        "SELECT file, line, text FROM lines WHERE lines MATCH ? ORDER BY rank LIMIT ?", (quoted, limit)
    )
    return [Hit(file, line, text.strip()[:200]) for file, line, text in found]


@tool
def read_file(path: str, first_line: int = 1, lines: Annotated[int, Field(ge=1, le=200)] = 40) -> str:
    """Read some lines of one file of the project, when its path is known.

    Args:
        path: relative to the project's folder, such as "toolsmith/agent.py"
        first_line: where to begin, from 1
        lines: how many
    """
    file = _inside(path)
    wanted = file.read_text("utf-8", errors="replace").splitlines()[first_line - 1 : first_line - 1 + lines]
    return "\n".join(wanted) or "(no such lines)"


@tool
def count_lines(path: str) -> int:
    """Count the lines of one file of the project.

    Args:
        path: relative to the project's folder, such as "README.md"
    """
    return len(_inside(path).read_text("utf-8", errors="replace").splitlines())


def _inside(path: str) -> Path:
    """The file, if it lies in the project: a link or `..` must not lead out of it."""
    file = (ROOT / path).resolve()
    if not file.is_relative_to(ROOT):
        raise ToolError(f"{path!r} is outside of the project.", hint="Give a path relative to the project's folder.")
    if not file.is_file():
        raise ToolError(f"There is no file {path!r} in the project.", use="search_files")
    return file


def _text_files() -> list[Path]:
    return sorted(
        path
        for path in ROOT.rglob("*")
        if path.suffix in TEXT_FILES
        and path.is_file()
        and path.stat().st_size <= LARGEST
        and not any(part.startswith(".") or part == "__pycache__" for part in path.relative_to(ROOT).parts)
    )


tools = ToolRegistry([search_files, build_index, read_file, count_lines])

if __name__ == "__main__":
    print(Agent(tools=tools).run_sync("Which lines mention the word tenacity?").output)
