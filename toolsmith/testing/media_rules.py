"""What the services refuse of images and files: kinds, sizes, addresses, bytes that are not what they are called.

Sources are named rule by rule. What bytes are is worked out here once more, apart from `toolsmith.media`, so that
neither hides a fault of the other.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Mapping
from typing import Any

from toolsmith.testing.binding import blocks_of, places
from toolsmith.testing.openai_rules import bad, missing, unknown
from toolsmith.testing.recorded import Recorded, dicts, inside
from toolsmith.testing.rules import No, Rule, rule, unknown_keys
from toolsmith.testing.script import Api

_IMAGES = ("image/jpeg", "image/png", "image/gif", "image/webp")
_MOST = 10_485_760
_WIDEST = 8000
_MANY = 20
_MANY_WIDEST = 2000
_EXAMPLE = "data:image/png;base64,aW1nIGJ5dGVzIGhlcmU="


def _bytes(text: object) -> bytes | None:
    """What base64 holds, None where it is none."""
    if not isinstance(text, str) or not text:
        return None
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None


def _kind(data: bytes) -> str | None:
    heads = {b"\x89PNG\r\n": "image/png", b"\xff\xd8\xff": "image/jpeg", b"GIF8": "image/gif"}
    for head, kind in heads.items():
        if data[: len(head)] == head:
            return kind
    return "image/webp" if data[:4] + data[8:12] == b"RIFFWEBP" else None


def _too_wide(data: bytes, most: int = _WIDEST) -> bool:
    """Of a PNG; other kinds are not looked into."""
    sides = (data[16:20], data[20:24]) if _kind(data) == "image/png" else ()
    return any(int.from_bytes(side, "big") > most for side in sides)


# ---- Claude


@rule(
    "anthropic",
    "media",
    "An image or a document of a kind, a size or from an address that is not taken, or that is not what it is called.",
    source="SDK: base64_image_source_param.py and others; docs: Vision; issues: BerriAI/litellm#24900",
)
def claude_media(request: Recorded) -> No | None:
    for path, block in _claude_blocks(request):
        wrong = _claude_source(block)
        if wrong:
            return No(message=f"{path}.{block['type']}.source{wrong}")
    return None


def _claude_blocks(request: Recorded) -> Iterator[tuple[str, dict[str, Any]]]:
    for place in places(request.body):
        for path, block in [
            (place.path, place.block),
            *(
                (f"{place.path}.tool_result.content.{n}", b)
                for n, b in enumerate(blocks_of(place.block.get("content")))
            ),
        ]:
            if block.get("type") in ("image", "document"):
                yield path, block


def _claude_source(block: Mapping[str, Any]) -> str | None:
    is_image = block["type"] == "image"
    source = block.get("source")
    match inside(source, "type"):
        case "base64":
            return _claude_image(source) if is_image else _claude_pdf(source)
        case "url":
            return None if str(inside(source, "url")).startswith("https://") else ".url: Only HTTPS URLs are supported."
        case "text" if not is_image:
            if inside(source, "media_type") != "text/plain":
                return ".text.media_type: Input should be 'text/plain'"
            words = inside(source, "data")
            return None if isinstance(words, str) and words.strip() else ".text.data: text must be non-empty"
        case "content" if not is_image:
            return None
        case "file":
            return None if isinstance(inside(source, "file_id"), str) else ".file.file_id: Field required"
        case kind:
            return f": Input tag '{kind}' found using 'type' does not match any of the expected tags"


def _claude_image(source: Any) -> str | None:
    declared, text, data = source.get("media_type"), source.get("data"), _bytes(source.get("data"))
    if declared not in _IMAGES:
        return ".base64.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'"
    if data is None:
        return ".base64.data: Field required" if not text else ".base64.data: invalid base64 data"
    if len(text) > _MOST:
        return f".base64: image exceeds 10 MB maximum: {len(text)} bytes > {_MOST} bytes"
    found = _kind(data)
    if found is None:
        return ".base64: Could not process image"
    if found != declared:
        words = f"The image was specified using the {declared} media type, but the image appears to be a {found} image"
        return f".base64: {words}"
    if _too_wide(data):
        return f".base64.data: At least one of the image dimensions exceed max allowed size: {_WIDEST} pixels"
    return None


def _claude_pdf(source: Any) -> str | None:
    if source.get("media_type") != "application/pdf":
        return ".base64.media_type: Input should be 'application/pdf'"
    data = _bytes(source.get("data"))
    return None if data is not None and b"%PDF-" in data[:1024] else ".base64.data: The PDF specified was not valid."


@rule(
    "anthropic",
    "media-room",
    "More than 600 images (100 with a context of 200,000 tokens), or more than 20 with one over 2,000 pixels.",
    source="docs: Vision",
)
def claude_media_room(request: Recorded) -> No | None:
    images = [block for _, block in _claude_blocks(request) if block["type"] == "image"]
    most = 100 if re.search(r"claude-(3|[a-z]+-4-[015]\b|[a-z]+-4-\d{8})", request.model) else 600
    if len(images) > most:
        return No(message=f"Too much media: {len(images)} images > {most}")
    wide = any(_too_wide(_bytes(inside(b, "source", "data")) or b"", _MANY_WIDEST) for b in images)
    if len(images) > _MANY and wide:
        words = "At least one of the image dimensions exceed max allowed size for many-image requests"
        return No(message=f"{words}: {_MANY_WIDEST} pixels")
    return None


@rule("anthropic", "request-size", "A request of more than 32 MB.", source="docs: Errors")
def claude_request_size(request: Recorded) -> No | None:
    if len(request.raw) <= 32 * 2**20:
        return None
    return No(message="Request exceeds the maximum size", status=413, type="request_too_large")


@rule(
    "anthropic",
    "error-result",
    "Anything but text in a tool_result that is an error.",
    source="issues: vellum-ai/vellum-assistant#18387, caozhiyuan/copilot-api#196",
)
def claude_error_result(request: Recorded) -> No | None:
    for place in places(request.body):
        failed = place.block.get("type") == "tool_result" and place.block.get("is_error") is True
        if failed and any(inner.get("type") != "text" for inner in blocks_of(place.block.get("content"))):
            return No(message=f"{place.path}.tool_result: all content must be type 'text' if 'is_error' is true")
    return None


# ---- OpenAI


def openai_media(api: Api) -> Rule:
    """The rule for one of the two APIs."""
    parts = _responses_parts if api == "openai" else _chat_parts

    @rule(
        api,
        "media",
        "An image or a file without data, of a kind that is not taken, or at no address.",
        source="docs: Images and vision, File inputs; issues: vercel/ai#7266, laravel/ai#324, 0xPlaygrounds/rig#1429",
    )
    def media(request: Recorded) -> No | None:
        for path, part in parts(request):
            no = _PARTS[str(part["type"])](path, part)
            if no is not None:
                return no
        return None

    return media


def _responses_parts(request: Recorded) -> Iterator[tuple[str, dict[str, Any]]]:
    for number, item in enumerate(request.messages):
        for key in ("content", "output"):
            for index, part in enumerate(dicts(item.get(key))):
                if part.get("type") in ("input_image", "input_file"):
                    yield f"input[{number}].{key}[{index}]", part


def _chat_parts(request: Recorded) -> Iterator[tuple[str, dict[str, Any]]]:
    for number, message in enumerate(request.messages):
        for index, part in enumerate(dicts(message.get("content"))):
            if part.get("type") in ("image_url", "file"):
                yield f"messages[{number}].content[{index}]", part


def _image(path: str, url: object) -> No | None:
    """An image's address, or its bytes as one."""
    if isinstance(url, str) and url.startswith(("https://", "http://")):
        return None
    head, comma, text = str(url).partition(",")
    kind = head.removeprefix("data:").partition(";")[0]
    if not (isinstance(url, str) and url.startswith("data:") and comma and head.endswith(";base64")):
        got = "a value without the 'data:' prefix"
    elif kind not in _IMAGES:
        got = f"unsupported MIME type '{kind}'"
    elif (data := _bytes(text)) is None:
        got = "an invalid base64-encoded value" if text else "empty base64-encoded bytes"
    elif _kind(data) is None:
        words = "You uploaded an unsupported image. Please make sure your image is valid."
        return bad(words, code="invalid_image_format", param=path)
    else:
        return None
    words = f"Expected a base64-encoded data URL with an image MIME type (e.g. '{_EXAMPLE}'), but got {got}."
    return bad(f"Invalid '{path}'. {words}", param=path)


