"""Which sources an answer cites, of those that its tools gave: by their marks, or by their addresses."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from toolsmith.messages import Citation, Source


def cited(answer: str, sources: Iterable[Source]) -> list[Citation]:
    """The sources that stand in an answer, in its order, each as often as it stands there.

    Args:
        answer: the model's words.
        sources: what it was given; of two with one mark the later one counts, of two with one address the first.
    """
    by_mark: dict[str, Source] = {}
    by_address: dict[str, Source] = {}
    for source in sources:
        if source.mark:
            by_mark[source.mark] = source
        elif source.url:
            by_address.setdefault(source.url, source)
    places: list[tuple[int, int, Source]] = []
    if by_mark:
        marks = "|".join(map(re.escape, sorted(by_mark, key=len, reverse=True)))
        found = re.finditer(rf"(?<![\w-])(?:{marks})(?![\w-])", answer)
        places += [(match.start(), match.end(), by_mark[match[0]]) for match in found]
    places += _addresses(answer, by_address)
    return [
        Citation(source.url, source.title, source.text, start, end)
        for start, end, source in sorted(places, key=lambda place: place[:2])
    ]


def _addresses(answer: str, by_address: dict[str, Source]) -> Sequence[tuple[int, int, Source]]:
    """Addresses as a model writes them: with or without the slash at their end, in brackets, before a full stop."""
    wanted = {url.rstrip("/"): source for url, source in by_address.items()}
    places: list[tuple[int, int, Source]] = []
    for match in re.finditer(r"[a-z][a-z\d+.-]{1,15}://[^\s<>\"'`|\]}]{1,2000}", answer, re.IGNORECASE):
        said = match[0]
        while said and said.rstrip("/") not in wanted and said[-1] in ".,;:!?)*_/":
            said = said[:-1]
        if (source := wanted.get(said.rstrip("/"))) is not None:
            places.append((match.start(), match.start() + len(said.rstrip("/")), source))
    return places
