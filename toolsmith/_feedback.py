"""Every sentence that a model reads from this framework; nothing else writes to it.

One form: was the tool run; what exactly is wrong; what next. No stack traces, no class names, no links, no apology.
Every text is bounded, whatever the input, and the same for every service. To localise or to rephrase, subclass
`Feedback` and hand an object of it to the agent. What concerns arguments alone, images and files, a run's bounds,
long results and text that others have written is in the parents, in `_wording`.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

from pydantic_core import to_json

from toolsmith._arguments.likeness import nearest
from toolsmith._arguments.problems import Broken, Hint, Problem
from toolsmith._arguments.shapes import Shapes
from toolsmith._wording.arguments import MAX_TEXT, sentence, shortened
from toolsmith._wording.media import MediaWording
from toolsmith._wording.run import RunWording
from toolsmith._wording.size import SizeWording
from toolsmith._wording.untrusted import UntrustedWording

if TYPE_CHECKING:
    from toolsmith.errors import ToolError
    from toolsmith.messages import ToolResult

_TOOLS_SHOWN: Final = 24
NOTHING: Final = "Done. There is no result to show."
NOT_TAKEN: Final = "Your answer was not taken"
"""Begins what a model is told of an answer that does not fit; it stands in the user's role and quotes the model."""

HINTS: Final[Mapping[Hint, str]] = {
    "": "",
    "single_quotes": "Names and strings stand in double quotes.",
    "python_words": "JSON writes true, false and null.",
    "comment": "JSON has no comments.",
    "trailing_comma": "There must be no comma after the last entry.",
    "bare_key": "Names stand in double quotes.",
    "control": "Inside a string a line break is written \\n and a tab \\t.",
    "escape": "Inside a string a backslash is written \\\\.",
    "quote": 'Inside a string a double quote is written \\".',
}


