"""The matrix of the wire tests: three APIs x four drivers x two doors, with both judges on every request.

    def test_an_answer(wire: Wire) -> None:
        model = wire.model(say("Hello"))
        result = wire.run(Agent(wire.provider(model)), "Hi")

Each test that takes `wire` runs 12 times: with each API by each driver, through the doors in turn, so that each API and
each driver meets both. (What a door does is the same whoever calls; `TOOLSMITH_EXAMPLES` tries all 24.) At its end
every request that any of its scripted models got must have passed the rules of `toolsmith.testing` (what the services
refuse), the SDKs' own types (`sdk_judge`), and a habit that no service enforces: `strict` is always said.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from typing import Any, Literal, TypeVar

import pytest
import sdk_judge
from typing_extensions import Unpack

from toolsmith.agent import Agent, RunOptions, RunResult
from toolsmith.events import Event
from toolsmith.messages import Message, Prompt
from toolsmith.providers import Provider
from toolsmith.testing import Api, Recorded, ScriptedModel
from toolsmith.testing.script import Answering, Step

OutputT = TypeVar("OutputT")
Driver = Literal["sync", "async", "sync-stream", "async-stream"]
Door = Literal["in-process", "socket"]

APIS: tuple[Api, ...] = ("anthropic", "openai", "openai-chat")
DRIVERS: tuple[Driver, ...] = ("sync", "async", "sync-stream", "async-stream")
DOORS: tuple[Door, ...] = ("in-process", "socket")


class Wire:
    """One cell of the matrix.

    Attributes:
        api: the API under test; `others` are the other two.
        driver: `run_sync`, `run` on an event loop, and their streams, read to the end.
        events: what the last streamed run told.
        door: the in-process transport, or a real socket.
        expect_refusals: set it where a test makes the service refuse.
    """

    def __init__(self, api: Api, driver: Driver, door: Door, stack: ExitStack) -> None:
        self.api: Api = api
        self.driver: Driver = driver
        self.door: Door = door
        self.expect_refusals = False
        self.events: list[Event] = []
        self._stack = stack
        self._models: list[ScriptedModel] = []
        self._doors: dict[int, Any] = {}

    @property
    def others(self) -> tuple[Api, ...]:
        return tuple(api for api in APIS if api != self.api)

    @property
    def carries_any_arguments(self) -> bool:
        """Whether a call's arguments may be any text: in an answer of Claude at once they are a JSON object."""
        return self.api != "anthropic" or "stream" in self.driver

    def model(self, *steps: Step) -> ScriptedModel:
        """A scripted model whose requests are judged at the end of the test."""
        return self._kept(ScriptedModel(steps))

    def answering(self, answer: Answering) -> ScriptedModel:
        """The same, with a function of the request as its script."""
        return self._kept(ScriptedModel(answer))

    def provider(self, model: ScriptedModel, api: Api | None = None, name: str | None = None) -> Provider:
        """The real provider on the real SDK client, through this cell's door."""
        if self.door == "in-process":
            return model.provider(api or self.api, name)
        if id(model) not in self._doors:
            self._doors[id(model)] = self._stack.enter_context(model.serve())
        return self._doors[id(model)].provider(api or self.api, name)

    def run(
        self,
        agent: Agent[OutputT],
        prompt: Prompt | None,
        *,
        history: Sequence[Message] | None = None,
        **options: Unpack[RunOptions],
    ) -> RunResult[OutputT]:
        """A run by this cell's driver."""
        options["message_history"] = history
        return self._driven((agent.run_sync, agent.run, agent.run_stream_sync, agent.run_stream), prompt, **options)

    def resume(self, agent: Agent[OutputT], waiting: Any, **decided: Any) -> RunResult[OutputT]:
        """A run that waited goes on by this cell's driver."""
        ways = (agent.resume_sync, agent.resume, agent.resume_stream_sync, agent.resume_stream)
        return self._driven(ways, waiting, **decided)

    def _driven(self, ways: tuple[Any, Any, Any, Any], first: Any, **options: Any) -> Any:
        """One of four ways to do the same, in the order of `DRIVERS`; of a stream the events are kept."""
        way = ways[DRIVERS.index(self.driver)]
        match self.driver:
            case "sync":
                return way(first, **options)
            case "async":
                return asyncio.run(way(first, **options))
            case "sync-stream":
                with way(first, **options) as stream:
                    self.events = list(stream)
                return stream.result
            case "async-stream":
                return asyncio.run(self._read(way(first, **options)))

    async def _read(self, opened: Any) -> Any:
        async with opened as stream:
            self.events = [event async for event in stream]
        return stream.result

    def judge(self) -> None:
        """Both judges, over all requests of the test."""
        for model in self._models:
            if not self.expect_refusals:
                assert not model.refusals, "refused as the service would: " + "; ".join(map(str, model.refusals))
            refused = {refusal.request.number for refusal in model.refusals}
            accepted = [request for request in model.requests if request.number not in refused]
            for request in accepted:
                assert sdk_judge.problems(request) == [], f"request {request.number} to {request.api}: {request.body}"
                _strict_is_said(request)

    def _kept(self, model: ScriptedModel) -> ScriptedModel:
        self._models.append(model)
        return model


def _strict_is_said(request: Recorded) -> None:
    """Responses turns a tool strict by itself where nothing is said, so optional parameters would become required."""
    for name, tool in request.tools.items():
        assert isinstance(tool["strict"], bool), f"{name}: strict is {tool['strict']!r}"


def _cells(name: str) -> Callable[[pytest.FixtureRequest], Iterator[Wire]]:
    cells = [
        (api, driver, door)
        for row, api in enumerate(APIS)
        for column, driver in enumerate(DRIVERS)
        for number, door in enumerate(DOORS)
        if "TOOLSMITH_EXAMPLES" in os.environ or number == (row + column) % 2
    ]

    @pytest.fixture(name=name, params=cells, ids=["-".join(cell) for cell in cells])
    def cell(request: pytest.FixtureRequest) -> Iterator[Wire]:
        with ExitStack() as stack:
            api, driver, door = request.param
            made = Wire(api, driver, door, stack)
            yield made
            made.judge()

    return cell


wire = _cells("wire")
