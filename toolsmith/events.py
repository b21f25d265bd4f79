"""What happens in a run, as frozen dataclasses; an `Observer` is any callable that takes one.

Observers are told in order, on the thread that drives the run. One that raises is logged and never alters the run.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import TYPE_CHECKING, Any, Literal

from toolsmith._dataclass import dataclass

if TYPE_CHECKING:
    from toolsmith._untrusted.spans import UntrustedSpan
    from toolsmith.agent import RunResult
    from toolsmith.approvals import PendingCall
    from toolsmith.messages import Reply, ToolCall, ToolResult


@dataclass(frozen=True, slots=True)
class RunStarted:
    """A run begins. An image or a file in the prompt is named in brackets: "[image/png, 1,234 bytes]"."""

    agent: str
    model: str
    prompt: str


@dataclass(frozen=True, slots=True)
class HistoryMended:
    """The `message_history` of a run was damaged and has been put in order; `notes` say where and how."""

    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TextDelta:
    """Words of the answer, as they arrive."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """Readable reasoning, as it arrives."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolCallStarted:
    """The model begins to write a call; its arguments follow."""

    call_id: str
    name: str


@dataclass(frozen=True, slots=True)
class ToolArgumentsDelta:
    """A piece of a call's arguments: JSON text, not yet complete. A call without any has the arguments "{}"."""

    call_id: str
    text: str


@dataclass(frozen=True, slots=True)
class ToolCallReady:
    """A call is complete and the turn ended well: it will now be checked and run."""

    call: ToolCall


@dataclass(frozen=True, slots=True)
class ArgumentsRepaired:
    """Arguments were mended because their meaning was certain; `notes` say how. The model is told too."""

    call: ToolCall
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class UntrustedFlow:
    """A call would carry text that others have written into a tool with `effect="write"`.

    Attributes:
        spans: which parts of its arguments, and where they come from.
        policy: what becomes of it: "deny": it is not run; "ask": a person decides; "allow": it runs.
    """

    call: ToolCall
    spans: tuple[UntrustedSpan, ...]
    policy: Literal["allow", "ask", "deny"]


@dataclass(frozen=True, slots=True)
class ApprovalNeeded:
    """A call waits for a person's word."""

    call: PendingCall


@dataclass(frozen=True, slots=True)
class ToolProgress:
    """A running tool reports: a yielded item, or what it passed to `RunContext.report`."""

    call_id: str
    name: str
    progress: Any


@dataclass(frozen=True, slots=True)
class ToolResultReady:
    """A call is answered.

    Attributes:
        result: what the model is told.
        seconds: how long the tool ran; 0.0 where it was not run.
        ran: False where the call was refused before the function started.
        exception: what the tool raised, if it did; never shown to the model, nor in the `repr`.
        reference: short id that stands in the model's text and in the log, "" where there was no exception.
    """

    call: ToolCall
    result: ToolResult
    seconds: float
    ran: bool
    exception: BaseException | None = field(default=None, repr=False)
    reference: str = ""


@dataclass(frozen=True, slots=True)
class RepeatStopped:
    """A call was not run: the same one has ended in the same bad way before, and nothing has changed since.

    Attributes:
        times: how often in a row it has.
        text: what the model is told; it comes again as the call's `ToolResultReady`.
    """

    call: ToolCall
    times: int
    text: str


@dataclass(frozen=True, slots=True)
class TurnEnded:
    """The model's answer is complete, and its calls, if any, are answered."""

    turn: int
    reply: Reply


@dataclass(frozen=True, slots=True)
class RequestRetried:
    """A request failed in a way that may pass; it is sent again after `wait` seconds."""

    model: str
    error: Exception
    attempt: int
    wait: float


@dataclass(frozen=True, slots=True)
class StrictDemoted:
    """The service found the strict schemas too complex; these tools are now sent without strict mode."""

    model: str
    tools: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ToolLeftOut:
    """The model is not offered a tool: its service has none of the kind, and nothing is set up here in its place."""

    model: str
    tool: str


@dataclass(frozen=True, slots=True)
class ModelSwitched:
    """A model failed for good and the next one of the list goes on."""

    failed: str
    model: str
    error: Exception


@dataclass(frozen=True, slots=True)
class LimitReached:
    """The run's own budget ended; the model gets one last turn to answer with what it has."""

    limit: str
    text: str


@dataclass(frozen=True, slots=True)
class RunEnded:
    """The run is over."""

    result: RunResult[Any]


Event = (
    RunStarted
    | HistoryMended
    | TextDelta
    | ReasoningDelta
    | ToolCallStarted
    | ToolArgumentsDelta
    | ToolCallReady
    | ArgumentsRepaired
    | UntrustedFlow
    | ApprovalNeeded
    | ToolProgress
    | ToolResultReady
    | RepeatStopped
    | TurnEnded
    | RequestRetried
    | StrictDemoted
    | ToolLeftOut
    | ModelSwitched
    | LimitReached
    | RunEnded
)

Delta = TextDelta | ReasoningDelta | ToolCallStarted | ToolArgumentsDelta
Observer = Callable[[Event], object]
