"""The socket door: a scripted model on a real port of 127.0.0.1, for clients that know nothing of tests."""

from __future__ import annotations

import asyncio
import threading
from http import HTTPStatus
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from toolsmith.testing.script import DEFAULT_MODELS, Api
from toolsmith.testing.wire import Answer

if TYPE_CHECKING:
    from toolsmith.providers import Provider
    from toolsmith.testing.model import ScriptedModel

_MOST_HEADERS = 256 * 1024


class ScriptServer:
    """Serves a scripted model over HTTP/1.1: connections are kept, streams are chunked, breaks are real.

    Use it as a context manager; the server runs on a thread of its own and is gone when the block ends.

        with model.serve() as server:
            client = openai.OpenAI(base_url=server.url("openai"), api_key="any")
    """

    def __init__(self, model: ScriptedModel) -> None:
        self._model = model
        self._ready = threading.Event()
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._clients: list[Any] = []
        self._failure: OSError | None = None
        self.port = 0
        self.connections = 0

    def url(self, api: Api) -> str:
        """The base URL to give to the SDK client of that API."""
        return f"http://127.0.0.1:{self.port}" + ("" if api == "anthropic" else "/v1")

    def provider(self, api: Api, model: str | None = None) -> Provider:
        """A provider on the real SDK client, talking to this server over a real socket."""
        import httpx2

        from toolsmith.testing.transport import provider_on

        # plain HTTP on the loopback: there is no certificate to verify, and reading the trust store takes 20 ms
        client = httpx2.Client(trust_env=False, verify=False)
        self._clients.append(client)
        # connections of an async pool belong to an event loop that may be gone before this server: keep none
        no_pool = httpx2.Limits(max_keepalive_connections=0)
        return provider_on(
            api,
            model or DEFAULT_MODELS[api],
            base_url=self.url(api),
            http_client=client,
            async_http_client=httpx2.AsyncClient(trust_env=False, verify=False, limits=no_pool),
        )

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=lambda: asyncio.run(self._main()), name="scripted-model", daemon=True)
        self._thread.start()
        self._ready.wait()
        if self._failure is not None:
            raise self._failure
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for client in self._clients:
            client.close()
        if self._loop is not None and self._stop is not None:
            self._loop.call_soon_threadsafe(self._stop.set)
        if self._thread is not None:
            self._thread.join()

    async def _main(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        try:
            server = await asyncio.start_server(self._connection, "127.0.0.1", 0, limit=_MOST_HEADERS)
        except OSError as failure:
            self._failure = failure
            self._ready.set()
            return
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stop.wait()
        server.close()  # open connections end with their tasks, which asyncio.run cancels

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while await self._exchange(reader, writer):
                pass
        except (OSError, EOFError, asyncio.CancelledError):
            pass  # the client went away, or the server is closing
        finally:
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """One request and its answer; False where the connection ends with it."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = head.split("\r\n")
        method, path, _ = first.split(" ", 2)
        if path.startswith("http://"):  # as to a proxy; RFC 9112, 3.2.2: any server takes that form
            path = "/" + path.removeprefix("http://").partition("/")[2]
        headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        headers.pop("", None)
        raw = await reader.readexactly(int(headers.get("content-length", 0)))
        answer = self._model.answer(method, path, headers, raw)
        await asyncio.sleep(answer.delay)
        if answer.dropped:
            return False
        await _write(writer, answer)
        return not answer.broken and headers.get("connection", "").lower() != "close"


async def _write(writer: asyncio.StreamWriter, answer: Answer) -> None:
    chunked = answer.length is None
    framing = "transfer-encoding: chunked" if chunked else f"content-length: {answer.length}"
    phrase = HTTPStatus(answer.status).phrase if answer.status in set(HTTPStatus) else "Unknown"
    head = [f"HTTP/1.1 {answer.status} {phrase}", framing, *(f"{k}: {v}" for k, v in answer.headers.items())]
    writer.write(("\r\n".join(head) + "\r\n\r\n").encode("latin-1"))
    for number, chunk in enumerate(answer.chunks):
        if number and answer.pace:
            await asyncio.sleep(answer.pace)
        writer.write(b"%x\r\n%b\r\n" % (len(chunk), chunk) if chunked else chunk)
        await writer.drain()
    if chunked and not answer.broken:
        writer.write(b"0\r\n\r\n")
    await writer.drain()
