"""What each construct of a schema becomes in each mode, and what comes back; odd schemas; what is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from toolsmith import DefinitionError
from toolsmith.dialects import (
    CLAUDE_LOOSE,
    CLAUDE_STRICT,
    COMPATIBLE_LOOSE,
    COMPATIBLE_STRICT,
    OPENAI_LOOSE,
    OPENAI_STRICT,
    Dialect,
    DialectError,
)

Schema = dict[str, Any]

BOTH = [OPENAI_STRICT, CLAUDE_STRICT]
both = pytest.mark.parametrize("dialect", BOTH, ids=lambda d: d.name)
loose = pytest.mark.parametrize("dialect", [OPENAI_LOOSE, CLAUDE_LOOSE, COMPATIBLE_LOOSE], ids=lambda d: d.name)

POINT: Schema = {
    "type": "object",
    "properties": {"x": {"type": "integer"}, "y": {"type": "integer", "default": 0}},
    "required": ["x"],
    "additionalProperties": False,
}


def args(required: str = "", /, **members: Any) -> Schema:
    """The schema of a function's parameters; `required` names those without default."""
    schema: Schema = {"type": "object", "properties": members, "additionalProperties": False}
    return schema | ({"required": required.split()} if required else {})


def member(dialect: Dialect, schema: Any, *, optional: bool = False) -> Any:
    """What a parameter with this schema is on the wire."""
    encoded = dialect.encode(args("" if optional else "p", p=schema))
    assert not encoded.fatal, encoded.fatal
    return encoded.schema["properties"]["p"]


def back(dialect: Dialect, schema: Any, value: Any, *, optional: bool = False) -> Any:
    """What a parameter with this schema comes back as."""
    return dialect.decode({"p": value}, args("" if optional else "p", p=schema))


def why_not(dialect: Dialect, schema: Any, *, optional: bool = False) -> str:
    """Why a parameter with this schema has no form in this mode."""
    fatal = dialect.encode(args("" if optional else "p", p=schema)).fatal
    assert fatal, "has a form"
    return str(fatal[0])


# ------------------------------------------------------------------------------------------------- optional parameters


def test_an_optional_parameter_is_nullable_on_openai_and_null_is_absent() -> None:
    """All are required there; null stands for "not given", and the default is told."""
    schema = {"type": "integer", "default": 7, "description": "How many."}
    assert member(OPENAI_STRICT, schema, optional=True) == {
        "description": "How many. (default 7)",
        "type": ["integer", "null"],
    }
    assert back(OPENAI_STRICT, schema, None, optional=True) == {}
    assert back(OPENAI_STRICT, schema, 0, optional=True) == {"p": 0}


@pytest.mark.parametrize(
    ("value", "text", "stated"),
    [
        (10, "How many. Defaults to 10.", True),
        (10, "How many (default: 10)", True),
        (10, "Default is `10`; at most 20.", True),
        (0.5, "A share, default value 0.5", True),
        (-1, "default=-1", True),
        (True, "Defaults to True.", True),
        (True, "Whether (default true).", True),
        ([], "Defaults to [].", True),
        ("fast", "How (default: 'fast')", True),
        ("fast", "Defaults to fast.", True),
        ("", 'Default "".', True),
        (10, "Defaults to 100.", False),
        (10, "Defaults to 10.5.", False),
        (10, "Defaults to 10,000.", False),
        (10, "Defaults to -10.", False),
        (10, "Defaults to 10%.", False),
        (10, "Defaults to 10 unless it is fast.", False),
        (10, "The default is used from 10.", False),
        (True, "default: 1", False),
        ("fast", "Defaults to Fast.", False),
        ("the", "Defaults to the mode of the server.", False),
        ("", "The default.", False),
    ],
)
def test_a_default_that_the_description_states_is_not_told_again(value: Any, text: str, stated: bool) -> None:
    """Only this very value, where a phrase ends with it; what to send for it is told all the same."""
    kind = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array"}[type(value)]
    held = {"type": kind, "default": value, "description": text} | (
        {"items": {"type": "string"}} if value == [] else {}
    )
    told = text if stated else f"{text} (default {json.dumps(value)})"
    assert member(OPENAI_STRICT, held, optional=True)["description"] == told
    kept = {k: v for k, v in held.items() if k not in {"default", "description"}}
    schema = {"anyOf": [kept, {"type": "null"}], "default": value, "description": text}
    assert "send " in member(OPENAI_STRICT, schema, optional=True)["description"].removeprefix(text)


def test_an_optional_parameter_is_left_out_of_required_on_claude() -> None:
    """With its default as a keyword, and nothing to decode."""
    schema = args("a", a={"type": "string"}, p={"type": "integer", "default": 7})
    encoded = CLAUDE_STRICT.encode(schema)
    assert encoded.schema["required"] == ["a"]
    assert encoded.schema["properties"]["p"] == {"type": "integer", "default": 7}
    assert encoded.exact