def _file_data(path: str, value: object) -> No | None:
    head, comma, text = str(value).partition(",")
    if not (head.startswith("data:") and head.endswith(";base64") and comma and _bytes(text)):
        return bad(f"Invalid '{path}'.", param=path)
    return None


def _input_image(path: str, part: Mapping[str, Any]) -> No | None:
    extra = unknown_keys(part, ("type", "detail", "file_id", "image_url", "prompt_cache_breakpoint"))
    if extra:
        return unknown(f"{path}.{extra[0]}")
    if part.get("file_id"):
        return None
    return _image(f"{path}.image_url", part["image_url"]) if part.get("image_url") else missing(f"{path}.image_url")


def _input_file(path: str, part: Mapping[str, Any]) -> No | None:
    extra = unknown_keys(
        part, ("type", "detail", "file_data", "file_id", "file_url", "filename", "prompt_cache_breakpoint")
    )
    if extra:
        return unknown(f"{path}.{extra[0]}")
    given = [key for key in ("file_data", "file_id", "file_url") if part.get(key)]
    if len(given) != 1 or (given != ["file_data"] and "filename" in part):
        words = (
            f"Mutually exclusive parameters: '{path}'. Ensure you are only providing one of: 'file_id' or 'filename'."
        )
        return bad(words, code="mutually_exclusive_parameters", param=path) if given else missing(f"{path}.file_id")
    if given == ["file_data"]:
        return (
            _file_data(f"{path}.file_data", part["file_data"]) if part.get("filename") else missing(f"{path}.filename")
        )
    return None


def _image_url(path: str, part: Mapping[str, Any]) -> No | None:
    url = inside(part.get("image_url"), "url")
    return _image(f"{path}.image_url.url", url) if url else missing(f"{path}.image_url.url")


def _file(path: str, part: Mapping[str, Any]) -> No | None:
    if inside(part, "file", "file_id"):
        return None
    data = inside(part, "file", "file_data")
    if not data or not inside(part, "file", "filename"):
        return missing(f"{path}.file.file_id")
    if not str(data).startswith("data:application/pdf;base64,"):
        words = "Expected a base64-encoded data URL with an application/pdf MIME type."
        return bad(f"Invalid file data: '{path}.file.file_data'. {words}", param=f"{path}.file.file_data")
    return _file_data(f"{path}.file.file_data", data)


_PARTS = {"input_image": _input_image, "input_file": _input_file, "image_url": _image_url, "file": _file}
