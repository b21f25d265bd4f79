"""The agent that a command line describes: from references, profiles and settings files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from toolsmith import config
from toolsmith._dataclass import dataclass
from toolsmith._references import load_object
from toolsmith.errors import ConfigError

if TYPE_CHECKING:
    from toolsmith.agent import Agent
    from toolsmith.config import Config
    from toolsmith.events import Observer
    from toolsmith.providers import ModelSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What the command line says of the agent.

    Attributes:
        references: "module:name" of at most one agent, and of tools, functions and registries.
        model: PROVIDER:MODEL or a profile's name.
        profile: a profile's name.
        agent: name of an [agents.NAME] table.
        file: the settings file, None for the one in force.
        instructions: the system text, None to leave the agent's own.
    """

    references: Sequence[str] = ()
    model: str | None = None
    profile: str | None = None
    agent: str | None = None
    file: str | None = None
    instructions: str | None = None


def assemble(wishes: Wishes, observer: Observer) -> Agent[Any]:
    """Build the agent; `observer` is told of its runs.

    Raises:
        ConfigError: settings or references that lead nowhere, or that contradict one another.
        DefinitionError: something that cannot be a tool.
    """
    from toolsmith.agent import Agent

    settings, wrong = None, None
    try:
        settings = _settings(wishes)
    except ConfigError as error:
        wrong = error  # told together with what is wrong with the references
    try:
        agents, tools = load(wishes.references)
    except ConfigError as error:
        raise ConfigError([*(wrong.problems if wrong else ()), *error.problems]) from error
    if wrong is not None:
        raise wrong
    if wishes.agent:
        assert settings is not None
        agents.insert(0, Agent(**settings.agent_arguments(wishes.agent)))
    if len(agents) > 1:
        raise ConfigError("A run has one agent; these are several. Name one agent, and tools to add to it.")
    model = _model(wishes, settings)
    if not agents and model is None and settings is not None:
        model = settings.model(config.default_model())
    if not agents:
        return Agent(model, tools=tools, instructions=wishes.instructions or "", observers=[observer])
    (agent,) = agents
    if model is None and not tools and wishes.instructions is None:
        agent.observers.append(observer)
        return agent
    return Agent(
        agent.providers if model is None else model,
        tools=[*agent.tools, *tools],
        instructions=agent.instructions if wishes.instructions is None else wishes.instructions,
        name=agent.name,
        limits=agent.limits,
        settings=agent.settings,
        parallel_tool_calls=agent.parallel_tool_calls,
        output_type=agent.output_type,
        approve=agent.approve,
        untrusted=agent.untrusted,
        paging=agent.paging,
        feedback=agent.feedback,
        expose_errors=agent.expose_errors,
        observers=[*agent.observers, observer],
    )


def load(references: Sequence[str]) -> tuple[list[Agent[Any]], list[Any]]:
    """What the references name: agents, and all that may be a tool. Every bad one is told."""
    from toolsmith.agent import Agent

    agents: list[Agent[Any]] = []
    tools: list[Any] = []
    problems: list[str] = []
    for reference in references:
        try:
            found = load_object(reference, folder=Path.cwd())
        except ConfigError as error:
            problems += error.problems
            continue
        match found:
            case Agent():
                agents.append(cast("Agent[Any]", found))
            case list() | tuple():
                held = cast("Sequence[Any]", found)
                wrong = {type(one).__name__: "" for one in held if not _may_be_tool(one)}
                problems += [f"{reference} holds a value of type {kind}: no tool and no function." for kind in wrong]
                tools += held
            case _ if _may_be_tool(found):
                tools.append(found)
            case _:
                kind = type(found).__name__
                problems.append(f"{reference} is of type {kind}: neither an agent, a tool, a function nor a registry.")
    if problems:
        raise ConfigError(problems)
    return agents, tools


def _may_be_tool(value: object) -> bool:
    from toolsmith.registry import ToolRegistry

    return isinstance(value, ToolRegistry) or callable(value) or hasattr(value, "__tool__")


def _settings(wishes: Wishes) -> Config | None:
    """The settings file, where the command line needs one."""
    if wishes.file:
        return config.load(wishes.file, agent=wishes.agent)
    if not wishes.agent and not wishes.profile:
        return None
    path = config.find_file()
    if path is None:
        wanted = f"--agent {wishes.agent}" if wishes.agent else f"--profile {wishes.profile}"
        raise ConfigError(
            f"{wanted} needs a settings file: there is no {config.FILE_NAME} in {Path.cwd()}, and the variable "
            f"{config.CONFIG_VARIABLE} is not set. Name one with --config FILE."
        )
    return config.load(path, agent=wishes.agent)


def _model(wishes: Wishes, settings: Config | None) -> ModelSettings | None:
    """The model that the command line names; None to leave it to the agent, or to the environment."""
    if wishes.profile:
        assert settings is not None
        if ":" in wishes.profile or "/" in wishes.profile:
            raise ConfigError(f"--profile takes the name of a profile; for {wishes.profile!r} write --model.")
        return settings.model(wishes.profile)
    if wishes.model:
        return settings.model(wishes.model) if settings else config.find_model(wishes.model)
    return None
