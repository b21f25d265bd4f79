"""The loop breaker: the same failing call is not made three times, and no other call is ever refused."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from wire import Wire

from toolsmith import Agent, Limits, Pending, Remedy, Repeats, RunContext, RunResult, Tool, ToolError, tool
from toolsmith._feedback import FEEDBACK
from toolsmith._run.breaker import EMPTY, MOST, Breaker, key_of
from toolsmith.events import Event, RepeatStopped, ToolResultReady
from toolsmith.testing import ScriptedModel, call, raw_call, say
from toolsmith.testing.script import Step

SECOND = FEEDBACK.repeated
STOPPED = FEEDBACK.repeat_stopped


def run(tools: Sequence[Any], *steps: Step, **options: Any) -> RunResult[str]:
    """A run of these turns; nothing that it sends is refused."""
    model = ScriptedModel([*steps, say("done")])
    allowed = options.pop("allowed_tools", None)
    result = Agent(model.provider("openai"), tools=tools, **options).run_sync("go", allowed_tools=allowed)
    assert not model.refusals
    return result


def texts(result: RunResult[Any]) -> list[str]:
    """What the model was told of each call."""
    return [FEEDBACK.result_text(r.result) if r.result.success else r.result.error or "" for r in result.tool_calls]


def ran(result: RunResult[Any]) -> list[bool]:
    return [record.ran for record in result.tool_calls]


@tool
def run_tests(path: str = ".") -> str:
    """Run the tests."""
    raise ToolError(f"Nothing answers at {path}.")


@tool
def start_service(name: str = "postgres") -> str:
    """Start a service."""
    return f"{name} is running"


@tool(read_only=True)
def look(at: str = "log") -> str:
    """Look at something."""
    return f"{at} is there"


def test_the_third_identical_call_never_happens(wire: Wire) -> None:
    """The first failure says what is wrong, the second that it is the second, the third is not run; the run goes on."""
    counted: list[str] = []
    seen: list[Event] = []

    @tool(on_error={ConnectionRefusedError: Remedy("The database is not running.", use="start_service")})
    def run_all(path: str, quick: bool = True) -> str:
        """Run the tests."""
        counted.append(path)
        raise ConnectionRefusedError(f"port 5432, try {len(counted)}")

    again = call("run_all", path="tests", quick=True)
    model = wire.model(again, again, again, again, say("I give up."))
    agent = Agent(wire.provider(model), tools=[run_all, start_service], observers=[seen.append])
    result = wire.run(agent, "Run the tests.")
    assert counted == ["tests", "tests"]
    first = "`run_all` failed: The database is not running. Call `start_service` next."
    stopped = STOPPED("run_all", 2, empty=False)
    assert texts(result) == [first, f"{first} {SECOND('run_all', 2)}", stopped, stopped]
    assert [request.results[-1][1] for request in model.requests[1:]] == texts(result)
    assert result.repeats == Repeats(warned=1, stopped=2, by_tool={"run_all": 3})
    stops = [event for event in seen if isinstance(event, RepeatStopped)]
    assert [(event.call.name, event.times, event.text) for event in stops] == [("run_all", 2, stopped)] * 2


# ---- what is the same


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('{"a": 1, "b": 2}', '{ "b":2,"a":1 }'),
        ('{"a": 1}', '{"a": 1.0}'),
        ('{"a": 100}', '{"a": 1e2}'),
        ('{"a": 0.5}', '{"a": 5e-1}'),
        ('{"a": 0.1}', '{"a": 0.10}'),
        ('{"a": 0}', '{"a": -0.0}'),
        ('{"a": 12345678901234567890}', '{"a": 12345678901234567890.0}'),
        ('{"a": "é"}', '{"a": "\\u00e9"}'),
        ('{"a": [{"x": 1, "y": 2}]}', '{"a": [{"y": 2.0, "x": 1}]}'),
        ("{}", ""),
        ('{"a": 1}', '"{\\"a\\": 1}"'),
        ('{"a": 1}', '```json\n{"a": 1}\n```'),
        ("{oops", "{oops"),
    ],
)
def test_arguments_that_are_equal(one: str, other: str) -> None:
    """As JSON says it: order, spaces and spelling do not matter."""
    assert key_of("t", one) == key_of("t", other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('{"a": 1}', '{"a": "1"}'),
        ('{"a": 1}', '{"a": true}'),
        ('{"a": 0}', '{"a": false}'),
        ('{"a": null}', "{}"),
        ('{"a": []}', '{"a": {}}'),
        ('{"a": [1, 2]}', '{"a": [2, 1]}'),
        ('{"a": 0.1}', '{"a": 0.1000000000000000000001}'),
        ('{"a": 12345678901234567890}', '{"a": 12345678901234567891}'),
        ('{"a": "x"}', '{"a": "x "}'),
        ("{oops", "{oops "),
        ('{"a": 1}', '{"a": 1, "a": 1}'),
    ],
)
def test_arguments_that_differ(one: str, other: str) -> None:
    """What may mean another thing is another call; so is another tool."""
    assert key_of("t", one) != key_of("t", other)
    assert key_of("t", one) != key_of("u", one)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


def _same(one: Any, other: Any) -> bool:
    """Equality of JSON: Python's, but that true is not 1."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))  # pyright: ignore[reportUnknownArgumentType]
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[k], other[k]) for k in one)  # pyright: ignore
    return bool(one == other)


