"""Classes that hold more of themselves, of every kind that is made from a plain object."""

from __future__ import annotations

import json
import typing
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Any, NamedTuple

import attrs
import msgspec
import pytest
import typing_extensions

from toolsmith import Agent, Tool, tool
from toolsmith.testing import ScriptedModel, call, say


@dataclass
class Folder:
    """A folder, and what is in it."""

    name: str
    folders: list[Folder] = field(default_factory=list["Folder"])
    size: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self.size = len(self.name) + sum(one.size for one in self.folders)


@attrs.define
class Branch:
    name: str
    left: Branch | None = None
    right: Branch | None = None


class Part(msgspec.Struct):
    name: str
    parts: dict[str, Part] = msgspec.field(default_factory=dict[str, "Part"])


@attrs.define
class Team:
    name: str
    members: list[Member] = attrs.field(factory=list["Member"])


@dataclass
class Member:
    name: str
    leads: Team | None = None


class Line(typing.TypedDict):
    name: str
    answers: typing_extensions.NotRequired[list[Line]]


class Link(NamedTuple):
    name: str
    weight: Branch
    next: Link | None = None


def folder(one: Folder) -> int:
    return one.size


def branch(one: Branch) -> str:
    return one.right.name if one.right else one.name


def part(one: Part) -> int:
    return sum(len(inner.parts) for inner in one.parts.values())


def team(one: Team) -> str:
    led = one.members[0].leads
    assert isinstance(one.members[0], Member)
    return led.members[0].name if led else ""


def member(one: Member) -> str:
    return one.leads.members[0].name if one.leads else ""


def line(one: Line) -> int:
    [inner] = one.get("answers", [])
    return len(inner.get("answers", []))


def link(one: Link) -> str:
    assert isinstance(one.weight, Branch)
    return one.next.weight.name if one.next else ""


CASES: list[tuple[Callable[..., Any], Any, Any]] = [
    (folder, {"name": "a", "folders": [{"name": "bc"}, {"name": "d", "folders": [{"name": "e"}]}]}, 5),
    (branch, {"name": "a", "right": {"name": "b", "left": {"name": "c"}}}, "b"),
    (part, {"name": "a", "parts": {"x": {"name": "b", "parts": {"y": {"name": "c"}}}}}, 1),
    (team, {"name": "a", "members": [{"name": "b", "leads": {"name": "c", "members": [{"name": "d"}]}}]}, "d"),
    (member, {"name": "a", "leads": {"name": "b", "members": [{"name": "c"}]}}, "c"),
    (line, {"name": "a", "answers": [{"name": "b", "answers": [{"name": "c"}]}]}, 1),
    (link, {"name": "a", "weight": {"name": "b"}, "next": {"name": "c", "weight": {"name": "d"}}}, "d"),
]


@pytest.mark.parametrize(("function", "sent", "given"), CASES, ids=[case[0].__name__ for case in CASES])
def test_a_class_may_hold_more_of_itself(function: Callable[..., Any], sent: Any, given: Any) -> None:
    """The function gets objects of the class, all the way down."""
    result = Tool(function).call_json_sync(json.dumps({"one": sent}))
    assert (result.error, result.data) == (None, given)


@pytest.mark.parametrize("function", [case[0] for case in CASES], ids=[case[0].__name__ for case in CASES])
@pytest.mark.parametrize("api", ["openai", "openai-chat", "anthropic"])
def test_each_service_can_be_told_of_it(function: Callable[..., Any], api: Any) -> None:
    """Strict or not; and what a model sends in that form is read."""
    sent = next(sent for f, sent, _ in CASES if f is function)
    given = next(given for f, _, given in CASES if f is function)
    name = function.__name__
    model = ScriptedModel([call(name, one=sent), say("done")])
    ended = Agent(model.provider(api), tools=[function]).run_sync("go")
    assert ended.tool_calls[0].result.data == given


def test_what_is_wrong_deep_inside_has_its_place() -> None:
    """As anywhere else; and a field that the class makes itself is no argument."""
    shown = Tool(folder).input_schema
    described = shown["$defs"]["Folder"]
    assert set(described["properties"]) == {"name", "folders"}
    assert described["description"] == "A folder, and what is in it."
    said = (
        Tool(folder).call_json_sync('{"one": {"name": "a", "folders": [{"name": "b", "size": 3}, {"name": 1}]}}').error
    )
    assert said is not None
    assert "`one.folders[0].size` is not accepted" in said
    assert "`one.folders[1].name`" in said


def test_a_local_class_too() -> None:
    """Its name is found though it is nobody else's, and what it makes itself is its own."""

    def made(start: int) -> Tool[..., Any]:
        @dataclass
        class Shelf:
            inner: Annotated[Shelf | None, "the next one"] = None
            number: int = field(init=False, default=0)

            def __post_init__(self) -> None:
                self.number = start

        @tool(name=f"count_{start}")
        def count(one: Shelf, other: list[Branch]) -> int:
            return one.number + (one.inner.number if one.inner else 0)

        return count

    assert made(1).call_json_sync('{"one": {"inner": {}}, "other": []}').data == 2
    assert made(10).call_json_sync('{"one": {"inner": {}}, "other": [{"name": "a"}]}').data == 20
