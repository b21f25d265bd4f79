"""Faults as the real SDK clients meet them: the same through both doors."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, Literal

import anthropic
import httpx2
import openai
import pytest

from toolsmith.errors import ErrorCategory
from toolsmith.testing import Api, ScriptedModel, call, deliver, drop, fail, garbage, html, say, turn
from toolsmith.testing.script import Scripted
from toolsmith.testing.transport import InProcessTransport

Door = Literal["in-process", "socket"]

MESSAGE: Any = [{"role": "user", "content": "Hi"}]
BODIES: dict[Api, dict[str, Any]] = {
    "anthropic": {"model": "claude-opus-5-5", "max_tokens": 99, "messages": MESSAGE},
    "openai": {"model": "gpt-6-astra", "input": "Hi"},
    "openai-chat": {"model": "gpt-6-astra", "messages": MESSAGE},
}
APIS = list(BODIES)

pytestmark = pytest.mark.parametrize("door", ["in-process", "socket"])


class Client:
    """A blocking SDK client of one API, through one door."""

    def __init__(self, api: Api, http: httpx2.Client, where: str) -> None:
        self.api: Api = api
        kind: Any = anthropic.Anthropic if api == "anthropic" else openai.OpenAI
        self.sdk: Any = kind(api_key="k", base_url=where, http_client=http, max_retries=0)
        self.errors: Any = anthropic if api == "anthropic" else openai

    def ask(self, **more: Any) -> Any:
        if self.api == "anthropic":
            return self.sdk.messages.create(**BODIES[self.api], **more)
        if self.api == "openai":
            return self.sdk.responses.create(**BODIES[self.api], **more)
        return self.sdk.chat.completions.create(**BODIES[self.api], **more)

    def stream(self, **more: Any) -> list[Any]:
        with self.ask(stream=True, **more) as events:
            return list(events)


@contextmanager
def client(api: Api, door: Door, *steps: Scripted) -> Generator[Client]:
    model = ScriptedModel(list(steps))
    with (
        model.serve() as server,
        httpx2.Client(transport=InProcessTransport(model) if door == "in-process" else None, trust_env=False) as http,
    ):
        yield Client(api, http, server.url(api))


STATUS: dict[ErrorCategory, tuple[int, int]] = {  # Claude's, OpenAI's
    "rate_limit": (429, 429),
    "quota": (429, 429),
    "overloaded": (529, 503),
    "server": (500, 500),
    "timeout": (504, 504),
    "auth": (401, 401),
    "not_found": (404, 404),
    "context": (400, 400),
    "grammar": (400, 400),
    "bad_request": (400, 400),
}


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("kind", list(STATUS))
def test_errors_have_the_status_of_their_service(kind: ErrorCategory, api: Api, door: Door) -> None:
    """And a body from which the SDK reads type and code, and the request's id."""
    with client(api, door, fail(kind, retry_after=7)) as asked, pytest.raises(asked.errors.APIStatusError) as error:
        asked.ask()
    assert error.value.status_code == STATUS[kind][api != "anthropic"]
    assert error.value.response.headers["retry-after"] == "7"
    assert error.value.request_id == "req_000000"
    assert error.value.type
    if kind == "quota":
        code = error.value.error_code if api == "anthropic" else error.value.code
        assert code == ("enforced_spend_limit_reached" if api == "anthropic" else "insufficient_quota")


@pytest.mark.parametrize("api", APIS)
def test_any_status_and_words_can_be_had(api: Api, door: Door) -> None:
    teapot = fail(418, message="I am a teapot", headers={"x-should-retry": "false"})
    with client(api, door, teapot) as asked, pytest.raises(asked.errors.APIStatusError, match="teapot") as error:
        asked.ask()
    assert error.value.status_code == 418
    assert error.value.response.headers["x-should-retry"] == "false"


@pytest.mark.parametrize("api", APIS)
def test_a_proxys_page_and_half_json(api: Api, door: Door) -> None:
    """With status 200 the SDK gives back a page as a string, and half JSON as an error of the parser."""
    with client(api, door, html(), garbage('{"id": "x", "content": [')) as asked:
        assert asked.ask().startswith("<!DOCTYPE html>")
        with pytest.raises(ValueError, match="Expecting value"):
            asked.ask()


