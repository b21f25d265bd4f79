"""Agents as tools: a run within a run, in whose budget, time and cancellation it lives."""

from __future__ import annotations

import asyncio
import io
import json
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from wire import Wire

from toolsmith import (
    Agent,
    DefinitionError,
    Limits,
    Remedy,
    RunContext,
    RunError,
    RunResult,
    Tool,
    ToolProgress,
    Usage,
    tool,
)
from toolsmith._feedback import FEEDBACK
from toolsmith.cli._machine import JsonView
from toolsmith.cli._people import PeopleView
from toolsmith.cli._view import Mask
from toolsmith.events import Event, LimitReached, RunEnded, RunStarted, ToolCallReady, ToolResultReady
from toolsmith.providers import Provider
from toolsmith.providers.openai_chat import OpenAIChat
from toolsmith.testing import ScriptedModel, call, fail, refuse, say, turn
from toolsmith.testing.script import Step
from toolsmith.testing.transport import InProcessTransport

ASK = call("researcher", task="Find the height of the tower.")


@tool(group="web")
def search(query: str) -> str:
    """Search the web."""
    return f"{query}: 324 m"


def researcher(provider: Provider, *tools: Any, name: str = "researcher", **options: Any) -> Agent[Any]:
    return Agent(provider, name=name, tools=tools or [search], **options)


def scripted(*steps: Step) -> Provider:
    return ScriptedModel([*steps]).provider("openai")


def run(
    inner: Agent[Any], *steps: Step, tools: Sequence[Any] = (), driver: str = "sync", **options: Any
) -> RunResult[str]:
    """A run of an agent that has another one as its tool."""
    outer = Agent(scripted(*steps, say("done")), tools=[inner.as_tool(), *tools], **options)
    return outer.run_sync("go") if driver == "sync" else asyncio.run(outer.run("go"))


def told(result: RunResult[Any]) -> list[str]:
    """What the outer model was told of each of its calls."""
    return [FEEDBACK.result_text(r.result) if r.result.success else r.result.error or "" for r in result.tool_calls]


both_drivers = pytest.mark.parametrize("driver", ["sync", "async"])


def test_an_agent_answers_as_a_tool(wire: Wire) -> None:
    """One conversation within another, each with its own history; usage is summed, events come as progress."""
    seen: list[Event] = []
    used = Usage(100, 10, requests=1)
    inner_model = wire.model(turn(call("search", query="tower"), usage=used), turn(say("324 m."), usage=used))
    outer_model = wire.model(turn(ASK, usage=used), turn(say("The tower is 324 m high."), usage=used))
    inner = researcher(wire.provider(inner_model))
    as_tool = inner.as_tool(description="Researches a question.")
    outer = Agent(wire.provider(outer_model), name="editor", tools=[as_tool], observers=[seen.append])
    result = wire.run(outer, "How high is the tower?")
    assert result.output == "The tower is 324 m high."
    assert told(result) == ["324 m."]
    assert [m.role for m in result.messages] == ["user", "assistant", "tool", "assistant"]
    assert inner_model.requests[0].prompt == "Find the height of the tower."
    assert (result.usage.total_tokens, result.usage.requests, result.turns) == (440, 4, 2)

    nested = [e for e in seen if isinstance(e, ToolProgress)]
    assert {(e.call_id, e.name) for e in nested} == {(result.tool_calls[0].call.id, "researcher")}
    assert isinstance(nested[0].progress, RunStarted)
    assert isinstance(nested[-1].progress, RunEnded)
    calls = [e.progress.call.name for e in nested if isinstance(e.progress, ToolCallReady | ToolResultReady)]
    assert calls == ["search", "search"]
    if wire.driver.endswith("stream"):
        assert [e for e in wire.events if isinstance(e, ToolProgress)] == nested


def test_an_empty_task_is_the_models_to_correct() -> None:
    """It is told so, and no request is made for it."""
    inner = ScriptedModel([say("ok")])
    scout = Agent(inner.provider("openai"), name="scout")
    outer = ScriptedModel([call("scout", task=" "), say("done")])
    result = Agent(outer.provider("openai"), tools=[scout.as_tool()]).run_sync("go")
    assert result.tool_calls[0].result.error == f"`scout` failed: {FEEDBACK.agent_without_task()}"
    assert not inner.requests


