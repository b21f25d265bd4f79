"""What the neutral schema says of types, and that the function accepts just that. `test_schema_law` has the law."""

from __future__ import annotations

import collections.abc as abc
import dataclasses
import datetime as dt
import enum
import threading
import typing
import warnings
from collections.abc import Callable
from typing import Annotated, Any, Literal, NamedTuple, cast

import attrs
import msgspec
import pytest
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator
from typing_extensions import TypedDict

from toolsmith import DefinitionError, Tool
from toolsmith.errors import DefinitionWarning


def taking(annotation: Any) -> Tool[..., Any]:
    """A tool with one required parameter `x` of this type, which gives it back."""

    def probe(x: Any) -> Any:
        return x

    probe.__annotations__["x"] = annotation
    return Tool(probe)


def shown(annotation: Any) -> Any:
    """The schema of a parameter of this type."""
    return taking(annotation).input_schema["properties"]["x"]


def received(annotation: Any, text: str) -> Any:
    """What a function gets for this JSON; fails with what the model would be told."""
    made = taking(annotation)
    checked = made.check(f'{{"x": {text}}}')
    assert checked.error is None, checked.error
    return made.invoke(checked.values, None)


def refused(annotation: Any, text: str) -> str:
    """What a model is told of this JSON; fails if it is accepted."""
    error = taking(annotation).check(f'{{"x": {text}}}').error
    assert error is not None
    return error


def problem_of(annotation: Any) -> str:
    """Why a parameter of this type cannot be."""
    with pytest.raises(DefinitionError) as caught:
        taking(annotation)
    return str(caught.value)


class Colour(enum.Enum):
    """Which paint."""

    RED = "red"
    """Warm."""
    BLUE = "blue"
    """Cold."""


class Depth(enum.Enum):
    TOP = 0
    """All there is."""
    ONE = 1


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 9


class Address(BaseModel):
    """Where somebody lives."""

    street: str
    zip_code: Annotated[str, Field(pattern=r"^\d{5}$", description="five digits")]


class Person(BaseModel):
    name: str
    address: Address | None = None


class Pair(BaseModel):
    one: Address
    two: Address


class Tree(BaseModel):
    label: str
    children: list[Tree] = []


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    a: int
    inner: Address | None = None


class Typed(BaseModel):
    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, int] = Field(init=False)  # pyright: ignore[reportIncompatibleVariableOverride]


class Careful(BaseModel):
    day: dt.date
    tags: set[int] = set()

    @field_validator("day", "tags", mode="before")
    @classmethod
    def look(cls, value: Any) -> Any:
        return value


class Spot(NamedTuple):
    lat: float
    lon: float
    when: dt.date | None = None


class Stream(BaseModel):
    numbers: abc.Iterable[int]
    inner: dict[str, abc.Iterable[abc.Iterable[int]]]
    once: abc.Generator[int, None, None]


@dataclasses.dataclass
class Batch:
    """Numbers to add."""

    numbers: abc.Iterable[int]
    raw: bytearray = dataclasses.field(default_factory=bytearray)
    label: str = "none"


@dataclasses.dataclass
class Lamp:
    watts: int
    socket: dataclasses.InitVar[str]
    state: str = dataclasses.field(init=False, default="off")

    def __post_init__(self, socket: str) -> None:
        self.state = f"off, in {socket}"


class Span(enum.Enum):
    DAY = (0, 24)
    NIGHT = (22, 6)


@attrs.define
class Box:
    """A box."""

    width: float = attrs.field(validator=attrs.validators.gt(0))
    colour: Colour = Colour.RED
    notes: list[str] = attrs.Factory(list[str])


class Packet(msgspec.Struct):
    size: Annotated[int, msgspec.Meta(ge=1, description="in bytes")]
    box: Box | None = None


class Old(typing.TypedDict):
    title: str
    year: typing.NotRequired[int]


class New(TypedDict, total=False):
    title: typing.Required[str]
    old: Old


# ---- the form


