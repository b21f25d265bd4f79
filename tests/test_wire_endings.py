"""Every way in which a turn, a request or a run can end, over the wire; and that nothing is lost by it."""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from test_stop_reasons import go
from wire import APIS, DRIVERS, Driver, Wire

from toolsmith import Agent, tool
from toolsmith.errors import ErrorCategory, ProviderError
from toolsmith.events import RequestRetried
from toolsmith.limits import Limits
from toolsmith.messages import Opaque, Refusal, Usage
from toolsmith.testing import (
    Api,
    ScriptedModel,
    block,
    call,
    deliver,
    drop,
    fail,
    garbage,
    html,
    pause,
    raw_call,
    refuse,
    say,
    turn,
)
from toolsmith.testing.script import Scripted

RAN: list[int] = []


@tool
def add(a: int, b: int = 40) -> int:
    """Add two whole numbers."""
    RAN.append(a)
    return a + b


def agent(wire: Wire, model: ScriptedModel, **options: Any) -> Agent:
    RAN.clear()
    return Agent(wire.provider(model), tools=[add], **options)


@pytest.mark.parametrize("stop", ["length", "filter", "unknown"])
def test_a_turn_that_ended_badly(wire: Wire, stop: Any) -> None:
    """The run ends with the reason, the words so far and a history that can be gone on with."""
    model = wire.model(turn(say("Half an ans"), stop=stop), say("Now all of it."))
    asking = agent(wire, model)
    result = wire.run(asking, "go")
    # Claude has no content filter of its own: it declines
    expected = "refusal" if stop == "filter" and wire.api == "anthropic" else stop
    assert (result.output, result.stop_reason) == ("Half an ans", expected)
    assert wire.run(asking, "Again?", history=result.messages).output == "Now all of it."


def test_a_refusal(wire: Wire) -> None:
    """It has a name of its own and keeps its words; it is not asked for again."""
    model = wire.model(refuse("I will not."), say("Fine."))
    asking = agent(wire, model)
    result = wire.run(asking, "go")
    assert result.stop_reason == "refusal"
    assert [part.text for part in result.messages[-1].parts if isinstance(part, Refusal)] == ["I will not."]
    assert len(model.requests) == 1
    assert wire.run(asking, "Something else, then.", history=result.messages).output == "Fine."


@pytest.mark.parametrize("stop", ["filter", "unknown"])
def test_calls_of_a_turn_that_ended_badly_are_not_run(wire: Wire, stop: Any) -> None:
    """They are answered all the same, so that the history stays valid."""
    model = wire.model(turn(say("I"), call("add", a=1), stop=stop), say("Fine."))
    asking = agent(wire, model)
    result = wire.run(asking, "go")
    assert (RAN, [record.ran for record in result.tool_calls]) == ([], [False])
    assert wire.run(asking, "Again?", history=result.messages).output == "Fine."


def test_a_call_cut_at_the_output_limit(wire: Wire) -> None:
    """Not run, also where what is left of it parses; the model hears that it was cut, and once only."""
    cut = turn(call("add", a=12345, b=6).cut(8), stop="length")
    model = wire.model(cut, call("add", a=1), cut)
    result = wire.run(agent(wire, model), "go")
    assert (RAN, result.stop_reason) == ([1], "length")
    assert [record.ran for record in result.tool_calls] == [False, True, False]
    assert "length limit" in model.requests[1].results[0][1]


def test_a_whole_call_in_a_turn_that_was_cut(wire: Wire) -> None:
    """The first of two calls is complete; whether it was meant so nobody knows, and so it is not run."""
    model = wire.model(turn(call("add", a=1, b=2), call("add", a=3).cut(3), stop="length"), call("add", a=1), say("41"))
    result = wire.run(agent(wire, model), "go")
    assert (RAN, result.output) == ([1], "41")


def test_a_call_without_a_closing_brace_is_never_run(wire: Wire) -> None:
    """A turn that claims to be finished, with arguments that are not."""
    if not wire.carries_any_arguments:
        return
    model = wire.model(raw_call("add", '{"a": 1'), say("Sorry."))
    result = wire.run(agent(wire, model), "go")
    assert (RAN, result.output) == ([], "Sorry.")


def test_a_full_context(wire: Wire) -> None:
    """Claude ends the turn with a reason; OpenAI refuses the request. Both keep the history."""
    model = wire.model(call("add", a=1), turn(say("Ha"), stop="context"))
    asking = agent(wire, model)
    if wire.api == "anthropic":
        result = wire.run(asking, "go")
        assert (result.stop_reason, len(result.messages)) == ("context", 4)
        return
    with pytest.raises(ProviderError) as error:
        wire.run(asking, "go")
    assert (error.value.category, error.value.retryable) == ("context", False)
    assert [message.role for message in error.value.messages] == ["user", "assistant", "tool"]


