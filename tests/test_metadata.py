"""Where pydantic's reading of types and metadata differs from that of JSON: the schema and the check agree."""

from __future__ import annotations

import enum

import pytest
from pydantic.json_schema import SkipJsonSchema

from toolsmith import DefinitionError, tool


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
