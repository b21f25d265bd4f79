"""Bounds on what is no plain number, text or list: schema, check and text agree, or the tool is refused."""

from __future__ import annotations

import enum
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from ipaddress import IPv4Address
from pathlib import Path
from typing import Annotated, Any, Literal, cast
from uuid import UUID

import pytest
from annotated_types import Interval, Len
from jsonschema import Draft202012Validator
from pydantic import AfterValidator, BaseModel, Field, HttpUrl, Json, SecretStr, StringConstraints
from typing_extensions import TypeAliasType

from toolsmith import DefinitionError, Tool


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Order(BaseModel):
    price: int | float = Field(ge=0)
    tag: str | int = Field(max_length=2)
    parts: list[Order] = []


@dataclass
class Offer:
    price: Annotated[int | float, Field(ge=0)]


Positive = TypeAliasType("Positive", Annotated[int | float, Field(gt=0)])
Nested = TypeAliasType("Nested", "int | list[Nested]")


def taking(annotation: Any) -> Tool[..., Any]:
    """A tool with one required parameter `x` of this type, which gives its representation."""

    def probe(x: Any) -> str:
        """Do it.

        Args:
            x: What it is.
        """
        return repr(x)

    probe.__annotations__["x"] = annotation
    return Tool(probe)


def outcome(made: Tool[..., Any], value: Any) -> str | None:
    """What is wrong with an argument, by the tool."""
    return made.call_json_sync(json.dumps({"x": value})).error


AGREED: list[tuple[Any, list[Any], list[Any], str]] = [
    # the type, what fits, what does not, and what the model is told of the last
    (Annotated[int | float, Field(ge=0, le=10)], [0, 2.5, 10], [-1, 11.5, -0.1], "a number from 0 to 10"),
    (Annotated[int | float, Field(ge=0.5)], [1, 0.5], [0, 0.4], "a number of at least 0.5"),
    (Annotated[int | float | None, Interval(gt=0, lt=9)], [1, None], [9, 0], "a whole number greater than 0 and less"),
    (Annotated[int | Literal["auto"], Field(ge=1)], [5, "auto"], ["other", 0], "a whole number of at least 1"),
    (Annotated[int | str, Field(ge=3)], [3, "a"], [1], "a whole number of at least 3"),
    (Annotated[int | bool, Field(ge=1)], [1, False], [0], "a whole number of at least 1"),
    (Annotated[float | Decimal, Field(gt=0)], [2, 0.1], [-1], "greater than 0"),
    (Annotated[int | float, Field(multiple_of=0.5)], [3, 2.5], [0.7], "a multiple of 0.5"),
    (Annotated[list[int] | str, Field(min_length=2)], [[1, 2], "ab"], ["a", []], "a list of at least 2 whole numbers"),
    (Annotated[Sequence[int] | int, Field(min_length=2)], [[1, 2], 1], [[1]], "a list of at least 2 whole numbers"),
    (Annotated[str | int, StringConstraints(pattern="^a")], ["a", 3], ["b"], "that matches the regular expression ^a"),
    (Annotated[str | int, Field(pattern="^(?=a)")], ["a", 3], ["b"], "that matches the regular expression ^(?=a)"),
    (Annotated[dict[str, int], Len(1, 2)], [{"a": 1}], [{}], "an object of 1 to 2 members, whose values are each"),
    (Annotated[dict[str, Any], Field(max_length=1)], [{}], [{"a": 1, "b": 2}], "an object of at most 1 member"),
    (Annotated[Level, Field(ge=1)], [1, 2], [3], "1 or 2"),
    (Annotated[int, AfterValidator(lambda v: v), Field(ge=1)], [1], [0], "a whole number of at least 1"),
    (Annotated[Iterator[int], Field(max_length=1)], [[1]], [[1, 2]], "a list of at most 1 whole number"),
    (
        Annotated[Annotated[str, AfterValidator(str.strip)] | int, Field(max_length=2)],
        ["a", 7],
        ["abc"],
        "at most 2 ch",
    ),
    (Annotated[HttpUrl, Field(max_length=12)], ["http://a.b/"], ["http://a.b.de"], "characters"),
    (Annotated[SecretStr, Field(max_length=3)], ["abc"], ["abcd"], "a string of at most 3 characters"),
    (Positive, [1, 0.5], [0, -1.5], "a number greater than 0"),
    (tuple[Positive, Positive], [[1, 2.5]], [[1, 0]], "`x[1]` must be a whole number greater than 0"),
    (Annotated[Nested, Field(ge=0)], [1, [-1]], [-1], "a whole number of at least 0"),
    (list[Annotated[int | float, Field(ge=0)]], [[1, 0.5]], [[1, -0.5]], "`x[1]` must be a number of at least 0"),
    (Annotated[Annotated[int | None, Field(ge=1)] | str, Field(le=3)], [2, None], [0, 4], "a whole number from 1 to 3"),
    (Offer, [{"price": 0}], [{"price": -1}], "`x.price` must be a whole number of at least 0"),
    (Order, [{"price": 0, "tag": 123}], [{"price": -0.5, "tag": "a"}, {"price": 0, "tag": "abc"}], "at most 2 char"),
    (Order, [], [{"price": 0, "tag": 1, "parts": [{"price": -1, "tag": 1}]}], "`x.parts[0].price` must be a whole"),
]


