"""People in the loop: who is asked, what waits, and that nothing runs twice or unasked."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

import pytest
from wire import Wire

from toolsmith import (
    Agent,
    DefinitionError,
    HistoryError,
    Limits,
    Message,
    Pending,
    PendingCall,
    Tool,
    ToolOutput,
    tool,
)
from toolsmith.events import ApprovalNeeded, Event
from toolsmith.testing import call, say

Log = list[tuple[str, float]]


def _tools(log: Log) -> list[Tool[..., Any]]:
    @tool(requires_approval=lambda c: c.arguments["amount"] > 100)
    def pay(to: str, amount: float = 5.0) -> str:
        """Pay somebody."""
        log.append((to, amount))
        return f"paid {to} {amount:g}"

    @tool
    def balance(account: str = "main") -> int:
        """Look up a balance."""
        log.append((account, 0))
        return 1000

    return [pay, balance]


def _outputs(messages: list[Message]) -> list[str]:
    return [p.text for m in messages if m.role == "tool" for p in m.parts if isinstance(p, ToolOutput)]


_TURN = [
    call("pay", to="a", amount=500),
    call("balance"),
    call("pay", to="b", amount=50),
    call("pay", to="c", amount=900),
]


def test_a_run_waits_for_a_person_and_goes_on_elsewhere(wire: Wire) -> None:
    """Only the calls that need a word wait; the others of that turn have run, and are not run again in `resume`."""
    log: Log = []
    seen: list[Event] = []
    model = wire.model(_TURN, say("all done"))
    agent = Agent(wire.provider(model), tools=_tools(log), observers=[seen.append])
    result = wire.run(agent, "pay")
    assert result.stop_reason == "approval"
    assert result.pending is not None
    assert [(c.name, c.arguments["to"], c.arguments["amount"]) for c in result.pending.calls] == [
        ("pay", "a", 500),
        ("pay", "c", 900),
    ]
    assert sorted(log) == [("b", 50), ("main", 0)]
    assert len([e for e in seen if isinstance(e, ApprovalNeeded)]) == 2

    # Another process: nothing is left but the text.
    pending = Pending.load(result.pending.dump())
    elsewhere: Log = []
    first, last = (c.id for c in pending.calls)
    agent = Agent(wire.provider(model), tools=_tools(elsewhere))
    final = wire.resume(agent, pending, approve=[first], deny={last: "too much"})
    assert final.output == "all done"
    assert elsewhere == [("a", 500)]
    texts = _outputs(final.messages)
    assert [texts[0], texts[1], texts[2]] == ["paid a 500", "1000", "paid b 50"]
    assert "too much" in texts[3]


def test_what_is_left_undecided_goes_on_waiting(wire: Wire) -> None:
    log: Log = []
    model = wire.model(_TURN, say("all done"))
    agent = Agent(wire.provider(model), tools=_tools(log))
    result = wire.run(agent, "pay")
    assert result.pending is not None
    first, last = (c.id for c in result.pending.calls)
    log.clear()
    half = wire.resume(agent, result, approve=[last])
    assert half.stop_reason == "approval"
    assert log == [("c", 900)]
    assert half.pending is not None
    assert [c.id for c in half.pending.calls] == [first]
    final = wire.resume(agent, Pending.load(half.pending.dump()), approve=True)
    assert final.output == "all done"
    assert log == [("c", 900), ("a", 500)]
    assert _outputs(final.messages) == ["paid a 500", "1000", "paid b 50", "paid c 900"]


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_a_callback_decides_at_once(wire: Wire, kind: str) -> None:
    log: Log = []
    asked: list[str] = []

    def decide(waiting: PendingCall) -> bool | str:
        asked.append(waiting.arguments["to"])
        return True if waiting.arguments["to"] == "a" else "not to them"

    async def adecide(waiting: PendingCall) -> bool | str:
        await asyncio.sleep(0)
        return decide(waiting)

    model = wire.model(_TURN, say("done"))
    agent = Agent(wire.provider(model), tools=_tools(log), approve=decide if kind == "sync" else adecide)
    result = wire.run(agent, "pay")
    assert result.output == "done"
    assert asked == ["a", "c"]
    assert ("a", 500) in log
    assert ("c", 900) not in log
    assert "not to them" in _outputs(result.messages)[3]


def test_limits_hold_across_a_resume(wire: Wire) -> None:
    """Attempts before and after the wait are counted together."""
    log: Log = []
    model = wire.model(call("pay", to="a", amount=500), call("pay", to="a", amount=1), say("closed"))
    agent = Agent(wire.provider(model), tools=_tools(log), limits=Limits(calls=1))
    waiting = wire.run(agent, "pay")
    final = wire.resume(agent, waiting, approve=True)
    assert final.stop_reason == "call_limit"
    assert log == [("a", 500)]


def test_a_predicate_that_fails_lets_nothing_run() -> None:
    log: list[str] = []

    def broken(waiting: PendingCall) -> bool:
        raise LookupError(waiting.id)

    @tool(requires_approval=broken)
    def wipe() -> str:
        """Wipe."""
        log.append("wiped")
        return "wiped"

    from toolsmith.testing import ScriptedModel

    result = Agent(ScriptedModel([call("wipe")]).provider("openai"), tools=[wipe]).run_sync("go")
    assert result.stop_reason == "approval"
    assert log == []


@pytest.mark.parametrize("answer", [LookupError("who?"), TimeoutError(), 1, {"ok": True}], ids=repr)
@pytest.mark.parametrize("kind", ["sync", "async"])
def test_a_callback_that_fails_has_decided_nothing(
    wire: Wire, kind: str, answer: object, caplog: pytest.LogCaptureFixture
) -> None:
    """The run ends where it can be gone on from; the other calls have run, and the log has the reason."""
    log: Log = []

    def ask(waiting: PendingCall) -> Any:
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def ask_later(waiting: PendingCall) -> Any:
        return ask(waiting)

    model = wire.model([call("pay", to="a", amount=500), call("balance")], say("paid"))
    agent = Agent(wire.provider(model), tools=_tools(log), approve=ask if kind == "sync" else ask_later)
    waiting = wire.run(agent, "go")
    assert waiting.stop_reason == "approval"
    assert "approve failed on a call of pay" in caplog.text
    if not isinstance(answer, Exception):
        assert f"approve gave {answer!r}. Give True, False" in caplog.text
    assert log == [("main", 0)]
    assert agent.resume_sync(waiting, approve=True).output == "paid"
    assert log == [("main", 0), ("a", 500)]


def _pending() -> Pending:
    return Pending((PendingCall("c1", "pay", {"to": "a"}), PendingCall("c2", "pay", {"to": "b"})), [])


@pytest.mark.parametrize(
    ("approve", "deny", "expected"),
    [
        ((), (), [None, None]),
        (["c1"], ["c2"], [True, False]),
        (True, {"c2": "no"}, [True, "no"]),
        (True, (), [True, True]),
    ],
)
def test_decisions(approve: Any, deny: Any, expected: list[Any]) -> None:
    assert _pending().decisions(approve, deny) == expected


@pytest.mark.parametrize(("approve", "deny"), [(["c9"], ()), ((), ["c9"]), (["c1"], ["c1"])])
def test_decisions_that_make_no_sense_are_refused(approve: Any, deny: Any) -> None:
    with pytest.raises(ValueError, match=r"c[19]"):
        _pending().decisions(approve, deny)


def _broken(changes: Mapping[str, Any]) -> str:
    return json.dumps({**json.loads(_pending().dump()), **changes})


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", _broken({"toolsmith_pending": 9}), _broken({"calls": [{}]}), _broken({"history": "x"})]
)
def test_what_is_no_dumped_pending_is_refused(text: str) -> None:
    with pytest.raises(HistoryError):
        Pending.load(text)


def test_resuming_a_run_that_does_not_wait_is_an_error() -> None:
    from toolsmith.testing import ScriptedModel

    agent = Agent(ScriptedModel([say("hi")]).provider("openai"))
    with pytest.raises(ValueError, match="does not wait"):
        agent.resume_sync(agent.run_sync("hi"))


def test_a_text_is_no_list_of_ids() -> None:
    """`approve="all"` would be read letter by letter."""
    waiting = Pending((), [])
    with pytest.raises(ValueError, match=r"approve='all': give ids in a list.*True for all"):
        waiting.decisions("all", ())
    with pytest.raises(ValueError, match="deny='call_1': give ids in a list"):
        waiting.decisions((), "call_1")


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_the_function_is_asked_about_what_a_resume_leaves_open(wire: Wire, kind: str) -> None:
    """`Agent(approve=...)` holds for a run that goes on as well; what is said to `resume` comes first."""
    log: Log = []
    asked: list[str] = []
    model = wire.model(_TURN, say("all done"))
    waiting = wire.run(Agent(wire.provider(model), tools=_tools(log)), "pay")
    assert waiting.pending is not None
    first, last = (c.id for c in waiting.pending.calls)

    def decide(one: PendingCall) -> bool | str | None:
        asked.append(one.id)
        return "not now"

    async def adecide(one: PendingCall) -> bool | str | None:
        return decide(one)

    agent = Agent(wire.provider(model), tools=_tools(log), approve=decide if kind == "sync" else adecide)
    log.clear()
    final = wire.resume(agent, Pending.load(waiting.pending.dump()), approve=[first])
    assert (final.output, asked, log) == ("all done", [last], [("a", 500)])
    assert "not now" in _outputs(final.messages)[3]


def test_the_function_may_leave_it_open_again(wire: Wire) -> None:
    """Then the call goes on waiting, and nothing has run."""
    log: Log = []
    model = wire.model(_TURN, say("all done"))
    agent = Agent(wire.provider(model), tools=_tools(log), approve=lambda _: None)
    result = wire.run(agent, "pay")
    log.clear()
    again = wire.resume(agent, result)
    assert again.pending is not None
    assert result.pending is not None
    assert (again.stop_reason, again.pending.calls, log) == ("approval", result.pending.calls, [])


_ID = "c1"


@pytest.mark.parametrize(
    ("approve", "deny", "said"),
    [
        ({_ID: False}, (), "takes no mapping"),
        ({_ID: True}, (), "takes no mapping"),
        ({_ID: {"to": "b", "amount": 1}}, (), "deny the call, and say in the reason what to send instead"),
        ({}, (), "takes no mapping"),
        ([True], (), "approve has True, which is no id"),
        (None, (), "approve=None: give ids in a list"),
        (1, (), "approve=1: give ids in a list"),
        (bool, (), "give ids in a list"),
        (True, True, "deny=True: give ids in a list"),
        ((), {_ID: True}, "give the reason as a text"),
        ((), {_ID: {"to": "b"}}, "give the reason as a text"),
    ],
)
def test_what_is_no_list_of_ids_runs_nothing(approve: Any, deny: Any, said: str) -> None:
    """A mapping of what a person said about each call has its keys; read as ids, they would run what was refused."""
    from toolsmith.testing import ScriptedModel

    log: Log = []
    agent = Agent(ScriptedModel([call("pay", to="a", amount=500)]).provider("openai"), tools=_tools(log))
    waiting = agent.run_sync("go")
    assert waiting.pending is not None
    real = waiting.pending.calls[0].id

    def named(given: Any) -> Any:
        if isinstance(given, dict) and given:
            return {real: cast("dict[str, Any]", given)[_ID]}
        return cast("Any", given)

    with pytest.raises(ValueError, match=re.escape(said)):
        agent.resume_sync(waiting, approve=named(approve), deny=named(deny))
    assert log == []


def test_calls_in_place_of_their_ids_are_refused_with_what_to_give() -> None:
    waiting = _pending()
    with pytest.raises(ValueError, match=r"no id: give ids in a list, as in approve=\['c1'\]"):
        waiting.decisions(waiting.calls, ())  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("approve", [True, ["c1"], {"c1": True}], ids=repr)
def test_approve_of_an_agent_is_a_function(approve: Any) -> None:
    """Told before anything is sent, and not after each call has waited for nobody."""
    from toolsmith.testing import ScriptedModel

    model = ScriptedModel([call("pay", to="a", amount=500)])
    agent = Agent(model.provider("openai"), tools=_tools([]), approve=approve)
    with pytest.raises(TypeError, match=r"approve=.*: it takes a function"):
        agent.run_sync("go")
    assert model.requests == []


def _stored(**changes: Any) -> str:
    """A dumped run of which one call waits and another has run; with changes made by hand."""
    from toolsmith.testing import ScriptedModel

    model = ScriptedModel([[call("pay", to="a", amount=500), call("balance")]])
    waiting = Agent(model.provider("openai"), tools=_tools([])).run_sync("go", allowed_tools=["pay", "balance"]).pending
    assert waiting is not None
    data: dict[str, Any] = json.loads(waiting.dump())
    for name, value in changes.items():
        data[name] = {**data[name], **value} if isinstance(value, dict) and value else value
    return json.dumps(data)


_CHANGES: list[tuple[str, Any]] = [
    ("turns", "1"),
    ("turns", -1),
    ("turns", 1.5),
    ("tool_calls", "3"),
    ("tool_calls", True),
    ("usage", {"input_tokens": "x"}),
    ("by_tool", {"pay": None}),
    ("by_group", {"g": "1"}),
    ("breaker", {"strikes": [["pay", "{}", 1, 1]]}),
    ("allowed", "pay"),
    ("allowed", [1]),
    ("answered", {"1": {}}),
    (
        "answered",
        {"7": {"result": {"success": True, "data": 1, "error": None, "notes": []}, "seconds": 0, "ran": True}},
    ),
    ("answered", {}),
    ("calls", []),
    ("calls", "c"),
    ("calls", [{"id": 1, "name": "pay", "arguments": {}}]),
    ("history", 3),
]


@pytest.mark.parametrize(("name", "value"), _CHANGES, ids=str)
def test_a_dumped_pending_is_looked_at_before_anything_runs(name: str, value: Any) -> None:
    """Of the wrong type, or at odds with the history: told when it is loaded, not when the calls have run."""
    with pytest.raises(HistoryError, match=r"This is no dumped `Pending`|was changed since it was dumped"):
        Pending.load(_stored(**{name: value}))


def test_what_a_person_is_shown_is_what_the_model_asked_for() -> None:
    """Of a store in which somebody wrote other arguments, or another history, nothing runs."""
    data = json.loads(_stored())
    data["calls"][0]["arguments"] = {"to": "somebody else", "amount": 1000000}
    with pytest.raises(HistoryError, match="changed since it was dumped"):
        Pending.load(json.dumps(data))
    data = json.loads(_stored())
    data["history"] = data["history"].replace("500", "501")
    with pytest.raises(HistoryError, match="changed since it was dumped"):
        Pending.load(json.dumps(data))


def test_a_database_may_write_the_same_json_in_another_way() -> None:
    """Names in another order, and numbers spelt in another way, are no change."""
    data = json.loads(_stored())
    arguments = data["calls"][0]["arguments"]
    data["calls"][0] = dict(reversed(data["calls"][0].items()))
    data["calls"][0]["arguments"] = {"amount": float(arguments["amount"]), "to": arguments["to"]}
    again = Pending.load(json.dumps(dict(sorted(data.items())), indent=2))
    assert again.calls[0].arguments == arguments


def test_calls_that_were_exchanged_in_memory_do_not_run() -> None:
    from toolsmith.testing import ScriptedModel

    log: Log = []
    waiting = Pending.load(_stored())
    agent = Agent(ScriptedModel([say("k")]).provider("openai"), tools=_tools(log))
    for calls in ((), (replace(waiting.calls[0], name="balance"),), (replace(waiting.calls[0], id="c9"),)):
        with pytest.raises(HistoryError):
            agent.resume_sync(replace(waiting, calls=calls), approve=True)
    assert log == []


def test_a_tool_that_is_gone_meanwhile_may_be_named_in_allowed_tools() -> None:
    """A new release has dropped a tool that nobody called: the run goes on."""
    from toolsmith.testing import ScriptedModel

    log: Log = []
    agent = Agent(ScriptedModel([say("k")]).provider("openai"), tools=_tools(log)[:1])
    assert agent.resume_sync(Pending.load(_stored()), approve=True).output == "k"
    assert log == [("a", 500)]


def test_what_is_no_pending_is_told_what_to_give() -> None:
    from toolsmith.testing import ScriptedModel

    agent = Agent(ScriptedModel([say("k")]).provider("openai"), tools=_tools([]))
    for given in (_stored(), json.loads(_stored()), None, Pending.load(_stored()).calls):
        with pytest.raises(TypeError, match=r"resume takes a RunResult or a Pending, not .*: .*Pending\.load\(text\)"):
            agent.resume_sync(given, approve=True)  # pyright: ignore[reportArgumentType]


def test_an_async_function_cannot_say_whether_a_call_needs_approval() -> None:
    """It would answer with a coroutine, which is true of every call."""

    async def large(pending: PendingCall) -> bool:
        return pending.arguments["amount"] > 100

    predicate: Any = large
    with pytest.raises(DefinitionError, match="requires_approval=large: give a plain function"):

        @tool(requires_approval=predicate)
        def pay(amount: int) -> None:  # pyright: ignore[reportUnusedFunction]
            """Pay."""
