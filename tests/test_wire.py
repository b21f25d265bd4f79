"""A run over the wire: every API, blocking and not, streamed and not, in process and over a real socket.

What the model is told is read from the next request, in the words of each API; what the caller gets from the result.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from typing import Any, Literal

from wire import Wire

from toolsmith import Agent, ToolError, tool
from toolsmith.events import TextDelta, ToolArgumentsDelta, ToolCallStarted
from toolsmith.limits import Limits
from toolsmith.testing import ScriptedModel, call, raw_call, say, think
from toolsmith.testing.recorded import dicts


@tool
def add(a: int, b: int = 40) -> int:
    """Add two whole numbers.

    Args:
        a: the first.
        b: the second.
    """
    return a + b


@tool
def find(query: str, kinds: set[Literal["red", "blue"]] | None = None, weights: dict[str, int] | None = None) -> Any:
    """Find things."""
    return {"query": query, "kinds": sorted(kinds or ()), "weights": weights or {}}


def told(model: ScriptedModel, request: int = -1) -> list[str]:
    """What the model was told of its last round of calls."""
    return [text for _, text in model.requests[request].results]


def test_a_plain_answer(wire: Wire) -> None:
    """No tools: one request, and the words."""
    model = wire.model(say("Hello. Grüße! 🙂"))
    result = wire.run(Agent(wire.provider(model), instructions="Be kind."), "Hi")
    assert (result.output, result.stop_reason) == ("Hello. Grüße! 🙂", "end")
    assert [message.role for message in result.messages] == ["user", "assistant"]
    assert model.requests[0].prompt == "Hi"
    assert model.requests[0].instructions == "Be kind."
    model.assert_exhausted()


def test_one_call(wire: Wire) -> None:
    """The call is run, the model is told, and it answers."""
    model = wire.model([say("I add."), call("add", a=1, b=2)], say("3"))
    result = wire.run(Agent(wire.provider(model), tools=[add]), "1 + 2?")
    assert result.output == "3"
    assert told(model) == ["3"]
    assert [(r.call.name, json.loads(r.call.arguments), r.result.data) for r in result.tool_calls] == [
        ("add", {"a": 1, "b": 2}, 3)
    ]
    assert [message.role for message in result.messages] == ["user", "assistant", "tool", "assistant"]
    assert result.usage.requests == 2
    assert result.usage.input_tokens > result.usage.output_tokens > 0
    model.assert_exhausted()


def test_pythons_own_defaults_apply(wire: Wire) -> None:
    """An argument that the model leaves out, as null where a strict mode makes it, is left out of the Python call."""
    model = wire.model(call("add", a=2), call("find", query="x"), say("done"))
    result = wire.run(Agent(wire.provider(model), tools=[add, find]), "go")
    assert [record.result.data for record in result.tool_calls] == [42, {"query": "x", "kinds": [], "weights": {}}]


def test_values_survive_the_form_of_each_mode(wire: Wire) -> None:
    """Sets, enumerations and dicts come back as the function declares them, whatever form the mode gave them."""
    model = wire.model(call("find", query="ü", kinds=["red", "blue", "red"], weights={"a": 1, "b b": 2}), say("done"))
    result = wire.run(Agent(wire.provider(model), tools=[find]), "go")
    assert result.tool_calls[0].result.data == {"query": "ü", "kinds": ["blue", "red"], "weights": {"a": 1, "b b": 2}}
    # on a server that is not OpenAI's own, Chat Completions is not asked for strict mode unless a tool insists
    compatible = wire.api == "openai-chat" and wire.door == "socket"
    assert model.requests[0].tools["find"]["strict"] is not compatible


def test_parallel_calls_run_at_once_and_are_answered_in_order(wire: Wire) -> None:
    """Sync and async tools of one turn overlap; the answers stand in the model's order, not in that of ending."""
    together = threading.Barrier(2, timeout=20)

    @tool
    def meet(name: str) -> str:
        """Meet."""
        together.wait()
        time.sleep(0.02 if name == "a" else 0)
        return name

    @tool
    async def meet_async(name: str) -> str:
        """Meet."""
        await asyncio.sleep(0.01)
        return name

    calls = [call("meet", name="a"), call("meet_async", name="b"), call("meet", name="c"), call("meet_async", name="d")]
    model = wire.model(calls, say("done"))
    result = wire.run(Agent(wire.provider(model), tools=[meet, meet_async]), "go")
    assert told(model) == ["a", "b", "c", "d"]
    assert [record.result.data for record in result.tool_calls] == ["a", "b", "c", "d"]


