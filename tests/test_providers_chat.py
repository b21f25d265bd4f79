"""Chat Completions, as OpenAI speaks it and as compatible servers do: what goes out, and what is read."""

from __future__ import annotations

import json
from typing import Any

import pytest
from service_answers import chat_chunk, event

from toolsmith.dialects import COMPATIBLE, OPENAI, plan
from toolsmith.errors import ConfigError, ProviderError
from toolsmith.events import Delta, ReasoningDelta, TextDelta, ToolArgumentsDelta, ToolCallStarted
from toolsmith.messages import (
    Message,
    Native,
    Opaque,
    Reasoning,
    Refusal,
    Reply,
    Request,
    Text,
    ToolCall,
    ToolOutput,
    ToolSpec,
    Usage,
)
from toolsmith.providers import ModelSettings
from toolsmith.providers.openai_chat import OpenAIChat

ADD = ToolSpec(
    "add",
    "Adds.",
    {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": False},
)


def chat(base_url: str | None = None, **settings: Any) -> OpenAIChat:
    made = ModelSettings(model="openai-chat:m", api_key="k", base_url=base_url, settings=settings)
    return OpenAIChat("m", settings=made)


def body(provider: OpenAIChat, *messages: bytes, stream: bool = False, **request: Any) -> dict[str, Any]:
    given = Request(request.pop("instructions", ""), request.pop("tools", b""), list(messages), **request)
    return json.loads(provider.encode_request(given, stream=stream))


def completion(finish: str | None = "stop", *, more: dict[str, Any] | None = None, **message: Any) -> bytes:
    choice = {"index": 0, "message": {"role": "assistant", "content": None, **message}, "finish_reason": finish}
    return json.dumps({"id": "c-1", "created": 1, "model": "m", "choices": [choice], **(more or {})}).encode()


def call(call_id: str | None = "call_1", arguments: Any = '{"a": 1}', **more: Any) -> dict[str, Any]:
    made = {"type": "function", "function": {"name": "add", "arguments": arguments}, **more}
    return made if call_id is None else {"id": call_id, **made}


# --- requests


def test_the_shape_of_a_request() -> None:
    provider = chat()
    tools = provider.encode_tools(plan([(ADD, None)], OPENAI))
    first = provider.encode_message(Message("user", (Text("Hi"),)))
    assert body(provider, first, tools=tools, instructions="Be brief.") == {
        "model": "m",
        "tools": json.loads(tools),
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}],
    }
    streamed = body(provider, first, stream=True, settings={"stream_options": {"include_obfuscation": False}})
    assert streamed["stream"] is True
    assert streamed["stream_options"] == {"include_usage": True, "include_obfuscation": False}
    assert "stream_options" not in body(provider, first, settings={"stream_options": {"include_obfuscation": False}})


def test_a_tool_on_the_wire() -> None:
    loose = plan([(ADD, False)], OPENAI)[0]
    function = {"name": "add", "description": "Adds.", "parameters": loose.schema, "strict": False}
    assert json.loads(chat().encode_tools([loose])) == [{"type": "function", "function": function}]


def test_which_service_it_is() -> None:
    """Other servers take other schemas than OpenAI's own."""
    assert chat().service is OPENAI
    assert chat("https://eu.api.openai.com/v1").service is OPENAI
    assert chat("http://localhost:8000/v1").service is COMPATIBLE
    assert chat("https://openai.com.evil.example/v1").service is COMPATIBLE


@pytest.mark.parametrize(
    ("choice", "wire"),
    [
        ("auto", None),
        ("none", "none"),
        ("required", "required"),
        ("add", {"type": "function", "function": {"name": "add"}}),
    ],
)
def test_tool_choice(choice: str, wire: object) -> None:
    request = body(chat(), tools=b"[{}]", tool_choice=choice, parallel=True)
    assert request.get("tool_choice") == wire
    assert request["parallel_tool_calls"] is True
    assert not {"tool_choice", "parallel_tool_calls"} & set(body(chat(), tool_choice=choice, parallel=True))


def test_a_turn_is_sent_back_as_it_came() -> None:
    """With what the server added of its own: some servers refuse the next turn without it."""
    extra = {"google": {"thought_signature": "x"}}
    calls = [call(extra_content=extra)]
    details = [{"type": "reasoning.encrypted", "data": "d", "index": 0}]
    answer = completion("tool_calls", reasoning_content="hm", reasoning_details=details, tool_calls=calls)
    reply = chat().decode(answer)
    assert json.loads(chat().encode_message(reply.message)) == {
        "role": "assistant",
        "content": None,
        "reasoning_content": "hm",
        "reasoning_details": details,
        "tool_calls": calls,
    }
    assert reply.message.parts == (Reasoning("hm"), ToolCall("call_1", "add", '{"a": 1}'))


