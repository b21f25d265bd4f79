"""The embedded index: one SQLite file, two full-text tables a bucket, vectors beside them where there are any.

The words of a query are looked for in a table of word stems and in one of trigrams, which finds parts of words and
misspelt ones; any word may do, and BM25 says how well. Vectors are compared with all of the bucket, which for 100,000
passages takes some ten milliseconds. The orders are fused by their ranks.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Collection, Iterable, Iterator, Sequence
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any, Final

from toolsmith import _extras
from toolsmith._dataclass import dataclass
from toolsmith.rag._backend import DEPTH, WEIGHTS, Found, Outcome, Passage, Query, Ranking, Source, Vector, fused
from toolsmith.rag._sqlite_file import PATIENCE, IndexFile
from toolsmith.rag._where import SYMBOLS, Condition
from toolsmith.rag._words import pieces, words
from toolsmith.rag.documents import Position, Stats

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_HEADINGS_WEIGHT: Final = 0.7  # a heading is short, so that each of its words weighs much already
_SLICE: Final = 500
_COLUMNS = "c.id, c.text, d.source, d.title, c.part, c.place, d.metadata"


class SQLiteBackend:
    """Keeps buckets in one SQLite file, for any number of processes of this machine.

    Args:
        path: of the file. A network share will not do: SQLite cannot lock on most of them.
        patience: seconds to wait for another process that writes.
    """

    def __init__(self, path: str | PathLike[str], *, patience: float = PATIENCE) -> None:
        self._file = IndexFile(fspath(path), patience=patience)
        self._vectors: dict[tuple[str, str], _Vectors] = {}
        self._vectors_lock = threading.Lock()

    def __repr__(self) -> str:
        return f"SQLiteBackend({self._file.path!r})"

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        self._file.close()
        self._vectors.clear()

    def missing(self) -> str:
        """Why nothing can be found here: there is no file. "" where there is one."""
        return f"There is no index {self._file.path}" if self._file.is_missing() else ""

    # ---- writing

    def put(self, bucket: str, documents: Sequence[tuple[Source, Sequence[Passage]]]) -> list[Outcome]:
        """See `Backend.put`."""
        with self._file.writing() as file:
            home = _home(file, bucket, make=True)
            outcomes: list[Outcome] = [_put(file, home, *document) for document in documents]
            _changed(file, home)
            return outcomes

    def remove(self, bucket: str, sources: Collection[str]) -> list[str]:
        """See `Backend.remove`."""
        removed: list[str] = []
        if self._file.is_missing():
            return removed
        with self._file.writing() as file:
            home = _home(file, bucket)
            for source in dict.fromkeys(sources):
                row = file.execute(
                    "SELECT id FROM documents WHERE bucket = ? AND source = ?", (home, source)
                ).fetchone()
                if row is not None and home is not None:
                    _delete(file, home, row[0])
                    removed.append(source)
            if removed and home is not None:
                _changed(file, home)
        return removed

    def keep_vectors(self, model: str, vectors: Iterable[tuple[bytes, Vector]]) -> None:
        """See `Backend.keep_vectors`."""
        np = _extras.load("numpy", extra="rag", purpose="Comparing vectors")
        rows = [(model, key, np.asarray(vector, dtype="<f2").tobytes()) for key, vector in vectors]
        with self._file.writing() as file:
            file.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)", rows)
            file.execute("UPDATE buckets SET changes = changes + 1")

    def drop_unused_vectors(self) -> None:
        """See `Backend.drop_unused_vectors`."""
        with self._file.writing() as file:
            file.execute("DELETE FROM vectors WHERE NOT EXISTS (SELECT 1 FROM chunks WHERE hash = vectors.hash)")

    # ---- reading

    def digests(self, bucket: str, sources: Collection[str]) -> dict[str, str]:
        """See `Backend.digests`."""
        if self._file.is_missing():
            return {}
        with self._file.reading() as file:
            home = _home(file, bucket)
            rows = file.execute(
                "SELECT source, digest FROM documents WHERE bucket = ? AND source IN (SELECT value FROM json_each(?))",
                (home, json.dumps(list(sources))),
            )
            return dict(rows.fetchall())

    def sources(self, bucket: str) -> list[str]:
        """See `Backend.sources`."""
        with self._file.reading() as file:
            home = _home(file, bucket)
            rows = file.execute("SELECT source FROM documents WHERE bucket = ? ORDER BY source", (home,))
            return [row[0] for row in rows]

    def buckets(self) -> list[str]:
        """See `Backend.buckets`."""
        with self._file.reading() as file:
            return [row[0] for row in file.execute("SELECT name FROM buckets ORDER BY name")]

    def keys(self, bucket: str) -> list[str]:
        """See `Backend.keys`."""
        with self._file.reading() as file:
            rows = file.execute(
                "SELECT DISTINCT m.key FROM documents d, json_each(d.metadata) m WHERE d.bucket = ? ORDER BY m.key",
                (_home(file, bucket),),
            )
            return [row[0] for row in rows]

    def search(self, bucket: str, query: Query) -> list[Found]:
        """See `Backend.search`."""
        depth = max(DEPTH, query.limit)
        with self._file.reading() as file:
            home = _home(file, bucket)
            if home is None:
                return []
            rankings = [
                _ranked(file, f"words_{home}", words(query.text), query.conditions, depth, WEIGHTS["words"]),
                _ranked(file, f"trigrams_{home}", pieces(query.text), query.conditions, depth, WEIGHTS["trigrams"]),
            ]
            if query.vector is not None:
                rankings.append(self._nearest(file, bucket, home, query, depth))
            best = fused(rankings, query.limit)
            scores = dict(best)
            return _found(file, home, [number for number, _ in best], scores)

    def passages(self, bucket: str, numbers: Collection[int]) -> list[Found]:
        """See `Backend.passages`."""
        with self._file.reading() as file:
            home = _home(file, bucket)
            return [] if home is None else _found(file, home, list(numbers), {})

    def without_vector(self, bucket: str, model: str, limit: int) -> list[tuple[bytes, str]]:
        """See `Backend.without_vector`."""
        with self._file.reading() as file:
            rows = file.execute(
                "SELECT hash, headings, text FROM chunks c WHERE bucket = ? AND NOT EXISTS "
                "(SELECT 1 FROM vectors v WHERE v.model = ? AND v.hash = c.hash) GROUP BY hash LIMIT ?",
                (_home(file, bucket), model, limit),
            ).fetchall()
            return [(key, f"{headings}\n{text}" if headings else text) for key, headings, text in rows]

    def stats(self, bucket: str, model: str) -> Stats:
        """See `Backend.stats`."""
        with self._file.reading() as file:
            home = _home(file, bucket)
            documents = file.execute("SELECT count(*) FROM documents WHERE bucket = ?", (home,)).fetchone()[0]
            passages, characters = file.execute(
                "SELECT count(*), coalesce(sum(length(text)), 0) FROM chunks WHERE bucket = ?", (home,)
            ).fetchone()
            embedded = file.execute(
                "SELECT count(*) FROM chunks c JOIN vectors v ON v.model = ? AND v.hash = c.hash WHERE bucket = ?",
                (model, home),
            ).fetchone()[0]
        return Stats(bucket, documents, passages, embedded, characters, self._file.size())

    def _nearest(self, file: sqlite3.Connection, bucket: str, home: int, query: Query, depth: int) -> Ranking:
        import numpy as np

        changes = file.execute("SELECT changes FROM buckets WHERE id = ?", (home,)).fetchone()[0]
        with self._vectors_lock:
            held = self._vectors.get((bucket, query.model))
            if held is None or held.changes != changes:
                held = _load(file, home, query.model, changes)
                self._vectors[bucket, query.model] = held
        asked = np.asarray(query.vector, dtype=np.float32)
        if not len(held.numbers) or held.matrix.shape[1] != len(asked):
            return Ranking(())
        near = held.matrix @ asked
        if query.conditions:
            tests, values = _tests(query.conditions)
            rows = file.execute(
                f"SELECT c.id FROM chunks c JOIN documents d ON d.id = c.document WHERE c.bucket = ?{tests}",
                (home, *values),
            )
            allowed = np.isin(held.numbers, np.fromiter((row[0] for row in rows), np.int64))
            near = np.where(allowed, near, -np.inf)
        best = np.argsort(-near, kind="stable")[:depth] if len(near) <= depth else _top(near, depth)
        return Ranking([int(held.numbers[i]) for i in best if near[i] > query.floor], WEIGHTS["vectors"])


@dataclass(frozen=True, slots=True)
class _Vectors:
    """All vectors of a bucket, as it was after so many changes."""

    changes: int
    numbers: NDArray[np.int64]
    matrix: NDArray[np.float32]


def _load(file: sqlite3.Connection, home: int, model: str, changes: int) -> _Vectors:
    import numpy as np

    rows = file.execute(
        "SELECT c.id, v.vector FROM chunks c JOIN vectors v ON v.model = ? AND v.hash = c.hash WHERE c.bucket = ?",
        (model, home),
    ).fetchall()
    numbers = np.fromiter((row[0] for row in rows), np.int64, len(rows))
    width = len(rows[0][1]) // 2 if rows else 0
    data = b"".join(row[1] for row in rows)
    return _Vectors(changes, numbers, np.frombuffer(data, "<f2").reshape(len(rows), width).astype(np.float32))


def _top(near: NDArray[np.float32], depth: int) -> NDArray[np.intp]:
    import numpy as np

    best = np.argpartition(-near, depth)[:depth]
    return best[np.argsort(-near[best], kind="stable")]


def _home(file: sqlite3.Connection, bucket: str, *, make: bool = False) -> Any:
    """The number of a bucket; None if there is none of that name and it is not to be made."""
    row = file.execute("SELECT id FROM buckets WHERE name = ?", (bucket,)).fetchone()
    if row is not None or not make:
        return None if row is None else row[0]
    home = file.execute("INSERT INTO buckets (name) VALUES (?)", (bucket,)).lastrowid
    for table, tokens in ((f"words_{home}", "porter unicode61 remove_diacritics 2"), (f"trigrams_{home}", "trigram")):
        file.execute(
            f"CREATE VIRTUAL TABLE {table} USING fts5(headings, text, content='chunks', content_rowid='id', "
            f"tokenize='{tokens}')"
        )
        file.execute(f"INSERT INTO {table} ({table}, rank) VALUES ('rank', 'bm25({_HEADINGS_WEIGHT}, 1.0)')")
    return home


def _put(file: sqlite3.Connection, home: int, source: Source, passages: Sequence[Passage]) -> Outcome:
    row = file.execute(
        "SELECT id, digest FROM documents WHERE bucket = ? AND source = ?", (home, source.name)
    ).fetchone()
    if row is not None and row[1] == source.digest:
        return "unchanged"
    if row is not None:
        _delete(file, home, row[0])
    metadata = json.dumps(dict(source.metadata), ensure_ascii=False)
    document = file.execute(
        "INSERT INTO documents (bucket, source, digest, title, metadata) VALUES (?, ?, ?, ?, ?)",
        (home, source.name, source.digest, source.title, metadata),
    ).lastrowid
    file.executemany(
        "INSERT INTO chunks (bucket, document, part, headings, text, place, hash) VALUES (?, ?, ?, ?, ?, ?, ?)",
        ((home, document, p.position.part, p.headings, p.text, _place(p.position), p.hash) for p in passages),
    )
    for first, last in _slices(file, document):
        for table in (f"words_{home}", f"trigrams_{home}"):
            file.execute(
                f"INSERT INTO {table} (rowid, headings, text) SELECT id, headings, text FROM chunks "
                "WHERE id BETWEEN ? AND ? AND document = ?",
                (first, last, document),
            )
    return "added" if row is None else "replaced"


def _delete(file: sqlite3.Connection, home: int, document: int) -> None:
    for first, last in _slices(file, document):
        for table in (f"words_{home}", f"trigrams_{home}"):
            file.execute(
                f"INSERT INTO {table} ({table}, rowid, headings, text) SELECT 'delete', id, headings, text FROM chunks "
                "WHERE id BETWEEN ? AND ? AND document = ?",
                (first, last, document),
            )
    file.execute("DELETE FROM chunks WHERE document = ?", (document,))
    file.execute("DELETE FROM documents WHERE id = ?", (document,))


def _slices(file: sqlite3.Connection, document: Any) -> Iterator[tuple[int, int]]:
    """The numbers of a document's chunks, a few hundred at a time: within one statement Python hears no Ctrl-C."""
    first, last = file.execute("SELECT min(id), max(id) FROM chunks WHERE document = ?", (document,)).fetchone()
    if first is not None:
        for begin in range(first, last + 1, _SLICE):
            yield begin, min(begin + _SLICE - 1, last)


