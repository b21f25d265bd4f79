"""From the text that a model sent as arguments to parsed JSON, or to what is wrong with that text.

Read strictly, as RFC 8259 has it, and where RFC 8259 leaves it open (duplicate names) strictly too: what two readers
understand differently is nobody's intention. Only what cannot mean anything else is forgiven: nothing at all for no
arguments, a byte order mark, a Markdown code fence around the whole.
"""

from __future__ import annotations

import json
import re
from decimal import Decimal
from math import isfinite
from typing import Any, Final, NamedTuple, cast

from jiter import LosslessFloat, from_json
from pydantic_core import to_json

from toolsmith._arguments.problems import Broken, Hint, Repair

MAX_BYTES: Final = 16_000_000
"""Longest text of arguments that is read."""
MAX_DEPTH: Final = 200
"""Deepest nesting that is read; the bound of the parser (jiter), which pydantic uses too."""
MAX_DIGITS: Final = 4300
"""Most digits of a whole number; Python's own bound on turning text into an int."""

_SPACE = " \t\n\r\ufeff"
_FENCE = re.compile(r"```[A-Za-z0-9_+-]*[ \t]*\r?\n(.*?)\r?\n?[ \t]*```", re.DOTALL)
_STRING = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
_BRACKET = re.compile(r"[\[\]{}]")
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_WORDS_FIRST = re.compile(r"[^\W\d][^{\[]*[{\[]")
# What may be left of a last token when the text ends in the middle of it.
_LAST_TOKEN = re.compile(r'"[^"\\\x00-\x1f]*+(?:\\.[^"\\\x00-\x1f]*+)*+\\?|[-+.0-9eE]*|\\?u?[0-9a-fA-F]{0,4}')
_WORDS = ("true", "false", "null", "NaN", "Infinity", "-Infinity")
_PYTHON_WORDS = ("True", "False", "None", "undefined")


class Exact(float):
    """A finite number as it was written, where a float keeps less of it."""

    text: str

    def __new__(cls, text: str) -> Exact:
        number = super().__new__(cls, text)
        number.text = text
        return number

    def __repr__(self) -> str:
        return self.text

    def __getnewargs__(self) -> tuple[str]:  # pyright: ignore[reportIncompatibleMethodOverride] - to copy and pickle it
        return (self.text,)

    def is_integer(self) -> bool:
        """Whether the number is whole as it was written, not as it was rounded."""
        exact = Decimal(self.text)
        return exact == exact.to_integral_value()

    def __int__(self) -> int:
        return int(Decimal(self.text))


class Parsed(NamedTuple):
    """JSON that was understood.

    Attributes:
        value: with an `Exact` for each number of which a float keeps less.
        exact: there are such numbers.
        infinite: there are numbers beyond what a float can hold.
        repairs: what was forgiven.
    """

    value: Any
    exact: bool = False
    infinite: bool = False
    repairs: tuple[Repair, ...] = ()


def written(value: Any, *, exact: bool = False) -> bytes:
    """Parsed JSON as JSON text again; with `exact` each `Exact` as it stood there."""
    return _written(value).encode() if exact else to_json(value)


def _written(value: Any) -> str:
    match value:
        case Exact():
            return value.text
        case dict():
            members = cast("dict[str, Any]", value).items()
            return "{" + ",".join(f"{json.dumps(k)}:{_written(v)}" for k, v in members) + "}"
        case list():
            return "[" + ",".join(map(_written, cast("list[Any]", value))) + "]"
        case _:
            return json.dumps(value)


class _Numbers:
    """Makes floats of what the parser kept as it was written; sees which numbers are beyond those."""

    def __init__(self) -> None:
        self.exact = False
        self.infinite = False

    def read(self, value: Any) -> Any:
        """Parsed JSON with a plain float wherever that says all that was written, else an `Exact`."""
        match value:
            case LosslessFloat():
                plain = number(bytes(value).decode())
                self.infinite |= not isfinite(plain)
                self.exact |= isinstance(plain, Exact)
                return plain
            case int():
                self.infinite |= value.bit_length() > 1023
                return value
            case dict():
                return {k: self.read(v) for k, v in cast("dict[str, Any]", value).items()}
            case list():
                return [self.read(v) for v in cast("list[Any]", value)]
            case _:
                return value


def _says_all(number: float, text: str) -> bool:
    try:
        return Decimal(repr(number)) == Decimal(text)
    except ArithmeticError:
        return True  # an exponent of so many digits that it is as good as zero


def number(text: str) -> float:
    """A number of JSON text that is not whole: an `Exact` one where a float keeps less of it."""
    plain = float(text)
    return plain if not isfinite(plain) or _says_all(plain, text) else Exact(text)


