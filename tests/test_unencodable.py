"""Half of a surrogate pair: whatever text has one in it, no run ends by it, and no model is sent it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import AfterValidator

from toolsmith import Agent, Tool, ToolError, ToolResult
from toolsmith.history import dump_messages, load_messages
from toolsmith.messages import Citation, Message, Opaque, Part, Reasoning, Refusal, Text, ToolCall, ToolOutput
from toolsmith.remedies import Remedy
from toolsmith.testing import Api, ScriptedModel, call, raw_call, say

APIS: tuple[Api, ...] = get_args(Api)
HALF = "no page \ud800"
TEXTS = st.text(st.characters(categories=None) | st.characters(categories=["Cs"]), min_size=1, max_size=12)


def run(api: Api, function: Callable[[], Any], **options: Any) -> str:
    """What the model is told of the call."""
    model = ScriptedModel([call("probe"), say("done")])
    agent = Agent(model.provider(api), tools=[Tool(function, name="probe", **options)])
    result = agent.run_sync("go")
    assert result.output == "done"
    model.requests[-1].raw.decode()
    return next(p.text for m in result.messages for p in m.parts if isinstance(p, ToolOutput))


def raising(error: Exception) -> Callable[[], str]:
    def probe() -> str:
        raise error

    return probe


@pytest.mark.parametrize("api", APIS)
@given(text=TEXTS)
@settings(max_examples=15, deadline=None)
def test_any_text_of_a_tools_error_reaches_the_wire(api: Api, text: str) -> None:
    """The law: message, hint and arguments of an error may be any text that Python can hold."""
    told = run(api, raising(ToolError(text, hint=text, use="probe", args={text: text})))
    told.encode()


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize(
    ("function", "options"),
    [
        (raising(ToolError(HALF)), {}),
        (raising(ToolError("no page", hint=HALF)), {}),
        (raising(KeyError("x")), {"on_error": {KeyError: Remedy(HALF, hint=HALF)}}),
        (lambda: ToolResult(False, error=HALF), {}),
        (lambda: ToolResult(True, "data", notes=(HALF,)), {}),
    ],
    ids=["message", "hint", "remedy", "result", "note"],
)
def test_every_way_to_speak_to_the_model(api: Api, function: Callable[[], Any], options: dict[str, Any]) -> None:
    """The half stands as U+FFFD, the rest of the text as it was."""
    assert "no page \ufffd" in run(api, function, **options)


def test_a_result_holds_a_sound_text() -> None:
    """It is mended where a text becomes a result, so that who calls a tool by hand can print it too."""
    assert "\ufffd" in (Tool(raising(ToolError(HALF)), name="probe").call_json_sync("{}").error or "")
    assert ToolResult(False, error="\ud83d\ude00").error == "\N{GRINNING FACE}"


@pytest.mark.parametrize("api", APIS)
def test_words_of_the_tools_own_check(api: Api) -> None:
    """What a validator says of a model's arguments may hold anything too (pydantic itself cannot hold it)."""

    def never(value: str) -> str:
        raise ValueError(HALF)

    def probe(x: Annotated[str, AfterValidator(never)]) -> str:
        return x

    model = ScriptedModel([raw_call("probe", '{"x": "a"}'), say("done")])
    result = Agent(model.provider(api), tools=[probe]).run_sync("go")
    assert (result.tool_calls[0].result.error or "").startswith(
        "`probe` was not run: the check of its arguments failed"
    )


@pytest.mark.parametrize("api", APIS)
def test_prompts_and_instructions(api: Api) -> None:
    """The developer is told at once, and where."""
    agent = Agent(ScriptedModel([say("done")]).provider(api))
    with pytest.raises(ValueError, match=r"The prompt has half of a surrogate pair, '\\ud800', at position 1"):
        agent.run_sync("a\ud800")
    with pytest.raises(ValueError, match="Item 2 of the prompt"):
        agent.run_sync(["a", "b\ud800"])
    with pytest.raises(ValueError, match="instructions"):
        Agent(ScriptedModel([say("done")]).provider(api), instructions="a\ud800")
    agent.instructions = "a\ud800"
    with pytest.raises(ValueError, match="instructions"):
        agent.run_sync("go")


@pytest.mark.parametrize("api", APIS)
def test_a_history_from_elsewhere(api: Api) -> None:
    """What was said before cannot be taken back: it is sent as well as it can be."""
    agent = Agent(ScriptedModel([say("done")]).provider(api))
    history = [Message("user", (Text("a\ud800"),)), Message("assistant", (Text("b\udfff"),))]
    assert agent.run_sync("go", message_history=history).output == "done"


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("stored", [False, True])
@pytest.mark.parametrize(
    "part",
    [
        ToolCall("c1", "probe", '{"x": "\ud800"}'),
        ToolCall("c1", "probe", HALF),
        ToolCall(HALF, "probe", "{}"),
        ToolCall("c1", HALF, "{}"),
        Refusal(HALF),
        Reasoning(HALF),
        Opaque(HALF),
        Text("page", (Citation(HALF, HALF, HALF),)),
    ],
    ids=lambda part: type(part).__name__,
)
def test_any_part_of_a_history_from_elsewhere(api: Api, part: Part, stored: bool) -> None:
    """Every part, as it stands and after it was stored: the half goes out as U+FFFD, also in a call's arguments."""
    said = Message("assistant", (Text("b"), part))
    history = [Message("user", (Text("a"),)), said]
    if isinstance(part, ToolCall):
        history.append(Message("tool", (ToolOutput(part.id, part.name, HALF),)))
    model = ScriptedModel([say("done")])
    agent = Agent(model.provider(api))
    result = agent.run_sync("go", message_history=load_messages(dump_messages(history)) if stored else history)
    assert result.output == "done"
    sent = model.requests[-1].raw.decode()
    if isinstance(part, ToolCall) and part.arguments != HALF:
        assert "invalid_json" not in sent, "what is JSON but for the half is sent as such"


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("arguments", ['{"x": "\\ud800"}', '{"\\ud800": 1}'])
def test_arguments_with_half_a_character(api: Api, arguments: str) -> None:
    """JSON can hold it and text cannot: the model is told. Claude's arguments are no text where they come at once."""

    def probe(x: str) -> str:
        return x

    model = ScriptedModel([raw_call("probe", arguments), say("done")] * 2)
    agent = Agent(model.provider(api), tools=[probe])
    at_once = agent.run_sync("go")
    with agent.run_stream_sync("go") as events:
        assert [*events]
    for result in (at_once, events.result):
        (record,) = result.tool_calls
        if result is at_once and api == "anthropic":
            assert "\N{REPLACEMENT CHARACTER}" in record.call.arguments
        else:
            assert "it holds half of a character at character" in (record.result.error or "")
