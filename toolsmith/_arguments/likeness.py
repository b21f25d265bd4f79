"""Which name was meant, where one was sent that does not exist."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

_NAME_LENGTH: Final = 64


def nearest(name: str, names: Collection[str]) -> str:
    """The one of `names` that `name` most likely stands for, "" for none."""
    from difflib import get_close_matches

    if not names or len(name) > _NAME_LENGTH:
        return ""
    plain: dict[str, str] = {}
    for candidate in list(names)[:500]:
        if len(candidate) <= _NAME_LENGTH:
            plain.setdefault(_plain(candidate), candidate)
    if (same := plain.get(_plain(name))) is not None:
        return same
    close = get_close_matches(_plain(name), plain, n=1, cutoff=0.7)
    return plain[close[0]] if close else ""


def _plain(name: str) -> str:
    return "".join(c for c in name.casefold() if c.isalnum()) or name
