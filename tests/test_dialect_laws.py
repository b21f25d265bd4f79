"""The laws of dialects, over generated types and values, with two outside judges: jsonschema and llguidance.

`TOOLSMITH_EXAMPLES` sets how many examples each law is tried on (2,000 in continuous integration); with
`TOOLSMITH_SOAK` set they are other ones each time.
"""

from __future__ import annotations

import copy
import itertools
import json
import os
from collections.abc import Iterator, Sequence
from typing import Any

from as_sent import Sender, in_schema_order, places, valid, with_null_defaults, without_formats
from generated_types import Called, Drawn, functions, signatures
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st
from llguidance import LLMatcher, LLTokenizer
from wire_values import foreign_schemas, tame_schemas, wire_values

from toolsmith import DefinitionError, Tool
from toolsmith.dialects import (
    CLAUDE,
    CLAUDE_LOOSE,
    CLAUDE_STRICT,
    COMPATIBLE,
    COMPATIBLE_LOOSE,
    COMPATIBLE_STRICT,
    LOCAL,
    LOCAL_STRICT,
    OPENAI,
    OPENAI_LOOSE,
    OPENAI_STRICT,
    Dialect,
    DialectError,
    Encoded,
    plan,
)
from toolsmith.testing import judges

laws = settings(
    max_examples=int(os.environ.get("TOOLSMITH_EXAMPLES", "30")),
    derandomize="TOOLSMITH_SOAK" not in os.environ,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)

STRICT = [OPENAI_STRICT, CLAUDE_STRICT, COMPATIBLE_STRICT, LOCAL_STRICT]
LOOSE = [OPENAI_LOOSE, CLAUDE_LOOSE, COMPATIBLE_LOOSE]
NULLS = {OPENAI_STRICT.name, COMPATIBLE_STRICT.name}
TOKENS: Any = LLTokenizer("byte")
Matcher: Any = LLMatcher


def forms(drawn: Drawn, dialects: Sequence[Dialect]) -> Iterator[tuple[Dialect, Encoded]]:
    """The drawn schema in each of the modes in which it has a form."""
    for dialect in dialects:
        encoded = dialect.encode(drawn.schema)
        note(f"{dialect.name}: {json.dumps(encoded.schema)} {[str(loss) for loss in encoded.losses]}")
        if not encoded.fatal:
            yield dialect, encoded


def sent(drawn: Drawn, dialect: Dialect) -> Any:
    """The drawn arguments as the model of this mode sends them."""
    return Sender(drawn.schema, nulls=dialect.name in NULLS).send(drawn.arguments)


def same(a: Any, b: Any) -> bool:
    """Equal in JSON and in type: true is not 1, and 1 is not 1.0; the order of members does not matter."""
    return json.dumps(a, sort_keys=True) == json.dumps(b, sort_keys=True)


def grammar_accepts(schema: Any, value: Any) -> str:
    """ "" where a constrained sampler under this schema could have written the value, byte by byte; else why not."""
    matcher = Matcher(TOKENS, Matcher.grammar_from_json_schema(json.dumps(schema)), log_level=0)
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    taken = matcher.try_consume_tokens(list(text.encode()))
    return "" if taken == len(text.encode()) and matcher.is_accepting() else f"stops after {text.encode()[:taken]!r}"


@laws
@given(drawn=signatures())
def test_what_a_strict_model_sends_comes_back_unchanged(drawn: Drawn) -> None:
    """decode(as sent) is the value, in JSON and in type; absent and null stay apart unless null is the default."""
    for dialect, encoded in forms(drawn, STRICT):
        wire = sent(drawn, dialect)
        back = dialect.decode(wire, drawn.schema)
        expected = drawn.arguments
        if dialect.name in NULLS:
            expected = with_null_defaults(drawn.arguments, drawn.schema)
        assert same(back, expected), f"{dialect.name}: {wire} came back as {back}"
        assert not encoded.exact or same(wire, back)


