"""One retry policy for every driver, blocking and asyncio, at once and streamed. The SDKs' own retries are off.

Only failures that may pass are tried again (`errors.RETRYABLE`): never a spent quota, a refused request or a wrong key,
and never after the first piece of an answer was handed on.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Coroutine, Generator, Iterator, Sequence
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager, suppress
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar, Unpack

from toolsmith._dataclass import dataclass
from toolsmith.errors import ProviderError

if TYPE_CHECKING:
    from tenacity import RetryCallState

    from toolsmith.events import Delta
    from toolsmith.messages import Reply
    from toolsmith.providers import Accumulator, Provider

OnRetry = Callable[[ProviderError, int, float], object]
"""Is told of each failure that another attempt follows: the error, the attempt that failed (from 1), the wait."""

Sleep = Callable[[int | float], None]
AsyncSleep = Callable[[int | float], Awaitable[None]]

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """How often and how long a request is tried. All times in seconds.

    Attributes:
        attempts: at most so many, the first one counted.
        budget: no attempt begins later than this after the first one began.
        first_wait: before the second attempt; it doubles each time, less up to a quarter by chance, so that many runs
            that failed together do not come back together.
        longest_wait: between two attempts, where the service names no time.
        longest_retry_after: of a time that the service names. Where it asks for more, nothing is tried again: to come
            back before would be in vain, and the next model may answer at once.
    """

    attempts: int = 3
    budget: float = 180.0
    first_wait: float = 0.5
    longest_wait: float = 8.0
    longest_retry_after: float = 60.0

    def wait(self, error: ProviderError, attempt: int) -> float:
        """Seconds to wait after the failure of an attempt (from 1)."""
        backoff = min(self.first_wait * 2.0 ** (attempt - 1), self.longest_wait) * random.uniform(0.75, 1.0)
        return max(backoff, error.retry_after or 0.0)

    def too_long(self, error: ProviderError) -> bool:
        """Whether the service asks for a wait that is not waited for."""
        return (error.retry_after or 0.0) > self.longest_retry_after


DEFAULT = Policy()


class How(TypedDict, total=False):
    """What all the functions below take.

    Attributes:
        timeout: seconds for all attempts and waits together, None for no limit beyond the policy's.
        on_retry: is told before each wait.
        policy: how often and how long.
    """

    timeout: float | None
    on_retry: OnRetry | None
    policy: Policy


class _Attempts:
    """The policy for one request, in the shape that tenacity wants; the same for both kinds of driver."""

    def __init__(self, timeout: float | None = None, on_retry: OnRetry | None = None, policy: Policy = DEFAULT) -> None:
        now = time.monotonic()
        self._policy = policy
        self._deadline = None if timeout is None else now + timeout
        self._last_start = now + policy.budget if timeout is None else now + min(policy.budget, timeout)
        self._on_retry = on_retry
        self._made = 1

    @property
    def left(self) -> float | None:
        """Seconds that the next attempt may take, None for no limit."""
        return None if self._deadline is None else max(self._deadline - time.monotonic(), 0.0)

    def rules(self) -> dict[str, Any]:
        """Arguments of `tenacity.Retrying` and `tenacity.AsyncRetrying`."""
        return {
            "retry": self._may_pass,
            "wait": self._wait,
            "stop": self._stop,
            "before_sleep": self._tell,
            "reraise": True,
        }

    def _may_pass(self, state: RetryCallState) -> bool:
        self._made = state.attempt_number
        error = _error(state)
        return isinstance(error, ProviderError) and error.retryable

    def _wait(self, state: RetryCallState) -> float:
        error = _error(state)
        assert isinstance(error, ProviderError)
        return self._policy.wait(error, state.attempt_number)

    def _stop(self, state: RetryCallState) -> bool:
        # To wait for an attempt that may not begin would only delay the error.
        late = time.monotonic() + state.upcoming_sleep >= self._last_start
        error = _error(state)
        vain = isinstance(error, ProviderError) and self._policy.too_long(error)
        return late or vain or state.attempt_number >= self._policy.attempts

    def _tell(self, state: RetryCallState) -> None:
        error = _error(state)
        if self._on_retry is not None and isinstance(error, ProviderError):
            self._on_retry(error, state.attempt_number, state.upcoming_sleep)

    @contextmanager
    def telling(self) -> Generator[None]:
        """The last attempt's error says how many there were, and why there is no other."""
        try:
            yield
        except ProviderError as error:
            words = "1 attempt was made." if self._made == 1 else f"{self._made} attempts were made."
            if error.retryable and self._policy.too_long(error):
                asked, most = error.retry_after or 0.0, self._policy.longest_retry_after
                words += f" The service asks to wait {asked:.0f} seconds; up to {most:.0f} are waited."
            said = str(error)
            error.args = (f"{said}{'' if said.endswith(('.', '?')) else '.'} {words}",)
            raise


