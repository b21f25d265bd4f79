"""Small images and a PDF, made by hand: right in their heads, which is all that is looked at."""

from __future__ import annotations

import struct
import zlib


def png(width: int = 2, height: int = 1, *, padding: int = 0) -> bytes:
    """A real PNG, black; with `padding` bytes in a chunk that readers skip."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    rows = zlib.compress(b"\0" * (width * 3 + 1) * height)
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    extra = chunk(b"paDd", b"\0" * padding) if padding else b""
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + extra + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def jpeg(width: int = 3, height: int = 2) -> bytes:
    """A comment, fill, and the segment that tells the size."""
    comment = b"\xff\xfe\x00\x06abcd"
    frame = b"\xff\xff\xc2\x00\x11\x08" + struct.pack(">HH", height, width) + b"\x03" + b"\0" * 9
    return b"\xff\xd8" + comment + frame + b"\xff\xd9"


def gif(width: int = 4, height: int = 3) -> bytes:
    return b"GIF89a" + struct.pack("<HH", width, height) + b"\0\0\0;"


def webp(kind: bytes, width: int = 5, height: int = 4) -> bytes:
    """One of the three streams: b"VP8X", b"VP8L" or b"VP8 "."""
    match kind:
        case b"VP8X":
            body = b"\0" * 4 + (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
        case b"VP8L":
            body = b"\x2f" + struct.pack("<I", (width - 1) | (height - 1) << 14)
        case _:
            body = b"\0\0\0\x9d\x01\x2a" + struct.pack("<HH", width | 0x4000, height)
    chunk = kind + struct.pack("<I", len(body)) + body
    return b"RIFF" + struct.pack("<I", len(chunk) + 4) + b"WEBP" + chunk


PDF = b"%PDF-1.4\n1 0 obj<<>>endobj\ntrailer<<>>\n%%EOF\n"
