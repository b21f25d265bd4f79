"""The one door for the arguments of a call: from the text as the model wrote it to values the function accepts.

Text that the tool's validator takes goes straight through. All else is read a second time with care: either its meaning
is certain and it is mended, with a note to the model, or every problem is named and the function is not run.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Mapping
from math import isfinite
from typing import Any, NamedTuple, Protocol, cast

from jiter import from_json
from pydantic_core import ValidationError, to_json

from toolsmith._feedback import FEEDBACK, Feedback
from toolsmith._jsontext import MAX_BYTES, MAX_DEPTH, Parsed, may_be_exact, may_overflow, parse, written
from toolsmith._problems import ABSENT, Broken, Findings, Path, Problem, Repair
from toolsmith._refusals import Refused, combined, node_at, refusals
from toolsmith._repair import Reader
from toolsmith._shapes import Shapes, json_type

log = logging.getLogger("toolsmith")

Decode = Callable[[Any], Any]
"""From parsed JSON as a service's strict mode makes the model send it to JSON of the tool's own schema."""


class Validator(Protocol):
    """What decides on arguments: pydantic's `SchemaValidator`, or `_rawschema.RawValidator`."""

    def validate_json(self, input: Any, /, *, strict: bool | None = None) -> Any: ...


class Checked(NamedTuple):
    """What came of a text of arguments. A tuple, for speed: one is made for each call.

    Attributes:
        values: what the validator made of them, for the function; None if there is an error.
        error: the text that the model reads instead of a result; None where all is well.
        notes: what was mended, in words for the model.
        exception: the tool's own check did not refuse but crash; shown to people only.
        reference: stands in `error` and in the log, where there is an `exception`.
    """

    values: Any = None
    error: str | None = None
    notes: tuple[str, ...] = ()
    exception: Exception | None = None
    reference: str = ""


def check(
    text: str | bytes,
    *,
    tool_name: str,
    validator: Validator,
    schema: Mapping[str, Any],
    decode: Decode | None = None,
    coerce: bool = False,
    numbers: bool = True,
    feedback: Feedback = FEEDBACK,
) -> Checked:
    """Turn the text of a call's arguments into values, or into an error that helps the model. Never raises.

    Args:
        text: JSON as the model wrote it; nothing at all stands for no arguments.
        tool_name: as the model knows it.
        validator: has the last word on what the function gets.
        schema: the tool's neutral JSON Schema, by which errors are explained.
        decode: None where the model sends JSON of that schema as it is.
        coerce: whether "3" may stand for 3, "true" for true, and null for an argument left out.
        numbers: `_shapes.has_numbers(schema)`; False spares a search for numbers that overflow.
        feedback: the words.
    """
    try:
        data = text.encode() if isinstance(text, str) else text
        if len(data) <= MAX_BYTES:
            # Parsed twice: pydantic takes the last of two equal names without a word.
            parsed = from_json(data, catch_duplicate_keys=True, allow_inf_nan=False)
            if not (numbers and (may_overflow(data) or (decode is not None and may_be_exact(data)))):
                if decode is not None:
                    data = to_json(decode(parsed))
                return Checked(validator.validate_json(data, strict=True))
    except Exception:  # noqa: BLE001 - whatever it was, the careful reading finds it again and says what
        pass
    return _read(text, tool_name, validator, schema, decode, coerce, feedback)


def _read(
    text: str | bytes,
    tool_name: str,
    validator: Validator,
    schema: Mapping[str, Any],
    decode: Decode | None,
    coerce: bool,
    feedback: Feedback,
) -> Checked:
    """The careful reading, for all that did not go straight through."""
    try:
        parsed = parse(text)
        if isinstance(parsed, Broken):
            return Checked(error=feedback.broken_json(tool_name, parsed))
        reading = _Reading(tool_name, validator, schema, coerce, feedback)
        return reading.result(reading.unwrapped(parsed), decode)
    except RecursionError:
        return Checked(error=feedback.broken_json(tool_name, Broken("depth", size=MAX_DEPTH)))
    except Exception as error:
        # A validator of the tool's own may raise anything.
        reference = secrets.token_hex(4)
        log.error("The argument check of tool %s crashed (reference %s)", tool_name, reference, exc_info=error)
        return Checked(error=feedback.check_crashed(tool_name, reference), exception=error, reference=reference)


class _Reading:
    """One text read with care."""

    def __init__(
        self, tool_name: str, validator: Validator, schema: Mapping[str, Any], coerce: bool, feedback: Feedback
    ) -> None:
        self.repairs: list[Repair] = []
        self._tool_name = tool_name
        self._validator = validator
        self._shapes = Shapes(schema)
        self._coerce = coerce
        self._feedback = feedback
        self._exact = False

    def unwrapped(self, parsed: Parsed) -> Any:
        """The parsed value; of a text that was encoded twice the object inside."""
        inner = parse(parsed.value) if isinstance(parsed.value, str) else None
        if isinstance(inner, Parsed) and json_type(inner.value) == "object":
            self.repairs.append(Repair((), "json_text", parsed.value, inner.value))
        else:
            inner = parsed
        self.repairs += inner.repairs
        self._exact = inner.exact
        return inner.value

    def result(self, value: Any, decode: Decode | None) -> Checked:
        """The values, mended where it is certain how; or the text of all that is wrong."""
        if decode is not None and isinstance(value, dict):
            from toolsmith._decoders import DialectError

            try:
                value = decode(value)
            except DialectError as error:
                told = self._feedback.two_meanings(self._tool_name, error.path, error.kind, error.name)
                return Checked(error=told)
        outcome = self._try(value)
        if isinstance(outcome, Checked):
            return outcome
        reader = Reader(self._shapes, coerce=self._coerce)
        mended = reader.read(self._shapes.root, value)
        self.repairs += reader.found.repairs
        if mended is not value:
            again = self._try(mended)
            if isinstance(again, Checked):
                return again
            outcome = again or outcome
        return self._wrong(reader.found, mended, outcome)

    def _try(self, value: Any) -> Checked | Exception | None:
        """What the validator says; None where it is not asked, as a number in the value is infinite."""
        if infinite(value) is not None:
            return None
        try:
            values = self._validator.validate_json(written(value, exact=self._exact), strict=True)
        except (ValidationError, Refused) as error:
            return error
        return Checked(values, notes=self._feedback.repaired(self.repairs))

    def _wrong(self, found: Findings, value: Any, error: Exception | None) -> Checked:
        told = refusals(error, value, unless=bool(found.problems)) if error is not None else ()
        problems = combined(found, told, value, self._shapes)
        place = infinite(value)
        if place is not None and all(p.path != place for p in problems):
            node = node_at(self._shapes, place, value)
            problems.append(Problem(place, "overflow", ABSENT, node, self._shapes.root))
        if not problems:
            problems.append(Problem((), "mismatch", ABSENT, self._shapes.root, self._shapes.root))
        return Checked(error=self._feedback.bad_arguments(self._tool_name, problems))


def infinite(value: Any) -> Path | None:
    """Where a number has overflowed to infinity, if one has."""
    waiting: list[tuple[Any, Path]] = [(value, ())]
    while waiting:
        item, path = waiting.pop()
        if isinstance(item, float):
            if not isfinite(item):
                return path
        elif isinstance(item, dict):
            waiting += [(v, (*path, k)) for k, v in cast("dict[str, Any]", item).items()]
        elif isinstance(item, list):
            waiting += [(v, (*path, i)) for i, v in enumerate(cast("list[Any]", item))]
    return None
