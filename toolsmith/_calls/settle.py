"""From how a function ended to what the model is told: the one road for values, errors and deadlines."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Callable, Collection
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from toolsmith._calls.success import success
from toolsmith._dataclass import dataclass
from toolsmith._plain import FEW_LEFT, values_left
from toolsmith._untrusted.fences import mark_for
from toolsmith.errors import ToolError
from toolsmith.messages import ToolResult
from toolsmith.remedies import remedy_for

if TYPE_CHECKING:
    from toolsmith._calls.job import Job, Outcome
    from toolsmith._feedback import Feedback

log = logging.getLogger("toolsmith")

_MOST_WORDS = 3_500
"""Characters of a failure that others have written; `Feedback.tool_error` shows 4,000, fences and all."""

Visible = Callable[[], Collection[str]]


@dataclass(slots=True, eq=False)  # not frozen: one is made for each call
class Settled:
    """How a call ended: what the model is told, and for people what is behind it.

    Attributes:
        reference: stands in the model's text and in the log, "" where the model is shown all there is.
        cause: what went wrong, as far as the model is told of it; "" where the text says that and no more.
        fenced: the error of a failure as the model reads it, with fences around what others have written in it; ""
            where that is nothing, or, of an `untrusted` result, all of it.
        seconds: how long the function took.
        ran: whether it was run.
        counts: whether a failure is the call's own, and no limit's or interruption's.
    """

    result: ToolResult
    exception: BaseException | None = None
    reference: str = ""
    cause: str = ""
    fenced: str = ""
    seconds: float = 0.0
    ran: bool = False
    counts: bool = True

    @property
    def failure(self) -> str:
        """Equal for two failures that say the same to the model, whatever their references and remedies."""
        text = self.cause or self.result.error or ""
        return text.replace(self.reference, "") if self.reference else text


def settle(
    job: Job, outcome: Outcome, feedback: Feedback, *, visible: Visible | None = None, expose: bool = False
) -> Settled:
    """Turn an outcome into a result. Never raises.

    The text of an exception is for the log alone, unless it was written for the model: the tool raised `ToolError`, or
    its `on_error` has words for it. Anything else may hold a password or a customer's name.

    Args:
        job: what was run.
        outcome: how it ended.
        feedback: the words.
        visible: gives the tools that the run can still call; a remedy that is not among them is not named.
        expose: show the model the type and the text of other exceptions too; for development.
    """
    value, untrusted = outcome.value, job.tool.options.untrusted
    in_order = outcome.exception is None and not outcome.timed_out and not job.notes
    if in_order and not untrusted and values_left(value) > FEW_LEFT:
        return Settled(success(value))  # nearly always
    settled = _settle(job, outcome, feedback, visible, expose=expose)
    result = settled.result
    if not untrusted or not result.success or not (result.data or result.media):
        return settled  # failures say themselves what others have written in them; of nothing nobody is the author
    return replace(settled, result=replace(result, untrusted=True))


def _settle(job: Job, outcome: Outcome, feedback: Feedback, visible: Visible | None, *, expose: bool) -> Settled:
    name = job.tool.name
    if outcome.timed_out:
        return Settled(ToolResult(False, error=feedback.timed_out(name, job.timeout or outcome.seconds)))
    value = outcome.value
    error = value if outcome.exception is None and isinstance(value, Exception) else outcome.exception
    if error is None:
        try:
            result = job.tool.finish(value, feedback=feedback)
        except Exception as raised:  # noqa: BLE001 - to read a value may run anybody's code
            return _failed(job, raised, feedback, visible, expose=expose)
        if isinstance(value, ToolResult) and value.error and not result.success and result.error == str(value.error):
            # In the author's words, as a `ToolError` is.
            said = ToolError(value.error, untrusted=value.untrusted or None)
            return _with_words(Settled(result), job, said, feedback)
        if not result.success:
            # It may name a key of the data.
            return Settled(replace(result, untrusted=result.untrusted or job.tool.options.untrusted))
        return Settled(replace(result, notes=job.notes + result.notes) if job.notes and result.success else result)
    return _failed(job, error, feedback, visible, expose=expose)


def _failed(job: Job, error: BaseException, feedback: Feedback, visible: Visible | None, *, expose: bool) -> Settled:
    """An exception: what was declared of it, or a reference."""
    name = job.tool.name
    if (said := _all_said(error)) is not None:
        return _told(job, said, error, feedback, visible)
    if isinstance(error, asyncio.CancelledError):
        return Settled(ToolResult(False, error=feedback.cancelled(name)), error)
    on_error = job.tool.options.on_error
    if on_error is not None and isinstance(error, Exception):
        remedy = remedy_for(error, on_error, tool=name)
        if remedy is not None:
            log.info("Tool %s failed in a way that its on_error has words for", name, exc_info=error)
            return _told(job, remedy, error, feedback, visible)
    reference = secrets.token_hex(4)
    log.error("Tool %s failed (reference %s)", name, reference, exc_info=error)
    if not expose:
        return Settled(ToolResult(False, error=feedback.crashed(name, reference)), error, reference)
    words, untrusted = exposed(error), job.tool.options.untrusted
    told = ToolResult(False, error=feedback.crashed(name, reference, words), untrusted=untrusted)
    fenced = f"{feedback.crashed(name, reference)}\n{_fenced(words, name, feedback)}" if untrusted else ""
    return Settled(told, error, reference, fenced=fenced)


def _all_said(error: BaseException) -> ToolError | None:
    """What a tool says of its failure: a `ToolError`, also out of the group that `asyncio.TaskGroup` makes of it.

    Of several all messages are told, once each; the first hint and the first remedy count.
    """
    if isinstance(error, ToolError):
        return error
    if not isinstance(error, ExceptionGroup):
        return None
    found: list[ToolError] = []
    for member in cast("ExceptionGroup[Exception]", error).exceptions:
        said = _all_said(member)
        if said is None:
            return None  # something else went wrong too, which is for the log
        found.append(said)
    if len(found) == 1:
        return found[0]
    hint = next((e.hint for e in found if e.hint), "")
    remedy = next((e for e in found if e.use), found[0])
    messages = " ".join(dict.fromkeys(_sentence(str(e.message)) for e in found if e.message))
    said = {e.untrusted for e in found}
    untrusted = True if True in said else None if None in said else False
    return ToolError(messages, hint=hint, use=remedy.use, args=remedy.arguments, untrusted=untrusted)


def _sentence(text: str) -> str:
    text = text.strip()
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _told(job: Job, error: ToolError, raised: BaseException, feedback: Feedback, visible: Visible | None) -> Settled:
    use = job.tool.neighbour(error.use)
    if use != error.use:
        error = copy(error)
        error.use = use
    seen = visible() if visible is not None and use else None
    settled = Settled(ToolResult(False), raised, cause=f"{error.message}\n{error.hint}")
    return _with_words(settled, job, error, feedback, seen)


def _with_words(
    settled: Settled, job: Job, error: ToolError, feedback: Feedback, visible: Collection[str] | None = None
) -> Settled:
    """A failure with the words for it: as they are in the result, and with a fence around those of others."""
    name = job.tool.name
    text = feedback.tool_error(name, error, visible=visible)
    untrusted = job.tool.options.untrusted if error.untrusted is None else error.untrusted
    result = replace(settled.result, error=text, untrusted=untrusted)
    if not untrusted or not error.message:
        return replace(settled, result=result)
    inside = copy(error)
    inside.message = _fenced(error.message, name, feedback)
    return replace(settled, result=result, fenced=feedback.tool_error(name, inside, visible=visible))


def _fenced(words: object, source: str, feedback: Feedback) -> str:
    """Words of others between fences, short enough to keep them both in a failure's text."""
    from toolsmith._wording.arguments import shortened

    said = shortened(str(words), _MOST_WORDS).strip()
    return feedback.untrusted(said, source, mark_for(said))


def exposed(error: BaseException) -> str:
    """An exception as a developer wants to see it: its type and its text."""
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:  # noqa: BLE001 - anybody's code
        return type(error).__name__