@pytest.mark.parametrize("api", APIS)
def test_a_connection_that_breaks(api: Api, door: Door) -> None:
    """Before the answer, inside a whole answer, and inside a stream."""
    with client(api, door, drop(), deliver(say("Hello"), cut=40), deliver(say("Hello"), cut=400)) as asked:
        for _ in range(2):
            with pytest.raises(asked.errors.APIConnectionError):
                asked.ask()
        # Anthropic's SDK lets the transport's own error through here (facts of November 2026, version 2.14)
        broken = httpx2.RemoteProtocolError if api == "anthropic" else openai.APIConnectionError
        with pytest.raises(broken):
            asked.stream()


@pytest.mark.parametrize("api", APIS)
def test_a_stream_that_just_ends(api: Api, door: Door) -> None:
    """No exception, and no terminal event: what the client makes of it is the client's."""
    with client(api, door, deliver(say("Hello"), unfinished=True)) as asked:
        events = asked.stream()
    text = "".join(map(str, events))
    assert "Hello" in text
    assert not any(word in text for word in ("message_stop", "message_delta", "response.completed", "'stop'"))


@pytest.mark.parametrize("api", APIS)
def test_an_answer_that_ends_early_is_half_json(api: Api, door: Door) -> None:
    with client(api, door, deliver(say("Hello"), unfinished=True)) as asked, pytest.raises(ValueError):  # noqa: PT011
        asked.ask()


@pytest.mark.parametrize("api", APIS)
def test_an_error_inside_a_stream(api: Api, door: Door) -> None:
    """As Claude, Responses and Chat report it on a stream that began with 200."""
    with client(api, door, deliver(say("Hello"), error="overloaded", error_after=3)) as asked:
        if api == "openai":
            events = asked.stream()
            assert [event.type for event in events][-1] == "error"
            assert events[-1].code == "server_is_overloaded"
            return
        with pytest.raises(asked.errors.APIError, match=r"(?i)overloaded"):
            asked.stream()


@pytest.mark.parametrize("api", APIS)
def test_the_same_error_where_nothing_is_streamed(api: Api, door: Door) -> None:
    broken = deliver(say("Hello"), error="overloaded")
    with client(api, door, broken) as asked, pytest.raises(asked.errors.InternalServerError):
        asked.ask()


@pytest.mark.parametrize("api", APIS)
def test_a_turn_that_fails(api: Api, door: Door) -> None:
    """`stop="error"` is a status of Responses; the others have an HTTP error for it."""
    with client(api, door, turn(say("Hel"), stop="error")) as asked:
        if api == "openai":
            assert asked.ask().status == "failed"
            return
        with pytest.raises(asked.errors.InternalServerError):
            asked.ask()


def test_a_full_context(door: Door) -> None:
    """Claude stops with a reason of its own; OpenAI refuses the request."""
    with client("anthropic", door, turn(say("Hel"), stop="context")) as asked:
        assert asked.ask().stop_reason == "model_context_window_exceeded"
    with client("openai", door, turn(say("Hel"), stop="context")) as asked:
        with pytest.raises(openai.BadRequestError) as error:
            asked.ask()
        assert error.value.code == "context_length_exceeded"


@pytest.mark.parametrize("api", APIS)
def test_a_late_answer_meets_the_clients_timeout(api: Api, door: Door) -> None:
    """The wait is as long as the timeout, not as long as the delay."""
    with client(api, door, deliver(say("Hello"), delay=30), deliver(say("Hello"), delay=0.05)) as asked:
        begun = time.monotonic()
        with pytest.raises(asked.errors.APITimeoutError):
            asked.ask(timeout=0.2)
        assert 0.15 < time.monotonic() - begun < 5
        assert asked.ask(timeout=20).id


