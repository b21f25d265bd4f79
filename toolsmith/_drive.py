"""Drivers: they wait, so that the loop need not. One blocking, one for asyncio; each is the loop's other half and no more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from toolsmith._invoke import perform
from toolsmith._invoke_blocking import perform_blocking
from toolsmith._loop import Ask, Invoke, Step
from toolsmith.errors import ProviderError

if TYPE_CHECKING:
    from collections.abc import Generator

    from toolsmith._line import Line
    from toolsmith._loop import Ending
    from toolsmith.messages import Reply


class Stepper:
    """Steps through a conversation: an answer or an error goes in, the next step comes out."""

    def __init__(self, steps: Generator[Step, Any, Ending]) -> None:
        self._steps = steps
        self.ending: Ending | None = None

    def next(self, answer: Any = None) -> Step | None:
        """The next step, or None when the conversation has ended."""
        try:
            return self._steps.send(answer)
        except StopIteration as end:
            self.ending = end.value
            return None

    def fail(self, error: BaseException) -> Step | None:
        """Tell the conversation that its step failed; most often it raises that error again."""
        try:
            return self._steps.throw(error)
        except StopIteration as end:
            self.ending = end.value
            return None


def drive(steps: Generator[Step, Any, Ending], line: Line) -> Ending:
    """Run to the end on this thread, which may block."""
    stepper = Stepper(steps)
    step = stepper.next()
    while step is not None:
        answer: Reply | None = None
        try:
            match step:
                case Ask():
                    answer = _ask(line, step)
                case Invoke(stages, done):
                    perform_blocking(stages, done)
        except BaseException as error:  # noqa: BLE001 - the conversation closes its history and raises it again
            step = stepper.fail(error)
        else:
            step = stepper.next(answer)
    assert stepper.ending is not None
    return stepper.ending


async def adrive(steps: Generator[Step, Any, Ending], line: Line) -> Ending:
    """Run to the end on the running event loop."""
    stepper = Stepper(steps)
    step = stepper.next()
    while step is not None:
        answer: Reply | None = None
        try:
            match step:
                case Ask():
                    answer = await _aask(line, step)
                case Invoke(stages, done):
                    await perform(stages, done)
        except BaseException as error:  # noqa: BLE001 - the conversation closes its history and raises it again
            step = stepper.fail(error)
        else:
            step = stepper.next(answer)
    assert stepper.ending is not None
    return stepper.ending


def _ask(line: Line, ask: Ask) -> Reply:
    from toolsmith import _retry

    while True:
        body = line.body(ask, stream=False)
        try:
            reply = line.provider.decode(_retry.send(line.provider, body, timeout=ask.timeout, on_retry=line.retried))
        except ProviderError as error:
            if not line.recover(error):
                raise
        else:
            line.answered()
            return reply


async def _aask(line: Line, ask: Ask) -> Reply:
    from toolsmith import _retry

    while True:
        body = line.body(ask, stream=False)
        try:
            reply = line.provider.decode(
                await _retry.asend(line.provider, body, timeout=ask.timeout, on_retry=line.retried)
            )
        except ProviderError as error:
            if not line.recover(error):
                raise
        else:
            line.answered()
            return reply
