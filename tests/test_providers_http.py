"""The carrying half: the SDKs' real clients, in process and over a real socket."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from typing import Any

import anthropic
import httpx2
import openai
import pytest
from service_answers import Answer, Words, at_once, streamed
from web_servers import listening

from toolsmith.errors import ConfigError, ProviderError
from toolsmith.providers import ModelSettings, resolve
from toolsmith.providers._http import SDKCarrier
from toolsmith.providers._wire import load
from toolsmith.providers.anthropic import AnthropicMessages
from toolsmith.providers.openai_chat import OpenAIChat
from toolsmith.providers.openai_responses import OpenAIResponses

APIS = ("anthropic", "openai", "openai-chat")
DRIVERS = ("sync", "async")
PATHS = {"anthropic": "/v1/messages", "openai": "/v1/responses", "openai-chat": "/v1/chat/completions"}
HELLO = Answer([Words("Hello")])
Handler = Callable[[httpx2.Request], httpx2.Response]

every_api = pytest.mark.parametrize("api", APIS)
every_driver = pytest.mark.parametrize("driver", DRIVERS)


def provider(api: str, driver: str, handler: Handler, **options: Any) -> SDKCarrier:
    """A provider on the user's own SDK client, whose transport is `handler`."""
    transport = httpx2.MockTransport(handler)
    http: Any = httpx2.Client(transport=transport) if driver == "sync" else httpx2.AsyncClient(transport=transport)
    sdk: Any = anthropic if api == "anthropic" else openai
    kind = ("" if driver == "sync" else "Async") + ("Anthropic" if api == "anthropic" else "OpenAI")
    return wrap(api, getattr(sdk, kind)(api_key="secret", http_client=http, **options))


def wrap(api: str, client: Any, model: str = "m") -> SDKCarrier:
    made = {"anthropic": AnthropicMessages, "openai": OpenAIResponses, "openai-chat": OpenAIChat}[api]
    return made(model, client=client)


def own(api: str, base_url: str, **settings: Any) -> SDKCarrier:
    """A provider that makes its clients itself."""
    root = base_url if api == "anthropic" else base_url + "/v1"
    found = resolve(ModelSettings(model=f"{api}:m", api_key="k", base_url=root, **settings))
    assert isinstance(found, SDKCarrier)
    return found


def post(made: SDKCarrier, driver: str, body: bytes = b"{}", timeout: float | None = None) -> bytes:
    if driver == "sync":
        return made.send(body, timeout=timeout)
    return asyncio.run(made.asend(body, timeout=timeout))


def chunks(
    made: SDKCarrier, driver: str, body: bytes = b'{"stream":true}', timeout: float | None = None
) -> list[bytes]:
    if driver == "sync":
        with made.stream(body, timeout=timeout) as found:
            return list(found)

    async def read() -> list[bytes]:
        async with made.astream(body, timeout=timeout) as found:
            return [chunk async for chunk in found]

    return asyncio.run(read())


def failing(made: SDKCarrier, driver: str, timeout: float | None = None) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        post(made, driver, timeout=timeout)
    return caught.value


class Pieces(httpx2.SyncByteStream, httpx2.AsyncByteStream):
    """A body that comes in pieces, and may break off with an error."""

    def __init__(self, *pieces: bytes, error: Exception | None = None) -> None:
        self.pieces = pieces
        self.error = error
        self.closed = 0

    def __iter__(self) -> Iterator[bytes]:
        yield from self.pieces
        if self.error is not None:
            raise self.error

    async def __aiter__(self) -> AsyncIterator[bytes]:  # pyright: ignore[reportIncompatibleMethodOverride]
        for piece in self:
            yield piece

    def close(self) -> None:
        self.closed += 1

    async def aclose(self) -> None:
        self.closed += 1


# --- what is sent


