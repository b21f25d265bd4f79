"""What the judges of schemas refuse, keyword by keyword, and how a strict model writes a value."""

from __future__ import annotations

import json
from typing import Any

import pytest

from toolsmith import Agent, tool
from toolsmith._simulate.strict_form import in_strict_form
from toolsmith.errors import ProviderError
from toolsmith.testing import Api, ScriptedModel, call, raw_call, say
from toolsmith.testing.judges import (
    claude_counts,
    claude_strict_problems,
    openai_problems,
    openai_strict_problems,
    schema_problems,
)

Schema = dict[str, Any]
TEXT: Schema = {"type": "string"}
NULL: Schema = {"type": "null"}
POINTER: Schema = {"$ref": "#/$defs/P"}
BOTH, CLAUDE, OPENAI, NONE = "both", "claude", "openai", "none"


def closed(required: list[str] | None = None, /, **members: Schema) -> Schema:
    """A closed object; every member is required unless said otherwise."""
    needed = list(members) if required is None else required
    return {"type": "object", "properties": members, "required": needed, "additionalProperties": False}


def chain(levels: int) -> Schema:
    """Objects inside objects."""
    return closed(a=chain(levels - 1)) if levels > 1 else closed(a=TEXT)


# a schema, and whose strict mode takes it
CASES: dict[str, tuple[Schema, str]] = {
    "scalars": (closed(a=TEXT, b={"type": "integer"}, c={"type": "number"}, d={"type": "boolean"}), BOTH),
    "no members": (closed(), BOTH),
    "nullable": (closed(a={"anyOf": [TEXT, {"type": "null"}]}), BOTH),
    "type list": (closed(a={"type": ["string", "null"]}), BOTH),
    "enum": (closed(a={"type": "string", "enum": ["x", "y"]}), BOTH),
    "const": (closed(a={"const": 1}), BOTH),
    "list": (closed(a={"type": "array", "items": TEXT}), BOTH),
    "nested": (closed(a=closed(b=TEXT)), BOTH),
    "reference": ({**closed(a={"$ref": "#/$defs/P"}), "$defs": {"P": closed(x=TEXT)}}, BOTH),
    "title and description": (closed(a={"type": "string", "title": "A", "description": "words"}), BOTH),
    "date": (closed(a={"type": "string", "format": "date-time"}), BOTH),
    "pattern": (closed(a={"type": "string", "pattern": "^[a-z]+$"}), BOTH),
    "optional member": (closed([], a=TEXT), CLAUDE),
    "default": (closed(a={"type": "string", "default": "x"}), CLAUDE),
    "uri": (closed(a={"type": "string", "format": "uri"}), CLAUDE),
    "allOf": (closed(a={"allOf": [TEXT]}), CLAUDE),
    "one item at least": (closed(a={"type": "array", "items": TEXT, "minItems": 1}), BOTH),
    "two items at least": (closed(a={"type": "array", "items": TEXT, "minItems": 2}), OPENAI),
    "items at most": (closed(a={"type": "array", "items": TEXT, "maxItems": 3}), OPENAI),
    "bounds": (closed(a={"type": "integer", "minimum": 1, "exclusiveMaximum": 9, "multipleOf": 2}), OPENAI),
    "lengths": (closed(a={"type": "string", "minLength": 1, "maxLength": 9}), OPENAI),
    "word boundary": (closed(a={"type": "string", "pattern": r"\bx"}), OPENAI),
    "recursion": ({**closed(a=POINTER), "$defs": {"P": closed(n={"anyOf": [POINTER, NULL]})}}, OPENAI),
    "recursion through the root": (closed(a={"anyOf": [{"$ref": "#"}, NULL]}), OPENAI),
    "ten levels": (chain(10), BOTH),
    "eleven levels": (chain(11), CLAUDE),
    "open object": ({"type": "object", "properties": {"a": TEXT}, "required": ["a"]}, NONE),
    "open object inside": (closed(a={"type": "object", "properties": {}}), NONE),
    "dict": (closed(a={"type": "object", "additionalProperties": TEXT}), NONE),
    "untyped": (closed(a={}), NONE),
    "untyped items": (closed(a={"type": "array", "items": {}}), NONE),
    "no items": (closed(a={"type": "array"}), NONE),
    "tuple": (closed(a={"type": "array", "prefixItems": [TEXT], "items": False}), NONE),
    "set": (closed(a={"type": "array", "items": TEXT, "uniqueItems": True}), NONE),
    "oneOf": (closed(a={"oneOf": [TEXT, {"type": "null"}]}), NONE),
    "not": (closed(a={"type": "string", "not": {"const": "x"}}), NONE),
    "if": (closed(a={"type": "string", "if": {}, "then": {}}), NONE),
    "examples": (closed(a={"type": "string", "examples": ["x"]}), NONE),
    "lookahead": (closed(a={"type": "string", "pattern": "^(?!x)"}), NONE),
    "unknown format": (closed(a={"type": "string", "format": "byte"}), NONE),
    "enum of objects": (closed(a={"enum": [{"x": 1}]}), NONE),
    "union at the root": ({**closed(a=TEXT), "anyOf": [{"type": "object"}]}, NONE),
    "reference with neighbours": ({**closed(a={**POINTER, "type": "string"}), "$defs": {"P": TEXT}}, NONE),
    "described reference": ({**closed(a={"$ref": "#/$defs/P", "description": "x"}), "$defs": {"P": TEXT}}, CLAUDE),
    "reference to nowhere": (closed(a={"$ref": "#/$defs/P"}), NONE),
    "no object": (TEXT, NONE),
    "no schema": (closed(a={"type": "text"}), NONE),
    "ghost": ({**closed(a=TEXT), "required": ["a", "b"]}, NONE),
    "first keys": (closed(a={"anyOf": [closed(x=TEXT, y=TEXT), closed(x=TEXT, z=TEXT)]}), CLAUDE),
    "told apart by a constant": (closed(a={"anyOf": [closed(k={"const": "a"}), closed(k={"const": "b"})]}), BOTH),
    "told apart by a name": (closed(a={"anyOf": [closed(x=TEXT), closed(y=TEXT)]}), BOTH),
    "a parameter named like a keyword": (closed(default=TEXT, oneOf=TEXT, title=TEXT), BOTH),
    "1001 enum values": (closed(a={"type": "string", "enum": [f"{n}" for n in range(1001)]}), CLAUDE),
    "a huge enum": (closed(a={"type": "string", "enum": ["x" * 99 + f"{n}" for n in range(251)]}), CLAUDE),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_whose_strict_mode_takes_it(name: str) -> None:
    """The two subsets differ, and each judge keeps to its own."""
    schema, takers = CASES[name]
    assert (claude_strict_problems(schema) == []) == (takers in (BOTH, CLAUDE)), claude_strict_problems(schema)
    assert (openai_strict_problems(schema) == []) == (takers in (BOTH, OPENAI)), openai_strict_problems(schema)


def test_a_problem_says_where() -> None:
    """The path into the schema, so that a red test points at the parameter."""
    assert openai_strict_problems(closed(a=closed(b={"type": "string", "default": "x"}))) == [
        (("properties", "a", "properties", "b"), "'default' is not permitted.")
    ]


def test_parameters_are_an_object() -> None:
    """JSON Schema knows `true`, the schema of everything; no service takes it for a tool's parameters."""
    anything: Any = True
    for judge in (schema_problems, openai_problems, openai_strict_problems, claude_strict_problems):
        assert judge(anything) == [((), "JSON schema is invalid: true is not of type 'object'")]


def test_without_strict_much_more_goes() -> None:
    """JSON Schema with an object at its root; OpenAI wants `items` in every array, also in a tuple's."""
    loose: Schema = {
        "type": "object",
        "properties": {"a": {}, "b": {"oneOf": [TEXT]}, "c": {"type": "array", "items": {}}},
    }
    assert (schema_problems(loose), openai_problems(loose)) == ([], [])
    bare: Schema = {"type": "object", "properties": {"a": {"type": "array", "prefixItems": [TEXT]}}}
    assert schema_problems(bare) == []
    assert openai_problems(bare) == [(("properties", "a"), "array schema missing items.")]


def test_what_counts_against_claudes_ceilings() -> None:
    """Optional and union-typed parameters, nested ones too, but not what lies behind a reference."""
    union = {"type": ["string", "null"]}
    assert claude_counts(closed([], a=TEXT, b=closed([], c=union))) == (3, 1)
    assert claude_counts({**closed(a={"$ref": "#/$defs/P"}), "$defs": {"P": closed([], x=union)}}) == (0, 0)


PAIRS = {"type": "array", "items": closed(key=TEXT, value={"type": "integer"})}
NUMBER: Schema = {"type": "integer"}
NULLABLE = {"anyOf": [{"type": "integer"}, {"type": "null"}]}


WRITTEN: list[tuple[Schema, Any, Any]] = [
    (closed(q=TEXT, n=NULLABLE), {"q": "x"}, {"q": "x", "n": None}),
    (closed(q=TEXT, n=NULLABLE), {"n": 3, "q": "x"}, {"q": "x", "n": 3}),
    (closed(q=TEXT), {}, {}),
    (closed(q=TEXT), {"q": "x", "made_up": 1}, {"q": "x", "made_up": 1}),
    (closed(d=PAIRS), {"d": {"a": 1}}, {"d": [{"key": "a", "value": 1}]}),
    (closed(p=closed(x=TEXT, y=NULLABLE)), {"p": {"x": "1"}}, {"p": {"x": "1", "y": None}}),
    (closed(t=closed(**{"0": TEXT, "1": NULLABLE})), {"t": ["a", 2]}, {"t": {"0": "a", "1": 2}}),
    (closed(u={"anyOf": [closed(x=NULLABLE), {"type": "null"}]}), {"u": {}}, {"u": {"x": None}}),
    (closed(u={"anyOf": [PAIRS, {"type": "null"}]}), {"u": {"a": 1}}, {"u": [{"key": "a", "value": 1}]}),
    ({**closed(r={"$ref": "#/$defs/P"}), "$defs": {"P": closed(y=NULLABLE)}}, {"r": {}}, {"r": {"y": None}}),
    (closed(s={"type": "array", "items": closed(y=NULLABLE)}), {"s": [{}]}, {"s": [{"y": None}]}),
]


OMIT = closed(["x"], x={"anyOf": [{"type": ["integer", "null"]}, {"type": "string", "const": "omit"}]})
OMIT["properties"]["x"]["description"] = 'default: 3, send "omit" for it'
IN_ANY_ORDER = {"anyOf": [closed(item_1=NUMBER, item_2=NUMBER), closed(item_2=TEXT, item_1=TEXT)]}
KEPT_APART = {"anyOf": [PAIRS, closed(entries=PAIRS)]}
TUPLE_OR_MAPPING = {"anyOf": [closed(item_1=NUMBER, item_2=NUMBER), PAIRS]}
MORE_WRITTEN: list[tuple[Schema, Any, Any]] = [
    (OMIT, {}, {"x": "omit"}),
    (OMIT, {"x": None}, {"x": None}),
    (closed(u=IN_ANY_ORDER), {"u": ["a", "b"]}, {"u": {"item_2": "b", "item_1": "a"}}),
    (closed(u=IN_ANY_ORDER), {"u": [1, 2]}, {"u": {"item_1": 1, "item_2": 2}}),
    (closed(u=KEPT_APART), {"u": [{"key": "a", "value": 1}]}, {"u": [{"key": "a", "value": 1}]}),
    (closed(u=KEPT_APART), {"u": {"a": 1}}, {"u": {"entries": [{"key": "a", "value": 1}]}}),
    (closed(u=KEPT_APART), {"u": {}}, {"u": {"entries": []}}),
    (closed(u=TUPLE_OR_MAPPING), {"u": [1, 2]}, {"u": {"item_1": 1, "item_2": 2}}),
    (closed(u=TUPLE_OR_MAPPING), {"u": {"item_1": 1, "item_2": 2}},
     {"u": [{"key": "item_1", "value": 1}, {"key": "item_2", "value": 2}]}),
    (closed(t=closed(item_1=TEXT, rest={"type": "array", "items": NUMBER})), {"t": ["a", 1, 2]},
     {"t": {"item_1": "a", "rest": [1, 2]}}),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "value", "written"), WRITTEN + MORE_WRITTEN)
