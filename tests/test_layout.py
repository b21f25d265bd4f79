"""What is concluded from values alone: that a text has no name twice, and no number too large."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any, NotRequired

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import AfterValidator, BaseModel, Field, RootModel, model_validator
from typing_extensions import TypedDict

from toolsmith import Tool, tool


class Inner(BaseModel):
    """All of it may be left out, so that a name sent twice leaves no gap."""

    a: int = 1
    weight: float | None = None


class Middle(BaseModel):
    inner: Inner = Inner(a=2, weight=0.5)
    words: list[str] = Field(default_factory=list)
    other: Inner | None = None


class Row(TypedDict):
    x: NotRequired[float]
    middle: NotRequired[Middle]
    id: NotRequired[str]


def straight(row: Row, note: str = "", limit: int = 3, ratio: float = 0.5, where: Middle | None = None) -> str:
    """Take what is laid out in advance."""
    return "ok"


class Color(Enum):
    RED = "red"


def other(rows: list[Row], colors: dict[str, Color] | None = None, note: str = "") -> str:
    """Take what is not."""
    return "ok"


TOOLS: tuple[Tool[..., str], ...] = (tool(straight), tool(other))

_text = st.sampled_from(["", "a", "a:b", '"', "\\", "é", "x:y:z", "10:30"])
_number = st.sampled_from(["0.5", "3", "1e400", "-1e999", "NaN", "Infinity", "1" + "0" * 400, "null"])
_inner = st.lists(st.tuples(st.just("a"), st.just("7")) | st.tuples(st.just("weight"), _number), max_size=3)


def _members(pairs: list[tuple[str, str]]) -> str:
    return "{" + ", ".join(f"{json.dumps(name)} : {value}" for name, value in pairs) + "}"


def _pairs(**members: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    pair = st.one_of([st.tuples(st.just(name), value) for name, value in members.items()])
    return st.lists(pair, max_size=4).map(_members)


_middle = _pairs(
    inner=_inner.map(_members),
    words=st.lists(_text, max_size=2).map(json.dumps),
    other=_inner.map(_members) | st.just("null"),
)
_row = _pairs(x=_number, middle=_middle, id=_text.map(json.dumps))
_straight = _pairs(
    row=_row, note=_text.map(json.dumps), limit=st.just("3"), ratio=_number, where=_middle | st.just("null")
)
_other = _pairs(
    rows=st.lists(_row, max_size=2).map(lambda rows: f"[{', '.join(rows)}]"),
    colors=_pairs(a=st.just('"red"'), b=st.just('"red"')),
    note=_text.map(json.dumps),
)


def _sound(text: str) -> bool:
    """Whether a text has no name twice and only finite numbers, by another parser."""
    found: list[bool] = []

    def names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found.append(len({name for name, _ in pairs}) == len(pairs))
        return dict(pairs)

    def number(literal: str) -> float:
        found.append(math.isfinite(float(literal)))
        return float(literal)

    json.loads(text, object_pairs_hook=names, parse_float=number, parse_constant=number, parse_int=number)
    return all(found)


@pytest.mark.parametrize(("made", "texts"), [(TOOLS[0], _straight), (TOOLS[1], _other)], ids=["straight", "other"])
@given(data=st.data())
def test_what_passes_has_each_name_once_and_finite_numbers(
    made: Tool[..., str], texts: st.SearchStrategy[str], data: st.DataObject
) -> None:
    """Wherever in the arguments they stand, whatever is left out, and however many colons the strings have."""
    text = data.draw(texts)
    checked = made.check(text)
    if checked.error is None:
        assert _sound(text), text


@pytest.mark.parametrize(
    "text",
    [
        '{"row": {}}',
        '{"row": {"id": "a:b", "middle": {"inner": {"a": 1}, "words": ["x:y"]}}, "note": "10:30"}',
        '{"row": {"x": 1e308}, "ratio": 3, "where": {"other": {"weight": null}}}',
        '\ufeff {"row" : {}} ',
    ],
)
def test_innocent_texts_pass(text: str) -> None:
    """Colons in strings, or a byte order mark, are no reason to refuse."""
    assert TOOLS[0].check(text).error is None


class Adds(BaseModel):
    a: int = 1
    b: int = 1

    @model_validator(mode="after")
    def touch(self) -> Adds:
        self.b = 2
        return self


class Posted(BaseModel):
    a: int = 1
    b: int = 1

    def model_post_init(self, context: Any, /) -> None:
        self.b = 2


class Renamed(BaseModel):
    a: int = Field(default=1, alias="x")
    b: int = 1


@dataclass
class Data:
    a: int = 1
    b: int = 1


class Rooted(RootModel[Inner]):
    pass


def _clamped(value: float) -> float:
    return min(value, 1.0)


def adds(value: Adds) -> None: ...
def posted(value: Posted) -> None: ...
def renamed(value: Renamed) -> None: ...
def data(value: Data) -> None: ...
def rooted(value: Rooted) -> None: ...
def defaults(value: Annotated[int, Field(default=3)], a: int = 1) -> None: ...
def clamped(value: Annotated[float, AfterValidator(_clamped)]) -> None: ...


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (adds, '{"value": {"a": 1, "a": 1}}'),
        (posted, '{"value": {"a": 1, "a": 1}}'),
        (renamed, '{"value": {"x": 1, "x": 1}}'),
        (data, '{"value": {"a": 1, "a": 1}}'),
        (rooted, '{"value": {"a": 1, "a": 1}}'),
        (defaults, '{"a": 1, "a": 1}'),
        (clamped, '{"value": 1e400}'),
    ],
)
def test_types_whose_values_say_less_are_read_with_care(function: Any, text: str) -> None:
    """Validators, defaults of pydantic's and other names may hide what was sent; it is refused all the same."""
    assert tool(function).check(text).error is not None