def test_what_only_an_answer_holds_stays_behind() -> None:
    """Request messages know no annotations, no nulls for what is not there, and of audio only the id."""
    audio = {"id": "audio_1", "data": "AAAA", "expires_at": 1, "transcript": "t"}
    nulls = {"refusal": None, "function_call": None, "tool_calls": None}
    reply = chat().decode(completion(content="Hi", annotations=[{"type": "url_citation"}], audio=audio, **nulls))
    wire = json.loads(chat().encode_message(reply.message))
    assert wire == {"role": "assistant", "content": "Hi", "audio": {"id": "audio_1"}}
    empty = json.loads(chat().encode_message(chat().decode(completion()).message))
    assert empty == {"role": "assistant", "content": ""}


def test_a_turn_of_another_service_is_translated() -> None:
    odd = "toolu.1" + "x" * 50
    turn = Message(
        "assistant",
        (Reasoning("secret"), Text("One. "), Opaque("x"), Refusal("Two."), ToolCall(odd, "add", '{"a":')),
        Native("anthropic", b"{}"),
    )
    outputs = Message("tool", (ToolOutput(odd, "add", "down", True), ToolOutput("c2", "add", "3")))
    wire = json.loads(chat().encode_message(turn))
    made = wire["tool_calls"][0]
    answers = json.loads(b"[" + chat().encode_message(outputs) + b"]")
    assert wire["content"] == "One. Two."
    assert json.loads(made["function"]["arguments"]) == {"invalid_json": '{"a":'}
    assert answers == [
        {"role": "tool", "tool_call_id": made["id"], "content": "Error: down"},
        {"role": "tool", "tool_call_id": "c2", "content": "3"},
    ]
    assert len(made["id"]) <= 40
    assert chat().encode_message(Message("assistant", (Reasoning("only"),))) == b""


@pytest.mark.parametrize(
    "sent", ["functions.add:0", "call|fc_1", "sent_x", "a" * 46, "ü", "functions." + "f" * 60 + ":1"]
)
def test_a_server_sees_its_own_ids_again(sent: str) -> None:
    """Call and result carry the same id; where the server's own can be told from ours it is the server's own.

    Ours is legal everywhere, so that the conversation can go on with another service.
    """
    reply = chat().decode(completion("tool_calls", tool_calls=[call(sent)]))
    label = reply.message.tool_calls[0].id
    echoed = json.loads(chat().encode_message(reply.message))["tool_calls"][0]["id"]
    result = json.loads(chat().encode_message(Message("tool", (ToolOutput(label, "add", "1"),))))
    assert result["tool_call_id"] == echoed
    assert label.replace("_", "").replace("-", "").isalnum()
    assert label.isascii()
    assert len(label) <= 64
    if len(sent) <= 40:
        assert echoed == sent


def test_settings_that_cannot_work() -> None:
    with pytest.raises(ConfigError, match="max_completion_tokens"):
        chat(max_output_tokens=5)
    with pytest.raises(ConfigError, match="one answer"):
        chat(n=2)
    with pytest.raises(ConfigError, match="Did you mean 'temperature'"):
        chat(temprature=0.1)
    assert body(chat(top_k=5, min_p=0.1))["top_k"] == 5  # other servers' own


def test_known_settings_are_those_of_the_sdk() -> None:
    from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming as Params

    from toolsmith.providers import openai_chat as module

    keys = set(Params.__required_keys__ | Params.__optional_keys__)
    assert keys - {"n"} == (set(module._KNOWN) | set(module._OURS)) - {"extra_body"}  # pyright: ignore[reportPrivateUsage]


# --- answers


@pytest.mark.parametrize(
    ("finish", "stop"),
    [
        ("stop", "end"),
        ("length", "length"),
        ("content_filter", "filter"),
        ("error", "error"),
        ("tool_calls", "unknown"),  # without a call
        ("of_the_future", "unknown"),
        (None, "unknown"),
    ],
)
def test_finish_reasons(finish: str | None, stop: str) -> None:
    reply = chat().decode(completion(finish, content="x"))
    assert (reply.stop, reply.detail) == (stop, f"finish_reason: {finish}")


