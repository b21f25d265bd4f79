"""Every rule of the scripted model refuses what it says it refuses, in the words and with the codes of its service."""

from __future__ import annotations

import base64
import copy
import json
from collections.abc import Callable
from typing import Any, cast

import anthropic
import httpx2
import openai
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pictures import PDF, png

from toolsmith.testing import Api, ScriptedModel, call, rules, rules_table, say, think
from toolsmith.testing.transport import InProcessTransport

Body = dict[str, Any]

PATHS: dict[Api, str] = {"anthropic": "/v1/messages", "openai": "/v1/responses", "openai-chat": "/v1/chat/completions"}
SCHEMA = {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"], "additionalProperties": False}


def good(api: Api) -> Body:
    """A request after one round of two parallel calls, as the API wants it."""
    function = {"name": "find", "description": "Finds.", "parameters": copy.deepcopy(SCHEMA), "strict": True}
    if api == "anthropic":
        claude = {"name": "find", "description": "Finds.", "input_schema": copy.deepcopy(SCHEMA), "strict": True}
        first: Body = {
            "model": "claude-opus-5-5",
            "max_tokens": 100,
            "system": "Be brief.",
            "messages": [{"role": "user", "content": "Find x and y."}],
            "tools": [claude],
        }
        content = answered(api, first)["content"]
        results = [_result(block["id"]) for block in content if block["type"] == "tool_use"]
        first["messages"] += [{"role": "assistant", "content": content}, {"role": "user", "content": results}]
        return first
    if api == "openai":
        first = {
            "model": "gpt-6-astra",
            "input": [{"role": "user", "content": "Find x and y."}],
            "store": False,
            "tools": [{"type": "function", **function}],
        }
        output = answered(api, first)["output"]
        calls = [item["call_id"] for item in output if item["type"] == "function_call"]
        first["input"] += output + [{"type": "function_call_output", "call_id": c, "output": "found"} for c in calls]
        return first
    first = {
        "model": "gpt-6-astra",
        "messages": [{"role": "user", "content": "Find x and y."}],
        "tools": [{"type": "function", "function": function}],
    }
    message = answered(api, first)["choices"][0]["message"]
    results = [{"role": "tool", "tool_call_id": c["id"], "content": "found"} for c in message["tool_calls"]]
    first["messages"] += [message, *results]
    return first


def answered(api: Api, body: Body) -> Body:
    turn = [think("Hm."), say("I look."), call("find", q="x"), call("find", q="y")]
    status, raw = ScriptedModel([turn if api != "openai-chat" else turn[1:]])(PATHS[api], body)
    assert status == 200, raw
    return json.loads(raw)


def _result(call_id: str) -> Body:
    return {"type": "tool_result", "tool_use_id": call_id, "content": "found"}


def put(*path: str | int, value: Any) -> Callable[[Body], None]:
    """A change: set what stands at a path, with `-1` for the last of a list."""

    def change(body: Body) -> None:
        node: Any = body
        for step in path[:-1]:
            node = node[step]
        node[path[-1]] = value

    return change


def drop(*path: str | int) -> Callable[[Body], None]:
    """A change: take away what stands at a path."""

    def change(body: Body) -> None:
        node: Any = body
        for step in path[:-1]:
            node = node[step]
        del node[path[-1]]

    return change


def add(*path: str | int, item: Any) -> Callable[[Body], None]:
    """A change: put one more item at the end of a list; a function makes the item from the body."""

    def change(body: Body) -> None:
        node: Any = body
        for step in path:
            node = node[step]
        node.append(item(body) if callable(item) else copy.deepcopy(item))

    return change


def again(*path: str | int) -> Callable[[Body], Any]:
    """For `add`: a copy of what stands at a path."""

    def copied(body: Body) -> Any:
        node: Any = body
        for step in path:
            node = node[step]
        return copy.deepcopy(node)

    return copied


def one_id(*path: str | int, key: str = "id") -> Callable[[Body], None]:
    """A change: the last two of a list share an id."""

    def change(body: Body) -> None:
        found = again(*path)(body)
        put(*path, -1, key, value=found[-2][key])(body)

    return change


def no_tools_but_parallel(body: Body) -> None:
    body.pop("tools")
    body["parallel_tool_calls"] = False


def later(body: Body) -> None:
    """A change: the results come, but only after other words."""
    said = [{"role": "assistant", "content": "Wait."}, {"role": "user", "content": "Yes?"}]
    body["messages"][2:2] = said


def tools(count: int, schema: Body) -> Callable[[Body], None]:
    """A change: so many strict tools of this schema, and a history that knows nothing of them."""

    def change(body: Body) -> None:
        body["messages"] = body["messages"][:1]
        body["tools"] = [{"name": f"t{n}", "input_schema": copy.deepcopy(schema), "strict": True} for n in range(count)]

    return change


def no_history(change: Callable[[Body], None]) -> Callable[[Body], None]:
    """The change in the first request of a conversation, so that no thinking is bound to what it alters."""

    def changed(body: Body) -> None:
        body["messages"] = body["messages"][:1]
        change(body)

    return changed


def swap(*path: str | int) -> Callable[[Body], None]:
    """A change: turn a list around."""

    def change(body: Body) -> None:
        node: Any = body
        for step in path:
            node = node[step]
        node.reverse()

    return change


OPTIONAL = {
    "type": "object",
    "properties": {f"p{n}": {"type": "string"} for n in range(9)},
    "additionalProperties": False,
}
UNION = {"anyOf": [{"type": "string"}, {"type": "null"}]}
UNIONS = {
    "type": "object",
    "properties": {f"p{n}": UNION for n in range(9)},
    "required": [f"p{n}" for n in range(9)],
    "additionalProperties": False,
}
LOOSE: Body = {"type": "object", "properties": {"q": {"type": "string", "default": "x", "minLength": 2}}}
WANTED: Body = {"name": "x", "strict": True, "schema": LOOSE}
IMAGE = {"type": "image_url", "image_url": {"url": "https://example.org/x.png"}}
PNG = base64.b64encode(png()).decode()
DOCUMENT = base64.b64encode(PDF).decode()


def source(**keys: str) -> Body:
    """A picture for Claude."""
    return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG, **keys}}


