"""Python types as tools' signatures have them, drawn by hypothesis together with JSON values that they admit."""

from __future__ import annotations

import dataclasses
import enum
import inspect
import json
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, NotRequired
from uuid import UUID

from hypothesis import strategies as st
from pydantic import BaseModel, Field, TypeAdapter, create_model
from typing_extensions import TypedDict

Json = Any
Values = st.SearchStrategy[Any]
Schema = dict[str, Any]


@dataclasses.dataclass(frozen=True)
class Kind:
    """A type and its values, as JSON."""

    annotation: Any
    values: Values


class Colour(enum.Enum):
    RED = "red"
    GREEN = "green"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 9


class Mixed(enum.Enum):
    NAME = "x"
    NUMBER = 2


class Tree(BaseModel):
    label: str
    children: list[Tree] = []


@dataclasses.dataclass
class Chain:
    value: int
    next: Chain | None = None
    note: str = "none"


class Folder(TypedDict):
    name: str
    items: NotRequired[dict[str, Folder]]


class Number(BaseModel):
    op: Literal["number"] = "number"
    value: float


class Sum(BaseModel):
    op: Literal["sum"] = "sum"
    left: Expression
    right: Expression
    label: str = "+"


Expression = Annotated[Number | Sum, Field(discriminator="op")]
Sum.model_rebuild()


class Place(NamedTuple):
    x: int
    y: float | None
    name: str = "home"


_TEXT = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), max_size=8)
_NUMBERS = st.integers(-(10**6), 10**6).map(lambda n: n / 64)
_KEYS = st.sampled_from(["a", "b", "key", "value", "item_1", "omit", "entries", "größe", ""])
_NAMES = ["x", "y", "kind", "key", "value", "entries", "omit", "item_1", "additional", "schema", "copy", "type", "rest"]


def _objects(required: dict[str, Values], optional: dict[str, Values] | None = None) -> Values:
    return st.fixed_dictionaries(dict(required), optional=dict(optional or {}))


_TREES: Values = st.recursive(
    _objects({"label": _TEXT}),
    lambda inner: _objects({"label": _TEXT}, {"children": st.lists(inner, max_size=2)}),
    max_leaves=4,
)
_CHAINS: Values = st.recursive(
    _objects({"value": st.integers()}, {"next": st.none(), "note": _TEXT}),
    lambda inner: _objects({"value": st.integers()}, {"next": st.none() | inner, "note": _TEXT}),
    max_leaves=3,
)
_FOLDERS: Values = st.recursive(
    _objects({"name": _TEXT}),
    lambda inner: _objects({"name": _TEXT}, {"items": st.dictionaries(_KEYS, inner, max_size=2)}),
    max_leaves=4,
)
_EXPRESSIONS: Values = st.recursive(
    _objects({"op": st.just("number"), "value": _NUMBERS}),
    lambda inner: _objects({"op": st.just("sum"), "left": inner, "right": inner}, {"label": _TEXT}),
    max_leaves=4,
)

_DATES = st.dates(date(1950, 1, 1), date(2090, 1, 1))
_TIMES = st.datetimes(datetime(1950, 1, 1), datetime(2090, 1, 1))

SCALARS: list[Kind] = [
    Kind(int, st.integers(-(10**12), 10**12)),
    Kind(float, _NUMBERS),
    Kind(str, _TEXT),
    Kind(bool, st.booleans()),
    Kind(Annotated[int, Field(ge=0, lt=100, multiple_of=5)], st.integers(0, 19).map(lambda n: n * 5)),
    Kind(Annotated[str, Field(min_length=1, max_length=5)], _TEXT.filter(lambda s: 1 <= len(s) <= 5)),
    Kind(Annotated[str, Field(pattern=r"^[a-z]{2,4}$")], st.text("abz", min_size=2, max_size=4)),
    Kind(Annotated[str, Field(pattern=r"^\bab?\b$")], st.sampled_from(["a", "ab"])),
    Kind(Literal["a"], st.just("a")),
    Kind(Literal["a", "b", "omit"], st.sampled_from(["a", "b", "omit"])),
    Kind(Literal["auto", 0, 7], st.sampled_from(["auto", 0, 7])),
    Kind(Literal["x", None], st.sampled_from(["x", None])),
    Kind(Colour, st.sampled_from(["red", "green"])),
    Kind(Level, st.sampled_from([1, 9])),
    Kind(Mixed, st.sampled_from(["x", 2])),
    Kind(date, _DATES.map(date.isoformat)),
    Kind(Annotated[str, Field(pattern=r"^\w+$")], st.sampled_from(["a", "é", "名"])),
    Kind(datetime, _TIMES.map(datetime.isoformat)),
    Kind(datetime, _TIMES.map(lambda t: t.replace(microsecond=0).isoformat() + "Z")),
    Kind(time, st.times().map(time.isoformat)),
    Kind(timedelta, st.sampled_from(["PT0.5S", "-P2DT3H", "P3D", "PT90M"])),
    Kind(UUID, st.uuids().map(str)),
    Kind(Decimal, st.sampled_from([1, 2.5, "3.25", "7"])),
    Kind(bytes, _TEXT),
    Kind(Path, _TEXT),
    Kind(type(None), st.none()),
]
RECURSIVE: list[Kind] = [
    Kind(Tree, _TREES),
    Kind(Chain, _CHAINS),
    Kind(Folder, _FOLDERS),
    Kind(Expression, _EXPRESSIONS),
]
_PLACES: Values = st.tuples(st.integers(), st.none() | _NUMBERS) | st.tuples(st.integers(), st.none() | _NUMBERS, _TEXT)
_NAMED = Kind(Place, _PLACES.map(list))


