"""toolsmith, with its extra `aiohttp`.

To the side-by-side bench on which this project was first measured this module is an adapter as it stands: copied, as
`adapters/toolsmith.py`, into a copy of that bench, with `mk toolsmith PROJECT[aiohttp]` in its `mkvenvs.sh` and
"toolsmith" in the lists `PEERS` and `ORDER`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

ORDER, NAME = 2, "toolsmith"
COLOR = "#1f6feb"
PROJECT = Path(__file__).resolve().parents[2]
INSTALL = [f"{PROJECT}[aiohttp]"]
DISTS = ["toolsmith-agents", "openai", "anthropic", "pydantic", "httpx2", "aiohttp"]
IMPORT = "from toolsmith import Agent, tool"
WIRES = ("chat", "resp", "ant")
VENV, IMPORTS = "toolsmith", {"core": IMPORT}  # what the other bench asks for
MODELS = {"chat": "openai-chat:gpt-4.1", "resp": "openai:gpt-4.1", "ant": "anthropic:claude-sonnet-4-6"}


def derive(fn: Any) -> dict[str, Any]:
    from toolsmith import Tool

    return dict(Tool(fn).spec.schema)


def caller(fn: Any) -> Any:
    """By the tool alone: an async function on the loop, a sync one on a worker thread."""
    from pydantic_core import to_json

    from toolsmith import Tool

    call_json = Tool(fn).call_json

    async def call(text: str) -> bytes:
        result = await call_json(text)
        assert result.success, result.error
        return to_json(result.data)

    return call


async def full_road(fn: Any, text: str, timed: Callable[..., Awaitable[float]]) -> dict[str, float]:
    """What a run does for a call beside the requests: limits, breaker, arguments, events, the text of the answer.

    In a turn of its own, and as one of 32 in a turn (its share of them).
    """
    from toolsmith import Limits, Tool, ToolRegistry
    from toolsmith._calls.invoke import perform
    from toolsmith._run.budget import Budget
    from toolsmith._run.loop import Conversation
    from toolsmith.messages import Message, Reply, ToolCall

    made = Tool(fn)
    tools, limits = ToolRegistry([made]), Limits(turns=10**9, calls=10**9)

    async def run(turns: int, calls: int) -> None:
        events: list[Any] = []
        talk = Conversation(tools, Budget(limits), [], emit=events.append)
        talk.budget.start()
        for _ in range(turns):
            asked = tuple(ToolCall(f"call_{n}", made.name, text.replace("20", str(n))) for n in range(calls))
            turn = talk._turn(Reply(Message("assistant", asked), "tool_calls"))
            steps = talk._consider(turn)
            try:
                while True:
                    next(steps)
            except StopIteration as end:
                jobs, _ = end.value
            for step in talk._act(turn, jobs):
                await perform(step.jobs, step.done)
            turn.close(talk.history, talk.records)
        assert len(talk.records) == turns * calls

    alone = await timed(lambda count: run(count, 1))
    together = await timed(lambda count: run(count, 33)) / 33
    return {"full road, alone in its turn": alone, "full road, one of 33": together}


def modes(wire: str, fns: Any, sent: Any) -> dict[str, Any]:
    """The tool list in each mode, for the services themselves: what a base URL of one's own is sent is for any server.

    Claude takes 20 strict tools in a request, so its strict ones are made one by one.
    """
    from toolsmith import Tool

    tools = [Tool(fn) for fn in fns]
    if wire == "ant":
        return {mode: [t.to_anthropic(strict=mode == "strict") for t in tools] for mode in ("loose", "strict")}
    api: Any = {"chat": "chat", "resp": "responses"}[wire]
    forms = {"default": None, "loose": False, "strict": True}
    made: dict[str, Any] = {mode: [t.to_openai(api, strict) for t in tools] for mode, strict in forms.items()}
    return made | ({"compatible": sent} if wire == "chat" else {})


class Session:
    """An agent of these functions on one model."""

    def __init__(self, wire: str, base: str, fns: Any) -> None:
        from toolsmith import Agent, Limits, ModelSettings

        settings = ModelSettings(
            model=MODELS[wire],
            base_url=base if wire == "ant" else base + "/v1",
            api_key="k",
            settings={"max_tokens": 4096} if wire == "ant" else {},
        )
        self._agent = Agent(settings, tools=fns, limits=Limits(turns=10_000, calls=100_000))

    async def run(self, prompt: str, turns: int) -> str:
        return (await self._agent.run(prompt)).output

    async def stream(self, prompt: str, turns: int) -> tuple[str, int]:
        from toolsmith.events import TextDelta, ToolArgumentsDelta

        pieces = 0
        async with self._agent.run_stream(prompt) as events:
            async for event in events:
                pieces += isinstance(event, (TextDelta, ToolArgumentsDelta))
        return events.result.output, pieces
