"""Functions as authors write them, drawn by hypothesis: any parameters of many types, with values of each.

A value is a pair: as JSON has it, and as the function gets it.
"""

from __future__ import annotations

import collections
import collections.abc as abc
import dataclasses
import datetime as dt
import decimal
import enum
import keyword
import pathlib
import typing
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NamedTuple, NewType, NotRequired, cast

from hypothesis import strategies as st
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, create_model
from typing_extensions import TypedDict

Pair = tuple[Any, Any]
Pairs = st.SearchStrategy[Pair]


class Colour(enum.Enum):
    RED = "red"
    DARK_BLUE = "dark-blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 9


class Mixed(enum.Enum):
    ONE = 1
    TWO = "two"
    HALF = 0.5


class Switch(enum.Enum):
    ON = True
    OFF = False


class Spot(NamedTuple):
    x: int
    y: float = 0.5
    when: dt.date | None = None


class Open(BaseModel):
    """Takes extra keys."""

    model_config = ConfigDict(extra="allow")
    a: int


class Before(BaseModel):
    """Looks at its values before pydantic does, which takes pydantic's strict mode away."""

    day: Annotated[dt.date, BeforeValidator(lambda v: v)]
    tags: Annotated[set[int], BeforeValidator(lambda v: v)] = set()
    n: Annotated[int, BeforeValidator(lambda v: v)] = 0


class Aliased(BaseModel):
    model_config = ConfigDict(populate_by_name=True)
    n: int = Field(alias="N")


class Leveled(BaseModel):
    level: Level
    one: Literal[1, 2] = 1
    sure: Literal[True] = True


@dataclass
class Tree:
    label: str
    children: list[Tree] = dataclasses.field(default_factory=list["Tree"])


Metres = NewType("Metres", int)


@dataclass(frozen=True)
class Kind:
    """A type and its values.

    Attributes:
        json: the kinds of JSON value it takes; of a union no two members share one.
        formatted: a text is checked beyond what its schema says (dates and the like).
        hashable: values may stand in a set.
        foreign: pydantic by itself does not know it, or reads it lazily; no field of a pydantic model can be of it.
    """

    annotation: Any
    pairs: Pairs
    json: frozenset[str]
    formatted: bool = False
    hashable: bool = True
    foreign: bool = False

    def __repr__(self) -> str:
        return f"Kind({self.annotation!r})"


def _kind(
    annotation: Any,
    pairs: Pairs,
    *json: str,
    formatted: bool = False,
    hashable: bool = True,
    foreign: bool = False,
) -> Kind:
    return Kind(annotation, pairs, frozenset(json), formatted, hashable, foreign)


def _same(values: st.SearchStrategy[Any]) -> Pairs:
    return values.map(lambda v: (v, v))


def _shown(values: st.SearchStrategy[Any], show: Callable[[Any], Any] = str) -> Pairs:
    return values.map(lambda v: (show(v), v))


_INTS = st.integers(-(10**20), 10**20)
_TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
_FLOATS = st.one_of(
    _same(st.floats(allow_nan=False, allow_infinity=False)), st.integers(-(2**50), 2**50).map(lambda v: (v, float(v)))
)
_SECONDS = st.integers(0, 10**6).map(lambda s: dt.timedelta(seconds=s))
_PATHS = st.sampled_from(["a", "a/b.txt", ".", "/x y/z"]).map(pathlib.Path)
_CENTS = st.integers(-(10**6), 10**6).map(lambda n: decimal.Decimal(n).scaleb(-2))

