"""What a model reads when it errs, and that it is enough to get it right. Failover and a crash are in it too.

    python examples/06_learning_from_errors.py

The models are scripted (`toolsmith.testing`) to make the mistakes that real ones are known for. The texts are those
that any model would read.
"""

from __future__ import annotations

import logging
from datetime import date
from typing import Literal

from toolsmith import Agent, ModelSwitched, RequestRetried, ToolError, ToolResultReady, tool
from toolsmith.events import Event
from toolsmith.testing import ScriptedModel, call, fail, raw_call, say

running = False


@tool
def start_database() -> str:
    """Start the database."""
    global running
    running = True
    return "The database is up."


@tool
def find_orders(customer: str, since: date, state: Literal["open", "shipped"] = "open") -> list[str]:
    """Find a customer's orders in the database."""
    if not running:
        raise ToolError("The database is not running.", use="start_database")
    if customer == "ACME":
        raise ConnectionError("password=hunter2 host=10.0.0.7: too many clients")
    return [f"{customer}-17 ({state})"]


SCRIPT = [
    call("find_order", customer="Ada"),
    raw_call("find_orders", '{"custmer": "Ada", "since": "2026-11-01"}'),
    raw_call("find_orders", '{"customer": "Ada", "since": "last week", "state": "opne"}'),
    raw_call("find_orders", '{"customer": "Ada", "since": "2026-11-01"'),
    raw_call("find_orders", '{"customer": "Ada", "since": "2026-11-01", "state": "OPEN"}'),
    call("start_database"),
    raw_call("find_orders", '{"customer": "Ada", "since": "2026-11-01", "state": "OPEN"}'),
    call("find_orders", customer="ACME", since="2026-11-01"),
    say("Ada has one open order, Ada-17. ACME's orders could not be read."),
]


def show(event: Event) -> None:
    match event:
        case ModelSwitched(failed, model):
            print(f"{failed} gave up; {model} goes on.\n")
        case RequestRetried(model, _, attempt):
            print(f"{model}: attempt {attempt} failed, trying again.")
        case ToolResultReady(call, result):
            print(f"{call.name}({call.arguments})")
            for line in (result.error or f"{result.data} {' '.join(result.notes)}".strip()).splitlines():
                print(f"    {line}")
            if event.reference:
                print(f"    (For people, under {event.reference}: {event.exception!r})")
        case _:
            pass


def main() -> None:
    logging.getLogger("toolsmith").addHandler(logging.NullHandler())  # the crash is shown below
    broke = ScriptedModel([fail("quota")])
    model = ScriptedModel(SCRIPT)
    agent = Agent(
        [broke.provider("anthropic"), model.provider("openai")], tools=[find_orders, start_database], observers=[show]
    )
    result = agent.run_sync("Which open orders do Ada and ACME have since November?")
    failed = sum(not record.result.success for record in result.tool_calls)
    print(f"\n{result.output}\n\n{len(result.tool_calls)} calls, {failed} of them failed, {result.turns} turns.")
    model.assert_exhausted()


if __name__ == "__main__":
    main()
