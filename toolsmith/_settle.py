"""From how a function ended to what the model is told: the one road for values, errors and deadlines."""

from __future__ import annotations

import asyncio
import logging
import secrets
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from toolsmith.errors import ToolError
from toolsmith.messages import ToolResult

if TYPE_CHECKING:
    from toolsmith._feedback import Feedback
    from toolsmith._job import Job, Outcome

log = logging.getLogger("toolsmith")


@dataclass(frozen=True, slots=True, eq=False)
class Settled:
    """What the model is told, and for people what is behind it.

    Attributes:
        reference: stands in the model's text and in the log, "" where the model is shown all there is.
    """

    result: ToolResult
    exception: BaseException | None = None
    reference: str = ""


def settle(job: Job, outcome: Outcome, feedback: Feedback) -> Settled:
    """Turn an outcome into a result. Never raises.

    The text of an exception is for the log alone, unless the tool raised `ToolError`: only then was it written for the
    model; anything else may hold a password or a customer's name.
    """
    name = job.tool.name
    if outcome.timed_out:
        return Settled(ToolResult(False, error=feedback.timed_out(name, job.timeout or outcome.seconds)))
    error = outcome.exception
    if error is None:
        result = job.tool.finish(outcome.value)
        return Settled(replace(result, notes=job.notes + result.notes) if job.notes and result.success else result)
    if isinstance(error, ToolError):
        return Settled(ToolResult(False, error=feedback.tool_error(name, error)), error)
    if isinstance(error, asyncio.CancelledError):
        return Settled(ToolResult(False, error=feedback.cancelled(name)), error)
    reference = secrets.token_hex(4)
    log.error("Tool %s failed (reference %s)", name, reference, exc_info=error)
    return Settled(ToolResult(False, error=feedback.crashed(name, reference)), error, reference)
