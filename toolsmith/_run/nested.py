"""An agent as a tool of another one: a run within a run.

The inner run has limits of its own. Whatever it takes is taken from the outer run too, and what that has left bounds
it: calls, groups of calls, tokens and time. Its usage is part of the outer run's, as it is used. Cancelling the outer
run cancels it. Its events reach those who listen to the outer run as the `progress` of `ToolProgress` events, under the
call that it answers. People are asked about its calls by its own `approve`, else by the outer run's.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic import Field

from toolsmith._calls import workers
from toolsmith._derive.places import Place
from toolsmith._feedback import FEEDBACK, Feedback
from toolsmith._run.budget import Around
from toolsmith._run.context import RunContext
from toolsmith.errors import ConfigError, DefinitionError, ToolError
from toolsmith.messages import Message, Opaque, ToolResult
from toolsmith.tool import Tool

if TYPE_CHECKING:
    from toolsmith._run.result import RunResult
    from toolsmith._run.run import Run
    from toolsmith.registry import ToolRegistry

Begin = Callable[[str, Any, Around | None], "Run"]
"""Makes a run of a task, of what its tools are handed, and of what is around it."""

MAX_DEPTH: Final = 5
"""Runs within runs; an agent that is among its own tools would else go down until its budget ends."""

CUT_SHORT: Final = frozenset({"turn_limit", "call_limit", "token_limit", "time_limit", "length", "context"})
"""Endings that may leave an answer worth having."""


def agent_tool(begin: Begin, tools: ToolRegistry, feedback: Feedback | None, options: dict[str, Any]) -> Tool[..., Any]:
    """The tool that runs an agent.

    Args:
        begin: makes its runs.
        tools: what the agent may call; limits on groups of the outer run count them.
        feedback: the agent's words; None for those of the run around it.
        options: the tool's name, its description (None for the plainest), and see `ToolOptions`.

    Raises:
        DefinitionError: as for any tool.
    """

    async def ask(task: str, context: RunContext[Any]) -> Any:
        around = context.around
        say = FEEDBACK if around is None else around.feedback
        return _answer(await _run(begin, task, context, say), say)

    words, name = feedback or FEEDBACK, str(options["name"])
    about: Any = Annotated[str, Field(description=words.agent_task())]
    ask.__annotations__ = {"task": about, "context": RunContext[Any], "return": Any}
    ask.__name__ = ask.__qualname__ = name
    # An agent takes longer than a function: its own limits, and the outer run's, say when it is enough.
    options = {"timeout": inf, **options, "description": options["description"] or words.agent_described(name)}
    try:
        made = Tool(ask, **options)
    except DefinitionError as error:
        ours, theirs = str(Place.of(ask)), _author()
        raise DefinitionError([p.replace(f"{ours}: ", f"{theirs}: ", 1) for p in error.problems]) from None
    made.inner = tools
    return made


def _author() -> Place:
    """The line outside of this package that is running now: it asked for the tool."""
    frame = inspect.currentframe()
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "toolsmith":
        frame = frame.f_back
    return Place("", 0, "Agent.as_tool") if frame is None else Place(frame.f_code.co_filename, frame.f_lineno)


async def _run(begin: Begin, task: str, context: RunContext[Any], say: Feedback) -> RunResult[Any]:
    around = context.around
    if not task.strip():
        raise ToolError(say.agent_without_task())
    if around is not None:
        if len(list(around.budget.chain())) >= MAX_DEPTH:
            raise ToolError(say.agent_too_deep())
        around = replace(around, tell=context.report if context.reporter is not None else None)
    run = begin(task, context.deps, around)
    try:
        return await run.answer()
    except ConfigError:
        if run.conversation.budget.usage.requests:
            raise
    # Nothing was sent: the agent may have been given a blocking client only.
    run = begin(task, context.deps, around)
    try:
        return await workers.call(asyncio.get_running_loop(), run.answer_sync)
    except asyncio.CancelledError:
        run.conversation.budget.cancelled = True  # the thread cannot be stopped; the run on it ends with its next step
        raise


def _answer(result: RunResult[Any], say: Feedback) -> Any:
    """What the outer run's model is told of a run."""
    reason = result.stop_reason
    # What it has read may speak through it; what its service has searched the web for, too.
    untrusted = any(record.result.untrusted for record in result.tool_calls) or any(map(_searched, result.messages))
    if reason == "end":
        return ToolResult(True, result.output, untrusted=True) if untrusted else result.output
    if reason in CUT_SHORT and result.output not in (None, ""):
        return ToolResult(True, result.output, notes=(say.agent_cut_short(reason),), untrusted=untrusted)
    raise ToolError(say.agent_unanswered(reason))


def _searched(message: Message) -> bool:
    """Whether the service has searched or read something in this turn."""
    kinds = [part.kind for part in message.parts if isinstance(part, Opaque)]
    return bool(message.citations) or any("search" in kind or "fetch" in kind for kind in kinds)
