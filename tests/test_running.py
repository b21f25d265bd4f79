"""How functions are run: threads, deadlines, cancellation, order. Over the in-process door, on both drivers."""

from __future__ import annotations

import asyncio
import contextvars
import os
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from textwrap import dedent
from typing import Any

import pytest

from toolsmith import Agent, RunContext, RunResult, Tool, ToolProgress, ToolRegistry, tool
from toolsmith.events import Event, ToolResultReady
from toolsmith.testing import ScriptedModel, call, say

Run = Callable[[Agent], RunResult[str]]


def _run_sync(agent: Agent) -> RunResult[str]:
    return agent.run_sync("go")


def _run_async(agent: Agent) -> RunResult[str]:
    async def run() -> RunResult[str]:
        began = time.monotonic()
        result = await agent.run("go")
        # Measured here: `asyncio.run` itself then waits for every task that refuses to be cancelled.
        assert time.monotonic() - began < 2
        return result

    return asyncio.run(run())


both_drivers = pytest.mark.parametrize("run", [_run_sync, _run_async], ids=["sync", "async"])


def _agent(*turns: Any, tools: Any, **options: Any) -> Agent:
    return Agent(ScriptedModel([*turns, say("done")]).provider("openai-chat"), tools=tools, **options)


@tool(timeout=0.2)
def stuck() -> str:
    """Hang for a long time."""
    time.sleep(20)
    return "late"


@tool(timeout=0.2)
async def stubborn() -> str:
    """Refuse to be cancelled."""
    end = time.monotonic() + 2.5
    while time.monotonic() < end:
        try:
            await asyncio.sleep(0.2)
        except asyncio.CancelledError:
            continue
    return "late"


@tool(timeout=0.2)
async def blocking_coroutine() -> str:
    """Block the event loop that it runs on."""
    time.sleep(3)  # noqa: ASYNC251 - the mistake that this tool stands for
    return "late"


@both_drivers
@pytest.mark.parametrize("hung", [stuck, stubborn])
def test_a_hung_tool_is_answered_at_its_deadline(run: Run, hung: Tool[[], Any]) -> None:
    """The model hears of it in time, whether the function sits in a thread or swallows its cancellation."""
    began = time.monotonic()
    result = run(_agent(call(hung.name), tools=[hung]))
    assert time.monotonic() - began < 5
    record = result.tool_calls[0]
    assert record.ran
    assert not record.result.success
    assert "0.2" in (record.result.error or "")
    assert result.output == "done"


def test_a_coroutine_that_blocks_does_not_hang_a_sync_run() -> None:
    """Sync runs share one loop for async tools; one that blocks it is left behind, and the next call works."""

    @tool
    async def fine() -> str:
        """Wait properly."""
        await asyncio.sleep(0.01)
        return "fine"

    began = time.monotonic()
    result = _run_sync(_agent(call("blocking_coroutine"), call("fine"), tools=[blocking_coroutine, fine]))
    assert time.monotonic() - began < 2.5
    assert [r.result.success for r in result.tool_calls] == [False, True]


def test_a_hung_thread_does_not_hold_the_interpreter() -> None:
    """A worker of `concurrent.futures` would be joined at exit, for as long as the tool hangs."""
    program = """
        import time
        from toolsmith import tool
        @tool(timeout=0.1)
        def hang() -> str:
            "Hang."
            time.sleep(60)
            return "late"
        print(hang.call_json_sync("{}").success)
    """
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", dedent(program)], capture_output=True, text=True, timeout=30, check=True
    )
    assert done.stdout.strip() == "False"
    assert time.monotonic() - began < 15


@both_drivers
def test_calls_of_a_turn_run_at_the_same_time(run: Run) -> None:
    """Two calls that wait for each other can only end if they run together; sync and async alike."""
    barrier = threading.Barrier(2, timeout=5)

    @tool
    def meet(name: str) -> str:
        """Wait for the other one."""
        barrier.wait()
        return name

    result = run(_agent([call("meet", name="a"), call("meet", name="b")], tools=[meet]))
    assert [r.result.data for r in result.tool_calls] == ["a", "b"]


@both_drivers
def test_sequential_is_a_barrier(run: Run) -> None:
    """A sequential call begins when those before it have ended, and ends before those behind it begin."""
    log: list[str] = []

    @tool
    def read(name: str) -> str:
        """Read."""
        log.append(f"{name} begins")
        time.sleep(0.05)
        log.append(f"{name} ends")
        return name

    @tool(sequential=True)
    async def write(name: str) -> str:
        """Write."""
        log.append(f"{name} begins")
        await asyncio.sleep(0.05)
        log.append(f"{name} ends")
        return name

    calls = [call("read", name="a"), call("read", name="b"), call("write", name="c"), call("read", name="d")]
    result = run(_agent(calls, tools=[read, write]))
    assert [r.result.data for r in result.tool_calls] == ["a", "b", "c", "d"]
    assert set(log[:2]) == {"a begins", "b begins"}
    assert log[4:] == ["c begins", "c ends", "d begins", "d ends"]


