"""Going on after a person has decided: what is run is what the person saw, whatever form a service made of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pytest
from wire import Wire

from toolsmith import (
    Agent,
    HistoryError,
    Message,
    Pending,
    RunContext,
    RunResult,
    TextDelta,
    Tool,
    ToolOutput,
    ToolResultReady,
    tool,
)
from toolsmith.testing import ScriptedModel, call, raw_call, say


@dataclass
class Item:
    sku: str
    quantity: int = 1
    tags: tuple[str, int] | None = None


Seen = list[tuple[Any, ...]]


def _order(seen: Seen, *, strict: bool | None) -> Tool[..., Any]:
    @tool(requires_approval=True, strict=strict)
    def order(
        to: str,
        place: tuple[int, str],
        items: list[Item],
        euros: int = 5,
        labels: dict[str, int] | None = None,
        sizes: Mapping[str, Item] | None = None,
    ) -> str:
        """Order something."""
        seen.append((to, place, items, euros, labels, sizes))
        return f"ordered for {to}"

    return order


FEW = {"to": "Ada", "place": [1, "Oslo"], "items": [{"sku": "a"}]}
MANY = {
    "to": "Ada",
    "place": [2, "Rome"],
    "items": [{"sku": "a", "quantity": 2, "tags": ["x", 3]}, {"sku": "b"}],
    "euros": 7,
    "labels": {"a": 1, "b": 2},
    "sizes": {"big": {"sku": "c"}},
}


def _outputs(messages: list[Message]) -> list[str]:
    return [p.text for m in messages if m.role == "tool" for p in m.parts if isinstance(p, ToolOutput)]


@pytest.mark.parametrize("strict", [None, False], ids=["strict", "loose"])
@pytest.mark.parametrize("dumped", [False, True], ids=["kept", "dumped"])
def test_what_a_person_has_seen_is_what_is_run(wire: Wire, strict: bool | None, dumped: bool) -> None:
    """A strict form sends null for what is left out, and pairs for a mapping; `resume` reads them as the run does."""
    directly: Seen = []
    resumed: Seen = []
    script = [[call("order", FEW), call("order", MANY)], say("done")]
    agent = Agent(wire.provider(wire.model(*script)), tools=[_order(directly, strict=strict)], approve=lambda _: True)
    assert wire.run(agent, "go").output == "done"

    agent = Agent(wire.provider(wire.model(*script)), tools=[_order(resumed, strict=strict)])
    waiting = wire.run(agent, "go").pending
    assert waiting is not None
    assert [c.arguments.get("labels") for c in waiting.calls] == [None, MANY["labels"]]
    if dumped:
        waiting = Pending.load(waiting.dump())
        agent = Agent(wire.provider(wire.model(say("done"))), tools=[_order(resumed, strict=strict)])
    result = wire.resume(agent, waiting, approve=True)
    assert _outputs(result.messages) == ["ordered for Ada", "ordered for Ada"]
    assert len(directly) == 2
    assert sorted(resumed, key=str) == sorted(directly, key=str)


@pytest.mark.parametrize("strict", [None, False], ids=["strict", "loose"])
def test_another_service_goes_on(wire: Wire, strict: bool | None) -> None:
    """The form is that of the service which was asked before; the one that goes on may have another."""
    for other in wire.others:
        seen: Seen = []
        first = Agent(wire.provider(wire.model(call("order", MANY))), tools=[_order(seen, strict=strict)])
        waiting = wire.run(first, "go").pending
        assert waiting is not None
        second = Agent(wire.provider(wire.model(say("done")), other), tools=[_order(seen, strict=strict)])
        assert wire.resume(second, waiting, approve=True).output == "done"
        assert [one[4] for one in seen] == [{"a": 1, "b": 2}]


def test_the_model_reads_that_it_was_denied(wire: Wire) -> None:
    """And nothing about arguments, though the tool may have others by now."""
    agent = Agent(wire.provider(wire.model(call("order", FEW))), tools=[_order([], strict=None)])
    waiting = wire.run(agent, "go").pending
    assert waiting is not None

    @tool(requires_approval=True)
    def order(place: tuple[int, str]) -> None:
        """Order something."""

    for tools in ([_order([], strict=None)], [order]):
        agent = Agent(wire.provider(wire.model(say("done"))), tools=tools)
        result = wire.resume(agent, waiting, deny={waiting.calls[0].id: "too much"})
        (told,) = _outputs(result.messages)
        assert told.startswith("`order` was not run: the user did not allow it. Their reason: too much")


@pytest.mark.parametrize(
    "text", ['"{\\"to\\": \\"Ada\\"}"', '```json\n{"to": "Ada"}\n```'], ids=["encoded twice", "in a fence"]
)
def test_what_is_forgiven_in_a_text_is_shown_to_a_person_and_run(text: str) -> None:
    """Arguments that the door mends must not end the run when somebody is to look at them."""
    seen: list[str] = []

    @tool(requires_approval=True, strict=False)
    def pay(to: str) -> None:
        """Pay."""
        seen.append(to)

    agent = Agent(ScriptedModel([raw_call("pay", text), say("done")]).provider("openai"), tools=[pay])
    waiting = agent.run_sync("go").pending
    assert waiting is not None
    assert waiting.calls[0].arguments == {"to": "Ada"}
    assert agent.resume_sync(waiting, approve=True).output == "done"
    assert seen == ["Ada"]


def test_no_digit_of_an_amount_is_lost() -> None:
    """A person's word costs no precision."""
    seen: list[Decimal] = []

    @tool(requires_approval=True, strict=False)
    def pay(euros: Decimal) -> None:
        """Pay."""
        seen.append(euros)

    model = ScriptedModel([raw_call("pay", '{"euros": "12345678901234567.89"}'), say("done")])
    agent = Agent(model.provider("openai"), tools=[pay])
    waiting = agent.run_sync("go").pending
    assert waiting is not None
    agent.resume_sync(Pending.load(waiting.dump()), approve=True)
    assert seen == [Decimal("12345678901234567.89")]