def test_the_form_of_a_schema() -> None:
    """An object, closed at every depth, in the order of the parameters, without the titles pydantic makes up."""

    def probe(person: Person, mode: Literal["a", "b"] = "a") -> None:
        """Do it.

        Args:
            person: who
        """

    assert Tool(probe).input_schema == {
        "type": "object",
        "properties": {
            "person": {
                "type": "object",
                "description": "who",
                "properties": {
                    "name": {"type": "string"},
                    "address": {
                        "anyOf": [
                            {
                                "type": "object",
                                "description": "Where somebody lives.",
                                "properties": {
                                    "street": {"type": "string"},
                                    "zip_code": {"type": "string", "pattern": r"^\d{5}$", "description": "five digits"},
                                },
                                "required": ["street", "zip_code"],
                                "additionalProperties": False,
                            },
                            {"type": "null"},
                        ],
                        "default": None,
                    },
                },
                "required": ["name"],
                "additionalProperties": False,
            },
            "mode": {"type": "string", "enum": ["a", "b"], "default": "a"},
        },
        "required": ["person"],
        "additionalProperties": False,
    }


def test_what_is_used_twice_or_contains_itself_stays_a_definition() -> None:
    """Only a definition with one use is put where it is used; both descriptions are kept."""
    assert list(taking(Pair).input_schema["$defs"]) == ["Address"]
    assert list(taking(Tree).input_schema["$defs"]) == ["Tree"]

    def probe(where: Address) -> None:
        """Go.

        Args:
            where: the target
        """

    assert Tool(probe).input_schema["properties"]["where"]["description"] == "the target\nWhere somebody lives."


def test_a_schema_can_be_changed_without_harm() -> None:
    """Each read gives a copy."""
    made = taking(Person)
    made.input_schema["properties"].clear()
    assert "x" in made.input_schema["properties"]


def test_a_title_of_the_authors_own_stays() -> None:
    """Only made-up titles are left out."""
    assert shown(Annotated[int, Field(title="How many")])["title"] == "How many"


@pytest.mark.parametrize("name", ["schema", "copy", "json", "model_config", "title", "default", "properties", "_x"])
def test_any_name_may_be_a_parameter(name: str) -> None:
    """Names that mean something to schemas or to pydantic are names like any other."""
    namespace: dict[str, Any] = {"Person": Person}
    exec(f"def probe({name}: Person):\n    return {name}\n", namespace)
    made = Tool(namespace["probe"])
    assert list(made.input_schema["properties"]) == [name]
    checked = made.check(f'{{"{name}": {{"name": "a"}}}}')
    assert made.invoke(checked.values, None) == Person(name="a")


def test_enum_members_have_their_docs() -> None:
    """A string below a member tells the model what the value means."""
    assert shown(Colour) == {
        "description": "Which paint.\nred: Warm.\nblue: Cold.",
        "enum": ["red", "blue"],
        "type": "string",
    }


def test_members_that_are_numbers_have_their_names() -> None:
    """A model cannot know that 2 is HIGH; what text says by itself costs nothing."""

    class Urgency(enum.IntEnum):
        """How soon."""

        LOW = 1
        HIGH = 2

    class Scale(enum.Enum):
        HALF = 0.5
        SAME = "same"

    class Plain(enum.Enum):
        RED = "red"

    assert shown(Urgency) == {"description": "How soon.\n1: LOW\n2: HIGH", "enum": [1, 2], "type": "integer"}
    assert shown(Urgency | None)["anyOf"][0]["description"] == "How soon.\n1: LOW\n2: HIGH"
    assert shown(Scale)["description"] == "0.5: HALF"
    assert shown(Depth)["description"] == "0: TOP. All there is.\n1: ONE"
    assert "description" not in shown(Plain)
    numbers = cast("Any", enum.IntEnum)("Numbers", {f"N{i}": i for i in range(1_000)})
    assert "N0" not in str(shown(numbers))


# ---- types that pydantic takes another way


@pytest.mark.parametrize(
    "annotation", [abc.Iterable[int], typing.Iterable[int], abc.Collection[int], abc.Iterable[int] | None]
)
def test_iterables_are_read_before_the_function_runs(annotation: Any) -> None:
    """A bad item is found by the check, not in the middle of the function."""
    assert received(annotation, "[1, 2]") == [1, 2]
    assert "`x[1]`" in refused(annotation, '[1, "two"]')