def _error(state: RetryCallState) -> BaseException | None:
    return None if state.outcome is None else state.outcome.exception()


def _attempt(attempts: _Attempts, once: Callable[[], T], sleep: Sleep) -> T:
    try:
        return once()  # nearly always the only attempt, and then it costs nothing of the policy
    except ProviderError as error:
        if not error.retryable:
            raise
        failed = [error]
    from tenacity import Retrying

    def again() -> T:
        if failed:
            raise failed.pop()  # the attempt that was made already is the policy's first
        return once()

    with attempts.telling():
        return Retrying(sleep=sleep, **attempts.rules())(again)


async def _aattempt(attempts: _Attempts, once: Callable[[], Awaitable[T]], sleep: AsyncSleep) -> T:
    try:
        return await once()
    except ProviderError as error:
        if not error.retryable:
            raise
        failed = [error]
    from tenacity import AsyncRetrying

    async def again() -> T:
        if failed:
            raise failed.pop()
        return await once()

    with attempts.telling():
        return await AsyncRetrying(sleep=sleep, **attempts.rules())(again)


def send(provider: Provider, body: bytes, *, sleep: Sleep = time.sleep, **how: Unpack[How]) -> bytes:
    """Send a request until it is answered or there is no hope; the answer's body.

    Args:
        provider: where to.
        body: from `provider.encode_request(..., stream=False)`.
        sleep: waits; one that raises ends the attempts.
        how: see `How`.

    Raises:
        ProviderError: the last attempt's.
    """
    attempts = _Attempts(**how)
    return _attempt(attempts, lambda: provider.send(body, timeout=attempts.left), sleep)


def asend(
    provider: Provider, body: bytes, *, sleep: AsyncSleep = asyncio.sleep, **how: Unpack[How]
) -> Coroutine[Any, Any, bytes]:
    """`send` for asyncio."""
    attempts = _Attempts(**how)
    return _aattempt(attempts, lambda: provider.asend(body, timeout=attempts.left), sleep)


def ask(provider: Provider, body: bytes, *, sleep: Sleep = time.sleep, **how: Unpack[How]) -> Reply:
    """`send` and `decode`: a failure that the service reports inside a 200 is tried again too."""
    attempts = _Attempts(**how)
    return _attempt(attempts, lambda: provider.decode(provider.send(body, timeout=attempts.left)), sleep)


def aask(
    provider: Provider, body: bytes, *, sleep: AsyncSleep = asyncio.sleep, **how: Unpack[How]
) -> Coroutine[Any, Any, Reply]:
    """`ask` for asyncio."""
    attempts = _Attempts(**how)

    async def once() -> Reply:
        return provider.decode(await provider.asend(body, timeout=attempts.left))

    return _aattempt(attempts, once, sleep)


MANNERS_SECONDS = 0.25
"""How long an asyncio driver reads on behind the end of an answer, so that its connection can be used again."""


class Deltas:
    """A streamed answer: iterate it for its deltas, in batches as they arrive; then `reply` holds the whole of it.

    An answer ends with its terminal event, not with the connection: some servers never close it, some break it then.
    """

    def __init__(self, accumulator: Accumulator, first: Sequence[Delta]) -> None:
        self._accumulator = accumulator
        self._first = first  # what arrived before it was sure that this attempt is the one
        self._reply: Reply | None = None

    @property
    def reply(self) -> Reply:
        """The whole answer, once the deltas are read to their end."""
        if self._reply is None:
            raise RuntimeError("The answer is complete only when its deltas were read to the end.")
        return self._reply