@every_api
@every_driver
def test_the_sdks_client_carries_the_bytes(api: str, driver: str) -> None:
    """Address, key, and the client's own headers and query, with the body as it was made, byte for byte."""
    seen: list[httpx2.Request] = []

    def handler(request: httpx2.Request) -> httpx2.Response:
        seen.append(request)
        return httpx2.Response(200, content=at_once(api, HELLO))

    made = provider(api, driver, handler, default_headers={"x-team": "blue"}, default_query={"v": "2"}, max_retries=5)
    body = b'{"model" : "m" ,"x":"\xc3\xbc"}'
    assert post(made, driver, body) == at_once(api, HELLO)
    (request,) = seen
    assert request.url.path == PATHS[api]
    assert dict(request.url.params) == {"v": "2"}
    assert request.read() == body
    assert request.headers["authorization"] == "Bearer secret"
    assert request.headers["x-team"] == "blue"
    assert request.headers["content-type"] == "application/json"
    assert request.headers["user-agent"].startswith(("Anthropic/", "AsyncAnthropic/", "OpenAI/", "AsyncOpenAI/"))
    assert ("anthropic-version" in request.headers) == (api == "anthropic")


@every_api
@every_driver
def test_one_call_is_one_attempt(api: str, driver: str) -> None:
    """The SDK's own retries are off, also those of a client that asks for many: there is one policy."""
    calls: list[int] = []

    def handler(request: httpx2.Request) -> httpx2.Response:
        calls.append(1)
        return httpx2.Response(503, headers={"retry-after": "0"})

    assert failing(provider(api, driver, handler, max_retries=5), driver).category == "overloaded"
    assert len(calls) == 1


@every_api
def test_extra_headers(api: str) -> None:
    """For beta features and gateways; they are the model's, not the request's."""
    with serving(lambda request: (200, at_once(api, HELLO))) as server:
        made = own(api, server.url, settings={"extra_headers": {"x-beta": "b"}})
        made.send(b"{}", timeout=None)
        assert server.requests[0].headers["x-beta"] == "b"
        assert "extra_headers" not in made.settings


@every_driver
def test_a_model_near_its_end(driver: str) -> None:
    """The SDK's own warning, which a raw post skips: once for a provider, and for the caller's line."""
    made = provider("anthropic", driver, lambda request: httpx2.Response(200, content=b"{}"))
    made.model = "claude-opus-4-5"

    async def twice() -> None:
        await made.asend(b"{}", timeout=None)
        await made.asend(b"{}", timeout=None)

    def run() -> None:
        if driver == "async":
            asyncio.run(twice())
        else:
            made.send(b"{}", timeout=None)
            made.send(b"{}", timeout=None)

    with pytest.warns(DeprecationWarning, match="January 22nd, 2027") as caught:
        run()
    assert len(caught) == 1
    assert caught[0].filename == __file__


# --- failures

