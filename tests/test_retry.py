"""The one retry policy, through the real SDK clients: what is tried again, how long it waits, and when it gives up."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Any

import httpx2
import openai
import pytest
from service_answers import Answer, Call, Words, at_once, event, streamed

from toolsmith import Agent
from toolsmith._run import retry
from toolsmith._run.retry import Policy
from toolsmith.errors import ProviderError
from toolsmith.events import TextDelta
from toolsmith.messages import Reply
from toolsmith.providers.openai_chat import OpenAIChat
from toolsmith.providers.openai_responses import OpenAIResponses
from toolsmith.testing import ScriptedModel, fail, say

HELLO = Answer([Words("Hello there"), Call("c1", "add", {"a": 1})])
GOOD = at_once("openai", HELLO)
STREAM = streamed("openai", HELLO)
Step = Callable[[], httpx2.Response]
DRIVERS = ("sync", "async")

every_driver = pytest.mark.parametrize("driver", DRIVERS)


class Scripted:
    """A service that answers with one step after the other; and the waits and notices that came of it."""

    def __init__(self, driver: str, *steps: Step) -> None:
        self.steps = list(steps)
        self.sent = 0
        self.slept: list[float] = []
        self.told: list[tuple[str, int, float]] = []
        transport = httpx2.MockTransport(self._next)
        if driver == "sync":
            client: Any = openai.OpenAI(api_key="k", http_client=httpx2.Client(transport=transport))
        else:
            client = openai.AsyncOpenAI(api_key="k", http_client=httpx2.AsyncClient(transport=transport))
        self.driver = driver
        self.provider = OpenAIResponses("m", client=client)

    def _next(self, request: httpx2.Request) -> httpx2.Response:
        step = self.steps[min(self.sent, len(self.steps) - 1)]
        self.sent += 1
        return step()

    def _sleep(self, seconds: float) -> None:
        self.slept.append(seconds)

    async def _asleep(self, seconds: float) -> None:
        self.slept.append(seconds)

    def _tell(self, error: ProviderError, attempt: int, wait: float) -> None:
        self.told.append((error.category, attempt, wait))

    def send(self, **how: Any) -> bytes:
        how = {"on_retry": self._tell, **how}
        if self.driver == "sync":
            return retry.send(self.provider, b"{}", sleep=self._sleep, **how)
        return asyncio.run(retry.asend(self.provider, b"{}", sleep=self._asleep, **how))

    def ask(self) -> Reply:
        if self.driver == "sync":
            return retry.ask(self.provider, b"{}", sleep=self._sleep, on_retry=self._tell)
        return asyncio.run(retry.aask(self.provider, b"{}", sleep=self._asleep, on_retry=self._tell))

    def stream(self, **how: Any) -> tuple[str, Reply]:
        """The words that were told, and the whole answer."""
        how = {"on_retry": self._tell, **how}
        words: list[str] = []

        def take(batch: Sequence[Any]) -> None:
            words.extend(d.text for d in batch if isinstance(d, TextDelta))

        async def read() -> Reply:
            async with retry.astream(self.provider, b"{}", sleep=self._asleep, **how) as deltas:
                async for batch in deltas:
                    take(batch)
                return deltas.reply

        if self.driver == "sync":
            with retry.stream(self.provider, b"{}", sleep=self._sleep, **how) as deltas:
                for batch in deltas:
                    take(batch)
                reply = deltas.reply
        else:
            reply = asyncio.run(read())
        return "".join(words), reply


def refused(status: int, code: str = "", **headers: str) -> Step:
    return lambda: httpx2.Response(status, json={"error": {"message": "m", "code": code or None}}, headers=headers)


def answered(body: bytes) -> Step:
    return lambda: httpx2.Response(200, content=body)


def good() -> httpx2.Response:
    return httpx2.Response(200, content=GOOD)


def broken() -> httpx2.Response:
    raise httpx2.ConnectError("refused")


def failing(run: Callable[[], object]) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        run()
    return caught.value


@every_driver
@pytest.mark.parametrize("first", [refused(429), refused(500), refused(503), refused(529), broken])
def test_what_may_pass_is_tried_again(driver: str, first: Step) -> None:
    """Rate limits, overload, server errors and lost connections; and each wait is told before it begins."""
    service = Scripted(driver, first, good)
    assert service.send() == GOOD
    assert (service.sent, len(service.slept), len(service.told)) == (2, 1, 1)
    category, attempt, wait = service.told[0]
    assert category in ("rate_limit", "server", "overloaded", "connection")
    assert (attempt, [wait]) == (1, service.slept)


@every_driver
@pytest.mark.parametrize(
    "first",
    [
        refused(429, "insufficient_quota"),
        refused(429, "credit_balance_exhausted"),
        refused(400),
        refused(401),
        refused(404),
        refused(413),
        refused(400, "context_length_exceeded"),
    ],
)
def test_what_cannot_pass_is_not(driver: str, first: Step) -> None:
    """A spent quota is a 429 too: to ask again costs time and changes nothing."""
    service = Scripted(driver, first, good)
    assert not failing(service.send).retryable
    assert (service.sent, service.slept) == (1, [])


@every_driver
def test_the_last_error_is_the_one_that_is_raised(driver: str) -> None:
    """After three attempts; it is the service's error itself, which says how many there were."""
    service = Scripted(driver, refused(500), refused(429), refused(503, "server_is_overloaded"))
    error = failing(service.send)
    assert error.category == "overloaded"
    assert str(error).endswith("3 attempts were made.")
    assert service.sent == 3
    assert [told[:2] for told in service.told] == [("server", 1), ("rate_limit", 2)]


