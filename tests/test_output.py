"""Typed answers and control: `output_type`, `tool_choice`, `allowed_tools`."""

from __future__ import annotations

import dataclasses
import datetime as dt
import json
import threading
from typing import Any, Literal, assert_type

import pytest
from pydantic import BaseModel, Field
from wire import Wire

from toolsmith import Agent, DefinitionError, Limits, OutputError, RunResult, Text, ToolOutput, tool
from toolsmith.approvals import Pending
from toolsmith.testing import ScriptedModel, call, raw_call, say
from toolsmith.testing.script import Step


class Weather(BaseModel):
    city: str
    celsius: float = Field(ge=-90, le=60)
    sky: Literal["clear", "cloudy"] = "clear"


@dataclasses.dataclass
class Span:
    begin: dt.date
    days: int = 1


@tool
def look(city: str) -> str:
    """Look out of the window."""
    return f"{city}: sunny"


@tool
def touch(city: str) -> str:
    """Touch the window pane."""
    return f"{city}: cold"


@tool
def listen(city: str) -> str:
    """Listen to the radio."""
    return f"{city}: music"


def _answer(text: str) -> Step:
    """The model's final answer: in words held to the schema, or by the tool where the service is not told a schema.

    Compatible servers (openai-chat at an address other than OpenAI's own) are not: many ignore it.
    """
    return lambda request: raw_call("final_answer", text) if "final_answer" in request.tools else say(text)


def test_an_answer_is_a_value_of_the_type(wire: Wire) -> None:
    """After tool calls too; the services are told the schema in their own way, and refuse one they do not take."""
    model = wire.model(
        call("look", city="Oslo"), _answer('{"answer": {"city": "Oslo", "celsius": 21.5, "sky": "clear"}}')
    )
    agent = Agent(wire.provider(model), tools=[look], output_type=Weather)
    assert_type(agent, Agent[Weather])
    result: RunResult[Weather] = wire.run(agent, "weather?")
    assert result.output == Weather(city="Oslo", celsius=21.5)
    assert result.stop_reason == "end"


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (int, '{"answer": 3}', 3),
        (list[Span], '{"answer": [{"begin": "2026-01-02", "days": 1}]}', [Span(dt.date(2026, 1, 2))]),
        (Literal["yes", "no"], '{"answer": "yes"}', "yes"),
        (Weather | None, '{"answer": null}', None),
    ],
)
def test_any_type_will_do(kind: Any, text: str, value: Any) -> None:
    agent = Agent(ScriptedModel([say(text)]).provider("openai"), output_type=kind)
    assert agent.run_sync("?").output == value


def test_an_answer_that_does_not_fit_is_told_what_is_wrong(wire: Wire) -> None:
    model = wire.model(
        _answer('{"answer": {"city": "Oslo", "celsius": 700, "sky": "clear"}}'),
        _answer('{"answer": {"city": "Oslo", "celsius": "warm", "sky": "clear"}}'),
        _answer('{"answer": {"city": "Oslo", "celsius": 7, "sky": "clear"}}'),
    )
    result = wire.run(Agent(wire.provider(model), output_type=Weather), "weather?")
    assert result.output.celsius == 7
    told = [
        p.text
        for m in result.messages[1:]
        for p in m.parts
        if isinstance(p, (Text, ToolOutput)) and m.role != "assistant"
    ]
    assert "answer.celsius" in told[0]
    assert "60" in told[0]
    assert "number" in told[1]


