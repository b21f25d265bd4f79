"""Each reason for which a turn can end, as the SDKs' own types name them, and what it means for the run."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args

import pytest
import sdk_judge
from wire import APIS, DRIVERS, Driver

from toolsmith import Agent, RunResult, tool
from toolsmith.messages import Message
from toolsmith.testing import Api, Recorded, ScriptedModel, block, call, say, turn
from toolsmith.testing.script import Part, Turn

RAN: list[int] = []


@tool
def add(a: int) -> int:
    """Add forty."""
    RAN.append(a)
    return a + 40


Meaning = Literal["answer", "call", "goes on", "length", "context", "refusal", "filter", "unknown"]

# anthropic: stop_reason; openai: incomplete_details.reason; openai-chat: finish_reason
MEANINGS: Mapping[Api, Mapping[str, Meaning]] = {
    "anthropic": {
        "end_turn": "answer",
        "stop_sequence": "answer",
        "tool_use": "call",
        "pause_turn": "goes on",
        "compaction": "goes on",
        "max_tokens": "length",
        "refusal": "refusal",
        "model_context_window_exceeded": "context",
        "a_reason_of_the_future": "unknown",
    },
    "openai": {
        "max_output_tokens": "length",
        "content_filter": "filter",
        "max_messages": "unknown",
        "steered": "unknown",
        "a_reason_of_the_future": "unknown",
    },
    "openai-chat": {
        "stop": "answer",
        "tool_calls": "call",
        "function_call": "call",
        "length": "length",
        "content_filter": "filter",
        "a_reason_of_the_future": "unknown",
    },
}


def known_to_the_sdk(api: Api) -> set[str]:
    if api == "anthropic":
        from anthropic.types import StopReason
        from anthropic.types.beta import BetaStopReason

        return {*get_args(StopReason), *get_args(BetaStopReason)}
    if api == "openai":
        from openai.types.responses.response import IncompleteDetails

        return set(get_args(get_args(IncompleteDetails.model_fields["reason"].annotation)[0]))
    from openai.types.chat.chat_completion import Choice

    return set(get_args(Choice.model_fields["finish_reason"].annotation))


@pytest.mark.parametrize("api", APIS)
def test_the_table_is_complete(api: Api) -> None:
    """A new version of an SDK that knows another reason fails here, and not in somebody's run."""
    assert known_to_the_sdk(api) | {"a_reason_of_the_future"} == set(MEANINGS[api])


def ended(api: Api, reason: str, *parts: Part) -> Turn:
    """A turn that ends for this reason."""
    return turn(*parts, stop="pause" if reason == "pause_turn" else None, raw_stop=reason)


def go(agent: Agent, prompt: str | None, *, driver: Driver, history: Sequence[Message] | None = None) -> RunResult[str]:
    """A run by one of the four drivers."""

    async def streamed() -> RunResult[str]:
        async with agent.run_stream(prompt, message_history=history) as events:
            async for _ in events:
                pass
        return events.result

    match driver:
        case "sync":
            return agent.run_sync(prompt, message_history=history)
        case "async":
            return asyncio.run(agent.run(prompt, message_history=history))
        case "sync-stream":
            with agent.run_stream_sync(prompt, message_history=history) as events:
                for _ in events:
                    pass
            return events.result
        case "async-stream":
            return asyncio.run(streamed())


CELLS = [(api, reason) for api in APIS for reason in MEANINGS[api]]


@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize(("api", "reason"), CELLS)
def test_words_that_end_for_a_reason(api: Api, reason: str, driver: Driver) -> None:
    """The run has the words, the reason by its type, and a history to go on with, here and on the other APIs."""
    meaning = MEANINGS[api][reason]
    said: list[Part] = [say("So far.")]
    if reason == "compaction":
        said = [block({"type": "compaction", "content": "what was said", "encrypted_content": "abc"})]
    model = ScriptedModel([ended(api, reason, *said), say("All of it.")])
    agent = Agent(model.provider(api), tools=[add])
    result = go(agent, "go", driver=driver)
    if meaning == "goes on":
        assert (result.output, result.stop_reason) == ("All of it.", "end")
        if reason == "compaction":
            assert b'{"type":"compaction","content":"what was said","encrypted_content":"abc"}' in model.requests[1].raw
        return
    # a turn that ended for calls, and has none, is none that we understand
    expected = {"answer": "end", "call": "unknown"}.get(meaning, meaning)
    assert (result.output, result.stop_reason) == ("So far.", expected)
    assert reason in result.detail
    assert len(model.requests) == 1
    assert_usable(agent, model, result, driver=driver)


@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize(("api", "reason"), CELLS)
def test_a_call_in_a_turn_that_ends_for_a_reason(api: Api, reason: str, driver: Driver) -> None:
    """It is run only where the turn ended well; else it is answered with a refusal, and once more for a cut one."""
    meaning = MEANINGS[api][reason]
    runs = meaning == "call" or (api == "openai-chat" and reason == "stop")  # what many servers say there
    RAN.clear()
    model = ScriptedModel([ended(api, reason, call("add", a=1)), say("All of it.")])
    agent = Agent(model.provider(api), tools=[add])
    result = go(agent, "go", driver=driver)
    assert ([record.ran for record in result.tool_calls], RAN) == ([runs], [1] if runs else [])
    if runs or meaning == "length":
        assert (result.output, result.stop_reason) == ("All of it.", "end")
    else:
        expected = {"answer": "end", "goes on": "unknown"}.get(meaning, meaning)
        assert result.stop_reason == expected
        assert_usable(agent, model, result, driver=driver)


def assert_usable(agent: Agent, model: ScriptedModel, result: RunResult[Any], *, driver: Driver) -> None:
    """The history is taken by the same service and by each other one."""
    assert go(agent, "And?", driver=driver, history=result.messages).output == "All of it."
    judged: list[Recorded] = [*model.requests]
    for other in APIS:
        elsewhere = ScriptedModel([say("Here too.")])
        there = Agent(elsewhere.provider(other), tools=[add])
        assert go(there, "And?", driver=driver, history=result.messages).output == "Here too."
        judged += elsewhere.requests
    for request in judged:
        assert sdk_judge.problems(request) == []