def test_null_stays_null_where_it_is_the_default() -> None:
    """`x: int | None = None`: absent and null mean the same, so raw text can go straight to the validator."""
    schema = {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None}
    assert member(OPENAI_STRICT, schema, optional=True) == {"type": ["integer", "null"]}
    assert OPENAI_STRICT.encode(args(p=schema)).exact
    assert back(OPENAI_STRICT, schema, None, optional=True) == {"p": None}


@pytest.mark.parametrize(
    ("held", "marker"),
    [
        ({"type": "integer"}, "omit"),
        ({"enum": ["a", "b"], "type": "string"}, "omit"),
        ({"enum": ["omit", "keep"], "type": "string"}, {"omit": True}),
        ({"type": "string"}, {"omit": True}),
        ({"type": "array", "items": {"type": "integer"}}, "omit"),
    ],
    ids=["integer", "enumeration", "an enumeration with that word", "text", "list"],
)
def test_absent_and_null_stay_apart_where_null_is_a_value(held: Schema, marker: Any) -> None:
    """`x: T | None = 7`: null is null, and a marker that T cannot have means "not given"."""
    schema = {"anyOf": [held, {"type": "null"}], "default": 7}
    assert back(OPENAI_STRICT, schema, None, optional=True) == {"p": None}
    assert back(OPENAI_STRICT, schema, marker, optional=True) == {}
    assert "default 7, send" in member(OPENAI_STRICT, schema, optional=True)["description"]


def test_a_member_that_could_be_any_marker_cannot_be_left_out() -> None:
    """Then there is no strict form: nothing is lost silently."""
    odd = args(omit={"type": "boolean"})
    schema = {"anyOf": [odd, {"type": "string"}, {"type": "null"}], "default": 7}
    assert "cannot be left out" in why_not(OPENAI_STRICT, schema, optional=True)
    assert not CLAUDE_STRICT.encode(args(p=schema)).fatal


def test_null_is_absent_at_every_depth() -> None:
    """In list items, mappings, branches of unions, tuples, and through references."""
    schema = args(
        "items table either pair",
        items={"type": "array", "items": {"$ref": "#/$defs/Point"}},
        table={"type": "object", "additionalProperties": {"$ref": "#/$defs/Point"}},
        either={"anyOf": [{"type": "string"}, {"$ref": "#/$defs/Point"}]},
        pair={"type": "array", "prefixItems": [{"$ref": "#/$defs/Point"}], "minItems": 1, "maxItems": 1},
    ) | {"$defs": {"Point": POINT}}
    sent = {"x": 1, "y": None}
    wire = {"items": [sent, {"x": 1, "y": 2}], "table": [{"key": "k", "value": sent}], "either": sent}
    assert OPENAI_STRICT.decode(wire | {"pair": {"item_1": sent}}, schema) == {
        "items": [{"x": 1}, {"x": 1, "y": 2}],
        "table": {"k": {"x": 1}},
        "either": {"x": 1},
        "pair": [{"x": 1}],
    }


def test_null_is_absent_inside_recursive_types() -> None:
    """Recursion is kept on OpenAI, and decoded all the way down."""
    node = args("label", label={"type": "string"}, next={"$ref": "#/$defs/Node"}, note={"type": "string"})
    schema = args("p", p={"$ref": "#/$defs/Node"}) | {"$defs": {"Node": node}}
    inner = {"label": "b", "next": None, "note": "n"}
    wire = {"p": {"label": "a", "next": inner, "note": None}}
    assert OPENAI_STRICT.decode(wire, schema) == {"p": {"label": "a", "next": {"label": "b", "note": "n"}}}


# ------------------------------------------------------------------------------------------------ mappings and tuples


@both
def test_a_mapping_is_a_list_of_pairs(dialect: Dialect) -> None:
    """dict[str, T]: no service has open objects in strict mode."""
    schema = {"type": "object", "additionalProperties": {"type": "integer"}}
    shown = member(dialect, schema)
    assert shown["type"] == "array"
    assert list(shown["items"]["properties"]) == ["key", "value"]
    assert back(dialect, schema, [{"key": "a", "value": 1}, {"key": "", "value": 2}]) == {"p": {"a": 1, "": 2}}
    assert back(dialect, schema, []) == {"p": {}}


@both
def test_a_key_twice_is_an_error_for_the_model(dialect: Dialect) -> None:
    """Neither pair is dropped silently."""
    schema = {"type": "object", "additionalProperties": {"type": "integer"}}
    with pytest.raises(DialectError) as caught:
        back(dialect, schema, [{"key": "a", "value": 1}, {"key": "a", "value": 2}])
    assert (caught.value.path, caught.value.kind, caught.value.name) == ("p", "duplicate_key", "a")
    assert str(caught.value) == "p: has the key 'a' twice"