def _changed(file: sqlite3.Connection, home: int) -> None:
    file.execute("UPDATE buckets SET changes = changes + 1 WHERE id = ?", (home,))


def _ranked(
    file: sqlite3.Connection,
    table: str,
    terms: Sequence[str],
    conditions: Sequence[Condition],
    depth: int,
    weight: float,
) -> Ranking:
    """What a full-text table finds for any of some words."""
    if not terms:
        return Ranking((), weight)
    match = " OR ".join(f'"{term}"' for term in terms)  # of letters and digits alone, see `_words`
    tests, values = _tests(conditions)
    joined = "JOIN chunks c ON c.id = f.rowid JOIN documents d ON d.id = c.document" if conditions else ""
    rows = file.execute(
        f"SELECT f.rowid FROM {table} f {joined} WHERE {table} MATCH ?{tests} ORDER BY f.rank LIMIT ?",
        (match, *values, depth),
    )
    return Ranking([row[0] for row in rows], weight)


def _tests(conditions: Sequence[Condition]) -> tuple[str, list[Any]]:
    """Conditions as SQL to follow a WHERE, and the values for its question marks."""
    tests: list[str] = []
    values: list[Any] = []
    for condition in conditions:
        # A JSON string is a quoted member of a path too.
        path = f"$.{json.dumps(condition.key, ensure_ascii=False)}"
        match condition.operator:
            case "in" | "ne":
                # A list is searched by its elements, anything else is its own only element.
                test = (
                    "EXISTS (SELECT 1 FROM json_each(d.metadata, ?) m JOIN json_each(?) w WHERE m.atom IS w.atom AND "
                    "(m.type = w.type OR (m.type IN ('integer', 'real') AND w.type IN ('integer', 'real'))))"
                )
                tests.append(f"NOT {test}" if condition.operator == "ne" else test)
                values += [path, json.dumps(condition.values)]
            case operator:
                wanted = condition.values[0]
                kinds = "('text')" if isinstance(wanted, str) else "('integer', 'real')"
                tests.append(
                    f"EXISTS (SELECT 1 FROM json_each(d.metadata, ?) m WHERE m.type IN {kinds} AND "
                    f"m.atom {SYMBOLS[operator]} ?)"
                )
                values += [path, wanted]
    return "".join(f" AND {test}" for test in tests), values


def _found(file: sqlite3.Connection, home: int, numbers: list[int], scores: dict[int, float]) -> list[Found]:
    rows = file.execute(
        f"SELECT {_COLUMNS} FROM chunks c JOIN documents d ON d.id = c.document WHERE c.bucket = ? AND c.id IN "
        "(SELECT value FROM json_each(?))",
        (home, json.dumps(numbers)),
    ).fetchall()
    by_number = {row[0]: row for row in rows}
    found: list[Found] = []
    for number in numbers:
        if number in by_number:
            _, text, source, title, part, place, metadata = by_number[number]
            position = _position(part, place)
            found.append(
                Found(number, text, source, title, position, json.loads(metadata), round(scores.get(number, 0.0), 4))
            )
    return found


def _place(position: Position) -> str:
    return json.dumps([position.headings, position.page, position.lines], ensure_ascii=False)


def _position(part: int, place: str) -> Position:
    headings, page, lines = json.loads(place)
    return Position(part, tuple(headings), page, None if lines is None else (lines[0], lines[1]))
