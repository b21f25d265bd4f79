"""The carrying half of a provider: ready bytes through the raw `post` of an SDK's client.

`post(path, content=..., cast_to=httpx2.Response)` keeps what people rely on in the SDK (all forms of auth, base URL,
default headers and query, proxies, the connection pool, request hooks, error classes) and skips what costs: the walk
over the body's types and the models of the answer. Read in anthropic 2.14 and openai 3.57 (`_base_client.py`), November
2026. A raw post also skips: the SDK's retries (ours take their place), its size-dependent timeout, and what its
OpenTelemetry span of the call says of the answer; the span itself is asked for (`_span`). The clients for Azure,
Bedrock, Vertex and the like read the body to make the URL, and middleware may look at it too: those get a dict, the
slower road.
"""

from __future__ import annotations

import asyncio
import inspect
import os
import sys
import threading
import weakref
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterator, Mapping
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    aclosing,
    asynccontextmanager,
    closing,
    contextmanager,
    nullcontext,
)
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any, ClassVar, NoReturn
from urllib.parse import urlsplit

from toolsmith._calls.workers import in_time
from toolsmith.errors import ConfigError
from toolsmith.providers import ModelSettings, _reading
from toolsmith.providers._failures import failure
from toolsmith.providers._wire import load

# As the SDKs' own default, but with time to connect: at a thousand runs at once their 5 s fail healthy connections.
READ_TIMEOUT = 600.0
CONNECT_TIMEOUT = 15.0
MOST_CONNECTIONS = 10_000