def document(**keys: str) -> Body:
    """A PDF for Claude."""
    return {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": DOCUMENT, **keys}}


def input_image(url: str) -> Body:
    return {"type": "input_image", "image_url": url, "detail": "auto"}


def input_file(**keys: str) -> Body:
    return {"type": "input_file", **keys}


def image_url(url: str) -> Body:
    return {"type": "image_url", "image_url": {"url": url}}


def file(**keys: str) -> Body:
    return {"type": "file", "file": keys}


RIGHT: dict[Api, list[Body]] = {
    "anthropic": [
        source(),
        document(),
        {"type": "image", "source": {"type": "url", "url": "https://example.org/x"}},
        {"type": "image", "source": {"type": "file", "file_id": "file_1"}},
        {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "x"}, "title": "x"},
        {"type": "document", "source": {"type": "content", "content": "x"}},
    ],
    "openai": [
        input_image(f"data:image/png;base64,{PNG}"),
        input_image("https://example.org/x"),
        {"type": "input_image", "file_id": "file_1"},
        input_file(filename="x.pdf", file_data=f"data:application/pdf;base64,{DOCUMENT}"),
        input_file(file_url="https://example.org/x"),
        input_file(file_id="file_1"),
    ],
    "openai-chat": [
        image_url(f"data:image/png;base64,{PNG}"),
        image_url("https://example.org/x"),
        file(filename="x.pdf", file_data=f"data:application/pdf;base64,{DOCUMENT}"),
        file(file_id="file_1"),
    ],
}


