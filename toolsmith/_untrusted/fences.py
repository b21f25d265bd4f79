"""The fence around untrusted text, and finding what stands between fences again, in stored conversations too.

    <untrusted 3f9a0c1d2e4b5a67 from="fetch_page">
    ...
    </untrusted 3f9a0c1d2e4b5a67>

The mark is drawn anew for each text and does not occur in it, so that nothing in the text can close its fence.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator

from toolsmith._dataclass import dataclass

_OPENING = re.compile(r'<untrusted ([0-9a-f]{16}) from="([^"\n]*)">\n')


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of a message. `source` is None for what stands outside of all fences."""

    text: str
    source: str | None


def new_mark() -> str:
    """Sixteen hexadecimal digits that nobody can foresee."""
    return secrets.token_hex(8)


def mark_for(text: str) -> str:
    """A mark that does not occur in a text."""
    mark = new_mark()
    while mark in text:
        mark = new_mark()
    return mark


def fenced(text: str, mark: str, source: str) -> str:
    """A text between its fences.

    Args:
        text: what others have written.
        mark: from `mark_for`.
        source: the tool's name, or another short name of where it comes from.
    """
    name = re.sub(r'["<>\s]+', " ", source)
    return f'<untrusted {mark} from="{name}">\n{text}\n</untrusted {mark}>'


def pieces(text: str) -> Iterator[Piece]:
    """What stands outside and what inside of fences, in order. A fence that is not closed holds all the rest."""
    at = 0
    while (opening := _OPENING.search(text, at)) is not None:
        if opening.start() > at:
            yield Piece(text[at : opening.start()], None)
        closing = f"\n</untrusted {opening[1]}>"
        # An empty text has its closing where the opening's own line break stands.
        end = text.find(closing, opening.end() - 1)
        if end < 0:
            yield Piece(text[opening.end() :], opening[2])
            return
        yield Piece(text[opening.end() : max(end, opening.end())], opening[2])
        at = end + len(closing)
    if at < len(text):
        yield Piece(text[at:], None)
