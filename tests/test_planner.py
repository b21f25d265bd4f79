"""Which tools of a request are strict: lossless, within what the service takes, and with a reason for each."""

from __future__ import annotations

import copy
import time
from typing import Any

import pytest

from toolsmith import DefinitionError
from toolsmith.dialects import (
    CLAUDE,
    CLAUDE_LOOSE,
    COMPATIBLE,
    LOCAL,
    OPENAI,
    OPENAI_LOOSE,
    OPENAI_STRICT,
    Ceilings,
    Offered,
    Service,
    heaviest,
    plan,
    strict_report,
)
from toolsmith.messages import ToolSpec

INTEGER = {"type": "integer"}
ANYTHING: dict[str, Any] = {"type": "object", "additionalProperties": True}


def spec(name: str, *, optional: int = 0, unions: int = 0, **members: Any) -> ToolSpec:
    """A tool with so many optional and so many union-typed parameters."""
    properties = {f"o{i}": INTEGER for i in range(optional)}
    properties |= {f"u{i}": {"anyOf": [{"type": "string"}, INTEGER]} for i in range(unions)} | members
    required = [n for n in properties if not n.startswith("o")]
    schema = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    return ToolSpec(name, f"Does {name}.", schema)


def reasons(offered: tuple[Offered, ...]) -> list[str]:
    return [o.reason for o in offered]


def test_auto_is_strict_where_nothing_is_lost() -> None:
    """`strict=None`: strict, or loose with the place and the reason; the order of the tools is kept."""
    offered = plan([(spec("b"), None), (spec("a", opts=ANYTHING), None)], OPENAI)
    assert [o.spec.name for o in offered] == ["b", "a"]
    assert [o.strict for o in offered] == [True, False]
    assert offered[0].dialect is OPENAI_STRICT
    assert offered[1].dialect is OPENAI_LOOSE
    assert offered[0].reason == "strict: nothing is lost"
    assert offered[1].reason.startswith("loose: `opts` is a free-form object")


def test_false_is_never_strict() -> None:
    """Also where it would lose nothing."""
    (offered,) = plan([(spec("a"), False)], OPENAI)
    assert not offered.strict
    assert offered.reason == "loose: asked for"


def test_true_must_hold_or_is_refused_with_all_problems_at_once() -> None:
    """Each names the tool, the place, the reason and the way out."""
    tools = [(spec("first", opts=ANYTHING), True), (spec("fine"), True), (spec("second", xs={"type": "array"}), True)]
    with pytest.raises(DefinitionError) as caught:
        plan(tools, OPENAI)
    assert len(caught.value.problems) == 2
    assert caught.value.problems[0].startswith(
        "Tool 'first' cannot be strict with OpenAI: `opts` is a free-form object"
    )
    assert "leave `strict` unset" in caught.value.problems[0]
    assert "`xs` is a list of anything" in caught.value.problems[1]


def test_a_schema_that_no_mode_can_send_is_refused() -> None:
    """A reference to nowhere would be a 400 in the middle of a run."""
    broken = spec("broken", p={"$ref": "https://example.com/schema.json"})
    for strict in (None, False):
        with pytest.raises(
            DefinitionError, match=r"'broken' cannot be sent to Claude: .*`p` refers to https://example"
        ):
            plan([(broken, strict)], CLAUDE)


# --------------------------------------------------------------------------------------------------- Claude's ceilings


def test_claude_gets_six_strict_tools_unasked() -> None:
    """Far below the documented 20: whole requests were refused at 7 to 13 strict tools."""
    offered = plan([(spec(f"t{i}"), None) for i in range(9)], CLAUDE)
    assert [o.strict for o in offered] == [True] * 6 + [False] * 3
    assert (
        reasons(offered)[6] == "loose: it would make 7 strict tools, of 6 that one request to Claude is given unasked"
    )
    assert all(o.dialect is CLAUDE_LOOSE for o in offered[6:])