class SDKCarrier:
    """Base of the providers that speak through an SDK: holds the clients and moves the bytes.

    Attributes:
        settings: parameters of the API that go into each request.
    """

    api: ClassVar[str]
    _sdk: ClassVar[str]  # package to import
    _clients: ClassVar[tuple[str, str]]  # its client classes, blocking and asyncio
    _path: ClassVar[str]
    _key_variable: ClassVar[str]
    _span: ClassVar[Mapping[str, str]] = {}  # what the SDK's own method calls its OpenTelemetry span

    def __init__(
        self, model: str, *, client: Any = None, async_client: Any = None, settings: ModelSettings | None = None
    ) -> None:
        if not model:
            raise ConfigError(f"{type(self).__name__} needs the name of a model.")
        self.model = model
        profile = settings or ModelSettings(model=self.name)
        for given in (client, async_client):
            if given is not None and not hasattr(given, "post"):
                raise ConfigError(f"{self.name}: {given!r} is no client of the package {self._sdk!r}.")
        if client is not None and inspect.iscoroutinefunction(client.post):
            client, async_client = None, async_client or client
        self._client: Any = client
        self._async_client: Any = async_client
        self._own_clients = client is None and async_client is None
        self._loops: dict[asyncio.AbstractEventLoop, _LoopClient] = {}
        self._lock = threading.Lock()
        self._base_url = profile.base_url
        self._key: str | None = None
        self._began = False
        if self._own_clients:
            self._check_address(profile.base_url)
            self._key = self._find_key(profile)
        given_settings = dict(profile.settings or {})
        self._headers: dict[str, str] = dict(given_settings.pop("extra_headers", None) or {})
        self.settings: Mapping[str, Any] = given_settings

    @property
    def name(self) -> str:
        """For people: "anthropic:claude-opus-5-5"."""
        return f"{self.api}:{self.model}"

    # --- keys and clients -------------------------------------------------------------------------------------------

    def _find_key(self, profile: ModelSettings) -> str | None:
        """The key to hand to the SDK, None where it finds one itself.

        Raises:
            ConfigError: there is none; now, not at the first request.
        """
        key = profile.key()
        if key or (key is None and os.environ.get(self._key_variable)):
            return key
        return self._without_key(profile)

    def _without_key(self, profile: ModelSettings) -> str | None:
        raise self._missing_key()

    def _missing_key(self) -> ConfigError:
        kind = self._clients[0]
        return ConfigError(
            f"{self.name} needs an API key and there is none. Set the environment variable {self._key_variable} "
            f"(export {self._key_variable}=...); or name another variable, by api_key_env in the model's profile in "
            f"toolsmith.toml; or give ModelSettings(..., api_key=...); or pass your own client: "
            f"{type(self).__name__}({self.model!r}, client={self._sdk}.{kind}(...))."
        )

    def _check_address(self, base_url: str | None) -> None:
        if base_url is not None and not base_url.startswith(("http://", "https://")):
            raise ConfigError(f"{self.name}: base_url {base_url!r} must begin with http:// or https://.")

    def _make(self, kind: str) -> Any:
        try:
            sdk: Any = import_module(self._sdk)
        except ImportError as error:
            raise ConfigError(f"{self.name} needs the package {self._sdk!r}: pip install {self._sdk}.") from error
        from httpx2 import Limits, Timeout

        timeout = Timeout(READ_TIMEOUT, connect=CONNECT_TIMEOUT)
        http_client = None
        if kind == self._clients[1] and find_spec("aiohttp") is not None:
            # httpx2's own pool walks over all its connections with each request: at a thousand runs that is nearly all
            # of the work (measured November 2026). The SDKs bring this transport along; it needs their extra `aiohttp`.
            http_client = sdk.DefaultAioHttpClient(timeout=timeout, limits=Limits(max_connections=MOST_CONNECTIONS))
        made = getattr(sdk, kind)
        client = made(
            api_key=self._key, base_url=self._base_url, max_retries=0, timeout=timeout, http_client=http_client
        )
        _reading.bound_refusals(client, blocking=kind == self._clients[0])
        return client

    def _sync(self) -> Any:
        if self._client is None:
            if not self._own_clients:
                raise ConfigError(
                    f"{self.name} was given an asyncio client only. For blocking runs pass client={self._sdk}."
                    f"{self._clients[0]}(...) too, or use the async methods."
                )
            with self._lock:
                if self._client is None:
                    self._client = self._make(self._clients[0])
        return self._client

    async def _for_loop(self) -> Any:
        """The asyncio client of the running loop: connections belong to the loop that opened them."""
        if self._async_client is not None:
            return self._async_client
        if not self._own_clients:
            raise ConfigError(
                f"{self.name} was given a blocking client only. For async runs pass async_client={self._sdk}."
                f"{self._clients[1]}(...) too, or use the blocking methods."
            )
        loop = asyncio.get_running_loop()
        held = self._loops.get(loop)
        if held is None:
            for ended in [other for other in list(self._loops) if other.is_closed()]:
                self._loops.pop(ended).forget()  # its owner closed it without shutdown_asyncgens
            held = await _LoopClient.open(self._make(self._clients[1]), loop, self._loops)
            held.close_with(self)
        return held.client

    # --- one request ------------------------------------------------------------------------------------------------

    def send(self, body: bytes, *, timeout: float | None) -> bytes:
        """Post a body, get the answer's body; see `Provider.send`."""
        with self._open(body, timeout, stream=False) as chunks:
            return b"".join(chunks)

    async def asend(self, body: bytes, *, timeout: float | None) -> bytes:
        """`send` for asyncio."""
        client = await self._for_loop()
        self._check_time(timeout, client)
        try:
            async with asyncio.timeout(timeout) if timeout is not None else nullcontext():
                response = await client.post(self._path, **self._request(client, body, timeout, opened=True))
                try:
                    return await _reading.whole(response, self.name, _reading.MOST_AT_ONCE)
                finally:
                    await response.aclose()
        except Exception as error:  # noqa: BLE001  raised again, under its own name
            self._raise(error, client)

    def stream(self, body: bytes, *, timeout: float | None) -> AbstractContextManager[Iterator[bytes]]:
        """Post a body, get the answer's bytes as they arrive; see `Provider.stream`."""
        return self._open(body, timeout, stream=True)

    def astream(self, body: bytes, *, timeout: float | None) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """`stream` for asyncio."""
        return self._aopen(body, timeout)

    @contextmanager
    def _open(self, body: bytes, seconds: float | None, *, stream: bool) -> Generator[Iterator[bytes]]:
        client = self._sync()
        self._check_time(seconds, client)
        arguments = self._request(client, body, seconds, opened=True, events=stream)
        most = _reading.MOST_STREAMED if stream else _reading.MOST_AT_ONCE
        answer = _reading.read(partial(client.post, self._path, **arguments), self.name, most)
        with closing(self._chunks(answer if seconds is None else in_time(answer, seconds), client)) as chunks:
            yield chunks

    def _chunks(self, answer: Generator[bytes], client: Any) -> Generator[bytes]:
        with closing(answer):
            try:
                yield from answer
            except Exception as error:  # noqa: BLE001  raised again, under its own name
                self._raise(error, client)

    @asynccontextmanager
    async def _aopen(self, body: bytes, seconds: float | None) -> AsyncGenerator[AsyncGenerator[bytes]]:
        client = await self._for_loop()
        self._check_time(seconds, client)
        deadline = None if seconds is None else asyncio.get_running_loop().time() + seconds
        try:
            async with asyncio.timeout_at(deadline):
                response = await client.post(self._path, **self._request(client, body, seconds, events=True))
        except Exception as error:  # noqa: BLE001  raised again, under its own name
            self._raise(error, client)
        try:
            chunks = self._achunks(response, client, deadline, _reading.MOST_STREAMED)
            async with aclosing(chunks):
                yield chunks
        finally:
            await (response.aclose() if hasattr(response, "aclose") else response.close())

    async def _achunks(self, response: Any, client: Any, deadline: float | None, most: int) -> AsyncGenerator[bytes]:
        left = most
        try:
            async with aclosing(_reading.aparts(response)) as parts:
                if deadline is None:
                    async for chunk in parts:
                        if (left := left - len(chunk)) < 0:
                            raise _reading.too_long(self.name, most)
                        yield chunk
                    return
                while True:
                    async with asyncio.timeout_at(deadline):  # not over the yield: it would cut off the taker's work
                        chunk = await anext(parts, None)
                    if chunk is None:
                        return
                    if (left := left - len(chunk)) < 0:
                        raise _reading.too_long(self.name, most)
                    yield chunk
        except Exception as error:  # noqa: BLE001  raised again, under its own name
            self._raise(error, client)

    def _request(
        self, client: Any, body: bytes, timeout: float | None, *, events: bool = False, opened: bool = False
    ) -> dict[str, Any]:
        """The arguments of `client.post`.

        Args:
            client: an SDK's.
            body: of the request.
            timeout: seconds for the whole request.
            events: the answer is a stream of events.
            opened: hand over the open response of any other answer too, so that we can watch the clock
                and count the bytes while it comes.
        """
        from httpx2 import Response, Timeout

        if not self._began:
            self._began = True
            self._begin()
        options: dict[str, Any] = {"max_retries": 0}
        if timeout is not None:
            options["timeout"] = Timeout(timeout, connect=min(timeout, CONNECT_TIMEOUT))
        if self._headers:
            options["headers"] = self._headers
        if self._span and "opentelemetry.sdk.trace" in sys.modules:  # without it nothing records spans
            options |= {**self._span, "span_attributes": {"gen_ai.request.model": self.model}}
        if self._takes_bytes(client):
            return {"content": body, "cast_to": Response, "options": options, "stream": events or opened}
        opened = opened and not getattr(client, "middleware", ())  # which may look at the answer
        arguments = {"body": load(body), "cast_to": Response, "options": options, "stream": opened}
        if events:  # decoded by the SDK: Bedrock's are no server-sent events
            sdk: Any = import_module(self._sdk)
            kind: Any = sdk.AsyncStream if inspect.iscoroutinefunction(client.post) else sdk.Stream
            arguments |= {"cast_to": object, "stream": True, "stream_cls": kind[object]}
        return arguments

    def _begin(self) -> None:
        """Before the first request, when the SDK is loaded."""

    def _check_time(self, seconds: float | None, client: Any) -> None:
        if seconds is not None and seconds <= 0:
            self._raise(TimeoutError("no time is left for a request"), client)

    def _takes_bytes(self, client: Any) -> bool:
        """Whether this client sends a body as it is; False for the clouds' clients and for middleware."""
        return type(client).__name__ in self._clients and not getattr(client, "middleware", ())

    @property
    def _is_sdks_own(self) -> bool:
        """Whether the service is reached through the SDK's plain client, not through a cloud's."""
        given = self._client or self._async_client
        return self._own_clients or type(given).__name__ in self._clients

    def _is_at(self, domain: str, variable: str) -> bool:
        """Whether the requests go to a service's own address.

        Args:
            domain: of the service, ".anthropic.com".
            variable: of the environment, from which the SDK takes another address.
        """
        given = self._client or self._async_client
        address = str(given.base_url) if given is not None else self._base_url or os.environ.get(variable) or ""
        host = urlsplit(address).hostname or ""
        return not host or host.endswith(domain)

    @property
    def _has_own_timeout(self) -> bool:
        """Whether the user's client was given a timeout; they know how long they want to wait."""
        if self._own_clients:
            return False
        sdk: Any = import_module(self._sdk)
        return (self._client or self._async_client).timeout != sdk.DEFAULT_TIMEOUT

    def _raise(self, error: Exception, client: Any) -> NoReturn:
        url = client.base_url
        address = f"{url.scheme}://{url.netloc.decode('ascii', 'replace')}{url.path}"  # without user and password
        found = failure(error, self.name, address)
        if found is None or found is error:
            raise error
        raise found from error


