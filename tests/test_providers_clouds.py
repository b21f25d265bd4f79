"""Clients that must see the body to send it: Azure, Bedrock, Vertex, and middleware. They take the slower road."""

from __future__ import annotations

import asyncio
import json
from importlib import import_module
from typing import Any

import httpx2
import openai
import pytest
from service_answers import Answer, Call, Words, at_once, streamed

from toolsmith.errors import ProviderError
from toolsmith.messages import Message, Reply, Request, Text
from toolsmith.providers.anthropic import AnthropicMessages
from toolsmith.providers.openai_chat import OpenAIChat

anthropic: Any = import_module("anthropic")  # its clouds' clients are loaded by name, which no type checker sees
ANSWER = Answer([Words("Hello"), Call("c1", "add", {"a": 1})])
MODEL = "claude-opus-5-5"
Sent = list[httpx2.Request]


def transport(api: str, sent: Sent, status: int = 200) -> httpx2.MockTransport:
    def handler(request: httpx2.Request) -> httpx2.Response:
        sent.append(request)
        if status != 200:
            return httpx2.Response(status, json={"error": {"type": "x", "message": "No."}})
        stream = b'"stream":true' in request.content
        kind = "text/event-stream" if stream else "application/json"
        body = streamed(api, ANSWER) if stream else at_once(api, ANSWER)
        return httpx2.Response(200, content=body, headers={"content-type": kind})

    return httpx2.MockTransport(handler)


def vertex(sent: Sent, *, asynchronous: bool = False, status: int = 200) -> AnthropicMessages:
    made = transport("anthropic", sent, status)
    if asynchronous:
        client = anthropic.AsyncAnthropicVertex(
            region="us-east5", project_id="p", access_token="t", http_client=httpx2.AsyncClient(transport=made)
        )
    else:
        client = anthropic.AnthropicVertex(
            region="us-east5", project_id="p", access_token="t", http_client=httpx2.Client(transport=made)
        )
    return AnthropicMessages(MODEL, client=client)


def azure(sent: Sent) -> OpenAIChat:
    client = openai.AzureOpenAI(
        azure_endpoint="https://x.openai.azure.com",
        api_version="2025-01-01",
        api_key="k",
        http_client=httpx2.Client(transport=transport("openai-chat", sent)),
    )
    return OpenAIChat("gpt", client=client)


def request(provider: AnthropicMessages | OpenAIChat, *, stream: bool) -> bytes:
    hello = provider.encode_message(Message("user", (Text("Hi"),)))
    return provider.encode_request(Request("", b"", [hello]), stream=stream)


def ask(provider: AnthropicMessages | OpenAIChat) -> Reply:
    return provider.decode(provider.send(request(provider, stream=False), timeout=None))


def ask_streamed(provider: AnthropicMessages | OpenAIChat) -> Reply:
    accumulator = provider.accumulator()
    with provider.stream(request(provider, stream=True), timeout=None) as chunks:
        for chunk in chunks:
            accumulator.feed(chunk)
    return accumulator.finish()


def test_the_address_is_made_from_the_body() -> None:
    """The model stands in the path of these services, and leaves the body where they want it so."""
    sent: Sent = []
    ask(vertex(sent))
    ask(azure(sent))
    client = anthropic.AnthropicBedrock(
        aws_region="us-east-1", api_key="k", http_client=httpx2.Client(transport=transport("anthropic", sent))
    )
    ask(AnthropicMessages("anthropic.claude-opus-5-5-v1:0", client=client))
    assert [r.url.path for r in sent] == [
        "/v1/projects/p/locations/us-east5/publishers/anthropic/models/claude-opus-5-5:rawPredict",
        "/openai/deployments/gpt/chat/completions",
        "/model/anthropic.claude-opus-5-5-v1:0/invoke",
    ]
    assert "model" not in json.loads(sent[0].content)
    assert json.loads(sent[2].content)["anthropic_version"]


def test_streams_are_the_same_answer() -> None:
    """The SDK decodes these streams (one cloud's are no server-sent events); our accumulator reads what it gives."""
    sent: Sent = []
    for provider in (vertex(sent), azure(sent)):
        assert ask_streamed(provider) == ask(provider)


def test_on_an_event_loop() -> None:
    async def both() -> tuple[Reply, Reply]:
        provider = vertex([], asynchronous=True)
        accumulator = provider.accumulator()
        async with provider.astream(request(provider, stream=True), timeout=5) as chunks:
            async for chunk in chunks:
                accumulator.feed(chunk)
        whole = await provider.asend(request(provider, stream=False), timeout=5)
        return accumulator.finish(), provider.decode(whole)

    first, second = asyncio.run(both())
    assert first == second


def test_refusals_have_their_category() -> None:
    with pytest.raises(ProviderError) as caught:
        ask(vertex([], status=529))
    assert caught.value.category == "overloaded"
    with pytest.raises(ProviderError) as caught:
        ask_streamed(vertex([], status=404))
    assert caught.value.category == "not_found"


def test_the_clouds_take_no_cache_marker_at_the_top() -> None:
    """It is a 400 there; who wants one sets it."""
    assert b"cache_control" not in request(vertex([]), stream=False)


@pytest.mark.parametrize("stream", [False, True])
def test_middleware_sees_the_body(stream: bool) -> None:
    """What people build on the SDK's middleware goes on working: it gets the dict that it expects."""
    seen: list[Any] = []

    def watch(request: Any, call_next: Any) -> Any:
        seen.append(request.options.json_data)
        return call_next(request)

    sent: Sent = []
    http = httpx2.Client(transport=transport("anthropic", sent))
    with anthropic.Anthropic(api_key="k", http_client=http, middleware=[watch]) as client:
        provider = AnthropicMessages(MODEL, client=client)
        reply = ask_streamed(provider) if stream else ask(provider)
    assert reply.message.text == "Hello"
    assert seen[0]["messages"][0]["role"] == "user"
    assert json.loads(sent[0].content)["cache_control"] == {"type": "ephemeral"}
