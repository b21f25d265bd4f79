"""What a tool learns of its run through `RunContext`, and what bounds the run in tokens, over the wire."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, assert_type

from wire import Wire

from toolsmith import Agent, Limits, RunContext, tool
from toolsmith.events import LimitReached
from toolsmith.messages import Usage
from toolsmith.testing import call, say, turn


@dataclass
class Deps:
    """What the program hands to its tools."""

    user: str


def test_a_tool_knows_its_run(wire: Wire) -> None:
    """Deps as they are, the call's name and id, the attempts, what is left of calls and time, and what was used."""
    seen: list[dict[str, Any]] = []

    @tool(max_calls_per_run=3)
    async def look(ctx: RunContext[Deps], key: str) -> str:
        """Look something up."""
        assert_type(ctx.deps, Deps)
        assert ctx.deadline is not None
        assert ctx.seconds_left is not None
        seen.append({
            "deps": ctx.deps, "name": ctx.tool_name, "id": ctx.tool_call_id, "attempt": ctx.attempt,
            "left": ctx.calls_left, "used": ctx.usage.requests,
            "time": 0 < ctx.seconds_left <= ctx.deadline - time.monotonic() + 1 <= 61,
        })  # fmt: skip
        return f"found {key}"

    usage = Usage(100, 10, requests=1)
    model = wire.model(
        turn(call("look", key="a"), usage=usage), turn(call("look", key="b"), usage=usage), say("Found both.")
    )
    deps = Deps("Ada")
    result = wire.run(Agent(wire.provider(model), tools=[look], limits=Limits(seconds=60)), "go", deps=deps)
    assert result.output == "Found both."
    assert [s["deps"] for s in seen] == [deps, deps]
    assert all(s["deps"] is deps and s["name"] == "look" and s["time"] for s in seen)
    assert [s["id"] for s in seen] == [record.call.id for record in result.tool_calls]
    assert [(s["attempt"], s["left"], s["used"]) for s in seen] == [(1, 2, 1), (2, 1, 2)]
    assert all(b"Ada" not in request.raw for request in model.requests), "deps are never shown to the model"


def test_tokens_bound_a_run(wire: Wire) -> None:
    """Input and output together, over all turns; then one last turn answers with what there is."""
    told: list[object] = []

    @tool
    def look(key: str) -> str:
        """Look something up."""
        return f"found {key}"

    usage = Usage(90, 10, cached_tokens=50, requests=1)
    model = wire.model(*[turn(call("look", key=k), usage=usage) for k in "ab"], turn(say("So far."), usage=usage))
    agent = Agent(wire.provider(model), tools=[look], limits=Limits(tokens=200), observers=[told.append])
    result = wire.run(agent, "go")
    assert (result.output, result.stop_reason) == ("So far.", "token_limit")
    assert [record.ran for record in result.tool_calls] == [True, True]
    assert (result.usage.total_tokens, result.turns) == (300, 2)
    assert [event.limit for event in told if isinstance(event, LimitReached)] == ["token_limit"]
