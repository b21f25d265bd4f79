"""The one door for the arguments of a call: from the text as the model wrote it to values the function accepts.

Text that the tool's validator takes goes straight through. All else is read a second time with care: either its meaning
is certain and it is mended, with a note to the model, or every problem is named and the function is not run.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, cast

from jiter import from_json
from pydantic_core import ValidationError, to_json

from toolsmith._arguments.digits import has_decimals, may_be_cut, spelled_out
from toolsmith._arguments.jsontext import MAX_BYTES, MAX_DEPTH, Parsed, parse, written
from toolsmith._arguments.overflow import infinite, number_places, overflows
from toolsmith._arguments.problems import ABSENT, Broken, Findings, Problem, Repair
from toolsmith._arguments.refusals import Refused, combined, node_at, refusals
from toolsmith._arguments.repair import MAX_PROBLEMS, Reader
from toolsmith._arguments.shapes import Shapes, json_type
from toolsmith._derive.layout import Layout, names_in
from toolsmith._feedback import FEEDBACK, Feedback

if TYPE_CHECKING:
    from toolsmith._derive.signature import Parameter

log = logging.getLogger("toolsmith")

Decode = Callable[[Any], Any]
"""From parsed JSON as a service's strict mode makes the model send it to JSON of the tool's own schema."""


_tuple = cast("Any", tuple).__new__  # half of what it costs to call Checked()

REFUSALS: Final = (ValidationError, Refused)
"""What a validator raises to refuse; anything else is a crash of the tool's own check."""


class Validator(Protocol):
    """What decides on arguments: pydantic's `SchemaValidator`, or `_rawschema.RawValidator`."""

    def validate_json(self, input: Any, /, *, strict: bool | None = None) -> Any: ...


class Form(Protocol):
    """The form in which a model sends arguments, where that is not the tool's own."""

    def as_sent(self, problems: Sequence[Problem], sent: object) -> Sequence[Problem]: ...

    def mended_as_sent(self, repairs: Sequence[Repair], sent: object) -> Sequence[Repair]: ...


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

    def worded(self, names: Mapping[str, str]) -> Checked:
        """The same, in the names by which the model knows the arguments."""
        from toolsmith._dialects.sent_names import in_sent_names

        error = None if self.error is None else in_sent_names(self.error, names)
        return self._replace(error=error, notes=tuple(in_sent_names(note, names) for note in self.notes))


class Door:
    """Turns the text of a call's arguments into values for one tool, or into an error that helps the model.

    Args:
        tool_name: as the model knows it.
        validator: has the last word on what the function gets.
        schema: the tool's neutral JSON Schema, by which errors are explained.
        coerce: whether "3" may stand for 3, "true" for true, and null for an argument left out.
        parameters: of the function, whose types may have further names for what the schema names.
    """

    def __init__(
        self,
        *,
        tool_name: str,
        validator: Validator,
        schema: Mapping[str, Any],
        coerce: bool,
        parameters: Sequence[Parameter] = (),
    ) -> None:
        self.tool_name = tool_name
        self.validator = validator
        self.schema = schema
        self.coerce = coerce
        self.parameters = parameters
        self._validate = validator.validate_json
        self._layout: Layout | None = getattr(validator, "layout", None)
        self._numbers = number_places(schema)
        # What a validator explains itself judges JSON data, and gives it as it is.
        self.decimals = self._numbers != () and not hasattr(type(validator), "explained") and has_decimals(schema)

    @cached_property
    def other_names(self) -> Mapping[str, Sequence[str]]:
        """For names that the schema does not have those that were meant."""
        if not self.parameters:
            return {}
        from toolsmith._derive.other_names import other_names

        return other_names(self.parameters)

    def check(
        self,
        text: str | bytes,
        decode: Decode | None = None,
        feedback: Feedback = FEEDBACK,
        form: Form | None = None,
    ) -> Checked:
        """The values, or what is wrong. Never raises.

        Args:
            text: JSON as the model wrote it; nothing at all stands for no arguments.
            decode: None where the model sends JSON of the tool's own schema.
            feedback: the words.
            form: that the model knows, in which it is told what is wrong; None for that of the tool's own schema.
        """
        layout = self._layout if decode is None else None
        values: Any = None
        refused: Exception | None = None
        try:
            data = text.encode() if isinstance(text, str) else text
            if len(data) <= MAX_BYTES and not (self.decimals and may_be_cut(data)):
                if layout is not None:
                    values = self._validate(data)
                    if names_in(values, layout) == data.count(b":"):
                        return _tuple(Checked, (values, None, (), None, ""))
                # Parsed twice: pydantic takes the last of two equal names without a word.
                parsed = from_json(data, catch_duplicate_keys=True, allow_inf_nan=False)
                if not overflows(parsed, data, self._numbers):
                    if layout is None:
                        values = self._validate(data if decode is None else to_json(decode(parsed)))
                    return _tuple(Checked, (values, None, (), None, ""))
        except Exception as error:  # noqa: BLE001 - whatever it was, the careful reading finds it again and says what
            refused = error if layout is None else None  # with a layout, nobody has looked at the JSON yet
        return self._carefully(text, decode, refused, feedback, form)

    def _carefully(
        self,
        text: str | bytes,
        decode: Decode | None,
        refused: Exception | None,
        feedback: Feedback,
        form: Form | None,
    ) -> Checked:
        name = self.tool_name
        try:
            parsed = parse(text)
            if isinstance(parsed, Broken):
                return Checked(error=feedback.broken_json(name, parsed))
            return _Reading(self, feedback, form).result(parsed, decode, refused)
        except RecursionError:
            return Checked(error=feedback.broken_json(name, Broken("depth", size=MAX_DEPTH)))
        except Exception as error:
            # A validator of the tool's own may raise anything.
            reference = secrets.token_hex(4)
            log.error("The argument check of tool %s crashed (reference %s)", name, reference, exc_info=error)
            return Checked(error=feedback.check_crashed(name, reference), exception=error, reference=reference)


