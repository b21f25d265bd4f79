"""What can be taken out of a text: words, runs of words, quoted passages, numbers, dates. Pure, no model.

The local model may only put into an argument what stands in the request (or in an error or an earlier result), so
these candidates are all that its grammar admits.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from toolsmith.providers._local.english import EDGE_WORDS, MONTHS, SMALL_NUMBERS, TENS

_OPENERS = "\"'“‘«`(["
_CLOSERS = "\"'”’»`)]"
_QUOTED = re.compile(
    r'"([^"\n]+)"|“([^”\n]+)”|«([^»\n]+)»|`([^`\n]+)`|(?<!\w)[\'‘]([^\'’\n]+(?:[\'’]\w[^\'’\n]*)*)[\'’](?!\w)'
)
_NUMBER = re.compile(
    r"(?<![\w.])(?<!\w-)([-−]?)(\d{1,3}(?:,\d{3})+|\d+)(\.\d+)?(?:e([+-]?\d{1,2}))?(?=$|[^\w]|[a-zA-Z%°]{1,3}\b)"
)
_SCALES = {"hundred": 100, "thousand": 1000, "million": 1_000_000}
_MONTH = "|".join(f"{m}|{m[:3]}" for m in MONTHS) + "|sept"
_DATES = (
    re.compile(r"\b(?P<y>\d{4})-(?P<m>\d{1,2})-(?P<d>\d{1,2})\b"),
    re.compile(rf"\b(?P<d>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? (?P<m>{_MONTH})\.?,? (?P<y>\d{{4}})\b", re.IGNORECASE),
    re.compile(rf"\b(?P<m>{_MONTH})\.? (?P<d>\d{{1,2}})(?:st|nd|rd|th)?,? (?P<y>\d{{4}})\b", re.IGNORECASE),
)
_TIME = re.compile(r"\b(?P<h>[01]?\d|2[0-3]):(?P<m>[0-5]\d)(?::(?P<s>[0-5]\d))?\b")
EMAIL = re.compile(r"^[\w.+-]+@[\w-]+(?:\.[\w-]+)+$")
URL = re.compile(r"^[a-z][a-z0-9+.-]*://\S+$", re.IGNORECASE)
PATH = re.compile(r"^(?:~|\.{1,2})?/?[\w.+-]+(?:/[\w.+-]+)*/?$")
EXTENSION = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,7}$")
UUID = re.compile(r"^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Word:
    """A word and where it stands; punctuation around it is left out, inside it is kept."""

    text: str
    start: int
    end: int
    breaks: bool  # a sentence or clause ends after it

    @property
    def bare(self) -> str:
        return self.text.lower()


@dataclass(frozen=True, slots=True)
class Number:
    """A number as the text gives it, in digits or in words."""

    value: int | float
    start: int
    end: int
    percent: bool = False


@dataclass(frozen=True, slots=True)
class Span:
    """A candidate for a string argument; a run of words knows the first and the last of them by number."""

    text: str
    start: int
    end: int
    quoted: bool = False
    first: int = -1
    last: int = -1


@dataclass(frozen=True)
class Reading:
    """A text, read once."""

    text: str

    @cached_property
    def words(self) -> tuple[Word, ...]:
        return tuple(_words(self.text))

    @cached_property
    def numbers(self) -> tuple[Number, ...]:
        return tuple(sorted(_numbers(self.text, self.words), key=lambda n: n.start))

    @cached_property
    def quoted(self) -> tuple[Span, ...]:
        found: list[Span] = []
        for m in _QUOTED.finditer(self.text):
            group = next(i for i in range(1, 6) if m.group(i))
            found.append(Span(m.group(group), m.start(group), m.end(group), quoted=True))
        return tuple(found)

    @cached_property
    def dates(self) -> tuple[Span, ...]:
        """Dates, as YYYY-MM-DD; `start` and `end` tell where the text names them."""
        return tuple(sorted(_dates(self.text), key=lambda s: s.start))

    @cached_property
    def times(self) -> tuple[Span, ...]:
        """Times of day, as HH:MM:SS."""
        return tuple(
            Span(f"{int(m['h']):02}:{m['m']}:{m['s'] or '00'}", m.start(), m.end()) for m in _TIME.finditer(self.text)
        )

    def runs(self, longest: int) -> list[Span]:
        """Runs of up to `longest` words that could be a value of their own, in order of their start."""
        words, text = self.words, self.text
        spans: list[Span] = []
        for i, first in enumerate(words):
            if not self._may_begin(i):
                continue
            for j in range(i, min(i + longest, len(words))):
                if self._may_end(j, i) and not self._cuts_quote(first.start, words[j].end):
                    spans.append(Span(text[first.start : words[j].end], first.start, words[j].end, first=i, last=j))
                if words[j].breaks:
                    break
        return spans

    def tails(self) -> list[Span]:
        """What follows a colon or a word such as "called", up to the end of the text: free text and titles."""
        spans: list[Span] = []
        for m in re.finditer(r":\s+|\b(?:called|named|titled|labelled|saying|says|that)\s+", self.text):
            rest = self.text[m.end() :].rstrip().rstrip(".!?")
            if rest:
                spans.append(Span(rest, m.end(), m.end() + len(rest)))
        return spans

    def _may_begin(self, i: int) -> bool:
        word = self.words[i]
        if word.bare not in EDGE_WORDS:
            return True
        return word.text[0].isupper() and word.text != "I" and i > 0 and not self.words[i - 1].breaks

    def _may_end(self, j: int, begun: int) -> bool:
        word = self.words[j]
        return word.bare not in EDGE_WORDS or (word.text[0].isupper() and j > begun)

    def _cuts_quote(self, start: int, end: int) -> bool:
        """Whether the run takes a part of a quoted passage: that is nobody's wish."""
        return any(
            start < q.end
            and end > q.start
            and (start, end) != (q.start, q.end)
            and not (start < q.start and end > q.end)
            for q in self.quoted
        )


