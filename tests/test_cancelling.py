"""Stopping a run from outside: Ctrl-C, asyncio's cancellation, leaving a stream. Nothing hangs, leaks or is lost."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from interrupted import LATE, WAITS
from test_faults import assert_valid
from wire import APIS, DRIVERS, Driver

from toolsmith import Agent, Limits, Message, RunContext, Tool, ToolOutput, tool
from toolsmith.events import Event, ToolResultReady
from toolsmith.testing import Api, Recorded, ScriptedModel, call, deliver, say
from toolsmith.testing.script import Scripted

EXAMPLES = int(os.environ.get("TOOLSMITH_EXAMPLES", "30"))


def interrupted(driver: Driver) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(Path(__file__).with_name("interrupted.py")), driver],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_ctrl_c() -> None:
    """During a request, an answer, a wait for another attempt, tools and a person: at once, and as the exception.

    Read as a stream, the run leaves a history in which each call is answered. The process itself ends too, with a tool
    still asleep on its thread.
    """
    with ThreadPoolExecutor(len(DRIVERS)) as threads:
        runs = dict(zip(DRIVERS, threads.map(interrupted, DRIVERS), strict=True))
    for driver, done in runs.items():
        assert done.returncode == -signal.SIGINT, done.stderr
        assert done.stderr.rstrip().endswith("KeyboardInterrupt")
        told = dict(line.split(": ", 1) for line in done.stdout.splitlines())
        assert list(told) == list(WAITS), done.stderr
        for name, line in told.items():
            seconds, *roles = line.split()
            assert float(seconds) < LATE / 3, (driver, name)
            if driver.endswith("stream"):
                calls = 1 if name in ("request", "answer", "attempt") else 2
                assert roles == ["user", "assistant", "tool", str(calls)], (driver, name)


@pytest.mark.parametrize("how", ["cancelled", "timed out", "interrupted"])
def test_a_stopped_run_leaves_its_history_on_the_exception(how: str) -> None:
    """Python's own exceptions carry it as a `RunError` does: each call has its answer, and the next run goes on."""
    begun = threading.Event()

    @tool
    async def wait() -> None:
        """Wait."""
        begun.set()
        await asyncio.sleep(30)

    model = ScriptedModel([call("wait"), say("done")])
    agent = Agent(model.provider("openai"), tools=[wait])

    async def stopped() -> BaseException | None:
        task = asyncio.ensure_future(agent.run("go"))
        await asyncio.to_thread(begun.wait, 20)
        if how == "cancelled":
            task.cancel()
        try:
            async with asyncio.timeout(0.01 if how == "timed out" else None):
                await task
        except TimeoutError as error:
            return error.__cause__
        except asyncio.CancelledError as error:
            return error
        raise AssertionError

    def interrupt() -> None:
        begun.wait(20)
        signal.raise_signal(signal.SIGINT)

    if how == "interrupted":
        threading.Thread(target=interrupt).start()
        with pytest.raises(KeyboardInterrupt) as caught:
            agent.run_sync("go")
        error: BaseException | None = caught.value
    else:
        error = asyncio.run(stopped())
    assert error is not None
    messages: list[Message] = error.__dict__["messages"]
    assert_valid(messages)
    assert [message.role for message in messages] == ["user", "assistant", "tool"]
    assert agent.run_sync(message_history=messages).output == "done"


Key = Literal["alpha", "beta", "gamma", "delta"]
KEYS: tuple[Key, ...] = ("alpha", "beta", "gamma", "delta")