def test_a_strict_model_writes_what_its_schema_has(schema: Schema, value: Any, written: Any) -> None:
    """Optional parameters as null, dicts as pairs, tuples as objects, members in the schema's order."""
    assert json.dumps(in_strict_form(value, schema, fill=True)) == json.dumps(written)


def test_claude_leaves_out_what_it_need_not_say() -> None:
    """Claude's strict mode has optional parameters, so nothing is filled in."""
    assert in_strict_form({"q": "x"}, closed(["q"], q=TEXT, n=TEXT), fill=False) == {"q": "x"}


@pytest.mark.parametrize(("api", "strict", "sent"), [
    ("openai", True, '{"q":"x","n":null}'),
    ("openai-chat", True, '{"q":"x","n":null}'),
    ("openai", False, '{"q":"x"}'),
])  # fmt: skip
def test_calls_are_written_for_the_mode_that_is_offered(api: Api, strict: bool, sent: str) -> None:
    """`call("find", q="x")` is what the function gets; on the wire it is what that mode's model would write."""
    function = {"name": "find", "parameters": closed(q=TEXT, n=NULLABLE), "strict": strict}
    body: dict[str, Any] = {"model": "gpt-6-astra"}
    if api == "openai":
        body |= {"input": "x", "tools": [{"type": "function", **function}]}
    else:
        message = {"role": "user", "content": "x"}
        body |= {"messages": [message], "tools": [{"type": "function", "function": function}]}
    path = "/v1/responses" if api == "openai" else "/v1/chat/completions"
    model = ScriptedModel([call("find", q="x"), raw_call("find", '{"q": "x"}'), say("")])
    assert json.dumps(sent) in model(path, body)[1].decode()
    assert json.dumps('{"q": "x"}') in model(path, body)[1].decode()


def test_a_script_asks_for_nothing_that_a_strict_model_cannot_write() -> None:
    """A call that contradicts the offered schema is a mistake in the test: it says so, and how it is meant."""

    def f(x: int) -> int:
        return x

    agent = Agent(ScriptedModel([call("f", x="many")]).provider("openai"), tools=[tool(strict=True)(f)])
    with pytest.raises(ProviderError, match=r"no model bound to its schema sends this: at \['x'\].*raw_call\('f'"):
        agent.run_sync("go")
