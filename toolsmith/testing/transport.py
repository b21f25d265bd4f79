"""The in-process door: the real SDK clients, with a scripted model where the network would be."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING

import httpx2

from toolsmith.testing.script import Api
from toolsmith.testing.wire import Answer

if TYPE_CHECKING:
    from toolsmith.providers import Provider
    from toolsmith.testing.model import ScriptedModel

KEY = "test-key"


class InProcessTransport(httpx2.BaseTransport, httpx2.AsyncBaseTransport):
    """Answers requests from a scripted model; delays, timeouts and broken connections as on a wire."""

    def __init__(self, model: ScriptedModel) -> None:
        self._model = model

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        request.read()
        answer = self._answer(request)
        _sleep(request, answer.delay)
        return _response(request, answer)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        await request.aread()
        answer = self._answer(request)
        await _asleep(request, answer.delay)
        return _response(request, answer)

    def _answer(self, request: httpx2.Request) -> Answer:
        path = request.url.raw_path.decode()
        return self._model.answer(request.method, path, dict(request.headers), request.content)


class _Body(httpx2.SyncByteStream, httpx2.AsyncByteStream):
    """The chunks of an answer as they travel."""

    def __init__(self, request: httpx2.Request, answer: Answer) -> None:
        self._request = request
        self._answer = answer

    def __iter__(self) -> Iterator[bytes]:
        for number, chunk in enumerate(self._answer.chunks):
            if number:
                _sleep(self._request, self._answer.pace)
            yield chunk
        self._end()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for number, chunk in enumerate(self._answer.chunks):
            if number:
                await _asleep(self._request, self._answer.pace)
            yield chunk
        self._end()

    def _end(self) -> None:
        if self._answer.broken:
            words = "peer closed connection without sending complete message body"
            raise httpx2.RemoteProtocolError(words, request=self._request)


def _sleep(request: httpx2.Request, seconds: float) -> None:
    wait, late = _patience(request, seconds)
    if wait:
        time.sleep(wait)
    if late:
        raise httpx2.ReadTimeout("The read operation timed out", request=request)


async def _asleep(request: httpx2.Request, seconds: float) -> None:
    wait, late = _patience(request, seconds)
    if wait:
        await asyncio.sleep(wait)
    if late:
        raise httpx2.ReadTimeout("The read operation timed out", request=request)


def _patience(request: httpx2.Request, seconds: float) -> tuple[float, bool]:
    """How long to wait, and whether that is all that the client's read timeout allows."""
    limits: dict[str, float | None] = request.extensions.get("timeout") or {}
    most = limits.get("read")
    return (seconds, False) if most is None or seconds <= most else (most, True)


def _response(request: httpx2.Request, answer: Answer) -> httpx2.Response:
    if answer.dropped:
        raise httpx2.RemoteProtocolError("Server disconnected without sending a response.", request=request)
    headers = dict(answer.headers)
    if answer.length is not None:
        headers["content-length"] = str(answer.length)
    return httpx2.Response(answer.status, headers=headers, stream=_Body(request, answer))


def in_process_provider(model: ScriptedModel, api: Api, name: str) -> Provider:
    """A provider whose clients, sync and async, talk to `model`."""
    transport = InProcessTransport(model)
    return provider_on(
        api,
        name,
        base_url=None,
        http_client=httpx2.Client(transport=transport),
        async_http_client=httpx2.AsyncClient(transport=transport),
    )


def provider_on(
    api: Api,
    name: str,
    *,
    base_url: str | None,
    http_client: httpx2.Client,
    async_http_client: httpx2.AsyncClient,
) -> Provider:
    """A provider on SDK clients that use these HTTP clients."""
    if api == "anthropic":
        from anthropic import Anthropic, AsyncAnthropic

        from toolsmith.providers.anthropic import AnthropicMessages

        where = base_url or "https://api.anthropic.com"
        return AnthropicMessages(
            name,
            client=Anthropic(api_key=KEY, base_url=where, http_client=http_client, max_retries=0),
            async_client=AsyncAnthropic(api_key=KEY, base_url=where, http_client=async_http_client, max_retries=0),
        )
    from openai import AsyncOpenAI, OpenAI

    where = base_url or "https://api.openai.com/v1"
    client = OpenAI(api_key=KEY, base_url=where, http_client=http_client, max_retries=0)
    async_client = AsyncOpenAI(api_key=KEY, base_url=where, http_client=async_http_client, max_retries=0)
    if api == "openai":
        from toolsmith.providers.openai_responses import OpenAIResponses

        return OpenAIResponses(name, client=client, async_client=async_client)
    from toolsmith.providers.openai_chat import OpenAIChat

    return OpenAIChat(name, client=client, async_client=async_client)
