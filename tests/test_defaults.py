"""A default that its own annotation does not take is told to the author, who wrote one of the two by mistake."""

from __future__ import annotations

import enum
import inspect
import timeit
import warnings
from typing import Annotated, Any, Literal, cast

import pytest
from pydantic import Field

from toolsmith import Tool
from toolsmith.errors import DefinitionWarning


class Colour(enum.StrEnum):
    RED = "red"


def made(annotation: Any, default: Any) -> Tool[..., Any]:
    def probe(x: Any = default) -> Any:
        return x

    probe.__annotations__["x"] = annotation
    return Tool(probe)


@pytest.mark.parametrize(
    ("annotation", "default"),
    [
        (int, "ten"),
        (int, 5.5),
        (int, []),
        (str, 0),
        (str, False),
        (str, {}),
        (float, "0.5"),
        (bool, "yes"),
        (list, {}),
        (list[int], "1"),
        (dict[str, int], []),
        (dict, 1),
        (Literal["a", "b", None], "c"),
        (Literal[1, 2], "1"),
        (Annotated[int, Field(ge=0)], "ten"),
        (Annotated[list[str], "names"], ""),
        (Annotated[Literal["a"], "letter"], "b"),
    ],
)
def test_what_certainly_does_not_fit(annotation: Any, default: Any) -> None:
    """With the line of the parameter; the tool is made all the same, and Python's default is what it is."""
    line = inspect.getsourcelines(made)[1] + 1
    with pytest.warns(DefinitionWarning, match="Correct one") as caught:
        tool = made(annotation, default)
    [warning] = caught
    assert f"test_defaults.py:{line}: parameter 'x' of 'probe' is annotated" in str(warning.message)
    assert repr(default) in str(warning.message)
    assert (warning.filename, warning.lineno) == (__file__, line)
    assert tool.call_json_sync("{}").data == default


@pytest.mark.parametrize(
    ("annotation", "default"),
    [
        (int, 5),
        (int, True),
        (int, None),
        (str, None),
        (list[int], None),
        (float, 1),
        (bool, 0),
        (list[int], []),
        (list[int], ()),
        (dict[str, int], {}),
        (set[int], []),
        (int | None, None),
        (int | str, "a"),
        (Literal["a", "b"], "b"),
        (Literal[Colour.RED], "red"),
        (Literal["a", None], None),
        (Colour, Colour.RED),
        (str, Colour.RED),
        (Annotated[int, Field(ge=0)], 3),
        (Any, "a"),
        (object, 1),
        (int, Field(5)),
    ],
)
def test_what_fits_or_may_have_a_reason(annotation: Any, default: Any) -> None:
    """None stands for «not given» in many a function, and an empty tuple for an empty list."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made(annotation, default)


def test_a_long_default_is_shortened() -> None:
    """The warning stays a line or two."""
    with pytest.warns(DefinitionWarning) as caught:
        made(int, "ten" * 1_000)
    assert len(str(caught[0].message)) < 450


def test_it_costs_next_to_nothing() -> None:
    """A few microseconds for a tool of six parameters, also on a slow machine."""
    from toolsmith._derive.defaults import warn_of_defaults
    from toolsmith._derive.signature import read

    def probe(a: int, b: str = "", c: list[int] = [], d: int | None = None, e: float = 1, f: bool = False) -> None:  # noqa: B006
        raise AssertionError(a, b, c, d, e, f)

    reading = read(cast("Any", probe))
    assert min(timeit.repeat(lambda: warn_of_defaults(reading), number=100, repeat=20)) / 100 < 20e-6