@both_drivers
def test_results_stand_in_the_models_order(run: Run) -> None:
    """The quick one does not overtake, also where an id is given twice."""

    @tool
    def wait(seconds: float) -> str:
        """Wait."""
        time.sleep(seconds)
        return f"{seconds}"

    result = run(_agent([call("wait", seconds=0.2), call("wait", seconds=0.01)], tools=[wait]))
    outputs = [p for m in result.messages if m.role == "tool" for p in m.parts]
    assert [getattr(p, "text", "") for p in outputs] == ["0.2", "0.01"]


@both_drivers
def test_a_cancelled_error_of_the_tools_own_is_its_failure(run: Run) -> None:
    """Nobody cancelled the run, so the run goes on."""

    @tool
    async def gives_up() -> str:
        """Give up."""
        await asyncio.sleep(0)
        raise asyncio.CancelledError

    result = run(_agent(call("gives_up"), tools=[gives_up]))
    assert result.output == "done"
    assert not result.tool_calls[0].result.success


@both_drivers
@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_interrupts_are_for_the_program(run: Run, error: type[BaseException]) -> None:
    """What is not an `Exception` is no tool's failure."""

    @tool
    def interrupted() -> str:
        """Be interrupted."""
        raise error

    @tool
    async def interrupted_later() -> str:
        """Be interrupted."""
        await asyncio.sleep(0)
        raise error

    began = time.monotonic()
    for made in (interrupted, interrupted_later):
        with pytest.raises(error):
            run(_agent(call(made.name), tools=[made]))
    assert time.monotonic() - began < 5


_request_id: contextvars.ContextVar[str] = contextvars.ContextVar("request_id", default="unset")


@both_drivers
def test_a_tool_may_stay_on_the_calling_thread(run: Run) -> None:
    """Some libraries are bound to one: `thread=False`."""

    @tool(thread=False)
    def bound() -> bool:
        """Where does it run?"""
        return threading.current_thread() is threading.main_thread()

    @tool
    def free() -> bool:
        """Where does it run?"""
        return threading.current_thread() is threading.main_thread()

    result = run(_agent([call("bound"), call("free")], tools=[bound, free]))
    assert [record.result.data for record in result.tool_calls] == [True, False]


@both_drivers
@pytest.mark.parametrize("kind", ["sync", "async"])
def test_context_variables_reach_the_tool(run: Run, kind: str) -> None:
    """Tracing and request-local state are there, in whatever thread the function runs."""

    @tool
    def sync() -> str:
        """Tell."""
        return _request_id.get()

    @tool(name="async")
    async def asynchronous() -> str:
        """Tell."""
        await asyncio.sleep(0)
        return _request_id.get()

    token = _request_id.set("r-17")
    try:
        result = run(_agent(call(kind), tools=[sync, asynchronous]))
    finally:
        _request_id.reset(token)
    assert result.tool_calls[0].result.data == "r-17"


@both_drivers
def test_what_a_tool_yields_is_progress_and_then_its_result(run: Run) -> None:
    """Generators of both kinds, and `RunContext.report`: told at once, in order, on the driving thread."""

    @tool
    def count(to: int) -> Iterator[int]:
        """Count."""
        yield from range(to)

    @tool
    async def acount(to: int) -> AsyncIterator[int]:
        """Count."""
        for n in range(to):
            await asyncio.sleep(0)
            yield n

    @tool
    def reporting(ctx: RunContext[None], word: str) -> str:
        """Report."""
        ctx.report("half")
        return word

    seen: list[tuple[str, Any, int]] = []

    def observe(event: Event) -> None:
        if isinstance(event, ToolProgress):
            seen.append((event.name, event.progress, threading.get_ident()))

    turns = [call("count", to=2), call("acount", to=2), call("reporting", word="w")]
    result = run(_agent(*turns, tools=[count, acount, reporting], observers=[observe]))
    assert [r.result.data for r in result.tool_calls] == [[0, 1], [0, 1], "w"]
    assert [s[:2] for s in seen] == [("count", 0), ("count", 1), ("acount", 0), ("acount", 1), ("reporting", "half")]
    assert {s[2] for s in seen} == {threading.get_ident()}


@both_drivers
@pytest.mark.parametrize("kind", ["sync", "async"])
def test_a_report_that_comes_too_late_is_dropped(run: Run, kind: str) -> None:
    """From a thread that outlives its call: while the run goes on, and when its event loop is closed."""
    errors: list[BaseException] = []
    contexts: list[RunContext[None]] = []

    def late() -> None:
        def tell() -> None:
            try:
                contexts[0].report("late")
            except BaseException as error:  # noqa: BLE001 - it would be lost with the thread
                errors.append(error)

        thread = threading.Thread(target=tell)
        thread.start()
        thread.join(10)

    def begin(ctx: RunContext[None]) -> str:
        """Begin something that goes on."""
        contexts.append(ctx)
        ctx.report("begun")
        return "begun"

    async def abegin(ctx: RunContext[None]) -> str:
        """Begin something that goes on."""
        return begin(ctx)

    @tool
    def wait() -> str:
        """Wait until it has told, too late."""
        late()
        return "waited"

    told: list[Event] = []
    tools = [Tool(begin if kind == "sync" else abegin, name="begin"), wait]
    result = run(_agent(call("begin"), call("wait"), tools=tools, observers=[told.append]))
    late()
    assert [record.result.data for record in result.tool_calls] == ["begun", "waited"]
    assert errors == []
    assert [event.progress for event in told if isinstance(event, ToolProgress)] == ["begun"]