def test_how_it_is_described() -> None:
    """By its author, or as plainly as can be; the one argument is a task."""
    agent = Agent("openai:x", name="researcher", tools=[search])
    assert agent.as_tool().name == "researcher"
    assert agent.as_tool().description == FEEDBACK.agent_described("researcher")
    named = agent.as_tool(name="ask_expert", description="Ask the expert.", max_calls_per_run=2)
    assert (named.name, named.description, named.options.max_calls_per_run) == ("ask_expert", "Ask the expert.", 2)
    assert named.input_schema == {
        "type": "object",
        "properties": {"task": {"type": "string", "description": FEEDBACK.agent_task()}},
        "required": ["task"],
        "additionalProperties": False,
    }
    with pytest.raises(DefinitionError, match="name='my_agent'"):
        Agent("openai:x", name="my agent").as_tool()
    assert "the agent agent" not in Agent("openai:x").as_tool().description


def test_a_name_that_cannot_be_a_tools_is_told_at_the_line_that_asks_for_the_tool() -> None:
    """Not at a line of ours."""
    with pytest.raises(DefinitionError) as caught:
        Agent("openai:x", name="My scout!").as_tool()
    (problem,) = caught.value.problems
    assert problem.partition(": ")[0].rpartition(":")[0].endswith("test_nested_agents.py")


@both_drivers
def test_typed_answers_and_deps(driver: str) -> None:
    """A typed answer is data for the outer model; the inner tools are handed what the outer run was."""

    @dataclass
    class Height:
        metres: int

    @tool
    def look(ctx: RunContext[dict[str, int]]) -> int:
        """Look it up."""
        return ctx.deps["tower"]

    model = ScriptedModel([call("look"), say('{"answer": {"metres": 324}}')])
    inner = Agent(model.provider("openai"), name="researcher", tools=[look], output_type=Height)
    outer = Agent(scripted(ASK, say("done")), tools=[inner.as_tool()])
    deps = {"tower": 324}
    result = outer.run_sync("go", deps=deps) if driver == "sync" else asyncio.run(outer.run("go", deps=deps))
    assert result.tool_calls[0].result.data == {"metres": 324}
    assert model.requests[1].results[0][1] == "324"


def test_outside_of_a_run() -> None:
    """The tool can be called like any other; then nothing is around it."""
    made = researcher(scripted(call("search", query="x"), say("324 m."))).as_tool()
    assert made.call_json_sync('{"task": "x"}').data == "324 m."
    assert not researcher(scripted(fail("auth"))).as_tool().call_json_sync('{"task": "x"}').success


# ---- limits


def test_calls_count_in_both_budgets() -> None:
    """The outer run's calls bound the inner one: its calls are refused and it answers with what it has."""
    inner = researcher(scripted(*[call("search", query=str(n)) for n in range(3)], say("Two of three.")))
    result = run(inner, ASK, limits=Limits(calls=3))
    (text,) = told(result)
    assert text.startswith("Two of three.\n\nNote: this answer was given when its tool calls were used up")
    assert (result.output, result.stop_reason) == ("done", "call_limit")


def test_the_inner_limits_hold_too() -> None:
    """An agent that is a tool keeps its own limits, call by call of it anew."""
    script = [call("search", query="a"), call("search", query="b"), say("One of two.")]
    result = run(researcher(scripted(*script, *script), limits=Limits(calls=1)), ASK, ASK)
    assert [text.partition("\n")[0] for text in told(result)] == ["One of two."] * 2
    assert result.stop_reason == "end"


def test_tokens_count_in_both_budgets() -> None:
    """What the inner run uses is used; when the outer budget ends, both close."""
    heavy = Usage(900, 100, requests=1)
    inner = researcher(scripted(turn(call("search", query="a"), usage=heavy), turn(say("324 m."), usage=heavy)))
    result = run(inner, turn(ASK, usage=Usage(5, 5, requests=1)), limits=Limits(tokens=1000))
    assert told(result)[0].startswith("324 m.\n\nNote: this answer was given when its token budget was used up")
    assert result.stop_reason == "token_limit"
    assert result.usage.total_tokens >= 2010