def test_an_empty_answer(wire: Wire) -> None:
    """It is an answer; and it is not sent back empty, which the services refuse."""
    model = wire.model(call("add", a=1), turn(), say("Well: 41."))
    asking = agent(wire, model)
    result = wire.run(asking, "go")
    assert (result.output, result.stop_reason) == ("", "end")
    assert wire.run(asking, "Well?", history=result.messages).output == "Well: 41."


def test_a_turn_that_pauses(wire: Wire) -> None:
    """Claude pauses a long turn; it goes back as it is, without a word between, and the turn goes on."""
    if wire.api != "anthropic":
        return
    model = wire.model(pause(say("Searching.")), call("add", a=1), say("41"))
    result = wire.run(agent(wire, model), "go")
    assert (result.output, result.stop_reason) == ("41", "end")
    assert [message["role"] for message in model.requests[1].messages] == ["user", "assistant"]


def test_a_turn_that_pauses_at_a_limit(wire: Wire) -> None:
    """Its other half comes first: between the two the service takes no word of ours."""
    if wire.api != "anthropic":
        return
    model = wire.model(pause(say("Searching.")), call("add", a=1), say("41"))
    result = wire.run(agent(wire, model, limits=Limits(turns=1)), "go")
    assert [message["role"] for message in model.requests[1].messages] == ["user", "assistant"]
    assert (result.output, result.stop_reason) == ("41", "turn_limit")


def test_what_nobody_knows_yet_is_echoed(wire: Wire) -> None:
    """An unknown block or item is carried in the history and goes back byte for byte."""
    strange = {"type": "hologram", "id": "holo_1", "data": {"x": [1, None, "é"], "y": 1.0}}
    if wire.api == "openai-chat":
        strange = {"holograms": [strange]}
    model = wire.model([block(strange), call("add", a=1)], say("41"))
    result = wire.run(agent(wire, model), "go")
    assert result.output == "41"
    sent = '{"type":"hologram","id":"holo_1","data":{"x":[1,null,"é"],"y":1.0}}'
    assert sent.encode() in model.requests[1].raw
    if wire.api != "openai-chat":
        assert [part for part in result.messages[1].parts if isinstance(part, Opaque)] == [Opaque("hologram")]


def test_usage_has_one_meaning(wire: Wire) -> None:
    """Input counts the cached part on all three services, and output the reasoning."""
    usage = Usage(1000, 50, cached_tokens=600, cache_write_tokens=100, reasoning_tokens=20)
    model = wire.model(turn(call("add", a=1), usage=usage), turn(say("41"), usage=usage))
    result = wire.run(agent(wire, model), "go")
    assert result.usage == Usage(2000, 100, 1200, 200, 40, 2)


CATEGORIES: dict[ErrorCategory, bool] = {
    "quota": False,
    "auth": False,
    "not_found": False,
    "bad_request": False,
    "context": False,
}


@pytest.mark.parametrize("category", list(CATEGORIES))
def test_failures_that_will_not_pass_are_not_repeated(wire: Wire, category: ErrorCategory) -> None:
    """One request each; the error has the category, and the history up to the last complete turn."""
    model = wire.model(call("add", a=1), fail(category, retry_after=1))
    with pytest.raises(ProviderError) as error:
        wire.run(agent(wire, model), "go")
    assert (error.value.category, error.value.retryable, len(model.requests)) == (category, False, 2)
    assert error.value.request_id == "req_000001"
    assert [message.role for message in error.value.messages] == ["user", "assistant", "tool"]


def test_a_run_goes_on_after_an_error(wire: Wire) -> None:
    """`message_history=error.messages` and no prompt: finished calls are not repeated."""
    model = wire.model(call("add", a=1), fail("auth"), say("41"))
    asking = agent(wire, model)
    with pytest.raises(ProviderError) as error:
        wire.run(asking, "go")
    result = wire.run(asking, None, history=error.value.messages)
    assert (result.output, RAN) == ("41", [1])


PASSING: dict[str, tuple[Scripted, ErrorCategory]] = {
    "rate limit": (fail("rate_limit", retry_after=0), "rate_limit"),
    "overloaded": (fail("overloaded"), "overloaded"),
    "server": (fail("server"), "server"),
    "gateway": (fail(502), "server"),
    "dropped": (drop(), "connection"),
    "cut": (deliver(say("Hello"), cut=60), "connection"),
}


