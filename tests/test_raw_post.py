"""What people rely on in the SDKs' clients, and a raw post must not lose: it is held against the SDKs' `create`."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Generator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import httpx2
import openai
import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from service_answers import Answer, Call, Words, at_once, streamed

from toolsmith import Agent
from toolsmith.errors import ProviderError
from toolsmith.providers import Provider
from toolsmith.providers.anthropic import AnthropicMessages
from toolsmith.providers.openai_chat import OpenAIChat
from toolsmith.providers.openai_responses import OpenAIResponses

anthropic: Any = import_module("anthropic")  # its clouds' clients are loaded by name, which no type checker sees
APIS = ("anthropic", "openai", "openai-chat")
DRIVERS = ("sync", "async")
HELLO = Answer([Words("Hello")])
CALL = Answer([Call("c1", "add", {"a": 1, "b": 2})])

every_api = pytest.mark.parametrize("api", APIS)
every_driver = pytest.mark.parametrize("driver", DRIVERS)


class Service:
    """Answers whatever is asked, and keeps what was asked. It calls `add` until it is shown a result."""

    def __init__(self, api: str, *, status: int = 200) -> None:
        self.api = api
        self.status = status
        self.requests: list[httpx2.Request] = []

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        self.requests.append(request)
        if self.status != 200:
            headers = {"request-id": "req_1", "x-request-id": "req_1"}
            return httpx2.Response(self.status, json={"error": {"type": "x", "message": "No."}}, headers=headers)
        stream = b'"stream":true' in request.content or b'"stream": true' in request.content
        offered = b'"tools"' in request.content and b"tool_call_id" not in request.content
        answer = CALL if offered and b"tool_result" not in request.content else HELLO
        body = streamed(self.api, answer) if stream else at_once(self.api, answer)
        kind = "text/event-stream" if stream else "application/json"
        return httpx2.Response(200, content=body, headers={"content-type": kind})

    def http(self, driver: str) -> Any:
        transport = httpx2.MockTransport(self)
        return httpx2.Client(transport=transport) if driver == "sync" else httpx2.AsyncClient(transport=transport)

    def client(self, driver: str, **options: Any) -> Any:
        sdk: Any = anthropic if self.api == "anthropic" else openai
        kind = ("" if driver == "sync" else "Async") + ("Anthropic" if self.api == "anthropic" else "OpenAI")
        options.setdefault("api_key", "secret")
        return getattr(sdk, kind)(http_client=self.http(driver), **options)


def wrapped(api: str, client: Any) -> Any:
    made: dict[str, Any] = {"anthropic": AnthropicMessages, "openai": OpenAIResponses, "openai-chat": OpenAIChat}
    return made[api]("m", client=client)


def created(api: str, client: Any, *, stream: bool) -> Any:
    """The SDK's own way to ask the same."""
    more: Any = {"stream": True} if stream else {}
    hello: Any = [{"role": "user", "content": "Hi"}]
    if api == "anthropic":
        return client.messages.create(model="m", max_tokens=9, messages=hello, **more)
    if api == "openai":
        return client.responses.create(model="m", input=hello, **more)
    return client.chat.completions.create(model="m", messages=hello, **more)


def ask(api: str, client: Any, driver: str, *, stream: bool = False, ours: bool) -> None:
    """One request, by the SDK's method or by our raw post."""
    body = b'{"model":"m","stream":true}' if stream else b'{"model":"m"}'
    if driver == "sync":
        if not ours:
            found = created(api, client, stream=stream)
            list(found if stream else ())
        elif stream:
            with wrapped(api, client).stream(body, timeout=None) as chunks:
                list(chunks)
        else:
            wrapped(api, client).send(body, timeout=None)
        return

    async def asked() -> None:
        if not ours:
            found = await created(api, client, stream=stream)
            if stream:
                [event async for event in found]
        elif stream:
            async with wrapped(api, client).astream(body, timeout=None) as chunks:
                [chunk async for chunk in chunks]
        else:
            await wrapped(api, client).asend(body, timeout=None)

    asyncio.run(asked())