def _unique(values: list[Json]) -> list[Json]:
    return [v for i, v in enumerate(values) if v not in values[:i]]


@st.composite
def _members(draw: st.DrawFn, kinds: st.SearchStrategy[Kind]) -> list[tuple[str, Kind, str, Json]]:
    """Names, types, and how each may be left out: "", "absent", "null" (its default) or "default"."""
    names = draw(st.lists(st.sampled_from(_NAMES), min_size=1, max_size=4, unique=True))
    made: list[tuple[str, Kind, str, Json]] = []
    for name in names:
        kind = draw(kinds)
        how = draw(st.sampled_from(["", "", "absent", "null", "default"]))
        if how == "null":
            kind = Kind(kind.annotation | None, st.none() | kind.values)
        default = draw(kind.values) if how == "default" else None
        made.append((name, kind, how, default))
    return made


def _class_name(draw: st.DrawFn) -> str:
    return draw(st.sampled_from(["Alpha", "Beta", "Gamma", "Delta"]))


def _values_of(members: list[tuple[str, Kind, str, Json]]) -> Values:
    required = {name: kind.values for name, kind, how, _ in members if not how}
    return _objects(required, {name: kind.values for name, kind, how, _ in members if how})


@st.composite
def _typed_dicts(draw: st.DrawFn, kinds: st.SearchStrategy[Kind]) -> Kind:
    members = [m for m in draw(_members(kinds)) if m[2] in {"", "absent"}] or [("x", draw(kinds), "", None)]
    fields = {n: NotRequired[k.annotation] if how else k.annotation for n, k, how, _ in members}
    made = TypedDict(_class_name(draw), fields)  # pyright: ignore[reportArgumentType, reportGeneralTypeIssues]
    return Kind(made, _values_of(members))


@st.composite
def _models(draw: st.DrawFn, kinds: st.SearchStrategy[Kind]) -> Kind:
    members = [(n if n not in {"schema", "copy"} else f"{n}_", k, how, d) for n, k, how, d in draw(_members(kinds))]
    members = [(n, k, "null" if how == "absent" else how, d) for n, k, how, d in members]
    fields: dict[str, Any] = {}
    for i, (name, kind, how, default) in enumerate(members):
        annotation = kind.annotation
        if how == "null":
            annotation, members[i] = annotation | None, (name, Kind(annotation, st.none() | kind.values), how, None)
        # the default is not validated and need not be one of the type: it is only told
        fields[name] = (annotation, Field(default=default, description="a member") if how else Field(description="it"))
    return Kind(create_model(_class_name(draw), **fields), _values_of(members))


@st.composite
def _tagged(draw: st.DrawFn, kinds: st.SearchStrategy[Kind]) -> Kind:
    """A union of models told apart by a constant, which may have a default."""
    branches: list[Any] = []
    values: list[Values] = []
    optional_tag = draw(st.booleans())
    for i, tag in enumerate(["cat", "dog"]):
        kind = draw(kinds)
        fields: dict[str, Any] = {"kind": (Literal[tag], tag) if optional_tag else (Literal[tag], ...)}
        fields["held"] = (kind.annotation, ...)
        branches.append(create_model(["Cat", "Dog"][i], **fields))
        values.append(_objects({"kind": st.just(tag), "held": kind.values}))
    union = Annotated[branches[0] | branches[1], Field(discriminator="kind")]
    return Kind(union, values[0] | values[1])


