"""The bytes of an answer, up to a bound: a server that never ends is not to fill the memory.

The bounds are far above what the services send. An answer of 128,000 tokens is about half a megabyte of text; as a
stream, in which each token is an event of some 350 bytes and the whole text comes again at the end, some 50 megabytes.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Generator, Iterator
from typing import Any, Final

from toolsmith.errors import ProviderError
from toolsmith.providers._wire import dump

MEBIBYTE: Final = 1024 * 1024
MOST_AT_ONCE: Final = 64 * MEBIBYTE
"""Bytes of an answer that comes whole, unpacked; reading it takes several times that."""
MOST_STREAMED: Final = 256 * MEBIBYTE
"""Bytes of an answer that comes as a stream, unpacked."""
MOST_REFUSED: Final = MEBIBYTE // 4
"""Bytes of a refusal or a redirection, as they are sent; what is behind them is not read."""


def read(post: Callable[[], Any], name: str, most: int) -> Generator[bytes]:
    """Ask, and give the bytes of the answer as they come.

    Args:
        post: makes the request; gives the open response.
        name: of the provider.
        most: bytes that are read.

    Raises:
        ProviderError: the answer is longer.
    """
    response = post()
    left = most
    try:
        for chunk in parts(response):
            if (left := left - len(chunk)) < 0:
                raise too_long(name, most)
            yield chunk
    finally:
        response.close()


def parts(response: Any) -> Iterator[bytes]:
    """`aparts` for blocking clients."""
    if hasattr(response, "iter_bytes"):
        return response.iter_bytes()
    return (b"data: " + dump(event) + b"\n\n" for event in response)  # an SDK stream: it has decoded the events


def aparts(response: Any) -> AsyncGenerator[bytes]:
    """The bytes of an open response as they come; or of an SDK's stream, whose events are written again."""
    if hasattr(response, "aiter_bytes"):
        return response.aiter_bytes()
    return (b"data: " + dump(event) + b"\n\n" async for event in response)


async def whole(response: Any, name: str, most: int) -> bytes:
    """All bytes of an open response.

    Args:
        name: of the provider.
        most: bytes that are read.

    Raises:
        ProviderError: it is longer.
    """
    chunks: list[bytes] = []
    left = most
    async for chunk in aparts(response):
        if (left := left - len(chunk)) < 0:
            raise too_long(name, most)
        chunks.append(chunk)
    return b"".join(chunks)


def too_long(name: str, most: int) -> ProviderError:
    """For an answer of which more than `most` bytes came."""
    text = (
        f"{name}: the answer is longer than {most:,} bytes, which no model's answer is: it was not read to its end. "
        "Does the server stream without end?"
    )
    return ProviderError(text, category="bad_response", provider=name)


def bound_refusals(client: Any, *, blocking: bool) -> None:
    """Have the HTTP client of an SDK's client cut refusals short, which the SDK itself reads to their end."""
    import httpx2

    class Beginning(httpx2.SyncByteStream):
        def __init__(self, stream: Any) -> None:
            self.stream = stream

        def __iter__(self) -> Iterator[bytes]:
            left = MOST_REFUSED
            for chunk in self.stream:
                yield chunk[:left]
                if (left := left - len(chunk)) <= 0:
                    return

        def close(self) -> None:
            self.stream.close()

    class AsyncBeginning(httpx2.AsyncByteStream):
        def __init__(self, stream: Any) -> None:
            self.stream = stream

        async def __aiter__(self) -> AsyncIterator[bytes]:
            left = MOST_REFUSED
            async for chunk in self.stream:
                yield chunk[:left]
                if (left := left - len(chunk)) <= 0:
                    return

        async def aclose(self) -> None:
            await self.stream.aclose()

    def cut(response: Any) -> None:
        if response.status_code >= 300:
            response.stream = Beginning(response.stream)

    async def acut(response: Any) -> None:
        if response.status_code >= 300:
            response.stream = AsyncBeginning(response.stream)

    http = client._client
    hooks: dict[str, list[Callable[[Any], None] | Callable[[Any], Awaitable[None]]]] = http.event_hooks
    http.event_hooks = {**hooks, "response": [*hooks["response"], cut if blocking else acut]}
