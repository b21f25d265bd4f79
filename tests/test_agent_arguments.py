"""What an agent cannot use is told where it is made, with what to write instead."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from toolsmith import Agent
from toolsmith.testing import ScriptedModel, say


class Echo:
    """A provider that somebody has begun to write."""

    api = "echo"
    model = "echo-1"


ANY: Any = Agent
SCRIPTED: Any = ScriptedModel([say("hello")])

WRONG: list[tuple[str, Callable[[], object], type[Exception], str]] = [
    ("class", lambda: ANY(Echo), TypeError, r"not the class Echo: write Echo\(\.\.\.\)"),
    (
        "incomplete",
        lambda: ANY(Echo()),
        TypeError,
        r"Echo has no name, no service, no hosts and \d+ others",
    ),
    ("number", lambda: ANY(5), TypeError, r"takes a model's name, ModelSettings or a provider\. int has no api"),
    ("script", lambda: ANY(SCRIPTED), TypeError, r"write ScriptedModel\(\.\.\.\)\.provider\('openai'\)"),
    (
        "script's api",
        lambda: SCRIPTED.provider("claude"),
        ValueError,
        r"provider\('claude'\): give 'anthropic', 'openai'",
    ),
    ("one of two", lambda: ANY([SCRIPTED.provider("openai"), Echo]), TypeError, "not the class Echo"),
    ("no tools", lambda: ANY("openai:gpt-6-astra", tools=None), TypeError, r"takes a list: write tools=\[\.\.\.\]"),
    (
        "instructions",
        lambda: ANY("openai:gpt-6-astra", instructions=5),
        TypeError,
        r"Agent\(instructions=5\): give a text",
    ),
]


@pytest.mark.parametrize(("make", "error", "words"), [w[1:] for w in WRONG], ids=[w[0] for w in WRONG])
def test_what_an_agent_cannot_use(make: Callable[[], object], error: type[Exception], words: str) -> None:
    """Not in the middle of a run, and not as an attribute that something does not have."""
    with pytest.raises(error, match=words):
        make()


@pytest.mark.parametrize("api", ["openai", "openai-chat", "anthropic"])
def test_a_provider_is_taken(api: Any) -> None:
    """One alone, and one of several."""
    for model in (SCRIPTED.provider(api), [SCRIPTED.provider(api)]):
        assert Agent(model).providers
