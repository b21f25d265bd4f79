"""Limits hold exactly, are told in time, and end in an answer: of a tool, a group, a run, and of many processes."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from wire import Wire

from toolsmith import (
    Agent,
    DefinitionError,
    Limits,
    Pending,
    RunContext,
    RunResult,
    SQLiteCounter,
    Tool,
    ToolError,
    tool,
)
from toolsmith import config as toml
from toolsmith._feedback import FEEDBACK, Feedback
from toolsmith.testing import ScriptedModel, call, raw_call, say
from toolsmith.testing.script import Step

RAN: list[str] = []


@tool(max_calls_per_run=3)
def peek(n: int) -> int:
    """Peek."""
    RAN.append(f"peek {n}")
    return n


@tool(group="web")
def search(query: str) -> str:
    """Search the web."""
    RAN.append(f"search {query}")
    if query == "broken":
        raise ToolError("No network.")
    return f"{query}: found"


@tool(group="web")
async def fetch(url: str) -> str:
    """Fetch a page."""
    await asyncio.sleep(0)
    RAN.append(f"fetch {url}")
    return f"{url}: fetched"


@tool
def free(n: int = 0) -> int:
    """Has no limit of its own."""
    return n


TOOLS = (peek, search, fetch, free)


def run(*steps: Step, tools: Sequence[Any] = TOOLS, limits: Limits | None = None, **options: Any) -> RunResult[str]:
    """A run of these turns; nothing that it sends is refused."""
    RAN.clear()
    model = ScriptedModel([*steps, say("done")])
    result = Agent(model.provider("openai"), tools=tools, limits=limits, **options).run_sync("go")
    assert not model.refusals
    return result


def texts(result: RunResult[Any]) -> list[str]:
    """What the model was told of each call."""
    return [FEEDBACK.result_text(r.result) if r.result.success else r.result.error or "" for r in result.tool_calls]


# ---- told in time


def test_the_last_calls_of_a_tool_are_told(wire: Wire) -> None:
    """Two left, one left; after the last there is nothing to tell; then the refusal says what to do instead."""
    model = wire.model(*[call("peek", n=n) for n in range(4)], say("done"))
    result = wire.run(Agent(wire.provider(model), tools=TOOLS), "go")
    assert texts(result) == [
        "0\n\nNote: 2 of 3 calls of `peek` are left.",
        "1\n\nNote: 1 of 3 calls of `peek` is left.",
        "2",
        FEEDBACK.tool_limit("peek", 3),
    ]
    assert [request.results[-1][1] for request in model.requests[1:]] == texts(result)
    assert [record.result.data for record in result.tool_calls] == [0, 1, 2, None]


def test_nothing_is_told_while_there_is_enough() -> None:
    """It would only be read, and paid for."""

    @tool(max_calls_per_run=9)
    def many() -> str:
        """Many."""
        return "ok"

    assert texts(run(*[call("many")] * 6, tools=[many])) == ["ok"] * 6


def test_the_last_calls_of_a_group_are_told() -> None:
    """A group's tools share one limit, whichever is called; failures count and are told too."""
    limits = Limits(groups={"web": 3})
    result = run(
        call("search", query="a"), call("search", query="broken"), call("fetch", url="b"), call("free"),
        call("fetch", url="c"), call("search", query="d"), limits=limits,
    )  # fmt: skip
    assert texts(result) == [
        "a: found\n\nNote: 2 of 3 calls of `search` and `fetch` together are left.",
        "`search` failed: No network. 1 of 3 calls of `search` and `fetch` together is left.",
        "b: fetched",
        "0",
        FEEDBACK.group_limit("fetch", ["search", "fetch"], 3),
        FEEDBACK.group_limit("search", ["search", "fetch"], 3),
    ]
    assert RAN == ["search a", "search broken", "fetch b"]


def test_the_last_calls_of_a_run_are_told_and_then_it_ends_in_an_answer() -> None:
    """The run's own budget: told with any call, also one that was refused; the closing turn stays as it was."""
    steps = [call("free"), call("nowhere"), call("free"), call("free")]
    result = run(*steps, limits=Limits(calls=3))
    one, two, three, four = texts(result)
    assert one == "0\n\nNote: 2 of 3 tool calls of this run are left."
    assert two.endswith("1 of 3 tool calls of this run is left.")
    assert three == "0"
    assert four == FEEDBACK.run_limit("free", 3)
    assert (result.output, result.stop_reason) == ("done", "call_limit")


