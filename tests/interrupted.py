"""A program that is interrupted (Ctrl-C) at each kind of wait in turn; run by `test_cancelling`.

Prints a line for each wait: its name, the seconds until `KeyboardInterrupt` arrived, and the roles of the history. The
last one is not caught: the process must end with it, though a tool still sleeps on its thread.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from toolsmith import Agent, Message, PendingCall, tool
from toolsmith.testing import ScriptedModel, by_turn, call, deliver, fail, say
from toolsmith.testing.script import Step

LATE = 60.0


def interrupt_soon() -> None:
    """As a person would, a moment after the wait began."""
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()


@tool(timeout=None)
def sync_sleeper() -> str:
    """Sleep on a thread."""
    interrupt_soon()
    time.sleep(LATE)
    return "late"


@tool(timeout=None)
async def sleeper() -> str:
    """Sleep on the loop."""
    interrupt_soon()
    await asyncio.sleep(LATE)
    return "late"


@tool
def quick() -> str:
    """Be quick."""
    return "quick"


@tool(requires_approval=True)
def pay() -> str:
    """Pay."""
    raise AssertionError("nobody allowed this")


def hesitate(call: PendingCall) -> bool:
    interrupt_soon()
    time.sleep(LATE)
    return True


async def ahesitate(call: PendingCall) -> bool:
    interrupt_soon()
    await asyncio.sleep(LATE)
    return True


def soon(what: Any) -> Callable[[Any], Any]:
    """A step of the script, and the interruption while it is on its way."""

    def step(request: Any) -> Any:
        interrupt_soon()
        return what

    return step


WAITS: Mapping[str, tuple[Sequence[Step], dict[str, Any]]] = {
    "request": ([call("quick"), soon(deliver(say("late"), delay=LATE))], {}),
    "answer": ([call("quick"), soon(deliver(say("Some words, by and by."), packet=1, pace=0.5))], {}),
    "attempt": ([call("quick"), soon(fail("overloaded", retry_after=LATE))], {}),
    "async tool": ([[call("quick"), call("sleeper")]], {}),
    "person": ([[call("quick"), call("pay")]], {"approve": hesitate}),
    "coroutine": ([[call("quick"), call("pay")]], {"approve": ahesitate}),
    "sync tool": ([[call("quick"), call("sync_sleeper")]], {}),
}


def carry(agent: Agent, driver: str, histories: list[list[Message]]) -> None:
    async def run() -> None:
        await agent.run("go")

    async def stream() -> None:
        events = agent.run_stream("go")
        try:
            async with events:
                async for _ in events:
                    pass
        finally:
            histories.append(events.messages)

    match driver:
        case "sync":
            agent.run_sync("go")
        case "async":
            asyncio.run(run())
        case "sync-stream":
            events = agent.run_stream_sync("go")
            try:
                with events:
                    for _ in events:
                        pass
            finally:
                histories.append(events.messages)
        case _:
            asyncio.run(stream())


def main(driver: str) -> None:
    for number, (name, (steps, options)) in enumerate(WAITS.items(), 1):
        with ScriptedModel(by_turn(steps)).serve() as server:
            agent = Agent(server.provider("openai-chat"), tools=[quick, sync_sleeper, sleeper, pay], **options)
            histories: list[list[Message]] = []
            begun = time.monotonic()
            try:
                carry(agent, driver, histories)
            except KeyboardInterrupt:
                roles = " ".join(message.role for messages in histories for message in messages)
                answers = " ".join(str(len(m.parts)) for messages in histories for m in messages if m.role == "tool")
                print(f"{name}: {time.monotonic() - begun:.2f} {roles} {answers}", flush=True)
                if number == len(WAITS):
                    raise


if __name__ == "__main__":
    main(sys.argv[1])
