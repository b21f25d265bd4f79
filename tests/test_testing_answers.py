"""What the scripted model says, the real SDK clients read: through both doors, blocking and not, streamed and not."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, Literal

import anthropic
import httpx2
import openai
import pytest

from toolsmith.messages import Stop, Usage
from toolsmith.testing import Api, ScriptedModel, block, call, pause, raw_call, refuse, say, think, turn
from toolsmith.testing.script import Scripted
from toolsmith.testing.transport import InProcessTransport

Door = Literal["in-process", "socket"]

SCHEMA = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
    "required": ["a", "b"],
    "additionalProperties": False,
}
FUNCTION = {"name": "add", "description": "Adds.", "parameters": SCHEMA, "strict": True}
BODIES: dict[Api, dict[str, Any]] = {
    "anthropic": {
        "model": "claude-opus-5-5",
        "max_tokens": 100,
        "messages": [{"role": "user", "content": "1 + 2?"}],
        "tools": [{"name": "add", "description": "Adds.", "input_schema": SCHEMA, "strict": True}],
    },
    "openai": {"model": "gpt-6-astra", "input": "1 + 2?", "store": False, "tools": [{"type": "function", **FUNCTION}]},
    "openai-chat": {
        "model": "gpt-6-astra",
        "messages": [{"role": "user", "content": "1 + 2?"}],
        "tools": [{"type": "function", "function": FUNCTION}],
    },
}
TURNS: dict[str, Scripted] = {
    "words": say("Three. Drei. Три. 三 🙂"),
    "no words": turn(),
    "one call": call("add", a=1, b=2),
    "parallel calls": [call("add", a=1, b=2), call("add", a=3, b=4), call("add", a=5, b=6)],
    "thought, words and a call": [think("Let me see."), say("I add."), call("add", a=1, b=2)],
    "a call without arguments": call("now"),
    "refusal": refuse("No."),
    "cut in a call": turn(call("add", a=1, b=2).cut(5), stop="length"),
    "cut in words": turn(say("Thr"), stop="length"),
    "filtered": turn(say("Thr"), stop="filter"),
    "an unknown reason": turn(say("Hm"), stop="unknown"),
    "usage": turn(say("3"), usage=Usage(100, 50, cached_tokens=60, cache_write_tokens=10, reasoning_tokens=20)),
}


@contextmanager
def clients(model: ScriptedModel, api: Api, door: Door) -> Generator[tuple[Any, Callable[[], Any]]]:
    """The SDK's blocking client, and a maker of its asyncio client."""
    with model.serve() as server:
        sync_http = httpx2.Client(transport=InProcessTransport(model) if door == "in-process" else None)
        where = server.url(api)

        def aclient() -> Any:
            http = httpx2.AsyncClient(transport=InProcessTransport(model) if door == "in-process" else None)
            kind = anthropic.AsyncAnthropic if api == "anthropic" else openai.AsyncOpenAI
            return kind(api_key="k", base_url=where, http_client=http, max_retries=0)

        kind = anthropic.Anthropic if api == "anthropic" else openai.OpenAI
        with kind(api_key="k", base_url=where, http_client=sync_http, max_retries=0) as client:
            yield client, aclient


def create(client: Any, api: Api) -> Callable[..., Any]:
    """The SDK method that makes a request to this API."""
    if api == "anthropic":
        return client.messages.create
    return client.responses.create if api == "openai" else client.chat.completions.create


def whole_of(api: Api, events: list[Any]) -> dict[str, Any]:
    """Put a stream together the plain way."""
    if api == "openai":
        last = events[-1]
        assert last.type in ("response.completed", "response.incomplete", "response.failed")
        done = [event.item.to_dict() for event in events if event.type == "response.output_item.done"]
        assert [item.to_dict() for item in last.response.output] == done
        return last.response.to_dict()
    return _message(events) if api == "anthropic" else _completion(events)


