"""An index on Postgres, for many machines: BM25 over word stems in plain SQL, vectors with pgvector, fused by rank.

    RAG("docs", backend=PostgresBackend("postgresql://user@host/database"))

Postgres's own ranks (`ts_rank`) do not know how rare a word is, and find clearly less; so word counts are kept in a
table of their own. Vectors need the extension `vector` (pgvector); without embeddings it is not needed. Text takes
every character but 0, which is left out.
"""

from __future__ import annotations

import json
import os
import re
import threading
import zlib
from collections.abc import Callable, Collection, Generator, Iterable, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final, LiteralString, TypeVar

from toolsmith import _extras
from toolsmith import _given as given
from toolsmith.errors import RAGError
from toolsmith.rag import _postgres_sql as sql
from toolsmith.rag._backend import DEPTH, WEIGHTS, Found, Outcome, Passage, Query, Ranking, Source, Vector, fused
from toolsmith.rag._words import pieces, words
from toolsmith.rag.documents import Position, Stats

T = TypeVar("T")

_KEPT: Final = 8
"""Connections that are kept open for the next call."""
_PASSWORD = re.compile(r"(://[^:/@\s]*:)[^@\s]*@|(password\s*=\s*)\S+", re.IGNORECASE)


class PostgresBackend:
    """Keeps buckets in tables of one schema of a Postgres database, version 13 or later.

    Args:
        address: as libpq takes it: "postgresql://user:password@host:port/database", or "host=... dbname=...".
        schema: the tables' own; it is made at the first use if it is not there.
        language: a text search configuration of the server, for stems: "english", "german", "simple".
        connect_timeout: seconds.
    """

    def __init__(
        self,
        address: str,
        *,
        schema: str = "toolsmith_rag",
        language: str = "english",
        connect_timeout: float = 10.0,
    ) -> None:
        given.text("PostgresBackend", address=address, schema=schema, language=language)
        given.number("PostgresBackend", connect_timeout=connect_timeout)
        if not re.fullmatch(r"[a-z_][a-z0-9_]{0,50}", schema) or not re.fullmatch(r"[a-z_][a-z0-9_]{0,50}", language):
            raise ValueError("PostgresBackend(schema=, language=) take lower-case letters, digits and underscores.")
        self._address = address
        self._schema = schema
        self._language = language
        self._timeout = max(round(connect_timeout), 1)
        self._lock = threading.Lock()
        self._idle: list[Any] = []
        self._process = os.getpid()
        self._ready = False
        self._has_vectors = False

    def __repr__(self) -> str:
        return f"PostgresBackend({_PASSWORD.sub(_masked, self._address)!r}, schema={self._schema!r})"

    def close(self) -> None:
        """Close the connections that are kept; the next use opens others."""
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    # ---- writing

    def put(self, bucket: str, documents: Sequence[tuple[Source, Sequence[Passage]]]) -> list[Outcome]:
        """See `Backend.put`. Writers of one bucket wait for each other."""

        def work(cursor: Any) -> list[Outcome]:
            cursor.execute(sql.LOCK, (zlib.crc32(f"{self._schema}.{bucket}".encode()),))
            new: list[int] = []
            outcomes: list[Outcome] = [self._put(cursor, bucket, new, *document) for document in documents]
            # For all at once: a statement costs more than a document.
            cursor.execute(sql.INSERT_COUNTS, {"documents": new, "language": self._language})
            cursor.execute(sql.SET_LENGTHS, (new,))
            return outcomes

        return self._do(work)

    def _put(self, cursor: Any, bucket: str, new: list[int], source: Source, passages: Sequence[Passage]) -> Outcome:
        row = cursor.execute(sql.DIGEST, (bucket, source.name)).fetchone()
        if row is not None and row[1] == source.digest:
            return "unchanged"
        if row is not None:
            cursor.execute(sql.DELETE, (row[0],))
        metadata = json.dumps(dict(source.metadata))
        document = cursor.execute(
            sql.INSERT_DOCUMENT, (bucket, source.name, source.digest, source.title, metadata)
        ).fetchone()[0]
        cursor.executemany(
            sql.INSERT_CHUNK,
            [(bucket, document, p.position.part, p.headings, p.text, _place(p.position), p.hash) for p in passages],
        )
        new.append(document)
        return "added" if row is None else "replaced"

    def remove(self, bucket: str, sources: Collection[str]) -> list[str]:
        """See `Backend.remove`."""
        names = list(dict.fromkeys(sources))
        gone = {row[0] for row in self._rows(sql.REMOVE, (bucket, names))}
        return [name for name in names if name in gone]

    def keep_vectors(self, model: str, vectors: Iterable[tuple[bytes, Vector]]) -> None:
        """See `Backend.keep_vectors`."""
        rows = [(model, key, _vector(vector)) for key, vector in vectors]

        def work(cursor: Any) -> None:
            self._make_vectors(cursor)
            cursor.executemany(sql.INSERT_VECTOR, rows)

        self._do(work)

    def drop_unused_vectors(self) -> None:
        """See `Backend.drop_unused_vectors`."""

        def work(cursor: Any) -> None:
            if self._vectors_are_there(cursor):
                cursor.execute(sql.DROP_VECTORS)

        self._do(work)

    # ---- reading

    def digests(self, bucket: str, sources: Collection[str]) -> dict[str, str]:
        """See `Backend.digests`."""
        return dict(self._rows(sql.DIGESTS, (bucket, list(sources))))

    def sources(self, bucket: str) -> list[str]:
        """See `Backend.sources`."""
        return sorted(row[0] for row in self._rows(sql.SOURCES, (bucket,)))

    def buckets(self) -> list[str]:
        """See `Backend.buckets`."""
        return sorted(row[0] for row in self._rows(sql.BUCKETS, ()))

    def keys(self, bucket: str) -> list[str]:
        """See `Backend.keys`."""
        return sorted(row[0] for row in self._rows(sql.KEYS, (bucket,)))

    def search(self, bucket: str, query: Query) -> list[Found]:
        """See `Backend.search`."""
        depth = max(DEPTH, query.limit)
        tests, values = sql.tests(query.conditions)

        def work(cursor: Any) -> list[Found]:
            given = {**values, "bucket": bucket, "depth": depth, "language": self._language}
            asked = {**given, "query": " ".join(words(query.text))}
            by_words = [row[0] for row in cursor.execute(sql.by_words(tests), asked)]
            rankings = [Ranking(by_words, WEIGHTS["words"])]
            if len(by_words) < query.limit and (parts := pieces(query.text)):
                # Parts of words, for which there is no index: only where whole words find too little.
                given["parts"] = [f"%{sql.escaped(part)}%" for part in parts]
                rankings.append(
                    Ranking([row[0] for row in cursor.execute(sql.by_parts(tests), given)], WEIGHTS["trigrams"])
                )
            if query.vector is not None and self._vectors_are_there(cursor):
                near = {"model": query.model, "vector": _vector(query.vector), "floor": query.floor}
                nearest = self._nearest(cursor, tests, {**given, **near, "width": len(query.vector)})
                rankings.append(Ranking(nearest, WEIGHTS["vectors"]))
            best = fused(rankings, query.limit)
            return self._found(cursor, bucket, [number for number, _ in best], dict(best))

        return self._do(work)

    def _nearest(self, cursor: Any, tests: str, given: dict[str, Any]) -> list[int]:
        width, name = given["width"], _index_name(given["model"])
        if width <= sql.WIDEST and cursor.execute(sql.INDEX_IS_THERE, (name,)).fetchone()[0]:
            cursor.execute(sql.LOOK_AT)
            rows = cursor.execute(sql.by_vectors(tests, near=width), given).fetchall()
            # Fewer are left where most of the nearest are of other buckets, or are filtered out: then exactly.
            if len(rows) >= given["depth"] // 2:
                return [row[0] for row in rows]
        return [row[0] for row in cursor.execute(sql.by_vectors(tests), given)]

    def index_vectors(self) -> list[str]:
        """Make an approximate index (HNSW) for the vectors of each model; gives the models.

        Worth its memory and time from some 50,000 passages on. It is used from then on, and kept up to date by the
        server; in a bucket that is a small part of all, and under filters that leave little, the search stays exact.
        Vectors of more than 2,000 numbers cannot be indexed.
        """

        def work(cursor: Any) -> list[str]:
            if not self._vectors_are_there(cursor):
                return []
            models = cursor.execute(sql.MODELS, (sql.WIDEST,)).fetchall()
            for model, width in models:
                statement = cursor.execute(sql.INDEX, (_index_name(model), width, model)).fetchone()[0]
                cursor.execute(statement)
            # Without it the planner takes a table just filled for a small one, and the index for not worth it.
            cursor.execute("ANALYZE vectors")
            return [model for model, _ in models]

        return self._do(work)

    def passages(self, bucket: str, numbers: Collection[int]) -> list[Found]:
        """See `Backend.passages`."""
        return self._do(lambda cursor: self._found(cursor, bucket, [n for n in numbers if n < 2**63], {}))

    def _found(self, cursor: Any, bucket: str, numbers: list[int], scores: dict[int, float]) -> list[Found]:
        rows = {row[0]: row for row in cursor.execute(sql.PASSAGES, (bucket, numbers))}
        found: list[Found] = []
        for number in numbers:
            if number in rows:
                _, text, source, title, part, (headings, page, lines), metadata = rows[number]
                position = Position(part, tuple(headings), page, None if lines is None else (lines[0], lines[1]))
                score = round(scores.get(number, 0.0), 4)
                found.append(Found(number, text, source, title, position, metadata, score))
        return found

    def without_vector(self, bucket: str, model: str, limit: int) -> list[tuple[bytes, str]]:
        """See `Backend.without_vector`."""

        def work(cursor: Any) -> list[tuple[bytes, str]]:
            self._make_vectors(cursor)
            rows = cursor.execute(sql.WITHOUT_VECTOR, (bucket, model, limit))
            return [(bytes(key), f"{headings}\n{text}" if headings else text) for key, headings, text in rows]

        return self._do(work)

    def stats(self, bucket: str, model: str) -> Stats:
        """See `Backend.stats`."""

        def work(cursor: Any) -> Stats:
            documents, passages, characters = cursor.execute(sql.COUNTS, (bucket, bucket, bucket)).fetchone()
            embedded = 0
            if self._vectors_are_there(cursor):
                embedded = cursor.execute(sql.EMBEDDED, (model, bucket)).fetchone()[0]
            size = cursor.execute(sql.SIZE, (self._schema,)).fetchone()[0]
            return Stats(bucket, documents, passages, embedded, int(characters), int(size or 0))

        return self._do(work)

    # ---- connections

    def _rows(self, statement: LiteralString, values: Any) -> list[tuple[Any, ...]]:
        return self._do(lambda cursor: cursor.execute(statement, values).fetchall())

    def _do(self, work: Callable[[Any], T]) -> T:
        """Do something in one transaction; once more on another connection where the first one has gone stale.

        All that is done here gives the same when it is done twice.
        """
        psycopg = _extras.load("psycopg", extra="postgres", purpose="An index on Postgres", package="psycopg[binary]")
        with self._explained(psycopg):
            connection, fresh = self._taken(psycopg)
            try:
                return self._in_transaction(connection, work)
            except psycopg.OperationalError:
                if fresh or not connection.closed:
                    raise
            return self._in_transaction(self._connect(psycopg), work)

    def _in_transaction(self, connection: Any, work: Callable[[Any], T]) -> T:
        try:
            with connection.transaction(), connection.cursor() as cursor:
                done = work(cursor)
        except BaseException:
            # Whatever state it is in, nobody else is to meet it.
            with suppress(Exception):
                connection.close()
            self._has_vectors = self._ready = False
            raise
        with self._lock:
            if len(self._idle) < _KEPT and not connection.closed:
                self._idle.append(connection)
                return done
        connection.close()
        return done

    def _taken(self, psycopg: Any) -> tuple[Any, bool]:
        with self._lock:
            if self._process != os.getpid():
                # After a fork the sockets are the parent's.
                self._idle, self._process = [], os.getpid()
            if self._idle:
                return self._idle.pop(), False
        return self._connect(psycopg), True

    def _connect(self, psycopg: Any) -> Any:
        connection = psycopg.connect(
            self._address,
            connect_timeout=self._timeout,
            application_name="toolsmith",
            autocommit=True,
            prepare_threshold=None,  # each is planned for its own values; and poolers such as PgBouncer take it
        )
        try:
            if not self._ready:
                with connection.transaction():
                    connection.execute(sql.LOCK, (zlib.crc32(self._schema.encode()),))
                    if not connection.execute(sql.SCHEMA_IS_THERE, (self._schema,)).fetchone()[0]:
                        connection.execute(f"CREATE SCHEMA {self._schema}")
                        connection.execute(f"SET LOCAL search_path = {self._schema}")
                        for statement in sql.TABLES:
                            connection.execute(statement)
            connection.execute(f"SET search_path = {self._schema}, public")
        except BaseException:
            connection.close()
            raise
        self._ready = True
        return connection

    def _vectors_are_there(self, cursor: Any) -> bool:
        if not self._has_vectors:
            self._has_vectors = bool(cursor.execute(sql.VECTORS_ARE_THERE).fetchone()[0])
        return self._has_vectors

    def _make_vectors(self, cursor: Any) -> None:
        if self._vectors_are_there(cursor):
            return
        cursor.execute(sql.LOCK, (zlib.crc32(self._schema.encode()),))
        if not cursor.execute(sql.EXTENSION_IS_THERE).fetchone()[0]:
            if not cursor.execute(sql.EXTENSION_IS_KNOWN).fetchone()[0]:
                raise RAGError(
                    "This Postgres has no pgvector: install it on the server, or do without vectors, "
                    "RAG(embeddings=False)."
                )
            cursor.execute("CREATE EXTENSION IF NOT EXISTS vector SCHEMA public")
        cursor.execute(sql.VECTORS)

    @contextmanager
    def _explained(self, psycopg: Any) -> Generator[None]:
        try:
            yield
        except psycopg.errors.InsufficientPrivilege as error:
            raise RAGError(
                f"{self!r}: the user may not do this ({_said(error)}). It needs to create a schema, and the extension "
                "vector if that is not there yet; or let someone who may create them."
            ) from error
        except psycopg.OperationalError as error:
            raise RAGError(f"{self!r} cannot be reached: {_said(error)}. See the address, and the server.") from error
        except psycopg.Error as error:
            raise RAGError(f"{self!r} failed ({type(error).__name__}): {_said(error)}.") from error


def _said(error: Exception) -> str:
    return _PASSWORD.sub(_masked, " ".join(str(error).split())).rstrip(".?")[:500]


def _masked(found: re.Match[str]) -> str:
    return f"{found[1]}***@" if found[1] else f"{found[2]}***"


def _index_name(model: str) -> str:
    return f"near_{zlib.crc32(model.encode()):08x}"


def _place(position: Position) -> str:
    return json.dumps([position.headings, position.page, position.lines])


def _vector(vector: Vector) -> str:
    return "[" + ",".join(f"{x:.7g}" for x in vector) + "]"
