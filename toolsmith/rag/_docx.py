"""Word documents through python-docx; the archive's sizes are looked at before anything in it is unpacked."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from time import monotonic
from typing import Any, Final

from toolsmith import _extras
from toolsmith.rag._chunks import Section
from toolsmith.rag._reading import Bounds, Reading, Unreadable

_MAX_PARTS: Final = 20_000
_MAX_UNPACKED: Final = 256_000_000  # bytes, all parts together
_MAX_XML: Final = 64_000_000  # bytes of the document's own part; as a tree it takes ten times as many


def read_docx(data: bytes, bounds: Bounds) -> Reading:
    """The text of a Word document, its headings, lists and tables as Markdown.

    Raises:
        Unreadable: it is broken, encrypted, or unpacks to more than a document does.
        ConfigError: python-docx is not installed.
    """
    docx = _extras.load("docx", extra="rag", purpose="Reading Word documents", package="python-docx")
    _look_inside(data)
    until = monotonic() + bounds.seconds
    lines: list[str] = []
    size, cut = 0, ""
    try:
        document = docx.Document(io.BytesIO(data))
        title = str(document.core_properties.title or "")
        for text in _blocks(document):
            lines.append(text)
            size += len(text)
            if size > bounds.characters:
                cut = f"only its first {bounds.characters:,} characters"
            elif monotonic() > until:
                cut = f"not read to its end within {bounds.seconds:g} s"
            if cut:
                break
    except Exception as error:
        raise Unreadable(f"it is no Word document that can be read ({type(error).__name__}: {error})"[:300]) from error
    text = "\n\n".join(lines).replace("\x00", "")
    if not text.strip():
        raise Unreadable("there is no text in this document")
    return Reading((Section(text, lines=False),), title, cut)


def _look_inside(data: bytes) -> None:
    if data.startswith(b"\xd0\xcf\x11\xe0"):
        raise Unreadable("it is an encrypted or an old (.doc) Word document; save it as .docx without a password")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            parts = archive.infolist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise Unreadable(f"it is no Word document: {error}") from error
    unpacked = sum(part.file_size for part in parts)
    largest = max((part.file_size for part in parts if part.filename.endswith((".xml", ".rels"))), default=0)
    if len(parts) > _MAX_PARTS or unpacked > _MAX_UNPACKED or largest > _MAX_XML:
        raise Unreadable(
            f"it unpacks from {len(data):,} to {unpacked:,} bytes in {len(parts):,} parts, as no text does"
        )


def _blocks(document: Any) -> Iterator[str]:
    for item in document.iter_inner_content():
        if hasattr(item, "rows"):
            yield from _table(item)
            continue
        text = " ".join(item.text.split())
        if not text:
            continue
        style = (item.style.name if item.style is not None else "") or ""
        if style == "Title":
            yield f"# {text}"
        elif style.startswith("Heading ") and style[8:].isdigit():
            yield f"{'#' * min(int(style[8:]), 6)} {text}"
        else:
            yield f"- {text}" if style.startswith("List") else text


def _table(table: Any) -> Iterator[str]:
    rows: list[str] = []
    for row in table.rows:
        # Merged cells come once for each column that they span.
        texts: dict[int, str] = {}
        for cell in row.cells:
            texts.setdefault(id(cell._tc), " ".join(cell.text.split()))
        if any(texts.values()):
            rows.append("| " + " | ".join(texts.values()) + " |")
    if rows:
        yield "\n".join(rows)