def test_iterables_in_a_model_are_read_before_the_function_runs() -> None:
    """At any depth; pydantic itself would look at the items while the function reads them, and only once."""
    stream = received(list[Stream], '[{"numbers": [1, 2], "inner": {"x": [[3], [4]]}, "once": [5]}]')[0]
    assert stream.numbers == [1, 2]
    assert stream.inner == {"x": [[3], [4]]}
    assert next(stream.once) == 5
    assert "`x.numbers[1]`" in refused(Stream, '{"numbers": [1, "two"], "inner": {}, "once": []}')
    assert "`x.inner.y[0][0]`" in refused(Stream, '{"numbers": [], "inner": {"y": [["a"]]}, "once": []}')


def test_iterators_are_iterators() -> None:
    """What is annotated an iterator can be asked for its next item."""
    assert next(received(abc.Iterator[int], "[1, 2]")) == 1


def test_stand_ins_reach_into_dataclasses_and_typed_dicts() -> None:
    """An Iterable in a dataclass is read at once too, and the function gets the dataclass."""
    batch = received(list[Batch], '[{"numbers": [1, 2], "raw": "ab"}]')[0]
    assert batch == Batch([1, 2], bytearray(b"ab"))
    assert "numbers" in refused(Batch, '{"numbers": ["x"]}')
    assert shown(Batch)["description"] == "Numbers to add."
    assert shown(Batch)["properties"]["label"] == {"type": "string", "default": "none"}


def test_a_dataclass_takes_what_its_init_takes() -> None:
    """Fields that are not in `__init__` are not in the schema; `InitVar`s are."""
    assert list(shown(Lamp)["properties"]) == ["watts", "socket"]
    assert received(Lamp, '{"watts": 5, "socket": "E27"}') == Lamp(5, "E27")
    assert "state" in refused(Lamp, '{"watts": 5, "socket": "E27", "state": "on"}')


def test_typing_s_own_typed_dicts_work_on_every_python() -> None:
    """pydantic refuses them before Python 3.12; here they are what they say."""
    assert shown(Old)["required"] == ["title"]
    assert received(New, '{"title": "a", "old": {"title": "b", "year": 1}}') == {
        "title": "a",
        "old": {"title": "b", "year": 1},
    }
    assert "year" in refused(Old, '{"title": "a", "year": "x"}')


def test_named_tuples_are_objects_or_arrays() -> None:
    """The schema says both forms that the function accepts; a model reads the names in the first."""
    assert received(Spot, '{"lat": 1, "lon": 2.5, "when": "2026-01-02"}') == Spot(1.0, 2.5, dt.date(2026, 1, 2))
    assert received(Spot, "[1, 2]") == Spot(1.0, 2.0)
    assert [b["type"] for b in shown(Spot)["anyOf"]] == ["object", "array"]
    assert "surprise" in refused(Spot, '{"lat": 1, "lon": 2, "surprise": 3}')


def test_attrs_classes() -> None:
    """Made from a closed object; their own validators speak to the model."""
    assert received(Box, '{"width": 2}') == Box(2.0)
    assert received(Box, '{"width": 2, "colour": "blue", "notes": ["a"]}') == Box(2.0, Colour.BLUE, ["a"])
    assert shown(Box)["required"] == ["width"]
    assert "'width' must be > 0" in refused(Box, '{"width": 0}')
    assert "depth" in refused(Box, '{"width": 1, "depth": 2}')


def test_msgspec_structs() -> None:
    """Their `Meta` becomes the schema's bounds; they may hold attrs classes, or anything else."""
    assert received(Packet, '{"size": 3, "box": {"width": 1}}') == Packet(3, Box(1.0))
    assert shown(Packet)["properties"]["size"] == {"type": "integer", "minimum": 1, "description": "in bytes"}
    assert "size" in refused(Packet, '{"size": 0}')


# ---- where schema and validator would part ways