@pytest.mark.parametrize(
    ("finish", "stop"),
    [
        ("tool_calls", "tool_calls"),
        ("stop", "tool_calls"),
        ("function_call", "tool_calls"),
        ("length", "length"),
        ("content_filter", "filter"),
        (None, "unknown"),
    ],
)
def test_finish_reasons_with_calls(finish: str | None, stop: str) -> None:
    """Many servers say "stop" where calls follow; but a cut or filtered turn never runs its calls."""
    assert chat().decode(completion(finish, tool_calls=[call()])).stop == stop


def test_a_refusal_is_no_answer() -> None:
    reply = chat().decode(completion(refusal="I cannot."))
    assert (reply.stop, reply.message.parts) == ("refusal", (Refusal("I cannot."),))
    assert json.loads(chat().encode_message(reply.message))["refusal"] == "I cannot."


def test_usage() -> None:
    usage = {
        "prompt_tokens": 120,
        "completion_tokens": 9,
        "prompt_tokens_details": {"cached_tokens": 100, "cache_write_tokens": 1},
        "completion_tokens_details": {"reasoning_tokens": 5},
    }
    assert chat().decode(completion(more={"usage": usage})).usage == Usage(120, 9, 100, 1, 5, 1)
    assert chat().decode(completion()).usage == Usage(requests=1)
    assert chat().decode(completion(more={"usage": {"prompt_tokens_details": None}})).usage == Usage(requests=1)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [({"a": 1}, '{"a":1}'), (None, "{}"), ("", "{}"), (" ", "{}"), ("{}", "{}"), ('{"a": 1', '{"a": 1'), ([1], "[1]")],
)
def test_arguments_in_all_forms(arguments: Any, text: str) -> None:
    """Objects become text, nothing becomes "no arguments"; what is wrong stays wrong and is judged by the one door."""
    reply = chat().decode(completion("tool_calls", tool_calls=[call(arguments=arguments)]))
    assert reply.message.tool_calls[0].arguments == text
    echoed = json.loads(chat().encode_message(reply.message))["tool_calls"][0]["function"]["arguments"]
    assert isinstance(json.loads(echoed), dict), "servers that parse old arguments would fail the next request"


def test_ids_that_are_missing_or_repeated() -> None:
    """Calls are kept in order; ids are labels, and each call has its own, the same each time it is read."""
    calls = [call(None), call(""), call("c"), call("c"), call("c")]
    first, again = (chat().decode(completion("tool_calls", tool_calls=calls)) for _ in range(2))
    ids = [c.id for c in first.message.tool_calls]
    assert ids[2:] == ["c", "c_2", "c_3"]
    assert len(set(ids)) == 5
    assert first == again
    assert [c["id"] for c in json.loads(chat().encode_message(first.message))["tool_calls"]] == ids
    other = chat().decode(completion("tool_calls", tool_calls=calls, more={"id": "c-2"}))
    assert not {c.id for c in other.message.tool_calls[:2]} & set(ids), "two turns would share an id"


def test_content_in_parts() -> None:
    """Mistral's reasoning models answer so."""
    content = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
        {"type": "text", "text": "Hi "},
        {"type": "text", "text": "there"},
    ]
    reply = chat().decode(completion(content=content))
    assert reply.message.parts == (Reasoning("hm"), Text("Hi "), Text("there"))
    assert json.loads(chat().encode_message(reply.message))["content"] == content


def test_the_form_before_tool_calls() -> None:
    legacy = {"name": "add", "arguments": '{"a": 1}'}
    reply = chat().decode(completion("function_call", function_call=legacy))
    assert reply.message.tool_calls[0].name == "add"
    wire = json.loads(chat().encode_message(reply.message))
    assert "function_call" not in wire
    assert wire["tool_calls"][0]["function"] == legacy


@pytest.mark.parametrize(
    ("answer", "category"),
    [
        (b"", "bad_response"),
        (b"<html>", "bad_response"),
        (b"[" * 100_000, "bad_response"),
        (b'{"choices": []}', "bad_response"),
        (b'{"choices": [{"index": 0}]}', "bad_response"),
        (b'{"error": {"message": "m", "code": 429}}', "rate_limit"),
        (b'{"error": {"message": "m", "type": "exceed_context_size_error", "code": 400}}', "context"),
        (b'{"error": "CUDA out of memory"}', "unknown"),
        (b'{"detail": "Not Found"}', "unknown"),
        (b'{"object": "error", "message": "m", "code": 404}', "not_found"),
        (b'{"choices": [{"error": {"message": "upstream", "code": 502}, "message": {}}]}', "server"),
    ],
)
def test_what_is_no_answer(answer: bytes, category: str) -> None:
    """Routers and small servers report errors with status 200."""
    with pytest.raises(ProviderError) as caught:
        chat().decode(answer)
    assert caught.value.category == category


