"""Files as sections of text: text, Markdown and code as they are, HTML, PDF and Word documents through libraries.

The kind of a file is told by its name, else by how it begins. Every reader is bounded in what it reads, what it gives
and how long it takes; what it cannot read it says.
"""

from __future__ import annotations

import codecs
import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Literal

from toolsmith.rag._chunks import Section
from toolsmith.rag._reading import Bounds, Reading, Unreadable

Kind = Literal["text", "markdown", "html", "pdf", "docx"]

_CODE = (
    "adoc bat bib c cc cfg clj cmake conf cpp cs css csv dart diff env erl ex exs f90 fs go gradle graphql h hpp hs "
    "ini java jl js json jsonl jsx kt lisp log lua m mjs ml org pas patch php pl pm po properties proto ps1 py pyi r "
    "rb rs rst scala scss sh sql srt svelte swift tcl tex tf toml ts tsv tsx txt vb vue xml yaml yml zig"
)
SUFFIXES: Final[Mapping[str, Kind]] = {
    **dict.fromkeys((f".{name}" for name in _CODE.split()), "text"),
    ".md": "markdown",
    ".markdown": "markdown",
    ".mdx": "markdown",
    ".html": "html",
    ".htm": "html",
    ".xhtml": "html",
    ".pdf": "pdf",
    ".docx": "docx",
}
"""What a folder is searched for."""

_CONTROL = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f\ufffd]")
_RST_UNDERLINE = re.compile(r"^(?P<text>[^\s].*)\n(?P<line>([=\-~^\"'#*+.:_`])\3{2,})[ \t]*$", re.MULTILINE)


def load(path: Path, bounds: Bounds) -> bytes:
    """The bytes of a regular file.

    Raises:
        Unreadable: it is not there, no regular file, too large, or not ours to read.
    """
    try:
        # A pipe would block when it is opened, a device might never end.
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        with open(handle, "rb") as file:
            status = os.fstat(handle)
            if not stat.S_ISREG(status.st_mode):
                raise Unreadable("it is no regular file")
            data = file.read(bounds.bytes + 1)
    except OSError as error:
        raise Unreadable(error.strerror or str(error)) from error
    if len(data) > bounds.bytes:
        raise Unreadable(
            f"it has {max(status.st_size, len(data)):,} bytes; {bounds.bytes:,} are the most: RAG(max_file_bytes=...)"
        )
    return data


def kind_of(name: str, data: bytes) -> Kind:
    """What to read a file as; for an unknown suffix by its first bytes."""
    known = SUFFIXES.get(Path(name).suffix.lower())
    begin = data[:1024].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if begin.startswith(b"%pdf-"):
        return "pdf"
    if known:
        return known
    if begin.startswith(b"pk\x03\x04") and b"word/" in data:
        return "docx"
    if begin.startswith((b"<!doctype html", b"<html")):
        return "html"
    return "text"


def read(path: Path, data: bytes, bounds: Bounds) -> Reading:
    """The text of a file.

    Args:
        path: of the file; its suffix counts, and a PDF is read from it by another process.
        data: what is in it.

    Raises:
        Unreadable: why it cannot be read.
        ConfigError: the library that reads this kind is not installed.
    """
    match kind_of(path.name, data):
        case "pdf":
            from toolsmith.rag._pdf import read_pdf

            return read_pdf(data, bounds)
        case "docx":
            from toolsmith.rag._docx import read_docx

            return read_docx(data, bounds)
        case "html":
            return _html(data, bounds)
        case "markdown":
            return of_text(_decoded(data), bounds, title="")
        case "text":
            text = _decoded(data)
            if path.suffix.lower() == ".rst":
                return of_text(_with_marked_headings(text), bounds)
            return of_text(text, bounds, markdown=path.suffix.lower() in ("", ".txt"))


def of_text(text: str, bounds: Bounds, *, title: str = "", markdown: bool = True) -> Reading:
    """A text as one section, with line ends and characters that any store takes."""
    cut = f"only its first {bounds.characters:,} characters" if len(text) > bounds.characters else ""
    text = text[: bounds.characters].replace("\r\n", "\n").replace("\r", "\n").replace("\x00", "")
    text = text.replace("\f", "\n").encode("utf-8", "replace").decode()
    return Reading((Section(text, lines="\n" in text.strip(), markdown=markdown),), title, cut)


def _html(data: bytes, bounds: Bounds) -> Reading:
    from toolsmith._readable import readable

    page = readable(data, links=False, max_bytes=bounds.bytes, max_text=bounds.characters, seconds=bounds.seconds)
    if not page.text.strip():
        raise Unreadable(f"there is no text in this page{f': {page.cut}' if page.cut else ''}")
    return Reading((Section(page.text, lines=False),), page.title, page.cut)


def _decoded(data: bytes) -> str:
    """Text in UTF-8, in UTF-16 with its mark, or in Windows-1252.

    Raises:
        Unreadable: it is no text.
    """
    for mark, name in (
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF32_LE, "utf-32"),
        (codecs.BOM_UTF16_LE, "utf-16"),
        (codecs.BOM_UTF16_BE, "utf-16"),
    ):
        if data.startswith(mark):
            text = data.decode(name, "replace").removeprefix("\ufeff")
            break
    else:
        if b"\x00" in data[:65_536]:
            raise Unreadable("it holds binary data, not text")
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError:
            text = data.decode("cp1252", "replace")
    sample = text[:65_536]
    if len(_CONTROL.findall(sample)) * 20 > len(sample):
        raise Unreadable("it holds binary data, not text")
    return text


def _with_marked_headings(text: str) -> str:
    """reStructuredText with its underlined titles marked as Markdown's; the number of lines stays."""
    levels: dict[str, int] = {}

    def marked(found: re.Match[str]) -> str:
        if len(found["line"]) < len(found["text"].rstrip()) * 0.8:
            return found[0]
        level = levels.setdefault(found["line"][0], min(len(levels) + 1, 6))
        return f"{'#' * level} {found['text']}\n"

    return _RST_UNDERLINE.sub(marked, text)