@given(st.dictionaries(st.text(max_size=3), JSON, max_size=3), st.data())
@settings(max_examples=200, deadline=None)
def test_keys_are_equal_exactly_where_the_json_is(value: dict[str, Any], data: st.DataObject) -> None:
    """A law: whatever is sent, in whatever order and with whatever spaces."""
    shuffled = dict(data.draw(st.permutations(list(value.items()))))
    other = data.draw(st.just(value) | st.dictionaries(st.text(max_size=3), JSON, max_size=3))
    text = json.dumps(value)
    assert key_of("t", text) == key_of("t", json.dumps(shuffled, indent=2, ensure_ascii=False))
    assert (key_of("t", text) == key_of("t", json.dumps(other))) == _same(value, other)


def test_another_failure_is_something_new() -> None:
    """Where the text differs something has changed; the reference of an internal error is no difference."""
    tries: list[int] = []

    @tool
    def work(how: str) -> str:
        """Work."""
        tries.append(1)
        match how:
            case "progress":
                raise ToolError(f"Not yet: {len(tries)} of 9.")
            case _:
                raise ValueError(f"hunter{len(tries)}")

    assert ran(run([work], *[call("work", how="progress")] * 4)) == [True] * 4
    assert ran(run([work], *[call("work", how="crash")] * 4)) == [True, True, False, False]


# ---- which failures


def test_failures_that_were_not_run_count_as_well() -> None:
    """Wrong arguments, broken JSON and unknown tools: the second time the text says more, the third is stopped."""
    for wrong in (raw_call("run_tests", '{"path": 7}'), raw_call("run_tests", '{"path": '), call("run_test", path=".")):
        result = run([run_tests], wrong, wrong, wrong)
        one, two, three = texts(result)
        name = result.tool_calls[0].call.name
        assert two == f"{one} {SECOND(name, 2)}"
        assert (three == STOPPED(name, 2, empty=False)) == (name == "run_tests")
        assert not any(ran(result))


def test_limits_are_no_failures_of_a_call() -> None:
    """A spent tool is told so each time, in the words for it."""

    @tool(max_calls_per_run=1)
    def once() -> str:
        """Once."""
        return "ok"

    result = run([once], *[call("once")] * 9, limits=Limits(calls=8))
    assert texts(result)[1:4] == [FEEDBACK.tool_limit("once", 1)] * 3
    assert texts(result)[8] == FEEDBACK.run_limit("once", 8)
    assert result.repeats == Repeats()


def test_timeouts_count() -> None:
    @tool(timeout=0.05)
    async def hang() -> None:
        """Hang."""
        await asyncio.sleep(30)

    assert ran(run([hang], *[call("hang")] * 3)) == [True, True, False]


@pytest.mark.parametrize("nothing", [None, "", [], {}, ()], ids=repr)
def test_repeated_empty_results(nothing: Any) -> None:
    """A search that finds nothing twice will not find it the third time."""

    @tool
    def search(query: str) -> Any:
        """Search."""
        return nothing

    result = run([search], *[call("search", query="x")] * 3, call("search", query="y"))
    assert ran(result) == [True, True, False, True]
    one, two, three, other = texts(result)
    assert two == f"{one}\n\nNote: {FEEDBACK.repeated_empty('search', 2)}"
    assert three == STOPPED("search", 2, empty=True)
    assert other == one
    assert result.repeats == Repeats(1, 1, {"search": 2})


