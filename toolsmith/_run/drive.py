"""Drivers: they wait, so that the loop need not. One blocks, one is for asyncio; each also as a stream of events."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable, Generator, Sequence
from contextlib import aclosing, closing
from typing import TYPE_CHECKING, Any

from toolsmith._calls.invoke import flying, perform
from toolsmith._run.steps import Ask, Decide, Invoke, Step, Take
from toolsmith._run.taking import ataken, taken
from toolsmith.approvals import adecide, decide
from toolsmith.errors import ProviderError

if TYPE_CHECKING:
    from toolsmith._calls.job import Done, Job
    from toolsmith._run.line import Line
    from toolsmith._run.steps import Decision, Ending
    from toolsmith.events import Event
    from toolsmith.messages import Reply

    Answer = Reply | list[Decision] | list[Sequence[int | None] | None]

Steps = Generator[Step, Any, "Ending"]


class Outbox:
    """Where the events of a run go: to the observers at once, and for a stream into a queue too."""

    def __init__(self, observe: Callable[[Event], None] | None, *, keep: bool) -> None:
        self._observe = observe
        self._queue: deque[Event] | None = deque() if keep else None
        self._waiting: asyncio.Future[None] | None = None

    def emit(self, event: Event) -> None:
        if self._observe is not None:
            self._observe(event)
        if self._queue is not None:
            self._queue.append(event)
            self.wake()

    def take(self) -> Generator[Event]:
        """What has gathered, oldest first."""
        queue = self._queue
        while queue:
            yield queue.popleft()

    def wake(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    async def wait(self) -> None:
        """Until something has gathered, or somebody called `wake`."""
        if not self._queue:
            self._waiting = asyncio.get_running_loop().create_future()
            await self._waiting


class Stepper:
    """Steps through a conversation: an answer or an error goes in, the next step comes out."""

    def __init__(self, steps: Steps) -> None:
        self._steps = steps
        self._ending: Ending | None = None

    @property
    def ending(self) -> Ending:
        assert self._ending is not None
        return self._ending

    def next(self, answer: Any = None) -> Step | None:
        """The next step, or None when the conversation has ended."""
        try:
            return self._steps.send(answer)
        except StopIteration as end:
            self._ending = end.value
            return None

    def fail(self, error: BaseException) -> Step | None:
        """Tell the conversation that its step failed; most often it raises that error again."""
        try:
            return self._steps.throw(error)
        except StopIteration as end:
            self._ending = end.value
            return None


def drive(steps: Steps, line: Line) -> Ending:
    """Run to the end on this thread, which may block."""
    from toolsmith._calls.invoke_blocking import perform_blocking

    stepper = Stepper(steps)
    step = stepper.next()
    while step is not None:
        answer: Answer | None = None
        try:
            match step:
                case Ask():
                    answer = _ask(line, step)
                case Decide(calls, timeout):
                    answer = decide(line.approve, calls, timeout)
                case Take(orders):
                    answer = taken(orders)
                case Invoke(jobs, done):
                    perform_blocking(jobs, done)
        except BaseException as error:  # noqa: BLE001 - the conversation closes its history and raises it again
            step = stepper.fail(error)
        else:
            step = stepper.next(answer)
    return stepper.ending


async def adrive(steps: Steps, line: Line) -> Ending:
    """Run to the end on the running event loop."""
    stepper = Stepper(steps)
    step = stepper.next()
    while step is not None:
        answer: Answer | None = None
        try:
            match step:
                case Ask():
                    answer = await _aask(line, step)
                case Decide(calls, timeout):
                    answer = await adecide(line.approve, calls, timeout)
                case Take(orders):
                    answer = await ataken(orders)
                case Invoke(jobs, done):
                    await perform(jobs, done)
        except BaseException as error:  # noqa: BLE001 - the conversation closes its history and raises it again
            step = stepper.fail(error)
        else:
            step = stepper.next(answer)
    return stepper.ending


def stream(steps: Steps, line: Line, outbox: Outbox) -> Generator[Event, None, Ending]:
    """`drive`, with the events as they happen; closing the generator cancels the run."""
    from toolsmith._calls.invoke_blocking import performing

    stepper = Stepper(steps)
    step = stepper.next()
    while step is not None:
        answer: Answer | None = None
        yield from outbox.take()
        try:
            match step:
                case Ask():
                    answer = yield from _ask_live(line, step, outbox)
                case Decide(calls, timeout):
                    answer = decide(line.approve, calls, timeout)
                case Take(orders):
                    answer = taken(orders)
                case Invoke(jobs, done):
                    with closing(performing(jobs, done)) as working:
                        for _ in working:
                            yield from outbox.take()
        except BaseException as error:  # noqa: BLE001 - the conversation closes its history and raises it again
            step = stepper.fail(error)
        else:
            step = stepper.next(answer)
    yield from outbox.take()
    return stepper.ending


async def astream(
    steps: Steps, line: Line, outbox: Outbox, ended: Callable[[Ending], None]
) -> AsyncGenerator[Event, None]:
    """`adrive`, with the events as they happen; closing the generator cancels the run."""
    stepper = Stepper(steps)
    step = stepper.next()
    while step is not None:
        answer: list[Answer] = []
        for event in outbox.take():
            yield event
        try:
            match step:
                case Ask():
                    async with aclosing(_aask_live(line, step, outbox, answer.append)) as events:
                        async for event in events:
                            yield event
                case Decide(calls, timeout):
                    answer.append(await adecide(line.approve, calls, timeout))
                case Take(orders):
                    answer.append(await ataken(orders))
                case Invoke(jobs, done):
                    async with aclosing(_perform_live(jobs, done, outbox)) as events:
                        async for event in events:
                            yield event
        except BaseException as error:  # noqa: BLE001 - the conversation closes its history and raises it again
            step = stepper.fail(error)
        else:
            step = stepper.next(answer[0] if answer else None)
    ended(stepper.ending)
    for event in outbox.take():
        yield event


async def _perform_live(jobs: Sequence[Job], done: Done, outbox: Outbox) -> AsyncGenerator[Event, None]:
    async with flying(jobs, done) as over:
        over.add_done_callback(lambda _: outbox.wake())
        while not over.done():
            await outbox.wait()
            for event in outbox.take():
                yield event
        over.result()


def _ask(line: Line, ask: Ask) -> Reply:
    from toolsmith._run import retry

    while True:
        body = line.body(ask, stream=False)
        try:
            reply = retry.ask(line.provider, body, timeout=ask.seconds_left, on_retry=line.retried)
        except ProviderError as error:
            if not line.recover(error):
                raise
        else:
            return line.answered(reply)


async def _aask(line: Line, ask: Ask) -> Reply:
    from toolsmith._run import retry

    while True:
        body = line.body(ask, stream=False)
        try:
            reply = await retry.aask(line.provider, body, timeout=ask.seconds_left, on_retry=line.retried)
        except ProviderError as error:
            if not line.recover(error):
                raise
        else:
            return line.answered(reply)


def _ask_live(line: Line, ask: Ask, outbox: Outbox) -> Generator[Event, None, Reply]:
    from toolsmith._run import retry

    while True:
        body = line.body(ask, stream=True)
        seen = False
        try:
            with retry.stream(line.provider, body, timeout=ask.seconds_left, on_retry=line.retried) as deltas:
                for batch in deltas:
                    seen = True
                    for delta in batch:
                        outbox.emit(line.told(delta))
                    yield from outbox.take()
                return line.answered(deltas.reply)
        except ProviderError as error:
            # Words that were handed on cannot be taken back: another model would say them again.
            if seen or not line.recover(error):
                raise


async def _aask_live(
    line: Line, ask: Ask, outbox: Outbox, answer: Callable[[Reply], None]
) -> AsyncGenerator[Event, None]:
    from toolsmith._run import retry

    while True:
        body = line.body(ask, stream=True)
        seen = False
        try:
            async with retry.astream(line.provider, body, timeout=ask.seconds_left, on_retry=line.retried) as deltas:
                async for batch in deltas:
                    seen = True
                    for delta in batch:
                        outbox.emit(line.told(delta))
                    for event in outbox.take():
                        yield event
                answer(line.answered(deltas.reply))
                return
        except ProviderError as error:
            # Words that were handed on cannot be taken back: another model would say them again.
            if seen or not line.recover(error):
                raise
