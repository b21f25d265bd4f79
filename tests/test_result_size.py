"""Results that are too long: what is shown keeps to its bound, JSON stays JSON, and the model can read the rest."""

from __future__ import annotations

import asyncio
import base64
import json
import math
import re
import time
from collections.abc import Generator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from wire import Wire

from toolsmith import (
    Agent,
    DefinitionError,
    Image,
    Limits,
    Message,
    Pending,
    RunResult,
    Tool,
    ToolError,
    ToolOutput,
    ToolResult,
    tool,
)
from toolsmith._feedback import FEEDBACK
from toolsmith._run import paging
from toolsmith.testing import ScriptedModel, call, say
from toolsmith.testing.script import Scripted, Step

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
ROWS = {"total": 400, "rows": [{"id": i, "text": f"line {i} " * 3} for i in range(400)], "next": None}
SIZE = 700


def giving(value: Any, *, name: str = "look", **options: Any) -> Tool[..., Any]:
    """A tool that gives this value, whatever it is asked."""

    def look(n: int = 0) -> Any:
        """Look."""
        return value

    return Tool(look, name=name, **options)


def run(
    *steps: Step, tools: list[Tool[..., Any]], limits: Limits | None = None, **options: Any
) -> tuple[RunResult[str], list[str]]:
    """A run of these turns, and what the model read of each call."""
    model = ScriptedModel([*steps, say("done")])
    result = Agent(model.provider("openai"), tools=tools, limits=limits, **options).run_sync("go")
    assert not model.refusals
    return result, outputs(result.messages)


def outputs(messages: list[Message]) -> list[str]:
    return [p.text for m in messages for p in m.parts if isinstance(p, ToolOutput)]


def shown(value: Any, bound: int, **options: Any) -> str:
    """What the model reads of a value."""
    return run(call("look"), tools=[giving(value)], limits=Limits(result_chars=bound), **options)[1][0]


def parts(text: str) -> tuple[str, str]:
    """A text before its note, and the note."""
    body, _, note = text.rpartition("\n\nNote: ")
    return body, note


def more(note: str, before: str = "for the next") -> dict[str, Any]:
    """The arguments that a note names."""
    found = re.search(r"with (\{.*?\})(?:, or| " + before + ")", note)
    assert found is not None, note
    return json.loads(found[1])


# ---- the cut


def compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


keys = st.one_of(st.sampled_from(["id", "name", "...", "a b", "", "é"]), st.text(max_size=30))
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.integers(0, 60).map(lambda n: 10**n),
    st.text(max_size=40),
    st.tuples(
        st.sampled_from(["x", "word ", "a\n", '"\\', "\x01", "é\u0301", "\U0001f469\u200d\U0001f680 "]),
        st.integers(0, 400),
    ).map(lambda pair: pair[0] * pair[1]),
)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=12) | st.dictionaries(keys, inner, max_size=12), max_leaves=40
)


@settings(max_examples=80, deadline=None)
@given(value=values, bound=st.integers(1, 200) | st.integers(200, 3_000), reads=st.booleans())
def test_a_cut_keeps_to_its_bound_and_stays_json(value: Any, bound: int, reads: bool) -> None:
    """Whatever the value and the bound. What fits is shown as it is; two runs show the same."""
    text = shown(value, bound, paging=reads)
    assert len(text) <= bound
    whole = FEEDBACK.result_text(ToolResult(True, value))
    if len(whole) <= bound:
        assert text == whole
        return
    assert shown(value, bound, paging=reads) == text
    body, _ = parts(text)
    if body and not isinstance(value, str):
        json.loads(body)  # else there is only room for the note


