"""What a run has used of its limits. Attempts count, not successes: a refused call costs as much as one that ran.

A run inside another one (an agent that is a tool) has a budget of its own; whatever it takes is taken from the outer
one's as well, and what the outer one has left bounds it.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from threading import TIMEOUT_MAX, Lock
from time import monotonic
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from toolsmith._dataclass import dataclass
from toolsmith._feedback import FEEDBACK, Feedback
from toolsmith.messages import Usage

if TYPE_CHECKING:
    from toolsmith._run.result import StopReason
    from toolsmith._run.watch import Known
    from toolsmith.approvals import Approve
    from toolsmith.events import Event
    from toolsmith.limits import Limits, SharedCounter
    from toolsmith.tool import Tool

What = Literal["run", "tool", "group"]

CALLS = "calls"
"""The name by which shared counters know the calls of all tools."""


@dataclass(frozen=True, slots=True)
class Over:
    """A limit that a call is over.

    Attributes:
        what: whose limit: all calls of the run, those of the tool, or those of its group.
        limit: how many there may be.
        counter: counts for all runs together; None where the run counts for itself.
        counted: False where the counter could not count.
    """

    what: What
    limit: int
    counter: SharedCounter | None = None
    counted: bool = True


class Left(NamedTuple):
    """How much of a limit is left; `shared` by all runs together, or the run's own. A tuple: each call makes some."""

    what: What
    left: int
    limit: int
    shared: bool = False


Order = tuple["SharedCounter", tuple[tuple[str, int], ...]]
"""A counter, and the names and limits of what is to be taken from it for one call."""

Told = Sequence[Mapping[str, int | None] | None]
"""What the shared counters said of one call, the run's own first, then outer ones': what is left by name, None for the
name that is spent; None in all where it could not be counted. A budget that shares nothing has an empty mapping."""


# Runs inside one another may be on different threads. What is done under it takes microseconds.
_lock = Lock()


