"""Claude's Messages API: what goes out, and what is read from an answer."""

from __future__ import annotations

import json
from typing import Any

import pytest
from service_answers import event

from toolsmith.dialects import CLAUDE, plan
from toolsmith.errors import ConfigError, ProviderError
from toolsmith.events import ToolArgumentsDelta, ToolCallStarted
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
from toolsmith.providers.anthropic import AnthropicMessages

ADD = ToolSpec(
    "add",
    "Adds.",
    {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": False},
)


def claude(model: str = "claude-haiku-5-5", **settings: Any) -> AnthropicMessages:
    return AnthropicMessages(model, settings=ModelSettings(model="anthropic:m", api_key="k", settings=settings))


def body(provider: AnthropicMessages, *messages: bytes, stream: bool = False, **request: Any) -> dict[str, Any]:
    given = Request(request.pop("instructions", ""), request.pop("tools", b""), list(messages), **request)
    return json.loads(provider.encode_request(given, stream=stream))


def message(**more: Any) -> bytes:
    whole: dict[str, Any] = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-haiku-5-5",
        "content": [],
    }
    return json.dumps({**whole, "stop_reason": "end_turn", "usage": {}, **more}).encode()


# --- requests


def test_the_shape_of_a_request() -> None:
    """Model, limit, cache marker, system text, tools, history: and nothing that was not asked for."""
    provider = claude()
    tools = provider.encode_tools(plan([(ADD, None)], CLAUDE))
    first = provider.encode_message(Message("user", (Text("Hi"),)))
    assert body(provider, first, tools=tools, instructions="Be brief.") == {
        "model": "claude-haiku-5-5",
        "max_tokens": 16_000,
        "cache_control": {"type": "ephemeral"},
        "system": "Be brief.",
        "tools": json.loads(tools),
        "messages": [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}],
    }
    assert body(provider, first, stream=True)["stream"] is True


def test_a_tool_on_the_wire() -> None:
    """`strict` is always said."""
    strict, loose = plan([(ADD, True)], CLAUDE)[0], plan([(ADD, False)], CLAUDE)[0]
    assert json.loads(claude().encode_tools([strict, loose])) == [
        {"name": "add", "description": "Adds.", "input_schema": strict.schema, "strict": True},
        {"name": "add", "description": "Adds.", "input_schema": loose.schema, "strict": False},
    ]
    assert claude().encode_tools([]) == b""


def test_a_turn_is_sent_back_as_it_came() -> None:
    """Signatures, redacted thinking, blocks and keys that are newer than we: in their order, with all they hold."""
    content: list[dict[str, Any]] = [
        {"type": "thinking", "thinking": "", "signature": "EqQB+/=="},
        {"type": "redacted_thinking", "data": "x" * 20},
        {"type": "text", "text": "Hm ü", "citations": None},
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "q", "n": 1.5}},
        {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [{"page_age": None}]},
        {"type": "of_the_future", "x": {"y": [1, 2, {"z": None}]}},
        {"type": "tool_use", "id": "toolu_1", "name": "add", "input": {"a": 1}, "caller": {"type": "direct"}},
    ]
    reply = claude().decode(message(content=content, stop_reason="tool_use"))
    assert json.loads(claude().encode_message(reply.message)) == {"role": "assistant", "content": content}
    assert reply.message.parts == (
        Reasoning(""),
        Opaque("redacted_thinking"),
        Text("Hm ü"),
        Opaque("server_tool_use"),
        Opaque("web_search_tool_result"),
        Opaque("of_the_future"),
        ToolCall("toolu_1", "add", '{"a":1}'),
    )
    assert reply.stop == "tool_calls"


def test_a_turn_of_another_service_is_translated() -> None:
    """Foreign reasoning and opaque parts stay behind; ids become legal, the same for call and result."""
    provider = claude()
    odd = "functions.add:0"
    turn = Message(
        "assistant",
        (Reasoning("secret"), Text("Let me see."), Opaque("web_search_call"), ToolCall(odd, "add", '{"a": 1}')),
        Native("openai-chat", b'{"role":"assistant"}'),
    )
    results = Message("tool", (ToolOutput(odd, "add", "2"), ToolOutput("call_2", "add", "`add` failed.", True)))
    wire, answer = (json.loads(provider.encode_message(m)) for m in (turn, results))
    assert [b["type"] for b in wire["content"]] == ["text", "tool_use"]
    call_id = wire["content"][1]["id"]
    assert wire["content"][1] == {"type": "tool_use", "id": call_id, "name": "add", "input": {"a": 1}}
    assert call_id.replace("_", "").isalnum()
    assert len(call_id) <= 64
    assert answer == {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": call_id, "content": "2"},
            {"type": "tool_result", "tool_use_id": "call_2", "content": "`add` failed.", "is_error": True},
        ],
    }


