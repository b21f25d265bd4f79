"""Models and agents from `toolsmith.toml` and the environment.

    [models.fast]
    model = "openai-chat:qwen"              # PROVIDER:MODEL
    base_url = "http://localhost:8080/v1"
    api_key_env = "SHOP_KEY"                # the variable that holds the key; a key itself is never written here
    settings = { max_tokens = 2000 }        # the API's own parameters

    [agents.support]
    model = "fast"                          # a profile of this file or PROVIDER:MODEL; a list: tried in that order
    tools = ["shop.tools:registry", "shop.tools:refund"]
    instructions = "You help customers of the shop."
    limits = { turns = 5, seconds = 60 }    # see `Limits`; "none" for no bound
    max_calls_per_run = 10
    tool_timeout = 5
    rag = "docs"                            # a bucket of documents to search; a list: several
    web = true                              # the tools web_search and fetch_page
    untrusted = "deny"                      # what becomes of text that others have written: see docs/untrusted.md
    paging = true                           # the model can read on in long results
    feedback = "shop.german:German"         # a `Feedback` in other words

`Agent.from_config("toolsmith.toml", "support")` builds the agent; tools are imported from the file's own folder first.

Which model a text means: with ":" or "/" in it, it is PROVIDER:MODEL. Any other is the name of a profile, in the file
that the variable TOOLSMITH_CONFIG names, else in `toolsmith.toml` of the current folder. The name of a profile has
neither sign, so the two are never mistaken for one another. Where no model is given at all, the variable
TOOLSMITH_MODEL says which (either way), else it is "local:smollm2".
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, cast

from toolsmith._dataclass import dataclass
from toolsmith._references import is_reference, load_object
from toolsmith._tables import TableReader, checked
from toolsmith.errors import ConfigError
from toolsmith.limits import Limits
from toolsmith.providers import ModelSettings, names_provider, split_model

if TYPE_CHECKING:
    from toolsmith._run.watch import Policy
    from toolsmith.feedback import Feedback

FILE_NAME = "toolsmith.toml"
CONFIG_VARIABLE = "TOOLSMITH_CONFIG"
MODEL_VARIABLE = "TOOLSMITH_MODEL"
DEFAULT_MODEL = "local:smollm2"


def _check_provider(model: str, reader: TableReader) -> Iterator[str]:
    try:
        split_model(model)
    except ConfigError as error:
        yield str(error)


def _check_models(models: tuple[str, ...], reader: TableReader) -> Iterator[str]:
    profiles = reader.names("models")
    for model in models:
        if names_provider(model):
            yield from _check_provider(model, reader)
        elif model not in profiles:
            yield _no_profile(model, profiles)


def _check_references(references: tuple[str, ...], reader: TableReader) -> Iterator[str]:
    for reference in references:
        if not is_reference(reference):
            yield f"{reference!r} is not written module:name or path/file.py:name."


def _check_reference(reference: str, reader: TableReader) -> Iterator[str]:
    return _check_references((reference,), reader)


def _check_url(url: str, reader: TableReader) -> Iterator[str]:
    if not url.startswith(("http://", "https://")):
        yield "must begin with http:// or https://."


def _check_variable(name: str, reader: TableReader) -> Iterator[str]:
    # Never quoted: what stands here by mistake is the key itself.
    if not name.isidentifier():
        yield "takes the name of an environment variable, such as SHOP_API_KEY, not the key itself."


def _check_count(count: int, reader: TableReader) -> Iterator[str]:
    if count < 0:
        yield "must be 0 or more."


def _check_policy(policy: str, reader: TableReader) -> Iterator[str]:
    if policy not in ("ask", "deny", "allow"):
        yield 'must be "ask", "deny" or "allow".'


def _check_seconds(seconds: float, reader: TableReader) -> Iterator[str]:
    if not seconds > 0:
        yield "must be more than 0 seconds."


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSettings:
    """One `[agents.NAME]` table.

    Attributes:
        model: profiles or PROVIDER:MODEL, tried in order; empty for the default model.
        tools: "module:name" of functions, tools and registries.
        instructions: the system text.
        limits: of each run.
        max_calls_per_run: tool calls of one run, None for no bound of its own.
        tool_timeout: seconds for one tool call, None to leave it to `limits`.
        settings: the API's own parameters, over those of the model's profile.
        paging: whether the model can read on in long results; see `Agent`.
        feedback: "module:name" of a `Feedback`, or of a subclass of it.
        rag: buckets of documents to search, in the index of the current folder.
        web: whether it has `web_search` and `fetch_page`.
        untrusted: "ask", "deny" or "allow"; see `Agent`.
    """

    model: tuple[str, ...] = checked(_check_models, ())
    tools: tuple[str, ...] = checked(_check_references, ())
    instructions: str = ""
    limits: Limits = field(default_factory=Limits)
    max_calls_per_run: int | None = checked(_check_count, None)
    tool_timeout: float | None = checked(_check_seconds, None)
    settings: Mapping[str, Any] | None = None
    paging: bool | None = None
    feedback: str | None = checked(_check_reference, None)
    rag: tuple[str, ...] = ()
    web: bool | None = None
    untrusted: str = checked(_check_policy, "ask")


@dataclass(frozen=True, slots=True, kw_only=True)
class _ModelTable:
    """One `[models.NAME]` table: a `ModelSettings` without the key, which does not belong in a file."""

    model: str = checked(_check_provider)
    base_url: str | None = checked(_check_url, None)
    api_key_env: str | None = checked(_check_variable, None)
    settings: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _File:
    models: Mapping[str, _ModelTable] = field(default_factory=dict[str, _ModelTable])
    agents: Mapping[str, AgentSettings] = field(default_factory=dict[str, AgentSettings])


class AgentArguments(TypedDict):
    """What `Agent(...)` is called with for one `[agents.NAME]` table."""

    model: list[ModelSettings]
    tools: list[Any]
    instructions: str
    name: str
    limits: Limits
    max_calls_per_run: int | None
    tool_timeout: float | None
    settings: Mapping[str, Any] | None
    paging: bool | None
    feedback: Feedback | None
    rag: list[str] | None
    web: bool | None
    untrusted: Policy


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """A settings file that was read and found right.

    Attributes:
        path: the file.
        models: profile name -> where that model is.
        agents: agent name -> its table.
    """

    path: Path
    models: Mapping[str, ModelSettings]
    agents: Mapping[str, AgentSettings]

    def model(self, name: str) -> ModelSettings:
        """The settings behind a profile's name, or behind PROVIDER:MODEL.

        Raises:
            ConfigError: no such profile or provider.
        """
        if names_provider(name):
            split_model(name)
            return ModelSettings(model=name)
        if name not in self.models:
            raise ConfigError(f"{self.path}: {_no_profile(name, self.models)}")
        return self.models[name]

    def agent(self, name: str) -> AgentSettings:
        """The table of one agent.

        Raises:
            ConfigError: there is no such agent.
        """
        if name not in self.agents:
            raise ConfigError(_no_agent(self.path, name, self.agents))
        return self.agents[name]

    def agent_arguments(self, name: str) -> AgentArguments:
        """The arguments to build an agent with; imports its tools.

        Raises:
            ConfigError: no such agent, or tools that cannot be imported (all of them named).
        """
        settings = self.agent(name)
        tools, feedback, problems = _imported(self.path, name, settings.tools, settings.feedback)
        if problems:
            raise ConfigError(problems)
        return AgentArguments(
            model=[self.model(m) for m in settings.model or (default_model(),)],
            tools=tools,
            instructions=settings.instructions,
            name=name,
            limits=settings.limits,
            max_calls_per_run=settings.max_calls_per_run,
            tool_timeout=settings.tool_timeout,
            settings=settings.settings,
            paging=settings.paging,
            feedback=feedback,
            rag=list(settings.rag) or None,
            web=settings.web,
            untrusted=cast("Policy", settings.untrusted),
        )


def load(path: str | os.PathLike[str], *, agent: str | None = None) -> Config:
    """Read a settings file; imports nothing that it names and needs no key to be set.

    Args:
        path: of the file.
        agent: the one that is wanted of it. Where the file has mistakes, those in the names of this agent's tools are
            told with them, for which these are imported.

    Raises:
        ConfigError: the file cannot be read, is no TOML, or has settings that are unknown, missing or of the wrong
            kind; `problems` holds every one, each with its line where that can be told.
    """
    reader = TableReader(Path(path))
    file = reader.read(_File)
    for name in filter(names_provider, reader.names("models")):
        reader.problem(("models", name), 'the name of a profile has no ":" and no "/": these mark PROVIDER:MODEL.')
    if reader.problems:
        raise ConfigError([*reader.problems, *(() if agent is None else _unimportable(Path(path), agent))])
    models = {
        name: ModelSettings(
            model=table.model, base_url=table.base_url, api_key_env=table.api_key_env, settings=table.settings
        )
        for name, table in file.models.items()
    }
    return Config(path=reader.path, models=models, agents=file.agents)


def agent_arguments(path: str | os.PathLike[str], name: str) -> AgentArguments:
    """The arguments to build an agent of a file with.

    Raises:
        ConfigError: what is wrong in the file, and with the tools and the feedback that this agent names; all at once.
    """
    return load(path, agent=name).agent_arguments(name)


def _unimportable(path: Path, name: str) -> Sequence[str]:
    """What is wrong with the names in one table of a file that has other mistakes as well."""
    try:
        data: Any = tomllib.loads(path.read_text(encoding="utf-8-sig"))
        agents: Any = data.get("agents", {})
        if name not in agents:
            return [_no_agent(path, name, agents)] if agents.__class__ is dict else ()
        table: Any = agents[name]
        tools: Any = table.get("tools", ())
        named: list[Any] = [tools] if isinstance(tools, str) else list(tools)
        feedback: Any = table.get("feedback")
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return ()
    # What is not even written as a reference has been told already.
    good = [t for t in named if isinstance(t, str) and is_reference(t)]
    known = isinstance(feedback, str) and is_reference(feedback)
    return _imported(path, name, good, feedback if known else None)[2]


def _no_agent(path: Path, name: str, agents: Collection[str]) -> str:
    known = f"Its agents: {', '.join(agents)}." if agents else "It has no [agents.NAME] table."
    return f"{path}: there is no agent {name!r}.{_guess(name, agents)} {known}"


def _imported(
    path: Path, name: str, references: Iterable[str], feedback: str | None
) -> tuple[list[Any], Feedback | None, list[str]]:
    """What an agent's table names: its tools, its feedback, and what is wrong with them."""
    tools: list[Any] = []
    problems: list[str] = []
    for reference in references:
        try:
            tools.append(load_object(reference, folder=path.parent))
        except ConfigError as error:
            problems.extend(f"{path}: [agents.{name}] tools: {p}" for p in error.problems)
    words: Feedback | None = None
    if feedback is not None:
        try:
            words = _feedback(load_object(feedback, folder=path.parent), feedback)
        except ConfigError as error:
            problems.extend(f"{path}: [agents.{name}] feedback: {p}" for p in error.problems)
    return tools, words, problems