@pytest.mark.parametrize(
    ("annotation", "accepted", "refusals"),
    [
        (int, ["5", "5.0", "-0"], ["5.5", '"5"', "true", "null"]),
        (float, ["5", "5.5", "1e3"], ['"5"', "true"]),
        (bool, ["true"], ["1", '"true"', "0"]),
        (Level, ["1", "9.0"], ["true", "2", '"1"']),
        (Literal[1, 2], ["1", "1.0"], ["true", "3", '"1"']),
        (Literal[True], ["true"], ["1", "1.0"]),
        (list[Level], ["[1, 9]"], ["[true]"]),
        (Literal[Colour.RED, Level.LOW], ['"red"', "1"], ['"blue"', "true", "9"]),
        (Span, ["[0, 24]"], ["[24, 0]", "0"]),
        (abc.Iterable, ['[1, "a"]'], ["1", '"ab"']),
        (dict[int, str], ['{"1": "a", "-22": "b"}'], ['{"01": "a"}', '{"1.0": "a"}', '{"a": "b"}', '{" 1": "a"}']),
        (dict[Colour, int], ['{"red": 1}'], ['{"pink": 1}', '{"RED": 1}']),
        (dict[Level, int], ['{"1": 1}'], ['{"2": 1}']),
        (set[int], ["[1, 1]", "[]"], ['["a"]']),
        (Annotated[set[int], Field(min_length=2)], ["[1, 2]"], ["[1, 1]", "[1]"]),
        (tuple[int, str], ['[1, "a"]'], ["[1]", '[1, "a", 2]', '{"0": 1}']),
        (Annotated[str, Field(pattern=r"^(?!x)\w+$")], ['"ab"'], ['"xb"']),
    ],
    ids=str,
)
def test_the_function_accepts_what_the_schema_says(annotation: Any, accepted: list[str], refusals: list[str]) -> None:
    """The corners in which pydantic alone would take more, or less, than its schema says."""
    for text in accepted:
        received(annotation, text)
    for text in refusals:
        assert "was not run" in refused(annotation, text)


AnyStr: Any = typing.AnyStr
Coded = typing.TypeVar("Coded", bytes, str)
Plain = typing.TypeVar("Plain", bound=bytes | str | None)


@pytest.mark.parametrize(
    "annotation",
    [
        *(AnyStr, list[AnyStr], dict[str, AnyStr], AnyStr | None, Coded, Plain),
        *(str | bytes, bytes | str, bytes | int | str, Annotated[bytes | str, "a text"], list[bytes | str]),
    ],
    ids=str,
)
def test_text_is_text_where_it_could_be_bytes_as_well(annotation: Any) -> None:
    """JSON has text; a function that takes both gets str, and the model is not shown a choice that is none."""
    made = _tool(annotation)
    assert "binary" not in str(made.input_schema)
    for sent in ('"a"', '["a"]', '{"k": "a"}'):
        result = made.call_json_sync(f'{{"x": {sent}}}')
        assert not result.success or "b'" not in str(result.data)
    assert any(made.call_json_sync(f'{{"x": {sent}}}').success for sent in ('"a"', '["a"]', '{"k": "a"}'))


def test_bytes_alone_are_bytes() -> None:
    """Also as one of several that are no text."""
    for annotation in (bytes, bytes | None, bytes | int):
        assert _tool(annotation).call_json_sync('{"x": "a"}').data == "b'a'"


def _tool(annotation: Any) -> Tool[..., Any]:
    def take(x: Any) -> str:
        """Take."""
        return repr(x)

    take.__annotations__["x"] = annotation
    return Tool(take)


def test_numbers_and_truth_in_models_are_told_apart_too() -> None:
    """Where a model of the author's own compares by pydantic, the schema judges beside it."""

    class Inner(BaseModel):
        level: Level
        sure: Literal[True] = True

    assert received(Inner, '{"level": 9}').level is Level.HIGH
    assert "level" in refused(Inner, '{"level": true}')
    assert "sure" in refused(Inner, '{"level": 1, "sure": 1}')


def test_open_models_stay_open_and_all_others_closed() -> None:
    """`extra="allow"` is the author's wish; models that do not ask for it take no unknown keys."""
    assert shown(Open)["additionalProperties"] is True
    made = received(Open, '{"a": 1, "b": [2]}')
    assert (made.a, made.model_extra) == (1, {"b": [2]})
    assert "city" in refused(Open, '{"a": 1, "inner": {"street": "s", "zip_code": "12345", "city": "c"}}')
    assert "city" in refused(Address, '{"street": "s", "zip_code": "12345", "city": "c"}')
    assert received(Typed, '{"n": 1}').model_extra == {"n": 1}
    assert "was not run" in refused(Typed, '{"n": "x"}')