def test_the_keys_of_a_mapping_keep_their_rules() -> None:
    """Enumerated, patterned and number keys; how many there may be."""
    named = {"type": "object", "propertyNames": {"enum": ["a", "b"]}, "additionalProperties": {"type": "integer"}}
    assert member(OPENAI_STRICT, named)["items"]["properties"]["key"] == {"type": "string", "enum": ["a", "b"]}
    numbered = {**named, "propertyNames": {"enum": [1, 2], "type": "integer"}}
    assert member(OPENAI_STRICT, numbered)["items"]["properties"]["key"] == {"type": "string", "enum": ["1", "2"]}
    patterned: Schema = {
        "type": "object",
        "patternProperties": {"^a": {"type": "integer"}},
        "additionalProperties": False,
    }
    assert member(OPENAI_STRICT, patterned)["items"]["properties"]["key"] == {"type": "string", "pattern": "^a"}
    full = {"type": "object", "additionalProperties": {"type": "integer"}, "minProperties": 2, "maxProperties": 3}
    assert (member(OPENAI_STRICT, full)["minItems"], member(OPENAI_STRICT, full)["maxItems"]) == (2, 3)
    assert member(CLAUDE_STRICT, full)["description"] == "each key once, 2 to 3 keys"


@both
def test_a_mapping_beside_a_list_is_wrapped(dialect: Dialect) -> None:
    """list | dict: an empty list must not mean either."""
    schema = {
        "anyOf": [
            {"type": "array", "items": {"type": "string"}},
            {"type": "object", "additionalProperties": {"type": "string"}},
        ]
    }
    assert back(dialect, schema, []) == {"p": []}
    assert back(dialect, schema, {"entries": []}) == {"p": {}}
    assert back(dialect, schema, {"entries": [{"key": "k", "value": "v"}]}) == {"p": {"k": "v"}}


@both
def test_undeclared_members_with_a_type_travel_as_pairs(dialect: Dialect) -> None:
    """As those of `**kwargs: int`: they come back beside the declared ones."""
    schema = args("a", a={"type": "string"}) | {"additionalProperties": {"type": "integer"}}
    encoded = dialect.encode(schema)
    assert list(encoded.schema["properties"]) == ["a", "additional"]
    wire = {"a": "x", "additional": [{"key": "n", "value": 1}]}
    assert dialect.decode(wire, schema) == {"a": "x", "n": 1}


@both
def test_a_tuple_is_an_object_of_numbered_members(dialect: Dialect) -> None:
    """Each item keeps its own type; the object comes back as a list."""
    schema = {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}], "minItems": 2, "maxItems": 2}
    assert member(dialect, schema) == {
        "type": "object",
        "properties": {"item_1": {"type": "integer"}, "item_2": {"type": "string"}},
        "required": ["item_1", "item_2"],
        "additionalProperties": False,
    }
    assert back(dialect, schema, {"item_2": "b", "item_1": 1}) == {"p": [1, "b"]}


@both
def test_a_tuple_may_have_an_optional_or_an_open_tail(dialect: Dialect) -> None:
    """Items beyond `minItems` may be left out, from the end; a typed tail is a list."""
    short = {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "integer"}], "minItems": 1, "maxItems": 2}
    sent: Schema = {"item_1": 1, "item_2": None} if dialect is OPENAI_STRICT else {"item_1": 1}
    assert back(dialect, short, sent) == {"p": [1]}
    tailed = {"type": "array", "prefixItems": [{"type": "integer"}], "items": {"type": "string"}, "minItems": 1}
    assert back(dialect, tailed, {"item_1": 1, "rest": ["a", "b"]}) == {"p": [1, "a", "b"]}
    with pytest.raises(DialectError, match="leaves out 'item_1'"):
        back(
            dialect,
            {**short, "minItems": 0},
            {"item_1": None, "item_2": 2} if dialect is OPENAI_STRICT else {"item_2": 2},
        )


@both
def test_a_named_tuple_is_sent_as_an_object_only(dialect: Dialect) -> None:
    """The schema takes object and list; the list would be a second way to say the same, without the names."""
    named = args("x", x={"type": "integer"}, y={"type": "string"})
    listed: Schema = {
        "type": "array",
        "prefixItems": [{"type": "integer"}, {"type": "string"}],
        "minItems": 1,
        "maxItems": 2,
    }
    shown = member(dialect, {"anyOf": [named, listed]})
    assert list(shown["properties"]) == ["x", "y"]


# --------------------------------------------------------------------------------------------------------------- unions


@both
@pytest.mark.parametrize(
    "other",
    [{"type": "object", "additionalProperties": {"type": "number"}}, POINT | {"required": ["x", "y"]}],
    ids=["mapping", "model"],
)
def test_a_named_tuple_beside_another_object_is_sent_as_a_list(dialect: Dialect, other: Schema) -> None:
    """As an object it could be taken for the other one when it comes back."""
    members = list(POINT["properties"].values())
    listed = {"type": "array", "prefixItems": members, "minItems": 1, "maxItems": 2}
    sent = {"item_1": 1, "item_2": 2}
    assert back(dialect, {"anyOf": [other, {"anyOf": [POINT, listed]}]}, sent) == {"p": [1, 2]}
    assert back(dialect, {"anyOf": [other, POINT, listed]}, sent) == {"p": [1, 2]}
    assert back(dialect, {"anyOf": [{"anyOf": [{"type": "null"}, {"anyOf": [POINT, listed]}]}, other]}, sent) == {
        "p": [1, 2]
    }


