"""The statements of `PostgresBackend`. What varies is given as values; what stands here is constant text."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from toolsmith.rag._where import SYMBOLS, Condition

_K1, _B, _HEADINGS_WEIGHT = 1.2, 0.75, 0.7  # as in SQLite's bm25()

TABLES: Final = (
    """CREATE TABLE documents (id bigserial PRIMARY KEY, bucket text NOT NULL, source text NOT NULL,
        digest text NOT NULL, title text NOT NULL, metadata jsonb NOT NULL, UNIQUE (bucket, source))""",
    """CREATE TABLE chunks (id bigserial PRIMARY KEY, bucket text NOT NULL,
        document bigint NOT NULL REFERENCES documents ON DELETE CASCADE, part integer NOT NULL, headings text NOT NULL,
        text text NOT NULL, place jsonb NOT NULL, hash bytea NOT NULL, length real NOT NULL DEFAULT 0)""",
    "CREATE INDEX ON chunks (document)",
    "CREATE INDEX ON chunks (hash)",
    "CREATE INDEX ON chunks (bucket) INCLUDE (length)",
    """CREATE TABLE counts (bucket text NOT NULL, word text NOT NULL,
        chunk bigint NOT NULL REFERENCES chunks ON DELETE CASCADE, count real NOT NULL,
        PRIMARY KEY (bucket, word, chunk) INCLUDE (count))""",
    "CREATE INDEX ON counts (chunk)",
)
VECTORS: Final = """CREATE TABLE IF NOT EXISTS vectors (model text NOT NULL, hash bytea NOT NULL,
    vector vector NOT NULL, PRIMARY KEY (model, hash))"""

WIDEST: Final = 2_000
"""Numbers of a vector that pgvector can index."""
_LOOKED_AT: Final = 400
LOOK_AT: Final = f"SET LOCAL hnsw.ef_search = {_LOOKED_AT}"
MODELS: Final = "SELECT DISTINCT model, vector_dims(vector) FROM vectors WHERE vector_dims(vector) <= %s"
INDEX_IS_THERE: Final = "SELECT to_regclass(%s) IS NOT NULL"
INDEX: Final = """
SELECT format('CREATE INDEX IF NOT EXISTS %%I ON vectors USING hnsw ((vector::vector(%%s)) vector_cosine_ops) '
    'WHERE model = %%L', %s::text, %s::int, %s::text)"""

LOCK: Final = "SELECT pg_advisory_xact_lock(%s)"
SCHEMA_IS_THERE: Final = "SELECT to_regclass(%s || '.counts') IS NOT NULL"
VECTORS_ARE_THERE: Final = "SELECT to_regclass('vectors') IS NOT NULL"
EXTENSION_IS_THERE: Final = "SELECT count(*) FROM pg_extension WHERE extname = 'vector'"
EXTENSION_IS_KNOWN: Final = "SELECT count(*) FROM pg_available_extensions WHERE name = 'vector'"

DIGEST: Final = "SELECT id, digest FROM documents WHERE bucket = %s AND source = %s"
DIGESTS: Final = "SELECT source, digest FROM documents WHERE bucket = %s AND source = ANY(%s)"
SOURCES: Final = "SELECT source FROM documents WHERE bucket = %s"
BUCKETS: Final = "SELECT DISTINCT bucket FROM documents"
KEYS: Final = "SELECT DISTINCT jsonb_object_keys(metadata) FROM documents WHERE bucket = %s"
DELETE: Final = "DELETE FROM documents WHERE id = %s"
REMOVE: Final = "DELETE FROM documents WHERE bucket = %s AND source = ANY(%s) RETURNING source"
INSERT_DOCUMENT: Final = (
    "INSERT INTO documents (bucket, source, digest, title, metadata) VALUES (%s, %s, %s, %s, %s) RETURNING id"
)
INSERT_CHUNK: Final = (
    "INSERT INTO chunks (bucket, document, part, headings, text, place, hash) VALUES (%s, %s, %s, %s, %s, %s, %s)"
)
INSERT_COUNTS: Final = f"""
INSERT INTO counts SELECT bucket, lexeme, id, sum(n) FROM (
    SELECT c.bucket, c.id, u.lexeme, cardinality(u.positions) AS n
    FROM chunks c, unnest(to_tsvector(%(language)s::text::regconfig, c.text)) u
    WHERE c.document = ANY(%(documents)s::bigint[])
    UNION ALL SELECT c.bucket, c.id, u.lexeme, cardinality(u.positions) * {_HEADINGS_WEIGHT}
    FROM chunks c, unnest(to_tsvector(%(language)s::text::regconfig, c.headings)) u
    WHERE c.document = ANY(%(documents)s::bigint[])
) w GROUP BY bucket, lexeme, id"""
SET_LENGTHS: Final = """
UPDATE chunks SET length = coalesce((SELECT sum(count) FROM counts WHERE chunk = id), 0)
WHERE document = ANY(%s::bigint[])"""

INSERT_VECTOR: Final = (
    "INSERT INTO vectors VALUES (%s, %s, %s::vector) ON CONFLICT (model, hash) DO UPDATE SET vector = excluded.vector"
)
DROP_VECTORS: Final = "DELETE FROM vectors v WHERE NOT EXISTS (SELECT 1 FROM chunks c WHERE c.hash = v.hash)"
WITHOUT_VECTOR: Final = """
SELECT DISTINCT ON (c.hash) c.hash, c.headings, c.text FROM chunks c WHERE c.bucket = %s AND NOT EXISTS (
    SELECT 1 FROM vectors v WHERE v.model = %s AND v.hash = c.hash) LIMIT %s"""

PASSAGES: Final = """
SELECT c.id, c.text, d.source, d.title, c.part, c.place, d.metadata FROM chunks c JOIN documents d ON d.id = c.document
WHERE c.bucket = %s AND c.id = ANY(%s::bigint[])"""
COUNTS: Final = """
SELECT (SELECT count(*) FROM documents WHERE bucket = %s), (SELECT count(*) FROM chunks WHERE bucket = %s),
    (SELECT coalesce(sum(length(text)), 0) FROM chunks WHERE bucket = %s)"""
EMBEDDED: Final = "SELECT count(*) FROM chunks c JOIN vectors v ON v.model = %s AND v.hash = c.hash WHERE c.bucket = %s"
SIZE: Final = """
SELECT sum(pg_total_relation_size(c.oid)) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = %s AND c.relkind = 'r'"""


def by_words(tests: str) -> Any:
    """BM25 over the chunks that have any of the query's stems."""
    return f"""
WITH size AS (SELECT count(*)::float8 AS n, greatest(avg(length), 1)::float8 AS mean
    FROM chunks WHERE bucket = %(bucket)s),
asked AS (SELECT unnest(tsvector_to_array(to_tsvector(%(language)s::text::regconfig, %(query)s))) AS word),
rare AS (SELECT a.word, ln((size.n - k.n + 0.5) / (k.n + 0.5) + 1) AS weight FROM size, asked a, LATERAL (
    SELECT count(*)::float8 AS n FROM counts WHERE bucket = %(bucket)s AND word = a.word) k WHERE k.n > 0)
SELECT c.id FROM rare r JOIN counts p ON p.bucket = %(bucket)s AND p.word = r.word JOIN chunks c ON c.id = p.chunk
    JOIN documents d ON d.id = c.document CROSS JOIN size
WHERE true{tests} GROUP BY c.id
ORDER BY sum(r.weight * p.count * {_K1 + 1} / (p.count + {_K1} * ({1 - _B} + {_B} * c.length / size.mean))) DESC, c.id
LIMIT %(depth)s"""


