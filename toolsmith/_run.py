"""One run of an agent, from the prompt to the result."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Callable, Generator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from time import monotonic
from typing import TYPE_CHECKING, Any

from toolsmith._drive import Outbox, adrive, astream, drive, stream
from toolsmith._feedback import FEEDBACK
from toolsmith._line import Line, Offers
from toolsmith._loop import Conversation, Ending, failed
from toolsmith._runresult import RunResult
from toolsmith.errors import RunError
from toolsmith.events import Event, HistoryMended, Observer, RunEnded, RunStarted
from toolsmith.history import mend
from toolsmith.messages import Message, Text

if TYPE_CHECKING:
    from toolsmith.agent import Agent

__all__ = ["Offers", "Run", "begin"]

log = logging.getLogger("toolsmith")


def begin(
    agent: Agent, offers: Offers, prompt: str | None, history: Sequence[Message] | None, deps: Any, *, keep: bool
) -> Run:
    """A run, ready to go.

    Args:
        agent: whose run it is.
        offers: what was planned and encoded for the agent's tools so far.
        prompt: None goes on with `history` as it stands.
        history: what was said before.
        deps: for tools that take a `RunContext`.
        keep: events are kept for one who reads them as a stream.
    """
    messages, notes = mend(history or (), FEEDBACK.answer_lost)
    before = len(messages)
    if prompt is not None:
        messages.append(Message("user", (Text(prompt),)))
    elif not messages:
        raise TypeError("A run needs a prompt, or a message_history to go on from.")
    outbox = Outbox(_observe(agent.observers) if agent.observers else None, keep=keep)
    emit = outbox.emit if keep or agent.observers else None
    conversation = Conversation(agent.tools, agent.limits, messages, emit=emit, deps=deps)
    providers = agent.providers
    line = Line(conversation, providers, offers, agent.instructions, agent.settings, agent.parallel_tool_calls, emit)
    if emit is not None:
        emit(RunStarted(agent.name, providers[0].name, prompt or ""))
    if notes:
        log.warning("The message history was mended: %s", " ".join(notes))
        if emit is not None:
            emit(HistoryMended(tuple(notes)))
    return Run(conversation, line, before, outbox, emit)


@dataclass(slots=True, eq=False)
class Run:
    """One run on its way: the conversation, its line to the model, and where its events go."""

    conversation: Conversation
    line: Line
    before: int
    outbox: Outbox
    emit: Callable[[Event], None] | None
    began: float = field(default_factory=monotonic)

    async def answer(self) -> RunResult[str]:
        """Run to the end, on the running event loop."""
        try:
            return self.finish(await adrive(self.conversation.steps(), self.line))
        except RunError as error:
            raise failed(error, self.conversation) from error.__cause__

    def answer_sync(self) -> RunResult[str]:
        """Run to the end, on this thread."""
        try:
            return self.finish(drive(self.conversation.steps(), self.line))
        except RunError as error:
            raise failed(error, self.conversation) from error.__cause__

    def finish(self, ending: Ending) -> RunResult[str]:
        """The result, told to those who listen."""
        talk = self.conversation
        result = RunResult(
            ending.output,
            ending.stop_reason,
            talk.history,
            talk.history[self.before :],
            talk.records,
            talk.usage,
            ending.detail,
            talk.turns,
            monotonic() - self.began,
        )
        if self.emit is not None:
            self.emit(RunEnded(result))
        return result

    def events(self, ended: Callable[[RunResult[str]], None]) -> Generator[Event, None, None]:
        """Run to the end, giving events as they happen; `ended` takes the result."""
        try:
            ending = yield from stream(self.conversation.steps(), self.line, self.outbox)
        except RunError as error:
            raise failed(error, self.conversation) from error.__cause__
        ended(self.finish(ending))
        yield from self.outbox.take()

    async def aevents(self, ended: Callable[[RunResult[str]], None]) -> AsyncGenerator[Event, None]:
        """`events`, on the running event loop."""
        endings: list[Ending] = []
        try:
            async with aclosing(astream(self.conversation.steps(), self.line, self.outbox, endings.append)) as events:
                async for event in events:
                    yield event
        except RunError as error:
            raise failed(error, self.conversation) from error.__cause__
        ended(self.finish(endings[0]))
        for event in self.outbox.take():
            yield event


def _observe(observers: Sequence[Observer]) -> Callable[[Event], None]:
    def emit(event: Event) -> None:
        for observer in observers:
            try:
                observer(event)
            except Exception:
                log.exception("An observer failed on %s; the run goes on.", type(event).__name__)

    return emit
