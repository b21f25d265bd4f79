"""The run as a generator: it says what it wants from the world (`Ask` a model, `Invoke` jobs) and is sent the answers.

It does no I/O and never waits; a driver does both (`_drive`). Whatever happens, each tool call that stands in the
history has exactly one result, in the model's order: calls that were refused, cut off, cancelled or late as well.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import TYPE_CHECKING, Any

from toolsmith._feedback import FEEDBACK, Feedback
from toolsmith._job import Job, Outcome
from toolsmith._runresult import StopReason, ToolRecord
from toolsmith._settle import Settled, settle
from toolsmith.errors import ProviderError, RunError
from toolsmith.events import (
    ArgumentsRepaired,
    Event,
    LimitReached,
    ToolCallReady,
    ToolProgress,
    ToolResultReady,
    TurnEnded,
)
from toolsmith.messages import Message, Reply, Text, ToolCall, ToolOutput, ToolResult, Usage
from toolsmith.tool import RunContext

if TYPE_CHECKING:
    from toolsmith.dialects import Offered
    from toolsmith.limits import Limits
    from toolsmith.registry import ToolRegistry
    from toolsmith.tool import Tool

MAX_PAUSES = 20
"""Turns in a row that a service may pause before the run ends; each is a full request."""


@dataclass(frozen=True, slots=True)
class Ask:
    """Send the history to the model; the answer is a `Reply`.

    Attributes:
        tool_choice: "auto", "none", "required" or a tool's name.
        timeout: seconds that the run has left, None for no limit.
    """

    tool_choice: str
    timeout: float | None


@dataclass(frozen=True, slots=True)
class Invoke:
    """Run jobs, a stage after the other; `done` is to be called as each one ends."""

    stages: Sequence[Sequence[Job]]
    done: Callable[[Job, Outcome], None]


Step = Ask | Invoke


@dataclass(slots=True, eq=False)
class Ending:
    """How a conversation ended; the agent makes its `RunResult` from it."""

    output: str
    stop_reason: StopReason
    detail: str


@dataclass(slots=True, eq=False)
class Conversation:
    """The state of one run. `steps()` is the run itself.

    Attributes:
        tools: what the model may call.
        offered: by tool name, how it was offered to the model now in use; the driver fills it before the first `Ask`.
        history: grows by each message; append-only.
        emit: takes events; None where nobody listens.
    """

    tools: ToolRegistry
    limits: Limits
    history: list[Message]
    offered: Mapping[str, Offered] = field(default_factory=dict[str, "Offered"])
    emit: Callable[[Event], None] | None = None
    deps: Any = None
    feedback: Feedback = FEEDBACK
    records: list[ToolRecord] = field(default_factory=list[ToolRecord])
    usage: Usage = field(default_factory=Usage)
    turns: int = 0
    calls: int = 0
    by_tool: Counter[str] = field(default_factory=Counter[str])
    deadline: float | None = None
    _answers: dict[int, ToolRecord] = field(default_factory=dict[int, ToolRecord])
    _closing: StopReason | None = None
    _cut_off: bool = False
    _pauses: int = 0

    def steps(self) -> Generator[Step, Any, Ending]:
        """Run to the end.

        Raises:
            RunError: whatever the driver throws in; the history is valid then too.
        """
        if self.limits.seconds is not None:
            self.deadline = monotonic() + self.limits.seconds
        while True:
            if (over := self._spent()) is not None:
                if over == "time_limit" or self._closing is not None:
                    return self._end(over)
                self._close(over)
            self.turns += 1
            try:
                reply: Reply = yield Ask("none" if self._closing else "auto", self._seconds_left())
            except ProviderError as error:
                if error.category == "timeout" and self._seconds_left() == 0.0:
                    return self._end("time_limit")
                raise
            self.usage += reply.usage
            self.history.append(reply.message)
            jobs, ending = self._consider(reply)
            if jobs:
                yield from self._invoke(reply, jobs)
            self._answer(reply)
            if ending is not None:
                return ending

    # ---- what a reply asks for

    def _consider(self, reply: Reply) -> tuple[list[Job], Ending | None]:
        """What to run now, and the ending, if this reply is the last one."""
        calls = reply.message.tool_calls
        self._pauses = self._pauses + 1 if reply.stop == "pause" else 0
        match reply.stop:
            case "tool_calls" if calls and self._closing is None:
                return self._check_all(calls), None
            case "pause" if not calls and self._pauses < MAX_PAUSES:
                return [], None
            case "length" if calls and not self._cut_off and self._closing is None:
                self._cut_off = True
                for index, call in enumerate(calls):
                    self._refuse(index, call, self.feedback.cut_off(call.name, len(call.arguments)))
                return [], None
            case "end" | "tool_calls":
                reason: StopReason = self._closing or "end"
            case "pause":
                reason = "unknown"
            case "length" | "context" | "refusal" | "filter" | "error" | "unknown":
                reason = reply.stop
        for index, call in enumerate(calls):
            self._refuse(index, call, self.feedback.not_run(call.name))
        return [], Ending(reply.message.text, reason, reply.detail)

    def _check_all(self, calls: Sequence[ToolCall]) -> list[Job]:
        jobs: list[Job] = []
        for index, call in enumerate(calls):
            if self.emit is not None:
                self.emit(ToolCallReady(call))
            job = self._check(index, call)
            if job is not None:
                jobs.append(job)
        return jobs

    def _check(self, index: int, call: ToolCall) -> Job | None:
        """The job for a call; or None, and its answer is noted."""
        self.calls += 1
        if self.limits.calls is not None and self.calls > self.limits.calls:
            return self._refuse(index, call, self.feedback.run_limit(call.name, self.limits.calls))
        tool = self.tools.get(call.name) if call.name in self.tools else None
        if tool is None:
            return self._refuse(index, call, self.feedback.unknown_tool(call.name, [t.name for t in self.tools]))
        self.by_tool[tool.name] += 1
        most = tool.options.max_calls_per_run
        if most is not None and self.by_tool[tool.name] > most:
            return self._refuse(index, call, self.feedback.tool_limit(tool.name, most))
        checked = tool.check(call.arguments, self.offered.get(tool.name))
        if checked.error is not None:
            return self._refuse(index, call, checked.error)
        if checked.notes and self.emit is not None:
            self.emit(ArgumentsRepaired(call, checked.notes))
        return Job(
            call=call,
            tool=tool,
            values=checked.values,
            notes=checked.notes,
            context=self._context(tool, call) if tool.takes_context else None,
            timeout=self._timeout(tool),
            report=self._reporter(call),
            index=index,
        )

    def _context(self, tool: Tool[..., Any], call: ToolCall) -> RunContext[Any]:
        return RunContext(
            deps=self.deps,
            tool_name=tool.name,
            tool_call_id=call.id,
            attempt=self.by_tool[tool.name],
            calls_left=self._calls_left(tool),
            deadline=self.deadline,
            usage=self.usage,
        )

    def _reporter(self, call: ToolCall) -> Callable[[Any], None] | None:
        emit = self.emit
        if emit is None:
            return None
        return lambda progress: emit(ToolProgress(call.id, call.name, progress))

    # ---- running and answering

    def _invoke(self, reply: Reply, jobs: list[Job]) -> Generator[Step, Any, None]:
        try:
            yield Invoke(stages(jobs), self._done)
        except BaseException:
            # Cancelled, or worse: the history stays valid, and says which calls may have had an effect.
            for index, call in enumerate(reply.message.tool_calls):
                if index not in self._answers:
                    self._refuse(index, call, self.feedback.cancelled(call.name), ran=True)
            self._answer(reply)
            raise

    def _done(self, job: Job, outcome: Outcome) -> None:
        self._note(job.index, job.call, settle(job, outcome, self.feedback), outcome.seconds, ran=True)

    def _refuse(self, index: int, call: ToolCall, text: str, *, ran: bool = False) -> None:
        self._note(index, call, Settled(ToolResult(False, error=text)), 0.0, ran=ran)

    def _note(self, index: int, call: ToolCall, settled: Settled, seconds: float, *, ran: bool) -> None:
        record = ToolRecord(call, settled.result, self.turns, seconds, ran, settled.exception, settled.reference)
        self._answers[index] = record
        if self.emit is not None:
            self.emit(ToolResultReady(call, settled.result, seconds, ran, settled.exception, settled.reference))

    def _answer(self, reply: Reply) -> None:
        """Close the turn: all answers in the model's order, in one message."""
        calls = reply.message.tool_calls
        if calls and self._answers:
            records = [self._answers[index] for index in range(len(calls))]
            self._answers.clear()
            self.records += records
            self.history.append(Message("tool", tuple(self._output(r) for r in records)))
        if self.emit is not None:
            self.emit(TurnEnded(self.turns, reply))

    def _output(self, record: ToolRecord) -> ToolOutput:
        result = record.result
        if not result.success:
            return ToolOutput(record.call.id, record.call.name, result.error or "", True)
        text = self.feedback.result_text(result)
        most = self.limits.result_chars
        if most is not None and len(text) > most:
            text = self.feedback.cut_result(record.call.name, text, most)
        return ToolOutput(record.call.id, record.call.name, text)

    # ---- limits

    def _spent(self) -> StopReason | None:
        """Which of the run's own budgets is used up."""
        limits = self.limits
        if self._seconds_left() == 0.0:
            return "time_limit"
        if self._closing is not None:
            return None
        if limits.turns is not None and self.turns >= limits.turns:
            return "turn_limit"
        if limits.calls is not None and self.calls > limits.calls:
            return "call_limit"
        if limits.tokens is not None and self.usage.total_tokens >= limits.tokens:
            return "token_limit"
        return None

    def _close(self, over: StopReason) -> None:
        """One last turn: the model answers with what it has."""
        text = self.feedback.closing(over)
        self._closing = over
        self.history.append(Message("user", (Text(text),)))
        if self.emit is not None:
            self.emit(LimitReached(over, text))

    def _end(self, reason: StopReason) -> Ending:
        last = next((m.text for m in reversed(self.history) if m.role == "assistant"), "")
        return Ending(last, reason, "")

    def _seconds_left(self) -> float | None:
        return None if self.deadline is None else max(self.deadline - monotonic(), 0.0)

    def _timeout(self, tool: Tool[..., Any]) -> float | None:
        own = tool.options.timeout if tool.options.timeout is not None else self.limits.tool_timeout
        left = self._seconds_left()
        return min((t for t in (own, left) if t is not None), default=None)

    def _calls_left(self, tool: Tool[..., Any]) -> int | None:
        most = tool.options.max_calls_per_run
        own = None if most is None else most - self.by_tool[tool.name]
        run = None if self.limits.calls is None else self.limits.calls - self.calls
        return min((n for n in (own, run) if n is not None), default=None)


def stages(jobs: Sequence[Job]) -> list[list[Job]]:
    """Jobs in the model's order, cut at the `sequential` ones: such a job waits for all before it, and runs alone."""
    made: list[list[Job]] = []
    open_stage = False
    for job in jobs:
        if job.tool.options.sequential:
            made.append([job])
            open_stage = False
        elif open_stage:
            made[-1].append(job)
        else:
            made.append([job])
            open_stage = True
    return made


def failed(error: RunError, conversation: Conversation) -> RunError:
    """The same error, carrying the history and what was used."""
    error.messages = list(conversation.history)
    error.usage = conversation.usage
    return error