def seen(*parts: Body) -> Callable[[Body], None]:
    """A change: the user shows this, in the first message of a conversation."""

    def change(body: Body) -> None:
        key = "input" if "input" in body else "messages"
        body[key] = [{"role": "user", "content": list(parts)}]

    return change


TOOL_A, TOOL_O, TOOL_C = ("tools", 0), ("tools", 0), ("tools", 0, "function")

CLAUDE: list[tuple[str, Callable[[Body], None]]] = [
    ("sampling-parameter", put("temperature", value=1.0)),
    ("sampling-parameter", put("top_k", value=5)),
    ("unknown-parameter", put("max_completion_tokens", value=5)),
    ("model", drop("model")),
    ("max-tokens", drop("max_tokens")),
    ("max-tokens", put("max_tokens", value=0)),
    ("max-tokens", put("max_tokens", value=200_000)),
    ("system", put("system", value=[{"type": "text", "text": ""}])),
    ("thinking-config", put("thinking", value={"type": "enabled", "budget_tokens": 2000})),
    ("thinking-config", put("thinking", value={"type": "disabled"})),
    ("tool-shape", put(*TOOL_A, "parameters", value={})),
    ("tool-shape", drop(*TOOL_A, "input_schema")),
    ("hosted-tool", add("tools", item={"type": "web_search_20991231", "name": "web_search"})),
    ("hosted-tool", add("tools", item={"type": "web_search_20260318", "name": "search"})),
    ("tool-name", put(*TOOL_A, "name", value="find it!")),
    ("tool-name", put(*TOOL_A, "name", value="x" * 65)),
    ("tool-name-unique", add("tools", item=again("tools", 0))),
    ("tool-schema", put(*TOOL_A, "input_schema", value={"type": "string"})),
    ("tool-schema", put(*TOOL_A, "input_schema", value={"type": "object", "properties": {"q": {"type": "text"}}})),
    ("tool-schema", put(*TOOL_A, "input_schema", value={"type": "object", "anyOf": [SCHEMA]})),
    ("property-name", put(*TOOL_A, "input_schema", "properties", "größe", value={"type": "string"})),
    ("property-name", put(*TOOL_A, "input_schema", "properties", "x" * 65, value={"type": "string"})),
    ("strict-schema", put(*TOOL_A, "input_schema", value=LOOSE)),
    ("strict-schema", put(*TOOL_A, "input_schema", "properties", "q", "minLength", value=1)),
    ("strict-ceilings", tools(21, SCHEMA)),
    ("strict-ceilings", tools(3, OPTIONAL)),
    ("strict-ceilings", tools(2, UNIONS)),
    ("output-format", put("output_config", value={"format": {"type": "json_schema", "schema": LOOSE}})),
    ("tool-choice", put("tool_choice", value="auto")),
    ("tool-choice", put("tool_choice", value={"type": "tool", "name": "lose"})),
    ("tool-choice", no_history(lambda body: body.update(tools=[], tool_choice={"type": "auto"}))),
    ("forced-choice", put("tool_choice", value={"type": "any"})),
    ("forced-choice", put("tool_choice", value={"type": "tool", "name": "find"})),
    ("messages", put("messages", value=[])),
    ("messages", put("messages", 0, "name", value="Ann")),
    ("role", put("messages", 0, "role", value="system")),
    ("role", put("messages", value=[{"role": "assistant", "content": "Hi"}, {"role": "user", "content": "Hi"}])),
    ("empty-content", put("messages", 0, "content", value="")),
    ("empty-content", put("messages", 0, "content", value=[])),
    ("empty-content", put("messages", 0, "content", value=[{"type": "text", "text": " \n"}])),
    ("block", put("messages", 0, "content", value=[{"type": "input_text", "text": "x"}])),
    ("block", put("messages", 0, "content", value=[{"type": "text", "text": "x", "name": "Ann"}])),
    ("block", put("messages", 1, "content", -1, "input", value="{}")),
    ("block", put("messages", 1, "content", -1, "id", value="call:1")),
    ("block", add("messages", 2, "content", item={"type": "tool_use", "id": "t", "name": "find", "input": {}})),
    ("block", put("messages", 2, "content", 0, "content", value=[IMAGE])),
    ("media", seen(source(media_type="image/bmp"))),
    ("media", seen(source(media_type="image/jpeg"))),
    ("media", seen(source(data=""))),
    ("media", seen(source(data="!"))),
    ("media", seen(source(data="AAAA"))),
    ("media", seen(source(data=base64.b64encode(png(padding=7_900_000)).decode()))),
    ("media", seen(source(data=base64.b64encode(png(8001, 1)).decode()))),
    ("media", seen(source(type="href"))),
    ("media", seen({"type": "image"})),
    ("media", seen({"type": "image", "source": {"type": "url", "url": "http://example.org/x"}})),
    ("media", seen({"type": "image", "source": {"type": "file"}})),
    ("media", seen({"type": "image", "source": {"type": "text", "media_type": "text/plain", "data": "x"}})),
    ("media", seen(document(media_type="text/csv"))),
    ("media", seen(document(data=PNG))),
    ("media", seen({"type": "document", "source": {"type": "text", "media_type": "text/csv", "data": "x"}})),
    ("media", seen({"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": " "}})),
    ("media", put("messages", 2, "content", 0, "content", value=[source(media_type="image/gif")])),
    ("media-room", seen(*[source(data=base64.b64encode(png(2001, 1)).decode())] * 21)),
    ("media-room", seen(*[source()] * 601)),
    ("request-size", seen({"type": "text", "text": "x" * 33 * 2**20})),
    ("error-result", lambda body: body["messages"][2]["content"][0].update(is_error=True, content=[source()])),
    ("search-result", add("messages", 1, "content", item={"type": "web_search_tool_result", "tool_use_id": "t"})),
    ("call-id-unique", one_id("messages", 1, "content")),
    ("result-first", lambda body: body["messages"][2]["content"].insert(0, {"type": "text", "text": "So:"})),
    ("result-missing", drop("messages", 2, "content", 1)),
    ("result-missing", drop("messages", 2)),
    ("result-first", later),
    ("result-orphan", add("messages", 2, "content", item=_result("toolu_else"))),
    ("result-orphan", drop("messages", 1)),
    ("result-twice", add("messages", 2, "content", item=again("messages", 2, "content", 0))),
    ("prefill", add("messages", item={"role": "assistant", "content": "The answer is"})),
    ("thinking-signature", put("messages", 1, "content", 0, "signature", value="EqQBnothing")),
    ("thinking-signature", put("messages", 1, "content", 0, "thinking", value="Hm!")),
    ("thinking-signature", put("model", value="claude-sonnet-5-5")),
    ("thinking-prefix", put("system", value="Be long.")),
    ("thinking-prefix", put("messages", 0, "content", value="Find z.")),
    ("thinking-prefix", put(*TOOL_A, "description", value="Finds it.")),
    ("thinking-prefix", add("tools", item={"name": "lose", "input_schema": SCHEMA, "strict": True})),
    ("thinking-missing", drop("messages", 1, "content", 0)),
]  # fmt: skip

