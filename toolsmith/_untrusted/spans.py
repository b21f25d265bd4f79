"""Which parts of a call's arguments come from untrusted text. Pure; it does no I/O.

A part counts if it is none of the user's own words and is

- `SPAN` letters and digits in a row, wherever they stand (about five words);
- an address, host name, path, file name, account or other exact thing, of any length (`tokens`);
- a whole value of two words or more and `WHOLE` letters, or of one of `WHOLE_WORD`; a line of a longer one, if it has
  three words and `LINE` letters;
- one of several short whole values that stand close together in the untrusted text, as in "900 euros to mallory".

All is compared by letters and digits alone (`forms`), also what is spread over several arguments, encoded or scrambled.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from itertools import pairwise
from typing import Any, Final

from toolsmith._dataclass import dataclass
from toolsmith._untrusted.forms import decoded, folded, squashed, unscrambled
from toolsmith._untrusted.leaves import Leaf, leaves_of
from toolsmith._untrusted.tokens import SHORTEST, Token, tokens

SPAN: Final = 24
WHOLE: Final = 10
WHOLE_WORD: Final = 16
LINE: Final = 14
TILED: Final = 12
"""Letters and digits of an address or account number that is found in pieces as well."""
CLOSE: Final = 16
"""Words between two short values that count together."""

SHOWN: Final = 200
MOST_SPANS: Final = 5
MOST_WORK: Final = 2_000_000_000
"""Characters that one call's short parts may be looked for in, which takes a second or two. What is more is held: it
must not help to send much."""

SHORTEST_SCRAMBLED: Final = 10
"""Letters and digits of an exact thing that counts when it is scrambled: shorter ones come about by accident."""

_STRIDE: Final = 4
_GRAM: Final = SPAN - _STRIDE + 1
"""Every fourth piece of 21 of the untrusted text is kept, so that any 24 in a row have one of them whole. Where one is
met, the 24 are looked at: whether a copied span counts does not depend on where it begins."""

_WORD = re.compile(r"\w+")
_TOGETHER: Final = "several arguments together"


@dataclass(frozen=True, slots=True)
class UntrustedSpan:
    """A part of a call's arguments that others have written.

    Attributes:
        text: as it stands in the arguments, or what they say when decoded; at most 200 characters.
        source: where it comes from: the name of the tool that gave it.
        place: in which argument: "to", "lines[2].text"; or "several arguments together".
    """

    text: str
    source: str
    place: str


@dataclass(slots=True, eq=False)
class Index:
    """The untrusted and the trusted texts of a conversation, to look arguments up in. It only grows.

    Attributes:
        sources: where each untrusted text comes from; what it says when decoded is a text of its own.
        squashed, folded: those texts, in two forms.
        grams: pieces of them, and where each was met first: the text's number, and the place in it as the low 32 bits.
        size: characters of all of them.
    """

    sources: list[str] = field(default_factory=list[str])
    squashed: list[str] = field(default_factory=list[str])
    folded: list[str] = field(default_factory=list[str])
    grams: dict[str, int] = field(default_factory=dict[str, int])
    _trusted: list[str] = field(default_factory=list[str])
    _trusted_grams: set[str] | None = None
    size: int = 0
    _words: dict[int, tuple[list[str], dict[str, list[int]]]] = field(
        default_factory=dict[int, "tuple[list[str], dict[str, list[int]]]"]
    )

    def __bool__(self) -> bool:
        return bool(self.sources)

    def add(self, text: str, source: str) -> None:
        """Take in what others have written, and what it says when decoded."""
        for form in (text, *decoded(text)):
            letters = squashed(form)
            if not letters:
                continue
            number = len(self.sources)
            self.sources.append(source)
            self.squashed.append(letters)
            self.folded.append(folded(form))
            self.size += len(letters)
            for at in range(0, len(letters) - _GRAM + 1, _STRIDE):
                self.grams.setdefault(letters[at : at + _GRAM], number << 32 | at)

    def trust(self, text: str) -> None:
        """Take in the user's, or the developer's, own words."""
        for form in (text, *decoded(text)):
            letters = squashed(form)
            if letters:
                self._trusted.append(letters)
                self._trusted_grams = None

    def find(self, arguments: Mapping[str, Any]) -> tuple[UntrustedSpan, ...]:
        """The parts of arguments that come from untrusted text, the most telling ones, at most five.

        Args:
            arguments: by parameter, plain JSON data.
        """
        if not self:
            return ()
        groups = {name: list(leaves_of(value, name, 0)) for name, value in arguments.items()}
        leaves = [leaf for group in groups.values() for leaf in group]
        search = _Search(self)
        for leaf in leaves:
            search.look(leaf)
        # By itself first: with another argument before it, an address is another one.
        for name, group in groups.items():
            if len(group) > 1 and not search.found:
                search.look(Leaf(name, "".join(leaf.text for leaf in group if not leaf.is_name)))
        if len(leaves) > 1:
            search.look_close(leaves)
            if not search.found:
                search.look(Leaf(_TOGETHER, "".join(leaf.text for leaf in leaves if not leaf.is_name)))
            if not search.found and any(leaf.is_name for leaf in leaves):
                search.look(Leaf(_TOGETHER, "".join(leaf.text for leaf in leaves)))
        return tuple(search.found[:MOST_SPANS])

    def places(self, number: int, words: tuple[str, ...]) -> Iterator[int]:
        """Where some words stand in a text, counted in words."""
        if number not in self._words:
            text = _WORD.findall(self.folded[number])
            where: dict[str, list[int]] = {}
            for at, word in enumerate(text):
                where.setdefault(word, []).append(at)
            self._words[number] = text, where
        text, where = self._words[number]
        for at in where.get(words[0], ()):
            if len(words) == 1 or tuple(text[at : at + len(words)]) == words:
                yield at

    def is_trusted(self, letters: str) -> bool:
        return any(letters in own for own in self._trusted)

    def is_trusted_span(self, letters: str) -> bool:
        """Whether `SPAN` letters stand in a trusted text."""
        if self._trusted_grams is None:
            own = self._trusted
            self._trusted_grams = {text[i : i + SPAN] for text in own for i in range(len(text) - SPAN + 1)}
        return letters in self._trusted_grams


class _Search:
    """One call's search; `found` is what it has found."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._work = 0
        self._places: dict[str, int | None] = {}
        self._known: set[tuple[str, str]] = set()
        self.found: list[UntrustedSpan] = []

    def look(self, leaf: Leaf) -> None:
        """Everything but short values that count together."""
        if not leaf.text:
            return
        plain = leaf.text
        for reading in (plain, *decoded(plain)):
            if len(self.found) >= MOST_SPANS:
                return
            self._look_long(leaf.place, reading)
            self._look_exact(leaf.place, reading, SHORTEST)
            self._look_whole(leaf.place, reading)
            if "\n" in reading:
                for line in reading.splitlines():
                    self._look_whole(leaf.place, line, line=True)
            for text in (unscrambled(reading), reading[::-1]):
                self._look_long(leaf.place, text)
                self._look_exact(leaf.place, text, SHORTEST_SCRAMBLED)

    def _note(self, text: str, number: int, place: str) -> None:
        shown = " ".join(text.split())
        shown = shown if len(shown) <= SHOWN else f"{shown[: SHOWN - 3]}..."
        if (shown, place) not in self._known:
            self._known.add((shown, place))
            self.found.append(UntrustedSpan(shown, self._index.sources[number], place))

    def _look_long(self, place: str, text: str) -> None:
        letters = squashed(text)
        begin, end, number = 0, -1, 0
        for at, found in self._long(letters):
            if at > end:
                if end > 0:
                    self._note(_original(text, begin, end), number, place)
                    if len(self.found) >= MOST_SPANS:
                        return
                begin, number = at, found
            end = at + SPAN
        if end > 0:
            self._note(_original(text, begin, end), number, place)

    def _long(self, letters: str) -> Iterator[tuple[int, int]]:
        """Where `SPAN` letters begin that an untrusted text has and no trusted one, and which text; in order."""
        grams, index, next_ = self._index.grams, self._index, 0
        for at in range(len(letters) - _GRAM + 1):
            where = grams.get(letters[at : at + _GRAM])
            if where is None:
                continue
            number, there = where >> 32, where & 0xFFFFFFFF
            for first in range(max(next_, at - _STRIDE + 1), min(at, len(letters) - SPAN) + 1):
                span = letters[first : first + SPAN]
                before = there - (at - first)
                # If it is not there, its piece may stand elsewhere too, in this company.
                is_there = before >= 0 and index.squashed[number].startswith(span, before)
                found = number if is_there else self._where(span)
                if found is not None and not index.is_trusted_span(span):
                    yield first, found
            next_ = at + 1

    def _look_exact(self, place: str, text: str, least: int) -> None:
        for token in tokens(folded(text)):
            if len(token.forms[0]) < least or self._index.is_trusted(token.forms[0]):
                continue
            for form in token.forms:
                number = self._where(form, token)
                if number is not None and not self._index.is_trusted(form):
                    self._note(_as_written(text, token.shown), number, place)
                    break
            else:
                number = self._hosted(token, least)
                if number is None and token.tiled:
                    number = self._tiled(token)
                if number is not None:
                    self._note(_as_written(text, token.shown), number, place)

    def _hosted(self, token: Token, least: int) -> int | None:
        """Which untrusted text names the host of a mail address, or one above or beside it."""
        for host in token.hosts:
            letters = squashed(host)
            if len(letters) < least or self._index.is_trusted(letters):
                continue
            self._work += self._index.size
            if self._work > MOST_WORK:
                return 0
            whole = re.compile(rf"(?<![\w-]){re.escape(host)}(?![\w-]|\.\w)")
            for number, text in enumerate(self._index.folded):
                if host in text and whole.search(text):
                    return number
        return None

    def _tiled(self, token: Token) -> int | None:
        """Which untrusted text has all of a long exact thing, in a few pieces."""
        letters = token.forms[0]
        if not TILED <= len(letters) < 4 * TILED:
            return None
        least = 6 if token.digits else 4
        most = min(4, len(letters) // 7)  # of short pieces every long text has some
        for number, text in enumerate(self._index.squashed):
            self._work += len(text) * len(letters) * 4
            if self._work > MOST_WORK:
                return 0
            if _tiles(letters, text, least, most):
                return number
        return None

    def _look_whole(self, place: str, text: str, *, line: bool = False) -> None:
        letters = squashed(text)
        words = len(text.split())
        enough = WHOLE_WORD if words < 2 or (line and words < 3) else LINE if line else WHOLE
        if enough <= len(letters) < SPAN and not self._index.is_trusted(letters):
            number = self._where(letters)
            if number is not None:
                self._note(text, number, place)

    def _where(self, letters: str, token: Token | None = None) -> int | None:
        """In which untrusted text it stands."""
        if letters not in self._places:
            self._places[letters] = self._searched(letters, token)
        return self._places[letters]

    def _searched(self, letters: str, token: Token | None) -> int | None:
        index = self._index
        self._work += index.size
        if self._work > MOST_WORK:
            return 0
        if token is None or not token.digits:
            return next((n for n, text in enumerate(index.squashed) if letters in text), None)
        # Digits that are part of a longer number are another number.
        whole = re.compile(rf"(?<!\d)0{{0,3}}{letters}(?!\d)")  # "+47" may be written "0047"
        apart = re.compile(r"(?<!\d)" + r"[ ,.()/-]{0,2}".join(letters) + r"(?!\d)")
        for number, text in enumerate(index.squashed):
            if letters in text and (whole.search(text) or apart.search(index.folded[number])):
                return number
        return None

    def look_close(self, leaves: Sequence[Leaf]) -> None:
        """Short whole values that stand close together in one untrusted text."""
        values: dict[tuple[str, ...], Leaf] = {}
        for leaf in leaves:
            letters = squashed(leaf.text)
            if not leaf.is_name and 3 <= len(letters) < SPAN and not self._index.is_trusted(letters):
                values.setdefault(tuple(_WORD.findall(folded(leaf.text))), leaf)
        values.pop((), None)
        if len(values) < 2 or len(self.found) >= MOST_SPANS:
            return
        for number in range(len(self._index.sources)):
            met = sorted((at, value) for value in values for at in self._index.places(number, value))
            for (first, one), (second, other) in pairwise(met):
                if one != other and second - first - len(one) <= CLOSE:
                    for value in (one, other):
                        self._note(values[value].text, number, values[value].place)


def _tiles(letters: str, text: str, least: int, most: int) -> bool:
    """Whether some letters are pieces of a text, one behind the other: no more than `most`, each of `least` letters."""
    if not letters:
        return True
    if not most or letters[:least] not in text or len(letters) < least:
        return False
    size = least
    while size < len(letters) and letters[: size + 1] in text:
        size += 1
    # The longest piece need not be the right one.
    return any(_tiles(letters[n:], text, least, most - 1) for n in range(size, max(least, size - 1) - 1, -1))


def _as_written(text: str, shown: str) -> str:
    """A part of a text, given in one spelling, as it stands there, if it is there to be seen."""
    low = text.casefold()
    at = low.find(shown) if len(low) == len(text) else -1
    return shown if at < 0 else text[at : at + len(shown)]


def _original(text: str, begin: int, end: int) -> str:
    """The part of a text that has these of its letters and digits, out to the next spaces."""
    seen = 0
    first, last = 0, len(text)
    for at, character in enumerate(text):
        size = len(squashed(character))
        if seen <= begin < seen + size:
            first = at
        seen += size
        if seen >= end:
            last = at + 1
            break
    while first > 0 and not text[first - 1].isspace():
        first -= 1
    while last < len(text) and not text[last].isspace():
        last += 1
    return text[first:last]