def test_groups_of_the_outer_run_bound_the_inner_tools() -> None:
    """`Limits(groups=...)` may name a group that only an inner agent's tools are in, however deep."""
    searches = [call("search", query=str(n)) for n in range(3)]
    inner = researcher(scripted(*searches, say("Some.")))
    middle = Agent(scripted(ASK, say("Passed on.")), name="middle", tools=[inner.as_tool()])
    outer = Agent(
        scripted(call("middle", task="x"), say("done")), tools=[middle.as_tool()], limits=Limits(groups={"web": 2})
    )
    seen: list[bool] = []
    inner.observers.append(lambda e: seen.append(e.ran) if isinstance(e, ToolResultReady) else None)
    assert outer.run_sync("go").output == "done"
    assert seen == [True, True, False]
    with pytest.raises(DefinitionError, match="'wbe'"):
        Agent("openai:x", tools=[middle.as_tool()], limits=Limits(groups={"wbe": 2}))


@both_drivers
def test_time_is_shared(driver: str) -> None:
    """The outer run's deadline is the inner one's: it does not begin anew, and no default of 30 s cuts in."""

    @tool
    async def wait(seconds: float) -> str:
        """Wait."""
        await asyncio.sleep(seconds)
        return "waited"

    inner = researcher(scripted(call("wait", seconds=20), say("late")), wait, limits=Limits(seconds=60))
    begun = time.monotonic()
    result = run(inner, ASK, driver=driver, limits=Limits(seconds=0.4, tool_timeout=0.1))
    assert time.monotonic() - begun < 4
    assert result.stop_reason == "time_limit"
    assert not result.tool_calls[0].result.success

    quick = researcher(scripted(call("wait", seconds=0.3), say("in time")), wait)
    assert told(run(quick, ASK, driver=driver, limits=Limits(tool_timeout=0.1)))[0] == "in time"
    slow = Agent(scripted(call("wait", seconds=20), say("late")), tools=[wait]).as_tool(name="slow", timeout=0.2)
    agent = Agent(scripted(call("slow", task="x"), say("done")), tools=[slow])
    assert "gave no result within 0.2 seconds" in told(agent.run_sync("go"))[0]


@both_drivers
def test_several_at_once(driver: str) -> None:
    """Inner runs of one turn go on at the same time, and all count in the one outer budget."""
    meeting = threading.Barrier(3, timeout=10)

    @tool
    def meet(n: int) -> int:
        """Meet the others."""
        meeting.wait()
        return n

    def make(n: int) -> Tool[..., Any]:
        return Agent(scripted(call("meet", n=n), say(f"answer {n}")), tools=[meet]).as_tool(name=f"agent_{n}")

    outer = Agent(
        scripted([call(f"agent_{n}", task="x") for n in range(3)], say("done")),
        tools=[make(n) for n in range(3)], limits=Limits(calls=6),
    )  # fmt: skip
    result = outer.run_sync("go") if driver == "sync" else asyncio.run(outer.run("go"))
    assert [text.partition("\n")[0] for text in told(result)] == ["answer 0", "answer 1", "answer 2"]
    assert result.usage.requests == 8


def test_an_agent_among_its_own_tools() -> None:
    """It goes down only so far, and the answer says what to do."""
    depth: list[int] = []
    model = ScriptedModel(lambda request: say("bottom") if request.results else call("me", task="again"))
    agent = Agent(model.provider("openai"), name="me")
    agent.tools.register(agent.as_tool())
    agent.observers.append(lambda e: depth.append(1) if isinstance(e, RunStarted) else None)
    result = agent.run_sync("go")
    assert result.output == "bottom"
    assert len(depth) == 5
    assert any(FEEDBACK.agent_too_deep() in text for request in model.requests for _, text in request.results)


# ---- endings


@pytest.mark.parametrize(
    ("steps", "options", "reason"),
    [
        ([refuse("No.")], {}, "refusal"),
        ([turn(say(""), stop="length")], {}, "length"),
        ([call("search", query="a"), turn(say(""))], {"limits": Limits(turns=1)}, "turn_limit"),
        ([call("search", query="a"), turn(say(""))], {"limits": Limits(tokens=1)}, "token_limit"),
        ([turn(say("Half"), stop="unknown")], {}, "unknown"),
    ],
    ids=["refusal", "length", "turns", "tokens", "unknown"],
)
def test_endings_without_an_answer(steps: list[Step], options: Any, reason: str) -> None:
    """Each says what happened and what to do; the outer run goes on."""
    result = run(researcher(scripted(*steps), **options), ASK)
    assert result.output == "done"
    assert told(result) == [f"`researcher` failed: {FEEDBACK.agent_unanswered(reason)}"]