NAMED = {"type": "function", "name": "lose", "function": {"name": "lose"}}
ALLOWED: Body = {"type": "allowed_tools", "mode": "auto", "tools": [NAMED]}

SHARED: list[tuple[str, Callable[[Body], None]]] = [
    ("unknown-parameter", put("max_tool_turns", value=5)),
    ("model", drop("model")),
    ("sampling-parameter", put("temperature", value=0.5)),
    ("tool-choice", put("tool_choice", value="any")),
    ("tool-choice", put("tool_choice", value={"type": "function", "name": "lose", "function": {"name": "lose"}})),
    ("tool-choice", put("tool_choice", value={"type": "allowed_tools", "mode": "auto", "tools": []})),
    ("tool-choice", put("tool_choice", value={"type": "allowed_tools", "allowed_tools": {"tools": [NAMED]}})),
    ("tool-choice", put("tool_choice", value={**ALLOWED, "allowed_tools": ALLOWED})),
]

RESPONSES: list[tuple[str, Callable[[Body], None]]] = [
    *SHARED,
    ("tool-shape", put("tools", value=[{"type": "function", "function": {"name": "find"}}])),
    ("tool-shape", put(*TOOL_O, "input_schema", value={})),
    ("hosted-tool", add("tools", item={"type": "web_search_2099"})),
    ("hosted-tool", add("tools", item={"type": "web_search", "max_uses": 3})),
    ("tool-name", put(*TOOL_O, "name", value="find it!")),
    ("tool-name-unique", add("tools", item=again("tools", 0))),
    ("tool-schema", put(*TOOL_O, "parameters", value={"type": "array", "items": {}})),
    ("strict-schema", put(*TOOL_O, "parameters", value=LOOSE)),
    (
        "output-format",
        put("text", value={"format": {"type": "json_schema", **WANTED}}),
    ),
    ("input", drop("input")),
    ("server-state", put("previous_response_id", value="resp_1")),
    ("max-output-tokens", put("max_output_tokens", value=5)),
    ("item", add("input", item={"type": "tool_result", "call_id": "x"})),
    ("item", put("input", -1, "is_error", value=True)),
    ("item", put("input", 0, "role", value="tool")),
    ("content", put("input", 0, "content", value=[{"type": "text", "text": "x"}])),
    ("content", put("input", 2, "content", value=[{"type": "input_text", "text": "x"}])),
    ("content", put("input", -1, "output", value=[IMAGE])),
    ("content", drop("input", -1, "output")),
    ("media", seen(input_image("iVBOR"))),
    ("media", seen(input_image("data:application/pdf;base64,AAAA"))),
    ("media", seen(input_image("data:image/png;base64,"))),
    ("media", seen(input_image("data:image/png;base64,!"))),
    ("media", seen(input_image("data:image/png;base64,AAAA"))),
    ("media", seen({"type": "input_image"})),
    ("media", seen({**input_image("https://example.org/x"), "media_type": "image/png"})),
    ("media", seen(input_file(filename="x.pdf"))),
    ("media", seen(input_file(file_data=f"data:application/pdf;base64,{DOCUMENT}"))),
    ("media", seen(input_file(filename="x.pdf", file_data=DOCUMENT))),
    ("media", seen(input_file(filename="x.pdf", file_url="https://example.org/x"))),
    ("media", seen(input_file(file_url="https://example.org/x", file_id="file_1"))),
    ("media", seen(input_file(file_url="https://example.org/x", title="x"))),
    ("media", put("input", -1, "output", value=[input_image("")])),
    ("call", put("input", 3, "call_id", value="c" * 65)),
    ("call", put("input", 3, "call_id", value="functions.find:0")),
    ("call", put("input", 3, "arguments", value={})),
    ("call", drop("input", -1, "call_id")),
    ("item-id", put("input", 3, "id", value="call_1")),
    ("item-id", put("input", 4, "id", value="fc_s000n02_r")),
    ("result-missing", drop("input", -1)),
    ("result-orphan", add("input", item={"type": "function_call_output", "call_id": "call_else", "output": "x"})),
    ("result-orphan", add("input", item=again("input", -1))),
    ("result-orphan", swap("input")),
    ("reasoning-content", drop("input", 1, "encrypted_content")),
    ("reasoning-content", put("input", 1, "encrypted_content", value="gAAAAAB")),
    ("reasoning-follower", lambda body: body.update(input=body["input"][:2])),
    ("reasoning-missing", drop("input", 1)),
]