LEAVES: list[Kind] = [
    _kind(int, _same(_INTS), "number"),
    _kind(float, _FLOATS, "number"),
    _kind(bool, _same(st.booleans()), "boolean"),
    _kind(str, _same(_TEXTS), "string"),
    _kind(type(None), st.just((None, None)), "null"),
    _kind(Metres, _same(_INTS), "number"),
    _kind(Annotated[int, Field(ge=0, le=150)], _same(st.integers(0, 150)), "number"),
    _kind(Annotated[float, Field(gt=0)], _same(st.floats(0.5, 1e6)), "number"),
    _kind(Annotated[str, Field(min_length=1, max_length=3)], _same(st.text("ab é", min_size=1, max_size=3)), "string"),
    _kind(Annotated[str, Field(pattern="^[A-Z]{2}$")], _same(st.text("ABC", min_size=2, max_size=2)), "string"),
    _kind(Literal["fast", "deep"], _same(st.sampled_from(["fast", "deep"])), "string"),
    _kind(Literal["auto", 0, True], _same(st.sampled_from(["auto", 0, True])), "string", "number", "boolean"),
    _kind(Literal[1, 2], _same(st.sampled_from([1, 2])), "number"),
    _kind(Literal["x", None], _same(st.sampled_from(["x", None])), "string", "null"),
    _kind(Colour, _shown(st.sampled_from(Colour), lambda m: m.value), "string"),
    _kind(Level, _shown(st.sampled_from(Level), int), "number"),
    _kind(Mixed, _shown(st.sampled_from(Mixed), lambda m: m.value), "string", "number"),
    _kind(Switch, _shown(st.sampled_from(Switch), lambda m: m.value), "boolean"),
    _kind(dt.date, _shown(st.dates()), "string", formatted=True),
    _kind(dt.datetime, _shown(st.datetimes(), lambda v: v.isoformat()), "string", formatted=True),
    _kind(dt.time, _shown(st.times(), lambda v: v.isoformat()), "string", formatted=True),
    _kind(dt.timedelta, _shown(_SECONDS, lambda v: f"PT{v.days * 86400 + v.seconds}S"), "string", formatted=True),
    _kind(uuid.UUID, _shown(st.uuids()), "string", formatted=True),
    _kind(pathlib.Path, _shown(_PATHS), "string"),
    _kind(decimal.Decimal, _shown(_CENTS), "string", "number", formatted=True),
    _kind(bytes, _shown(_TEXTS.map(str.encode), lambda v: v.decode()), "string"),
    _kind(bytearray, _TEXTS.map(lambda v: (v, bytearray(v.encode()))), "string", hashable=False, foreign=True),
]

# As an object: no strict mode lets a model send the array, which is accepted too.
_SPOTS: Pairs = st.one_of(
    _INTS.map(lambda x: ({"x": x}, Spot(x))),
    st.tuples(_INTS, _FLOATS).map(lambda t: ({"x": t[0], "y": t[1][0]}, Spot(t[0], t[1][1]))),
    st.tuples(_INTS, st.dates()).map(lambda t: ({"x": t[0], "when": str(t[1])}, Spot(t[0], 0.5, t[1]))),
)
_TREES: Pairs = st.recursive(
    _TEXTS.map(lambda t: ({"label": t}, Tree(t))),
    lambda inner: st.tuples(_TEXTS, st.lists(inner, max_size=2)).map(
        lambda t: ({"label": t[0], "children": [j for j, _ in t[1]]}, Tree(t[0], [p for _, p in t[1]]))
    ),
    max_leaves=4,
)
_OPEN: Pairs = st.tuples(_INTS, st.dictionaries(st.sampled_from(["b", "c"]), _TEXTS)).map(
    lambda t: ({"a": t[0], **t[1]}, Open(a=t[0], **cast("dict[str, Any]", t[1])))
)
_BEFORE: Pairs = st.tuples(st.dates(), st.sets(st.integers(0, 9), max_size=2), _INTS).map(
    lambda t: ({"day": str(t[0]), "tags": sorted(t[1]), "n": t[2]}, Before(day=t[0], tags=t[1], n=t[2]))
)
_ALIASED: Pairs = _INTS.map(lambda n: ({"N": n}, Aliased(N=n)))
_LEVELED: Pairs = st.tuples(st.sampled_from(Level), st.sampled_from([1, 2])).map(
    lambda t: ({"level": int(t[0]), "one": t[1]}, Leveled(level=t[0], one=cast("Any", t[1])))
)

NESTED: list[Kind] = [
    _kind(Spot, _SPOTS, "array", "object", formatted=True, hashable=False),
    _kind(Tree, _TREES, "object", hashable=False),
    _kind(Open, _OPEN, "object", hashable=False),
    _kind(Before, _BEFORE, "object", formatted=True, hashable=False),
    _kind(Aliased, _ALIASED, "object", hashable=False),
    _kind(Leveled, _LEVELED, "object", hashable=False),
    _kind(Any, _same(st.sampled_from([1, "a", None, [1, {"a": 2.5}], {"b": []}])), "any", hashable=False),
]


def _lists(annotation: Any, kind: Kind, make: Callable[[list[Any]], Any] = list) -> Kind:
    pairs = st.lists(kind.pairs, max_size=3).map(lambda ps: ([j for j, _ in ps], make([p for _, p in ps])))
    return Kind(annotation, pairs, frozenset({"array"}), kind.formatted, False, kind.foreign)


def _sets(annotation: Any, kind: Kind, make: Callable[[Any], Any]) -> Kind:
    # Duplicates in JSON are no error, they merge.
    pairs = st.lists(kind.pairs, max_size=3).map(lambda ps: ([j for j, _ in ps], make(p for _, p in ps)))
    return Kind(annotation, pairs, frozenset({"array"}), kind.formatted, False, kind.foreign)


