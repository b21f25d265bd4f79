"""Tools whose types are made inside of functions, and have the names of global ones: `Inner`, `Outer` and `date`.

`test_shaded_names` loads it twice, as it is and with all of its annotations postponed.
"""

# pyright: basic, reportInvalidTypeForm=false

import dataclasses
from datetime import date
from typing import Any, NamedTuple, Optional

import pydantic.dataclasses
from pydantic import BaseModel
from typing_extensions import TypedDict

from toolsmith import Tool, tool


class Inner(BaseModel):
    """Not what functions mean that have an `Inner` of their own."""

    everywhere: int


class Outer(NamedTuple):
    inner: Inner


def named_tuple() -> Tool[..., Any]:
    class Inner(BaseModel):
        size: int

    class Outer(NamedTuple):
        inner: Inner
        times: int = 1

    @tool
    def take(x: Outer) -> Any:
        assert isinstance(x, Outer)
        return type(x.inner) is Inner

    return take


def named_tuple_late() -> Tool[..., Any]:
    class Outer(NamedTuple):
        inner: "Inner"

    class Inner(BaseModel):
        size: int

    @tool
    def take(x: list[Outer]) -> Any:
        assert all(isinstance(one, Outer) for one in x)
        return all(type(one.inner) is Inner for one in x)

    return take


def typed_dict() -> Tool[..., Any]:
    class Inner(BaseModel):
        size: int

    class Outer(TypedDict):
        inner: Inner

    @tool
    def take(x: Outer) -> Any:
        return type(x["inner"]) is Inner

    return take


def typed_dict_of_an_alias() -> Tool[..., Any]:
    class Part(BaseModel):
        size: int

    Inner = Optional[Part]  # noqa: N806, UP045 - a name of this function that is no class

    class Outer(TypedDict):
        inner: Inner

    @tool
    def take(x: Outer) -> Any:
        return type(x["inner"]) is Part

    return take


def dataclass() -> Tool[..., Any]:
    class Inner(BaseModel):
        size: int

    @dataclasses.dataclass
    class Outer:
        inner: Inner

    @tool
    def take(x: Outer) -> Any:
        assert isinstance(x, Outer)
        return type(x.inner) is Inner

    return take


def model() -> Tool[..., Any]:
    class Inner(BaseModel):
        size: int

    class Outer(BaseModel):
        inner: Inner

    @tool
    def take(x: Outer) -> Any:
        return type(x.inner) is Inner

    return take


def one_deeper() -> Tool[..., Any]:
    class Inner(BaseModel):
        size: int

    class Outer(TypedDict):
        inner: Inner

    meant = Inner

    def make() -> Tool[..., Any]:
        class Inner(BaseModel):
            other: str

        @tool
        def take(x: Outer) -> Any:
            assert Inner is not meant
            return type(x["inner"]) is meant

        return take

    return make()


def global_named_tuple() -> Tool[..., Any]:
    everywhere = Inner_

    class Inner(BaseModel):
        other: str

    @tool
    def take(x: Outer) -> Any:
        assert Inner is not everywhere
        return type(x.inner) is everywhere

    return take


def tool_before_its_type() -> Tool[..., Any]:
    @tool
    def take(x: "Outer") -> Any:
        assert isinstance(x, Outer)
        return type(x.inner) is Inner

    class Inner(BaseModel):
        size: int

    class Outer(NamedTuple):
        inner: Inner

    assert take.input_schema
    return take


def imported_here_too() -> Tool[..., Any]:
    from datetime import date

    class Outer(TypedDict):
        inner: date

    @tool
    def take(x: Outer) -> Any:
        return type(x["inner"]) is date

    return take


# ---- what cannot be made right, and must not be silently wrong


def model_late() -> Tool[..., Any]:
    class Outer(BaseModel):
        inner: "Inner"

    class Inner(BaseModel):
        size: int

    @tool
    def take(x: Outer) -> Any:
        return x

    assert Inner
    return take


def model_late_for_a_library_class() -> Tool[..., Any]:
    class Outer(BaseModel):
        inner: "date"

    class date(BaseModel):  # noqa: N801 - named like the library's
        size: int

    @tool
    def take(x: Outer) -> Any:
        return x

    assert date
    return take


def model_of_a_named_tuple_late() -> Tool[..., Any]:
    class Pair(NamedTuple):
        inner: "Inner"

    class Outer(BaseModel):
        pair: Pair

    class Inner(BaseModel):
        size: int

    @tool
    def take(x: Outer) -> Any:
        return x

    assert Inner
    return take


def pydantic_dataclass_late() -> Tool[..., Any]:
    @pydantic.dataclasses.dataclass
    class Outer:
        inner: "Inner"

    class Inner(BaseModel):
        size: int

    @tool
    def take(x: Outer) -> Any:
        return x

    assert Inner
    return take


def _types() -> Any:
    class Inner(BaseModel):
        size: int

    class Pair(NamedTuple):
        inner: "Inner"

    class Keys(TypedDict):
        inner: "Inner"

    @dataclasses.dataclass
    class Data:
        inner: "Inner"

    class Model(BaseModel):
        inner: "Inner"
        pairs: list[Pair] = []

    def take(x: "Outer") -> Any:
        return x

    class Outer(BaseModel):
        inner: Inner

    assert Outer
    return Pair, Keys, Data, Model, take


PAIR, KEYS, DATA, MODEL, TAKE = _types()


def named_tuple_from_elsewhere() -> Tool[..., Any]:
    @tool
    def take(x: PAIR) -> Any:
        return x

    return take


def typed_dict_from_elsewhere() -> Tool[..., Any]:
    @tool
    def take(x: KEYS) -> Any:
        return x

    return take


def dataclass_from_elsewhere() -> Tool[..., Any]:
    @tool
    def take(x: DATA) -> Any:
        return x

    return take


def function_from_elsewhere() -> Tool[..., Any]:
    return Tool(TAKE)


def model_from_elsewhere() -> Tool[..., Any]:
    @tool
    def take(x: MODEL) -> Any:
        return type(x.inner).__qualname__ == "_types.<locals>.Inner"

    return take


Inner_ = Inner
