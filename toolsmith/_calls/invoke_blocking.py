"""Jobs to outcomes from a thread that may block: the twin of `invoke` for sync runs.

Sync functions run on daemon worker threads, async ones on one background event loop of the process.
"""

from __future__ import annotations

import contextvars
import inspect
from collections.abc import Callable, Generator, Sequence
from queue import Empty, SimpleQueue
from time import perf_counter
from typing import Any

from toolsmith._calls import workers
from toolsmith._calls.invoke import GRACE_SECONDS, Flight
from toolsmith._calls.job import Done, Job, Outcome, Report, checked, fatal, work
from toolsmith._dataclass import dataclass


def run_one_blocking(job: Job) -> Outcome:
    """Run one job from a thread without an event loop (or one whose loop must not be used)."""
    outcomes: list[Outcome] = []
    perform_blocking([job], lambda _, outcome: outcomes.append(outcome))
    return outcomes[0]


def perform_blocking(jobs: Sequence[Job], done: Done) -> None:
    """Run jobs at the same time and wait for them; `done` is called on this thread as each one ends."""
    for _ in performing(jobs, done):
        pass


def performing(jobs: Sequence[Job], done: Done) -> Generator[None]:
    """`perform_blocking` in pieces: each step waits until something happened. Closing it cancels what still runs."""
    return _Watch(jobs, done).run()


@dataclass(frozen=True, slots=True)
class _Landed:
    index: int
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class _Reported:
    index: int
    item: Any


class _Watch:
    """Jobs that run at the same time, watched from a thread that may block."""

    def __init__(self, jobs: Sequence[Job], done: Done) -> None:
        self._jobs = jobs
        self._done = done
        self._inbox: SimpleQueue[_Landed | _Reported] = SimpleQueue()
        self._open: dict[int, float | None] = {}
        self._flights: list[Flight] = []
        self._given_up = False

    def run(self) -> Generator[None]:
        try:
            for index, job in enumerate(self._jobs):
                self._start(index, job)
            while self._open:
                self._wait()
                yield
        except BaseException:
            self._give_up()
            raise

    def _give_up(self) -> None:
        """Cancel what can be cancelled, and give it a moment; what has ended by then still counts."""
        self._given_up = True
        for flight in self._flights:
            flight.cancel_soon()
        patience = perf_counter() + GRACE_SECONDS
        while self._open:
            waits = any(self._jobs[index].tool.is_async for index in self._open)
            try:
                got = self._inbox.get(timeout=max(patience - perf_counter(), 0) if waits else 0)
            except Empty:
                return
            if isinstance(got, _Landed) and got.index in self._open:
                del self._open[got.index]
                if not fatal(got.outcome) and not _goes_on(got.outcome.value):
                    self._done(self._jobs[got.index], got.outcome)

    def _start(self, index: int, job: Job) -> None:
        if job.tool.is_async:
            self._fly(index, job, Flight.start)
        else:
            began = perf_counter()
            self._open[index] = None if job.timeout is None else began + job.timeout
            task = self._task(index, job, began)
            workers.submit(task) if job.tool.options.thread else task()

    def _task(self, index: int, job: Job, began: float) -> Callable[[], None]:
        context = contextvars.copy_context()

        def task() -> None:
            try:
                value = context.run(work, job, self._reporter(index))
                outcome = Outcome(value, None, False, perf_counter() - began)
            except BaseException as error:  # noqa: BLE001 - sorted out by checked
                outcome = Outcome(None, error, False, perf_counter() - began)
            self._inbox.put(_Landed(index, outcome))

        return task

    def _reporter(self, index: int) -> Report | None:
        if self._jobs[index].report is None:
            return None
        return lambda item: self._inbox.put(_Reported(index, item))

    def _fly(self, index: int, job: Job, begin: Callable[[Flight], None]) -> None:
        loop, reporter = workers.background_loop(), self._reporter(index)
        # The flight keeps the deadline itself; this later one is for a tool that blocks the loop and so its timers.
        self._open[index] = None if job.timeout is None else perf_counter() + job.timeout + 2 * GRACE_SECONDS

        def take_off() -> None:
            if self._given_up:
                return
            flight = Flight(job, loop, lambda _, outcome: self._inbox.put(_Landed(index, outcome)), reporter)
            self._flights.append(flight)
            begin(flight)

        loop.call_soon_threadsafe(contextvars.copy_context().run, take_off)

    def _wait(self) -> None:
        deadlines = [d for d in self._open.values() if d is not None]
        left = None if not deadlines else max(min(deadlines) - perf_counter(), 0)
        try:
            got = self._inbox.get(timeout=left)
        except Empty:
            self._drop_overdue()
            return
        match got:
            case _Reported(index, item):
                report = self._jobs[index].report
                if report is not None and index in self._open:
                    report(item)
            case _Landed(index, outcome):
                if index in self._open:
                    self._land(index, outcome)

    def _drop_overdue(self) -> None:
        now = perf_counter()
        for index in [i for i, d in self._open.items() if d is not None and d <= now]:
            del self._open[index]
            job = self._jobs[index]
            if job.tool.is_async:
                workers.forget_loop()
            self._done(job, Outcome(None, None, True, job.timeout or 0.0))

    def _land(self, index: int, outcome: Outcome) -> None:
        job, value = self._jobs[index], outcome.value
        if _goes_on(value):
            # A sync function that gave back a coroutine: the rest of it runs on the background loop.
            self._fly(index, job, lambda flight: flight.take_over(value))
            return
        del self._open[index]
        self._done(job, checked(outcome))


def _goes_on(value: object) -> bool:
    """Whether what a sync function gave back has still to be awaited."""
    return inspect.isawaitable(value) or inspect.isasyncgen(value)