def test_each_limit_is_told_once_a_turn_with_the_last_call_that_took_from_it() -> None:
    """Five parallel calls: the counts are those after all of them, and nobody reads of calls that are used already."""
    calls = [call("search", query="a"), call("peek", n=1), call("fetch", url="b"), call("free"), call("peek", n=2)]
    result = run(calls, limits=Limits(calls=7, groups={"web": 4}))
    assert texts(result) == [
        "a: found",
        "1",
        "b: fetched\n\nNote: 2 of 4 calls of `search` and `fetch` together are left.",
        "0",
        "2\n\nNote: 1 of 3 calls of `peek` is left.\n\nNote: 2 of 7 tool calls of this run are left.",
    ]


def test_a_failure_of_the_last_call_says_that_there_is_no_other() -> None:
    """Its words may ask for the call again, which would be refused; of a success there is nothing to say."""
    once = Tool(free, name="once", max_calls_per_run=1)
    failed = run(raw_call("once", '{"n": "many"}'), tools=[once])
    assert texts(failed)[0].endswith(f"call `once` again. {FEEDBACK.left_of_tools(['once'], 0, 1)}")
    assert texts(run(call("once"), tools=[once]))[0] == texts(run(call("once"), tools=[Tool(free, name="once")]))[0]
    failed = run(raw_call("once", "{"), call("once"), tools=[once], limits=Limits(calls=1))
    assert texts(failed)[0].endswith(FEEDBACK.left_of_run(0, 1))
    assert texts(failed)[1] == FEEDBACK.run_limit("once", 1)


def test_parallel_calls_are_counted_in_the_models_order() -> None:
    """Of five calls of one turn the first three are run, whichever ends first."""
    calls = [call("peek", n=n) for n in range(5)]
    result = run(calls)
    assert [record.ran for record in result.tool_calls] == [True] * 3 + [False] * 2
    assert texts(result)[3:] == [FEEDBACK.tool_limit("peek", 3)] * 2
    assert sorted(RAN) == ["peek 0", "peek 1", "peek 2"]


def test_the_context_knows_what_is_left() -> None:
    """The least of all limits that bound the tool."""
    left: list[int | None] = []

    @tool(group="web", max_calls_per_run=5)
    def look(ctx: RunContext[Any]) -> None:
        """Look."""
        left.append(ctx.calls_left)

    run(*[call("look")] * 3, tools=[look], limits=Limits(groups={"web": 3}))
    assert left == [2, 1, 0]


def test_what_cannot_be_used_is_not_said_to_be_left() -> None:
    """A tool's own last calls are no comfort where its group's are used up; the run's own last calls are."""

    @tool(group="web", max_calls_per_run=3)
    def look(n: int) -> int:
        """Look."""
        return n

    result = run(
        [*[call("look", n=n) for n in range(2)], call("look", n=2)], tools=[look], limits=Limits(groups={"web": 2})
    )
    texts = [record.result.error or " ".join(record.result.notes) for record in result.tool_calls]
    assert not any(" left" in text for text in texts)
    assert texts[2] == FEEDBACK.group_limit("look", ["look"], 2)


def test_group_limits_go_on_after_a_wait(wire: Wire) -> None:
    """Across `resume`, in another process too; and the call that waited is told what is left."""

    @tool(group="web", requires_approval=True)
    def post(text: str) -> str:
        """Post something."""
        return f"posted {text}"

    model = wire.model(
        [call("search", query="a"), call("post", text="b")],
        call("search", query="c"),
        call("search", query="d"),
        say("ok"),
    )
    agent = Agent(wire.provider(model), tools=[search, post], limits=Limits(groups={"web": 3}))
    first = wire.run(agent, "go")
    assert first.pending is not None
    pending = Pending.load(first.pending.dump())
    last = agent.resume_sync(pending, approve=True) if wire.driver == "sync" else asyncio.run(
        agent.resume(pending, approve=True)
    )  # fmt: skip
    assert texts(last)[1:] == [
        "posted b\n\nNote: 1 of 3 calls of `search` and `post` together is left.",
        "c: found",
        FEEDBACK.group_limit("search", ["search", "post"], 3),
    ]


# ---- said wrong