def _dicts(annotation: Any, keys: Pairs, kind: Kind) -> Kind:
    pairs = st.lists(st.tuples(keys, kind.pairs), max_size=3, unique_by=lambda kv: kv[0][0]).map(
        lambda kvs: ({k[0]: v[0] for k, v in kvs}, {k[1]: v[1] for k, v in kvs})
    )
    return Kind(annotation, pairs, frozenset({"object"}), kind.formatted, False, kind.foreign)


def _containers(draw: st.DrawFn, form: str, kind: Kind) -> Kind:
    held = kind.annotation
    match form:
        case "list":
            return _lists(list[held], kind)
        case "sequence":
            return _lists(abc.Sequence[held], kind)
        case "iterable":
            many = draw(st.sampled_from([abc.Iterable[held], typing.Iterable[held], abc.Collection[held]]))
            return dataclasses.replace(_lists(many, kind), foreign=True)
        case "deque":
            return _lists(collections.deque[held], kind, collections.deque)
        case "tuple":
            return _lists(tuple[held, ...], kind, tuple)
        case "set" if kind.hashable:
            return _sets(set[held], kind, set)
        case "frozenset" if kind.hashable:
            return _sets(frozenset[held], kind, frozenset)
        case "int keys":
            return _dicts(dict[int, held], _shown(_INTS), kind)
        case "enum keys":
            return _dicts(dict[Colour, held], _shown(st.sampled_from(Colour), lambda m: m.value), kind)
        case _:
            return _dicts(draw(st.sampled_from([dict[str, held], abc.Mapping[str, held]])), _same(_TEXTS), kind)


@dataclass(frozen=True)
class Member:
    """A named value of an object or a call."""

    name: str
    kind: Kind
    optional: bool


@st.composite
def _members(draw: st.DrawFn, kinds: st.SearchStrategy[Kind]) -> list[Member]:
    names = draw(st.lists(st.sampled_from(["a", "b", "kind", "items", "value"]), min_size=1, max_size=3, unique=True))
    made = [Member(n, draw(kinds), draw(st.booleans())) for n in names]
    return sorted(made, key=lambda m: m.optional)


def _given(members: list[Member]) -> Pairs:
    """Values for members by name; optional ones may be missing."""
    required = {m.name: m.kind.pairs for m in members if not m.optional}
    optional = {m.name: m.kind.pairs for m in members if m.optional}
    drawn = st.fixed_dictionaries(required, optional=optional)
    return drawn.map(lambda d: ({n: p[0] for n, p in d.items()}, {n: p[1] for n, p in d.items()}))


ABSENT: Any = "absent"


@st.composite
def _objects(draw: st.DrawFn, kinds: st.SearchStrategy[Kind]) -> Kind:
    members = draw(_members(kinds))
    formatted = any(m.kind.formatted for m in members)
    foreign = any(m.kind.foreign for m in members)
    form = draw(st.sampled_from(["typed dict", "dataclass", *(["model"] if not foreign else [])]))
    make: Callable[..., Any]
    if form == "typed dict":
        fields = {m.name: NotRequired[m.kind.annotation] if m.optional else m.kind.annotation for m in members}
        made = cast("Any", TypedDict)("Thing", fields)
        make = dict
    elif form == "dataclass":
        made = dataclasses.make_dataclass(
            "Thing",
            [
                (m.name, m.kind.annotation, dataclasses.field(default=ABSENT))
                if m.optional
                else (m.name, m.kind.annotation)
                for m in members
            ],
        )
        make = made
    else:
        fields = {m.name: (m.kind.annotation, ABSENT) if m.optional else (m.kind.annotation, ...) for m in members}
        made = cast("Any", create_model)("Thing", **fields)
        make = made.model_construct
    pairs: Pairs = _given(members).map(lambda p: (p[0], cast("Any", make(**p[1]))))
    return Kind(made, pairs, frozenset({"object"}), formatted, False, foreign)


