"""What a run wants from the world, a step at a time, and how it ends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import monotonic
from typing import TYPE_CHECKING, Any

from toolsmith._dataclass import dataclass

if TYPE_CHECKING:
    from toolsmith._calls.job import Job, Outcome
    from toolsmith._run.budget import Order
    from toolsmith._run.result import StopReason
    from toolsmith.approvals import Pending, PendingCall


@dataclass(frozen=True, slots=True)
class Ask:
    """Send the history to the model; the answer is a `Reply`.

    Attributes:
        tool_choice: "auto", "none", "required" or a tool's name.
        deadline: when the run has to end, on the clock of `time.monotonic()`; None for no limit.
    """

    tool_choice: str
    deadline: float | None

    @property
    def seconds_left(self) -> float | None:
        return None if self.deadline is None else max(self.deadline - monotonic(), 0.0)


@dataclass(frozen=True, slots=True)
class Decide:
    """Ask a person about calls; the answer is a list with a decision for each.

    A decision is True, False, a reason for "no", or None where nobody has decided yet: also not within `timeout`
    seconds.
    """

    calls: tuple[PendingCall, ...]
    timeout: float | None = None


@dataclass(frozen=True, slots=True)
class Take:
    """Take from counters that are shared with other runs; the answer is a list with what each one said.

    None stands for a counter that failed.
    """

    orders: tuple[Order, ...]


@dataclass(frozen=True, slots=True)
class Invoke:
    """Run jobs, all at the same time; `done` is to be called as each one ends."""

    jobs: Sequence[Job]
    done: Callable[[Job, Outcome], None]


Step = Ask | Decide | Take | Invoke
Decision = bool | str | None


@dataclass(slots=True, eq=False)
class Ending:
    """How a conversation ended; a `RunResult` is made from it."""

    output: Any
    stop_reason: StopReason
    detail: str = ""
    pending: Pending | None = None


def stages(jobs: Sequence[Job]) -> list[list[Job]]:
    """Jobs in the model's order, cut at the `sequential` ones: such a job waits for all before it, and runs alone."""
    made: list[list[Job]] = []
    open_stage = False
    for job in jobs:
        if job.tool.options.sequential:
            made.append([job])
            open_stage = False
        elif open_stage:
            made[-1].append(job)
        else:
            made.append([job])
            open_stage = True
    return made