CLAUDE_ERRORS: list[tuple[int, Any, str, str]] = [
    (400, ("invalid_request_error", "Invalid request"), "bad_request", "invalid_request_error"),
    (400, ("invalid_request_error", "prompt is too long: 9 tokens > 8 maximum"), "context", "invalid_request_error"),
    (400, ("invalid_request_error", "The compiled grammar is too large"), "grammar", "invalid_request_error"),
    (400, ("invalid_request_error", "Schema is too complex for compilation."), "grammar", "invalid_request_error"),
    (400, ("invalid_request_error", "Your credit balance is too low"), "quota", "invalid_request_error"),
    (401, ("authentication_error", "x"), "auth", "authentication_error"),
    (402, ("billing_error", "x"), "quota", "billing_error"),
    (403, ("permission_error", "x"), "auth", "permission_error"),
    (404, ("not_found_error", "x"), "not_found", "not_found_error"),
    (408, ("timeout_error", "x"), "timeout", "timeout_error"),
    (409, ("conflict_error", "x"), "server", "conflict_error"),
    (413, ("invalid_request_error", "x"), "context", "invalid_request_error"),
    (429, ("rate_limit_error", "x"), "rate_limit", "rate_limit_error"),
    (429, ("rate_limit_error", "x", "ramp_limit_exceeded"), "rate_limit", "ramp_limit_exceeded"),
    (429, ("rate_limit_error", "x", "enforced_spend_limit_reached"), "quota", "enforced_spend_limit_reached"),
    (500, ("api_error", "x"), "server", "api_error"),
    (504, ("timeout_error", "x"), "timeout", "timeout_error"),
    (529, ("overloaded_error", "Overloaded"), "overloaded", "overloaded_error"),
    (502, None, "server", ""),
    (418, ("of_the_future", "x"), "bad_request", "of_the_future"),
]
OPENAI_ERRORS: list[tuple[int, Any, str, str]] = [
    (400, ("invalid_request_error", "prompt is too long", "invalid_value"), "context", "invalid_value"),
    (400, ("invalid_request_error", "x", "context_length_exceeded"), "context", "context_length_exceeded"),
    (400, ("invalid_request_error", "x", "invalid_function_parameters"), "bad_request", "invalid_function_parameters"),
    (401, ("invalid_request_error", "x", "invalid_api_key"), "auth", "invalid_api_key"),
    (403, ("x", "x", None), "auth", "x"),
    (404, ("invalid_request_error", "x", "model_not_found"), "not_found", "model_not_found"),
    (408, ("x", "x", None), "timeout", "x"),
    (409, ("x", "x", None), "server", "x"),
    (413, ("x", "x", None), "context", "x"),
    (422, ("x", "x", None), "bad_request", "x"),
    (429, ("requests", "x", "rate_limit_exceeded"), "rate_limit", "rate_limit_exceeded"),
    (429, ("x", "x", "slow_down"), "rate_limit", "slow_down"),
    (429, ("insufficient_quota", "x", "insufficient_quota"), "quota", "insufficient_quota"),
    (429, ("insufficient_quota", "x", "credit_balance_exhausted"), "quota", "credit_balance_exhausted"),
    (429, ("insufficient_quota", "x", None), "quota", "insufficient_quota"),
    (500, ("server_error", "x", None), "server", "server_error"),
    (503, ("server_error", "x", "server_is_overloaded"), "overloaded", "server_is_overloaded"),
    (529, None, "overloaded", ""),
    (502, None, "server", ""),
]


def error_body(api: str, error: Any) -> bytes:
    if error is None:
        return b"<html>Bad Gateway</html>"
    kind, text, *code = error
    if api == "anthropic":
        details = {"details": {"error_code": code[0]}} if code else {}
        return json.dumps({"type": "error", "error": {"type": kind, "message": text, **details}}).encode()
    return json.dumps({"error": {"type": kind, "message": text, "code": code[0], "param": None}}).encode()


@every_driver
@pytest.mark.parametrize(
    ("api", "status", "error", "category", "code"),
    [("anthropic", *row) for row in CLAUDE_ERRORS] + [("openai", *row) for row in OPENAI_ERRORS],
)
def test_refusals(driver: str, api: str, status: int, error: Any, category: str, code: str) -> None:
    """Status, code and type of both services, through the SDK's own exceptions."""
    request_id = {"request-id" if api == "anthropic" else "x-request-id": "req_7"}

    def handler(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(status, headers={"retry-after": "7", **request_id}, content=error_body(api, error))

    caught = failing(provider(api, driver, handler), driver)
    assert (caught.category, caught.status, caught.code) == (category, status, code)
    assert (caught.request_id, caught.retry_after) == ("req_7", 7.0)
    assert f"HTTP {status}" in str(caught)
    assert caught.provider == f"{api}:m"
    assert isinstance(caught.__cause__, (anthropic.APIStatusError, openai.APIStatusError))


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "3600"}, 3600.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "9" * 400}, None),
        ({"retry-after": "99999999"}, 604800.0),
        ({"retry-after": "9", "retry-after-ms": "250"}, 0.25),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
    ],
)
def test_the_time_that_a_service_asks_to_wait(headers: dict[str, str], seconds: float | None) -> None:
    """In milliseconds, seconds or as a date; what is no time is no request."""
    caught = failing(provider("openai", "sync", lambda request: httpx2.Response(429, headers=headers)), "sync")
    assert caught.retry_after == seconds


