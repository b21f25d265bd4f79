"""The openai SDK's own runner of tools on the Responses API. It derives no schema from a function."""

from __future__ import annotations

import inspect
from typing import Any

ORDER, NAME = 8, "openai's runner"
LABEL = "the SDK's runner"
INSTALL = ["openai"]
DISTS = ["openai", "pydantic"]
IMPORT = ""
WIRES = ("resp",)
derive = caller = None


class Session:
    def __init__(self, wire: str, base: str, fns: Any) -> None:
        from openai import AsyncOpenAI

        self._client = AsyncOpenAI(base_url=base + "/v1", api_key="k", max_retries=0)
        self._known = [_known(fn) for fn in fns]

    async def run(self, prompt: str, turns: int) -> str:
        return (await self._runner().run(self._client, self._asked(prompt), max_steps=turns)).output_text

    async def stream(self, prompt: str, turns: int) -> tuple[str, int]:
        pieces = 0

        async def on_event(event: Any) -> None:
            nonlocal pieces
            pieces += event.type.endswith(".delta")

        how: Any = {"max_steps": turns, "stream": True, "on_event": on_event}
        ended = await self._runner().run(self._client, self._asked(prompt), **how)
        return ended.output_text, pieces

    def _runner(self) -> Any:  # one for each run: it refuses a second one while it is busy
        from openai.lib.responses_tool_runner import AsyncResponsesToolRunner

        return AsyncResponsesToolRunner(functions=self._known)

    @staticmethod
    def _asked(prompt: str) -> Any:
        return {"model": "gpt-4.1", "input": prompt}


def _known(fn: Any) -> Any:
    from openai.lib._tools import pydantic_responses_function_tool
    from openai.lib.responses_tool_runner import AsyncRegisteredFunction
    from pydantic import create_model

    parameters = inspect.signature(fn).parameters.values()
    fields: Any = {p.name: (p.annotation, ... if p.default is p.empty else p.default) for p in parameters}
    model = create_model(fn.__name__, **fields)

    async def execute(given: Any) -> Any:
        value = fn(**{name: getattr(given, name) for name in model.model_fields})
        return await value if inspect.isawaitable(value) else value

    return AsyncRegisteredFunction.from_tool(pydantic_responses_function_tool(model), execute=execute, independent=True)