def test_validators_that_run_before_pydantic_do_not_lose_dates_and_sets() -> None:
    """pydantic's strict mode would refuse the text of a date once a validator has looked at it."""
    assert received(Careful, '{"day": "2026-01-02", "tags": [1, 2]}') == Careful(day=dt.date(2026, 1, 2), tags={1, 2})
    assert "tags" in refused(Careful, '{"day": "2026-01-02", "tags": ["1"]}')
    assert received(Annotated[dt.date, BeforeValidator(lambda v: v)], '"2026-01-02"') == dt.date(2026, 1, 2)


def test_an_alias_is_the_only_name() -> None:
    """What the schema calls N is not accepted as n, whatever the model's settings say."""

    class Aliased(BaseModel):
        model_config = ConfigDict(populate_by_name=True)
        n: int = Field(alias="N")

    assert received(Aliased, '{"N": 1}').n == 1
    assert "was not run" in refused(Aliased, '{"n": 1}')


def test_defaults_inside_of_models_are_json_or_words() -> None:
    """Infinity is no JSON; neither does it make a warning."""

    class Capped(BaseModel):
        cap: float = float("inf")
        at_most: float = Field(default=float("-inf"), description="bound")

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        properties = shown(Capped)["properties"]
    assert properties["cap"] == {"type": "number", "description": "Default: infinity."}
    assert properties["at_most"]["description"] == "bound. Default: minus infinity."


# ---- what cannot be a tool


@pytest.mark.parametrize(
    ("annotation", "words"),
    [
        (threading.Lock, "lock"),
        (threading.Event, "no JSON can carry threading.Event"),
        (list[threading.Event], "no JSON can carry threading.Event"),
        (Callable[[int], int], "no JSON can carry a function"),
        (Callable[[int], int] | None, "no JSON can carry a function"),
        (type[int], "no JSON can carry a class"),
        (object(), "no JSON can carry"),
    ],
    ids=["lock", "event", "list", "function", "optional function", "class", "object"],
)
def test_what_no_json_can_carry_is_refused(annotation: Any, words: str) -> None:
    """At definition, by parameter, place and type, with the ways out and without an address."""
    text = problem_of(annotation)
    assert words in text
    assert "test_schema.py" in text
    assert "parameter 'x' of 'probe'" in text
    assert "functools.partial" in text
    assert " at 0x" not in text


def test_all_problems_are_told_at_once() -> None:
    """One import shows everything that is wrong, each with its line."""

    namespace: dict[str, Any] = {"Event": threading.Event, "Callable": Callable}
    exec("def probe(a, b: Event, *c, d: Callable[[], None], e: int): ...", namespace)
    with pytest.raises(DefinitionError) as caught:
        Tool(namespace["probe"], name="not legal", timeout=0)
    assert len(caught.value.problems) == 6
    assert all(p.startswith("<string>:1: ") for p in caught.value.problems)
    assert "name='not_legal'" in str(caught.value)
    assert "timeout=0" in str(caught.value)
    assert "'*c'" in str(caught.value)


def test_a_stale_docstring_warns_and_may_be_an_error() -> None:
    """An entry for a parameter that is gone reaches no model; `strict_docs` makes it an error."""

    def probe(a: int) -> None:
        """Do it.

        Args:
            a: real
            removed: stale
        """

    with pytest.warns(DefinitionWarning, match="describes 'removed'") as caught:
        made = Tool(probe)
    assert caught[0].filename == __file__
    assert list(made.input_schema["properties"]) == ["a"]
    with pytest.raises(DefinitionError, match="describes 'removed'"):
        Tool(probe, strict_docs=True)


def test_a_typed_dict_is_no_tool() -> None:
    """It does nothing; the error shows how one takes part."""

    class Task(TypedDict):
        title: str

    with pytest.raises(DefinitionError, match=r"def task\(data: Task\).*def task\(\*\*data: Unpack\[Task\]\)"):
        Tool(cast("Any", Task))


def test_a_builtin_says_what_to_do() -> None:
    """What has no annotations cannot be a tool by itself."""
    with pytest.raises(DefinitionError, match="has no annotation"):
        Tool(len)
    with pytest.raises(DefinitionError, match="Python cannot tell the parameters"):
        Tool(dict)
