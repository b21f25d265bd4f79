"""What a tool gives back, as plain JSON data by declared rules; or refused, and never printed."""

from __future__ import annotations

import asyncio
import collections
import dataclasses
import datetime as dt
import decimal
import enum
import io
import itertools
import json
import logging
import pathlib
import threading
import types
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, NamedTuple

import attrs
import msgspec
import numpy as np
import pydantic
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolsmith import Agent, Tool, ToolError, ToolResult, tool
from toolsmith._plain import MAX_DEPTH, MAX_ITEMS
from toolsmith.testing import ScriptedModel, call, say


class Colour(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    HIGH = 9


class Word(str):
    __slots__ = ()


class Spot(NamedTuple):
    lat: float
    lon: float


@dataclasses.dataclass
class Point:
    x: int
    tags: set[str]


class Person(pydantic.BaseModel):
    name: str
    born: dt.date
    password: pydantic.SecretStr = pydantic.SecretStr("hunter2")


@attrs.define
class Box:
    width: float
    colour: Colour


class Packet(msgspec.Struct):
    size: int


def result_of(value: Any) -> ToolResult:
    """What a model gets of a tool that gives this back."""

    def probe() -> Any:
        return value

    return Tool(probe).call_json_sync("{}")


CASES: list[tuple[Any, Any]] = [
    (None, None),
    ("hello", "hello"),
    ("", ""),
    ('{"a": 1}', '{"a": 1}'),
    (Word("w"), "w"),
    (True, True),
    (5, 5),
    (2**70, 2**70),
    (0.5, 0.5),
    ([1, "two", None], [1, "two", None]),
    ((1, "a"), [1, "a"]),
    (collections.deque([1, 2]), [1, 2]),
    (range(3), [0, 1, 2]),
    ({"b": 1, "a": 2}.keys(), ["b", "a"]),
    ({3, 1, 2}, [1, 2, 3]),
    (frozenset("ba"), ["a", "b"]),
    ({"a", 1, None}, ["a", 1, None]),
    ({"é": "😀"}, {"é": "😀"}),
    ({1: "a", 2: "b"}, {"1": "a", "2": "b"}),
    ({Colour.RED: 1, Level.HIGH: 2}, {"red": 1, "9": 2}),
    ({None: 1, True: 2, 0.5: 3}, {"null": 1, "true": 2, "0.5": 3}),
    ({dt.date(2026, 1, 2): 1}, {"2026-01-02": 1}),
    (collections.Counter("aab"), {"a": 2, "b": 1}),
    (types.MappingProxyType({"a": 1}), {"a": 1}),
    (collections.OrderedDict([("b", 1), ("a", 2)]), {"b": 1, "a": 2}),
    (Colour.RED, "red"),
    (Level.HIGH, 9),
    (Spot(1.5, 2.5), {"lat": 1.5, "lon": 2.5}),
    (Point(1, {"b", "a"}), {"x": 1, "tags": ["a", "b"]}),
    (Person(name="a", born=dt.date(2000, 1, 2)), {"name": "a", "born": "2000-01-02", "password": "**********"}),
    (Box(1.5, Colour.RED), {"width": 1.5, "colour": "red"}),
    (Packet(3), {"size": 3}),
    (dt.datetime(2026, 1, 2, 3, 4, 5), "2026-01-02T03:04:05"),
    (dt.time(3, 4), "03:04:00"),
    (dt.timedelta(minutes=5), "PT5M"),
    (decimal.Decimal("1.10"), "1.10"),
    (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
    (pathlib.PurePosixPath("a/b"), "a/b"),
    (b"hello", "hello"),
    (bytearray("é".encode()), "é"),
    (np.int64(5), 5),
    (np.float64(0.5), 0.5),
    (np.bool_(True), True),
    (np.array([[1, 2], [3, 4]]), [[1, 2], [3, 4]]),
    (np.datetime64("2026-01-02"), "2026-01-02"),
    ({"mean": np.float64(0.5), "rows": np.array([1])}, {"mean": 0.5, "rows": [1]}),
    (map(str, [1, 2]), ["1", "2"]),
    ([ValueError("password=hunter2")], [{"error": "ValueError"}]),
    ([ToolError("The file is locked.")], [{"error": "The file is locked."}]),
]


@pytest.mark.parametrize(("value", "data"), CASES, ids=lambda v: type(v).__name__)
def test_each_kind_of_value_has_its_rule(value: Any, data: Any) -> None:
    """A success with data that `json` writes and reads back unchanged: order kept, secrets masked."""
    result = result_of(value)
    assert result == ToolResult(True, data)
    assert json.dumps(json.loads(json.dumps(result.data, allow_nan=False))) == json.dumps(data)


@pytest.mark.parametrize(
    ("value", "data", "note"),
    [
        ({"x": float("nan"), "y": 1}, {"x": None, "y": 1}, "null stands where"),
        ([float("inf"), -float("inf")], [None, None], "null stands where"),
        (np.array([1.0, np.nan]), [1.0, None], "null stands where"),
        (decimal.Decimal("NaN"), None, "null stands where"),
        ("maths \ud835 half", "maths � half", "�"),
        ({"k\udc00": 1}, {"k�": 1}, "�"),
        (b"\xff\xfe", "//4=", "base64"),
    ],
    ids=["nan", "infinity", "numpy nan", "decimal nan", "half a character", "in a key", "binary"],
)
def test_what_was_changed_is_told(value: Any, data: Any, note: str) -> None:
    """Where JSON has no word for a value the model gets the nearest one, and a note."""
    result = result_of(value)
    assert (result.success, result.data) == (True, data)
    assert len(result.notes) == 1
    assert note in result.notes[0]


def test_two_halves_of_a_character_are_one() -> None:
    """A surrogate pair, as some libraries give it, is the character it stands for."""
    assert result_of("\ud83c\udf78").data == "🍸"


def _loop() -> Any:
    circle: dict[str, Any] = {"a": 1}
    circle["self"] = circle
    return circle


def _twice_in_itself() -> list[Any]:
    loop: list[Any] = []
    loop += [loop, loop]
    return loop


def _deep() -> Any:
    made: Any = 0
    for _ in range(MAX_DEPTH + 1):
        made = [made]
    return made


def _forever() -> Iterator[int]:
    while True:
        yield 1


async def _aforever() -> AsyncIterator[int]:
    while True:
        yield 1


async def _coroutine() -> str:
    return "late"


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (threading.Lock, "a value of another kind"),
        (object, "a value of another kind"),
        (lambda: dict, "a value of another kind"),
        (lambda: len, "a value of another kind"),
        (lambda: {"rows": [1, object()]}, "at `rows[1]`"),
        (lambda: {(1, 2): "a"}, "names that are no text"),
        (lambda: {1: "a", "1": "b"}, "the same name twice"),
        (_loop, "it contains itself at `self`"),
        (_twice_in_itself, "it contains itself at `[0]`"),
        (_deep, "nested too deeply"),
        (itertools.count, "too many items"),
        (lambda: {"all": itertools.count()}, "too many items at `all`"),
        (_forever, "too many items"),
        (_aforever, "too many items"),
        (io.StringIO, "a value of another kind"),
        (lambda: 10**5000, "too many digits"),
        (lambda: [_coroutine()], "not finished"),
    ],
    ids=[
        *("lock", "object", "class", "function", "inside", "tuple keys", "keys", "loop", "two loops", "deep"),
        *("endless", "nested endless", "generator", "async generator", "file", "digits", "coroutine"),
    ],
)
def test_what_no_rule_covers_is_refused(value: Callable[[], Any], words: str, caplog: pytest.LogCaptureFixture) -> None:
    """The model learns that the tool ran and what is wrong where, without an address; the log has the class."""
    with caplog.at_level(logging.ERROR, "toolsmith"):
        result = result_of(value())
    assert not result.success
    assert words in str(result.error)
    assert "was run" in str(result.error)
    assert " at 0x" not in str(result.error)
    assert "gave back what is no JSON" in caplog.text


