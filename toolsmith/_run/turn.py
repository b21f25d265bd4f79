"""One turn of the model and the answers to its calls: one each, in the model's order, whatever happens.

Calls run at the same time, but what they mean to each other goes by the model's order: whether one is the second that
fails in the same way, and whether a third is run at all. An answer that depends on earlier calls waits for them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

from toolsmith._calls.settle import Settled, Visible, log, settle
from toolsmith._dataclass import dataclass
from toolsmith._derive.definition import gives_nothing
from toolsmith._run.breaker import EMPTY, MOST, Breaker, Key, key_of
from toolsmith._run.result import Repeats, ToolRecord
from toolsmith._untrusted import fences
from toolsmith.errors import ToolError
from toolsmith.events import Event, RepeatStopped, ToolResultReady, TurnEnded
from toolsmith.messages import Message, Reply, ToolCall, ToolOutput, ToolResult

if TYPE_CHECKING:
    from toolsmith._calls.job import Job, Outcome
    from toolsmith._feedback import Feedback
    from toolsmith._run.paging import Pages
    from toolsmith.registry import ToolRegistry
    from toolsmith.tool import Tool


@dataclass(slots=True, eq=False)
class Turn:
    """A reply whose calls are being answered.

    Attributes:
        number: which turn of the run, from 1.
        tools: what can be called.
        breaker: what has failed before in this run.
        result_chars: how much of one result the model is shown, where its tool does not say; None for all.
        pages: keeps results that are cut; None where the model cannot read on.
        visible: gives the tools that can still be called, for remedies.
        expose: whether the model is shown the text of exceptions.
        remarks: by a call's place, what the model is told beside its result.
        last_words: the same, where it fails: it cannot be made again.
        calls: what the reply asks for.
        begun: the places of calls whose functions were started.
        records: by a call's place in the turn, what became of it.
        misfit: what the model is told of an answer that does not fit the run's `output_type`.
    """

    reply: Reply
    number: int
    tools: ToolRegistry
    breaker: Breaker
    feedback: Feedback
    emit: Callable[[Event], None] | None
    result_chars: int | None
    visible: Visible | None = None
    expose: bool = False
    pages: Pages | None = None
    forms: Mapping[str, Any] = field(default_factory=dict[str, Any])  # in which the model was offered the tools
    remarks: dict[int, list[str]] = field(default_factory=dict[int, list[str]])
    last_words: dict[int, str] = field(default_factory=dict[int, str])
    calls: Sequence[ToolCall] = ()
    begun: set[int] = field(default_factory=set[int])
    records: dict[int, ToolRecord] = field(default_factory=dict[int, ToolRecord])
    misfit: str | None = None
    _fenced: dict[int, tuple[str, str]] = field(default_factory=dict[int, "tuple[str, str]"])
    _landed: dict[int, Settled] = field(default_factory=dict[int, Settled])
    _uncounted: list[int] = field(default_factory=list[int])
    _tools: Mapping[str, Tool[..., Any]] = field(default_factory=dict[str, "Tool[..., Any]"])  # those that are called
    _keys: dict[int, Key] = field(default_factory=dict[int, Key])
    _suspects: frozenset[int] = frozenset()

    def __post_init__(self) -> None:
        self.calls = self.reply.message.tool_calls
        self._uncounted = list(range(len(self.calls)))
        self._tools = {n: self.tools.get(n) for n in {call.name for call in self.calls} if n in self.tools}
        self._suspects = self._find_suspects()

    def is_open(self, index: int) -> bool:
        """Whether a call has not ended."""
        return index not in self._landed

    def open(self) -> list[tuple[int, ToolCall]]:
        """The calls that have not ended."""
        everything, landed = enumerate(self.calls), self._landed
        return [(index, call) for index, call in everything if index not in landed] if landed else [*everything]

    def tool(self, name: str) -> Tool[..., Any] | None:
        """The tool that a call names, if there is one."""
        return self._tools.get(name)

    # ---- how calls end

    def restore(self, index: int, result: ToolResult, seconds: float, *, ran: bool) -> None:
        """Take over an answer that was given before the run waited for a person; it is counted already."""
        self.records[index] = ToolRecord(self.calls[index], result, self.number, seconds, ran)
        self._landed[index] = Settled(result, seconds=seconds, ran=ran, counts=False)
        self._uncounted.remove(index)

    def remark(self, index: int, text: str) -> None:
        """Have a call's answer, when it comes, followed by a sentence."""
        self.remarks.setdefault(index, []).append(text)

    def refuse(self, index: int, text: str, *, ran: bool = False, counts: bool = True, fenced: str = "") -> None:
        """Answer a call with a failure.

        Args:
            fenced: the same as the model reads it, if others have written a part of it.
            counts: the failure is the call's own; the same call would fail again.
        """
        self.note(index, Settled(ToolResult(False, error=text), fenced=fenced, ran=ran, counts=counts))

    def refuse_open(self, text: Callable[[str], str]) -> None:
        """Answer all calls that have not ended, by the tool's name."""
        for index, call in self.open():
            self.refuse(index, text(call.name), counts=False)

    def give_up(self) -> None:
        """The run is cancelled: answer the calls that have not ended. Those that were begun may have had an effect."""
        self.catch_up(to=len(self.calls))
        for index, call in self.open():
            ran = index in self.begun
            text = self.feedback.cancelled(call.name) if ran else self.feedback.not_begun(call.name)
            self.refuse(index, text, ran=ran, counts=False)

    def done(self, job: Job, outcome: Outcome) -> None:
        """A job has ended."""
        settled = settle(job, outcome, self.feedback, visible=self.visible, expose=self.expose)
        if isinstance(settled.exception, ToolError) and settled.exception.use:
            _look_for_remedy(job.tool, settled.exception.use, self.tools)
        settled.seconds, settled.ran = outcome.seconds, True
        self.note(job.index, settled)

    def note(self, index: int, settled: Settled) -> None:
        """Take how a call ended; it is answered now, or when the earlier ones have ended that bear on it."""
        if settled.fenced:
            self._fenced[index] = settled.result.error or "", settled.fenced
        self._landed[index] = settled
        if index not in self._suspects:
            self._answer(index, settled)
        self.catch_up()

    def catch_up(self, *, to: int = 0) -> None:
        """Count what has ended, in the model's order, up to the first call that has not.

        Args:
            to: calls before this place that have not ended are passed over: nobody waits for them now.
        """
        left, landed, at = self._uncounted, self._landed, 0
        while at < len(left):
            index = left[at]
            if index not in landed:
                if index >= to:
                    return
                at += 1
                continue
            del left[at]
            settled = landed[index]
            times = self._count(index, settled) if settled.counts else 0
            if index not in self.records:
                self._answer(index, self._told_again(index, settled, times) if times >= MOST else settled)

    def _answer(self, index: int, settled: Settled) -> None:
        """Keep an answer, and tell those who listen."""
        call, result = self.calls[index], settled.result
        seconds, ran, error, reference = settled.seconds, settled.ran, settled.exception, settled.reference
        if index in self.remarks:
            result = _remarked(result, self.remarks[index])
        if settled.counts and not result.success and index in self.last_words:
            result = _remarked(result, [self.last_words[index]])
        self.records[index] = ToolRecord(call, result, self.number, seconds, ran, error, reference)
        if self.emit is not None:
            self.emit(ToolResultReady(call, result, seconds, ran, error, reference))

    # ---- calls that are made again

    def key(self, index: int) -> Key:
        """What makes a call the same as another."""
        if index not in self._keys:
            call = self.calls[index]
            self._keys[index] = key_of(call.name, call.arguments, self.forms.get(call.name))
        return self._keys[index]

    def _repeatable(self, index: int) -> bool:
        tool = self.tool(self.calls[index].name)
        return tool is not None and tool.options.repeatable

    def _find_suspects(self) -> frozenset[int]:
        """The calls that have been made before, in this turn or another, so that their answers depend on those."""
        calls = self.calls
        if not self.breaker.strikes and len(calls) < 2:
            return frozenset()
        names = Counter([call.name for call in calls])
        found: set[int] = set()
        seen: set[Key] = set()
        strikes = self.breaker.strikes
        repeatable = {name for name, tool in self._tools.items() if tool.options.repeatable}
        for index, call in enumerate(calls):
            name = call.name
            if name in repeatable or (names[name] < 2 and not self.breaker.knows(name)):
                continue
            key = self._keys[index] = key_of(name, call.arguments, self.forms.get(name))
            if key in seen or key in strikes:
                found.add(index)
            seen.add(key)
        return frozenset(found)

    def _count(self, index: int, settled: Settled) -> int:
        """Enter the end of a call in the breaker; how often in a row it has ended in the same bad way."""
        result = settled.result
        if result.success and result.data and not self.breaker.strikes:
            return 0  # nearly always
        tool = self.tool(self.calls[index].name)
        if not result.success:
            return 0 if self._repeatable(index) else self.breaker.failed(self.key(index), settled.failure)
        empty = _is_empty(result, tool)
        times = 0
        if empty and not self._repeatable(index):
            times = self.breaker.failed(self.key(index), EMPTY)
        elif self.breaker.strikes:
            self.breaker.succeeded(self.key(index))
        if self.breaker.strikes and (tool is None or not tool.options.read_only):
            self.breaker.changed(self.key(index), empty=empty)
        return times

    def _told_again(self, index: int, settled: Settled, times: int) -> Settled:
        """The end of a call with a word on how often it has ended so."""
        name, result = self.calls[index].name, settled.result
        word = self.feedback.repeated_empty if result.success else self.feedback.repeated
        return replace(settled, result=_remarked(result, [word(name, times)]))

    def may_be_too_often(self, index: int) -> bool:
        """Whether a call would be one too many, if those before it end as badly as they can."""
        if index not in self._suspects:
            return False
        key = self.key(index)
        before = sum(1 for i in self._uncounted if i < index and self.key(i) == key)
        return self.breaker.times(key) + before >= MOST

    def stop_if_too_often(self, index: int) -> bool:
        """Refuse a call that has ended in the same bad way too often, as far as is known; whether it was."""
        if index not in self._suspects or self.breaker.times(self.key(index)) < MOST:
            return False
        call, key = self.calls[index], self.key(index)
        empty = self.breaker.found_nothing(key)
        times = self.breaker.stop(key)
        text = self.feedback.repeat_stopped(call.name, times, empty=empty)
        if self.emit is not None:
            self.emit(RepeatStopped(call, times, text))
        self.refuse(index, text, counts=False)
        return True

    def sort_out(self, jobs: Sequence[Job], trusted: Collection[int]) -> tuple[list[Job], list[Job]]:
        """The jobs to run now, and those that may be one too many: they wait for the ones before them.

        What is one too many for certain is refused. Of the jobs that are left at least one is to run now.

        Args:
            jobs: in the model's order.
            trusted: the calls that a person has allowed; they are run.
        """
        if not self._suspects:
            return [*jobs], []
        now: list[Job] = []
        later: list[Job] = []
        for job in jobs:
            waits = job.index not in trusted and self.may_be_too_often(job.index)
            if waits and not now and not later:
                # Nothing before it is still to end, so that this is all that will be known.
                self.catch_up(to=job.index)
                if self.stop_if_too_often(job.index):
                    continue
                waits = False
            # A sequential tool is a barrier, for those that wait as well.
            barred = later and (job.tool.options.sequential or any(j.tool.options.sequential for j in later))
            (later if waits or barred else now).append(job)
        return now, later

    # ---- the end

    def close(self, history: list[Message], records: list[ToolRecord]) -> None:
        """All answers, in the model's order, in one message."""
        self.catch_up(to=len(self.calls))
        if self.calls:
            ordered = [self.records[i] for i in range(len(self.calls))]
            records += ordered
            history.append(Message("tool", tuple(map(self._output, range(len(ordered))))))
        if self.emit is not None:
            self.emit(TurnEnded(self.number, self.reply))

    def so_far(self) -> Message:
        """The answers while calls wait for a person: of those it says that they do."""
        word = self.feedback.not_yet_allowed
        return Message(
            "tool",
            tuple(
                self._output(i) if i in self.records else ToolOutput(c.id, c.name, word(c.name), True)
                for i, c in enumerate(self.calls)
            ),
        )

    def _output(self, index: int) -> ToolOutput:
        record = self.records[index]
        call, result = record.call, record.result
        if not result.success:
            return ToolOutput(call.id, call.name, self._failure(index, call.name, result), True)
        plain = not result.untrusted and not result.media
        text = self.feedback.result_text(result) if plain else self.text(call.name, result)
        bound = self._bound(call.name)
        if bound is not None and len(text) > bound:
            from toolsmith._run.paging import shortened

            tool = self.tool(call.name)
            text = shortened(
                result,
                call.name,
                bound,
                lambda part: self.text(call.name, part),
                self.feedback,
                self.pages,
                divisible=tool is None or _takes_arguments(tool.input_schema),
            )
        return ToolOutput(call.id, call.name, text, media=result.media)

    def _failure(self, index: int, name: str, result: ToolResult) -> str:
        """A failure as the model reads it, what others have written in it between fences."""
        told = result.error or ""
        if index in self._fenced:
            plain, fenced = self._fenced[index]
            return fenced + told.removeprefix(plain)  # remarks of ours stand behind it
        return self.feedback.untrusted(told, name, fences.mark_for(told)) if result.untrusted else told

    def text(self, name: str, result: ToolResult) -> str:
        """A success as the model reads it: what others have written between fences, what we remark outside of them."""
        say = self.feedback
        told = say.result_text(replace(result, notes=()) if result.untrusted else result)
        if result.media:
            told = say.media_marked(told, result.media)
        return say.noted(say.untrusted(told, name, fences.mark_for(told)), result.notes) if result.untrusted else told

    def _bound(self, name: str) -> int | None:
        """Characters of a tool's result that the model is shown."""
        if self.pages is not None and name == self.pages.reader.name:
            return None  # its results keep to the bound of what they are parts of
        tool = self._tools.get(name)
        own = None if tool is None else tool.options.max_result_size
        return self.result_chars if own is None else own