def test_the_shape_is_seen() -> None:
    """Small values are whole, a list has its first and last items and says what is missing between."""
    body, note = parts(shown(ROWS, SIZE))
    data = json.loads(body)
    assert list(data) == ["total", "rows", "next"]
    assert data["total"] == 400
    rows = data["rows"]
    gap = next(i for i, row in enumerate(rows) if isinstance(row, str))
    after = len(rows) - gap - 1
    assert rows[:gap] == ROWS["rows"][:gap]  # type: ignore[index]
    assert rows[gap + 1 :] == ROWS["rows"][-after:]  # type: ignore[index]
    assert gap > after > 0
    assert rows[gap] == f"[... {400 - gap - after} items: {gap}-{399 - after} ...]"
    assert more(note) == {"handle": "r1", "at": "rows", "start": gap}


def test_room_is_shared_evenly() -> None:
    """Three long texts have as much each; the room that a short value leaves goes to the others."""
    value = {"a": "x" * 9_000, "n": 1, "b": "y" * 9_000, "c": {"d": ["z" * 9_000]}}
    data = json.loads(parts(shown(value, 1_000))[0])
    lengths = [len(data["a"]), len(data["b"]), len(data["c"]["d"][0])]
    assert data["n"] == 1
    assert min(lengths) > 200
    assert max(lengths) - min(lengths) < 20
    assert data["a"].startswith("xxx")
    assert data["a"].endswith("xxx")
    assert re.search(r"x\[\.\.\. 8,\d\d\d characters: \d+-8\d\d\d \.\.\.\]x", data["a"])


def test_an_object_of_many_names() -> None:
    """As many members as there is room for, whole where they are small; the rest is counted, under a free name."""
    value = {"...": 0, **{f"id{i}": {"x": i} for i in range(5_000)}}
    data = json.loads(parts(shown(value, 600))[0])
    assert data["..."] == 0
    assert data["id7"] == {"x": 7}
    kept = len(data) - 1
    assert data["...."] == f"[... {5_001 - kept:,} names: {kept}-5000 ...]"


def test_a_text_is_cut_between_lines_or_words() -> None:
    """Its head and its tail, and between them how much is missing."""
    log = "".join(f"{i:03}: all is well\n" for i in range(200))
    body, note = parts(shown(log, 600))
    head, gap, tail = re.split(r"^(\[\.\.\. .* \.\.\.\])\n", body, maxsplit=1, flags=re.MULTILINE)
    assert log.startswith(head)
    assert log.endswith(tail)
    assert head.endswith("well\n")
    assert tail.startswith("1")
    assert gap == f"[... {len(log) - len(head) - len(tail):,} characters: {len(head)}-{len(log) - len(tail) - 1} ...]"
    assert note.startswith(f"[... ] marks what is left out of {len(log):,} characters.")
    words = parts(shown("word " * 1_000, 600))[0]
    assert set(re.sub(r"\[.*\]", "", words).split()) == {"word"}


def test_characters_that_belong_together_stay_together() -> None:
    """No accent is torn from its letter, no person from the rocket."""
    for unit in ("e\u0301", "\U0001f469\u200d\U0001f680", "\r\n"):
        for bound in range(600, 612):
            head = parts(shown(unit * 1_000, bound))[0].split("[...")[0]
            assert len(head.rstrip("\n") if unit != "\r\n" else head) % len(unit) == 0, (unit, bound)


def test_a_text_that_is_json_is_cut_as_json() -> None:
    """Many tools give JSON as text. Numbers keep their digits; without its spaces it may be short enough."""
    text = json.dumps({"rows": ["1.10"] * 900, "price": 0}, indent=2).replace('"1.10"', "1.10")
    data, note = parts(shown(text, 600))
    assert "[1.10,1.10," in data
    assert json.loads(data)["price"] == 0
    assert f"{len(text):,} characters" in note
    small = json.dumps({"rows": [1] * 100}, indent=20)
    assert shown(small, 600) == compact({"rows": [1] * 100})
    broken = '{"a": 1, "a": 2' + " " * 900
    assert parts(shown(broken, 600))[0].startswith(broken[:100])


