"""Histories over the wire: gone on with, handed to another provider, loaded, cut, with tools of every kind."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from wire import APIS, Wire

from toolsmith import Agent, Tool, dump_messages, load_messages, tool
from toolsmith.errors import DefinitionError, ProviderError
from toolsmith.events import ModelSwitched, StrictDemoted, ToolArgumentsDelta, ToolCallStarted, ToolResultReady
from toolsmith.messages import Message, Text, ToolCall, ToolOutput
from toolsmith.testing import Api, Recorded, ScriptedModel, call, fail, pause, raw_call, refuse, say, think, turn


@tool
def add(a: int, b: int = 40) -> int:
    """Add two whole numbers."""
    return a + b


@tool
def lookup(key: str) -> dict[str, Any]:
    """Look something up."""
    return {"key": key, "value": "Größe 🙂"}


def test_a_conversation_goes_on(wire: Wire) -> None:
    """Three runs, one history: append-only, so that thinking bound to its beginning stays good."""
    model = wire.model([think("Hm."), call("add", a=1)], say("41"), call("lookup", key="x"), say("found"), say("bye"))
    agent = Agent(wire.provider(model), tools=[add, lookup], instructions="Be brief.")
    first = wire.run(agent, "1?")
    second = wire.run(agent, "x?", history=first.messages)
    third = wire.run(agent, "Bye!", history=second.messages)
    assert [result.output for result in (first, second, third)] == ["41", "found", "bye"]
    assert len(third.new_messages) == 2
    assert third.messages[: len(second.messages)] == second.messages
    prefixes = [request.messages for request in model.requests]
    for before, after in pairwise(prefixes):
        assert after[: len(before)] == before
    assert len({json.dumps(request.body["tools"]) for request in model.requests}) == 1
    model.assert_exhausted()


@pytest.mark.parametrize("other", APIS)
def test_another_provider_takes_over(wire: Wire, other: Api) -> None:
    """There and back again: ids are mapped, foreign reasoning stays behind, and every request is one that is taken."""
    if other == wire.api:
        return
    here = wire.model([think("Hm."), say("I add."), call("add", a=1), call("add", a=2)], say("41 and 42"), say("home"))
    there = wire.model([think("So."), call("lookup", key="x")], say("found"))
    one = Agent(wire.provider(here), tools=[add, lookup])
    two = Agent(wire.provider(there, other), tools=[add, lookup])
    first = wire.run(one, "go")
    second = wire.run(two, "x?", history=first.messages)
    third = wire.run(one, "And home?", history=second.messages)
    assert (second.output, third.output) == ("found", "home")
    assert [text for _, text in there.requests[1].results] == ['{"key":"x","value":"Größe 🙂"}']
    assert "41 and 42" in there.requests[0].raw.decode()
    assert "found" in here.requests[-1].raw.decode()
    for model in (here, there):
        model.assert_exhausted()


@pytest.mark.parametrize("other", APIS)
def test_another_provider_takes_over_after_every_ending(wire: Wire, other: Api) -> None:
    """A refusal, an empty answer and an answer that was cut are histories too."""
    if wire.driver != "sync":
        return
    for ending in (refuse("No."), turn(), turn(say("Hal"), stop="length"), turn(stop="length"), turn(stop="filter")):
        here, there = wire.model(ending, say("home")), wire.model(say("ok"))
        first = wire.run(Agent(wire.provider(here)), "go")
        second = wire.run(Agent(wire.provider(there, other)), "Again?", history=first.messages)
        third = wire.run(Agent(wire.provider(here)), "And?", history=second.messages)
        assert (second.output, third.output) == ("ok", "home")


def test_ids_that_a_service_does_not_take(wire: Wire) -> None:
    """Ids of other servers, too long or oddly spelt, are mapped, the call's and the result's alike."""
    odd = ["functions.add:0", "x" * 70, "call_1|fc_1", "ü", ""]
    calls = tuple(ToolCall(id, "add", f'{{"a":{n}}}') for n, id in enumerate(odd))
    outputs = tuple(ToolOutput(id, "add", str(n)) for n, id in enumerate(odd))
    history = [Message("user", (Text("go"),)), Message("assistant", calls), Message("tool", outputs)]
    model = wire.model(say("done"))
    result = wire.run(Agent(wire.provider(model), tools=[add]), None, history=history)
    assert result.output == "done"
    assert [text for _, text in model.requests[0].results] == ["0", "1", "2", "3", "4"]


def test_repeated_ids_keep_their_results(wire: Wire) -> None:
    """Ids are labels: a server that gives every call the same one gets each result in its place."""
    made = [call("add", a=1).with_id("call_0"), call("add", a=2).with_id("call_0"), call("add", a=3).with_id("")]
    model = wire.model(made, call("add", a=4).with_id("call_0"), say("done"))
    result = wire.run(Agent(wire.provider(model), tools=[add]), "go")
    assert [record.result.data for record in result.tool_calls] == [41, 42, 43, 44]
    assert [text for _, text in model.requests[1].results] == ["41", "42", "43"]


@pytest.mark.parametrize("sent", ["call_0", "functions.add:0", "again2_x", "a" * 40, "b:" * 30])
def test_ids_that_begin_anew_with_each_turn(wire: Wire, sent: str) -> None:
    """In our history each is there once, as the other services want it; a Chat server is shown its own."""
    if wire.api != "openai-chat" and ":" in sent:
        return  # such ids are mapped anyway
    turns = [call("add", a=n).with_id(sent) for n in (1, 2, 3)]
    model = wire.model(*turns, say("done"))
    result = wire.run(Agent(wire.provider(model), tools=[add]), "go")
    assert [record.result.data for record in result.tool_calls] == [41, 42, 43]
    ids = [record.call.id for record in result.tool_calls]
    assert len(set(ids)) == 3
    if wire.events:
        for kind in (ToolCallStarted, ToolArgumentsDelta, ToolResultReady):
            told = [e.call.id if isinstance(e, ToolResultReady) else e.call_id for e in wire.events if type(e) is kind]
            assert list(dict.fromkeys(told)) == ids
    if wire.api == "openai-chat" and len(sent) <= 40:
        shown = [m["tool_call_id"] for m in model.requests[-1].messages if m["role"] == "tool"]
        assert shown == [sent] * 3
    for other in wire.others:
        elsewhere = wire.model(say("here too"))
        there = Agent(wire.provider(elsewhere, other), tools=[add])
        stored = load_messages(dump_messages(result.messages))
        assert wire.run(there, "And?", history=stored).output == "here too"
        if other == "openai":  # Claude's judge looks itself
            assert len({m["call_id"] for m in elsewhere.requests[0].messages if "call_id" in m}) == 3


def test_a_call_that_no_json_could_hold(wire: Wire) -> None:
    """Broken arguments in a history go to an API that wants an object there, too."""
    broken = Message("assistant", (ToolCall("c1", "add", '{"a": 1, "b'),))
    told = Message("tool", (ToolOutput("c1", "add", "not run", True),))
    model = wire.model(say("done"))
    history = [Message("user", (Text("go"),)), broken, told]
    assert wire.run(Agent(wire.provider(model), tools=[add]), "Well?", history=history).output == "done"


def test_two_texts_of_the_user_in_a_row(wire: Wire) -> None:
    """A history that ends with the user may be gone on with by the user."""
    model = wire.model(say("done"))
    history = [Message("user", (Text("One."),))]
    assert wire.run(Agent(wire.provider(model)), "Two.", history=history).output == "done"


def test_instructions_may_change_between_runs(wire: Wire) -> None:
    """Another agent takes the history over, with other tools and another system text, on the same service."""
    model = wire.model([think("Hm."), call("add", a=1)], say("41"), call("lookup", key="x"), say("found"))
    first = wire.run(Agent(wire.provider(model), tools=[add], instructions="You add."), "1?")
    second = Agent(wire.provider(model), tools=[lookup], instructions="You look up.")
    assert wire.run(second, "x?", history=first.messages).output == "found"


def test_another_model_of_the_same_service(wire: Wire) -> None:
    """Claude's signatures and OpenAI's reasoning are the model's own; the history is still gone on with."""
    other = "claude-sonnet-5-5" if wire.api == "anthropic" else "gpt-6.1-sol"
    model = wire.model([think("Hm."), call("add", a=1)], say("41"), call("add", a=2), say("42"))
    first = wire.run(Agent(wire.provider(model), tools=[add]), "1?")
    second = Agent(wire.provider(model, name=other), tools=[add])
    assert wire.run(second, "2?", history=first.messages).output == "42"


