"""One run of an agent, from the prompt to the result."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Callable, Collection, Generator, Sequence
from contextlib import aclosing
from dataclasses import field, replace
from time import monotonic
from typing import TYPE_CHECKING, Any, cast

from toolsmith._dataclass import dataclass
from toolsmith._feedback import FEEDBACK, Feedback
from toolsmith._run.admission import allowed_names, with_reader
from toolsmith._run.budget import Around, Budget
from toolsmith._run.drive import Outbox, Steps, adrive, astream, drive, stream
from toolsmith._run.line import Line, Offers
from toolsmith._run.loop import Conversation
from toolsmith._run.result import RunResult
from toolsmith._run.steps import Decision, Ending
from toolsmith._run.turn import repeats
from toolsmith._run.watch import Watch, gives_untrusted
from toolsmith.errors import HistoryError, RunError
from toolsmith.events import Event, HistoryMended, Observer, RunEnded, RunStarted
from toolsmith.history import given_history, mend
from toolsmith.limits import DEFAULT_RESULT_CHARS, LEAST_READ_ON, Limits
from toolsmith.messages import Message, Prompt, Text, encoded_text, prompt_parts
from toolsmith.registry import ToolRegistry

if TYPE_CHECKING:
    from toolsmith._run.output import Output
    from toolsmith._run.paging import Pages
    from toolsmith.agent import Agent
    from toolsmith.approvals import Approve, Pending

__all__ = ["Offers", "Run", "Wishes", "begin", "resume"]

log = logging.getLogger("toolsmith")

Allowed = Collection[str] | Callable[[int], Collection[str] | None] | None
"""Which tools may be called: in all turns, or in the one of a number, from 1; None for all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What one run is asked for, beside its prompt.

    Attributes:
        deps: for tools that take a `RunContext`.
        output: what the answer has to be; None for text.
        tool_choice: for the first request.
        allowed: the tools that may be called, None for all; or a function that gives them for each turn.
        approve: decides about calls that need a person's word.
        keep: events are kept for one who reads them as a stream.
        around: the run that this one is part of; None for a run of its own.
    """

    deps: Any = None
    output: Output | None = None
    tool_choice: str = "auto"
    allowed: Allowed = None
    approve: Approve | None = None
    keep: bool = False
    around: Around | None = None


def begin(
    agent: Agent[Any], offers: Offers, prompt: Prompt | None, history: Sequence[Message] | None, wishes: Wishes
) -> Run:
    """A run, ready to go.

    Args:
        agent: whose run it is.
        offers: what was planned and encoded for the agent's tools so far.
        prompt: None goes on with `history` as it stands.
        history: what was said before.
        wishes: the rest.
    """
    messages, notes = mend(() if history is None else given_history(history), _words(agent, wishes).answer_lost)
    before = len(messages)
    if prompt is not None:
        messages.append(Message("user", prompt_parts(prompt)))
    elif not messages:
        raise TypeError("A run needs a prompt, or a message_history to go on from.")
    elif _is_answered(messages):
        raise ValueError(
            "The message_history ends with the model's answer, which leaves nothing to go on with: say more."
        )
    outer = None if wishes.around is None else wishes.around.budget
    run = _run(agent, offers, messages, Budget(agent.limits, outer=outer), wishes, before)
    if run.emit is not None:
        run.emit(RunStarted(agent.name, run.line.provider.name, _said(prompt)))
    if notes:
        log.warning("The message history was mended: %s", " ".join(notes))
        if run.emit is not None:
            run.emit(HistoryMended(tuple(notes)))
    return run


def _is_answered(messages: Sequence[Message]) -> bool:
    """Whether the model has had its say; a turn that its service has paused does not end with words."""
    last = messages[-1]
    return last.role == "assistant" and not last.tool_calls and bool(last.parts) and isinstance(last.parts[-1], Text)


def _said(prompt: Prompt | None) -> str:
    """The prompt for those who listen: its words, and what stands between them."""
    if prompt is None or isinstance(prompt, str):
        return prompt or ""
    return "\n".join(p.text if isinstance(p, Text) else f"[{p.label}]" for p in prompt_parts(prompt))


def resume(agent: Agent[Any], offers: Offers, pending: Pending, decisions: Sequence[Decision], wishes: Wishes) -> Run:
    """A run that waited for a person, ready to go on; its budget goes on from where it was.

    Raises:
        ValueError: it had `deps` for its tools, and now there are none.
    """
    from toolsmith._run.stored import agree

    if pending.had_deps and wishes.deps is None and (takers := [t.name for t in agent.tools if t.takes_context]):
        raise ValueError(
            f"The run that waited had deps, which are not kept with it, and {' and '.join(map(repr, takers))} may ask "
            f"for them: resume(..., deps=...). Nothing was run."
        )

    budget = Budget(
        agent.limits,
        pending.usage,
        pending.turns,
        pending.tool_calls,
        pending.by_tool.copy(),
        pending.by_group.copy(),
    )
    if wishes.allowed is None:
        # A tool may have gone meanwhile: then it cannot be called anyway.
        left = None if pending.allowed is None else [name for name in pending.allowed if name in agent.tools]
        wishes = replace(wishes, allowed=left)
    if not pending.calls:
        raise HistoryError("No call of this `Pending` waits for anybody.")
    pending.check()
    agree(pending.calls, pending.messages, pending.answered)
    messages = list(pending.messages)
    if messages and messages[-1].role == "tool":  # what was said of the turn that goes on now
        del messages[-1]
    run = _run(agent, offers, messages, budget, wishes, len(messages))
    run.waiting, run.decisions = pending, decisions
    run.conversation.breaker = pending.breaker.copy()
    if run.conversation.pages is not None and pending.pages:
        run.conversation.pages.take_over(pending.pages)
    if run.emit is not None:
        run.emit(RunStarted(agent.name, run.line.provider.name, ""))
    return run


def _run(
    agent: Agent[Any], offers: Offers, messages: list[Message], budget: Budget, wishes: Wishes, before: int
) -> Run:
    restrict = wishes.allowed if callable(wishes.allowed) else None
    words = _words(agent, wishes)
    tools, pages = _read_on(agent, offers, messages, words)
    allowed = None if callable(wishes.allowed) else with_reader(allowed_names(wishes.allowed, agent.tools), pages)
    _check_choice(agent, wishes.tool_choice, allowed)
    if wishes.approve is not None and not callable(cast("object", wishes.approve)):
        raise TypeError(f"approve={wishes.approve!r}: it takes a function of a call; lambda _: True allows all.")
    encoded_text(agent.instructions, "Agent.instructions")
    observers = [*agent.observers]
    if wishes.around is not None and wishes.around.tell is not None:
        observers.append(wishes.around.tell)
    outbox = Outbox(_observe(observers) if observers else None, keep=wishes.keep)
    emit = outbox.emit if wishes.keep or observers else None
    conversation = Conversation(
        tools,
        budget,
        messages,
        output=wishes.output,
        tool_choice=wishes.tool_choice,
        allowed=allowed,
        restrict=restrict,
        emit=emit,
        deps=wishes.deps,
        feedback=words,
        approve=wishes.approve,
        expose_errors=agent.expose_errors,
        pages=pages,
        watch=Watch(agent.untrusted, agent.instructions, None if wishes.around is None else wishes.around.known),
    )
    line = Line(
        conversation,
        agent.providers,
        offers,
        _instructions(agent, words),
        agent.settings,
        agent.parallel_tool_calls,
        emit,
        wishes.approve,
    )
    return Run(conversation, line, before, outbox, emit)


def _instructions(agent: Agent[Any], words: Feedback) -> str:
    """The agent's own, and a rule if its tools give text that others have written: the same for all of its runs."""
    if not gives_untrusted(agent.tools):
        return agent.instructions
    return "\n\n".join(part for part in (agent.instructions, words.untrusted_rule()) if part)


