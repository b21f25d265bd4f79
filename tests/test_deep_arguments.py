"""Arguments nested too deeply for any parser are a mistake of the model's, which hears of it: they end no run."""

from __future__ import annotations

from typing import Any

import pytest
from wire import APIS

from toolsmith import Agent, ProviderError, RunResult, tool
from toolsmith.providers import ModelSettings, resolve
from toolsmith.testing import Api, ScriptedModel, garbage, raw_call, say
from toolsmith.testing.script import Step

TOLD = "it is nested too deeply; 200 levels are the limit."


@tool
def echo(value: Any, b: int = 0) -> str:
    """Say it again."""
    return "said"


def nested(levels: int) -> str:
    """Arguments of so many levels."""
    return '{"value":' + "[" * (levels - 1) + "]" * (levels - 1) + "}"


def at_once(*inputs: str) -> bytes:
    """An answer of Claude's with these arguments in it, as it comes when nothing is streamed."""
    calls = "".join(
        f',{{"type":"tool_use","id":"t{n}","name":"echo","input":{text},"caller":{{"type":"direct"}}}}'
        for n, text in enumerate(inputs)
    )
    said = r'{"type":"text","text":"\"input\":[{\\"}'
    usage = '"usage":{"input_tokens":3,"output_tokens":[[[{"input":5}]]]}'
    return f'{{"id":"m",{usage},"content":[{said}{calls}],"stop_reason":"tool_use","role":"assistant"}}'.encode()


def run(api: Api, step: Step, *, streamed: bool) -> tuple[RunResult[str], ScriptedModel]:
    model = ScriptedModel([step, say("done")])
    agent = Agent(model.provider(api), tools=[echo])
    if not streamed:
        return agent.run_sync("go"), model
    with agent.run_stream_sync("go") as events:
        assert [*events]
    return events.result, model


@pytest.mark.parametrize("levels", [201, 300, 900, 3_000, 100_000])
@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("streamed", [True, False])
def test_too_deep(api: Api, streamed: bool, levels: int) -> None:
    """Whether streamed or not, on each API."""
    text = nested(levels)
    whole = api == "anthropic" and not streamed  # there arguments are no text, but a part of the answer
    result, model = run(api, garbage(at_once(text)) if whole else raw_call("echo", text), streamed=streamed)
    assert result.output == "done"
    (record,) = result.tool_calls
    assert record.call.arguments == text
    assert (TOLD in (record.result.error or "")) == (levels > 201)
    model.assert_exhausted()


@pytest.mark.parametrize("levels", [190, 197, 198, 199, 200])
def test_as_deep_as_may_be(levels: int) -> None:
    """What a stream brings is also read where it comes at once, within an object of some levels of its own."""
    result, model = run("anthropic", garbage(at_once(nested(levels))), streamed=False)
    assert [record.result.data for record in result.tool_calls] == ["said"]
    assert nested(levels).encode() in model.requests[-1].raw, "it goes back as it came"


def test_the_other_calls_of_the_answer() -> None:
    """They are run as ever, each with its own arguments, and keep all digits."""
    exact = '{"value":[0.1000000000000000055511151231257827,{"input":{"a":1}}]}'
    step = garbage(at_once(exact, nested(300), '{"value":"\\"}]"}', "{}", '{"value":1,"b":2}'))
    result, _ = run("anthropic", step, streamed=False)
    assert [r.call.arguments for r in result.tool_calls] == [
        exact,
        nested(300),
        '{"value":"\\"}]"}',
        "{}",
        '{"value":1,"b":2}',
    ]
    assert [r.result.success for r in result.tool_calls] == [True, False, True, False, True]


@pytest.mark.parametrize(
    "body",
    [b"[" * 100_000, b'{"content":[{"input":' + b"[" * 300, b'{"content":' + nested(300).encode() + b"}", b'{"a":"\\'],
)
def test_what_is_no_answer(body: bytes) -> None:
    """Depth elsewhere, or an answer that ends in it, is none of this API."""
    settings = ModelSettings(model="anthropic:claude-opus-5-5", api_key="k")
    with pytest.raises(ProviderError) as caught:
        resolve(settings).decode(body)
    assert caught.value.category == "bad_response"
