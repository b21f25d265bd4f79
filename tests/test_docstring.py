"""Docstrings as authors write them: four styles, mixed and broken."""

from __future__ import annotations

from inspect import cleandoc
from textwrap import dedent
from typing import Any

import pytest

from toolsmith import Tool


def described(docstring: str, parameters: str = "city, unit") -> tuple[str, dict[str, str]]:
    """What a model is told of a function with this docstring: of the tool, and of each parameter."""
    namespace: dict[str, Any] = {}
    exec(f"def probe({', '.join(f'{p.strip()}: str' for p in parameters.split(','))}): ...", namespace)
    namespace["probe"].__doc__ = docstring
    made = Tool(namespace["probe"])
    return made.description, {n: p.get("description", "") for n, p in made.input_schema["properties"].items()}


GOOGLE = """Get the weather.

    Uses the national service.

    Args:
        city: name of the city
        unit: temperature unit

    Returns:
        A sentence.
    """
NUMPY = """Get the weather.

    Uses the national service.

    Parameters
    ----------
    city : str
        name of the city
    unit : str, optional
        temperature unit

    Returns
    -------
    str
        A sentence.
    """
REST = """Get the weather.

    Uses the national service.

    :param city: name of
        the city
    :param str unit: temperature unit
    :type city: str
    :returns: A sentence.
    :rtype: str
    """
EPYDOC = """Get the weather.

    Uses the national service.

    @param city: name of the city
    @type city: str
    @param unit: temperature
    unit
    @return: A sentence.
    """


@pytest.mark.parametrize("docstring", [GOOGLE, NUMPY, REST, EPYDOC], ids=["google", "numpy", "rest", "epydoc"])
def test_each_style_says_the_same(docstring: str) -> None:
    """Parameter texts go to the parameters and leave the description; what comes back is told."""
    text, parameters = described(docstring)
    assert text == "Get the weather.\n\nUses the national service.\n\nReturns: A sentence."
    assert parameters == {"city": "name of the city", "unit": "temperature unit"}


@pytest.mark.parametrize(
    "docstring",
    [
        "Do it.\n    Args:\n        city: a town\n        unit: a unit\n    ",
        "\n    Args:\n        city: a town\n        unit: a unit\n    ",
        "Do it.\n\n    Arguments:\n      city (str): a town\n      unit (str, optional): a unit\n    ",
        "Do it.\n\n    ARGS:\n        city: a\n        town\n        unit: a unit\n    ",
        "Do it.\n\n    Args:\n    city: a town\n    unit: a unit\n\n    More.\n    ",
        "Do it.\n\n    Args:\n        - `city` (str) -- a town\n        * **unit**: a unit\n    ",
        "Do it.\n\n    Args:\n        city - a town\n        unit – a unit\n    ",
        "Do it.\n\n    Args:\n        city: a town\n\n    Keyword Args:\n        unit: a unit\n    ",
        "Do it.\n\n    Args:\n        city: a town\n\n    :param unit: a unit\n    ",
        "Do it.\n\n    Parameters\n    ----------\n    city: str\n        a town\n\n"
        "    Other Parameters\n    ----------------\n    unit\n        a unit\n    ",
        "Do it.\n\n    :param city: a\n       town\n    :keyword unit: a unit\n    :raises ValueError: never\n    ",
    ],
    ids=[
        "no blank line",
        "no summary",
        "types in parentheses",
        "a wrapped line that is not indented",
        "entries that are not indented",
        "bullets and markup",
        "dashes",
        "keyword section",
        "two styles",
        "tight numpy",
        "rest keyword",
    ],
)
def test_imperfect_sections_are_read(docstring: str) -> None:
    """No parameter text is lost, or left in the description, because a style's rules are broken."""
    text, parameters = described(docstring)
    assert parameters == {"city": "a town", "unit": "a unit"}
    assert "a town" not in text
    assert "Args" not in text
    assert "---" not in text


def test_starred_parameters() -> None:
    """`*args` and `**kwargs` entries are those of the parameters, whatever the stars look like."""

    def probe(*rest: int, **more: str) -> None:
        r"""Do it.

        Args:
            *rest: numbers
            \**more: words
        """

    properties = Tool(probe).input_schema["properties"]
    assert properties["rest"]["description"] == "numbers"
    assert properties["more"]["description"] == "words"


@pytest.mark.parametrize(
    "docstring",
    [
        "Mark.\n\n    Args:\n        x, y: the spot\n    ",
        "Mark.\n\n    Parameters\n    ----------\n    x, y : int\n        the spot\n    ",
    ],
    ids=["google", "numpy"],
)
def test_one_text_for_two_names(docstring: str) -> None:
    """An entry for several parameters is told of each."""
    assert described(docstring, "x, y")[1] == {"x": "the spot", "y": "the spot"}


def test_wrapped_lines_become_one_and_bullets_stay() -> None:
    """A model does not pay for line breaks that mean nothing; a list stays a list."""
    text = """Scan.

    Args:
        city: One of the
            following towns:
            - "Oslo": in the north
            - "Rome": in
              the south
        unit: more
    """
    assert described(text)[1]["city"] == ('One of the following towns:\n- "Oslo": in the north\n- "Rome": in the south')


def test_other_sections_survive_as_text() -> None:
    """Raises, Examples and the like help a model, so they stay; what they contain is not taken for parameters."""
    text, parameters = described(
        """Read a file.

        Args:
            city: where

        Raises:
            ValueError: if it is not there

        Example:
            >>> read("a.txt")
            Args:
                unit: do not take this one
        """
    )
    assert parameters == {"city": "where", "unit": ""}
    assert text == dedent(
        """\
        Read a file.

        Raises:
            ValueError: if it is not there

        Example:
            >>> read("a.txt")
            Args:
                unit: do not take this one"""
    )


