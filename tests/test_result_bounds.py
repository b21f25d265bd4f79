"""A result has an end: what shares its parts, or makes them as they are asked for, is refused before it is written."""

from __future__ import annotations

import asyncio
import dataclasses
import itertools
import logging
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from typing import Annotated, Any, NamedTuple

import attrs
import msgspec
import numpy as np
import pydantic
import pytest

from toolsmith import Agent, Tool, ToolResult, tool
from toolsmith.testing import ScriptedModel, call, say

MOST_SECONDS = 20
"""For a machine that does other things as well; without a bound none of these ends within a year."""


class Pair(NamedTuple):
    left: Any
    right: Any


@dataclasses.dataclass
class Knot:
    left: Any
    right: Any


@attrs.define
class Hook:
    left: Any
    right: Any


class Loop(msgspec.Struct):
    left: Any
    right: Any


class Node(pydantic.BaseModel):
    left: Any = None
    right: Any = None


class Loose(pydantic.BaseModel, extra="allow"):
    pass


class Held(pydantic.BaseModel):
    given: Any = None
    items: Iterable[int] = ()


class Naturals(Set[int]):
    def __contains__(self, item: object) -> bool:
        return True

    def __iter__(self) -> Iterator[int]:
        return itertools.count()

    def __len__(self) -> int:
        return 10**12


class Squares(Mapping[int, int]):
    def __getitem__(self, key: int) -> int:
        return key * key

    def __iter__(self) -> Iterator[int]:
        return itertools.count()

    def __len__(self) -> int:
        return 10**12


def shared(double: Callable[[Any], Any], start: Any = 0, times: int = 60) -> Any:
    """Sixty values in memory, 2**60 as text."""
    made = start
    for _ in range(times):
        made = double(made)
    return made


def result_of(value: Any) -> ToolResult:
    """What a model gets of a tool that gives this back."""

    def probe() -> Any:
        return value

    return Tool(probe).call_json_sync("{}")


LARGE: dict[str, Callable[[], Any]] = {
    "lists": lambda: shared(lambda a: [a, a]),
    "lists in a list": lambda: [1, {"a": shared(lambda a: [a, a])}],
    "dicts": lambda: shared(lambda a: {"a": a, "b": a}),
    "wide lists": lambda: [[0] * 100_000] * 100_000,
    "texts": lambda: ["word " * 200_000] * 100_000,
    "names": lambda: [{"word " * 200_000: 0}] * 100_000,
    "lists of a set": lambda: shared(lambda a: [a, a], start={1}),
    "tuples": lambda: shared(lambda a: (a, a)),
    "deques": lambda: shared(lambda a: deque([a, a])),
    "named tuples": lambda: shared(lambda a: Pair(a, a)),
    "dataclasses": lambda: shared(lambda a: Knot(a, a)),
    "attrs": lambda: shared(lambda a: Hook(a, a)),
    "msgspec": lambda: shared(lambda a: Loop(a, a)),
    "models": lambda: shared(lambda a: Node(left=a, right=a)),
    "a list in a model": lambda: Node(left=shared(lambda a: [a, a])),
    "dataclasses in a model": lambda: Node(left=shared(lambda a: Knot(a, a))),
    "a list in an extra field": lambda: Loose.model_validate({"a": shared(lambda a: [a, a])}),
    "texts in a model": lambda: Node(left=["word " * 200_000] * 100_000),
    "models in a list": lambda: [Node(left=["word " * 20_000] * 100)] * 100_000,
    "tuples of bytes": lambda: (b"word " * 200_000,) * 100_000,
    "range": lambda: range(10**12),
    "range past all counting": lambda: {"all": range(10**30)},
    "ranges": lambda: (range(1_000),) * 1_000_000,
    "set": Naturals,
    "keys": lambda: Squares().keys(),
    "mapping": Squares,
    "array": lambda: np.broadcast_to(np.int64(0), (10**6, 10**6)),
    "iterators in iterators": lambda: (iter(range(1_000)) for _ in range(50_000)),
    "result": lambda: ToolResult(True, shared(lambda a: [a, a])),
}


@pytest.mark.parametrize("value", LARGE.values(), ids=LARGE.keys())
def test_what_is_larger_than_a_result_may_be_is_refused(
    value: Callable[[], Any], caplog: pytest.LogCaptureFixture
) -> None:
    """The model learns that the tool ran and why there is nothing to see, its author where."""
    made = value()
    start = time.monotonic()
    with caplog.at_level(logging.ERROR, "toolsmith"):
        result = result_of(made)
    assert time.monotonic() - start < MOST_SECONDS
    assert not result.success
    assert "was run" in str(result.error)
    assert "it is too large" in str(result.error)
    assert "probe" in caplog.text
    assert "Return less" in caplog.text


@pytest.mark.parametrize(
    "value",
    [
        lambda: itertools.count(),
        lambda: Held(given=itertools.count()),
        lambda: [Held(items=itertools.count())],
        lambda: Loose.model_validate({"a": itertools.count()}),
    ],
    ids=["itself", "field", "typed field", "extra field"],
)
def test_an_iterator_without_an_end_is_refused(value: Callable[[], Any]) -> None:
    """Also in a pydantic model, which would be written for ever."""
    assert "it has too many items" in str(result_of(value()).error)


def test_an_iterator_in_a_model_is_read() -> None:
    """One that ends gives its items, with the other fields as they are otherwise."""
    value = Held(given={"a": iter("ab"), "b": {1}}, items=iter([1, 2]))
    assert result_of(value).data == {"given": {"a": ["a", "b"], "b": [1]}, "items": [1, 2]}


def test_a_model_that_leaves_a_field_out_may_hold_anything_there() -> None:
    """What is not written is not counted: a way back to its owner, say."""

    def name(one: Any) -> str:
        return f"{type(one).__name__}s"

    class Child(pydantic.BaseModel):
        owner: Any = pydantic.Field(exclude=True)
        beside: Annotated[Any, pydantic.PlainSerializer(name)]

    class Named(pydantic.BaseModel):
        all: Any

        @pydantic.field_serializer("all")
        def names(self, value: Any) -> str:
            return name(value)

    lists = shared(lambda a: [a, a])
    child = Child(owner=[], beside=lists)
    child.owner.append(child)
    assert result_of(child).data == {"beside": "lists"}
    assert result_of(Named(all=lists)).data == {"all": "lists"}


def test_what_is_just_large_is_shown() -> None:
    """Nearly a million numbers, or a text of fifty million characters, is data like other; so are shared parts."""
    numbers = [0.5] * 900_000
    assert result_of(numbers).data is numbers
    assert result_of({"text": "x" * 50_000_000}).success
    assert len(result_of(range(150_000)).data) == 150_000
    part = [1, 2]
    assert result_of((part, part, {"a": part})).data == [[1, 2], [1, 2], {"a": [1, 2]}]


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_a_run_goes_on(kind: str) -> None:
    """The call has failed, and the model can do something else."""

    @tool
    def rows() -> list[Any]:
        """All rows."""
        return shared(lambda a: [a, a])

    @tool(name="rows")
    async def arows() -> list[Any]:
        """All rows."""
        return shared(lambda a: [a, a])

    model = ScriptedModel([call("rows"), say("done")])
    agent = Agent(model.provider("openai"), tools=[rows if kind == "sync" else arows])
    ended = asyncio.run(agent.run("go"))
    assert ended.output == "done"
    assert "it is too large" in str(ended.tool_calls[0].result.error)
    assert "it is too large" in str(asyncio.run(arows.call_json("{}")).error)
