"""What a run has used of its limits. Attempts count, not successes: a refused call costs as much as one that ran."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from time import monotonic
from typing import TYPE_CHECKING, Any

from toolsmith.messages import Usage

if TYPE_CHECKING:
    from toolsmith._runresult import StopReason
    from toolsmith.limits import Limits
    from toolsmith.tool import Tool


@dataclass(slots=True, eq=False)
class Budget:
    """The limits of a run and its counters.

    Attributes:
        deadline: when the run has to end, on the clock of `time.monotonic()`; None where nothing bounds it.
    """

    limits: Limits
    usage: Usage = field(default_factory=Usage)
    turns: int = 0
    calls: int = 0
    by_tool: Counter[str] = field(default_factory=Counter[str])
    deadline: float | None = None

    def start(self) -> None:
        """The clock runs from now."""
        if self.limits.seconds is not None:
            self.deadline = monotonic() + self.limits.seconds

    @property
    def seconds_left(self) -> float | None:
        return None if self.deadline is None else max(self.deadline - monotonic(), 0.0)

    @property
    def out_of_time(self) -> bool:
        return self.seconds_left == 0.0

    def spent(self) -> StopReason | None:
        """Which of the run's budgets is used up, time aside."""
        limits = self.limits
        if limits.turns is not None and self.turns >= limits.turns:
            return "turn_limit"
        if limits.calls is not None and self.calls > limits.calls:
            return "call_limit"
        if limits.tokens is not None and self.usage.total_tokens >= limits.tokens:
            return "token_limit"
        return None

    def take_call(self) -> int | None:
        """Count an attempt; the run's limit, if this one is over it."""
        self.calls += 1
        most = self.limits.calls
        return most if most is not None and self.calls > most else None

    def take_tool_call(self, tool: Tool[..., Any]) -> int | None:
        """Count an attempt of one tool; its limit, if this one is over it."""
        self.by_tool[tool.name] += 1
        most = tool.options.max_calls_per_run
        return most if most is not None and self.by_tool[tool.name] > most else None

    def calls_left(self, tool: Tool[..., Any]) -> int | None:
        """How many more calls this tool has, None where nothing bounds them."""
        most = tool.options.max_calls_per_run
        own = None if most is None else most - self.by_tool[tool.name]
        run = None if self.limits.calls is None else self.limits.calls - self.calls
        left = [max(n, 0) for n in (own, run) if n is not None]
        return min(left, default=None)

    def timeout(self, tool: Tool[..., Any]) -> float | None:
        """Seconds that one call of this tool may take."""
        own = tool.options.timeout if tool.options.timeout is not None else self.limits.tool_timeout
        return min((t for t in (own, self.seconds_left) if t is not None), default=None)
