"""Runs for people: the trace on the standard error stream, the answer on standard output.

So `toolsmith run ... > answer.txt` keeps the answer alone. At a terminal the words of the model are shown as they come,
also those between its calls.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, TextIO, assert_never, cast, get_args

from toolsmith._arguments.jsontext import Exact, number
from toolsmith.cli import _exits
from toolsmith.cli._view import Mask, jsonable, type_name
from toolsmith.errors import ToolError
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
    from rich.status import Status

    from toolsmith._untrusted.spans import UntrustedSpan
    from toolsmith.agent import Agent, RunResult
    from toolsmith.approvals import Approve, PendingCall

WORKING = "working"
ARGUMENT_CHARS = 400
RESULT_CHARS = 800
RESULT_LINES = 12

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


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
        self._spinner: Status | None = None
        self._words: list[str] = []  # of the last turn that had any, as they came
        self._over = False  # that turn is over
        self._held = ""  # the end of them, which may be the beginning of a secret
        self._open = False  # the cursor stands behind words, within a line

    @property
    def live(self) -> bool:
        return self._out.isatty() and not self._quiet

    def waiting(self) -> AbstractContextManager[object]:
        if self._quiet or not self._console.is_terminal:
            return nullcontext()
        self._spinner = self._console.status(WORKING, spinner="dots")
        return self._spinner

    def approve(self, agent: Agent[Any]) -> Approve | None:
        if agent.approve is not None:
            return agent.approve
        return self._ask if sys.stdin.isatty() and self._console.is_terminal else None

    def _ask(self, call: PendingCall) -> bool | str:
        """Ask the user. Anything but a yes is a no, and words are the reason, which the model is told."""
        self._say_rest()
        self._spin(None)
        self._line(f"{call.name}({self._short(_call(call.arguments), ARGUMENT_CHARS)}) needs your approval.", "bold")
        if call.untrusted:
            self._line(f"    {call.reason}", "yellow")
            self._spans(call.untrusted, self._line)
        try:
            while True:
                said = self._console.input("Run it? [y/N, or why not] ", markup=False).strip()
                if (decision := _decision(said)) is not None:
                    return decision
                self._line("y alone runs it as it is; n or anything else does not.")
        except EOFError:
            return False
        finally:
            self._spin(WORKING)

    def note(self, text: str, style: str = "dim") -> None:
        """A line for people, left out by `quiet`."""
        if not self._quiet:
            self._line(text, style)

    def told(self, text: str) -> None:
        self._line(text, "dim")

    def _spin(self, what: str | None) -> None:
        """Have the spinner say what is going on; None takes it away while something else is written."""
        if self._spinner is None:
            return
        if what is None:
            self._spinner.stop()
        else:
            self._say_rest()
            self._break()
            self._spinner.update(printable(self._mask(what)))
            self._spinner.start()

    # ---- words as they come

    def _say(self, text: str) -> None:
        """The next words of the model."""
        if self._over:
            self._words.clear()
            self._over = False
        self._words.append(text)
        shown, self._held = self._mask.stream(self._held + text)
        self._write(shown)

    def _say_rest(self) -> None:
        """The words are over: what was held back is no secret's beginning."""
        held, self._held = self._held, ""
        self._write(held)

    def _turn_is_over(self, *, last: bool) -> None:
        self._over = True
        self._say_rest()
        if not last:
            self._spin(WORKING)

    def _write(self, text: str) -> None:
        if not text:
            return
        self._spin(None)
        encoding = self._out.encoding or "utf-8"
        self._out.write(printable(text).encode(encoding, "backslashreplace").decode(encoding))
        self._out.flush()
        self._open = not text.endswith("\n")

    def _break(self) -> None:
        """Begin a new line, where words have left one open."""
        if self._open:
            self._write("\n")

    def _line(self, text: str, style: str = "") -> None:
        self._say_rest()
        self._break()
        self._console.print(printable(self._mask(text)), style=style or None, soft_wrap=True)

    def _short(self, text: str, most: int) -> str:
        # Masked before it is cut: of half a secret nobody can tell what it is.
        return _cut(self._mask(text), most)

    def __call__(self, event: Event) -> None:
        match event:
            case RunStarted():
                self._numbers.clear()
                self._words.clear()
            case UntrustedFlow():
                self._flow(event)
            case ApprovalNeeded(call):
                self.note(f"    {call.name} waits for approval", "yellow")
            case ToolCallReady(call):
                # Kept by the object: services do send one id for several calls of a turn.
                number = self._numbers.setdefault(id(call), len(self._numbers) + 1)
                self.note(
                    f"[{number}] {self._arrow} {call.name}({self._short(_arguments(call.arguments), ARGUMENT_CHARS)})",
                    "cyan",
                )
            case ToolResultReady():
                self._result(event)
            case RepeatStopped(call, times, _):
                self.note(f"    {call.name} has ended like this {times} times; it is not run again as it is", "yellow")
            case ArgumentsRepaired(call, notes):
                self.note(f"    {call.name}: {'; '.join(notes)}")
            case ToolProgress(_, name, progress):
                self._progress(name, progress)
            case RequestRetried(_, error, attempt, wait):
                self.note(f"{error} Attempt {attempt} failed; again in {_seconds(wait)}.", "yellow")
            case ModelSwitched(_, model, error):
                self.note(f"{error} Going on with {model}.", "yellow")
            case ToolLeftOut(model, tool):
                self.note(f"{model} has no {tool} of its own, and none is set up here: it goes without.", "yellow")
            case StrictDemoted(model, tools):
                self.note(
                    f"{model} finds the strict schemas too complex; without strict mode: {', '.join(tools)}.", "yellow"
                )
            case LimitReached(limit, _):
                self.note(f"The run's {limit.replace('_', ' ')} is reached; one last turn for the answer.", "yellow")
            case TextDelta(text):
                self._say(text)
            case ReasoningDelta():
                self._spin("thinking")
            case ToolCallStarted(_, name):
                self._spin(f"writing a call of {name}")
            case TurnEnded(_, reply):
                self._turn_is_over(last=reply.stop == "end")
            case ToolArgumentsDelta() | RunEnded() | HistoryMended():
                pass  # a call comes again in whole; `ended` tells, and the log
            case _:
                assert_never(event)

    def _flow(self, event: UntrustedFlow) -> None:
        then = {"deny": "it is not run", "ask": "a person decides", "allow": "it runs"}[event.policy]
        self.note(f"    {event.call.name} would carry text that others have written; {then}", "yellow")
        if event.policy != "ask":  # else it is told with the question
            self._spans(event.spans, self.note)

    def _spans(self, spans: Sequence[UntrustedSpan], write: Callable[[str, str], None]) -> None:
        for span in spans:
            told = f"{span.place}: {_plain(span.text, quoted=True)} (from {span.source})"
            write(f"      {self._short(told, ARGUMENT_CHARS)}", "yellow")

    def _progress(self, name: str, progress: object) -> None:
        """What a tool reports; of an agent that is a tool, what it calls."""
        match progress:
            case ToolProgress(_, inner, deeper):
                self._progress(f"{name} {self._arrow} {inner}", deeper)
            case ToolCallReady(call):
                arguments = self._short(_arguments(call.arguments), ARGUMENT_CHARS)
                self.note(f"    {name} {self._arrow} {call.name}({arguments})")
            case ToolResultReady(call, result):
                self.note(f"    {name} {self._good if result.success else self._bad} {call.name}")
            case _ if not isinstance(progress, get_args(Event)):
                self.note(f"    {name}: {self._short(_plain(progress), ARGUMENT_CHARS)}")
            case _:
                pass

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

    def ended(self, result: RunResult[Any], *, exit_code: int) -> None:
        self._say_rest()
        self._break()
        if result.output not in (None, "") and result.output != "".join(self._words):  # those stand there already
            text = self._mask(_written(result.output))
            self._out.write((printable(text) if self._out.isatty() else text) + "\n")
            self._out.flush()
        for url, title in {source.url: source.title for source in result.citations if source.url}.items():
            self._line(self._short(f"  {title}: {url}" if title else f"  {url}", ARGUMENT_CHARS))
        answered = exit_code == _exits.ANSWERED
        if result.stop_reason != "end" or not answered:
            detail = f" ({result.detail})" if result.detail else ""
            words = "The model answered with what it had" if answered else "The run ended without an answer"
            self._line(f"{words}: {result.stop_reason.replace('_', ' ')}{detail}.", "yellow")
        if result.stop_reason == "approval":
            self._line(
                "Nobody has decided: run it at a terminal, or with an agent that has approve=... (see docs/runs.md).",
                "yellow",
            )
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


