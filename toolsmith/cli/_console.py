"""What the command line prints: a run for people, and a run for machines.

People read the trace of a run on the standard error stream and the answer on standard output, so that
`toolsmith run ... > answer.txt` keeps the answer alone. Machines read one JSON object a line on standard output.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Protocol, TextIO, assert_never, cast

from toolsmith.cli import _exits
from toolsmith.errors import ConfigError, DefinitionError, ProviderError, ToolError
from toolsmith.events import (
    ArgumentsRepaired,
    Event,
    HistoryMended,
    LimitReached,
    ModelSwitched,
    ReasoningDelta,
    RequestRetried,
    RunEnded,
    RunStarted,
    StrictDemoted,
    TextDelta,
    ToolArgumentsDelta,
    ToolCallReady,
    ToolCallStarted,
    ToolProgress,
    ToolResultReady,
    TurnEnded,
)

if TYPE_CHECKING:
    from toolsmith.agent import RunResult
    from toolsmith.messages import ToolResult

ARGUMENT_CHARS = 400
RESULT_CHARS = 800
RESULT_LINES = 12

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_SECRET_NAME = re.compile(r".*(_KEY|_TOKEN|_SECRET|_PASSWORD)", re.IGNORECASE)


class View(Protocol):
    """Shows runs: an observer that is also told how a run ended."""

    def __call__(self, event: Event) -> None: ...

    def ended(self, result: RunResult[str], *, exit_code: int) -> None:
        """A run is over and has a result."""
        ...

    def failed(self, error: BaseException, *, exit_code: int) -> None:
        """There is no result: an error, or the user's interruption."""
        ...

    def note(self, text: str) -> None:
        """A line for people."""
        ...

    def waiting(self) -> AbstractContextManager[object]:
        """Around a run."""
        ...


class Mask:
    """Hides the values of secret environment variables in everything that is printed.

    A service or a tool may echo the key it was called with.

    Args:
        variables: names to hide whatever they are called, next to those that end in _KEY, _TOKEN, _SECRET, _PASSWORD.
    """

    def __init__(self, variables: Sequence[str] = ()) -> None:
        values = {
            value
            for name, value in os.environ.items()
            # Short or wordlike values are settings rather than secrets, and hiding them would garble the output.
            if name in variables
            or (_SECRET_NAME.fullmatch(name) and len(value) >= 12 and any(c.isdigit() for c in value))
        }
        # Also as JSON writes them.
        values |= {json.dumps(value)[1:-1] for value in values}
        self._values = sorted((v for v in values if v), key=len, reverse=True)

    def __call__(self, text: str) -> str:
        for value in self._values:
            text = text.replace(value, "[secret]")
        return text


def printable(text: str) -> str:
    """Text that cannot steer a terminal: control characters are written out."""
    return _CONTROL.sub(lambda m: f"\\x{ord(m[0]):02x}" if ord(m[0]) < 256 else f"\\u{ord(m[0]):04x}", text)


def account(*, turns: int, calls: int, tokens: int, seconds: float) -> str:
    """A run in one line: "2 turns, 1 tool call, 1,234 tokens, 0.8 s"."""
    return f"{_count(turns, 'turn')}, {_count(calls, 'tool call')}, {_count(tokens, 'token')}, {_seconds(seconds)}"