def test_what_is_not_empty() -> None:
    """Zero, false, and the None of a function that promises nothing are results: such calls may come again."""

    @tool
    def value(n: int) -> Any:
        """A value."""
        return [0, False, 0.0, [0], {"a": None}, " "][n]

    done: list[int] = []

    @tool
    def press() -> None:
        """Press the button."""
        done.append(1)

    for n in range(6):
        assert all(ran(run([value], *[call("value", n=n)] * 4)))
    assert all(ran(run([press], *[call("press")] * 4)))
    assert len(done) == 4


# ---- what changes something


def test_oscillation_is_seen() -> None:
    """A-B-A-B of failing calls, with reads in between."""

    @tool
    def build() -> str:
        """Build."""
        raise ToolError("Broken.")

    a, b, r = call("run_tests"), call("build"), call("look")
    result = run([run_tests, build, look], a, r, b, r, a, r, b, r, a, b)
    assert [c.call.name for c in result.tool_calls if not c.ran] == ["run_tests", "build"]
    assert ran(result)[-2:] == [False, False]


@pytest.mark.parametrize(
    ("between", "resets"),
    [
        ([call("start_service")], True),
        ([call("look")], False),
        ([call("run_tests", path="elsewhere")], False),
        ([raw_call("start_service", '{"wrong": 1}')], False),
        ([call("shell", command="ls")], True),
        ([call("shell", command="nothing")], True),
    ],
    ids=["another tool", "a read", "a failure", "a refusal", "a shell", "an empty result"],
)
def test_the_success_of_another_call_that_may_change_something(between: list[Step], resets: bool) -> None:
    """Then the cause may be repaired, and the failed call is tried anew; after a read it is not."""

    @tool
    def shell(command: str) -> str:
        """Run a command."""
        return "" if command == "nothing" else "ok"

    test = call("run_tests")
    result = run([run_tests, start_service, look, shell], test, test, *between, test)
    assert ran(result)[-1] is resets
    if resets:
        assert texts(result)[-1] == texts(result)[0]


def test_the_same_tool_with_other_arguments() -> None:
    """One shell can break and repair. What it found counts; that it found nothing does not."""

    @tool
    def shell(command: str) -> str:
        """Run a command."""
        if command == "test":
            raise ToolError("Broken.")
        return "" if command == "true" else "repaired"

    test = call("shell", command="test")
    assert ran(run([shell], test, test, call("shell", command="repair"), test)) == [True] * 4
    assert ran(run([shell], test, test, call("shell", command="true"), test)) == [True, True, True, False]


def test_searching_for_two_things_in_turn_finds_an_end() -> None:
    """Empty results of one tool do not start each other anew."""

    @tool
    def search(query: str) -> list[str]:
        """Search."""
        return []

    a, b = call("search", query="a"), call("search", query="b")
    assert ran(run([search], a, b, a, b, a, b)) == [True, True, True, True, False, False]


def test_polling_is_exempt() -> None:
    """`repeatable=True`: failing, or empty, as often as it likes; and nothing is said of it."""

    @tool(repeatable=True)
    def poll(queue: str) -> list[str]:
        """Poll."""
        if queue == "broken":
            raise ToolError("Broken.")
        return []

    for queue in ("broken", "empty"):
        result = run([poll], *[call("poll", queue=queue)] * 5, [call("poll", queue=queue)] * 4)
        assert all(ran(result))
        assert len(set(texts(result))) == 1
        assert result.repeats == Repeats()


# ---- several calls of one turn


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_identical_calls_of_one_turn(kind: str) -> None:
    """By the model's order, whichever ends first: the first is plain, the second says so, the third is not run."""
    delays = iter([0.15, 0.0])
    lock = threading.Lock()

    def fail() -> str:
        """Fail."""
        with lock:
            delay = next(delays)
        time.sleep(delay)
        raise ToolError("Broken.")

    async def afail() -> str:
        """Fail."""
        await asyncio.sleep(next(delays))
        raise ToolError("Broken.")

    seen: list[Event] = []
    made = Tool(fail if kind == "sync" else afail, name="fail")
    result = run([made], [call("fail")] * 4, observers=[seen.append])
    one = "`fail` failed: Broken."
    stopped = STOPPED("fail", 2, empty=False)
    assert texts(result) == [one, f"{one} {SECOND('fail', 2)}", stopped, stopped]
    assert ran(result) == [True, True, False, False]
    assert [event.result.error for event in seen if isinstance(event, ToolResultReady)] == texts(result)


