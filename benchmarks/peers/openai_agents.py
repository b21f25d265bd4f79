"""openai-agents; its tracing, which would send to OpenAI, is off."""

from __future__ import annotations

from typing import Any

ORDER, NAME = 5, "openai-agents"
INSTALL = ["openai-agents"]
DISTS = ["openai-agents", "openai", "pydantic"]
IMPORT = "from agents import Agent, Runner, function_tool"
WIRES = ("chat", "resp")


def derive(fn: Any) -> dict[str, Any]:
    from agents import function_tool

    return function_tool(fn).params_json_schema


def caller(fn: Any) -> Any:
    from agents import function_tool
    from agents.items import ItemHelpers
    from agents.tool_context import ToolContext

    tool, convert = function_tool(fn), ItemHelpers._convert_tool_output

    async def call(text: str) -> str:
        context = ToolContext(None, tool_name=tool.name, tool_call_id="c", tool_arguments=text)
        return str(convert(await tool.on_invoke_tool(context, text)))

    return call


class Session:
    def __init__(self, wire: str, base: str, fns: Any) -> None:
        import agents
        from openai import AsyncOpenAI

        agents.set_tracing_disabled(True)
        client = AsyncOpenAI(base_url=base + "/v1", api_key="k", max_retries=0)
        kind = agents.OpenAIChatCompletionsModel if wire == "chat" else agents.OpenAIResponsesModel
        tools: Any = [agents.function_tool(fn) for fn in fns]
        self._agent = agents.Agent(name="bench", model=kind(model="gpt-4.1", openai_client=client), tools=tools)
        self._how = agents.RunConfig(tracing_disabled=True)

    async def run(self, prompt: str, turns: int) -> str:
        from agents import Runner

        return (await Runner.run(self._agent, prompt, max_turns=turns, run_config=self._how)).final_output

    async def stream(self, prompt: str, turns: int) -> tuple[str, int]:
        from agents import Runner

        pieces = 0
        running = Runner.run_streamed(self._agent, prompt, max_turns=turns, run_config=self._how)
        async for event in running.stream_events():
            pieces += event.type == "raw_response_event" and event.data.type.endswith(".delta")
        return running.final_output, pieces
