"""Attacks on `examples/12_read_only_sql.py`: no query changes anything, reads another file, or runs for ever."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from example_modules import example
from hypothesis import given, settings
from hypothesis import strategies as st

from toolsmith import ToolResult

HIDDEN = "hidden-value-4711"


sql_tools = example("12_read_only_sql.py")

SCHEMA = f"""
CREATE TABLE orders (id INTEGER PRIMARY KEY, customer TEXT, price REAL);
INSERT INTO orders (customer, price) VALUES ('Ada', 50), ('Ola', 20), ('Ada', 7.5);
CREATE TABLE secret (value TEXT);
INSERT INTO secret VALUES ('{HIDDEN}');
CREATE VIEW seen AS SELECT value FROM secret;
CREATE VIEW totals AS SELECT customer, sum(price) AS total FROM orders GROUP BY customer;
CREATE VIRTUAL TABLE notes USING fts5(text);
INSERT INTO notes VALUES ('the parcel is late'), ('all is well');
CREATE TABLE blobs (b BLOB);
INSERT INTO blobs VALUES (x'00ff');
"""


class Place:
    """A database, whose folder and bytes must stay as they are."""

    def __init__(self, path: Path, **options: Any) -> None:
        self.path = path / "shop.db"
        if not self.path.exists():
            made = sqlite3.connect(self.path)
            made.executescript(SCHEMA)
            made.close()
        self.before = self.path.read_bytes()
        (path / "other.db").write_bytes(self.before)
        self.database: Any = sql_tools.Database(self.path, **{"seconds": 0.5, **options})
        self.describe, self.query = self.database.tools()

    def __call__(self, sql: str, *values: Any, **more: Any) -> ToolResult:
        arguments: dict[str, Any] = {"sql": sql, **({"values": list(values)} if values else {}), **more}
        return self.query.call_json_sync(json.dumps(arguments))

    def rows(self, sql: str, *values: Any) -> Any:
        result = self(sql, *values)
        assert result.success, result.error
        return result.data

    def said(self, sql: str, *values: Any) -> str:
        """What the model is told of a query that must fail."""
        result = self(sql, *values)
        assert not result.success, result
        assert "reference" not in (result.error or ""), "an internal error is no answer"
        assert str(self.path.parent) not in (result.error or "")
        return result.error or ""

    def untouched(self) -> bool:
        names = {p.name for p in self.path.parent.iterdir()}
        return self.path.read_bytes() == self.before and names == {"shop.db", "other.db"}


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    made = Place(tmp_path)
    yield made
    assert made.untouched()


WRITES = [
    "DROP TABLE orders",
    "DELETE FROM orders",
    "UPDATE orders SET price = 0",
    "INSERT INTO orders (customer) VALUES ('x')",
    "INSERT INTO orders (customer) VALUES ('x') RETURNING id",
    "DELETE FROM orders RETURNING *",
    "REPLACE INTO orders VALUES (1, 'x', 1)",
    "CREATE TABLE x (a)",
    "CREATE TEMP TABLE x (a)",
    "CREATE TABLE temp.x AS SELECT * FROM orders",
    "CREATE VIEW x AS SELECT 1",
    "CREATE TEMP VIEW x AS SELECT 1",
    "CREATE INDEX x ON orders (price)",
    "CREATE TRIGGER x AFTER INSERT ON orders BEGIN DELETE FROM orders; END",
    "CREATE VIRTUAL TABLE x USING fts5(a)",
    "ALTER TABLE orders RENAME TO x",
    "ALTER TABLE orders ADD COLUMN x",
    "VACUUM",
    "VACUUM INTO 'copy.db'",
    "REINDEX",
    "ANALYZE",
    "BEGIN",
    "BEGIN IMMEDIATE",
    "SAVEPOINT x",
    "ROLLBACK",
    "ATTACH 'other.db' AS o",
    "ATTACH DATABASE ':memory:' AS o",
    "DETACH main",
    "PRAGMA query_only = OFF",
    "PRAGMA journal_mode = DELETE",
    "PRAGMA writable_schema = ON",
    "PRAGMA database_list",
    "PRAGMA user_version = 7",
    "PRAGMA temp_store_directory = '/tmp'",
    "WITH x AS (SELECT 1) DELETE FROM orders",
    "WITH x AS (SELECT 1) INSERT INTO orders (customer) SELECT 'x'",
    "INSERT INTO notes(notes) VALUES ('rebuild')",
    "INSERT INTO notes(notes) VALUES ('delete-all')",
    "UPDATE sqlite_master SET sql = 'x'",
    "EXPLAIN DELETE FROM orders",
    "SELECT load_extension('x.so')",
    "SELECT readfile('/etc/passwd')",
    "SELECT writefile('x', 'y')",
    "SELECT * FROM pragma_database_list",
    "SELECT file FROM pragma_database_list()",
    "SELECT count(*) FROM pragma_database_list",
    "SELECT * FROM pragma_table_info('orders')",
    "SELECT * FROM dbstat",
    "SELECT * FROM sqlite_dbpage",
    "SELECT fts3_tokenizer('simple')",
    "SELECT zeroblob(1000000000)",
    "SELECT hex(randomblob(1000000))",
    "SELECT printf('%.*c', 2000000000, 'x')",
    "SELECT format('%2000000000d', 1)",
]


@pytest.mark.parametrize("sql", WRITES)
def test_nothing_but_reading(place: Place, sql: str) -> None:
    """What writes, opens, sets or tells of the machine is refused, in words; the file stays as it is."""
    place.said(sql)
    place.said(f"/* SELECT */ {sql} -- harmless")
    assert place.rows("SELECT count(*) AS n FROM orders") == [{"n": 3}]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1; DROP TABLE orders",
        "SELECT 1; SELECT 2",
        "SELECT 1;\0DROP TABLE orders",
        "SELECT 1 /*;*/; DELETE FROM orders",
    ],
)
def test_one_statement(place: Place, sql: str) -> None:
    place.said(sql)


@pytest.mark.parametrize(
    "sql",
    [
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n",
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n WHERE i < 0",
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n ORDER BY 1",
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 3000) SELECT count(*) FROM n a, n b, n c",
        "WITH RECURSIVE n(s) AS (SELECT 'a' UNION ALL SELECT s || s FROM n) SELECT length(s) FROM n",
        "WITH RECURSIVE n(s, i) AS (SELECT 'aaaa', 1 UNION ALL SELECT s || s, i + 1 FROM n LIMIT 20) "
        "SELECT max(s) LIKE '%a%a%a%a%a%a%a%a%a%b' FROM n",
        "WITH RECURSIVE n(s, i) AS (SELECT 'aaaa', 1 UNION ALL SELECT s || s, i + 1 FROM n LIMIT 20) "
        "SELECT max(s) GLOB '*a*a*a*a*a*a*a*a*a*b' FROM n",
        "WITH RECURSIVE n(s, i) AS (SELECT 'aaaa', 1 UNION ALL SELECT s || s, i + 1 FROM n LIMIT 20) "
        "SELECT length(replace(max(s), 'a', max(s))) FROM n",
        "WITH RECURSIVE n(s, i) AS (SELECT 'aaaa', 1 UNION ALL SELECT s || s, i + 1 FROM n LIMIT 20) "
        "SELECT instr(max(s), max(s) || 'b'), trim(max(s), 'a'), upper(max(s)), hex(max(s)), quote(max(s)) FROM n",
        "SELECT " + "(" * 1000 + "1" + ")" * 1000,
        "SELECT " + " UNION SELECT ".join(map(str, range(1000))),
        "SELECT " + "+".join(["1"] * 4000),
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT json_group_array(i) FROM n",
    ],
)
def test_what_takes_too_long_or_too_much_ends(place: Place, sql: str) -> None:
    """Within a few times its half second, without an internal error; some are small enough to be answered."""
    began = time.monotonic()
    result = place(sql)
    assert time.monotonic() - began < 10
    assert result.success or "reference" not in (result.error or "")


def test_reading(place: Place) -> None:
    """What people write to read: joins, windows, WITH, views, JSON, full text, values, and names that come twice."""
    assert place.rows("SELECT customer FROM orders WHERE price > ? ORDER BY price", 10) == [
        {"customer": "Ola"},
        {"customer": "Ada"},
    ]
    assert place.rows("WITH a AS (SELECT * FROM orders) SELECT count(*) AS n FROM a") == [{"n": 3}]
    assert place.rows(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 3) SELECT count(*) AS n FROM n"
    )
    assert place.rows("SELECT total FROM totals WHERE customer = 'Ada'") == [{"total": 57.5}]
    assert place.rows("SELECT id, row_number() OVER (ORDER BY price) AS r FROM orders LIMIT 1") == [{"id": 3, "r": 1}]
    assert place.rows("SELECT text FROM notes WHERE notes MATCH 'parcel'") == [{"text": "the parcel is late"}]
    assert place.rows("SELECT value FROM json_each('[1, 2]')") == [{"value": 1}, {"value": 2}]
    assert place.rows("SELECT 1 AS a, 2 AS a") == [{"a": 1, "a_2": 2}]
    assert place.rows("SELECT b, NULL AS n FROM blobs") == [{"b": "(2 bytes)", "n": None}]
    assert place.rows("SELECT count(*) AS n FROM sqlite_schema WHERE name = 'orders'") == [{"n": 1}]
    assert place.rows("SELECT 1 AS one;") == [{"one": 1}]
    assert place.query.options.untrusted


def test_bounds_of_a_result(place: Place) -> None:
    """Rows, values and all together; what is left out is said."""
    many = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 500) SELECT i FROM n"
    result = place(many, max_rows=200)
    assert (len(result.data), result.notes) == (
        200,
        ("there are more rows than these 200; use LIMIT and OFFSET, or aggregate.",),
    )
    assert place(many, max_rows=201).error
    (row,) = place.rows("SELECT ? AS long", "x" * 5000)
    assert row["long"].endswith("... (5000 characters in all)")
    wide = place(f"SELECT i, ? AS s FROM ({many})", "x" * 1900, max_rows=200)
    assert len(json.dumps(wide.data)) < 50_000
    assert wide.notes


def test_errors_that_a_model_can_act_on(place: Place) -> None:
    """SQLite's own words, the nearest name, the tool that tells the names."""
    assert place.said("SELECT custommer FROM orders").endswith(
        "There is no column 'custommer'. Did you mean 'customer'?"
    )
    assert place.said("SELECT * FROM order_s").endswith("There is no table 'order_s'. Did you mean 'orders'?")
    assert "Call `describe_tables` next" in place.said("SELECT * FROM zzz")
    assert 'near "SELEKT": syntax error' in place.said("SELEKT 1")
    assert "as many values as there are question marks" in place.said("SELECT ?")
    assert "more than one statement" in place.said("SELECT 1; SELECT 2")
    assert "does more than read" in place.said("DELETE FROM orders")
    assert "The function 'printf' cannot be used here." in place.said("SELECT printf('%d', 1)")
    assert "gives no rows" in place.said("-- nothing")
    place.said("SELECT ?", 2**70)


