"""What the keys of an object may be, and the tag of a union: schema, call and text agree."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from typing import Annotated, Any, Literal

import pytest
from jsonschema import Draft202012Validator
from pydantic import BaseModel, Field

from toolsmith import Tool, tool

Word = Annotated[str, Field(pattern="^[a-z]+$")]


class Cat(BaseModel):
    kind: Literal["cat"] = "cat"
    lives: int = 9


class Dog(BaseModel):
    kind: Literal["dog"] = "dog"
    tricks: list[str] = []


Pet = Annotated[Cat | Dog, Field(discriminator="kind")]


def agreed(made: Tool[..., Any], text: str) -> str | None:
    """What is wrong with arguments, by the tool; fails where its schema judges otherwise."""
    error = made.check(text).error
    judge: Any = Draft202012Validator(made.input_schema)
    assert judge.is_valid(json.loads(text)) is (error is None), error
    return error


def alone(pet: Pet) -> None: ...
def beside(pet: Pet, cat: Cat | None = None) -> None: ...


@pytest.mark.parametrize("function", [alone, beside])
def test_the_tag_of_a_union_is_required_though_it_has_a_default(function: Callable[..., Any]) -> None:
    """The union cannot be read without it; the same class on its own can."""
    made: Tool[..., Any] = tool(function)
    assert agreed(made, '{"pet": {"kind": "cat"}}') is None
    error = agreed(made, '{"pet": {"lives": 3}}')
    assert error is not None
    assert '`pet.kind` is missing; it must be "cat" or "dog"' in error
    if function is beside:
        assert agreed(made, '{"pet": {"kind": "dog"}, "cat": {"lives": 3}}') is None
    assert "discriminator" not in str(made.input_schema)
    made.to_openai(strict=True)
    made.to_anthropic(strict=True)


def test_patterns_of_keys_hold() -> None:
    """In the schema, in the call, and in what the model is told."""

    def take(scores: dict[Word, int], any_: dict[Word, Any] | None = None) -> Any:
        return scores

    made = tool(take)
    assert agreed(made, '{"scores": {"a": 1}, "any_": {"b": []}}') is None
    error = agreed(made, '{"scores": {"A1": 1}}')
    assert error is not None
    assert "scores.A1" in error
    assert "^[a-z]+$" in error
    assert agreed(made, '{"scores": {}, "any_": {"B": 1}}') is not None
    assert agreed(made, '{"scores": {"a": "x"}}') is not None


def test_keys_of_kwargs_collide_only_where_python_says_so() -> None:
    """Positional-only names are free; others are arguments of their own, and the text says so."""

    def free(a: int, /, *many: int, **kw: int) -> Any:
        return a, many, kw

    made = tool(free)
    assert agreed(made, '{"a": 1, "kw": {"a": 5, "many": 6, "kw": 7}}') is None
    assert made.call_json_sync('{"a": 1, "kw": {"a": 5}}').data == [1, [], {"a": 5}]

    def taken(a: int, **kw: int) -> Any:
        return a, kw

    error = agreed(tool(taken), '{"a": 1, "kw": {"a": 5}}')
    assert error is not None
    assert "`a` is itself an argument" in error


def test_keys_of_kwargs_never_override_what_a_partial_fixes() -> None:
    """What the author has fixed, often a key, is not the model's to change."""

    def search(query: str, *, key: str, **more: str) -> Any:
        return key, more

    made: Tool[..., Any] = tool(functools.partial(search, key="own"))
    assert agreed(made, '{"query": "q", "more": {"key": "other"}}') is not None
    assert made.call_json_sync('{"query": "q", "more": {"page": "2"}}').data == ["own", {"page": "2"}]
