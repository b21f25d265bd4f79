"""A server that never ends its answer fills no memory: what is read of an answer has a bound."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from itertools import repeat
from typing import Any

import pytest
from service_answers import Answer, Call, Words, at_once, streamed
from web_servers import listening

from toolsmith import Agent, ModelSettings, ProviderError, tool
from toolsmith.providers import _reading

APIS = ("anthropic", "openai", "openai-chat")
DRIVERS = ("run", "run_sync", "run_stream", "run_stream_sync")
SMALL = 300_000

every_api = pytest.mark.parametrize("api", APIS)
every_driver = pytest.mark.parametrize("driver", DRIVERS)


@tool
def add(a: int) -> int:
    """Add forty."""
    return a + 40


class Endless:
    """A server on loopback.

    Attributes:
        answers: of each request, in order: status, headers and pieces of the body; the last one again and again.
        sent: bytes of bodies.
    """

    def __init__(self, url: str, answers: list[tuple[int, dict[str, str], Callable[[], Iterator[bytes]]]]) -> None:
        self.url = url
        self.answers = answers
        self.sent = 0


@contextmanager
def serving(*answers: tuple[int, dict[str, str], Callable[[], Iterator[bytes]]]) -> Generator[Endless]:
    class Handling(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            status, headers, pieces = served.answers[0]
            served.answers = served.answers[1:] or served.answers
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()  # no length: it ends with the connection
            try:
                for piece in pieces():
                    self.wfile.write(piece)
                    served.sent += len(piece)
            except OSError:
                self.close_connection = True

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with listening(Handling) as url:
        served = Endless(url, list(answers))
        yield served


def whole(api: str, driver: str, answer: Answer) -> tuple[int, dict[str, str], Callable[[], Iterator[bytes]]]:
    body = streamed(api, answer) if "stream" in driver else at_once(api, answer)
    return 200, {}, lambda: iter([body])


def endless(driver: str) -> tuple[int, dict[str, str], Callable[[], Iterator[bytes]]]:
    """An answer that goes on and on: an event of a stream, or a JSON text."""
    head = b'data: {"type":"ping","text":"' if "stream" in driver else b'{"id":"x","text":"'
    return 200, {}, lambda: (piece for whole in ([head], repeat(b"a" * 65_536)) for piece in whole)


def settings(api: str, server: Endless) -> ModelSettings:
    root = server.url if api == "anthropic" else server.url + "/v1"
    return ModelSettings(model=f"{api}:m", api_key="k", base_url=root)


def ask(agent: Agent, driver: str) -> str:
    match driver:
        case "run":
            return asyncio.run(agent.run("go")).output
        case "run_sync":
            return agent.run_sync("go").output
        case "run_stream_sync":
            with agent.run_stream_sync("go") as events:
                for _ in events:
                    pass
            return events.result.output
        case _:

            async def read() -> str:
                async with agent.run_stream("go") as events:
                    async for _ in events:
                        pass
                return events.result.output

            return asyncio.run(read())


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bounds that are reached sooner."""
    for bound in ("MOST_AT_ONCE", "MOST_STREAMED"):
        monkeypatch.setattr(_reading, bound, SMALL)


@every_api
@every_driver
@pytest.mark.usefixtures("small")
def test_an_answer_without_end(api: str, driver: str) -> None:
    """It is a failure of the service, told as such, and the run's history is kept."""
    first = whole(api, driver, Answer([Call("c1", "add", {"a": 1})]))
    with serving(first, endless(driver)) as server:
        with pytest.raises(ProviderError, match=r"longer than 300,000 bytes.* stream without end\?") as caught:
            ask(Agent(settings(api, server), tools=[add]), driver)
        assert server.sent < SMALL + 20_000_000  # what the sockets hold, on both sides
    assert caught.value.category == "bad_response"
    assert [message.role for message in caught.value.messages] == ["user", "assistant", "tool"]


@every_driver
@pytest.mark.usefixtures("small")
def test_the_next_model_takes_over(driver: str) -> None:
    """As with any other answer that cannot be read."""
    with serving(endless(driver)) as bad, serving(whole("openai", driver, Answer([Words("hello")]))) as good:
        assert ask(Agent([settings("openai-chat", bad), settings("openai", good)]), driver) == "hello"


@every_api
@pytest.mark.parametrize("driver", ["run_stream", "run_stream_sync"])
@pytest.mark.usefixtures("small")
def test_bytes_without_end_behind_the_answer(api: str, driver: str) -> None:
    """What comes behind the end of an answer is read on for the connection's sake only, and not for ever."""
    body = streamed(api, Answer([Words("hello")]))
    pieces = lambda: (piece for part in ([body], repeat(b": nothing\n\n" * 1000)) for piece in part)  # noqa: E731
    with serving((200, {}, pieces)) as server:
        assert ask(Agent(settings(api, server)), driver) == "hello"


@pytest.mark.parametrize("driver", ["run", "run_sync"])
@pytest.mark.usefixtures("small")
def test_what_counts_is_what_it_unpacks_to(driver: str) -> None:
    """A few packed bytes would fill the memory as well."""
    packed = gzip.compress(b'{"id":"' + b"a" * 3_000_000)
    answer = (200, {"content-encoding": "gzip"}, lambda: iter([packed]))
    with serving(answer) as server, pytest.raises(ProviderError, match="longer than 300,000 bytes"):
        ask(Agent(settings("openai", server)), driver)


@every_api
@every_driver
def test_a_refusal_without_end(api: str, driver: str) -> None:
    """The SDKs read refusals whole; their beginning says enough."""
    said = b'{"error":{"type":"invalid_request_error","message":"Bad words'
    pieces = lambda: (piece for part in ([said], repeat(b"s" * 65_536)) for piece in part)  # noqa: E731
    with serving((400, {}, pieces)) as server:
        with pytest.raises(ProviderError, match="Bad words") as caught:
            ask(Agent(settings(api, server)), driver)
        assert server.sent < 20_000_000
    assert (caught.value.category, caught.value.status) == ("bad_request", 400)


def test_a_long_answer_is_read() -> None:
    """The bounds are far above what a model can say."""
    words = "word " * 60_000
    for driver in ("run_sync", "run_stream_sync"):
        with serving(whole("openai-chat", driver, Answer([Words(words)]))) as server:
            assert ask(Agent(settings("openai-chat", server)), driver) == words


def test_the_bound_itself() -> None:
    """64 MiB of an answer that comes whole."""
    with serving(endless("run_sync")) as server:
        with pytest.raises(ProviderError, match="longer than 67,108,864 bytes"):
            ask(Agent(settings("openai", server)), "run_sync")
        assert server.sent < 64 * 1024 * 1024 + 20_000_000