# --- streams of compatible servers


def stream(*deltas: dict[str, Any], finish: str | None = "tool_calls", done: bool = True) -> tuple[Reply, list[Delta]]:
    accumulator = chat().accumulator()
    found = [d for delta in deltas for d in accumulator.feed(chat_chunk(delta))]
    accumulator.feed(chat_chunk({}, finish=finish))
    if done:
        accumulator.feed(event("[DONE]"))
    return accumulator.finish(), found


def piece(text: Any, name: str | None = None, **at: Any) -> dict[str, Any]:
    function = {"arguments": text} if name is None else {"name": name, "arguments": text}
    return {"tool_calls": [{**at, "function": function}]}


def read(*deltas: dict[str, Any]) -> list[tuple[str, str]]:
    """The calls of a stream, with what was told of them on the way."""
    reply, found = stream(*deltas)
    calls = reply.message.tool_calls
    assert [d.call_id for d in found if isinstance(d, ToolCallStarted)] == [c.id for c in calls]
    for made in calls:
        told = "".join(d.text for d in found if isinstance(d, ToolArgumentsDelta) and d.call_id == made.id)
        assert (told or "{}") == made.arguments
    return [(c.name, c.arguments) for c in calls]


TWO = [("add", '{"a": 1}'), ("sub", '{"b": 2}')]


@pytest.mark.parametrize(
    "deltas",
    [
        pytest.param(
            [
                piece("", "add", index=0, id="x"),
                piece('{"a"', index=0),
                piece(": 1}", index=0),
                piece("", "sub", index=1, id="y"),
                piece('{"b": 2}', index=1),
            ],
            id="as OpenAI does",
        ),
        pytest.param(
            [
                piece("", "add", index=0, id="x"),
                piece("", "sub", index=1, id="y"),
                piece('{"b": 2', index=1),
                piece('{"a": 1}', index=0),
                piece("}", index=1),
            ],
            id="interleaved",
        ),
        pytest.param(
            [piece('{"a": 1}', "add", index=0, id="x"), piece('{"b": 2}', "sub", index=0, id="y")],
            id="one index, two ids",
        ),
        pytest.param(
            [
                piece("", "add", index=0, id="x"),
                piece('{"a": 1}', index=0),
                piece("", "sub", index=0, id="y"),
                piece('{"b": 2}', index=0),
            ],
            id="one index, two ids, in pieces",
        ),
        pytest.param(
            [
                piece('{"a"', "add", index=0, id="x"),
                piece(": 1}", "add", index=0, id="x"),
                piece('{"b"', "sub", index=1, id="y"),
                piece(": 2}", "sub", index=1, id="y"),
            ],
            id="id and name repeated",
        ),
        pytest.param(
            [
                piece('{"a"', "add", id="x"),
                piece(": 1}", "add", id="x"),
                piece('{"b"', "sub", id="y"),
                piece(": 2}", "sub", id="y"),
            ],
            id="no index, id and name repeated",
        ),
        pytest.param(
            [piece("", "add", id="x"), piece('{"a": 1}'), piece("", "sub", id="y"), piece('{"b": 2}')],
            id="no index",
        ),
        pytest.param(
            [
                piece("", "add", id="x"),
                piece("", "sub", id="y"),
                piece('{"a": 1}', id="x"),
                piece('{"b": 2}', id="y"),
            ],
            id="no index, interleaved by id",
        ),
        pytest.param([piece({"a": 1}, "add"), piece({"b": 2}, "sub")], id="whole objects, nothing else"),
        pytest.param(
            [piece('{"a": 1}', "add", index=0), piece('{"b": 2}', "sub", index=0)], id="whole, one index, no ids"
        ),
        pytest.param(
            [piece('{"a": 1}', "add", index=0, id="same"), piece('{"b": 2}', "sub", index=1, id="same")],
            id="one id for all",
        ),
        pytest.param(
            [piece('{"a": 1}', "add", id="same"), piece('{"b": 2}', "sub", id="same")], id="one id for all, no index"
        ),
        pytest.param(
            [piece("", "add"), piece('{"a"'), piece(": 1}"), piece("", "sub"), piece('{"b": 2}')],
            id="no index, no ids, in pieces",
        ),
        pytest.param(
            [{"tool_calls": [*piece('{"a": 1}', "add")["tool_calls"], *piece('{"b": 2}', "sub")["tool_calls"]]}],
            id="both in one chunk",
        ),
        pytest.param(
            [
                piece('{"a": 1}', "add", index=0, id="x"),
                piece(" ", "add", index=0, id="x"),
                piece('{"b": 2}', "sub", index=1),
            ],
            id="space after the arguments",
        ),
    ],
)
def test_calls_in_all_kinds_of_pieces(deltas: list[dict[str, Any]]) -> None:
    """Missing or repeated ids and indexes: two calls in, two calls out, none glued together."""
    calls = [(name, json.dumps(json.loads(arguments))) for name, arguments in read(*deltas)]
    assert calls == TWO


