"""One timer of an event loop for all deadlines on it.

A timer of its own for each call costs more than the call of a small function: it is made, sorted in, cancelled, and
taken out again by the loop. Most calls end long before their deadline, so here a call is only noted, and forgotten; the
timer that rings at the earliest of the deadlines stays, rings in vain, and is set anew if calls are still waiting.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable
from math import inf
from weakref import ref

_NOBODYS = contextvars.Context()
"""For the timer, which outlives the calls that it was set for."""


class Deadlines:
    """What is to happen on a loop, and when, unless it is forgotten before. All methods run on that loop."""

    __slots__ = ("__weakref__", "_next", "_timer", "_waiting", "loop")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._waiting: dict[Callable[[], None], tuple[float, contextvars.Context]] = {}
        self._next = inf
        self._timer: asyncio.TimerHandle | None = None

    def add(self, act: Callable[[], None], seconds: float) -> None:
        """Call `act` after so many seconds, once, in the context variables of now."""
        when = self.loop.time() + seconds
        self._waiting[act] = when, contextvars.copy_context()
        if when < self._next:
            self._set(when)

    def forget(self, act: Callable[[], None]) -> None:
        """Do not call `act` any more."""
        self._waiting.pop(act, None)

    def _set(self, when: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._next = when
        self._timer = self.loop.call_at(when, self._ring, context=_NOBODYS)

    def _ring(self) -> None:
        now = max(self.loop.time(), self._next)  # a loop may ring a tick of its clock too soon
        self._timer, self._next = None, inf
        due = [(act, context) for act, (when, context) in self._waiting.items() if when <= now]
        for act, _ in due:
            del self._waiting[act]
        if self._waiting:
            self._set(min(when for when, _ in self._waiting.values()))
        for act, context in due:
            self.loop.call_soon(act, context=context)


class _Latest(threading.local):
    """Of the loop that ran on this thread last. Weak: a loop keeps its deadlines by the timer that it holds."""

    known: Callable[[], Deadlines | None] = staticmethod(lambda: None)


_latest = _Latest()


def deadlines_of(loop: asyncio.AbstractEventLoop) -> Deadlines:
    """Those of the loop that runs on this thread."""
    found = _latest.known()
    if found is None or found.loop is not loop:
        found = Deadlines(loop)
        _latest.known = ref(found)
    return found
