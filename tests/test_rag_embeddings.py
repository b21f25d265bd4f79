"""Vectors: by WordLlama, any function, OpenAI's API over the wire; batched, kept, gone on with after a failure."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from rag_stores import STORES, store

from toolsmith import RAG, ConfigError, Document
from toolsmith.rag import Backend, CallableEmbeddings, Progress, WordLlamaEmbeddings
from toolsmith.rag.embeddings import OpenAIEmbeddings

pytest.importorskip("numpy")

MEANINGS = {"dog": 0, "hound": 0, "puppy": 0, "car": 1, "automobile": 1, "bread": 2, "loaf": 2}


def meaning(texts: Sequence[str]) -> list[list[float]]:
    """A vector of what a text is about, out of three things."""
    vectors = [[0.001, 0.001, 0.001, 0.01] for _ in texts]
    for vector, text in zip(vectors, texts, strict=True):
        for word, axis in MEANINGS.items():
            vector[axis] += 2.0 * text.lower().count(word)
    return vectors


DOCUMENTS = [
    Document("A hound barks.", "hound"),
    Document("An automobile drives.", "auto"),
    Document("A loaf.", "loaf"),
]


@pytest.fixture(params=STORES)
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Backend]:
    with store(request.param, tmp_path) as made:
        yield made


class Counting:
    """Embeddings that note what they are asked, and fail when they are told to."""

    name = "counting-1"
    batch = 2

    def __init__(self, fail_at: int | None = None) -> None:
        self.asked: list[list[str]] = []
        self.fail_at = fail_at

    def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        if len(self.asked) == self.fail_at:
            raise ConnectionError("the service is gone")
        self.asked.append(list(texts))
        return meaning(texts)


def test_meanings_are_found_where_no_word_is(backend: Backend) -> None:
    rag = RAG(backend=backend, embeddings=CallableEmbeddings(meaning, name="m"))
    account = rag.add(DOCUMENTS)
    assert (account.embedded, account.unembedded) == (3, "")
    assert rag.stats().embedded == 3
    assert rag.search("puppy", 1)[0].source == "hound"
    assert rag.search("car", 1)[0].source == "auto"
    assert [h.source for h in rag.search("puppy", where={"none": 1})] == []
    assert RAG(backend=backend, embeddings=False).search("puppy") == []


def test_filters_hold_for_meanings(backend: Backend) -> None:
    rag = RAG(backend=backend, embeddings=CallableEmbeddings(meaning, name="m"))
    rag.add([Document("A hound.", "a", {"year": 2020}), Document("A puppy.", "b", {"year": 2021})])
    assert [h.source for h in rag.search("dog", where={"year": {"gt": 2020}})] == ["b"]


def test_batched_and_never_asked_twice(backend: Backend) -> None:
    """Two at a time; what is known by its text is not sent again, in another document or bucket either."""
    embeddings = Counting()
    told: list[Progress] = []
    rag = RAG(backend=backend, embeddings=embeddings)
    rag.add([Document(f"Text {n}.", f"d{n}") for n in range(5)], progress=told.append)
    assert [len(batch) for batch in embeddings.asked] == [2, 2, 1]
    assert [(p.done, p.total) for p in told if p.phase == "embed"] == [(2, 5), (4, 5), (5, 5)]
    rag.add([Document(f"Text {n}.", f"d{n}") for n in range(5)])
    assert len(embeddings.asked) == 3


def test_a_failure_keeps_what_was_embedded_and_the_next_add_goes_on(backend: Backend) -> None:
    embeddings = Counting(fail_at=2)
    rag = RAG(backend=backend, embeddings=embeddings)
    account = rag.add([Document(f"Hound {n}.", f"d{n}") for n in range(7)])
    assert (len(account.added), account.embedded) == (7, 4)
    assert account.unembedded == "ConnectionError: the service is gone"
    assert "not all embedded: ConnectionError" in str(account)
    assert len(rag.search("hound", 10)) == 7  # by their words
    embeddings.fail_at = None
    account = rag.add([Document(f"Hound {n}.", f"d{n}") for n in range(7)])
    assert (len(account.unchanged), account.embedded, account.unembedded) == (7, 3, "")
    sent = [text for batch in embeddings.asked for text in batch]
    assert len(sent) == len(set(sent)) == 7


def test_another_model_gets_vectors_of_its_own(backend: Backend) -> None:
    """Vectors of different models, and lengths, are never compared."""
    RAG(backend=backend, embeddings=CallableEmbeddings(meaning, name="one")).add(DOCUMENTS)
    two = RAG(backend=backend, embeddings=CallableEmbeddings(lambda texts: [[1.0, 0.0]] * len(texts), name="two"))
    assert two.stats().embedded == 0
    assert two.add(DOCUMENTS).embedded == 3
    one = RAG(backend=backend, embeddings=CallableEmbeddings(meaning, name="one"))
    assert one.search("puppy", 1)[0].source == "hound"


def test_vectors_go_with_their_documents(backend: Backend) -> None:
    embeddings = Counting()
    rag = RAG(backend=backend, embeddings=embeddings)
    rag.add(DOCUMENTS)
    rag.remove("hound")
    assert [h.source for h in rag.search("puppy")] == []
    before = len(embeddings.asked)
    rag.add(DOCUMENTS)
    assert [text for batch in embeddings.asked[before:] for text in batch] == ["hound\nA hound barks."]


def test_a_query_that_cannot_be_embedded_is_searched_by_words(
    backend: Backend, caplog: pytest.LogCaptureFixture
) -> None:
    embeddings = Counting()
    rag = RAG(backend=backend, embeddings=embeddings)
    rag.add(DOCUMENTS)
    embeddings.fail_at = len(embeddings.asked)
    assert rag.search("hound", 1)[0].source == "hound"
    assert "words alone were searched: the service is gone" in caplog.text


@pytest.mark.parametrize(
    ("vectors", "said"),
    [
        ([[1.0]], "1 vectors for 3 texts"),
        ([[1.0], [1.0, 2.0], [1.0]], "different lengths"),
        ([list[float](), list[float](), list[float]()], "different lengths, or empty"),
        ([[float("nan")], [1.0], [1.0]], "not finite"),
    ],
)
def test_wrong_vectors_are_refused(tmp_path: Path, vectors: list[list[float]], said: str) -> None:
    with RAG(path=tmp_path / "i", embeddings=CallableEmbeddings(lambda _: vectors, name="wrong")) as rag:
        account = rag.add(DOCUMENTS)
        assert said in account.unembedded
        assert (len(account.added), account.embedded) == (3, 0)


def test_what_can_be_embeddings(tmp_path: Path) -> None:
    RAG(path=tmp_path / "i", embeddings=meaning)
    with pytest.raises(TypeError, match="give it a name"):
        RAG(path=tmp_path / "i", embeddings=lambda texts: [[1.0]] * len(texts))
    with pytest.raises(TypeError, match="takes None, False, Embeddings or a function"):
        RAG(path=tmp_path / "i", embeddings="openai")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="needs a name"):
        CallableEmbeddings(meaning, name="")


@pytest.mark.skipif(not WordLlamaEmbeddings.available(), reason="wordllama is not installed")
def test_wordllama_is_used_where_it_is_installed(tmp_path: Path) -> None:
    """It needs no network, and finds other words of one meaning."""
    with RAG(path=tmp_path / "index.sqlite3") as rag:
        assert "wordllama" in repr(rag)
        rag.add(
            [
                Document("Remove a directory and all that is in it.", "rmtree"),
                Document("Send an electronic mail message through a server.", "mail"),
                Document("The greatest of several numbers.", "max"),
            ]
        )
        assert rag.stats().embedded == 3
        assert rag.search("delete a folder", 1)[0].source == "rmtree"
        assert rag.search("biggest value", 1)[0].source == "max"


# ---- OpenAI's API over the wire


class Service(ThreadingHTTPServer):
    """`POST /v1/embeddings`, as the API documents it; notes the requests and fails from one on."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.fails_from: int | None = None
        super().__init__(("127.0.0.1", 0), Answers)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"


