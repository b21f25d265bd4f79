"""Words of a query, and the part of a passage that has most of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

MAX_QUERY: Final = 2_000
"""Characters of a query that are looked at."""
_MAX_WORDS = 64
_SNIPPET = 240

_WORD = re.compile(r"\w+")
# Scripts without spaces between words: kana, Han, Hangul, Thai, Lao, Khmer.
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]"
)
_FREQUENT = (
    "a about an and are as at be been but by can could did do does for from had has have how i if in into is it its me "
    "my of on or our should so some such that the their them then there these they this those to us was we were what "
    "when where which while who why will with would you your"
)
FREQUENT: Final = frozenset(_FREQUENT.split())
"""English words that say nothing of what is looked for."""


def words(query: str) -> list[str]:
    """The words of a query in lower case, each once. Frequent ones only where there are no others."""
    found = list(dict.fromkeys(_WORD.findall(query[:MAX_QUERY].lower())))
    telling = [word for word in found if word not in FREQUENT]
    return (telling or found)[:_MAX_WORDS]


def pieces(query: str) -> list[str]:
    """What to look for as parts of words: words of three characters or more, unspaced scripts in runs of three."""
    found: dict[str, None] = {}
    for word in words(query):
        if _UNSPACED.search(word):
            found.update(dict.fromkeys(word[i : i + 3] for i in range(max(len(word) - 2, 1))))
        else:
            found[word] = None
    return [piece for piece in found if len(piece) >= 3][:_MAX_WORDS]


def snippet(text: str, query: Sequence[str]) -> str:
    """The part of a text that has most of some words, on one line, with "..." where text is left out.

    Args:
        text: of a passage.
        query: words in lower case; a word of the text counts if one of them begins it, or it one of them.
    """
    line = " ".join(text.split())
    if len(line) <= _SNIPPET:
        return line
    stems = {word if len(word) < 5 else word[: max(4, len(word) - 3)] for word in query}
    at = [(m.start(), stem) for m in _WORD.finditer(line.lower()) for stem in stems if m[0].startswith(stem)]
    best, most = 0, 0
    for i, (begin, _) in enumerate(at):
        seen = {stem for place, stem in at[i : i + 40] if place < begin + _SNIPPET - 20}
        if len(seen) > most:
            best, most = begin, len(seen)
    begin = line.rfind(" ", 0, max(best - 20, 0)) + 1
    end = len(line) if len(line) - begin <= _SNIPPET else line.rfind(" ", begin, begin + _SNIPPET)
    end = begin + _SNIPPET if end <= begin else end
    return ("... " if begin else "") + line[begin:end] + (" ..." if end < len(line) else "")
