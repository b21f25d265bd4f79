"""What the embedded model can take out of a text, and the grammar that holds it to that. No weights are needed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from llguidance import LLMatcher, LLTokenizer

from toolsmith.providers._local.candidates import Source
from toolsmith.providers._local.engine import grammar
from toolsmith.providers._local.fields import Field, read
from toolsmith.providers._local.filling import Filled, Filler
from toolsmith.providers._local.spans import Reading


def first(_prefix: str, literals: Sequence[str]) -> str:
    return literals[0]


def longest(_prefix: str, literals: Sequence[str]) -> str:
    return max(literals, key=len)


def schema(**properties: Any) -> dict[str, Any]:
    required = [name for name, prop in properties.items() if "default" not in prop]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def fill(text: str, choose: Any = longest, known: dict[str, Any] | None = None, /, **properties: Any) -> dict[str, Any]:
    return filled(text, choose, known, **properties).values


def filled(text: str, choose: Any = longest, known: dict[str, Any] | None = None, /, **properties: Any) -> Filled:
    return Filler(choose, Source(Reading(text)), known or {}).fill(read(schema(**properties)))


STRING, INTEGER, NUMBER, BOOLEAN = ({"type": t} for t in ("string", "integer", "number", "boolean"))


# --- reading


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("pay 1,299.50 now", [1299.5]),
        ("twenty-five men and one hundred and five more", [25, 105]),
        ("a 10% tip on 86.40", [10, 86.4]),
        ("-3 degrees, 5km, 1e3 times", [-3, 5, 1000]),
        ("order A-1001 of v3.11", []),
        ("two million", [2_000_000]),
    ],
)
def test_numbers_are_read_in_digits_and_in_words(text: str, values: list[float]) -> None:
    """Thousands separators, percent signs, units and number words; parts of codes are no numbers."""
    assert [n.value for n in Reading(text).numbers] == values


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("on 2027-01-05", "2027-01-05"),
        ("on 12 March 2027", "2027-03-12"),
        ("by the 3rd of Sept 2026", "2026-09-03"),
        ("January 15, 2027", "2027-01-15"),
    ],
)
def test_dates_are_read_as_their_format_wants_them(text: str, date: str) -> None:
    """A date in words becomes YYYY-MM-DD, and its parts are not taken for other numbers."""
    assert fill(text, date={"type": "string", "format": "date"}) == {"date": date}
    assert filled(text, days=INTEGER).missing == ("days",)


@pytest.mark.parametrize(
    ("text", "properties", "wanted"),
    [
        ("Cancel order A-1001", {"order_id": STRING}, {"order_id": "A-1001"}),
        ("How many words does docs/report.txt have?", {"path": STRING}, {"path": "docs/report.txt"}),
        ("Send it to anna@x.example today", {"to": {**STRING, "format": "email"}}, {"to": "anna@x.example"}),
        ('Search for "out of memory"', {"text": STRING}, {"text": "out of memory"}),
        ("Save a note: the key is under the mat", {"text": STRING}, {"text": "the key is under the mat"}),
        ("Is it dark in New York?", {"city": STRING}, {"city": "New York"}),
        ("Rename a.txt to b.txt", {"old": STRING, "new": STRING}, {"old": "a.txt", "new": "b.txt"}),
        (
            "Buy 20 shares for 5 days",
            {"days": INTEGER, "shares": INTEGER},
            {"days": 5, "shares": 20},
        ),
        ("Show orders over 50", {"min_total": {**NUMBER, "default": 0}}, {"min_total": 50}),
        ("Mark it as returned", {"status": {"enum": ["shipped", "returned"]}}, {"status": "returned"}),
        ("Turn the light off", {"on": BOOLEAN}, {"on": False}),
        ("Go without tolls", {"avoid_tolls": {**BOOLEAN, "default": False}}, {"avoid_tolls": True}),
        ("Vacuum the hall, the office and the kitchen", {"rooms": {"type": "array", "items": STRING, "minItems": 1}},
         {"rooms": ["hall", "office", "kitchen"]}),
        ("It was planted in bed North, row 4", {"place": schema(bed=STRING, row=INTEGER)},
         {"place": {"bed": "North", "row": 4}}),
        ("Label it as docs", {"labels": {"type": "array", "items": {"enum": ["bug", "docs"]}}}, {"labels": ["docs"]}),
    ],
)  # fmt: skip
def test_arguments_are_found(text: str, properties: dict[str, Any], wanted: dict[str, Any]) -> None:
    """Each kind of argument is narrowed to passages that may be meant; whatever the model picks is among them."""
    assert fill(text, **properties) == wanted


def test_what_the_text_does_not_give_is_left_out_or_reported() -> None:
    """Optional arguments stay absent, nullable ones become null, and a required one is named as missing."""
    got = filled(
        "Hello",
        limit={**INTEGER, "default": 3},
        unit={"anyOf": [{"enum": ["m", "ft"]}, {"type": "null"}]},
        amount=NUMBER,
    )
    assert got == Filled({"unit": None}, missing=("amount",))


def test_bounds_and_patterns_leave_values_out() -> None:
    """A number or a word that the schema does not admit is no candidate."""
    assert fill("3 or 400", first, percent={**INTEGER, "maximum": 100}) == {"percent": 3}
    assert filled("500", percent={**INTEGER, "exclusiveMaximum": 500}).missing == ("percent",)
    assert fill("take AB or XY1", first, code={**STRING, "pattern": "^XY"}) == {"code": "XY1"}


def test_values_from_earlier_in_the_conversation_fill_gaps() -> None:
    """An argument that the text lacks is taken from an earlier call or result by its name."""
    assert fill("Pay 5 back", longest, {"order_id": "A-7"}, order_id=STRING, amount=NUMBER) == {
        "order_id": "A-7",
        "amount": 5,
    }


def test_schemas_are_read_through_references_and_unions() -> None:
    """`$ref`, `anyOf` with null, type lists and const are understood; recursion ends."""
    fields = read(
        {
            "type": "object",
            "$defs": {
                "Node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}, "n": {"type": "integer"}}}
            },
            "properties": {
                "node": {"$ref": "#/$defs/Node", "description": "Where to begin."},
                "name": {"type": ["string", "null"]},
                "kind": {"const": "x"},
                "size": {"anyOf": [{"type": "null"}, {"type": "integer", "minimum": 1}]},
            },
            "required": ["node", "name", "kind", "size"],
        }
    )
    by_name = {f.name: f for f in fields}
    assert [f.kind for f in fields] == ["object", "string", "enum", "integer"]
    assert by_name["node"].description == "Where to begin."
    assert by_name["name"].nullable
    assert by_name["size"] == Field("size", "integer", nullable=True, minimum=1)


# --- the law: nothing is made up


SENTENCE = 'send the order A-1001 to Anna Bell in New York for 12 people, "as is" and 3.5 km off not@x.example . ? then'
NAMES = "name city order_id text path amount days on from_place to_place labels"
WORDS = st.sampled_from(SENTENCE.split())
PROPERTIES = st.dictionaries(
    st.sampled_from(NAMES.split()),
    st.sampled_from(
        [
            STRING,
            INTEGER,
            NUMBER,
            BOOLEAN,
            {"enum": ["anna", "new", 12]},
            {"type": "array", "items": STRING},
            {"type": ["string", "null"]},
            {**STRING, "default": "x"},
            {**INTEGER, "minimum": 5, "default": 7},
            schema(city=STRING, days={**INTEGER, "default": 1}),
        ]
    ),
    max_size=4,
)


def leaves(value: Any) -> list[Any]:
    match value:
        case dict():
            return [leaf for v in value.values() for leaf in leaves(v)]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        case list():
            return [leaf for v in value for leaf in leaves(v)]  # pyright: ignore[reportUnknownVariableType]
        case _:
            return [value]


@settings(max_examples=400)
@given(st.lists(WORDS, max_size=14).map(" ".join), PROPERTIES, st.randoms(use_true_random=False))
def test_nothing_is_made_up_and_all_is_valid(text: str, properties: dict[str, Any], chance: Any) -> None:
    """Whatever the model picks: strings stand in the text, numbers are its numbers, the rest is the schema's own; and
    the arguments are valid unless something required is missing."""
    reading = Reading(text)

    def choose(_prefix: str, literals: Sequence[str]) -> str:
        return chance.choice(literals)

    got = filled(text, choose, **properties)
    choices = ["anna", "new", 12]
    for leaf in leaves(got.values):
        if isinstance(leaf, str):
            assert leaf in text or leaf in choices
        elif not isinstance(leaf, bool) and leaf is not None:
            assert leaf in [n.value for n in reading.numbers] or leaf in choices
    if not got.missing:
        nested_missing = any(p.get("type") == "object" for p in properties.values())
        validator: Any = Draft202012Validator(schema(**properties))
        assert nested_missing or validator.is_valid(got.values)


# --- the grammar


@given(
    st.lists(st.text(min_size=0, max_size=12).map(json.dumps), min_size=1, max_size=6, unique=True), st.text(max_size=9)
)
def test_the_grammar_admits_the_literals_and_nothing_else(literals: list[str], other: str) -> None:
    """The grammar engine itself judges: each literal is a whole sentence of the grammar; another text is none."""
    tokenizer = LLTokenizer("byte")
    made = grammar(literals)
    lark = made.removeprefix("%llguidance {}\n")
    assert LLMatcher.validate_grammar(lark, tokenizer) == ""

    def accepts(text: str) -> bool:
        matcher = LLMatcher(tokenizer, lark)
        return matcher.consume_tokens(list(text.encode())) and matcher.is_accepting()

    assert all(accepts(literal) for literal in literals)
    if json.dumps(other) not in literals:
        assert not accepts(json.dumps(other))