@pytest.mark.parametrize(
    ("groups", "words"),
    [
        (["web"], "takes a mapping"),
        ({"web": -1}, "whole numbers from 0 on"),
        ({"web": True}, "whole numbers from 0 on"),
        ({"web": 1.5}, "whole numbers from 0 on"),
        ({3: 1}, "give names"),
    ],
    ids=str,
)
def test_groups_that_make_no_sense(groups: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Limits(groups=groups)


def test_a_group_that_nothing_is_in_is_a_mistake() -> None:
    """A misspelt name must not leave a group without its limit; it is found when the agent is built."""
    with pytest.raises(DefinitionError, match=r"bounds the group 'wbe'.*Did you mean 'web'\?.*@tool\(group='wbe'\)"):
        Agent("openai:x", tools=TOOLS, limits=Limits(groups={"wbe": 5}))
    Agent("openai:x", tools=TOOLS, limits=Limits(groups={"web": 5}))
    with pytest.raises(DefinitionError, match="group=''"):
        Tool(free, group="")


def test_groups_in_a_settings_file(tmp_path: Path) -> None:
    """As a table of its own; a counter cannot be written there."""
    file = tmp_path / "toolsmith.toml"
    file.write_text('[agents.a]\nmodel = "openai:x"\nlimits = { turns = 5, groups = { web = 2 } }\n')
    assert toml.load(file).agent("a").limits == Limits(turns=5, groups={"web": 2})
    file.write_text('[agents.a]\nlimits = { shared = "counts.db", groups = { web = "two" } }\n')
    with pytest.raises(toml.ConfigError) as caught:
        toml.load(file)
    assert any("shared: there is no such setting" in problem for problem in caught.value.problems)
    assert any("web: takes a whole number" in problem for problem in caught.value.problems)


# ---- for many runs together


def test_a_counter_counts_for_all_runs(wire: Wire, tmp_path: Path) -> None:
    """The calls of one run are missing in the next; what is left, and what is spent, is said in words of its own."""
    counter = SQLiteCounter(tmp_path / "counts.db")
    limits = Limits(calls=None, groups={"web": 4}, shared=counter)
    calls = [call("search", query="a"), call("fetch", url="b"), call("free")]
    model = wire.model(calls, say("one"), calls, calls, say("two"))
    agent = Agent(wire.provider(model), tools=TOOLS, limits=limits)
    first = wire.run(agent, "go")
    assert texts(first)[1] == (
        "b: fetched\n\nNote: 2 of 4 calls of `search` and `fetch` together that this run shares with others are left."
    )
    second = wire.run(agent, "again")
    assert second.output == "two"
    assert [record.ran for record in second.tool_calls] == [True, True, True, False, False, True]
    spent = (
        "`search` was not run: the 4 calls of `search` and `fetch` together that this run shares with others are used. "
        "Go on with the results you have, use another tool, or answer without it."
    )
    assert texts(second)[3] == spent == FEEDBACK.shared_limit("search", ["search", "fetch"], 4, None)
    assert counter.taken() == {"group:web": 4}
    counter.reset()
    assert counter.taken() == {}


def test_a_counter_for_the_calls_of_runs_closes_them(tmp_path: Path) -> None:
    """When all calls of all runs are used, a run gets its last turn, as it does for its own."""
    limits = Limits(calls=3, shared=SQLiteCounter(tmp_path / "counts.db", window=timedelta(days=1)))
    assert run(call("free"), call("peek", n=1), limits=limits).stop_reason == "end"
    result = run([call("free"), call("peek", n=2), call("free")], limits=limits)
    assert (result.output, result.stop_reason) == ("done", "call_limit")
    assert [record.ran for record in result.tool_calls] == [True, False, False]
    assert "the 3 tool calls that this run shares with others are used. There are new ones in" in texts(result)[1]
    assert RAN == []


def test_counts_begin_anew_with_each_window(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows are fixed, so that all processes agree on them; names count for themselves."""
    now = 1_000_000.0
    monkeypatch.setattr(time, "time", lambda: now)
    counter = SQLiteCounter(tmp_path / "counts.db", window=60)
    other = SQLiteCounter(tmp_path / "counts.db", name="other", window=60)
    budgets = [("calls", 2), ("tool:x", 1)]
    assert counter.seconds_left() == 20
    assert counter.take(budgets) == [1, 0]
    assert counter.take(budgets) == [0, None]
    assert counter.take(budgets) == [None]
    assert other.take(budgets) == [1, 0]
    now += 20
    assert counter.seconds_left() == 60
    assert counter.taken() == {}
    assert counter.take(budgets) == [1, 0]
    assert counter.taken() == {"calls": 1, "tool:x": 1}
    assert SQLiteCounter(tmp_path / "counts.db").seconds_left() is None


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"path": ":memory:"}, "no other process can see"),
        ({"path": ""}, "path of a file"),
        ({"path": "x", "window": 0}, "more than 0"),
        ({"path": "x", "patience": -1}, "more than 0"),
    ],
    ids=str,
)
def test_counters_that_make_no_sense(arguments: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        SQLiteCounter(**arguments)
    with pytest.raises(ValueError, match="takes a counter"):
        Limits(shared=arguments)


def test_a_counter_that_fails_lets_nothing_run(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """What cannot be counted is not allowed; the run goes on, and the log has the reason."""
    limits = Limits(groups={"web": 5}, shared=SQLiteCounter(tmp_path / "counts.db"))
    (tmp_path / "counts.db").write_text("This is no database, and was never meant to be one. " * 20)
    result = run([call("search", query="a"), call("free")], limits=limits)
    assert (result.output, result.stop_reason, RAN) == ("done", "end", [])
    assert texts(result) == [FEEDBACK.not_counted("search"), FEEDBACK.not_counted("free")]
    assert "could not count" in caplog.text


def test_a_counter_of_ones_own() -> None:
    """Two methods are all; in async runs it is asked on a worker thread, so that the event loop never waits for it."""
    asked: list[tuple[bool, list[tuple[str, int]]]] = []

    class Mine:
        def take(self, budgets: Sequence[tuple[str, int]], /) -> Sequence[int | None]:
            asked.append((threading.current_thread() is threading.main_thread(), list(budgets)))
            return [most - 1 for _, most in budgets]

        def seconds_left(self) -> float | None:
            return 90.0

    def agent() -> Agent:
        model = ScriptedModel([[call("peek", n=1), call("search", query="a"), call("nowhere")], say("done")])
        return Agent(model.provider("openai"), tools=TOOLS, limits=Limits(groups={"web": 9}, shared=Mine()))

    agent().run_sync("go")
    asyncio.run(agent().run("go"))
    wanted = [
        [("calls", 100), ("tool:peek", 3)],
        [("calls", 100), ("group:web", 9)],
        [("calls", 100)],
    ]
    assert asked == [*((True, w) for w in wanted), *((False, w) for w in wanted)]


WORKER = """
import sys, time
from toolsmith import Agent, Limits, SQLiteCounter, tool
from toolsmith.testing import ScriptedModel, call, say

@tool(max_calls_per_run=1000)
def work(n: int) -> int:
    "Work."
    return n

path, go = sys.argv[1], float(sys.argv[2])
model = ScriptedModel([*([call("work", n=n), call("work", n=n + 1000)] for n in range(15)), say("done")])
limits = Limits(calls=50, turns=None, shared=SQLiteCounter(path, patience=60))
agent = Agent(model.provider("openai-chat"), tools=[work], limits=limits)
time.sleep(max(go - time.time(), 0))
print(sum(record.ran for record in agent.run_sync("go").tool_calls))
"""


def test_many_processes_never_take_more_than_there_is(tmp_path: Path) -> None:
    """Three processes want 90 calls at the same time, and there are 50: exactly 50 are run."""
    script = tmp_path / "worker.py"
    script.write_text(dedent(WORKER))
    go = time.time() + 2
    workers = [
        subprocess.Popen(
            [sys.executable, "-W", "error", str(script), str(tmp_path / "counts.db"), str(go)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": os.getcwd()},
        )
        for _ in range(3)
    ]  # fmt: skip
    outputs = [worker.communicate(timeout=100) for worker in workers]
    assert [worker.returncode for worker in workers] == [0] * 3, outputs
    assert sum(int(out) for out, _ in outputs) == 50
    assert SQLiteCounter(tmp_path / "counts.db").taken()["calls"] == 50


def test_many_threads_never_take_more_than_there_is(tmp_path: Path) -> None:
    """The same within one process, where the file is opened by many threads at once, and does not exist yet."""
    counter = SQLiteCounter(tmp_path / "counts.db", patience=60)

    def take(_: int) -> list[int | None]:
        return counter.take([("calls", 30)])

    with ThreadPoolExecutor(8) as pool:
        told = list(pool.map(take, range(60)))
    assert sorted(left for (left,) in told if left is not None) == list(range(30))


# ---- a law


@given(
    turns=st.lists(
        st.lists(st.sampled_from(["peek", "search", "fetch", "free", "nowhere"]), min_size=1, max_size=4), max_size=5
    ),
    calls=st.integers(0, 8),
    web=st.integers(0, 4),
    shared=st.booleans(),
)
@settings(max_examples=50, deadline=None)
def test_generated_runs_keep_to_their_limits(
    turns: list[list[str]], calls: int, web: int, shared: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Exactly the calls that fit are run, in the model's order, whatever is called and however it is counted."""
    number = iter(range(1000))
    steps = [[call(name, **_argument(name, next(number))) for name in names] for names in turns]
    counter = SQLiteCounter(tmp_path_factory.mktemp("counts") / "counts.db") if shared else None
    result = run(*steps, limits=Limits(calls=calls, groups={"web": web}, turns=None, shared=counter))
    used = {"calls": 0, "peek": 0, "web": 0}
    expected: list[bool] = []
    closed = False
    for names in turns:
        if closed:
            break
        for name in names:
            used["calls"] += 1
            if used["calls"] > calls:
                closed = True
                expected.append(False)
                continue
            own = {"peek": "peek", "search": "web", "fetch": "web"}.get(name)
            if own is not None:
                used[own] += 1
            fits = own is None or used[own] <= {"peek": 3, "web": web}[own]
            expected.append(fits and name != "nowhere")
    ran = [record.ran for record in result.tool_calls]
    assert ran[: len(expected)] == expected
    assert not any(ran[len(expected) :])
    assert (result.stop_reason == "call_limit") == closed


def _argument(name: str, number: int) -> dict[str, Any]:
    return {
        "peek": {"n": number},
        "search": {"query": f"q{number}"},
        "fetch": {"url": f"u{number}"},
        "free": {"n": number},
        "nowhere": {"n": number},
    }[name]


@pytest.mark.parametrize(
    ("keyword", "given", "words"),
    [
        ("limits", {"turns": 3, "seconds": 2.5}, "write limits=Limits(turns=3, seconds=2.5)."),
        ("limits", 3, "takes a Limits, not 3"),
        ("feedback", Feedback, "write feedback=Feedback()."),
        ("feedback", "German", "not 'German'"),
    ],
)
def test_what_is_no_limits_or_no_feedback_is_told_when_the_agent_is_made(keyword: str, given: Any, words: str) -> None:
    """Not in the run, and with what to write instead."""
    with pytest.raises(TypeError) as caught:
        Agent("local:smollm2", **{keyword: given})
    assert words in str(caught.value)
    assert f"Agent({keyword}=...)" in str(caught.value)


def test_a_counter_that_no_file_can_hold_is_told_when_it_is_made(tmp_path: Path) -> None:
    """Else each call of a run would be refused as not countable."""
    (tmp_path / "notes.txt").write_text("not a database at all")
    for path, words in (
        (tmp_path, "is a folder"),
        (tmp_path / "none" / "counts.db", "there is no folder"),
        (tmp_path / "notes.txt", "no SQLite database"),
    ):
        with pytest.raises(ValueError, match=words):
            SQLiteCounter(path)
    counter = SQLiteCounter(tmp_path / "counts.db")
    counter.take([("calls", 1)])
    assert SQLiteCounter(tmp_path / "counts.db").taken() == {"calls": 1}


@pytest.mark.parametrize("seconds", [float("inf"), 1e300, 1e10, 5])
@pytest.mark.parametrize("name", ["seconds", "tool_timeout"])
def test_a_time_longer_than_a_machine_can_wait_is_no_limit(name: str, seconds: float) -> None:
    """Threads cannot wait longer than `threading.TIMEOUT_MAX`, some 292 years; the loop has no such bound."""
    given: dict[str, Any] = {name: seconds}
    limits = Limits(**given)
    slow = Tool(free, timeout=1e10)
    for tools in (TOOLS, [slow]):
        model = ScriptedModel([call("free", n=1), say("done")] * 2)
        agent = Agent(model.provider("openai"), tools=tools, limits=limits)
        assert agent.run_sync("go").output == "done"
        assert asyncio.run(agent.run("go")).output == "done"
    assert slow.call_json_sync('{"n": 1}').success


@pytest.mark.parametrize(
    ("name", "value"),
    [("seconds", float("nan")), ("tool_timeout", float("nan")), ("calls", float("nan")), ("turns", float("inf")),
     ("calls", 1.5), ("tokens", 10.0), ("result_chars", 1e6)],
)  # fmt: skip
def test_what_is_no_number_of_what_is_counted_is_refused(name: str, value: float) -> None:
    """NaN would bound nothing, and there is no half a call."""
    with pytest.raises(ValueError, match=rf"Limits\({name}=\.\.\.\) takes .* or None, not {value!r}"):
        Limits(**{name: value})  # pyright: ignore[reportArgumentType]