def test_a_success_has_all_that_a_result_has() -> None:
    """Plain data takes a quicker way to the same object."""
    assert result_of([1]) == ToolResult(True, [1])
    assert repr(result_of([1])) == repr(ToolResult(True, [1]))


def test_an_iterator_is_read_to_its_bound() -> None:
    """As many items as are allowed are given, not one less."""
    result = result_of(iter(range(MAX_ITEMS)))
    assert result.success
    assert len(result.data) == MAX_ITEMS


def test_an_exception_as_the_whole_result_is_a_failure(caplog: pytest.LogCaptureFixture) -> None:
    """Given back is as good as raised: the model gets a reference, the log the exception under the same one."""
    result = result_of(RuntimeError("postgres://admin:hunter2@db"))
    assert not result.success
    assert "hunter2" not in str(result.error)
    reference = str(result.error).partition("reference ")[2][:8]
    assert reference in caplog.text
    assert "hunter2" in caplog.text


def test_a_tool_error_as_the_whole_result_speaks_to_the_model() -> None:
    """`ToolError` is written for the model, so its words reach it."""
    result = result_of(ToolError("No such city.", hint="Ask for the country first."))
    assert (result.success, result.error) == (False, "`probe` failed: No such city. Ask for the country first.")


def test_a_value_that_cannot_even_be_read() -> None:
    """A property or a serialiser that raises makes a failed result, not a crash of the run."""

    class Broken(pydantic.BaseModel):
        n: int = 1

        @pydantic.model_serializer
        def fail(self) -> Any:
            raise RuntimeError("hunter2")

    result = result_of([Broken()])
    assert not result.success
    assert "hunter2" not in str(result.error)


