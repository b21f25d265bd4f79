"""How much a run may use. All limits hold together; the first one reached counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, fields
from typing import Protocol, cast

from toolsmith._dataclass import dataclass

DEFAULT_TURNS = 25
DEFAULT_CALLS = 100
DEFAULT_TOOL_TIMEOUT = 30.0
DEFAULT_RESULT_CHARS = 50_000
LEAST_READ_ON = 500
"""Characters of a bound under which reading on in a result would cost the model more than it gives."""


class SharedCounter(Protocol):
    """Counts calls for several runs at once, in one process or many; see `toolsmith.counters`.

    It is asked on a worker thread in async runs, and from many threads and processes at the same time.
    """

    def take(self, budgets: Sequence[tuple[str, int]], /) -> Sequence[int | None]:
        """Take one from each budget, in order, up to the first that is spent; all in one step that nobody can divide.

        Args:
            budgets: name and limit of each, as in ("tool:search", 50).

        Returns:
            How many are left of each, None for the first that is spent; nothing is taken from that and from those
            behind it, which are left out.

        Raises:
            Exception: it cannot be counted now. The call is then refused.
        """
        ...

    def seconds_left(self) -> float | None:
        """How long until the counts begin anew; None if they never do."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Bounds of one run. `None` means no bound.

    Attributes:
        turns: requests to the model, the closing one not counted, as in `RunResult.turns`.
        calls: tool calls attempted, also those that were refused or failed.
        groups: tool calls attempted by group, as in {"web": 5}; a tool belongs to one by `@tool(group="web")`.
        seconds: wall-clock time of the whole run.
        tokens: input and output tokens together, as the service counts them.
        tool_timeout: seconds for one tool call, where the tool sets none itself.
        result_chars: characters of one tool result that the model is shown, where the tool sets none itself; longer
            ones are cut, and say so. Set here, it also lets the model read on (see `Agent(paging=...)`).
        shared: a counter by which `calls`, `groups` and the tools' own `max_calls_per_run` hold for all runs together
            that are given it, and no more for each of them. `calls` is 100 unless set: say how many, or None.
    """

    turns: int | None = DEFAULT_TURNS
    calls: int | None = DEFAULT_CALLS
    groups: Mapping[str, int] | None = None
    seconds: float | None = None
    tokens: int | None = None
    tool_timeout: float | None = DEFAULT_TOOL_TIMEOUT
    result_chars: int | None = DEFAULT_RESULT_CHARS
    shared: SharedCounter | None = field(default=None, metadata={"in_file": False})

    def __post_init__(self) -> None:
        for f in fields(self):
            if f.name in ("groups", "shared"):
                continue
            value = getattr(self, f.name)
            if value is None:
                continue
            kinds, kind = (int, "a whole number")
            if f.name in ("seconds", "tool_timeout"):
                kinds, kind = (int, float), "a number of seconds"
            if isinstance(value, bool) or not isinstance(value, kinds) or value != value:  # NaN is no number
                raise ValueError(f"Limits({f.name}=...) takes {kind} or None, not {value!r}.")
            # Zero calls is a sensible wish (answer without tools); zero of the others could never give an answer.
            if value < 0 or (value == 0 and f.name != "calls"):
                least = "0 or more" if f.name == "calls" else "more than 0"
                raise ValueError(f"Limits({f.name}={value!r}) must be {least}, or None for no limit.")
        self._check_groups()
        if self.shared is not None and not callable(getattr(self.shared, "take", None)):
            raise ValueError(f"Limits(shared=...) takes a counter such as SQLiteCounter(path), not {self.shared!r}.")

    def _check_groups(self) -> None:
        groups = cast("object", self.groups)
        if groups is None:
            return
        if not isinstance(groups, Mapping):
            raise ValueError(f"Limits(groups=...) takes a mapping such as {{'web': 5}}, not {groups!r}.")
        for name, most in cast("Mapping[object, object]", groups).items():
            if not isinstance(name, str) or isinstance(most, bool) or not isinstance(most, int) or most < 0:
                raise ValueError(f"Limits(groups={{{name!r}: {most!r}}}): give names and whole numbers from 0 on.")
