"""Which passages of a text may become the value of a text argument. Pure.

Rules are about English requests in general (where a noun phrase ends, that a name is not cut in two), never about
particular tools.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from toolsmith.providers._local.candidates import Candidate, Source, named
from toolsmith.providers._local.english import ASKING, CODE_NAMES, EDGE_WORDS, NAME_JOINTS, PATH_NAMES, stem, stems
from toolsmith.providers._local.fields import Field
from toolsmith.providers._local.kinds import is_code, is_free_text, is_name, is_path, parts
from toolsmith.providers._local.spans import EMAIL, URL, UUID, Reading, Span, Word

_LONGEST_SLOT, _LONGEST_FREE, _MOST = 7, 40, 400


def strings(f: Field, source: Source, *, least: int = 0) -> list[Candidate]:
    """Passages that may be the value of a string field: the likely ones only, or wider where there are none.

    Args:
        f: the field.
        source: the text.
        least: how far the rules may be loosened; 3 not at all, 0 to any run of words.
    """
    for finder in (_formatted, _typed):
        exact = finder(f, source)
        if exact is not None:
            return [c for c in exact if f.admits(c.value)]
    free = is_free_text(f)
    for strictness in range(3, least - 1, -1):
        spans = _shaped(_spans(f, source, free=free, strictness=strictness))
        found = [Candidate(s.text, s.start, s.end) for s in spans if f.admits(s.text)]
        found = [c for c in found if not _is_number(c, source)] or (found if strictness == least else [])
        if found:
            return ([c for c in found if named(c, f, source)] or found)[:_MOST]
    return []


def _formatted(f: Field, source: Source) -> list[Candidate] | None:
    """For a field with a format: the passages that have it; None for other fields."""
    reading = source.reading
    shape = {"email": EMAIL, "uri": URL, "uuid": UUID}.get(f.format)
    if shape is not None:
        return [
            Candidate(w.text, w.start, w.end)
            for w in reading.words
            if shape.match(w.text) and source.free(w.start, w.end)
        ]
    match f.format:
        case "date":
            spans: Iterable[Span] = reading.dates
        case "time":
            spans = reading.times
        case "date-time":
            clock = reading.times[0].text if reading.times else "00:00:00"
            spans = [replace(d, text=f"{d.text}T{clock}") for d in reading.dates]
        case _:
            return None
    return [Candidate(s.text, s.start, s.end) for s in spans if source.free(s.start, s.end)]


def _typed(f: Field, source: Source) -> list[Candidate] | None:
    """For a field that is called a path, a number or an address: words that look so; None where there are none."""
    called = parts(f)
    words = [w for w in source.reading.words if source.free(w.start, w.end)]
    if called & {"email", "mail", "to", "recipient"}:
        found = [w for w in words if EMAIL.match(w.text)]
    elif called & {"url", "link", "uri"}:
        found = [w for w in words if URL.match(w.text)]
    elif called & PATH_NAMES:
        found = [w for w in words if is_path(w.text)]
    elif called & CODE_NAMES:
        found = [w for w in words if is_code(w.text)] or [w for w in words if w.text.isdigit()]
    else:
        return None
    return [Candidate(w.text, w.start, w.end) for w in found] or None


def _shaped(spans: list[Span]) -> list[Span]:
    quoted = [s for s in spans if s.quoted]
    return quoted or spans


def _spans(f: Field, source: Source, *, free: bool, strictness: int) -> list[Span]:
    """Runs of words, by falling strictness: 3 all rules, 2 the tool's words too, 1 the verb too, 0 anything."""
    reading = source.reading
    quoted = [s for s in reading.quoted if source.free(s.start, s.end)]
    if free and (apart := source.set_apart()):
        return apart
    spans, own, phrase = list(quoted), stems(f.name), is_name(f)
    counts = {n.end for n in reading.numbers}
    for span in reading.runs(_LONGEST_FREE if free else _LONGEST_SLOT):
        inner = reading.words[span.first : span.last + 1]
        if not source.free(span.start, span.end):
            continue
        if strictness >= 1 and (not _is_whole(span, reading, source) or (phrase and not _is_phrase(span, inner))):
            continue
        if strictness >= 2 and inner[0] is source.imperative:
            continue
        if strictness >= 3 and (
            (phrase and inner[0].text.islower() and _is_counted(inner[0], counts, reading))
            or _asks(inner[0])
            or _names_deed(inner[0], source)
            or (_names_deed(inner[-1], source) and not (stem(inner[-1].text) in own and _compound(inner)))
        ):
            continue
        spans.append(span)
    return spans


def _is_counted(word: Word, counts: set[int], reading: Reading) -> bool:
    """Whether a number stands right before a word: "one person" counts, it names nobody."""
    return any(end <= word.start and not reading.text[end : word.start].strip() for end in counts)


def _is_number(c: Candidate, source: Source) -> bool:
    return any(n.start <= c.start and c.end <= n.end + 1 for n in source.reading.numbers)


def _compound(words: Sequence[Word]) -> bool:
    """Whether the last word belongs to the name: "living room", but not "customers table"."""
    return len(words) > 1 and words[-2].bare.endswith("ing")


def _asks(word: Word) -> bool:
    return word.bare in ASKING


def _names_deed(word: Word, source: Source) -> bool:
    """Whether a word only says what to do: it stands in the tool's own description, and is no name."""
    name = word.text[0].isupper() and word is not source.reading.words[0]
    return not name and not word.text[0].isdigit() and stem(word.text) in source.vocabulary


def _is_phrase(span: Span, words: Sequence[Word]) -> bool:
    """Whether a run is one noun phrase: no preposition inside, unless it is a name ("Blue in Green"), no comma."""
    if "," in span.text:
        return False
    joints = [w.bare for w in words if w.bare in EDGE_WORDS]
    if not joints:
        return True
    return all(j in NAME_JOINTS for j in joints) and words[0].text[0].isupper() and words[-1].text[0].isupper()


def _is_whole(span: Span, reading: Reading, source: Source) -> bool:
    """Whether a run does not cut a name in two ("New" of "New York", "12" of "12 Main Street")."""
    words, first, last = reading.words, span.first, span.last
    return not (
        (first > 0 and _glued(words[first - 1], words[first], reading, source))
        or (last + 1 < len(words) and _glued(words[last], words[last + 1], reading, source))
    )


def _glued(left: Word, right: Word, reading: Reading, source: Source) -> bool:
    if reading.text[left.end : right.start].strip() or not source.free(left.start, right.end):
        return False
    if left is source.imperative or left.bare in EDGE_WORDS or right.bare in EDGE_WORDS:
        return False
    named = left.text[0].isupper() and left is not reading.words[0]
    return (named and (right.text[0].isupper() or right.text.isdigit())) or (
        left.text.isdigit() and right.text[0].isupper()
    )
