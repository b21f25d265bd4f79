"""Where a stream ends: with its terminal event or its first error, not with the connection that carried it."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence
from typing import Any

import anthropic  # now: the first import takes longer than what is measured here
import openai
import pytest
from fault_proxy import Cut, Fault, FaultProxy, Hang
from wire import APIS

from toolsmith import Agent, Limits, ModelSettings, ProviderError, RunResult, tool
from toolsmith.events import Event, TextDelta, ToolArgumentsDelta, ToolCallStarted, TurnEnded
from toolsmith.messages import Message, Reply, Text
from toolsmith.providers.anthropic import AnthropicMessages
from toolsmith.testing import Api, ScriptedModel, call, deliver, garbage, say
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


def claude_stream(*events: dict[str, object]) -> bytes:
    """Events of the Messages API as they stand in a stream, between the usual first and last ones."""
    head: dict[str, object] = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [],
        "usage": {},
    }
    all_events: list[dict[str, object]] = [
        {"type": "message_start", "message": head},
        *events,
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {}},
        {"type": "message_stop"},
    ]
    return b"".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n".encode() for e in all_events)


def begins(index: int, **block: object) -> dict[str, object]:
    return {"type": "content_block_start", "index": index, "content_block": block}


def goes_on(index: int, **delta: object) -> dict[str, object]:
    return {"type": "content_block_delta", "index": index, "delta": delta}


def ends(index: int) -> dict[str, object]:
    return {"type": "content_block_stop", "index": index}


def read(stream: bytes) -> Reply:
    provider = AnthropicMessages("m", settings=ModelSettings(model="anthropic:m", api_key="k"))
    accumulator = provider.accumulator()
    accumulator.feed(stream)
    return accumulator.finish()


def test_blocks_that_share_an_index() -> None:
    """A server that counts wrongly: the second block does not take the place of the first."""
    words = [(goes_on(0, type="text_delta", text=word), ends(0)) for word in ("one ", "two")]
    start = begins(0, type="text", text="")
    assert read(claude_stream(start, *words[0], start, *words[1])).message.text == "one two"


def test_a_block_that_begins_twice() -> None:
    """The same event again does not throw away what came between."""
    start, word = begins(0, type="text", text=""), goes_on(0, type="text_delta", text="one ")
    assert read(claude_stream(start, word, start, word, ends(0))).message.text == "one one "


@pytest.mark.parametrize("index", [{"a": 1}, [0], "0", None, 1e300, -1], ids=str)
def test_an_index_that_is_none(index: Any) -> None:
    """A server that writes something else there: the words are read all the same."""
    piece = goes_on(0, type="text_delta", text="hello") | {"index": index}
    assert read(claude_stream(begins(0, type="text", text=""), piece, ends(0))).message.text == "hello"


def test_a_piece_of_nothing() -> None:
    """Words count also where their block was never begun; anything else cannot be put anywhere, and is an error."""
    assert read(claude_stream(goes_on(0, type="text_delta", text="hello"))).message.text == "hello"
    for delta in ({"type": "signature_delta", "signature": "abc"}, {"type": "input_json_delta", "partial_json": "{"}):
        with pytest.raises(ProviderError) as caught:
            read(claude_stream(goes_on(0, **delta)))
        assert caught.value.category == "bad_response"


WHOLE: dict[Api, tuple[dict[str, object], ...]] = {
    "anthropic": (
        {
            "content": [
                {"type": "text", "text": "I add."},
                {"type": "tool_use", "id": "t1", "name": "add", "input": {"a": 1}},
            ],
            "stop_reason": "tool_use",
        },
        {"content": [{"type": "text", "text": "It is 41."}], "stop_reason": "end_turn"},
    ),
    "openai": (
        {
            "output": [
                {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I add."}]},
                {"type": "function_call", "call_id": "t1", "name": "add", "arguments": '{"a":1}'},
            ],
            "status": "completed",
        },
        {
            "output": [
                {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "It is 41."}]}
            ],
            "status": "completed",
        },
    ),
    "openai-chat": (
        {
            "choices": [
                {
                    "message": {
                        "content": "I add.",
                        "tool_calls": [{"id": "t1", "function": {"name": "add", "arguments": '{"a":1}'}}],
                    },
                    "finish_reason": "tool_calls",
                }
            ]
        },
        {"choices": [{"message": {"content": "It is 41."}, "finish_reason": "stop"}]},
    ),
}


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_a_server_that_does_not_stream(api: Api, kind: str) -> None:
    """It answers with one JSON body: whoever prints the deltas shows that answer all the same, and its calls."""
    told: list[Event] = []
    bodies = [garbage(json.dumps({"id": "x", **body})) for body in WHOLE[api]]
    with ScriptedModel(bodies).serve() as server:
        agent = Agent(server.provider(api), tools=[add], observers=[told.append])

        async def read() -> str:
            async with agent.run_stream("go") as events:
                async for _ in events:
                    pass
            return events.result.output

        if kind == "async":
            output = asyncio.run(read())
        else:
            with agent.run_stream_sync("go") as events:
                assert [*events] == told
            output = events.result.output
    assert (output, RAN) == ("It is 41.", [1])
    assert [e.text for e in told if isinstance(e, TextDelta)] == ["I add.", "It is 41."]
    begun = [e for e in told if isinstance(e, ToolCallStarted | ToolArgumentsDelta)]
    assert begun == [ToolCallStarted("t1", "add"), ToolArgumentsDelta("t1", '{"a":1}')]


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_words_of_an_answer_that_was_left(api: Api, kind: str) -> None:
    """The history has whole turns only; whoever wants the words that were shown adds them (docs/runs.md)."""
    model = ScriptedModel([[say("I add."), call("add", a=1)], say("It is forty-one."), say("One.")])
    agent = Agent(model.provider(api), tools=[add])
    shown = ""

    async def read() -> Sequence[Message]:
        nonlocal shown
        async with agent.run_stream("go") as events:
            async for event in events:
                shown = "" if isinstance(event, TurnEnded) else shown
                shown += event.text if isinstance(event, TextDelta) else ""
                if shown.startswith("It is"):
                    break
        return events.messages

    if kind == "async":
        messages = asyncio.run(read())
    else:
        with agent.run_stream_sync("go") as events:
            for event in events:
                shown = "" if isinstance(event, TurnEnded) else shown
                shown += event.text if isinstance(event, TextDelta) else ""
                if shown.startswith("It is"):
                    break
        messages = events.messages
    assert [m.role for m in messages] == ["user", "assistant", "tool"]
    kept = [*messages, Message("assistant", (Text(shown),))]
    result = agent.run_sync("And?", message_history=kept)
    assert result.output == "One."
    assert shown in model.requests[-1].raw.decode()
    model.assert_exhausted()
