"""Typed answers: the type as a schema for the model, and the model's answer as a value of the type.

An answer is held to its type by the same machinery as the arguments of a tool, with the same feedback. Where the
service can be told a schema for the answer itself, it is; elsewhere the model is given a tool, `final_answer`, to
answer with.
"""

from __future__ import annotations

import logging
from collections.abc import Container, Sequence
from copy import copy
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

from toolsmith._arguments.jsontext import Parsed, parse, written
from toolsmith._arguments.refusals import node_at
from toolsmith._arguments.shapes import Shapes, dict_of, list_of
from toolsmith._feedback import FEEDBACK, Feedback
from toolsmith.errors import DefinitionError
from toolsmith.tool import Tool

if TYPE_CHECKING:
    from toolsmith._arguments.check import Checked
    from toolsmith._arguments.problems import Broken, Problem
    from toolsmith._derive.places import Place
    from toolsmith.dialects import Offered

log = logging.getLogger("toolsmith")

NAME = "final_answer"
MEMBER = "answer"


class _AnswerFeedback(Feedback):
    """The texts about arguments, said of an answer."""

    def broken_json(self, tool: str, broken: Broken) -> str:
        return self.answer_not_json(self._breakage(broken))

    def bad_arguments(self, tool: str, problems: Sequence[Problem], *, more: bool = False) -> str:
        return self.answer_misfit(super().bad_arguments(tool, problems, more=more), tool)

    def two_meanings(self, tool: str, place: str, kind: str, name: str) -> str:
        return self.answer_misfit(super().two_meanings(tool, place, kind, name), tool)

    def check_crashed(self, tool: str, reference: str, exposed: str = "") -> str:
        return self.answer_misfit(super().check_crashed(tool, reference, exposed), tool)


def _of_answers(words: Feedback) -> Feedback:
    """The same words, said of an answer."""
    made = copy(words)
    made.__class__ = _answering(type(words))
    return made


@lru_cache(maxsize=64)
def _answering(kind: type[Feedback]) -> type[Feedback]:
    return type("AnswerFeedback", (_AnswerFeedback, kind), {})


class Output:
    """What a run's answer has to be.

    Args:
        kind: any type pydantic takes.
        tools: of the run; the answer's own tool must not be named like one of them.
        feedback: the words; None for the usual ones.
        place: where its author asks for it; None where nobody knows.

    Raises:
        DefinitionError: a type that no JSON can carry.
    """

    def __init__(
        self, kind: Any, tools: Container[str], feedback: Feedback | None = None, place: Place | None = None
    ) -> None:
        name = NAME
        while name in tools:
            name += "_"

        def final_answer(answer: Any) -> Any:
            return answer

        final_answer.__annotations__ = {MEMBER: kind, "return": Any}
        try:
            about = (feedback or FEEDBACK).answer_described()
            self.tool: Tool[..., Any] = Tool(final_answer, name=name, description=about)
            self.tool.spec  # noqa: B018 - a type that cannot be read is told now
        except DefinitionError as error:
            from toolsmith._derive.misfits import unfit_answer

            why = unfit_answer(kind, place)
            raise DefinitionError([why] if why else [f"output_type={kind!r}: {p}" for p in error.problems]) from None

    def read_text(self, text: str, offered: Offered | None, feedback: Feedback) -> Checked:
        """A whole answer of a service that was told the schema.

        Not every service keeps to it. What fits the type without the object around it is read as meant; what does not
        fit at all is told with how an answer has to look, and without the name of a tool that was not offered.
        """
        words = _of_answers(feedback)
        checked = self.tool.check(text, offered, feedback=words)
        if checked.error is None:
            return checked
        parsed = parse(text)
        if isinstance(parsed, Parsed):
            value = parsed.value
            if isinstance(value, dict) and MEMBER in value and len(cast("dict[str, Any]", value)) == 1:
                return checked
            wrapped = written({MEMBER: value}, exact=parsed.exact).decode()
            bare = self.tool.check(wrapped, offered, feedback=words)
            if bare.error is None:
                log.info('An answer was read as {"%s": ...}: the model left that object out.', MEMBER)
                return bare
            if not isinstance(value, dict) or MEMBER not in value:
                checked = bare
        shapes = Shapes(self.tool.input_schema)
        wanted = feedback.expected(shapes, node_at(shapes, (MEMBER,), {}))
        return checked._replace(error=f"{checked.error} {feedback.answer_shape(MEMBER, wanted)}")

    def read_call(self, text: str, offered: Offered | None, feedback: Feedback) -> Checked:
        """The arguments of a call of the answer's tool.

        An object without the one around it is read as meant where each of its members is one of the type's.
        """
        checked = self.tool.check(text, offered, feedback=feedback)
        parsed = parse(text) if checked.error is not None else None
        if not isinstance(parsed, Parsed):
            return checked
        value = dict_of(parsed.value)
        names = set(value)
        if not names or names == {MEMBER} or not names <= self._members():
            return checked
        bare = self.tool.check(written({MEMBER: value}, exact=parsed.exact).decode(), offered, feedback=feedback)
        return checked if bare.error is not None else bare

    def _members(self) -> set[str]:
        """The names that members of the type may have, as far as they are listed."""
        shapes = Shapes(self.tool.input_schema)
        waiting = [node_at(shapes, (MEMBER,), {})]
        for node in waiting:  # grows on the way
            for part in map(dict_of, shapes.parts(node)):
                waiting += [b for word in ("anyOf", "oneOf") for b in list_of(part.get(word)) if len(waiting) < 100]
        return {
            name for node in waiting for part in shapes.parts(node) for name in dict_of(dict_of(part).get("properties"))
        }

    def value(self, checked: Checked) -> Any:
        """The value of the type."""
        return self.tool.invoke(checked.values, None)