def _two(log: list[str]) -> list[Tool[..., Any]]:
    @tool(requires_approval=True)
    def pay(to: str) -> str:
        """Pay."""
        log.append(to)
        return f"paid {to}"

    @tool
    def balance(account: str = "main") -> int:
        """Look up a balance."""
        return 1000

    return [pay, balance]


BOTH = [call("balance"), call("pay", to="a"), call("pay", to="b")]
NOT_YET = "`pay` was not run: the user has not allowed it yet. Call it again only if it is still wanted."


def test_going_on_without_a_decision_tells_the_truth(wire: Wire) -> None:
    """What has run keeps its answer; what waits was not run, and that is known."""
    log: list[str] = []
    model = wire.model(BOTH, say("as you like"), say("paid"))
    agent = Agent(wire.provider(model), tools=_two(log))
    waiting = wire.run(agent, "go")
    assert _outputs(waiting.messages) == ["1000", NOT_YET, NOT_YET]
    assert waiting.new_messages == waiting.messages
    other = wire.run(agent, "Never mind", history=waiting.messages)
    assert other.messages[: len(waiting.messages)] == waiting.messages

    half = wire.resume(agent, waiting, approve=[waiting.pending.calls[0].id] if waiting.pending else ())
    assert _outputs(half.messages) == ["1000", "paid a", NOT_YET]
    final = wire.resume(agent, half, approve=True)
    assert _outputs(final.messages) == ["1000", "paid a", "paid b"]
    assert log == ["a", "b"]


def test_the_new_messages_of_a_run_and_of_its_end_make_one_history(wire: Wire) -> None:
    """Who appends what is new to what is stored has two answers to a call, of which the later one counts."""
    model = wire.model(BOTH, say("paid"), say("bye"))
    agent = Agent(wire.provider(model), tools=_two([]))
    waiting = wire.run(agent, "go")
    final = wire.resume(agent, waiting, approve=True)
    stored = [*waiting.new_messages, *final.new_messages]
    after = wire.run(agent, "thanks", history=stored)
    assert _outputs(after.messages) == ["1000", "paid a", "paid b"]


def test_answers_that_come_one_by_one_are_all_kept() -> None:
    """A history from elsewhere may have a message for each answer."""
    agent = Agent(
        ScriptedModel([BOTH, say("paid"), say("bye")]).provider("openai"), tools=_two([]), approve=lambda _: True
    )
    messages = agent.run_sync("go").messages
    split = [Message("tool", (p,)) for p in messages[2].parts]
    after = agent.run_sync("thanks", message_history=[*messages[:2], *split, *messages[3:]])
    assert _outputs(after.messages) == ["1000", "paid a", "paid b"]


def test_a_stream_of_what_comes_after(wire: Wire) -> None:
    """It tells the calls that are run now, and the words; the result is that of `resume`."""
    script = [BOTH, say("paid")]
    waiting = wire.run(Agent(wire.provider(wire.model(*script)), tools=_two([])), "go").pending
    assert waiting is not None
    agent = Agent(wire.provider(wire.model(say("paid"), say("paid"))), tools=_two([]))
    result = wire.resume(agent, waiting, approve=True)
    plain = agent.resume_sync(waiting, approve=True)
    assert [m.parts for m in result.messages] == [m.parts for m in plain.messages]
    if wire.driver.endswith("stream"):
        assert [e.call.name for e in wire.events if isinstance(e, ToolResultReady)] == ["pay", "pay"]
        assert "".join(e.text for e in wire.events if isinstance(e, TextDelta)) == "paid"


def test_a_misspelt_keyword_is_refused() -> None:
    """It must not leave a call undecided, or allowed."""
    agent = Agent(ScriptedModel([BOTH]).provider("openai"), tools=_two([]))
    with pytest.raises(TypeError, match="A run has no option aprove"):
        agent.resume_sync(agent.run_sync("go"), aprove=True)  # pyright: ignore[reportCallIssue]


