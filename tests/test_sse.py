"""Splitting server-sent events: the same events come out wherever the bytes are cut."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from toolsmith.providers._sse import EventSplitter


def split(chunks: list[bytes]) -> list[bytes]:
    splitter = EventSplitter()
    found = [data for chunk in chunks for data in splitter.feed(chunk)]
    return found + splitter.end()


def test_the_forms_an_event_takes() -> None:
    """Names, comments, ids and blank events are passed over; the space after the colon is no part of the data."""
    stream = (
        b": a comment\n\n"
        b'event: message_start\ndata: {"a": 1}\n\n'
        b'data:{"b": 2}\n\n'
        b"event: ping\n\n\n\n"
        b'id: 7\nretry: 10\ndata: {"c": 3}\n: late comment\n\n'
        b"data: [DONE]\n\n"
    )
    assert split([stream]) == [b'{"a": 1}', b'{"b": 2}', b'{"c": 3}', b"[DONE]"]


def test_data_of_several_lines_is_joined() -> None:
    """Pretty-printed JSON comes as one `data:` a line."""
    assert split([b'event: x\ndata: {\ndata: "a": 1\ndata: }\nid: 3\n\n']) == [b'{\n"a": 1\n}']


def test_a_byte_order_mark_opens_the_stream() -> None:
    assert split([b"\xef\xbb\xbfdata: 1\n\ndata: 2\n\n"]) == [b"1", b"2"]
    whole = EventSplitter()
    assert (whole.feed(b'\xef\xbb\xbf{"id"'), whole.feed(b": 1}")) == ([], [])
    assert whole.plain == b'{"id": 1}', "an answer that was not streamed may have one too"


def test_a_last_event_without_its_blank_line_counts() -> None:
    """Some servers end with "data: [DONE]" and nothing after it."""
    assert split([b"data: 1\n\ndata: [DONE]"]) == [b"1", b"[DONE]"]
    assert split([b"data: 1\r\n\r\ndata: [DONE]\r"]) == [b"1", b"[DONE]"]


def test_an_answer_that_is_no_stream_is_kept() -> None:
    """An HTML page, or JSON sent at once, can be read after all."""
    splitter = EventSplitter()
    assert splitter.feed(b"<html><body>\n\n502 Bad ") == []
    assert splitter.feed(b"Gateway</body>\r\n") == []
    assert splitter.end() == []
    assert splitter.plain == b"<html><body>\n\n502 Bad Gateway</body>\r\n"


def test_the_beginning_of_a_stream_is_no_page() -> None:
    """A connection that broke inside the first event was a stream all the same."""
    for begun in (b"", b"da", b"data: {", b"event: message_st", b": keep-alive\n\n", b"\xef\xbb"):
        splitter = EventSplitter()
        splitter.feed(begun)
        assert splitter.plain == b""


def test_nothing_is_kept_once_events_came() -> None:
    """A long stream does not stay in memory twice."""
    splitter = EventSplitter()
    splitter.feed(b"data: 1\n\n")
    assert splitter.plain == b""
    splitter.feed(b"data: 2\n\n")
    assert splitter.plain == b""


payloads = st.lists(
    st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]), min_size=1), max_size=6
)


@given(st.data(), payloads, st.sampled_from(["\n", "\r\n", "\r"]), st.booleans())
def test_any_cut_gives_the_same_events(data: st.DataObject, texts: list[str], newline: str, named: bool) -> None:
    """Law: cuts inside a character, between "\\r" and "\\n", and inside "data:" change nothing."""
    head = f"event: e{newline}" if named else ""
    stream = "".join(f"{head}data: {t}{newline}{newline}" for t in texts).encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    edges = [0, *cuts, len(stream)]
    whole = split([stream])
    assert split([stream[a:b] for a, b in pairwise(edges)]) == whole
    assert split([stream[i : i + 1] for i in range(len(stream))]) == whole
    assert whole == [t.encode().strip() for t in texts if t.encode().strip()]


def test_slow_bytes_cost_no_more_than_fast_ones() -> None:
    """A large event that comes byte by byte is joined once, not once a byte (500 KB would take minutes)."""
    event = b"data: " + b"x" * 500_000 + b"\n\n"
    splitter = EventSplitter()
    found = [data for i in range(0, len(event), 5) for data in splitter.feed(event[i : i + 5])]
    assert [len(data) for data in found] == [500_000]