def _words(agent: Agent[Any], wishes: Wishes) -> Feedback:
    """The agent's own; else those of the run around it."""
    return agent.feedback or (FEEDBACK if wishes.around is None else wishes.around.feedback)


def _read_on(
    agent: Agent[Any], offers: Offers, messages: Sequence[Message], words: Feedback
) -> tuple[ToolRegistry, Pages | None]:
    """The tools of a run; with the one that reads on, and what it reads, where results may be cut."""
    tools = agent.tools
    if not _is_bounded(tools, agent.limits, paging=agent.paging):
        return tools, None
    from toolsmith._run.paging import Pages, reader_tool

    if offers.reader is None or offers.reader.name in tools:
        # One for all runs, so that their tool lists are the same.
        offers.reader = reader_tool(tools, agent.feedback or FEEDBACK)
    return ToolRegistry([*tools, offers.reader]), Pages(offers.reader, words, messages)


def _is_bounded(tools: ToolRegistry, limits: Limits, *, paging: bool | None) -> bool:
    """Whether the model is to read on in long results: if asked for; else where somebody has set how long they are.

    Not where they are so short that none would be kept to be read on in.
    """
    if paging is False or not len(tools):
        return False
    if any((t.options.max_result_size or 0) >= LEAST_READ_ON for t in tools):
        return True
    usual = limits.result_chars == DEFAULT_RESULT_CHARS and not paging
    return not usual and (limits.result_chars or 0) >= LEAST_READ_ON


