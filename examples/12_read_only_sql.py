"""A database for a model, to read and for nothing else: two tools that a hostile query does not get out of.

    python examples/12_read_only_sql.py

The model is scripted here (`toolsmith.testing`): it drops a table, opens another file, counts for ever, misspells a
column, and then gets it right. `Database` is for use: `Agent(model, tools=Database("shop.db").tools())`.

How it is kept to reading. The file is opened read-only by SQLite itself (`mode=ro`). An authorizer is asked before a
query begins and allows what reading needs: ATTACH, PRAGMA and extensions are refused, and so are tables that are none
of the file's own (some tell its path). One statement runs at a time. SQLite's progress handler breaks off what takes
too long; rows, values and the text of the query are bounded. What SQLite says of a wrong query is for the model: it has
no more in it than names of tables and columns.

With `tables=` only these can be read. A view is read if its tables may be: a query can give a part of itself the name
of a view, so that the view's name says nothing.

Rows are `untrusted`: customers write their own names.
"""

from __future__ import annotations

import json
import os
import re
import sqlite3
import tempfile
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from time import monotonic
from typing import Annotated, Any, Literal, TypedDict

from pydantic import Field

from toolsmith import Agent, Tool, ToolError, ToolResult, tool
from toolsmith.testing import ScriptedModel, call, say

MAX_ROWS = 200
MAX_VALUE = 2_000
"""Characters of one value that are shown."""
MAX_RESULT = 40_000
"""Characters of all rows together."""
MAX_BYTES = 5_000_000
"""Of one value, of a row, or of the text of a query, within SQLite."""
STEPS = 2_000
"""Instructions of SQLite's machine between two looks at the clock: some tens of microseconds."""

Authorizer = Callable[[int, str | None, str | None, str | None, str | None], int]

FORBIDDEN_FUNCTIONS = frozenset(
    {"load_extension", "readfile", "writefile", "edit", "fts3_tokenizer", "zeroblob", "randomblob", "printf", "format"}
)
"""Those that reach out, and those that make two billion characters in a single step, where no clock is looked at."""


class Column(TypedDict):
    """A column, as the model is told of it."""

    name: str
    type: str
    key: bool


