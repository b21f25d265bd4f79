"""A turn's own items (`Message.native`) in a history that was made or changed by hand: what is wrong is said.

They go into a request as they are where nothing has changed since the service wrote them. All others are looked at.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import pytest
from wire import APIS

from toolsmith import Agent, HistoryError, tool
from toolsmith.history import dump_messages, load_messages
from toolsmith.messages import Message, Native, Text
from toolsmith.testing import Api, ScriptedModel, call, garbage, raw_call, say

JUNK = {
    "no JSON": b"junk",
    "no UTF-8": b'{"role":"assistant","content":"\xff"}',
    "a number": b"5",
    "null": b"null",
    "a list": b"[]",
    "half an object": b'{"role":"assistant"',
    "one comma too many": b'{"role":"assistant","content":[]},',
    "the end of the list": b'{"role":"assistant","content":"a"}],"model":"other","input":[{}',
    "far too deep": b"[" * 100_000,
}
ONLY_CLAUDE = {
    "no content": b"{}",
    "content of a number": b'{"role":"assistant","content":5}',
    "blocks that are none": b'{"role":"assistant","content":[5,null,"x"]}',
    "two messages": b'{"role":"assistant","content":[]},{"role":"assistant","content":[]}',
}


@tool
def echo(value: Any) -> str:
    """Say it again."""
    return "said"


def history(native: object) -> list[Message]:
    return [Message("user", (Text("Hi."),)), Message("assistant", (Text("Hello."),), cast("Native", native))]


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("items", JUNK.values(), ids=JUNK)
def test_items_that_no_service_wrote(api: Api, items: bytes) -> None:
    """They are refused before anything is sent, with their place in the history and the way out."""
    model = ScriptedModel([say("done")])
    with pytest.raises(HistoryError, match=r"^messages\[1\]\.native.*native=None") as caught:
        Agent(model.provider(api)).run_sync("go", message_history=history(Native(api, items)))
    assert len(str(caught.value)) < 400
    assert not model.requests
    mended = [replace(message, native=None) for message in history(None)]
    assert Agent(model.provider(api)).run_sync("go", message_history=mended).output == "done"


@pytest.mark.parametrize("items", ONLY_CLAUDE.values(), ids=ONLY_CLAUDE)
def test_items_of_claude_are_one_message(items: bytes) -> None:
    model = ScriptedModel([say("done")])
    with pytest.raises(HistoryError, match=r"^messages\[1\]\.native"):
        Agent(model.provider("anthropic")).run_sync("go", message_history=history(Native("anthropic", items)))


@pytest.mark.parametrize("api", APIS)
def test_a_loaded_history(api: Api) -> None:
    """`load_messages` keeps the items as text; the run finds what is wrong with them."""
    loaded = load_messages(dump_messages(history(Native(api, b"junk"))))
    with pytest.raises(HistoryError, match=r"messages\[1\]\.native"):
        Agent(ScriptedModel([say("done")]).provider(api)).run_sync("go", message_history=loaded)


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize(
    "native",
    ["text", 5, {"api": "x"}, *(Native(*cast("tuple[Any, Any, Any]", n)) for n in [("x", "y", ""), (None, b"", "")])],
    ids=str,
)
def test_what_is_no_native(api: Api, native: object) -> None:
    """As for whatever else is no message of a history: a TypeError that says what to give."""
    model = ScriptedModel([say("done")])
    with pytest.raises(TypeError, match=r"message_history\[1\]\.native"):
        Agent(model.provider(api)).run_sync("go", message_history=history(native))


@pytest.mark.parametrize("api", APIS)
def test_items_of_another_api_do_not_matter(api: Api) -> None:
    """They are never sent, whatever they are."""
    model = ScriptedModel([say("done")])
    agent = Agent(model.provider(api))
    assert agent.run_sync("go", message_history=history(Native("another", b"junk"))).output == "done"


def test_an_answer_without_content_goes_on() -> None:
    """Claude may answer with nothing at all, and that turn has no items: under other instructions too."""
    nothing = garbage('{"id": "m", "role": "assistant", "content": [], "stop_reason": "end_turn"}')
    provider = ScriptedModel([nothing, say("done")]).provider("anthropic")
    first = Agent(provider).run_sync("go")
    assert Agent(provider, instructions="Other.").run_sync("and?", message_history=first.messages).output == "done"


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("depth", [190, 196, 197, 198, 199, 200])
def test_deep_arguments_go_on(api: Api, depth: int) -> None:
    """What was read as arguments can be sent back under other instructions, where the items are read anew."""
    deep = '{"value":' + "[" * (depth - 1) + "]" * (depth - 1) + "}"
    provider = ScriptedModel([raw_call("echo", deep), say("done"), say("done")]).provider(api)
    agent = Agent(provider, tools=[echo])
    with agent.run_stream_sync("go") as events:
        assert [*events]
    again = Agent(provider, tools=[echo], instructions="Other.")
    assert again.run_sync("and?", message_history=events.result.messages).output == "done"


@pytest.mark.parametrize("api", APIS)
def test_half_a_character_in_items(api: Api) -> None:
    """JSON can hold it: what was written elsewhere goes out as well as it can."""
    items = {
        "anthropic": b'{"role":"assistant","content":[{"type":"text","text":"a\\ud83d"}]}',
        "openai": b'{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a\\ud83d"}]}',
        "openai-chat": b'{"role":"assistant","content":"a\\ud83d"}',
    }
    provider = ScriptedModel([call("echo", value=1), say("done")]).provider(api)
    agent = Agent(provider, tools=[echo])
    assert agent.run_sync("go", message_history=history(Native(api, items[api]))).output == "done"
