"""A model that sends a field under its name in Python, or a further alias, is told the one name that counts."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, TypedDict

import msgspec
import pytest
from pydantic import AliasChoices, BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel
from typing_extensions import TypeAliasType

from toolsmith import Agent, Tool
from toolsmith.testing import ScriptedModel, raw_call, say


class Address(BaseModel):
    postal_code: str = Field(alias="zip")
    line: int = Field(default=1, validation_alias=AliasChoices("row", "ln"))


class Order(BaseModel):
    stock_keeping_unit: str = Field(validation_alias=AliasChoices("id", "article"))
    to: list[Address] = []


class Camel(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel)
    x: int


@dataclass
class Pair:
    first: Annotated[int, Field(alias="a")]
    second: int = Field(alias="b")


class Keys(TypedDict):
    first: Annotated[int, Field(alias="a")]


class Packet(msgspec.Struct, rename={"bytes_sent": "size"}):
    bytes_sent: int


Orders = TypeAliasType("Orders", dict[str, Order])


def one(it: Order) -> str:
    return it.stock_keeping_unit


def many(it: Orders | None) -> int:
    return len(it or {})


def pair(it: Pair) -> int:
    return it.first


def keys(it: Keys) -> int:
    return len(it)


def packet(it: Packet) -> int:
    return it.bytes_sent


def itself(word: Annotated[str, Field(alias="query")], most: int = Field(5, alias="limit")) -> str:
    return word * most


@pytest.mark.parametrize(
    ("function", "sent", "said"),
    [
        (one, {"it": {"stock_keeping_unit": "a"}}, "`it.stock_keeping_unit` is not accepted. Did you mean `id`"),
        (one, {"it": {"article": "a"}}, "`it.article` is not accepted. Did you mean `id`, which is missing?"),
        (one, {"it": {"id": "a", "to": [{"postal_code": "1"}]}}, "Did you mean `zip`, which is missing?"),
        (one, {"it": {"id": "a", "to": [{"zip": "1", "ln": 2}]}}, "`it.to[0].ln` is not accepted. Did you mean `row`?"),
        (many, {"it": {"x": {"article": "a"}}}, "Did you mean `id`, which is missing?"),
        (pair, {"it": {"first": 1, "b": 2}}, "Did you mean `a`, which is missing?"),
        (pair, {"it": {"a": 1, "second": 2}}, "Did you mean `b`, which is missing?"),
        (keys, {"it": {"first": 1}}, "Did you mean `a`, which is missing?"),
        (packet, {"it": {"bytes_sent": 1}}, "Did you mean `size`, which is missing?"),
        (itself, {"word": "a"}, "`word` is not an argument of `itself`. Did you mean `query`, which is missing?"),
        (itself, {"query": "a", "most": 2}, "`most` is not an argument of `itself`. Did you mean `limit`?"),
    ],
)
def test_there_is_one_problem_and_it_says_the_name(function: Callable[..., Any], sent: Any, said: str) -> None:
    """Not two, of a name too many and a name too few."""
    error = Tool(function).call_json_sync(json.dumps(sent)).error
    assert error is not None
    assert said in error
    assert "problems" not in error


def test_a_name_that_is_there_already_is_not_meant() -> None:
    """Who sends both is told what there is."""
    error = Tool(one).call_json_sync('{"it": {"id": "a", "article": "b"}}').error
    assert error is not None
    assert "Did you mean" not in error
    assert "`it` takes `id` and `to`" in error


@pytest.mark.parametrize("api", ["openai", "openai-chat", "anthropic"])
def test_so_in_each_form(api: Any) -> None:
    """Also where the model was shown the strict form of a service."""
    model = ScriptedModel([raw_call("one", '{"it": {"article": "a", "to": []}}'), say("done")])
    ended = Agent(model.provider(api), tools=[one]).run_sync("go")
    assert "`it.article` is not accepted. Did you mean `id`, which is missing?" in str(ended.tool_calls[0].result.error)
