"""What type checkers see: a tool keeps the type of its function. pyright checks the `assert_type`s."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, assert_type

from typing_extensions import Unpack

from toolsmith import Agent, Pending, ResumeOptions, RunContext, RunOptions, RunResult, Tool, tool
from toolsmith.testing import ScriptedModel, say


def test_the_decorator_keeps_parameters_and_result() -> None:
    """Bare and with options, sync and async: `tool(...)` is called as the function was."""

    @tool
    def add(a: int, b: int = 1) -> float:
        return a + b

    @tool(name="plus", timeout=3)
    async def plus(a: int, *, note: str = "") -> str:
        return note * a

    assert_type(add(1), float)
    assert_type(add(a=1, b=2), float)

    async def awaited() -> None:
        assert_type(await plus(1, note="x"), str)

    asyncio.run(awaited())
    add(1, "x") if False else None  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
    plus(1, "x") if False else None  # type: ignore[call-arg] # pyright: ignore[reportCallIssue]


def test_methods_lose_their_self() -> None:
    """A tool of a method is called on its instance without it."""

    class Shop:
        @tool
        def buy(self, item: str, n: int = 1) -> list[str]:
            return [item] * n

    assert_type(Shop().buy("nut"), list[str])
    assert_type(Shop.buy(Shop(), "nut", 2), list[str])


def test_the_class_and_its_raw_road() -> None:
    """`Tool(fn)` is as exact as the decorator; a raw tool takes and gives anything."""

    def search(query: str, ctx: RunContext[int]) -> bytes:
        return query.encode() * ctx.deps

    made = Tool(search, description="Search.")
    assert_type(made("a", RunContext(deps=2)), bytes)
    handler: Callable[[str], int] = len
    raw = Tool(name="raw", description="", handler=handler)
    assert_type(raw, Tool[..., Any])
    assert_type(RunContext(deps=2).deps, int)


def test_the_keywords_of_a_run_can_be_handed_on() -> None:
    """A function around a run takes them with their types, and checkers see what is misspelt."""
    model = ScriptedModel([say("Hello."), say("Hello again.")])
    agent = Agent(model.provider("openai"))

    def ask(prompt: str, **options: Unpack[RunOptions]) -> RunResult[str]:
        return agent.run_sync(prompt, **options)

    def go_on(waiting: Pending, **decided: Unpack[ResumeOptions]) -> RunResult[str]:
        return agent.resume_sync(waiting, **decided)

    first = ask("Hi.", deps=3)
    assert ask("Hi.", message_history=first.messages).output == "Hello again."
    ask("Hi.", message_histry=[]) if False else None  # type: ignore[call-arg] # pyright: ignore[reportCallIssue]
    assert callable(go_on)