@pytest.mark.parametrize(
    "value",
    [
        {"k" * 100_000: 1, "j" * 100_000: [2] * 1_000},
        {f"{'k' * 200}{i}": i for i in range(2_000)},
        10**4_000,
        [10**4_000] * 3,
        "\x00" * 10_000,
        b"\xff\x00" * 10_000,
        [math.nan] * 5_000,
        "\u0301" * 10_000,
        [[[[[0]]]]] * 3_000,
        {"": {"": {"": "x" * 10_000}}},
        ["[... 3 items: 1-3 ...]"] * 500,
    ],
    ids=lambda v: type(v).__name__,
)
@pytest.mark.parametrize("bound", [200, 333, 500, 2_000])
def test_odd_values(value: Any, bound: int) -> None:
    """Giant names and numbers, controls, bytes, NaN, accents without letters."""
    text = shown(value, bound)
    assert len(text) <= bound
    if not isinstance(value, (str, bytes)) and not text.startswith("[... ] marks"):
        json.loads(text.split("\n\nNote: ")[0])


def test_deep_nesting() -> None:
    """As deep as results may be, and with a million items at the bottom."""
    deep: Any = list(range(1_000_000))
    for i in range(190):
        deep = {"k": deep} if i % 2 else [deep]
    began = time.perf_counter()
    text = shown(deep, 5_000)
    assert len(text) <= 5_000
    json.loads(parts(text)[0])
    assert time.perf_counter() - began < 10


def test_the_work_is_linear() -> None:
    """A result of 10 MB is cut in little more time than it takes to write it down once."""
    value = [{"id": i, "text": "x" * 80, "tags": [1, 2, 3]} for i in range(80_000)]
    began = time.perf_counter()
    compact(value)
    once = time.perf_counter() - began
    began = time.perf_counter()
    assert len(shown(value, 50_000, paging=True)) <= 50_000
    assert time.perf_counter() - began < 8 + 20 * once


def test_notes_and_images_are_within_the_bound() -> None:
    """What is remarked beside a result counts, and so do the marks of images."""
    text = run(
        call("look"),
        tools=[giving([float("nan"), "x" * 5_000, Image(PNG)], max_calls_per_run=2)],
        limits=Limits(result_chars=600),
    )[1][0]
    assert len(text) <= 600
    assert "Note: null stands where" in text
    assert "Note: 1 of 2 calls of `look` is left." in text
    assert "[image 1: image/png, 70 bytes]" in text


# ---- whose bound


def test_a_tool_has_its_own_bound() -> None:
    """It counts instead of the run's, whichever is larger."""
    value = "word " * 1_000
    tools = [
        giving(value, max_result_size=1_000),
        giving(value, name="peek"),
        giving(value, name="all", max_result_size=9_000),
    ]
    _, texts = run([call("look"), call("peek"), call("all")], tools=tools, limits=Limits(result_chars=600))
    assert 800 < len(texts[0]) <= 1_000
    assert 400 < len(texts[1]) <= 600
    assert texts[2] == value


@pytest.mark.parametrize("size", [0, 199, -1, True, "9", 2.5])
def test_a_wrong_bound(size: Any) -> None:
    """It is told where the tool is made."""
    with pytest.raises(DefinitionError, match=r"max_result_size=.*characters, 200 or more"):
        giving(1, max_result_size=size)


def test_the_program_has_it_all(wire: Wire) -> None:
    """The cut is for the model: records and events have the data as the tool gave it."""
    model = wire.model(call("look"), call("read_more", handle="r1", at="rows", start=8), say("done"))
    result = wire.run(Agent(wire.provider(model), tools=[giving(ROWS, max_result_size=SIZE)]), "go")
    looked, read = result.tool_calls
    assert looked.result.data == ROWS
    assert json.loads(read.result.data)[0] == {"id": 8, "text": "line 8 " * 3}
    assert read.ran
    cut, page = (request.results[-1][1] for request in model.requests[1:])
    assert len(cut) <= SIZE
    assert len(page) <= SIZE
    assert parts(page)[0] == read.result.data
    assert parts(page)[1].startswith("items 8 to ")
    assert len({json.dumps(request.body["tools"]) for request in model.requests}) == 1
    assert [t.get("name") or t["function"]["name"] for t in model.requests[0].body["tools"]] == ["look", "read_more"]


