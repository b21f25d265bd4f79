"""Images and files for a model: in the prompt, and out of tools.

    agent.run_sync(["What does this chart say?", Image.from_path("sales.png")])
    agent.run_sync([File.from_path("report.pdf"), "Sum it up."])

    @tool
    def screenshot(url: str) -> Image:
        "Take a screenshot of a page."
        return Image(browser.shoot(url))

A tool may also return a list that mixes texts, data and images, or data that holds them anywhere.

Each service is given what it takes. What it does not take (a Word document on Claude, any image on a model that reads
text only) is replaced by a sentence that tells the model so, and by a warning in the log.
"""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import KW_ONLY
from typing import Any, Self

from toolsmith import _sniffing
from toolsmith._dataclass import dataclass

MAX_BYTES = 50_000_000
"""Of one image or file: OpenAI takes this much in one request (guide "File inputs", November 2026), Claude less."""

IMAGE_TYPES = ("image/png", "image/jpeg", "image/gif", "image/webp")
"""The kinds of images that Claude and OpenAI take (guides "Vision" and "Images and vision", November 2026)."""

_MOST_SHOWN = 160
"""Characters of a name or an address in a label."""

# Extensions whose type matters to a service; any other file is text/plain if it is UTF-8 text. Python's own table
# differs from machine to machine.
_TYPES = {
    "pdf": "application/pdf",
    "csv": "text/csv",
    "tsv": "text/tab-separated-values",
    "md": "text/markdown",
    "html": "text/html",
    "xml": "application/xml",
    "json": "application/json",
    "doc": "application/msword",
    "xls": "application/vnd.ms-excel",
    "ppt": "application/vnd.ms-powerpoint",
    "rtf": "application/rtf",
    "odt": "application/vnd.oasis.opendocument.text",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    "png": "image/png",
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "gif": "image/gif",
    "webp": "image/webp",
}
_TEXTUAL = frozenset(
    {
        *("application/json", "application/xml", "application/yaml", "application/x-yaml", "application/toml"),
        *("application/javascript", "application/x-ndjson", "application/jsonl", "application/sql"),
    }
)


@dataclass(frozen=True, slots=True, repr=False)
class Image:
    """A picture, as bytes or at an address.

        Image.from_path("chart.png")
        Image(png_bytes)
        Image(url="https://example.org/chart.png")

    Attributes:
        data: the bytes of a PNG, JPEG, GIF or WebP file, at most 50 MB; None where there is an address.
        media_type: read from the bytes, whatever they are called: services refuse a JPEG that is called PNG. Give it
            only for another kind of image, which your server must know how to read.
        url: an http(s) address, which the service fetches itself; a "data:" one becomes `data`.

    Raises:
        ValueError: bytes that are no image, too many of them or none, or an address of another kind.
        TypeError: both bytes and an address, or neither.
    """

    data: bytes | None = None
    _: KW_ONLY
    media_type: str = ""
    url: str | None = None

    def __post_init__(self) -> None:
        data, declared, url = _source("Image", self.data, self.media_type, self.url)
        found = _sniffing.sniff(data) if data is not None else declared or _type_by_name(url or "")
        if found not in IMAGE_TYPES:
            if found == "application/pdf":
                raise ValueError("This is a PDF and no image: use File(...) for it.")
            if data is not None and not declared:
                raise ValueError(
                    "These bytes are no PNG, JPEG, GIF or WebP image, the kinds that models take. Convert them, "
                    "or pass media_type= if your server takes another kind."
                )
            found = declared
        if found and not found.startswith("image/"):
            raise ValueError(f"Image(media_type={found!r}): this is no type of image. Use File(...) for other files.")
        _fill(self, data=data, media_type=found, url=url)

    @classmethod
    def from_path(cls, path: str | os.PathLike[str], *, media_type: str = "") -> Self:
        """The image in a file, read now.

        Args:
            path: of a PNG, JPEG, GIF or WebP file.
            media_type: only for an image of another kind.

        Raises:
            OSError: it cannot be read.
            ValueError: it holds no image, or is too large.
        """
        try:
            return cls(_read(path), media_type=media_type)
        except ValueError as error:
            raise ValueError(f"{os.fspath(path)}: {error}") from None

    @property
    def pixels(self) -> tuple[int, int] | None:
        """Width and height; None where they are not known."""
        return None if self.data is None else _sniffing.pixels(self.data)

    @property
    def label(self) -> str:
        """What this is, for people and models: "image/png, 1,234 bytes"."""
        return _label(self.media_type, self.data, self.url)

    def __repr__(self) -> str:
        return f"Image({self.label})"

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Callable[[Any], Any]) -> Any:
        return _dumped_whole(handler(source))


