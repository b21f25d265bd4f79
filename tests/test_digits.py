"""A `Decimal` has the digits that the model wrote, also of a bare JSON number, on every road that a call can take."""

from __future__ import annotations

import copy
import json
import pickle
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any

import httpx2
import pytest
from pydantic import Field
from service_answers import Answer, Call, Words, at_once, streamed
from test_providers_http import provider

from toolsmith import Agent, tool
from toolsmith.approvals import Pending

APIS = ("anthropic", "openai", "openai-chat")
LONG = "12345678901234567890.123456789"
SMALL = "0.1000000000000000055511151231257827"  # as a float it is 0.1

every_api = pytest.mark.parametrize("api", APIS)
every_number = pytest.mark.parametrize(
    "number", [LONG, SMALL, f"-{LONG}", "1e-400", "1.5E-330", "3.00000000000000001", "12345678901234567890123"]
)


@dataclass
class Item:
    """One line of a bill."""

    price: Decimal
    name: str = ""


def answers(api: str, arguments: str, *, stream: bool) -> list[bytes]:
    """A call of `pay` with arguments to the letter, then words."""
    if api == "anthropic" and not stream:
        called = at_once(api, Answer([Call("c1", "pay", {"@": 1})])).replace(b'{"@":1}', arguments.encode())
    else:
        letters: Any = json.loads(arguments) if api == "anthropic" else arguments
        called = (streamed if stream else at_once)(api, Answer([Call("c1", "pay", letters)]))
        if api == "anthropic":  # in pieces: their text is what counts
            called = claude_stream(arguments)
    return [called, (streamed if stream else at_once)(api, Answer([Words("done")]))]


def claude_stream(arguments: str) -> bytes:
    begin = streamed("anthropic", Answer([Call("c1", "pay", {})]))
    events = [event for event in begin.split(b"\n\n") if event and b"input_json_delta" not in event]
    at = next(i for i, event in enumerate(events) if b"content_block_stop" in event)
    delta = {"type": "input_json_delta", "partial_json": arguments}
    piece = json.dumps({"type": "content_block_delta", "index": 0, "delta": delta}).encode()
    return b"\n\n".join([*events[:at], b"event: content_block_delta\ndata: " + piece, *events[at:], b""])


def model(api: str, arguments: str, *, stream: bool = False) -> Any:
    left = answers(api, arguments, stream=stream)
    return provider(api, "sync", lambda request: httpx2.Response(200, content=left.pop(0)))


def in_strict_form(api: str, number: str) -> str:
    """Arguments of `pay` as a strict model sends them: pairs for the mapping, and for OpenAI all that is optional."""
    more = "" if api == "anthropic" else ',"note":null,"item":null'
    return f'{{"amount":{number},"shares":[{{"key":"a","value":{number}}}]{more}}}'


@every_api
@every_number
@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("road", ["direct", "stream", "resumed", "stored"])
def test_all_digits_arrive(api: str, number: str, strict: bool, road: str) -> None:
    """Directly, and resumed after an approval, kept in memory or as JSON; as the service's strict form has it too."""
    seen: list[tuple[Decimal, dict[str, Decimal]]] = []

    @tool(strict=strict, requires_approval=road in ("resumed", "stored"))
    def pay(amount: Decimal, shares: dict[str, Decimal], note: str = "", item: Item | None = None) -> None:
        """Pay."""
        seen.append((amount, shares))

    sent = in_strict_form(api, number) if strict else f'{{"amount":{number},"shares":{{"a":{number}}}}}'
    agent = Agent(model(api, sent, stream=road == "stream"), tools=[pay])
    if road == "stream":
        with agent.run_stream_sync("go") as events:
            for _ in events:
                pass
    else:
        result = agent.run_sync("go")
        if road != "direct":
            assert result.pending is not None
            pending = Pending.load(result.pending.dump()) if road == "stored" else result.pending
            assert str(pending.calls[0].arguments["amount"]).lower() == number.lower()  # what a person is asked about
            agent.resume_sync(pending, approve=True)
    assert seen == [(Decimal(number), {"a": Decimal(number)})]


@every_number
def test_wherever_it_stands(number: str) -> None:
    """In lists, classes and unions that take no other text."""

    @tool
    def pay(one: Decimal | None, several: list[Decimal], item: Item, either: Decimal | int | bool = 0) -> Any:
        """Pay."""
        return None

    checked = pay.check(
        f'{{"one":{number},"several":[1,{number}],"item":{{"price":{number},"name":"{number}"}},"either":{number}}}'
    )
    exact = Decimal(number)
    assert checked.error is None
    assert checked.values["one"] == checked.values["several"][1] == checked.values["either"] == exact
    assert checked.values["item"] == Item(exact, number)


def test_bounds_are_those_of_the_number_as_written() -> None:
    """A float would round it to what is allowed."""

    @tool
    def pay(amount: Annotated[Decimal, Field(le=1, max_digits=30)]) -> None:
        """Pay."""

    assert pay.check('{"amount":1.0000000000000000000}').values == {"amount": Decimal(1)}
    assert "of at most 1" in (pay.check('{"amount":1.0000000000000000001}').error or "")


def test_a_number_out_of_bounds_is_told_as_a_decimal_one() -> None:
    """As the string that spells it is."""

    @tool
    def pay(amount: Annotated[Decimal, Field(gt=0, le=100)]) -> None:
        """Pay."""

    for sent, bounds in (("123.5", "of at most 100 and greater than 0"), ('"123.5"', "of at most 100")):
        error = pay.check(f'{{"amount":{sent}}}').error or ""
        assert f"`amount` must be a decimal number such as 12.50, {bounds}; you sent {sent}." in error


def test_other_types_are_as_before() -> None:
    """A text of many digits stays a text, a float a float; what is no JSON is told as ever."""

    @tool
    def pay(iban: str, amount: Decimal, rate: float) -> None:
        """Pay."""

    iban = "NO9386011117947" * 2
    checked = pay.check(f'{{"iban":"{iban}","amount":1.5,"rate":{SMALL}}}')
    assert checked.values == {"iban": iban, "amount": Decimal("1.5"), "rate": 0.1}
    assert checked.notes == ()
    assert "more than once" in (pay.check(f'{{"iban":"a","iban":"b","amount":{LONG},"rate":1}}').error or "")


def test_what_is_shown_can_be_copied() -> None:
    """A number that is shown with all its digits is a float, and keeps them."""

    @tool(requires_approval=lambda asked: asked.arguments["amount"] > 1)
    def pay(amount: Decimal) -> None:
        """Pay."""

    result = Agent(model("openai", f'{{"amount":{LONG}}}'), tools=[pay]).run_sync("go")
    assert result.pending is not None
    shown = result.pending.calls[0].arguments["amount"]
    assert isinstance(shown, float)
    for other in (copy.deepcopy(shown), pickle.loads(pickle.dumps(shown))):
        assert (other, str(other)) == (shown, LONG)