def test_arguments_that_are_no_object_stay_readable() -> None:
    """Claude takes nothing but an object as a call's input; what another model wrote is not lost."""
    turn = Message("assistant", (ToolCall("c1", "add", '{"a": 1'),))
    assert json.loads(claude().encode_message(turn))["content"][0]["input"] == {"invalid_json": '{"a": 1'}


def test_what_claude_refuses_to_be_shown_is_left_out() -> None:
    """Blank text blocks and turns without content are 400s."""
    provider = claude()
    assert provider.encode_message(Message("assistant", (Text(" \n"), Reasoning("x")))) == b""
    empty = provider.decode(message(content=[{"type": "text", "text": ""}]))
    assert empty.message.parts == ()
    assert provider.encode_message(empty.message) == b""
    assert body(provider, b'{"role":"user"}', b"", b'{"role":"user"}')["messages"] == [{"role": "user"}] * 2


@pytest.mark.parametrize(
    ("choice", "parallel", "wire"),
    [
        ("auto", None, None),
        ("auto", False, {"type": "auto", "disable_parallel_tool_use": True}),
        ("none", False, {"type": "none"}),
        ("required", None, {"type": "any"}),
        ("required", False, {"type": "any", "disable_parallel_tool_use": True}),
        ("add", True, {"type": "tool", "name": "add"}),
    ],
)
def test_tool_choice(choice: str, parallel: bool | None, wire: dict[str, Any] | None) -> None:
    assert body(claude(), tools=b"[{}]", tool_choice=choice, parallel=parallel).get("tool_choice") == wire


def test_no_tool_choice_without_tools() -> None:
    """The API refuses it."""
    assert "tool_choice" not in body(claude(), tool_choice="required", parallel=False)


@pytest.mark.parametrize(
    ("model", "forced"),
    [
        ("claude-opus-5-5", False),
        ("claude-sonnet-5-5", False),
        ("claude-sonnet-5-5-20260801", False),
        ("anthropic.claude-opus-5-5-v1:0", False),
        ("claude-fable-5-2", False),
        ("claude-mythos-5-1", False),
        ("claude-haiku-5-5", True),
        ("claude-opus-5", True),
        ("claude-fable-5", True),
        ("claude-opus-4-8", True),
    ],
)
def test_models_that_cannot_be_forced(model: str, forced: bool) -> None:
    """They answer 400; the request falls back to auto, and whoever asks is told."""
    provider = claude(model)
    request = Request("", b"[{}]", [], tool_choice="required")
    assert provider.effective_tool_choice(request) == ("required" if forced else "auto")
    assert ("tool_choice" in json.loads(provider.encode_request(request, stream=False))) is forced


def test_thinking_cannot_be_forced_either() -> None:
    provider = claude("claude-opus-4-6", thinking={"type": "enabled", "budget_tokens": 2000})
    assert provider.effective_tool_choice(Request("", b"[{}]", [], tool_choice="add")) == "auto"


# --- settings


def test_settings_are_passed_on() -> None:
    """Those of the model first, those of the request over them; `extra_body` unchecked; hosted tools after ours."""
    provider = claude(max_tokens=100, thinking={"type": "adaptive"}, extra_body={"of_the_future": 1})
    wire = body(provider, tools=b'[{"name":"add"}]', settings={"max_tokens": 200, "tools": [{"type": "web_search"}]})
    assert (wire["max_tokens"], wire["thinking"], wire["of_the_future"]) == (200, {"type": "adaptive"}, 1)
    assert wire["tools"] == [{"name": "add"}, {"type": "web_search"}]
    assert "extra_body" not in wire


def test_the_cache_marker_can_be_switched() -> None:
    assert "cache_control" not in body(claude(cache_control=None))
    hour = {"type": "ephemeral", "ttl": "1h"}
    assert body(claude(), settings={"cache_control": hour})["cache_control"] == hour


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ({"temperature": 0.2}, "no sampling parameters"),
        ({"max_tokns": 5}, "Did you mean 'max_tokens'"),
        ({"max_output_tokens": 5}, "called max_tokens"),
        ({"system": "x"}, "Agent\\(instructions"),
    ],
)
def test_settings_that_cannot_work(setting: dict[str, Any], said: str) -> None:
    """Refused when the model is made, and with a request; unknown names pass, the API may be newer than we."""
    with pytest.raises(ConfigError, match=said):
        claude(**setting)
    with pytest.raises(ConfigError, match=said):
        body(claude(), settings=setting)
    assert body(claude(brand_new_thing=1))["brand_new_thing"] == 1