class PeopleView:
    """The trace on the standard error stream, the answer on `out`.

    Args:
        out: gets the answers and nothing else.
        quiet: leaves out the trace.
        mask: hides secrets.
    """

    def __init__(self, out: TextIO, *, quiet: bool = False, mask: Mask) -> None:
        from rich.console import Console

        self._out = out
        self._quiet = quiet
        self._mask = mask
        self._console = Console(file=sys.stderr, highlight=False, markup=False, emoji=False)
        unicode = "utf" in (self._console.encoding or "").lower()
        self._arrow, self._good, self._bad = ("→", "✓", "✗") if unicode else ("->", "ok", "failed")
        self._numbers: dict[int, int] = {}

    def waiting(self) -> AbstractContextManager[object]:
        if self._quiet or not self._console.is_terminal:
            return nullcontext()
        return self._console.status("working", spinner="dots")

    def note(self, text: str, style: str = "dim") -> None:
        """A line for people, left out by `quiet`."""
        if not self._quiet:
            self._line(text, style)

    def _line(self, text: str, style: str = "") -> None:
        self._console.print(printable(self._mask(text)), style=style or None, soft_wrap=True)

    def _short(self, text: str, most: int) -> str:
        # Masked before it is cut: of half a secret nobody can tell what it is.
        return _cut(self._mask(text), most)

    def __call__(self, event: Event) -> None:
        match event:
            case RunStarted():
                self._numbers.clear()
            case ToolCallReady(call):
                # Kept by the object: services do send one id for several calls of a turn.
                number = self._numbers.setdefault(id(call), len(self._numbers) + 1)
                self.note(
                    f"[{number}] {self._arrow} {call.name}({self._short(_arguments(call.arguments), ARGUMENT_CHARS)})",
                    "cyan",
                )
            case ToolResultReady():
                self._result(event)
            case ArgumentsRepaired(call, notes):
                self.note(f"    {call.name}: {'; '.join(notes)}")
            case ToolProgress(_, name, progress):
                self.note(f"    {name}: {self._short(_plain(progress), ARGUMENT_CHARS)}")
            case RequestRetried(model, error, attempt, wait):
                self.note(f"{model}: {error} Attempt {attempt} failed; again in {_seconds(wait)}.", "yellow")
            case ModelSwitched(before, model, error):
                self.note(f"{before} failed: {error} Going on with {model}.", "yellow")
            case StrictDemoted(model, tools):
                self.note(
                    f"{model} finds the strict schemas too complex; without strict mode: {', '.join(tools)}.", "yellow"
                )
            case LimitReached(limit, _):
                self.note(f"The run's {limit.replace('_', ' ')} is reached; one last turn for the answer.", "yellow")
            case TextDelta() | ReasoningDelta() | ToolCallStarted() | ToolArgumentsDelta():
                pass  # comes again in whole
            case TurnEnded() | RunEnded() | HistoryMended():
                pass  # `ended` tells, and the log
            case _:
                assert_never(event)

    def _result(self, event: ToolResultReady) -> None:
        number = self._numbers.get(id(event.call))
        mark, style = (self._good, "green") if event.result.success else (self._bad, "red")
        took = _seconds(event.seconds) if event.ran else "not run"
        self.note(f"{f'[{number}]' if number else '   '} {mark} {event.call.name} ({took})", style)
        told = _plain(event.result.data) if event.result.success else event.result.error or ""
        for line in _head(self._short(told, RESULT_CHARS).splitlines()):
            self.note(f"      {line}")
        # What a tool raises for the model to read stands there already.
        if event.exception is not None and not isinstance(event.exception, ToolError):
            words = self._short(str(event.exception), ARGUMENT_CHARS)
            self.note(f"      raised {type(event.exception).__name__}: {words}", "red")

    def ended(self, result: RunResult[str], *, exit_code: int) -> None:
        if result.output:
            text = self._mask(result.output)
            self._out.write((printable(text) if self._out.isatty() else text) + "\n")
            self._out.flush()
        answered = exit_code == _exits.ANSWERED
        if result.stop_reason != "end" or not answered:
            detail = f" ({result.detail})" if result.detail else ""
            words = "The model answered with what it had" if answered else "The run ended without an answer"
            self._line(f"{words}: {result.stop_reason.replace('_', ' ')}{detail}.", "yellow")
        self.note(
            account(
                turns=result.turns,
                calls=len(result.tool_calls),
                tokens=result.usage.total_tokens,
                seconds=result.seconds,
            )
        )

    def failed(self, error: BaseException, *, exit_code: int) -> None:
        if isinstance(error, KeyboardInterrupt):
            self._line("Interrupted.", "yellow")
        else:
            self._line(f"toolsmith: {error}", "red")


class JsonView:
    """One JSON object a line: each event of a run, then one whose `event` is "end".

    Args:
        out: gets the lines and nothing else.
        mask: hides secrets.
    """

    def __init__(self, out: TextIO, *, mask: Mask) -> None:
        self._out = out
        self._mask = mask

    def waiting(self) -> AbstractContextManager[object]:
        return nullcontext()

    def note(self, text: str) -> None:
        pass

    def _write(self, kind: str, content: Mapping[str, Any]) -> None:
        # ASCII in whatever encoding the stream has: no character can be lost.
        line = json.dumps({"event": kind, **content}, default=_name)
        self._out.write(self._mask(line) + "\n")
        self._out.flush()

    def __call__(self, event: Event) -> None:
        content = _content(event)
        if content is not None:
            self._write(_snake(type(event).__name__), content)

    def ended(self, result: RunResult[str], *, exit_code: int) -> None:
        self._write(
            "end",
            {
                "exit_code": exit_code,
                "output": result.output,
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
        case ArgumentsRepaired(call, notes):
            return {"id": call.id, "name": call.name, "notes": notes}
        case ToolProgress(call_id, name, progress):
            return {"id": call_id, "name": name, "progress": progress}
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
        case StrictDemoted(model, tools):
            return {"model": model, "tools": tools}
        case ModelSwitched(failed, model, error):
            return {"failed": failed, "model": model, "error": str(error)}
        case LimitReached(limit, _):
            return {"limit": limit}
        case _:
            assert_never(event)


def _result_content(result: ToolResult) -> dict[str, Any]:
    return {"success": result.success, "data": result.data, "error": result.error, "notes": result.notes}


def _arguments(text: str) -> str:
    """A call's arguments as a Python call would write them; the text itself where it is no JSON object."""
    try:
        values = json.loads(text)
    except ValueError:
        values = None
    if isinstance(values, dict):
        text = ", ".join(f"{k}={_plain(v, quoted=True)}" for k, v in cast("dict[str, Any]", values).items())
    return " ".join(text.split())


def _plain(value: object, *, quoted: bool = False) -> str:
    if isinstance(value, str) and not quoted:
        return value
    return json.dumps(value, ensure_ascii=False, default=_name)


def _name(value: object) -> str:
    return f"<{type(value).__name__}>"


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}... ({len(text) - most:,} more characters)"


def _head(lines: Sequence[str]) -> Sequence[str]:
    if len(lines) <= RESULT_LINES:
        return lines
    return [*lines[:RESULT_LINES], f"... ({len(lines) - RESULT_LINES:,} more lines)"]


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _seconds(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"


def _snake(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()
