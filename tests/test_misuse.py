"""What authors get wrong when they make tools and agents: each is told what it is, on which line, and what to do."""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable
from typing import Any, Literal, cast

import pytest

from toolsmith import Agent, DefinitionError, Tool, tool
from toolsmith.testing import ScriptedModel, say


def find(word: str, limit: int = 5) -> str:
    return word * limit


def adrift(self, word: str, limit) -> str:  # type: ignore[no-untyped-def]  # pyright: ignore
    return f"{self}{word}{limit}"


def nowhere(cls, word: str) -> str:  # type: ignore[no-untyped-def]  # pyright: ignore
    return f"{cls}{word}"


def problems_of(make: Callable[[], object]) -> tuple[str, ...]:
    with pytest.raises(DefinitionError) as caught:
        make()
    assert " at 0x" not in str(caught.value)
    return tuple(caught.value.problems)


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (functools.partial(cast("Any", find), zz=5), "got an unexpected keyword argument 'zz'"),
        (functools.partial(cast("Any", find), "a", 2, 3), "too many positional arguments"),
        (functools.partial(cast("Any", find), "a", word="b"), "multiple values for argument 'word'"),
    ],
    ids=["keyword", "positional", "twice"],
)
@pytest.mark.parametrize("make", [tool, Tool])
def test_a_partial_that_does_not_fit(made: Any, why: str, make: Any) -> None:
    """Without the address of the function, and with what it takes."""
    [said] = problems_of(lambda: make(made))
    assert f"functools.partial gives 'find' what it does not take: {why}" in said
    assert "its parameters: word, limit" in said
    assert f"test_misuse.py:{inspect.getsourcelines(find)[1]}" in said


def test_a_name_that_is_not_a_keyword() -> None:
    """`@tool("name")` is how others write it; a longer text is rather a description."""
    with pytest.raises(TypeError, match=r"was given 'my_name'\. Write @tool\(name='my_name'\)"):
        cast("Any", tool)("my_name")
    with pytest.raises(TypeError, match=r"Write @tool\(description='Adds two numbers\.'\)"):
        cast("Any", tool)("Adds two numbers.")
    with pytest.raises(TypeError) as caught:
        cast("Any", Tool)(object())
    assert " at 0x" not in str(caught.value)


def test_a_method_without_its_class() -> None:
    """Nobody can send `self`; what else is wrong is told in the same breath."""
    said, other = problems_of(lambda: Tool(cast("Any", adrift)))
    assert "nothing is given to its parameter 'self'" in said
    assert "Remove self; or, if some object has it as a method, offer that: tool(the_object.adrift)" in said
    assert "self: str" not in said + other
    assert "parameter 'limit' of 'adrift' has no annotation" in other
    [said] = problems_of(lambda: Tool(cast("Any", nowhere)))
    assert "Remove cls" in said


def test_a_parameter_named_self_may_be_one() -> None:
    """Where it has a type, it is the model's."""

    def greet(self: str) -> str:
        return f"Hello {self}"

    assert Tool(greet).call_json_sync('{"self": "Ada"}').data == "Hello Ada"


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        (threading.Event, "output_type is 'threading.Event', and no JSON can carry threading.Event. Let it be"),
        (list[threading.Event], "and no JSON can carry threading.Event"),
        (Callable[[], int], "and no JSON can carry a function"),
        (Literal[b"a"], "JSON has no bytes"),
        (list["Nowhere"], "but 'Nowhere' cannot be found"),  # type: ignore[name-defined]  # pyright: ignore  # noqa: F821
        ("Nowhere", "a text. Give the type itself, not its name"),
    ],
    ids=["class", "list", "function", "bytes", "name in a list", "name"],
)
def test_an_output_type_that_cannot_be(kind: Any, why: str) -> None:
    """The line is that of the agent, in its author's file, and no tool is spoken of that its author has not made."""
    line = inspect.currentframe().f_lineno + 1  # type: ignore[union-attr]  # pyright: ignore
    agent = Agent(ScriptedModel([say("x")]).provider("openai"), output_type=kind)
    [said] = problems_of(lambda: agent.run_sync("?"))
    assert f"test_misuse.py:{line}: output_type is " in said
    assert why in said
    assert "final_answer" not in said
    assert "toolsmith/" not in said
