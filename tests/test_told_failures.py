"""What a model is told of failures that are easily told badly: decimals, groups of errors, errors without words."""

from __future__ import annotations

import asyncio
from decimal import Decimal
from typing import Annotated, Any

import pytest
from pydantic import Field, Json

from toolsmith import Tool, ToolError, ToolRegistry
from toolsmith._feedback import FEEDBACK
from toolsmith.errors import DefinitionError

Price = Annotated[Decimal, Field(max_digits=5, decimal_places=2, gt=0, le=1000)]


def told(annotation: Any, sent: str) -> str:
    def f(x: Any) -> str:
        return repr(x)

    f.__annotations__ = {"x": annotation, "return": str}
    return Tool(f, name="f").check(f'{{"x":{sent}}}').error or ""


@pytest.mark.parametrize(
    ("annotation", "sent", "words"),
    [
        (Decimal, '"NaN"', '`x` must be a decimal number such as 12.50; you sent "NaN".'),
        (Decimal, '"Infinity"', '`x` must be a decimal number such as 12.50; you sent "Infinity".'),
        (
            Price,
            '"1.234"',
            '`x` must be a decimal number such as 12.50, of at most 2 decimal places; you sent "1.234".',
        ),
        (Price, '"1000.01"', "`x` must be a decimal number such as 12.50, of at most"),
        (Price, '"-1"', '`x` must be a decimal number such as 12.50, greater than 0; you sent "-1".'),
        (Price, "0", "`x` must be a decimal number such as 12.50, of at most 1000 and greater than 0; you sent 0."),
        (
            Price,
            "null",
            "`x` must be a decimal number such as 12.50, of at most 1000 and greater than 0; you sent null.",
        ),
        (Annotated[Decimal, Field(le=10)], '"20"', '`x` must be a decimal number of at most 10; you sent "20".'),
        (Decimal | None, "[]", "`x` must be a decimal number such as 12.50 or null; you sent []."),
        (Annotated[float, Field(ge=1.0, le=1000.0)], "2000", "`x` must be a number from 1 to 1000; you sent 2000."),
        (Json[dict[str, int]], '"{a"', '`x` must be a string that holds JSON; you sent "{a".'),
    ],
)
def test_numbers_and_json_strings(annotation: Any, sent: str, words: str) -> None:
    """The one rule that is broken, in its own numbers."""
    assert words in told(annotation, sent)


def test_an_error_without_words() -> None:
    """A failure says that it is one, also where its author said nothing."""
    assert FEEDBACK.tool_error("f", ToolError("")) == "`f` failed without saying why."


def test_a_result_that_is_no_number() -> None:
    """The note says that null stands there, so null does."""
    result = Tool(lambda: float("nan"), name="f").call_json_sync("{}")
    assert FEEDBACK.result_text(result).startswith("null\n\nNote: null stands where")


def test_errors_of_child_tasks() -> None:
    """`asyncio.TaskGroup` wraps what its tasks raise; the model reads what they said."""

    async def child(text: str) -> None:
        raise ToolError(text, hint="Log in first.")

    async def f() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(child("No seat"))
            group.create_task(child("No meal"))

    result = Tool(f, name="f").call_json_sync("{}")
    assert result.error == "`f` failed: No seat. No meal. Log in first."


def test_a_group_that_holds_more_is_for_the_log() -> None:
    """Other exceptions are not meant for the model."""

    def f() -> None:
        raise ExceptionGroup("several", [ToolError("No seat"), ValueError("secret")])

    assert "internal error" in (Tool(f, name="f").call_json_sync("{}").error or "")


def test_the_same_function_twice() -> None:
    """Not "two tools of one name": it is one."""

    def f() -> None:
        """Do nothing."""

    with pytest.raises(DefinitionError, match="The same tool 'f' is given twice"):
        ToolRegistry([f, f])
