"""Any callable becomes a tool, and is called as Python would call it."""

from __future__ import annotations

import asyncio
import dataclasses
import functools
import sys
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from typing import Annotated, Any, Literal, Required, Unpack

import future_functions
import pytest
from future_functions import EARLY, Box, hidden, make_local
from pydantic import Field
from typing_extensions import TypedDict

from toolsmith import Agent, DefinitionError, RunContext, Tool, ToolRegistry, tool

MODULE: Any = future_functions


def properties(made: Tool[..., Any]) -> dict[str, Any]:
    return made.input_schema["properties"]


def received(made: Tool[..., Any], text: str) -> Any:
    """What the function gave back for these arguments; fails with what the model would be told."""
    checked = made.check(text)
    assert checked.error is None, checked.error
    return made.invoke(checked.values, None)


class Shop:
    """A shop.

    Args:
        till: what lies in the till, which is no parameter of its methods.
    """

    def __init__(self, till: int = 5) -> None:
        self.till = till

    @tool
    def buy(self, item: str, n: int = 1) -> str:
        """Buy something."""
        return f"{n} {item}, {self.till} left"

    @tool
    @classmethod
    def open_new(cls, place: str) -> str:
        """Open a shop."""
        return f"{cls.__name__} in {place}"

    @classmethod
    @tool
    def close(cls, place: str) -> str:
        """Close a shop."""
        return f"{cls.__name__} in {place}"

    @tool
    @staticmethod
    def tax(amount: float) -> float:
        """Compute the tax."""
        return amount / 5

    def sell(self, item: str) -> str:
        """Sell something."""
        return f"{item}, {self.till} left"

    def __call__(self, what: str) -> str:
        return f"{what}, {self.till}"


class Later:
    async def __call__(self, n: int) -> int:
        """Wait, then count."""
        return n + 1


# ---- callables


def test_a_method_is_bound_to_its_instance() -> None:
    """`@tool` inside a class makes a tool of each instance's method; two instances do not share it."""
    one, two = Shop(1), Shop(2)
    assert list(properties(one.buy)) == ["item", "n"]
    assert one.buy.call_json_sync('{"item": "nut"}').data == "1 nut, 1 left"
    assert two.buy.call_json_sync('{"item": "nut"}').data == "1 nut, 2 left"
    assert one.buy("nut", 3) == "3 nut, 1 left"


def test_a_method_without_its_instance_is_refused() -> None:
    """A model cannot send `self`, and the way out is named as soon as the tool is offered."""
    offers: list[Callable[[], object]] = [
        lambda: Shop.buy.spec,
        lambda: ToolRegistry([Shop.buy]),
        lambda: Agent("openai:gpt-6-astra", tools=[Shop(1).buy, Shop.buy]),
    ]
    for offer in offers:
        with pytest.raises(DefinitionError, match=r"is a method of Shop.*from an instance: Shop\(\.\.\.\)\.buy"):
            offer()
    assert ToolRegistry([Shop(1).buy]).has("buy")


def test_bound_class_and_static_methods() -> None:
    """Methods made into tools from outside, and from inside in either order of the decorators."""
    assert Tool(Shop(7).sell).call_json_sync('{"item": "nut"}').data == "nut, 7 left"
    shop: Any = Shop
    assert shop.open_new.call_json_sync('{"place": "Oslo"}').data == "Shop in Oslo"
    assert Tool(shop.close).call_json_sync('{"place": "Oslo"}').data == "Shop in Oslo"
    assert shop.tax.call_json_sync('{"amount": 10}').data == 2.0
    assert shop().tax(5) == 1.0


def test_a_tool_that_is_a_class_attribute_is_not_bound() -> None:
    """Only methods take `self`: a tool of a plain function stays one wherever it is kept."""

    def search(query: str) -> str:
        return query

    class Box:
        find = Tool(search)

    assert Box.find is Box().find
    assert Tool(search)("a") == "a"