@pytest.mark.parametrize(("annotation", "fits", "fails", "told"), AGREED, ids=lambda v: str(v)[:60])
def test_a_bound_holds_for_the_branches_to_which_it_applies(
    annotation: Any, fits: list[Any], fails: list[Any], told: str
) -> None:
    """The schema has it there, in words of JSON Schema; the check holds the same; the refusal names it."""
    made = taking(annotation)
    judge: Any = Draft202012Validator(made.input_schema)
    assert {"ge", "gt", "le", "lt", "multiple_of", "$told"}.isdisjoint(_keys(made.input_schema))
    for value in fits:
        assert outcome(made, value) is None
        assert judge.is_valid({"x": value})
    errors = [outcome(made, value) for value in fails]
    assert all(errors)
    assert not any(judge.is_valid({"x": value}) for value in fails)
    assert told in str(errors[-1])


def _keys(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        members = cast("dict[str, Any]", node)
        yield from members
        for value in members.values():
            yield from _keys(value)
    elif isinstance(node, list):
        for item in cast("list[Any]", node):
            yield from _keys(item)


def test_openai_is_told_the_bounds_of_a_union() -> None:
    """Its strict mode takes them in the branches."""
    parameters: Any = taking(Annotated[int | float, Field(ge=0, le=10)]).to_openai()["parameters"]
    branches = parameters["properties"]["x"]["anyOf"]
    assert [(b["minimum"], b["maximum"]) for b in branches] == [(0, 10), (0, 10)]


IN_WORDS: list[tuple[Any, Any, Any, str, str]] = [
    # the type, what fits, what does not, and what the schema and the refusal say
    (
        Annotated[date, Field(ge=date(2024, 1, 1))],
        "2024-01-01",
        "2023-12-31",
        "Not before 2024-01-01.",
        "not before 2024",
    ),
    (
        Annotated[datetime, Field(gt=datetime(2024, 1, 1), lt=datetime(2025, 1, 1))],
        "2024-05-01T00:00:00",
        "2025-01-01T00:00:00",
        "After 2024-01-01T00:00:00, before 2025-01-01T00:00:00.",
        "before 2025-01-01T00:00:00",
    ),
    (Annotated[time, Field(lt=time(12))], "10:00:00", "13:00:00", "Before 12:00:00.", "before 12:00:00"),
    (Annotated[timedelta, Field(ge=timedelta(hours=1))], "PT2H", "PT5M", "At least PT1H.", "at least 1 hour"),
    (
        Annotated[str, Field(ge="b")],
        "c",
        "a",
        'Not before "b" in alphabetical order.',
        'a string, not before "b" in alphabetical order',
    ),
    (
        Annotated[IPv4Address, Field(ge=IPv4Address("10.0.0.0"))],
        "11.1.1.1",
        "9.1.1.1",
        "At least 10.0.0.0.",
        "10.0.0.0",
    ),
]


@pytest.mark.parametrize(("annotation", "fits", "fails", "said", "told"), IN_WORDS, ids=lambda v: str(v)[:60])
def test_what_json_schema_cannot_bound_is_told_in_words(
    annotation: Any, fits: Any, fails: Any, said: str, told: str
) -> None:
    """The bound of a date, a time, a duration or a text: in the description, and in the refusal."""
    made = taking(annotation)
    shown: Any = made.input_schema["properties"]["x"]
    assert shown["description"] == f"What it is. {said}"
    assert outcome(made, fits) is None
    error = outcome(made, fails)
    assert error is not None
    assert told in error
    assert f"you sent {json.dumps(fails)}" in error
    lists: Any = taking(list[annotation]).input_schema["properties"]["x"]
    assert lists["items"]["description"] == said
    within = outcome(taking(list[annotation]), [fits, fails])
    assert within is not None
    assert told in within
    optional: Any = taking(annotation | None).input_schema["properties"]["x"]
    assert optional["anyOf"][0]["description"] == said
    among = outcome(taking(annotation | None), fails)
    assert among is not None
    assert told.removeprefix("a string, ").removesuffix(" in alphabetical order").replace('"', "") in among


def test_the_words_of_a_field_stay_before_those_of_its_bound() -> None:
    """A description and a bound are both told."""

    class Booking(BaseModel):
        day: date = Field(le=date(2024, 1, 1), description="When")

    shown: Any = taking(Booking).input_schema["properties"]["x"]["properties"]["day"]
    assert shown["description"] == "When. Not after 2024-01-01."


def test_the_bound_of_what_a_validator_makes_is_told_as_pydantic_says_it() -> None:
    """Nobody else knows what the bound is of."""
    error = outcome(taking(Annotated[str, AfterValidator(len), Field(ge=3)]), "ab")
    assert error is not None
    assert "greater than or equal to 3" in error


def test_the_items_of_json_in_a_text_are_counted() -> None:
    """`max_length` is of the list, not of the text."""
    made = taking(Annotated[Json[list[int]], Field(max_length=1)])
    assert outcome(made, "[1234567]") is None
    assert outcome(made, "[1,2]") is not None


class Place(BaseModel):
    where: Annotated[Path, Field(max_length=3)]


UNFIT: list[tuple[Any, str]] = [
    (Annotated[Path, Field(max_length=3)], "max_length=3 applies to nothing .* a str, a list"),
    (list[Place], "max_length=3 in the field 'where' applies to nothing"),
    (Annotated[UUID, Field(max_length=3)], "max_length=3 applies to nothing"),
    (Annotated[Any, Field(ge=1)], "ge=1 applies to nothing .* a number"),
    (Annotated[bool, Field(ge=1)], "ge=1 applies to nothing"),
    (Annotated[str, Field(ge=1)], "ge=1 applies to nothing"),
    (Annotated[Order, Field(ge=1)], "ge=1 applies to nothing"),
    (Annotated[int | None, Field(max_length=2)], "max_length=2 applies to nothing"),
    (Annotated[int, Field(pattern="^a")], "pattern='\\^a' applies to nothing .* a str"),
    (Annotated[float, Field(decimal_places=2)], "decimal_places=2 applies to nothing .* a Decimal"),
    (Annotated[Level, Field(ge=2)], "ge=2 shuts out 1 of its own values. .* Literal"),
    (Annotated[Literal[1, 2], Field(ge=2)], "ge=2 shuts out 1 of its own values"),
    (Annotated[int | Literal[-1], Field(ge=0)], "ge=0 shuts out -1 of its own values"),
]


@pytest.mark.parametrize(("annotation", "said"), UNFIT, ids=lambda v: str(v)[:60])
def test_a_bound_that_cannot_be_held_is_refused_when_the_tool_is_made(annotation: Any, said: str) -> None:
    """pydantic would fail at the call, for values that the schema offers."""
    with pytest.raises(DefinitionError, match=f"parameter 'x' of 'probe' .* whose {said}"):
        taking(annotation)
