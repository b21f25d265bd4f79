"""A conversation that moves: begun with Claude, kept as JSON, gone on with OpenAI, ended with a compatible server.

    python examples/05_switch_provider.py

The models are scripted (`toolsmith.testing`), behind a real server on 127.0.0.1 that speaks the three APIs and refuses
what the real services refuse. To use the real ones, set ANTHROPIC_API_KEY and OPENAI_API_KEY and leave the server out:
the agents stay as they are.
"""

from __future__ import annotations

import os
from typing import Any, cast

from toolsmith import Agent, ModelSettings, dump_messages, load_messages, tool
from toolsmith.testing import Recorded, ScriptedModel, call, say, think

ROOMS = {"Oslo": 2, "Bergen": 0}


@tool
def free_rooms(city: str) -> int:
    """How many rooms are free in the hotel of a city."""
    return ROOMS[city]


def item_kinds(request: Recorded) -> str:
    """What a request holds, in the words of its API."""
    kinds: list[str] = []
    for item in cast("list[dict[str, Any]]", request.body.get("messages") or request.body["input"]):
        content = item.get("content")
        if request.api == "anthropic" and isinstance(content, list):
            kinds += [f"{item['role']}:{block['type']}" for block in cast("list[dict[str, Any]]", content)]
        else:
            kinds.append(str(item.get("role") or item["type"]))
    return " ".join(kinds)


def main() -> None:
    model = ScriptedModel(
        [
            [think("Oslo first."), call("free_rooms", city="Oslo")],
            say("Two rooms are free in Oslo."),
            call("free_rooms", city="Bergen"),
            say("Bergen is full."),
            say("Take Oslo."),
        ]
    )
    with model.serve() as server:
        os.environ |= {"ANTHROPIC_BASE_URL": server.url("anthropic"), "OPENAI_BASE_URL": server.url("openai")}
        os.environ |= {"ANTHROPIC_API_KEY": "any", "OPENAI_API_KEY": "any"}
        chat_server = ModelSettings(model="openai-chat:qwen3-4b", base_url=server.url("openai-chat"))

        first = Agent("anthropic:claude-opus-5-5", tools=[free_rooms]).run_sync("Is there a room in Oslo?")
        print(f"Claude:  {first.output}")

        kept = dump_messages(first.messages)
        second = Agent("openai:gpt-6-astra", tools=[free_rooms]).run_sync(
            "And in Bergen?", message_history=load_messages(kept)
        )
        print(f"OpenAI:  {second.output}")

        third = Agent(chat_server, tools=[free_rooms]).run_sync("Which one then?", message_history=second.messages)
        print(f"Server:  {third.output}")

    print("\nWhat each was sent, in the end:")
    for request in (model.requests[1], model.requests[3], model.requests[4]):
        print(f"  {request.api:<12} {item_kinds(request)}")
    model.assert_exhausted()


if __name__ == "__main__":
    main()