@laws
@given(drawn=signatures())
def test_wire_schemas_take_what_is_sent(drawn: Drawn) -> None:
    """Judge: jsonschema. Each admitted value, as sent, is valid under the wire schema, loose or strict."""
    for dialect, encoded in forms(drawn, [*STRICT, *LOOSE]):
        wire = sent(drawn, dialect) if dialect.strict else drawn.arguments
        assert valid(encoded.schema, wire), dialect.name
        if not dialect.strict:
            assert same(dialect.decode(wire, drawn.schema), drawn.arguments)


@laws
@given(drawn=signatures())
def test_a_constrained_sampler_can_write_what_is_sent(drawn: Drawn) -> None:
    """Judge: llguidance. Each strict schema compiles, and the bytes of each admitted value pass its matcher."""
    for dialect, encoded in forms(drawn, STRICT):
        schema = without_formats(encoded.schema) if dialect is LOCAL_STRICT else encoded.schema  # hints only, there
        grammar = Matcher.grammar_from_json_schema(json.dumps(schema))
        assert Matcher.validate_grammar(grammar, TOKENS) == "", dialect.name
        wire = in_schema_order(sent(drawn, dialect), schema, schema)
        assert grammar_accepts(schema, wire) == "", dialect.name


@laws
@given(drawn=signatures())
def test_strict_schemas_are_inside_the_services_subset(drawn: Drawn) -> None:
    """Judge: the rules as `toolsmith.testing` reads them, which share nothing with the dialects."""
    for dialect, encoded in forms(drawn, STRICT):
        assert judges.schema_problems(encoded.schema) == []
        if dialect in (OPENAI_STRICT, COMPATIBLE_STRICT):
            assert judges.openai_strict_problems(encoded.schema) == []
        elif dialect is CLAUDE_STRICT:
            assert judges.claude_strict_problems(encoded.schema) == []
    for _, encoded in forms(drawn, LOOSE):
        assert judges.openai_problems(encoded.schema) == []


@laws
@given(drawn=signatures())
def test_encoding_leaves_its_input_alone_and_is_deterministic(drawn: Drawn) -> None:
    """The same input gives the same bytes, and stays as it was, as do the arguments that are decoded."""
    before = copy.deepcopy(drawn.schema)
    for dialect in [*STRICT, *LOOSE]:
        first, second = dialect.encode(drawn.schema), dialect.encode(copy.deepcopy(drawn.schema))
        assert drawn.schema == before
        assert json.dumps(first.schema) == json.dumps(second.schema)
        assert first == second
        wire = sent(drawn, dialect) if dialect.strict and not first.fatal else drawn.arguments
        kept = copy.deepcopy(wire)
        dialect.decode(wire, drawn.schema)
        assert wire == kept


@laws
@given(drawn=signatures())
def test_encoding_twice_changes_no_meaning(drawn: Drawn) -> None:
    """A wire schema, read as a neutral one, still takes what it took; where all is required, just as it is."""
    for dialect, encoded in forms(drawn, [*STRICT, *LOOSE]):
        wire = sent(drawn, dialect) if dialect.strict else drawn.arguments
        again = dialect.encode(encoded.schema)
        if dialect.name in NULLS or dialect in LOOSE:
            assert not again.fatal
            assert again.exact
            assert valid(again.schema, wire)
            assert json.dumps(dialect.encode(again.schema).schema) == json.dumps(again.schema)


@laws
@given(drawn=signatures(), data=st.data())
def test_what_the_wire_lets_through_is_valid(drawn: Drawn, data: st.DataObject) -> None:
    """A value that was spoilt on its way and still passes a wire schema without losses is valid when decoded."""
    for dialect, encoded in forms(drawn, STRICT):
        spoilt = spoil(sent(drawn, dialect), data)
        if encoded.losses or not valid(encoded.schema, spoilt):
            continue
        try:
            back = dialect.decode(spoilt, drawn.schema)
        except DialectError:
            continue  # a key twice, or a hole in a tuple: the model is told
        assert valid(drawn.schema, back), f"{dialect.name}: {spoilt} came back as {back}"


