"""The file of the embedded index: opened, checked, and written in transactions by any number of processes."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Generator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Final

from toolsmith.errors import RAGError

PATIENCE: Final = 300.0
"""Seconds to wait for another process that writes; a document of 100 MB takes two minutes of work."""
_APPLICATION: Final = 0x746F6F6C  # "tool": by which a file is known as ours
_VERSION: Final = 1
_MAX_JOURNAL: Final = 16_000_000  # bytes that the write-ahead file keeps; a large document makes it larger for a while

_TABLES = """
CREATE TABLE IF NOT EXISTS buckets (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE,
    changes INTEGER NOT NULL DEFAULT 0);
CREATE TABLE IF NOT EXISTS documents (id INTEGER PRIMARY KEY AUTOINCREMENT, bucket INTEGER NOT NULL,
    source TEXT NOT NULL, digest TEXT NOT NULL, title TEXT NOT NULL, metadata TEXT NOT NULL, UNIQUE (bucket, source));
CREATE TABLE IF NOT EXISTS chunks (id INTEGER PRIMARY KEY AUTOINCREMENT, bucket INTEGER NOT NULL,
    document INTEGER NOT NULL, part INTEGER NOT NULL, headings TEXT NOT NULL, text TEXT NOT NULL,
    place TEXT NOT NULL, hash BLOB NOT NULL);
CREATE INDEX IF NOT EXISTS chunks_by_document ON chunks (document);
CREATE INDEX IF NOT EXISTS chunks_by_hash ON chunks (hash);
CREATE INDEX IF NOT EXISTS chunks_by_bucket ON chunks (bucket);
CREATE TABLE IF NOT EXISTS vectors (model TEXT NOT NULL, hash BLOB NOT NULL, vector BLOB NOT NULL,
    PRIMARY KEY (model, hash)) WITHOUT ROWID;
"""


_INHERITED: Final[list[sqlite3.Connection]] = []


class _Link:
    """A connection, and who may use it."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.connection: sqlite3.Connection | None = None
        self.process = 0
        self._closer: weakref.finalize[..., _Link] | None = None

    def take(self, connection: sqlite3.Connection) -> None:
        """Keep a connection until `close`, or until nobody has this."""
        if self.connection is not None and self._closer is not None:
            # The parent's, met after a fork: to close it here would touch the parent's locks.
            self._closer.detach()
            _INHERITED.append(self.connection)
        self.connection, self.process = connection, os.getpid()
        self._closer = weakref.finalize(self, connection.close)

    def close(self) -> None:
        with self.lock:
            if self._closer is not None:
                self._closer()
            self.connection = self._closer = None