@both
def test_a_tagged_union_is_any_of_and_its_tag_is_required(dialect: Dialect) -> None:
    """oneOf is not taken; a tag with a default could be left out, and then nobody could tell the branches apart."""
    cat = args("lives", kind={"const": "cat", "type": "string", "default": "cat"}, lives={"type": "integer"})
    dog = args("tricks", kind={"const": "dog", "type": "string", "default": "dog"}, tricks={"type": "integer"})
    shown = member(dialect, {"oneOf": [cat, dog], "discriminator": {"propertyName": "kind"}})
    assert [b["required"] for b in shown["anyOf"]] == [
        ["kind", "lives"],
        ["kind", "tricks"],
    ] or dialect is CLAUDE_STRICT
    assert all("kind" in b["required"] and "null" not in json.dumps(b["properties"]["kind"]) for b in shown["anyOf"])
    assert "oneOf" not in json.dumps(shown)
    assert "discriminator" not in json.dumps(shown)


def test_alternatives_begin_with_different_members_on_openai() -> None:
    """The service refuses a union of objects that share their first key; the order of members says nothing."""
    first = args("id name", id={"type": "integer"}, name={"type": "string"})
    second = args("id mail", id={"type": "integer"}, mail={"type": "string"})
    shown = member(OPENAI_STRICT, {"anyOf": [first, second]})
    assert [next(iter(b["properties"])) for b in shown["anyOf"]] == ["id", "mail"]
    alone = [args("id", id={"type": kind}) for kind in ("integer", "string")]
    assert "begin with the same member" in why_not(OPENAI_STRICT, {"anyOf": alone})
    assert not CLAUDE_STRICT.encode(args("p", p={"anyOf": alone})).fatal


def test_alternatives_that_look_alike_have_no_strict_form() -> None:
    """Where both accept the same value and decode it differently, nobody could say what was meant."""
    listed: Schema = {"type": "array", "items": args("a", a={"type": "integer"})}
    pairs = {"type": "object", "additionalProperties": {"type": "integer"}}
    nested = {"anyOf": [{"anyOf": [listed, {"type": "string"}]}, {"anyOf": [pairs, {"type": "null"}]}]}
    assert "look alike" in why_not(OPENAI_STRICT, nested)
    assert "look alike" in why_not(CLAUDE_STRICT, nested)


def test_a_described_reference_loses_nothing() -> None:
    """OpenAI takes nothing beside $ref, so it is wrapped, or written in place where that is shorter."""
    level = {
        "enum": ["low", "rather low", "medium", "rather high", "high", "very high", "as high as it goes"],
        "type": "string",
        "description": "A level.",
    }
    refs = {n: {"$ref": "#/$defs/Level", "description": f"The {n}."} for n in ("first", "second")}
    schema = args("first second", **refs) | {"$defs": {"Level": level}}
    encoded = OPENAI_STRICT.encode(schema)
    assert encoded.schema["properties"]["first"] == {"description": "The first.", "anyOf": [{"$ref": "#/$defs/Level"}]}
    once = OPENAI_STRICT.encode(args("first", first=refs["first"]) | {"$defs": {"Level": level}})
    assert once.schema["properties"]["first"]["description"] == "The first. A level."
    assert "$defs" not in once.schema
    refs = {n: {"$ref": "#/$defs/Colour", "description": f"The {n}."} for n in ("first", "second", "third")}
    colour = {"Colour": {"enum": ["red", "green", "blue"], "type": "string"}}
    thrice = OPENAI_STRICT.encode(args("first second third", **refs) | {"$defs": colour})
    assert thrice.schema["properties"]["third"] == {"description": "The third.", **colour["Colour"]}
    assert "$defs" not in thrice.schema


def test_constants_name_their_types_on_openai() -> None:
    """ "schema must have a 'type' key"; constants of several types are alternatives, each with its own."""
    assert member(OPENAI_STRICT, {"enum": ["a", 1, None]}) == {
        "anyOf": [{"type": "string", "const": "a"}, {"type": "integer", "const": 1}, {"type": "null"}]
    }
    assert member(OPENAI_STRICT, {"const": "a"}, optional=True) == {"type": ["string", "null"], "enum": ["a", None]}
    assert member(CLAUDE_STRICT, {"enum": ["a", 1, None]}) == {"enum": ["a", 1, None]}


def test_a_nullable_list_is_an_alternative_not_a_list_of_types() -> None:
    """OpenAI answers {"type": ["array", "null"], "items": ...} with "array schema missing items"."""
    schema = {"type": ["array", "null"], "items": {"type": "string"}}
    assert member(OPENAI_STRICT, schema) == {
        "anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}]
    }


# ---------------------------------------------------------------------------------------------------------- constraints


def test_constraints_stay_where_the_service_takes_them() -> None:
    """OpenAI takes bounds; Claude has them in words, and the validator enforces them all the same."""
    schema = {"type": "integer", "minimum": 1, "exclusiveMaximum": 10, "multipleOf": 2, "description": "Even."}
    assert member(OPENAI_STRICT, schema) == {**schema}
    assert member(CLAUDE_STRICT, schema) == {"description": "Even. (>= 1, < 10, multiple of 2)", "type": "integer"}
    losses = CLAUDE_STRICT.encode(args("p", p=schema)).losses
    assert [str(loss) for loss in losses] == [
        "`p` `minimum` is told in words",
        "`p` `exclusiveMaximum` is told in words",
        "`p` `multipleOf` is told in words",
    ]
    assert not any(loss.fatal for loss in losses)


