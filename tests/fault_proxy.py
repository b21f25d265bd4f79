"""A proxy that breaks answers: between a real client and the scripted model's socket, at a byte of one's choice.

    with model.serve() as server, FaultProxy(server.port) as proxy:
        url = proxy.url({0: Cut(0.5), 2: Hang(0.9)})

Each address that `url` gives has a plan of its own: which of the exchanges that come by it are broken, and how. The
proxy reads the whole answer first, then plays it; a place is a share of the bytes, head included, or where it is
negative so many bytes before the end.
"""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Self, assert_never


@dataclass(frozen=True)
class Cut:
    """The connection ends at this place: in order, or by a reset."""

    at: float
    reset: bool = False


@dataclass(frozen=True)
class Hang:
    """Nothing more comes from this place on, and the connection stays open."""

    at: float


@dataclass(frozen=True)
class Wait:
    """A pause at this place."""

    at: float
    seconds: float


@dataclass(frozen=True)
class Drip:
    """From this place on the bytes come by and by, `size` of them at a time."""

    at: float
    size: int = 1
    seconds: float = 0.0


@dataclass(frozen=True)
class Insert:
    """Bytes that do not belong there."""

    at: float
    data: bytes


@dataclass(frozen=True)
class Twice:
    """An event of a stream comes twice, the second time `later` events behind the first."""

    at: float
    later: int = 0


@dataclass(frozen=True)
class Swap:
    """Two neighbouring events of a stream come in the wrong order."""

    at: float


@dataclass(frozen=True)
class Page:
    """A page of a proxy instead of the answer."""

    status: int = 502


Fault = Cut | Hang | Wait | Drip | Insert | Twice | Swap | Page

_CLOSE, _RESET, _HANG = "close", "reset", "hang"
_Act = bytes | float | str  # bytes to send, seconds to wait, or how it ends

_HEAD = re.compile(rb"^(\S+ )/(\d+)(\S*)", re.DOTALL)


class FaultProxy:
    """Use it as a context manager; it runs on a thread of its own."""

    def __init__(self, upstream: int) -> None:
        self._upstream = upstream
        self._plans: list[Mapping[int, Fault]] = []
        self._exchanges: list[int] = []
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._main()), name="fault-proxy", daemon=True)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self.port = 0
        self.open = 0

    def url(self, plan: Mapping[int, Fault]) -> str:
        """An address whose n-th exchange, from 0, is broken as the plan says."""
        self._plans.append(plan)
        self._exchanges.append(0)
        return f"http://127.0.0.1:{self.port}/{len(self._plans) - 1}"

    def __enter__(self) -> Self:
        self._thread.start()
        self._ready.wait()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._loop is not None
        assert self._stop is not None
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    async def _main(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self._connection, "127.0.0.1", 0, limit=1 << 20)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stop.wait()
        server.close()

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.open += 1
        try:
            while await self._exchange(reader, writer):
                pass
        except (OSError, EOFError, asyncio.CancelledError):
            pass
        finally:
            self.open -= 1
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = await reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"content-length: *(\d+)", head, re.IGNORECASE)
        body = await reader.readexactly(int(length[1]) if length else 0)
        found = _HEAD.match(head)
        assert found is not None, "an address that this proxy did not give"
        plan = int(found[2])
        number = self._exchanges[plan]
        self._exchanges[plan] += 1
        answer = await self._asked(found[1] + found[3] + head[found.end() :], body)
        for act in acts(answer, self._plans[plan].get(number)):
            match act:
                case bytes():
                    writer.write(act)
                    await writer.drain()
                case float():
                    await asyncio.sleep(act)
                case "hang":
                    await reader.read()
                    return False
                case "reset":
                    writer.transport.abort()
                    return False
                case _:
                    return False
        return True

    async def _asked(self, head: bytes, body: bytes) -> bytes:
        """The whole answer, as the scripted model's server writes it."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self._upstream)
        writer.write(head[:-2] + b"connection: close\r\n\r\n" + body)
        answer = await reader.read()
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()
        return answer


def acts(answer: bytes, fault: Fault | None) -> Iterator[_Act]:
    """What to do with an answer, step by step."""
    if fault is None:
        yield answer
        return
    if isinstance(fault, Page):
        page = b"<!DOCTYPE html>\n<html><body><h1>Bad gateway</h1></body></html>\n"
        yield b"HTTP/1.1 %d Page\r\ncontent-type: text/html\r\ncontent-length: %d\r\n\r\n" % (fault.status, len(page))
        yield page
        return
    place = round(len(answer) * fault.at) if fault.at >= 0 else len(answer) + int(fault.at)
    match fault:
        case Cut(_, reset):
            yield answer[:place]
            yield _RESET if reset else _CLOSE
        case Hang():
            yield answer[:place]
            yield _HANG
        case Wait(_, seconds):
            yield answer[:place]
            yield seconds
            yield answer[place:]
        case Drip(_, size, seconds):
            yield answer[:place]
            for start in range(place, len(answer), size):
                yield seconds
                yield answer[start : start + size]
        case Insert(_, data):
            yield answer[:place] + data + answer[place:]
        case Twice(at, later):
            yield from _events(answer, at, swap=False, later=later)
        case Swap(at):
            yield from _events(answer, at, swap=True)
        case _:
            assert_never(fault)


def _events(answer: bytes, at: float, *, swap: bool, later: int = 0) -> Iterator[bytes]:
    """The chunks of a stream, each an event, one of them out of its place; any other answer as it is."""
    head, _, body = answer.partition(b"\r\n\r\n")
    if b"transfer-encoding: chunked" not in head.lower():
        yield answer
        return
    chunks: list[bytes] = []
    while body:
        size, _, rest = body.partition(b"\r\n")
        end = int(size, 16) + 2
        chunks.append(size + b"\r\n" + rest[:end])
        body = rest[end:]
    last = len(chunks) - 2  # behind it comes the empty chunk, the end
    place = min(int(at * len(chunks)), last)
    if swap and place < last:
        chunks[place : place + 2] = [chunks[place + 1], chunks[place]]
    elif not swap and place >= 0:
        chunks.insert(min(place + 1 + later, last + 1), chunks[place])
    yield head + b"\r\n\r\n"
    yield from chunks