def test_a_choice_of_tables(tmp_path: Path) -> None:
    """The others cannot be read by any name: not through a view, WITH, an alias, a subquery or the schema."""
    place = Place(tmp_path, tables=["orders", "totals", "seen", "Notes"])
    assert sorted(place.describe.call_json_sync("{}").data) == ["notes", "orders", "seen", "totals"]
    assert place.rows("SELECT total FROM totals WHERE customer = 'Ola'") == [{"total": 20}]
    assert place.rows("SELECT text FROM notes WHERE notes MATCH 'parcel'")
    assert place.rows("WITH mine AS (SELECT price FROM orders) SELECT count(*) AS n FROM mine") == [{"n": 3}]
    for sql in (
        "SELECT * FROM secret",
        "SELECT count(*) FROM secret",
        "SELECT 1 FROM secret",
        "SELECT rowid FROM secret",
        "SELECT * FROM main.secret",
        'SELECT * FROM "SECRET"',
        "SELECT * FROM seen",
        "SELECT count(*) FROM seen",
        "WITH orders AS (SELECT * FROM secret) SELECT * FROM orders",
        "WITH totals AS (SELECT value FROM secret) SELECT value FROM totals",
        "SELECT * FROM (SELECT * FROM secret) AS orders",
        "SELECT (SELECT value FROM secret) AS customer FROM orders",
        "SELECT * FROM orders WHERE EXISTS (SELECT 1 FROM secret WHERE value LIKE 'h%')",
        "SELECT customer FROM orders UNION SELECT value FROM secret",
        "SELECT * FROM orders JOIN secret",
        "SELECT sql FROM sqlite_schema",
        "SELECT sql FROM sqlite_master",
        "SELECT sql FROM sqlite_temp_master",
        "SELECT name FROM pragma_table_list",
        "SELECT * FROM pragma_table_info('secret')",
        "EXPLAIN SELECT * FROM secret",
    ):
        said = place.said(sql)
        assert HIDDEN not in said
    assert "secret" not in place.said("SELECT * FROM secre")
    assert place.untouched()


