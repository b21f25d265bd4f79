"""Which models an agent was given: names, profiles, settings, providers, or none.

The settings file, and all that reads it, is loaded for a profile's name or for none; a "PROVIDER:MODEL" says all.
"""

from __future__ import annotations

from collections.abc import Sequence

from toolsmith.errors import ConfigError
from toolsmith.providers import ModelSettings, Provider, names_provider, split_model


def chosen_models(
    model: str | ModelSettings | Provider | Sequence[str | ModelSettings | Provider] | None,
) -> list[ModelSettings | Provider]:
    """At least one, in the order in which they are tried.

    Raises:
        ConfigError: an empty list, or a name that `toolsmith.config.find_model` does not find.
        TypeError: an object that is no provider.
    """
    chosen = [*model] if isinstance(model, Sequence) and not isinstance(model, str) else [model]
    if not chosen:
        raise ConfigError("Agent(model=[]) names no model. Give one, such as 'anthropic:claude-opus-5-5'.")
    return [_found(one) if one is None or isinstance(one, str) else _looked_at(one) for one in chosen]


def _found(name: str | None) -> ModelSettings:
    if name is not None and names_provider(name):
        split_model(name)
        return ModelSettings(model=name)
    from toolsmith import config

    return config.find_model(name)


def _looked_at(one: ModelSettings | Provider) -> ModelSettings | Provider:
    if isinstance(one, ModelSettings):
        return one
    if isinstance(one, type):
        name = one.__name__
        raise TypeError(f"Agent(model=...) takes a provider, not the class {name}: write {name}(...).")
    kind = type(one).__name__
    wanted = [name for name in vars(Provider) if not name.startswith("_")]
    missing = [name for name in wanted if not hasattr(type(one), name) and name not in getattr(one, "__dict__", ())]
    if not missing:
        return one
    if callable(getattr(one, "provider", None)):
        raise TypeError(f"Agent(model=...): a {kind} gives providers: write {kind}(...).provider('openai').")
    lacks = f"no {', no '.join(missing[:3])}" + (f" and {len(missing) - 3} others" if len(missing) > 3 else "")
    raise TypeError(
        f"Agent(model=...) takes a model's name, ModelSettings or a provider. {kind} has {lacks}; all that a provider "
        "has is in toolsmith.providers.Provider."
    )
