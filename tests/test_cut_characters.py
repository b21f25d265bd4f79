"""A character that a server cuts in two, one half in each of two events, arrives whole: nothing is shown as U+FFFD."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from wire import APIS

from toolsmith import Agent, RunResult, tool
from toolsmith.events import Delta, Event, ReasoningDelta, TextDelta, ToolArgumentsDelta
from toolsmith.providers import ModelSettings, Provider, resolve
from toolsmith.testing import Api, ScriptedModel, garbage, say
from toolsmith.testing.script import Fault

FACE = "\N{GRINNING FACE}"
HIGH, LOW = "\ud83d", "\ude00"
LOST = "\N{REPLACEMENT CHARACTER}"
echoed: list[str] = []

Piece = tuple[int, str]
"""The number of a block, and what is added to it."""


@tool
def echo(text: str) -> str:
    """Say it again."""
    echoed.append(text)
    return "said"


def stream(events: Iterable[dict[str, Any]]) -> bytes:
    """In ASCII, so that each half stands there as an escape of its own."""
    return b"".join(f"data: {json.dumps(event)}\n\n".encode() for event in events)


def words(api: Api, pieces: Iterable[Piece], *, kind: str = "text") -> bytes:
    """Words, or reasoning, in these pieces. Chat Completions has one block only."""
    pieces = list(pieces)
    blocks = sorted({block for block, _ in pieces})
    match api:
        case "anthropic":
            return stream(claude_words(pieces, blocks, kind))
        case "openai":
            return stream(openai_words(pieces, blocks, kind))
        case "openai-chat":
            key = "content" if kind == "text" else "reasoning_content"
            return stream([chat({key: text}) for _, text in pieces] + [chat({}, "stop")])


def claude(events: Iterable[dict[str, Any]], stop: str) -> Iterator[dict[str, Any]]:
    yield {"type": "message_start", "message": {"id": "m1", "role": "assistant", "model": "m", "content": []}}
    yield from events
    yield {"type": "message_delta", "delta": {"stop_reason": stop}}
    yield {"type": "message_stop"}


def claude_words(pieces: list[Piece], blocks: list[int], kind: str) -> Iterator[dict[str, Any]]:
    deltas = [{"index": block, "delta": {"type": f"{kind}_delta", kind: text}} for block, text in pieces]
    starts = [{"index": block, "content_block": {"type": kind, kind: ""}} for block in blocks]
    events = [{"type": "content_block_start", **start} for start in starts]
    return claude([*events, *({"type": "content_block_delta", **delta} for delta in deltas)], "end_turn")


def openai_words(pieces: list[Piece], blocks: list[int], kind: str) -> Iterator[dict[str, Any]]:
    name = "output_text" if kind == "text" else "reasoning_text"
    for block, text in pieces:
        yield {"type": f"response.{name}.delta", "output_index": block, "content_index": 0, "delta": text}
    items: list[dict[str, Any]] = []
    for block in blocks:
        whole = "".join(text for other, text in pieces if other == block)
        content = [{"type": name, "text": whole}]
        item: dict[str, Any] = {"type": "reasoning", "summary": []}
        if kind == "text":
            item = {"type": "message", "role": "assistant"}
        items.append({**item, "id": f"i{block}", "content": content})
    if kind != "text":
        items.append({"type": "message", "role": "assistant", "id": "i9", "content": []})
    yield from ({"type": "response.output_item.done", "output_index": n, "item": i} for n, i in enumerate(items))
    yield {"type": "response.completed", "response": {"id": "r1", "status": "completed", "output": items}}


def chat(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    return {"id": "c1", "created": 1, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def calls(api: Api, pieces: Iterable[Piece]) -> bytes:
    """Calls of `echo` whose arguments come in these pieces."""
    pieces = list(pieces)
    blocks = sorted({block for block, _ in pieces})
    match api:
        case "anthropic":
            starts: list[dict[str, Any]] = [
                {"type": "tool_use", "id": f"t{block}", "name": "echo", "input": {}} for block in blocks
            ]
            events: list[dict[str, Any]] = [
                {"type": "content_block_start", "index": n, "content_block": s} for n, s in enumerate(starts)
            ]
            for block, text in pieces:
                delta = {"type": "input_json_delta", "partial_json": text}
                events.append({"type": "content_block_delta", "index": block, "delta": delta})
            return stream(claude(events, "tool_use"))
        case "openai":
            items = [{"type": "function_call", "call_id": f"t{block}", "name": "echo"} for block in blocks]
            events: list[dict[str, Any]] = [
                {"type": "response.output_item.added", "output_index": n, "item": i} for n, i in enumerate(items)
            ]
            for block, text in pieces:
                events.append({"type": "response.function_call_arguments.delta", "output_index": block, "delta": text})
            whole = ["".join(text for other, text in pieces if other == block) for block in blocks]
            done = [{**item, "arguments": text} for item, text in zip(items, whole, strict=True)]
            events.append(
                {"type": "response.completed", "response": {"id": "r", "status": "completed", "output": done}}
            )
            return stream(events)
        case "openai-chat":
            begun = [{"index": n, "id": f"t{n}", "function": {"name": "echo", "arguments": ""}} for n in blocks]
            more = [{"index": block, "function": {"arguments": text}} for block, text in pieces]
            return stream([*(chat({"tool_calls": [one]}) for one in [*begun, *more]), chat({}, "tool_calls")])


def sent(body: bytes) -> Fault:
    return garbage(body, content_type="text/event-stream")


def streamed(api: Api, *bodies: bytes) -> tuple[RunResult[str], list[Event]]:
    """A run on the real SDK, over a socket, whose answers are these bytes."""
    echoed.clear()
    with ScriptedModel([*map(sent, bodies), say("done")]).serve() as server:
        agent = Agent(server.provider(api), tools=[echo])
        with agent.run_stream_sync("go") as events:
            told = list(events)
        return events.result, told


def said(events: Iterable[Event | Delta]) -> str:
    return "".join(e.text for e in events if isinstance(e, TextDelta))


def read(api: Api, body: bytes) -> tuple[str, list[Delta]]:
    """The text of an answer, and all that was told of it on the way."""
    accumulator = provider(api).accumulator()
    deltas = [*accumulator.feed(body), *accumulator.end()]
    return accumulator.finish().message.text, deltas


def provider(api: Api) -> Provider:
    return resolve(ModelSettings(model=f"{api}:claude-opus-5-5" if api == "anthropic" else f"{api}:m", api_key="k"))


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize(
    ("pieces", "whole"),
    [
        (["a" + HIGH, LOW + "b"], f"a{FACE}b"),
        ([HIGH, LOW], FACE),
        ([HIGH, LOW + HIGH, LOW], FACE * 2),
        (["a" + HIGH, "b"], f"a{LOST}b"),
        (["a", LOW + "b"], f"a{LOST}b"),
        (["a" + HIGH], f"a{LOST}"),
        ([HIGH, HIGH, LOW], LOST + FACE),
    ],
)
def test_words(api: Api, pieces: list[str], whole: str) -> None:
    """Both in the answer and as it is told; a half that stays alone is one U+FFFD."""
    result, events = streamed(api, words(api, [(0, piece) for piece in pieces]))
    assert result.output == whole
    assert said(events) == whole
    assert all(e.text for e in events if isinstance(e, TextDelta))


def test_words_in_parts() -> None:
    """Servers of Chat Completions may answer in parts, each delta one or more of them."""
    parts = [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "a" + HIGH}]
    body = stream([chat({"content": parts}), chat({"content": [{"type": "text", "text": LOW}]}), chat({}, "stop")])
    whole, deltas = read("openai-chat", body)
    assert said(deltas) == whole == f"a{FACE}"


@pytest.mark.parametrize("api", APIS)
def test_reasoning(api: Api) -> None:
    _, deltas = read(api, words(api, [(0, "a" + HIGH), (0, LOW)], kind="thinking"))
    assert "".join(d.text for d in deltas if isinstance(d, ReasoningDelta)) == f"a{FACE}"


@pytest.mark.parametrize("api", APIS)
def test_arguments(api: Api) -> None:
    """The function gets the character, and the next request holds it."""
    cut = [(0, f'{{"text": "a{HIGH}'), (0, f'{LOW}b"}}')]
    result, events = streamed(api, calls(api, cut))
    assert echoed == [f"a{FACE}b"]
    assert result.tool_calls[0].call.arguments == f'{{"text": "a{FACE}b"}}'
    told = "".join(e.text for e in events if isinstance(e, ToolArgumentsDelta))
    assert told == result.tool_calls[0].call.arguments


@pytest.mark.parametrize("api", APIS)
def test_arguments_of_two_calls_in_turns(api: Api) -> None:
    """Each call keeps its own half while the other one goes on."""
    begun = [(0, f'{{"text": "a{HIGH}'), (1, f'{{"text": "b{HIGH}')]
    _, events = streamed(api, calls(api, [*begun, (0, f'{LOW}"}}'), (1, f'{LOW}"}}')]))
    assert sorted(echoed) == [f"a{FACE}", f"b{FACE}"]
    ids = {e.call_id for e in events if isinstance(e, ToolArgumentsDelta)}
    told = ["".join(e.text for e in events if isinstance(e, ToolArgumentsDelta) and e.call_id == i) for i in ids]
    assert sorted(told) == [f'{{"text": "a{FACE}"}}', f'{{"text": "b{FACE}"}}']


@pytest.mark.parametrize("api", APIS)
def test_half_a_character_at_the_end_of_arguments(api: Api) -> None:
    """What cannot be mended goes on as U+FFFD, as in an answer that comes at once."""
    result, events = streamed(api, calls(api, [(0, f'{{"text": "a{HIGH}'), (0, '"}')]))
    assert result.output == "done"
    assert echoed == [f"a{LOST}"]
    assert "".join(e.text for e in events if isinstance(e, ToolArgumentsDelta)) == f'{{"text": "a{LOST}"}}'


TEXTS = st.lists(st.sampled_from(["a", "é", FACE, HIGH, LOW]), min_size=1, max_size=8).map("".join)


@pytest.mark.parametrize("api", APIS)
@given(texts=st.lists(TEXTS, min_size=1, max_size=6))
@settings(max_examples=40, deadline=None)
def test_the_law(api: Api, texts: list[str]) -> None:
    """Whatever the pieces, what is told is what the answer says, and it can be encoded."""
    whole, deltas = read(api, words(api, [(0, text) for text in texts]))
    assert said(deltas) == whole == "".join(texts).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    for delta in deltas:
        assert isinstance(delta, TextDelta)
        delta.text.encode()


@pytest.mark.parametrize("api", APIS[:2])
def test_the_next_block_begins_with_words(api: Api) -> None:
    """A half at the end of a block is told before the words of the next one."""
    whole, deltas = read(api, words(api, [(0, "a" + HIGH), (1, "b")]))
    assert said(deltas) == whole == f"a{LOST}b"