def parse(text: str | bytes) -> Parsed | Broken:
    """Read a text of arguments. Never raises, but for `RecursionError` on a stack that is all but full."""
    if len(text) > MAX_BYTES:
        return Broken("size", size=MAX_BYTES)
    try:
        words = text.decode() if isinstance(text, bytes) else text
        words.encode()
    except UnicodeError:
        return Broken("encoding")
    words = words.strip(_SPACE)
    if not words:
        return Parsed({})
    repairs: tuple[Repair, ...] = ()
    if fence := _FENCE.fullmatch(words):
        words = fence[1].strip(_SPACE)
        repairs = (Repair((), "fence"),)
    data = words.encode()
    try:
        raw = from_json(data, catch_duplicate_keys=True, allow_inf_nan=False, float_mode="lossless-float")
    except ValueError:
        return _diagnose(words)
    numbers = _Numbers()
    value = numbers.read(raw)
    return Parsed(value, numbers.exact, numbers.infinite, repairs)


def accepted(text: str) -> Any:
    """The arguments of a call that the door let in, as data: what it forgives a text is forgiven here too."""
    parsed = parse(text)
    if isinstance(parsed, Parsed) and isinstance(parsed.value, str):
        parsed = parse(parsed.value)
    return parsed.value if isinstance(parsed, Parsed) else {}


class _Seen:
    """Collects on the way what the standard parser lets pass."""

    def __init__(self) -> None:
        self.constants: list[str] = []
        self.duplicates: list[str] = []
        self.digits = 0

    def decoder(self) -> json.JSONDecoder:
        return json.JSONDecoder(
            object_pairs_hook=self._object, parse_constant=self.constants.append, parse_int=self._integer
        )

    def _object(self, pairs: list[tuple[str, Any]]) -> None:
        names: set[str] = set()
        for name, _ in pairs:
            if name in names:
                self.duplicates.append(name)
            names.add(name)

    def _integer(self, text: str) -> None:
        self.digits = max(self.digits, len(text.lstrip("-")))


def _diagnose(text: str) -> Broken:
    """Why the strict parser refused a text."""
    if _depth(text) > MAX_DEPTH:
        return Broken("depth", size=MAX_DEPTH)
    seen = _Seen()
    try:
        _, end = seen.decoder().raw_decode(text)
    except json.JSONDecodeError as error:
        return _broken_at(text, error.pos)
    rest = text[end:].lstrip(_SPACE)
    if rest:
        kind = "several" if rest[0] in '{["' else "text_after"
        return _at(text, len(text) - len(rest), Broken(kind))
    if seen.constants:
        return Broken("constants", names=tuple(dict.fromkeys(seen.constants)))
    if seen.duplicates:
        return Broken("duplicates", names=tuple(dict.fromkeys(seen.duplicates)))
    if seen.digits > MAX_DIGITS:
        return Broken("digits", size=MAX_DIGITS)
    if half := _SURROGATE.search(text):
        return _at(text, half.start(), Broken("surrogate"))
    return Broken("syntax")


def _depth(text: str) -> int:
    deepest = depth = 0
    for bracket in _BRACKET.findall(_STRING.sub("", text)):
        depth += 1 if bracket in "[{" else -1
        deepest = max(deepest, depth)
    return deepest


def _broken_at(text: str, position: int) -> Broken:
    rest = text[position:]
    if position == 0 and _WORDS_FIRST.match(text):
        return _at(text, 0, Broken("text_before"))
    if _LAST_TOKEN.fullmatch(rest) or any(w.startswith(rest) for w in _WORDS):
        return _at(text, len(text), Broken("cut_off", size=len(text)))
    return _at(text, position, Broken("syntax", hint=_hint(text, position)))


def _hint(text: str, position: int) -> Hint:
    rest = text[position : position + 12]
    before = text[max(position - 80, 0) : position].rstrip(_SPACE)
    if rest.startswith("'"):
        return "single_quotes"
    if rest.startswith(_PYTHON_WORDS):
        return "python_words"
    if rest.startswith(("/", "#")):
        return "comment"
    if rest[:1] == "," or (rest[:1] in ("}", "]") and before.endswith(",")):
        return "trailing_comma"
    if rest[:1] == "\\":
        return "escape"
    if rest[:1] < " ":
        return "control"
    if before.endswith(("{", ",")) and (rest[0].isalpha() or rest[0] == "_"):
        return "bare_key"
    return "quote" if before.endswith('"') and rest[0].isalpha() else ""


def _at(text: str, position: int, broken: Broken) -> Broken:
    return Broken(
        broken.kind,
        position=position,
        before=text[max(position - 40, 0) : position],
        after=text[position : position + 20],
        hint=broken.hint,
        size=broken.size,
    )
