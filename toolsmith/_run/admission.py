"""Which calls of a turn may run: budget, name, permission, arguments. One that may not is answered with the reason."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from toolsmith import approvals
from toolsmith._calls.job import Job
from toolsmith._calls.settle import Settled, exposed
from toolsmith._dataclass import dataclass
from toolsmith._run.budget import Around
from toolsmith._run.steps import Take
from toolsmith._run.watch import reason
from toolsmith._untrusted.fences import mark_for
from toolsmith.events import ArgumentsRepaired, Event, ToolCallReady, ToolProgress, UntrustedFlow
from toolsmith.messages import ToolCall, ToolResult
from toolsmith.tool import RunContext

if TYPE_CHECKING:
    from toolsmith._run.budget import Left, Order, Over, Told
    from toolsmith._run.loop import Conversation
    from toolsmith._run.paging import Pages
    from toolsmith._run.steps import Step
    from toolsmith._run.turn import Turn
    from toolsmith._run.watch import Known
    from toolsmith.approvals import PendingCall
    from toolsmith.registry import ToolRegistry
    from toolsmith.tool import Tool

FEW: Final = 2
"""The model is told how many calls are left when it is no more than these."""

_WIDER: Final = {"tool": ("group", "run"), "group": ("run",), "run": ()}
"""Bounds that a call is under as well."""


@dataclass(frozen=True, slots=True)
class _Refusal:
    """Why a call is not run. `counts` says whether the fault is the call's own, and no limit's."""

    text: str
    counts: bool


def admit(talk: Conversation, turn: Turn) -> Generator[Step, Any, list[Job]]:
    """The calls of a turn that may run, as jobs, in the model's order; all others are answered."""
    calls = turn.open()
    told: Sequence[Told] = [()] * len(calls)
    if talk.budget.shares:
        told = yield from _ask_counters(talk, [call for _, call in calls])
    verdicts = [_permit(talk, turn, call, said) for (_, call), said in zip(calls, told, strict=True)]
    tell_left(talk, turn)
    jobs: list[Job] = []
    for (index, call), verdict in zip(calls, verdicts, strict=True):
        if talk.emit is not None:
            talk.emit(ToolCallReady(call))
        if isinstance(verdict, _Refusal):
            turn.refuse(index, verdict.text, counts=verdict.counts)
            continue
        reads = talk.pages is not None and verdict is talk.pages.reader
        # While earlier calls of the turn are still to be run, they may change what is known of this one.
        if (reads or not jobs) and turn.stop_if_too_often(index):
            continue
        if (job := prepare(talk, turn, index, call, verdict)) is None:
            continue
        if reads:
            _read(talk, turn, job)
        else:
            jobs.append(job)
    return jobs


def _read(talk: Conversation, turn: Turn, job: Job) -> None:
    """Answer a call that asks for more of an earlier result."""
    assert talk.pages is not None
    beside = (*job.notes, *turn.remarks.get(job.index, ()))
    result = talk.pages.read(job.tool.invoke(job.values, None), lambda part: turn.text(job.tool.name, part), beside)
    if result.success and job.notes:
        result = replace(result, notes=(*result.notes, *job.notes))
    turn.note(job.index, Settled(result, ran=result.success))


def _ask_counters(talk: Conversation, calls: Sequence[ToolCall]) -> Generator[Step, Any, list[Told]]:
    """Take from the counters that are shared with other runs, for each call."""
    orders = [talk.budget.orders(_callable(talk, call.name)) for call in calls]
    answers: list[Sequence[int | None] | None] = yield Take(tuple(o for row in orders for o in row if o is not None))
    given = iter(answers)
    return [[_named(order, next(given) if order is not None else ()) for order in row] for row in orders]


def _named(order: Order | None, answer: Sequence[int | None] | None) -> Mapping[str, int | None] | None:
    if order is None or answer is None:
        return {} if order is None else None
    return {name: left for (name, _), left in zip(order[1], answer, strict=False)}


def _callable(talk: Conversation, name: str) -> Tool[..., Any] | None:
    """The tool of a name, if it is there and may be called in this run."""
    if name not in talk.tools or (talk.allowed is not None and name not in talk.allowed):
        return None
    return talk.tools.get(name)


