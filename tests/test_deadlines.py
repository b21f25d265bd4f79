"""`Limits(seconds=...)` bounds every kind of wait: for the service, for another attempt, for tools, for a person."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import httpx2
import pytest
from fault_proxy import Drip, Fault, FaultProxy, Hang
from wire import APIS, DRIVERS, Driver

from toolsmith import Agent, Limits, PendingCall, RunResult, ToolOutput, tool
from toolsmith.providers import Provider
from toolsmith.testing import DEFAULT_MODELS, Api, ScriptedModel, by_turn, call, say
from toolsmith.testing.script import Step
from toolsmith.testing.transport import provider_on

SECONDS = 0.6
SLACK = 1.0
LATE = 8.0

RAN: list[str] = []


@tool
def sync_sleeper(name: str = "one") -> str:
    """Sleep on a thread."""
    RAN.append(name)
    time.sleep(LATE)
    return "late"


@tool
async def sleeper() -> str:
    """Sleep on the loop."""
    await asyncio.sleep(LATE)
    return "late"


@tool(sequential=True)
async def one_by_one(name: str) -> str:
    """Sleep, alone."""
    RAN.append(name)
    await asyncio.sleep(LATE)
    return "late"


@tool(requires_approval=True)
def pay() -> str:
    """Pay."""
    RAN.append("paid")
    return "paid"


@tool
def quick() -> str:
    """Be quick."""
    RAN.append("quick")
    return "quick"


def hesitate(call: PendingCall) -> bool:
    time.sleep(LATE)
    return True


async def ahesitate(call: PendingCall) -> bool:
    await asyncio.sleep(LATE)
    return True


@dataclass(frozen=True)
class Wait:
    """Something that takes long.

    Attributes:
        steps: what the model says, by turn.
        fault: what the proxy does to the second exchange; with `steps` alone, nothing.
        ends: the stop reason.
        models: how many models the agent has, all behind the same proxy.
    """

    steps: Sequence[Step]
    fault: Fault | None = None
    ends: str = "time_limit"
    models: int = 1
    agent: dict[str, Any] = field(default_factory=dict[str, Any])


_TWO = [call("quick"), say("Some words that take a while, said by and by.")]

WAITS: dict[str, Wait] = {
    "a request": Wait(_TWO, Hang(0.0)),
    "the head of an answer, byte by byte": Wait(_TWO, Drip(0.0, 1, 0.05)),
    "an answer, byte by byte": Wait(_TWO, Drip(0.5, 1, 0.05)),
    "an answer that stops in the middle": Wait(_TWO, Hang(0.7)),
    "a request, with another model behind": Wait(_TWO, Hang(0.0), models=4),
    "a sync tool": Wait([[call("sync_sleeper"), call("quick")]]),
    "an async tool": Wait([[call("sleeper"), call("quick")]]),
    "tools, one after the other": Wait([[call("one_by_one", name=n) for n in "abc"]]),
    "a person": Wait([[call("pay"), call("quick")]], ends="approval", agent={"approve": hesitate}),
    "a person, asked by a coroutine": Wait([call("pay")], ends="approval", agent={"approve": ahesitate}),
}


@pytest.fixture(scope="module")
def clients() -> Iterator[Callable[[], dict[str, Any]]]:
    """HTTP clients that all cases share, as far as their event loops allow."""
    with ExitStack() as stack:
        client = stack.enter_context(httpx2.Client(verify=False, trust_env=False))
        no_pool = httpx2.Limits(max_keepalive_connections=0)

        def made() -> dict[str, Any]:
            fresh = httpx2.AsyncClient(verify=False, trust_env=False, limits=no_pool)
            return {"http_client": client, "async_http_client": fresh}

        yield made


@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize("name", WAITS)
def test_a_wait_ends_with_the_run(name: str, driver: Driver, clients: Callable[[], dict[str, Any]]) -> None:
    """In time, with a history that is whole: each call answered, and what had ended before is kept."""
    wait = WAITS[name]
    RAN.clear()
    api: Api = APIS[list(WAITS).index(name) % 3]
    with ScriptedModel(by_turn(wait.steps)).serve() as server, FaultProxy(server.port) as proxy:
        tail = "" if api == "anthropic" else "/v1"
        plans = [{} if wait.fault is None else {1: wait.fault}, {0: wait.fault} if wait.fault else {}]
        providers: list[Provider] = [
            provider_on(api, DEFAULT_MODELS[api], base_url=proxy.url(plan) + tail, **clients())
            for plan in plans[: wait.models]
        ]
        tools = [sync_sleeper, sleeper, one_by_one, pay, quick]
        agent = Agent(providers, tools=tools, limits=Limits(seconds=SECONDS), **wait.agent)
        begun = time.monotonic()
        result, took = carried(agent, driver, begun)
        assert took < SECONDS + SLACK
        assert result.stop_reason == wait.ends
        assert_answered(result)
        if wait.fault is not None or "tool" in name:
            assert result.tool_calls
    if name == "tools, one after the other":
        assert RAN == ["a"], "no time was left for the others"
        assert [record.ran for record in result.tool_calls] == [True, False, False]
    if wait.ends == "approval":
        assert result.pending is not None
        assert [c.name for c in result.pending.calls] == ["pay"]
        assert "paid" not in RAN


def carried(agent: Agent, driver: Driver, begun: float) -> tuple[RunResult[str], float]:
    """The result, and the seconds until it was there (an event loop may take a moment to close)."""

    async def run() -> tuple[RunResult[str], float]:
        return await agent.run("go"), time.monotonic() - begun

    async def stream() -> tuple[RunResult[str], float]:
        async with agent.run_stream("go") as events:
            async for _ in events:
                pass
        return events.result, time.monotonic() - begun

    match driver:
        case "sync":
            return agent.run_sync("go"), time.monotonic() - begun
        case "async":
            return asyncio.run(run())
        case "sync-stream":
            with agent.run_stream_sync("go") as events:
                for _ in events:
                    pass
            return events.result, time.monotonic() - begun
        case "async-stream":
            return asyncio.run(stream())


def assert_answered(result: RunResult[str]) -> None:
    """Each call once, in order; but for those that wait for a person."""
    waiting = {c.id for c in result.pending.calls} if result.pending else set[str]()
    for index, message in enumerate(result.messages):
        if message.tool_calls and not waiting & {c.id for c in message.tool_calls}:
            answers = [p.call_id for p in result.messages[index + 1].parts if isinstance(p, ToolOutput)]
            assert answers == [c.id for c in message.tool_calls]
