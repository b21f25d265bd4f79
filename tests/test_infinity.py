"""No infinity and no NaN reaches a function: JSON has none, and a number too large to be kept is told to the model."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, cast

import pytest
from generated_types import KINDS, Kind
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, Json, JsonValue

from toolsmith import Tool
from toolsmith.dialects import OPENAI, plan
from toolsmith.tool import Checked

SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]


class Held(BaseModel):
    d: dict[Any, Any]


def probe(annotation: Any) -> Tool[..., Any]:
    def f(x: Any) -> str:
        return repr(x)

    f.__annotations__ = {"x": annotation, "return": str}
    return Tool(f, name="f")


def numbers(value: Any) -> Iterator[float | complex | Decimal]:
    """All numbers in what a function gets, those of keys among them."""
    match value:
        case float() | complex() | Decimal():
            yield value
        case dict():
            for item in cast("dict[Any, Any]", value).items():
                yield from numbers(item)
        case list() | tuple() | set() | frozenset():
            for item in cast("list[Any]", value):
                yield from numbers(item)
        case BaseModel():
            yield from numbers(value.__dict__)
        case _ if dataclasses.is_dataclass(value):
            yield from numbers([getattr(value, f.name) for f in dataclasses.fields(value)])
        case _:
            pass


def finite(checked: Checked) -> bool:
    for number in numbers(checked.values):
        if isinstance(number, complex):
            if not (math.isfinite(number.real) and math.isfinite(number.imag)):
                return False
        elif not math.isfinite(number):
            return False
    return True


@pytest.mark.parametrize(
    ("annotation", "text"),
    [
        (dict, '{"a":1e999}'),
        (dict[str, float], '{"a":1e999}'),
        (dict[str, Any], '{"a":{"b":[-1e999]}}'),
        (dict[str, list[float]], '{"a":[1e999]}'),
        (Held, '{"d":{"a":1e999}}'),
        (dict[str, Held], '{"a":{"d":{"a":1e999}}}'),
        (float, "1" * 250 + "e99"),
        (float, "-" + "1" * 310),
        (Json[dict[str, float]], r'"{\"a\":1e999}"'),
        (Json[Any], '"[NaN]"'),
        (dict[float, int], '{"1e999":1}'),
        (dict[complex, int], '{"nan":1}'),
        (complex, '"inf+nanj"'),
        (Decimal, '"Infinity"'),
        (JsonValue, '{"a":1e999}'),
        (object, '{"a":1e999}'),
    ],
)
def test_every_place(annotation: Any, text: str) -> None:
    """Wherever a number may stand, in mappings above all."""
    assert probe(annotation).check(f'{{"x":{text}}}').error is not None


def test_what_is_finite_still_passes() -> None:
    """The look for infinities costs no honest value."""
    for annotation, text, value in [
        (Json[dict[str, float]], r'"{\"a\":1e30}"', {"a": 1e30}),
        (complex, '"1+2j"', 1 + 2j),
        (complex, '"-2.5e3j"', -2500j),
        (dict[float, int], '{"1e30":1}', {1e30: 1}),
        (dict[str, float], '{"a":1e300}', {"a": 1e300}),
        (float, "1" * 250, float("1" * 250)),
        (int, "1" * 400, int("1" * 400)),
        (int | float, "1" * 400, int("1" * 400)),
        (dict[str, Any], '{"a":' + "1" * 400 + "}", {"a": int("1" * 400)}),
    ]:
        checked = probe(annotation).check(f'{{"x":{text}}}')
        assert checked.error is None
        assert checked.values == {"x": value}


def test_the_pairs_of_a_strict_mode() -> None:
    """A mapping that is sent as a list of pairs is looked through as well."""
    made = probe(dict[str, float])
    (offered,) = plan([(made.spec, None)], OPENAI)
    assert offered.strict
    assert "too large" in (made.check('{"x":[{"key":"","value":1e999}]}', offered).error or "")


@settings(max_examples=120, deadline=None, database=None, derandomize=True, suppress_health_check=SLOW)
@given(drawn=KINDS, data=st.data())
def test_no_generated_annotation_lets_one_through(drawn: Kind, data: st.DataObject) -> None:
    """The law, over types as signatures have them: any number of a fitting value may have become too large."""
    huge = data.draw(st.sampled_from(["1e999", "-1e400", "9" * 400, "1" * 250 + "e99"]))
    value = data.draw(drawn.values)
    text = json.dumps({"x": _swollen(data.draw, value)}).replace('"@HUGE@"', huge)
    assert finite(probe(drawn.annotation).check(text))


def _swollen(draw: Any, value: Any) -> Any:
    """A value with some of its numbers made huge."""
    match value:
        case dict():
            return {k: _swollen(draw, v) for k, v in cast("dict[str, Any]", value).items()}
        case list():
            return [_swollen(draw, v) for v in cast("list[Any]", value)]
        case bool():
            return value
        case int() | float():
            return draw(st.sampled_from(["@HUGE@", value]))
        case _:
            return value