@pytest.mark.parametrize(
    ("dialect", "schema", "expected"),
    [
        (OPENAI_STRICT, {"minLength": 1, "maxLength": 9}, {"minLength": 1, "maxLength": 9}),
        (COMPATIBLE_STRICT, {"minLength": 1}, {"description": "at least 1 characters"}),
        (OPENAI_STRICT, {"format": "uri"}, {"description": "format: uri"}),
        (CLAUDE_STRICT, {"format": "uri"}, {"format": "uri"}),
        (CLAUDE_STRICT, {"format": "uuid"}, {"format": "uuid"}),
        (OPENAI_STRICT, {"format": "date-time"}, {"description": "format: date-time"}),
        (OPENAI_STRICT, {"pattern": r"^\w+$"}, {"description": r"pattern: ^\w+$"}),
        (CLAUDE_STRICT, {"pattern": r"^\d+$"}, {"pattern": r"^\d+$"}),
        (CLAUDE_STRICT, {"pattern": r"(?=a)b"}, {"description": "pattern: (?=a)b"}),
        (OPENAI_STRICT, {"pattern": r"(a)\1"}, {"description": r"pattern: (a)\1"}),
        (CLAUDE_STRICT, {"pattern": "a{2,5000}"}, {"description": "pattern: a{2,5000}"}),
        (OPENAI_STRICT, {"examples": ["a", "b"]}, {"description": 'e.g. "a", "b"'}),
        (OPENAI_STRICT, {"not": {"const": "x"}}, {"description": 'not: {"const": "x"}'}),
    ],
)
def test_what_a_service_does_not_take_is_told_in_words(dialect: Dialect, schema: Schema, expected: Schema) -> None:
    """Formats, patterns, lengths and examples: kept, or said."""
    assert member(dialect, {"type": "string", **schema}) == {"type": "string", **expected}


def test_lists_keep_their_bounds_as_far_as_they_go() -> None:
    """Claude takes `minItems` of 0 and 1 only; sets are lists, and a duplicate merges."""
    schema = {"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 2, "uniqueItems": True}
    assert member(OPENAI_STRICT, schema) == {
        "description": "no duplicates",
        "type": "array",
        "items": {"type": "integer"},
        "minItems": 2,
        "maxItems": 2,
    }
    assert member(CLAUDE_STRICT, schema)["description"] == "2 items, no duplicates"
    assert member(CLAUDE_STRICT, {"type": "array", "items": {"type": "integer"}, "minItems": 1})["minItems"] == 1


# --------------------------------------------------------------------------------------------- what has no strict form


@both
@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ({}, "`p` takes anything: give it a type"),
        (True, "`p` takes anything: give it a type"),
        ({"description": "Whatever."}, "`p` takes anything"),
        ({"type": "array"}, "`p` is a list of anything"),
        ({"type": "array", "items": {}}, "`p` is a list of anything"),
        ({"type": "array", "items": {"type": "array", "items": True}}, "`p[]` is a list of anything"),
        ({"type": "object"}, "`p` is a free-form object"),
        ({"type": "object", "additionalProperties": True}, "`p` is a free-form object"),
        ({"type": "object", "additionalProperties": {}}, "`p` is a free-form object"),
        ({"type": "object", "properties": {"a": {"type": "null"}}, "additionalProperties": True}, "free-form"),
        ({"type": "object", "patternProperties": {"^a": {"type": "null"}}}, "by patterns of their names"),
        ({"type": "array", "prefixItems": [{"type": "null"}]}, "untyped tail"),
        ({"enum": [[1], {"a": 1}]}, "enumerates objects or lists"),
        ({"type": "object", "properties": {"a": {"type": "null"}}, "if": {}, "then": {}}, "is conditional (`if`)"),
        (args("a b", a={"type": "null"}), "requires `b`, which it does not describe"),
        ({"allOf": [{"type": "string"}, {"type": "integer"}]}, "types that exclude each other"),
        ({"$ref": "https://example.com/s.json"}, "which is not in the schema"),
        ({"$ref": "#/$defs/nowhere"}, "which is not in the schema"),
        ({"anyOf": [False]}, "can have no value"),
    ],
)
def test_what_has_no_strict_form_says_why(dialect: Dialect, schema: Any, reason: str) -> None:
    """Each with its place and the way out, before any request."""
    assert reason in why_not(dialect, schema)


