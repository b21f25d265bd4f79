"""The mistakes that models make: each text that comes of them passes its grade, and no tool is ever called.

Rules guarded: whatever a tool's schema is, and in whatever form a service sends its arguments, what a model reads names
the argument, what is accepted and the next step; and it is word for word what a run sends.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
import simulated_tools
from generated_functions import Function, functions
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from own_modules import forgotten
from pydantic import AfterValidator, Field

from toolsmith import Agent, ConfigError, DefinitionError, Tool, ToolRegistry, tool
from toolsmith._arguments.shapes import matches
from toolsmith._feedback import Feedback
from toolsmith._simulate.grade import LONGEST, faults
from toolsmith._simulate.patterns import NoString, string_for
from toolsmith._simulate.places import Slip
from toolsmith._simulate.report import Answer, ProviderName
from toolsmith.testing import MISTAKES, ScriptedModel, Simulation, raw_call, say, simulate, turn

CONFORMANCE = Path(__file__).parent / "conformance"
EXAMPLES = Path(__file__).parent.parent / "examples"
FORMS: tuple[tuple[ProviderName | None, bool | None], ...] = (
    (None, None),
    ("anthropic", True),
    ("anthropic", False),
    ("openai", True),
    ("openai-chat", False),
    ("local", None),
)


def by_mistake(found: Simulation, name: str) -> list[Answer]:
    return [a for a in found.answers if a.mistake == name]


# ---- every text passes


@pytest.mark.parametrize(("provider", "strict"), FORMS)
@pytest.mark.parametrize("tool", simulated_tools.TOOLS, ids=lambda t: t.name)
def test_every_text_passes(tool: Tool[..., Any], provider: ProviderName | None, strict: bool | None) -> None:
    """Thirty tools of all shapes, in every form; they would raise `Called` if anybody called them."""
    try:
        found = simulate(tool, provider=provider, strict=strict)
    except DefinitionError:
        assert tool.name in ("anything", "recursive"), "this one has a strict form"
        return
    assert found.ok, found
    assert {a.mistake for a in found.answers} | set(found.not_applicable[tool.name]) == {m.name for m in MISTAKES}


def example_tools() -> Iterator[tuple[str, Tool[..., Any]]]:
    for path in sorted(EXAMPLES.glob("[0-9]*.py")):
        spec = importlib.util.spec_from_file_location(f"example_{path.stem}", path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
        for value in list(vars(module).values()):
            for one in value if isinstance(value, ToolRegistry) else [value]:
                if isinstance(one, Tool):
                    yield path.stem, one


def test_every_text_of_the_examples_passes() -> None:
    """The tools of the examples, as an agent would offer them to each service."""
    tools = dict.fromkeys(example_tools())
    assert len(tools) > 10
    for place, one in tools:
        for provider in ("anthropic", "openai"):
            found = simulate(one, provider=provider)
            assert found.ok, f"{place}: {found}"


@pytest.mark.parametrize(("provider", "strict"), FORMS)
def test_every_text_about_a_type_of_the_docs_passes(
    provider: ProviderName | None, strict: bool | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """docs/simulate.md says that all of the framework's own texts pass: here for each annotation of docs/types.md."""
    monkeypatch.setattr(sys, "path", [str(EXAMPLES.parent / "docs"), *sys.path])
    types: Any = importlib.import_module("_types")
    more = ('Decimal = Decimal("0")', "Decimal | None = None", "date | None = None", "Annotated[Decimal, Field(le=10)]")
    for annotation in (*(a for rows in types.SECTIONS.values() for a in rows), *more):
        names: dict[str, Any] = dict(types._NAMES)
        exec(f"def f(x: {annotation}):\n    'Do it.'", names)
        with suppress(DefinitionError):  # no strict form
            found = simulate(Tool(names["f"]), provider=provider, strict=strict)
            assert not found.failed, f"{annotation}: {found}"


@pytest.mark.parametrize(
    ("annotation", "mistake"),
    [
        (date | None, "date-format"),
        (timedelta | None, "date-format"),
        (Decimal, "quoted-number"),
        (Decimal, "empty-string"),
        (Decimal | None, "empty-string"),
    ],
)
def test_optional_dates_and_decimals_are_got_wrong_too(annotation: Any, mistake: str) -> None:
    """A type that is one of several alternatives is no reason to leave a mistake out."""

    def f(x: Any = None) -> None:
        raise simulated_tools.Called

    f.__annotations__["x"] = annotation
    found = simulate(Tool(f, description="Do it."))
    assert found.ok, found
    assert mistake in {a.mistake for a in found.answers if a.outcome == "told"}


