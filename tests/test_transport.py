"""The transport under asyncio runs: aiohttp's where it is installed, httpx2's own where it is not; both alike."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from importlib.util import find_spec
from textwrap import dedent

import pytest
from wire import APIS

from toolsmith import Agent, ModelSettings, ProviderError, tool
from toolsmith.testing import Api, ScriptedModel, call, drop, html, say
from toolsmith.testing.script import Scripted

has_aiohttp = find_spec("aiohttp") is not None
if not has_aiohttp:
    pytest.skip("SKIPPED: aiohttp is not installed, so its transport is not tested", allow_module_level=True)


@tool
def add(a: int) -> int:
    """Add forty."""
    return a + 40


def agent(api: Api, url: str) -> Agent:
    """On clients that toolsmith makes itself."""
    settings = ModelSettings(model=f"{api}:claude-opus-5-5", base_url=url, api_key="k")
    return Agent(settings, tools=[add])


@pytest.mark.parametrize("api", APIS)
def test_asyncio_runs_use_it(api: Api) -> None:
    """Answers and streams, with connections that are kept and then closed with the loop (else a warning fails this)."""
    model = ScriptedModel([call("add", a=1), say("41"), call("add", a=2), say("42 🙂")])

    async def both(asking: Agent) -> list[str]:
        plain = await asking.run("go")
        async with asking.run_stream("go") as events:
            async for _ in events:
                pass
        client = asking.providers[0]._loops[asyncio.get_running_loop()].client  # pyright: ignore
        assert "aiohttp" in type(client._client._transport).__module__  # pyright: ignore
        return [plain.output, events.result.output]

    with model.serve() as server:
        assert asyncio.run(both(agent(api, server.url(api)))) == ["41", "42 🙂"]
        assert server.connections == 1
    model.assert_exhausted()


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize(
    ("fault", "category"), [(drop(), "connection"), (html(), "bad_response")], ids=["dropped", "a page"]
)
def test_failures_have_their_names(api: Api, fault: Scripted, category: str) -> None:
    """The SDKs' vendored transports name some of them differently."""
    with ScriptedModel([fault] * 3).serve() as server, pytest.raises(ProviderError) as caught:
        asyncio.run(agent(api, server.url(api)).run("go"))
    assert caught.value.category == category


@pytest.mark.parametrize("api", APIS)
def test_an_address_where_nobody_is(api: Api) -> None:
    """A refused connection is no timeout."""
    with pytest.raises(ProviderError) as caught:
        asyncio.run(agent(api, "http://127.0.0.1:9").run("go"))
    assert caught.value.category == "connection"


def test_the_environments_proxy_is_used() -> None:
    """As with httpx2: `HTTP_PROXY` and `NO_PROXY` hold for whatever transport."""
    program = """
        import asyncio
        from toolsmith import Agent, ModelSettings
        from toolsmith.testing import ScriptedModel, say
        import os
        model = ScriptedModel([say("by the proxy")] * 2)
        with model.serve() as server:
            os.environ["HTTP_PROXY"] = f"http://127.0.0.1:{server.port}"
            settings = ModelSettings(model="openai-chat:m", base_url="http://nowhere.invalid/v1", api_key="k")
            print(asyncio.run(Agent(settings).run("go")).output)
            print(Agent(settings).run_sync("go").output)
    """
    done = subprocess.run(
        [sys.executable, "-c", dedent(program)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout.split("\n")[:2] == ["by the proxy", "by the proxy"], done.stderr


def test_without_it_httpx2_serves() -> None:
    """Nothing but the speed depends on it."""
    program = """
        import sys
        sys.modules["aiohttp"] = None
        import asyncio
        from toolsmith import Agent, ModelSettings
        from toolsmith.testing import ScriptedModel, say
        with ScriptedModel([say("hello")]).serve() as server:
            settings = ModelSettings(model="anthropic:claude-opus-5-5", base_url=server.url("anthropic"), api_key="k")
            print(asyncio.run(Agent(settings).run("go")).output)
    """
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", dedent(program)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout == "hello\n", done.stderr