def _permit(talk: Conversation, turn: Turn, call: ToolCall, told: Told) -> Tool[..., Any] | _Refusal:
    """The tool of a call, if it may be called at all."""
    say, name = talk.feedback, call.name
    if (over := talk.budget.take_call(told)) is not None:
        return _Refusal(_over(talk, name, over, ()), counts=False)
    if (tool := turn.tool(name)) is None:
        return _Refusal(say.unknown_tool(name, names_allowed(talk)), counts=True)
    if talk.allowed is not None and name not in talk.allowed:
        # Where each turn has tools of its own, the next one may run what this one does not.
        counts = talk.restrict is None
        return _Refusal(say.not_allowed(name, names_allowed(talk), now=not counts), counts=counts)
    if (over := talk.budget.take_tool_call(tool, told)) is not None:
        return _Refusal(_over(talk, name, over, _members(talk, tool) if over.what == "group" else [name]), counts=False)
    return tool


def _members(talk: Conversation, tool: Tool[..., Any]) -> list[str]:
    """The names of the tools in a tool's group."""
    return [t.name for t in talk.tools if t.options.group == tool.options.group]


def _over(talk: Conversation, name: str, over: Over, tools: Sequence[str]) -> str:
    say, counter = talk.feedback, over.counter
    if not over.counted:
        return say.not_counted(name)
    if counter is not None:
        return say.shared_limit(name, tools, over.limit, counter.seconds_left())
    match over.what:
        case "run":
            return say.run_limit(name, over.limit)
        case "tool":
            return say.tool_limit(name, over.limit)
        case "group":
            return say.group_limit(name, tools, over.limit)


def tell_left(talk: Conversation, turn: Turn) -> None:
    """Tell of each limit that is all but used up, once a turn: with the last of the calls that took from it."""
    found: dict[tuple[str, str], tuple[int, Left, Tool[..., Any] | None]] = {}
    calls: dict[str, list[int]] = {}
    for index, call in turn.open():
        calls.setdefault(call.name, []).append(index)
    for name, indices in calls.items():
        tool = _callable(talk, name)
        lefts = talk.budget.lefts(tool)
        if not [left for left in lefts if left.left <= FEW]:
            continue
        least: dict[str, Left] = {}
        for left in lefts:
            if left.what not in least or left.left < least[left.what].left:
                least[left.what] = left
        if (spent := next((left for left in least.values() if left.left == 0), None)) is not None:
            turn.last_words.update(dict.fromkeys(indices, _left(talk, spent, tool)))
        for what, left in least.items():
            if any(least[wider].left == 0 for wider in _WIDER[what] if wider in least):
                continue  # what is left of it cannot be used
            whose = {"run": "", "tool": name, "group": (tool and tool.options.group) or ""}[what]
            if 0 < left.left <= FEW and left.left < left.limit:
                last = found.get((what, whose))
                if last is None or last[0] < indices[-1]:
                    found[what, whose] = (indices[-1], left, tool)
    for what in ("tool", "group", "run"):
        for index, left, tool in (told for (whose, _), told in found.items() if whose == what):
            turn.remark(index, _left(talk, left, tool))


def _left(talk: Conversation, left: Left, tool: Tool[..., Any] | None) -> str:
    say = talk.feedback
    if left.what == "run" or tool is None:
        return say.left_of_run(left.left, left.limit, shared=left.shared)
    tools = [tool.name] if left.what == "tool" else _members(talk, tool)
    return say.left_of_tools(tools, left.left, left.limit, shared=left.shared)


def prepare(
    talk: Conversation, turn: Turn, index: int, call: ToolCall, tool: Tool[..., Any], neutral: str | None = None
) -> Job | None:
    """The job for a call, if its arguments are what the tool takes; else the call is refused.

    Args:
        neutral: the arguments by the tool's own schema, where they are known in that form.
    """
    if neutral is None:
        checked = tool.check(call.arguments, talk.offered.get(tool.name), feedback=talk.feedback)
    else:
        checked = tool.check(neutral, feedback=talk.feedback)
    if checked.error is not None:
        error, exception = checked.error, checked.exception
        if exception is not None and talk.expose_errors:
            error = talk.feedback.check_crashed(tool.name, checked.reference, exposed(exception))
        return turn.note(index, Settled(ToolResult(False, error=error), exception, checked.reference))
    if checked.notes and talk.emit is not None:
        talk.emit(ArgumentsRepaired(call, checked.notes))
    takes, emit = tool.takes_context, talk.emit
    context = _context(talk, tool, call) if takes else None
    # Where nobody listens, or the tool has no way to say anything, there is nobody to tell.
    report = None if emit is None or (tool.never_waits and not takes) else _reporter(emit, call)
    return Job(call, tool, checked.values, checked.notes, context, talk.budget.timeout(tool), report, index)


