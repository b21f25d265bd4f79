"""Adding documents: read, cut, store, each by itself; then vectors for what has none yet, in batches."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from toolsmith.errors import ConfigError
from toolsmith.rag import _readers
from toolsmith.rag._backend import Backend, Passage, Source
from toolsmith.rag._chunks import chunks
from toolsmith.rag._reading import Bounds, Reading, Unreadable
from toolsmith.rag._sources import UNNAMED, FileSource, Item, checked_metadata, clean, items, source_name
from toolsmith.rag.documents import Account, Document, Failure, Progress
from toolsmith.rag.embeddings import Embeddings, unit

_FORM = 1
"""Of passages: raised when files are read or cut in another way, so that they are read anew."""
_MAX_TITLE = 300
_TOGETHER, _TOGETHER_SIZE = 64, 500_000  # documents, characters
_PARTS = re.compile(r"[^\W\d_]+|\d+")


@dataclass
class _Tally:
    """What has become of the sources so far."""

    added: list[str] = field(default_factory=list[str])
    replaced: list[str] = field(default_factory=list[str])
    unchanged: list[str] = field(default_factory=list[str])
    failed: list[Failure] = field(default_factory=list[Failure])
    partial: list[Failure] = field(default_factory=list[Failure])
    passages: int = 0

    def note(self, outcome: str, source: str, passages: int) -> None:
        {"added": self.added, "replaced": self.replaced, "unchanged": self.unchanged}[outcome].append(source)
        self.passages += 0 if outcome == "unchanged" else passages


class Adding:
    """One call of `RAG.add`."""

    def __init__(
        self, backend: Backend, bucket: str, *, embeddings: Embeddings | None, passage: int, bounds: Bounds
    ) -> None:
        self._backend = backend
        self._bucket = bucket
        self._embeddings = embeddings
        self._passage = passage
        self._bounds = bounds
        self._tally = _Tally()
        self._pending: list[tuple[Source, list[Passage]]] = []
        self._pending_size = 0

    def run(
        self,
        what: object,
        *,
        metadata: Mapping[str, Any] | None,
        match: str | Sequence[str],
        remove_missing: bool,
        progress: Callable[[Progress], None] | None,
    ) -> Account:
        """See `RAG.add`."""
        shared = checked_metadata(metadata, "all documents")
        todo: Iterable[Item] = items(what, match=match)
        total = 0
        if not isinstance(what, Iterator):  # else there may be more than fit into memory
            todo = list(todo)
            total = len(todo)
            for item in todo:
                if isinstance(item, Document):
                    checked_metadata(item.metadata, item.source)
        tell = progress or _silent
        tell(Progress(0, total))
        named, all_there = self._read(todo, shared, total, tell)
        # A folder that is not mounted today has not lost its documents.
        removed = self._remove_missing(named) if remove_missing and all_there and named else []
        embedded, unembedded = self._embed(tell)
        tally = self._tally
        if removed or tally.replaced:
            self._backend.drop_unused_vectors()
        return Account(
            added=tuple(tally.added),
            replaced=tuple(tally.replaced),
            unchanged=tuple(tally.unchanged),
            removed=tuple(removed),
            failed=tuple(tally.failed),
            partial=tuple(tally.partial),
            passages=tally.passages,
            embedded=embedded,
            unembedded=unembedded,
        )

    def _read(
        self, todo: Iterable[Item], shared: Mapping[str, Any], total: int, tell: Callable[[Progress], None]
    ) -> tuple[set[str], bool]:
        """Read and store; gives the names of all there are, and whether each thing that was named is there."""
        named: set[str] = set()
        all_there = True
        for done, item in enumerate(todo, 1):
            match item:
                case Failure(source):
                    self._tally.failed.append(item)
                    all_there = False
                case Document(source=source):
                    self._document(item, shared)
                case FileSource():
                    source = item.name
                    self._file(item, shared)
            named.add(source_name(source))
            tell(Progress(done, total, source))
        self._write()
        return named, all_there

    def _document(self, document: Document, shared: Mapping[str, Any]) -> None:
        text = document.text
        if not text.strip():
            self._tally.failed.append(Failure(document.source, "there is no text in it"))
            return
        metadata = checked_metadata({**shared, **document.metadata}, document.source)
        source = Source(
            source_name(document.source), self._digest(text.encode("utf-8", "replace"), metadata, document.title)
        )
        source = Source(source.name, source.digest, clean(document.title)[:_MAX_TITLE], metadata)
        if not self._known(source):
            self._put(source, _readers.of_text(text, self._bounds, title=source.title))

    def _file(self, file: FileSource, metadata: Mapping[str, Any]) -> None:
        try:
            data = _readers.load(file.path, self._bounds)
            source = Source(file.name, self._digest(data, metadata), "", metadata)
            if self._known(source):
                return
            reading = _readers.read(file.path, data, self._bounds)
        except (Unreadable, ConfigError) as error:
            self._tally.failed.append(Failure(file.name, str(error)))
        except MemoryError:
            self._tally.failed.append(Failure(file.name, "it takes more memory than there is"))
        else:
            title = clean(" ".join(reading.title.split()))[:_MAX_TITLE]
            self._put(Source(source.name, source.digest, title, metadata), reading)

    def _known(self, source: Source) -> bool:
        if self._backend.digests(self._bucket, [source.name]).get(source.name) != source.digest:
            return False
        self._tally.note("unchanged", source.name, 0)
        return True

    def _put(self, source: Source, reading: Reading) -> None:
        name = "" if source.name.startswith(UNNAMED) else PurePosixPath(source.name).stem
        passages = [
            Passage(clean(c.text), clean(_headings(source.title, c.position.headings, name)), c.position)
            for c in chunks(reading.sections, target=self._passage)
        ]
        if not passages:
            self._tally.failed.append(Failure(source.name, "there is no text in it"))
            return
        if reading.cut:
            self._tally.partial.append(Failure(source.name, reading.cut))
        self._pending.append((source, passages))
        self._pending_size += sum(len(p.text) for p in passages)
        if len(self._pending) >= _TOGETHER or self._pending_size >= _TOGETHER_SIZE:
            self._write()

    def _write(self) -> None:
        """Store what has been read: small documents together, since a transaction costs more than a document."""
        if self._pending:
            outcomes = self._backend.put(self._bucket, self._pending)
            for (source, passages), outcome in zip(self._pending, outcomes, strict=True):
                self._tally.note(outcome, source.name, len(passages))
        self._pending, self._pending_size = [], 0

    def _digest(self, data: bytes, metadata: Mapping[str, Any], title: str = "") -> str:
        digest = hashlib.blake2b(data, digest_size=20)
        bounds = [self._bounds.bytes, self._bounds.characters]
        digest.update(json.dumps([_FORM, self._passage, bounds, title, metadata], sort_keys=True).encode())
        return digest.hexdigest()

    def _remove_missing(self, named: Collection[str]) -> list[str]:
        return self._backend.remove(self._bucket, [s for s in self._backend.sources(self._bucket) if s not in named])

    def _embed(self, tell: Callable[[Progress], None]) -> tuple[int, str]:
        """Vectors for all passages of the bucket that have none; each batch is kept as soon as it is there."""
        if self._embeddings is None:
            return 0, ""
        name, batch, done = self._embeddings.name, self._embeddings.batch, 0
        stats = self._backend.stats(self._bucket, name)
        total = stats.passages - stats.embedded
        while todo := self._backend.without_vector(self._bucket, name, batch):
            try:
                vectors = unit(self._embeddings.embed([text for _, text in todo]), len(todo))
            except Exception as error:  # noqa: BLE001 - a service that fails loses nothing that is done
                return done, f"{type(error).__name__}: {error}"[:500]
            self._backend.keep_vectors(name, zip((key for key, _ in todo), vectors, strict=True))
            done += len(todo)
            tell(Progress(done, max(total, done), phase="embed"))
        return done, ""


def _silent(_: Progress) -> None:
    pass


def _headings(title: str, headings: Sequence[str], name: str) -> str:
    """What stands above a passage, a line each; names in code, as in `max_file_size`, in their parts too."""
    said = list(dict.fromkeys(part for part in (title, *headings) if part)) or [name]
    parts = [_in_parts(line) for line in said]
    return "\n".join(line for pair in zip(said, parts, strict=True) for line in pair if line)


def _in_parts(line: str) -> str:
    spaced = " ".join(_PARTS.findall(re.sub(r"(?<=[a-z])(?=[A-Z])", " ", line)))
    return spaced if len(spaced.split()) > len(line.split()) else ""