def test_callable_instances_are_named_after_their_class() -> None:
    """In snake_case; their docstring is the method's or the class's, whose entries are no parameters."""
    made = Tool(Shop(3))
    assert made.name == "shop"
    assert made.description.startswith("A shop.")
    assert made.call_json_sync('{"what": "open"}').data == "open, 3"
    assert Tool(Later()).is_async
    assert Tool(Later()).description == "Wait, then count."
    assert asyncio.run(Tool(Later()).call_json('{"n": 1}')).data == 2


def test_a_partial_hides_what_it_fixes() -> None:
    """What the author has bound may be a secret: no model sees it, or can change it."""

    def send(key: str, to: str, text: str = "", *, copies: int = 1) -> list[Any]:
        """Send.

        Args:
            key: the secret key
            to: whom
        """
        return [key, to, text, copies]

    bound = functools.partial(functools.partial(send, "k1"), copies=2)
    made = Tool(bound)
    assert made.name == "send"
    assert list(properties(made)) == ["to", "text"]
    assert properties(made)["to"]["description"] == "whom"
    assert "k1" not in str(made.input_schema)
    assert received(made, '{"to": "a"}') == ["k1", "a", "", 2]
    assert "copies" in str(made.check('{"to": "a", "copies": 3}').error)


def test_a_wrapper_shows_what_it_wraps() -> None:
    """`functools.wraps` is seen through, for names, types and docs; what runs is the wrapper."""

    def twice(function: Callable[..., list[Any]]) -> Callable[..., list[Any]]:
        @functools.wraps(function)
        def inner(*args: Any, **kwargs: Any) -> list[Any]:
            return function(*args, **kwargs) * 2

        return inner

    @twice
    def listed(a: int, b: str = "x") -> list[Any]:
        """List it."""
        return [a, b]

    made = Tool(listed)
    assert (made.name, made.description) == ("listed", "List it.")
    assert received(made, '{"a": 1}') == [1, "x", 1, "x"]


def test_generators_give_their_items_as_progress_and_as_the_result() -> None:
    """Sync and async ones, on both roads: each item is reported as it comes, all together are the result."""

    def count(n: int) -> Iterator[int]:
        yield from range(n)

    async def acount(n: int) -> AsyncIterator[str]:
        for i in range(n):
            yield str(i)

    for made, items in ((Tool(count), [0, 1]), (Tool(acount), ["0", "1"])):
        told: list[Any] = []
        context = RunContext[Any](reporter=told.append)
        assert asyncio.run(made.call_json('{"n": 2}', context=context)).data == items
        assert made.call_json_sync('{"n": 2}').data == items
        assert made.takes_context is False


def test_a_generator_may_return_its_result() -> None:
    """`return x` at its end is the result, and the items were progress."""

    def search(n: int) -> Generator[str, None, dict[str, int]]:
        for i in range(n):
            yield f"looked at {i}"
        return {"found": n}

    told: list[Any] = []
    context = RunContext[Any](reporter=told.append)
    assert asyncio.run(Tool(search).call_json('{"n": 2}', context=context)).data == {"found": 2}
    assert told == ["looked at 0", "looked at 1"]


# ---- kinds of parameters


def test_every_kind_of_parameter_goes_where_python_wants_it() -> None:
    """Positional-only, *args and keyword-only; a default fills the gap before what goes by position."""

    def probe(a: int, b: int = 2, /, c: int = 3, *more: int, d: int = 4, **others: float) -> list[Any]:
        return [a, b, c, more, d, others]

    made = Tool(probe)
    assert made.input_schema["required"] == ["a"]
    assert properties(made)["more"] == {"type": "array", "items": {"type": "integer"}}
    assert received(made, '{"a": 1}') == [1, 2, 3, (), 4, {}]
    assert received(made, '{"a": 1, "c": 9}') == [1, 2, 9, (), 4, {}]
    assert received(made, '{"a": 1, "more": [7, 8]}') == [1, 2, 3, (7, 8), 4, {}]
    assert received(made, '{"a": 1, "d": 5, "others": {"x y": 1}}') == [1, 2, 3, (), 5, {"x y": 1.0}]
    assert "`others.c`" in str(made.check('{"a": 1, "others": {"c": 1}}').error)


