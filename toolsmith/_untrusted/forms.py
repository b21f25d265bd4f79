"""One text, however it is dressed up: forms in which equal content is equal text.

Both sides go through the same forms, the untrusted text and the arguments of a call. So a form may throw together what
people tell apart (all look-alike letters, for one): the rest of a long span has to be equal too.
"""

from __future__ import annotations

import base64
import binascii
import codecs
import html
import re
from collections.abc import Callable, Iterator
from typing import Final
from unicodedata import normalize
from urllib.parse import unquote

WIDE: Final = 3
"""How many letters an ideograph or a kana counts for: eight of them say as much as 24 Latin letters."""

MOST_CODED: Final = 500
"""Encoded pieces of one text that are decoded."""

_LOOKALIKES: Final = str.maketrans(
    "авекмнорстухіјѕԁһԛԝјүґꞓ" + "αβεικνοπρτυχωηγ" + "ıłøđħŧɑɡɩʀ" + "օսհոց",
    "abekmhopctyxijsdhqwjyrc" + "abeikvonptuxwny" + "ilodhtagir" + "ouhng",
)
"""Letters of other scripts by the Latin ones that they look like, a small part of Unicode's confusables."""

_NOT_ALNUM = re.compile(r"[\W_]+")
_WIDE_LETTER = re.compile(r"([\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f])")
_UNSEEN = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff"
    "\uffa0\U000e0000-\U000e0fff]"
)
_TAGS = re.compile("[\U000e0020-\U000e007e]+")
_ESCAPES = re.compile(r"\\u([0-9a-fA-F]{4})|\\x([0-9a-fA-F]{2})|\\u\{([0-9a-fA-F]{1,6})\}|\\[nrtbf]")
_QUOTED = re.compile(r"(?:=[0-9A-F]{2})+")
_ELEMENT = re.compile(r"</?[a-zA-Z][^<>]{0,200}>")
_AT = re.compile(r"\s{0,2}[\[({<]\s{0,2}at\s{0,2}[\])}>]\s{0,2}", re.IGNORECASE)
_DOT = re.compile(r"\s{0,2}[\[({<]\s{0,2}(?:dot|\.)\s{0,2}[\])}>]\s{0,2}", re.IGNORECASE)

_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{12,}(?:\r?\n[A-Za-z0-9+/_-]{4,})*={0,2}")
_BASE32 = re.compile(r"[A-Z2-7]{16,}={0,6}")
_HEX = re.compile(r"(?:(?:0x|\\x)?[0-9a-fA-F]{2}[ :,]{0,2}){8,}")
_CODES = re.compile(r"(?:\d{2,3}[, ]{1,2}){7,}\d{2,3}")


def folded(text: str) -> str:
    """A text in one spelling: unseen characters gone, compatible and look-alike letters made one, lower case."""
    if not text.isascii():
        text = normalize("NFKC", _UNSEEN.sub("", text))
    text = text.casefold()
    if not text.isascii():
        text = text.translate(_LOOKALIKES)
    return _spelled(text)


def _spelled(text: str) -> str:
    """A text with "[at]" and "[dot]" as the signs they stand for."""
    return _DOT.sub(".", _AT.sub("@", text))


def squashed(text: str) -> str:
    """The letters and digits of a text alone, in one spelling and without accents; see `WIDE`."""
    if text.isascii():
        return _NOT_ALNUM.sub("", text.lower())
    # What is left of an accent, and whatever is not seen, is no letter and goes with the rest.
    text = normalize("NFKD", normalize("NFKD", _UNSEEN.sub("", text)).casefold()).translate(_LOOKALIKES)
    return _WIDE_LETTER.sub("\\1" + "\0" * (WIDE - 1), _NOT_ALNUM.sub("", text))


def unscrambled(text: str) -> str:
    """The text by rot13, which undoes itself."""
    return codecs.encode(text, "rot13")


def decoded(text: str, depth: int = 2) -> list[str]:
    """What a text says besides, to one who decodes it or parts of it.

    "[at]" and "[dot]", HTML entities, percent-encoding, quoted-printable, \\u escapes and JSON's others, Unicode's tag
    characters, base64, base32, hexadecimal and decimal codes, HTML without its tags; those within one another down
    to `depth`.
    """
    found: list[str] = []
    plain = text
    for _ in range(depth):
        found += _coded(plain)
        plain = _rewritten(plain)
        found.append(plain)
        if "<" in plain:
            found.append(_ELEMENT.sub("", plain))
        if not text.isascii() and _TAGS.search(plain):
            found.append("".join(chr(ord(c) - 0xE0000) for run in _TAGS.findall(plain) for c in run))
    if depth > 1:
        found += [deeper for other in found if len(other) < len(text) for deeper in decoded(other, depth - 1)]
    return [other for other in dict.fromkeys(found) if other and other != text]


def _rewritten(text: str) -> str:
    """A text with all signs for single characters undone once."""
    text = _spelled(text)
    if "&" in text:
        text = html.unescape(text)
    if "%" in text:
        text = unquote(text, errors="replace")
    if "\\" in text:
        # "\n" and its like are JSON's line breaks and tabs: taken for letters, they would tear a span in two.
        text = _ESCAPES.sub(lambda m: _character(int(m[1] or m[2] or m[3] or "20", 16)), text)
    if "=" in text:
        text = _QUOTED.sub(lambda m: bytes.fromhex(m[0].replace("=", "")).decode("utf-8", "replace"), text)
    return text


def _character(code: int) -> str:
    return chr(code) if code < 0x110000 and not 0xD800 <= code < 0xE000 else "\N{REPLACEMENT CHARACTER}"


def _coded(text: str) -> Iterator[str]:
    for pattern, decode in _DECODERS:
        for number, piece in enumerate(pattern.finditer(text)):
            if number >= MOST_CODED:
                break
            if said := decode(piece[0]):
                yield said


def _base64(piece: str) -> str:
    bare = re.sub(r"\s", "", piece).rstrip("=").replace("-", "+").replace("_", "/")
    bare = bare[: len(bare) - (len(bare) % 4 == 1)]
    return _words(lambda: base64.b64decode(bare + "=" * (-len(bare) % 4), validate=True))


def _base32(piece: str) -> str:
    bare = piece.rstrip("=")
    return _words(lambda: base64.b32decode(bare + "=" * (-len(bare) % 8)))


def _hex(piece: str) -> str:
    return _words(lambda: bytes.fromhex(re.sub(r"0x|\\x|[ :,]", "", piece)))


def _codes(piece: str) -> str:
    return _words(lambda: bytes(int(code) for code in re.findall(r"\d+", piece)))


def _words(decode: Callable[[], bytes]) -> str:
    """What was encoded, if it is words."""
    try:
        said = decode().decode("utf-8")
    except (ValueError, binascii.Error):
        return ""
    return said if len(said) >= 4 and all(c.isprintable() or c.isspace() for c in said) else ""


_DECODERS: Final = ((_BASE64, _base64), (_BASE32, _base32), (_HEX, _hex), (_CODES, _codes))