def test_the_next_model_is_asked_at_once() -> None:
    """A service that asks for ten minutes costs the run none of them where there is another model."""
    busy = ScriptedModel([fail("rate_limit", retry_after=600)])
    free = ScriptedModel([say("hello")])
    began = time.monotonic()
    result = Agent([busy.provider("anthropic"), free.provider("openai")]).run_sync("hi")
    assert result.output == "hello"
    assert len(busy.requests) == 1
    assert time.monotonic() - began < 5


@every_driver
def test_waits_grow_and_differ(driver: str) -> None:
    """Doubled each time up to a bound, less up to a quarter by chance."""
    service = Scripted(driver, refused(500))
    failing(lambda: service.send(policy=Policy(attempts=7)))
    bounds = [0.5, 1.0, 2.0, 4.0, 8.0, 8.0]
    assert len(service.slept) == 6
    assert all(b * 0.75 <= s <= b for s, b in zip(service.slept, bounds, strict=True))


@pytest.mark.parametrize(
    ("asked", "least", "most"), [("0", 0.3, 0.5), ("7", 7, 7), ("60", 60, 60), ("inf", 0.3, 0.5), ("-1", 0.3, 0.5)]
)
def test_a_time_that_the_service_names(asked: str, least: float, most: float) -> None:
    """Honoured, but never for ever."""
    service = Scripted("sync", refused(429, **{"retry-after": asked}), good)
    service.send()
    assert least <= service.slept[0] <= most


@every_driver
def test_a_time_that_is_too_long_is_not_waited_for_in_part(driver: str) -> None:
    """To come back before would be in vain; the next model, or a person, can do more with the time."""
    service = Scripted(driver, refused(503), refused(429, **{"retry-after": "600"}), good)
    error = failing(service.send)
    assert (service.sent, len(service.slept), error.retry_after) == (2, 1, 600)
    assert str(error).endswith("2 attempts were made. The service asks to wait 600 seconds; up to 60 are waited.")


@every_driver
def test_never_beyond_the_runs_own_time(driver: str) -> None:
    """To wait for an attempt that may not begin would only delay the error."""
    service = Scripted(driver, refused(429, **{"retry-after": "30"}), good)
    assert failing(lambda: service.send(timeout=20.0)).category == "rate_limit"
    assert (service.sent, service.slept, service.told) == (1, [], [])
    late = Scripted(driver, refused(500), good)
    assert failing(lambda: late.send(timeout=0.0)).category == "timeout"
    assert late.sent == 0
    spent = Scripted(driver, refused(429, **{"retry-after": "30"}), good)
    failing(lambda: spent.send(policy=Policy(budget=20.0)))
    assert spent.sent == 1


def test_a_sleep_that_raises_ends_the_attempts() -> None:
    """So a driver can stop a wait: by an event, by cancelling, by Ctrl-C."""
    service = Scripted("sync", refused(500), good)

    def interrupted(seconds: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        retry.send(service.provider, b"{}", sleep=interrupted)
    assert service.sent == 1


def test_a_wait_can_be_cancelled() -> None:
    service = Scripted("async", refused(429, **{"retry-after": "50"}), good)

    async def cancel() -> None:
        task = asyncio.create_task(retry.asend(service.provider, b"{}"))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancel())
    assert service.sent == 1


