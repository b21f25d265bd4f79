"""Short things that mean something exact: addresses, host names, paths, file names, account and other long numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from toolsmith._dataclass import dataclass
from toolsmith._untrusted.forms import squashed

SHORTEST: Final = 5
"""Letters and digits that such a thing has at least."""

SHORTEST_NUMBER: Final = 6
"""Digits of a number that counts by itself. Years, small amounts and the like are in every text."""

_SERVICES: Final = """
    gmail.com googlemail.com outlook.com hotmail.com live.com msn.com yahoo.com ymail.com aol.com icloud.com me.com
    mac.com proton.me protonmail.com pm.me gmx.com gmx.net gmx.de web.de t-online.de freenet.de posteo.de mail.com
    zoho.com yandex.com yandex.ru mail.ru qq.com 163.com 126.com naver.com orange.fr free.fr laposte.net libero.it
    fastmail.com hey.com tutanota.com hotmail.co.uk yahoo.co.uk yahoo.co.jp btinternet.com comcast.net
"""
ANYBODYS: Final = frozenset(_SERVICES.split())
"""Hosts at which everybody may have a mail address: that another address is there too says nothing."""

# Every repetition is bounded, and possessive where it can be: whatever the text, the work is linear in its length.
_HOST = r"(?:[\w-]{1,63}+\.){1,8}[a-z][\w-]{1,62}"
_TOKEN = re.compile(
    r"(?P<url>\b[a-z][a-z\d+.-]{1,15}://[^\s<>\"'`|)\]}]{1,2000}+)"
    rf"|(?P<mail>[\w.+%-]{{1,64}}+@{_HOST})"
    r"|(?P<iban>\b[a-z]{2}\d{2}(?: ?[\da-z]{4}){2,7}(?: ?[\da-z]{1,3})?\b)"
    r"|(?P<path>(?:(?<![\w.])(?:~|\.{1,2}|[a-z]:)?[/\\][\w.@~+-]{1,200}+(?:[/\\][\w.@~+-]{0,200}+){0,30}+)"
    r"|\b[\w.-]{1,100}+(?:[/\\][\w.-]{1,100}+){2,30}+"
    r"|\b[\w-]{1,100}+(?:[/\\][\w-]{1,100}+){0,30}+\.[a-z]\w{0,9}+(?![\w.]))"
    rf"|(?P<host>\b{_HOST})"
    r"|(?P<handle>(?<![\w.])[@#][\w.-]{3,64})"
    r"|(?P<date>\b\d{4}-\d\d-\d\d(?:[t ]\d\d:\d\d(?::\d\d)?(?:\.\d{1,9})?z?)?\b"
    r"|\b\d\d?[./]\d\d?[./]\d{4}\b|\b(?:19|20)\d\d-(?:19|20)\d\d\b)"
    r"|(?P<code>\b(?=[\d-]{0,64}+[a-z_])[\w-]{8,64}+)"
    r"|(?P<number>\+?\(?\d(?:[\d ,.()/-]{0,40}\d)?(?!\w))",
)


@dataclass(frozen=True, slots=True)
class Token:
    """One of them.

    Attributes:
        shown: as it was written.
        forms: what to look for, squashed: the whole, then parts that are enough by themselves.
        digits: it is digits alone, and has to stand alone where it is found.
        tiled: it counts too if it can be put together from pieces of one text.
        hosts: of a mail address: its host and what that is below, where not just anybody has an address. Whoever owns
            one of them reads what is sent to any name there.
    """

    shown: str
    forms: tuple[str, ...]
    digits: bool = False
    tiled: bool = False
    hosts: tuple[str, ...] = ()


def tokens(text: str) -> Iterator[Token]:
    """The exact things in a text.

    Args:
        text: `folded`.
    """
    for match in _TOKEN.finditer(text):
        shown, hosts = match[0], ()
        match match.lastgroup:
            case "url":
                forms = _address_forms(shown)
            case "mail":
                name, _, host = shown.rpartition("@")
                forms = (shown, f"{name.partition('+')[0]}@{host}")  # what stands behind "+" is as the sender likes
                hosts = () if host in ANYBODYS else _host_forms(host)
            case "host":
                forms = _host_forms(shown)
            case "number":
                digits = squashed(shown)
                if len(digits) >= SHORTEST_NUMBER:
                    yield Token(shown, (digits,), digits=True, tiled=True)
                continue
            case "date":
                continue
            case "code" if not _is_code(shown):
                continue
            case "path":
                last = re.split(r"[/\\]", shown.rstrip("/\\"))[-1]
                forms = (shown, last) if "." in last else (shown,)
            case _:
                forms = (shown,)
        plain = tuple(dict.fromkeys(form for form in map(squashed, forms) if len(form) >= SHORTEST))
        if plain:
            yield Token(shown, plain, tiled=match.lastgroup in ("mail", "iban", "code"), hosts=hosts)


def _is_code(word: str) -> bool:
    """Whether a long word is one that nobody writes by accident: three digits in it, or parts joined by "_"."""
    return "_" in word.strip("_") or sum(c.isdigit() for c in word) >= 3


def _address_forms(url: str) -> tuple[str, ...]:
    """A URL, without what comes behind its path, and its host, to which anything may be sent."""
    bare = re.split(r"[?#]", url, maxsplit=1)[0]
    host = re.sub(r"^[^/]*//(?:[^/@]*@)?", "", bare).split("/")[0].partition(":")[0]
    return (url, bare, *_host_forms(host))


def _host_forms(host: str) -> tuple[str, ...]:
    """A host name and what it is below: anything may stand before the part that somebody owns."""
    labels = host.split(".")
    most = [".".join(labels[i:]) for i in range(len(labels) - 1)]
    # "co.uk" is nobody's.
    return tuple(name for name in most if len(name.split(".")) > 2 or len(name.split(".")[0]) > 3)
