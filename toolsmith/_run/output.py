"""Typed answers: the type as a schema for the model, and the model's answer as a value of the type.

An answer is held to its type by the same machinery as the arguments of a tool, with the same feedback. Where the
service can be told a schema for the answer itself, it is; elsewhere the model is given a tool, `final_answer`, to
answer with.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import TYPE_CHECKING, Any

from toolsmith._feedback import Feedback
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


class Output:
    """What a run's answer has to be.

    Args:
        kind: any type pydantic takes.
        tools: of the run; the answer's own tool must not be named like one of them.

    Raises:
        DefinitionError: a type that no JSON can carry.
    """

    def __init__(self, kind: Any, tools: Container[str]) -> None:
        name = NAME
        while name in tools:
            name += "_"

        def final_answer(answer: Any) -> Any:
            """Give the final answer and end the conversation. Call this alone, when all work is done."""
            return answer

        final_answer.__annotations__ = {MEMBER: kind, "return": Any}
        try:
            self.tool: Tool[..., Any] = Tool(final_answer, name=name)
            self.tool.spec  # noqa: B018 - a type that cannot be read is told now
        except DefinitionError as error:
            raise DefinitionError([f"output_type={kind!r}: {p}" for p in error.problems]) from None

    def read_text(self, text: str, offered: Offered | None) -> Checked:
        """A whole answer of a service that was told the schema."""
        return self.tool.check(text, offered, feedback=_FEEDBACK)

    def value(self, checked: Checked) -> Any:
        """The value of the type."""
        return self.tool.invoke(checked.values, None)


_FEEDBACK = _AnswerFeedback()
