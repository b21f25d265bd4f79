"""Runs for machines: one JSON object a line on standard output."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, TextIO, assert_never, cast, get_args

from toolsmith.cli._view import Mask, jsonable, type_name
from toolsmith.errors import ConfigError, DefinitionError, ProviderError
from toolsmith.events import (
    ApprovalNeeded,
    ArgumentsRepaired,
    Event,
    HistoryMended,
    LimitReached,
    ModelSwitched,
    ReasoningDelta,
    RepeatStopped,
    RequestRetried,
    RunEnded,
    RunStarted,
    StrictDemoted,
    TextDelta,
    ToolArgumentsDelta,
    ToolCallReady,
    ToolCallStarted,
    ToolLeftOut,
    ToolProgress,
    ToolResultReady,
    TurnEnded,
    UntrustedFlow,
)

if TYPE_CHECKING:
    from toolsmith.agent import Agent, RunResult
    from toolsmith.approvals import Approve, PendingCall
    from toolsmith.messages import ToolResult


class JsonView:
    """One JSON object a line: each event of a run, then one whose `event` is "end".

    Args:
        out: gets the lines and nothing else.
        mask: hides secrets.
    """

    def __init__(self, out: TextIO, *, mask: Mask) -> None:
        self._out = out
        self._mask = mask

    @property
    def live(self) -> bool:
        return False

    def waiting(self) -> AbstractContextManager[object]:
        return nullcontext()

    def approve(self, agent: Agent[Any]) -> Approve | None:
        return agent.approve

    def note(self, text: str) -> None:
        pass

    def told(self, text: str) -> None:
        self._write("command", {"text": text})

    def _write(self, kind: str, content: Mapping[str, Any]) -> None:
        # ASCII in whatever encoding the stream has: no character can be lost.
        line = json.dumps({"event": kind, **content}, default=type_name)
        self._out.write(self._mask(line) + "\n")
        self._out.flush()

    def __call__(self, event: Event) -> None:
        content = _content(event)
        if content is not None:
            self._write(_snake(type(event).__name__), content)

    def ended(self, result: RunResult[Any], *, exit_code: int) -> None:
        self._write(
            "end",
            {
                "exit_code": exit_code,
                "output": jsonable(result.output),
                "citations": [asdict(source) for source in result.citations],
                "pending": [] if result.pending is None else [_pending(c) for c in result.pending.calls],
                "stop_reason": result.stop_reason,
                "detail": result.detail,
                "turns": result.turns,
                "calls": len(result.tool_calls),
                "usage": {**asdict(result.usage), "total_tokens": result.usage.total_tokens},
                "seconds": round(result.seconds, 3),
                "error": None,
            },
        )

    def failed(self, error: BaseException, *, exit_code: int) -> None:
        told: dict[str, Any] = {"type": type(error).__name__, "message": str(error)}
        if isinstance(error, ProviderError):
            told |= {"category": error.category, "status": error.status, "provider": error.provider}
        elif isinstance(error, (ConfigError, DefinitionError)):
            told["problems"] = error.problems
        self._write("end", {"exit_code": exit_code, "output": None, "error": told})


def _content(event: Event) -> dict[str, Any] | None:
    """An event as plain data; None for what "end" tells."""
    match event:
        case RunEnded():
            return None
        case RunStarted(agent, model, prompt):
            return {"agent": agent, "model": model, "prompt": prompt}
        case UntrustedFlow(call, spans, policy):
            return {"id": call.id, "name": call.name, "policy": policy, "spans": [asdict(span) for span in spans]}
        case ApprovalNeeded(call):
            return _pending(call)
        case HistoryMended(notes):
            return {"notes": notes}
        case TextDelta(text) | ReasoningDelta(text):
            return {"text": text}
        case ToolCallStarted(call_id, name):
            return {"id": call_id, "name": name}
        case ToolArgumentsDelta(call_id, text):
            return {"id": call_id, "text": text}
        case ToolCallReady(call):
            return {"id": call.id, "name": call.name, "arguments": call.arguments}
        case RepeatStopped(call, times, _):
            return {"id": call.id, "name": call.name, "times": times}
        case ArgumentsRepaired(call, notes):
            return {"id": call.id, "name": call.name, "notes": notes}
        case ToolProgress(call_id, name, progress):
            return {"id": call_id, "name": name, "progress": _nested(progress)}
        case ToolResultReady():
            return {
                "id": event.call.id,
                "name": event.call.name,
                **_result_content(event.result),
                "ran": event.ran,
                "seconds": round(event.seconds, 6),
                "exception": None
                if event.exception is None
                else f"{type(event.exception).__name__}: {event.exception}",
            }
        case TurnEnded(turn, reply):
            return {"turn": turn, "stop": reply.stop, "text": reply.message.text, "usage": asdict(reply.usage)}
        case RequestRetried(model, error, attempt, wait):
            return {"model": model, "error": str(error), "attempt": attempt, "wait": wait}
        case ToolLeftOut() | StrictDemoted():
            return asdict(event)
        case ModelSwitched(failed, model, error):
            return {"failed": failed, "model": model, "error": str(error)}
        case LimitReached(limit, _):
            return {"limit": limit}
        case _:
            assert_never(event)


def _nested(progress: Any) -> Any:
    """What a tool reports; an event of an agent that is a tool as the events of the run itself are written."""
    if not isinstance(progress, get_args(Event)):
        return progress
    return {"event": _snake(type(progress).__name__), **(_content(cast("Event", progress)) or {})}


def _result_content(result: ToolResult) -> dict[str, Any]:
    return {"success": result.success, "data": result.data, "error": result.error, "notes": result.notes}


def _pending(call: PendingCall) -> dict[str, Any]:
    told = {"id": call.id, "name": call.name, "arguments": call.arguments}
    if call.untrusted:
        told |= {"reason": call.reason, "untrusted": [asdict(span) for span in call.untrusted]}
    return told


def _snake(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()