def test_optional_and_union_parameters_are_counted_over_the_request() -> None:
    """A tool that does not fit is passed over; a later one that fits is strict."""
    tools = [
        spec("a", optional=6),
        spec("b", optional=6),
        spec("c", optional=4),
        spec("d", unions=9),
        spec("e", unions=8),
    ]
    offered = plan([(t, None) for t in tools], CLAUDE)
    assert [o.strict for o in offered] == [True, False, True, False, True]
    assert "12 optional parameters, of 10" in offered[1].reason
    assert "9 parameters with alternatives, of 8" in offered[3].reason


def test_nested_parameters_count_too() -> None:
    """At any depth, and each definition once: the service may follow references or not."""
    inner = spec("x", optional=11).schema
    offered = plan([(spec("a", nested={"type": "array", "items": inner}), None)], CLAUDE)
    assert "11 optional parameters, of 10" in offered[0].reason


def test_tools_that_must_be_strict_get_their_place_first() -> None:
    """Wherever they stand in the list; the order of the list is kept."""
    tools: list[tuple[ToolSpec, bool | None]] = [(spec(f"t{i}"), None) for i in range(6)]
    tools += [(spec("must"), True), (spec("also"), True)]
    offered = plan(tools, CLAUDE)
    assert [o.spec.name for o in offered] == ["t0", "t1", "t2", "t3", "t4", "t5", "must", "also"]
    assert [o.strict for o in offered] == [True] * 4 + [False] * 2 + [True] * 2
    assert [o.asked for o in offered] == [False] * 6 + [True] * 2


def test_tools_that_must_be_strict_may_use_all_that_the_service_takes() -> None:
    """20 strict tools, 24 optional and 16 union parameters; beyond that it is an error, not a 400."""
    assert all(o.strict for o in plan([(spec(f"t{i}"), True) for i in range(20)], CLAUDE))
    assert plan([(spec("a", optional=24, unions=16), True)], CLAUDE)[0].strict
    with pytest.raises(
        DefinitionError, match="'t20' cannot be strict with Claude: it would make 21 strict tools, of 20"
    ):
        plan([(spec(f"t{i}"), True) for i in range(21)], CLAUDE)
    with pytest.raises(DefinitionError, match="25 optional parameters, of 24"):
        plan([(spec("a", optional=25), True)], CLAUDE)
    with pytest.raises(DefinitionError, match="17 parameters with alternatives, of 16"):
        plan([(spec("a", unions=17), True)], CLAUDE)


def test_openai_has_no_ceiling_over_a_request() -> None:
    """Its limits are those of one schema."""
    assert all(o.strict for o in plan([(spec(f"t{i}", optional=5), None) for i in range(50)], OPENAI))


def test_the_same_list_is_always_planned_alike() -> None:
    """Equal lists give equal bytes: on current Claude models a changed tool list is a refused request."""
    tools: list[tuple[ToolSpec, bool | None]] = [(spec(f"t{i}", optional=i % 4), None) for i in range(12)]
    again = [(ToolSpec(t.name, t.description, copy.deepcopy(dict(t.schema))), s) for t, s in tools]
    first, second = plan(tools, CLAUDE), plan(again, CLAUDE)
    assert [(o.strict, o.schema, o.reason) for o in first] == [(o.strict, o.schema, o.reason) for o in second]


# ------------------------------------------------------------------------------------------- when it is still too much


def test_the_heaviest_tools_are_demoted_until_half_the_weight_is_gone() -> None:
    """The request is repeated only once, so it has to fit then; those that must be strict stay."""
    big: dict[str, Any] = {f"p{i}": INTEGER for i in range(30)}
    tools: list[tuple[ToolSpec, bool | None]] = [
        (spec("small"), None),
        (spec("big", **big), None),
        (spec("must", p=INTEGER, q=INTEGER), True),
        (spec("light", p=INTEGER), None),
        (spec("loose", opts=ANYTHING), None),
    ]
    offered = plan(tools, CLAUDE)
    assert heaviest(offered) == ("big",)
    again = plan(tools, CLAUDE, demoted=heaviest(offered))
    assert [o.strict for o in again] == [True, False, True, True, False]
    assert again[1].reason == "loose: Claude found the strict schemas together too complex"
    assert [o.spec.name for o in again] == [o.spec.name for o in offered]