def repeated(api: Api, driver: Driver, fault: Scripted, category: ErrorCategory) -> None:
    """A run in which one request fails in a way that may pass."""
    ran: list[int] = []
    seen: list[RequestRetried] = []

    @tool
    def note(n: int) -> int:
        """Note."""
        ran.append(n)
        return n

    def watch(event: object) -> None:
        if isinstance(event, RequestRetried):
            seen.append(event)

    model = ScriptedModel([call("note", n=1), fault, say("noted")])
    with model.serve() as server:
        result = go(Agent(server.provider(api), tools=[note], observers=[watch]), "go", driver=driver)
    assert (result.output, ran) == ("noted", [1])
    assert [(e.error.category, e.attempt) for e in seen if isinstance(e.error, ProviderError)] == [(category, 1)]
    assert model.requests[1].raw == model.requests[2].raw
    model.assert_exhausted()


@pytest.mark.parametrize("name", PASSING)
def test_failures_that_may_pass_are_repeated(name: str) -> None:
    """The same bytes again, after a wait that is told to observers; no call is run twice."""
    cells: list[tuple[Api, Driver]] = [(api, driver) for api in APIS for driver in DRIVERS]
    with ThreadPoolExecutor(len(cells)) as threads:  # the waits are real: side by side
        for done in [threads.submit(repeated, api, driver, *PASSING[name]) for api, driver in cells]:
            done.result()


def test_a_page_of_a_proxy(wire: Wire) -> None:
    """HTML with status 200 is no answer: said so, and not repeated."""
    model = wire.model(html(), say("never"))
    with pytest.raises(ProviderError) as error:
        wire.run(agent(wire, model), "go")
    assert (error.value.category, len(model.requests)) == ("bad_response", 1)
    assert "<!DOCTYPE html>" in str(error.value)


def test_half_json(wire: Wire) -> None:
    """With status 200: no answer either."""
    model = wire.model(garbage('{"id": "x", "type": "message", "content": ['))
    with pytest.raises(ProviderError) as error:
        wire.run(agent(wire, model), "go")
    assert error.value.category == "bad_response"


def test_slow_and_torn_bytes(wire: Wire) -> None:
    """Chunks cut anywhere, also inside a character or an event, change nothing."""
    model = wire.model(
        deliver([say("Größe 🙂"), call("add", a=1)], packet=3),
        deliver(say("Ü 🙂 ende"), packet=1, chop=1),
    )
    result = wire.run(agent(wire, model), "go")
    assert (result.output, result.messages[1].text, RAN) == ("Ü 🙂 ende", "Größe 🙂", [1])


def test_a_late_answer_meets_the_runs_end(wire: Wire) -> None:
    """`Limits(seconds=...)` holds also while the service says nothing."""
    model = wire.model(call("add", a=1), deliver(say("late"), delay=20))
    begun = time.monotonic()
    result = wire.run(agent(wire, model, limits=Limits(seconds=0.25)), "go")
    assert time.monotonic() - begun < 10
    assert (result.stop_reason, RAN) == ("time_limit", [1])


@pytest.mark.parametrize("quirk", [
    ("no_index",), ("same_index",), ("same_index", "repeat_names"), ("repeat_names",), ("no_id",), ("dict_arguments",),
    ("no_usage",), ("finish_stop",), ("no_done",),
])  # fmt: skip
def test_servers_that_are_nearly_compatible(quirk: Any) -> None:
    """Two calls of one turn stay two, with their own arguments, whatever the server does to ids and indexes."""
    made = [call("add", a=1, b=2), call("add", a=3, b=4)]
    for stream in (False, True):
        model = ScriptedModel([deliver(made, quirks=quirk), say("3 and 7")])
        asking = Agent(model.provider("openai-chat"), tools=[add])
        if stream:
            with asking.run_stream_sync("go") as events:
                list(events)
            result = events.result
        else:
            result = asking.run_sync("go")
        assert result.output == "3 and 7"
        assert [record.result.data for record in result.tool_calls] == [3, 7]
        model.assert_exhausted()


def unread(generation: str) -> Scripted:
    """A 400 in the words of a server that reads calls itself, and could not."""
    words = "Failed to call a function. Please adjust your prompt. See 'failed_generation' for more details."
    error = {"message": words, "type": "invalid_request_error", "code": "tool_use_failed"}
    return garbage(json.dumps({"error": {**error, "failed_generation": generation}}), status=400)