class Notes:
    """Tools that keep a log of their own, beside what the run says of them."""

    def __init__(self) -> None:
        self.begun: Counter[str] = Counter()
        self.ended: Counter[str] = Counter()
        self.cleaned: Counter[str] = Counter()

    def tools(self) -> list[Tool[..., Any]]:
        @tool
        async def walk(key: Key, steps: int) -> str:
            """Note a word, in some steps."""
            self.begun[key] += 1
            try:
                for _ in range(steps):
                    await asyncio.sleep(0)
                self.ended[key] += 1
                return f"noted {key}"
            finally:
                self.cleaned[key] += 1

        @tool(sequential=True)
        async def tell(ctx: RunContext[None], key: Key) -> str:
            """Note a word, and tell of it."""
            self.begun[key] += 1
            try:
                await asyncio.sleep(0)
                ctx.report("half")
                self.ended[key] += 1
                return f"noted {key}"
            finally:
                self.cleaned[key] += 1

        @tool
        def on_a_thread(key: Key) -> str:
            """Note a word, on a thread."""
            return f"noted {key}"

        return [walk, tell, on_a_thread]


def in_order(request: Recorded) -> Scripted:
    """Ask for what the history lacks; the answers come in small pieces."""
    missing = [key for key in KEYS if f"noted {key}".encode() not in request.raw]
    if not missing:
        return deliver(say("Done."), packet=40)
    calls = {
        "alpha": call("walk", key="alpha", steps=3),
        "beta": call("walk", key="beta", steps=9),
        "gamma": call("on_a_thread", key="gamma"),
        "delta": call("tell", key="delta"),
    }
    return deliver([say("I note."), *(calls[key] for key in missing)], packet=120)


def check(notes: Notes, messages: Sequence[Message], agent: Agent) -> None:
    """What ended is in the history, and the run goes on from there without it."""
    assert_valid(messages)
    assert notes.cleaned == notes.begun
    outputs = [p.text for m in messages for p in m.parts if isinstance(p, ToolOutput)]
    for key in notes.ended:
        assert f"noted {key}" in outputs
    history = list(messages) if messages[-1].role != "assistant" else None
    ended = set(notes.ended)
    result = agent.run_sync(None if history else "go", message_history=history)
    assert result.output == "Done."
    if history:
        assert all(notes.ended[key] == 1 for key in ended), "a finished call was repeated"


@settings(max_examples=EXAMPLES, deadline=None, derandomize="TOOLSMITH_EXAMPLES" not in os.environ)
@given(api=st.sampled_from(APIS), steps=st.integers(0, 120), again=st.none() | st.integers(0, 4), read=st.booleans())
def test_cancelling_at_any_point(api: Api, steps: int, again: int | None, read: bool) -> None:
    """Once or twice, in a run or in a stream: no task is left, and no finished call is lost or repeated."""
    notes = Notes()
    agent = Agent(ScriptedModel(in_order).provider(api), tools=notes.tools())

    async def main() -> list[Message] | None:
        events = agent.run_stream("go") if read else None

        async def whole() -> None:
            if events is None:
                await agent.run("go")
                return
            async with events:
                async for _ in events:
                    pass

        task = asyncio.create_task(whole())
        await _steps(steps, task)
        task.cancel()
        if again is not None:
            await _steps(again, task)
            task.cancel()
        await asyncio.wait({task})
        if not task.cancelled():
            task.result()
        assert asyncio.all_tasks() == {asyncio.current_task()}, "a task is left"
        return None if events is None else events.messages

    messages = asyncio.run(main())
    if messages is not None:
        check(notes, messages, agent)
    else:
        assert notes.cleaned == notes.begun


async def _steps(number: int, task: asyncio.Task[None]) -> None:
    for _ in range(number):
        if task.done():
            return
        await asyncio.sleep(0)