@st.composite
def _larger(draw: st.DrawFn, kinds: st.SearchStrategy[Kind]) -> Kind:
    form = draw(st.sampled_from(_FORMS))
    if form == "object":
        return draw(_objects(kinds))
    kind = draw(kinds)
    if form == "optional":
        if "null" in kind.json or "any" in kind.json:
            return kind
        pairs = st.one_of(st.just((None, None)), kind.pairs)
        return Kind(kind.annotation | None, pairs, kind.json | {"null"}, kind.formatted, kind.hashable, kind.foreign)
    if form == "fixed tuple":
        other = draw(kinds)
        pairs = st.tuples(kind.pairs, other.pairs).map(lambda t: ([t[0][0], t[1][0]], (t[0][1], t[1][1])))
        annotation = tuple[kind.annotation, other.annotation]  # pyright: ignore[reportInvalidTypeArguments]
        return Kind(
            annotation,
            pairs,
            frozenset({"array"}),
            kind.formatted or other.formatted,
            False,
            kind.foreign or other.foreign,
        )
    if form == "union":
        other = draw(kinds)
        if (kind.json & other.json) or "any" in kind.json | other.json:
            return kind
        annotation = kind.annotation | other.annotation
        formatted, hashable = kind.formatted or other.formatted, kind.hashable and other.hashable
        pairs = st.one_of(kind.pairs, other.pairs)
        return Kind(annotation, pairs, kind.json | other.json, formatted, hashable, kind.foreign or other.foreign)
    return _containers(draw, form, kind)


_FORMS = [
    *("list", "sequence", "iterable", "deque", "tuple", "set", "frozenset", "dict", "int keys", "enum keys"),
    *("object", "object", "optional", "union", "fixed tuple"),
]

KINDS: st.SearchStrategy[Kind] = st.recursive(st.sampled_from([*LEAVES, *NESTED]), _larger, max_leaves=4)

_NAMES = [
    "a",
    "n",
    "schema",
    "copy",
    "json",
    "model_config",
    "title",
    "self_",
    "_x",
    "args",
    "kwargs",
    "default",
    "größe",
]


@dataclass(frozen=True)
class Function:
    """A function that remembers what it was called with, and arguments for it.

    Attributes:
        call: gives back what it received, by name.
        sent: JSON arguments that its types admit.
        received: what it must receive for them: also defaults, and values in `*more` and `**others`.
        formatted: its schema says less than its types.
    """

    call: Callable[..., Any]
    sent: dict[str, Any]
    received: dict[str, Any]
    formatted: bool
    source: str

    def __repr__(self) -> str:
        return f"Function({self.source}, sent={self.sent!r})"


@st.composite
def functions(draw: st.DrawFn) -> Function:
    """A function with 1 to 4 parameters of all sorts, and arguments for it."""
    names = draw(st.lists(st.sampled_from(_NAMES), min_size=1, max_size=4, unique=True))
    optional = sorted(draw(st.lists(st.booleans(), min_size=len(names), max_size=len(names))))
    members = [Member(n, draw(KINDS), o) for n, o in zip(names, optional, strict=True)]
    only_position = draw(st.integers(0, len(members)))
    by_name = draw(st.integers(only_position, len(members)))
    more = Member("more", draw(st.sampled_from(LEAVES)), True) if draw(st.booleans()) else None
    others = Member("others", draw(st.sampled_from(LEAVES)), True) if draw(st.booleans()) else None

    namespace: dict[str, Any] = {"D": object()}
    parts: list[str] = []
    for i, member in enumerate(members):
        namespace[f"T{i}"] = member.kind.annotation
        parts.append(f"{member.name}: T{i}{' = D' if member.optional else ''}")
    starred: list[str] = []
    if more is not None:
        namespace["TM"] = more.kind.annotation
        starred = ["*more: TM"]
    elif by_name < len(members):
        starred = ["*"]
    head = parts[:only_position] + (["/"] if only_position else []) + parts[only_position:by_name]
    text = ", ".join([*head, *starred, *parts[by_name:], *(["**others: TO"] if others is not None else [])])
    if others is not None:
        namespace["TO"] = others.kind.annotation
    back = ", ".join(f"{n!r}: {n}" for n in [*names, *(["more"] if more else []), *(["others"] if others else [])])
    source = f"def probe({text}):\n    return {{{back}}}\n"
    exec(source, namespace)

    sent, received = draw(_given(members))
    expected = {m.name: received.get(m.name, namespace["D"]) for m in members}
    every = [*members]
    if more is not None:
        every.append(more)
        many = draw(st.lists(more.kind.pairs, max_size=2))
        sent |= {"more": [j for j, _ in many]} if many else {}
        expected["more"] = tuple(p for _, p in many)
    if others is not None:
        every.append(others)
        keys = st.sampled_from(["p", "q", "r s"]).filter(lambda k: k not in names)
        extra = draw(st.dictionaries(keys, others.kind.pairs, max_size=2))
        sent |= {"others": {k: p[0] for k, p in extra.items()}} if extra else {}
        expected["others"] = {k: p[1] for k, p in extra.items()}
    assert not any(map(keyword.iskeyword, names))
    return Function(namespace["probe"], sent, expected, any(m.kind.formatted for m in every), source)
