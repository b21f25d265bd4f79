"""Tools whose JSON Schema comes from elsewhere: what is refused at their making, and how arguments are judged."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from toolsmith import DefinitionError, Tool
from toolsmith._derive.judge import FORMATS
from toolsmith._derive.rawschema import MAX_CHARS
from toolsmith.tool import Checked

OBJECT = {"type": "object"}


def made(schema: Any) -> Tool[..., Any]:
    return Tool(name="raw", description="Take what comes.", parameters=schema, handler=dict)


def of(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def check(schema: Any, sent: Any) -> Checked:
    return made(schema).check(sent if isinstance(sent, str) else json.dumps(sent))


def values(checked: Checked) -> Any:
    assert checked.error is None, checked.error
    return checked.values


def refused(checked: Checked) -> str:
    assert checked.error is not None, f"accepted: {checked.values}"
    assert checked.exception is None, checked.exception
    return checked.error


def itself() -> dict[str, Any]:
    schema = of()
    schema["properties"]["me"] = schema
    return schema


def deep(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(levels):
        schema = of(a=schema)
    return schema


class TestDefinition:
    """A schema that cannot work is refused when the tool is made, with its place and the way out."""

    @pytest.mark.parametrize(
        ("schema", "said"),
        [
            (True, "takes a JSON Schema as a dict"),
            ([], "takes a JSON Schema as a dict"),
            ({"type": "array"}, "the root of its JSON Schema is not an object"),
            ({"enum": [1, 2]}, "the root of its JSON Schema is not an object"),
            ({"type": "strng"}, "not valid at /type"),
            (of(a={"type": "integr"}), "not valid at /properties/a/type"),
            (of(a={"minimum": "1"}), "not valid at /properties/a/minimum"),
            (of(a={"$ref": "https://example.org/schema"}), "nothing is fetched"),
            (of(a={"$ref": "other.json#/a"}), "nothing is fetched"),
            (of(a={"$ref": "#/$defs/Gone"}), "which is not in the schema"),
            (of(a={"$dynamicRef": "#node"}), "Use $ref"),
            (of(a={"$id": "https://example.org/a"}), "Leave it out"),
            ({"$ref": "#"}, "leads back to itself"),
            (
                {**of(a={"$ref": "#/$defs/A"}), "$defs": {"A": {"allOf": [{"$ref": "#/$defs/A"}]}}},
                "leads back to itself",
            ),
            ({**OBJECT, "$schema": "https://example.org/mine"}, "$schema is 'https://example.org/mine'"),
            ({**OBJECT, "default": float("nan")}, "not plain JSON"),
            ({**OBJECT, "default": {1, 2}}, "not plain JSON"),
            (itself(), "holds itself"),
            (deep(40), "nested deeper than 64 levels"),
            ({**OBJECT, "description": "x" * MAX_CHARS}, f"{MAX_CHARS:,} is the limit"),
        ],
        ids=lambda v: v if isinstance(v, str) else "",
    )
    def test_refused(self, schema: Any, said: str) -> None:
        """Each with words that help."""
        with pytest.raises(DefinitionError) as caught:
            made(schema)
        assert said in str(caught.value)
        assert "'raw'" in str(caught.value)

    def test_all_problems_at_once(self) -> None:
        """Nobody mends a schema in ten rounds."""
        schema = of(a={"$ref": "#/$defs/A"}, b={"$ref": "http://x"}, c={"$ref": "#/$defs/C"})
        with pytest.raises(DefinitionError) as caught:
            made(schema)
        assert len(caught.value.problems) == 3

    def test_the_schema_is_copied(self) -> None:
        """Who made the schema may go on using it."""
        schema = of(a={"type": "integer"})
        raw = made(schema)
        schema["properties"]["a"]["type"] = "string"
        assert values(raw.check('{"a": 1}')) == {"a": 1}

    @pytest.mark.parametrize(
        "schema",
        [
            {},
            {"properties": {"a": {"type": "integer"}}},
            {"type": ["object", "null"], "properties": {"a": {"type": "integer"}}},
            {"$ref": "#/$defs/A", "$defs": {"A": of(a={"type": "integer"})}},
            {"allOf": [of(a={"type": "integer"}), {"required": ["a"]}]},
            {"anyOf": [of(a={"type": "integer"}), of(b={"type": "integer"})]},
        ],
    )
    def test_roots_that_are_objects_in_other_words(self, schema: Any) -> None:
        """What can only be an object, or an object among others, is taken; arguments are one anyway."""
        raw = made(schema)
        assert raw.input_schema["type"] == "object"
        assert values(raw.check('{"a": 1}')) == {"a": 1}
        assert "object" in refused(raw.check("[1]"))


TREE: Any = {
    **of(tree={"$ref": "#/definitions/Node"}),
    "definitions": {
        "Node": {
            "type": "object",
            "properties": {
                "label": {"type": "string"},
                "kids": {"type": "array", "items": {"$ref": "#/definitions/Node"}},
            },
            "required": ["label"],
            "additionalProperties": False,
        }
    },
}


class TestArguments:
    """Judged by the schema as it stands, told in the same words as for any tool."""

    @pytest.mark.parametrize(
        ("schema", "sent", "said"),
        [
            (of(a={"type": "integer"}), {"a": "x"}, '`a` must be a whole number; you sent "x".'),
            (of(a={"type": ["integer", "null"]}), {"a": "x"}, "must be a whole number or null"),
            (of(a={"enum": ["x", "y", 3]}), {"a": "z"}, 'must be one of "x", "y", 3; you sent "z"'),
            (of(a={"const": "yes"}), {"a": "no"}, '`a` must be "yes"; you sent "no".'),
            (of(a=False), {"a": 1}, "`a` is not accepted; leave it out."),
            ({**OBJECT, "required": ["a"]}, {}, "`a` is missing."),
            ({**of(a={}), "additionalProperties": False}, {"b": 1}, "`b` is not an argument of `raw`."),
            (of(a={"minimum": 1, "maximum": 5, "type": "number"}), {"a": 9}, "a number from 1 to 5; you sent 9."),
            (of(a={"multipleOf": 3, "type": "integer"}), {"a": 4}, "that is a multiple of 3; you sent 4."),
            (of(a={"type": "string", "maxLength": 2}), {"a": "abc"}, "a string of at most 2 characters"),
            (of(a={"type": "string", "pattern": "^[a-z]$"}), {"a": "A"}, "the regular expression ^[a-z]$"),
            (of(a={"type": "string", "pattern": r"^(?=.*\d).+$"}), {"a": "A"}, "the regular expression"),
            (of(a={"type": "array", "minItems": 2}), {"a": [1]}, "a list of at least 2 items; you sent [1]."),
            (of(a={"uniqueItems": True}), {"a": [1, 1]}, "`a` must not hold the same item twice."),
            (of(a={"not": {"type": "string"}}), {"a": "x"}, "`a` must not be a string"),
            (
                of(a={"oneOf": [{"type": "integer"}, {"type": "number", "minimum": 3}]}),
                {"a": 5},
                "`a` fits more than one of the shapes",
            ),
            (
                of(
                    a={
                        "anyOf": [
                            of(k={"const": "x"}, n={"type": "integer"}),
                            of(k={"const": "y"}, m={"type": "string"}),
                        ]
                    }
                ),
                {"a": {"k": "y", "m": 1}},
                "`a.m` must be a string; you sent 1.",
            ),
            ({**OBJECT, "propertyNames": {"pattern": "^[a-z]+$"}}, {"A1": 1}, "`A1`: this key is not accepted there"),
            ({**OBJECT, "dependentRequired": {"a": ["b"]}}, {"a": 1}, "`b` is missing"),
            (
                {
                    **of(k={}, y={"type": "integer"}),
                    "if": {"properties": {"k": {"const": 1}}},
                    "then": {"required": ["y"]},
                },
                {"k": 1},
                "`y` is missing; it must be a whole number.",
            ),
            (
                TREE,
                {"tree": {"label": "a", "kids": [{"label": 5}]}},
                "`tree.kids[0].label` must be a string; you sent 5.",
            ),
            (TREE, {"tree": {"label": "a", "kid": []}}, "`tree.kid` is not accepted. Did you mean `kids`?"),
            (of(a={"items": [{"type": "integer"}], "type": "array"}), {"a": ["x"]}, "`a[0]` must be a whole number"),
            (of(a={"type": "integer", "minimum": 1, "exclusiveMinimum": True}), {"a": 1}, "greater than 1"),
            ({**OBJECT, "patternProperties": {"^n_": {"type": "number"}}}, {"n_a": "x"}, "`n_a` must be a number"),
        ],
        ids=lambda v: v if isinstance(v, str) else "",
    )
    def test_refused(self, schema: Any, sent: Any, said: str) -> None:
        """Every keyword has words."""
        error = refused(check(schema, sent))
        assert said in error
        assert error.startswith("`raw` was not run. ")

    @pytest.mark.parametrize(
        ("schema", "sent", "taken"),
        [
            (of(a={"type": "integer"}), '{"a": 5.0}', {"a": 5}),
            (of(a={"type": "array", "items": {"type": "integer"}}), '{"a": "[1, 2]"}', {"a": [1, 2]}),
            (TREE, '{"tree": "{\\"label\\": \\"a\\"}"}', {"tree": {"label": "a"}}),
            (of(a={"enum": ["Fast", "Slow"]}), '{"a": "fast"}', {"a": "Fast"}),
            (of(a=True), '{"a": "[1]", "b": null}', {"a": "[1]", "b": None}),
            ({}, "", {}),
        ],
    )
    def test_taken(self, schema: Any, sent: str, taken: Any) -> None:
        """Mended by the same rules as for functions, or taken as it is."""
        found = values(check(schema, sent))
        assert found == taken
        assert type(found.get("a")) is type(taken.get("a"))

    def test_a_handler_gets_the_values(self) -> None:
        """End to end."""

        def handler(a: int) -> int:
            return a + 1

        schema = {**of(a={"type": "integer"}), "required": ["a"]}
        raw = Tool(name="raw", description="Take.", parameters=schema, handler=handler)
        assert raw.call_json_sync('{"a": 4}').data == 5

    def test_patterns_cannot_hang(self) -> None:
        """The classic bomb, as a pattern, for names too; the answer comes at once."""
        bomb = "a" * 50_000 + "!"
        schema: Any = {**of(p={"type": "string", "pattern": "^(a+)+$"}), "patternProperties": {"^(x+)+$": {}}}
        assert "`p` must be a string" in refused(check(schema, {"p": bomb}))
        assert values(check(schema, {"x" * 50_000 + "!": 1}))

    def test_deep_data(self) -> None:
        """As deep as JSON may be, through a recursive schema."""
        text = '{"label": "x"}'
        for _ in range(40):
            text = f'{{"label": "a", "kids": [{text}]}}'
        assert values(check(TREE, f'{{"tree": {text}}}'))
        bad = text.replace('"x"', "5")
        error = check(TREE, f'{{"tree": {bad}}}').error
        assert error is not None
        assert len(error) < 600


class TestFormats:
    """Which formats are enforced does not depend on what else is installed."""

    GOOD: dict[str, list[str]] = {  # noqa: RUF012
        "date": ["2026-11-30", "2024-02-29"],
        "date-time": ["2026-11-30T18:05:00Z", "2026-11-30t18:05:00.25+01:00", "1990-12-31T23:59:60Z"],
        "time": ["18:05:00Z", "18:05:00.5-07:30"],
        "duration": ["PT5M", "P1Y2M3DT4H5M6S", "P3W", "PT0.5S"],
        "uuid": ["12345678-1234-5678-1234-567812345678"],
        "email": ["a@example.org", "a.b+c@example.org"],
        "hostname": ["example.org", "a-b.c"],
        "ipv4": ["192.0.2.1"],
        "ipv6": ["2001:db8::1", "::"],
        "uri": ["https://example.org/a?b=c#d", "mailto:a@example.org", "urn:isbn:123"],
    }
    BAD: dict[str, list[str]] = {  # noqa: RUF012
        "date": ["2026-13-01", "2025-02-29", "30.11.2026", "20261130", "2026-11-30T00:00:00Z"],
        "date-time": ["2026-11-30", "2026-11-30T18:05:00", "2026-11-30 18:05:00Z", "2026-02-30T00:00:00Z", "soon"],
        "time": ["18:05", "18:05:00", "25:00:00Z", "6 pm"],
        "duration": ["5 minutes", "P", "PT", "P1D2Y", "5M"],
        "uuid": ["12345678123456781234567812345678", "x"],
        "email": ["a", "a@", "@b", "a b@c"],
        "hostname": ["-a.b", "a_b", "", "a..b"],
        "ipv4": ["256.0.0.1", "1.2.3", "01.2.3.4"],
        "ipv6": ["192.0.2.1", ":::", "fe80::1%eth0"],
        "uri": ["example.org", "/a/b", "http://a b", ""],
    }

    def test_the_list(self) -> None:
        """The table is the whole list."""
        assert set(FORMATS) == set(self.GOOD) == set(self.BAD)

    @pytest.mark.parametrize("name", sorted(FORMATS))
    def test_enforced(self, name: str) -> None:
        """Each takes what its standard has and refuses what it has not; only strings are concerned."""
        raw = made(of(a={"format": name}))
        for text in self.GOOD[name]:
            assert values(raw.check(json.dumps({"a": text}))) == {"a": text}
        for text in self.BAD[name]:
            assert raw.check(json.dumps({"a": text})).error is not None, text
        assert values(raw.check('{"a": 5}')) == {"a": 5}

    @pytest.mark.parametrize("name", sorted(FORMATS))
    def test_the_example_that_a_model_is_given_is_accepted(self, name: str) -> None:
        """Whether the value is of another form or missing: who sends the example gets through."""
        raw = made({**of(a={"type": "string", "format": name}), "required": ["a"]})
        for text in ('{"a": "?"}', "{}"):
            if example := re.search(r"such as ([^;() ]+[^;() .])", refused(raw.check(text))):
                assert values(raw.check(json.dumps({"a": example[1]}))) == {"a": example[1]}

    @pytest.mark.parametrize("name", ["idn-email", "iri", "json-pointer", "regex", "color", "int32", "phone"])
    def test_others_are_remarks(self, name: str) -> None:
        """Formats without one clear standard are for the reader alone."""
        assert values(check(of(a={"type": "string", "format": name}), {"a": "(*"}))


def test_jsonschema_is_loaded_only_when_needed() -> None:
    """Programs without raw schemas do not pay for the library, not even for an error text."""
    code = (
        "import sys\nfrom toolsmith import Tool, tool\n"
        "@tool\ndef f(a: int) -> int:\n    'F.'\n    return a\n"
        "assert f.check('{\"a\": \"x\"}').error\nassert 'jsonschema' not in sys.modules\n"
        "Tool(name='r', description='R.', parameters={'type': 'object'}, handler=dict)\n"
        "assert 'jsonschema' in sys.modules\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=dict(os.environ), check=False
    )
    assert run.returncode == 0, run.stderr


SCALARS: Any = st.sampled_from(
    [
        {"type": "integer"},
        {"type": "string", "minLength": 1},
        {"type": ["number", "null"]},
        {"enum": ["red", "green", 1]},
        {"type": "boolean"},
        {"type": "string", "format": "date"},
        True,
        {"anyOf": [{"type": "integer"}, {"type": "string"}]},
    ]
)
SCHEMAS: Any = st.recursive(
    SCALARS,
    lambda inner: (
        inner.map(lambda s: {"type": "array", "items": s})
        | st.dictionaries(st.sampled_from("abc"), inner, max_size=3).map(
            lambda p: {"type": "object", "properties": p, "required": sorted(p)[:1], "additionalProperties": False}
        )
    ),
    max_leaves=5,
)
JSON: Any = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(-(2**53), 2**53) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abcd"), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(SCHEMAS, JSON)
def test_what_is_accepted_is_valid(schema: Any, sent: Any) -> None:
    """By the plain library's judgement: values that reach a handler are valid, and valid arguments reach it."""
    whole = of(a=schema)
    checked = check(whole, {"a": sent})
    assert checked.exception is None
    plain: Any = Draft202012Validator(whole)
    if plain.is_valid({"a": sent}):
        assert checked.values == {"a": sent} or '"format": "date"' in json.dumps(schema)
    if checked.error is None:
        assert plain.is_valid(checked.values)
    else:
        assert len(checked.error) <= 2_000
