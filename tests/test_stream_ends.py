"""Where a stream ends: with its terminal event or its first error, not with the connection that carried it."""

from __future__ import annotations

import asyncio
import time

import anthropic  # now: the first import takes longer than what is measured here
import openai
import pytest
from fault_proxy import Cut, Fault, FaultProxy, Hang
from wire import APIS

from toolsmith import Agent, Limits, ModelSettings, ProviderError, RunResult, tool
from toolsmith.testing import Api, ScriptedModel, call, deliver, say
from toolsmith.testing.script import Step

IN_THE_LAST_CHUNK = -3
"""Bytes before the end: the terminal event is there, the end of the chunked body is not."""

RAN: list[int] = []
SDKS = anthropic, openai


@tool
def add(a: int) -> int:
    """Add forty."""
    RAN.append(a)
    return a + 40


@pytest.fixture(params=APIS)
def api(request: pytest.FixtureRequest) -> Api:
    RAN.clear()
    return request.param


def streamed(api: Api, steps: list[Step], fault: Fault, kind: str, limits: Limits | None = None) -> RunResult[str]:
    """A run whose first answer meets the fault; alone, it may not take longer than some seconds."""
    with ScriptedModel(steps).serve() as server, FaultProxy(server.port) as proxy:
        url = proxy.url({0: fault}) + ("" if api == "anthropic" else "/v1")
        settings = ModelSettings(model=f"{api}:claude-opus-5-5", base_url=url, api_key="k")
        agent = Agent(settings, tools=[add], limits=limits)

        async def read() -> RunResult[str]:
            async with agent.run_stream("go") as events:
                async for _ in events:
                    pass
            return events.result

        if kind == "async":
            return asyncio.run(asyncio.wait_for(read(), 5))
        with agent.run_stream_sync("go") as events:
            for _ in events:
                pass
        return events.result


STEPS: list[Step] = [[say("I add."), call("add", a=1)], say("41")]


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_a_connection_cut_behind_the_end(api: Api, kind: str) -> None:
    """The answer is whole: it is not asked for again, and its call runs once."""
    result = streamed(api, STEPS, Cut(IN_THE_LAST_CHUNK), kind)
    assert (result.output, result.usage.requests, RAN) == ("41", 2, [1])


def test_a_connection_left_open_behind_the_end(api: Api) -> None:
    """Some servers and proxies never close it: nobody waits for that."""
    begun = time.monotonic()
    result = streamed(api, STEPS, Hang(IN_THE_LAST_CHUNK), "async")
    assert (result.output, RAN) == ("41", [1])
    assert time.monotonic() - begun < 4


def test_a_connection_left_open_in_a_blocking_run(api: Api) -> None:
    """It cannot look away from a socket; but the answer counts, when its time is over."""
    answer: list[Step] = [say("Hello")]
    result = streamed(api, answer, Hang(IN_THE_LAST_CHUNK), "sync", Limits(seconds=1))
    assert (result.output, result.stop_reason) == ("Hello", "end")


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_an_error_and_then_silence(api: Api, kind: str) -> None:
    """An error inside a stream is the end of it, even if the connection stays."""
    begun = time.monotonic()
    broken = deliver(say("Hello there, you"), error="overloaded", chop=1)
    with pytest.raises(ProviderError) as caught:
        streamed(api, [broken], Hang(IN_THE_LAST_CHUNK), kind)
    assert caught.value.category == "overloaded"
    assert time.monotonic() - begun < 4
