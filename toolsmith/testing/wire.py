"""What goes back to the client: an answer in bytes, and the errors of the three APIs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from toolsmith._dataclass import dataclass
from toolsmith.errors import ErrorCategory
from toolsmith.testing.recorded import dumps
from toolsmith.testing.script import Api, Delivery, Fault

JSON = "application/json"
SSE = "text/event-stream; charset=utf-8"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An HTTP answer, ready for either door.

    Attributes:
        chunks: the body, in the pieces that travel separately.
        length: of the whole body, which a broken answer does not reach; None for a stream of unknown length.
        delay: seconds before the first byte; pace: seconds between chunks.
        broken: the connection breaks after the last chunk.
        dropped: it breaks before the first byte.
    """

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    chunks: tuple[bytes, ...] = ()
    length: int | None = None
    delay: float = 0.0
    pace: float = 0.0
    broken: bool = False
    dropped: bool = False

    @property
    def body(self) -> bytes:
        """All of the body that is sent."""
        return b"".join(self.chunks)


# category -> status, type, code or details.error_code, message. Sources: platform.claude.com/docs/en/api/errors and the
# OpenAI error guide (developers.openai.com/api/docs/guides/error-codes), as of November 2026.
_CLAUDE: Mapping[ErrorCategory, tuple[int, str, str | None, str]] = {
    "rate_limit": (429, "rate_limit_error", None, "This request would exceed your account's rate limit."),
    "quota": (429, "rate_limit_error", "enforced_spend_limit_reached", "You have reached your enforced spend limit."),
    "overloaded": (529, "overloaded_error", None, "Overloaded"),
    "server": (500, "api_error", None, "Internal server error"),
    "timeout": (504, "timeout_error", None, "Request timed out"),
    "auth": (401, "authentication_error", None, "invalid bearer token"),
    "not_found": (404, "not_found_error", None, "model: not found"),
    "context": (400, "invalid_request_error", None, "prompt is too long: 1048577 tokens > 1000000 maximum"),
    "grammar": (
        400,
        "invalid_request_error",
        None,
        "The compiled grammar is too large, which would cause performance issues. Simplify your tool schemas or "
        "reduce the number of strict tools.",
    ),
    "bad_request": (400, "invalid_request_error", None, "Invalid request"),
    "unknown": (418, "a_type_of_the_future", None, "Something new"),
}
_OPENAI: Mapping[ErrorCategory, tuple[int, str, str | None, str]] = {
    "rate_limit": (429, "requests", "rate_limit_exceeded", "Rate limit reached for requests. Please try again in 1s."),
    "quota": (429, "insufficient_quota", "insufficient_quota", "You exceeded your current quota."),
    "overloaded": (503, "server_error", "server_is_overloaded", "The server is currently overloaded."),
    "server": (500, "server_error", "server_error", "The server had an error processing your request."),
    "timeout": (504, "server_error", "timeout", "The request timed out."),
    "auth": (401, "invalid_request_error", "invalid_api_key", "Incorrect API key provided."),
    "not_found": (
        404,
        "invalid_request_error",
        "model_not_found",
        "The model does not exist or you lack access to it.",
    ),
    "context": (
        400,
        "invalid_request_error",
        "context_length_exceeded",
        "Your input exceeds the context window of this model. Please adjust your input and try again.",
    ),
    "grammar": (400, "invalid_request_error", "invalid_function_parameters", "Schema is too complex."),
    "bad_request": (400, "invalid_request_error", "invalid_value", "Invalid value."),
    "unknown": (418, "a_type_of_the_future", None, "Something new"),
}


def error_object(
    api: Api, *, type: str, message: str, code: str | None = None, param: str | None = None
) -> dict[str, Any]:
    """The inner object of an error body; for Claude a code goes into `details.error_code`."""
    if api == "anthropic":
        found: dict[str, Any] = {"type": type, "message": message}
        return found if code is None else {**found, "details": {"error_code": code}}
    return {"message": message, "type": type, "param": param, "code": code}


def error_answer(
    api: Api,
    *,
    status: int,
    error: Mapping[str, Any],
    headers: Mapping[str, str],
    more_headers: Mapping[str, str] | None = None,
) -> Answer:
    """An error with the envelope of the API."""
    if api == "anthropic":
        request_id = headers.get("request-id", "")
        body = dumps({"type": "error", "error": error, "request_id": request_id}).encode()
    else:
        body = dumps({"error": error}).encode()
    all_headers = {"content-type": JSON, **headers, **(more_headers or {})}
    return Answer(status=status, headers=all_headers, chunks=(body,), length=len(body))


def usual_error(api: Api, kind: ErrorCategory) -> tuple[int, dict[str, Any]]:
    """Status and inner object with which an API reports a category of failure."""
    table = _CLAUDE if api == "anthropic" else _OPENAI
    status, type, code, message = table.get(kind, table["unknown"])
    return status, error_object(api, type=type, message=message, code=code)


def fault_answer(api: Api, fault: Fault, headers: Mapping[str, str]) -> Answer:
    """A fault of the script as this API shows it."""
    how = fault.delivery
    if fault.dropped:
        return Answer(dropped=True, delay=how.delay)
    if fault.body is not None:
        status = fault.status if fault.status is not None else 200
        typed = {"content-type": fault.content_type, **headers, **fault.headers}
        whole = Answer(status=status, headers=typed, chunks=(fault.body,), length=len(fault.body))
        return travelling(whole, how)
    status, error = usual_error(api, fault.kind)
    if fault.message is not None:
        error["message"] = fault.message
    if fault.code is not None:
        error = error_object(api, type=error["type"], message=error["message"], code=fault.code)
    status = fault.status if fault.status is not None else status
    answer = error_answer(api, status=status, error=error, headers=headers, more_headers=fault.headers)
    return travelling(answer, how)


def sse(event: str | None, data: object) -> bytes:
    """One server-sent event; `data` is written as JSON unless it is text already."""
    text = data if isinstance(data, str) else dumps(data)
    head = f"event: {event}\n" if event else ""
    return f"{head}data: {text}\n\n".encode()


def travelling(answer: Answer, how: Delivery) -> Answer:
    """The same answer, delivered as `deliver` says: cut into packets, broken off, slow."""
    chunks: Sequence[bytes] = answer.chunks
    length = answer.length
    broken = False
    if how.cut is not None:
        chunks, broken = _first(chunks, how.cut), True
    elif how.unfinished and length is not None:
        chunks = _first(chunks, length // 2)
        length = length // 2
    if how.packet is not None:
        whole = b"".join(chunks)
        chunks = [whole[i : i + how.packet] for i in range(0, len(whole), how.packet)]
    return Answer(
        status=answer.status,
        headers=answer.headers,
        chunks=tuple(chunks),
        length=length,
        delay=how.delay,
        pace=how.pace,
        broken=broken,
    )


def _first(chunks: Sequence[bytes], size: int) -> list[bytes]:
    kept: list[bytes] = []
    for chunk in chunks:
        if size <= 0:
            break
        kept.append(chunk[:size])
        size -= len(chunk)
    return kept