@every_driver
def test_a_failure_inside_a_200(driver: str) -> None:
    """`ask` reads the answer too, and so tries again what the service reports there."""
    failed = at_once("openai", Answer([], stop="failed", more={"error": {"code": "server_error", "message": "m"}}))
    service = Scripted(driver, answered(failed), good)
    assert service.ask() == service.provider.decode(GOOD)
    assert service.told[0][:2] == ("server", 1)


@every_driver
def test_an_answer_that_is_none_is_not_tried_again(driver: str) -> None:
    """A proxy's page will be there the next time too."""
    service = Scripted(driver, answered(b"<html>"), good)
    assert failing(service.ask).category == "bad_response"
    assert service.sent == 1


# --- streams


class Parts(httpx2.SyncByteStream, httpx2.AsyncByteStream):
    def __init__(self, *parts: bytes, error: Exception | None = None) -> None:
        self.parts = parts
        self.error = error

    def __iter__(self) -> Any:
        yield from self.parts
        if self.error is not None:
            raise self.error

    async def __aiter__(self) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        for part in self:
            yield part


def flowing(*parts: bytes, error: Exception | None = None) -> Callable[[], httpx2.Response]:
    return lambda: httpx2.Response(200, stream=Parts(*parts, error=error))


OVERLOADED = event({"type": "error", "code": "server_is_overloaded", "message": "m"})
BEFORE = STREAM[: STREAM.index(b"event: response.output_text.delta")]
MIDDLE = STREAM[: STREAM.index(b"\n\n", len(BEFORE)) + 2]  # with the first word


@every_driver
@pytest.mark.parametrize(
    "first",
    [
        refused(503),
        broken,
        flowing(error=httpx2.ReadError("reset")),
        flowing(),
        flowing(BEFORE, error=httpx2.RemoteProtocolError("gone")),
        flowing(BEFORE),
        flowing(BEFORE + OVERLOADED),
    ],
    ids=["status", "no connection", "reset at once", "empty", "reset", "ended", "error event"],
)
def test_a_stream_is_tried_again_while_nothing_was_told(driver: str, first: Step) -> None:
    """Events that nobody saw do not count: what follows is one whole answer, from its first word."""
    service = Scripted(driver, first, flowing(STREAM))
    words, reply = service.stream()
    assert words == "Hello there"
    assert reply == service.provider.decode(GOOD)
    assert (service.sent, len(service.told)) == (2, 1)


@every_driver
@pytest.mark.parametrize(
    "first",
    [flowing(MIDDLE, error=httpx2.ReadError("reset")), flowing(MIDDLE), flowing(MIDDLE + OVERLOADED)],
    ids=["reset", "ended", "error event"],
)
def test_never_after_the_first_delta(driver: str, first: Step) -> None:
    """The user has read the beginning: another answer must not be put behind it."""
    service = Scripted(driver, first, flowing(STREAM))
    assert failing(service.stream).category in ("connection", "overloaded")
    assert (service.sent, service.told) == (1, [])


@every_driver
def test_a_stream_without_a_word(driver: str) -> None:
    """An answer may hold nothing that is told: it is whole all the same."""
    service = Scripted(driver, flowing(streamed("openai", Answer([]))))
    words, reply = service.stream()
    assert (words, reply.stop) == ("", "end")


def test_the_reply_comes_at_the_end() -> None:
    service = Scripted("sync", flowing(STREAM))
    with retry.stream(service.provider, b"{}") as deltas:
        assert not isinstance(deltas, list)
        with pytest.raises(RuntimeError):
            _ = deltas.reply
        assert sum(len(batch) for batch in deltas) > 3
        assert deltas.reply.stop == "tool_calls"


def test_leaving_early_closes_the_response() -> None:
    closed: list[bool] = []

    class Watched(Parts):
        def close(self) -> None:
            closed.append(True)

    service = Scripted("sync", lambda: httpx2.Response(200, stream=Watched(MIDDLE, STREAM[len(MIDDLE) :])))
    with retry.stream(service.provider, b"{}") as deltas:
        next(iter(deltas))
        assert not closed
    assert closed


def test_the_policy_knows_no_provider() -> None:
    """The same for each API: here another one."""
    good = at_once("openai-chat", HELLO)
    answers = iter([httpx2.Response(500), httpx2.Response(200, content=good)])
    http = httpx2.Client(transport=httpx2.MockTransport(lambda request: next(answers)))
    provider = OpenAIChat("m", client=openai.OpenAI(api_key="k", http_client=http))
    assert retry.send(provider, b"{}", sleep=lambda seconds: None) == good
