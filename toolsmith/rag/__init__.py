"""Search your own documents: `RAG`, in one SQLite file or on Postgres, and as a tool for a model.

from toolsmith import Agent, RAG

rag = RAG("docs", description="the handbook of the shop")
rag.add("handbook/")                          # text, Markdown, HTML, PDF, DOCX; unchanged files are skipped
rag.search("how long may a customer wait?")   # list[Hit]
Agent("anthropic:claude-opus-5-5", tools=rag.as_tools())
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Any, Final, cast

from toolsmith import _given as given
from toolsmith.rag._adding import Adding
from toolsmith.rag._backend import DEPTH, Backend, Query, must_be_there, reranked, why_missing
from toolsmith.rag._chunks import TARGET
from toolsmith.rag._reading import MAX_BYTES, MAX_CHARACTERS, MAX_SECONDS, Bounds
from toolsmith.rag._sources import source_name
from toolsmith.rag._where import conditions, fulfils
from toolsmith.rag._words import snippet, words
from toolsmith.rag.documents import Account, Document, Failure, Hit, Position, Progress, Stats
from toolsmith.rag.embeddings import FLOOR, CallableEmbeddings, Embeddings, Reranks, WordLlamaEmbeddings, chosen, unit

if TYPE_CHECKING:
    from toolsmith.rag._backend import Found
    from toolsmith.tool import Tool

__all__ = [
    "RAG",
    "Account",
    "Backend",
    "CallableEmbeddings",
    "Document",
    "Embeddings",
    "Failure",
    "Hit",
    "Position",
    "Progress",
    "Stats",
    "WordLlamaEmbeddings",
]

log = logging.getLogger("toolsmith")

DEFAULT_PATH: Final = ".toolsmith/rag.sqlite3"
"""Where the embedded index is kept, under the current folder."""

_BUCKET = re.compile(r"[a-z][a-z0-9_]{0,39}")
_MOST_HITS = 100
_FILTER: Final = "{'lang': 'en'}"


class RAG:
    """One bucket of documents that can be searched.

    Args:
        bucket: its name: a lower-case letter, then letters, digits and underscores, at most 40. Buckets of one file
            know nothing of each other.
        description: what is in it, for the model that chooses where to search: "the handbook of the shop".
        path: the SQLite file; default `.toolsmith/rag.sqlite3` under the current folder. It is made when first written.
        backend: another store, such as `PostgresBackend(url)`; then there is no `path`.
        embeddings: what compares meanings, beside words. None: WordLlama where it is installed. False: words alone.
            `OpenAIEmbeddings()`, or a function from a list of texts to their vectors.
        passage: characters that a passage has, roughly; 200 to 8,000.
        max_file_bytes: a larger file is not read.
        max_characters: of text taken from one file.
        seconds_a_file: for reading it.

    Raises:
        TypeError: an argument of another type; it says which, and what to give.
        ValueError: a name that a bucket cannot have, or a number out of its range.
    """

    def __init__(
        self,
        bucket: str = "docs",
        *,
        description: str = "",
        path: str | PathLike[str] | None = None,
        backend: Backend | None = None,
        embeddings: Embeddings | Callable[[list[str]], Sequence[Sequence[float]]] | bool | None = None,
        passage: int = TARGET,
        max_file_bytes: int = MAX_BYTES,
        max_characters: int = MAX_CHARACTERS,
        seconds_a_file: float = MAX_SECONDS,
    ) -> None:
        given.text("RAG", bucket=bucket, description=description)
        given.path("RAG", path=path, or_none=True)
        given.whole("RAG", passage=passage, max_file_bytes=max_file_bytes, max_characters=max_characters)
        given.number("RAG", seconds_a_file=seconds_a_file)
        if backend is not None and not callable(getattr(backend, "passages", None)):
            raise given.wrong("RAG", "backend", backend, "a store, such as PostgresBackend(address)", or_none=True)
        if not _BUCKET.fullmatch(bucket):
            raise ValueError(
                f"RAG({bucket!r}): a bucket's name is a lower-case letter, then lower-case letters, digits and "
                "underscores, at most 40 in all."
            )
        if not 200 <= passage <= 8_000:
            raise ValueError(f"RAG(passage={passage!r}) must be 200 to 8,000 characters.")
        if not (max_file_bytes > 0 and max_characters > 0 and seconds_a_file > 0):
            raise ValueError("RAG(max_file_bytes=, max_characters=, seconds_a_file=) must be more than 0.")
        if backend is not None and path is not None:
            raise ValueError("RAG takes a path or a backend, not both.")
        if backend is None:
            from toolsmith.rag.sqlite import SQLiteBackend

            # Absolute, so that a later change of the current folder does not begin another index.
            file = DEFAULT_PATH if path is None else os.fspath(path)
            backend = SQLiteBackend(file if file == ":memory:" else os.path.abspath(os.path.expanduser(file)))
        self.bucket = bucket
        self.description = description
        self._backend = backend
        self._embeddings = chosen(embeddings)
        self._passage = passage
        self._bounds = Bounds(max_file_bytes, max_characters, seconds_a_file)

    def __repr__(self) -> str:
        model = self._embeddings.name if self._embeddings else None
        return f"RAG({self.bucket!r}, backend={self._backend!r}, embeddings={model!r})"

    def __enter__(self) -> RAG:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of files and connections; the next use opens them again."""
        self._backend.close()
        close = getattr(self._embeddings, "close", None)
        if callable(close):
            close()

    # ---- what goes in

    def add(
        self,
        what: str | PathLike[str] | Document | Iterable[str | PathLike[str] | Document],
        *,
        metadata: Mapping[str, Any] | None = None,
        match: str | Sequence[str] = "*",
        remove_missing: bool = False,
        progress: Callable[[Progress], None] | None = None,
    ) -> Account:
        """Add documents, or bring those that are known up to date. Files that have not changed are not read again.

        Each document is one transaction: ended at any moment, the documents that were finished are there whole, and
        adding again goes on with the others. Several processes may add at once.

        Args:
            what: a file, a folder, a pattern ("docs/**/*.md", "my notes/*"), a text, a `Document`, or any iterable of
                them; those of a generator are taken one by one, and may be more than fit into memory. A str is a path
                or a pattern if there is something of that name or it looks like one, else a text. Of folders those
                files are taken whose names say that they hold text; folders with a dot, and links that lead out, are
                left alone.
            metadata: for all of them, to filter searches by; a `Document`'s own comes first.
            match: patterns for the names of files in folders: "*.md", or several.
            remove_missing: documents that `what` no longer names are removed, so that the bucket mirrors it. Where a
                folder or file of it is not there, or nothing is found at all, nothing is removed.
            progress: told after each document, and after each batch of vectors.

        Returns:
            What became of each. A document that cannot be read is in `failed`, with the reason, and hurts no other.

        Raises:
            TypeError: `what` is, or holds, something else, or another argument is of a wrong type.
            ValueError: metadata that cannot be stored.
            RAGError: the index cannot be written.
        """
        given.mapping("RAG.add", example=_FILTER, metadata=metadata)
        given.texts("RAG.add", match=match, or_one=True)
        given.flag("RAG.add", remove_missing=remove_missing)
        given.function("RAG.add", progress=progress)
        adding = Adding(
            self._backend, self.bucket, embeddings=self._embeddings, passage=self._passage, bounds=self._bounds
        )
        return adding.run(what, metadata=metadata, match=match, remove_missing=remove_missing, progress=progress)

    def remove(self, sources: str | PathLike[str] | Iterable[str | PathLike[str]]) -> list[str]:
        """Take documents away, by their sources as `sources()` names them; gives those that were there.

        Raises:
            TypeError: something else than a source or several.
            RAGError: the index cannot be written, or there is none at that path yet.
        """
        named = cast("object", sources)
        if not isinstance(named, Iterable | PathLike) or isinstance(named, bytes | Mapping):
            what = "a source (str or pathlib.Path), or a list of them"
            raise given.wrong("RAG.remove", "sources", cast("object", named), what)
        names = [sources] if isinstance(sources, str | PathLike) else list(sources)
        for name in names:
            given.path("RAG.remove", sources=name)
        must_be_there(self._backend)
        removed = self._backend.remove(self.bucket, [source_name(os.fspath(name)) for name in names])
        if removed:
            self._backend.drop_unused_vectors()
        return removed

    def clear(self) -> int:
        """Take all documents of this bucket away; gives their number."""
        held = self.sources()
        return len(self.remove(held)) if held else 0

    # ---- what comes out

    def search(self, query: str, limit: int = 5, *, where: Mapping[str, Any] | None = None) -> list[Hit]:
        """The passages that fit a question best, best first; [] where nothing fits.

        Args:
            query: a question or some words. It has no syntax: quotes, AND and the like are taken as they are.
            limit: how many at most, 1 to 100.
            where: what their documents' metadata must fulfil: {"lang": "en", "year": {"gte": 2020}, "tag": ["a", "b"]}.
                A list means any of its values; ranges are gt, gte, lt, lte; `ne` is none of.

        Raises:
            TypeError: an argument of another type.
            ValueError: a limit or a filter that cannot be.
            RAGError: the index cannot be read, or there is none at that path yet: `add` makes it.
        """
        given.text("RAG.search", query=query)
        given.whole("RAG.search", limit=limit)
        given.mapping("RAG.search", example=_FILTER, where=where)
        if not 1 <= limit <= _MOST_HITS:
            raise ValueError(f"search(limit={limit!r}) must be 1 to {_MOST_HITS}.")
        checked = conditions(where)
        must_be_there(self._backend)
        if not query.strip():
            return []
        query = query.replace("\x00", " ").encode("utf-8", "replace").decode()
        asked = Query(query, max(limit, DEPTH if self._embeddings else 0), checked)
        if self._embeddings is not None:
            asked = self._with_vector(asked, self._embeddings)
        best = self._backend.search(self.bucket, asked)
        if isinstance(self._embeddings, Reranks) and len(best) > 1:
            best = reranked(best, self._embeddings.relevance(query, [f.meaning for f in best]))
        looked_for = words(query)
        return [self._hit(found, looked_for) for found in best[:limit]]

    def cited(self, answer: str, *, where: Mapping[str, Any] | None = None) -> list[Hit]:
        """The passages whose marks, such as [docs-17], stand in an answer; each once, in the order of the answer.

        Args:
            answer: of a model. It may name marks that no search has shown it.
            where: the filter of the tool that the model searched with: passages that it cannot have seen are left out.

        Raises:
            TypeError: an argument of another type.
            ValueError: a filter that cannot be.
            RAGError: the index cannot be read, or there is none at that path yet.
        """
        given.text("RAG.cited", answer=answer)
        given.mapping("RAG.cited", example=_FILTER, where=where)
        checked = conditions(where)
        must_be_there(self._backend)
        marks = re.findall(rf"\b{self.bucket}-(\d{{1,15}})\b", answer)
        numbers = list(dict.fromkeys(map(int, marks)))
        found = self._backend.passages(self.bucket, numbers) if numbers else []
        return [self._hit(one, []) for one in found if fulfils(one.metadata, checked)]

    def sources(self) -> list[str]:
        """The names of all documents of this bucket."""
        return self._backend.sources(self.bucket)

    def buckets(self) -> list[str]:
        """The names of all buckets that are kept where this one is."""
        return self._backend.buckets()

    def keys(self) -> list[str]:
        """The keys that `where` can filter this bucket by: those of its documents' metadata."""
        return self._backend.keys(self.bucket)

    def stats(self) -> Stats:
        """How much is in this bucket."""
        return self._backend.stats(self.bucket, self._embeddings.name if self._embeddings else "")

    # ---- as a tool

    def as_tool(
        self,
        *,
        name: str | None = None,
        limit: int = 5,
        where: Mapping[str, Any] | None = None,
        others: Sequence[str] = (),
        untrusted: bool = True,
    ) -> Tool[..., Any]:
        """The search as a tool, `rag_search`: it gives passages with marks, and asks the model to cite by them.

        Args:
            name: another, such as "rag_search_handbook", where an agent has several.
            limit: passages given where the model does not say how many, 1 to 20.
            where: a filter that the model does not see and cannot change.
            others: the names of the tools that search other documents; the description tells of them.
            untrusted: the passages are data that others have written, see `Agent(untrusted=...)`; False for documents
                that you would follow yourself.

        Raises:
            TypeError: an argument of another type.
            ValueError: a limit or a filter that cannot be.
        """
        from toolsmith.rag._tool import MAX_LIMIT, search_tool

        given.text("RAG.as_tool", name=name, or_none=True)
        given.whole("RAG.as_tool", limit=limit)
        given.texts("RAG.as_tool", others=others)
        given.mapping("RAG.as_tool", example=_FILTER, where=where)
        given.flag("RAG.as_tool", untrusted=untrusted)
        if not 1 <= limit <= MAX_LIMIT:
            raise ValueError(f"as_tool(limit={limit!r}) must be 1 to {MAX_LIMIT}.")
        conditions(where)
        return search_tool(
            name or "rag_search",
            self.bucket,
            about=self.description,
            others=others,
            search=self._search_for_model,
            is_empty=lambda: not self.stats().documents,
            limit=limit,
            where=where,
            untrusted=untrusted,
        )

    def as_tools(self, *, prefix_bucket: bool = False, others: Sequence[str] = ()) -> list[Tool[..., Any]]:
        """The tools of this bucket: `rag_search`, or `rag_search_BUCKET` to stand beside those of other buckets.

        Args:
            prefix_bucket: whether the bucket's name is in the tool's.
            others: the names of the tools that search other buckets.
        """
        given.flag("RAG.as_tools", prefix_bucket=prefix_bucket)
        given.texts("RAG.as_tools", others=others)
        return [self.as_tool(name=tool_name(self.bucket) if prefix_bucket else None, others=others)]

    def _search_for_model(self, query: str, limit: int, where: Mapping[str, Any] | None) -> list[Hit]:
        if why := why_missing(self._backend):
            log.warning("A model searched in vain: %s", why)
            return []  # it is told that there are no documents
        return self.search(query, limit, where=where)

    def _with_vector(self, query: Query, embeddings: Embeddings) -> Query:
        try:
            (vector,) = unit(embeddings.embed([query.text]), 1)
        except Exception as error:  # noqa: BLE001 - a service that is down leaves the search by words
            log.warning("The query could not be embedded, so that words alone were searched: %s", error)
            return query
        if not any(vector):
            return query
        return replace(query, vector=vector, model=embeddings.name, floor=getattr(embeddings, "floor", FLOOR))

    def _hit(self, found: Found, looked_for: Sequence[str]) -> Hit:
        return Hit(
            text=found.text,
            source=found.source,
            position=found.position,
            score=found.score,
            snippet=snippet(found.text, looked_for),
            mark=f"{self.bucket}-{found.number}",
            title=found.title,
            metadata=found.metadata,
        )


def tool_name(bucket: str) -> str:
    """What the tool of a bucket is called where there are several."""
    return f"rag_search_{bucket}"


def tools_of(rags: Sequence[RAG]) -> list[Tool[..., Any]]:
    """The tools of some buckets for one agent: `rag_search` for one; for several a name and a boundary for each.

    Raises:
        ValueError: two buckets of one name.
    """
    if len(rags) == 1:
        return rags[0].as_tools()
    names = [tool_name(rag.bucket) for rag in rags]
    if len(set(names)) < len(names):
        raise ValueError(f"Two buckets have one name: {', '.join(sorted(names))}. Give RAG another bucket name.")
    return [
        tool
        for rag, own in zip(rags, names, strict=True)
        for tool in rag.as_tools(prefix_bucket=True, others=[name for name in names if name != own])
    ]
