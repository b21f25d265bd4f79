"""What was stored of a run that waits: looked at when it is loaded, before anything runs on its word."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, NotRequired, cast

from annotated_types import Ge
from pydantic import BeforeValidator, TypeAdapter, ValidationError
from typing_extensions import TypedDict

from toolsmith.errors import HistoryError
from toolsmith.history import dump_media, load_media
from toolsmith.messages import Source, ToolResult

if TYPE_CHECKING:
    from toolsmith.approvals import PendingCall
    from toolsmith.messages import Message

Count = Annotated[int, Ge(0)]


class _Span(TypedDict):
    text: str
    source: str
    place: str


class _Call(TypedDict):
    id: str
    name: str
    arguments: dict[str, Any]
    reason: NotRequired[str]
    untrusted: NotRequired[list[_Span]]


class _Result(TypedDict):
    success: bool
    data: Any
    error: str | None
    notes: list[str]
    media: NotRequired[list[dict[str, Any]]]
    untrusted: NotRequired[bool]
    sources: NotRequired[list[dict[str, str]]]


class _Answer(TypedDict):
    result: _Result
    seconds: float
    ran: bool


def _row(value: Any) -> Any:
    return tuple(cast("list[Any]", value)) if isinstance(value, list) else value


_Strike = Annotated[tuple[str, str, str, Count], BeforeValidator(_row)]  # JSON has no tuples


class _Breaker(TypedDict):
    strikes: list[_Strike]
    warned: dict[str, Count]
    stopped: dict[str, Count]


class _Stored(TypedDict):
    calls: list[_Call]
    history: str
    answered: dict[str, _Answer]
    usage: dict[str, Count]
    turns: Count
    tool_calls: Count
    by_tool: dict[str, Count]
    breaker: NotRequired[_Breaker]
    by_group: NotRequired[dict[str, Count]]
    allowed: NotRequired[list[str] | None]
    pages: NotRequired[dict[str, Any]]
    had_deps: NotRequired[bool]
    seal: str


@cache
def _adapter() -> TypeAdapter[_Stored]:
    return TypeAdapter(_Stored)


def check(data: object) -> None:
    """That everything is of the type that `Pending.dump` wrote.

    Raises:
        HistoryError: something is not; the text says what.
    """
    try:
        _adapter().validate_python(data, strict=True)
    except ValidationError as error:
        wrong = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors(include_input=False)[:3])
        raise HistoryError(f"This is no dumped `Pending`: {wrong}.") from None


def pages(data: dict[str, Any]) -> dict[str, Any]:
    """What `Pages.dump` gave, looked at now and not when it is needed."""
    if data and not (isinstance(data["last"], int) and all(len(kept) == 6 for kept in data["kept"].values())):
        raise ValueError("pages")
    return data


def dumped(told: ToolResult) -> dict[str, Any]:
    """A result as JSON data, for `loaded`."""
    result = {"success": told.success, "data": told.data, "error": told.error, "notes": list(told.notes)}
    if told.untrusted:
        result["untrusted"] = True
    if told.sources:
        result["sources"] = [asdict(source) for source in told.sources]
    if told.media:
        result["media"] = [dump_media(one) for one in told.media]
    return result


def loaded(result: Mapping[str, Any]) -> ToolResult:
    """What `dumped` gave."""
    notes = tuple(cast("list[str]", result["notes"]))
    media = tuple(load_media(one, f"media[{i}]") for i, one in enumerate(result.get("media", [])))
    untrusted = bool(result.get("untrusted", False))
    sources = tuple(Source(**source) for source in result.get("sources", []))
    return ToolResult(result["success"], result["data"], result["error"], notes, media, untrusted, sources)


def agree(calls: Sequence[PendingCall], messages: Sequence[Message], answered: Collection[int]) -> None:
    """That the calls which wait are those of the last turn that have no answer.

    Raises:
        HistoryError: they are not: it was changed since it was written.
    """
    turn = next((m for m in reversed(messages[-2:]) if m.role == "assistant"), None)
    made = () if turn is None else turn.tool_calls
    left = [(call.id, call.name) for i, call in enumerate(made) if i not in answered]
    if left != [(call.id, call.name) for call in calls] or not all(0 <= i < len(made) for i in answered):
        raise HistoryError(
            f"The calls of this `Pending` are not those that its history leaves open ({[c.id for c in calls]}, "
            f"{[i for i, _ in left]}): it was changed since it was dumped. Nothing was run. Start the run again."
        )


def seal(calls: Any, history: str) -> str:
    """A checksum by which it is seen that calls and history are still those that were written together.

    Args:
        calls: as JSON data; the order of names and the spelling of numbers make no difference, since some databases
            change them.
        history: as `dump_messages` gave it.
    """
    said = json.dumps([_plain(calls), history], sort_keys=True)
    return hashlib.sha256(said.encode()).hexdigest()


def digest(calls: Any) -> str:
    """A checksum of calls as JSON data, by which it is seen that they are still what they were."""
    from toolsmith._arguments.jsontext import written

    return hashlib.sha256(written(calls, exact=True)).hexdigest()


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in cast("Mapping[str, Any]", value).items()}
    if isinstance(value, list):
        return [_plain(v) for v in cast("list[Any]", value)]
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        sign, digits, exponent = Decimal(str(value)).as_tuple()
        text = "".join(map(str, digits))
        short = text.rstrip("0")
        return {
            "number": [sign, short, exponent + len(text) - len(short)] if short and isinstance(exponent, int) else 0
        }
    return value
