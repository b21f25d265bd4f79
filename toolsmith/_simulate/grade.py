"""Grades what a model would read: does it name the place, say what is accepted, say what next, and nothing else.

The grader reads English. It knows what the mistake was, and nothing of how the text came about.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, Literal

from toolsmith._arguments.problems import Path
from toolsmith._feedback import FEEDBACK, Feedback
from toolsmith._simulate.places import Slip

Fault = Literal[
    "tool",  # does not name the tool
    "fate",  # does not say that the call was not run
    "place",  # does not name the argument that is wrong, or where the JSON breaks
    "accepted",  # does not say what is accepted
    "next",  # does not say what to do next
    "length",  # is too long
    "class name",  # speaks of Python's classes
    "stack trace",
    "link",
    "apology",
]

LONGEST: Final = 2_000
"""Characters that an answer to wrong arguments may have."""

_NEXT = re.compile(r"\b(Correct|Send|Call|Did you mean|Use|Leave it out|Answer)\b")
_OWN_CHECK = "(you sent "
"""Follows the words of a check of the tool's own: what is accepted is for those to say."""
_SPOT = re.compile(r"\bat character [\d,]+, at `|\bafter [\d,]+ characters?\b")
_NOT_RUN = re.compile(r"\bwas not run\b|^Nothing was run\b")
_QUOTED = re.compile(r'`[^`]*`|"(?:[^"\\]|\\.)*"(?:\.\.\.)?')
_FOREIGN: Final[tuple[tuple[Fault, re.Pattern[str]], ...]] = (
    (
        "class name",
        re.compile(r"\b[A-Za-z]*(Error|Exception|Warning)\b|\b(NoneType|dict|str|int|float|bool|pydantic)\b"),
    ),
    ("stack trace", re.compile(r"Traceback|\bFile \"|\bline \d+, in |<[\w.]+ object at|<class\b|\[type=")),
    ("link", re.compile(r"https?://(?!example\.org\b)|\bwww\.")),
    ("apology", re.compile(r"\b(sorry|apolog\w*|unfortunately|oops|please)\b", re.IGNORECASE)),
)


def faults(
    text: str, slip: Slip, tool: str, *, mended: bool = False, own: Sequence[str] = (), feedback: Feedback = FEEDBACK
) -> tuple[Fault, ...]:
    """What a text lacks, or has too much of; () for a text that passes.

    Args:
        text: what the model would read.
        slip: the mistake.
        tool: the tool's name.
        mended: it is no refusal, but tells what was mended; nothing is left to do then.
        own: texts of the schema that may stand in it unquoted, as patterns.
        feedback: the words in which places are named.
    """
    return tuple(_faults(text, slip, tool, mended, own, feedback))


def _places(path: Path, text: str) -> Iterator[Path]:
    """The places of which one must be named; a check of the tool's own may be that of a whole object or list."""
    yield path
    if _OWN_CHECK in text:
        yield from (path[:length] for length in range(1, len(path)))


def _names(text: str, place: str) -> bool:
    """Whether a place, or one inside it, stands in a text."""
    return re.search(re.escape(place[:-1]) + r"[`.\[]", text) is not None


def _faults(text: str, slip: Slip, tool: str, mended: bool, own: Sequence[str], feedback: Feedback) -> Iterator[Fault]:
    if not mended:
        if f"`{slip.tool or tool}`" not in text:
            yield "tool"
        if not _NOT_RUN.search(text):
            yield "fate"
        if not _NEXT.search(text):
            yield "next"
    if slip.spot and not _SPOT.search(text):
        yield "place"
    if slip.path and not any(_names(text, feedback.place(path)) for path in _places(slip.path, text)):
        yield "place"
    if slip.wants and not any(word in text for word in (*slip.wants, _OWN_CHECK)):
        yield "accepted"
    if len(text) > LONGEST:
        yield "length"
    for word in sorted(own, key=len, reverse=True):
        text = text.replace(word, "")
    ours = _QUOTED.sub("", text)
    for fault, pattern in _FOREIGN:
        if pattern.search(ours):
            yield fault
