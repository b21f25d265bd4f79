"""The anthropic SDK's own runner of tools, sending the whole history each time, as all others here do."""

from __future__ import annotations

import asyncio
import functools
from typing import Any

ORDER, NAME = 9, "anthropic's runner"
LABEL = "the SDK's runner"
INSTALL = ["anthropic"]
DISTS = ["anthropic", "pydantic"]
IMPORT = "from anthropic import beta_tool"
WIRES = ("ant",)


def _made(fn: Any) -> Any:
    from anthropic import beta_async_tool, beta_tool

    return beta_async_tool(fn) if asyncio.iscoroutinefunction(fn) else beta_tool(fn)


def derive(fn: Any) -> dict[str, Any]:
    return _made(fn).to_dict()["input_schema"]


def caller(fn: Any) -> Any:
    from json import dumps, loads

    tool = _made(fn)

    async def waits(text: str) -> str:
        return dumps(await tool.call(loads(text)))

    def at_once(text: str) -> str:
        return dumps(tool.call(loads(text)))

    return waits if asyncio.iscoroutinefunction(fn) else at_once


class Session:
    def __init__(self, wire: str, base: str, fns: Any) -> None:
        from anthropic import AsyncAnthropic

        self._client = AsyncAnthropic(base_url=base, api_key="k", max_retries=0)
        # The runner for asyncio takes async functions alone.
        self._tools = [_made(fn if asyncio.iscoroutinefunction(fn) else _as_async(fn)) for fn in fns]

    def _runner(self, prompt: str, **how: Any) -> Any:
        return self._client.beta.messages.tool_runner(
            model="claude-sonnet-4-6",
            max_tokens=4096,
            messages=[{"role": "user", "content": prompt}],
            tools=self._tools,
            thread=False,
            **how,
        )

    async def run(self, prompt: str, turns: int) -> str:
        message = await self._runner(prompt).until_done()
        return "".join(block.text for block in message.content if block.type == "text")

    async def stream(self, prompt: str, turns: int) -> tuple[str, int]:
        pieces = 0
        words: list[str] = []
        async for message in self._runner(prompt, stream=True):
            words.clear()
            async for event in message:
                if event.type == "content_block_delta":
                    pieces += 1
                    if event.delta.type == "text_delta":
                        words.append(event.delta.text)
        return "".join(words), pieces


def _as_async(fn: Any) -> Any:
    @functools.wraps(fn)
    async def wrapped(*args: Any, **kwargs: Any) -> Any:
        return fn(*args, **kwargs)

    return wrapped