def _decision(said: str) -> bool | str | None:
    """A yes, a no, or the reason for one ("no, use the other account"); None for half a yes, which is asked about."""
    words = re.findall(r"\w+", said.lower())
    match words:
        case ["y" | "yes"]:
            return True
        case [] | ["n" | "no"]:
            return False
        case ["y" | "ye" | "yes" | "yep" | "yeah" | "ok" | "okay" | "sure", *_]:
            return None
        case _:
            return said


def _arguments(text: str) -> str:
    """A call's arguments as a Python call would write them; the text itself where it is no JSON object."""
    try:
        values = json.loads(text, parse_float=number)
    except ValueError:
        values = None
    return _call(cast("dict[str, Any]", values)) if isinstance(values, dict) else " ".join(text.split())


def _call(arguments: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={_argument(value)}" for name, value in arguments.items())


def _argument(value: object) -> str:
    """JSON data as JSON, its numbers with all their digits: a person may be asked about an amount."""
    match value:
        case Exact():
            return value.text
        case dict():
            members = cast("dict[str, object]", value).items()
            return "{" + ", ".join(f"{_plain(k, quoted=True)}: {_argument(v)}" for k, v in members) + "}"
        case list():
            return "[" + ", ".join(map(_argument, cast("list[object]", value))) + "]"
        case _:
            return _plain(value, quoted=True)


def _written(output: Any) -> str:
    """An answer for people: words as they are, values of a type of the program as JSON."""
    return output if isinstance(output, str) else json.dumps(jsonable(output), ensure_ascii=False, indent=2)


def _plain(value: object, *, quoted: bool = False) -> str:
    if isinstance(value, str) and not quoted:
        return value
    return json.dumps(value, ensure_ascii=False, default=type_name)


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
