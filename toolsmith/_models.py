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
    """
    chosen = [*model] if isinstance(model, Sequence) and not isinstance(model, str) else [model]
    if not chosen:
        raise ConfigError("Agent(model=[]) names no model. Give one, such as 'anthropic:claude-opus-5-5'.")
    return [_found(one) if one is None or isinstance(one, str) else one for one in chosen]


def _found(name: str | None) -> ModelSettings:
    if name is not None and names_provider(name):
        split_model(name)
        return ModelSettings(model=name)
    from toolsmith import config

    return config.find_model(name)