def test_a_number_or_a_word_is_one_of_either() -> None:
    """A number that is none of the listed ones is told the numbers; the words beside them need not be in that text."""

    def f(x: Literal[1, 9] | Literal["all"]) -> None:
        raise simulated_tools.Called

    found = simulate(Tool(f, description="Do it."))
    assert found.ok, found
    assert "out-of-range" in {a.mistake for a in found.answers}


@pytest.mark.filterwarnings("ignore::toolsmith.DefinitionWarning")
def test_every_text_of_the_conformance_functions_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever those 263 cases make a tool of: valid arguments can be made of each, and all texts pass."""
    monkeypatch.setattr(sys, "path", [str(CONFORMANCE), *sys.path])
    with forgotten(CONFORMANCE):
        found: list[Any] = importlib.import_module("cases").CASES
        functions = {id(case.fn): case.fn for case in found}
        assert len(functions) > 100
        for function in functions.values():
            try:
                sent = simulate(Tool(function, name="probe", description="A probe."))
            except DefinitionError:
                continue  # some of the cases are no tools, and say so
            assert sent.ok, sent


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(functions(), st.sampled_from(FORMS))
def test_a_text_of_any_tool_passes(function: Function, form: tuple[ProviderName | None, bool | None]) -> None:
    """Drawn signatures; their own valid arguments where the schema alone gives none."""
    made = Tool(function.call, name="probe", description="A probe.")
    try:
        found = simulate(made, provider=form[0], strict=form[1])
    except DefinitionError:
        return  # no strict form
    assert not found.failed, found
    assert found.answers or found.unmade


def test_there_are_24_mistakes_and_each_is_made() -> None:
    """Each kind has a name, a public source, and is made of at least one tool."""
    assert len(MISTAKES) == 24 == len({m.name for m in MISTAKES})
    assert all(re.fullmatch(r"[\w.-]+/[\w.-]+#\d+", m.source) for m in MISTAKES)
    sent = {a.mistake for a in simulate(simulated_tools.TOOLS).answers}
    assert sent == {m.name for m in MISTAKES}


# ---- it is what a run sends


@tool
def find_room(
    city: Annotated[str, Field(min_length=2)],
    guests: Annotated[int, Field(ge=1, le=8)] = 2,
    sort: Literal["price", "stars"] = "price",
    prices: dict[str, float] | None = None,
) -> str:
    """Find a room."""
    return "(the result)"


APIS: tuple[Literal["anthropic", "openai", "openai-chat"], ...] = ("anthropic", "openai", "openai-chat")


@pytest.mark.parametrize("api", APIS)
def test_the_text_is_word_for_word_what_a_run_sends(api: Literal["anthropic", "openai", "openai-chat"]) -> None:
    """Each mistake once more, by a scripted model in a real run: the next request holds the same text.

    All of them with one service, every third one with the others.
    """
    found = simulate(find_room, provider=api)
    assert len({a.mistake for a in found.answers}) > 15
    ways = {(a.mistake, a.outcome, a.text.split(";")[0]): a for a in found.answers if a.text}
    for answer in list(ways.values())[:: 1 if api == "openai" else 3]:
        cut = "length limit" in answer.text
        step = raw_call(answer.called, answer.sent)
        model = ScriptedModel([turn(step, stop="length") if cut else step, say("done")])
        # Broken JSON can come from Claude in pieces only: whole answers have an object there.
        with Agent(model.provider(api), tools=[find_room]).run_stream_sync("go") as stream:
            assert list(stream)
        assert json.dumps(answer.text, ensure_ascii=False) in model.requests[1].raw.decode(), answer


def test_nothing_is_called(caplog: pytest.LogCaptureFixture) -> None:
    """Not even by mistakes that the tool takes."""
    called: list[Any] = []

    def note(text: str) -> None:
        """Note something."""
        called.append(text)

    found = simulate(note)
    assert [a.sent for a in found.taken] == ['{"text": ""}']
    assert not called
    assert not caplog.records


# ---- forms


def test_arguments_are_sent_in_the_form_of_the_service() -> None:
    """In OpenAI's strict mode what is left out is null and a dict is a list of pairs; Claude leaves it out."""
    (openai,) = by_mistake(simulate(find_room, provider="openai", strict=True), "missing")
    assert json.loads(openai.sent) == {"guests": 2, "sort": "price", "prices": [{"key": "key_1", "value": 1.5}]}
    (own,) = by_mistake(simulate(find_room), "missing")
    assert json.loads(own.sent) == {"guests": 2, "sort": "price", "prices": {"key_1": 1.5}}
    assert openai.text == own.text


