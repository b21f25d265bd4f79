"""What a service's refusal means: status, code and type -> `ProviderError` with a category.

Sources: the error classes and codes of the installed SDKs (anthropic 2.14 `types/shared`, openai 3.57), the error pages
of both services, and for compatible servers their own documentation; read November 2026.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any, Final

from toolsmith.errors import ErrorCategory, ProviderError
from toolsmith.providers._wire import obj, txt

# An hour's or a week's wait is reported as it is, an absurd one is not: the retry policy has its own, lower cap.
_LONGEST_WAIT = 7 * 24 * 3600.0

_NAMED: dict[str, ErrorCategory] = {
    # Anthropic: error.type and error.details.error_code
    "rate_limit_error": "rate_limit",
    "ramp_limit_exceeded": "rate_limit",
    "billing_error": "quota",
    "enforced_spend_limit_reached": "quota",
    "contract_spend_limit_reached": "quota",
    "linked_organization_spend_limit_reached": "quota",
    "linked_organization_billing_unavailable": "quota",
    "overloaded_error": "overloaded",
    "api_error": "server",
    "timeout_error": "timeout",
    "authentication_error": "auth",
    "permission_error": "auth",
    "not_found_error": "not_found",
    "request_too_large": "context",
    # OpenAI: error.code and error.type
    "rate_limit_exceeded": "rate_limit",
    "slow_down": "rate_limit",
    "insufficient_quota": "quota",
    "credit_balance_exhausted": "quota",
    "organization_spend_limit_exceeded": "quota",
    "project_spend_limit_exceeded": "quota",
    "organization_usage_limit_exceeded": "quota",
    "billing_hard_limit_reached": "quota",
    "server_is_overloaded": "overloaded",
    "server_error": "server",
    "vector_store_timeout": "timeout",
    "invalid_api_key": "auth",
    "model_not_found": "not_found",
    "context_length_exceeded": "context",
    "invalid_prompt": "bad_request",
    # llama.cpp server
    "exceed_context_size_error": "context",
}

_STATUS: dict[int, ErrorCategory] = {
    401: "auth",
    402: "quota",
    403: "auth",
    404: "not_found",
    408: "timeout",
    409: "server",  # a lock that was not free in time; both SDKs try it again
    413: "context",
    429: "rate_limit",
    499: "connection",
    503: "overloaded",
    504: "timeout",
    529: "overloaded",
}

# The only texts we ever look at. For these four the Messages API has no code: all are 400 `invalid_request_error`
# (field reports, November 2026). A changed wording costs the category, never more.
_UNCODED: tuple[tuple[str, ErrorCategory], ...] = (
    ("compiled grammar is too large", "grammar"),
    ("schema is too complex for compilation", "grammar"),
    ("prompt is too long", "context"),
    ("credit balance is too low", "quota"),
    ("reached your specified api usage limits", "quota"),
)

_ADVICE: dict[ErrorCategory, str] = {
    "auth": "Check the API key and what it may do.",
    "not_found": "Check the model's name and base_url.",
    "quota": "Trying again cannot help: raise the limit or the balance in the service's console.",
    "context": "Shorten the history or the tool results, or take a model with a longer context.",
    "grammar": "Set strict=False on the tools with the largest schemas.",
}


def category_of(status: int | None, names: tuple[str, ...], text: str) -> ErrorCategory:
    """The category of a refusal.

    Args:
        status: HTTP status; 200 or None for an error inside an answer.
        names: the service's own codes and types, the most telling first.
        text: the service's sentence; looked at only for 400s that carry no telling code.
    """
    named: list[ErrorCategory] = [_NAMED[name] for name in names if name in _NAMED]
    if named:
        return "quota" if "quota" in named else named[0]  # a spent balance also calls itself a rate limit
    if status == 400:
        lowered = text.lower()
        uncoded: list[ErrorCategory] = [category for words, category in _UNCODED if words in lowered]
        return uncoded[0] if uncoded else "bad_request"
    if status is None or status < 400:
        return "unknown"
    fallback: ErrorCategory = "server" if status >= 500 else "bad_request"
    return _STATUS.get(status, fallback)


def refusal(
    provider: str, body: Any, *, status: int | None = None, headers: Mapping[str, str] | None = None
) -> ProviderError:
    """A `ProviderError` for an error object, in any of the forms that services send.

    Args:
        provider: "anthropic:claude-opus-5-5".
        body: the parsed answer or its error object; a str where it was no JSON.
        status: HTTP status, None for an error inside a stream or a 200.
        headers: of the answer.
    """
    text, code, kind = _read(body)
    if (status is None or status == 200) and code.isdecimal() and len(code) == 3:
        status = int(code)  # routers put the status of the service behind them here
    category = category_of(status, (code, kind), text)
    headers = headers or {}
    request_id = headers.get("request-id") or headers.get("x-request-id") or txt(obj(body).get("request_id"))
    return ProviderError(
        _sentence(provider, category, text, status, kind or code, request_id),
        category=category,
        provider=provider,
        status=status,
        code=code or kind,
        request_id=request_id,
        retry_after=retry_after(headers),
        generation=txt(obj(obj(body).get("error", body)).get("failed_generation")),
    )


def _read(body: Any) -> tuple[str, str, str]:
    """What an error object says: its text, its code, its type."""
    whole = obj(body)
    inner = whole.get("error", whole)
    error = obj(inner)
    detail = whole.get("detail")  # FastAPI servers
    text = txt(error.get("message")) or txt(inner) or txt(detail) or txt(body)
    code = txt(obj(error.get("details")).get("error_code"))
    plain = error.get("code")
    if not code and isinstance(plain, (str, int)):
        code = str(plain)
    kind = txt(error.get("type"))
    return text, code, "" if kind == "error" else kind


def _sentence(provider: str, category: ErrorCategory, text: str, status: int | None, code: str, request_id: str) -> str:
    shown = " ".join(text.split())[:500] or "the service gave no reason"
    facts = [f"HTTP {status}"] if status else []
    facts += [code] if code else []
    facts += [f"request {request_id}"] if request_id else []
    where = f" ({', '.join(facts)})" if facts else ""
    advice = _ADVICE.get(category, "")
    return f"{provider}: {shown}{where}" + (f". {advice}" if advice else "")


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that the service asks to wait: `retry-after-ms`, then `retry-after` in seconds or as a date.

    None where it asks nothing, or something that is no time.
    """
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(name, "")) * unit
        except ValueError:
            continue
        if math.isfinite(seconds):
            return min(max(seconds, 0.0), _LONGEST_WAIT)
    return _until(headers.get("retry-after", ""))


