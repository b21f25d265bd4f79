"""A run as a stream of events. Made by `Agent.run_stream` and `Agent.run_stream_sync`.

    async with agent.run_stream("Is it raining in Oslo?") as events:
        async for event in events:
            if isinstance(event, TextDelta):
                print(event.text, end="")
    print(events.result.usage)

Leaving the block before the end cancels the run: the request is closed, running tools are cancelled, and
`events.messages` is a valid history in which every call has an answer.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Generic, Self, TypeVar

if TYPE_CHECKING:
    from toolsmith.agent import RunResult
    from toolsmith.events import Event
    from toolsmith.messages import Message

OutputT = TypeVar("OutputT")


class _Outcome(Generic[OutputT]):
    """What both kinds of streams know of their run."""

    def __init__(self, history: list[Message]) -> None:
        self._history = history
        self._result: RunResult[OutputT] | None = None

    @property
    def messages(self) -> list[Message]:
        """The history so far."""
        return list(self._history)

    @property
    def result(self) -> RunResult[OutputT]:
        """What came of the run.

        Raises:
            RuntimeError: the events were not read to their end, so there is no result.
        """
        if self._result is None:
            raise RuntimeError(
                "This run has no result (yet): read its events to the end first. `.messages` has what was said so far."
            )
        return self._result


class RunStream(_Outcome[OutputT]):
    """The events of a run, for `async with` and `async for`."""

    def __init__(
        self,
        history: list[Message],
        events: Callable[[Callable[[RunResult[OutputT]], None]], AsyncGenerator[Event, None]],
    ) -> None:
        super().__init__(history)
        self._events = events(self._ended)

    def _ended(self, result: RunResult[OutputT]) -> None:
        self._result = result

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._events.aclose()

    def __aiter__(self) -> AsyncIterator[Event]:
        return self._events


class SyncRunStream(_Outcome[OutputT]):
    """The events of a run, for `with` and `for`."""

    def __init__(
        self,
        history: list[Message],
        events: Callable[[Callable[[RunResult[OutputT]], None]], Generator[Event, None, None]],
    ) -> None:
        super().__init__(history)
        self._events = events(self._ended)

    def _ended(self, result: RunResult[OutputT]) -> None:
        self._result = result

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._events.close()

    def __iter__(self) -> Iterator[Event]:
        return self._events