@every_api
@every_driver
@pytest.mark.parametrize(
    ("error", "category"),
    [
        (httpx2.ConnectError("refused"), "connection"),
        (httpx2.RemoteProtocolError("server disconnected"), "connection"),
        (httpx2.ReadError("reset"), "connection"),
        (httpx2.ReadTimeout("slow"), "timeout"),
        (httpx2.ConnectTimeout("slow"), "timeout"),
        (httpx2.PoolTimeout("slow"), "timeout"),
    ],
)
def test_a_network_that_fails(api: str, driver: str, error: Exception, category: str) -> None:
    """Before the answer, and in the middle of it (where one SDK lets the transport's own exception through)."""

    def at_first(request: httpx2.Request) -> httpx2.Response:
        raise error

    def in_the_middle(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, stream=Pieces(b'{"a"', error=error))

    assert failing(provider(api, driver, at_first), driver).category == category
    assert failing(provider(api, driver, in_the_middle), driver).category == category
    with pytest.raises(ProviderError) as caught:
        chunks(provider(api, driver, in_the_middle), driver)
    assert caught.value.category == category
    assert caught.value.status is None


@every_api
@every_driver
def test_bytes_that_cannot_be_unpacked(api: str, driver: str) -> None:
    """An answer that calls itself compressed and is not: it came, and cannot be read."""

    def handler(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, headers={"content-encoding": "gzip"}, stream=Pieces(b"abcde"))

    assert failing(provider(api, driver, handler), driver).category == "bad_response"
    with pytest.raises(ProviderError) as caught:
        chunks(provider(api, driver, handler), driver)
    assert caught.value.category == "bad_response"


@every_api
def test_a_failure_says_where_it_went(api: str) -> None:
    """The address, without what it holds of passwords, and the cause in a few words."""

    def handler(request: httpx2.Request) -> httpx2.Response:
        raise httpx2.ConnectError("[Errno 111] Connection refused")

    caught = failing(provider(api, "sync", handler, base_url="http://user:pw@example.test:9/v1"), "sync")
    assert "http://example.test:9/v1/" in str(caught)
    assert "Connection refused" in str(caught)
    assert "pw" not in str(caught)


@every_api
@every_driver
def test_a_connection_that_is_cut_in_the_middle_is_told_as_that(api: str, driver: str) -> None:
    """The address was right and the server up: half of the answer came."""

    def cut(connection: socket.socket) -> None:
        # All of the request: what is left unread at the end would reset the connection.
        asked = connection.recv(100_000)
        while b"\r\n\r\n" not in asked:
            asked += connection.recv(100_000)
        head, _, body = asked.partition(b"\r\n\r\n")
        (length,) = re.findall(rb"(?i)content-length: *(\d+)", head)
        while len(body) < int(length):
            body += connection.recv(100_000)
        connection.sendall(b'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 500\r\n\r\n{"id":')
        connection.close()

    def serve(listener: socket.socket) -> None:
        for _ in range(2):
            cut(listener.accept()[0])

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, args=(listener,), daemon=True)
        thread.start()
        address = f"http://127.0.0.1:{listener.getsockname()[1]}"
        whole = failing(own(api, address), driver)
        with pytest.raises(ProviderError) as streamed:
            chunks(own(api, address), driver)
        thread.join(10)
    for error in (whole, streamed.value):
        assert error.category == "connection"
        assert f"the connection to {address}" in str(error)
        assert "ended in the middle of the answer" in str(error)
        assert "Is the address right" not in str(error)


@every_api
@every_driver
def test_a_bug_is_not_taken_for_the_network(api: str, driver: str) -> None:
    """One SDK calls whatever is raised while it sends a connection error; that would be tried again for nothing."""

    def handler(request: httpx2.Request) -> httpx2.Response:
        raise KeyError("a bug in a hook")

    with pytest.raises((ProviderError, KeyError)) as caught:
        post(provider(api, driver, handler), driver)
    assert not isinstance(caught.value, ProviderError) or caught.value.category == "unknown"