@dataclass(slots=True, eq=False)
class Budget:
    """The limits of a run and its counters.

    Attributes:
        deadline: when the run has to end, on the clock of `time.monotonic()`; None where nothing bounds it.
        cancelled: nobody waits for the run any more, and it is to end as if its time were over.
        outer: the budget of the run that this one is part of.
        shared_left: what shared counters said last, by name.
    """

    limits: Limits
    usage: Usage = field(default_factory=Usage)
    turns: int = 0
    calls: int = 0
    by_tool: Counter[str] = field(default_factory=Counter[str])
    by_group: Counter[str] = field(default_factory=Counter[str])
    deadline: float | None = None
    cancelled: bool = False
    outer: Budget | None = None
    shared_left: dict[str, int] = field(default_factory=dict[str, int])
    _shared_calls_spent: bool = False

    def chain(self) -> tuple[Budget, ...]:
        """This budget, then those of the runs around it."""
        return (self,) if self.outer is None else (self, *self.outer.chain())

    # ---- time and tokens

    def start(self) -> None:
        """The clock runs from now."""
        seconds = self.limits.seconds
        own = None if seconds is None or seconds > TIMEOUT_MAX else monotonic() + seconds
        around = None if self.outer is None else self.outer.deadline
        self.deadline = min((d for d in (own, around) if d is not None), default=None)

    @property
    def seconds_left(self) -> float | None:
        return None if self.deadline is None else max(self.deadline - monotonic(), 0.0)

    @property
    def out_of_time(self) -> bool:
        if self.deadline is not None and monotonic() >= self.deadline:
            return True
        return self.cancelled or (self.outer is not None and any(budget.cancelled for budget in self.outer.chain()))

    def timeout(self, tool: Tool[..., Any]) -> float | None:
        """Seconds that one call of this tool may take."""
        least = tool.options.timeout if tool.options.timeout is not None else self.limits.tool_timeout
        if (left := self.seconds_left) is not None:
            least = left if least is None else min(least, left)
        return None if least is None or least > TIMEOUT_MAX else least

    def charge(self, usage: Usage) -> None:
        """Count what a request has used."""
        with _lock:
            for budget in self.chain():
                budget.usage += usage

    def spent(self) -> StopReason | None:
        """Which of the run's budgets is used up, time aside."""
        if self.limits.turns is not None and self.turns >= self.limits.turns:
            return "turn_limit"
        for budget in self.chain():
            limits = budget.limits
            if budget._calls_spent:
                return "call_limit"
            if limits.tokens is not None and budget.usage.total_tokens >= limits.tokens:
                return "token_limit"
        return None

    @property
    def _calls_spent(self) -> bool:
        most = self.limits.calls
        return self._shared_calls_spent or (most is not None and self.limits.shared is None and self.calls > most)

    # ---- calls

    @property
    def shares(self) -> bool:
        """Whether anything is counted for several runs together."""
        return self.limits.shared is not None or (self.outer is not None and self.outer.shares)

    def orders(self, tool: Tool[..., Any] | None) -> list[Order | None]:
        """What is to be taken from shared counters for a call, by budget of the chain; None where nothing is.

        Args:
            tool: None where there is no such tool, or it may not be called: then only the attempt counts.
        """
        found: list[Order | None] = []
        for budget in self.chain():
            counter = budget.limits.shared
            takes = tuple(budget._takes(tool, own=budget is self)) if counter is not None else ()
            found.append((counter, takes) if counter is not None and takes else None)
        return found

    def _takes(self, tool: Tool[..., Any] | None, *, own: bool) -> Iterator[tuple[str, int]]:
        if self.limits.calls is not None:
            yield CALLS, self.limits.calls
        if tool is None:
            return
        if own and tool.options.max_calls_per_run is not None:
            yield f"tool:{tool.name}", tool.options.max_calls_per_run
        if (most := self._group_limit(tool)) is not None:
            yield f"group:{tool.options.group}", most

    def take_call(self, told: Told = ()) -> Over | None:
        """Count an attempt; the run's limit, if this one is over it.

        Args:
            told: what shared counters said.
        """
        limits = self.limits
        if self.outer is None and limits.shared is None:  # nearly always
            with _lock:
                self.calls = count = self.calls + 1
            return None if limits.calls is None or count <= limits.calls else Over("run", limits.calls)
        over: Over | None = None
        with _lock:
            for depth, budget in enumerate(self.chain()):
                budget.calls += 1
                limits = budget.limits
                if limits.calls is None or (limits.shared is None and budget.calls <= limits.calls):
                    continue
                found = budget._over("run", CALLS, budget.calls, limits.calls, _said(told, depth))
                if found is not None and found.counter is not None and found.counted:
                    budget._shared_calls_spent = True
                over = over or found
        return over

    def take_tool_call(self, tool: Tool[..., Any], told: Told = ()) -> Over | None:
        """Count an attempt of one tool, and of its group; the limit, if this one is over it."""
        self.by_tool[tool.name] += 1
        most, group = tool.options.max_calls_per_run, tool.options.group
        over: Over | None = None
        if most is not None:
            over = self._over("tool", f"tool:{tool.name}", self.by_tool[tool.name], most, _said(told, 0))
        if group is None or over is not None:
            return over
        with _lock:
            for depth, budget in enumerate(self.chain()):
                budget.by_group[group] += 1
                most = budget._group_limit(tool)
                over = over or budget._over("group", f"group:{group}", budget.by_group[group], most, _said(told, depth))
        return over

    def _group_limit(self, tool: Tool[..., Any]) -> int | None:
        groups, group = self.limits.groups, tool.options.group
        return None if groups is None or group is None else groups.get(group)

    def _over(
        self, what: What, name: str, count: int, most: int | None, said: Mapping[str, int | None] | None
    ) -> Over | None:
        if most is None:
            return None
        counter = self.limits.shared
        if counter is None:
            return Over(what, most) if count > most else None
        if said is None:
            return Over(what, most, counter, counted=False)
        if name not in said:  # an earlier budget of the same call is spent
            return None
        left = said[name]
        self.shared_left[name] = left or 0
        return Over(what, most, counter) if left is None else None

    # ---- what is left

    def lefts(self, tool: Tool[..., Any] | None) -> list[Left]:
        """What is left for calls of a tool, by each limit that bounds them; for any tool, where there is none."""
        found: list[Left | None] = []
        for budget in self.chain():
            found.append(budget._left("run", CALLS, budget.calls, budget.limits.calls))
            if tool is not None and (most := budget._group_limit(tool)) is not None:
                group = tool.options.group or ""
                found.append(budget._left("group", f"group:{group}", budget.by_group[group], most))
        if tool is not None and (most := tool.options.max_calls_per_run) is not None:
            found.append(self._left("tool", f"tool:{tool.name}", self.by_tool[tool.name], most))
        return [left for left in found if left is not None]

    def _left(self, what: What, name: str, count: int, most: int | None) -> Left | None:
        if most is None:
            return None
        if self.limits.shared is None:
            return Left(what, max(most - count, 0), most)
        return Left(what, self.shared_left[name], most, shared=True) if name in self.shared_left else None

    def calls_left(self, tool: Tool[..., Any]) -> int | None:
        """How many more calls this tool has, None where nothing bounds them."""
        return min((left.left for left in self.lefts(tool)), default=None)


@dataclass(frozen=True, slots=True, eq=False)
class Around:
    """What a run inside another one has around it.

    Attributes:
        budget: of the outer run.
        approve: the outer run's way to ask a person; None where it has none.
        feedback: the words of the outer run.
        tell: takes the inner run's events; None where nobody listens.
        known: what the outer run knows of text that others have written.
    """

    budget: Budget
    approve: Approve | None = None
    feedback: Feedback = FEEDBACK
    tell: Callable[[Event], object] | None = None
    known: Known | None = None


def _after_fork() -> None:
    global _lock
    _lock = Lock()  # another thread of the parent may have held it


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def _said(told: Told, depth: int) -> Mapping[str, int | None] | None:
    return told[depth] if depth < len(told) else {}