def _check_choice(agent: Agent[Any], choice: str, allowed: Collection[str] | None) -> None:
    """A misspelt name must not force nothing, nor one that may not be called force a refusal."""
    if choice in ("auto", "none", "required"):
        return
    agent.tools.get(choice)
    if allowed is not None and choice not in allowed:
        raise ValueError(f"tool_choice={choice!r} forces a tool that allowed_tools leaves out. Put it in.")


@dataclass(slots=True, eq=False)
class Run:
    """One run on its way: the conversation, its line to the model, and where its events go."""

    conversation: Conversation
    line: Line
    before: int
    outbox: Outbox
    emit: Callable[[Event], None] | None
    waiting: Pending | None = None
    decisions: Sequence[Decision] = ()
    began: float = field(default_factory=monotonic)

    def _steps(self) -> Steps:
        return self.conversation.steps(self.waiting, self.decisions)

    async def answer(self) -> RunResult[Any]:
        """Run to the end, on the running event loop."""
        try:
            return self.finish(await adrive(self._steps(), self.line))
        except RunError as error:
            raise self._failed(error) from error.__cause__
        except BaseException as error:
            self._stopped(error)
            raise

    def answer_sync(self) -> RunResult[Any]:
        """Run to the end, on this thread."""
        try:
            return self.finish(drive(self._steps(), self.line))
        except RunError as error:
            raise self._failed(error) from error.__cause__
        except BaseException as error:
            self._stopped(error)
            raise

    def finish(self, ending: Ending) -> RunResult[Any]:
        """The result, told to those who listen."""
        talk = self.conversation
        result = RunResult(
            ending.output,
            ending.stop_reason,
            talk.history,
            talk.history[self.before :],
            talk.records,
            talk.budget.usage,
            ending.detail,
            talk.budget.turns,
            monotonic() - self.began,
            ending.pending,
            repeats(talk.breaker),
        )
        if self.emit is not None:
            self.emit(RunEnded(result))
        return result

    def events(self, ended: Callable[[RunResult[Any]], None]) -> Generator[Event, None, None]:
        """Run to the end, giving events as they happen; `ended` takes the result."""
        try:
            ending = yield from stream(self._steps(), self.line, self.outbox)
        except RunError as error:
            yield from self.outbox.take()  # what led to it
            raise self._failed(error) from error.__cause__
        ended(self.finish(ending))
        yield from self.outbox.take()

    async def aevents(self, ended: Callable[[RunResult[Any]], None]) -> AsyncGenerator[Event, None]:
        """`events`, on the running event loop."""
        endings: list[Ending] = []
        try:
            async with aclosing(astream(self._steps(), self.line, self.outbox, endings.append)) as events:
                async for event in events:
                    yield event
        except RunError as error:
            for event in self.outbox.take():
                yield event
            raise self._failed(error) from error.__cause__
        ended(self.finish(endings[0]))
        for event in self.outbox.take():
            yield event

    def _failed(self, error: RunError) -> RunError:
        """The same error, carrying the history and what was used."""
        error.messages = list(self.conversation.history)
        error.usage = self.conversation.budget.usage
        return error

    def _stopped(self, error: BaseException) -> None:
        """Ctrl-C or a cancellation: Python's own exception gets what a `RunError` has, for want of another place."""
        if not isinstance(error, Exception):
            error.__dict__.update(messages=list(self.conversation.history), usage=self.conversation.budget.usage)


def _observe(observers: Sequence[Observer]) -> Callable[[Event], None]:
    def emit(event: Event) -> None:
        for observer in observers:
            try:
                observer(event)
            except Exception:
                log.exception("An observer failed on %s; the run goes on.", type(event).__name__)

    return emit