@st.composite
def _extend(draw: st.DrawFn, kinds: st.SearchStrategy[Kind]) -> Kind:
    form = draw(st.sampled_from(_FORMS))
    if form == "typed dict":
        return draw(_typed_dicts(kinds))
    if form == "model":
        return draw(_models(kinds))
    if form == "tagged":
        return draw(_tagged(kinds))
    if form == "set":
        kind = draw(st.sampled_from([k for k in SCALARS if k.annotation in {int, str, bool, Colour, UUID}]))
        return Kind(set[kind.annotation], st.lists(kind.values, max_size=3).map(_unique))
    kind = draw(kinds)
    held: Any = kind.annotation
    match form:
        case "list":
            return Kind(list[held], st.lists(kind.values, max_size=3))
        case "bounded list":
            return Kind(
                Annotated[list[held], Field(min_length=1, max_length=2)], st.lists(kind.values, min_size=1, max_size=2)
            )
        case "dict":
            return Kind(dict[str, held], st.dictionaries(_KEYS, kind.values, max_size=3))
        case "named dict":
            return Kind(dict[Colour, held], st.dictionaries(st.sampled_from(["red", "green"]), kind.values, max_size=2))
        case "filled dict":
            full = st.dictionaries(_KEYS, kind.values, min_size=1, max_size=2)
            return Kind(Annotated[dict[str, held], Field(min_length=1, max_length=2)], full)
        case "optional":
            return Kind(held | None, st.none() | kind.values)
        case _:
            pass
    other = draw(kinds)
    if form == "tuple":
        return Kind(tuple[held, other.annotation], st.tuples(kind.values, other.values).map(list))
    return Kind(held | other.annotation, kind.values | other.values)


_FORMS = (
    *("list", "bounded list", "set", "dict", "named dict", "filled dict", "optional", "tuple"),
    *("union", "union", "typed dict", "model", "tagged"),
)

KINDS: st.SearchStrategy[Kind] = st.recursive(st.sampled_from([*SCALARS, *RECURSIVE, _NAMED]), _extend, max_leaves=5)


@dataclasses.dataclass(frozen=True)
class Drawn:
    """The arguments of a function: their neutral schema, and some that it admits."""

    schema: Schema
    arguments: dict[str, Json]
    adapter: TypeAdapter[Any]

    def __repr__(self) -> str:
        return f"Drawn(schema={self.schema}, arguments={self.arguments})"


@st.composite
def signatures(draw: st.DrawFn) -> Drawn:
    """The parameters of a function with their neutral schema, and arguments that they admit."""
    members = draw(_members(KINDS))
    hints: dict[str, Any] = {}
    for name, kind, how, default in members:
        field = Field(default=default, description=f"The {name}.") if how in {"null", "default"} else Field()
        hint = Annotated[kind.annotation, field]
        hints[name] = NotRequired[hint] if how else hint
    made: Any = TypedDict("Arguments", hints)  # pyright: ignore[reportArgumentType, reportGeneralTypeIssues]
    adapter: TypeAdapter[Any] = TypeAdapter(made)
    return Drawn(closed(adapter.json_schema()), draw(_values_of(members)), adapter)


@dataclasses.dataclass(frozen=True)
class Called:
    """A function that gives back its arguments, and some arguments that its types admit, as JSON."""

    function: Callable[..., dict[str, Any]]
    arguments: dict[str, Json]

    def __repr__(self) -> str:
        return f"Called({inspect.signature(self.function)}, arguments={self.arguments})"


@st.composite
def functions(draw: st.DrawFn) -> Called:
    """A function with defaults of all kinds, and arguments for it."""
    members = sorted(draw(_members(KINDS)), key=lambda m: bool(m[2]))
    namespace: dict[str, Any] = {}
    shown: list[str] = []
    hints: dict[str, Any] = {}
    for name, kind, how, default in members:
        hints[name] = kind.annotation
        if how == "default":
            namespace[f"_{name}"] = TypeAdapter[Any](kind.annotation).validate_json(json.dumps(default))
        elif how:
            hints[name], namespace[f"_{name}"] = kind.annotation | None, None
        shown.append(f"{name}=_{name}" if how else name)
    exec(f"def f({', '.join(shown)}):\n    return dict(locals())", namespace)
    function: Any = namespace["f"]
    function.__annotations__ = hints
    function.__doc__ = "Gives back its arguments."
    return Called(function, draw(_values_of(members)))


def closed(schema: Any) -> Any:
    """The schema with all its objects closed, as a tool's is."""
    if isinstance(schema, list):
        return [closed(v) for v in schema]  # pyright: ignore[reportUnknownVariableType]
    if not isinstance(schema, dict):
        return schema
    out: dict[str, Any] = {k: v if k in {"enum", "default", "const"} else closed(v) for k, v in schema.items()}  # pyright: ignore[reportUnknownVariableType]
    if out.get("type") == "object" and isinstance(out.get("properties"), dict):
        out.setdefault("additionalProperties", False)
    return out