class _LoopClient:
    """An asyncio client that is closed in time: with its event loop, or with the provider that it belongs to."""

    def __init__(self, client: Any, loop: asyncio.AbstractEventLoop) -> None:
        self.client = client
        self._loop = loop
        self._guard: AsyncGenerator[None] | None = None
        self._finalizer: weakref.finalize[[], SDKCarrier] | None = None

    @classmethod
    async def open(
        cls, client: Any, loop: asyncio.AbstractEventLoop, loops: dict[asyncio.AbstractEventLoop, _LoopClient]
    ) -> _LoopClient:
        """Put it among `loops`; it leaves them when it is closed."""
        held = loops[loop] = cls(client, loop)

        async def until_the_loop_ends() -> AsyncGenerator[None]:
            # asyncio.run() closes the async generators of its loop before the loop itself: the sockets still can be.
            try:
                yield
            finally:
                loops.pop(loop, None)
                held.forget()
                await client.close()

        held._guard = until_the_loop_ends()
        await anext(held._guard)
        return held

    def close_with(self, provider: SDKCarrier) -> None:
        """Close it too when the provider is gone while the loop goes on."""
        # The registry of finalizers holds the client: else its sockets would be collected before they are closed.
        self._finalizer = weakref.finalize(provider, self._close_later)
        self._finalizer.atexit = False

    def forget(self) -> None:
        """Nothing is left to close."""
        if self._finalizer is not None:
            self._finalizer.detach()

    def _close_later(self) -> None:
        if self._guard is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._loop.create_task, self._guard.aclose())
