"""Faults on the wire: no schedule of them loses a finished call or repeats one, and every run ends in its time.

The real SDK clients talk over real sockets to the scripted model, through a proxy that breaks chosen answers at chosen
places. The model asks for what is missing from the history that it is shown, so a lost result would be asked for again,
and run twice. `TOOLSMITH_EXAMPLES` sets how many batches of schedules are tried.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Literal

import httpx2
import pytest
import sdk_judge
from fault_proxy import Cut, Drip, Fault, FaultProxy, Hang, Insert, Page, Swap, Twice, Wait
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from wire import APIS, DRIVERS, Driver

from toolsmith import Agent, Limits, RunError, Tool, dump_messages, load_messages, tool
from toolsmith.messages import Message, ToolOutput
from toolsmith.providers import Provider
from toolsmith.testing import DEFAULT_MODELS, Api, Recorded, ScriptedModel, call, say
from toolsmith.testing.script import Scripted
from toolsmith.testing.transport import provider_on

BATCHES = int(os.environ.get("TOOLSMITH_EXAMPLES", "6"))
BATCH = 16
SECONDS = 3.0
SLACK = 2.0

Key = Literal["alpha", "beta", "gamma"]
KEYS: tuple[Key, ...] = ("alpha", "beta", "gamma")
LAST_WORDS = "Done. 🙂 Größe"


@dataclass(frozen=True)
class Schedule:
    """One conversation, and which of its exchanges are broken."""

    api: Api
    driver: Driver
    faults: Mapping[int, Fault]


def in_order(request: Recorded) -> Scripted:
    """Ask for what the history lacks, two at a time; then say so."""
    missing = [key for key in KEYS if f"noted {key}".encode() not in request.raw]
    if not missing:
        return say(LAST_WORDS)
    return [say("I note 🙂."), *(call("note", key=key) for key in missing[:2])]


class Bench:
    """A scripted model behind a proxy, and clients that all runs share."""

    def __init__(self) -> None:
        self.model = ScriptedModel(in_order)
        self._server = self.model.serve()
        self._server.__enter__()
        self.proxy = FaultProxy(self._server.port)
        self.proxy.__enter__()
        self.loop = asyncio.Runner()
        limits = httpx2.Limits(max_connections=None, max_keepalive_connections=0)
        self._client = httpx2.Client(verify=False, trust_env=False)
        self._async_client = httpx2.AsyncClient(verify=False, trust_env=False, limits=limits)

    def provider(self, api: Api, plan: Mapping[int, Fault], name: str | None = None) -> Provider:
        return provider_on(
            api,
            name or DEFAULT_MODELS[api],
            base_url=self.proxy.url(plan) + ("" if api == "anthropic" else "/v1"),
            http_client=self._client,
            async_http_client=self._async_client,
        )

    def close(self) -> None:
        self.loop.run(self._async_client.aclose())
        self.loop.close()
        self._client.close()
        self.proxy.__exit__(None, None, None)
        self._server.__exit__(None, None, None)


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    made = Bench()
    yield made
    made.close()


class Journey:
    """A conversation that goes on from each error, as its history allows, until the model has said its last words."""

    def __init__(self, provider: Provider | Sequence[Provider], *, limits: Limits | None = None) -> None:
        self.ran: Counter[str] = Counter()
        self.errors: list[str] = []
        self.history: list[Message] = []
        self.longest = 0.0
        limits = limits or Limits(seconds=SECONDS)
        providers = [provider] if not isinstance(provider, Sequence) else provider
        self._agent = Agent(providers, tools=[self._note()], limits=limits)

    def _note(self) -> Tool[..., Any]:
        @tool
        def note(key: Key) -> str:
            """Note a word."""
            self.ran[key] += 1
            return f"noted {key}"

        return note

    def go(self, driver: Driver) -> None:
        """With the blocking drivers."""
        for _ in range(12):
            begun = time.monotonic()
            try:
                if driver == "sync":
                    result = self._agent.run_sync(self._prompt, message_history=self.history)
                else:
                    with self._agent.run_stream_sync(self._prompt, message_history=self.history) as events:
                        for _ in events:
                            pass
                    result = events.result
            except RunError as error:
                self._failed(error, begun)
            else:
                if self._ended(result.output, result.stop_reason, result.messages, begun):
                    return
        raise AssertionError(f"no end: {self.errors}")

    async def ago(self, driver: Driver) -> None:
        """With the asyncio drivers."""
        for _ in range(12):
            begun = time.monotonic()
            try:
                if driver == "async":
                    result = await self._agent.run(self._prompt, message_history=self.history)
                else:
                    async with self._agent.run_stream(self._prompt, message_history=self.history) as events:
                        async for _ in events:
                            pass
                    result = events.result
            except RunError as error:
                self._failed(error, begun)
            else:
                if self._ended(result.output, result.stop_reason, result.messages, begun):
                    return
        raise AssertionError(f"no end: {self.errors}")

    @property
    def _prompt(self) -> str | None:
        if not self.history:
            return "go"
        return "Go on." if self.history[-1].role == "assistant" else None

    def _failed(self, error: RunError, begun: float) -> None:
        self.errors.append(str(error))
        self._keep(error.messages, begun)

    def _ended(self, output: str, reason: str, messages: list[Message], begun: float) -> bool:
        if reason != "end":
            self.errors.append(reason)
        self._keep(messages, begun)
        # Words that came twice or in the wrong order nobody can tell from those that were meant.
        return reason == "end" and output.startswith(LAST_WORDS[:4])

    def _keep(self, messages: list[Message], begun: float) -> None:
        self.longest = max(self.longest, time.monotonic() - begun)
        assert_valid(messages)
        self.history = load_messages(dump_messages(messages))


def assert_valid(messages: Sequence[Message]) -> None:
    """Each call is answered once, in the message behind it, in order."""
    for index, message in enumerate(messages):
        if message.tool_calls:
            answers = messages[index + 1]
            assert answers.role == "tool"
            assert [p.call_id for p in answers.parts if isinstance(p, ToolOutput)] == [c.id for c in message.tool_calls]
        if message.role == "tool":
            assert messages[index - 1].tool_calls


def travel(bench: Bench, schedules: Sequence[Schedule]) -> None:
    """Carry out many schedules at the same time, and judge each of them."""
    before, refused = len(bench.model.requests), len(bench.model.refusals)
    journeys = [(s, Journey(bench.provider(s.api, s.faults))) for s in schedules]

    async def on_the_loop() -> None:
        mine = [j.ago(s.driver) for s, j in journeys if s.driver.startswith("async")]
        await asyncio.gather(*mine)
        assert asyncio.all_tasks() == {asyncio.current_task()}, "a task is left"

    with ThreadPoolExecutor(len(journeys)) as threads:
        going = [threads.submit(j.go, s.driver) for s, j in journeys if s.driver.startswith("sync")]
        bench.loop.run(on_the_loop())
        for done in going:
            done.result()
    for schedule, journey in journeys:
        assert journey.ran == dict.fromkeys(KEYS, 1), (schedule, journey.errors)
        assert journey.longest < SECONDS + SLACK, (schedule, journey.errors)
    assert not bench.model.refusals[refused:], "\n".join(map(str, bench.model.refusals[refused:]))
    for request in bench.model.requests[before:]:
        assert sdk_judge.problems(request) == []


_at = st.floats(0.0, 1.0)
_NONSENSE = (b"\xff\xfe\x00", b"\xf0\x9f", b"\x00", b"}{", b"\n\n\xc3", b"<html>\xff")
FAULTS: Mapping[str, st.SearchStrategy[Fault]] = {
    "cut": st.builds(Cut, _at, st.booleans()),
    "hang": st.builds(Hang, _at),
    "wait": st.builds(Wait, _at, st.floats(0.0, 0.3)),
    "drip": st.builds(Drip, _at, st.integers(1, 40), st.sampled_from([0.0, 0.001])),
    "insert": st.builds(Insert, _at, st.sampled_from(_NONSENSE)),
    "twice": st.builds(Twice, _at, st.integers(0, 6)),
    "swap": st.builds(Swap, _at),
    "page": st.builds(Page, st.sampled_from([200, 403, 502, 503])),
}


def schedules(kinds: Sequence[str]) -> st.SearchStrategy[list[Schedule]]:
    plans = st.dictionaries(st.integers(0, 5), st.one_of(*(FAULTS[kind] for kind in kinds)), min_size=1, max_size=3)
    one = st.builds(Schedule, st.sampled_from(APIS), st.sampled_from(DRIVERS), plans)
    return st.lists(one, min_size=BATCH // 2, max_size=BATCH)


in_batches = settings(
    max_examples=BATCHES,
    deadline=None,
    derandomize="TOOLSMITH_EXAMPLES" not in os.environ,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],  # a failing schedule is named, and a batch shrinks badly
    suppress_health_check=[HealthCheck.too_slow],
)


@in_batches
@given(batch=schedules(["cut", "wait", "drip", "insert", "twice", "swap", "page"]))
def test_no_schedule_of_faults_loses_or_repeats_a_call(bench: Bench, batch: list[Schedule]) -> None:
    """Cut, reset, slow, damaged, out of order, or another page: each call runs once, and the history stays valid."""
    travel(bench, batch)


@settings(in_batches, max_examples=max(BATCHES // 3, 1))
@given(batch=schedules(["hang", "cut"]))
def test_no_silence_holds_a_run(bench: Bench, batch: list[Schedule]) -> None:
    """A connection that stays open and says nothing more: the run ends in its time, and goes on in the next one."""
    travel(bench, batch)