@settings(max_examples=EXAMPLES, deadline=None, derandomize="TOOLSMITH_EXAMPLES" not in os.environ)
@given(api=st.sampled_from(APIS), number=st.integers(0, 60), kind=st.sampled_from(["sync", "async"]))
def test_leaving_a_stream_at_any_event(api: Api, number: int, kind: str) -> None:
    """The same for whoever stops reading."""
    notes = Notes()
    agent = Agent(ScriptedModel(in_order).provider(api), tools=notes.tools())

    async def main() -> list[Message]:
        async with agent.run_stream("go") as events:
            count = 0
            async for _ in events:
                count += 1
                if count > number:
                    break
        assert asyncio.all_tasks() == {asyncio.current_task()}, "a task is left"
        return events.messages

    if kind == "async":
        messages = asyncio.run(main())
    else:
        with agent.run_stream_sync("go") as events:
            for count, _ in enumerate(events):
                if count >= number:
                    break
        messages = events.messages
    check(notes, messages, agent)


@pytest.mark.parametrize("driver", ["async", "async-stream"])
def test_cancelled_tools_get_one_moment_together(driver: str) -> None:
    """Ten that refuse to be cancelled hold the run for no longer than one of them."""

    @tool
    async def stubborn(n: int) -> str:
        """Refuse to be cancelled."""
        end = time.monotonic() + 2
        while time.monotonic() < end:
            try:
                await asyncio.sleep(0.05)
            except asyncio.CancelledError:
                continue
        return "late"

    agent = Agent(ScriptedModel([[call("stubborn", n=n) for n in range(10)]]).provider("openai"), tools=[stubborn])

    async def main() -> tuple[float, list[Message]]:
        events = agent.run_stream("go")

        async def whole() -> None:
            async with events:
                async for _ in events:
                    pass

        task = asyncio.create_task(whole() if driver == "async-stream" else _discard(agent))
        await asyncio.sleep(0.3)
        begun = time.monotonic()
        task.cancel()
        await asyncio.wait({task})
        return time.monotonic() - begun, events.messages

    took, messages = asyncio.run(main())
    assert took < 1
    if driver == "async-stream":
        assert_valid(messages)


async def _discard(agent: Agent) -> None:
    await agent.run("go")


@pytest.mark.parametrize("driver", ["async", "sync-stream", "async-stream"])
def test_what_a_cancelled_tool_still_gives_counts(driver: str) -> None:
    """It was told to stop, cleaned up, and had a result after all."""

    @tool
    async def frugal() -> str:
        """Give what there is."""
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            return "half of it"
        return "all of it"

    @tool
    def quick() -> str:
        """Be quick."""
        return "quick"

    told: list[Event] = []
    model = ScriptedModel([[call("quick"), call("frugal")]])
    agent = Agent(model.provider("openai"), tools=[frugal, quick], observers=[told.append])
    if driver == "sync-stream":
        with agent.run_stream_sync("go") as events:
            for event in events:
                if isinstance(event, ToolResultReady):
                    time.sleep(0.2)  # let the other one begin
                    break
    else:

        async def main() -> None:
            task = asyncio.create_task(_discard(agent) if driver == "async" else _read(agent))
            await asyncio.sleep(0.3)
            task.cancel()
            await asyncio.wait({task})

        asyncio.run(main())
    results = {e.call.name: e.result.data for e in told if isinstance(e, ToolResultReady)}
    assert results == {"quick": "quick", "frugal": "half of it"}


async def _read(agent: Agent) -> None:
    async with agent.run_stream("go") as events:
        async for _ in events:
            pass


def test_no_thread_is_left_by_abandoned_requests() -> None:
    """A blocking run with a time limit reads on a worker thread; that one ends too, soon after the run."""
    before = threading.active_count()
    model = ScriptedModel([deliver(say("late"), delay=1.0)])
    with model.serve() as server:
        agent = Agent(server.provider("openai-chat"), limits=Limits(seconds=0.2))
        assert agent.run_sync("go").stop_reason == "time_limit"
        end = time.monotonic() + 10
        names: list[str] = []
        while time.monotonic() < end:
            names = [t.name for t in threading.enumerate() if t.name.startswith("toolsmith-worker")]
            if not names:
                break
            time.sleep(0.1)
    assert names == []
    assert threading.active_count() <= before + 1
