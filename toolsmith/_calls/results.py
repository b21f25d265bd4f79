"""From what a tool gives back to a result: a success with plain JSON data, or a failure that says why there is none.

Plain data goes as it is, and that is nearly all of it; `jsonable` has the rules for the rest.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from toolsmith._calls.success import success
from toolsmith._plain import FEW_LEFT, values_left
from toolsmith.media import File, Image, Media
from toolsmith.messages import ToolResult

if TYPE_CHECKING:
    from toolsmith._feedback import Feedback

log = logging.getLogger("toolsmith")


def result_of(
    value: Any, tool_name: str, origin: object, feedback: Feedback, media: Sequence[Media] = ()
) -> ToolResult:
    """What a tool gave, as a result for the model: a success with plain data, or a failure that says why.

    Args:
        value: anything; a `ToolResult` is taken as it is, once its data is plain.
        origin: where the tool is defined, for the log; printed only if need be.
        media: what goes with the result already; what `value` holds is numbered after it.

    Raises:
        Exception: `value` is one, or to read it ran anybody's code, which failed.
    """
    left = values_left(value)
    if left > FEW_LEFT:
        return success(value)
    if isinstance(value, ToolResult):
        return _checked(value, tool_name, origin, feedback)
    if isinstance(value, Exception):
        raise value
    from toolsmith._calls.jsonable import TOO_MUCH, NotJson, Writer

    writer = Writer(feedback.media_mark, media)
    try:
        data = writer.kept(value, left)
    except NotJson as refused:
        hint = "Return less" if refused.why in TOO_MUCH else "Return plain data, a dataclass or a model"
        log.error("Tool %s (%s) gave back what is no JSON: %s. %s.", tool_name, origin, refused, hint)
        reason = feedback.not_json(refused.why, refused.path)
        return ToolResult(False, error=feedback.unserialisable(tool_name, reason))
    return ToolResult(True, data, None, tuple(map(feedback.result_note, writer.notes)), tuple(writer.media))


def _checked(given: ToolResult, tool_name: str, origin: object, feedback: Feedback) -> ToolResult:
    for one in cast("Sequence[object]", given.media):  # the author's own
        if not isinstance(one, (Image, File)):
            raise TypeError(f"ToolResult(media=...) takes Image and File objects, not {one!r}.")
    made = result_of(given.data, tool_name, origin, feedback, given.media)
    if given.success and not made.success:
        return made
    # Of a failure the model is told what the author says, whatever stands beside it.
    error = None if given.success else str(given.error or feedback.failed(tool_name))
    media = made.media or given.media
    notes = (*given.notes, *made.notes)
    return ToolResult(given.success, made.data, error, notes, media, given.untrusted, given.sources)
