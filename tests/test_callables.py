"""Callables of every sort: called as they can be, named as their author would, refused with the way out."""

from __future__ import annotations

import dataclasses
import enum
import functools
import typing
from typing import Annotated, Any, Literal, LiteralString, cast

import pytest
from pydantic import AliasChoices, AliasPath, BaseModel, BeforeValidator, Field

from toolsmith import DefinitionError, Tool, tool


class TakeNote:
    """Take notes."""

    def __call__(self, text: str) -> str:
        return text


class Ledger:
    def __init__(self, owner: str) -> None:
        self.owner = owner

    def total(self) -> int:
        return 0


@dataclasses.dataclass
class Point:
    x: int


class Model(BaseModel):
    x: int


class Pair(typing.NamedTuple):
    x: int


@functools.singledispatch
def double(value: str, times: int = 2) -> str:
    return value * times


def star(*xs: Any) -> Any:
    return xs


# What `*xs: *tuple[int, str]` gives where it is not postponed.
star.__annotations__["xs"] = next(iter(cast("Any", tuple[int, str])))


def test_single_dispatch_is_called_by_position() -> None:
    """It chooses by the first positional argument."""
    assert tool(double).call_json_sync('{"value": "a", "times": 3}').data == "aaa"
    part: Any = functools.partial(double, times=4)
    assert Tool(part).call_json_sync('{"value": "a"}').data == "aaaa"


class Doubler:
    def __init__(self, suffix: str) -> None:
        self.suffix = suffix

    @functools.singledispatchmethod
    def double(self, value: str, times: int = 2) -> str:
        """Repeat it."""
        return value * times + self.suffix


def test_a_single_dispatch_method_is_taken_from_an_instance() -> None:
    """Its own signature still has `self`, and it chooses by the first positional argument too."""
    made: Tool[..., Any] = Tool(Doubler("!").double)
    assert list(made.input_schema["properties"]) == ["value", "times"]
    assert made.call_json_sync('{"value": "a", "times": 3}').data == "aaa!"


def test_a_call_method_is_named_like_its_instance() -> None:
    """However it is reached."""
    note = TakeNote()
    for call in (note, note.__call__, functools.partial(note.__call__)):
        made: Tool[..., Any] = Tool(call)
        assert made.name == "take_note"
        assert made.description == "Take notes."
        assert made.call_json_sync('{"text": "a"}').data == "a"


@pytest.mark.parametrize("cls", [Point, Model, Pair])
def test_a_class_of_data_is_a_tool(cls: Any) -> None:
    """What it makes can be shown."""
    assert tool(cls).call_json_sync('{"x": 1}').data == {"x": 1}


@pytest.mark.parametrize(
    ("cls", "way"), [(Ledger, r"tool(Ledger(...).method)"), (TakeNote, "tool(TakeNote(...))")], ids=str
)
def test_a_class_of_anything_else_is_refused(cls: Any, way: str) -> None:
    """At once, not after it has run."""
    for call in (cls, functools.partial(cls)):
        with pytest.raises(DefinitionError) as caught:
            tool(call)
        assert f"the class {cls.__name__} cannot be a tool" in str(caught.value)
        assert way in str(caught.value)


def test_unpacked_tuples() -> None:
    """A fixed one is a fixed array; an open one in a tuple is refused for what it is."""
    assert Tool(star).call_json_sync('{"xs": [1, "a"]}').data == [1, "a"]
    assert not Tool(star).call_json_sync('{"xs": [1]}').success

    def inner(x: tuple[int, *tuple[str, ...]]) -> None: ...
    def outer(*xs: *tuple[int, *tuple[str, ...]]) -> None: ...

    functions: list[Any] = [inner, outer]
    for function in functions:
        with pytest.raises(DefinitionError, match=r"tuple with another one unpacked in it\. Write tuple\[A, B\]"):
            Tool(function)


