"""Where pydantic's reading of types and metadata differs from that of JSON: the schema and the check agree."""

from __future__ import annotations

import enum
import json
from typing import Annotated, Any, Literal

import pytest
from jsonschema import Draft202012Validator
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.json_schema import SkipJsonSchema, WithJsonSchema

from toolsmith import DefinitionError, Tool, tool
from toolsmith.errors import DefinitionWarning


class Rate(enum.Enum):
    HALF = 0.5
    ONE = 1.0


def test_a_number_of_an_enum_may_be_written_with_a_point_or_without() -> None:
    """JSON knows one 1: a server in JavaScript writes 1.0 as 1. true is no number."""

    @tool
    def play(rate: Rate) -> str:
        return rate.name

    assert play.call_json_sync('{"rate": 1}').data == play.call_json_sync('{"rate": 1.0}').data == "ONE"
    assert play.call_json_sync('{"rate": true}').error is not None
    assert play.call_json_sync('{"rate": 2}').error is not None
    assert play.call_json_sync('{"rate": 1' + "0" * 400 + "}").error is not None


def test_a_parameter_hidden_by_skip_json_schema_is_refused_in_clear_words() -> None:
    """A parameter that no model can know of is handed in another way."""

    def save(text: str, owner: SkipJsonSchema[int]) -> None: ...

    with pytest.raises(DefinitionError, match=r"parameter 'owner' .* SkipJsonSchema hides .* RunContext"):
        tool(save)


class Both(BaseModel):
    model_config = ConfigDict(json_schema_extra={"minProperties": 2})
    first: Annotated[int, Field(json_schema_extra={"maximum": 3})] = 1
    second: Annotated[int, WithJsonSchema({"type": "integer", "minimum": 3})] = 3


def taking(annotation: Any) -> Tool[..., Any]:
    """A tool with one parameter `x` of this type, and others that are not named."""

    def probe(x: Any, **more: int) -> str:
        return repr(x)

    probe.__annotations__["x"] = annotation
    return Tool(probe)


@pytest.mark.parametrize(
    ("annotation", "fits", "fails", "told"),
    [
        (Annotated[str, Field(json_schema_extra={"enum": ["a"]})], "a", "b", '`x` must be "a"; you sent "b"'),
        (list[Annotated[str, Field(json_schema_extra={"maxLength": 1})]], ["a"], ["bb"], "at most 1 character"),
        (Annotated[int, BeforeValidator(int), WithJsonSchema({"type": "string"})], "1", 1, "`x` must be a string"),
        (Both, {"first": 1, "second": 3}, {"first": 4, "second": 3}, "`x.first` must be a whole number of at most 3"),
        (Both, {"first": 1, "second": 3}, {"first": 1, "second": 2}, "`x.second` must be a whole number of at least 3"),
        (Both, {"first": 1, "second": 3}, {"first": 1}, "`first` and `second` (at least 2 members)"),
    ],
)
def test_what_an_author_puts_into_the_schema_is_held(annotation: Any, fits: Any, fails: Any, told: str) -> None:
    """The model was shown it, whether the type knows of it or not."""
    made = taking(annotation)
    judge: Any = Draft202012Validator(made.input_schema)
    assert made.call_json_sync(json.dumps({"x": fits, "more": {"other": 1}})).error is None
    assert judge.is_valid({"x": fits})
    error = made.call_json_sync(json.dumps({"x": fails})).error
    assert error is not None
    assert told in error
    assert not judge.is_valid({"x": fails})


@pytest.mark.parametrize(
    "annotation",
    [
        Annotated[int, WithJsonSchema({"type": "string"})],
        Annotated[int | None, Field(json_schema_extra={"enum": ["a", "b"]})],
        Annotated[Literal["a", "c"], Field(json_schema_extra={"enum": ["b"]})],
    ],
)
def test_a_schema_that_the_type_contradicts_is_a_warning(annotation: Any) -> None:
    """No call could ever succeed."""
    with pytest.warns(DefinitionWarning, match=r"parameter 'x' .* asks for what its type refuses") as caught:
        taking(annotation)
    assert caught[0].filename == __file__


@pytest.mark.parametrize("extra", [{"examples": [3]}, {"title": "N", "x-unit": "km"}, {"deprecated": True}])
def test_keywords_that_ask_nothing_cost_nothing(extra: dict[str, Any]) -> None:
    """Only what asks something of a value is judged by the schema."""
    made = taking(Annotated[int, Field(json_schema_extra=extra)])
    assert extra.items() <= {"title": "N", **made.input_schema["properties"]["x"]}.items()
    assert made.call_json_sync('{"x": 3}').data == "3"


def test_keywords_that_are_no_json_schema_are_refused() -> None:
    """No service takes such a tool, and nobody could judge by it."""
    with pytest.raises(DefinitionError, match=r"parameter 'x' .* no JSON Schema .* at required"):
        taking(Annotated[int, Field(json_schema_extra={"required": True})])
