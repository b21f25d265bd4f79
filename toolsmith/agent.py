"""An agent: a model, tools, instructions and limits; and its runs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Self, TypedDict, cast

from typing_extensions import TypeVar, Unpack

from toolsmith import _given as given
from toolsmith._models import chosen_models
from toolsmith._run.result import RunResult, StopReason, ToolRecord
from toolsmith.errors import ConfigError
from toolsmith.limits import Limits
from toolsmith.providers import ModelSettings, resolve

if TYPE_CHECKING:
    from toolsmith._builtin import Documents
    from toolsmith._derive.options import Options
    from toolsmith._feedback import Feedback
    from toolsmith._run.budget import Around
    from toolsmith._run.line import Offers
    from toolsmith._run.output import Output
    from toolsmith._run.run import Allowed, Run, Wishes
    from toolsmith._run.watch import Policy
    from toolsmith.approvals import Approve, Pending
    from toolsmith.events import Observer
    from toolsmith.messages import Message, Prompt
    from toolsmith.providers import Provider
    from toolsmith.registry import ToolLike, ToolRegistry
    from toolsmith.streams import RunStream, SyncRunStream
    from toolsmith.tool import Tool
    from toolsmith.web.search import WebSearch

    Waiting = RunResult[Any] | Pending

__all__ = ["Agent", "ResumeOptions", "RunOptions", "RunResult", "StopReason", "ToolRecord"]

OutputT = TypeVar("OutputT", default=str)


class RunOptions(TypedDict, total=False):
    """The keywords of a run.

    Attributes:
        message_history: what was said before, from `RunResult.messages` or an error's `messages`; any provider's.
        deps: handed to tools that take a `RunContext`, never shown to the model.
        tool_choice: for the first request: "auto", "none", "required" or a tool's name. A service that refuses to be
            forced is asked with "auto".
        allowed_tools: names of the tools that may be called in this run; calls of others are refused. Or a function
            that gives them (None for all) for each turn, by its number from 1. The model sees the same list of tools,
            so that what the service has cached stays good; OpenAI is told which of them it may call.
        approve: decides about calls of tools with `requires_approval`; instead of the agent's own.
    """

    message_history: Sequence[Message] | None
    deps: Any
    tool_choice: str
    allowed_tools: Allowed
    approve: Approve | None


class ResumeOptions(TypedDict, total=False):
    """The keywords of `resume`.

    Attributes:
        approve: ids of calls to run; True for all that `deny` does not name.
        deny: ids of calls to refuse; a mapping gives the reason that the model is told, such as what to send instead:
            arguments cannot be edited. Of calls that neither names, the agent's own `approve` is asked.
        deps, allowed_tools: as in `RunOptions`; without `allowed_tools`, those of the turn that waited.
    """

    approve: Collection[str] | bool
    deny: Mapping[str, str] | Collection[str]
    deps: Any
    allowed_tools: Allowed


class Agent(Generic[OutputT]):
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
        rag: documents to search: a `RAG`, the name of a bucket in this folder's index, or several of these. It gives
            the tool `rag_search`, or `rag_search_BUCKET` for each of several.
        web: True gives the tools `web_search` and `fetch_page`; a `WebSearch`, or the name or the address of a search
            engine, says which is asked.
        instructions: the system text; it stays the same for the whole run.
        name: for logs and events.
        limits: how much one run may use.
        max_calls_per_run: short for `Limits(calls=...)`.
        tool_timeout: short for `Limits(tool_timeout=...)`, in seconds.
        settings: parameters of the model's API, passed through with each request, e.g. {"max_tokens": 2000}.
        parallel_tool_calls: False forbids several calls in one turn; None leaves it to the service.
        output_type: what the answer has to be, any type that pydantic takes; `RunResult.output` is a value of it. The
            model is told what is wrong with an answer that does not fit, and tries again.
        approve: decides about calls of tools with `requires_approval` (see `toolsmith.approvals`). None ends the run
            with `stop_reason="approval"`, to go on from with `resume`.
        untrusted: what becomes of a call that would carry text which others have written (what tools marked
            `untrusted` gave) into a tool marked `effect="write"`: "ask" holds it for `approve`, as with
            `requires_approval`, "deny" refuses it, "allow" lets it run. See docs/untrusted.md for what is found.
        paging: whether the model can read on in results that were too long to be shown whole, by a tool `read_more`
            that is added to its list. None: where somebody has set how long they may be, by `Limits(result_chars=...)`
            or a tool's `max_result_size`. False: it is told to ask for less.
        feedback: every sentence that the model reads from toolsmith; a subclass of `toolsmith.Feedback` says them in
            other words or in another language. Of an agent that is a tool, None takes those of the run around it.
        expose_errors: for development: the model is shown the type and the text of exceptions that were not written
            for it. They may hold secrets.
        observers: called with each event of a run (see `toolsmith.events`).

    Raises:
        DefinitionError: something that cannot be a tool, two tools of one name, or a remedy (`on_error`) that names a
            tool which is not there; all problems at once. Also a limit on a group that has no tools.
        ConfigError: an unknown provider, or a misspelt setting.
        TypeError: `limits` or `feedback` that are none.
        ValueError: the instructions have half of a surrogate pair in them, which no service takes.
    """

    def __init__(
        self,
        model: str | ModelSettings | Provider | Sequence[str | ModelSettings | Provider] | None = None,
        *,
        tools: Iterable[ToolLike | ToolRegistry] | ToolRegistry = (),
        rag: Documents | Sequence[Documents] | None = None,
        web: WebSearch | str | bool | None = None,
        instructions: str = "",
        name: str = "agent",
        limits: Limits | None = None,
        max_calls_per_run: int | None = None,
        tool_timeout: float | None = None,
        settings: Mapping[str, Any] | None = None,
        parallel_tool_calls: bool | None = None,
        output_type: type[OutputT] = str,  # pyright: ignore[reportArgumentType] - the default of OutputT
        approve: Approve | None = None,
        untrusted: Policy = "ask",
        paging: bool | None = None,
        feedback: Feedback | None = None,
        expose_errors: bool = False,
        observers: Iterable[Observer] = (),
    ) -> None:
        # Here and below: what only makes or runs agents is loaded with the first one, not with the name `Agent`.
        from toolsmith._derive.places import Place
        from toolsmith.messages import encoded_text
        from toolsmith.registry import ToolRegistry, check_names

        self.name = name
        given.text("Agent", instructions=instructions)
        self.instructions = encoded_text(instructions, "Agent(instructions=...)")
        self.limits = _limits(limits, max_calls_per_run, tool_timeout)
        self.tools = tools if isinstance(tools, ToolRegistry) else ToolRegistry(_iterable(tools))
        if rag is not None or web is not None:
            from toolsmith._builtin import built_in

            self.tools = ToolRegistry([self.tools, *built_in(rag, web)])
        check_names(self.tools, self.limits.groups or ())
        self.settings: dict[str, Any] = dict(settings or {})
        self.parallel_tool_calls = parallel_tool_calls
        self.output_type, self._place = output_type, None if output_type is str else Place.of_author()
        self.approve = approve
        self.untrusted: Policy = _policy(untrusted)
        self.paging = paging
        self.feedback = _words(feedback)
        self.expose_errors = expose_errors
        self.observers: list[Observer] = list(observers)
        self._models = chosen_models(model)
        self._providers: list[Provider] | None = None
        self._offers: Offers | None = None
        self._output: Output | None = None

    @classmethod
    def from_config(cls, path: str | Path, name: str) -> Self:
        """The agent named `name` in a `toolsmith.toml`: its `[agents.NAME]` table.

        Its tools are imported from the file's own folder first.

        Raises:
            ConfigError: what is missing, misspelt or of the wrong kind in that file; all of it at once.
        """
        from toolsmith import config

        make = cast("Callable[..., Self]", cls)
        return make(**config.agent_arguments(path, name))

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

    async def run(self, prompt: Prompt | None = None, **options: Unpack[RunOptions]) -> RunResult[OutputT]:
        """Run to an answer, on the running event loop.

        Args:
            prompt: what to do: a text, or a list of texts, `Image`s and `File`s; None goes on with `message_history` as
                it stands.
            options: see `RunOptions`.

        Raises:
            RunError: the run ended without an answer; `error.messages` holds the history so far.
            ValueError: the prompt is empty, or a text with half of a surrogate pair in it; or there is none, and the
                history ends with the model's answer.
            TypeError: `message_history` is no list of messages; a text is read by `load_messages`.
        """
        return await self._begin(prompt, options).answer()

    def run_sync(self, prompt: Prompt | None = None, **options: Unpack[RunOptions]) -> RunResult[OutputT]:
        """`run` for code without an event loop; works under a running one too (a notebook), which it blocks."""
        return self._begin(prompt, options).answer_sync()

    def run_stream(self, prompt: Prompt | None = None, **options: Unpack[RunOptions]) -> RunStream[OutputT]:
        """`run` as a stream of events, the words of the model as they arrive.

            async with agent.run_stream("Is it raining in Oslo?") as events:
                async for event in events:
                    ...
            events.result

        Leaving the block early cancels the run. Arguments and errors are those of `run`; errors rise while iterating.
        """
        from toolsmith.streams import RunStream

        run = self._begin(prompt, options, keep=True)
        return RunStream(run.conversation.history, run.aevents)

    def run_stream_sync(self, prompt: Prompt | None = None, **options: Unpack[RunOptions]) -> SyncRunStream[OutputT]:
        """`run_stream` for code without an event loop: `with` and `for` instead of `async with` and `async for`."""
        from toolsmith.streams import SyncRunStream

        run = self._begin(prompt, options, keep=True)
        return SyncRunStream(run.conversation.history, run.events)

    async def resume(self, waiting: Waiting, **decided: Unpack[ResumeOptions]) -> RunResult[OutputT]:
        """Go on where calls waited for a person. Calls of that turn that have run already are not repeated.

        Args:
            waiting: the result whose `stop_reason` is "approval", or its `pending`, loaded in any process.
            decided: see `ResumeOptions`.

        Raises:
            ValueError: an id that does not wait, or a result that does not. `RunError` as for `run`.
            TypeError: `waiting` is neither; a text is read by `Pending.load`.
        """
        return await self._resume(waiting, decided).answer()

    def resume_sync(self, waiting: Waiting, **decided: Unpack[ResumeOptions]) -> RunResult[OutputT]:
        """`resume` for code without an event loop."""
        return self._resume(waiting, decided).answer_sync()

    def resume_stream(self, waiting: Waiting, **decided: Unpack[ResumeOptions]) -> RunStream[OutputT]:
        """`resume` as a stream of events, as `run_stream`."""
        from toolsmith.streams import RunStream

        run = self._resume(waiting, decided, keep=True)
        return RunStream(run.conversation.history, run.aevents)

    def resume_stream_sync(self, waiting: Waiting, **decided: Unpack[ResumeOptions]) -> SyncRunStream[OutputT]:
        """`resume_stream` for code without an event loop."""
        from toolsmith.streams import SyncRunStream

        run = self._resume(waiting, decided, keep=True)
        return SyncRunStream(run.conversation.history, run.events)

    def as_tool(
        self, *, name: str | None = None, description: str | None = None, **options: Unpack[Options]
    ) -> Tool[..., Any]:
        """This agent as a tool of another one, which hands it a task and gets its answer.

            researcher = Agent(model, name="researcher", tools=[search], limits=Limits(calls=20))
            editor = Agent(model, tools=[researcher.as_tool(description="Researches a question, with sources.")])

        Each call is a run of its own, with this agent's limits, and within what the other run has left: its calls,
        tokens and time count for both, its usage is part of the other's, and it is cancelled with it. Its tools are
        handed the other run's `deps`. Who listens to the other run gets its events as `ToolProgress.progress`. Calls
        that need a person's word are decided by this agent's `approve`, else by the other run's; they cannot wait.

        Args:
            name: the tool's; the agent's own unless given.
            description: what it does and when to use it; the other model chooses by it.
            options: see `ToolOptions`. `timeout` is none unless given.

        Raises:
            DefinitionError: the name is not legal.
        """
        from toolsmith._run.nested import agent_tool

        def begin(task: str, deps: Any, around: Around | None) -> Run:
            wanted: RunOptions = {"deps": deps}
            if self.approve is None and around is not None:
                wanted["approve"] = around.approve
            return self._begin(task, wanted, around=around)

        made = {"name": name or self.name, "description": description, **options}
        return agent_tool(begin, self.tools, self.feedback, made)

    def _begin(
        self, prompt: Prompt | None, options: RunOptions, *, keep: bool = False, around: Around | None = None
    ) -> Run:
        from toolsmith._run.run import begin

        _check_options(options, RunOptions)
        history = options.get("message_history")
        return begin(self, self._kept_offers(), prompt, history, self._wishes(options, keep=keep, around=around))

    def _resume(self, waiting: Waiting, decided: ResumeOptions, *, keep: bool = False) -> Run:
        from toolsmith._run.run import resume
        from toolsmith.approvals import Pending

        _check_options(decided, ResumeOptions)
        pending = waiting.pending if isinstance(waiting, RunResult) else waiting
        if isinstance(waiting, RunResult) and pending is None:
            raise ValueError("This run does not wait for anybody: its stop_reason is not 'approval'.")
        if not isinstance(pending, Pending):
            kind = type(pending).__name__
            raise TypeError(f"resume takes a RunResult or a Pending, not {kind}: read one with Pending.load(text).")
        decisions = pending.decisions(decided.get("approve", ()), decided.get("deny", ()))
        options: RunOptions = {"deps": decided.get("deps"), "allowed_tools": decided.get("allowed_tools")}
        return resume(self, self._kept_offers(), pending, decisions, self._wishes(options, keep=keep))

    def _wishes(self, options: RunOptions, *, keep: bool = False, around: Around | None = None) -> Wishes:
        from toolsmith._run.run import Wishes

        if self._output is None and self.output_type is not str:
            from toolsmith._run.output import Output

            self._output = Output(self.output_type, self.tools, self.feedback, self._place)
        return Wishes(
            deps=options.get("deps"),
            output=self._output,
            tool_choice=options.get("tool_choice", "auto"),
            allowed=options.get("allowed_tools"),
            approve=options.get("approve", self.approve),
            keep=keep,
            around=around,
        )

    def _kept_offers(self) -> Offers:
        if self._offers is None:
            from toolsmith._run.line import Offers

            self._offers = Offers()
        return self._offers