@pytest.mark.parametrize(("generation", "says"), [
    ('{"name": "add", "arguments": {"a": "one"}}', "`a` must be a whole number"),
    ('[{"name": "sum_up", "parameters": {"a": 1}}]', "no tool named `sum_up`"),
    ('{"type": "function", "function": {"name": "add", "arguments": "{\\"b\\": 2}"}}', "`a` is missing"),
    ('<function=add{"a": "x"}</function>', "`a` must be a whole number"),
    ("add(a=1", "could not be read as a tool call"),
    ('["add", 1]', "could not be read as a tool call"),
])  # fmt: skip
def test_a_call_that_the_server_could_not_read(wire: Wire, generation: str, says: str) -> None:
    """Some servers answer bad calls with a 400. The model hears what was wrong and what there is, and tries again."""
    if wire.api != "openai-chat":
        return
    model = wire.model(unread(generation), call("add", a=1), say("41"))
    result = wire.run(agent(wire, model), "go")
    assert (result.output, RAN) == ("41", [1])
    assert says in json.dumps(model.requests[1].messages, ensure_ascii=False)


def test_a_call_that_only_the_server_could_not_read(wire: Wire) -> None:
    """It is whole, and fits: then it is a call like any other."""
    if wire.api != "openai-chat":
        return
    model = wire.model(unread('<function=add>{"a": 1}</function><function=add>{"a": 2}</function>'), say("both"))
    result = wire.run(agent(wire, model), "go")
    assert (result.output, sorted(RAN)) == ("both", [1, 2])


def test_a_call_that_the_server_could_not_read_in_a_stream(wire: Wire) -> None:
    """The error comes as an event then, maybe behind words that somebody has read already."""
    if wire.api != "openai-chat" or "stream" not in wire.driver:
        return
    said = {"id": "c", "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": "I add."}}]}
    wrote = '{"name": "add", "arguments": {"a": "one"}}'
    error = {"error": {"message": "Failed.", "code": "tool_use_failed", "failed_generation": wrote}}
    events = "".join(f"data: {json.dumps(event)}\n\n" for event in (said, error))
    model = wire.model(garbage(events, content_type="text/event-stream"), call("add", a=1), say("41"))
    result = wire.run(agent(wire, model), "go")
    assert (result.output, RAN) == ("41", [1])
    assert [record.ran for record in result.tool_calls] == [False, True]


def test_a_server_that_can_read_nothing(wire: Wire) -> None:
    """Not for ever; the error has the history, and the run can go on from there."""
    if wire.api != "openai-chat":
        return
    model = wire.model(call("add", a=1), *[unread("add(a=1")] * 4, say("41"))
    asking = agent(wire, model)
    with pytest.raises(ProviderError) as error:
        wire.run(asking, "go")
    assert (error.value.code, len(model.requests)) == ("tool_use_failed", 5)
    assert wire.run(asking, None, history=error.value.messages).output == "41"
    assert RAN == [1]


def test_a_turn_that_pauses_for_ever(wire: Wire) -> None:
    """Each pause is a request: there is an end to them."""
    if wire.api != "anthropic":
        return
    model = wire.model(*[pause(say("Still searching."))] * 20, say("Here."))
    asking = agent(wire, model)
    result = wire.run(asking, "go")
    assert (result.stop_reason, len(model.requests)) == ("unknown", 20)
    assert wire.run(asking, "And?", history=result.messages).output == "Here."


def test_a_model_that_never_stops_calling(wire: Wire) -> None:
    """Limits hold that nobody has set: each call is another one, so that only the number of turns stops them."""
    model = wire.answering(lambda r: call("add", a=r.number) if r.number < 25 else say("Enough."))
    result = wire.run(agent(wire, model), "go")
    assert (result.output, result.stop_reason, result.turns) == ("Enough.", "turn_limit", 25)


def test_a_stream_that_just_ends(wire: Wire) -> None:
    """Without its terminal event an answer is not finished: its calls are not run, and it is asked for again."""
    if "stream" not in wire.driver:
        return
    model = wire.model(deliver([say("I add."), call("add", a=1)], unfinished=True), say("Better."))
    asking = agent(wire, model)
    with pytest.raises(ProviderError) as error:
        wire.run(asking, "go")
    assert (error.value.category, RAN) == ("connection", [])


def test_an_error_inside_a_stream(wire: Wire) -> None:
    """After the first words nothing is repeated; before them it is."""
    if "stream" not in wire.driver:
        return
    model = wire.model(
        deliver(say("Hello there, you"), error="overloaded", error_after=1),
        deliver(say("Hello there, you"), error="overloaded", chop=1),
    )
    with pytest.raises(ProviderError) as error:
        wire.run(agent(wire, model), "go")
    assert error.value.category == "overloaded"
    model.assert_exhausted()