# ---- reading on

Reading = Generator[dict[str, Any], str, Any]


def read_all(at: str) -> Reading:
    """Everything at a place, page by page, as a patient model would read it."""
    start = 0
    texts: list[str] = []
    items: list[Any] = []
    members: dict[str, Any] = {}
    while True:
        text = yield {"handle": "r1", "at": at, "start": start}
        body, note = parts(text)
        if note.startswith("this is all of"):
            return json.loads(body)
        kind = next(word for word in re.findall(r"[a-z]+", note) if word.rstrip("s") in {"character", "item", "name"})
        kind = f"{kind.rstrip('s')}s"
        if kind == "characters":
            texts.append("" if body == "(an empty text)" else body)
        elif kind == "items":
            items += json.loads(body)
        else:
            members |= json.loads(body)
        if "marks a gap" in note:
            # Only the last one of a page can be shown in part.
            inner = yield from read_all(f"{at}[{(len(items) or len(members)) - 1}]")
            if kind == "items":
                items[-1] = inner
            else:
                members[[*members][-1]] = inner
        if "; the end." in note:
            return {"characters": "".join(texts), "items": items, "names": members}[kind]
        start = more(note)["start"]


def read(value: Any, bound: int) -> Any:
    """What is read of a value that was cut."""
    reading = read_all("")
    ends: list[Any] = []
    begun = False

    def answer(request: Any) -> Scripted:
        nonlocal begun
        if not request.results:
            return call("look")
        text = request.results[-1][1]
        assert len(text) <= bound, text
        try:
            sent = reading.send(text) if begun else next(reading)
        except StopIteration as end:
            ends.append(end.value)
            return say("done")
        begun = True
        return call("read_more", **sent)

    model = ScriptedModel(answer)
    limits = Limits(result_chars=bound, calls=None, turns=None)
    Agent(model.provider("openai"), tools=[giving(value)], limits=limits).run_sync("go")
    return ends[0]


big = st.recursive(
    st.one_of(
        st.none(),
        st.integers(),
        st.text(max_size=20),
        st.tuples(st.text(min_size=1, max_size=9), st.integers(1, 90)).map(lambda p: p[0] * p[1]),
    ),
    lambda inner: st.lists(inner, max_size=12) | st.dictionaries(st.text(max_size=20), inner, max_size=12),
    max_leaves=25,
)


@settings(max_examples=20, deadline=None)
@given(value=st.lists(big, min_size=1, max_size=6), bound=st.integers(500, 900))
def test_reading_on_gives_the_whole(value: list[Any], bound: int) -> None:
    """Page by page, all of it and nothing twice."""
    filled = [*value, "x y" * 400]
    assert read(filled, bound) == filled


@settings(max_examples=15, deadline=None)
@given(text=st.text(min_size=1, max_size=60), times=st.integers(40, 80))
def test_reading_on_in_a_text(text: str, times: int) -> None:
    """The same for texts, character for character."""
    whole = (text * times)[:4_000] + "." * 600
    got = read(whole, 500)
    assert got == (whole if isinstance(got, str) else json.loads(whole))


def test_a_place_that_is_too_long_to_say() -> None:
    """It is not said again, but how to go on from it is; and of a gap at such a place, how to come nearer."""
    deep: Any = "x" * 3_000
    for _ in range(150):
        deep = [deep]
    sent = {"handle": "r1", "at": "[0]" * 150}
    _, texts = run(call("look"), call("read_more", **sent), tools=[giving(deep, max_result_size=600)])
    assert more(parts(texts[0])[1]) == {"handle": "r1", "at": "[0]" * 66}
    body, note = parts(texts[1])
    assert set(body) == {"x"}
    assert f'{3_000 - len(body):,} are left. Call `read_more` with {{"start": {len(body)}}} and the same other' in note


