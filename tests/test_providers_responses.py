"""OpenAI's Responses API: what goes out, and what is read from an answer."""

from __future__ import annotations

import json
from typing import Any

import pytest
from service_answers import event

from toolsmith.dialects import OPENAI, plan
from toolsmith.errors import ConfigError, ProviderError
from toolsmith.events import ReasoningDelta, TextDelta, ToolArgumentsDelta, ToolCallStarted
from toolsmith.messages import (
    Message,
    Native,
    Opaque,
    Reasoning,
    Refusal,
    Request,
    Text,
    ToolCall,
    ToolOutput,
    ToolSpec,
    Usage,
)
from toolsmith.providers import ModelSettings
from toolsmith.providers.openai_responses import OpenAIResponses

ADD = ToolSpec(
    "add",
    "Adds.",
    {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": False},
)


def openai(model: str = "gpt-6-astra", **settings: Any) -> OpenAIResponses:
    return OpenAIResponses(model, settings=ModelSettings(model="openai:m", api_key="k", settings=settings))


def body(provider: OpenAIResponses, *items: bytes, stream: bool = False, **request: Any) -> dict[str, Any]:
    given = Request(request.pop("instructions", ""), request.pop("tools", b""), list(items), **request)
    return json.loads(provider.encode_request(given, stream=stream))


def response(*output: dict[str, Any], **more: Any) -> bytes:
    whole = {"id": "resp_1", "object": "response", "status": "completed", "model": "gpt-6-astra", "output": output}
    return json.dumps({**whole, "error": None, "incomplete_details": None, "usage": None, **more}).encode()


def call(call_id: str = "call_1", arguments: str = '{"a": 1}', **more: Any) -> dict[str, Any]:
    return {"id": "fc_1", "type": "function_call", "call_id": call_id, "name": "add", "arguments": arguments, **more}


def words(text: str = "Hi", **more: Any) -> dict[str, Any]:
    content: list[Any] = [{"type": "output_text", "text": text, "annotations": []}]
    return {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": content, **more}


REASONING: dict[str, Any] = {"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "gAAA+/=="}


# --- requests


def test_the_shape_of_a_request() -> None:
    """Stateless: nothing is stored, and the reasoning comes back encrypted so that it can be sent again."""
    provider = openai()
    tools = provider.encode_tools(plan([(ADD, None)], OPENAI))
    first = provider.encode_message(Message("user", (Text("Hi"),)))
    assert body(provider, first, tools=tools, instructions="Be brief.") == {
        "model": "gpt-6-astra",
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "instructions": "Be brief.",
        "tools": json.loads(tools),
        "input": [{"role": "user", "content": "Hi"}],
    }
    assert body(provider, stream=True)["stream"] is True


def test_what_is_included() -> None:
    """The user's own wishes stay; a model that does not reason would refuse ours; so would a stored conversation."""
    logs = "message.output_text.logprobs"
    assert body(openai(include=[logs]))["include"] == [logs, "reasoning.encrypted_content"]
    assert "include" not in body(openai("gpt-4.1-mini"))
    assert "include" not in body(openai("gpt-5.3-chat-latest"))
    assert "include" not in body(openai(store=True))


def test_a_tool_on_the_wire() -> None:
    """Flat, and `strict` always said: left out, the service would make optional parameters required."""
    loose = plan([(ADD, False)], OPENAI)[0]
    assert json.loads(openai().encode_tools([loose])) == [
        {"type": "function", "name": "add", "description": "Adds.", "parameters": loose.schema, "strict": False}
    ]


def test_a_turn_is_sent_back_as_it_came() -> None:
    """All items in their order: encrypted reasoning, `phase`, namespaces, kinds that are newer than we."""
    output: list[dict[str, Any]] = [
        REASONING,
        words(phase="commentary"),
        {"id": "ws_1", "type": "web_search_call", "status": "completed", "action": {"type": "search", "query": "q"}},
        {"type": "of_the_future", "x": [None, 1.5]},
        {**REASONING, "id": "rs_2", "summary": [{"type": "summary_text", "text": "a"}]},
        call(namespace="crm", status="completed"),
    ]
    reply = openai().decode(response(*output))
    items = openai().encode_message(reply.message)
    assert json.loads(b"[" + items + b"]") == output
    assert reply.message.parts == (
        Reasoning(""),
        Text("Hi"),
        Opaque("web_search_call"),
        Opaque("of_the_future"),
        Reasoning("a"),
        ToolCall("call_1", "add", '{"a": 1}'),
    )
    assert reply.stop == "tool_calls"


def test_reasoning_that_led_to_nothing_is_not_sent_back() -> None:
    """An answer cut while the model thought: the API refuses reasoning without the item that followed it."""
    cut = {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
    reply = openai().decode(response(words(), REASONING, **cut))
    assert json.loads(b"[" + openai().encode_message(reply.message) + b"]") == [words()]
    assert openai().encode_message(openai().decode(response(REASONING, **cut)).message) == b""


def test_a_turn_of_another_service_is_translated() -> None:
    """Ids become legal, the same for call and output; a failure says so in words, for there is no flag."""
    odd = "toolu|1:x"
    turn = Message(
        "assistant",
        (Reasoning("secret"), Text("Let me see."), Opaque("server_tool_use"), ToolCall(odd, "add", '{"a":')),
        Native("anthropic", b"{}"),
    )
    outputs = Message(
        "tool",
        (
            ToolOutput(odd, "add", "no such row", True),
            ToolOutput("c2", "add", "`add` failed: x", True),
            ToolOutput("c3", "add", "3"),
        ),
    )
    said, asked, *answers = (
        json.loads(item)
        for message in (turn, outputs)
        for item in openai().encode_message(message).replace(b"},{", b"}\0{").split(b"\0")
    )
    assert said == {"role": "assistant", "content": "Let me see."}
    assert asked == {"type": "function_call", "call_id": asked["call_id"], "name": "add", "arguments": '{"a":'}
    assert answers == [
        {"type": "function_call_output", "call_id": asked["call_id"], "output": "Error: no such row"},
        {"type": "function_call_output", "call_id": "c2", "output": "`add` failed: x"},
        {"type": "function_call_output", "call_id": "c3", "output": "3"},
    ]
    assert asked["call_id"].replace("_", "").isalnum()


@pytest.mark.parametrize(
    ("choice", "wire"),
    [("auto", None), ("none", "none"), ("required", "required"), ("add", {"type": "function", "name": "add"})],
)
def test_tool_choice(choice: str, wire: object) -> None:
    request = body(openai(), tools=b"[{}]", tool_choice=choice, parallel=False)
    assert request.get("tool_choice") == wire
    assert request["parallel_tool_calls"] is False
    without = body(openai(), tool_choice=choice, parallel=False)
    assert not {"tool_choice", "parallel_tool_calls", "tools"} & set(without)


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ({"max_tokens": 5}, "max_output_tokens"),
        ({"reasoning_effort": "low"}, "reasoning={'effort'"),
        ({"instructions": "x"}, "Agent\\(instructions"),
        ({"resoning": {}}, "Did you mean 'reasoning'"),
    ],
)
def test_settings_that_cannot_work(setting: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        openai(**setting)


def test_known_settings_are_those_of_the_sdk() -> None:
    from openai.types.responses.response_create_params import ResponseCreateParamsNonStreaming as Params

    from toolsmith.providers import openai_responses as module

    keys = set(Params.__required_keys__ | Params.__optional_keys__)
    assert keys == (set(module._KNOWN) | set(module._OURS)) - {"extra_body"}  # pyright: ignore[reportPrivateUsage]


# --- answers


@pytest.mark.parametrize(
    ("more", "stop", "detail"),
    [
        ({}, "end", "status: completed"),
        (
            {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}},
            "length",
            "max_output_tokens",
        ),
        ({"status": "incomplete", "incomplete_details": {"reason": "content_filter"}}, "filter", "content_filter"),
        ({"status": "incomplete", "incomplete_details": {"reason": "steered"}}, "unknown", "steered"),
        ({"status": "incomplete", "incomplete_details": {"reason": "max_messages"}}, "unknown", "max_messages"),
        ({"status": "incomplete"}, "unknown", "status: incomplete"),
        ({"status": "cancelled"}, "error", "status: cancelled"),
        ({"status": "failed", "error": {"code": "server_error", "message": "Oh"}}, "error", "server_error: Oh"),
        ({"status": "failed", "error": {"code": "bio_policy", "message": "No."}}, "filter", "bio_policy: No."),
        ({"status": "queued"}, "unknown", "status: queued"),
        ({"status": None}, "unknown", "status: None"),
    ],
)
def test_statuses(more: dict[str, Any], stop: str, detail: str) -> None:
    reply = openai().decode(response(words(), **more))
    assert reply.stop == stop
    assert detail in reply.detail
    assert reply.message.text == "Hi"


@pytest.mark.parametrize("status", ["incomplete", "failed", "in_progress"])
def test_calls_are_ready_only_in_a_completed_response(status: str) -> None:
    assert openai().decode(response(call(), status=status)).stop != "tool_calls"


def test_a_failure_that_left_nothing_may_be_tried_again() -> None:
    """`failed` with status 200, before anything was said: as good as a 500."""
    with pytest.raises(ProviderError) as caught:
        openai().decode(response(status="failed", error={"code": "server_error", "message": "Oh"}))
    assert (caught.value.category, caught.value.retryable) == ("server", True)
    reply = openai().decode(response(status="failed", error={"code": "invalid_prompt", "message": "No"}))
    assert (reply.stop, reply.detail) == ("error", "status: failed (invalid_prompt: No)")


def test_a_refusal_is_no_answer() -> None:
    content = [{"type": "refusal", "refusal": "I cannot."}]
    reply = openai().decode(response({"type": "message", "id": "m", "role": "assistant", "content": content}))
    assert (reply.stop, reply.message.parts) == ("refusal", (Refusal("I cannot."),))


def test_usage() -> None:
    """Input holds the cached tokens already."""
    usage = {
        "input_tokens": 120,
        "input_tokens_details": {"cached_tokens": 100, "cache_write_tokens": 7},
        "output_tokens": 9,
        "output_tokens_details": {"reasoning_tokens": 5},
    }
    assert openai().decode(response(words(), usage=usage)).usage == Usage(120, 9, 100, 7, 5, 1)
    assert openai().decode(response(words())).usage == Usage(requests=1)


def test_ids_that_are_missing_or_repeated() -> None:
    first, again = (openai().decode(response(call(""), call("c"), call("c"), call("a.b"))) for _ in range(2))
    ids = [c.id for c in first.message.tool_calls]
    assert ids[1:3] == ["c", "c_2"]
    assert len(set(ids)) == 4
    assert first == again
    sent = json.loads(b"[" + openai().encode_message(first.message) + b"]")
    assert [item["call_id"] for item in sent] == ids


@pytest.mark.parametrize("answer", [b"", b"<html>", b"null", b'{"id": 1}', b'{"output": "x"}'])
def test_what_is_no_answer(answer: bytes) -> None:
    with pytest.raises(ProviderError) as caught:
        openai().decode(answer)
    assert caught.value.category == "bad_response"


def test_an_error_with_status_200() -> None:
    with pytest.raises(ProviderError) as caught:
        openai().decode(b'{"error": {"message": "m", "type": "insufficient_quota", "code": "insufficient_quota"}}')
    assert caught.value.category == "quota"


# --- streams


def say(kind: str, **more: object) -> bytes:
    return event({"type": f"response.{kind}", **more}, f"response.{kind}")


def test_items_are_taken_when_they_are_done() -> None:
    """What `added` shows of encrypted reasoning is incomplete; sent back, it would be refused."""
    accumulator = openai().accumulator()
    accumulator.feed(
        say("output_item.added", output_index=0, item={**REASONING, "encrypted_content": "gA"})
        + say("output_item.done", output_index=0, item=REASONING)
        + say("output_item.added", output_index=1, item=words(""))
        + say("output_item.done", output_index=1, item=words(phase="final_answer"))
        + say("completed", response=json.loads(response()))
    )
    sent = json.loads(b"[" + openai().encode_message(accumulator.finish().message) + b"]")
    assert sent == [REASONING, words(phase="final_answer")]


def test_a_server_that_sends_items_only_at_the_end() -> None:
    accumulator = openai().accumulator()
    accumulator.feed(say("completed", response=json.loads(response(REASONING, call()))))
    assert accumulator.finish() == openai().decode(response(REASONING, call()))


def test_a_server_that_sends_arguments_whole() -> None:
    """No `added`, no deltas: the call is told when it is done."""
    accumulator = openai().accumulator()
    deltas = accumulator.feed(say("output_item.done", output_index=0, item=call()))
    assert deltas == [ToolCallStarted("call_1", "add"), ToolArgumentsDelta("call_1", '{"a": 1}')]


def test_parallel_calls_are_kept_apart() -> None:
    """Deltas name their item; the calls stand in the model's order, whatever order they are done in."""
    accumulator = openai().accumulator()
    deltas = accumulator.feed(
        say("output_item.added", output_index=0, item=call("c1", ""))
        + say("output_item.added", output_index=1, item=call("c2", ""))
        + say("function_call_arguments.delta", output_index=1, delta="{}")
        + say("function_call_arguments.delta", output_index=0, delta='{"a": 1}')
        + say("output_item.done", output_index=1, item=call("c2", "{}"))
        + say("output_item.done", output_index=0, item=call("c1"))
        + say("completed", response=json.loads(response(call("c1"), call("c2", "{}"))))
    )
    assert deltas[2:] == [ToolArgumentsDelta("c2", "{}"), ToolArgumentsDelta("c1", '{"a": 1}')]
    assert [c.id for c in accumulator.finish().message.tool_calls] == ["c1", "c2"]


def test_parts_of_a_summary_are_kept_apart() -> None:
    """What is shown as it arrives reads as the whole does."""
    summary = [{"type": "summary_text", "text": t} for t in ("one", "two")]
    item = {**REASONING, "summary": summary}
    accumulator = openai().accumulator()
    deltas = accumulator.feed(
        say("output_item.added", output_index=0, item=REASONING)
        + say("reasoning_summary_part.added", output_index=0, summary_index=0)
        + say("reasoning_summary_text.delta", output_index=0, summary_index=0, delta="one")
        + say("reasoning_summary_part.added", output_index=0, summary_index=1)
        + say("reasoning_summary_text.delta", output_index=0, summary_index=1, delta="two")
        + say("output_item.done", output_index=0, item=item)
        + say("output_text.delta", output_index=1, delta="Hi")
        + say("completed", response=json.loads(response(item, words())))
    )
    assert "".join(d.text for d in deltas if isinstance(d, ReasoningDelta)) == "one\n\ntwo"
    assert TextDelta("Hi") in deltas
    assert Reasoning("one\n\ntwo") in accumulator.finish().message.parts


@pytest.mark.parametrize("kind", ["incomplete", "failed"])
def test_other_ends_of_a_stream(kind: str) -> None:
    """The turn so far is kept, and the end has its meaning."""
    more = {"incomplete_details": {"reason": "max_output_tokens"}} if kind == "incomplete" else {}
    accumulator = openai().accumulator()
    accumulator.feed(say("output_item.done", output_index=0, item=words()))
    accumulator.feed(say(kind, response=json.loads(response(words(), status=kind, **more))))
    reply = accumulator.finish()
    assert reply.stop == ("length" if kind == "incomplete" else "error")
    assert reply.message.text == "Hi"
