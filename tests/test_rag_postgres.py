"""What is Postgres's own: a server that goes away, many writers, passwords, and what a user may not do."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from rag_stores import needs_postgres, postgres_address, store

from toolsmith import RAG, Document, RAGError
from toolsmith.rag import Backend, CallableEmbeddings

pytestmark = needs_postgres


@pytest.fixture
def backend(tmp_path: Path) -> Iterator[Backend]:
    with store("postgres", tmp_path) as made:
        yield made


def psycopg() -> Any:
    return import_module("psycopg")


def test_the_character_0_is_left_out(backend: Backend) -> None:
    """Postgres takes no such text, and a document is not lost for it."""
    rag = RAG(backend=backend, embeddings=False)
    rag.add(Document("# He\x00ad\n\nThe sh\x00op opens.", "a\x00b", {"k": "v\x00w"}, title="t\x00"))
    hit = rag.search("shop op\x00ens", where={"k": "vw"})[0]
    assert (hit.text, hit.source, hit.title, hit.metadata) == ("The shop opens.", "ab", "t", {"k": "vw"})


def test_many_writers_at_once(backend: Backend) -> None:
    """Each document is there once, whoever was first; nobody fails."""
    outcomes: list[tuple[int, int]] = []
    failures: list[BaseException] = []

    def work() -> None:
        try:
            account = RAG(backend=backend, embeddings=False).add(
                Document(f"Text number {n}.", f"d{n}") for n in range(60)
            )
            outcomes.append((len(account.added), len(account.unchanged)))
        except BaseException as error:  # noqa: BLE001 - shown by the assertion below
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert sum(added for added, _ in outcomes) == 60
    assert RAG(backend=backend, embeddings=False).stats().documents == 60


def test_a_connection_that_was_ended_is_made_anew(backend: Backend) -> None:
    """A server restarts, a firewall forgets: the next call does not fail for that."""
    rag = RAG(backend=backend, embeddings=False)
    rag.add(Document("The shop opens.", "a"))
    with psycopg().connect(postgres_address(), autocommit=True) as other:
        other.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'toolsmith' "
            "AND pid <> pg_backend_pid()"
        )
    assert rag.search("shop")[0].source == "a"


def test_a_document_is_whole_or_not_there(backend: Backend) -> None:
    """Where the transaction fails in the middle, the old document is still there."""
    rag = RAG(backend=backend, embeddings=False)
    rag.add(Document("The old words.", "a"))
    schema = str(vars(backend)["_schema"])
    with psycopg().connect(postgres_address(), autocommit=True) as other:
        other.execute(f"ALTER TABLE {schema}.chunks ADD CONSTRAINT no_bad CHECK (text !~ 'forbidden')")
    with pytest.raises(RAGError, match="CheckViolation"):
        rag.add(Document("The new words.\n\n# B\n\nA forbidden one.", "a"))
    assert [h.text for h in rag.search("words")] == ["The old words."]


def test_a_server_that_is_not_there() -> None:
    """The error says so, and shows no password."""
    from toolsmith.rag.postgres import PostgresBackend

    backend = PostgresBackend("postgresql://ann:hunter2@127.0.0.1:1/db", connect_timeout=2)
    with pytest.raises(RAGError, match="cannot be reached") as raised:
        RAG(backend=backend, embeddings=False).search("x")
    assert "hunter2" not in str(raised.value) + repr(backend)
    assert "ann:***@127.0.0.1" in repr(backend)
    assert "hunter2" not in repr(PostgresBackend("host=h password=hunter2 dbname=d"))


def test_names_that_would_be_sql() -> None:
    from toolsmith.rag.postgres import PostgresBackend

    for bad in ({"schema": "a; DROP TABLE x"}, {"language": "x'::regconfig"}, {"schema": "A"}):
        with pytest.raises(ValueError, match="take lower-case letters"):
            PostgresBackend("postgresql://h/d", **bad)  # type: ignore[arg-type]


def test_vectors_of_any_width_stand_side_by_side(backend: Backend) -> None:
    for width in (2, 1_536, 3_072):
        vector = [1.0] + [0.0] * (width - 1)
        rag = RAG(
            "docs", backend=backend, embeddings=CallableEmbeddings(lambda t, v=vector: [v] * len(t), name=f"w{width}")
        )
        rag.add(Document("Some words.", "a"))
        assert rag.stats().embedded == 1
        assert rag.search("other", 1)[0].source == "a"


def test_an_approximate_index_finds_what_the_exact_search_finds(backend: Backend) -> None:
    """It is used once it is made, for documents that come later too; filters and small buckets stay exact."""
    import random

    from toolsmith.rag.postgres import PostgresBackend

    assert isinstance(backend, PostgresBackend)
    random.seed(7)
    places = {f"{n}": [random.gauss(0, 1) for _ in range(8)] for n in range(1_500)}

    def embed(texts: list[str]) -> list[list[float]]:
        return [places.get(text.split()[-1].rstrip("."), places["0"]) for text in texts]

    embeddings = CallableEmbeddings(embed, name='it\'s 50% "odd"', batch=500)
    rag = RAG("big", backend=backend, embeddings=embeddings)
    rag.add(Document(f"Number {n}.", f"d{n}", {"odd": int(n) % 2 == 1, "rare": int(n) == 77}) for n in places)
    small = RAG("small", backend=backend, embeddings=embeddings)
    small.add([Document("Another 3.", "s3")])
    asked = [f"zzz {n}" for n in range(0, 1_500, 100)]
    exact = [[hit.source for hit in rag.search(query, 10)] for query in asked]
    assert backend.index_vectors() == [embeddings.name]
    near = [[hit.source for hit in rag.search(query, 10)] for query in asked]
    same = sum(len(set(a) & set(b)) for a, b in zip(exact, near, strict=True))
    assert same >= 0.95 * sum(map(len, exact))
    assert small.search("zzz 3")[0].source == "s3"
    assert [hit.source for hit in rag.search("zzz 77", 3, where={"rare": True})] == ["d77"]
    places["new"] = [5.0, -5.0, 5.0, -5.0, 5.0, -5.0, 5.0, -5.0]
    rag.add(Document("The new.", "new"))
    assert rag.search("zzz new", 1)[0].source == "new"
    with psycopg().connect(postgres_address(), autocommit=True) as other:
        ask = "SELECT idx_scan FROM pg_stat_user_indexes WHERE indexrelname LIKE 'near%%' AND schemaname = %s"
        until = time.monotonic() + 10
        used = 0
        while not used and time.monotonic() < until:  # the server counts with a delay
            used = other.execute(ask, (vars(backend)["_schema"],)).fetchone()[0]
            time.sleep(0.1)
    assert used
