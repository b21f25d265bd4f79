"""Tools whose types are made inside of functions and classes, and name each other by postponed annotations."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple, NotRequired

from pydantic import BaseModel
from typing_extensions import TypedDict, Unpack

from toolsmith import Tool, tool


class Inner:
    """Not what functions mean that have an `Inner` of their own."""


def dataclass_before() -> Tool[..., Any]:
    @dataclasses.dataclass
    class Part:
        size: int

    @dataclasses.dataclass
    class Outer:
        inner: Part
        outer: Outer | None = None

    def take(x: Outer) -> Any:
        return x

    return tool(take)


def dataclass_after() -> Tool[..., Any]:
    @dataclasses.dataclass
    class Outer:
        inner: Part

    @dataclasses.dataclass
    class Part:
        size: int

    def take(x: Outer) -> Any:
        return x

    return tool(take)


def shadowed() -> Tool[..., Any]:
    @dataclasses.dataclass
    class Inner:
        size: int

    def take(x: Inner) -> Any:
        return x

    return tool(take)


def shadowed_in_a_dataclass() -> Tool[..., Any]:
    @dataclasses.dataclass
    class Inner:
        size: int

    @dataclasses.dataclass
    class Outer:
        inner: Inner
        others: list[Inner] = dataclasses.field(default_factory=list[Any])

    def take(x: Outer) -> Any:
        assert isinstance(x, Outer)
        assert all(isinstance(i, Inner) for i in (x.inner, *x.others))
        return x

    return tool(take)


def shadowed_in_a_typed_dict() -> Tool[..., Any]:
    @dataclasses.dataclass
    class Inner:
        size: int

    class Outer(TypedDict):
        inner: Inner
        others: NotRequired[list[Inner]]

    def take(x: Outer) -> Any:
        assert all(isinstance(i, Inner) for i in (x["inner"], *x.get("others", ())))
        return x

    return tool(take)


def named_tuple() -> Tool[..., Any]:
    class Part(NamedTuple):
        size: int

    class Outer(NamedTuple):
        inner: Part

    @tool
    def take(x: Outer) -> Any:
        return x

    return take


def typed_dict() -> Tool[..., Any]:
    class Outer(TypedDict):
        inner: Part

    class Part(TypedDict):
        size: int

    @tool
    def take(x: Outer) -> Any:
        return x

    return take


def spread() -> Tool[..., Any]:
    class Keys(TypedDict, total=False):
        x: Outer

    @dataclasses.dataclass
    class Outer:
        inner: Part

    @dataclasses.dataclass
    class Part:
        size: int

    @tool
    def take(**keys: Unpack[Keys]) -> Any:
        return keys.get("x")

    return take


def model_before() -> Tool[..., Any]:
    class Part(BaseModel):
        size: int

    class Outer(BaseModel):
        inner: Part

    @tool
    def take(x: Outer) -> Any:
        return x

    return take


def model_after() -> Tool[..., Any]:
    class Outer(BaseModel):
        inner: Part
        outer: Outer | None = None

    class Part(BaseModel):
        size: int

    @tool
    def take(x: Outer) -> Any:
        return x

    return take


def alone() -> Any:
    @dataclasses.dataclass
    class Outer:
        inner: Absent  # noqa: F821 # pyright: ignore

    def take(x: Outer) -> Any:
        return x

    return tool(take)


class Owner:
    class Model(BaseModel):
        size: int

    Alias = Model

    def bound(self, x: Model) -> Any:
        return x

    def aliased(self, x: Alias) -> Any:
        return x

    @classmethod
    def of_class(cls, x: Model) -> Any:
        return x

    def __call__(self, x: Model) -> Any:
        return x


class Heir(Owner):
    pass


def local_owner() -> Any:
    class Here:
        class Model(BaseModel):
            size: int

        def bound(self, x: Model) -> Any:
            return x

    return Here().bound
