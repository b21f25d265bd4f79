"""Jobs to outcomes on an event loop: runs the functions behind tool calls, within their deadlines.

A sync function runs on a daemon worker thread, so that it never stalls the loop; an async one as a task. Whatever a
function does - raise, hang, ignore its cancellation - each job gets an outcome by its deadline. `_invoke_blocking` does
the same for sync runs.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Sequence
from time import perf_counter
from typing import Any

from toolsmith import _workers
from toolsmith._job import Done, Job, Outcome, Report, at_once, caught, checked, fatal, later, work

GRACE_SECONDS = 0.25
"""How long a cancelled async tool may take to clean up before it is left to itself."""


async def run_one(job: Job) -> Outcome:
    """Run one job on the running event loop.

    Raises:
        BaseException: what is not a tool's to swallow (`KeyboardInterrupt`, `SystemExit`); the caller's cancellation.
    """
    if (outcome := at_once(job)) is not None:
        return checked(outcome)
    flight = Flight(job, asyncio.get_running_loop())
    try:
        flight.start()
        return checked(await flight.landed)
    except asyncio.CancelledError:
        await flight.abandon()
        raise


async def perform(jobs: Sequence[Job], done: Done) -> None:
    """Run jobs at the same time on the running event loop; `done` is called as each one ends."""
    if len(jobs) == 1:
        done(jobs[0], await run_one(jobs[0]))
        return
    loop = asyncio.get_running_loop()
    flights: list[Flight] = []
    try:
        for job in jobs:
            if (outcome := at_once(job)) is not None:
                done(job, checked(outcome))
                continue
            flight = Flight(job, loop, done)
            flights.append(flight)
            flight.start()
        for flight in flights:
            checked(await flight.landed)
    except BaseException:
        for flight in flights:
            await flight.abandon()
        raise


class Flight:
    """One job on an event loop, from start to landing. All methods but `_on_worker` run on that loop."""

    __slots__ = ("_began", "_context", "_done", "_job", "_loop", "_report", "_task", "_timer", "landed")

    def __init__(
        self, job: Job, loop: asyncio.AbstractEventLoop, done: Done | None = None, report: Report | None = None
    ) -> None:
        self._job = job
        self._loop = loop
        self._done = done
        self._report = report or (self._reported if job.report is not None else None)
        self._task: asyncio.Task[tuple[Any, BaseException | None]] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._context = contextvars.copy_context()
        self._began = perf_counter()
        self.landed: asyncio.Future[Outcome] = loop.create_future()

    def start(self) -> None:
        self._set_timer()
        job = self._job
        if not job.tool.is_async and job.tool.options.thread:
            _workers.submit(self._on_worker)
            return
        try:
            self._proceed(self._context.run(work, job, self._report), None)
        except BaseException as error:  # noqa: BLE001 - sorted out by checked
            self._proceed(None, error)

    def take_over(self, value: Any) -> None:
        """Go on with what a function gave back elsewhere."""
        self._set_timer()
        self._proceed(value, None)

    def _set_timer(self) -> None:
        if self._job.timeout is not None:
            self._timer = self._loop.call_later(max(self._job.timeout, 0), self._overdue)

    def _reported(self, item: Any) -> None:
        assert self._job.report is not None
        if threading.get_ident() == _thread_of(self._loop):
            self._job.report(item)
        else:
            self._loop.call_soon_threadsafe(self._job.report, item)

    def _on_worker(self) -> None:
        value, error = None, None
        try:
            value = self._context.run(work, self._job, self._report)
        except BaseException as caught:  # noqa: BLE001 - sorted out by checked
            error = caught
        try:
            self._loop.call_soon_threadsafe(self._proceed, value, error)
        except RuntimeError:
            if not self._loop.is_closed():  # a closed loop has nobody waiting for this any more
                raise

    def _proceed(self, value: Any, error: BaseException | None) -> None:
        if self.landed.done():  # too late: what it would have said is dropped
            return
        rest = None if error is not None else later(value, self._report)
        if rest is None:
            self._land(Outcome(value, error, False, perf_counter() - self._began))
            return
        self._task = self._loop.create_task(caught(rest), context=self._context)
        self._task.add_done_callback(self._task_ended)

    def _task_ended(self, task: asyncio.Task[tuple[Any, BaseException | None]]) -> None:
        if self.landed.done():
            return
        value, error = (None, asyncio.CancelledError()) if task.cancelled() else task.result()
        self._land(Outcome(value, error, False, perf_counter() - self._began))

    def _overdue(self) -> None:
        if self._task is None or self._task.done():
            self._land_late()
            return
        # Let its `finally` blocks run before the model hears of it; but a task may refuse to be cancelled.
        self._task.remove_done_callback(self._task_ended)
        self._task.add_done_callback(self._land_late)
        self._task.cancel()
        self._loop.call_later(GRACE_SECONDS, self._land_late)

    def _land_late(self, _: object = None) -> None:
        self._land(Outcome(None, None, True, perf_counter() - self._began))

    def _land(self, outcome: Outcome) -> None:
        if self.landed.done():
            return
        if self._timer is not None:
            self._timer.cancel()
        self.landed.set_result(outcome)
        if self._done is not None and not fatal(outcome):
            self._done(self._job, outcome)

    def cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._task is not None:
            self._task.cancel()
        self.landed.cancel()

    def cancel_soon(self) -> None:
        """`cancel`, from any thread."""
        self._loop.call_soon_threadsafe(self.cancel)

    async def abandon(self) -> None:
        """The run is over: cancel the task and give it a moment to clean up."""
        self.cancel()
        if self._task is not None and not self._task.done():
            await asyncio.wait({self._task}, timeout=GRACE_SECONDS)


def _thread_of(loop: asyncio.AbstractEventLoop) -> int | None:
    """The thread on which `loop` runs, as far as this thread can tell: its own, or another."""
    try:
        return threading.get_ident() if asyncio.get_running_loop() is loop else None
    except RuntimeError:
        return None
