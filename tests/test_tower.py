"""Calls on an event loop share a timer and a way in from other threads, and none is mixed up with another."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import threading
import time
import weakref
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from toolsmith import Tool, ToolResult, tool
from toolsmith._calls.tower import tower_of


@tool
async def nap(seconds: float) -> str:
    """Sleep on the loop."""
    await asyncio.sleep(seconds)
    return "rested"


def sleeper(timeout: float) -> Tool[..., Any]:
    def sleep(seconds: float) -> str:
        """Sleep on a thread."""
        time.sleep(seconds)
        return "rested"

    return Tool(sleep, timeout=timeout)


async def ended(made: Tool[..., Any], seconds: float) -> tuple[float, ToolResult]:
    began = time.perf_counter()
    result = await made.call_json(f'{{"seconds": {seconds}}}')
    return time.perf_counter() - began, result


class CountingLoop(asyncio.SelectorEventLoop):
    """Counts the timers that are set on it."""

    timers = 0

    def call_at(
        self, when: float, callback: Callable[..., object], *args: Any, context: contextvars.Context | None = None
    ) -> asyncio.TimerHandle:
        self.timers += 1
        return super().call_at(when, callback, *args, context=context)


def test_each_call_ends_at_its_own_deadline() -> None:
    """Whatever order they begin in: a shorter deadline after a longer one, and those that ended in time in between."""
    timeouts = (0.4, 0.2, 30.0, 0.3, 0.1, 0.2)

    async def all_of_them() -> list[tuple[float, ToolResult]]:
        late = [ended(sleeper(timeout), 0.05 if timeout > 1 else 1.0) for timeout in timeouts]
        return await asyncio.gather(*late, *(ended(Tool(nap.__wrapped__, timeout=t), 2.0) for t in timeouts if t < 1))

    for took, (seconds, result) in zip(
        (*timeouts, *(t for t in timeouts if t < 1)), asyncio.run(all_of_them()), strict=True
    ):
        if took > 1:
            assert result == ToolResult(True, "rested")
            assert seconds < 0.3
        else:
            assert not result.success
            assert took <= seconds < took + 0.25


def test_a_deadline_that_follows_another() -> None:
    """After one has rung, in time or in vain, the next is still kept."""

    async def one_by_one() -> None:
        made = sleeper(0.1)
        for slept, success in ((0.3, False), (0.0, True), (0.3, False)):
            seconds, result = await ended(made, slept)
            assert result.success is success
            assert seconds < 0.25
            await asyncio.sleep(0.15 if success else 0)

    asyncio.run(one_by_one())


def test_calls_set_one_timer() -> None:
    """A hundred calls that end in time, one after the other and at the same time, have one timer between them."""

    async def calls() -> None:
        made = sleeper(30)
        for _ in range(50):
            await made.call_json('{"seconds": 0}')
        await asyncio.gather(*(made.call_json('{"seconds": 0}') for _ in range(50)))

    with asyncio.Runner(loop_factory=CountingLoop) as runner:
        runner.run(calls())
        loop = runner.get_loop()
        assert isinstance(loop, CountingLoop)
        assert loop.timers <= 1


def test_a_loop_that_has_ended_is_forgotten() -> None:
    """Nothing that calls leave behind keeps a loop in memory."""
    loops: list[weakref.ref[asyncio.AbstractEventLoop]] = []

    async def call() -> None:
        loops.append(weakref.ref(asyncio.get_running_loop()))
        await sleeper(30).call_json('{"seconds": 0}')

    for _ in range(3):
        asyncio.run(call())
    gc.collect()
    assert [loop() for loop in loops] == [None] * 3


class LoopWithoutReaders(asyncio.SelectorEventLoop):
    """As loops are that know no file descriptors."""

    def add_reader(self, fd: object, callback: Callable[..., Any], *args: Any) -> None:
        raise NotImplementedError


@pytest.mark.parametrize("loop", [asyncio.SelectorEventLoop, LoopWithoutReaders])
def test_what_threads_give_back_arrives(loop: Callable[[], asyncio.AbstractEventLoop]) -> None:
    """Of 2,000 calls on many threads each gets its own result, whether the loop sleeps or works meanwhile."""

    @tool
    def double(number: int) -> int:
        """Double it."""
        return 2 * number

    async def calls() -> None:
        for start in range(0, 2_000, 50):
            numbers = range(start, start + 50)
            got = await asyncio.gather(*(double.call_json(f'{{"number": {n}}}') for n in numbers))
            assert got == [ToolResult(True, 2 * n) for n in numbers]

    with asyncio.Runner(loop_factory=loop) as runner:
        runner.run(calls())


@pytest.mark.parametrize("loop", [asyncio.SelectorEventLoop, LoopWithoutReaders])
def test_one_that_raises_holds_up_none_of_the_others(loop: Callable[[], asyncio.AbstractEventLoop]) -> None:
    """The loop is told of it, as of any callback that raises; what was handed over after it is done all the same."""
    told: list[object] = []
    done: list[int] = []

    def fail() -> None:
        raise ValueError("no")

    async def hear() -> None:
        over = asyncio.Event()
        here = asyncio.get_running_loop()
        here.set_exception_handler(lambda _, context: told.append(context.get("exception")))
        tower = tower_of(here)
        for act in (fail, partial(done.append, 1), fail, partial(done.append, 2), over.set):
            tower.hand_over(act)
        await over.wait()

    with asyncio.Runner(loop_factory=loop) as runner:
        runner.run(asyncio.wait_for(hear(), 5))
    assert done == [1, 2]
    assert [type(error) for error in told] == [ValueError, ValueError]


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="open files are counted in /proc")
def test_loops_leave_no_files_open() -> None:
    """Whatever a loop needed to hear from threads is gone with it."""

    def opened() -> int:
        gc.collect()
        return len(list(Path("/proc/self/fd").iterdir()))

    asyncio.run(sleeper(30).call_json('{"seconds": 0}'))
    before = opened()
    for _ in range(20):
        asyncio.run(sleeper(30).call_json('{"seconds": 0}'))
    assert opened() <= before


def test_a_thread_that_ends_after_its_loop() -> None:
    """What a call gives back to a loop that has been closed is dropped, and is no error on its thread."""
    may_end, ended = threading.Event(), threading.Event()

    @tool(timeout=0.05)
    def hang() -> str:
        """Wait for the end."""
        may_end.wait(10)
        threading.Timer(0.1, ended.set).start()
        return "late"

    result = asyncio.run(hang.call_json("{}"))
    assert not result.success
    may_end.set()
    assert ended.wait(10)


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="open files are counted as Linux tells them")
def test_a_thread_that_goes_back_and_forth_between_loops_hangs_one_bell_in_each() -> None:
    """A program that keeps two loops, and runs each now and then, does not gather open files."""
    loops = [asyncio.new_event_loop(), asyncio.new_event_loop()]

    def both() -> int:
        for loop in loops:
            assert loop.run_until_complete(sleeper(5.0).call_json('{"seconds": 0}')).success
        gc.collect()
        return len(list(Path("/proc/self/fd").iterdir()))

    first = both()
    assert max(both() for _ in range(10)) <= first
    for loop in loops:
        loop.close()