def test_names_that_a_service_does_not_take_are_told_as_the_model_knows_them() -> None:
    """Claude's names are ASCII: `größe` goes as `groe`, and a model that has never seen the one reads of the other.

    Without strict mode that holds for the names at the top only.
    """
    for strict, inner in ((True, "hohe"), (False, "höhe")):
        found = simulate(simulated_tools.umlauts, provider="anthropic", strict=strict)
        assert found.ok, found
        assert [a.text.split(" Correct")[0] for a in by_mistake(found, "missing")][:3] == [
            "`umlauts` was not run. `groe` is missing; it must be a whole number.",
            "`umlauts` was not run. `schranke` is missing; it must be a list whose items are each an object with "
            f"`{inner}` and optionally `tiefe`.",
            f"`umlauts` was not run. `schranke[0].{inner}` is missing; it must be a whole number.",
        ]
    schema = Tool(simulated_tools.umlauts).to_anthropic(strict=True)["input_schema"]
    assert list(schema["properties"]) == ["groe", "schranke", "farbe"]
    (first, *_) = by_mistake(simulate(simulated_tools.umlauts), "missing")
    assert "`größe` is missing" in first.text


def test_null_is_no_mistake_where_it_stands_for_left_out() -> None:
    """`guests: null` in OpenAI's strict mode leaves it out; nowhere else."""
    outcomes = {
        form: [a.outcome for a in by_mistake(simulate(find_room, provider=form[0], strict=form[1]), "null")]
        for form in FORMS
    }
    # city, guests, sort and the value of a price
    assert outcomes["openai", True] == ["told", "meant", "meant", "told"]
    assert outcomes[None, None] == outcomes["anthropic", True] == ["told", "told", "told", "told"]


def test_a_tool_that_coerces_mends() -> None:
    """`coerce=True`: a number in quotes is read as one, and the note says so."""

    @tool(coerce=True)
    def wait(seconds: Annotated[int, Field(le=60)], loud: bool = False) -> None:
        """Wait."""
        raise simulated_tools.Called

    found = simulate(wait)
    assert found.ok, found
    assert next((a.outcome, a.text) for a in by_mistake(found, "quoted-number")) == (
        "mended",
        '(the result)\n\nNote: `seconds` was "1" and was read as 1.',
    )


# ---- what the author is told


def test_mistakes_that_a_schema_lets_through_are_told_with_advice() -> None:
    """No bound, no least length: the function would get it."""

    def wait(seconds: int, why: str) -> None:
        """Wait."""
        raise simulated_tools.Called

    found = simulate(wait)
    assert found.ok, "the texts are all right, the schema is another question"
    assert [a.advice for a in found.taken] == [
        "`seconds` has no upper bound: one in the schema, as Field(le=...), would catch a wrong unit",
        "`why` may be empty: Field(min_length=1) would catch it, where empty makes no sense",
    ]
    assert set(found.not_applicable["wait"]) >= {"near-enum", "date-format", "wrong-branch", "scalar-for-list"}


def mirrored(text: str) -> str:
    if text != text[::-1] or len(text) < 4:
        raise ValueError("The word must read the same backwards.")
    return text


def palindrome(word: Annotated[str, AfterValidator(mirrored)], times: int = 1) -> None:
    """Take a palindrome."""
    raise simulated_tools.Called


def test_without_valid_arguments_nothing_is_sent_and_it_is_said() -> None:
    """What only a validator of the tool's own knows cannot be made of a schema."""
    found = simulate(palindrome)
    assert not found.ok
    assert not found.answers
    assert "must read the same backwards" in found.unmade["palindrome"]
    assert "--arguments" in found.unmade["palindrome"]
    assert "no valid arguments could be made" in str(found)


def test_arguments_may_be_given() -> None:
    """Then mistakes are made of these, and no other argument is sent."""
    found = simulate(palindrome, arguments={"word": "anna"})
    assert found.ok, found
    assert json.loads(by_mistake(found, "extra")[0].sent) == {"word": "anna", "explanation": "to be sure"}
    with pytest.raises(ConfigError, match="not accepted themselves"):
        simulate(palindrome, arguments={"word": "otto's"})
    with pytest.raises(ConfigError, match="are for one tool"):
        simulate([palindrome, find_room], arguments={"word": "anna"})


