"""A few values, each for a while; for many threads at once."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from dataclasses import field
from typing import Generic, TypeVar

from toolsmith._dataclass import dataclass

V = TypeVar("V")


@dataclass(slots=True)
class Kept(Generic[V]):
    """Values by name.

    Attributes:
        most: how many; the oldest ones go.
    """

    most: int
    _values: OrderedDict[str, tuple[float, V]] = field(default_factory=lambda: OrderedDict[str, tuple[float, V]]())
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def get(self, name: str) -> V | None:
        """The value, or None where there is none any more."""
        with self._lock:
            found = self._values.get(name)
            return found[1] if found is not None and found[0] > time.monotonic() else None

    def put(self, name: str, value: V, seconds: float) -> None:
        """Keep a value for so many seconds."""
        with self._lock:
            self._values[name] = (time.monotonic() + seconds, value)
            self._values.move_to_end(name)
            while len(self._values) > self.most:
                self._values.popitem(last=False)
