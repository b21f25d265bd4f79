"""An agent: a model, tools, instructions and limits; and its runs."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from toolsmith._drive import Outbox, adrive, astream, drive, stream
from toolsmith._line import Line, Offers
from toolsmith._loop import Conversation, Ending, StopReason, ToolRecord, failed
from toolsmith.errors import ConfigError, RunError
from toolsmith.events import Event, Observer, RunEnded, RunStarted
from toolsmith.limits import Limits
from toolsmith.messages import Message, Text, Usage
from toolsmith.providers import ModelSettings, resolve
from toolsmith.registry import ToolLike, ToolRegistry
from toolsmith.streams import RunStream, SyncRunStream

if TYPE_CHECKING:
    from toolsmith.providers import Provider

__all__ = ["Agent", "RunResult", "StopReason", "ToolRecord"]

OutputT = TypeVar("OutputT")
log = logging.getLogger("toolsmith")


@dataclass(frozen=True, slots=True, eq=False)
class RunResult(Generic[OutputT]):
    """What came of a run.

    Attributes:
        output: the model's answer.
        stop_reason: why the run ended; "end" is the model's own wish, "turn_limit" and "call_limit" mean that it
            answered with what it had.
        messages: the whole history, to go on from with `agent.run(prompt, message_history=result.messages)`.
        new_messages: the part of it that this run added.
        tool_calls: every call, with what the model was told and how long it took, in the model's order.
        usage: tokens and requests of this run.
        detail: the service's own words for an ending other than "end", "" where it gave none.
    """

    output: OutputT
    stop_reason: StopReason
    messages: list[Message]
    new_messages: list[Message]
    tool_calls: list[ToolRecord]
    usage: Usage
    detail: str = ""
    turns: int = 0
    seconds: float = field(default=0.0, repr=False)


class Agent:
    """A model with tools.

        agent = Agent("anthropic:claude-opus-5-5", tools=[get_weather], instructions="Answer in one sentence.")
        result = await agent.run("Is it raining in Oslo?")        # or agent.run_sync(...)
        print(result.output)

    Args:
        model: "PROVIDER:MODEL" (anthropic, openai, openai-chat, local), the name of a profile in `toolsmith.toml`,
            a `ModelSettings`, or a provider object built on your own SDK client. A list of these is tried in order:
            the next one takes over when one fails for good. None takes the variable `TOOLSMITH_MODEL`, else the
            embedded "local:smollm2".
        tools: functions, `Tool`s or registries.
        instructions: the system text; it stays the same for the whole run.
        name: for logs and events.
        limits: how much one run may use.
        max_calls_per_run: short for `Limits(calls=...)`.
        tool_timeout: short for `Limits(tool_timeout=...)`, in seconds.
        settings: parameters of the model's API, passed through with each request, e.g. {"max_tokens": 2000}.
        parallel_tool_calls: False forbids several calls in one turn; None leaves it to the service.
        observers: called with each event of a run (see `toolsmith.events`).

    Raises:
        DefinitionError: something that cannot be a tool, or two tools of one name; all problems at once.
        ConfigError: an unknown provider, or a misspelt setting.
    """

    def __init__(
        self,
        model: str | ModelSettings | Provider | Sequence[str | ModelSettings | Provider] | None = None,
        *,
        tools: Iterable[ToolLike | ToolRegistry] | ToolRegistry = (),
        instructions: str = "",
        name: str = "agent",
        limits: Limits | None = None,
        max_calls_per_run: int | None = None,
        tool_timeout: float | None = None,
        settings: Mapping[str, Any] | None = None,
        parallel_tool_calls: bool | None = None,
        observers: Iterable[Observer] = (),
    ) -> None:
        self.name = name
        self.instructions = instructions
        self.limits = _limits(limits, max_calls_per_run, tool_timeout)
        self.tools = tools if isinstance(tools, ToolRegistry) else ToolRegistry(_iterable(tools))
        self.settings: dict[str, Any] = dict(settings or {})
        self.parallel_tool_calls = parallel_tool_calls
        self.observers: list[Observer] = list(observers)
        self._models = _models(model)
        self._providers: list[Provider] | None = None
        self._offers = Offers()

    @classmethod
    def from_config(cls, path: str | Path, name: str) -> Agent:
        """The agent named `name` in a `toolsmith.toml`: its `[agents.NAME]` table.

        Its tools are imported from the file's own folder first.

        Raises:
            ConfigError: what is missing, misspelt or of the wrong kind in that file; all of it at once.
        """
        from toolsmith import config

        return cls(**config.load(path).agent_arguments(name))

    @property
    def providers(self) -> list[Provider]:
        """What the models resolve to, in the order they are tried.

        They are made at the first use, not with the agent: a module with an agent in it can be imported on a machine
        that has no key.

        Raises:
            ConfigError: a missing key or package; it says where to set it.
        """
        if self._providers is None:
            self._providers = [resolve(m) if isinstance(m, (str, ModelSettings)) else m for m in self._models]
        return self._providers

    async def run(
        self, prompt: str | None = None, *, message_history: Sequence[Message] | None = None, deps: Any = None
    ) -> RunResult[str]:
        """Run to an answer, on the running event loop.

        Args:
            prompt: what to do; None goes on with `message_history` as it stands.
            message_history: what was said before, from `RunResult.messages` or an error's `messages`; any provider's.
            deps: handed to tools that take a `RunContext`, never shown to the model.

        Raises:
            RunError: the run ended without an answer; `error.messages` holds the history so far.
        """
        run = self._begin(prompt, message_history, deps)
        try:
            return run.finish(await adrive(run.conversation.steps(), run.line))
        except RunError as error:
            raise failed(error, run.conversation) from error.__cause__

    def run_sync(
        self, prompt: str | None = None, *, message_history: Sequence[Message] | None = None, deps: Any = None
    ) -> RunResult[str]:
        """`run` for code without an event loop; works under a running one too (a notebook), which it blocks."""
        run = self._begin(prompt, message_history, deps)
        try:
            return run.finish(drive(run.conversation.steps(), run.line))
        except RunError as error:
            raise failed(error, run.conversation) from error.__cause__

    def run_stream(
        self, prompt: str | None = None, *, message_history: Sequence[Message] | None = None, deps: Any = None
    ) -> RunStream[str]:
        """`run` as a stream of events, the words of the model as they arrive.

            async with agent.run_stream("Is it raining in Oslo?") as events:
                async for event in events:
                    ...
            events.result

        Leaving the block early cancels the run. Arguments and errors are those of `run`; errors rise while iterating.
        """
        run = self._begin(prompt, message_history, deps, keep=True)
        return RunStream(run.conversation.history, run.aevents)

    def run_stream_sync(
        self, prompt: str | None = None, *, message_history: Sequence[Message] | None = None, deps: Any = None
    ) -> SyncRunStream[str]:
        """`run_stream` for code without an event loop: `with` and `for` instead of `async with` and `async for`."""
        run = self._begin(prompt, message_history, deps, keep=True)
        return SyncRunStream(run.conversation.history, run.events)

    def _begin(self, prompt: str | None, history: Sequence[Message] | None, deps: Any, *, keep: bool = False) -> _Run:
        messages = list(history or ())
        before = len(messages)
        if prompt is not None:
            messages.append(Message("user", (Text(prompt),)))
        elif not messages:
            raise TypeError("A run needs a prompt, or a message_history to go on from.")
        outbox = Outbox(_observe(self.observers) if self.observers else None, keep=keep)
        emit = outbox.emit if keep or self.observers else None
        conversation = Conversation(self.tools, self.limits, messages, emit=emit, deps=deps)
        providers = self.providers
        line = Line(
            conversation,
            providers,
            self._offers,
            self.instructions,
            self.settings,
            self.parallel_tool_calls,
            emit,
        )
        if emit is not None:
            emit(RunStarted(self.name, providers[0].name, prompt or ""))
        return _Run(conversation, line, before, outbox, emit)


@dataclass(slots=True, eq=False)
class _Run:
    conversation: Conversation
    line: Line
    before: int
    outbox: Outbox
    emit: Callable[[Event], None] | None
    began: float = field(default_factory=monotonic)

    def finish(self, ending: Ending) -> RunResult[str]:
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
        try:
            ending = yield from stream(self.conversation.steps(), self.line, self.outbox)
        except RunError as error:
            raise failed(error, self.conversation) from error.__cause__
        ended(self.finish(ending))
        yield from self.outbox.take()

    async def aevents(self, ended: Callable[[RunResult[str]], None]) -> AsyncGenerator[Event, None]:
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


def _limits(limits: Limits | None, calls: int | None, tool_timeout: float | None) -> Limits:
    made = limits or Limits()
    if calls is not None:
        made = replace(made, calls=calls)
    if tool_timeout is not None:
        made = replace(made, tool_timeout=tool_timeout)
    return made


def _iterable(tools: object) -> Iterable[ToolLike | ToolRegistry]:
    if callable(tools):
        raise TypeError("Agent(tools=...) takes a list: write tools=[...] also for a single tool.")
    return cast("Iterable[ToolLike | ToolRegistry]", tools)


def _models(
    model: str | ModelSettings | Provider | Sequence[str | ModelSettings | Provider] | None,
) -> list[ModelSettings | Provider]:
    from toolsmith import config

    chosen: list[str | ModelSettings | Provider | None]
    if isinstance(model, Sequence) and not isinstance(model, str):
        chosen = [*model]
    else:
        chosen = [model]
    if not chosen:
        raise ConfigError("Agent(model=[]) names no model. Give one, such as 'anthropic:claude-opus-5-5'.")
    return [config.find_model(m) if m is None or isinstance(m, str) else m for m in chosen]