def test_sections_of_numpy_lose_their_underline() -> None:
    """Dashes below a title say nothing to a model."""
    text, _ = described(
        "Do it.\n\n    Raises\n    ------\n    ValueError\n        if bad\n\n    Notes\n    -----\n    Slow.\n"
    )
    assert text == "Do it.\n\nRaises:\n    ValueError\n        if bad\n\nNotes:\n    Slow."


def test_exceptions_of_rest_become_a_sentence() -> None:
    """`:raises:` fields are told without their markup."""
    assert described("Do it.\n\n    :raises ValueError: if bad\n    ")[0] == "Do it.\n\nRaises ValueError: if bad"


@pytest.mark.parametrize(
    ("section", "said"),
    [
        ("float: the product", "the product"),
        ("dict[str, int]: amounts by name", "amounts by name"),
        ("list[str] | None: names", "names"),
        ("A sentence that says: it rains.", "A sentence that says: it rains."),
        ("The first line\n        and the second.", "The first line and the second."),
    ],
)
def test_the_type_of_what_comes_back_is_left_out(section: str, said: str) -> None:
    """The type of the result is no news to a model; a colon inside a sentence does not make its beginning a type."""
    text, _ = described(f"Do it.\n\n    Returns:\n        {section}\n    ")
    assert text == f"Do it.\n\nReturns: {said}"


PROSE = "The first line of a paragraph goes on for so long that it has to be broken in two"


def test_prose_is_told_without_the_line_breaks_of_the_margin() -> None:
    """A model has no margin, and a line break in the middle of a sentence says nothing."""
    description, _ = described(f"Sum.\n\n{PROSE}\nhere.\n\nArgs:\n    city: x.\n\n{PROSE}\nand here.\nNew.")
    assert description == f"Sum.\n\n{PROSE} here.\n\n{PROSE} and here.\nNew."
    assert described(f"{PROSE}\nhere.")[0] == f"{PROSE} here."


@pytest.mark.parametrize(
    "text",
    [
        "fast: quick and dirty\nexact: slow\nfuzzy: in between",
        f"- {PROSE}\n- two",
        f"{PROSE}\n- two",
        f"1. {PROSE}\n2. two",
        f"Title.\n\n    {PROSE}\n    code\n\nEnd.",
        f"Title.\n\n{PROSE}\n    code",
        f"{PROSE}:\nwhat follows",
        f">>> {PROSE}\n42\n{PROSE}\nand so on",
        f"```\n{PROSE}\n\n{PROSE}\ncode\n```",
        f"| {PROSE} | b |\n|---|---|\n| 1 | 2 |",
        f"name    {PROSE}\nother   text",
        f"{PROSE} | b\n{PROSE} | c",
        f"# {PROSE}\nTitle",
        f"> {PROSE}\n> quoted",
        f"{PROSE}\n{'=' * 80}\ntext",
        f"{PROSE} well-\nknown",
        "これは" * 30 + "\n" + "これは" * 30,
    ],
)
def test_lines_that_stand_for_themselves_stay(text: str) -> None:
    """Lists, code, tables, titles, deliberate breaks, and languages that put no blanks between words."""
    assert described(text)[0] == cleandoc(text)


def test_text_without_sections_stays_as_it_is() -> None:
    """Roles, colons and indented code in prose are prose."""
    prose = 'Do it: with :class:`Care`.\n\nNote that city: is a word.\n\n    x = {"a": 1}'
    assert described(prose) == (prose, {"city": "", "unit": ""})


def test_the_annotation_wins_over_the_docstring() -> None:
    """What stands beside the type is newer than what stands in the docstring."""
    from typing import Annotated

    from pydantic import Field
    from typing_extensions import Doc

    def probe(
        a: Annotated[int, "one"], b: Annotated[int, Doc("two")], c: Annotated[int, Field(description="three")]
    ) -> None:
        """Do it.

        Args:
            a: old
            b: old
            c: old
        """

    properties = Tool(probe).input_schema["properties"]
    assert [p["description"] for p in properties.values()] == ["one", "two", "three"]


def test_a_docstring_that_is_none() -> None:
    """No docstring is no description, and nothing is made up."""

    def probe(a: int) -> None: ...

    assert Tool(probe).description == ""


@pytest.mark.parametrize("end", ["\r\n", "\r"])
def test_any_line_end_is_one(end: str) -> None:
    """A docstring that was put together or read from elsewhere is read like one of a source file."""
    text = "Do.\n\nArgs:\n    a: First,\n        and more.\n    b: Second.\n\nReturns:\n    Much.\n"
    assert described(text.replace("\n", end), "a, b") == described(text, "a, b")
    assert described(text, "a, b") == ("Do.\n\nReturns: Much.", {"a": "First, and more.", "b": "Second."})


def test_an_entry_wins_over_a_stray_bullet() -> None:
    """A bullet among plain entries may belong to the text above it; a later entry of that name is the real one."""
    text = "Do.\n\nArgs:\n    a: One of:\n    - b: a stray one\n\nKeyword Args:\n    b: The real one.\n"
    assert described(text, "a, b")[1]["b"] == "The real one."
    alone = "Do.\n\nArgs:\n    - a: First.\n    - b: Second.\n\nKeyword Args:\n    b: Another.\n"
    assert described(alone, "a, b")[1]["b"] == "Second."