def test_known_settings_are_those_of_the_sdk() -> None:
    """What the SDK's request type has is neither refused nor taken for a misspelling."""
    from anthropic.types.message_create_params import MessageCreateParamsNonStreaming as Params

    from toolsmith.providers import anthropic as module

    keys = set(Params.__required_keys__ | Params.__optional_keys__)
    headers = {"user_profile_id", "workspace_id"}
    assert keys - headers == (set(module._KNOWN) | set(module._OURS)) - {"extra_body"}  # pyright: ignore[reportPrivateUsage]


def test_answers_too_long_to_come_at_once() -> None:
    """The SDK's own bound of 21,333 tokens for answers that are not streamed."""
    assert body(claude(max_tokens=21_333))["max_tokens"] == 21_333
    with pytest.raises(ConfigError, match="run_stream"):
        body(claude(max_tokens=21_334))
    assert body(claude(max_tokens=64_000), stream=True)["max_tokens"] == 64_000


def test_a_client_with_its_own_timeout_may_wait_longer() -> None:
    """The SDK's rule too."""
    from anthropic import Anthropic

    with Anthropic(api_key="k", timeout=3000) as client:
        assert body(AnthropicMessages("claude-x", client=client), settings={"max_tokens": 64_000})
    with Anthropic(api_key="k") as client, pytest.raises(ConfigError):
        body(AnthropicMessages("claude-x", client=client), settings={"max_tokens": 64_000})


# --- answers


@pytest.mark.parametrize(
    ("reason", "stop"),
    [
        ("end_turn", "end"),
        ("stop_sequence", "end"),
        ("pause_turn", "pause"),
        ("compaction", "pause"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "context"),
        ("refusal", "refusal"),
        ("of_the_future", "unknown"),
        (None, "unknown"),
        ("tool_use", "unknown"),  # without a call in it
    ],
)
def test_stop_reasons(reason: str | None, stop: str) -> None:
    reply = claude().decode(message(content=[{"type": "text", "text": "x"}], stop_reason=reason))
    assert (reply.stop, reply.detail) == (stop, f"stop_reason: {reason}")


def test_a_cut_call_is_never_ready_to_run() -> None:
    """A call cut by `max_tokens` looks like a valid `{}`: only the stop reason tells."""
    call: dict[str, Any] = {"type": "tool_use", "id": "toolu_1", "name": "add", "input": {}}
    reply = claude().decode(message(content=[call], stop_reason="max_tokens"))
    assert (reply.stop, len(reply.message.tool_calls)) == ("length", 1)


def test_a_refusal_says_why() -> None:
    details = {"type": "refusal", "category": "cyber", "explanation": "Not this."}
    reply = claude().decode(message(stop_reason="refusal", stop_details=details))
    assert reply.message.parts == (Refusal("Not this.", "cyber"),)
    assert reply.detail == "stop_reason: refusal (cyber)"


def test_usage_counts_all_input() -> None:
    """The API leaves cached tokens out of `input_tokens`; ours holds them all."""
    usage = {
        "input_tokens": 3,
        "cache_read_input_tokens": 100,
        "cache_creation_input_tokens": 20,
        "output_tokens": 9,
        "output_tokens_details": {"thinking_tokens": 5},
    }
    assert claude().decode(message(usage=usage)).usage == Usage(123, 9, 100, 20, 5, 1)
    assert claude().decode(message(usage={"cache_read_input_tokens": None})).usage == Usage(requests=1)


def test_ids_that_are_missing_or_repeated() -> None:
    """A compatible server's: each call gets an id of its own, in its place, and goes back under it."""
    content: list[dict[str, Any]] = [
        {"type": "tool_use", "id": i, "name": "add", "input": {}} for i in ("", "t", "t", "x.y")
    ]
    first, again = (claude().decode(message(content=content, stop_reason="tool_use")) for _ in range(2))
    ids = [c.id for c in first.message.tool_calls]
    assert len(set(ids)) == 4
    assert ids[1:3] == ["t", "t_2"]
    assert first == again
    native = json.loads(claude().encode_message(first.message))
    assert [b["id"] for b in native["content"]] == ids


@pytest.mark.parametrize(
    "answer", [b"", b"<html>no</html>", b"null", b"[1]", b'{"id": 1}', b'{"content": "x"}', b'{"a']
)
def test_what_is_no_answer(answer: bytes) -> None:
    with pytest.raises(ProviderError) as caught:
        claude().decode(answer)
    assert caught.value.category == "bad_response"
    assert "base_url" in str(caught.value)


def test_an_error_with_status_200() -> None:
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}, "request_id": "req_1"}
    with pytest.raises(ProviderError) as caught:
        claude().decode(json.dumps(error).encode())
    assert (caught.value.category, caught.value.request_id) == ("overloaded", "req_1")


# --- streams


def say(kind: str, **more: object) -> bytes:
    return event({"type": kind, **more}, kind)


