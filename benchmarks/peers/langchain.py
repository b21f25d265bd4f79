"""langchain: `create_agent`, which runs on langgraph."""

from __future__ import annotations

from typing import Any

ORDER, NAME = 6, "langchain"
INSTALL = ["langchain", "langchain-openai", "langchain-anthropic"]
DISTS = ["langchain", "langchain-core", "langgraph", "langchain-openai", "langchain-anthropic", "openai", "anthropic"]
IMPORT = "from langchain.agents import create_agent; from langchain.tools import tool"
WIRES = ("chat", "resp", "ant")


def _made(fn: Any) -> Any:
    from langchain.tools import tool

    return tool(fn, parse_docstring=True)


def derive(fn: Any) -> dict[str, Any]:
    from langchain_core.utils.function_calling import convert_to_openai_tool

    return convert_to_openai_tool(_made(fn))["function"]["parameters"]


def caller(fn: Any) -> Any:
    import json

    tool = _made(fn)

    async def call(text: str) -> str:
        asked = {"type": "tool_call", "id": "c", "name": tool.name, "args": json.loads(text)}
        return (await tool.ainvoke(asked)).content

    return call


class Session:
    def __init__(self, wire: str, base: str, fns: Any) -> None:
        from langchain.agents import create_agent

        if wire == "ant":
            from langchain_anthropic import ChatAnthropic

            same: Any = {"base_url": base, "api_key": "k", "max_retries": 0}
            model: Any = ChatAnthropic(model="claude-sonnet-4-6", max_tokens=4096, **same)
        else:
            from langchain_openai import ChatOpenAI

            same = {"base_url": base + "/v1", "api_key": "k", "max_retries": 0}
            model = ChatOpenAI(model="gpt-4.1", use_responses_api=wire == "resp", stream_usage=True, **same)
        self._agent: Any = create_agent(model, [_made(fn) for fn in fns])

    @staticmethod
    def _asked(prompt: str, turns: int) -> dict[str, Any]:
        asked = {"messages": [{"role": "user", "content": prompt}]}
        return {"input": asked, "config": {"recursion_limit": 10 * turns}}

    async def run(self, prompt: str, turns: int) -> str:
        return (await self._agent.ainvoke(**self._asked(prompt, turns)))["messages"][-1].text

    async def stream(self, prompt: str, turns: int) -> tuple[str, int]:
        words: list[str] = []
        async for chunk, _ in self._agent.astream(**self._asked(prompt, turns), stream_mode="messages"):
            if chunk.type == "AIMessageChunk":
                words.append(chunk.text)
        return "".join(words), len(words)