def test_the_next_model_takes_over_in_the_middle(wire: Wire) -> None:
    """A model that fails for good is replaced; finished calls are not repeated, and the rest goes on with the other."""
    ran: list[int] = []

    @tool
    def note(n: int) -> int:
        """Note."""
        ran.append(n)
        return n

    switched: list[ModelSwitched] = []

    def watch(event: object) -> None:
        if isinstance(event, ModelSwitched):
            switched.append(event)

    for other in wire.others:
        ran.clear()
        here = wire.model([think("Hm."), call("note", n=1)], fail("quota"))
        there = wire.model(call("note", n=2), say("done"))
        agent = Agent([wire.provider(here), wire.provider(there, other)], tools=[note], observers=[watch])
        result = wire.run(agent, "go")
        assert (result.output, ran) == ("done", [1, 2])
        assert len(there.requests[0].results) == 1
    assert len(switched) == 2


def test_a_grammar_that_is_too_complex(wire: Wire) -> None:
    """The heaviest tools are offered without strict mode, and the first request is made once more."""
    if wire.api != "anthropic":
        return
    seen: list[StrictDemoted] = []

    def watch(event: object) -> None:
        if isinstance(event, StrictDemoted):
            seen.append(event)

    model = wire.model(fail("grammar"), call("add", a=1), say("41"))
    agent = Agent(wire.provider(model), tools=[add, lookup], observers=[watch])
    assert wire.run(agent, "go").output == "41"
    assert len(seen) == 1
    stricts = [[tool["strict"] for tool in request.tools.values()] for request in model.requests]
    assert stricts[0] == [True, True]
    assert False in stricts[1]
    assert stricts[1] == stricts[2]