def test_an_answer_that_is_no_json_is_told_so() -> None:
    model = ScriptedModel([say('{"answer": {"city": "Oslo", "celsius": 7'), say("It is warm."), say('{"answer": 7}')])
    result = Agent(model.provider("openai"), output_type=int).run_sync("?")
    assert result.output == 7
    told = [m.text for m in result.messages if m.role == "user"][1:]
    assert all("not taken" in t and "JSON" in t for t in told)
    assert len(told) == 2


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (Weather, '{"city": "Oslo", "celsius": 21.5, "sky": "clear"}', Weather(city="Oslo", celsius=21.5)),
        (Weather, '```json\n{"city": "Oslo", "celsius": 21.5, "sky": null}\n```', Weather(city="Oslo", celsius=21.5)),
        (int, "42", 42),
        (list[int], "[1, 2]", [1, 2]),
        (Weather | None, "null", None),
    ],
)
def test_an_answer_without_the_object_around_it_is_read_as_meant(
    kind: Any, text: str, value: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """Servers that do not hold the model to the schema let it leave `{"answer": ...}` out; the log has a word of it."""
    caplog.set_level("INFO", logger="toolsmith")
    model = ScriptedModel([say(text)])
    assert Agent(model.provider("openai"), output_type=kind).run_sync("?").output == value
    assert len(model.requests) == 1
    assert [r.message for r in caplog.records if "answer" in r.message] == [
        'An answer was read as {"answer": ...}: the model left that object out.'
    ]


@pytest.mark.parametrize("api", ["openai", "anthropic"])
@pytest.mark.parametrize(
    ("kind", "text", "said"),
    [
        (int, "It is warm.", 'The whole answer is one JSON object, {"answer": ...}, and `answer` is a whole number.'),
        (Weather, '{"town": "Oslo"}', '{"answer": ...}, and `answer` is an object with `city` and `celsius`'),
        (Weather, '{"answer": {"city": "Oslo", "celsius": 7}, "note": "x"}', "`note` is not part of the answer."),
        (int, '{"answer": 7.5}', "`answer` must be a whole number; you sent 7.5."),
    ],
)
def test_what_is_wrong_with_an_answer_is_said_without_a_tool_that_was_never_offered(
    kind: Any, text: str, said: str, api: Literal["openai", "anthropic"]
) -> None:
    """A service that is told the schema of the answer offers no `final_answer`."""
    model = ScriptedModel([say(text), *[say("no")] * 3])
    with pytest.raises(OutputError) as caught:
        Agent(model.provider(api), output_type=kind).run_sync("?")
    told = [m.text for m in caught.value.messages if m.role == "user"][1]
    assert said in told
    assert told.startswith("Your answer was not taken")
    assert "final_answer" not in told
    assert "argument" not in told


def test_a_model_that_never_fits_ends_in_an_error_that_keeps_the_work(wire: Wire) -> None:
    model = wire.model(*[say("no")] * 3)
    with pytest.raises(OutputError) as caught:
        wire.run(Agent(wire.provider(model), output_type=int), "number?")
    assert [m.text for m in caught.value.messages if m.role == "assistant"] == ["no"] * 3
    assert caught.value.usage is not None
    assert caught.value.usage.requests == 3


def _free() -> Any:
    """A type without a strict form, so that the answer goes by a tool."""
    return dict[str, Any]


def test_where_the_schema_cannot_be_held_the_answer_goes_by_a_tool(wire: Wire) -> None:
    """The model is offered `final_answer`; words are not taken, wrong arguments are told, other calls are closed."""
    model = wire.model(
        [call("look", city="Oslo")],
        say("It is sunny."),
        [call("final_answer", answer=3)],
        [call("look", city="Bergen"), call("final_answer", answer={"sky": "clear"})],
    )
    result = wire.run(Agent(wire.provider(model), tools=[look], output_type=_free()), "weather?")
    assert result.output == {"sky": "clear"}
    assert "final_answer" in [m.text for m in result.messages if m.role == "user"][1]
    outputs = [p for m in result.messages if m.role == "tool" for p in m.parts if isinstance(p, ToolOutput)]
    assert [o.is_error for o in outputs] == [False, True, True, False]
    assert [r.ran for r in result.tool_calls] == [True, False, False, False]


@dataclasses.dataclass
class Report:
    """A type without a strict form, so that the answer goes by a tool."""

    title: str = "none"
    more: dict[str, Any] = dataclasses.field(default_factory=dict[str, Any])


@pytest.mark.parametrize("kind", [Report, Report | None])
def test_a_bare_object_in_the_answers_call_is_read_as_meant(wire: Wire, kind: Any) -> None:
    """Models leave the object around it out: what can mean nothing else is taken."""
    model = wire.model([raw_call("final_answer", '{"title":"Oslo","more":{"sky":1}}')])
    result = wire.run(Agent(wire.provider(model), output_type=kind), "weather?")
    assert result.output == Report("Oslo", {"sky": 1})


@pytest.mark.parametrize("sent", ["{}", '{"result":{"title":"Oslo"}}', '{"title":3}', '{"answer":3}', '{"sky":1}'])
def test_a_bare_object_that_may_mean_something_else_is_refused(wire: Wire, sent: str) -> None:
    """Nothing at all, a wrapper of another name, what does not fit: no answers, though all members are optional."""
    model = wire.model([raw_call("final_answer", sent)], [call("final_answer", answer={"title": "Oslo"})])
    result = wire.run(Agent(wire.provider(model), output_type=Report), "weather?")
    assert result.output == Report("Oslo")
    assert [record.result.success for record in result.tool_calls] == [False, True]


def test_the_closing_turn_answers_by_the_tool(wire: Wire) -> None:
    model = wire.model(call("look", city="Oslo"), call("final_answer", answer={"sky": "clear"}))
    agent = Agent(wire.provider(model), tools=[look], output_type=_free(), limits=Limits(turns=1))
    result = wire.run(agent, "weather?")
    assert result.output == {"sky": "clear"}
    assert result.stop_reason == "turn_limit"


def test_a_type_that_no_json_carries_is_told_before_a_request() -> None:
    model = ScriptedModel([say("x")])
    with pytest.raises(DefinitionError, match="output_type"):
        Agent(model.provider("openai"), output_type=threading.Lock).run_sync("?")
    assert model.requests == []


def test_a_forced_choice_is_for_the_first_request(wire: Wire) -> None:
    """Forced each time, a model could never answer; a service that refuses force is asked with «auto»."""
    model = wire.model(call("look", city="Oslo"), say("sunny"))
    result = wire.run(Agent(wire.provider(model), tools=[look, listen]), "weather?", tool_choice="look")
    assert result.output == "sunny"
    first, second = model.requests
    assert second.body.get("tool_choice") in (None, "auto", {"type": "auto"})
    if wire.api != "anthropic":
        assert "look" in str(first.body["tool_choice"])


def test_tools_that_are_not_allowed_are_refused_and_the_list_stays(wire: Wire) -> None:
    model = wire.model([call("listen", city="Oslo"), call("look", city="Oslo")], say("sunny"))
    result = wire.run(Agent(wire.provider(model), tools=[look, listen]), "weather?", allowed_tools=["look"])
    assert [r.ran for r in result.tool_calls] == [False, True]
    assert "`look`" in (result.tool_calls[0].result.error or "")
    assert set(model.requests[0].tools) == {"look", "listen"}


def test_openai_is_told_which_tools_a_turn_may_call(wire: Wire) -> None:
    """Natively, in each API's own form, in the order of the tool list; other servers are sent what they know."""
    model = wire.model(call("look", city="Oslo"), say("sunny"))
    agent = Agent(wire.provider(model), tools=[look, listen, touch])
    wire.run(agent, "weather?", allowed_tools={"touch", "look"}, tool_choice="required")
    first, second = (request.body.get("tool_choice") for request in model.requests)
    if wire.api == "anthropic" or wire.door == "socket":  # which is at an address that is not OpenAI's
        assert second is None
        return
    tools: Any = [{"type": "function", "name": "look"}, {"type": "function", "name": "touch"}]
    if wire.api == "openai":
        shape = {"type": "allowed_tools", "mode": "required", "tools": tools}
        assert (first, second) == (shape, {**shape, "mode": "auto"})
        return
    tools = [{"type": "function", "function": {"name": tool["name"]}} for tool in tools]
    inner = {"mode": "required", "tools": tools}
    assert first == {"type": "allowed_tools", "allowed_tools": inner}
    assert second == {"type": "allowed_tools", "allowed_tools": {**inner, "mode": "auto"}}


def test_each_turn_may_have_tools_of_its_own(wire: Wire) -> None:
    """A function names them by the turn's number; the tool list keeps its bytes, and calls of others are refused."""
    asked: list[int] = []

    def allowed(turn: int) -> list[str] | None:
        asked.append(turn)
        return {1: ["look"], 2: []}.get(turn)

    calls = [call("listen", city="Oslo"), call("look", city="Oslo")]
    model = wire.model(calls, call("look", city="Bergen"), call("listen", city="Bergen"), say("sunny"))
    result = wire.run(Agent(wire.provider(model), tools=[look, listen]), "weather?", allowed_tools=allowed)
    assert asked == [1, 2, 3, 4]
    assert [r.ran for r in result.tool_calls] == [False, True, False, True]
    assert len({json.dumps(request.body["tools"]) for request in model.requests}) == 1
    if wire.api != "anthropic" and wire.door != "socket":
        assert [r.body.get("tool_choice") for r in model.requests[1:]] == ["none", None, None]


def test_the_answers_own_tool_is_always_allowed(wire: Wire) -> None:
    """Else a typed run that may call nothing else could never end."""
    model = wire.model(call("final_answer", answer={"sky": "clear"}))
    agent = Agent(wire.provider(model), tools=[look, listen], output_type=_free())
    assert wire.run(agent, "weather?", allowed_tools=["look"]).output == {"sky": "clear"}
    if wire.api != "anthropic" and wire.door != "socket":
        assert "final_answer" in str(model.requests[0].body["tool_choice"])


def test_a_restriction_holds_after_a_wait(wire: Wire) -> None:
    """A run that waited for a person, and went on in another process, may not call more than before."""
    ran: list[str] = []

    @tool(requires_approval=True)
    def book(city: str) -> str:
        """Book a room."""
        ran.append(city)
        return "booked"

    model = wire.model(call("book", city="Oslo"), call("look", city="Oslo"), say("booked"))
    agent = Agent(wire.provider(model), tools=[book, look])
    waiting = wire.run(agent, "book", allowed_tools=["book"])
    assert waiting.pending is not None
    result = agent.resume_sync(Pending.load(waiting.pending.dump()), approve=True)
    assert (ran, [r.ran for r in result.tool_calls]) == (["Oslo"], [True, False])


def test_hosted_tools_are_not_restricted() -> None:
    """They are the service's own, from the settings: they stay in reach beside the allowed ones."""
    hosted = {"type": "mcp", "server_label": "docs", "server_url": "https://example.org", "require_approval": "never"}
    model = ScriptedModel([say("x")])
    agent = Agent(model.provider("openai"), tools=[look, listen], settings={"tools": [{"type": "web_search"}, hosted]})
    agent.run_sync("?", allowed_tools=["look"])
    assert model.requests[0].body["tool_choice"]["tools"] == [
        {"type": "function", "name": "look"},
        {"type": "web_search"},
        {"type": "mcp", "server_label": "docs"},
    ]


def test_a_choice_that_may_not_be_made() -> None:
    model = ScriptedModel([say("x")])
    with pytest.raises(ValueError, match="allowed_tools"):
        Agent(model.provider("openai"), tools=[look, listen]).run_sync(
            "?", tool_choice="look", allowed_tools=["listen"]
        )
    assert model.requests == []


@pytest.mark.parametrize("options", [{"tool_choice": "lok"}, {"allowed_tools": ["lok"]}])
def test_a_misspelt_name_is_told_at_once(options: Any) -> None:
    model = ScriptedModel([say("x")])
    with pytest.raises(KeyError, match="look"):
        Agent(model.provider("openai"), tools=[look]).run_sync("?", **options)
    assert model.requests == []