class SyncDeltas(Deltas):
    """`Deltas` for blocking drivers."""

    def __init__(self, accumulator: Accumulator, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        super().__init__(accumulator, next(self._read(accumulator), ()))
        if not self._first:
            self._finish()

    def __iter__(self) -> Iterator[Sequence[Delta]]:
        if self._first:
            yield self._first
            yield from self._read(self._accumulator)
            self._finish()

    def _read(self, accumulator: Accumulator) -> Iterator[Sequence[Delta]]:
        if not accumulator.over:
            for chunk in self._chunks:
                if deltas := accumulator.feed(chunk):
                    yield deltas
                if accumulator.over:
                    break
        if deltas := accumulator.end():
            yield deltas

    def _finish(self) -> None:
        self._reply = self._accumulator.finish()
        with suppress(ProviderError):
            for _ in self._chunks:  # so that the connection can be used again
                pass


class AsyncDeltas(Deltas):
    """`Deltas` for asyncio drivers."""

    def __init__(self, accumulator: Accumulator, first: Sequence[Delta], chunks: AsyncIterator[bytes]) -> None:
        super().__init__(accumulator, first)
        self._chunks = chunks

    @classmethod
    async def begun(cls, accumulator: Accumulator, chunks: AsyncIterator[bytes]) -> AsyncDeltas:
        """Read as far as the first delta."""
        first: Sequence[Delta] = ()
        async for chunk in chunks:
            first = accumulator.feed(chunk)
            if first or accumulator.over:
                break
        first = first or accumulator.end()
        made = cls(accumulator, first, chunks)
        if not first:
            await made._finish()
        return made

    async def __aiter__(self) -> AsyncGenerator[Sequence[Delta]]:
        if self._first:
            yield self._first
            if not self._accumulator.over:
                async for chunk in self._chunks:
                    if deltas := self._accumulator.feed(chunk):
                        yield deltas
                    if self._accumulator.over:
                        break
            if deltas := self._accumulator.end():
                yield deltas
            await self._finish()

    async def _finish(self) -> None:
        self._reply = self._accumulator.finish()
        with suppress(ProviderError, TimeoutError):
            async with asyncio.timeout(MANNERS_SECONDS):
                async for _ in self._chunks:
                    pass


@contextmanager
def stream(provider: Provider, body: bytes, *, sleep: Sleep = time.sleep, **how: Unpack[How]) -> Generator[SyncDeltas]:
    """Send a request and read its answer as it comes; tried again only while no delta of it was seen.

    Leaving the block closes the response. Arguments and errors are those of `send`; errors after the first delta rise
    from the iteration.
    """
    attempts = _Attempts(**how)

    def once() -> tuple[ExitStack, SyncDeltas]:
        with ExitStack() as stack:
            chunks = stack.enter_context(provider.stream(body, timeout=attempts.left))
            return stack.pop_all(), SyncDeltas(provider.accumulator(), chunks)
        raise AssertionError  # no exit of this block swallows an exception

    stack, deltas = _attempt(attempts, once, sleep)
    with stack:
        yield deltas


@asynccontextmanager
async def astream(
    provider: Provider, body: bytes, *, sleep: AsyncSleep = asyncio.sleep, **how: Unpack[How]
) -> AsyncGenerator[AsyncDeltas]:
    """`stream` for asyncio."""
    attempts = _Attempts(**how)

    async def once() -> tuple[AsyncExitStack, AsyncDeltas]:
        async with AsyncExitStack() as stack:
            chunks = await stack.enter_async_context(provider.astream(body, timeout=attempts.left))
            deltas = await AsyncDeltas.begun(provider.accumulator(), chunks)
            return stack.pop_all(), deltas
        raise AssertionError  # no exit of this block swallows an exception

    stack, deltas = await _aattempt(attempts, once, sleep)
    async with stack:
        yield deltas
