"""A web page as text: headings, lists, tables, code and links kept, scripts and hidden things left out.

The page is read as a stream of events from libxml2 (package lxml); no tree is built, so that neither a million nested
elements nor a page without an end costs more than it is long. What comes out is Markdown-like text for a reader, or for
`rag`, that cuts it at its headings; it is not meant to be turned back into a page.
"""

from __future__ import annotations

import codecs
import re
from time import monotonic
from typing import Final

from toolsmith import _extras
from toolsmith._dataclass import dataclass
from toolsmith._readable.page import Page

MAX_BYTES: Final = 16_000_000
MAX_TEXT: Final = 4_000_000  # characters
MAX_SECONDS: Final = 10.0
_PIECE = 8_192  # characters between two looks at the clock
_MAX_TITLE = 300

_META_CHARSET = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([\w.:-]{1,40})", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Readable:
    """What a person would read of a page.

    Attributes:
        title: the page's own, else its first heading, else "".
        text: Markdown-like. Empty where there is nothing to read.
        cut: why the text is not all of it ("longer than 16,000,000 bytes"); "" where it is.
    """

    title: str
    text: str
    cut: str = ""


def readable(
    html: bytes | str,
    *,
    url: str | None = None,
    links: bool = True,
    max_bytes: int = MAX_BYTES,
    max_text: int = MAX_TEXT,
    seconds: float = MAX_SECONDS,
) -> Readable:
    """Turn a page into readable text. Never raises on what the page holds, however broken or hostile.

    Where the page marks its main part (`<main>`, `<article>`), that part alone is taken. Hidden is what `hidden`,
    `aria-hidden` or an inline style hides; what a style sheet hides is not known here.

    Args:
        html: bytes are decoded by their byte order mark, their `<meta charset>`, as UTF-8, else as Windows-1252.
        url: the page's address, by which relative links become absolute.
        links: whether addresses stand behind the text of links, as `[text](address)`.
        max_bytes: of input (characters of a str); the rest is not read.
        max_text: characters of output.
        seconds: to spend at most.

    Raises:
        ConfigError: the package lxml is not installed.
    """
    etree = _extras.load("lxml.etree", extra="rag", purpose="Reading HTML", package="lxml")
    cut = f"longer than {max_bytes:,} bytes" if len(html) > max_bytes else ""
    html = html[:max_bytes]
    text = _decoded(html) if isinstance(html, bytes) else html.encode("utf-8", "replace").decode()
    page = Page(url or "", links=links, most=max_text)
    if not text.strip():
        return _result(page, cut)
    until = monotonic() + seconds
    try:
        parser = etree.HTMLParser(target=page, no_network=True, huge_tree=True)
        for at in range(0, len(text), _PIECE):
            parser.feed(text[at : at + _PIECE].replace("\x00", ""))
            if monotonic() > until:
                page.cut = f"not read to its end within {seconds:g} s"
            if page.cut:
                break
        else:
            parser.close()
    except Exception as error:  # noqa: BLE001 - no page may stop the one who reads it
        page.cut = page.cut or f"not HTML to its end ({type(error).__name__})"
    return _result(page, cut)


def _decoded(html: bytes) -> str:
    for mark, name in (
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
    ):
        if html.startswith(mark):
            return html[len(mark) :].decode(name, "replace")
    said = _META_CHARSET.search(html[:4096])
    if said:
        try:
            codec = codecs.lookup(said[1].decode("ascii", "replace"))
            # HTML takes "latin-1" to mean Windows-1252, and a meta tag that can be read is not in UTF-16.
            name = {"iso8859-1": "cp1252", "ascii": "cp1252", "utf-16": "utf-8"}.get(codec.name, codec.name)
            return html.decode(name, "replace")
        except (LookupError, ValueError):  # an unknown name, or a codec that is not one of text
            pass
    try:
        return html.decode("utf-8")
    except UnicodeDecodeError as error:
        # Cut within a character, it is UTF-8 all the same, if it was that before.
        only_cut = error.reason == "unexpected end of data" and not html[: error.start].isascii()
        return html.decode("utf-8" if only_cut else "cp1252", "replace")


def _result(page: Page, cut: str) -> Readable:
    title, text = page.finished()
    return Readable(title[:_MAX_TITLE], text, page.cut or cut)