class IndexFile:
    """One SQLite file, opened at its first use, for reading and for writing, and again after a fork.

    Args:
        path: it is made, with its folder, when it is first written; ":memory:" for none.
        patience: seconds to wait for other processes.
    """

    def __init__(self, path: str, *, patience: float = PATIENCE) -> None:
        self.path = path
        self.patience = patience
        self._writer = _Link()
        # Of its own, so that who searches does not wait for a large document that this process adds.
        self._reader = self._writer if path == ":memory:" else _Link()

    @contextmanager
    def reading(self) -> Generator[sqlite3.Connection]:
        """A connection, for this thread alone. Between its statements others may write.

        Where there is no file it is one to an empty index, and none is made.
        """
        with self._reader.lock, self._explained():
            if not self.is_missing():
                yield self._open(self._reader)
                return
            with closing(sqlite3.connect(":memory:", isolation_level=None)) as empty:
                self._prepare(empty)
                yield empty

    @contextmanager
    def writing(self) -> Generator[sqlite3.Connection]:
        """A connection within a transaction: all of it happens, or nothing."""
        with self._writer.lock, self._explained():
            connection = self._open(self._writer)
            # At once, not at the first write: what is read before it must still hold when it is written.
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
            except BaseException:
                with suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        self._reader.close()
        self._writer.close()

    def is_missing(self) -> bool:
        """Whether nothing has been written here yet, nor by any other process."""
        used = self._reader.connection is not None or self._writer.connection is not None
        return self.path != ":memory:" and not used and not os.path.exists(self.path)

    def size(self) -> int:
        """Bytes on the disk."""
        if self.path == ":memory:":
            return 0
        files = (Path(self.path + end) for end in ("", "-wal"))
        return sum(file.stat().st_size for file in files if file.exists())

    def _open(self, link: _Link) -> sqlite3.Connection:
        if link.connection is not None and link.process == os.getpid():
            return link.connection
        if self.path != ":memory:":
            try:
                Path(self.path).parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise RAGError(f"The folder of the index {self.path} cannot be made: {error}.") from error
        connection = sqlite3.connect(
            self.path, timeout=self.patience, isolation_level=None, check_same_thread=False, cached_statements=64
        )
        try:
            self._prepare(connection)
        except BaseException:
            connection.close()
            raise
        link.take(connection)
        return connection

    def _prepare(self, file: sqlite3.Connection) -> None:
        ours, version, tables = (
            file.execute(ask).fetchone()[0]
            for ask in ("PRAGMA application_id", "PRAGMA user_version", "SELECT count(*) FROM sqlite_master")
        )
        if tables and ours != _APPLICATION:
            raise RAGError(f"{self.path} is a database of another program. Give RAG(path=...) a file of its own.")
        if version > _VERSION:
            raise RAGError(
                f"The index {self.path} was made by a newer version of toolsmith (form {version}; this one knows "
                f"{_VERSION}). Use that version, or another path and add the documents again."
            )
        self._write_ahead(file)
        file.execute("PRAGMA synchronous = NORMAL")
        file.execute(f"PRAGMA journal_size_limit = {_MAX_JOURNAL}")
        if version == _VERSION:
            return
        file.execute("BEGIN IMMEDIATE")
        for statement in _TABLES.split(";"):
            file.execute(statement)
        file.execute(f"PRAGMA application_id = {_APPLICATION}")
        file.execute(f"PRAGMA user_version = {_VERSION}")
        file.execute("COMMIT")

    def _write_ahead(self, file: sqlite3.Connection) -> None:
        """Let others read while one writes. The change of mode itself does not wait for others; so we do."""
        until = time.monotonic() + self.patience
        while True:
            try:
                file.execute("PRAGMA journal_mode = WAL").fetchone()
                return
            except sqlite3.OperationalError as error:
                if _code(error) != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                    raise
                time.sleep(0.02)

    @contextmanager
    def _explained(self) -> Generator[None]:
        """Turn SQLite's errors into ours, with what to do about them."""
        try:
            yield
        except sqlite3.Error as error:
            raise RAGError(self._explanation(error)) from error

    def _explanation(self, error: sqlite3.Error) -> str:
        said = f"({error})"
        match _code(error):
            case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
                return (
                    f"The index {self.path} is damaged, or no index {said}. Move it away (with the files that end in "
                    "-wal and -shm) and add the documents again: nothing is in it that is not in them."
                )
            case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
                return (
                    f"The index {self.path} has been written by another process for more than {self.patience:g} s "
                    f"{said}. Try again when that has ended."
                )
            case sqlite3.SQLITE_FULL:
                return f"There is no room on the disk for the index {self.path} {said}. Nothing of this step is in it."
            case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_PERM | sqlite3.SQLITE_AUTH:
                return f"The index {self.path} cannot be opened or written {said}: see who owns it and its folder."
            case _ if "fts5" in str(error):
                return f"This Python's SQLite has no full-text search {said}: use another Python, or RAG(backend=...)."
            case _:
                return f"The index {self.path} cannot be used {said}."


def _code(error: sqlite3.Error) -> int:
    """The primary code; extended ones have it in their lowest byte."""
    return (getattr(error, "sqlite_errorcode", 0) or 0) & 0xFF
