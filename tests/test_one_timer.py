"""All calls on an event loop share one timer, and each still ends at its own deadline."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import time
import weakref
from collections.abc import Callable
from typing import Any

from toolsmith import Tool, ToolResult, tool


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
    """Neither the timer nor what waits for it keeps a loop, or a call's arguments, in memory."""
    loops: list[weakref.ref[asyncio.AbstractEventLoop]] = []

    async def call() -> None:
        loops.append(weakref.ref(asyncio.get_running_loop()))
        await sleeper(30).call_json('{"seconds": 0}')

    for _ in range(3):
        asyncio.run(call())
    gc.collect()
    assert [loop() for loop in loops] == [None] * 3
