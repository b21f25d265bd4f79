"""Threads that run sync tools, and one event loop for async tools of sync runs.

All are daemons: the threads of `concurrent.futures` are joined when the interpreter exits, so one hung tool would hold
the process for as long as it hangs. A thread cannot be killed; one that outlives its deadline is left to itself and its
late result is dropped.
"""

from __future__ import annotations

import asyncio
import contextvars
import itertools
import os
import threading
from collections import deque
from collections.abc import Callable, Coroutine, Generator
from contextlib import closing
from functools import partial
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Any, TypeVar, cast

from toolsmith._calls.tower import tower_of
from toolsmith._dataclass import dataclass

IDLE_SECONDS = 5.0
"""A worker without work for this long ends."""

T = TypeVar("T")

_numbers = itertools.count(1)


class _Worker:
    __slots__ = ("inbox", "pool")

    def __init__(self, pool: _Pool) -> None:
        self.pool = pool
        self.inbox: SimpleQueue[Callable[[], None]] = SimpleQueue()
        threading.Thread(target=self._work, name=f"toolsmith-worker-{next(_numbers)}", daemon=True).start()

    def _work(self) -> None:
        while True:
            try:
                job = self.inbox.get(timeout=IDLE_SECONDS)
            except Empty:
                # Somebody may have taken this worker off the idle list just now: then a job is on its way.
                if self.pool.retire(self):
                    return
                continue
            job()
            del job  # a job holds the tool's arguments: do not keep them alive while idle
            self.pool.idle.append(self)


@dataclass(frozen=True, slots=True)
class _End:
    error: BaseException | None


class _Pool:
    """Reuses idle workers, newest first; grows when all are busy, since a busy one may be hung."""

    def __init__(self) -> None:
        self.idle: deque[_Worker] = deque()

    def submit(self, job: Callable[[], None]) -> None:
        try:
            worker = self.idle.pop()
        except IndexError:
            worker = _Worker(self)
        worker.inbox.put(job)

    def retire(self, worker: _Worker) -> bool:
        try:
            self.idle.remove(worker)
        except ValueError:
            return False
        return True


_pool = _Pool()
_loops: list[asyncio.AbstractEventLoop] = []  # the second one for runs inside of tools on the first, and so on
_loop_lock = threading.Lock()


def submit(job: Callable[[], None]) -> None:
    """Run `job` on a worker thread, at once. `job` must not raise."""
    _pool.submit(job)


async def call(loop: asyncio.AbstractEventLoop, function: Callable[[], T]) -> T:
    """Run `function` on a worker thread and wait for what it gives, in the caller's context variables."""
    future: asyncio.Future[T] = loop.create_future()
    context = contextvars.copy_context()
    tower = tower_of(loop)

    def settle(value: T | None, error: BaseException | None) -> None:
        if future.done():
            return
        if error is None:
            future.set_result(cast("T", value))
        else:
            future.set_exception(error)

    def job() -> None:
        value, error = None, None
        try:
            value = context.run(function)
        except StopIteration as caught:  # a future refuses to carry one
            error = RuntimeError(f"{function!r} raised StopIteration")
            error.__cause__ = caught
        except BaseException as caught:  # noqa: BLE001 - carried to the caller
            error = caught
        tower.hand_over(partial(settle, value, error))

    submit(job)
    return await future


def wait_for(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine on the background loop and wait for what it gives; interrupted, it is cancelled."""
    future = asyncio.run_coroutine_threadsafe(coroutine, background_loop())
    try:
        return future.result()
    except BaseException:
        future.cancel()
        raise


def in_time(items: Generator[T], seconds: float) -> Generator[T]:
    """The same items, made on a worker thread, so that their taker need not wait longer than so many seconds.

    A thread that blocks cannot be stopped: it is left to itself, and ends with its next item. For the socket's own
    timeout that is not enough: it begins anew with each byte, and knows nothing of a name that cannot be looked up.

    Raises:
        TimeoutError: the time was over before the last item.
    """
    deadline = monotonic() + seconds
    inbox: SimpleQueue[T | _End] = SimpleQueue()
    left = False

    def make() -> None:
        error = None
        try:
            with closing(items):
                for item in items:
                    if left:
                        return
                    inbox.put(item)
        except BaseException as caught:  # noqa: BLE001 - carried to the taker
            error = caught
        inbox.put(_End(error))

    submit(partial(contextvars.copy_context().run, make))
    try:
        while (wait := deadline - monotonic()) > 0:
            try:
                got = inbox.get(timeout=wait)
            except Empty:
                break
            if isinstance(got, _End):
                if got.error is not None:
                    raise got.error
                return
            yield got
        raise TimeoutError("it took longer than the time allowed")
    finally:
        left = True


def background_loop() -> asyncio.AbstractEventLoop:
    """The event loop on which async tools of sync runs live.

    One for the whole process, not one a call: clients that a tool keeps (pools, sessions) are bound to the loop they
    were first used on, and would find it closed the second time. A tool that lives there and makes a sync run of its
    own blocks that loop until its run has ended, and so the async tools of that run live on another.
    """
    with _loop_lock:
        depth = _depth()
        if depth < len(_loops) and _loops[depth].is_closed():
            del _loops[depth]
        if depth >= len(_loops):
            loop = asyncio.new_event_loop()
            threading.Thread(target=loop.run_forever, name="toolsmith-loop", daemon=True).start()
            _loops.append(loop)
        return _loops[depth]


def forget_loop() -> None:
    """The background loop is stuck in a tool that blocks: leave it to itself, the next one to ask gets a new loop."""
    with _loop_lock:
        del _loops[_depth() :]


def _depth() -> int:
    """How many sync runs stand around this one whose async tools called each other."""
    try:
        here = asyncio.get_running_loop()
    except RuntimeError:
        return 0
    return _loops.index(here) + 1 if here in _loops else 0


def _after_fork() -> None:
    # The child has none of the parent's threads; what it inherited would wait for ever.
    global _pool, _loop_lock
    _pool = _Pool()
    _loops.clear()
    _loop_lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
