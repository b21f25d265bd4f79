"""Streams of all three APIs: however the bytes are cut, the answer is the one that would have come at once."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from service_answers import ANSWERS, Answer, Call, Thought, Words, at_once, event, streamed

from toolsmith.errors import ProviderError
from toolsmith.events import Delta, ReasoningDelta, TextDelta, ToolArgumentsDelta, ToolCallStarted
from toolsmith.messages import Reasoning, Reply
from toolsmith.providers import ModelSettings, Provider, resolve

APIS = ("anthropic", "openai", "openai-chat")
FULL = Answer([Thought("Let me think: ä€😀"), Words("Grüße, 世界! 😀"), Call("c1", "add", {"a": 1, "ü": ["😀"]})])


def provider(api: str) -> Provider:
    return resolve(ModelSettings(model=f"{api}:claude-opus-5-5" if api == "anthropic" else f"{api}:m", api_key="k"))


def read(api: str, chunks: Sequence[bytes]) -> tuple[Reply, list[Delta]]:
    accumulator = provider(api).accumulator()
    deltas = [delta for chunk in chunks for delta in accumulator.feed(chunk)]
    return accumulator.finish(), deltas


@pytest.mark.parametrize("api", APIS)
@settings(max_examples=60, deadline=None)
@given(data=st.data(), answer=ANSWERS, size=st.integers(1, 40))
def test_a_stream_gives_what_decode_gives(api: str, data: st.DataObject, answer: Answer, size: int) -> None:
    """Law: any answer, in pieces of any size, cut anywhere into chunks, equals the answer sent at once."""
    stream = streamed(api, answer, size=size)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=6)))
    edges = [0, *cuts, len(stream)]
    reply, deltas = read(api, [stream[a:b] for a, b in pairwise(edges)])
    assert reply == provider(api).decode(at_once(api, answer))
    said = "".join(d.text for d in deltas if isinstance(d, TextDelta))
    assert said == reply.message.text
    for call in reply.message.tool_calls:
        written = "".join(d.text for d in deltas if isinstance(d, ToolArgumentsDelta) and d.call_id == call.id)
        assert call.arguments in (written, written or "{}")
    begun = [(d.call_id, d.name) for d in deltas if isinstance(d, ToolCallStarted)]
    assert begun == [(c.id, c.name) for c in reply.message.tool_calls]


@pytest.mark.parametrize("api", APIS)
def test_every_cut_of_one_stream(api: str) -> None:
    """Each single byte position, with four-byte characters on the way."""
    stream = streamed(api, FULL)
    whole = provider(api).decode(at_once(api, FULL))
    for at in range(len(stream)):
        assert read(api, [stream[:at], stream[at:]])[0] == whole
    assert read(api, [stream[i : i + 1] for i in range(len(stream))])[0] == whole
    assert read(api, [stream.replace(b"\n", b"\r\n")])[0] == whole


@pytest.mark.parametrize("api", APIS)
def test_reasoning_is_told_as_it_arrives(api: str) -> None:
    reply, deltas = read(api, [streamed(api, FULL)])
    thought = "".join(d.text for d in deltas if isinstance(d, ReasoningDelta))
    assert thought == "Let me think: ä€😀"
    assert Reasoning(thought) in reply.message.parts


@pytest.mark.parametrize("api", APIS)
def test_a_stream_cut_short_is_a_connection_error(api: str) -> None:
    """Without its terminal event an answer is not finished, wherever it broke: no half call is ever run."""
    terminal = {"anthropic": b'"message_stop"', "openai": b"response.completed", "openai-chat": b'"tool_calls","log'}
    stream = streamed(api, FULL)
    for at in range(stream.index(terminal[api])):
        accumulator = provider(api).accumulator()
        accumulator.feed(stream[:at])
        with pytest.raises(ProviderError) as caught:
            accumulator.finish()
        assert caught.value.category == "connection", at


@pytest.mark.parametrize("api", APIS)
def test_a_page_instead_of_a_stream(api: str) -> None:
    """A proxy's HTML with status 200 is named, with its first words."""
    accumulator = provider(api).accumulator()
    accumulator.feed(b"<html><head><title>Bad ")
    accumulator.feed(b"gateway</title></head>\n\n</html>")
    assert accumulator.end() == ()
    with pytest.raises(ProviderError, match="Bad gateway") as caught:
        accumulator.finish()
    assert caught.value.category == "bad_response"


