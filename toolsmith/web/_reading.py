"""From the bytes of a page to text, by their `Content-Type` where that can be believed."""

from __future__ import annotations

import codecs
import io
import logging
import re
import time

from toolsmith import _extras
from toolsmith._dataclass import dataclass
from toolsmith.web import _page_wording as say
from toolsmith.web.backends import one_line

MAX_TEXT = 2_000_000
"""Characters of a page: a model that pages through more is lost anyway."""

_PDF_PAGES = 300
_SECONDS = 10.0
_CHARSET = re.compile(r"""charset\s*=\s*["']?([\w.:-]{1,40})""", re.IGNORECASE)
_HTML = frozenset({"text/html", "application/xhtml+xml"})
_TEXT = frozenset(
    {"application/json", "application/xml", "application/javascript", "application/yaml", "application/x-yaml"}
)
_PDF = frozenset({"application/pdf", "application/x-pdf"})
# What a server says that does not know: the content tells.
_UNKNOWN = frozenset({"", "application/octet-stream", "binary/octet-stream", "application/unknown"})
_INVISIBLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff]")


@dataclass(frozen=True, slots=True)
class Content:
    """What can be read of a page.

    Attributes:
        title: "" where it has none.
        text: "" where there is nothing to read.
        notes: for the model.
    """

    title: str
    text: str
    notes: tuple[str, ...] = ()


def reads(kind: str) -> bool:
    """Whether there is text to be had from a `Content-Type`."""
    main = _main(kind)
    return main in _UNKNOWN or main in _PDF or main in _HTML or _is_text(main)


def content_of(body: bytes, kind: str, url: str, *, cut: bool) -> Content:
    """Read a page. Takes time for a large one: not for the event loop's thread.

    Args:
        kind: its `Content-Type`.
        url: by which relative links become absolute.
        cut: there was more of it.

    Raises:
        ToolError: it is not what it says, or cannot be read here.
    """
    main = _main(kind)
    if body.startswith(b"%PDF-") and (main in _PDF or main in _UNKNOWN):
        if cut:
            raise say.broken_document("PDF, which is larger than this program takes,")
        return _pdf(body)
    if main in _PDF:
        raise say.broken_document("PDF")
    text = _decoded(body, kind, cut=cut)
    if text is None and b"\x00" in body[:4_096]:
        raise say.not_text(main)
    notes = (say.cut(f"only the first {len(body):,} bytes were read"),) if cut else ()
    if main in _HTML or (main in _UNKNOWN and body.lstrip()[:1] == b"<"):
        from toolsmith._readable import readable

        page = readable(body if text is None else text, url=url, max_text=MAX_TEXT, seconds=_SECONDS)
        return Content(page.title, page.text, (say.cut(page.cut),) if page.cut else notes)
    plain = text if text is not None else body.decode("cp1252", "replace")
    plain = _INVISIBLE.sub("", plain.replace("\r\n", "\n").replace("\r", "\n")).strip()
    if len(plain) > MAX_TEXT:
        notes = (say.cut(f"only the first {MAX_TEXT:,} characters were read"),)
    return Content("", plain[:MAX_TEXT], notes)


def _main(kind: str) -> str:
    return kind.partition(";")[0].strip().lower()


def _is_text(main: str) -> bool:
    return main.startswith("text/") or main in _TEXT or main.endswith(("+json", "+xml"))


def _decoded(body: bytes, kind: str, *, cut: bool) -> str | None:
    """The text, by its byte order mark, by what the header says, or as UTF-8; None where none of these is true."""
    said = _CHARSET.search(kind)
    names = [said[1]] if said else []
    for mark, name in (
        (codecs.BOM_UTF8, "utf-8-sig"),
        (codecs.BOM_UTF16_LE, "utf-16"),
        (codecs.BOM_UTF16_BE, "utf-16"),
    ):
        if body.startswith(mark):
            names.insert(0, name)
    # A page may say itself what it is in; `readable` looks there, and takes bytes for that.
    for name in names if _main(kind) in _HTML else [*names, "utf-8"]:
        try:
            codec = codecs.lookup(name)
            # The web takes "latin-1" and "ascii" to mean Windows-1252 (WHATWG, Encoding).
            real = {"iso8859-1": "cp1252", "ascii": "cp1252"}.get(codec.name, codec.name)
            decoder = codecs.getincrementaldecoder(real)("replace" if real == "cp1252" else "strict")
            text = decoder.decode(body, final=not cut)
        except (LookupError, ValueError, TypeError, AttributeError):
            continue  # no such charset, no charset of texts, or not true
        if isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance] - codecs such as "rot13" give anything
            return text
    return None


def _pdf(body: bytes) -> Content:
    if not _extras.has("pypdf"):
        raise say.no_reader("PDF documents")
    from pypdf import PdfReader

    logging.getLogger("pypdf").setLevel(logging.ERROR)  # it warns of each flaw of each file
    until = time.monotonic() + _SECONDS
    try:
        reader = PdfReader(io.BytesIO(body), strict=False)
        total = len(reader.pages)
        title = one_line(getattr(reader.metadata, "title", None), 300)
        texts: list[str] = []
        size = 0
        for page in reader.pages[:_PDF_PAGES]:
            if time.monotonic() > until or size > MAX_TEXT:
                break
            texts.append(_INVISIBLE.sub("", page.extract_text()).strip())
            size += len(texts[-1])
    except Exception as error:  # a damaged file makes it raise anything
        raise say.broken_document("PDF") from error
    notes = (say.other_pages_left(len(texts), total),) if len(texts) < total else ()
    numbered = (f"[page {number}]\n{text}" for number, text in enumerate(texts, 1) if text)
    return Content(title, "\n\n".join(numbered)[:MAX_TEXT], notes)