_missed: set[tuple[str, str]] = set()  # remedies that were looked for in vain, so that each is logged once


def _look_for_remedy(tool: Tool[..., Any], use: str, tools: ToolRegistry) -> None:
    """Tell the author of a remedy that nobody has: the model is not told of it, and nobody would know why."""
    name = tool.neighbour(use)
    if name in tools or (tool.origin, use) in _missed:
        return
    _missed.add((tool.origin, use))
    log.warning(
        "%s: the tool %s raised ToolError(use=%r), and its agent has no tool of that name: the model is not told of "
        "it. Give the agent that tool, or correct the name.",
        tool.origin,
        tool.name,
        use,
    )


def _takes_arguments(schema: Mapping[str, Any]) -> bool:
    return bool(schema.get("properties", True) or schema.get("additionalProperties"))


def _remarked(result: ToolResult, remarks: Sequence[str]) -> ToolResult:
    """A result with sentences behind it."""
    if result.success:
        return replace(result, notes=(*result.notes, *remarks))
    return replace(result, error=" ".join((result.error or "", *remarks)))


def repeats(breaker: Breaker) -> Repeats:
    """What a run's result says of calls that were made again in vain."""
    both = breaker.warned + breaker.stopped
    return Repeats(breaker.warned.total(), breaker.stopped.total(), dict(both))


def _is_empty(result: ToolResult, tool: Tool[..., Any] | None) -> bool:
    """Whether a success has nothing to show, though it might have."""
    data = result.data
    if data is None:
        return not result.media and (tool is None or not gives_nothing(tool.__wrapped__))
    return not data and isinstance(data, (str, list, dict))