def test_there_may_be_nothing_to_demote() -> None:
    """Where all strict tools have to be, and where none is."""
    assert heaviest(plan([(spec("a"), True)], CLAUDE)) == ()
    assert heaviest(plan([(spec("a"), False)], CLAUDE)) == ()
    assert heaviest(()) == ()


def test_demoting_goes_on_until_nothing_is_strict() -> None:
    """Each round names at least one tool."""
    tools: list[tuple[ToolSpec, bool | None]] = [(spec(f"t{i}", optional=1), None) for i in range(6)]
    demoted: set[str] = set()
    for _ in range(6):
        offered = plan(tools, CLAUDE, demoted=demoted)
        more = heaviest(offered)
        assert (more != ()) == any(o.strict for o in offered)
        demoted |= set(more)
    assert not any(o.strict for o in plan(tools, CLAUDE, demoted=demoted))


# -------------------------------------------------------------------------------------------------------- the services


def test_compatible_servers_are_strict_only_when_asked() -> None:
    """Many ignore the flag, so the loose form, which says everything, is the better default."""
    unasked, asked = plan([(spec("a"), None), (spec("b"), True)], COMPATIBLE)
    assert not unasked.strict
    assert "often ignore strict mode" in unasked.reason
    assert asked.strict


def test_the_local_model_is_strict_without_ceilings() -> None:
    """Its grammar is made from the strict schema on this machine."""
    assert all(o.strict for o in plan([(spec(f"t{i}", optional=3, unions=3), None) for i in range(30)], LOCAL))


def test_a_service_without_strict_mode() -> None:
    """Everything is loose, and `strict=True` is refused."""
    service = Service("Nobody", None, OPENAI_LOOSE, ceilings=Ceilings())
    assert plan([(spec("a"), None)], service)[0].reason == "loose: it has no strict mode"
    with pytest.raises(DefinitionError, match="it has no strict mode"):
        plan([(spec("a"), True)], service)


def test_offered_tools_decode_what_their_mode_sends() -> None:
    """`exact` says when there is nothing to decode."""
    strict, loose = plan([(spec("a", optional=1), None), (spec("b", optional=1), False)], OPENAI)
    assert not strict.exact
    assert strict.decode({"o0": None}) == {}
    assert loose.exact
    assert loose.decode({"o0": None}) == {"o0": None}


# ------------------------------------------------------------------------------------------------------------- reports


def test_a_report_says_whether_and_why() -> None:
    """For one tool alone; what is told in words is listed too."""
    report = strict_report(spec("a", p={"type": "integer", "minimum": 1}), None, CLAUDE)
    assert report.strict
    assert str(report) == "a on Claude: strict: nothing is lost\n  note: `p` `minimum` is told in words"
    report = strict_report(spec("a", opts=ANYTHING), None, CLAUDE)
    assert not report.strict
    assert str(report).splitlines()[1].startswith("  no strict form: `opts` is a free-form object")


def test_a_report_does_not_raise() -> None:
    """It says what `strict=True` would raise."""
    report = strict_report(spec("a", opts=ANYTHING), True, OPENAI)
    assert not report.strict
    assert report.reason.startswith("refused: Tool 'a' cannot be strict with OpenAI")


def test_planning_many_tools_is_linear_and_encodes_each_once() -> None:
    """The second plan of 1,000 tools reads what the first one made."""
    tools: list[tuple[ToolSpec, bool | None]] = [(spec(f"t{i}", optional=2), None) for i in range(1_000)]
    started = time.process_time()
    first = plan(tools, OPENAI)
    encoding = time.process_time() - started
    started = time.process_time()
    second = plan(tools, OPENAI)
    assert time.process_time() - started < encoding / 2
    assert all(a.schema is b.schema for a, b in zip(first, second, strict=True))