@pytest.mark.parametrize("api", APIS)
def test_slow_bytes(api: Api, door: Door) -> None:
    """`pace` waits between chunks, and `packet` cuts them anywhere, also inside a character."""
    words = "Ünïcödé 🙂"
    with client(api, door, deliver(say(words), packet=50, pace=0.001), deliver(say(words), pace=30)) as asked:
        assert words in asked_text(api, asked.stream())
        stalled = httpx2.ReadTimeout if api == "anthropic" else openai.APITimeoutError
        with pytest.raises(stalled):
            asked.stream(timeout=0.2)


def asked_text(api: Api, events: list[Any]) -> str:
    """The words of a stream."""
    if api == "anthropic":
        return "".join(event.delta.text for event in events if event.type == "content_block_delta" and event.index == 1)
    if api == "openai":
        return "".join(event.delta for event in events if event.type == "response.output_text.delta")
    return "".join(chunk.choices[0].delta.content or "" for chunk in events)


def test_deltas_are_chopped_as_the_script_says(door: Door) -> None:
    """By size, or by a function."""
    steps = (deliver(say("abcdef"), chop=4), deliver(say("abcdef"), chop=lambda text: [text[:1], text[1:]]))
    with client("openai", door, *steps) as asked:
        for pieces in (["abcd", "ef"], ["a", "bcdef"]):
            assert [e.delta for e in asked.stream() if e.type == "response.output_text.delta"] == pieces


def call_deltas(chunks: list[Any]) -> list[Any]:
    """The deltas of tool calls in a stream of chunks."""
    found: list[Any] = []
    for chunk in chunks:
        found += chunk.choices[0].delta.tool_calls or []
    return found


def test_ways_of_servers_that_are_nearly_compatible(door: Door) -> None:
    """Each quirk of `deliver(quirks=...)`, as the SDK passes it on."""
    made = [call("now"), call("add", a=1)]
    with client(
        "openai-chat",
        door,
        deliver(made, quirks=["no_index"]),
        deliver(made, quirks=["same_index", "repeat_names"]),
        deliver(made, quirks=["no_id", "dict_arguments"]),
        deliver(made, quirks=["no_finish", "no_done", "no_usage"]),
        deliver(made, quirks=["finish_stop"]),
    ) as asked:
        assert {d.to_dict().get("index") for d in call_deltas(asked.stream())} == {None}
        deltas = call_deltas(asked.stream())
        assert {d.index for d in deltas} == {0}
        assert [d.id for d in deltas if d.id is None or d.function.name is None] == []
        whole = asked.ask().choices[0].message.tool_calls
        assert [(one.id, one.function.arguments) for one in whole] == [(None, {}), (None, {"a": 1})]
        chunks = asked.stream(stream_options={"include_usage": True})
        assert {(c.choices[0].finish_reason, c.usage) for c in chunks} == {(None, None)}
        assert asked.stream()[-1].choices[0].finish_reason == "stop"


def test_the_server_keeps_connections(door: Door) -> None:
    """Many requests, one connection; and asyncio clients at the same time."""
    model = ScriptedModel(lambda request: say(request.prompt))

    async def many(where: str) -> list[str]:
        async with openai.AsyncOpenAI(api_key="k", base_url=where, max_retries=0) as sdk:
            asked = [sdk.responses.create(model="gpt-6-astra", input=str(n)) for n in range(30)]
            return [answer.output_text for answer in await asyncio.gather(*asked)]

    with model.serve() as server, httpx2.Client(trust_env=False, verify=False) as http:
        sdk = openai.OpenAI(api_key="k", base_url=server.url("openai"), http_client=http, max_retries=0)
        for _ in range(5):
            assert len(list(sdk.responses.create(model="gpt-6-astra", input="x", stream=True))) > 5
            sdk.responses.create(model="gpt-6-astra", input="x")
        assert server.connections == 1
        assert asyncio.run(many(server.url("openai"))) == [str(n) for n in range(30)]
    with pytest.raises(httpx2.ConnectError):
        httpx2.get(server.url("openai"), trust_env=False)


def test_other_addresses_are_not_found(door: Door) -> None:
    model = ScriptedModel([])
    with model.serve() as server:
        assert httpx2.post(f"{server.url('openai')}/embeddings", json={}, trust_env=False).status_code == 404
        assert httpx2.get(f"{server.url('openai')}/responses", trust_env=False).status_code == 404
