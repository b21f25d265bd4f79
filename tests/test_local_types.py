"""Types that are made where the tool is made may name each other, as they may for Python and pydantic."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import local_functions as local
import pytest
from quoted_functions import quoted

from toolsmith import DefinitionError, Tool

MADE = (
    local.dataclass_before,
    local.dataclass_after,
    local.named_tuple,
    local.typed_dict,
    local.spread,
    local.model_before,
    local.model_after,
    quoted,
)


@pytest.mark.parametrize("make", MADE, ids=lambda f: f.__name__)
def test_local_types_name_each_other(make: Callable[[], Tool[..., Any]]) -> None:
    """Names inside of local types are those of the frame, whichever of the two types was made first."""
    made = make()
    result = made.call_json_sync('{"x": {"inner": {"size": 2}}}')
    assert result.success, result.error
    data: Any = result.data
    assert data["inner"]["size"] == 2
    assert not made.call_json_sync('{"x": {"inner": {"size": "two"}}}').success


def test_a_local_name_comes_before_a_global_one() -> None:
    """As for Python: the class of the function's own scope is meant."""
    assert local.shadowed().call_json_sync('{"x": {"size": 2}}').data == {"size": 2}


@pytest.mark.parametrize("make", [local.shadowed_in_a_dataclass, local.shadowed_in_a_typed_dict])
def test_a_local_name_comes_before_a_global_one_in_fields_too(make: Callable[[], Tool[..., Any]]) -> None:
    """pydantic itself would take the global class of that name."""
    result = make().call_json_sync('{"x": {"inner": {"size": 2}, "others": [{"size": 3}]}}')
    assert result.data == {"inner": {"size": 2}, "others": [{"size": 3}]}, result.error


def test_a_name_that_is_nowhere_is_told_with_its_place() -> None:
    """The missing name, the line and the way out; none of our own classes."""
    with pytest.raises(DefinitionError) as caught:
        local.alone()
    text = str(caught.value)
    line = local.alone.__code__.co_firstlineno + 5
    assert f"local_functions.py:{line}: parameter 'x'" in text
    assert "'Absent' cannot be found" in text
    assert "before the tool is made" in text
    assert "toolsmith._" not in text
    assert "TypeAdapter" not in text


@pytest.mark.parametrize(
    "call",
    [
        local.Owner().bound,
        local.Owner().aliased,
        local.Owner.of_class,
        local.Owner(),
        local.Heir().bound,
        local.Heir(),
        local.local_owner(),
        functools.partial(local.Heir().bound),
    ],
)
def test_a_class_inside_of_the_methods_own_class_is_found(call: Any) -> None:
    """An annotation of a method may name what its class holds."""
    result = Tool(call, name="take").call_json_sync('{"x": {"size": 3}}')
    assert result.data == {"size": 3}, result.error