def test_identical_calls_that_succeed_all_run_at_once() -> None:
    """Two dice are thrown at the same time; a third waits only until it is known that those two did not fail."""
    throws: list[float] = []
    meeting = threading.Barrier(2, timeout=5)

    @tool
    def dice() -> int:
        """Throw a die."""
        throws.append(time.monotonic())
        if len(throws) <= 2:
            meeting.wait()
        return 6

    assert ran(run([dice], [call("dice")] * 5)) == [True] * 5


def test_a_call_between_identical_ones() -> None:
    """What stands between them in the model's order, and changes something, counts between them."""
    test, start = call("run_tests"), call("start_service")
    result = run([run_tests, start_service], [test, test, start, test, test, test])
    one = texts(result)[0]
    again = f"{one} {SECOND('run_tests', 2)}"
    stopped = STOPPED("run_tests", 2, empty=False)
    assert texts(result) == [one, again, "postgres is running", one, again, stopped]
    # Also where it ends before a call that stands before it, and waits.
    result = run([run_tests, start_service], [test, test, test, start, test])
    assert texts(result) == [one, again, stopped, "postgres is running", one]


def test_a_sequential_tool_stays_a_barrier() -> None:
    """Nothing that comes after a call that waits overtakes it past a barrier."""
    order: list[str] = []

    @tool
    def fail() -> str:
        """Fail, until the third time."""
        order.append("fail")
        if order.count("fail") <= 2:
            raise ToolError(f"Broken {order.count('fail')}.")
        return "ok"

    @tool(sequential=True)
    def wall() -> str:
        """A barrier."""
        order.append("wall")
        return "ok"

    @tool
    def after() -> str:
        """After it."""
        order.append("after")
        return "ok"

    result = run([fail, wall, after], [*[call("fail")] * 3, call("wall"), call("after")])
    assert order == ["fail", "fail", "fail", "wall", "after"]
    assert all(ran(result))


# ---- people, and other processes


def _paying(log: list[str]) -> list[Tool[..., Any]]:
    @tool(requires_approval=True)
    def pay(to: str) -> str:
        """Pay somebody."""
        log.append(to)
        raise ToolError("The bank is closed.")

    @tool
    def fail() -> str:
        """Fail."""
        log.append("fail")
        raise ToolError("Broken.")

    return [pay, fail]


def test_counts_go_on_after_a_wait(wire: Wire) -> None:
    """Across `resume`, in another process too: what failed before it is known after it."""
    log: list[str] = []
    fail, pay = call("fail"), call("pay", to="ann")
    model = wire.model(fail, [fail, pay], fail, say("done"))
    first = wire.run(Agent(wire.provider(model), tools=_paying(log)), "go")
    assert first.stop_reason == "approval"
    assert first.repeats == Repeats(1, 0, {"fail": 1})
    assert first.pending is not None
    pending = Pending.load(first.pending.dump())
    agent = Agent(wire.provider(model), tools=_paying(log))
    if wire.driver == "sync":
        last = agent.resume_sync(pending, approve=True)
    else:
        last = asyncio.run(agent.resume(pending, approve=True))
    assert last.output == "done"
    assert log == ["fail", "fail", "ann"]
    assert last.tool_calls[-1].result.error == STOPPED("fail", 2, empty=False)
    assert last.repeats == Repeats(1, 1, {"fail": 2})


def test_what_a_person_allowed_is_run() -> None:
    """They were asked about this very call; but they are not asked about one that is stopped."""
    asked: list[str] = []

    def approve(waiting: Any) -> bool:
        asked.append(waiting.name)
        return True

    log: list[str] = []
    pay = call("pay", to="ann")
    result = run(_paying(log), [pay] * 3, pay, approve=approve)
    assert log == ["ann"] * 3
    assert len(asked) == 3
    assert result.tool_calls[-1].result.error == STOPPED("pay", 3, empty=False)
    assert "This is the third time" in str(result.tool_calls[2].result.error)