@pytest.mark.parametrize(
    "at", ["rows[3].text", "$.rows[3].text", "rows.3.text", "/rows/3/text", '["rows"][3]["text"]', "[1][3][1]"]
)
def test_places_in_other_words(at: str) -> None:
    """A place is understood as other notations write it."""
    _, texts = run(call("look"), call("read_more", handle="r1", at=at), tools=[giving(ROWS, max_result_size=SIZE)])
    assert texts[1] == f"{'line 3 ' * 3}\n\nNote: characters 0 to 20 of 21 in `rows[3].text`; the end."


@pytest.mark.parametrize(
    ("sent", "told"),
    [
        (
            {"handle": "r7"},
            "`read_more` was not run: there is no result `r7` in this run; those of earlier runs are not kept. "
            "Kept is `r1`. If you need it, call the tool that gave it again.",
        ),
        (
            {"handle": "r1", "at": "rows[400]"},
            "`read_more` was not run: there is nothing at `rows[400]`. `rows` has 400 items. Correct `at`.",
        ),
        (
            {"handle": "r1", "at": "rows[0].id.x"},
            "`read_more` was not run: there is nothing at `rows[0].id.x`. `rows[0].id` has no parts. Correct `at`.",
        ),
        (
            {"handle": "r1", "at": "rows", "start": 400},
            "`read_more` was not run: there are 400 items, so `start` may be 0 to 399, not 400.",
        ),
        (
            {"handle": "r1", "at": "one", "start": 1},
            "`read_more` was not run: there is 1 item, so `start` can only be 0, not 1.",
        ),
        (
            {"handle": "r1", "start": -1},
            "`read_more` was not run. `start` must be a whole number of at least 0; you sent -1. "
            "Correct this and call `read_more` again.",
        ),
    ],
)
def test_a_wrong_call_is_told_what_is_right(sent: dict[str, Any], told: str) -> None:
    """Handles, places and positions."""
    result, texts = run(
        call("look"), call("read_more", **sent), tools=[giving({**ROWS, "one": [1]}, max_result_size=SIZE)]
    )
    assert texts[1] == told
    assert not result.tool_calls[1].result.success


def test_results_make_room_for_later_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a run keeps is bounded; the oldest goes, and that is said."""
    monkeypatch.setattr(paging, "MAX_KEPT", 2_500)
    tools = [giving("a " * 500, max_result_size=500), giving("b" * 3_000, name="huge", max_result_size=500)]
    looks = [call("look", n=n) for n in range(3)]
    _, texts = run(looks, call("read_more", handle="r1"), call("read_more", handle="r3"), call("huge"), tools=tools)
    assert texts[3] == (
        "`read_more` was not run: the result `r1` is no longer kept, it has made room for later ones. "
        "Call `look` again, for a smaller part."
    )
    assert texts[4].startswith("a a a")
    assert texts[5].endswith("characters. To see it, call `huge` for a smaller part.")


def test_pages_are_calls_like_others() -> None:
    """They count for the run's calls, do not trip the loop breaker, and wrong ones that are repeated do."""
    page, wrong = call("read_more", handle="r1"), call("read_more", handle="r9")
    tools = [giving(ROWS, max_result_size=SIZE)]
    result, texts = run(call("look"), page, page, page, page, tools=tools)
    assert len({*texts[1:]}) == 1
    assert not result.repeats.warned
    assert texts[1].startswith('{"total":400,"rows":')
    result, texts = run(call("look"), [page, page, page], tools=tools, limits=Limits(calls=3))
    assert [record.ran for record in result.tool_calls] == [True, True, True, False]
    assert "2 of 3 tool calls" not in texts[1]
    assert "this run may make 3 tool calls, and none is left" in texts[3]
    assert all(len(text) <= SIZE for text in texts)
    result, texts = run(call("look"), wrong, wrong, wrong, tools=tools)
    assert result.repeats.stopped == 1
    assert "the same call has failed in the same way twice" in texts[3]


# ---- when it is offered


def offered(tools: list[Tool[..., Any]], **options: Any) -> list[str]:
    model = ScriptedModel([say("done")])
    Agent(model.provider("openai"), tools=tools, **options).run_sync("go")
    return [t["name"] for t in model.requests[0].body.get("tools", [])]