class _Reading:
    """The careful reading, for a text that did not go straight through."""

    def __init__(self, door: Door, feedback: Feedback, form: Form | None) -> None:
        self._form = form
        self._sent: object = None
        self._repairs: list[Repair] = []
        self._tool_name = door.tool_name
        self._validator = door.validator
        self._shapes = Shapes(door.schema, door.other_names)
        self._coerce = door.coerce
        self._decimals = door.decimals
        self._feedback = feedback

    def result(self, parsed: Parsed, decode: Decode | None, refused: Exception | None) -> Checked:
        """The values, mended where it is certain how; or the text of all that is wrong.

        Args:
            parsed: the arguments.
            decode: as for `Door.check`.
            refused: what the validator said of the text as it was.
        """
        inner = self._unwrapped(parsed)
        value = self._sent = inner.value
        if decode is not None and isinstance(value, dict):
            from toolsmith._dialects.decoders import DialectError

            try:
                value = decode(value)
            except DialectError as error:
                told = self._feedback.two_meanings(self._tool_name, error.path, error.kind, error.name)
                return Checked(error=told)
        # What was not forgiven anything has been to the validator before.
        outcome = refused if not self._repairs and isinstance(refused, REFUSALS) else self._try(value, inner)
        if isinstance(outcome, Checked):
            return outcome
        reader = Reader(self._shapes, coerce=self._coerce)
        mended = reader.read(self._shapes.root, value)
        self._repairs += reader.found.repairs
        if mended is not value:
            again = self._try(mended, inner)
            if isinstance(again, Checked):
                return again
            outcome = again or outcome
        return self._wrong(reader.found, mended, outcome, inner)

    def _unwrapped(self, parsed: Parsed) -> Parsed:
        """What was parsed; of a text that was encoded twice what is inside."""
        inner = parse(parsed.value) if isinstance(parsed.value, str) else None
        if isinstance(inner, Parsed) and json_type(inner.value) == "object":
            self._repairs.append(Repair((), "json_text", parsed.value, inner.value))
        else:
            inner = parsed
        self._repairs += inner.repairs
        return inner

    def _try(self, value: Any, parsed: Parsed) -> Checked | Exception | None:
        """What the validator says; None where it is not asked, as a number in the value is infinite."""
        if parsed.infinite and infinite(value, self._shapes) is not None:
            return None
        sent = spelled_out(value, self._shapes) if parsed.exact and self._decimals else value
        try:
            values = self._validator.validate_json(written(sent, exact=parsed.exact), strict=True)
        except REFUSALS as error:
            return error
        repairs = self._repairs
        if self._form is not None and repairs:
            repairs = self._form.mended_as_sent(repairs, self._sent)
        return Checked(values, notes=self._feedback.repaired(repairs))

    def _wrong(self, found: Findings, value: Any, error: Exception | None, parsed: Parsed) -> Checked:
        told = refusals(error, value, unless=bool(found.problems)) if error is not None else ()
        problems = combined(found, told, value, self._shapes)
        place = infinite(value, self._shapes) if parsed.infinite else None
        if place is not None and all(p.path != place for p in problems):
            node = node_at(self._shapes, place, value)
            problems.append(Problem(place, "overflow", ABSENT, node, self._shapes.root))
        if not problems:
            problems.append(Problem((), "mismatch", ABSENT, self._shapes.root, self._shapes.root))
        more = len(problems) >= MAX_PROBLEMS or not found.complete
        told = problems if self._form is None else self._form.as_sent(problems, self._sent)
        return Checked(error=self._feedback.bad_arguments(self._tool_name, told, more=more))