WORDS = (
    *("SELECT", "*", "FROM", "secret", "orders", "seen", "totals", "WITH", "AS", "(", ")", ",", ";", "UNION", "ALL"),
    *("VALUES", "(1)", "value", "x", "JOIN", "WHERE", "1", "main", ".", "EXISTS", "DELETE", "UPDATE", "SET", "INSERT"),
    *("INTO", "RETURNING", "LIMIT", "'", '"', "--", "/*", "*/", "?", "IN", "NOT"),
)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.sampled_from(WORDS),
        max_size=14,
    )
)
def test_no_query_at_all(tmp_path_factory: pytest.TempPathFactory, words: list[str]) -> None:
    """Law: whatever is sent, nothing changes, and what is hidden is not told."""
    global _law
    if _law is None:
        _law = Place(tmp_path_factory.mktemp("law"), tables=["orders", "totals"])
    result = _law(" ".join(words) or " ")
    assert HIDDEN not in json.dumps([result.data, result.error])
    assert "reference" not in (result.error or "")
    assert _law.untouched()


_law: Place | None = None


def test_a_hostile_file(tmp_path: Path) -> None:
    """What is no database, a name with a query in it, and one that is not there."""
    (tmp_path / "text.db").write_text("no database at all, but long enough to look like something " * 20)
    query = sql_tools.Database(tmp_path / "text.db").tools()[1]
    result = query.call_json_sync('{"sql": "SELECT 1 AS a FROM sqlite_schema"}')
    assert not result.success
    with pytest.raises(FileNotFoundError):
        sql_tools.Database(tmp_path / "none.db")
    odd = tmp_path / "a?mode=rwc#x.db"
    sqlite3.connect(odd).close()
    odd.write_bytes(b"")
    database = sql_tools.Database(odd)
    assert database.tools()[1].call_json_sync('{"sql": "SELECT 1 AS one"}').data == [{"one": 1}]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a?mode=rwc#x.db", "text.db"]


def test_schema_of_many_tables(place: Place) -> None:
    """Names alone, or columns with their types and keys."""
    assert place.describe.call_json_sync('{"detail": "names"}').data["orders"] == []
    columns = place.describe.call_json_sync("{}").data["orders"]
    assert columns[0] == {"name": "id", "type": "INTEGER", "key": True}
    assert place.describe.options.read_only