class Answers(BaseHTTPRequestHandler):
    server: Service  # pyright: ignore[reportIncompatibleVariableOverride]
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.requests.append({**asked, "path": self.path, "key": self.headers["authorization"]})
        if self.server.fails_from is not None and len(self.server.requests) > self.server.fails_from:
            self.answer(401, {"error": {"message": "Incorrect API key provided.", "type": "invalid_request_error"}})
            return
        vectors = meaning(asked["input"])
        data = [{"object": "embedding", "index": i, "embedding": v} for i, v in enumerate(vectors)]
        # In any order: the index says which text each is of.
        usage = {"prompt_tokens": 1, "total_tokens": 1}
        self.answer(200, {"object": "list", "data": data[::-1], "model": asked["model"], "usage": usage})

    def answer(self, status: int, body: dict[str, Any]) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: the test looks at `requests`."""


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    with Service() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        yield server
        server.shutdown()
        thread.join()


def test_openai_over_the_wire(tmp_path: Path, service: Service) -> None:
    """The request is what the API takes; vectors go to their texts by index; a later add sends what is missing."""
    embeddings = OpenAIEmbeddings("text-embedding-3-large", dimensions=4, batch=2)
    assert embeddings.name == "text-embedding-3-large-4"
    with RAG(path=tmp_path / "index.sqlite3", embeddings=embeddings) as rag:
        service.fails_from = 1
        account = rag.add(DOCUMENTS)
        assert account.embedded == 2
        assert "AuthenticationError" in account.unembedded
        service.fails_from = None
        assert rag.add(DOCUMENTS).embedded == 1
        assert rag.search("puppy", 1)[0].source == "hound"
        assert rag.search("car", 1)[0].source == "auto"
    first = service.requests[0]
    assert first["path"] == "/v1/embeddings"
    assert first["key"] == "Bearer sk-test"
    assert {k: v for k, v in first.items() if k not in ("path", "key", "input")} == {
        "model": "text-embedding-3-large",
        "dimensions": 4,
        "encoding_format": "float",
    }
    assert len(first["input"]) == 2
    assert all(isinstance(text, str) and text for text in first["input"])


def test_openai_without_a_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Making it asks nothing; using it says what to set, and the documents are searched by words."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ConfigError, match="set OPENAI_API_KEY"):
        OpenAIEmbeddings().embed(["a"])
    with RAG(path=tmp_path / "index.sqlite3", embeddings=OpenAIEmbeddings()) as rag:
        account = rag.add(DOCUMENTS)
        assert "set OPENAI_API_KEY" in account.unembedded
        assert len(account.added) == 3
    with pytest.raises(ValueError, match="must be 1 to 2,048"):
        OpenAIEmbeddings(batch=5_000)