def test_recursion_has_no_strict_form_on_claude() -> None:
    """It is refused with its place; the loose form keeps it."""
    node = args("label", label={"type": "string"}, children={"type": "array", "items": {"$ref": "#/$defs/Node"}})
    schema = args("p", p={"$ref": "#/$defs/Node"}) | {"$defs": {"Node": node}}
    assert str(CLAUDE_STRICT.encode(schema).fatal[0]).startswith("`p` is recursive")
    assert not OPENAI_STRICT.encode(schema).fatal
    assert "$defs" in CLAUDE_LOOSE.encode(schema).schema


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        (args(**{f"p{i}": {"type": "string"} for i in range(5_001)}), "5,001 members"),
        (args("p", p={"enum": list(range(1_001))}), "1,001 enumerated values"),
        (args("p", p={"enum": [f"{i:0100}" for i in range(251)]}), "an enumeration of 25,100 characters"),
        (args("p", p={"const": "x" * 120_000}), "120,001 characters"),
    ],
    ids=["members", "values", "one long enumeration", "characters"],
)
def test_openai_limits_are_kept(schema: Schema, reason: str) -> None:
    """A schema beyond the documented sizes has no strict form there; Claude publishes no such limits."""
    assert reason in str(OPENAI_STRICT.encode(schema).fatal[0])
    assert not CLAUDE_STRICT.encode(schema).fatal


def test_ten_levels_are_kept_by_referring_rather_than_writing_in_place() -> None:
    """The service counts each definition by itself, so deep types still have a strict form."""
    defs = {f"L{i}": args("a", a={"$ref": f"#/$defs/L{i + 1}"}) for i in range(14)} | {
        "L14": args("a", a={"type": "null"})
    }
    encoded = OPENAI_STRICT.encode(args("p", p={"$ref": "#/$defs/L0"}) | {"$defs": defs})
    assert not encoded.fatal
    assert len(encoded.schema["$defs"]) == 15
    deep: Schema = {"type": "null"}
    for _ in range(11):
        deep = args("a", a=deep)
    assert "levels of objects" in str(OPENAI_STRICT.encode(deep).fatal[0])


@pytest.mark.parametrize("dialect", [OPENAI_STRICT, CLAUDE_STRICT, OPENAI_LOOSE], ids=lambda d: d.name)
def test_absurd_schemas_are_definition_errors(dialect: Dialect) -> None:
    """Too many schemas, or too deep: said with the place, and without a recursion error."""
    deep: Schema = {"type": "string"}
    for _ in range(3_000):
        deep = {"type": "array", "items": deep}
    with pytest.raises(DefinitionError, match="nested deeper than 64 levels"):
        dialect.encode(args("p", p=deep))
    with pytest.raises(DefinitionError, match="more than 20000 schemas"):
        dialect.encode(args("p", p={"anyOf": [{"const": i} for i in range(20_001)]}))


def test_definitions_that_grow_when_written_in_place_stay_small() -> None:
    """2 ** 40 schemas in disguise are encoded as what they are: 40 definitions."""
    defs: Schema = {
        f"D{i}": args("a b", a={"$ref": f"#/$defs/D{i + 1}"}, b={"$ref": f"#/$defs/D{i + 1}"}) for i in range(40)
    }
    defs["D40"] = {"type": "integer"}
    for dialect in (OPENAI_LOOSE, CLAUDE_STRICT, CLAUDE_LOOSE):
        schema = args("p", p={"$ref": "#/$defs/D0"}) | {"$defs": defs}
        assert len(json.dumps(dialect.encode(schema).schema)) < 10_000


# ---------------------------------------------------------------------------------------------- schemas from elsewhere


@both
@pytest.mark.parametrize(
    ("schema", "same_as"),
    [
        ({"type": "string", "nullable": True}, {"type": ["string", "null"]}),
        ({"type": "number", "minimum": 0, "exclusiveMinimum": True}, {"type": "number", "exclusiveMinimum": 0}),
        ({"type": ["string"]}, {"type": "string"}),
        ({"type": ["integer", "number"]}, {"type": "number"}),
        ({"properties": POINT["properties"], "required": ["x"], "additionalProperties": False}, POINT),
        ({"enum": ["a", "b"]}, {"enum": ["a", "b"], "type": "string"}),
        ({"allOf": [{"type": "integer", "minimum": 1}, {"minimum": 3, "maximum": 9}]},
         {"type": "integer", "minimum": 3, "maximum": 9}),
        ({"allOf": [{"$ref": "#/$defs/S"}], "description": "It."}, {"type": "string", "description": "It."}),
        ({"$ref": "#/$defs/S", "maxLength": 3}, {"type": "string", "maxLength": 3}),
        ({"anyOf": [{"type": "string"}, False]}, {"type": "string"}),
        ({"type": "array", "items": [{"type": "string"}], "additionalItems": False, "minItems": 1},
         {"type": "array", "prefixItems": [{"type": "string"}], "items": False, "minItems": 1}),
        ({"$ref": "#/definitions/T"}, {"type": "boolean"}),
        ({"$ref": "#/properties/q"}, {"type": "boolean"}),
        ({"$ref": "#anchored"}, {"type": "null"}),
        ({"title": "A Title", "type": "string"}, {"type": "string", "description": "A Title"}),
        ({"title": "P", "type": "string"}, {"type": "string"}),
        ({"type": "string", "x-order": 1, "$comment": "no"}, {"type": "string"}),
    ],
)  # fmt: skip
def test_other_spellings_mean_the_same(dialect: Dialect, schema: Schema, same_as: Schema) -> None:
    """Drafts 4 to 7, OpenAPI 3.0, `allOf`, type lists, missing types, references to anywhere."""
    rest: Schema = {
        "$defs": {"S": {"type": "string"}, "N": {"type": "null", "$anchor": "anchored"}},
        "definitions": {"T": {"type": "boolean"}},
    }
    left = dialect.encode(args("p q", p=schema, q={"type": "boolean"}) | rest)
    right = dialect.encode(args("p q", p=same_as, q={"type": "boolean"}) | rest)
    assert not left.fatal
    assert left.schema == right.schema


