"""One request to a search engine: bounded in time and size, its failures in the model's words.

For addresses that the developer gave. What a model asks to be fetched goes through `_guarded`.
"""

from __future__ import annotations

import asyncio
import contextvars
import json
import threading
from collections.abc import Coroutine, Mapping
from functools import partial
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, TypeVar

from toolsmith._dataclass import dataclass
from toolsmith.web import _wording as say

if TYPE_CHECKING:
    import ssl

MAX_BYTES = 4_000_000

T = TypeVar("T")

_context: ssl.SSLContext | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back, whatever its status."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        """The body, parsed; None where it is no JSON."""
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError):
            return None

    @property
    def retry_after(self) -> float | None:
        """Seconds that the other side asks to wait, None where it does not say so in seconds."""
        return seconds_of(self.headers.get("retry-after"))


def seconds_of(value: str | None) -> float | None:
    """A `Retry-After` in seconds; None for none, and for its other form, a date."""
    text = (value or "").strip()
    return float(text) if text.isascii() and text.isdigit() and len(text) < 8 else None


def tls() -> ssl.SSLContext:
    """The one TLS context of all clients here: to make one costs tens of milliseconds."""
    global _context
    if _context is None:
        import httpx2

        _context = httpx2.create_ssl_context()
    return _context


async def exchange(
    method: str,
    url: str,
    *,
    engine: str,
    timeout: float,
    headers: Mapping[str, str] | None = None,
    params: Mapping[str, Any] | None = None,
    content: Any = None,
) -> Answer:
    """Ask a search engine.

    Args:
        engine: its name, for the texts.
        timeout: seconds for all of it.
        content: sent as JSON; None for no body.

    Raises:
        ToolError: no connection, no answer in time, or far too much of it.
    """
    import httpx2

    try:
        async with (
            asyncio.timeout(timeout),
            httpx2.AsyncClient(verify=tls(), timeout=timeout, max_redirects=3) as http,
            http.stream(
                method, url, headers=headers, params=params, json=content, follow_redirects=method == "GET"
            ) as response,
        ):
            body = bytearray()
            async for chunk in response.aiter_bytes(65_536):
                body += chunk
                if len(body) > MAX_BYTES:
                    raise say.no_answer_of_it(engine)
            return Answer(response.status_code, dict(response.headers), bytes(body))
    except (TimeoutError, httpx2.TimeoutException) as error:
        raise say.too_slow(engine, timeout) from error
    except httpx2.DecodingError as error:
        raise say.no_answer_of_it(engine) from error
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise say.unreachable(engine) from error


def blocking(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end from code that may block, under a running event loop too."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    # On a thread of its own, and a daemon: the loop that runs here is blocked, as the caller has asked for.
    outcome: SimpleQueue[tuple[T | None, BaseException | None]] = SimpleQueue()

    def work() -> None:
        try:
            outcome.put((asyncio.run(coroutine), None))
        except BaseException as error:  # noqa: BLE001 - carried to the caller
            outcome.put((None, error))

    threading.Thread(target=partial(contextvars.copy_context().run, work), daemon=True).start()
    value, error = outcome.get()
    if error is not None:
        raise error
    return value  # pyright: ignore[reportReturnType] - a value wherever there is no error