@pytest.mark.parametrize("api", APIS)
def test_an_answer_sent_at_once_though_a_stream_was_asked_for(api: str) -> None:
    """Some servers and proxies ignore `stream`; the answer counts all the same."""
    whole = at_once(api, FULL)
    accumulator = provider(api).accumulator()
    assert [*accumulator.feed(whole[:10]), *accumulator.feed(whole[10:])] == []
    deltas = accumulator.end()
    reply = accumulator.finish()
    assert reply == provider(api).decode(whole)
    assert [d.text for d in deltas if isinstance(d, TextDelta)] == [reply.message.text]
    assert [d.text for d in deltas if isinstance(d, ReasoningDelta)] == ["Let me think: ä€😀"]
    (call,) = reply.message.tool_calls
    assert deltas[-2:] == [ToolCallStarted(call.id, "add"), ToolArgumentsDelta(call.id, call.arguments)]
    assert accumulator.end() == (), "each is told once"


@pytest.mark.parametrize("api", APIS)
def test_a_last_event_without_its_blank_line_is_told(api: str) -> None:
    """Some servers send none after the last words: they count, and they are shown."""
    stream = streamed(api, Answer([Words("Hello")]))
    accumulator = provider(api).accumulator()
    last = stream.rstrip()
    deltas = [*accumulator.feed(last), *accumulator.end()]
    assert accumulator.finish().message.text == "Hello" == "".join(d.text for d in deltas if isinstance(d, TextDelta))


@pytest.mark.parametrize("api", APIS)
def test_broken_json_inside_a_stream(api: str) -> None:
    accumulator = provider(api).accumulator()
    accumulator.feed(event('{"type": "response.out'))
    with pytest.raises(ProviderError) as caught:
        accumulator.finish()
    assert caught.value.category == "bad_response"


@pytest.mark.parametrize(
    ("api", "frame", "category"),
    [
        ("anthropic", {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}, "overloaded"),
        ("anthropic", {"type": "error", "error": {"type": "api_error", "message": "Oh"}}, "server"),
        ("anthropic", {"type": "error", "error": {"type": "new_error", "message": "Oh"}}, "unknown"),
        (
            "openai",
            {"type": "error", "code": "rate_limit_exceeded", "message": "Slow down", "param": None},
            "rate_limit",
        ),
        ("openai", {"error": {"message": "The server had an error", "type": "server_error", "code": None}}, "server"),
        ("openai-chat", {"error": {"message": "Overloaded", "code": 503}}, "overloaded"),
        ("openai-chat", {"error": "out of memory"}, "unknown"),
        ("openai-chat", {"object": "error", "message": "too long", "code": 400}, "bad_request"),
    ],
)
def test_an_error_in_the_middle_of_a_stream(api: str, frame: dict[str, object], category: str) -> None:
    """An error frame ends the answer with its category, although the status was 200 and more bytes follow."""
    stream = streamed(api, FULL)
    middle = stream.index(b"\n\n", len(stream) // 3) + 2
    accumulator = provider(api).accumulator()
    accumulator.feed(stream[:middle] + event(frame, "error" if api == "anthropic" else None) + stream[middle:])
    with pytest.raises(ProviderError) as caught:
        accumulator.finish()
    assert caught.value.category == category
    assert caught.value.provider.startswith(api)


@pytest.mark.parametrize("api", APIS)
def test_half_an_emoji_does_not_lose_the_answer(api: str) -> None:
    """Some servers cut "\\ud83d\\ude00" in two. No UTF-8 can hold the halves, but the rest of the answer counts."""
    stream = streamed(api, Answer([Words("ab"), Words("cd")]), size=1)
    broken = stream.replace(b'"b"', b'"\\ud83d"')
    reply, _ = read(api, [broken])
    assert reply.message.text.startswith("a")
    assert reply.stop == "end"