def block(index: int, start: dict[str, Any], *deltas: dict[str, Any]) -> bytes:
    parts = [say("content_block_start", index=index, content_block=start)]
    parts += [say("content_block_delta", index=index, delta=d) for d in deltas]
    return b"".join([*parts, say("content_block_stop", index=index)])


def whole(*blocks: bytes, stop: str = "end_turn", usage: dict[str, Any] | None = None) -> bytes:
    start: dict[str, Any] = {
        "id": "msg_1",
        "model": "m",
        "content": [],
        "usage": {"input_tokens": 5, "cache_read_input_tokens": 2},
    }
    end = say("message_delta", delta={"stop_reason": stop}, usage=usage or {"output_tokens": 3})
    return b"".join([say("message_start", message=start), *blocks, end, say("message_stop")])


def test_the_native_turn_of_a_stream() -> None:
    """Signatures, redacted blocks, citations, hosted tools, and deltas of kinds that are newer than we."""
    accumulator = claude().accumulator()
    accumulator.feed(
        whole(
            block(
                0,
                {"type": "thinking", "thinking": "", "signature": ""},
                {"type": "thinking_delta", "thinking": "a"},
                {"type": "thinking_delta", "thinking": "b"},
                {"type": "signature_delta", "signature": "U0lH"},
            ),
            block(1, {"type": "redacted_thinking", "data": "xx"}),
            block(
                2,
                {"type": "text", "text": ""},
                {"type": "text_delta", "text": "Hi"},
                {"type": "citations_delta", "citation": {"n": 1}},
                {"type": "citations_delta", "citation": {"n": 2}},
            ),
            block(
                3,
                {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}},
                {"type": "input_json_delta", "partial_json": '{"q":'},
                {"type": "input_json_delta", "partial_json": '"x"}'},
            ),
            block(
                4,
                {"type": "compaction", "content": None},
                {"type": "compaction_delta", "content": "sum", "encrypted_content": "e"},
            ),
        )
    )
    assert json.loads(accumulator.finish().message.native.items) == {  # pyright: ignore[reportOptionalMemberAccess]
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "ab", "signature": "U0lH"},
            {"type": "redacted_thinking", "data": "xx"},
            {"type": "text", "text": "Hi", "citations": [{"n": 1}, {"n": 2}]},
            {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"q": "x"}},
            {"type": "compaction", "content": "sum", "encrypted_content": "e"},
        ],
    }


def test_arguments_stay_as_the_model_wrote_them() -> None:
    """Spaces, double keys and all: one door checks them. What goes back is an object, as the API demands."""
    text = '{"a": 1, "a": 2}'
    tool: dict[str, Any] = {"type": "tool_use", "id": "t1", "name": "add", "input": {}}
    accumulator = claude().accumulator()
    deltas = accumulator.feed(
        whole(block(0, tool, {"type": "input_json_delta", "partial_json": text}), stop="tool_use")
    )
    reply = accumulator.finish()
    assert deltas == [ToolCallStarted("t1", "add"), ToolArgumentsDelta("t1", text)]
    assert reply.message.tool_calls == (ToolCall("t1", "add", text),)
    assert json.loads(claude().encode_message(reply.message))["content"][0]["input"] == {"a": 2}


def test_a_call_cut_in_the_middle_of_a_stream() -> None:
    """Its text stays for the feedback; the history holds what the API takes."""
    tool: dict[str, Any] = {"type": "tool_use", "id": "t1", "name": "add", "input": {}}
    accumulator = claude().accumulator()
    accumulator.feed(whole(block(0, tool, {"type": "input_json_delta", "partial_json": '{"a": [1'}), stop="max_tokens"))
    reply = accumulator.finish()
    assert (reply.stop, reply.message.tool_calls[0].arguments) == ("length", '{"a": [1')
    assert json.loads(claude().encode_message(reply.message))["content"][0]["input"] == {}


def test_arguments_that_a_server_sends_whole() -> None:
    tool: dict[str, Any] = {"type": "tool_use", "id": "t1", "name": "add", "input": {"a": 1}}
    accumulator = claude().accumulator()
    assert accumulator.feed(whole(block(0, tool), stop="tool_use"))[-1] == ToolArgumentsDelta("t1", '{"a":1}')
    assert accumulator.finish().message.tool_calls[0].arguments == '{"a":1}'


def test_the_usage_of_a_stream_is_cumulative() -> None:
    """What the last event does not repeat stays as the first one said it."""
    accumulator = claude().accumulator()
    accumulator.feed(whole(usage={"output_tokens": 40, "input_tokens": None, "cache_creation_input_tokens": 1}))
    assert accumulator.finish().usage == Usage(8, 40, 2, 1, 0, 1)