class Options(TypedDict, total=False):
    query: Required[Annotated[str, "what to look for"]]
    limit: int


def test_unpacked_keywords_are_parameters() -> None:
    """`**kw: Unpack[TypedDict]` offers the keys of the TypedDict side by side with the others."""

    def probe(a: int, **kw: Unpack[Options]) -> Any:
        return a, kw

    made = Tool(probe)
    assert made.input_schema["required"] == ["a", "query"]
    assert properties(made)["query"]["description"] == "what to look for"
    assert received(made, '{"a": 1, "query": "q"}') == (1, {"query": "q"})


def test_the_docstring_may_describe_the_keys_of_kwargs() -> None:
    """They are no parameters, and are told where they may be given."""

    def probe(a: int, **options: int) -> None:
        """Do it.

        Args:
            a: one

        Keyword Args:
            depth: how deep
            width: how wide
        """

    assert properties(Tool(probe))["options"]["description"] == "depth: how deep\nwidth: how wide"


def test_unpacked_tuples_are_fixed_arrays() -> None:
    """`*args: *tuple[int, str]` takes exactly those."""

    def probe(*args: *tuple[int, str]) -> Any:
        return args

    assert received(Tool(probe), '{"args": [1, "a"]}') == (1, "a")
    assert Tool(probe).check('{"args": [1]}').error


def test_the_context_is_handed_in_wherever_it_stands() -> None:
    """In any position and spelling it is hidden from the model; without a run it is empty, or left to its default."""
    context = RunContext(deps="d")

    def first(ctx: RunContext[str], n: int) -> Any:
        return ctx, n

    def middle(a: int, /, ctx: RunContext, *rest: int) -> Any:
        return a, ctx, rest

    def last(n: int, *, ctx: RunContext[str] | None = None) -> Any:
        return ctx, n

    def annotated(n: int, ctx: Annotated[RunContext[str], "the run"]) -> Any:
        return ctx, n

    functions: list[Callable[..., Any]] = [first, middle, last, annotated]
    for function in functions:
        made = Tool(function)
        assert made.takes_context
        assert "ctx" not in properties(made)
    assert Tool(first).invoke({"n": 1}, context) == (context, 1)
    assert Tool(middle).invoke({"a": 1, "rest": [2]}, context) == (1, context, (2,))
    assert Tool(last).invoke({"n": 1}, context) == (context, 1)
    assert Tool(last).invoke({"n": 1}, None) == (None, 1)
    assert Tool(first).invoke({"n": 1}, None)[0].deps is None


# ---- names in annotations


def test_names_that_only_type_checkers_import_are_found() -> None:
    """The module's `if TYPE_CHECKING:` imports say where; what comes back need not be found at all."""
    made = Tool(MODULE.dated)
    assert properties(made)["day"] == {"type": "string", "format": "date"}
    day, amount = received(made, '{"day": "2026-01-02", "amount": "1.10"}')
    assert (day.year, str(amount)) == (2026, "1.10")


def test_the_context_is_known_without_its_deps() -> None:
    """`RunContext[Secret]` is injected even where `Secret` cannot be imported."""
    made = Tool(MODULE.with_deps)
    assert list(properties(made)) == ["n"]
    assert made.invoke({"n": 1}, RunContext(deps="d")) == (1, "d")


def test_types_of_the_decorating_frame_are_found() -> None:
    """A class that is local to the function in which the tool is made."""
    assert received(make_local(), '{"local": {"size": 3}, "many": []}').size == 3


def test_types_that_come_further_down_are_waited_for() -> None:
    """The tool is made before the class that it names; it is read when it is first used."""
    assert received(EARLY, '{"box": {"width": 1}}') == Box(1.0)


def test_names_that_cannot_be_found_are_named() -> None:
    """Each with its place, its reason and the way out, all at once."""
    with pytest.raises(DefinitionError) as caught:
        Tool(MODULE.framed)
    frame, ghost = caught.value.problems
    assert "future_functions.py:28: parameter 'frame'" in frame
    assert "'a_package_that_is_not_installed'" in frame
    assert "outside of `if TYPE_CHECKING:`" in frame
    assert "'Phantom' cannot be found" in ghost
    with pytest.raises(DefinitionError, match="'Hidden' cannot be found"):
        Tool(hidden())


