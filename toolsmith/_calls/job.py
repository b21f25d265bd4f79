"""One checked call, how it ended, and the parts of running it that both drivers share."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from io import IOBase
from threading import TIMEOUT_MAX
from time import perf_counter
from types import CodeType
from typing import TYPE_CHECKING, Any, TypeVar, cast

from toolsmith._dataclass import dataclass
from toolsmith._plain import MAX_ITEMS
from toolsmith._run.context import RunContext
from toolsmith.limits import DEFAULT_TOOL_TIMEOUT
from toolsmith.messages import ToolCall

if TYPE_CHECKING:
    from toolsmith.tool import Checked, Tool

T = TypeVar("T")


@dataclass(slots=True, eq=False)  # not frozen, as one is made for each call: it takes less than half of the time
class Job:
    """One checked call, ready to run; nobody changes it.

    Attributes:
        index: which call of its turn this is, from 0.
        timeout: seconds, None for no limit.
        report: takes what the tool reports while it runs; called on the thread that drives the run.
    """

    call: ToolCall
    tool: Tool[..., Any]
    values: Any
    notes: tuple[str, ...] = ()
    context: RunContext[Any] | None = None
    timeout: float | None = None
    report: Callable[[Any], None] | None = None
    index: int = 0


def alone(tool: Tool[..., Any], text: str, checked: Checked, context: RunContext[Any] | None) -> Job:
    """A call by itself, outside of any run.

    Args:
        text: its arguments, as they came in.
        checked: the same, as `Tool.check` found them.
        context: for the parameter that takes one; None gives an empty one.
    """
    if context is None and tool.takes_context:
        context = RunContext(tool_name=tool.name)
    timeout = DEFAULT_TOOL_TIMEOUT if tool.options.timeout is None else tool.options.timeout
    return Job(
        call=ToolCall("", tool.name, text),
        tool=tool,
        values=checked.values,
        notes=checked.notes,
        context=context,
        timeout=None if timeout > TIMEOUT_MAX else timeout,
        report=None if context is None else context.reporter,
    )


@dataclass(slots=True, eq=False)  # as a Job
class Outcome:
    """How a function ended: a value, an exception, or not in time."""

    value: Any = None
    exception: BaseException | None = None
    timed_out: bool = False
    seconds: float = 0.0


_DATA = frozenset({type(None), bool, int, float, str, bytes, list, tuple, dict, set})
"""Types of which neither items nor a result have to be waited for; to ask that of any other takes longer."""

Report = Callable[[Any], None]
Done = Callable[[Job, Outcome], None]


def fatal(outcome: Outcome) -> bool:
    error = outcome.exception
    return error is not None and not isinstance(error, (Exception, asyncio.CancelledError))


def checked(outcome: Outcome) -> Outcome:
    """Only `Exception` is a tool's failure, and a `CancelledError` that nobody asked for."""
    error = outcome.exception
    if error is None or isinstance(error, (Exception, asyncio.CancelledError)):
        return outcome
    raise error


def at_once(job: Job) -> Outcome | None:
    """On a running loop: run a coroutine function that has no `await`. It cannot wait, so it needs no task.

    Raises:
        BaseException: as `checked`.
    """
    tool = job.tool
    if not tool.never_waits:
        return None
    if job.context is not None:
        job.context.reporter = job.report
    started = perf_counter()
    try:
        coroutine = tool.invoke(job.values, job.context)
        coroutine.send(None)
    except StopIteration as end:
        return Outcome(end.value, None, False, perf_counter() - started)
    except BaseException as error:  # noqa: BLE001 - sorted out by checked
        return checked(Outcome(None, error, False, perf_counter() - started))
    finally:
        if job.context is not None:
            job.context.reporter = None  # what a thread of its own still reports is too late
    raise AssertionError(f"{tool.name} waited, though its code has no await.")  # pragma: no cover


def may_wait(code: CodeType | None) -> bool:
    """Whether a function may suspend: False only for a coroutine function without an `await` in it."""
    if code is None or not code.co_flags & inspect.CO_COROUTINE:
        return True
    import dis

    return any(i.opname in {"SEND", "YIELD_VALUE"} for i in dis.get_instructions(code))


def work(job: Job, report: Report | None) -> Any:
    """The sync part of a call: everything, for a sync function; making the coroutine, for an async one."""
    if job.context is not None:
        job.context.reporter = report
    value = job.tool.invoke(job.values, job.context)
    if type(value) in _DATA:
        return value
    if isinstance(value, Iterator) and not isinstance(value, IOBase):
        # Generators, map, zip: to get their items may take time, and belongs to the call.
        return _drain(cast("Iterator[Any]", value), report)
    return value


def _drain(items: Iterator[Any], report: Report | None) -> Any:
    """All items; or what a generator returns, if it returns something: then the items were progress alone."""
    got: list[Any] = []
    while len(got) <= MAX_ITEMS:
        try:
            item = next(items)
        except StopIteration as end:
            return got if end.value is None else end.value
        got.append(item)
        if report is not None:
            report(item)
    return _too_many(got)


async def _adrain(items: AsyncGenerator[Any, None], report: Report | None) -> Any:
    got: list[Any] = []
    async for item in items:
        got.append(item)
        if report is not None:
            report(item)
        if len(got) > MAX_ITEMS:
            await items.aclose()
            return _too_many(got)
    return got


def _too_many(got: list[Any]) -> Iterator[Any]:
    """An iterator with more items than one may have, so that the result is refused for just that."""
    return iter(got)


async def _await(value: Any) -> Any:
    return await value


async def caught(coroutine: Coroutine[Any, Any, T]) -> tuple[T | None, BaseException | None]:
    """Never raises, so that no task ends in «exception was never retrieved» and none brings its loop down."""
    try:
        return await coroutine, None
    except GeneratorExit:
        raise
    except BaseException as error:  # noqa: BLE001 - sorted out by checked
        return None, error


def later(value: Any, report: Report | None) -> Coroutine[Any, Any, Any] | None:
    """The coroutine that is still to be awaited, if the function gave back something that waits."""
    if type(value) in _DATA:
        return None
    if inspect.iscoroutine(value):
        return cast("Coroutine[Any, Any, Any]", value)
    if inspect.isasyncgen(value):
        return _adrain(cast("AsyncGenerator[Any, None]", value), report)
    if inspect.isawaitable(value):
        return _await(value)
    return None
