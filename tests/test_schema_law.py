"""The law of the contract, over generated functions: what the schema accepts is what the function accepts.

`TOOLSMITH_EXAMPLES` sets how many examples each law is tried on (2,000 in continuous integration); with
`TOOLSMITH_SOAK` set they are other ones each time.
"""

from __future__ import annotations

import dataclasses
import json
import os
from typing import Any, cast

from as_sent import Sender
from generated_functions import Function, functions
from hypothesis import HealthCheck, assume, given, note, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pydantic import BaseModel

from toolsmith import Tool
from toolsmith.dialects import CLAUDE, COMPATIBLE, COMPATIBLE_STRICT, LOCAL, OPENAI, OPENAI_STRICT, plan

laws = settings(
    max_examples=int(os.environ.get("TOOLSMITH_EXAMPLES", "60")),
    derandomize="TOOLSMITH_SOAK" not in os.environ,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)


NULLS = {OPENAI_STRICT.name, COMPATIBLE_STRICT.name}
Judge: Any = Draft202012Validator


def same(a: Any, b: Any) -> bool:
    """Equal in value and in type, at every depth: 5 is not 5.0, True is not 1, a member is not its value."""
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        one, other = cast("dict[Any, Any]", a), cast("dict[Any, Any]", b)
        return one.keys() == other.keys() and all(same(v, other[k]) for k, v in one.items())
    if isinstance(a, (list, tuple)):
        items, others = cast("list[Any]", a), cast("list[Any]", b)
        return len(items) == len(others) and all(map(same, items, others))
    if isinstance(a, BaseModel):
        return same(a.__dict__, b.__dict__) and same(a.model_extra, b.model_extra)
    if dataclasses.is_dataclass(a) and not isinstance(a, type):
        return all(same(getattr(a, f.name), getattr(b, f.name)) for f in dataclasses.fields(a))
    return bool(a == b)


@laws
@given(drawn=functions())
def test_what_the_types_admit_arrives_unchanged(drawn: Function) -> None:
    """Every value that the function's types admit passes the schema and reaches the function, in value and type."""
    made = Tool(drawn.call)
    text = json.dumps(drawn.sent)
    note(f"{json.dumps(made.input_schema)}")
    errors = [e.message for e in Judge(made.input_schema).iter_errors(drawn.sent)]
    assert not errors
    checked = made.check(text)
    assert checked.error is None
    assert not checked.notes
    assert same(made.invoke(checked.values, None), drawn.received)


@laws
@given(drawn=functions(), data=st.data())
def test_the_schema_accepts_exactly_what_the_function_accepts(drawn: Function, data: st.DataObject) -> None:
    """Whatever JSON is sent, jsonschema and `check` agree; repairs, which tell of themselves, set aside."""
    made = Tool(drawn.call)
    schema = made.input_schema
    sent = data.draw(_changed(drawn.sent))
    note(f"{json.dumps(schema)} {json.dumps(sent)}")
    by_schema = Judge(schema).is_valid(sent)
    checked = made.check(json.dumps(sent))
    by_function = checked.error is None and not checked.notes
    if drawn.formatted and by_schema:
        return  # a text that is no date fits the schema, and is refused
    note(str(checked.error))
    assert by_function == by_schema


@laws
@given(drawn=functions())
def test_what_the_types_admit_arrives_unchanged_through_every_service(drawn: Function) -> None:
    """Sent as a service's model sends it, strict or loose, each value reaches the function as if sent directly."""
    assume("größe" not in drawn.received)  # Claude takes no such names: the sender would have to rename it
    made = Tool(drawn.call)
    spec = made.spec
    for service in (OPENAI, CLAUDE, LOCAL, COMPATIBLE):
        for strict in (None, False):
            (offered,) = plan([(spec, strict)], service)
            sender = Sender(made.input_schema, nulls=offered.dialect.name in NULLS)
            sent = sender.send(drawn.sent) if offered.strict else drawn.sent
            note(f"{offered.dialect.name}: {json.dumps(offered.schema)} {json.dumps(sent)}")
            checked = made.check(json.dumps(sent), offered)
            assert checked.error is None
            assert same(made.invoke(checked.values, None), drawn.received)


_ANY = st.sampled_from(
    [None, True, False, 0, 1, 2, 9, 1.0, 2.5, -1, 10**30, "", "red", "1", "a", "AB", "two", [], [1], {}, {"a": 1}]
)


@st.composite
def _changed(draw: st.DrawFn, value: Any) -> Any:
    """A value of which one part, somewhere, is something else, gone, or one too many."""
    if isinstance(value, dict) and draw(st.integers(0, 4)):
        members = dict(cast("dict[str, Any]", value))
        how = draw(st.sampled_from(["inside", "inside", "inside", "more", "less"]))
        if how == "more" or not members:
            members[draw(st.sampled_from(["surprise", "a", "n", "N", "1", "01", "label", "red"]))] = draw(_ANY)
            return members
        name = draw(st.sampled_from(sorted(members)))
        if how == "less":
            del members[name]
        else:
            members[name] = draw(_changed(members[name]))
        return members
    if isinstance(value, list) and value and draw(st.integers(0, 4)):
        items = list(cast("list[Any]", value))
        index = draw(st.integers(0, len(items) - 1))
        match draw(st.sampled_from(["inside", "more", "less", "twice"])):
            case "more":
                items.append(draw(_ANY))
            case "less":
                del items[index]
            case "twice":
                items.append(items[index])
            case _:
                items[index] = draw(_changed(items[index]))
        return items
    return draw(_ANY)
