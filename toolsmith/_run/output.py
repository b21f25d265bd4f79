"""Typed answers: the type as a schema for the model, and the model's answer as a value of the type.

An answer is held to its type by the same machinery as the arguments of a tool, with the same feedback. Where the
service can be told a schema for the answer itself, it is; elsewhere the model is given a tool, `final_answer`, to
answer with.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from copy import copy
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from toolsmith._feedback import FEEDBACK, Feedback
from toolsmith.errors import DefinitionError
from toolsmith.tool import Tool

if TYPE_CHECKING:
    from toolsmith._arguments.check import Checked
    from toolsmith._arguments.problems import Broken, Problem
    from toolsmith.dialects import Offered

NAME = "final_answer"
MEMBER = "answer"


class _AnswerFeedback(Feedback):
    """The texts about arguments, said of an answer."""

    def broken_json(self, tool: str, broken: Broken) -> str:
        return self.answer_not_json(self._breakage(broken))

    def bad_arguments(self, tool: str, problems: Sequence[Problem], *, more: bool = False) -> str:
        return self.answer_misfit(super().bad_arguments(tool, problems, more=more), tool)


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

    Raises:
        DefinitionError: a type that no JSON can carry.
    """

    def __init__(self, kind: Any, tools: Container[str], feedback: Feedback | None = None) -> None:
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
            raise DefinitionError([f"output_type={kind!r}: {p}" for p in error.problems]) from None

    def read_text(self, text: str, offered: Offered | None, feedback: Feedback) -> Checked:
        """A whole answer of a service that was told the schema."""
        return self.tool.check(text, offered, feedback=_of_answers(feedback))

    def value(self, checked: Checked) -> Any:
        """The value of the type."""
        return self.tool.invoke(checked.values, None)

