"""What an index must be able to do, whatever it is kept in; and how the ranks of several rankers become one order."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol

from toolsmith._dataclass import dataclass
from toolsmith.errors import RAGError
from toolsmith.rag.documents import Position, Stats

if TYPE_CHECKING:
    from toolsmith.rag._where import Condition

Outcome = Literal["added", "replaced", "unchanged"]
Vector = Sequence[float]


@dataclass(frozen=True, slots=True)
class Source:
    """A document as it is stored: all but its text."""

    name: str
    digest: str
    title: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage to be stored.

    Attributes:
        headings: the words that stand above it (title, headings, the source's name), searched beside the text.
    """

    text: str
    headings: str
    position: Position

    @property
    def meaning(self) -> str:
        """What is given to embeddings."""
        return f"{self.headings}\n{self.text}" if self.headings else self.text

    @property
    def hash(self) -> bytes:
        """Of its meaning: passages of one hash share a vector."""
        return hashlib.blake2b(self.meaning.encode("utf-8", "replace"), digest_size=16).digest()


@dataclass(frozen=True, slots=True)
class Query:
    """A search.

    Attributes:
        text: as it was asked.
        limit: how many passages.
        conditions: that the metadata fulfils, all of them.
        vector: of the text, of length 1; None to search by words alone.
        model: the name of the embeddings that made it.
        floor: cosines that are not above it say nothing.
    """

    text: str
    limit: int
    conditions: tuple[Condition, ...] = ()
    vector: Vector | None = None
    model: str = ""
    floor: float = 0.0


@dataclass(frozen=True, slots=True)
class Found:
    """A stored passage.

    Attributes:
        number: by which the backend knows it; never given to another passage.
        score: 0 to 1; 0 if it was not searched for.
    """

    number: int
    text: str
    source: str
    title: str
    position: Position
    metadata: Mapping[str, Any]
    score: float = 0.0

    @property
    def meaning(self) -> str:
        """Its text with what stands above it."""
        return "\n".join(part for part in (self.title, *self.position.headings, self.text) if part)


class Backend(Protocol):
    """Keeps the buckets of documents of one program. Its methods may be called from several threads.

    Each method that writes is one transaction: it has happened or it has not, and others see it whole. All raise
    `RAGError` where the store cannot be used.
    """

    def digests(self, bucket: str, sources: Collection[str]) -> dict[str, str]:
        """The digests of those sources that are there."""
        ...

    def put(self, bucket: str, documents: Sequence[tuple[Source, Sequence[Passage]]]) -> list[Outcome]:
        """Add documents, each in the place of the one of its name if there is one; in one transaction."""
        ...

    def remove(self, bucket: str, sources: Collection[str]) -> list[str]:
        """Take documents away; gives the names of those that were there."""
        ...

    def sources(self, bucket: str) -> list[str]:
        """The names of all documents, sorted."""
        ...

    def search(self, bucket: str, query: Query) -> list[Found]:
        """The passages that fit best, best first."""
        ...

    def passages(self, bucket: str, numbers: Collection[int]) -> list[Found]:
        """Passages by their numbers, in the order of these; those that are not there are left out."""
        ...

    def without_vector(self, bucket: str, model: str, limit: int) -> list[tuple[bytes, str]]:
        """Hashes and texts that have no vector of a model yet, each once."""
        ...

    def keep_vectors(self, model: str, vectors: Iterable[tuple[bytes, Vector]]) -> None:
        """Store vectors by the hashes of their texts."""
        ...

    def drop_unused_vectors(self) -> None:
        """Take away vectors that no passage of any bucket has."""
        ...

    def stats(self, bucket: str, model: str) -> Stats:
        """What a bucket holds."""
        ...

    def buckets(self) -> list[str]:
        """The names of all buckets, sorted."""
        ...

    def keys(self, bucket: str) -> list[str]:
        """The keys that the metadata of a bucket's documents have, sorted."""
        ...

    def close(self) -> None:
        """Let go of files and connections. The next call opens them anew."""
        ...


@dataclass(frozen=True, slots=True)
class Ranking:
    """What one ranker says: passages by number, best first, and how much its word counts."""

    numbers: Sequence[int]
    weight: float = 1.0


_SMOOTHING = 20
"""Of reciprocal rank fusion (Cormack, Clarke and Büttcher, SIGIR 2009): the smaller, the more a first place counts."""

DEPTH = 60
"""How many passages each ranker names."""

WEIGHTS: Final = {"words": 1.0, "trigrams": 0.2, "vectors": 0.5}
"""How much each ranker's word counts; set on one half of the questions of benchmarks/rag.py."""


def fused(rankings: Sequence[Ranking], limit: int, *, smoothing: float = _SMOOTHING) -> list[tuple[int, float]]:
    """One order out of several: passages and their scores, where 1 is the first place in all rankings."""
    scores: dict[int, float] = {}
    for ranking in rankings:
        for rank, number in enumerate(ranking.numbers, 1):
            scores[number] = scores.get(number, 0.0) + ranking.weight / (smoothing + rank)
    full = sum(r.weight for r in rankings) / (smoothing + 1) or 1.0
    # Ties fall to the older passage, so that the order is the same each time.
    order = sorted(scores, key=lambda number: (-scores[number], number))
    return [(number, min(scores[number] / full, 1.0)) for number in order[:limit]]


_RERANKED_WEIGHT = 1.2
"""How much the second look counts, beside the first order."""


def reranked(found: Sequence[Found], relevance: Sequence[float]) -> list[Found]:
    """Passages in a new order, from the first one and from how well each answers the query, by ranks again."""
    if len(found) != len(relevance):
        raise ValueError(f"the embeddings gave {len(relevance)} scores for {len(found)} texts")
    order = sorted(range(len(found)), key=lambda i: (-relevance[i], i))
    second = {i: (_SMOOTHING + 1) / (_SMOOTHING + rank) for rank, i in enumerate(order, 1)}
    scores = {i: (f.score + _RERANKED_WEIGHT * second[i]) / (1 + _RERANKED_WEIGHT) for i, f in enumerate(found)}
    best = sorted(scores, key=lambda i: (-scores[i], i))
    return [replace(found[i], score=round(scores[i], 4)) for i in best]


def why_missing(backend: Backend) -> str:
    """Why there is no index to look into, and what to do; "" where there is one, or a store that cannot say."""
    why: str = getattr(backend, "missing", str)()
    return why and f"{why}: RAG.add(...) makes it; RAG(path=...) names another."


def must_be_there(backend: Backend) -> None:
    """See that there is an index: of a misspelt one nobody would know that nothing was searched.

    Raises:
        RAGError: there is none yet.
    """
    if why := why_missing(backend):
        raise RAGError(why)