def _check_options(given: Mapping[str, Any], options: type) -> None:
    if wrong := ", ".join(sorted(given.keys() - options.__annotations__.keys())):
        raise TypeError(f"A run has no option {wrong}. Its options are: {', '.join(options.__annotations__)}.")


def _limits(limits: Limits | None, calls: int | None, tool_timeout: float | None) -> Limits:
    made = cast("object", Limits() if limits is None else limits)
    if not isinstance(made, Limits):
        pairs = cast("dict[Any, Any]", made).items() if isinstance(made, dict) else ()
        keywords = ", ".join(f"{name}={value!r}" for name, value in pairs)
        raise TypeError(f"Agent(limits=...) takes a Limits, not {made!r}: write limits=Limits({keywords or '...'}).")
    if calls is not None:
        made = replace(made, calls=calls)
    if tool_timeout is not None:
        made = replace(made, tool_timeout=tool_timeout)
    return made


def _policy(untrusted: Policy) -> Policy:
    if untrusted not in ("ask", "deny", "allow"):
        raise ConfigError(f"Agent(untrusted={untrusted!r}): give 'ask', 'deny' or 'allow'.")
    return untrusted


def _words(feedback: object) -> Feedback | None:
    from toolsmith._feedback import Feedback

    if feedback is None or isinstance(feedback, Feedback):
        return feedback
    if isinstance(feedback, type) and issubclass(feedback, Feedback):
        name = feedback.__name__
        raise TypeError(f"Agent(feedback=...) takes an object, not the class {name}: write feedback={name}().")
    raise TypeError(f"Agent(feedback=...) takes an object of toolsmith.Feedback or of a subclass, not {feedback!r}.")


def _iterable(tools: object) -> Iterable[ToolLike | ToolRegistry]:
    if callable(tools) or tools is None:
        raise TypeError("Agent(tools=...) takes a list: write tools=[...] also for a single tool, or none.")
    return cast("Iterable[ToolLike | ToolRegistry]", tools)
