"""What came of a run, and of each tool call in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Generic, Literal, TypeVar

from toolsmith._dataclass import dataclass

if TYPE_CHECKING:
    from toolsmith.approvals import Pending
    from toolsmith.messages import Citation, Message, ToolCall, ToolResult, Usage

OutputT = TypeVar("OutputT")

StopReason = Literal[
    "end",  # the model gave its answer
    "turn_limit",  # the run's turns were used up; the answer was given with what there was
    "call_limit",  # the same for tool calls
    "token_limit",  # the same for tokens
    "time_limit",  # the run's time was over
    "length",  # the answer was cut at the output limit
    "context",  # the context window is full
    "refusal",  # the model declined
    "filter",  # a content filter stepped in
    "error",  # the service gave up in the middle of a turn
    "approval",  # calls wait for a person; see `RunResult.pending`
    "unknown",  # the service gave a reason that toolsmith does not know
]


@dataclass(frozen=True, slots=True, eq=False)
class ToolRecord:
    """One tool call of a run, and what became of it.

    Attributes:
        call: as the model wrote it.
        result: what the model was told.
        turn: in which turn, from 1.
        seconds: how long the function ran; 0.0 where it was not run.
        ran: False where the call was refused before the function started.
        exception: what the function raised, if it did; never shown to the model, nor in the `repr`.
        reference: stands in the model's text and in the log.
    """

    call: ToolCall
    result: ToolResult
    turn: int
    seconds: float = 0.0
    ran: bool = False
    exception: BaseException | None = field(default=None, repr=False)
    reference: str = ""


@dataclass(frozen=True, slots=True)
class Repeats:
    """How often the model made the same call again though it had failed, or found nothing.

    Attributes:
        warned: calls that ended as the same call had before; the model was told so.
        stopped: calls that were not run for that reason.
        by_tool: both together, by tool.
    """

    warned: int = 0
    stopped: int = 0
    by_tool: Mapping[str, int] = field(default_factory=dict[str, int])


@dataclass(frozen=True, slots=True, eq=False)
class RunResult(Generic[OutputT]):
    """What came of a run.

    Attributes:
        output: the model's answer; a typed one is None where the run ended without it.
        stop_reason: why the run ended; "end" is the model's own wish, "turn_limit" and "call_limit" mean that it
            answered with what it had.
        messages: the whole history, to go on from with `agent.run(prompt, message_history=result.messages)`. Calls that
            wait for a person are answered in it with the word that they were not run.
        new_messages: the part of it that this run added.
        tool_calls: every call that has its answer, with what the model was told and how long it took, in the model's
            order. After `resume` those of the turn that waited are there again, the ones that ran before it too.
        usage: tokens and requests of this run.
        detail: the service's own words for an ending other than "end", "" where it gave none.
        turns: turns of the model, at most `Limits.turns`. The closing one, in which it can only answer with what it
            has, is not counted; `usage.requests` counts every request.
        seconds: how long the run took.
        pending: the calls that wait for a person, where `stop_reason` is "approval"; hand it to `agent.resume`.
        repeats: calls that the model made again in vain.
    """

    output: OutputT
    stop_reason: StopReason
    messages: list[Message]
    new_messages: list[Message]
    tool_calls: list[ToolRecord]
    usage: Usage
    detail: str = ""
    turns: int = 0
    seconds: float = field(default=0.0, repr=False)
    pending: Pending | None = None
    repeats: Repeats = Repeats()

    @property
    def citations(self) -> list[Citation]:
        """The sources of the model's words in this run, in their order.

        Those of a search that the service made; then those that tools gave (`ToolResult.sources`, as `rag_search`,
        `web_search` and `fetch_page` do) and that the last message cites by mark or address. Their `start` and `end`
        are places in that message's text.
        """
        from toolsmith._run.citing import cited

        hosted = [c for message in self.new_messages for c in message.citations]
        last = next((m.text for m in reversed(self.new_messages) if m.role == "assistant"), "")
        return hosted + cited(last, [source for record in self.tool_calls for source in record.result.sources])