def test_a_refusal_of_a_person_is_not_asked_for_a_third_time() -> None:
    asked: list[str] = []

    def approve(waiting: Any) -> str:
        asked.append(waiting.name)
        return "No."

    result = run(_paying([]), *[call("pay", to="ann")] * 4, approve=approve)
    assert len(asked) == 2
    assert result.repeats.stopped == 2


def test_an_older_pending_has_no_breaker() -> None:
    """What was stored before there was one can still be loaded."""
    held = json.loads(Pending((), []).dump())
    del held["breaker"]
    assert Pending.load(json.dumps(held)).breaker == Breaker()


# ---- laws

Kind = Literal["fail", "crash", "empty", "ok"]


@dataclass(frozen=True)
class Act:
    """A call of a generated run: which of a few tools, with which of a few arguments, and how it ends."""

    tool: int
    argument: int
    kind: Kind


ACTS = st.builds(Act, st.integers(0, 3), st.integers(0, 1), st.sampled_from(["fail", "fail", "crash", "empty", "ok"]))
READ_ONLY = frozenset({2})
REPEATABLE = frozenset({3})


def changes(act: Act, tool: int) -> bool:
    """Whether a call may have changed how another call, of this tool, ends."""
    if act.kind not in ("ok", "empty") or act.tool in READ_ONLY:
        return False
    return act.tool != tool or act.kind == "ok"


def expected(acts: Sequence[Act]) -> list[bool]:
    """Which calls are run: the rule, as plainly as it can be said."""
    history: list[tuple[Act, bool]] = []
    for act in acts:
        same: list[Kind] = []
        for before, was_run in reversed(history):
            if not was_run:
                continue
            if (before.tool, before.argument) == (act.tool, act.argument):
                if before.kind == "ok":
                    break
                same.append(before.kind)
            elif changes(before, act.tool):
                break
        stopped = act.tool not in REPEATABLE and len(same) >= 2 and same[0] == same[1]
        history.append((act, not stopped))
    return [was_run for _, was_run in history]


def _tools(kinds: Mapping[str, tuple[Kind, int]]) -> list[Tool[..., Any]]:
    """Tools that end as is said of the call's id, and after so many milliseconds."""

    def make(number: int) -> Tool[..., Any]:
        async def act(argument: int, ctx: RunContext[Any]) -> Any:
            """Act."""
            kind, delay = kinds[ctx.tool_call_id]
            await asyncio.sleep(delay / 1000)
            match kind:
                case "fail":
                    raise ToolError("Broken.")
                case "crash":
                    raise ValueError("hunter2")
                case "empty":
                    return []
                case "ok":
                    return "ok"

        return Tool(act, name=f"tool_{number}", read_only=number in READ_ONLY, repeatable=number in REPEATABLE)

    return [make(n) for n in range(4)]


@given(st.lists(st.lists(st.tuples(ACTS, st.integers(0, 2)), min_size=1, max_size=5), max_size=5))
@settings(max_examples=60, deadline=None)
def test_generated_runs(turns: list[list[tuple[Act, int]]]) -> None:
    """A law over whole runs: the third in a row is never run, the first is never refused, a change begins anew.

    It goes by the model's order alone: not by how the calls stand in turns, nor by which one ends first.
    """
    acts = [act for made in turns for act, _ in made]
    delays = [delay for made in turns for _, delay in made]
    kinds: dict[str, tuple[Kind, int]] = {
        f"c{n}": (act.kind, delay) for n, (act, delay) in enumerate(zip(acts, delays, strict=True))
    }
    numbers = iter(range(len(acts)))
    steps = [
        [call(f"tool_{act.tool}", argument=act.argument).with_id(f"c{next(numbers)}") for act, _ in made]
        for made in turns
    ]  # fmt: skip
    model = ScriptedModel([*steps, say("done")])
    result = Agent(model.provider("openai-chat"), tools=_tools(kinds)).run_sync("go")
    assert ran(result) == expected(acts)
    assert result.repeats.stopped == expected(acts).count(False)
    seen: set[tuple[int, int]] = set()
    for act, was_run in zip(acts, ran(result), strict=True):
        assert was_run or (act.tool, act.argument) in seen, "a first call is never refused"
        seen.add((act.tool, act.argument))


