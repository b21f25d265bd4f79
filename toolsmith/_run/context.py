"""What a tool may learn of the run that calls it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from time import monotonic
from typing import TYPE_CHECKING, Any, Generic

from typing_extensions import TypeVar

from toolsmith._dataclass import dataclass
from toolsmith.messages import Usage

if TYPE_CHECKING:
    from toolsmith._run.budget import Around

Deps = TypeVar("Deps", default=Any)


@dataclass(slots=True, kw_only=True)
class RunContext(Generic[Deps]):
    """Handed to a parameter annotated `RunContext` or `RunContext[Deps]`, in any position; the model never sees it.

        @tool
        def balance(account: str, ctx: RunContext[Bank]) -> int:
            return ctx.deps.balance(account)

    Attributes:
        deps: what the run was given as `deps=`; None where it was given nothing.
        tool_name: the tool's name, as the model knows it.
        tool_call_id: the service's id of this call, "" outside of a run.
        attempt: how many times this tool has been called in this run, this call included.
        calls_left: how many more calls this tool has in this run, None where nothing bounds them.
        deadline: when the run has to end, on the clock of `time.monotonic()`; None where nothing bounds it.
        usage: tokens of the run so far.
        reporter: where `report` sends to; set by the run.
        around: for agents that are tools (`Agent.as_tool`); set by the run.
    """

    deps: Deps = None  # pyright: ignore[reportAssignmentType] - None only where nobody gave any
    tool_name: str = ""
    tool_call_id: str = ""
    attempt: int = 1
    calls_left: int | None = None
    deadline: float | None = None
    usage: Usage = field(default_factory=Usage)
    reporter: Callable[[Any], None] | None = field(default=None, repr=False)
    around: Around | None = field(default=None, repr=False)

    @property
    def seconds_left(self) -> float | None:
        """Seconds until the run has to end, never below 0; None where nothing bounds it."""
        return None if self.deadline is None else max(self.deadline - monotonic(), 0.0)

    def report(self, progress: Any) -> None:
        """Tell whoever watches the run how far this call is; any value. Does nothing outside of a run."""
        if self.reporter is not None:
            self.reporter(progress)