def _message(events: list[Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    texts: dict[int, str] = {}
    for event in events:
        match event.type:
            case "message_start":
                found = event.message.to_dict()
            case "content_block_start":
                found["content"].append(event.content_block.to_dict())
                assert len(found["content"]) == event.index + 1
            case "content_block_delta":
                kind, delta = event.delta.type, event.delta
                made = found["content"][event.index]
                if kind == "input_json_delta":
                    texts[event.index] = texts.get(event.index, "") + delta.partial_json
                else:
                    key = kind.removesuffix("_delta")
                    made[key] += getattr(delta, key)
            case "message_delta":
                found |= event.delta.to_dict()
                found["usage"] |= event.usage.to_dict()
            case _:
                assert event.type in ("ping", "content_block_stop", "message_stop")
    assert events[-1].type == "message_stop"
    for index, text in texts.items():
        try:
            found["content"][index]["input"] = json.loads(text or "{}")
        except ValueError:
            found["content"][index]["input"] = {}
    return found


def _completion(chunks: list[Any]) -> dict[str, Any]:
    message: dict[str, Any] = {}
    finish = usage = None
    for chunk in chunks:
        usage = chunk.to_dict().get("usage") or usage
        for choice in chunk.to_dict()["choices"]:
            finish = choice["finish_reason"] or finish
            for key, value in choice["delta"].items():
                if key != "tool_calls":
                    message[key] = (message.get(key) or "") + value if value is not None else message.get(key)
            for made in choice["delta"].get("tool_calls", []):
                calls = message.setdefault("tool_calls", [])
                if made["index"] == len(calls):
                    calls.append({k: v for k, v in made.items() if k != "index"})
                else:
                    calls[made["index"]]["function"]["arguments"] += made["function"]["arguments"]
    return {"message": message, "finish_reason": finish, "usage": usage}


def comparable(api: Api, whole: dict[str, Any]) -> dict[str, Any]:
    """What a whole answer and a stream have in common."""
    if api != "openai-chat":
        return whole
    message = {k: v for k, v in whole["choices"][0]["message"].items() if k != "annotations"}
    return {"message": message, "finish_reason": whole["choices"][0]["finish_reason"], "usage": whole["usage"]}


@pytest.mark.parametrize("door", ["in-process", "socket"])
@pytest.mark.parametrize("api", list(BODIES))
@pytest.mark.parametrize("scripted", TURNS.values(), ids=TURNS)
def test_a_stream_says_what_a_whole_answer_says(scripted: Scripted, api: Api, door: Door) -> None:
    """Four ways to ask (blocking or not, streamed or not) get one answer, ids included."""
    model = ScriptedModel(lambda _: scripted)
    body = BODIES[api]
    streaming = {**body, "stream": True} | ({"stream_options": {"include_usage": True}} if api == "openai-chat" else {})

    async def both(client: Any) -> tuple[dict[str, Any], list[Any]]:
        async with client:
            answer = await create(client, api)(**body)
            return answer.to_dict(), [event async for event in await create(client, api)(**streaming)]

    with clients(model, api, door) as (client, aclient):
        whole = create(client, api)(**body).to_dict()
        events = list(create(client, api)(**streaming))
        again, async_events = asyncio.run(both(aclient()))
    model.assert_exhausted()
    assert again == whole
    assert [e.to_dict() for e in async_events] == [e.to_dict() for e in events]
    assert whole_of(api, events) == comparable(api, whole)


ENDINGS: dict[Stop, dict[Api, str]] = {
    "end": {"anthropic": "end_turn", "openai": "completed", "openai-chat": "stop"},
    "tool_calls": {"anthropic": "tool_use", "openai": "completed", "openai-chat": "tool_calls"},
    "length": {"anthropic": "max_tokens", "openai": "incomplete:max_output_tokens", "openai-chat": "length"},
    "filter": {"anthropic": "refusal", "openai": "incomplete:content_filter", "openai-chat": "content_filter"},
    "refusal": {"anthropic": "refusal", "openai": "completed", "openai-chat": "stop"},
}


@pytest.mark.parametrize("api", list(BODIES))
@pytest.mark.parametrize("stop", list(ENDINGS))
def test_each_ending_has_the_word_of_its_api(stop: Stop, api: Api) -> None:
    """`stop` is neutral in a script and the service's own word on the wire."""
    model = ScriptedModel([turn(say("x"), stop=stop)])
    status, raw = model(f"/v1{PATH[api]}", BODIES[api])
    found = json.loads(raw)
    assert status == 200
    if api == "anthropic":
        assert found["stop_reason"] == ENDINGS[stop][api]
    elif api == "openai":
        details: dict[str, str] = found["incomplete_details"] or {}
        assert ":".join([found["status"], *details.values()]) == ENDINGS[stop][api]
    else:
        assert found["choices"][0]["finish_reason"] == ENDINGS[stop][api]


PATH: dict[Api, str] = {"anthropic": "/messages", "openai": "/responses", "openai-chat": "/chat/completions"}


def ask(api: Api, scripted: Scripted, **more: Any) -> dict[str, Any]:
    status, raw = ScriptedModel([scripted])(f"/v1{PATH[api]}", {**BODIES[api], **more})
    assert status == 200, raw
    return json.loads(raw)


def test_claude_pauses_with_a_tool_of_its_own() -> None:
    """A paused turn ends in a call that the service runs, so that it may be sent back as it is."""
    found = ask("anthropic", pause(say("Searching.")))
    assert found["stop_reason"] == "pause_turn"
    assert [b["type"] for b in found["content"]] == ["thinking", "text", "server_tool_use"]


def test_claude_explains_a_refusal_beside_the_content() -> None:
    """Claude's refusal has no words in the content: they stand in `stop_details`."""
    found = ask("anthropic", refuse("Too dangerous.", category="bio"))
    assert found["stop_details"] == {"type": "refusal", "category": "bio", "explanation": "Too dangerous."}
    assert [b["type"] for b in found["content"]] == ["thinking"]


def test_current_models_think_without_being_asked() -> None:
    """A block with an empty text and a signature, as `display: omitted` gives; older models and Chat have none."""
    assert ask("anthropic", say("3"))["content"][0]["thinking"] == ""
    assert [b["type"] for b in ask("anthropic", say("3"), model="claude-opus-4-5")["content"]] == ["text"]
    assert [i["type"] for i in ask("openai", say("3"))["output"]] == ["reasoning", "message"]
    assert [i["type"] for i in ask("openai", say("3"), model="gpt-4.1")["output"]] == ["message"]


def test_text_that_is_no_json_goes_out_as_it_is() -> None:
    """OpenAI hands on what the model wrote."""
    text = '{"a": 1, "a": NaN'
    assert ask("openai", raw_call("add", text))["output"][-1]["arguments"] == text
    made = ask("openai-chat", raw_call("add", text))["choices"][0]["message"]["tool_calls"][0]
    assert made["function"]["arguments"] == text


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1, "b": ',
        '{"a": 1}{"a": 2}',
        "null",
        "[]",
        '"x"',
        '{"a": NaN}',
        '{"a": 1, "a": 2}',
        '{"a": ' + "[" * 200_000,
    ],
)
def test_what_claude_cannot_say_at_once_is_not_said(text: str) -> None:
    """Its whole answer holds arguments as an object: another in their place would be run, and was never sent."""
    status, raw = ScriptedModel([raw_call("add", text)])("/v1/messages", BODIES["anthropic"])
    message = json.loads(raw)["error"]["message"]
    assert status == 400
    assert "raw_call('add', ...): an answer of Claude that is not streamed holds arguments as a JSON object" in message
    assert "stream the run, or use another API" in message
    status, raw = ScriptedModel([raw_call("add", text)])("/v1/messages", {**BODIES["anthropic"], "stream": True})
    assert status == 200