def test_a_check_that_crashes_fails_the_grade(caplog: pytest.LogCaptureFixture) -> None:
    """The model is told of a reference only: that is the tool's fault, and the grade says so."""

    def known(name: str) -> str:
        return {"example": name}[name]

    def look_up(name: Annotated[str, AfterValidator(known)]) -> None:
        """Look up."""
        raise simulated_tools.Called

    found = simulate(look_up)
    (empty,) = by_mistake(found, "empty-string")
    assert "the check of its arguments failed inside the tool" in empty.text
    assert empty.faults == ("next", "place", "accepted")
    assert not found.ok
    assert "FAILS: next, place, accepted" in str(found)
    assert caplog.records


def test_words_of_a_check_are_graded_too() -> None:
    """A validator's own words reach the model; a class name in them is the tool's fault."""

    def number(text: str) -> str:
        if text != "example":
            raise ValueError("ValueError: expected int. Sorry! See https://wiki.local/errors.")
        return text

    def look_up(text: Annotated[str, AfterValidator(number)]) -> None:
        """Look up."""
        raise simulated_tools.Called

    (empty,) = by_mistake(simulate(look_up), "empty-string")
    assert empty.faults == ("class name", "link", "apology")


def test_other_words_can_be_tried() -> None:
    """A `Feedback` of one's own is graded as well."""

    class Curt(Feedback):
        def unknown_tool(self, name: str, available: Any) -> str:
            return "No."

    found = simulate(find_room, feedback=Curt())
    assert {a.mistake for a in found.failed} == {"unknown-tool"}
    assert set(found.failed[0].faults) == {"tool", "fate", "next", "accepted"}


def test_what_cannot_be_asked() -> None:
    """Each with words for the developer."""
    with pytest.raises(ConfigError, match="no tool 'find_rom'; there are: find_room"):
        simulate(find_room, only=["find_rom"])
    with pytest.raises(ConfigError, match="Strict mode is a service's"):
        simulate(find_room, strict=True)
    with pytest.raises(ConfigError, match="no tool to send mistakes to"):
        simulate([])
    with pytest.raises(ConfigError, match="no provider 'mistral'"):
        simulate(find_room, provider="mistral")  # pyright: ignore[reportArgumentType]
    with pytest.raises(DefinitionError, match="cannot be strict"):
        simulate(simulated_tools.anything, provider="openai", strict=True)


# ---- the grader

SLIP = Slip({}, path=("stops", 0, "nights"), wants=("whole number",))
GOOD = (
    "`plan_route` was not run. `stops[0].nights` must be a whole number; you sent 1.5. Correct this and call "
    "`plan_route` again."
)


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        (GOOD, ()),
        (GOOD.replace("`plan_route`", "The tool"), ("tool",)),
        (GOOD.replace("was not run", "has a problem"), ("fate",)),
        (GOOD.replace("`stops[0].nights`", "A field"), ("place",)),
        (GOOD.replace("`stops[0].nights`", "`nights`"), ("place",)),
        (GOOD.replace("a whole number", "of another kind"), ("accepted",)),
        (GOOD.replace(" Correct this and call `plan_route` again.", ""), ("next",)),
        (GOOD + " And so on." * 200, ("length",)),
        (GOOD.replace("you sent 1.5", "not a float"), ("class name",)),
        (f"{GOOD} ValidationError", ("class name",)),
        (f'{GOOD} File "tools.py", line 3, in plan', ("stack trace",)),
        (f"{GOOD} See https://docs.tool.local/v/x.", ("link",)),
        (f"{GOOD} Sorry!", ("apology",)),
        (GOOD.replace("1.5", '"a ValueError of float, sorry: https://x.org"'), ()),
    ],
)
def test_the_grader_tells_a_bad_text_from_a_good_one(text: str, wrong: tuple[str, ...]) -> None:
    """What is quoted from the model itself counts for nothing."""
    assert faults(text, SLIP, "plan_route") == wrong


def saying(text: str) -> Callable[..., str]:
    """A method that puts what it is given into a text, and no more."""

    def method(*given: Any) -> str:
        return text.format(*given)

    return method


def mending(*_: Any) -> tuple[str, ...]:
    return ("Something was mended.",)