CHAT: list[tuple[str, Callable[[Body], None]]] = [
    *SHARED,
    ("tool-shape", put("tools", value=[{"type": "function", "name": "find", "parameters": SCHEMA}])),
    ("tool-shape", put(*TOOL_C, "input_schema", value={})),
    ("hosted-tool", add("tools", item={"type": "web_search"})),
    ("tool-name", put(*TOOL_C, "name", value="")),
    ("tool-name-unique", add("tools", item=again("tools", 0))),
    ("tool-schema", put(*TOOL_C, "parameters", value={"type": "object", "properties": {"q": {"type": "array"}}})),
    ("strict-schema", put(*TOOL_C, "parameters", value=LOOSE)),
    ("output-format", put("response_format", value={"type": "json_schema", "json_schema": WANTED})),
    ("max-tokens", put("max_tokens", value=100)),
    ("stream-options", put("stream_options", value={"include_usage": True})),
    ("empty-tools", put("tools", value=[])),
    ("parallel-without-tools", no_tools_but_parallel),
    ("messages", put("messages", value=[])),
    ("role", put("messages", 0, "role", value="human")),
    ("message-key", put("messages", -1, "is_error", value=True)),
    ("content", put("messages", -1, "content", value=[IMAGE])),
    ("content", put("messages", 0, "content", value=None)),
    ("content", put("messages", 0, "content", value=[])),
    ("media", seen(image_url("iVBOR"))),
    ("media", seen(image_url("data:image/bmp;base64,AAAA"))),
    ("media", seen(image_url(""))),
    ("media", seen(file(filename="x.csv", file_data="data:text/csv;base64,YSxi"))),
    ("media", seen(file(filename="x.pdf", file_data="data:application/pdf;base64,"))),
    ("media", seen(file(file_data=f"data:application/pdf;base64,{DOCUMENT}"))),
    ("media", seen({"type": "file", "file": "x"})),
    ("call", put("messages", 1, "tool_calls", 0, "id", value="c" * 41)),
    ("call", put("messages", 1, "tool_calls", 0, "function", "arguments", value={})),
    ("call", put("messages", 1, "tool_calls", value=[])),
    ("call-id-unique", one_id("messages", 1, "tool_calls")),
    ("result-missing", drop("messages", -1)),
    ("result-missing", lambda body: body["messages"].insert(2, {"role": "user", "content": "Wait."})),
    ("result-orphan", add("messages", item={"role": "tool", "tool_call_id": "call_else", "content": "x"})),
    ("result-orphan", add("messages", item=again("messages", -1))),
]  # fmt: skip