def watched(
    talk: Conversation, turn: Turn, jobs: Sequence[Job]
) -> tuple[list[Job], dict[int, PendingCall], frozenset[int]]:
    """Look where text that others have written would go.

    Returns:
        The jobs that are left when those are refused that the policy denies; the calls that a person may be asked about
        as they are shown, by their place in the turn; and the places of those that wait because of such text.
    """
    left: list[Job] = []
    shown: dict[int, PendingCall] = {}
    held: set[int] = set()
    policy = talk.watch.policy
    for job in jobs:
        writes = job.tool.options.effect == "write" and (policy != "allow" or talk.emit is not None)
        if not writes and job.tool.options.requires_approval is False:
            left.append(job)
            continue
        call = approvals.shown(job, talk.offered.get(job.tool.name))
        looked_at = {n: v for n, v in call.arguments.items() if n not in job.tool.options.untrusted_in}
        spans = talk.watch.spans(looked_at, talk.history, talk.tools)
        if spans and writes and talk.emit is not None:
            talk.emit(UntrustedFlow(job.call, spans, policy))
        if spans and writes and policy == "deny":
            say, mark = talk.feedback.untrusted_denied, mark_for("".join(span.text for span in spans))
            turn.refuse(job.index, say(job.tool.name, spans), fenced=say(job.tool.name, spans, mark))
            continue
        left.append(job)
        if spans:
            call = replace(call, reason=reason(spans), untrusted=spans)
        if spans and writes and policy == "ask":
            held.add(job.index)
        if job.index in held or approvals.may(job):
            shown[job.index] = call
    return left, shown, frozenset(held)


def _context(talk: Conversation, tool: Tool[..., Any], call: ToolCall) -> RunContext[Any]:
    return RunContext(
        deps=talk.deps,
        tool_name=tool.name,
        tool_call_id=call.id,
        attempt=talk.budget.by_tool[tool.name],
        calls_left=talk.budget.calls_left(tool),
        deadline=talk.budget.deadline,
        usage=talk.budget.usage,
        around=Around(talk.budget, talk.approve, talk.feedback, known=_known(talk, tool)),
    )


def _known(talk: Conversation, tool: Tool[..., Any]) -> Known | None:
    """What an agent that is a tool is to know of the run that asks it."""
    return talk.watch.known(talk.history, talk.tools) if tool.inner else None


def _reporter(emit: Callable[[Event], None], call: ToolCall) -> Callable[[Any], None]:
    """Tells of what a tool says while it runs."""
    return lambda progress: emit(ToolProgress(call.id, call.name, progress))


def allowed_names(names: Collection[str] | None, tools: ToolRegistry) -> Collection[str] | None:
    """What a user gave as `allowed_tools`.

    Raises:
        TypeError: it is a text and no list of them.
        KeyError: a name that no tool has: misspelt, it would leave a tool out of reach.
    """
    if isinstance(names, str):
        raise TypeError(f"allowed_tools takes a list of names: write [{names!r}].")
    return None if names is None else frozenset(tools.get(name).name for name in names)


def with_reader(allowed: Collection[str] | None, pages: Pages | None) -> Collection[str] | None:
    """The names that may be called; where any may, so may the tool that reads on in the results of others."""
    return {*allowed, pages.reader.name} if allowed and pages is not None else allowed


def names_allowed(talk: Conversation) -> list[str]:
    """The names of the tools that this turn may call: others are not to be suggested."""
    return [t.name for t in talk.tools if talk.allowed is None or t.name in talk.allowed]


def callable_tools(talk: Conversation) -> list[str]:
    """The names of the tools that can still be called."""
    if talk.closing is not None or talk.budget.spent() is not None:
        return []
    return [name for name in names_allowed(talk) if talk.budget.calls_left(talk.tools.get(name)) != 0]
