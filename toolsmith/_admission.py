"""Which calls of a turn may run: budget, name, permission, arguments. One that may not is answered with the reason."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from toolsmith._job import Job
from toolsmith._settle import Settled, exposed
from toolsmith.events import ArgumentsRepaired, ToolCallReady, ToolProgress
from toolsmith.messages import ToolCall, ToolResult
from toolsmith.tool import RunContext

if TYPE_CHECKING:
    from toolsmith._loop import Conversation
    from toolsmith._turn import Turn
    from toolsmith.tool import Tool


def admit(talk: Conversation, turn: Turn) -> list[Job]:
    """The calls of a turn that may run, as jobs, in the model's order; all others are answered."""
    jobs: list[Job] = []
    for index, call in turn.open():
        if talk.emit is not None:
            talk.emit(ToolCallReady(call))
        tool = _permitted(talk, turn, index, call)
        # While earlier calls of the turn are still to be run, they may change what is known of this one.
        if tool is None or (not jobs and turn.stop_if_too_often(index)):
            continue
        if (job := prepare(talk, turn, index, call, tool)) is not None:
            jobs.append(job)
    return jobs


def _permitted(talk: Conversation, turn: Turn, index: int, call: ToolCall) -> Tool[..., Any] | None:
    """The tool of a call, if it may be called at all; else the call is refused."""
    say = talk.feedback
    if (over := talk.budget.take_call()) is not None:
        return turn.refuse(index, say.run_limit(call.name, over), counts=False)
    if call.name not in talk.tools:
        return turn.refuse(index, say.unknown_tool(call.name, [t.name for t in talk.tools]))
    tool = talk.tools.get(call.name)
    if talk.allowed is not None and tool.name not in talk.allowed:
        return turn.refuse(index, say.not_allowed(tool.name, [t.name for t in talk.tools if t.name in talk.allowed]))
    if (over := talk.budget.take_tool_call(tool)) is not None:
        return turn.refuse(index, say.tool_limit(tool.name, over), counts=False)
    return tool


def prepare(talk: Conversation, turn: Turn, index: int, call: ToolCall, tool: Tool[..., Any]) -> Job | None:
    """The job for a call, if its arguments are what the tool takes; else the call is refused."""
    checked = tool.check(call.arguments, talk.offered.get(tool.name), feedback=talk.feedback)
    if checked.error is not None:
        error, exception = checked.error, checked.exception
        if exception is not None and talk.expose_errors:
            error = talk.feedback.check_crashed(tool.name, checked.reference, exposed(exception))
        settled = Settled(ToolResult(False, error=error), exception, checked.reference)
        return turn.note(index, settled, 0.0, ran=False)
    if checked.notes and talk.emit is not None:
        talk.emit(ArgumentsRepaired(call, checked.notes))
    return Job(
        call=call,
        tool=tool,
        values=checked.values,
        notes=checked.notes,
        context=_context(talk, tool, call) if tool.takes_context else None,
        timeout=talk.budget.timeout(tool),
        report=_reporter(talk, call),
        index=index,
    )


def _context(talk: Conversation, tool: Tool[..., Any], call: ToolCall) -> RunContext[Any]:
    return RunContext(
        deps=talk.deps,
        tool_name=tool.name,
        tool_call_id=call.id,
        attempt=talk.budget.by_tool[tool.name],
        calls_left=talk.budget.calls_left(tool),
        deadline=talk.budget.deadline,
        usage=talk.budget.usage,
    )


def _reporter(talk: Conversation, call: ToolCall) -> Callable[[Any], None] | None:
    emit = talk.emit
    if emit is None:
        return None
    return lambda progress: emit(ToolProgress(call.id, call.name, progress))


def callable_tools(talk: Conversation) -> list[str]:
    """The names of the tools that can still be called."""
    if talk.closing is not None or talk.budget.spent() is not None:
        return []
    allowed = [t for t in talk.tools if talk.allowed is None or t.name in talk.allowed]
    return [t.name for t in allowed if talk.budget.calls_left(t) != 0]