class Database:
    """A SQLite file, for a model to read.

    Args:
        path: the file; it has to exist.
        seconds: how long one query may take.
        tables: those that may be read; None for all.

    Raises:
        FileNotFoundError: there is no such file.
    """

    def __init__(
        self, path: str | os.PathLike[str], *, seconds: float = 5.0, tables: Sequence[str] | None = None
    ) -> None:
        self._path = Path(path).resolve(strict=True)
        self._seconds = seconds
        self._tables = None if tables is None else frozenset(name.casefold() for name in tables)

    def tools(self) -> list[Tool[..., Any]]:
        """What an agent is given."""
        return [self.describe_tables, self.query]

    # ---- the tools

    @tool(effect="read")
    def describe_tables(self, detail: Literal["names", "columns"] = "columns") -> dict[str, list[Column]]:
        """List the tables of the database with their columns. Call this before the first query.

        Args:
            detail: "names" leaves the columns out, for a database of many tables
        """
        with self._open(guarded=False) as database:
            shown = sorted(self._readable(database))
            return {name: [] if detail == "names" else _columns(database, name) for name in shown}

    @tool(effect="read", untrusted=True)
    def query(
        self,
        sql: Annotated[str, Field(min_length=1, max_length=10_000)],
        values: Annotated[list[str | int | float | None], Field(max_length=100)] | None = None,
        max_rows: Annotated[int, Field(ge=1, le=MAX_ROWS)] = 50,
    ) -> ToolResult:
        """Run one SELECT on the database (SQLite). It cannot change anything. For names of columns use describe_tables.

        Args:
            sql: one statement; a question mark stands for each of the values
            values: in the order of the question marks; better than writing them into the statement
            max_rows: how many rows at the most; aggregate in SQL rather than reading many

        Returns:
            rows as objects
        """
        deadline = monotonic() + self._seconds
        with self._open(guarded=True) as database:
            database.set_progress_handler(lambda: monotonic() > deadline, STEPS)
            try:
                cursor = database.execute(sql, tuple(values or ()))
                names = [column[0] for column in cursor.description or ()]
                rows = cursor.fetchmany(max_rows + 1)
            except (sqlite3.Error, sqlite3.Warning, OverflowError, MemoryError, ValueError) as error:
                raise self._told(error, sql, database) from error
        if not names:
            raise ToolError("The statement gives no rows.", hint="Send a SELECT, or a WITH ... SELECT.")
        return _result(names, rows, max_rows)

    # ---- how it is kept to reading

    @contextmanager
    def _open(self, *, guarded: bool) -> Generator[sqlite3.Connection]:
        """A connection that cannot write, for one call: no query sees what another one has left."""
        uri = f"{self._path.as_uri()}?mode=ro"
        database = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=self._seconds, check_same_thread=False)
        try:
            database.execute("PRAGMA query_only = ON")
            database.execute("PRAGMA trusted_schema = OFF")  # views of a hostile file call no functions with effects
            database.execute("PRAGMA cell_size_check = ON")
            database.execute("PRAGMA temp_store = MEMORY")
            database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_BYTES)
            database.setlimit(sqlite3.SQLITE_LIMIT_SQL_LENGTH, 20_000)
            database.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
            database.setlimit(sqlite3.SQLITE_LIMIT_EXPR_DEPTH, 200)
            database.setlimit(sqlite3.SQLITE_LIMIT_COMPOUND_SELECT, 50)
            database.setlimit(sqlite3.SQLITE_LIMIT_VDBE_OP, 50_000)
            if guarded:
                database.set_authorizer(self._authorizer(database))
            yield database
        finally:
            database.close()

    def _authorizer(self, database: sqlite3.Connection) -> Authorizer:
        """Asked by SQLite about each thing that a statement would do, before it runs."""
        readable = {name.casefold() for name in self._readable(database, all_parts=True)} | {"json_each", "json_tree"}
        if self._tables is None:
            readable |= {"sqlite_schema", "sqlite_master"}
        known = {name.casefold() for (name,) in database.execute("SELECT name FROM pragma_table_list")}
        for name in ("json_each", "json_tree"):  # made now: later it would look like a change of the schema
            database.execute(f"SELECT count(*) FROM {name}('[]')")

        def authorize(action: int, first: str | None, second: str | None, base: str | None, inner: str | None) -> int:
            match action:
                case sqlite3.SQLITE_SELECT | sqlite3.SQLITE_RECURSIVE:
                    allowed = True
                case sqlite3.SQLITE_READ:
                    # Never by `inner`, the name of the view through which it is read: a query may use that name itself.
                    name = (first or "").casefold()
                    # Without a column and unknown to the file, it is what the query itself has named by WITH.
                    allowed = name in readable or (not second and name not in known)
                case sqlite3.SQLITE_FUNCTION:
                    allowed = (second or "").casefold() not in FORBIDDEN_FUNCTIONS
                case sqlite3.SQLITE_PRAGMA:
                    allowed = first == "data_version"  # a counter; full-text search asks for it
                case _:
                    allowed = False
            return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY

        return authorize

    def _readable(self, database: sqlite3.Connection, *, all_parts: bool = False) -> list[str]:
        """The tables and views that may be read; with those in which SQLite keeps the parts of a full-text table."""
        found = database.execute("SELECT name, type FROM pragma_table_list WHERE schema = 'main'").fetchall()
        names = [n for n, kind in found if not n.startswith("sqlite_") and (all_parts or kind != "shadow")]
        if self._tables is None:
            return names
        wanted = [n for n in names if n.casefold() in self._tables]
        virtual = tuple(f"{n}_" for n, kind in found if kind == "virtual" and n in wanted)
        return [n for n, kind in found if n in wanted or (all_parts and kind == "shadow" and n.startswith(virtual))]

    def _told(self, error: Exception, sql: str, database: sqlite3.Connection) -> ToolError:
        """What the model reads of a query that failed: SQLite's own words, and what to do."""
        said = str(error)
        if "interrupted" in said:
            hint = "Narrow it down: a WHERE, a LIMIT, fewer joins."
            return ToolError(f"The query took longer than {self._seconds:g} seconds.", hint=hint)
        if (barred := re.search(r"not authorized to use function: (\w+)", said)) is not None:
            return ToolError(f"The function {barred[1]!r} cannot be used here.", hint="Go without it.")
        if "not authorized" in said or "prohibited" in said or "readonly" in said or "query_only" in said:
            return ToolError(
                "The query does more than read its tables.",
                hint="Send one SELECT on these tables.",
                use="describe_tables",
            )
        if "one statement" in said:
            return ToolError("There is more than one statement.", hint="Send one SELECT without a semicolon in it.")
        if (missing := re.search(r"no such (column|table): (\S+)", said)) is not None:
            return self._missing(missing[1], missing[2].split(".")[-1], database)
        if "bindings" in said or "binding" in said:
            return ToolError(f"{said}", hint="Send as many values as there are question marks.")
        if isinstance(error, sqlite3.OperationalError | sqlite3.ProgrammingError | sqlite3.DataError | OverflowError):
            return ToolError(f"SQLite says: {said}.", hint="Correct the statement (SQLite's dialect).")
        return ToolError("The database cannot be read.", hint="Tell the user; another query will fail as well.")

    def _missing(self, what: str, name: str, database: sqlite3.Connection) -> ToolError:
        database.set_authorizer(None)
        readable = self._readable(database)
        known = readable if what == "table" else sorted({c["name"] for t in readable for c in _columns(database, t)})
        near = get_close_matches(name, known, n=1)
        guess = f"Did you mean {near[0]!r}?" if near else ""
        return ToolError(f"There is no {what} {name!r}.", hint=guess, use="" if near else "describe_tables")