@pytest.mark.parametrize(
    ("text", "arrives"), [("{}", {}), ("", {}), (' {"a":\n[1.50, "\\ud800"]}', {"a": [1.5, "\ud800"]})]
)
def test_what_claude_can_say_at_once(text: str, arrives: dict[str, Any]) -> None:
    """An object, however it is written; no arguments at all are an empty one, as in a stream."""
    assert ask("anthropic", raw_call("add", text))["content"][-1]["input"] == arrives


def test_a_call_that_was_cut_may_have_lost_its_arguments() -> None:
    """Of a turn that ended at the output limit no call is run, so that an empty object stands for what was begun."""
    cut = turn(raw_call("add", '{"a": '), call("add", a=1, b=2).cut(5), stop="length")
    assert [b["input"] for b in ask("anthropic", cut)["content"] if b["type"] == "tool_use"] == [{}, {}]
    status, _ = ScriptedModel([call("add", a=1, b=2).cut(5)])("/v1/messages", BODIES["anthropic"])
    assert status == 400


@pytest.mark.parametrize("api", list(BODIES))
def test_ids_are_the_scripts_where_it_gives_them(api: Api) -> None:
    """Empty and repeated ids happen with compatible servers; a script can make them."""
    found = json.dumps(ask(api, [call("add", a=1, b=2).with_id("x"), call("add", a=1, b=2).with_id("x")]))
    assert found.count('"x"') == 2


@pytest.mark.parametrize("api", list(BODIES))
def test_blocks_go_out_as_they_are(api: Api) -> None:
    """What only one API knows, today or some day, can be scripted too."""
    raw = {"type": "hologram", "id": "holo_1", "data": {"x": [1, None, "é"]}}
    assert json.dumps(raw) in json.dumps(ask(api, [say("Look."), block(raw)])) or api == "openai-chat"
    if api == "openai-chat":
        assert ask(api, [say("Look."), block({"audio": {"id": "a1"}})])["choices"][0]["message"]["audio"] == {
            "id": "a1"
        }


def test_tokens_can_be_counted() -> None:
    """Claude's free counting endpoint answers."""
    status, raw = ScriptedModel([])("/v1/messages/count_tokens", BODIES["anthropic"])
    assert (status, list(json.loads(raw))) == (200, ["input_tokens"])