def by_parts(tests: str) -> Any:
    """The chunks that have most of some parts of words, each counted once."""
    return f"""
SELECT c.id FROM chunks c JOIN documents d ON d.id = c.document, LATERAL (
    SELECT count(*) AS n FROM unnest(%(parts)s::text[]) p WHERE c.text ILIKE p OR c.headings ILIKE p) k
WHERE c.bucket = %(bucket)s AND k.n > 0{tests} ORDER BY k.n DESC, c.id LIMIT %(depth)s"""


def by_vectors(tests: str, *, near: int | None = None) -> Any:
    """The nearest chunks: compared one by one, or among those that the index of vectors of this width gives."""
    source = "vectors"
    if near is not None:
        # Alike to what the index is of, else it is not taken.
        source = f"""(SELECT model, hash, vector FROM vectors WHERE model = %(model)s
        ORDER BY (vector::vector({near})) <=> %(vector)s::vector({near}) LIMIT {_LOOKED_AT})"""
    return f"""
SELECT c.id FROM chunks c JOIN documents d ON d.id = c.document
    JOIN {source} v ON v.model = %(model)s AND v.hash = c.hash
WHERE c.bucket = %(bucket)s AND vector_dims(v.vector) = %(width)s
    AND 1 - (v.vector <=> %(vector)s::vector) > %(floor)s{tests}
ORDER BY v.vector <=> %(vector)s::vector, c.id LIMIT %(depth)s"""


def escaped(part: str) -> str:
    """Text for a LIKE pattern, in which no character means anything."""
    return part.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def tests(conditions: Sequence[Condition]) -> tuple[str, dict[str, Any]]:
    """Conditions on `d.metadata` as SQL to follow a WHERE, and the values for its names."""
    made: list[str] = []
    values: dict[str, Any] = {}
    for i, condition in enumerate(conditions):
        key, value = f"key{i}", f"value{i}"
        values[key] = condition.key
        # A list is searched by its elements, anything else is its own only element; a missing key has none.
        elements = (
            f"jsonb_exists(d.metadata, %({key})s) AND EXISTS (SELECT 1 FROM jsonb_array_elements("
            f"CASE jsonb_typeof(d.metadata -> %({key})s) WHEN 'array' THEN d.metadata -> %({key})s "
            f"ELSE jsonb_build_array(d.metadata -> %({key})s) END) e WHERE "
        )
        match condition.operator:
            case "in" | "ne":
                values[value] = json.dumps(condition.values)
                test = f"({elements} e IN (SELECT jsonb_array_elements(%({value})s::jsonb))))"
                made.append(f"NOT {test}" if condition.operator == "ne" else test)
            case operator:
                wanted = condition.values[0]
                values[value] = wanted
                text = isinstance(wanted, str)
                kind = "string" if text else "number"
                sides = ("(e #>> '{}') COLLATE \"C\"", "::text") if text else ("(e #>> '{}')::numeric", "::numeric")
                test = f"{sides[0]} {SYMBOLS[operator]} %({value})s{sides[1]}"
                made.append(f"({elements} CASE WHEN jsonb_typeof(e) = '{kind}' THEN {test} ELSE false END))")
    return "".join(f" AND {test}" for test in made), values