def spoil(value: Any, data: st.DataObject) -> Any:
    """The value with one place in it replaced, removed or doubled."""
    value = copy.deepcopy(value)
    path = data.draw(st.sampled_from(sorted(places(value), key=repr)))
    junk = data.draw(st.sampled_from([None, True, 0, 1.5, "red", "omit", "x", [], {}, {"omit": True}, {"key": "a"}]))
    if not path:
        return junk
    holder = value
    for step in path[:-1]:
        holder = holder[step]
    match data.draw(st.sampled_from(["replace", "remove", "double"])):
        case "replace":
            holder[path[-1]] = junk
        case "remove":
            del holder[path[-1]]
        case _ if isinstance(holder, list):
            holder.append(copy.deepcopy(holder[path[-1]]))  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
        case _:
            holder["another"] = junk
    return value


@laws
@given(drawn=signatures(), data=st.data())
def test_what_a_sampler_may_write_is_valid(drawn: Drawn, data: st.DataObject) -> None:
    """Whatever a strict wire schema without losses lets a model write is valid when decoded: no tighter, no looser."""
    for dialect, encoded in forms(drawn, STRICT):
        if encoded.losses:
            continue
        wire = data.draw(wire_values(encoded.schema))
        try:
            back = dialect.decode(wire, drawn.schema)
        except DialectError:
            continue  # a key twice, or a hole in a tuple: the model is told
        assert valid(drawn.schema, back), f"{dialect.name}: {wire} came back as {back}"


@laws
@given(schema=foreign_schemas())
def test_no_schema_is_too_odd(schema: dict[str, Any]) -> None:
    """Any JSON is encoded, if only into fatal losses; what is not refused is inside the service's subset."""
    kept = copy.deepcopy(schema)
    for dialect in [*STRICT, *LOOSE]:
        encoded = dialect.encode(schema)
        note(f"{dialect.name}: {json.dumps(encoded.schema)} {[str(loss) for loss in encoded.losses]}")
        assert schema == kept
        json.dumps(encoded.schema, allow_nan=False)
        dialect.decode({"a": None, "b": [{"key": "a", "value": 1}]}, schema)
        if encoded.fatal:
            continue
        if dialect is CLAUDE_STRICT:
            assert judges.claude_strict_problems(encoded.schema) == []
        elif dialect in (OPENAI_STRICT, COMPATIBLE_STRICT):
            assert judges.openai_strict_problems(encoded.schema) == []
        else:
            assert judges.schema_problems(encoded.schema) == []
            assert "anyOf" not in encoded.schema


@laws
@given(schema=tame_schemas(), data=st.data())
def test_what_a_sampler_may_write_under_a_foreign_schema_is_valid(schema: dict[str, Any], data: st.DataObject) -> None:
    """The same for schemas from elsewhere, which pydantic did not make."""
    for dialect in STRICT:
        encoded = dialect.encode(schema)
        note(f"{dialect.name}: {json.dumps(encoded.schema)} {[str(loss) for loss in encoded.losses]}")
        if encoded.losses:
            continue
        wire = data.draw(wire_values(encoded.schema))
        try:
            back = dialect.decode(wire, schema)
        except DialectError:
            continue
        assert valid(schema, back), f"{dialect.name}: {wire} came back as {back}"


@laws
@given(called=functions())
def test_a_function_receives_the_same_in_every_mode(called: Called) -> None:
    """Through the public road: what the model of a mode sends reaches the function as the neutral arguments do."""
    made = Tool(called.function, name="give_back")
    plain = made.check(json.dumps(called.arguments))
    assert plain.error is None
    expected = made.invoke(plain.values, None)
    for service, strict in itertools.product((OPENAI, CLAUDE, COMPATIBLE, LOCAL), (True, False)):
        try:
            (offered,) = plan([(made.spec, strict)], service)
        except DefinitionError:
            continue
        note(f"{service.name}: {offered.reason} {json.dumps(offered.schema)}")
        wire: Any = called.arguments
        if offered.strict:
            wire = Sender(made.input_schema, nulls=offered.dialect.name in NULLS).send(called.arguments)
        checked = made.check(json.dumps(wire), offered)
        assert checked.error is None, f"{service.name}: {wire}"
        received = made.invoke(checked.values, None)
        assert repr(received) == repr(expected), f"{service.name}: {wire}"
