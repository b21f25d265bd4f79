"""A conversation survives storage byte for byte, and a damaged one is put in order instead of being sent to fail."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any, get_args

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from wire import Wire

from toolsmith import (
    Agent,
    HistoryError,
    Image,
    Message,
    Text,
    ToolCall,
    ToolOutput,
    dump_messages,
    load_messages,
    tool,
)
from toolsmith.events import Event, HistoryMended
from toolsmith.history import mend
from toolsmith.messages import Native, Opaque, Part, Reasoning, Refusal
from toolsmith.testing import Api, ScriptedModel, call, say, think


@tool
def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b


def _lost(name: str) -> str:
    return f"{name} lost"


_texts = st.text(st.characters(codec="utf-8"), max_size=20)
_names = st.sampled_from(["a", "b", "c", "d"])
_parts: st.SearchStrategy[Part] = st.one_of(
    st.builds(Text, _texts),
    st.builds(Refusal, _texts, _texts),
    st.builds(Reasoning, _texts),
    st.builds(ToolCall, _names, _names, _texts),
    st.builds(ToolOutput, _names, _names, _texts, st.booleans()),
    st.builds(Opaque, _texts),
)
_messages = st.builds(
    Message,
    st.sampled_from(["user", "assistant", "tool"]),
    st.lists(_parts, max_size=4).map(tuple),
    st.none() | st.builds(Native, st.just("anthropic"), _texts.map(lambda t: json.dumps(t).encode())),
)


@given(st.lists(_messages, max_size=6))
def test_a_dumped_history_comes_back_as_it_was(messages: list[Message]) -> None:
    assert load_messages(dump_messages(messages)) == messages


@given(st.lists(_messages, max_size=6))
def test_a_mended_history_is_in_order_and_mending_it_again_changes_nothing(messages: list[Message]) -> None:
    """The law that every service enforces: a call is followed by its one answer, and an answer follows its call."""
    mended, _ = mend(messages, _lost)
    expected: list[str] = []
    for message in mended:
        if message.role == "tool":
            assert [p.call_id for p in message.parts if isinstance(p, ToolOutput)] == expected
            assert expected
            expected = []
        else:
            assert expected == []
            expected = [c.id for c in message.tool_calls] if message.role == "assistant" else []
    assert expected == []
    taken: set[str] = set()
    for message in mended:
        for made in message.tool_calls if message.role == "assistant" else ():
            assert made.id not in taken, "each id once"
            taken.add(made.id)
    assert mend(mended, _lost) == (mended, [])


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no dumped history"),
        ("[]", "toolsmith_history"),
        ('{"toolsmith_history": 99, "messages": []}', "version 99"),
        ('{"toolsmith_history": 1, "messages": [{"role": "boss", "parts": []}]}', "messages[0].role"),
        (
            '{"toolsmith_history": 1, "messages": [{"role": "user", "parts": [{"part": "x"}]}]}',
            "messages[0].parts[0].part",
        ),
        (
            '{"toolsmith_history": 1, "messages": [{"role": "user", "parts": [{"part": "text", "text": 3}]}]}',
            "messages[0].parts[0].text",
        ),
        ('{"toolsmith_history": 1, "messages": [{"role": "user", "parts": [{"part": "text"}]}]}', "parts[0]"),
    ],
)
def test_what_is_no_history_is_refused_with_its_place(text: str, says: str) -> None:
    with pytest.raises(HistoryError) as caught:
        load_messages(text)
    assert says in str(caught.value)


def test_a_stored_run_goes_on_with_the_same_service(wire: Wire) -> None:
    """Reasoning, ids and unknown blocks are replayed as they came: the scripted services refuse anything else."""
    model = wire.model([think("hm"), call("add", a=1, b=2)], say("3"), say("4"))
    agent = Agent(wire.provider(model), tools=[add])
    first = wire.run(agent, "1 + 2?")
    again = wire.run(agent, "And one more?", history=load_messages(dump_messages(first.messages)))
    assert again.output == "4"
    assert again.messages[: len(first.messages)] == first.messages


def test_a_history_cut_in_the_middle_is_mended_and_says_so(wire: Wire) -> None:
    """Trimmed by hand, or left by a crash: an answer too few at the end, an answer too many at the beginning."""
    model = wire.model([call("add", a=1, b=2), call("add", a=3, b=4)], say("3, 7"), say("fine"))
    first = wire.run(Agent(wire.provider(model), tools=[add]), "go")
    assistant, answers = first.messages[1], first.messages[2]
    orphan = Message("tool", (ToolOutput("call_gone", "add", "5"),))
    damaged = [orphan, Message("user", (Text("go"),)), assistant, Message("tool", answers.parts[:1])]
    seen: list[Event] = []
    result = wire.run(Agent(wire.provider(model), tools=[add], observers=[seen.append]), "And?", history=damaged)
    assert result.output == "fine"
    (event,) = [e for e in seen if isinstance(e, HistoryMended)]
    assert len(event.notes) == 2
    kept = [p for m in result.messages if m.role == "tool" for p in m.parts if isinstance(p, ToolOutput)]
    assert [p.is_error for p in kept] == [False, True]


@pytest.mark.parametrize("stored", [False, True])
def test_a_history_made_elsewhere_may_use_an_id_again(wire: Wire, stored: bool) -> None:
    """Claude refuses a second call of the same id; calls and answers stay together."""
    turns = [
        [Message("assistant", (ToolCall("call_0", "add", f'{{"a": {n}}}'),)), Message("tool", (_output(n),))]
        for n in (1, 2, 3)
    ]
    history = [Message("user", (Text("go"),)), *(message for turn in turns for message in turn)]
    if stored:
        history = load_messages(dump_messages(history))
    model = wire.model(say("done"))
    result = wire.run(Agent(wire.provider(model), tools=[add]), "Well?", history=history)
    assert result.output == "done"
    ids = [call.id for message in result.messages for call in message.tool_calls]
    assert len(set(ids)) == 3
    assert ids == [p.call_id for m in result.messages for p in m.parts if isinstance(p, ToolOutput)]


_DOT = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


@cache
def _stored_with(api: Api) -> tuple[Message, ...]:
    """A conversation of two runs with thoughts, parallel calls, images and a failure."""
    script = [
        [think("hm"), say("I look"), call("add", a=1), call("shot"), call("nope")],
        [call("add", a=2)],
        [think("hm"), call("shot"), call("shot")],
        say("done"),
        [call("add", a=3)],
        say("done"),
    ]
    agent = Agent(ScriptedModel(script).provider(api), tools=[add, shot], instructions="Be brief.")
    first = agent.run_sync(["Look.", Image(_DOT)])
    return tuple(agent.run_sync("And now?", message_history=first.messages).messages)


@tool
def shot() -> list[str | Image]:
    """Take a picture."""
    return ["here", Image(_DOT)]


_DAMAGES = st.lists(
    st.tuples(
        st.sampled_from(["lost", "swapped", "twice", "end lost", "beginning lost", "translated"]),
        st.integers(0, 11),
        st.integers(0, 11),
    ),
    min_size=1,
    max_size=4,
)


def _damaged(messages: Sequence[Message], damages: Sequence[tuple[str, int, int]]) -> list[Message]:
    made = list(messages)
    for kind, one, two in damages:
        if not made:
            break
        i, j = one % len(made), two % len(made)
        match kind:
            case "lost":
                del made[i]
            case "swapped":
                made[i], made[j] = made[j], made[i]
            case "twice":
                made.insert(j, made[i])
            case "end lost":
                del made[i:]
            case "beginning lost":
                del made[:i]
            case _:
                made[i] = replace(made[i], native=None)
    return made


@pytest.mark.parametrize("source", get_args(Api))
@pytest.mark.parametrize("target", get_args(Api))
@given(damages=_DAMAGES)
@example(damages=[("beginning lost", 1, 0)])
@example(damages=[("twice", 3, 8)])
@settings(max_examples=15, deadline=None)
def test_no_damaged_history_is_sent_to_fail(source: Api, target: Api, damages: list[tuple[str, int, int]]) -> None:
    """The law: messages lost, out of order or there twice, on the same service or another; no request is refused.

    Thoughts before changed messages have to be left out; the scripted model misses them all the same.
    """
    stored = load_messages(dump_messages(_damaged(_stored_with(source), damages)))
    model = ScriptedModel([call("add", a=4), say("fine")], ignore=["thinking-missing"])
    agent = Agent(model.provider(target), tools=[add, shot], instructions="Be brief.")
    assert agent.run_sync("Well?", message_history=stored).output == "fine"
    assert not model.refusals


def test_calls_and_answers_where_they_cannot_stand_are_left_out(wire: Wire) -> None:
    """A message of the user's with a call, or of the model's with an answer."""
    history = [
        Message("user", (Text("go"), ToolCall("call_1", "add", "{}"))),
        Message("assistant", (Text("well"), ToolOutput("call_1", "add", "5"))),
    ]
    model = wire.model(say("done"))
    result = wire.run(Agent(wire.provider(model), tools=[add]), "Well?", history=history)
    assert [m.text for m in result.messages] == ["go", "well", "Well?", "done"]


def _output(number: int) -> ToolOutput:
    return ToolOutput("call_0", "add", str(number + 1))


@pytest.mark.parametrize("prompt", ["", " ", [""]])
def test_an_empty_prompt_is_refused_with_a_history_too(prompt: Any) -> None:
    """Each service refuses it in words of its own, after a request; None is how one goes on without a prompt."""
    model = ScriptedModel([say("Hello."), say("Again.")])
    agent = Agent(model.provider("anthropic"))
    before = agent.run_sync("Hi").messages
    with pytest.raises(ValueError, match="The prompt is empty"):
        agent.run_sync(prompt, message_history=before)
    assert len(model.requests) == 1
    assert agent.run_sync(None, message_history=before[:1]).output == "Again."


def test_after_the_models_answer_somebody_has_to_say_something() -> None:
    """Claude takes no history that ends with its own words, and another model has nothing to answer."""
    model = ScriptedModel([say("Hello.")])
    agent = Agent(model.provider("anthropic"))
    before = agent.run_sync("Hi").messages
    with pytest.raises(ValueError, match="ends with the model's answer"):
        agent.run_sync(message_history=before)
    assert len(model.requests) == 1


def test_each_wrong_message_history_is_told_what_to_give() -> None:
    """One error of ours, the same for all services, before anything is sent."""
    model = ScriptedModel([say("Hello.")])
    result = Agent(model.provider("openai")).run_sync("Hi")
    wrong: list[tuple[Any, str]] = [
        (dump_messages(result.messages), r"takes a list of Message, not str: write load_messages\(text\)"),
        (result, r"takes a list of Message, not RunResult: write result\.messages"),
        (result.messages[0], r"takes a list of Message, not Message: write \[message\]"),
        ((m for m in result.messages), r"takes a list of Message, not generator: write list\("),
        (3, "takes a list of Message, not int"),
        ([{"role": "user", "content": "x"}], r"message_history\[0\] is a dict, and no Message"),
        ([result.messages[0], "x"], r"message_history\[1\] is a str, and no Message"),
        ([Message("system", (Text("x"),))], r"message_history\[0\].*'system'.*Agent\(instructions=...\)"),  # pyright: ignore[reportArgumentType]
    ]
    for api in get_args(Api):
        model = ScriptedModel([say("Hello.")])
        agent = Agent(model.provider(api))
        for given_, says in wrong:
            with pytest.raises((TypeError, HistoryError), match=says):
                agent.run_sync("On", message_history=given_)
        assert model.requests == []


def test_what_a_database_has_parsed_is_no_text() -> None:
    text = dump_messages([Message("user", (Text("x"),))])
    with pytest.raises(HistoryError, match=r"takes the text that dump_messages\(\) gave, not dict"):
        load_messages(json.loads(text))


def test_half_a_surrogate_pair_is_no_item_of_a_service() -> None:
    data = json.loads(dump_messages([Message("assistant", (Text("a"),), Native("anthropic", b"[]"))]))
    data["messages"][0]["native"]["items"] = "\ud800"
    with pytest.raises(HistoryError, match=r"messages\[0\]\.native.*surrogate"):
        load_messages(json.dumps(data))