def test_a_sequential_tool_is_a_barrier(wire: Wire) -> None:
    """It waits for all calls before it, and the calls after it wait for it."""
    log: list[str] = []
    meeting = asyncio.Barrier(2)

    @tool
    async def look(n: int) -> int:
        """Look."""
        log.append(f"look {n}")
        if n < 3:  # these two run at the same time, though the second may begin late
            await meeting.wait()
        await asyncio.sleep(0.01)
        log.append(f"looked {n}")
        return n

    @tool(sequential=True)
    def write(n: int) -> int:
        """Write."""
        log.append(f"write {n}")
        time.sleep(0.01)
        log.append(f"wrote {n}")
        return n

    model = wire.model([call("look", n=1), call("look", n=2), call("write", n=3), call("look", n=4)], say("done"))
    wire.run(Agent(wire.provider(model), tools=[look, write]), "go")
    assert set(log[:2]) == {"look 1", "look 2"}
    assert set(log[2:4]) == {"looked 1", "looked 2"}
    assert log[4:] == ["write 3", "wrote 3", "look 4", "looked 4"]
    assert told(model) == ["1", "2", "3", "4"]


def test_a_failing_tool_is_repaired_by_another(wire: Wire) -> None:
    """The error names the remedy; the model takes it, and the first call then works."""
    built: list[str] = []

    @tool
    def search(query: str) -> str:
        """Search the index."""
        if not built:
            raise ToolError("There is no index.", use="build_index", args={"path": "docs"})
        return f"{query} found in {built[0]}"

    @tool
    def build_index(path: str) -> None:
        """Build the index."""
        built.append(path)

    model = wire.model(
        call("search", query="x"), call("build_index", path="docs"), call("search", query="x"), say("ok")
    )
    result = wire.run(Agent(wire.provider(model), tools=[search, build_index]), "go")
    assert [record.result.success for record in result.tool_calls] == [False, True, True]
    error = told(model, 1)[0]
    assert "There is no index" in error
    assert "build_index" in error
    assert '"docs"' in error
    assert told(model, 3) == ["x found in docs"]
    if wire.api == "anthropic":
        results = model.requests[1].messages[-1]["content"]
        assert [block["is_error"] for block in results] == [True]


def test_what_a_tool_raises_by_accident_stays_here(wire: Wire) -> None:
    """The model gets a safe sentence with a reference; the record and the log have the exception."""

    @tool
    def connect() -> str:
        """Connect."""
        raise RuntimeError("password=hunter2")

    model = wire.model(call("connect"), say("It failed."))
    result = wire.run(Agent(wire.provider(model), tools=[connect]), "go")
    record = result.tool_calls[0]
    assert isinstance(record.exception, RuntimeError)
    assert record.reference
    assert record.reference in told(model)[0]
    assert not any(b"hunter2" in request.raw for request in model.requests)


def test_a_result_that_is_no_json(wire: Wire) -> None:
    """The tool ran; the model hears that its result cannot be shown, without an address."""

    @tool
    def make() -> Any:
        """Make."""
        return object()

    model = wire.model(call("make"), say("Hm."))
    result = wire.run(Agent(wire.provider(model), tools=[make]), "go")
    assert (result.tool_calls[0].ran, result.tool_calls[0].result.success) == (True, False)
    assert "0x" not in told(model)[0]


def test_an_unknown_tool(wire: Wire) -> None:
    """Nothing is run, the model hears the real names, and may go on as often as any other error allows."""
    model = wire.model(call("ad", a=1), call("sum_up"), call("add", a=1, b=2), say("3"))
    result = wire.run(Agent(wire.provider(model), tools=[add, find]), "1 + 2?")
    assert result.output == "3"
    assert [record.ran for record in result.tool_calls] == [False, False, True]
    assert "add" in told(model, 1)[0]
    assert "find" in told(model, 2)[0]


def test_bad_arguments_are_corrected(wire: Wire) -> None:
    """Not run; every problem is named by its parameter and what was sent."""
    model = wire.model(raw_call("add", '{"a": "two", "c": 1}'), call("add", a=2, b=2), say("4"))
    result = wire.run(Agent(wire.provider(model), tools=[add]), "2 + 2?")
    assert [(record.ran, record.result.success) for record in result.tool_calls] == [(False, False), (True, True)]
    error = told(model, 1)[0]
    assert all(word in error for word in ("`a`", "two", "`c`"))


def test_broken_json_is_corrected(wire: Wire) -> None:
    """Text that is no JSON is never run, where an API can carry it at all; the history stays one that it takes."""
    if not wire.carries_any_arguments:
        return
    model = wire.model(raw_call("add", '{"a": 1, "b": '), call("add", a=1, b=2), say("3"))
    result = wire.run(Agent(wire.provider(model), tools=[add]), "1 + 2?")
    assert result.output == "3"
    assert [record.ran for record in result.tool_calls] == [False, True]


def test_a_tools_own_limit(wire: Wire) -> None:
    """Over `max_calls_per_run` the call is answered, not run, and the run goes on."""
    ran: list[int] = []

    @tool(max_calls_per_run=2)
    def peek(n: int) -> int:
        """Peek."""
        ran.append(n)
        return n

    model = wire.model(call("peek", n=1), [call("peek", n=2), call("peek", n=3)], call("add", a=1), say("done"))
    result = wire.run(Agent(wire.provider(model), tools=[peek, add]), "go")
    assert (ran, result.stop_reason, result.output) == ([1, 2], "end", "done")
    first, second = told(model, 2)
    assert first == "2"
    assert "`peek` was not run" in second


