"""One turn of the model and the answers to its calls: one each, in the model's order, whatever happens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from toolsmith._runresult import ToolRecord
from toolsmith._settle import Settled, Visible, settle
from toolsmith.events import Event, ToolResultReady, TurnEnded
from toolsmith.messages import Message, Reply, ToolCall, ToolOutput, ToolResult

if TYPE_CHECKING:
    from toolsmith._feedback import Feedback
    from toolsmith._job import Job, Outcome


@dataclass(slots=True, eq=False)
class Turn:
    """A reply whose calls are being answered.

    Attributes:
        number: which turn of the run, from 1.
        result_chars: how much of one result the model is shown, None for all.
        visible: gives the tools that can still be called, for remedies.
        expose: whether the model is shown the text of exceptions.
        records: by a call's place in the turn, what became of it.
        misfit: what the model is told of an answer that does not fit the run's `output_type`.
    """

    reply: Reply
    number: int
    feedback: Feedback
    emit: Callable[[Event], None] | None
    result_chars: int | None
    visible: Visible | None = None
    expose: bool = False
    records: dict[int, ToolRecord] = field(default_factory=dict[int, ToolRecord])
    misfit: str | None = None

    @property
    def calls(self) -> Sequence[ToolCall]:
        return self.reply.message.tool_calls

    def open(self) -> list[tuple[int, ToolCall]]:
        """The calls without an answer."""
        return [(i, call) for i, call in enumerate(self.calls) if i not in self.records]

    def refuse(self, index: int, text: str, *, ran: bool = False) -> None:
        """Answer a call with a failure."""
        self.note(index, Settled(ToolResult(False, error=text)), 0.0, ran=ran)

    def refuse_open(self, text: Callable[[str], str], *, ran: bool = False) -> None:
        """Answer all calls that have no answer, by the tool's name."""
        for index, call in self.open():
            self.refuse(index, text(call.name), ran=ran)

    def done(self, job: Job, outcome: Outcome) -> None:
        """A job has ended."""
        settled = settle(job, outcome, self.feedback, visible=self.visible, expose=self.expose)
        self.note(job.index, settled, outcome.seconds, ran=True)

    def note(self, index: int, settled: Settled, seconds: float, *, ran: bool) -> None:
        """Keep an answer, and tell those who listen."""
        call = self.calls[index]
        self.records[index] = ToolRecord(
            call, settled.result, self.number, seconds, ran, settled.exception, settled.reference
        )
        if self.emit is not None:
            self.emit(ToolResultReady(call, settled.result, seconds, ran, settled.exception, settled.reference))

    def close(self, history: list[Message], records: list[ToolRecord]) -> None:
        """All answers, in the model's order, in one message."""
        if self.calls:
            ordered = [self.records[i] for i in range(len(self.calls))]
            records += ordered
            history.append(Message("tool", tuple(self._output(r) for r in ordered)))
        if self.emit is not None:
            self.emit(TurnEnded(self.number, self.reply))

    def _output(self, record: ToolRecord) -> ToolOutput:
        call, result = record.call, record.result
        if not result.success:
            return ToolOutput(call.id, call.name, result.error or "", True)
        text = self.feedback.result_text(result)
        if self.result_chars is not None and len(text) > self.result_chars:
            text = self.feedback.cut_result(call.name, text, self.result_chars)
        if result.media:
            text = self.feedback.media_marked(text, result.media)
        return ToolOutput(call.id, call.name, text, media=result.media)
