"""Images and files as each API takes them; and in words where it does not.

Sources, read November 2026: the SDKs' types; platform.claude.com/docs "Vision" and "PDF support"; developers.openai.com
guides "Images and vision" and "File inputs"; sizes also as measured by others and quoted in public issues.
"""

from __future__ import annotations

import base64
import logging
import re
from typing import Any

from toolsmith._feedback import speaking
from toolsmith._run.room import Ceiling
from toolsmith._wording.media import Why
from toolsmith.media import IMAGE_TYPES, File, Image, Media

log = logging.getLogger("toolsmith")
_told: set[tuple[str, str]] = set()

_MIB = 2**20
_PIXELS = 8000
_NOT_LONG = re.compile(r"claude-(?:3-|[a-z]+-4(?:-[015])?(?!\d)(?!-\d(?!\d)))")
"""Claude models with a context of 200,000 tokens, which take fewer images than the others."""
_PDF = "application/pdf"
# What OpenAI reads itself, beside PDF. Of other texts it takes the words alone, so they are sent as words.
_READ_BY_OPENAI = frozenset(
    {
        *(_PDF, "text/csv", "text/tab-separated-values", "application/rtf", "application/msword"),
        *("application/vnd.ms-excel", "application/vnd.ms-powerpoint", "application/vnd.oasis.opendocument.text"),
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    }
)

Shown = dict[str, Any] | str
"""A part of a message, or the words that stand for it."""


def unshown(provider: str, media: Media, why: Why, takes: str, number: int = 0) -> str:
    """The words for what is not shown. The log is told once for each provider and reason.

    Args:
        provider: its name, for the log.
        media: what is missing.
        why: for the model.
        takes: what this API takes, for people.
        number: which one of a tool's result, 0 for one of the user's.
    """
    if (provider, takes) not in _told:
        _told.add((provider, takes))
        log.warning("%s: %r is not shown to the model, which is told so: %s.", provider, media, takes)
    return speaking().media_unshown(media, why, number)


def base64_size(data: bytes) -> int:
    """Bytes that this takes in base64, which is what services count."""
    return (len(data) + 2) // 3 * 4


def claude_ceiling(model: str, *, cloud: bool) -> Ceiling:
    """What one request of the Messages API may hold (docs: Vision, API overview).

    32 MB, less what its other parts may need; on the clouds as little as 20. Images of more than 2,000 pixels only
    where there are at most 20.
    """
    size = (19 if cloud else 31) * _MIB
    return Ceiling(
        images=100 if _NOT_LONG.search(model) else 600,
        many=20,
        many_pixels=2000,
        size=size,
        pixels=_PIXELS,
        image_size=_image_size(cloud=cloud),
    )


def _image_size(*, cloud: bool) -> int:
    return (5 if cloud else 10) * _MIB


OPENAI_CEILING = Ceiling(images=1500, size=500 * 10**6)
"""Of OpenAI's own service (docs: Images and vision: 512 MB in all); of other servers nothing is known."""


def data_url(media: Media) -> str:
    """The address, or the bytes as one."""
    return media.url or f"data:{media.media_type};base64,{_base64(media)}"


def _base64(media: Media) -> str:
    return base64.b64encode(media.data or b"").decode()


def words(file: File) -> str | None:
    """A text file in words; None for other files."""
    text = file.text
    return None if text is None else speaking().media_text(file.name, text)


def read_in_words(media: Media, provider: str, number: int = 0) -> str:
    """For a model that reads text only: the words of a text file, and of anything else that it is there."""
    text = words(media) if isinstance(media, File) else None
    return text or unshown(provider, media, "none", "this model reads text only", number)


# ---- Claude


