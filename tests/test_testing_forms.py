"""`call(...)` is written as a model writes it: under the names that the service takes, and in its strict form."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict, Field
from wire import APIS

from toolsmith import Agent, Tool
from toolsmith.testing import Api, Call, ScriptedModel, call, raw_call, say

GOT: list[Any] = []


class Box(BaseModel):
    width: int = Field(alias="größe im kasten")


class Labels(BaseModel):
    """A closed part, and more members of one type."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, int] = Field(init=False)  # pyright: ignore[reportIncompatibleVariableOverride]
    a: int


class Boxes(BaseModel):
    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, Box] = Field(init=False)  # pyright: ignore[reportIncompatibleVariableOverride]
    named: str


def größer(größe: int, kästen: list[Box] = [], labels: Labels | None = None) -> str:  # noqa: B006 - it is only read
    """Take.

    Args:
        größe: How large, in cm.
    """
    GOT.append((größe, [b.width for b in kästen], labels))
    return "taken"


def labelled(labels: Labels, boxes: Boxes | None = None) -> str:
    """Take."""
    GOT.append((labels, boxes))
    return "taken"


OPEN = {
    "type": "object",
    "properties": {"named": {"type": "string"}},
    "required": ["named"],
    "additionalProperties": {"type": "object", "properties": {"größe": {"type": "integer"}}, "required": ["größe"]},
}


def ran(
    api: Api, function: Any, asked: Call, *, strict: bool, tool: Tool[..., Any] | None = None
) -> tuple[Any, dict[str, Any]]:
    """What the function got, and the arguments as they went over the wire."""
    GOT.clear()
    model = ScriptedModel([asked, say("done")])
    tool = tool or Tool(function, name=asked.name, strict=strict)
    result = Agent(model.provider(api), tools=[tool]).run_sync("go")
    assert result.tool_calls[0].result.error is None
    model.assert_exhausted()
    return GOT[0], json.loads(result.tool_calls[0].call.arguments)


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("api", APIS)
def test_names_that_claude_does_not_take(api: Api, strict: bool) -> None:
    """The model only knows the names in its schema: Claude's for Claude, on the top in both modes, below in strict."""
    asked = call("grow", {"größe": 3, "kästen": [{"größe im kasten": 4}]})
    got, sent = ran(api, größer, asked, strict=strict)
    assert got == (3, [4], None)
    claude = api == "anthropic"
    assert sent["groe" if claude else "größe"] == 3
    (box,) = sent["kasten" if claude else "kästen"]
    assert box == {"groe_im_kasten" if claude and strict else "größe im kasten": 4}


@pytest.mark.parametrize("api", APIS)
def test_a_script_may_use_the_names_on_the_wire(api: Api) -> None:
    """Who has looked into the request can write what stands there."""
    name = "groe" if api == "anthropic" else "größe"
    for strict in (True, False):
        assert ran(api, größer, call("grow", {name: 3}), strict=strict)[0] == (3, [], None)


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("more", [{}, {"b": 2}, {"b": 2, "additional": 3}], ids=len)
def test_typed_extras(api: Api, strict: bool, more: dict[str, int]) -> None:
    """Members that a model does not declare are a list of pairs in strict mode, an empty one for none."""
    got, sent = ran(api, labelled, call("label", labels={"a": 1, **more}), strict=strict)
    assert got == (Labels.model_validate({"a": 1, **more}), None)
    pairs = [{"key": key, "value": value} for key, value in more.items()]
    assert sent["labels"] == ({"a": 1, "additional": pairs} if strict else {"a": 1, **more})


@pytest.mark.parametrize("api", APIS)
def test_extras_in_the_form_on_the_wire(api: Api) -> None:
    """As for names, a script may write the pairs itself."""
    asked = call("label", labels={"a": 1, "additional": [{"key": "b", "value": 2}]})
    assert ran(api, labelled, asked, strict=True)[0] == (Labels.model_validate({"a": 1, "b": 2}), None)


@pytest.mark.parametrize("api", APIS)
def test_extras_whose_values_have_a_form_of_their_own(api: Api) -> None:
    """Names and pairs also within the extras, and in a union."""
    boxes = {"named": "n", "one": {"größe im kasten": 5}}
    got, sent = ran(api, labelled, call("label", labels={"a": 1}, boxes=boxes), strict=True)
    assert got[1].__pydantic_extra__["one"].width == 5
    name = "groe_im_kasten" if api == "anthropic" else "größe im kasten"
    assert sent["boxes"] == {"named": "n", "additional": [{"key": "one", "value": {name: 5}}]}


@pytest.mark.parametrize("api", APIS)
def test_extras_of_the_call_itself(api: Api) -> None:
    """Of a JSON Schema from elsewhere, which may be open at its root."""

    def handler(**given: Any) -> str:
        GOT.append(given)
        return "taken"

    tool = Tool(name="open", description="Take.", parameters=OPEN, handler=handler, strict=True)
    asked = {"named": "n", "one": {"größe": 5}}
    got, sent = ran(api, handler, call("open", asked), strict=True, tool=tool)
    assert got == asked
    assert [*sent] == ["named", "additional"]


def test_what_is_written_by_hand_goes_out_as_it_is() -> None:
    """`raw_call` shows a model that errs."""
    _, sent = ran("anthropic", größer, raw_call("grow", '{"größe": 3}'), strict=True)
    assert sent == {"größe": 3}
