"""The run as a generator: it says what it wants from the world (`Ask` a model, `Invoke` jobs) and is sent the answers.

It does no I/O and never waits; a driver does both (`drive`). Whatever happens, each tool call that stands in the
history has exactly one result, in the model's order: calls that were refused, cut off, cancelled or late as well.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

from toolsmith import approvals
from toolsmith._calls.settle import Settled
from toolsmith._dataclass import dataclass
from toolsmith._feedback import FEEDBACK, Feedback
from toolsmith._run.admission import (
    admit,
    allowed_names,
    callable_tools,
    names_allowed,
    prepare,
    tell_left,
    watched,
    with_reader,
)
from toolsmith._run.breaker import Breaker
from toolsmith._run.result import StopReason, ToolRecord
from toolsmith._run.steps import Ask, Decide, Decision, Ending, Invoke, Step, stages
from toolsmith._run.turn import Turn
from toolsmith._run.watch import Watch
from toolsmith.approvals import Pending, PendingCall
from toolsmith.errors import OutputError, ProviderError
from toolsmith.events import ApprovalNeeded, Event, LimitReached
from toolsmith.messages import Message, Reply, Text, ToolResult

if TYPE_CHECKING:
    from toolsmith._calls.job import Job
    from toolsmith._run.budget import Budget
    from toolsmith._run.output import Output
    from toolsmith._run.paging import Pages
    from toolsmith.approvals import Approve
    from toolsmith.dialects import Offered
    from toolsmith.registry import ToolRegistry

MAX_PAUSES = 20
"""Turns in a row that a service may pause before the run ends; each is a full request."""

MAX_UNREAD = 3
"""Turns in a row that the service could not read before the run fails."""

MAX_MISFITS = 3
"""Answers that do not fit `output_type` before the run fails."""


@dataclass(slots=True, eq=False)
class Conversation:
    """The state of one run. `steps()` is the run itself.

    Attributes:
        tools: what the model may call.
        history: grows by each message; append-only.
        offered: by tool name, how it was offered to the model now in use; the driver fills it before the first `Ask`.
        output: what the answer has to be; None for text.
        answer_form: how the service was told of `output`, where it holds the answer itself to the schema; filled by the
            driver. None where the model answers by a tool instead.
        tool_choice: for the first request only: a model forced each time could never answer.
        allowed: the tools that may be called in this turn, None for all; the tool list stays as it is.
        restrict: gives `allowed` anew before each turn, by its number; None where it stays as it is.
        emit: takes events; None where nobody listens.
        approve: decides about calls that need a person's word; handed on to runs inside this one.
        expose_errors: the model is shown the text of exceptions.
        pages: results that are cut, for the model to read on; None where it cannot.
        breaker: what has failed before.
        watch: knows which text others have written, and where it would go.
        closing: why the last turn is on; None before it.
    """

    tools: ToolRegistry
    budget: Budget
    history: list[Message]
    offered: Mapping[str, Offered] = field(default_factory=dict[str, "Offered"])
    output: Output | None = None
    answer_form: Offered | None = None
    tool_choice: str = "auto"
    allowed: Collection[str] | None = None
    restrict: Callable[[int], Collection[str] | None] | None = None
    emit: Callable[[Event], None] | None = None
    deps: Any = None
    feedback: Feedback = FEEDBACK
    approve: Approve | None = None
    expose_errors: bool = False
    pages: Pages | None = None
    breaker: Breaker = field(default_factory=Breaker)
    watch: Watch = field(default_factory=Watch)
    records: list[ToolRecord] = field(default_factory=list[ToolRecord])
    closing: StopReason | None = None
    _cut_off: bool = False
    _pauses: int = 0
    _misfits: int = 0
    _unread: int = 0
    _number: int = 0  # of the turn under way, from 1; closing turns count here

    def steps(self, waiting: Pending | None = None, decisions: Sequence[Decision] = ()) -> Generator[Step, Any, Ending]:
        """Run to the end; or on from where calls waited for a person, with what was decided.

        Raises:
            RunError: whatever the driver throws in, and `OutputError`; the history is valid then too.
        """
        self.budget.start()
        self._number = self.budget.turns
        if waiting is not None:
            ending = yield from self._go_on(waiting, decisions)
            if ending is not None:
                return ending
        while True:
            if self.budget.out_of_time:
                return self._out_of_time()
            # A paused turn goes on first: the service takes no word of the user's between its halves.
            if self.closing is None and not self._pauses and (over := self.budget.spent()) is not None:
                self._close(over)
            self._restrict()
            self.budget.turns += self.closing is None
            self._number += 1
            try:
                reply: Reply = yield Ask(self._choice(), self.budget.deadline)
            except ProviderError as error:
                if error.category == "timeout" and self.budget.out_of_time:
                    return self._out_of_time()
                reply = self._reread(error)
            else:
                self._unread = 0
            self.budget.charge(reply.usage)
            self.history.append(reply.message)
            ending = yield from self._take(self._turn(reply))
            if ending is not None:
                return ending

    def _take(self, turn: Turn) -> Generator[Step, Any, Ending | None]:
        """One turn, to its end. In a frame of its own: nothing of it is kept while the next request is under way."""
        jobs, ending = yield from self._consider(turn)
        if jobs:
            ending = yield from self._act(turn, jobs)
        if ending is None or ending.pending is None:
            turn.close(self.history, self.records)
        if self._unread and not turn.calls:
            self.history.append(Message("user", (Text(self.feedback.unread(names_allowed(self))),)))
            return None
        if ending is None and turn.misfit is not None:
            self._misfit(turn.misfit, told=bool(turn.calls))
        return ending

    # ---- what a reply asks for

    def _consider(self, turn: Turn) -> Generator[Step, Any, tuple[list[Job], Ending | None]]:
        """What to run now, and the ending, if this reply is the last one."""
        reply, calls = turn.reply, turn.calls
        self._pauses = self._pauses + 1 if reply.stop == "pause" else 0
        if reply.stop == "tool_calls" and (final := self._final_call(turn)) is not None:
            return [], final
        match reply.stop:
            case "tool_calls" if calls and self.closing is None:
                with _KeptValid(self, turn):
                    jobs = yield from admit(self, turn)
                return jobs, None
            case "pause" if not calls and self._pauses < MAX_PAUSES:
                return [], None
            case "length" if calls and not self._cut_off and self.closing is None:
                self._cut_off = True
                for index, call in enumerate(calls):
                    turn.refuse(index, self.feedback.cut_off(call.name, len(call.arguments)), counts=False)
                return [], None
            case "end" | "tool_calls":
                turn.refuse_open(self.feedback.not_run)
                return [], self._ended(turn)
            case "pause":
                reason: StopReason = "unknown"
            case "length" | "context" | "refusal" | "filter" | "error" | "unknown":
                reason = reply.stop
        turn.refuse_open(self.feedback.not_run)
        return [], self._without_value(reply.message.text, reason, reply.detail)

    # ---- answers

    def _ended(self, turn: Turn) -> Ending | None:
        """The model has answered: the ending; or None, and the turn says what the answer lacks."""
        reply, reason = turn.reply, self.closing or "end"
        if self.output is None:
            return Ending(reply.message.text, reason, reply.detail)
        if self.answer_form is None:
            turn.misfit = self.feedback.answer_by_tool(self.output.tool.name)
            return None
        checked = self.output.read_text(reply.message.text, self.answer_form, self.feedback)
        if checked.error is not None:
            turn.misfit = checked.error
            return None
        return Ending(self.output.value(checked), reason, reply.detail)

    def _final_call(self, turn: Turn) -> Ending | None:
        """The ending, if a call of the answer's tool stands among the calls and fits."""
        if self.output is None or self.answer_form is not None:
            return None
        tool = self.output.tool
        for index, call in turn.open():
            if call.name != tool.name:
                continue
            checked = self.output.read_call(call.arguments, self.offered.get(tool.name), self.feedback)
            if checked.error is None:
                turn.note(index, Settled(ToolResult(True, self.feedback.answer_taken())))
                turn.refuse_open(self.feedback.not_run)
                return Ending(self.output.value(checked), self.closing or "end")
            turn.refuse(index, checked.error, counts=False)
            turn.misfit = checked.error
        return None

    def _misfit(self, text: str, *, told: bool) -> None:
        """Count an answer that does not fit, and tell the model, if the answer to its call has not already.

        Raises:
            OutputError: it has had its chances.
        """
        self._misfits += 1
        if self._misfits >= MAX_MISFITS:
            raise OutputError(
                f"The model gave no answer that fits output_type in {self._misfits} tries. It was told last: {text}"
            )
        if not told:
            self.watch.ours.add(len(self.history))  # it quotes the answer, which may quote others
            self.history.append(Message("user", (Text(text),)))

    def _without_value(self, text: str, reason: StopReason, detail: str = "", pending: Pending | None = None) -> Ending:
        """An ending without an answer: the words so far; a typed run has no value then."""
        return Ending(text if self.output is None else None, reason, detail, pending)

    # ---- running

    def _act(self, turn: Turn, jobs: list[Job]) -> Generator[Step, Any, Ending | None]:
        """Ask about the jobs that need a person's word, and run those that may."""
        jobs, shown, held = watched(self, turn, jobs)
        waiting: list[Job] = []
        if shown:  # else nobody is to be asked
            waiting = [j for j in jobs if j.index in held or (j.index in shown and approvals.waits(j, shown[j.index]))]
        if waiting and self.emit is not None:
            for job in waiting:
                self.emit(ApprovalNeeded(shown[job.index]))
        with _KeptValid(self, turn):
            decided: dict[int, Decision] = {}
            if waiting:
                decisions = yield Decide(tuple(shown[job.index] for job in waiting), self.budget.seconds_left)
                decided = dict(zip((job.index for job in waiting), decisions, strict=True))
            yield from self._run(turn, jobs, decided)
        return self._waiting(turn, [shown[i] for i, _ in turn.open()])

    def _go_on(self, waiting: Pending, decisions: Sequence[Decision]) -> Generator[Step, Any, Ending | None]:
        """The turn that waited: its other calls are not repeated, and none is counted twice."""
        turn = self._turn(Reply(self.history[-1], "tool_calls"))
        for index, answer in waiting.answered.items():
            turn.restore(index, answer.result, answer.seconds, ran=answer.ran)
        tell_left(self, turn)
        undecided = tuple(call for call, decision in zip(waiting.calls, decisions, strict=True) if decision is None)
        if undecided:
            with _KeptValid(self, turn):
                asked = iter((yield Decide(undecided, self.budget.seconds_left)))
            decisions = [next(asked) if decision is None else decision for decision in decisions]
        said = {call.id: (call, decision) for call, decision in zip(waiting.calls, decisions, strict=True)}
        jobs: list[Job] = []
        for index, call in turn.open():
            shown, decision = said[call.id]
            if call.name not in self.tools:
                turn.refuse(index, self.feedback.unknown_tool(call.name, names_allowed(self)))
            elif decision is None:
                continue
            elif decision is not True:
                turn.refuse(index, self.feedback.denied(call.name, decision or ""))
            else:
                job = prepare(self, turn, index, call, self.tools.get(call.name), approvals.neutral(call, shown))
                jobs += [] if job is None else [job]
        with _KeptValid(self, turn):
            yield from self._run(turn, jobs, dict.fromkeys((job.index for job in jobs), True))
        open_ids = {call.id for _, call in turn.open()}
        ending = self._waiting(turn, [call for call in waiting.calls if call.id in open_ids])
        if ending is None:
            turn.close(self.history, self.records)
        return ending

    def _run(self, turn: Turn, jobs: Sequence[Job], decisions: Mapping[int, Decision]) -> Generator[Step, Any, None]:
        """Run the jobs on which nobody has to decide, or has decided for; those still undecided stay open."""
        ready: list[Job] = [] if decisions else [*jobs]
        for job in jobs if decisions else ():
            decision = decisions.get(job.index, True)
            if decision is True:
                ready.append(job)
            elif decision is not None:
                turn.refuse(job.index, self.feedback.denied(job.tool.name, decision or ""))
        waiting = ready
        while waiting and not self.budget.out_of_time:
            now, waiting = turn.sort_out(waiting, decisions)
            for stage in stages(now):
                if self.budget.out_of_time:
                    break
                turn.begun.update([job.index for job in stage])
                yield Invoke(self._in_time(stage), turn.done)
        for job in ready:
            if turn.is_open(job.index):
                turn.refuse(job.index, self.feedback.not_begun(job.tool.name), counts=False)
        turn.catch_up(to=len(turn.calls))

    def _in_time(self, stage: Sequence[Job]) -> Sequence[Job]:
        """Jobs that end with the run at the latest: those before them took some of its time."""
        if self.budget.deadline is None:
            return stage
        return [replace(job, timeout=self.budget.timeout(job.tool)) for job in stage]

    def _waiting(self, turn: Turn, calls: Sequence[PendingCall]) -> Ending | None:
        """The ending that waits for a person, if calls are still open."""
        if not calls:
            return None
        pending = Pending.of(self, turn, tuple(calls))
        self.history.append(pending.messages[-1])  # for those who go on without it
        self.records += [turn.records[i] for i in sorted(turn.records)]
        return self._without_value("", "approval", "", pending)

    # ---- limits

    def _turn(self, reply: Reply) -> Turn:
        return Turn(
            reply,
            self._number,
            self.tools,
            self.breaker,
            self.feedback,
            self.emit,
            self.budget.limits.result_chars,
            lambda: callable_tools(self),
            self.expose_errors,
            self.pages,
            self.offered,
        )

    def _restrict(self) -> None:
        """Which tools the coming turn may call.

        Raises:
            KeyError: a name that no tool has; the history is valid.
        """
        if self.restrict is not None:
            self.allowed = with_reader(allowed_names(self.restrict(self._number + 1), self.tools), self.pages)

    def _reread(self, error: ProviderError) -> Reply:
        """The turn that the service could not read.

        Raises:
            ProviderError: it is another failure, or this one too often in a row.
        """
        if not error.generation or self._unread >= MAX_UNREAD:
            raise error
        from toolsmith._run.garbled import reread

        self._unread += 1
        return reread(error.generation, self._number)

    def _choice(self) -> str:
        if self.closing is not None:
            by_tool = self.output is not None and self.answer_form is None
            return self.output.tool.name if by_tool and self.output is not None else "none"
        choice, self.tool_choice = self.tool_choice, "auto"
        if choice in self.tools and self.allowed is not None and choice not in self.allowed:
            return "auto"  # `restrict` has the last word
        return choice

    def _close(self, over: StopReason) -> None:
        """One last turn: the model answers with what it has."""
        text = self.feedback.closing(over)
        self.closing = over
        self.history.append(Message("user", (Text(text),)))
        if self.emit is not None:
            self.emit(LimitReached(over, text))

    def _out_of_time(self) -> Ending:
        last = next((m.text for m in reversed(self.history) if m.role == "assistant"), "")
        return self._without_value(last, "time_limit")


class _KeptValid:
    """Around what works on a turn. Cancelled, or worse: the history stays valid, and says which calls may have had an
    effect.
    """

    __slots__ = ("_talk", "_turn")

    def __init__(self, talk: Conversation, turn: Turn) -> None:
        self._talk = talk
        self._turn = turn

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if kind is not None:
            self._turn.give_up()
            self._turn.close(self._talk.history, self._talk.records)