@both
def test_all_of_objects_is_one_object(dialect: Dialect) -> None:
    """As in inheritance by `allOf`: the members of all, required where one requires them."""
    base: Schema = {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}
    schema = {"allOf": [{"$ref": "#/$defs/Base"}, {"properties": {"name": {"type": "string"}}, "required": ["name"]}]}
    shown = dialect.encode(args("p", p={**schema, "unevaluatedProperties": False}) | {"$defs": {"Base": base}})
    assert shown.schema["properties"]["p"] == {
        "type": "object",
        "properties": {"id": {"type": "integer"}, "name": {"type": "string"}},
        "required": ["id", "name"],
        "additionalProperties": False,
    }
    assert not shown.losses


@both
def test_an_object_that_does_not_say_whether_it_is_open_is_closed(dialect: Dialect) -> None:
    """Nobody can send members that are not declared; it is told, and no reason to give up strict mode."""
    schema = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
    encoded = dialect.encode(schema)
    assert encoded.schema["additionalProperties"] is False
    assert [str(loss) for loss in encoded.losses] == ["is closed: members that are not declared cannot be sent"]
    assert not encoded.fatal


@both
def test_alternatives_that_only_require_members_are_told_in_words(dialect: Dialect) -> None:
    """`anyOf: [{required: [a]}, {required: [b]}]` beside properties, at the root as well."""
    schema = args(a={"type": "string"}, b={"type": "string"}) | {"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}
    encoded = dialect.encode(schema)
    assert not encoded.fatal
    assert encoded.schema["description"] == "needs one of: a; b"


@both
def test_a_union_at_the_root_has_no_strict_form(dialect: Dialect) -> None:
    """Both services want a plain object there."""
    schema = {"oneOf": [args("a", a={"type": "string"}), args("b", b={"type": "string"})]}
    assert str(dialect.encode(schema).fatal[0]).startswith("is a union at its root")


@both
def test_merging_a_recursive_schema_comes_to_an_end(dialect: Dialect) -> None:
    """A reference to the root with a keyword beside it contains itself for ever."""
    schema = args("a", a={"type": "string"}, b={"$ref": "#", "minProperties": 1})
    encoded = dialect.encode(schema)
    if dialect is CLAUDE_STRICT:
        assert "recursive" in str(encoded.fatal[0])
    else:
        assert not encoded.fatal
        wire = {"a": "x", "b": {"a": "y", "b": None}}
        assert dialect.decode(wire, schema) == {"a": "x", "b": {"a": "y"}}


@pytest.mark.parametrize(
    "loop",
    [{"$ref": "#/$defs/A"}, {"anyOf": [{"$ref": "#/$defs/A"}, {"type": "string"}]}, {"allOf": [{"$ref": "#/$defs/A"}]}],
)
def test_a_definition_that_is_only_itself_is_refused(loop: Schema) -> None:
    """It describes nothing; following it would never end."""
    for dialect in (OPENAI_STRICT, CLAUDE_LOOSE):
        fatal = dialect.encode(args("p", p={"$ref": "#/$defs/A"}) | {"$defs": {"A": loop}}).fatal
        assert "refers to itself without end" in str(fatal[0])


# ---------------------------------------------------------------------------------------------------------- loose forms


@loose
def test_the_loose_form_is_the_neutral_schema(dialect: Dialect) -> None:
    """All keywords stay, nothing is decoded, and the raw text may go to the validator."""
    schema = args(
        "p", p={"type": "object", "additionalProperties": {"type": "integer", "minimum": 1}}, q={"type": "string"}
    )
    encoded = dialect.encode(schema)
    assert encoded.exact
    assert encoded.losses == ()
    assert encoded.schema["properties"]["p"] == schema["properties"]["p"]
    assert dialect.decode({"p": {"a": 1}}, schema) == {"p": {"a": 1}}


def test_the_loose_form_is_short() -> None:
    """No titles, no default of null, "or null" as a list of types, definitions in place where that is shorter."""
    schema: Schema = args(
        "p",
        p={"$ref": "#/$defs/Once", "description": "What."},
        q={"anyOf": [{"type": "string"}, {"type": "null"}], "default": None, "title": "Q"},
        r={"enum": ["a", "b"], "type": "string"},
    ) | {"$defs": {"Once": {**POINT, "title": "Once"}}, "title": "Arguments"}
    assert OPENAI_LOOSE.encode(schema).schema == {
        "type": "object",
        "properties": {
            "p": {
                "description": "What.",
                "type": "object",
                "properties": {"x": {"type": "integer"}, "y": {"type": "integer", "default": 0}},
                "required": ["x"],
            },
            "q": {"type": ["string", "null"]},
            "r": {"enum": ["a", "b"]},
        },
        "required": ["p"],
    }


def test_compatible_servers_get_the_long_form() -> None:
    """Some read a single type only, and some enforce what they are sent."""
    encoded = COMPATIBLE_LOOSE.encode(args("p", p={"anyOf": [{"type": "string"}, {"type": "null"}]}))
    assert encoded.schema["properties"]["p"] == {"anyOf": [{"type": "string"}, {"type": "null"}]}
    assert encoded.schema["additionalProperties"] is False


@loose
def test_the_root_is_a_plain_object(dialect: Dialect) -> None:
    """Claude refuses a union, `allOf` or reference there; no member is lost, and words say what goes together."""
    one, two = args("a", a={"type": "string"}), args("b", b={"type": "string"}, c={"type": "integer"})
    union = dialect.encode({"oneOf": [one, two]})
    assert not union.fatal
    assert union.schema.keys() & {"oneOf", "anyOf", "allOf", "$ref"} == set()
    assert list(union.schema["properties"]) == ["a", "b", "c"]
    assert union.schema["description"] == "one of: {a}; {b, c?}"
    merged = dialect.encode({"allOf": [{"type": "object", "properties": one["properties"]}, {"required": ["a"]}]})
    assert merged.schema["required"] == ["a"]
    referred = dialect.encode({"$ref": "#/$defs/R", "$defs": {"R": one}})
    assert list(referred.schema["properties"]) == ["a"]


@pytest.mark.parametrize("dialect", [CLAUDE_STRICT, CLAUDE_LOOSE], ids=lambda d: d.name)
def test_names_that_claude_refuses_are_replaced_and_put_back(dialect: Dialect) -> None:
    """One odd name would make the service refuse all tools of the request, strict or not."""
    long = "x" * 70
    schema = args(
        "größe",
        größe={"type": "integer"},
        **{"filter[id]": {"type": "string"}, long: {"type": "string"}, "名": {"type": "string"}},
    )
    encoded = dialect.encode(schema)
    names = list(encoded.schema["properties"])
    assert names == ["groe", "filter_id", "x" * 56, "member"]
    assert encoded.schema["required"] == ["groe"]
    assert not encoded.exact
    assert encoded.schema["properties"]["groe"]["description"] == 'named "größe"'
    wire = dict(zip(names, [1, "a", "b", "c"], strict=True))
    assert dialect.decode(wire, schema) == {"größe": 1, "filter[id]": "a", long: "b", "名": "c"}


def test_replaced_names_never_collide() -> None:
    """Neither with one another nor with a name that is there."""
    schema = args(**{"a b": {"type": "string"}, "a_b": {"type": "integer"}, "a/b": {"type": "string"}})
    assert list(CLAUDE_STRICT.encode(schema).schema["properties"]) == ["a_b_2", "a_b", "a_b_3"]


# ------------------------------------------------------------------------------------------------------ decoding anyhow


@pytest.mark.parametrize(
    "sent",
    [
        None,
        3,
        "text",
        [],
        {},
        {"p": 1},
        {"p": "x"},
        {"p": [1]},
        {"p": [{"key": 1, "value": 2}]},
        {"p": {"a": 1}},
        {"q": {}},
    ],
    ids=json.dumps,
)
def test_what_does_not_have_the_strict_form_passes_as_it_is(sent: Any) -> None:
    """A server may ignore strict mode. Judging is the validator's, which names the problem in the tool's own words."""
    schema = args("p", p={"type": "object", "additionalProperties": {"type": "integer"}})
    assert OPENAI_STRICT.decode(sent, schema) == sent


def test_members_that_should_be_null_may_be_missing() -> None:
    """Also in a union, where the shape decides which alternative is meant."""
    other = args("z", z={"type": "string"})
    schema = {"anyOf": [POINT, other]}
    assert back(OPENAI_STRICT, schema, {"x": 1}) == {"p": {"x": 1}}
    assert back(OPENAI_STRICT, schema, {"x": 1, "y": None}) == {"p": {"x": 1}}


def test_a_constant_in_another_case_still_tells_the_alternative() -> None:
    """Claude may write "CAT" even in strict mode; what is inside is decoded, and the argument door mends the case."""
    table = {"type": "object", "additionalProperties": {"type": "integer"}}
    cat = args("kind held", kind={"const": "cat"}, held=table)
    dog = args("kind held", kind={"const": "dog"}, held={"type": "array", "items": {"type": "integer"}})
    sent = {"kind": "CAT", "held": [{"key": "a", "value": 1}]}
    assert back(CLAUDE_STRICT, {"oneOf": [dog, cat]}, sent) == {"p": {"kind": "CAT", "held": {"a": 1}}}


def test_numbers_stay_as_they_were_sent() -> None:
    """5.0 is not 5 and -0.0 is not 0: the validator decides what they mean."""
    schema = args("p", p={"type": "array", "items": POINT})
    decoded = OPENAI_STRICT.decode({"p": [{"x": 5.0, "y": -0.0}]}, schema)
    assert json.dumps(decoded) == '{"p": [{"x": 5.0, "y": -0.0}]}'
