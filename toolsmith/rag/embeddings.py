"""What turns texts into vectors of meaning: WordLlama in this process, OpenAI's API, or any function.

    RAG("docs")                                             WordLlama where it is installed (extra "local"), else none
    RAG("docs", embeddings=OpenAIEmbeddings())              the API, batched; what has been embedded is never sent again
    RAG("docs", embeddings=CallableEmbeddings(fn, name="mine-1"))

Vectors are stored under the name of what made them and the hash of the text: another model's are never compared.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, cast, runtime_checkable

from toolsmith import _given as given
from toolsmith import _wordllama

if TYPE_CHECKING:
    from toolsmith.rag.openai_embeddings import OpenAIEmbeddings

__all__ = ["CallableEmbeddings", "Embeddings", "OpenAIEmbeddings", "WordLlamaEmbeddings", "unit"]


FLOOR = 0.1
"""A cosine that says nothing, for embeddings that do not name their own as `floor`."""


class Embeddings(Protocol):
    """Texts to vectors.

    Attributes:
        name: of the model; vectors of one name must be comparable.
        batch: how many texts are asked for at once, and stored at once.
    """

    @property
    def name(self) -> str: ...

    @property
    def batch(self) -> int: ...

    def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """A vector for each text, all of one length. Whatever it raises stops embedding, and loses nothing."""
        ...


@runtime_checkable
class Reranks(Protocol):
    """Embeddings that can also look at a passage and a query together; they are asked about the best passages."""

    def relevance(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """How well each text answers the query: more is better; the numbers are only compared with each other."""
        ...


class WordLlamaEmbeddings:
    """WordLlama's 256 numbers a text, from the package's own files: no network, some 10,000 passages a second.

    Raises:
        ConfigError: at the first use, if the packages are missing.
    """

    name = "wordllama-l2-supercat-256"
    batch = 2_000
    floor = 0.3

    @staticmethod
    def available() -> bool:
        """Whether its packages are installed."""
        return not _wordllama.missing()

    def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """See `Embeddings.embed`."""
        words = _wordllama.word_vectors()
        return [words.of_tokens(words.tokens(text)) for text in texts]  # pyright: ignore[reportReturnType]

    def relevance(self, query: str, texts: Sequence[str]) -> list[float]:
        """See `Reranks.relevance`: how near the words of each text come to those of the query."""
        from toolsmith.rag._meeting import meeting

        return meeting(query, texts)


class CallableEmbeddings:
    """A function as embeddings.

    Args:
        fn: takes a list of texts and gives a vector for each.
        name: of the model behind it. Change it when the model changes.
        batch: how many texts it is given at once.
    """

    def __init__(self, fn: Callable[[list[str]], Sequence[Sequence[float]]], *, name: str, batch: int = 64) -> None:
        if not callable(fn):
            raise given.wrong("CallableEmbeddings", "fn", fn, "a function from a list of texts to their vectors")
        given.text("CallableEmbeddings", name=name)
        given.whole("CallableEmbeddings", batch=batch)
        if not name or batch < 1:
            raise ValueError("CallableEmbeddings needs a name, and a batch of at least 1.")
        self._fn = fn
        self.name = name
        self.batch = batch

    def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """See `Embeddings.embed`."""
        return self._fn(list(texts))


def chosen(given: Any) -> Embeddings | None:
    """The embeddings that the argument of `RAG` means: None for WordLlama where it is installed, False for none."""
    if given is None:
        return WordLlamaEmbeddings() if WordLlamaEmbeddings.available() else None
    if given is False:
        return None
    if all(hasattr(given, name) for name in ("name", "batch", "embed")):
        return given
    if callable(given):
        module, name = getattr(given, "__module__", ""), getattr(given, "__qualname__", "")
        if not name or "<" in name:
            raise TypeError("RAG(embeddings=...): give it a name, CallableEmbeddings(fn, name='...').")
        return CallableEmbeddings(cast("Any", given), name=f"{module}.{name}")
    raise TypeError(f"RAG(embeddings=...) takes None, False, Embeddings or a function, not {given!r}.")


def unit(vectors: Sequence[Sequence[float]], expected: int) -> list[list[float]]:
    """Vectors with length 1, checked.

    Raises:
        ValueError: they are not as many as the texts, of different or no length, or hold what is no finite number.
    """
    rows = [[float(x) for x in vector] for vector in vectors]
    if len(rows) != expected:
        raise ValueError(f"the embeddings gave {len(rows)} vectors for {expected} texts")
    if rows and (not rows[0] or any(len(row) != len(rows[0]) for row in rows)):
        raise ValueError("the embeddings gave vectors of different lengths, or empty ones")
    done: list[list[float]] = []
    for row in rows:
        norm = math.sqrt(sum(x * x for x in row))
        if not math.isfinite(norm):
            raise ValueError("the embeddings gave numbers that are not finite")
        done.append([x / norm for x in row] if norm > 0 else row)
    return done


def __getattr__(name: str) -> Any:
    if name == "OpenAIEmbeddings":
        from toolsmith.rag.openai_embeddings import OpenAIEmbeddings

        return OpenAIEmbeddings
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