def test_it_is_offered_where_somebody_has_set_a_bound() -> None:
    """It costs tokens in each request. Where nobody has, `paging=True` has it, and `paging=False` never."""
    plain, bound = giving(1), giving(1, max_result_size=900)
    assert offered([plain]) == ["look"]
    assert offered([bound]) == ["look", "read_more"]
    assert offered([plain], limits=Limits(result_chars=900)) == ["look", "read_more"]
    assert offered([plain], limits=Limits(result_chars=None)) == ["look"]
    assert offered([plain], paging=True) == ["look", "read_more"]
    assert offered([plain], paging=True, limits=Limits(result_chars=None)) == ["look"]
    assert offered([bound], paging=False) == ["look"]
    assert offered([], paging=True) == []


def test_it_is_not_offered_where_it_would_never_be_named() -> None:
    """Results of under 500 characters are not kept for reading on: the tool would cost tokens for nothing."""
    short, long = giving(1, max_result_size=499), giving(1, max_result_size=500, name="other")
    assert offered([short]) == ["look"]
    assert offered([short], paging=True) == ["look", "read_more"]  # for what has the run's own bound
    assert offered([short], paging=True, limits=Limits(result_chars=499)) == ["look"]
    assert offered([giving(1)], limits=Limits(result_chars=499)) == ["look"]
    assert offered([giving(1)], limits=Limits(result_chars=500)) == ["look", "read_more"]
    assert offered([short, long]) == ["look", "other", "read_more"]


def test_it_is_the_agents_to_say() -> None:
    """A run has no such option, and is not begun as if it had."""
    agent = Agent(ScriptedModel([say("done")]).provider("openai"), tools=[giving(1)])
    with pytest.raises(TypeError, match="A run has no option paging"):
        agent.run_sync("go", paging=False)  # pyright: ignore[reportCallIssue]


def test_without_it_the_model_is_told_to_ask_for_less() -> None:
    """And under a bound that a page would not fit into."""
    for options in ({"paging": False}, {}):
        text = run(call("look"), tools=[giving("a " * 900)], limits=Limits(result_chars=400), **options)[1][0]
        assert text.endswith("To see it, call `look` for a smaller part.")


def test_a_tool_without_arguments_is_not_called_for_less() -> None:
    """It would give the same again; by the reader the rest can be had."""

    @tool
    def everything() -> str:
        """Give all."""
        return "a " * 900

    for size, ending in (
        (400, "There is no more of it to be had: `everything` takes no arguments, and would give the same again."),
        (800, "}."),
    ):
        text = run(call("everything"), tools=[everything], limits=Limits(result_chars=size))[1][0]
        assert "for a smaller part" not in text
        assert len(text) <= size
        assert text.endswith(ending)


def test_a_tool_of_the_same_name_is_another_tool() -> None:
    """The reader takes a name that is free, and says so."""
    mine = giving("mine", name="read_more")
    _, texts = run(
        call("look"),
        call("read_more"),
        call("read_more_", handle="r1"),
        tools=[giving("a " * 900, max_result_size=600), mine],
    )
    assert "call `read_more_` with" in texts[0]
    assert texts[1] == "mine"
    assert texts[2].startswith("a a a")


def test_it_may_be_called_where_other_tools_may() -> None:
    """`allowed_tools` need not name it; where no tool may be called, it may not either."""
    model = ScriptedModel([call("look"), call("read_more", handle="r1"), say("done")])
    tools = [giving("a " * 900, max_result_size=600), giving(1, name="other")]
    agent = Agent(model.provider("openai"), tools=tools)
    result = agent.run_sync("go", allowed_tools=["look"])
    assert [record.result.success for record in result.tool_calls] == [True, True]
    model = ScriptedModel([call("look"), call("read_more", handle="r1"), say("done")])
    turns = {1: ["look"], 2: []}
    result = Agent(model.provider("openai"), tools=tools).run_sync("go", allowed_tools=lambda turn: turns.get(turn))
    assert [record.result.success for record in result.tool_calls] == [True, False]