def test_the_runs_limit_of_calls(wire: Wire) -> None:
    """Each call over it is answered with an error; then one last turn lets the model answer with what it has."""
    model = wire.model(call("add", a=1), [call("add", a=2), call("add", a=3)], say("I have 41 and 42."))
    result = wire.run(Agent(wire.provider(model), tools=[add], max_calls_per_run=2), "go")
    assert (result.output, result.stop_reason) == ("I have 41 and 42.", "call_limit")
    assert [record.ran for record in result.tool_calls] == [True, True, False]
    model.assert_exhausted()
    tools = [request.body["tools"] for request in model.requests]
    assert tools[0] == tools[1] == tools[2], "the tool list keeps its bytes, also in the last turn"


def test_the_runs_limit_of_turns(wire: Wire) -> None:
    """A model that never stops calling is stopped, and still gives an answer."""
    model = wire.model(*[call("add", a=n) for n in range(3)], say("Enough."))
    result = wire.run(Agent(wire.provider(model), tools=[add], limits=Limits(turns=3)), "go")
    assert (result.output, result.stop_reason) == ("Enough.", "turn_limit")
    assert len(result.tool_calls) == 3
    # The limit is what the user reads again in the result; the closing request is an answer, and no turn of its own.
    assert (result.turns, result.usage.requests) == (3, 4)
    assert [r.turn for r in result.tool_calls] == [1, 2, 3]


def test_an_answer_in_the_last_turn_that_is_allowed(wire: Wire) -> None:
    """Then no closing turn is needed: the run has just ended."""
    model = wire.model(call("add", a=1), say("41"))
    result = wire.run(Agent(wire.provider(model), tools=[add], limits=Limits(turns=2)), "go")
    assert (result.output, result.stop_reason, result.turns, result.usage.requests) == ("41", "end", 2, 2)


def test_a_model_that_calls_in_its_last_turn(wire: Wire) -> None:
    """Nothing is run any more, every call has an answer, and the history can be gone on with."""
    model = wire.model(call("add", a=1), [say("One more."), call("add", a=2)], say("Now."))
    agent = Agent(wire.provider(model), tools=[add], limits=Limits(turns=1))
    result = wire.run(agent, "go")
    assert (result.output, result.stop_reason) == ("One more.", "turn_limit")
    assert [record.ran for record in result.tool_calls] == [True, False]
    assert wire.run(agent, "And now?", history=result.messages).output == "Now."


def test_slow_tools_are_left_behind(wire: Wire) -> None:
    """A sync and an async tool that hang are answered after their limit, both at once; the run goes on."""
    free = threading.Event()

    @tool(timeout=0.15)
    def hang() -> str:
        """Hang."""
        free.wait(30)
        return "late"

    @tool
    async def hang_async() -> str:
        """Hang."""
        await asyncio.sleep(30)
        return "late"

    model = wire.model([call("hang"), call("hang_async"), call("add", a=2)], say("Too slow."))
    agent = Agent(wire.provider(model), tools=[hang, hang_async, add], tool_timeout=0.15)
    begun = time.monotonic()
    result = wire.run(agent, "go")
    took = time.monotonic() - begun
    free.set()
    assert took < 10
    assert result.output == "Too slow."
    first, second, third = told(model)
    assert "`hang` gave no result within" in first
    assert "`hang_async` gave no result within" in second
    assert third == "42"


def test_thoughts_come_back_unaltered(wire: Wire) -> None:
    """Signed thinking and encrypted reasoning are echoed with the turn they belong to; Chat has none to check."""
    turns = [[think("First I add."), call("add", a=1)], [think(), say("Once more."), call("add", a=2)], say("done")]
    model = wire.model(*turns, say("bye"))
    agent = Agent(wire.provider(model), tools=[add], instructions="Think.")
    result = wire.run(agent, "go")
    assert wire.run(agent, "And?", history=result.messages).output == "bye"
    if wire.api == "anthropic":
        kinds = [block["type"] for message in model.requests[-1].messages for block in dicts(message["content"])]
        assert kinds.count("thinking") == 3
    if wire.api == "openai":
        items = model.requests[-1].messages
        assert [item.get("type") for item in items].count("reasoning") == 3
        assert {item.get("phase") for item in items if item.get("role") == "assistant"} == {
            "commentary",
            "final_answer",
        }


def test_a_stream_tells_what_the_result_holds(wire: Wire) -> None:
    """Deltas of a streamed run, joined, are the words and the arguments of its result."""
    if "stream" not in wire.driver:
        return
    model = wire.model([say("I add."), call("add", a=1, b=2), call("add", a=3, b=4)], say("3 and 7"))
    result = wire.run(Agent(wire.provider(model), tools=[add]), "go")
    assert "".join(e.text for e in wire.events if isinstance(e, TextDelta)) == "I add.3 and 7"
    started = [e.call_id for e in wire.events if isinstance(e, ToolCallStarted)]
    assert started == [record.call.id for record in result.tool_calls]
    for record in result.tool_calls:
        pieces = [e.text for e in wire.events if isinstance(e, ToolArgumentsDelta) and e.call_id == record.call.id]
        assert "".join(pieces) == record.call.arguments
