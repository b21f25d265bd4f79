"""What of a page is not for readers, and what its attributes say."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import urljoin, urlsplit

_MAX_HREF = 2_000

_NOT_TEXT = (
    "script style template noscript svg iframe object embed canvas audio video nav button select datalist textarea "
    "input link"
)
_DROPPED = frozenset(_NOT_TEXT.split())
_DROPPED_ROLES = frozenset({"navigation", "search", "menu", "menubar", "toolbar"})
_HIDING = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)|(?:opacity|font-size)\s*:\s*0*(?:\.0*)?(?:[a-z]+|%)?\s*"
    r"(?:;|!|$)|(?:text-indent|left|top)\s*:\s*-\d{4,}",
    re.IGNORECASE,
)
_LANGUAGE = re.compile(r"(?:^|\s)(?:language|lang|highlight)-(\w{1,20})")


def is_hidden(tag: str, attrib: Mapping[str, str]) -> bool:
    """Whether an element, with all it holds, is shown to nobody or is not text."""
    if tag in _DROPPED or (tag == "dialog" and "open" not in attrib):
        return True
    if not attrib:
        return False
    return (
        "hidden" in attrib
        or attrib.get("aria-hidden", "").strip().lower() == "true"
        or attrib.get("role", "").strip().lower() in _DROPPED_ROLES
        or ("style" in attrib and _HIDING.search(attrib["style"][:2_000]) is not None)
    )


def language(attrib: Mapping[str, str]) -> str:
    """The programming language that a code block names; "" for none."""
    found = _LANGUAGE.search(attrib.get("class", "")[:500])
    return found[1] if found else ""


def absolute(base: str, href: str) -> str:
    """An absolute address; "" where there is none."""
    try:
        return urljoin(base, href.strip()) if href.strip() else ""
    except ValueError:
        return ""


def target(base: str, href: str) -> str:
    """Where a link leads; "" for places on the same page, for programs, and for what is no address."""
    href = re.sub(r"[\t\r\n]", "", href).strip()
    if not href or len(href) > _MAX_HREF or href.startswith("#"):
        return ""
    full = absolute(base, href)
    try:
        scheme = urlsplit(full).scheme.lower()
    except ValueError:
        return ""
    if scheme not in ("http", "https", "mailto", ""):
        return ""
    return full.replace(" ", "%20").replace("(", "%28").replace(")", "%29")
