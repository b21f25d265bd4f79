"""Counters by which limits hold for many runs together, in one process or in many.

    limits = Limits(calls=None, groups={"web": 200}, shared=SQLiteCounter("counts.db", window=86_400))
    agent = Agent(model, tools=[search, fetch], limits=limits)    # in each of your workers

`calls`, `groups` and the tools' `max_calls_per_run` are then counted over all runs that use the same file and name. The
keys are the names of tools and groups, so that a tool of one name counts as one tool. Anything with the two methods of
`SharedCounter` will do in place of `SQLiteCounter`: a dozen lines on Redis, for machines that share no disk.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Generator, Sequence
from contextlib import closing, contextmanager, suppress
from datetime import timedelta
from os import PathLike, fspath
from pathlib import Path

from toolsmith.limits import SharedCounter

__all__ = ["SQLiteCounter", "SharedCounter"]

_HEAD = b"SQLite format 3\x00"
_TABLE = """
CREATE TABLE IF NOT EXISTS toolsmith_counts (
    counter TEXT NOT NULL, budget TEXT NOT NULL, began INTEGER NOT NULL, taken INTEGER NOT NULL,
    PRIMARY KEY (counter, budget)
) WITHOUT ROWID
"""


def _unfit(path: Path) -> str:
    """Why no counter can be kept in a file, as far as that is seen without a lock; "" if nothing is."""
    if path.is_dir():
        return "this is a folder; give the path of a file in it."
    if not path.parent.is_dir():
        return f"there is no folder {path.parent}; make it first."
    if path.is_file():
        with path.open("rb") as file:
            head = file.read(len(_HEAD))
        if head and head != _HEAD:
            return "this file is there, and it is no SQLite database."
    return ""


class SQLiteCounter:
    """Counts in an SQLite file on a disk of this machine, for any number of processes.

    Taking is one transaction: two processes never get the same last call. Each opens the file anew, so that the counter
    may be handed to threads and across forks.

    Args:
        path: the file; it is made if it is not there. A network share will not do: SQLite cannot lock on most of them.
        name: counters of other names in the same file count for themselves.
        window: seconds after which the counts begin anew, or a `timedelta`; None for never. Windows are fixed: all
            processes begin a new one at the same moment, a multiple of `window` since 1970.
        patience: seconds to wait for other processes before the call is refused as not countable.

    Raises:
        ValueError: a path that no other process could see, or that cannot be an SQLite file; or a window or patience
            that is not more than 0.
    """

    def __init__(
        self,
        path: str | PathLike[str],
        *,
        name: str = "",
        window: float | timedelta | None = None,
        patience: float = 5.0,
    ) -> None:
        self.path = fspath(path)
        self.name = name
        self.window = window.total_seconds() if isinstance(window, timedelta) else window
        self.patience = patience
        if not self.path or self.path == ":memory:":
            raise ValueError("SQLiteCounter needs the path of a file: what is in memory no other process can see.")
        if wrong := _unfit(Path(self.path)):
            raise ValueError(f"SQLiteCounter({self.path!r}): {wrong}")
        if self.window is not None and not self.window > 0:
            raise ValueError(f"SQLiteCounter(window={window!r}) must be more than 0 seconds, or None.")
        if not patience > 0:
            raise ValueError(f"SQLiteCounter(patience={patience!r}) must be more than 0 seconds.")

    def __repr__(self) -> str:
        return f"SQLiteCounter({self.path!r}, name={self.name!r}, window={self.window!r})"

    def take(self, budgets: Sequence[tuple[str, int]], /) -> list[int | None]:
        """See `SharedCounter.take`.

        Raises:
            sqlite3.Error: the file cannot be written, or is busy for too long.
        """
        left: list[int | None] = []
        with self._open() as file:
            # At once, not at the first write: between a read and a write another process could take the same call.
            file.execute("BEGIN IMMEDIATE")
            file.execute(_TABLE)
            for budget, most in budgets:
                taken = self._taken(file, budget)
                if taken >= most:
                    left.append(None)
                    break
                file.execute(
                    "INSERT OR REPLACE INTO toolsmith_counts VALUES (?, ?, ?, ?)",
                    (self.name, budget, self._window(), taken + 1),
                )
                left.append(most - taken - 1)
            file.execute("COMMIT")
        return left

    def taken(self) -> dict[str, int]:
        """What has been taken in the present window, by budget: "calls", "tool:NAME" or "group:NAME"."""
        with self._open() as file:
            file.execute(_TABLE)
            rows = file.execute(
                "SELECT budget, taken FROM toolsmith_counts WHERE counter = ? AND began = ?",
                (self.name, self._window()),
            )
            return dict(rows.fetchall())

    def reset(self) -> None:
        """Begin anew, for all who count here."""
        with self._open() as file:
            file.execute(_TABLE)
            file.execute("DELETE FROM toolsmith_counts WHERE counter = ?", (self.name,))

    def seconds_left(self) -> float | None:
        """How long until the counts begin anew; None if they never do."""
        return None if self.window is None else self.window - time.time() % self.window

    def _window(self) -> int:
        return 0 if self.window is None else int(time.time() // self.window)

    def _taken(self, file: sqlite3.Connection, budget: str) -> int:
        row: tuple[int] | None = file.execute(
            "SELECT taken FROM toolsmith_counts WHERE counter = ? AND budget = ? AND began = ?",
            (self.name, budget, self._window()),
        ).fetchone()
        return 0 if row is None else row[0]

    @contextmanager
    def _open(self) -> Generator[sqlite3.Connection]:
        with closing(sqlite3.connect(self.path, timeout=self.patience, isolation_level=None)) as file:
            # Without a wait for the disk at each call: a power cut may lose the last counts, a crash of a process none.
            # Who changes to this mode first may find others busy, and then it is changed the next time.
            with suppress(sqlite3.OperationalError):
                file.execute("PRAGMA journal_mode = WAL")
            file.execute("PRAGMA synchronous = NORMAL")
            yield file