@every_api
@every_driver
def test_a_page_with_status_200(api: str, driver: str) -> None:
    """The bytes come through, and the codec says what they are."""
    made = provider(api, driver, lambda request: httpx2.Response(200, html="<html>Log in</html>"))
    with pytest.raises(ProviderError, match="Log in") as caught:
        made.decode(post(made, driver))  # pyright: ignore[reportUnknownMemberType, reportAttributeAccessIssue]
    assert caught.value.category == "bad_response"


# --- streams


@every_api
@every_driver
def test_bytes_come_as_they_arrive(api: str, driver: str) -> None:
    whole = streamed(api, HELLO)
    body = Pieces(whole[:9], whole[9:])
    made = provider(api, driver, lambda request: httpx2.Response(200, stream=body))
    assert chunks(made, driver) == [whole[:9], whole[9:]]
    assert body.closed


@every_api
def test_leaving_a_stream_early_closes_it(api: str) -> None:
    body = Pieces(b"data: 1\n\n", b"data: 2\n\n")
    with provider(api, "sync", lambda request: httpx2.Response(200, stream=body)).stream(b"{}", timeout=None) as found:
        assert next(iter(found)) == b"data: 1\n\n"
        assert not body.closed
    assert body.closed

    async def leave() -> None:
        made = provider(api, "async", lambda request: httpx2.Response(200, stream=later))
        async with made.astream(b"{}", timeout=None) as chunks:
            async for _ in chunks:
                break
        assert later.closed

    later = Pieces(b"data: 1\n\n", b"data: 2\n\n")
    asyncio.run(leave())


@every_api
@every_driver
def test_a_refused_stream(api: str, driver: str) -> None:
    """The status is known before the first byte, and the body of the refusal is read."""
    made = provider(api, driver, lambda request: httpx2.Response(429, json={"error": {"message": "Too many"}}))
    with pytest.raises(ProviderError, match="Too many"):
        chunks(made, driver)


# --- time


class Server:
    """A loopback server for one test; `answer` is a function of the request's body, or of (body, write)."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.requests: list[Any] = []


@contextmanager
def serving(answer: Callable[[bytes], tuple[int, bytes]], *, drip: float = 0.0) -> Generator[Server]:
    """Serve on a free port. With `drip`, the body comes one byte at a time, so many seconds apart."""

    class Handling(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            served.requests.append(self)
            status, content = answer(body)
            self.send_response(status)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            try:
                for at in range(len(content) if drip else 0):
                    self.wfile.write(content[at : at + 1])
                    time.sleep(drip)
                if not drip:
                    self.wfile.write(content)
            except OSError:
                self.close_connection = True

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with listening(Handling) as url:
        served = Server(url)
        yield served


@every_api
@every_driver
def test_time_is_that_of_the_whole_request(api: str, driver: str) -> None:
    """Bytes that keep coming do not stretch it: the transport's own timeout begins anew with each of them."""
    with serving(lambda body: (200, at_once(api, HELLO)), drip=0.05) as server:
        made = own(api, server.url)
        began = time.monotonic()
        assert failing(made, driver, timeout=0.3).category == "timeout"
        assert time.monotonic() - began < 1.5
        with pytest.raises(ProviderError) as caught:
            chunks(made, driver, timeout=0.3)
        assert caught.value.category == "timeout"


@every_api
@every_driver
def test_no_time_left(api: str, driver: str) -> None:
    """Nothing is sent that could not be waited for."""
    made = provider(api, driver, lambda request: pytest.fail("was sent"))
    assert failing(made, driver, timeout=0.0).category == "timeout"


# --- clients and event loops