class Feedback(MediaWording, RunWording, SizeWording, UntrustedWording):
    """What the model reads, one method for each occasion. It has no state.

    Attributes:
        hints: for habits that break JSON, how it is written.
    """

    hints: Mapping[Hint, str] = HINTS

    # ---- arguments

    def broken_json(self, tool: str, broken: Broken) -> str:
        """The arguments are not JSON."""
        return f"`{tool}` was not run, because its arguments are not valid JSON: {self._breakage(broken)}"

    def _breakage(self, broken: Broken) -> str:
        at = self._spot(broken)
        match broken.kind:
            case "cut_off":
                size = self.counted(broken.position, "character")
                return (
                    f"the text was cut off after {size}, at {_excerpt(broken.before)}. "
                    "Send the whole JSON object again; if it is long, send less at a time."
                )
            case "syntax":
                hint = f" {self.hints[broken.hint]}" if broken.hint else ""
                return f"it breaks {at}.{hint} Send one JSON object, correctly quoted."
            case "text_before":
                return f"other text stands before the JSON, {at}. Send the JSON object alone."
            case "text_after":
                return f"other text follows the JSON {at}. Send the JSON object alone."
            case "several":
                return f"a second JSON value begins {at}. Send one JSON object; make a call for each set of arguments."
            case "constants":
                words = ", ".join(broken.names[:3])
                return f"it holds {words}, which JSON does not have. Send a number, or null where that is accepted."
            case "duplicates":
                return f"{self.names(broken.names, 5)} is given more than once in one object. Send each name once."
            case "surrogate":
                return f"it holds half of a character {at}. Send the character itself, or leave it out."
            case "digits":
                return f"it holds a whole number of more than {broken.size:,} digits. Send a shorter one."
            case "depth":
                return f"it is nested too deeply; {broken.size} levels are the limit. Send a flatter JSON object."
            case "size":
                return f"it is longer than {broken.size:,} characters. Send less at a time."
            case "encoding":
                return "it is not valid Unicode text. Send it as UTF-8."

    def _spot(self, broken: Broken) -> str:
        if broken.position < 0:
            return "at an unknown place"
        after = f" after {_excerpt(broken.before)}" if broken.before.strip() else ""
        return f"at character {broken.position + 1:,}, at {_excerpt(broken.after)}{after}"

    def two_meanings(self, tool: str, place: str, kind: str, name: str) -> str:
        """Arguments of a strict mode that cannot be read back.

        Args:
            tool: its name.
            place: where in the arguments, as in "shelf.stock".
            kind: "duplicate_key", a key that stands twice in a list of pairs, or "gap", a fixed list with a hole.
            name: the key, or the member that is missing.
        """
        where = f"`{shortened(place, 160)}`" if place else "The arguments"
        what = json.dumps(shortened(name, 60), ensure_ascii=False)
        if kind == "duplicate_key":
            wrong = f"{where} has the key {what} more than once; send each key once."
        else:
            wrong = f"{where} lacks its member {what}, though a later one is there; send all up to the last."
        return f"`{tool}` was not run. {wrong} Correct this and call `{tool}` again."

    def bad_arguments(self, tool: str, problems: Sequence[Problem], *, more: bool = False) -> str:
        """The arguments are JSON, but not what the tool takes.

        Args:
            tool: its name.
            problems: at least one.
            more: there may be others that were not looked for.
        """
        shapes = Shapes(problems[0].root)
        told = [shortened(self.problem(tool, p, shapes), 700) for p in problems]
        if len(told) == 1:
            return f"`{tool}` was not run. {told[0]} Correct this and call `{tool}` again."
        number = f"{len(told):,} problems or more" if more else f"{len(told):,} problems"
        head = f"`{tool}` was not run. There are {number} with its arguments:"
        tail = f"\nCorrect all of them and call `{tool}` again."
        return head + self.listed(told, MAX_TEXT - len(head) - len(tail) - 40) + tail

    def check_crashed(self, tool: str, reference: str, exposed: str = "") -> str:
        """The tool's own check of its arguments failed; `exposed` as for `crashed`."""
        where = f"inside the tool (reference {reference}{_shown(exposed)})"
        return (
            f"`{tool}` was not run: the check of its arguments failed {where}. "
            "Try other arguments or another way; the same call would fail again."
        )

    # ---- calls that are refused

    def unknown_tool(self, name: str, available: Sequence[str]) -> str:
        """No tool has the name that was called."""
        words = f"Nothing was run: there is no tool named `{shortened(name, 80)}`."
        if not available:
            return f"{words} There are no tools in this run. Answer without one."
        tools = self.available(available, _TOOLS_SHOWN)
        if near := nearest(name, available):
            return f"{words} Did you mean `{near}`? {tools}"
        return f"{words} Use a tool that there is, or answer without one. {tools}"

    def cut_off(self, tool: str, size: int) -> str:
        """The output limit cut the turn in which the call stood."""
        sent = self.counted(size, "character")
        return (
            f"`{tool}` was not run: your message reached its length limit after {sent} of arguments, so the "
            "call may be incomplete. Call it again with less: shorter arguments, or several smaller calls."
        )

    def not_run(self, tool: str) -> str:
        """The turn did not end in a way that lets its calls run, or the run is closing."""
        return f"`{tool}` was not run: no more tools are run at this point. Answer with what you have."

    def not_allowed(self, tool: str, allowed: Sequence[str], *, now: bool = False) -> str:
        """The tool exists, but may not be called in this run; or, where each turn has tools of its own, `now`."""
        when = "now" if now else "in this run"
        if not allowed:
            return f"`{tool}` was not run: no tool may be called {when}. Answer without one."
        return f"`{tool}` was not run: it may not be called {when}. These may: {self.names(allowed, _TOOLS_SHOWN)}."

    def answer_described(self) -> str:
        """Describes the tool by which the answer is given, where a service cannot be told what it has to be."""
        return "Give the final answer and end the conversation. Call this alone, when all work is done."

    def answer_taken(self) -> str:
        """The model's call of the answer's tool was accepted; the conversation is over."""
        return "The answer is accepted."

    def answer_by_tool(self, tool: str) -> str:
        """The model answered in words where it has to answer by a tool."""
        return (
            f"That answer was not taken: the final answer is given by calling `{tool}`. Call it now with your answer."
        )

    def answer_misfit(self, text: str, tool: str) -> str:
        """The answer is JSON, but not what was asked for.

        Args:
            text: what `bad_arguments` says.
            tool: under which name.
        """
        told = text.replace(f"`{tool}` was not run. ", "").replace(
            f"call `{tool}` again", "send the whole answer again"
        )
        # No tool of that name was offered: the service was told the schema of the answer itself.
        told = (
            told.replace(" with its arguments:", " with it:")
            .replace(f"an argument of `{tool}`", "part of the answer")
            .replace(f"`{tool}`", "The answer")
        )
        return f"{NOT_TAKEN}. {told}"

    def answer_not_json(self, breakage: str) -> str:
        """The answer is not the JSON that was asked for."""
        return f"{NOT_TAKEN}, because it is not valid JSON: {breakage}"

    def denied(self, tool: str, reason: str = "") -> str:
        """The user did not allow the call."""
        why = f" Their reason: {sentence(reason, 500)}" if reason.strip() else ""
        return f"`{tool}` was not run: the user did not allow it.{why} Do not repeat this call; go another way or ask."

    # ---- calls that failed

    def timed_out(self, tool: str, seconds: float) -> str:
        """The tool gave no result in time."""
        return (
            f"`{tool}` gave no result within {self.duration(seconds)}. It may still be running and may "
            "still take effect: check what it has done before you call it again, or ask it for less."
        )

    def duration(self, seconds: float) -> str:
        """A span of time, short."""
        return self.counted(round(seconds, 1) if seconds != int(seconds) else int(seconds), "second")

    def cancelled(self, tool: str) -> str:
        """The call was cancelled while it ran."""
        return (
            f"`{tool}` was cancelled before it ended. It may have taken effect in part: check before you call it again."
        )

    def not_begun(self, tool: str) -> str:
        """The run was cancelled, or its time was over, before the call's turn came."""
        return f"`{tool}` was not run: the run was stopped before. Call it again if it is still needed."

    def answer_lost(self, tool: str) -> str:
        """A stored conversation lacks the answer to a call."""
        return (
            f"The answer of `{tool}` is lost, and so is whether it was run. It may have taken effect: check before you "
            "call it again."
        )

    def nothing_before(self) -> str:
        """Stands for the user's first message where a history begins with the model, and a service takes none such."""
        return "(No earlier message is shown.)"

    def crashed(self, tool: str, reference: str, exposed: str = "") -> str:
        """The tool raised something that was not meant for the model.

        Args:
            tool: its name.
            reference: of the entry in the log.
            exposed: the exception's own words, where a developer wants them shown.
        """
        return (
            f"`{tool}` was run and failed with an internal error (reference {reference}{_shown(exposed)}). It may have "
            "taken effect in part. The same call would most likely fail again: try another way, or report it with its "
            "reference."
        )

    def tool_error(self, tool: str, error: ToolError, *, visible: Collection[str] | None = None) -> str:
        """The tool said itself what went wrong.

        Args:
            tool: its name.
            error: what it raised.
            visible: the tools of this run; a remedy that is not among them is not named. None for all.
        """
        from toolsmith.errors import ModelRetry

        said = "" if error.message is None else shortened(error.message, 4_000).strip()  # pyright: ignore[reportUnnecessaryComparison]
        words = f"`{tool}` failed: {said}" if said else f"`{tool}` failed without saying why"
        words += "" if words.endswith((".", "!", "?", ">")) else "."  # ">" ends a fence
        if error.hint:
            words += f" {sentence(error.hint, 1_000)}"
        if error.use and (visible is None or error.use in visible):
            given = f" with {_json(dict(error.arguments), 1_000)}" if error.arguments else ""
            words += f" Call `{error.use}`{given} next."
        if isinstance(error, ModelRetry):
            words += f" Call `{tool}` again with other arguments."
        return words

    def unserialisable(self, tool: str, reason: str = "") -> str:
        """The tool ran, but what it gave back cannot be shown."""
        why = f" ({shortened(reason, 300)})" if reason else ""
        return (
            f"`{tool}` was run, but its result cannot be shown: it is not JSON data{why}. It may have taken effect. "
            "The same call would give the same: get what you need another way, or go on without it."
        )

    def unflagged(self, text: str) -> str:
        """A failed call's text for a service that has no flag for failures; ours say so in their first words."""
        return text if text.startswith(("`", "Nothing was run", "Error")) else f"Error: {text}"

    def failed(self, tool: str) -> str:
        """The tool said that it failed, and no more."""
        return f"`{tool}` was run and says that it failed, without a reason. Try another way, or say that it failed."

    # ---- results

    def result_note(self, kind: str) -> str:
        """What was changed in a result to make JSON of it.

        Args:
            kind: "not_a_number", "broken_text" or "base64".
        """
        return {
            "not_a_number": "null stands where a number was undefined or infinite.",
            "broken_text": "the character \N{REPLACEMENT CHARACTER} stands where a text was damaged.",
            "base64": "bytes that are no text are given as base64.",
        }[kind]

    def not_json(self, why: str, path: Sequence[str | int]) -> str:
        """Why a result is no JSON data, for `unserialisable`.

        Args:
            why: "unknown", "circular", "deep", "endless", "large", "pending", "keys" or "digits".
            path: where in the result.
        """
        what = {
            "circular": "it contains itself",
            "deep": "it is nested too deeply",
            "endless": "it has too many items",
            "large": "it is too large",
            "pending": "it is not finished",
            "keys": "it has names that are no text, or the same name twice",
            "digits": "it has a number with too many digits",
        }.get(why, "it has a value of another kind")
        place = shortened("".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in path).lstrip("."), 120)
        return f"{what} at `{place}`" if place else what

    def result_text(self, result: ToolResult) -> str:
        """What the model reads of a success: a string as it is, other data as JSON, then the notes."""
        data = result.data
        if result.media:
            text = self.media_lines(data)
        elif data is None:
            # With a note that null stands for something, null is the result.
            text = "null" if self.result_note("not_a_number") in result.notes else self.nothing()
        elif isinstance(data, str):
            text = data or self.empty_text()
        else:
            text = to_json(data).decode()
        return self.noted(text, result.notes)

    def nothing(self) -> str:
        """Stands for a result that is None."""
        return NOTHING

    def empty_text(self) -> str:
        """Stands for a result that is an empty text."""
        return "(an empty text)"

    def noted(self, text: str, notes: Sequence[str]) -> str:
        """A result's text with the remarks that go with it."""
        return "\n\n".join([text, *(f"Note: {n}" for n in notes)]) if notes else text


def _excerpt(text: str) -> str:
    """A piece of the model's text, on one line."""
    shown = "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text)
    return f"`{shown}`" if shown else "its end"


def _shown(exposed: str) -> str:
    return f"; {shortened(exposed, 2_000)}" if exposed else ""


def _json(value: Any, most: int) -> str:
    try:
        return shortened(json.dumps(value, ensure_ascii=False), most)
    except (TypeError, ValueError):
        return "the arguments that its description names"


FEEDBACK: Final = Feedback()
"""The words that are used unless others are given."""

_speaking: ContextVar[Feedback] = ContextVar("toolsmith_feedback", default=FEEDBACK)


def speaking() -> Feedback:
    """The words of the run whose messages are being written, for code that is handed a message and nothing else."""
    return _speaking.get()


@contextmanager
def speaks(feedback: Feedback) -> Generator[None]:
    """Have `speaking` give these words inside the block."""
    token = _speaking.set(feedback)
    try:
        yield
    finally:
        _speaking.reset(token)
