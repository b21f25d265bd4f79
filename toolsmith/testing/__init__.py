"""Test your agent without a model: a scripted one that speaks three real APIs and refuses what they refuse.

    from toolsmith.testing import ScriptedModel, call, say

    model = ScriptedModel([call("add", a=1, b=2), say("3")])
    agent = Agent(model.provider("anthropic"), tools=[add])     # or "openai", "openai-chat"
    assert agent.run_sync("What is 1 + 2?").output == "3"
    model.assert_exhausted()

The provider is the real one on the real SDK client; only the network is missing. For a real socket:

    with model.serve() as server:
        agent = Agent(server.provider("openai"), tools=[add])   # or any client, with base_url=server.url("openai")

One step of the script answers one request. A step is

- a part, or a list of parts (several calls are parallel calls): `say`, `think`, `call`, `raw_call`, `search`,
  `refuse`, `block`;
- a `turn(...)` with an ending or a usage of its own, or a `pause(...)`;
- a fault: `fail("rate_limit", retry_after=2)`, `html()`, `garbage(b"...")`, `drop()`;
- any of these in `deliver(..., delay=, pace=, chop=, packet=, cut=, unfinished=, error=)`: late, slow, cut off;
- a function of the request (`Recorded`) that gives one of these.

`simulate(tool)` needs no model: it sends a tool the mistakes that models make most, and grades what they would read.

`by_turn([...])` makes a script that serves many runs at once. `model.requests` holds what was asked, `model.refusals`
what was refused and by which rule, `rules_table()` all rules. Nothing here needs pytest.
"""

from toolsmith._simulate.mistakes import MISTAKES
from toolsmith._simulate.report import Simulation, simulate
from toolsmith.testing.faults import deliver, drop, fail, garbage, html
from toolsmith.testing.model import ScriptedModel, rules, rules_table
from toolsmith.testing.recorded import Recorded
from toolsmith.testing.rules import Refusal, Rule
from toolsmith.testing.script import (
    DEFAULT_MODELS,
    Api,
    Call,
    Fault,
    ScriptError,
    Turn,
    block,
    by_turn,
    call,
    pause,
    raw_call,
    refuse,
    say,
    search,
    think,
    turn,
)

__all__ = [
    "DEFAULT_MODELS",
    "MISTAKES",
    "Api",
    "Call",
    "Fault",
    "Recorded",
    "Refusal",
    "Rule",
    "ScriptError",
    "ScriptedModel",
    "Simulation",
    "Turn",
    "block",
    "by_turn",
    "call",
    "deliver",
    "drop",
    "fail",
    "garbage",
    "html",
    "pause",
    "raw_call",
    "refuse",
    "rules",
    "rules_table",
    "say",
    "search",
    "simulate",
    "think",
    "turn",
]
