"""An assistant for a shop, on the embedded model: watch each call as it happens, then go on with the conversation.

    python examples/02_shop_assistant.py

The model is local:smollm2: real, and very small. It chooses the tool and copies the arguments out of the request; its
answers quote what the tools returned.
"""

from __future__ import annotations

from enum import Enum
from typing import Annotated

from pydantic import Field

from toolsmith import Agent, Message, TextDelta, ToolCallReady, ToolError, ToolResultReady, tool


class Fruit(Enum):
    """What the shop sells."""

    APPLES = "apples"
    PEARS = "pears"
    PLUMS = "plums"


class Day(Enum):
    """A day on which the shop may be open."""

    WEEKDAY = "weekday"
    SATURDAY = "saturday"
    SUNDAY = "sunday"


PRICES = {Fruit.APPLES: 1.20, Fruit.PEARS: 1.85, Fruit.PLUMS: 2.40}
HOURS = {Day.WEEKDAY: "8 to 19", Day.SATURDAY: "9 to 14"}


@tool
def price(fruit: Fruit, kilos: Annotated[float, Field(gt=0, le=100)] = 1) -> str:
    """The price of some fruit, in euros."""
    return f"{kilos:g} kg of {fruit.value}: {PRICES[fruit] * kilos:.2f} euros"


@tool
def opening_hours(day: Day) -> str:
    """When the shop is open on a day."""
    if day not in HOURS:
        raise ToolError(f"The shop is closed on a {day.value}.", hint="It is open on weekdays and on Saturdays.")
    return HOURS[day]


def ask(agent: Agent, question: str, history: list[Message]) -> list[Message]:
    """One turn of the conversation, shown as it happens; gives the history to go on from."""
    print(f"\n> {question}")
    with agent.run_stream_sync(question, message_history=history) as events:
        for event in events:
            match event:
                case ToolCallReady(call):
                    print(f"  calls {call.name}({call.arguments})")
                case ToolResultReady(call, result):
                    print(f"  {'reads' if result.success else 'is told'}: {result.data or result.error}")
                case TextDelta(text):
                    print(text, end="")
                case _:
                    pass
    print()
    return events.result.messages


def main() -> None:
    agent = Agent("local:smollm2", tools=[price, opening_hours])
    history: list[Message] = []
    for question in (
        "What is the price of 3 kilos of pears?",
        "And when is the shop open on Saturday?",
        "Is it open on Sunday?",
    ):
        history = ask(agent, question, history)
    print(f"\n{len(history)} messages in the history.")


if __name__ == "__main__":
    main()