ALL: dict[Api, list[tuple[str, Callable[[Body], None]]]] = {
    "anthropic": CLAUDE,
    "openai": RESPONSES,
    "openai-chat": CHAT,
}
APIS = list(ALL)
CASES = [(api, name, change) for api, cases in ALL.items() for name, change in cases]


def tell(api: Api, body: Body) -> tuple[ScriptedModel, int, Body]:
    model = ScriptedModel([say("Found.")])
    status, raw = model(PATHS[api], body)
    return model, status, json.loads(raw)


@pytest.mark.parametrize("api", APIS)
def test_a_right_request_is_answered(api: Api) -> None:
    """The request that the cases below spoil is itself in order."""
    model, status, _ = tell(api, good(api))
    assert (status, model.refusals) == (200, [])


@pytest.mark.parametrize(("api", "part"), [(api, part) for api, parts in RIGHT.items() for part in parts])
def test_images_and_files_are_taken(api: Api, part: Body) -> None:
    """Each form that the SDKs' types name and a user can build without the services' own stores, and those."""
    body = good(api)
    seen(part)(body)
    model, status, answer = tell(api, body)
    assert (status, model.refusals) == (200, []), answer


@pytest.mark.parametrize(("api", "name", "change"), CASES, ids=[f"{a}-{n}-{i}" for i, (a, n, _) in enumerate(CASES)])
def test_a_rule_refuses(api: Api, name: str, change: Callable[[Body], None]) -> None:
    """One change that the service would not take, and the rule that says so."""
    body = good(api)
    change(body)
    model, status, answer = tell(api, body)
    assert [refusal.rule.name for refusal in model.refusals] == [name]
    assert 400 <= status < 500
    error = answer["error"]
    assert error["type"] == ("request_too_large" if status == 413 else "invalid_request_error")
    assert error["message"]
    assert (answer.get("type") == "error") == (api == "anthropic")
    if api != "anthropic":
        assert set(error) == {"message", "type", "param", "code"}
    with pytest.raises(AssertionError, match=name):
        model.assert_exhausted()