def test_literals() -> None:
    """`LiteralString` concerns type checkers only; bytes are no JSON."""

    def say(text: LiteralString, more: list[typing.LiteralString]) -> Any:
        return [text, *more]

    assert Tool(say).call_json_sync('{"text": "a", "more": ["b"]}').data == ["a", "b"]

    class Holder(BaseModel):
        tag: Literal[b"a"]

    def direct(tag: Literal[b"a", "b"]) -> None: ...
    def nested(holder: Holder) -> None: ...

    with pytest.raises(DefinitionError, match=r"test_callables\.py:\d+: .*'tag'.* has no bytes.* encode\(\)"):
        Tool(direct)
    with pytest.raises(DefinitionError, match=r"test_callables\.py:\d+: .*bytes in a Literal"):
        Tool(nested)


class Plain(enum.Enum):
    A = "a"
    B = "b"


class Text(enum.StrEnum):
    A = "a"


class OfPlain(BaseModel):
    tag: Literal[Plain.A]


class OtherPlain(BaseModel):
    tag: Literal[Plain.B]


class OfText(BaseModel):
    tag: Literal[Text.A]


class Mended(BaseModel):
    tag: Annotated[Literal[Plain.A], BeforeValidator(Plain)]


@dataclasses.dataclass
class PlainData:
    tag: Literal[Plain.A]


def test_a_member_of_a_plain_enum_in_the_literal_of_a_field_is_refused() -> None:
    """pydantic takes no JSON for it there: the model would be told to send what is then refused."""

    def of_model(x: list[OfPlain]) -> None: ...
    def of_data(x: PlainData) -> None: ...
    def direct(x: Literal[Plain.A]) -> str:
        return str(x)

    def of_text(x: OfText) -> str:
        return x.tag.value

    def of_mended(x: Mended) -> str:
        return str(x.tag)

    words = r"test_callables\.py:\d+: .*Plain\.A in the Literal of a field .*from str"

    def of_union(x: OfPlain | int) -> None: ...
    def of_tagged(x: Annotated[OfPlain | OtherPlain, Field(discriminator="tag")]) -> None: ...

    functions: list[Any] = [of_model, of_data, of_union, of_tagged]
    for function in functions:
        with pytest.raises(DefinitionError, match=words):
            Tool(function)
    assert Tool(direct).call_json_sync('{"x": "a"}').data == "Plain.A"
    assert Tool(of_text).call_json_sync('{"x": {"tag": "a"}}').data == "a"
    assert Tool(of_mended).call_json_sync('{"x": {"tag": "a"}}').data == "Plain.A"


class Colour(enum.Enum):
    RED = "r"
    ROUGE = "r"  # noqa: PIE796 (an alias)
    BLUE = "b"


def test_an_alias_in_an_enum_is_no_further_value() -> None:
    """Neither in the schema nor in what a model is told of it."""

    def paint(colour: Colour) -> str:
        return colour.name

    made = Tool(paint)
    assert made.input_schema["properties"]["colour"]["enum"] == ["r", "b"]
    assert made.call_json_sync('{"colour": "r"}').data == "RED"
    assert '`colour` must be "r" or "b"' in str(made.call_json_sync('{"colour": "x"}').error)


class Deep(BaseModel):
    p: int = Field(validation_alias=AliasPath("a", "b"))


class Flat(BaseModel):
    p: int = Field(validation_alias=AliasChoices("q", AliasPath("a", "b")))


def test_what_no_name_of_an_argument_can_say_is_refused() -> None:
    """The schema would ask for one thing, and the validator for another."""

    def by_path(x: Deep) -> None: ...
    def by_tuple(x: dict[tuple[int, int], str]) -> None: ...
    def by_none(x: dict[None, str]) -> None: ...
    def by_choice(x: Flat) -> int:
        return x.p

    refused: list[tuple[Any, str]] = [
        (by_path, r"a field that is read from a path, a\.b"),
        (by_tuple, "tuple as the key of an object"),
        (by_none, "none as the key of an object"),
    ]
    for function, words in refused:
        with pytest.raises(DefinitionError, match=rf"test_callables\.py:\d+: .*{words}"):
            Tool(function)
    assert Tool(by_choice).call_json_sync('{"x": {"q": 1}}').data == 1