def _until(date: str) -> float | None:
    from time import time

    try:
        seconds = parsedate_to_datetime(date).timestamp() - time()
    except (ValueError, TypeError, OverflowError):
        return None
    return min(max(seconds, 0.0), _LONGEST_WAIT)


_NETWORK = {"TransportError", "StreamError", "ClientError", "OSError", "SSLError"}


def failure(error: BaseException, provider: str, address: str) -> ProviderError | None:
    """What an exception from an SDK or its transport means; None for one that is not theirs (a bug: let it rise).

    Both SDKs, httpx2 and the older httpx use the same class names, so the names are enough and nothing is imported.

    Args:
        error: as raised by the SDK's `post` or while its response was read.
        provider: "anthropic:claude-opus-5-5".
        address: the base URL, for the message.
    """
    if isinstance(error, ProviderError):
        return error
    names = {cls.__name__ for cls in type(error).__mro__}
    if "APIStatusError" in names:
        response: Any = getattr(error, "response", None)
        return refusal(
            provider, getattr(error, "body", None), status=getattr(error, "status_code", None), headers=response.headers
        )
    if names & {"APITimeoutError", "TimeoutException", "TimeoutError"}:
        if _is_broken(_innermost(error)):  # one SDK's aiohttp transport calls a refused connection a timeout
            return _broken(None, error, provider, address)
        text = f"{provider}: no answer from {address} in time ({_root(error)})."
        return ProviderError(text, category="timeout", provider=provider)
    if {cls.__name__ for cls in type(error.__cause__).__mro__} & {"DecodingError"}:
        return _unreadable(error, provider, address)  # one SDK calls that a connection error too
    if "APIConnectionError" in names:
        return _broken(error.__cause__, error, provider, address)
    if names & _NETWORK:
        return _broken(error, error, provider, address)
    if names & {"DecodingError", "APIResponseValidationError", "HTTPError"}:
        return _unreadable(error, provider, address)
    if "APIError" in names:
        return refusal(provider, getattr(error, "body", None) or str(error))
    if names & {"AnthropicError", "OpenAIError"}:  # what is left of them: credentials that could not be had
        return ProviderError(f"{provider}: {error}. {_ADVICE['auth']}", category="auth", provider=provider)
    return None


def _unreadable(error: BaseException, provider: str, address: str) -> ProviderError:
    text = f"{provider}: the answer from {address} cannot be read ({_root(error)})."
    return ProviderError(text, category="bad_response", provider=provider)


def _broken(cause: BaseException | None, error: BaseException, provider: str, address: str) -> ProviderError:
    """One SDK calls whatever went wrong while it sent a connection error; only network trouble is worth repeating."""
    names = {cls.__name__ for cls in type(cause or error).__mro__}
    if cause is None or names & _NETWORK:
        text = f"{provider}: {_trouble(error, address)}"
        return ProviderError(text, category="connection", provider=provider)
    text = f"{provider}: the request could not be sent: {type(cause).__name__}: {cause}"
    return ProviderError(text, category="unknown", provider=provider)


_BROKEN_OFF: Final = frozenset(
    {
        "RemoteProtocolError",
        "ReadError",
        "WriteError",
        "ServerDisconnectedError",
        "ConnectionResetError",
        "BrokenPipeError",
    }
)


def _trouble(error: BaseException, address: str) -> str:
    """How far a connection came; the transports tell a body that was cut off by their words only."""
    inner, why = _innermost(error), _root(error)
    names = {cls.__name__ for cls in type(inner).__mro__}
    if names & {"ClientPayloadError", "PayloadEncodingError"} or "message body" in str(inner):
        return f"the connection to {address} ended in the middle of the answer ({why})."
    if names & _BROKEN_OFF:
        return f"the connection to {address} broke off before the answer was there ({why})."
    return f"no connection to {address} ({why}). Is the address right and the server up?"


def _innermost(error: BaseException) -> BaseException:
    while error.__cause__ is not None and error.__cause__ is not error:
        error = error.__cause__
    return error


def _is_broken(cause: BaseException) -> bool:
    """Whether a cause is a failure of the network other than a time that is over."""
    names = {cls.__name__ for cls in type(cause).__mro__}
    return bool(names & {"OSError", "ClientError"}) and not names & {"TimeoutError", "TimeoutException"}


def _root(error: BaseException) -> str:
    """The innermost cause in a few words: "ConnectError: [Errno 111] Connection refused"."""
    error = _innermost(error)
    words = " ".join(str(error).split())[:200]
    return f"{type(error).__name__}: {words}" if words else type(error).__name__


def cut_short(provider: str) -> ProviderError:
    """For a stream that ended without the event that says it is complete."""
    text = f"{provider}: the connection ended in the middle of the answer."
    return ProviderError(text, category="connection", provider=provider)
