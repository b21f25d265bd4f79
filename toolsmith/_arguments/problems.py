"""What is wrong with arguments, as data: neutral records that `_feedback` turns into words.

Nothing here is meant to be read by a model.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Final, Literal

from toolsmith._dataclass import dataclass

Path = tuple[str | int, ...]
"""Where in the arguments: keys and list positions, () for the arguments as a whole."""

Schema = Mapping[str, Any] | bool


class Absent:
    """Nothing was sent at this place."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Final = Absent()

Kind = Literal[
    "type",  # another kind of JSON value is due
    "json_text",  # a string that holds JSON, where the object or array itself is due
    "missing",  # a required name was left out
    "unknown",  # a name that is not accepted there
    "value",  # not one of the values of a closed set
    "range",  # a number out of bounds, or not a multiple
    "overflow",  # a number too large to be kept exactly
    "length",  # a string too short or too long
    "pattern",  # a string of another form
    "format",  # a string that is no date, address, id, ...
    "count",  # a list or an object with too few or too many members
    "repeated",  # a list whose items must differ
    "key",  # a name in a mapping that its keys do not allow
    "forbidden",  # nothing is accepted there
    "excluded",  # what `expected` describes is what it must not be
    "ambiguous",  # several of the shapes fit, where exactly one must
    "mismatch",  # none of several shapes fits
    "custom",  # refused by the tool's own check, whose words are in `message`
]


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """One thing that is wrong.

    Attributes:
        path: where; for "missing" and "unknown" it ends with the name in question.
        kind: what sort of problem.
        sent: the value that was sent, `ABSENT` where there was none.
        expected: the schema of what is accepted there; its `$ref`s count from `root`.
        root: the whole schema.
        message: for "custom" the check's own words, else "".
        near: for "unknown" and "value" what was probably meant, else "".
        near_is_missing: the `near` name is required and was not sent: this is a renaming.
        optional: the place may be left out.
        accepted: for "unknown" the names that are accepted there.
        holds: for "unknown" the accepted and missing names that stand inside the value: it is wrapped once too often.
        broken: for "json_text" why not even the JSON within the string will do, where that is more than its place.
    """

    path: Path
    kind: Kind
    sent: Any = ABSENT
    expected: Schema = True
    root: Schema = True
    message: str = ""
    near: str = ""
    near_is_missing: bool = False
    optional: bool = False
    accepted: tuple[str, ...] = ()
    holds: tuple[str, ...] = ()
    broken: Broken | None = None


RepairKind = Literal[
    "fence",  # the arguments stood in a Markdown code fence
    "json_text",  # a string held the JSON that was due
    "case",  # upper and lower case of one of the accepted values
    "number",  # a string held the number that was due
    "boolean",  # a string held the true or false that was due
    "null",  # null for an argument that may be left out
]


@dataclass(frozen=True, slots=True, eq=False)
class Repair:
    """One thing that was mended, because its meaning was certain."""

    path: Path
    kind: RepairKind
    sent: Any = ABSENT
    used: Any = ABSENT


BrokenKind = Literal[
    "cut_off",  # the text ends in the middle
    "syntax",  # not JSON; `hint` says which habit, where it is known
    "text_before",  # words, and JSON somewhere behind them
    "text_after",  # one JSON value, then other text
    "several",  # several JSON values one after the other
    "constants",  # NaN, Infinity; `names`
    "duplicates",  # names given twice in one object; `names`
    "surrogate",  # half of a character
    "digits",  # a whole number with too many digits; `size`
    "depth",  # nested too deeply; `size` is the limit
    "size",  # too long; `size` is the limit
    "encoding",  # not UTF-8
]

Hint = Literal[
    "", "single_quotes", "python_words", "comment", "trailing_comma", "bare_key", "control", "escape", "quote"
]


@dataclass(frozen=True, slots=True, eq=False)
class Broken:
    """Why a text is not the JSON of one set of arguments.

    Attributes:
        position: characters before the place where it breaks, -1 where there is no such place.
        before: up to 40 characters before that place.
        after: up to 20 characters from that place on.
    """

    kind: BrokenKind
    position: int = -1
    before: str = ""
    after: str = ""
    hint: Hint = ""
    names: tuple[str, ...] = ()
    size: int = 0


@dataclass(slots=True, eq=False)
class Findings:
    """What a reading of arguments found.

    Attributes:
        complete: False where the reading stopped early, so that an empty list proves nothing.
    """

    problems: list[Problem] = field(default_factory=list[Problem])
    repairs: list[Repair] = field(default_factory=list[Repair])
    complete: bool = True