@pytest.mark.parametrize("api", APIS)
def test_every_rule_has_a_case(api: Api) -> None:
    """No rule is written down without something that it refuses; those about headers are tested below."""
    tested = {name for name, _ in ALL[api]} | {"json", "bearer-key", "version-header"}
    assert {rule.name for rule in rules(api)} <= tested


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'"x"', b"\xff"])
def test_a_body_must_be_a_json_object(api: Api, body: bytes) -> None:
    model = ScriptedModel([say("x")])
    assert model(PATHS[api], body)[0] == 400
    assert model.refusals[0].rule.name == "json"


def test_headers_are_judged_where_there_are_any() -> None:
    """Keys travel as `Authorization: Bearer` on all three; Claude's version is that of its current SDK."""
    right = {"Authorization": "Bearer k", "anthropic-version": "2026-10-21"}
    for api in APIS:
        model = ScriptedModel([say("x")] * 4)
        assert model(PATHS[api], good(api), right)[0] == 200
        assert model(PATHS[api], good(api), {"x-api-key": "k", "anthropic-version": "2026-10-21"})[0] == 401
        assert model(PATHS[api], good(api), right | {"Authorization": "Bearer "})[0] == 401
    model = ScriptedModel([])
    assert model(PATHS["anthropic"], good("anthropic"), {"Authorization": "Bearer k"})[0] == 400
    old = right | {"anthropic-version": "2023-06-01"}
    assert model(PATHS["anthropic"], good("anthropic"), old)[0] == 400
    assert [refusal.rule.name for refusal in model.refusals] == ["version-header"] * 2


def test_a_refusal_is_the_sdks_own_exception() -> None:
    """With code and parameter where the service sends them."""
    transport = InProcessTransport(ScriptedModel([]))
    client = openai.OpenAI(api_key="k", http_client=httpx2.Client(transport=transport), max_retries=0)
    tool: Any = {"type": "function", "name": "find", "parameters": LOOSE, "strict": True}
    with pytest.raises(openai.BadRequestError) as refused:
        client.responses.create(model="gpt-6-astra", input="x", tools=[tool])
    assert refused.value.code == "invalid_function_parameters"
    assert refused.value.param == "tools[0].parameters"
    claude = anthropic.Anthropic(api_key="k", http_client=httpx2.Client(transport=transport), max_retries=0)
    twice: Any = {"name": "find", "input_schema": SCHEMA}
    with pytest.raises(anthropic.BadRequestError, match="Tool names must be unique") as conflict:
        claude.messages.create(
            model="claude-opus-5-5", max_tokens=9, messages=[{"role": "user", "content": "x"}], tools=[twice, twice]
        )
    assert conflict.value.error_code == "tool_name_conflict"


def test_cache_markers_may_move() -> None:
    """A prompt-cache marker on the last block goes on to the next turn's last block; thinking is not bound to it."""
    body = good("anthropic")
    body["messages"][0]["content"] = [{"type": "text", "text": "Find x and y."}]
    body["messages"][-1]["content"][-1]["cache_control"] = {"type": "ephemeral"}
    body["tools"][-1]["cache_control"] = {"type": "ephemeral"}
    assert tell("anthropic", body)[1] == 200