def test_a_tool_result_is_taken_as_it_is() -> None:
    """A handler may say itself whether it succeeded; its data is made plain like any other."""
    assert result_of(ToolResult(True, {Colour.RED})) == ToolResult(True, ["red"])
    failed = ToolResult(False, [1], "`probe` failed: Closed on Sundays.")
    assert result_of(ToolResult(False, [1], "Closed on Sundays.")) == failed
    assert result_of(ToolResult(True, float("nan"), notes=("Mind the gap.",))).notes[0] == "Mind the gap."
    assert "without a reason" in str(result_of(ToolResult(False)).error)
    assert not result_of(ToolResult(True, object())).success
    said = result_of(ToolResult(False, object(), "Closed on Sundays."))
    assert said == ToolResult(False, error="`probe` failed: Closed on Sundays."), "what its author says is not lost"


def test_media_that_are_none_are_the_tools_failure(caplog: pytest.LogCaptureFixture) -> None:
    """The run goes on, and the log says what an author may give."""

    @tool
    def draw() -> ToolResult:
        """Draw."""
        media: Any = ("chart.png",)
        return ToolResult(True, "a chart", media=media)

    result = draw.call_json_sync("{}")
    assert not result.success
    assert "internal error" in str(result.error)
    assert "takes Image and File objects, not 'chart.png'" in caplog.text
    model = ScriptedModel([call("draw"), say("done")])
    assert Agent(model.provider("openai"), tools=[draw]).run_sync("go").output == "done"


def test_a_coroutine_from_a_sync_function_is_awaited() -> None:
    """Who forgets the `await` gets the result all the same, on both roads."""

    def probe() -> Any:
        return _coroutine()

    assert Tool(probe).call_json_sync("{}").data == "late"
    assert asyncio.run(Tool(probe).call_json("{}")).data == "late"


def test_plain_data_is_not_copied() -> None:
    """What is JSON already costs no copy."""
    data = {"rows": [{"a": 1, "b": [None, "x", 0.5]}]}
    assert result_of(data).data is data


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(st.characters(), max_size=3), inner, max_size=3)
        | st.tuples(inner)
        | st.dictionaries(st.integers(), inner, max_size=2)
    ),
    max_leaves=8,
)


@settings(derandomize=True, deadline=None, database=None, max_examples=200)
@given(value=PLAIN)
def test_a_success_is_always_json_in_utf_8(value: Any) -> None:
    """Whatever built-in values are given back: strict JSON, encodable, or a refusal that says why."""
    result = result_of(value)
    if result.success:
        assert json.loads(json.dumps(result.data, allow_nan=False, ensure_ascii=False).encode()) == result.data
    else:
        assert "was run" in str(result.error)


def test_a_printed_result_has_no_text_of_a_hidden_exception() -> None:
    """Results and events are printed and logged; what the model is not shown is not in them by the way."""
    seen: list[object] = []

    @tool
    def connect() -> str:
        """Connect."""
        raise RuntimeError("password=hunter2")

    model = ScriptedModel([call("connect"), say("It failed.")])
    result = Agent(model.provider("openai"), tools=[connect], observers=[seen.append]).run_sync("go")
    assert str(result.tool_calls[0].exception) == "password=hunter2"
    assert "hunter2" not in repr(result)
    assert "hunter2" not in repr(seen)