@pytest.mark.skipif(sys.version_info < (3, 12), reason="PEP 695 came with Python 3.12")
def test_type_parameters_and_aliases() -> None:
    """`type X = ...`, recursive ones too, and `def f[T: int](...)`."""
    namespace: dict[str, Any] = {}
    exec(
        "type Words = list[str]\n"
        "type Nested = int | list[Nested]\n"
        "def probe[T: int](words: Words, deep: Nested, n: T) -> object:\n"
        "    return words, deep, n\n",
        namespace,
    )
    made = Tool(namespace["probe"])
    assert received(made, '{"words": ["a"], "deep": [1, [2]], "n": 3}') == (["a"], [1, [2]], 3)
    assert made.check('{"words": ["a"], "deep": ["x"], "n": 3}').error
    assert made.check('{"words": ["a"], "deep": 1, "n": "x"}').error


# ---- defaults


@dataclasses.dataclass
class Point:
    x: int = 0


def test_defaults_are_shown_as_json_has_them_and_applied_by_python() -> None:
    """An absent argument stays absent; what JSON cannot say is said in words, without an address."""
    import datetime as dt
    import enum
    import pathlib

    class Colour(enum.Enum):
        RED = "red"

    marker = object()

    def probe(
        n: int = 7,
        name: str | None = None,
        implicit: int = None,  # type: ignore[assignment] # noqa: RUF013
        colour: Colour = Colour.RED,
        day: dt.date = dt.date(2026, 1, 2),
        where: pathlib.Path = pathlib.Path("a"),
        tags: list[str] = [],  # noqa: B006
        point: Point = Point(1),  # noqa: B008
        cap: Annotated[float, "at most"] = float("inf"),
        odd: Any = marker,
        key: Annotated[int, Field(default=3)] = 4,
    ) -> Any:
        return n, tags, odd, key

    made = Tool(probe)
    shown = {n: p.get("default", "none") for n, p in properties(made).items()}
    assert shown == {
        "n": 7,
        "name": None,
        "implicit": "none",
        "colour": "red",
        "day": "2026-01-02",
        "where": "a",
        "tags": [],
        "point": {"x": 1},
        "cap": "none",
        "odd": "none",
        "key": 4,
    }
    assert properties(made)["cap"]["description"] == "at most. Default: infinity."
    assert properties(made)["odd"]["description"] == "Default: chosen by the tool."
    assert "required" not in made.input_schema
    assert received(made, "{}") == (7, [], marker, 4)


def test_a_field_as_default() -> None:
    """`x: int = Field(5, ge=1)`: its bounds are the parameter's, its default is applied, also one made anew."""

    def probe(
        q: str = Field(description="the question"),
        top: int = Field(5, ge=1),
        tags: list[str] = Field(default_factory=list),  # noqa: B008
        alias: int = Field(1, alias="with-dash"),
    ) -> Any:
        return q, top, tags, alias

    made = Tool(probe)
    assert made.input_schema["required"] == ["q"]
    assert properties(made)["top"] == {"type": "integer", "minimum": 1, "default": 5}
    assert received(made, '{"q": "a"}') == ("a", 5, [], 1)
    assert received(made, '{"q": "a", "with-dash": 2}') == ("a", 5, [], 2)
    assert made.check('{"q": "a", "top": 0}').error


def test_a_literal_keeps_its_types() -> None:
    """1, 1.0 and true are three things to a function, and two to JSON."""

    def probe(x: Literal["auto", 0, True]) -> Any:
        return x

    made = Tool(probe)
    assert received(made, '{"x": true}') is True
    assert received(made, '{"x": 0.0}') == 0
    assert type(received(made, '{"x": 0.0}')) is int
    assert made.check('{"x": false}').error
    assert made.check('{"x": 1}').error