def headers(request: httpx2.Request) -> dict[str, str]:
    """All but those that are of the body, or of our own wishes for time and retries."""
    left_out = ("content-length", "x-stainless-timeout", "x-stainless-read-timeout", "idempotency-key")
    return {name: value for name, value in request.headers.items() if name not in left_out}


@every_api
@every_driver
@pytest.mark.parametrize("stream", [False, True])
def test_a_raw_post_is_the_request_that_create_makes(api: str, driver: str, stream: bool) -> None:
    """The same address, query and headers, with all that a client can be given of its own."""
    service = Service(api)
    more = {} if api == "anthropic" else {"organization": "org", "project": "proj"}
    client = service.client(
        driver,
        base_url="https://gate.example/at/v1",
        default_headers={"x-team": "blue"},
        default_query={"v": "2"},
        **more,
    )
    for ours in (False, True):
        ask(api, client, driver, stream=stream, ours=ours)
    theirs, mine = service.requests
    assert mine.url == theirs.url
    assert headers(mine) == headers(theirs)
    assert ("idempotency-key" in mine.headers) == ("idempotency-key" in theirs.headers)


@every_api
@every_driver
def test_a_copy_of_a_client(api: str, driver: str) -> None:
    """`with_options` gives one of the same kind, with headers, addresses and keys of its own."""
    service = Service(api)
    client = service.client(driver).with_options(
        api_key="other", base_url="https://other.example", default_headers={"x-a": "b"}
    )
    ask(api, client, driver, ours=True)
    [request] = service.requests
    assert request.url.host == "other.example"
    assert request.headers["x-a"] == "b"
    assert "other" in (request.headers.get("authorization", "") + request.headers.get("x-api-key", ""))


@every_api
@every_driver
def test_a_class_made_of_a_client(api: str, driver: str) -> None:
    """What overrides the SDK's hooks may want to read the body: it gets the dict that `create` gives it."""
    service = Service(api)
    seen: list[Any] = []
    client: Any = service.client(driver)

    kind: Any = client.__class__
    build: Any = kind._build_request

    def watched(self: Any, options: Any, **more: Any) -> Any:
        seen.append(options.json_data)
        return build(self, options, **more)

    client.__class__ = type("Watching", (kind,), {"_build_request": watched})
    ask(api, client, driver, ours=True)
    assert seen == [{"model": "m"}]


@every_driver
def test_a_key_that_is_asked_for_each_time(driver: str) -> None:
    """OpenAI's client takes a function for a key: tokens that end and are renewed."""
    service = Service("openai")
    keys = iter(("one", "two"))

    def blocking() -> str:
        return next(keys)

    async def waiting() -> str:
        return next(keys)

    client = service.client(driver, api_key=blocking if driver == "sync" else waiting)
    for _ in range(2):
        ask("openai", client, driver, ours=True)
    assert [request.headers["authorization"] for request in service.requests] == ["Bearer one", "Bearer two"]


@every_driver
def test_a_provider_of_access_tokens(driver: str) -> None:
    """Anthropic's client takes one, for workload identities; a plain token, and a header instead of a key, too."""
    types: Any = import_module("anthropic.lib.credentials")

    def token(*, force_refresh: bool = False) -> Any:
        return types.AccessToken(token="t1", expires_at=None)

    async def atoken(*, force_refresh: bool = False) -> Any:
        return token(force_refresh=force_refresh)

    service = Service("anthropic")
    for options in (
        {"api_key": None, "credentials": token if driver == "sync" else atoken},
        {"api_key": None, "auth_token": "t1"},
        {"api_key": None, "default_headers": {"Authorization": "Bearer t1"}},
    ):
        ask("anthropic", service.client(driver, **options), driver, ours=True)
    assert [request.headers["authorization"] for request in service.requests] == ["Bearer t1"] * 3