@every_api
def test_a_provider_outlives_its_event_loops(api: str) -> None:
    """Each loop has its connections, which are closed before it ends: a second `asyncio.run` works, nothing leaks."""
    with serving(lambda body: (200, at_once(api, HELLO))) as server:
        made = own(api, server.url)
        for _ in range(3):
            assert post(made, "async") == at_once(api, HELLO)
            assert made._loops == {}  # pyright: ignore[reportPrivateUsage]
        gc.collect()  # an unclosed socket would warn here, and warnings are errors


def test_connections_are_reused_within_a_loop() -> None:
    with serving(lambda body: (200, at_once("openai", HELLO))) as server:
        made = own("openai", server.url)

        async def several() -> None:
            for _ in range(3):
                await made.asend(b"{}", timeout=None)
            await asyncio.gather(*(made.asend(b"{}", timeout=5) for _ in range(3)))

        asyncio.run(several())
        ports = [request.client_address[1] for request in server.requests]
        assert len(set(ports[:3])) == 1


def test_a_loop_that_was_closed_without_ceremony() -> None:
    """Its client is dropped when the next loop comes; what a closed loop leaves open is not ours to close any more."""
    made = provider_of_own()

    async def touch() -> None:
        await made._for_loop()  # pyright: ignore[reportPrivateUsage]

    for _ in range(3):
        loop = asyncio.new_event_loop()
        loop.run_until_complete(touch())
        loop.close()
    assert len(made._loops) == 1  # pyright: ignore[reportPrivateUsage]


def provider_of_own() -> SDKCarrier:
    found = resolve(ModelSettings(model="anthropic:m", api_key="k"))
    assert isinstance(found, SDKCarrier)
    return found


def test_a_provider_that_goes_before_its_loop() -> None:
    """Its connections are closed by the loop that still runs."""
    with serving(lambda body: (200, at_once("anthropic", HELLO))) as server:

        async def short() -> None:
            made = own("anthropic", server.url)
            await made.asend(b"{}", timeout=None)
            client = await made._for_loop()  # pyright: ignore[reportPrivateUsage]
            del made
            gc.collect()
            await asyncio.sleep(0.05)
            assert client.is_closed()
            assert len(asyncio.all_tasks()) == 1

        asyncio.run(short())
        gc.collect()


@every_api
def test_a_cancelled_request_leaves_nothing(api: str) -> None:
    with serving(lambda body: (200, at_once(api, HELLO)), drip=0.05) as server:
        made = own(api, server.url)

        async def cancel() -> None:
            task = asyncio.create_task(made.asend(b"{}", timeout=None))
            await asyncio.sleep(0.2)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert len(asyncio.all_tasks()) == 1

        asyncio.run(cancel())
        gc.collect()


def test_threads_share_one_blocking_client() -> None:
    made = provider_of_own()
    found: list[Any] = []
    threads = [threading.Thread(target=lambda: found.append(made._sync())) for _ in range(8)]  # pyright: ignore[reportPrivateUsage]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(client) for client in found}) == 1


@every_api
def test_the_wrong_kind_of_client(api: str) -> None:
    """A blocking client cannot serve an event loop, nor the other way round; the error says what to pass."""
    handler: Handler = lambda request: httpx2.Response(200)  # noqa: E731
    with pytest.raises(ConfigError, match="async_client="):
        asyncio.run(provider(api, "sync", handler).asend(b"{}", timeout=None))
    with pytest.raises(ConfigError, match="client="):
        provider(api, "async", handler).send(b"{}", timeout=None)
    with pytest.raises(ConfigError, match="no client"):
        wrap(api, "sk-key")


@every_api
def test_both_kinds_of_client(api: str) -> None:
    seen: list[str] = []

    def handler(request: httpx2.Request) -> httpx2.Response:
        seen.append(request.headers["user-agent"].split("/")[0])
        return httpx2.Response(200, content=b"{}")

    both = provider(api, "sync", handler)
    both._async_client = provider(api, "async", handler)._async_client  # pyright: ignore[reportPrivateUsage]
    post(both, "sync")
    post(both, "async")
    assert seen[1] == "Async" + seen[0]


# --- keys and addresses