def _columns(database: sqlite3.Connection, table: str) -> list[Column]:
    found = database.execute("SELECT name, type, pk FROM pragma_table_info(?)", (table,))
    return [{"name": name, "type": kind or "any", "key": bool(key)} for name, kind, key in found]


def _result(names: Sequence[str], rows: Sequence[Sequence[Any]], max_rows: int) -> ToolResult:
    """Rows as objects, within bounds; what is left out is said."""
    notes: list[str] = []
    unique = [name if name not in names[:at] else f"{name}_{at + 1}" for at, name in enumerate(names)]
    shown: list[dict[str, Any]] = []
    size = 0
    for row in rows[:max_rows]:
        entry = dict(zip(unique, map(_plain, row), strict=True))
        size += len(json.dumps(entry, ensure_ascii=False))
        if size > MAX_RESULT:
            break
        shown.append(entry)
    if len(shown) < len(rows):
        notes.append(f"there are more rows than these {len(shown)}; use LIMIT and OFFSET, or aggregate.")
    return ToolResult(True, shown, notes=tuple(notes))


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return f"({len(value)} bytes)"
    if isinstance(value, str) and len(value) > MAX_VALUE:
        return f"{value[:MAX_VALUE]}... ({len(value)} characters in all)"
    return value


# ---- shown

SCRIPT = [
    call("describe_tables"),
    [
        call("query", sql="DROP TABLE orders"),
        call("query", sql="ATTACH '/etc/passwd' AS other"),
        call("query", sql="SELECT 1; DELETE FROM orders"),
        call("query", sql="WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"),
        call("query", sql="SELECT custommer FROM orders"),
    ],
    call(
        "query",
        sql="SELECT customer, sum(price) AS total FROM orders WHERE customer = ? GROUP BY customer",
        values=["Ada"],
    ),
    say("Ada has ordered for 57.5 euros."),
]


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "shop.db"
        made = sqlite3.connect(path)
        made.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, customer TEXT, price REAL)")
        made.executemany("INSERT INTO orders (customer, price) VALUES (?, ?)", [("Ada", 50), ("Ola", 20), ("Ada", 7.5)])
        made.commit()
        made.close()
        before = path.read_bytes()
        model = ScriptedModel(SCRIPT)
        agent = Agent(model.provider("openai"), tools=Database(path, seconds=0.5).tools())
        result = agent.run_sync("For how much has Ada ordered?")
        for record in result.tool_calls:
            print(f"\n{record.call.name}({record.call.arguments})")
            print(f"  {record.result.data if record.result.success else record.result.error}")
        print(f"\n{result.output}\n\nThe file is {'as it was' if path.read_bytes() == before else 'another one'}.")
        model.assert_exhausted()


if __name__ == "__main__":
    main()