def test_forty_tools_keep_to_the_ceilings(wire: Wire) -> None:
    """More tools than a service takes in strict mode: some are loose, in the order given, and all can be called."""

    def make(n: int) -> Any:
        def work(a: int, b: str | None = None, c: int = 3) -> str:
            """Work."""
            return f"{n}:{a}{b}{c}"

        return Tool(work, name=f"work_{n}")

    tools: list[Any] = [make(n) for n in range(40)]
    model = wire.model([call(f"work_{n}", a=n) for n in (0, 20, 39)], say("done"))
    result = wire.run(Agent(wire.provider(model), tools=tools), "go")
    assert [record.result.data for record in result.tool_calls] == ["0:0None3", "20:20None3", "39:39None3"]
    assert list(model.requests[0].tools) == [f"work_{n}" for n in range(40)]


def test_a_tool_that_has_no_strict_form(wire: Wire) -> None:
    """`strict=True` must hold, or offering it is an error before the first request; None goes without."""

    def anything(value: Any, more: dict[str, Any] | None = None) -> str:
        """Take anything."""
        return json.dumps([value, more])

    model = wire.model(call("anything", value=[1, {"x": None}], more={"y": 2}), say("done"))
    result = wire.run(Agent(wire.provider(model), tools=[anything]), "go")
    assert result.tool_calls[0].result.data == '[[1, {"x": null}], {"y": 2}]'
    assert model.requests[0].tools["anything"]["strict"] is False
    with pytest.raises(DefinitionError, match="anything"):
        wire.run(Agent(wire.provider(model), tools=[Tool(anything, strict=True)]), "go")


def test_a_tool_without_parameters(wire: Wire) -> None:
    """Its schema is an object without members, and its arguments are `{}` or nothing at all."""

    @tool
    def now() -> str:
        """Tell the time."""
        return "noon"

    model = wire.model([call("now"), call("now")], say("Noon."))
    result = wire.run(Agent(wire.provider(model), tools=[now]), "go")
    assert [record.result.data for record in result.tool_calls] == ["noon", "noon"]


def test_odd_names_of_parameters(wire: Wire) -> None:
    """Names that a service does not take, or that are words of JSON Schema, are still the function's own."""

    @tool
    def plan(schema: str, type: int, größe: int = 5, *, default: str = "x", **properties: int) -> list[Any]:
        """Plan."""
        return [schema, type, größe, default, properties]

    given = {"schema": "s", "type": 1, "default": "d"}
    model = wire.model(call("plan", given), say("done"))
    result = wire.run(Agent(wire.provider(model), tools=[plan]), "go")
    assert result.tool_calls[0].result.data == ["s", 1, 5, "d", {}]


