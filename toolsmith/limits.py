"""How much a run may use. All limits hold together; the first one reached counts."""

from __future__ import annotations

from dataclasses import dataclass, fields

DEFAULT_TURNS = 25
DEFAULT_CALLS = 100
DEFAULT_TOOL_TIMEOUT = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Bounds of one run. `None` means no bound.

    Attributes:
        turns: requests to the model, the closing one not counted.
        calls: tool calls attempted, also those that were refused or failed.
        seconds: wall-clock time of the whole run.
        tokens: input and output tokens together, as the service counts them.
        tool_timeout: seconds for one tool call, where the tool sets none itself.
        result_chars: characters of one tool result that the model is shown; longer ones are cut, and say so.
    """

    turns: int | None = DEFAULT_TURNS
    calls: int | None = DEFAULT_CALLS
    seconds: float | None = None
    tokens: int | None = None
    tool_timeout: float | None = DEFAULT_TOOL_TIMEOUT
    result_chars: int | None = 50_000

    def __post_init__(self) -> None:
        for f in fields(self):
            value = getattr(self, f.name)
            if value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                raise ValueError(f"Limits({f.name}=...) takes a number or None, not {value!r}.")
            # Zero calls is a sensible wish (answer without tools); zero of the others could never give an answer.
            if value < 0 or (value == 0 and f.name != "calls"):
                least = "0 or more" if f.name == "calls" else "more than 0"
                raise ValueError(f"Limits({f.name}={value!r}) must be {least}, or None for no limit.")
