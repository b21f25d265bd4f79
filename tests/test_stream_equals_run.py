"""A streamed run is the same run: the same events and the same result, with the deltas in between.

Each script is played on each API by the four drivers. The reference is what observers see in `run_sync`; `run` and both
streams must tell the same, event for event, once the deltas are left out; and the deltas must add up to the messages.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, fields, is_dataclass
from functools import partial
from typing import Any, Literal, cast

import pytest
from pydantic import BaseModel
from wire import APIS, DRIVERS, Driver

from toolsmith import Agent, Limits, ModelRetry, PendingCall, RunContext, RunResult, ToolError, tool
from toolsmith.errors import RunError
from toolsmith.events import (
    Delta,
    Event,
    ReasoningDelta,
    RunEnded,
    TextDelta,
    ToolArgumentsDelta,
    ToolCallStarted,
    TurnEnded,
)
from toolsmith.messages import Reasoning, Reply
from toolsmith.testing import (
    Api,
    Recorded,
    ScriptedModel,
    call,
    deliver,
    drop,
    fail,
    html,
    pause,
    raw_call,
    refuse,
    say,
    think,
    turn,
)
from toolsmith.testing.script import Step


@tool
def add(a: int, b: int = 40) -> int:
    """Add two whole numbers."""
    return a + b


@tool
async def wait(n: int) -> str:
    """Wait; the larger `n`, the longer."""
    await asyncio.sleep(n / 50)
    return f"waited {n}"


@tool
def paint(colour: Literal["red", "green"], spots: list[int] | None = None) -> str:
    """Paint."""
    return f"{colour} {spots}"


@tool
def broken(kind: str) -> str:
    """Fail, in one of three ways."""
    if kind == "known":
        raise ToolError("There is no such thing.", hint="Look elsewhere.", use="add")
    if kind == "retry":
        raise ModelRetry("Not that one.")
    raise RuntimeError("a secret")


@tool
def counting(ctx: RunContext[None], to: int) -> Any:
    """Count, and tell."""
    ctx.report("begins")
    yield from range(to)


@tool(requires_approval=True, sequential=True)
def pay(amount: int) -> str:
    """Pay."""
    return f"paid {amount}"


@tool(max_calls_per_run=1)
def once() -> str:
    """Work once."""
    return "done"


@tool(timeout=0.05)
async def slow() -> str:
    """Take too long."""
    await asyncio.sleep(5)
    return "late"


class Answer(BaseModel):
    total: int
    words: str = ""


def allow(call: PendingCall) -> bool:
    return True


async def deny(call: PendingCall) -> str:
    await asyncio.sleep(0)
    return "too much"


def answer(text: str) -> Step:
    """A typed answer, in the way that the request asks for."""
    return lambda request: raw_call("final_answer", text) if "final_answer" in request.tools else say(text)


@dataclass(frozen=True)
class Play:
    """A script, and the agent that plays it.

    Attributes:
        ends: the stop reason, or the name of the error.
        apis: those that can say it.
        only_streams_show: the arguments as the model wrote them. An answer of Claude that comes at once has an object
            in their place, and what was cut off is not in it.
        only_streamed: APIs that can say it in a stream only.
        agent, run: keywords.
        backup: the script of a second model to fail over to.
    """

    steps: Sequence[Step]
    ends: str = "end"
    apis: Sequence[Api] = APIS
    only_streams_show: bool = False
    only_streamed: Collection[Api] = ()
    agent: dict[str, Any] = field(default_factory=dict[str, Any])
    run: dict[str, Any] = field(default_factory=dict[str, Any])
    backup: Sequence[Step] | None = None


PLAYS: dict[str, Play] = {
    "words": Play([say("Größe 🙂, in a sentence of some length.")]),
    "reasoning": Play([[think("I add them up."), say("Adding."), call("add", a=1)], [think("Now."), say("41")]]),
    "calls": Play([[say("One."), call("add", a=1, b=2)], call("add", a=3), say("46")]),
    "parallel": Play([[call("wait", n=3), call("wait", n=1), call("add", a=1)], say("done")]),
    "ids that come again": Play([*(call("add", a=n).with_id("call_0") for n in (1, 2)), say("done")]),
    "no arguments": Play([raw_call("once", "{}"), say("done")]),
    "repaired arguments": Play([raw_call("paint", '{"colour":"RED","spots":"[1, 2]"}'), say("done")]),
    "bad arguments": Play([raw_call("add", '{"a":"one"}'), call("add", a=1), say("41")]),
    "no JSON": Play([raw_call("add", '{"a": 1'), raw_call("add", '{"a":  1}'), say("41")], only_streamed=["anthropic"]),
    "an unknown tool": Play([call("sub", a=1), say("done")]),
    "tools that fail": Play([*(call("broken", kind=k) for k in ("known", "retry", "crash")), say("done")]),
    "a tool that is late": Play([call("slow"), say("done")]),
    "progress": Play([call("counting", to=3), say("done")]),
    "a tool's limit": Play([[call("once"), call("once")], say("done")]),
    "the turn limit": Play([call("add", a=1), say("so far 41")], "turn_limit", agent={"limits": Limits(turns=1)}),
    "the call limit": Play(
        [[call("add", a=1), call("add", a=2)], say("so far 41")], "call_limit", agent={"limits": Limits(calls=1)}
    ),
    "the token limit": Play([call("add", a=1), say("so far")], "token_limit", agent={"limits": Limits(tokens=1)}),
    "approval": Play([[call("pay", amount=5), call("add", a=1)]], "approval"),
    "approved": Play([[call("pay", amount=5), call("pay", amount=6)], say("done")], agent={"approve": allow}),
    "denied": Play([call("pay", amount=5), say("done")], agent={"approve": deny}),
    "allowed tools": Play([call("add", a=1), say("done")], run={"allowed_tools": ["once"]}),
    "a forced call": Play([call("add", a=1), say("done")], run={"tool_choice": "add"}),
    "a typed answer": Play([call("add", a=1), answer('{"answer": {"total": 41}}')], agent={"output_type": Answer}),
    "a typed answer at the second try": Play(
        [answer('{"answer": {"total": "x"}}'), answer('{"answer": {"total": 41}}')], agent={"output_type": Answer}
    ),
    "no typed answer": Play(
        [answer('{"answer": {}}'), answer("{}"), answer("{}")], "OutputError", agent={"output_type": Answer}
    ),
    "cut off": Play([turn(call("add", a=1).cut(3), stop="length"), say("41")], only_streams_show=True),
    "cut off twice": Play([turn(call("add", a=1).cut(3), stop="length")] * 2, "length", only_streams_show=True),
    "refusal": Play([refuse("No.")], "refusal"),
    "an unknown reason": Play([turn(say("Half"), stop="unknown")], "unknown"),
    "a full context": Play([call("add", a=1), turn(say("Ha"), stop="context")], "context", ["anthropic"]),
    "a pause": Play([pause(say("Searching.")), call("add", a=1), say("41")], apis=["anthropic"]),
    "a failed response": Play([turn(say("Half"), stop="error")], "error", ["openai"]),
    "an error": Play([call("add", a=1), fail("auth")], "ProviderError"),
    "a page of a proxy": Play([html()], "ProviderError"),
    "a request that is tried again": Play([fail("overloaded"), drop(), say("Hello")]),
    "a request that fails for good": Play([call("add", a=1), *[fail("server")] * 3], "ProviderError"),
    "another model": Play([call("add", a=1), fail("quota")], backup=[say("41, says the other")]),
}


@dataclass
class Told:
    """What one run told: to observers, to whoever reads the stream, and in the end."""

    observed: list[Event] = field(default_factory=list[Event])
    streamed: list[Event] | None = None
    result: RunResult[Any] | None = None
    error: RunError | None = None


def told_by(play: Play, api: Api, driver: Driver) -> Told:
    model = ScriptedModel(play.steps)
    providers = [model.provider(api)]
    if play.backup is not None:
        providers.append(ScriptedModel(play.backup).provider("openai-chat", "backup"))
    told = Told()
    tools = [add, wait, paint, broken, counting, pay, once, slow]
    agent: Agent[Any] = Agent(providers, tools=tools, observers=[told.observed.append], **play.agent)
    try:
        match driver:
            case "sync":
                told.result = agent.run_sync("go", **play.run)
            case "async":
                told.result = asyncio.run(agent.run("go", **play.run))
            case "sync-stream":
                told.streamed = []
                with agent.run_stream_sync("go", **play.run) as events:
                    for event in events:
                        told.streamed.append(event)
                told.result = events.result
            case "async-stream":
                asyncio.run(_astreamed(agent, play, told))
    except RunError as error:
        told.error = error
    model.assert_exhausted()
    return told


async def _astreamed(agent: Agent[Any], play: Play, told: Told) -> None:
    told.streamed = []
    async with agent.run_stream("go", **play.run) as events:
        async for event in events:
            told.streamed.append(event)
    told.result = events.result


_VARYING = {"seconds", "wait", "reference", "prefix"}
"""Fields that hold times, or are made up anew in each run (`prefix` is a digest over texts that hold a reference)."""

_SIGNATURE = re.compile(rb'"signature":"[^"]*"')
"""Of reasoning: the scripted Claude signs what it has read, references included."""


def plain(value: object) -> object:
    """A value in which two runs may be compared: by content, without times and random references."""
    if isinstance(value, BaseException):
        return type(value).__name__, plain(str(value))
    if isinstance(value, bytes):
        return _SIGNATURE.sub(b"", value)
    if isinstance(value, str):
        return re.sub(r"\(reference [0-9a-f]{8}\)", "(reference ...)", value)
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in cast("Sequence[object]", value)]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in cast("dict[object, object]", value).items()}
    if is_dataclass(value) and not isinstance(value, type):
        held = {f.name: plain(getattr(value, f.name)) for f in fields(value) if f.name not in _VARYING}
        return type(value).__name__, held
    return value


def without_deltas(events: Sequence[Event]) -> list[object]:
    return [plain(event) for event in events if not isinstance(event, Delta)]


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("name", PLAYS)
def test_a_streamed_run_is_the_same_run(name: str, api: Api) -> None:
    """Events, result and error are equal, whichever driver carries the run."""
    play = PLAYS[name]
    if api not in play.apis:
        return
    drivers: Sequence[Driver] = DRIVERS[2:] if api in play.only_streamed else DRIVERS
    with ThreadPoolExecutor(len(drivers)) as threads:  # waits between attempts are real: side by side
        runs = dict(zip(drivers, threads.map(partial(told_by, play, api), drivers), strict=True))
    for driver, told in runs.items():
        alone = api in play.only_streamed or (
            play.only_streams_show and api == "anthropic" and told.streamed is not None
        )
        reference = runs["sync-stream" if alone else "sync"]
        ends = type(told.error).__name__ if told.result is None else told.result.stop_reason
        assert ends == play.ends
        assert without_deltas(told.observed) == without_deltas(reference.observed), driver
        assert plain(told.result) == plain(reference.result), driver
        assert plain(told.error) == plain(reference.error), driver
        if told.error is not None and reference.error is not None:
            assert plain(told.error.messages) == plain(reference.error.messages), driver
            assert told.error.usage == reference.error.usage, driver
        if told.streamed is not None:
            assert told.streamed == told.observed, driver
            assert_deltas_add_up(told.streamed)
        else:
            assert not [e for e in told.observed if isinstance(e, Delta)], driver


def assert_deltas_add_up(events: Sequence[Event]) -> None:
    """To the words, thoughts and calls of the turn that they belong to."""
    heard: list[Event] = []
    for event in events:
        if isinstance(event, Delta):
            heard.append(event)
        elif isinstance(event, TurnEnded):
            assert_are_of(heard, event.reply)
            heard.clear()
    if isinstance(events[-1], RunEnded):
        last = events[-1].result
        if last.pending is not None:  # the turn is still open
            assert_are_of(heard, Reply(last.pending.messages[-2], "tool_calls"))
        else:
            assert heard == []


def assert_are_of(heard: Sequence[Event], reply: Reply) -> None:
    message = reply.message
    assert _joined(heard, TextDelta) == message.text
    assert _joined(heard, ReasoningDelta) == "".join(p.text for p in message.parts if isinstance(p, Reasoning))
    started = [(e.call_id, e.name) for e in heard if isinstance(e, ToolCallStarted)]
    assert started == [(c.id, c.name) for c in message.tool_calls]
    for made in message.tool_calls:
        pieces = [e.text for e in heard if isinstance(e, ToolArgumentsDelta) and e.call_id == made.id]
        assert ("".join(pieces) or "{}") == made.arguments


def _joined(heard: Sequence[Event], kind: type[TextDelta] | type[ReasoningDelta]) -> str:
    return "".join(e.text for e in heard if isinstance(e, kind))


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("chop", [1, 2, 1000])
def test_how_an_answer_is_cut_changes_nothing(api: Api, chop: int) -> None:
    """Deltas of one character or of the whole text, and bytes cut inside a character, give the same run."""
    said: list[Any] = [say("Ü 🙂"), call("paint", colour="green", spots=[1, 2, 3]), call("wait", n=2)]

    def script(packet: int | None, size: int) -> Callable[[Recorded], Any]:
        return lambda request: deliver(said if request.turn == 0 else say("Ende 🙂"), packet=packet, chop=size)

    reference = told_by(Play([script(None, 7)] * 2), api, "sync-stream")
    for driver in ("sync-stream", "async-stream"):
        told = told_by(Play([script(5, chop)] * 2), api, driver)
        assert without_deltas(told.observed) == without_deltas(reference.observed)
        assert_deltas_add_up(told.observed)
