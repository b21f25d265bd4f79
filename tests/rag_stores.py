"""The stores that `RAG` can keep its documents in, for tests: an SQLite file, and a real Postgres with pgvector.

The server comes from the package pgserver (Postgres 16.2, pgvector 0.6.2), is started once a process on a socket of its
own and ended with it. Where the package is not to be had (Python 3.13), its tests are skipped.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
import uuid
from collections.abc import Generator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from toolsmith.rag import Backend
from toolsmith.rag.sqlite import SQLiteBackend

has_postgres = find_spec("pgserver") is not None and find_spec("psycopg") is not None
needs_postgres = pytest.mark.skipif(not has_postgres, reason="pgserver or psycopg is not installed")
STORES = [pytest.param("sqlite"), pytest.param("postgres", marks=needs_postgres)]


@cache
def postgres_address() -> str:
    """Of a running server, started if need be."""
    folder = tempfile.mkdtemp(prefix="pg")
    # Before pgserver is imported, so that it comes after pgserver's own, which ends the server.
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    os.environ.setdefault("XDG_RUNTIME_DIR", folder)  # else one of its libraries warns
    server: Any = import_module("pgserver").get_server(Path(folder, "data"), cleanup_mode="stop")
    return server.get_uri()


@contextmanager
def store(kind: str, folder: Path) -> Generator[Backend]:
    """An empty store of a kind: "sqlite" or "postgres"."""
    if kind == "sqlite":
        backend = SQLiteBackend(folder / "index.sqlite3")
        yield backend
        backend.close()
        return
    from toolsmith.rag.postgres import PostgresBackend

    schema = f"t{uuid.uuid4().hex[:12]}"
    made = PostgresBackend(postgres_address(), schema=schema)
    yield made
    made.close()
    with import_module("psycopg").connect(postgres_address(), autocommit=True) as connection:
        connection.execute(f"DROP SCHEMA IF EXISTS {schema} CASCADE")