@pytest.fixture
def no_keys(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    for name in list(os.environ):
        if name.startswith(("ANTHROPIC_", "OPENAI_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.mark.usefixtures("no_keys")
@pytest.mark.parametrize(
    ("model", "variable"),
    [
        ("anthropic:claude-opus-5-5", "ANTHROPIC_API_KEY"),
        ("openai:gpt-6-astra", "OPENAI_API_KEY"),
        ("openai-chat:gpt-6-astra", "OPENAI_API_KEY"),
    ],
)
def test_a_missing_key(model: str, variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Found when the provider is made, before any request; the text says each place where one can be set."""
    with pytest.raises(ConfigError) as caught:
        resolve(model)
    for words in (variable, "api_key_env", "toolsmith.toml", "client=", model):
        assert words in str(caught.value)
    # A key does not belong in a file, which refuses it: the text must not send anybody there with one.
    assert "api_key " not in str(caught.value).partition("toolsmith.toml")[0]
    with pytest.raises(ConfigError):
        resolve(ModelSettings(model=model, api_key=""))
    monkeypatch.setenv(variable, "k")
    assert resolve(model).name == model
    assert resolve(ModelSettings(model=model, api_key="other")).name == model


@pytest.mark.usefixtures("no_keys")
def test_a_named_variable_that_is_not_set() -> None:
    with pytest.raises(ConfigError, match="MY_KEY"):
        resolve(ModelSettings(model="openai:m", api_key_env="MY_KEY"))


@pytest.mark.usefixtures("no_keys")
def test_the_sdks_other_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    """An auth token, a header, or a profile on disk serve as well as a key."""
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", "Authorization: Bearer t")
    assert resolve("anthropic:m")
    monkeypatch.delenv("ANTHROPIC_CUSTOM_HEADERS")
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "t")
    assert resolve("anthropic:m")
    monkeypatch.delenv("ANTHROPIC_AUTH_TOKEN")
    monkeypatch.setenv("ANTHROPIC_PROFILE", "missing")
    with pytest.raises(ConfigError, match="missing"):
        resolve("anthropic:m")


@pytest.mark.usefixtures("no_keys")
def test_servers_of_ones_own_need_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(lambda body: (200, at_once("openai-chat", HELLO))) as server:
        made = resolve(ModelSettings(model="openai-chat:m", base_url=server.url + "/v1"))
        assert made.decode(made.send(b"{}", timeout=None)).message.text == "Hello"
        monkeypatch.setenv("OPENAI_BASE_URL", server.url + "/v1")
        made = resolve("openai-chat:m")
        assert made.decode(made.send(b"{}", timeout=None)).message.text == "Hello"


def test_a_clients_own_key_is_not_ours_to_check() -> None:
    with anthropic.Anthropic(api_key="x") as client:
        assert wrap("anthropic", client)


def test_an_address_without_a_scheme() -> None:
    with pytest.raises(ConfigError, match="http://"):
        resolve(ModelSettings(model="openai-chat:m", base_url="localhost:8000/v1"))


@every_api
@every_driver
def test_a_dead_address(api: str, driver: str) -> None:
    caught = failing(own(api, "http://127.0.0.1:9"), driver)
    assert caught.category == "connection"
    assert "127.0.0.1:9" in str(caught)


def test_no_sdk_is_loaded_before_the_first_request() -> None:
    """Making a provider costs nothing but its own module."""
    code = (
        "import sys\nfrom toolsmith.providers import ModelSettings, resolve\n"
        "for m in ('anthropic:m', 'openai:m', 'openai-chat:m'): resolve(ModelSettings(model=m, api_key='k'))\n"
        "print([m for m in ('anthropic', 'openai', 'httpx2', 'tenacity') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_an_answer_that_is_nested_without_end() -> None:
    """Whole or as an event it is no JSON; Python's own reader, the second one asked, gives up with a RecursionError."""
    with pytest.raises(ValueError, match="recursion"):
        load(b"[" * 100_000)
