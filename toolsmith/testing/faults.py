"""What goes wrong on the way to a client: errors of the service, pages of a proxy, broken connections, slow answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import get_args

from toolsmith.errors import ErrorCategory
from toolsmith.testing.script import Delivery, Fault, Quirk, Scripted, ScriptError, Turn, as_answer


def fail(
    kind: ErrorCategory | int = "server",
    *,
    message: str | None = None,
    code: str | None = None,
    retry_after: float | str | None = None,
    headers: Mapping[str, str] | None = None,
) -> Fault:
    """The service answers with an error, in the words and the body of the API at hand.

    Args:
        kind: a category (`ErrorCategory`: "rate_limit", "quota", "overloaded", "context", ...), or an HTTP status.
        message: other words than the usual ones.
        code: another error code than the usual one.
        retry_after: the `retry-after` header, in seconds or as it is.
        headers: more headers.

    Raises:
        ScriptError: there is no such category.
    """
    _check_category(kind)
    more = dict(headers or {})
    if retry_after is not None:
        more["retry-after"] = str(retry_after)
    if isinstance(kind, int):
        return Fault(kind=_kind_of(kind), status=kind, message=message, code=code, headers=more)
    if kind == "connection":
        return drop()
    if kind == "bad_response":
        return html(status=200)
    return Fault(kind=kind, message=message, code=code, headers=more)


def drop() -> Fault:
    """The connection breaks before an answer."""
    return Fault(kind="connection", dropped=True)


def html(status: int = 200, *, title: str = "Sign in to continue") -> Fault:
    """A proxy answers with a page of its own."""
    page = f"<!DOCTYPE html>\n<html><head><title>{title}</title></head><body><h1>{title}</h1></body></html>\n"
    return Fault(kind="bad_response", status=status, body=page.encode(), content_type="text/html; charset=utf-8")


def garbage(body: bytes | str, *, status: int = 200, content_type: str = "application/json") -> Fault:
    """Exactly these bytes as the body, whatever they are: `garbage('{"id": "msg_1", "content": [')`."""
    data = body.encode() if isinstance(body, str) else body
    return Fault(kind="bad_response", status=status, body=data, content_type=content_type)


def deliver(
    what: Scripted,
    *,
    delay: float = 0.0,
    pace: float = 0.0,
    chop: int | Callable[[str], Sequence[str]] = 7,
    packet: int | None = None,
    cut: int | None = None,
    unfinished: bool = False,
    error: ErrorCategory | None = None,
    error_after: int | None = None,
    quirks: Sequence[Quirk] = (),
) -> Turn | Fault:
    """How an answer travels.

    Args:
        what: the turn.
        delay: seconds before the first byte.
        pace: seconds between two chunks of a stream.
        chop: characters of one delta of a stream, or a function that cuts a text into pieces.
        packet: bytes of one chunk on the wire, cut anywhere, also inside an event or a character.
        cut: the connection breaks after so many bytes of the body.
        unfinished: the answer ends early without any error: a stream before its terminal event, a body in mid-JSON.
        error: the service reports this error inside the stream; where nothing is streamed, as an HTTP error.
        error_after: after how many events of the stream; None for halfway.
        quirks: ways of servers that are only nearly compatible (Chat Completions).
    """
    _check_category(error)
    how = Delivery(
        delay=delay,
        pace=pace,
        chop=chop,
        packet=packet,
        cut=cut,
        unfinished=unfinished,
        error=error,
        error_after=error_after,
        quirks=frozenset(quirks),
    )
    return replace(as_answer(what, "deliver(...) is given"), delivery=how)


def _check_category(kind: object) -> None:
    known = get_args(ErrorCategory)
    if kind is None or isinstance(kind, int) or kind in known:
        return
    near = get_close_matches(str(kind), known, n=1)
    guess = f" Did you mean {near[0]!r}?" if near else ""
    raise ScriptError(f"There is no category of errors {kind!r}.{guess} The categories: {', '.join(known)}.")


def _kind_of(status: int) -> ErrorCategory:
    kinds: dict[int, ErrorCategory] = {
        401: "auth",
        403: "auth",
        404: "not_found",
        408: "timeout",
        429: "rate_limit",
        503: "overloaded",
        504: "timeout",
        529: "overloaded",
    }
    return kinds.get(status, "server" if status >= 500 else "bad_request")