def test_run_sync_works_under_a_running_event_loop() -> None:
    """A notebook has one; async tools run all the same."""

    @tool
    async def later() -> str:
        """Wait."""
        await asyncio.sleep(0.01)
        return "later"

    async def cell() -> RunResult[str]:
        return _agent(call("later"), tools=[later]).run_sync("go")

    assert asyncio.run(cell()).tool_calls[0].result.data == "later"


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_one_agent_serves_many_event_loops(kind: str) -> None:
    """No client is bound to the first loop: the second `asyncio.run` finds no closed one."""
    model = ScriptedModel(lambda request: say("hello"))
    with model.serve() as server:
        agent = Agent(server.provider("anthropic"))
        for _ in range(3):
            run = agent.run_sync("go") if kind == "sync" else asyncio.run(agent.run("go"))
            assert run.output == "hello"


def test_cancelling_a_run_stops_its_tools_and_keeps_the_history_valid() -> None:
    """Every call has an answer, and the cancelled function's clean-up has run."""
    cleaned: list[str] = []

    @tool
    async def slow() -> str:
        """Take long."""
        try:
            await asyncio.sleep(30)
        finally:
            cleaned.append("slow")
        return "late"

    async def cancelled() -> list[Any]:
        async with _agent([call("slow"), call("slow")], tools=[slow]).run_stream("go") as events:
            reader: Coroutine[Any, Any, None] = _read(events)
            task = asyncio.ensure_future(reader)
            await asyncio.sleep(0.3)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        assert [t for t in asyncio.all_tasks() if t is not asyncio.current_task()] == []
        return events.messages

    messages = asyncio.run(cancelled())
    assert cleaned == ["slow", "slow"]
    assert [m.role for m in messages] == ["user", "assistant", "tool"]
    assert len(messages[-1].parts) == 2


async def _read(events: AsyncIterator[Event] | Any) -> None:
    async for _ in events:
        pass


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_leaving_a_stream_early_cancels_the_run(kind: str) -> None:
    """The block ends at once; what was said so far is a valid history."""

    @tool
    def quick() -> str:
        """Be quick."""
        return "quick"

    @tool
    async def slow() -> str:
        """Take long."""
        await asyncio.sleep(30)
        return "late"

    agent = _agent([call("quick"), call("slow")], tools=[quick, slow])
    began = time.monotonic()
    if kind == "sync":
        with agent.run_stream_sync("go") as events:
            for event in events:
                if isinstance(event, ToolResultReady):
                    break
        messages = events.messages
    else:
        messages = asyncio.run(_leave_early(agent))
    assert time.monotonic() - began < 3
    assert [m.role for m in messages] == ["user", "assistant", "tool"]
    texts = [getattr(p, "text", "") for p in messages[-1].parts]
    assert texts[0] == "quick"
    assert "slow" in texts[1]


async def _leave_early(agent: Agent) -> list[Any]:
    async with agent.run_stream("go") as events:
        async for event in events:
            if isinstance(event, ToolResultReady):
                break
    return events.messages


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
def test_a_forked_child_has_workers_of_its_own() -> None:
    """It inherits none of its parent's threads, and must not wait for them."""
    program = """
        import os
        from toolsmith import tool
        @tool
        def who() -> int:
            "Tell."
            return os.getpid()
        who.call_json_sync("{}")
        if (child := os.fork()) == 0:
            result = who.call_json_sync("{}")
            os._exit(0 if result.data == os.getpid() else 1)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """
    done = subprocess.run(
        [sys.executable, "-c", dedent(program)], capture_output=True, text=True, timeout=30, check=True
    )
    assert done.stdout.strip() == "0"


def test_an_observer_that_raises_changes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """Whoever watches a run must not alter it; the log says who failed."""

    @tool
    def quick() -> str:
        """Be quick."""
        return "quick"

    def broken(event: Event) -> None:
        raise ValueError("no")

    result = _run_sync(_agent(call("quick"), tools=[quick], observers=[broken]))
    assert result.output == "done"
    assert "observer" in caplog.text


def test_registries_and_functions_mix() -> None:
    """`tools=` takes functions, tools and registries, in order."""

    def plain() -> str:
        """Be plain."""
        return "plain"

    agent = Agent(ScriptedModel([say("x")]).provider("openai"), tools=[plain, ToolRegistry([stuck])])
    assert [t.name for t in agent.tools] == ["plain", "stuck"]