def claude_block(media: Media, provider: str, *, cloud: bool, number: int = 0) -> Shown:
    """A content block of the Messages API (A/types/image_block_param.py, document_block_param.py).

    Args:
        media: what to show.
        provider: for the log.
        cloud: a cloud's service takes no addresses, and images of 5 MB in base64; Anthropic's own takes 10.
        number: which one of a tool's result, 0 for one of the user's.
    """

    def no(why: Why, takes: str) -> str:
        return unshown(provider, media, why, takes, number)

    if media.url is not None:
        if cloud or not media.url.startswith("https://"):
            return no("url", "clouds fetch no addresses" if cloud else "Claude fetches https addresses alone")
        if isinstance(media, File) and media.media_type != _PDF:
            return no("kind", "at an address Claude takes images and PDF; give media_type= if it is one")
        return _claude("url", media, url=media.url)
    data = media.data or b""
    if isinstance(media, Image):
        most = _image_size(cloud=cloud)
        if media.media_type not in IMAGE_TYPES:
            return no("kind", "Claude takes PNG, JPEG, GIF and WebP images")
        if base64_size(data) > most:
            return no("size", f"an image may have {most:,} bytes in base64; make it smaller")
        if max(media.pixels or (0, 0)) > _PIXELS:
            return no("pixels", "an image may be 8,000 pixels wide and high; make it smaller")
        return _claude("base64", media, media_type=media.media_type, data=_base64(media))
    if media.media_type == _PDF:
        if base64_size(data) > 31 * _MIB:
            return no("size", "Claude takes 32 MB in one request, base64 counted")
        return _claude("base64", media, media_type=_PDF, data=_base64(media))
    text = media.text
    if text is None or not text.strip():
        return no("kind", "Claude takes PDF and files of UTF-8 text")
    return _claude("text", media, media_type="text/plain", data=text)


def _claude(kind: str, media: Media, **source: str) -> dict[str, Any]:
    block = {"type": "image" if isinstance(media, Image) else "document", "source": {"type": kind, **source}}
    return {**block, "title": media.name} if isinstance(media, File) and media.name else block


# ---- OpenAI


def responses_part(media: Media, provider: str, number: int = 0) -> Shown:
    """A content part of the Responses API, for messages and outputs (O/types/responses/response_input_*_param.py)."""
    if isinstance(media, Image):
        if media.url is None and media.media_type not in IMAGE_TYPES:
            return unshown(provider, media, "kind", "OpenAI takes PNG, JPEG, GIF and WebP images", number)
        return {"type": "input_image", "image_url": data_url(media), "detail": "auto"}
    if media.url is not None:
        return {"type": "input_file", "file_url": media.url}  # with a filename beside it, it is a 400
    if media.media_type in _READ_BY_OPENAI:
        return {"type": "input_file", "filename": _name(media), "file_data": data_url(media)}
    takes = "OpenAI takes PDF, Word, Excel, PowerPoint and files of UTF-8 text"
    return words(media) or unshown(provider, media, "kind", takes, number)


def chat_part(media: Media, provider: str, *, openai: bool, number: int = 0) -> Shown:
    """A content part of Chat Completions, for messages of the user alone (O/types/chat/chat_completion_content_part_*).

    Args:
        media: what to show.
        provider: for the log.
        openai: OpenAI's own service; other servers may know more kinds of images.
        number: which one of a tool's result, 0 for one of the user's.
    """
    if isinstance(media, Image):
        if openai and media.url is None and media.media_type not in IMAGE_TYPES:
            return unshown(provider, media, "kind", "OpenAI takes PNG, JPEG, GIF and WebP images", number)
        return {"type": "image_url", "image_url": {"url": data_url(media)}}
    if media.url is not None:
        return unshown(provider, media, "url", "Chat Completions takes no addresses of files", number)
    if media.media_type == _PDF:
        return {"type": "file", "file": {"filename": _name(media), "file_data": data_url(media)}}
    return words(media) or unshown(
        provider, media, "kind", "Chat Completions takes PDF and files of UTF-8 text", number
    )


def _name(file: File) -> str:
    """The API demands one."""
    return file.name or ("document.pdf" if file.media_type == _PDF else "document")