def test_mismatched_thinking_can_be_dropped_on_request() -> None:
    """The documented way out: a beta header and `block_binding`."""
    body = good("anthropic") | {"system": "Be long."}
    body["thinking"] = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}
    headers = {"authorization": "Bearer k", "anthropic-version": "2026-10-21"}
    beta = {"anthropic-beta": "thinking-binding-controls-2026-08-01"}
    assert ScriptedModel([say("x")])(PATHS["anthropic"], body, headers)[0] == 400
    assert ScriptedModel([say("x")])(PATHS["anthropic"], body, headers | beta)[0] == 200


def test_old_thoughts_may_be_left_out() -> None:
    """Only the latest turn must keep its thinking; what an earlier one thought may go."""
    body = good("anthropic")
    answer = answered("anthropic", body)["content"]
    results = [_result(block["id"]) for block in answer if block["type"] == "tool_use"]
    body["messages"] += [{"role": "assistant", "content": answer}, {"role": "user", "content": results}]
    assert tell("anthropic", body)[1] == 200
    del body["messages"][1]["content"][0]
    assert tell("anthropic", body)[1] == 200


def test_a_paused_turn_goes_back_as_it_is() -> None:
    """It ends with the assistant, which is no prefill."""
    from toolsmith.testing import pause

    body = good("anthropic")
    status, raw = ScriptedModel([pause(say("Searching."))])(PATHS["anthropic"], body)
    body["messages"].append({"role": "assistant", "content": json.loads(raw)["content"]})
    assert (status, tell("anthropic", body)[1]) == (200, 200)


def test_a_rule_can_be_switched_off() -> None:
    """By its name; a name that no rule has is an error."""
    body = good("openai-chat") | {"temperature": 0.5}
    assert ScriptedModel([say("x")], ignore={"sampling-parameter"})(PATHS["openai-chat"], body)[0] == 200
    with pytest.raises(Exception, match="No rule is named no-such-rule"):
        ScriptedModel([], ignore={"no-such-rule"})


def test_the_rules_are_a_table() -> None:
    """One line a rule, names unique within an API, each with its source."""
    table = rules_table()
    assert table.count("\n") == 2 + sum(len(rules(api)) for api in APIS)
    for api in APIS:
        names = [rule.name for rule in rules(api)]
        assert len(names) == len(set(names))
        assert all(rule.about.endswith(".") and rule.source for rule in rules(api))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


def _places(node: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path]
    if isinstance(node, (dict, list)):
        items = cast("dict[Any, Any]", node).items() if isinstance(node, dict) else enumerate(cast("list[Any]", node))
        for key, inner in items:
            found += _places(inner, (*path, key))
    return found


@pytest.mark.parametrize("api", APIS)
@settings(deadline=None)
@given(data=st.data())
def test_whatever_is_sent_is_answered(api: Api, data: st.DataObject) -> None:
    """Any value at any place of a request gives an answer or a refusal, never an exception of the scripted model."""
    body = good(api)
    path = data.draw(st.sampled_from([p for p in _places(body) if p]))
    put(*path, value=data.draw(JSON))(body)
    status, raw = ScriptedModel([say("x")])(PATHS[api], body)
    assert status in (200, 400, 404)
    assert isinstance(json.loads(raw), dict)


@pytest.mark.parametrize("api", APIS)
@settings(deadline=None)
@given(data=st.data())
def test_whatever_is_shown_is_answered(api: Api, data: st.DataObject) -> None:
    """The same for any value at any place of an image or a file."""
    part = copy.deepcopy(data.draw(st.sampled_from(RIGHT[api])))
    path = data.draw(st.sampled_from([p for p in _places(part) if p]))
    put(*path, value=data.draw(JSON))(part)
    body = good(api)
    seen(part)(body)
    status, raw = ScriptedModel([say("x")])(PATHS[api], body)
    assert status in (200, 400, 404)
    assert isinstance(json.loads(raw), dict)
