"""Jobs to outcomes on an event loop: runs the functions behind tool calls, within their deadlines.

A sync function runs on a daemon worker thread, so that it never stalls the loop; an async one as a task. Whatever a
function does - raise, hang, ignore its cancellation - each job gets an outcome by its deadline. `invoke_blocking` does
the same for sync runs.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from time import perf_counter
from typing import Any

from toolsmith._calls import workers
from toolsmith._calls.job import Done, Job, Outcome, Report, at_once, caught, fatal, later, work
from toolsmith._calls.tower import tower_of

GRACE_SECONDS = 0.25
"""How long a cancelled async tool may take to clean up before it is left to itself."""


async def run_one(job: Job) -> Outcome:
    """Run one job on the running event loop.

    Raises:
        BaseException: what is not a tool's to swallow (`KeyboardInterrupt`, `SystemExit`); the caller's cancellation.
    """
    if (outcome := at_once(job)) is not None:
        return outcome
    loop = asyncio.get_running_loop()
    over: asyncio.Future[Outcome] = loop.create_future()

    def landed(_: Job, outcome: Outcome) -> None:
        if over.done():
            return
        if outcome.exception is not None and fatal(outcome):
            over.set_exception(outcome.exception)
        else:
            over.set_result(outcome)

    # As `flying` does for many; its own machinery would be a tenth of the call of a sync function.
    flight = Flight(job, loop, landed)
    try:
        flight.start()
        return await over
    except BaseException:
        await _abandon([flight])
        raise


async def perform(jobs: Sequence[Job], done: Done) -> None:
    """Run jobs at the same time on the running event loop; `done` is called as each one ends."""
    if len(jobs) == 1 and (outcome := at_once(jobs[0])) is not None:
        done(jobs[0], outcome)
        return
    async with flying(jobs, done) as over:
        await over


@asynccontextmanager
async def flying(jobs: Sequence[Job], done: Done) -> AsyncGenerator[asyncio.Future[None]]:
    """`perform` for who has something to do meanwhile: gives the future that is done when all jobs are.

    Left before, it cancels them and gives them a moment: what ends in it still counts.
    """
    loop = asyncio.get_running_loop()
    # Not the flights' own futures: a task that is cancelled cancels what it awaits, and they still have to land.
    over: asyncio.Future[None] = loop.create_future()
    left = len(jobs)

    def landed(job: Job, outcome: Outcome) -> None:
        nonlocal left
        left -= 1
        if not fatal(outcome):
            done(job, outcome)
            if not left and not over.done():
                over.set_result(None)
        elif outcome.exception is not None and not over.done():
            over.set_exception(outcome.exception)

    flights: list[Flight] = []
    try:
        for job in jobs:
            if (outcome := at_once(job)) is not None:
                done(job, outcome)
                left -= 1
                continue
            flight = Flight(job, loop, landed)
            flights.append(flight)
            flight.start()
        if not left and not over.done():
            over.set_result(None)
        yield over
    except BaseException:
        await _abandon(flights)
        raise


async def _abandon(flights: Sequence[Flight]) -> None:
    """Cancel what still flies, all at once, and give it a moment to clean up."""
    tasks = {task for flight in flights if (task := flight.cancel()) is not None}
    try:
        if tasks:
            await asyncio.wait(tasks, timeout=GRACE_SECONDS)
    finally:
        for flight in flights:
            flight.forget()


class Flight:
    """One job on an event loop, from start to landing. All methods but `_on_worker` run on that loop.

    Args:
        job: what is to be run.
        loop: where.
        landed: is told how the job ended, once.
        report: takes what the tool reports, on whatever thread; None for the job's own, on the loop's thread.
    """

    __slots__ = ("_began", "_context", "_ended", "_job", "_landed", "_loop", "_over", "_report", "_task", "_tower")

    def __init__(self, job: Job, loop: asyncio.AbstractEventLoop, landed: Done, report: Report | None = None) -> None:
        self._job = job
        self._loop = loop
        self._landed = landed
        self._report = report or (self._reported if job.report is not None else None)
        self._task: asyncio.Task[tuple[Any, BaseException | None]] | None = None
        self._tower = tower_of(loop)
        self._context = contextvars.copy_context()
        self._began = perf_counter()
        self._ended: tuple[Any, BaseException | None] | None = None  # on the worker, of which the loop may not know yet
        self._over = False

    def start(self) -> None:
        self._set_deadline()
        job = self._job
        if not job.tool.is_async and job.tool.options.thread:
            workers.submit(self._on_worker)
            return
        try:
            self._proceed(self._context.run(work, job, self._report), None)
        except BaseException as error:  # noqa: BLE001 - sorted out by checked
            self._proceed(None, error)

    def take_over(self, value: Any) -> None:
        """Go on with what a function gave back elsewhere."""
        self._set_deadline()
        self._proceed(value, None)

    def _set_deadline(self) -> None:
        if self._job.timeout is not None:
            self._tower.remind(self._overdue, self._job.timeout)

    def _reported(self, item: Any) -> None:
        if threading.get_ident() == _thread_of(self._loop):
            self._tell(item)
        else:
            self._tower.hand_over(partial(self._tell, item))

    def _tell(self, item: Any) -> None:
        if not self._over and self._job.report is not None:  # too late, as from a thread that outlives its call
            self._job.report(item)

    def _on_worker(self) -> None:
        value, error = None, None
        try:
            value = self._context.run(work, self._job, self._report)
        except BaseException as caught:  # noqa: BLE001 - sorted out by checked
            error = caught
        self._ended = value, error
        self._tower.hand_over(partial(self._proceed, value, error))

    def _proceed(self, value: Any, error: BaseException | None) -> None:
        if self._over or self._task is not None:  # too late: what it would have said is dropped
            return
        rest = None if error is not None else later(value, self._report)
        if rest is None:
            self._land(Outcome(value, error, False, perf_counter() - self._began))
            return
        self._task = self._loop.create_task(caught(rest), context=self._context)
        self._task.add_done_callback(self._task_ended)

    def _task_ended(self, task: asyncio.Task[tuple[Any, BaseException | None]]) -> None:
        try:
            value, error = task.result()
        except BaseException as ended:  # noqa: BLE001 - cancelled, or a GeneratorExit of the tool's own
            value, error = None, ended
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
        if not self._over:
            self.forget()
            self._landed(self._job, outcome)

    def forget(self) -> None:
        """What it would still say is dropped."""
        self._over = True
        self._tower.forget(self._overdue)

    def cancel(self) -> asyncio.Task[Any] | None:
        """Stop it; what has ended already lands now. The task that is still to end, if there is one."""
        if self._task is None and self._ended is not None:
            self._proceed(*self._ended)
        if self._task is None or self._over:
            return None
        if self._task.done():
            self._task_ended(self._task)
            return None
        self._task.cancel()
        return self._task

    def cancel_soon(self) -> None:
        """`cancel`, from any thread."""
        self._loop.call_soon_threadsafe(self.cancel)


def _thread_of(loop: asyncio.AbstractEventLoop) -> int | None:
    """The thread on which `loop` runs, as far as this thread can tell: its own, or another."""
    try:
        return threading.get_ident() if asyncio.get_running_loop() is loop else None
    except RuntimeError:
        return None