@dataclass(frozen=True, slots=True, repr=False)
class File:
    """A document: a PDF, a text of any kind, a spreadsheet; as bytes or at an address.

        File.from_path("report.pdf")
        File(csv_bytes, name="sales.csv")
        File(url="https://example.org/report.pdf")

    Attributes:
        data: the bytes, at most 50 MB; None where there is an address.
        media_type: "application/pdf"; read from the bytes, else from the name, else "text/plain" for UTF-8 text.
        name: what the model is told the file is called.
        url: an http(s) address, which the service fetches itself; a "data:" one becomes `data`.

    Raises:
        ValueError: bytes of unknown type, too many of them or none, an image, or an address of another kind.
        TypeError: both bytes and an address, or neither.
    """

    data: bytes | None = None
    _: KW_ONLY
    media_type: str = ""
    name: str = ""
    url: str | None = None

    def __post_init__(self) -> None:
        data, declared, url = _source("File", self.data, self.media_type, self.url)
        sniffed = "" if data is None else _sniffing.sniff(data)
        found = sniffed or declared or _type_by_name(self.name) or _type_by_name(url or "")
        if found.startswith("image/"):
            raise ValueError("This is an image: use Image(...) for it.")
        if found == "application/pdf" and data is not None and not _sniffing.may_be_pdf(data):
            raise ValueError("These bytes are no PDF, although they are called so.")
        if not found and data is not None:
            if _words(data) is None:
                raise ValueError("Bytes that are no PDF and no UTF-8 text need media_type=, or a name with an ending.")
            found = "text/plain"
        name = self.name.encode("utf-8", "replace").decode()  # a name on disk may be no valid text
        _fill(self, data=data, media_type=found, name=name, url=url)

    @classmethod
    def from_path(cls, path: str | os.PathLike[str], *, media_type: str = "", name: str = "") -> Self:
        """The file at a path, read now.

        Args:
            path: of the file.
            media_type: where neither the bytes nor the name tell.
            name: for the model, instead of the file's own.

        Raises:
            OSError: it cannot be read.
            ValueError: its type is unknown, or it is too large or empty.
        """
        try:
            return cls(_read(path), media_type=media_type, name=name or os.path.basename(path))
        except ValueError as error:
            raise ValueError(f"{os.fspath(path)}: {error}") from None

    @property
    def text(self) -> str | None:
        """The words of a text file; None for other files, and for texts that are not UTF-8."""
        kind = self.media_type
        textual = kind.startswith("text/") or kind in _TEXTUAL or kind.endswith(("+json", "+xml"))
        return _words(self.data) if textual and self.data is not None else None

    @property
    def label(self) -> str:
        """What this is, for people and models: "report.pdf, application/pdf, 1,234 bytes"."""
        return (f"{self.name[:_MOST_SHOWN]}, " if self.name else "") + _label(self.media_type, self.data, self.url)

    def __repr__(self) -> str:
        return f"File({self.label})"

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Callable[[Any], Any]) -> Any:
        return _dumped_whole(handler(source))


Media = Image | File

set_aside: ContextVar[Callable[[Media], str] | None] = ContextVar("set_aside", default=None)
"""Takes what is met while a pydantic model is made into data, and gives what stands for it there."""


def _dumped_whole(schema: dict[str, Any]) -> dict[str, Any]:
    """How they stand in the JSON of a pydantic model: with their bytes in base64, which by itself breaks on them."""
    from pydantic_core import core_schema

    def dump(media: Media) -> Any:
        aside = set_aside.get()
        if aside is not None:
            return aside(media)
        data = {} if media.data is None else {"data": base64.b64encode(media.data).decode()}
        return {"media_type": media.media_type, **data} if media.url is None else {"url": media.url}

    return {**schema, "serialization": core_schema.plain_serializer_function_ser_schema(dump, when_used="json")}


def _source(
    what: str, data: bytes | bytearray | memoryview | None, media_type: str, url: str | None
) -> tuple[bytes | None, str, str | None]:
    """The bytes or the address, checked; and the type that was given."""
    if (data is None) == (url is None):
        raise TypeError(f"{what}(...) takes bytes or url=, one of the two. To read a file: {what}.from_path(...).")
    if isinstance(data, str):
        raise TypeError(f"{what}(...) takes bytes. To read a file: {what}.from_path({data!r}).")
    kind = media_type.partition(";")[0].strip().lower()
    if url is not None:
        if url.startswith("data:"):
            data, inline = _unpacked(what, url)
            return _bounded(data), kind or inline, None
        if not url.startswith(("https://", "http://")):
            raise ValueError(f"{what}(url={url!r}): an address begins with https:// or http://.")
        return None, kind, url
    return _bounded(bytes(data or b"")), kind, None


def _bounded(data: bytes) -> bytes:
    if not data:
        raise ValueError("There are no bytes in it.")
    if len(data) > MAX_BYTES:
        raise ValueError(f"It has {len(data):,} bytes; no service takes more than {MAX_BYTES:,}. Make it smaller.")
    return data


def _unpacked(what: str, url: str) -> tuple[bytes, str]:
    """What a "data:" address holds (RFC 2397); base64 only, the form that services and browsers give."""
    head, _, body = url[5:].partition(",")
    kind, _, coding = head.rpartition(";")
    try:
        if coding.strip() != "base64":
            raise ValueError("not base64")
        return base64.b64decode(body, validate=True), kind.partition(";")[0].strip().lower()
    except (ValueError, binascii.Error) as error:
        raise ValueError(f'{what}(url="data:..."): this is no "data:TYPE;base64,..." address: {error}.') from None


def _read(path: str | os.PathLike[str]) -> bytes:
    size = os.stat(path).st_size
    if size > MAX_BYTES:
        raise ValueError(f"it has {size:,} bytes; no service takes more than {MAX_BYTES:,}. Make it smaller.")
    with open(path, "rb") as file:
        return file.read()


def _type_by_name(name: str) -> str:
    plain = name.partition("?")[0].partition("#")[0]
    return _TYPES.get(plain.rpartition(".")[2].lower(), "") if "." in plain else ""


def _words(data: bytes) -> str | None:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text


def _label(media_type: str, data: bytes | None, url: str | None) -> str:
    # What follows the question mark may be a signature that lets anybody in.
    size = (url or "").partition("?")[0][:_MOST_SHOWN] if data is None else f"{len(data):,} bytes"
    return ", ".join(part for part in (media_type, size) if part)


def _fill(media: Image | File, **values: object) -> None:
    for name, value in values.items():
        object.__setattr__(media, name, value)