def test_an_answer_that_was_cut_short_says_so() -> None:
    result = run(researcher(scripted(turn(say("It is 32"), stop="length"))), ASK)
    assert told(result) == [f"It is 32\n\nNote: {FEEDBACK.agent_cut_short('length')}"]


def test_a_service_that_fails_is_a_failure_like_any_other() -> None:
    """Nothing of the error reaches the outer model; `on_error` has words for it; what was used is counted."""
    used = Usage(100, 10, requests=1)
    inner = researcher(scripted(turn(call("search", query="a"), usage=used), fail("auth")))
    seen: list[Event] = []
    result = run(inner, turn(ASK, usage=used), observers=[seen.append])
    assert "internal error (reference " in told(result)[0]
    assert isinstance(result.tool_calls[0].exception, RunError)
    assert result.usage.total_tokens >= 220

    on_error = {RunError: Remedy("The researcher is not at work.", use="search")}
    made = researcher(scripted(fail("auth"))).as_tool(on_error=on_error)
    outer = Agent(scripted(ASK, say("done")), tools=[made, search])
    assert told(outer.run_sync("go")) == ["`researcher` failed: The researcher is not at work. Call `search` next."]


def test_people_are_asked_by_the_outer_run() -> None:
    """Where the inner agent has no `approve`; where nobody can be asked, the call cannot wait, and that is said."""
    asked: list[str] = []

    @tool(requires_approval=True)
    def pay(to: str) -> str:
        """Pay."""
        return f"paid {to}"

    def inner(**options: Any) -> Agent[Any]:
        return researcher(scripted(call("pay", to="ann"), say("All paid.")), pay, **options)

    def approve(waiting: Any) -> bool:
        asked.append(waiting.name)
        return True

    def refuse_all(waiting: Any) -> str:
        return "Never."

    assert told(run(inner(), ASK, approve=approve)) == ["All paid."]
    assert asked == ["pay"]
    assert told(run(inner(approve=refuse_all), ASK, approve=approve)) == ["All paid."]
    assert asked == ["pay"]
    assert told(run(inner(), ASK)) == [f"`researcher` failed: {FEEDBACK.agent_unanswered('approval')}"]


# ---- cancellation


def _waiting() -> tuple[Agent[Any], list[str], threading.Event]:
    """An agent whose tool hangs until it is cancelled."""
    log: list[str] = []
    begun = threading.Event()

    @tool
    async def hang() -> None:
        """Hang."""
        begun.set()
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            log.append("cancelled")
            raise

    return researcher(scripted(call("hang"), say("late")), hang), log, begun


def test_cancelling_an_async_run_cancels_the_inner_one() -> None:
    """Down to the inner agent's tool."""
    inner, log, begun = _waiting()

    async def cancel() -> None:
        task = asyncio.create_task(Agent(scripted(ASK), tools=[inner.as_tool()]).run("go"))
        await asyncio.to_thread(begun.wait, 10)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancel())
    assert log == ["cancelled"]


def test_leaving_a_blocking_stream_cancels_the_inner_run() -> None:
    """Which runs on an event loop of its own then."""
    inner, log, begun = _waiting()
    outer = Agent(scripted(ASK), tools=[inner.as_tool()])
    with outer.run_stream_sync("go") as events:
        for event in events:
            if isinstance(event, ToolProgress) and isinstance(event.progress, ToolCallReady):
                break
        assert begun.wait(5)
    for _ in range(200):
        if log:
            break
        time.sleep(0.01)
    assert log == ["cancelled"]


# ---- clients


@both_drivers
def test_an_agent_with_a_blocking_client_only(driver: str) -> None:
    """It is run on a worker thread, in both kinds of outer runs; what it takes counts all the same."""
    model = ScriptedModel([call("search", query="a"), say("324 m.")])
    inner = researcher(OpenAIChat("x", client=_blocking_client(model)))
    result = run(inner, ASK, driver=driver)
    assert told(result) == ["324 m."]
    assert result.usage.requests == 4