def _words(text: str) -> Iterator[Word]:
    for m in re.finditer(r"\S+", text):
        start, end = m.span()
        while start < end and text[start] in _OPENERS + ",;:":
            start += 1
        while end > start and (text[end - 1] in _CLOSERS + ",;:!?." or text[end - 1] in "…"):
            end -= 1
        if end - start > 2 and text[end - 2 : end] in ("'s", "’s") and text[start].isupper():
            end -= 2  # the possessive: "Luigi's" names Luigi
        if start == end:
            continue
        trail = text[end : m.end()]
        yield Word(text[start:end], start, end, breaks=any(c in ".!?;:" for c in trail))


def _numbers(text: str, words: tuple[Word, ...]) -> Iterator[Number]:
    for m in _NUMBER.finditer(text):
        whole = m[2].replace(",", "")
        literal = ("-" if m[1] else "") + whole + (m[3] or "") + (f"e{m[4]}" if m[4] else "")
        value = float(literal) if m[3] or m[4] else int(literal)
        tail = text[m.end() : m.end() + 9].lower()
        percent = tail.startswith(("%", " percent"))
        yield Number(value, m.start(), m.end(), percent)
    i = 0
    while i < len(words):
        value, used = _spelled([w.bare for w in words[i : i + 6]])
        if used:
            yield Number(value, words[i].start, words[i + used - 1].end)
        i += used or 1


def _spelled(words: list[str]) -> tuple[int, int]:
    """The number that the words begin with, and how many words it takes: ("twenty", "five", "men") is (25, 2)."""
    total = current = used = 0
    parts = [(k, part) for k, w in enumerate(words) for part in w.split("-")]
    for k, part in parts:
        if part in SMALL_NUMBERS:
            current += SMALL_NUMBERS.index(part)
        elif part in TENS:
            current += TENS[part]
        elif part in _SCALES and current:
            current *= _SCALES[part]
            if _SCALES[part] > 100:
                total, current = total + current, 0
        elif not (part == "and" and used):
            break
        if part != "and":
            used = k + 1
    return total + current, used


def _dates(text: str) -> Iterator[Span]:
    for pattern in _DATES:
        for m in pattern.finditer(text):
            month = m["m"].lower()
            number = int(month) if month.isdigit() else next(i for i, n in enumerate(MONTHS, 1) if n[:3] == month[:3])
            if 1 <= number <= 12 and 1 <= int(m["d"]) <= 31:
                yield Span(f"{int(m['y']):04}-{number:02}-{int(m['d']):02}", m.start(), m.end())