@every_api
@every_driver
def test_the_request_is_named_where_it_fails(api: str, driver: str) -> None:
    """The service's own id of it, which support asks for, and the SDK's exception as the cause."""
    service = Service(api, status=400)
    with pytest.raises(ProviderError) as caught:
        ask(api, service.client(driver), driver, ours=True)
    assert caught.value.request_id == "req_1"
    sdk: Any = anthropic if api == "anthropic" else openai
    cause: Any = caught.value.__cause__
    assert isinstance(cause, sdk.BadRequestError)
    assert cause.request_id == "req_1"


@contextmanager
def spans() -> Generator[tuple[TracerProvider, InMemorySpanExporter]]:
    kept = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(kept))
    yield provider, kept
    provider.shutdown()


@every_driver
@pytest.mark.parametrize("stream", [False, True])
def test_spans_of_opentelemetry(driver: str, stream: bool) -> None:
    """Anthropic's client writes one for each call, with the model and the outcome, and so it does for a raw post."""
    found: list[ReadableSpan] = []
    for status in (200, 400):
        service = Service("anthropic", status=status)
        for ours in (False, True):
            with spans() as (provider, kept):
                client = service.client(driver, open_telemetry={"tracer_provider": provider})
                try:
                    ask("anthropic", client, driver, stream=stream, ours=ours)
                except (ProviderError, anthropic.BadRequestError):
                    assert status == 400
                found += kept.get_finished_spans()
                assert "traceparent" in service.requests[-1].headers
    theirs, mine, theirs_failed, mine_failed = found
    assert mine.name == theirs.name
    assert mine.attributes is not None
    assert theirs.attributes is not None
    for name in ("gen_ai.request.model", "server.address", "http.response.status_code", "gen_ai.provider.name"):
        assert mine.attributes.get(name) == theirs.attributes.get(name) is not None, name
    assert mine_failed.status.status_code == theirs_failed.status.status_code


def add(a: int, b: int) -> int:
    """Add.

    Args:
        a: one.
        b: another.
    """
    return a + b


def clouds(driver: str) -> dict[str, tuple[Service, Provider]]:
    """Each client of the SDKs that makes its address of the body, or signs it; with a token or key of its kind."""
    a = "" if driver == "sync" else "Async"
    made: dict[str, tuple[Service, Provider]] = {}

    def claude(kind: str, **options: Any) -> None:
        service = Service("anthropic")
        client = getattr(anthropic, a + kind)(http_client=service.http(driver), **options)
        made[kind] = service, AnthropicMessages("claude-opus-5-5", client=client)

    claude("AnthropicVertex", region="us-east5", project_id="p", access_token="t")
    claude("AnthropicBedrock", aws_region="us-east-1", api_key="k")
    claude("AnthropicFoundry", api_key="k", resource="r")
    service = Service("openai-chat")
    tokens = iter(("t1", "t2", "t3", "t4"))

    def blocking() -> str:
        return next(tokens)

    async def waiting() -> str:
        return next(tokens)

    client: Any = getattr(openai, a + "AzureOpenAI")(
        azure_endpoint="https://x.openai.azure.com",
        api_version="2025-01-01",
        azure_ad_token_provider=blocking if driver == "sync" else waiting,
        http_client=service.http(driver),
    )
    made["AzureOpenAI"] = service, OpenAIChat("gpt", client=client)
    return made


@every_driver
@pytest.mark.parametrize("cloud", ["AnthropicVertex", "AnthropicBedrock", "AnthropicFoundry", "AzureOpenAI"])
def test_a_whole_run_on_a_cloud(cloud: str, driver: str) -> None:
    """A call and its result, by an agent on the user's own client: the slower road leads to the same end."""
    service, provider = clouds(driver)[cloud]
    agent = Agent(provider, tools=[add])
    result = agent.run_sync("Add.") if driver == "sync" else asyncio.run(agent.run("Add."))
    assert result.output == "Hello"
    assert [record.result.data for record in result.tool_calls] == [3]
    first, second = service.requests
    assert json.loads(second.content)["messages"][0] == json.loads(first.content)["messages"][0]
    if cloud == "AzureOpenAI":  # a new token for each request
        assert [r.headers["authorization"] for r in service.requests] == ["Bearer t1", "Bearer t2"]
