"""What goes into an index and what comes out: `Document`, `Hit`, and the account of an indexing run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, Final

from toolsmith import _given as given
from toolsmith._dataclass import dataclass

MAX_METADATA: Final = 20_000
"""Characters of JSON that the metadata of one document may have."""


@dataclass(frozen=True, slots=True)
class Document:
    """A text with a name.

    Attributes:
        text: plain text or Markdown.
        source: what it is known and cited by: a path, an address, a key. Another text under it replaces this one.
        metadata: plain JSON data to filter by; values are strings, numbers, booleans, None, or lists of them.
        title: shown with its passages, "" for none.
    """

    text: str
    source: str
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])
    title: str = ""

    def __post_init__(self) -> None:
        given.text("Document", text=self.text, source=self.source, title=self.title)
        if self.metadata is None:  # pyright: ignore[reportUnnecessaryComparison]
            raise given.wrong("Document", "metadata", None, "a dict, or leave it out")
        given.mapping("Document", example="{'lang': 'en'}", metadata=self.metadata)


@dataclass(frozen=True, slots=True)
class Position:
    """Where in its source a passage stands.

    Attributes:
        part: which passage of its source it is, from 0.
        headings: the headings above it, outermost first.
        page: in a PDF, from 1; None elsewhere.
        lines: first and last line, from 1, in text and Markdown; None where a source has no lines.
    """

    part: int
    headings: tuple[str, ...] = ()
    page: int | None = None
    lines: tuple[int, int] | None = None

    def __str__(self) -> str:
        said: list[str] = [" > ".join(self.headings)] if self.headings else []
        if self.page is not None:
            said.append(f"page {self.page}")
        if self.lines is not None:
            first, last = self.lines
            said.append(f"line {first}" if first == last else f"lines {first}-{last}")
        return ", ".join(said)


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage that was found.

    Attributes:
        text: all of the passage.
        source: of the document that it is from.
        position: where it stands there.
        score: 0 to 1, for the order within one search; it says nothing across searches.
        snippet: the part of the text that has most of the words looked for, on one line.
        mark: "docs-17", by which an answer cites it; of the same passage until its document is replaced.
        title: of the document, "" for none.
        metadata: of the document.
    """

    text: str
    source: str
    position: Position
    score: float
    snippet: str
    mark: str
    title: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def place(self) -> str:
        """Source and position in words: "guide.md, Install > Linux, lines 10-24"."""
        return ", ".join(part for part in (self.source, str(self.position)) if part)


@dataclass(frozen=True, slots=True)
class Failure:
    """A source that could not be taken in."""

    source: str
    reason: str

    def __str__(self) -> str:
        return f"{self.source}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Progress:
    """How far adding has come.

    Attributes:
        done: sources (or, in the phase "embed", passages) that are finished.
        total: how many there are; 0 where that is not known, because they come from a generator.
        source: the one that was finished last, "" at the beginning and while embedding.
        phase: "read", or "embed".
    """

    done: int
    total: int
    source: str = ""
    phase: str = "read"


@dataclass(frozen=True, slots=True)
class Account:
    """What adding has done: the sources by what became of each.

    Attributes:
        added: new ones.
        replaced: known ones with a new content.
        unchanged: known ones with the same content; they were not read again.
        removed: known ones that are no longer there, with `remove_missing`.
        failed: those that could not be read, and why. What was known of such a source before is kept.
        partial: those that were read only in part, and why.
        passages: how many were written.
        embedded: how many were given a vector.
        unembedded: why embedding stopped early; "" if it did not. The passages are found by their words, and the next
            `add` goes on with them.
    """

    added: Sequence[str] = ()
    replaced: Sequence[str] = ()
    unchanged: Sequence[str] = ()
    removed: Sequence[str] = ()
    failed: Sequence[Failure] = ()
    partial: Sequence[Failure] = ()
    passages: int = 0
    embedded: int = 0
    unembedded: str = ""

    def __str__(self) -> str:
        counts = [
            f"{len(sources):,} {name}"
            for name, sources in (
                ("added", self.added),
                ("replaced", self.replaced),
                ("unchanged", self.unchanged),
                ("removed", self.removed),
                ("failed", self.failed),
            )
            if sources or name in ("added", "unchanged")
        ]
        lines = [f"{', '.join(counts)}; {self.passages:,} passage{'' if self.passages == 1 else 's'} written"]
        lines += [f"failed: {failure}" for failure in self.failed]
        lines += [f"read in part: {failure}" for failure in self.partial]
        lines += [f"not all embedded: {self.unembedded}"] if self.unembedded else []
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Stats:
    """What a bucket holds.

    Attributes:
        documents: how many.
        passages: how many.
        embedded: passages that have a vector of the present embeddings.
        characters: of text, all passages together.
        bytes: of the file or the tables, all buckets together; 0 where that is not known.
    """

    bucket: str
    documents: int
    passages: int
    embedded: int
    characters: int
    bytes: int
