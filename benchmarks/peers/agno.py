"""agno; its telemetry is off."""

from __future__ import annotations

from typing import Any

ORDER, NAME = 7, "agno"
INSTALL = ["agno", "openai", "anthropic"]
DISTS = ["agno", "openai", "anthropic", "pydantic"]
IMPORT = "from agno.agent import Agent; from agno.tools import tool"
WIRES = ("chat", "resp", "ant")


def _made(fn: Any) -> Any:
    from agno.tools import tool

    made: Any = tool(fn)
    made.process_entrypoint()
    return made


def derive(fn: Any) -> dict[str, Any]:
    return _made(fn).to_dict()["parameters"]


def caller(fn: Any) -> Any:
    import json

    from agno.tools.function import FunctionCall

    made = _made(fn)

    async def call(text: str) -> str:
        ended = await _execute(FunctionCall(function=made, arguments=json.loads(text), call_id="c"))
        return str(ended.result)

    async def _execute(asked: Any) -> Any:
        return await asked.aexecute()

    return call


class Session:
    def __init__(self, wire: str, base: str, fns: Any) -> None:
        from agno.agent import Agent
        from agno.tools import tool

        if wire == "ant":
            from agno.models.anthropic import Claude

            model: Any = Claude(id="claude-sonnet-4-6", api_key="k", client_params={"base_url": base, "max_retries": 0})
        else:
            from agno.models.openai import OpenAIChat, OpenAIResponses

            kind: Any = OpenAIChat if wire == "chat" else OpenAIResponses
            model = kind(id="gpt-4.1", base_url=base + "/v1", api_key="k")
        tools: Any = [tool(fn) for fn in fns]
        self._agent: Any = Agent(model=model, tools=tools, telemetry=False)

    async def run(self, prompt: str, turns: int) -> str:
        return (await self._agent.arun(prompt)).content

    async def stream(self, prompt: str, turns: int) -> tuple[str, int]:
        words: list[str] = []
        async for event in self._agent.arun(prompt, stream=True):
            content = getattr(event, "content", None)
            if getattr(event, "event", "") == "RunContent" and isinstance(content, str):
                words.append(content)
        return "".join(words), len(words)
