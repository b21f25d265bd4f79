"""How nearly every call ends: with data that can be shown as it is."""

from __future__ import annotations

from typing import Any

from toolsmith.messages import ToolResult


class _Success:
    """A `ToolResult` before it is frozen: one is made for each call, and a frozen class takes twice as long to fill."""

    __slots__ = ToolResult.__slots__

    def __init__(self, data: Any) -> None:
        self.success = True
        self.data = data
        self.error = None
        self.notes = ()
        self.media = ()
        self.untrusted = False
        self.sources = ()


def success(data: Any) -> ToolResult:
    """`ToolResult(True, data)` in two fifths of the time.

    Args:
        data: plain JSON data.
    """
    made: Any = _Success(data)
    made.__class__ = ToolResult  # the same slots, so Python lets it become one
    return made