def test_settings_go_with_each_request(wire: Wire) -> None:
    """The API's own parameters, in its own words; a wrong one is refused here or there, never dropped."""
    settings: dict[Api, dict[str, Any]] = {
        "anthropic": {"max_tokens": 777, "output_config": {"effort": "low"}},
        "openai": {"max_output_tokens": 777, "reasoning": {"effort": "low"}},
        "openai-chat": {"max_completion_tokens": 777, "reasoning_effort": "low"},
    }
    model = wire.model(call("add", a=1), say("41"))
    wire.run(Agent(wire.provider(model), tools=[add], settings=settings[wire.api]), "go")
    for request in model.requests:
        assert {key: request.body[key] for key in settings[wire.api]} == settings[wire.api]


def test_one_call_at_a_time_can_be_asked_for(wire: Wire) -> None:
    """`parallel_tool_calls=False`, in each API's words."""
    model = wire.model(call("add", a=1), say("41"))
    wire.run(Agent(wire.provider(model), tools=[add], parallel_tool_calls=False), "go")
    body = model.requests[0].body
    if wire.api == "anthropic":
        assert body["tool_choice"] == {"type": "auto", "disable_parallel_tool_use": True}
    else:
        assert body["parallel_tool_calls"] is False


def test_many_runs_at_once_keep_apart() -> None:
    """50 conversations of one agent and one model, interleaved: none gets another's results."""
    import asyncio

    def answer(request: Recorded) -> Any:
        name = request.messages[0]["content"]
        name = name if isinstance(name, str) else name[0]["text"]
        if request.turn == 2:
            return say(f"{name}: {request.results[0][1]}")
        return [call("echo", text=f"{name}-{request.turn}")]

    @tool
    async def echo(text: str) -> str:
        """Echo."""
        await asyncio.sleep(0.001)
        return text

    async def all_runs(api: Api, model: ScriptedModel) -> list[str]:
        agent = Agent(model.provider(api), tools=[echo])
        return [result.output for result in await asyncio.gather(*[agent.run(f"run {n}") for n in range(50)])]

    for api in APIS:
        model = ScriptedModel(answer)
        assert asyncio.run(all_runs(api, model)) == [f"run {n}: run {n}-1" for n in range(50)]
        assert not model.refusals


def test_a_paused_history_goes_to_another_provider(wire: Wire) -> None:
    """What only Claude's own service ran stays behind."""
    if wire.api != "anthropic":
        return
    for other in wire.others:
        here, there = wire.model(pause(say("Searching.")), say("Found.")), wire.model(say("ok"))
        first = wire.run(Agent(wire.provider(here)), "go")
        assert wire.run(Agent(wire.provider(there, other)), "And?", history=first.messages).output == "ok"


def test_errors_name_the_model(wire: Wire) -> None:
    """Which model, which status, which request: in the error's text and its attributes."""
    model = wire.model(fail("auth"))
    with pytest.raises(ProviderError) as error:
        wire.run(Agent(wire.provider(model)), "go")
    assert error.value.provider in str(error.value)
    assert error.value.status == 401


@pytest.mark.parametrize(
    "name", ["functions.lookup", "add<|channel|>json", "multi_tool_use.parallel", "größe", "x" * 90, ""]
)
def test_a_name_that_no_service_takes_back_ends_no_run(wire: Wire, name: str) -> None:
    """Models write names that no tool may have; the model is told, and the call goes back under a legal name."""
    model = wire.model(raw_call(name, '{"key": "x"}'), say("sorry"), say("fine"))
    agent = Agent(wire.provider(model), tools=[add, lookup])
    first = wire.run(agent, "go")
    assert first.tool_calls[0].call.name == name
    assert "there is no tool named" in str(first.tool_calls[0].result.error)
    for other in APIS:
        if other != wire.api:
            elsewhere = Agent(wire.provider(wire.model(say("fine")), other), tools=[add, lookup])
            assert wire.run(elsewhere, "And now?", history=first.messages).output == "fine"
    assert wire.run(agent, "And now?", history=load_messages(dump_messages(first.messages))).output == "fine"


@pytest.mark.parametrize("words", ["\n\n", " "])
def test_a_blank_text_of_the_model_ends_no_run(wire: Wire, words: str) -> None:
    """Claude writes such blocks, before calls most of all, and refuses to take them back."""
    model = wire.model([think("Hm."), say(words), call("add", a=1)], say(words), say("fine"))
    agent = Agent(wire.provider(model), tools=[add])
    first = wire.run(agent, "go")
    assert first.output == words
    assert wire.run(agent, "And now?", history=first.messages).output == "fine"