def test_two_calls_of_one_tool_without_ids() -> None:
    """Only the complete arguments of the first tell that another call begins."""
    assert read(piece("", "add"), piece('{"a": 1}'), piece("", "add"), piece('{"a": 2}')) == [
        ("add", '{"a": 1}'),
        ("add", '{"a": 2}'),
    ]


def test_a_name_repeated_after_the_arguments_is_no_new_call() -> None:
    """A server that writes the name into each piece may do so in an empty last one."""
    pieces = [piece('{"a"', "add", index=0), piece(": 1}", "add", index=0), piece("", "add", index=0)]
    assert read(*pieces) == [("add", '{"a": 1}')]


def test_a_call_without_arguments() -> None:
    assert read(piece(None, "add", index=0, id="x")) == [("add", "{}")]
    assert read({"function_call": {"name": "add", "arguments": ""}}, {"function_call": {"arguments": '{"a":1}'}}) == [
        ("add", '{"a":1}')
    ]


def test_a_name_that_comes_late() -> None:
    """The call is told once its name is known, with what was written before."""
    assert read(piece('{"a"', index=0, id="x"), piece(": 1}", "add", index=0)) == [("add", '{"a": 1}')]


def test_what_a_server_adds_to_a_stream() -> None:
    """Signatures in the calls and details beside the words go back with the turn."""
    extra = {"google": {"thought_signature": "x"}}
    first = piece('{"a": 1}', "add", index=0, id="x")
    first["tool_calls"][0]["extra_content"] = extra
    reply, deltas = stream(
        {"role": "assistant", "reasoning": "h", "reasoning_details": [{"data": 1}]},
        {"reasoning": "m", "reasoning_details": [{"data": 2}]},
        {"content": "Hi"},
        first,
    )
    wire = json.loads(chat().encode_message(reply.message))
    assert wire["reasoning"] == "hm"
    assert wire["reasoning_details"] == [{"data": 1}, {"data": 2}]
    assert wire["tool_calls"][0]["extra_content"] == extra
    assert deltas[:3] == [ReasoningDelta("h"), ReasoningDelta("m"), TextDelta("Hi")]


def test_content_that_streams_in_parts() -> None:
    reply, deltas = stream(
        {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]},
        {"content": [{"type": "text", "text": "Hi"}]},
        {"content": " there"},
        finish="stop",
    )
    assert deltas == [ReasoningDelta("hm"), TextDelta("Hi"), TextDelta(" there")]
    assert reply.message.parts == (Reasoning("hm"), Text("Hi"), Text(" there"))


def test_how_a_stream_may_end() -> None:
    """Without [DONE], without usage, without a reason; but with none of them it is not finished."""
    assert stream({"content": "x"}, finish="stop", done=False)[0].stop == "end"
    assert stream({"content": "x"}, finish="stop")[0].usage == Usage(requests=1)
    assert stream({"content": "x"}, finish=None)[0].stop == "unknown"
    with pytest.raises(ProviderError) as caught:
        stream({"content": "x"}, finish=None, done=False)
    assert caught.value.category == "connection"


def test_other_choices_are_not_mixed_in() -> None:
    accumulator = chat().accumulator()
    accumulator.feed(event({"id": "c", "choices": [{"index": 1, "delta": {"content": "b"}}]}))
    accumulator.feed(event({"id": "c", "choices": [{"index": 0, "delta": {"content": "a"}, "finish_reason": "stop"}]}))
    assert accumulator.finish().message.text == "a"