# ---- handles beyond one turn


@tool(requires_approval=True)
def pay(amount: int) -> str:
    """Pay."""
    return "paid"


def test_handles_outlive_a_wait(wire: Wire) -> None:
    """A run that waited for a person goes on in another process, and so do its handles."""
    tools = [giving(ROWS, max_result_size=SIZE), pay]
    model = wire.model(
        call("look"),
        [call("pay", amount=1), call("read_more", handle="r1", at="rows", start=5), call("look", n=1)],
        [call("read_more", handle="r1", at="rows", start=9), call("read_more", handle="r2", at="total")],
        say("done"),
    )
    result = wire.run(Agent(wire.provider(model), tools=tools), "go", allowed_tools=["look", "pay"])
    assert result.pending is not None
    pending = Pending.load(result.pending.dump())
    agent = Agent(wire.provider(model), tools=tools)
    final = (
        asyncio.run(agent.resume(pending, approve=True))
        if wire.driver == "async"
        else agent.resume_sync(pending, approve=True)
    )
    texts = outputs(final.messages)
    assert texts[2].startswith('[{"id":5,')
    assert '"handle": "r2"' in texts[3]
    assert texts[4].startswith('[{"id":9,')
    assert texts[5] == "400\n\nNote: this is all of `total`."


def test_handles_end_with_their_run(wire: Wire) -> None:
    """In the next run of a conversation they are told to be gone, and no new result takes the name of an old one."""
    tools = [giving(ROWS, max_result_size=SIZE), giving(["x"] * 900, name="other", max_result_size=SIZE)]
    first = wire.run(Agent(wire.provider(wire.model(call("look"), say("done"))), tools=tools), "go")
    model = wire.model(call("read_more", handle="r1"), call("other"), call("read_more", handle="r2"), say("done"))
    agent = Agent(wire.provider(model), tools=tools)
    second = wire.run(agent, "on", history=first.messages)
    gone, cut, page = outputs(second.new_messages)
    assert gone.startswith("`read_more` was not run: there is no result `r1` in this run")
    assert '"handle": "r2"' in cut
    assert page.startswith('["x","x"')


def test_what_the_program_changes_later_is_not_read() -> None:
    """A tool may give what it goes on to work with; the model reads on in what it was given."""
    rows: list[Any] = ["a"] * 900

    @tool(max_result_size=600)
    def look() -> list[Any]:
        """Look."""
        return rows

    @tool
    def change() -> str:
        """Change."""
        rows[:] = [object()]
        return "changed"

    _, texts = run(call("look"), call("change"), call("read_more", handle="r1", start=800), tools=[look, change])
    assert texts[2] == compact(["a"] * 100) + "\n\nNote: items 800 to 899 of 900; the end."


def test_runs_at_once_do_not_see_each_other() -> None:
    """An agent's runs each have their own results, under the same names."""

    def answer(request: Any) -> Scripted:
        match len(request.results):
            case 0:
                return call("look", n=int(re.findall(r"run (\d+)", json.dumps(request.body))[0]))
            case 1:
                return call("read_more", handle="r1", start=1)
            case _:
                return say("done")

    @tool(max_result_size=500)
    async def look(n: int) -> list[str]:
        """Look."""
        await asyncio.sleep(0)
        return [f"{n} "] * 900

    agent = Agent(ScriptedModel(answer).provider("openai"), tools=[look])

    async def all_runs() -> list[RunResult[str]]:
        return await asyncio.gather(*(agent.run(f"run {n}") for n in range(8)))

    for n, result in enumerate(asyncio.run(all_runs())):
        assert json.loads(parts(outputs(result.messages)[1])[0])[0] == f"{n} "


