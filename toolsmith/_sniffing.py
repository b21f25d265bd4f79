"""What bytes are, by how they begin: the kinds of images that models take, and PDF. Nothing is decoded."""

from __future__ import annotations

_PDF = b"%PDF-"


def sniff(data: bytes) -> str:
    """The media type of an image or a PDF, "" for anything else."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return "image/webp"
    return "application/pdf" if data[:64].lstrip(b"\xef\xbb\xbf\0 \t\r\n").startswith(_PDF) else ""


def may_be_pdf(data: bytes) -> bool:
    """Whether readers take it for a PDF: some programs write something in front of the mark, up to a kilobyte."""
    return _PDF in data[:1024]


def pixels(data: bytes) -> tuple[int, int] | None:
    """Width and height of an image; None where its head does not tell."""
    match sniff(data):
        case "image/png" if data[12:16] == b"IHDR":
            size = _big(data[16:20]), _big(data[20:24])
        case "image/gif":
            size = _little(data[6:8]), _little(data[8:10])
        case "image/webp":
            size = _webp(data)
        case "image/jpeg":
            size = _jpeg(data)
        case _:
            size = (0, 0)
    return size if size[0] and size[1] else None


def _big(data: bytes) -> int:
    return int.from_bytes(data, "big")


def _little(data: bytes) -> int:
    return int.from_bytes(data, "little")


def _webp(data: bytes) -> tuple[int, int]:
    """Three kinds of streams, each with a head of its own (RFC 9649; RFC 6386 for the lossy one)."""
    match data[12:16]:
        case b"VP8X":
            return _little(data[24:27]) + 1, _little(data[27:30]) + 1
        case b"VP8L":
            both = _little(data[21:25])
            return (both & 0x3FFF) + 1, (both >> 14 & 0x3FFF) + 1
        case b"VP8 ":
            return _little(data[26:28]) & 0x3FFF, _little(data[28:30]) & 0x3FFF
        case _:
            return 0, 0


def _jpeg(data: bytes) -> tuple[int, int]:
    """From segment to segment until the one that begins a frame (ITU T.81, annex B)."""
    at = 2
    while at + 9 <= len(data) and data[at] == 0xFF:
        marker = data[at + 1]
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            return _big(data[at + 7 : at + 9]), _big(data[at + 5 : at + 7])
        if marker == 0xFF:  # fill
            at += 1
        elif marker == 0x01 or 0xD0 <= marker <= 0xD8:  # these stand alone
            at += 2
        else:
            at += 2 + _big(data[at + 2 : at + 4])
    return 0, 0