@given(st.lists(ACTS, max_size=40))
@settings(max_examples=300, deadline=None)
def test_no_call_fails_more_than_twice_in_a_row(acts: list[Act]) -> None:
    """A law of the breaker alone: with nothing in between that changes something, two is the most."""
    breaker = Breaker()
    done: list[Act] = []
    for act in acts:
        key = key_of(str(act.tool), str(act.argument))
        if breaker.times(key) >= MOST:
            breaker.stop(key)
            continue
        done.append(act)
        match act.kind:
            case "ok":
                breaker.succeeded(key)
            case "empty":
                breaker.failed(key, EMPTY)
            case "fail" | "crash":
                breaker.failed(key, act.kind)
        if act.kind in ("ok", "empty") and act.tool not in READ_ONLY:
            breaker.changed(key, empty=act.kind == "empty")
        again = Breaker.load(json.loads(json.dumps(breaker.dump())))
        assert again == breaker == breaker.copy()
    for same in {(a.tool, a.argument) for a in done}:
        mine = [a for a in done if (a.tool, a.argument) == same or changes(a, same[0])]
        in_a_row = 1
        for one, other in pairwise(mine):
            in_a_row = in_a_row + 1 if one == other and one.kind in ("fail", "crash") else 1
            assert in_a_row <= MOST


def test_a_tool_that_an_earlier_turn_did_not_have_is_not_stopped() -> None:
    """Where each turn has tools of its own, to be refused there says nothing of the next turn, and the words do not."""

    def allowed(turn: int) -> list[str]:
        return ["look"] if turn > 2 else []

    result = run([look, start_service], *[call("look")] * 3, allowed_tools=allowed)
    assert ran(result) == [False, False, True]
    assert texts(result)[0] == FEEDBACK.not_allowed("look", [], now=True)
    assert result.repeats == Repeats(0, 0, {})


def test_only_tools_that_may_be_called_are_suggested() -> None:
    """A misspelt name must not lead the model to a tool that this turn refuses."""
    result = run([look, start_service], call("start_servic"), allowed_tools=["look"])
    assert texts(result) == [FEEDBACK.unknown_tool("start_servic", ["look"])]


@dataclass
class Where:
    """A place."""

    city: str
    floor: int = 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('{"name":"a","limit":null,"near":null,"where":null}', '{"name":"a"}'),
        ('{"name":"a","limit":null}', '{"near":null,"name":"a"}'),
        ('{"name":"a","where":{"city":"b","floor":null}}', '{"name":"a","where":{"city":"b"}}'),
    ],
)
def test_null_and_left_out_are_one(one: str, other: str) -> None:
    """An optional argument that is sent as null, as strict mode has it, is one that is left out: a loop that sends now
    the one and now the other is a loop.
    """

    @tool(strict=True)
    def find(name: str, limit: int = 5, near: str | None = None, where: Where | None = None) -> list[str]:
        """Find."""
        return []

    result = run([find], raw_call("find", one), raw_call("find", other), raw_call("find", one))
    assert ran(result) == [True, True, False]


def test_null_as_the_default_is_no_other_call() -> None:
    """Without strict mode too."""

    @tool(strict=False)
    def find(name: str, near: str | None = None) -> list[str]:
        """Find."""
        return []

    null, absent = raw_call("find", '{"name":"a","near":null}'), raw_call("find", '{"name":"a"}')
    assert ran(run([find], null, absent, null)) == [True, True, False]


def test_a_null_that_is_refused_is_another_call() -> None:
    """Without strict mode null stands for nothing: each of the two ends in its own way, and is stopped for that."""

    @tool(strict=False)
    def find(name: str, limit: int = 5) -> list[str]:
        """Find."""
        return []

    null, absent = raw_call("find", '{"name":"a","limit":null}'), raw_call("find", '{"name":"a"}')
    result = run([find], null, absent, null, absent, null, absent)
    assert result.repeats.by_tool == {"find": 4}


def test_a_null_that_means_something_is_another_call() -> None:
    """Where null is a value other than the default, it says something else."""

    @tool(strict=False)
    def find(name: str, limit: int | None = 5) -> list[str]:
        """Find."""
        return []

    null, absent = raw_call("find", '{"name":"a","limit":null}'), raw_call("find", '{"name":"a"}')
    assert ran(run([find], null, absent, null, absent)) == [True] * 4