def test_the_history_of_what_waits_is_one_to_go_on_from(wire: Wire) -> None:
    """`pending.messages` is the only history that another process has: it tells the truth as `result.messages` does."""
    log: list[str] = []
    model = wire.model(BOTH, say("as you like"), say("paid"))
    agent = Agent(wire.provider(model), tools=_two(log))
    result = wire.run(agent, "go")
    assert result.pending is not None
    waiting = Pending.load(result.pending.dump())
    assert _outputs(waiting.messages) == ["1000", NOT_YET, NOT_YET]
    assert waiting.messages == result.messages
    other = wire.run(agent, "Never mind", history=waiting.messages)
    assert _outputs(other.messages) == ["1000", NOT_YET, NOT_YET]

    final = wire.resume(agent, waiting, approve=True)
    assert _outputs(final.messages) == ["1000", "paid a", "paid b"]
    assert sorted(log) == ["a", "b"]


def test_what_has_run_is_in_the_records_while_others_wait(wire: Wire) -> None:
    """Each ending has the records of what ran, those of the waiting turn as well, in the model's order."""

    def ran(result: RunResult[str]) -> list[tuple[int, object]]:
        return [(record.turn, record.result.data) for record in result.tool_calls if record.ran]

    model = wire.model(call("balance", account="x"), BOTH, say("paid"))
    agent = Agent(wire.provider(model), tools=_two([]))
    waiting = wire.run(agent, "go")
    assert ran(waiting) == [(1, 1000), (2, 1000)]
    assert waiting.pending is not None
    half = wire.resume(agent, waiting, approve=[waiting.pending.calls[1].id])
    assert ran(half) == [(2, 1000), (2, "paid b")]
    final = wire.resume(agent, half, approve=True)
    assert ran(final) == [(2, 1000), (2, "paid a"), (2, "paid b")]


@pytest.mark.parametrize("dumped", [False, True], ids=["kept", "dumped"])
def test_deps_are_asked_for_again(wire: Wire, dumped: bool) -> None:
    """They are not kept. Without them an approved call would run, and fail in its middle."""
    paid: list[tuple[str, str]] = []

    @tool(requires_approval=True)
    def pay(to: str, ctx: RunContext[str]) -> str:
        """Pay somebody."""
        paid.append((ctx.deps, to))
        return "paid"

    model = wire.model(call("pay", to="Ada"), say("done"))
    agent = Agent(wire.provider(model), tools=[pay])
    waiting = agent.run_sync("go", deps="bank").pending
    assert waiting is not None
    if dumped:
        waiting = Pending.load(waiting.dump())
    with pytest.raises(ValueError, match="'pay' may ask for them: resume"):
        agent.resume_sync(waiting, approve=True)
    assert paid == []
    assert agent.resume_sync(waiting, approve=True, deps="bank").output == "done"
    assert paid == [("bank", "Ada")]


def test_a_run_without_deps_goes_on_without(wire: Wire) -> None:
    """Nor does one whose tools have no use for them."""

    @tool(requires_approval=True)
    def pay(to: str, ctx: RunContext[Any]) -> str:
        """Pay somebody."""
        return f"paid {to} {ctx.deps}"

    @tool(requires_approval=True)
    def sell(to: str) -> str:
        """Sell to somebody."""
        return f"sold to {to}"

    for name, deps in (("pay", None), ("sell", "bank")):
        agent = Agent(
            wire.provider(wire.model(call(name, to="Ada"), say("done"))), tools=[pay if deps is None else sell]
        )
        result = agent.resume_sync(agent.run_sync("go", deps=deps), approve=True)
        assert result.output == "done"


def _edited(pending: Pending) -> Pending:
    arguments: Any = pending.calls[0].arguments
    arguments["items"][0]["quantity"] = 1000
    return pending


def _edited_and_dumped(pending: Pending) -> Pending:
    return Pending.load(_edited(pending).dump())


def _loaded_and_edited(pending: Pending) -> Pending:
    return _edited(Pending.load(pending.dump()))


def _unsealed(pending: Pending) -> Pending:
    data: dict[str, Any] = json.loads(pending.dump())
    del data["seal"]
    data["calls"][0]["arguments"]["to"] = "Eve"
    return Pending.load(json.dumps(data))


@pytest.mark.parametrize("edit", [_edited, _edited_and_dumped, _unsealed, _loaded_and_edited])
def test_a_call_whose_arguments_were_changed_is_not_run(edit: Callable[[Pending], Pending]) -> None:
    """A person who has approved it has not seen what would run."""
    seen: Seen = []
    model = ScriptedModel([call("order", MANY), say("done")])
    agent = Agent(model.provider("openai"), tools=[_order(seen, strict=None)])
    waiting = agent.run_sync("go").pending
    assert waiting is not None
    with pytest.raises(HistoryError):
        agent.resume_sync(edit(waiting), approve=True)
    assert seen == []
