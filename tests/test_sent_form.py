"""What a model in strict mode reads of its arguments is in the form that it was shown, and leads to where it erred."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Annotated, Any, Literal, TypeAlias, cast

import pytest
from generated_functions import Function, functions
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import AfterValidator, BaseModel, Field

from toolsmith import DefinitionError, Tool, tool
from toolsmith._arguments.problems import Path
from toolsmith._dialects.sent_names import with_sent_names
from toolsmith._feedback import FEEDBACK
from toolsmith._simulate.strict_form import in_strict_form
from toolsmith.dialects import CLAUDE, LOCAL, OPENAI, Offered, Service, plan
from toolsmith.testing import simulate

SERVICES = (OPENAI, CLAUDE, LOCAL)
PAIR = {"item_1": 1, "item_2": "a"}
TUPLE = "an object with `item_1` (a whole number) and `item_2` (a string)"
MAPPING = "a list of objects with `key` and `value`, each value a whole number"
Small: TypeAlias = Annotated[int, Field(ge=1, le=5)]


def _odd(value: int) -> int:
    if value % 2 == 0:
        raise ValueError("it must be odd")
    return value


class Part(BaseModel):
    size: tuple[int, str]
    counts: dict[str, Small] = {}


@tool(strict=True)
def pair(x: tuple[int, str]) -> str:
    """Take."""
    return ""


@tool(strict=True)
def mapping(x: dict[str, int]) -> str:
    """Take."""
    return ""


@tool(strict=True)
def deep(x: dict[str, tuple[Small, Annotated[int, AfterValidator(_odd)]]], parts: list[Part], n: int = 3) -> str:
    """Take."""
    return ""


@tool(strict=True)
def keyed(x: dict[Literal["a", "b"], int]) -> str:
    """Take."""
    return ""


@tool(strict=True)
def optional(x: tuple[int, str] | None = None, y: dict[str, int] | list[int] | None = None) -> str:
    """Take."""
    return ""


@tool(strict=True)
def many(x: Annotated[dict[str, int], Field(min_length=2)]) -> str:
    """Take."""
    return ""


def _offered(one: Tool[..., Any], service: Service) -> Offered:
    (offered,) = plan([(one.spec, True)], service)
    assert offered.strict
    return offered


def _pairs(**members: Any) -> list[dict[str, Any]]:
    return [{"key": key, "value": value} for key, value in members.items()]


def _deep(x: Any, parts: Any = None) -> dict[str, Any]:
    return {"x": x, "parts": [] if parts is None else parts, "n": 3}


GOOD = {"item_1": 1, "item_2": 1}

CASES: list[tuple[Tool[..., Any], Any, str]] = [
    (pair, {"x": None}, f"`x` must be {TUPLE}; you sent null."),
    (pair, {}, f"`x` is missing; it must be {TUPLE}."),
    (pair, {"x": {"item_1": "one", "item_2": "a"}}, '`x.item_1` must be a whole number; you sent "one".'),
    (pair, {"x": {"item_1": 1}}, f'`x` must be {TUPLE}; you sent {{"item_1": 1}}.'),
    (pair, {"x": {**PAIR, "item_3": 2}}, f"`x` must be {TUPLE}; you sent"),
    (mapping, {"x": 3}, f"`x` must be {MAPPING}; you sent 3."),
    (mapping, {"x": _pairs(a=1, b="two")}, '`x[1].value` must be a whole number; you sent "two".'),
    (mapping, {"x": [{"name": "a", "value": 1}]}, f"`x` must be {MAPPING}; you sent"),
    (many, {"x": _pairs(a=1)}, "`x` must be a list of at least 2 items, each an object with `key` and `value`"),
    (keyed, {"x": _pairs(a=1, c=2)}, "`x[1].key`"),
    (
        deep,
        _deep(_pairs(a=GOOD, b={"item_1": 9, "item_2": 1})),
        "`x[1].value.item_1` must be a whole number from 1 to 5; you sent 9.",
    ),
    (deep, _deep(_pairs(a={"item_1": 1, "item_2": 2})), "`x[0].value.item_2`: it must be odd (you sent 2)."),
    (
        deep,
        _deep([], [{"size": PAIR, "counts": _pairs(a=1, b=7)}]),
        "`parts[0].counts[1].value` must be a whole number from 1 to 5; you sent 7.",
    ),
    (deep, _deep([], [{"size": 1, "counts": []}]), f"`parts[0].size` must be {TUPLE}; you sent 1."),
    (optional, {"x": {"item_1": "a", "item_2": "a"}, "y": None}, f"`x` must be {TUPLE}"),
]


@pytest.mark.parametrize("service", SERVICES, ids=lambda s: s.name)
@pytest.mark.parametrize(("one", "sent", "said"), CASES)
def test_it_speaks_of_the_form_that_the_model_was_shown(
    one: Tool[..., Any], sent: Any, said: str, service: Service
) -> None:
    """A tuple is an object and a mapping is a list there, in the words, the places and what was sent."""
    error = one.check(json.dumps(sent), _offered(one, service)).error
    assert error is not None
    assert said in error
    assert "x[0]`" not in error
    assert "exactly 2 items" not in error


@pytest.mark.parametrize("one", [pair, mapping, deep, keyed, many])
def test_without_strict_mode_it_speaks_of_the_tools_own(one: Tool[..., Any]) -> None:
    """A list is a list, an object an object."""
    error = one.check('{"x": 1}').error
    assert error is not None
    assert "item_1" not in error
    assert "`key`" not in error


def test_what_is_mended_is_told_by_where_it_stood() -> None:
    """A note names the place in the form of the service."""

    @tool(strict=True, coerce=True)
    def lenient(x: dict[str, int]) -> str:
        """Take."""
        return ""

    sent = json.dumps({"x": _pairs(a=1, b="2")})
    checked = lenient.check(sent, _offered(lenient, OPENAI))
    assert checked.values == {"x": {"a": 1, "b": 2}}
    assert checked.notes == ('`x[1].value` was "2" and was read as 2.',)


@pytest.mark.parametrize("provider", ["openai", "anthropic", "local"])
@pytest.mark.parametrize("one", [pair, mapping, deep, optional, many], ids=lambda t: t.name)
def test_every_mistake_that_models_make_is_told_so(one: Tool[..., Any], provider: Any) -> None:
    """Graded: the place and what is accepted are those of the strict form."""
    found = simulate(one, provider=provider, strict=True)
    assert found.answers
    assert [(a.mistake, a.sent, a.text) for a in found.answers if a.faults] == []


def _leaves(value: Any, path: Path = ()) -> Iterator[Path]:
    """Where the texts, numbers and nulls stand that are no keys of a mapping."""
    if isinstance(value, dict):
        for name, inner in cast("dict[str, Any]", value).items():
            yield from _leaves(inner, (*path, name))
    elif isinstance(value, list):
        for number, inner in enumerate(cast("list[Any]", value)):
            yield from _leaves(inner, (*path, number))
    elif path and path[-1] != "key":
        yield path


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(functions(), st.sampled_from(SERVICES), st.integers(0, 99))
def test_what_is_told_leads_to_where_it_was_sent(function: Function, service: Service, which: int) -> None:
    """Law: of one wrong value anywhere in the strict form, the text names its place, or one around it."""
    made = Tool(function.call, name="probe", description="A probe.")
    try:
        (offered,) = plan([(made.spec, True)], service)
    except DefinitionError:
        return  # no strict form
    sent: Any = with_sent_names(function.sent, offered.sent_names())
    sent = in_strict_form(sent, offered.schema, fill=service is not CLAUDE)
    places = [*_leaves(sent)]
    if not places or made.check(json.dumps(sent), offered).error is not None:
        return
    path = places[which % len(places)]
    owner = sent = json.loads(json.dumps(sent))
    for part in path[:-1]:
        owner = owner[part]
    owner[path[-1]] = {"no": [{"such": None}]}
    error = made.check(json.dumps(sent), offered).error
    if error is not None:  # it may take anything
        around = [FEEDBACK.place(path[:length])[:-1] for length in range(1, len(path) + 1)]
        assert any(place in error for place in around), (path, error)
