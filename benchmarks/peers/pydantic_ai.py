"""pydantic-ai, its slim package."""

from __future__ import annotations

from typing import Any

ORDER, NAME = 4, "pydantic-ai"
INSTALL = ["pydantic-ai-slim[openai,anthropic]"]
DISTS = ["pydantic-ai-slim", "openai", "anthropic", "pydantic"]
IMPORT = "from pydantic_ai import Agent, Tool"
WIRES = ("chat", "resp", "ant")


def derive(fn: Any) -> dict[str, Any]:
    from pydantic_ai import Tool

    return Tool(fn).tool_def.parameters_json_schema


def caller(fn: Any) -> Any:
    from pydantic_ai import RunContext, Tool
    from pydantic_ai.messages import ToolReturnPart
    from pydantic_ai.models.test import TestModel
    from pydantic_ai.usage import RunUsage

    function = Tool(fn).function_schema
    context = RunContext(deps=None, model=TestModel(), usage=RunUsage())

    async def call(text: str) -> str:
        value = await function.call(function.validator.validate_json(text), context)
        return ToolReturnPart(tool_name="t", content=value, tool_call_id="c").model_response_str()

    return call


class Session:
    def __init__(self, wire: str, base: str, fns: Any) -> None:
        from pydantic_ai import Agent, UsageLimits

        if wire == "ant":
            from pydantic_ai.models.anthropic import AnthropicModel
            from pydantic_ai.providers.anthropic import AnthropicProvider

            provider = AnthropicProvider(base_url=base, api_key="k")
            # Without max_tokens it asks for all that the model has, and the SDK then insists on a stream.
            model: Any = AnthropicModel("claude-sonnet-4-6", provider=provider, settings={"max_tokens": 4096})
        else:
            from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
            from pydantic_ai.providers.openai import OpenAIProvider

            kind: Any = OpenAIChatModel if wire == "chat" else OpenAIResponsesModel
            model = kind("gpt-4.1", provider=OpenAIProvider(base_url=base + "/v1", api_key="k"))
        self._agent = Agent(model, tools=fns)
        self._limits = UsageLimits(request_limit=None)

    async def run(self, prompt: str, turns: int) -> str:
        return (await self._agent.run(prompt, usage_limits=self._limits)).output

    async def stream(self, prompt: str, turns: int) -> tuple[str, int]:
        pieces, text = 0, ""
        async with self._agent.run_stream_events(prompt, usage_limits=self._limits) as events:
            async for event in events:
                pieces += event.event_kind == "part_delta"
                if event.event_kind == "agent_run_result":
                    text = event.result.output
        return text, pieces