def test_a_run_on_a_thread_ends_when_nobody_waits_for_it() -> None:
    """A thread cannot be stopped; the run on it makes no further request."""
    begun, free = threading.Event(), threading.Event()

    @tool
    def hang() -> str:
        """Hang."""
        begun.set()
        free.wait(10)
        return "ok"

    model = ScriptedModel([call("hang"), say("never asked for")])
    ended: list[RunResult[Any]] = []
    observe: Callable[[Event], None] = lambda e: ended.append(e.result) if isinstance(e, RunEnded) else None  # noqa: E731
    inner = researcher(OpenAIChat("x", client=_blocking_client(model)), hang, observers=[observe])

    async def cancel() -> None:
        task = asyncio.create_task(Agent(scripted(ASK), tools=[inner.as_tool()]).run("go"))
        await asyncio.to_thread(begun.wait, 10)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        free.set()

    asyncio.run(cancel())
    for _ in range(500):
        if ended:
            break
        time.sleep(0.01)
    assert [result.stop_reason for result in ended] == ["time_limit"]
    assert len(model.requests) == 1


def _blocking_client(model: ScriptedModel) -> Any:
    import httpx2
    import openai

    return openai.OpenAI(api_key="k", http_client=httpx2.Client(transport=InProcessTransport(model)), max_retries=0)


def test_limits_of_the_inner_run_are_told_to_who_listens() -> None:
    """Its events are told as they are: also that it closes."""
    seen: list[Event] = []
    inner = researcher(scripted(call("search", query="a"), say("324 m.")), limits=Limits(turns=1))
    run(inner, ASK, observers=[seen.append])
    inside = [e.progress for e in seen if isinstance(e, ToolProgress)]
    assert [e.limit for e in inside if isinstance(e, LimitReached)] == ["turn_limit"]
    assert not [e for e in seen if isinstance(e, LimitReached)]


def test_the_command_line_shows_what_an_inner_agent_does(capsys: pytest.CaptureFixture[str]) -> None:
    """For people its calls; for machines its events, written as those of the run itself are."""
    lines = io.StringIO()
    machine, people = JsonView(lines, mask=Mask()), PeopleView(io.StringIO(), mask=Mask())
    inner = researcher(scripted(call("search", query="a"), say("324 m.")))
    middle = Agent(scripted(ASK, say("324 m.")), name="middle", tools=[inner.as_tool()])
    outer = Agent(scripted(call("middle", task="x"), say("done")), tools=[middle.as_tool()])
    outer.observers += [machine, people]
    outer.run_sync("go")
    told = [json.loads(line) for line in lines.getvalue().splitlines()]
    progress = [line["progress"] for line in told if line["event"] == "tool_progress"]
    deeper = [p["progress"] for p in progress if p["event"] == "tool_progress"]
    assert [(p["event"], p["name"]) for p in deeper if "name" in p] == [
        ("tool_call_ready", "search"),
        ("tool_result_ready", "search"),
    ]
    shown = capsys.readouterr().err.splitlines()
    assert any(line.strip().endswith(('→ search(query="a")', '-> search(query="a")')) for line in shown)
    assert not any("Event" in line or "object at" in line for line in shown)


def test_an_async_tool_that_makes_sync_runs_of_its_own() -> None:
    """Three deep: each run's async tools have a loop that nobody blocks, and the next run finds them again."""

    @tool
    async def leaf() -> str:
        """Be the last one."""
        await asyncio.sleep(0)
        return f"leaf on {threading.current_thread().name}"

    def inner(of: Any) -> str:
        model = ScriptedModel([call(of.name), say("inner done")])
        result = Agent(model.provider("openai"), tools=[of], limits=Limits(tool_timeout=20)).run_sync("go")
        assert result.tool_calls[0].result.success, result.tool_calls[0].result.error
        return result.output

    @tool
    async def middle() -> str:
        """Make a run."""
        await asyncio.sleep(0)
        return inner(leaf)

    @tool
    async def outer() -> str:
        """Make a run."""
        await asyncio.sleep(0)
        return inner(middle)

    before = threading.active_count()
    for number in range(3):
        began = time.monotonic()
        assert inner(outer) == "inner done"
        assert time.monotonic() - began < 10
        if number == 0:
            before = threading.active_count()
    assert threading.active_count() <= before
