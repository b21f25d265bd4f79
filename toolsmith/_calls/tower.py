"""What all calls on one event loop share: a timer for their deadlines, and a way in from other threads.

asyncio has both for each call by itself, and for the call of a small function they are most of its cost. A timer is
made, sorted in, cancelled and taken out again, although nearly every call ends in time: here a call is only noted, and
forgotten, and the one timer that rings at the earliest deadline may ring in vain. `call_soon_threadsafe` wakes the loop
by a byte on a socket, which the loop reads until it finds no other: here what threads hand over waits in one inbox, and
an eventfd wakes the loop where the system has it, once for all that is in there.
"""

from __future__ import annotations

import asyncio
import contextvars
import os
import threading
from collections import deque
from collections.abc import Callable
from math import inf
from weakref import WeakValueDictionary, ref

Act = Callable[[], None]

_NOBODYS = contextvars.Context()
"""The context variables of what outlives the calls that it was made for."""


class Tower:
    """One for each event loop. All methods but `hand_over` run on that loop."""

    __slots__ = ("__weakref__", "_bell", "_inbox", "_next", "_rung", "_timer", "_waiting", "loop")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._waiting: dict[Act, tuple[float, contextvars.Context]] = {}
        self._next = inf
        self._timer: asyncio.TimerHandle | None = None
        self._inbox: deque[Act] = deque()
        self._rung = False
        self._bell = self._hung_bell()

    # ---- deadlines

    def remind(self, act: Act, seconds: float) -> None:
        """Call `act` after so many seconds, once, in the context variables of now."""
        when = self.loop.time() + seconds
        self._waiting[act] = when, contextvars.copy_context()
        if when < self._next:
            self._set(when)

    def forget(self, act: Act) -> None:
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

    # ---- from other threads

    def hand_over(self, act: Act) -> None:
        """Call `act` on the loop, soon and in turn. From any thread; nothing happens on a loop that is closed."""
        self._inbox.append(act)
        # Whoever finds that the bell has rung has put his own in before the loop looks into the inbox.
        if not self._rung:
            self._rung = True
            self._wake()

    def _wake(self) -> None:
        if self._bell is not None:
            os.eventfd_write(self._bell, 1)
            return
        try:
            self.loop.call_soon_threadsafe(self._empty, context=_NOBODYS)
        except RuntimeError:
            if not self.loop.is_closed():  # a closed loop has nobody waiting for this any more
                raise

    def _answer(self) -> None:
        assert self._bell is not None
        os.eventfd_read(self._bell)
        self._empty()

    def _empty(self) -> None:
        self._rung = False
        try:
            while self._inbox:
                self._inbox.popleft()()
        finally:
            if self._inbox:  # one has raised: the others have nothing to do with that
                self._wake()

    def _hung_bell(self) -> int | None:
        """An eventfd that the loop listens to, until it is closed; None where system or loop have no such thing."""
        if not hasattr(os, "eventfd"):
            return None
        try:
            bell = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        except OSError:  # too many open files, or a sandbox that knows none of these
            return None
        try:
            _NOBODYS.copy().run(self.loop.add_reader, bell, self._answer)
        except (NotImplementedError, OSError):
            os.close(bell)
            return None
        return bell

    def __del__(self) -> None:
        if self._bell is not None:
            os.close(self._bell)


class _Latest(threading.local):
    """The tower of the loop that ran on this thread last. Weak: it is the loop that keeps it, by its bell and timer."""

    known: Callable[[], Tower | None] = staticmethod(lambda: None)


_latest = _Latest()
_standing: WeakValueDictionary[int, Tower] = WeakValueDictionary()
"""By the `id` of the loop, for threads that go back to a loop from another; as weak as the latest."""


def tower_of(loop: asyncio.AbstractEventLoop) -> Tower:
    """That of the loop which runs on this thread."""
    found = _latest.known()
    if found is not None and found.loop is loop:
        return found
    found = _standing.get(id(loop))
    if found is None or found.loop is not loop:
        found = _standing[id(loop)] = Tower(loop)
    _latest.known = ref(found)
    return found
