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
from importlib.util import find_spec
from typing import Any, Literal

import anthropic
import httpx2
import openai
import pytest
import sdk_judge
from fault_proxy import Cut, Drip, Fault, FaultProxy, Hang, Insert, Page, Swap, Twice, Wait
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from wire import APIS, DRIVERS, Driver

from toolsmith import Agent, Limits, ProviderError, RunError, Tool, dump_messages, load_messages, tool
from toolsmith.errors import ErrorCategory
from toolsmith.events import Event, ModelSwitched, RequestRetried
from toolsmith.messages import Message, ToolOutput
from toolsmith.providers import Provider
from toolsmith.testing import DEFAULT_MODELS, Api, Recorded, ScriptedModel, call, fail, say
from toolsmith.testing.script import Scripted
from toolsmith.testing.transport import provider_on

BATCHES = int(os.environ.get("TOOLSMITH_EXAMPLES", "3"))
BATCH = 24
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
        self._made = 0
        limits = httpx2.Limits(max_connections=None, max_keepalive_connections=0)
        self._client = httpx2.Client(verify=False, trust_env=False)
        self._async_clients = [httpx2.AsyncClient(verify=False, trust_env=False, limits=limits)]
        if find_spec("aiohttp") is not None:  # the transport that toolsmith takes where it is installed
            self._async_clients += [
                sdk.DefaultAioHttpClient(verify=False, trust_env=False) for sdk in (anthropic, openai)
            ]

    def provider(self, api: Api, plan: Mapping[int, Fault], name: str | None = None) -> Provider:
        return provider_on(
            api,
            name or DEFAULT_MODELS[api],
            base_url=self.proxy.url(plan) + ("" if api == "anthropic" else "/v1"),
            http_client=self._client,
            async_http_client=self._async_clients[self._transport(api)],
        )

    def _transport(self, api: Api) -> int:
        """httpx2's own and aiohttp's take turns; each SDK brings its own form of the second."""
        self._made += 1
        return 0 if self._made % 2 or len(self._async_clients) == 1 else 1 if api == "anthropic" else 2

    def close(self) -> None:
        for client in self._async_clients:
            self.loop.run(client.aclose())
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
        self.told: set[str] = set()
        self.history: list[Message] = []
        self.longest = 0.0
        limits = limits or Limits(seconds=SECONDS)
        providers = [provider] if not isinstance(provider, Sequence) else provider
        self._agent = Agent(providers, tools=[self._note()], limits=limits, observers=[self._hear])

    def _hear(self, event: Event) -> None:
        self.told.add(type(event).__name__)

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
    carry_out(bench, [(s, Journey(bench.provider(s.api, s.faults))) for s in schedules])


def carry_out(bench: Bench, journeys: Sequence[tuple[Schedule, Journey]]) -> None:
    before, refused = len(bench.model.requests), len(bench.model.refusals)

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


@settings(in_batches, max_examples=max(BATCHES // 3, 1))
@given(batch=schedules(["cut", "insert", "page"]))
def test_the_next_model_takes_over_wherever_the_first_one_fails(bench: Bench, batch: list[Schedule]) -> None:
    """`Agent(model=[a, b])` over two APIs: what a has finished is not repeated by b, and b goes on from it."""
    journeys: list[tuple[Schedule, Journey]] = []
    for schedule in batch:
        other = APIS[(APIS.index(schedule.api) + 1) % 3]
        plan = {n % 2: fault for n, fault in schedule.faults.items()} | {n: Page(403) for n in range(2, 40)}
        journeys.append((schedule, Journey([bench.provider(schedule.api, plan), bench.provider(other, {})])))
    carry_out(bench, journeys)
    for _, journey in journeys:
        assert "ModelSwitched" in journey.told


STATUSES: Mapping[str, tuple[Scripted, float]] = {
    "429, with a time": (fail("rate_limit", retry_after=1.2), 1.2),
    "429, with a time in ms": (fail("rate_limit", headers={"retry-after-ms": "900"}), 0.9),
    "500": (fail(500), 0.3),
    "503": (fail(503), 0.3),
    "529": (fail(529), 0.3),
}


@pytest.mark.parametrize("api", APIS)
def test_statuses_that_may_pass(api: Api) -> None:
    """Each is tried again, not before the time that the service asks for, and the call before it is not repeated."""

    def run(name: str) -> None:
        fault, least = STATUSES[name]
        ran: list[str] = []
        seen: list[RequestRetried] = []

        @tool
        def note(key: Key) -> str:
            """Note a word."""
            ran.append(key)
            return f"noted {key}"

        def watch(event: Event) -> None:
            if isinstance(event, RequestRetried):
                seen.append(event)

        model = ScriptedModel([call("note", key="alpha"), fault, say("noted")])
        agent = Agent(model.provider(api), tools=[note], observers=[watch])
        begun = time.monotonic()
        assert agent.run_sync("go").output == "noted"
        assert time.monotonic() - begun >= least
        assert (ran, [e.attempt for e in seen]) == (["alpha"], [1])
        assert seen[0].wait >= least

    with ThreadPoolExecutor(len(STATUSES)) as threads:
        list(threads.map(run, STATUSES))


LASTING: tuple[ErrorCategory, ...] = ("quota", "auth", "not_found", "rate_limit", "server", "overloaded", "context")


@pytest.mark.parametrize("category", LASTING)
def test_when_all_models_fail_nothing_is_lost(category: ErrorCategory) -> None:
    """The error carries the history; the run goes on from it later, on any model, without the finished call."""
    deserved = category != "context"  # the next model would most likely refuse it too

    def run(api: Api) -> None:
        ran: list[str] = []
        switched: list[str] = []

        @tool
        def note(key: Key) -> str:
            """Note a word."""
            ran.append(key)
            return f"noted {key}"

        def watch(event: Event) -> None:
            if isinstance(event, ModelSwitched):
                switched.append(event.model)

        other = APIS[(APIS.index(api) + 1) % 3]
        one = ScriptedModel([call("note", key="alpha"), *[fail(category)] * 3])
        two = ScriptedModel([fail("auth"), say("noted")])
        models = [one.provider(api), two.provider(other)]
        with pytest.raises(ProviderError) as caught:
            Agent(models, tools=[note], observers=[watch]).run_sync("go")
        assert caught.value.category == ("auth" if deserved else category)
        assert len(switched) == deserved
        assert len(one.requests) == (4 if category in ("rate_limit", "server", "overloaded") else 2)
        assert_valid(caught.value.messages)
        assert caught.value.usage is not None
        later = two if deserved else ScriptedModel([say("noted")])
        history = load_messages(dump_messages(caught.value.messages))
        result = Agent(later.provider(other), tools=[note]).run_sync(message_history=history)
        assert (result.output, ran) == ("noted", ["alpha"])
        assert "noted alpha" in later.requests[-1].raw.decode()

    with ThreadPoolExecutor(len(APIS)) as threads:
        list(threads.map(run, APIS))