WORSE: dict[str, tuple[Callable[..., Any], set[str]]] = {
    "expected": (saying("something valid"), {"accepted"}),
    "problem": (saying("Something is wrong."), {"place", "accepted"}),
    "_unknown": (saying("{2} is not accepted."), {"accepted"}),
    "_spot": (saying("somewhere"), {"place"}),
    "broken_json": (saying("`{1}` was not run: no JSON."), {"place", "accepted", "next"}),
    "repaired": (mending, {"place", "accepted"}),
    "cut_off": (saying("`{1}` failed."), {"fate", "next", "accepted"}),
    "unknown_tool": (saying("Nothing was run: what is `{1}`?"), {"next", "accepted"}),
}


@pytest.mark.parametrize("method", WORSE)
def test_the_grader_notices_when_our_words_get_worse(method: str) -> None:
    """One method of `Feedback` at a time says less than it does: some text fails, and for that reason."""
    words, lacking = WORSE[method]
    worse: Feedback = type("Worse", (Feedback,), {method: words})()
    found = simulate(simulated_tools.TOOLS, feedback=worse)
    assert {fault for answer in found.failed for fault in answer.faults} == lacking


PEERS = {
    "a fixed sentence": "An error occurred while running the tool. Please try again.",
    "only the kind": "ValueError('Invalid arguments for function plan_route')",
    "a dump": "1 validation error for call[plan_route]\nstops.0.nights\n  Input should be a valid integer, got a "
    "number with a fractional part [type=int_from_float, input_value=1.5, input_type=float]\n    For further "
    "information visit https://errors.pydantic.dev/2.11/v/int_from_float",
    "JSON": '[{"type":"int_from_float","loc":["stops",0,"nights"],"msg":"Input should be a valid integer"}]',
}


@pytest.mark.parametrize("text", PEERS.values(), ids=PEERS)
def test_texts_that_other_frameworks_send_do_not_pass(text: str) -> None:
    """As seen in the field in 2026: each lacks what a model needs."""
    assert {"fate", "place", "accepted", "next"} <= set(faults(text, SLIP, "plan_route"))


def take(**arguments: Any) -> None:
    raise simulated_tools.Called


def test_texts_are_bounded_whatever_the_schema() -> None:
    """A tool of many long names and long sets."""
    names = {
        f"a_rather_long_name_of_argument_{n}": {"enum": [f"value {n} {m}" * 9 for m in range(80)]} for n in range(60)
    }
    schema = {"type": "object", "properties": names, "required": list(names), "additionalProperties": False}
    big = Tool(name="big", description="Big.", parameters=schema, handler=take)
    found = simulate(big)
    assert not found.failed, found
    assert max(len(a.text) for a in found.answers) <= LONGEST


# ---- strings for patterns

PATTERNS = (
    r"^\d{4}-\d{2}-\d{2}$",
    r"^[A-Z]{2}[0-9]{1,3}$",
    r"^(foo|bar)+[^abc]$",
    r"^ORD-[0-9]{6}(?:-[a-z])?$",
    r"\w+@\w+\.\w{2,}",
    r"^[^/\s]+(/[^/\s]+)*$",
    r"^(?P<year>20\d\d)q[1-4]$",
    r"^a*b+?c{2,}$",
    r"^\+?[1-9]\d{6,14}$",
    r"^[]a]{2}\]$",
    r"^#(?:[0-9a-fA-F]{3}){1,2}$",
    r"^\{\w+\}$",
    r"^v\d+(\.\d+){2}$",
)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_string_is_made_for_a_pattern(pattern: str) -> None:
    """Judged by the engine that pydantic uses."""
    assert matches(pattern, string_for(pattern))


@pytest.mark.parametrize("pattern", [r"^(?=a)b", r"(a)\1", r"[", r"(a", r"a)", r"\q", r"a{5000}", r"(?<!x)y"])
def test_what_is_not_covered_is_said(pattern: str) -> None:
    """Look-around, back references, and what is no expression at all."""
    with pytest.raises(NoString):
        string_for(pattern)


@given(st.from_regex(r"[\[\](){}|?*+^$\\a-c0-3,.:<>=!P-]{0,12}", fullmatch=True))
def test_any_text_is_read_to_its_end(pattern: str) -> None:
    """No other error, no endless loop, whatever stands there."""
    with suppress(NoString):
        string_for(pattern)


PLAIN: list[Callable[..., Any]] = [simulated_tools.two_texts, simulated_tools.lines]


@pytest.mark.parametrize("function", PLAIN)
def test_the_same_tool_gives_the_same_mistakes(function: Callable[..., Any]) -> None:
    """Nothing is drawn by chance."""
    assert simulate(function) == simulate(function)