def _feedback(found: object, reference: str) -> Feedback:
    """What a reference leads to: an object, or a class to make one of."""
    from toolsmith.feedback import Feedback

    if isinstance(found, type) and issubclass(found, Feedback):
        return found()
    if not isinstance(found, Feedback):
        raise ConfigError(f"{reference!r} is no toolsmith.Feedback, nor a subclass of it.")
    return found


def find_file() -> Path | None:
    """The settings file in force: what TOOLSMITH_CONFIG names, else `toolsmith.toml` of the current folder, if any."""
    named = os.environ.get(CONFIG_VARIABLE)
    if named:
        return Path(named)
    here = Path(FILE_NAME)
    return here if here.is_file() else None


def default_model() -> str:
    """The model of agents that name none: the variable TOOLSMITH_MODEL, else "local:smollm2"."""
    return os.environ.get(MODEL_VARIABLE) or DEFAULT_MODEL


def find_model(model: str | None = None) -> ModelSettings:
    """The settings behind "PROVIDER:MODEL", a profile's name, or (for None) the default model.

    Raises:
        ConfigError: no such provider or profile, or no settings file to look for the profile in.
    """
    name = default_model() if model is None else model
    if names_provider(name):
        split_model(name)
        return ModelSettings(model=name)
    path = find_file()
    return load(path).model(name) if path else _refuse_profile(name)


def _refuse_profile(name: str) -> ModelSettings:
    raise ConfigError(
        f"Model {name!r} is not written PROVIDER:MODEL, as in anthropic:claude-opus-5-5, openai:gpt-6-astra, "
        f"openai-chat:NAME or {DEFAULT_MODEL}; and there is no settings file to look for a profile of that name: "
        f"no {FILE_NAME} in {Path.cwd()}, and the variable {CONFIG_VARIABLE} is not set."
    )


def _no_profile(name: str, profiles: Iterable[str]) -> str:
    known = f"This file has {', '.join(profiles)}." if profiles else "This file has no [models.NAME] table."
    return f"there is no model profile {name!r}.{_guess(name, profiles)} {known} Or write PROVIDER:MODEL."


def _guess(name: str, names: Iterable[str]) -> str:
    near = get_close_matches(name, list(names), n=1)
    return f" Did you mean {near[0]!r}?" if near else ""