def test_an_agent_within_a_run_reads_its_own() -> None:
    """Its results are not the outer run's; what it answers is cut and kept there."""
    inner_model = ScriptedModel(
        [call("look"), call("read_more", handle="r1", at="rows", start=3), say("answer " * 200)]
    )
    inner = Agent(inner_model.provider("openai"), name="inner", tools=[giving(ROWS, max_result_size=SIZE)])
    _, texts = run(
        call("inner", task="x"),
        call("read_more", handle="r1", start=700),
        tools=[inner.as_tool(max_result_size=600)],
    )
    assert inner_model.requests[2].results[-1][1].startswith('[{"id":3,')
    assert texts[0].startswith("answer answer")
    assert parts(texts[1])[0].startswith("answer ")


@pytest.mark.parametrize(
    ("data", "at", "start", "said"),
    [
        ({"a": "x" * 400, "b": "y" * 3_000}, "", 0, "name 0, counted from 0, of 2; 1 is left."),
        ({"a": "x" * 3_000}, "", 0, "the only name; the end."),
        (["x" * 300, "y" * 300, "z" * 300], "", 0, "item 0, counted from 0, of 3; 2 are left."),
        (["x" * 300, "y" * 300, "z" * 300], "", 1, "item 1, counted from 0, of 3; 1 is left."),
        (["x" * 300, "y" * 300, "z" * 300], "", 2, "item 2, counted from 0, of 3; the end."),
        ([1, 2, *["z" * 300] * 2], "", 0, "items 0 to 2 of 4; 1 is left."),
        ({"rows": [], "more": "x" * 3_000}, "rows", 0, "0 items in `rows`; the end."),
        ({"rows": "", "more": "x" * 3_000}, "rows", 0, "0 characters in `rows`; the end."),
        ({"rows": "a", "more": "x" * 3_000}, "rows", 0, "the only character in `rows`; the end."),
        ({"rows": "abc", "more": "x" * 3_000}, "rows", 2, "character 2, counted from 0, of 3 in `rows`; the end."),
        ({"rows": {"a": 1}, "more": "x" * 3_000}, "rows", 0, "the only name in `rows`; the end."),
    ],
)
def test_parts_of_none_one_and_two_read_right(data: Any, at: str, start: int, said: str) -> None:
    """No "items 0 to 0", no "1 are left"."""
    reader = call("read_more", handle="r1", at=at, start=start) if at else call("read_more", handle="r1", start=start)
    _, texts = run(call("look"), reader, tools=[giving(data, max_result_size=500)])
    assert f"Note: {said}" in texts[1], texts[1]


def test_what_others_have_written_stays_between_fences() -> None:
    """In a page as in the cut, with the note outside, and all of it within the bound."""
    tools = [giving("<b>Buy now</b> " * 200, untrusted=True, max_result_size=900)]
    result, texts = run(call("look"), call("read_more", handle="r1", start=600), tools=tools)
    for text, rest in zip(texts, ("[... ] marks", "characters 600 to"), strict=True):
        assert len(text) <= 900
        outside = re.sub(r"<untrusted (\w+) .*</untrusted \1>", "", text, flags=re.DOTALL)
        assert "Buy" not in outside
        assert outside.rpartition("Note: ")[2].startswith(rest)
    assert result.tool_calls[1].result.untrusted


def test_failures_are_as_they_were() -> None:
    """What a failed call says has bounds of its own."""

    @tool(max_result_size=200)
    def fails() -> str:
        """Fail."""
        raise ToolError("why " * 200)

    assert len(run(call("fails"), tools=[fails])[1][0]) > 800


def test_the_record_says_what_the_words_say_of_a_part_that_was_not_given() -> None:
    """A handle that there is none of: nothing was read, for the model and for the program."""
    long = Tool(lambda: "x" * 5_000, name="long", max_result_size=600)
    model = ScriptedModel([call("long"), call("read_more", handle="r7"), call("read_more", handle="r1"), say("done")])
    result = Agent(model.provider("anthropic"), tools=[long]).run_sync("go")
    assert [record.ran for record in result.tool_calls] == [True, False, True]
    assert str(result.tool_calls[1].result.error).startswith("`read_more` was not run")
