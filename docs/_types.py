"""The tables of `types.md`: what becomes of an annotation, from the code that does it."""

from __future__ import annotations

import enum
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, cast
from uuid import UUID

from pydantic import BaseModel, Field, HttpUrl
from typing_extensions import TypedDict

from toolsmith import Tool
from toolsmith.dialects import CLAUDE_STRICT, OPENAI_STRICT, Encoded


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclass
class Point:
    x: float
    y: float = 0.0


class Address(BaseModel):
    street: str
    zip: str = Field(pattern=r"^\d{5}$")


class Options(TypedDict, total=False):
    dry_run: bool


class Size(NamedTuple):
    width: int
    height: int


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int


class Dog(BaseModel):
    kind: Literal["dog"]
    name: str


class Tree(BaseModel):
    value: int
    children: list[Tree] = []


# Section -> what stands after `x: ` in `def f(x: ...)`.
SECTIONS: Mapping[str, tuple[str, ...]] = {
    "Plain values": ("str", "int", "float", "bool", "None"),
    "Descriptions and limits": (
        'Annotated[str, "a city"]',
        'Annotated[str, Field(description="a city")]',
        "Annotated[int, Field(ge=1, le=50)]",
        "Annotated[str, Field(min_length=2, max_length=60)]",
        'Annotated[str, Field(pattern="^[A-Z]{2}$")]',
        "Annotated[list[str], Field(min_length=1, max_length=3)]",
    ),
    "Defaults and None": (
        "int = 7",
        "str | None",
        "str | None = None",
        'str | None = "all"',
        "list[str] = []",
        "Colour = Colour.RED",
        "date = date(2026, 1, 31)",
    ),
    "Choices": ('Literal["asc", "desc"]', 'Literal[1, 2, "all"]', "Colour", "int | str"),
    "Dates, numbers and other texts": (
        "date",
        "datetime",
        "time",
        "timedelta",
        "UUID",
        "Decimal",
        "Path",
        "bytes",
        "HttpUrl",
    ),
    "Lists, sets, tuples and dicts": (
        "list[int]",
        "set[str]",
        "tuple[int, ...]",
        "tuple[float, float]",
        "dict[str, int]",
        "dict[int, str]",
    ),
    "Objects": (
        "Point",
        "Address",
        "Options",
        "Size",
        "list[Point]",
        "dict[str, Point]",
        "Cat | Dog",
        'Annotated[Cat | Dog, Field(discriminator="kind")]',
        "Tree",
    ),
    "Without a strict form": ("Any", "list", "dict"),
}
_NAMES: Mapping[str, Any] = {
    **{kind.__name__: kind for kind in (Colour, Point, Address, Options, Size, Cat, Dog, Tree)},
    **{kind.__name__: kind for kind in (date, datetime, time, timedelta, UUID, Decimal, Path, HttpUrl)},
    "Annotated": Annotated,
    "Any": Any,
    "Field": Field,
    "Literal": Literal,
}


def types_tables() -> str:
    """One table for each section."""
    return "\n\n".join(f"## {title}\n\n{_table(rows)}" for title, rows in SECTIONS.items())


def _table(rows: tuple[str, ...]) -> str:
    head = ["| `x: ...` | neutral schema | OpenAI strict | Claude strict | what is lost |", "|---|---|---|---|---|"]
    return "\n".join([*head, *(_row(annotation) for annotation in rows)])


def _row(annotation: str) -> str:
    names = dict(_NAMES)
    exec(f"def f(x: {annotation}):\n    'Do it.'", names)
    neutral = Tool(names["f"]).input_schema
    forms = [dialect.encode(neutral) for dialect in (OPENAI_STRICT, CLAUDE_STRICT)]
    cells = [_code(annotation), _shown(neutral), *(_wire(form, neutral) for form in forms), _lost(*forms)]
    return f"| {' | '.join(cells)} |"


def _wire(form: Encoded, neutral: Mapping[str, Any]) -> str:
    if form.fatal:
        return "no strict form"
    return "the same" if form.schema == neutral else _shown(form.schema)


def _shown(schema: Mapping[str, Any]) -> str:
    """The schema of `x`, the definitions it refers to, and whether a call must have it."""
    shown = _code(json.dumps(_sorted(schema["properties"]["x"]), ensure_ascii=False))
    for name, definition in schema.get("$defs", {}).items():
        shown += f" where {name} is {_code(json.dumps(_sorted(definition), ensure_ascii=False))}"
    return shown if "x" in schema.get("required", ()) else f"{shown}, not required"


# The order of keywords has no meaning; one order makes the columns comparable.
_ORDER = (
    *("description", "$ref", "type", "anyOf", "oneOf", "const", "enum", "format", "pattern"),
    *("minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems"),
    *("properties", "required", "additionalProperties", "items"),
)


def _sorted(value: Any) -> Any:
    match value:
        case list():
            return [_sorted(item) for item in cast("list[Any]", value)]
        case dict():
            node = cast("dict[str, Any]", value)
            names = sorted(node, key=lambda name: _ORDER.index(name) if name in _ORDER else len(_ORDER))
            # Members stay in their own order: a strict sampler keeps to it.
            return {
                name: {n: _sorted(m) for n, m in node[name].items()} if name == "properties" else _sorted(node[name])
                for name in names
            }
        case _:
            return value


_SPOKEN = " is told in words"


def _lost(openai: Encoded, claude: Encoded) -> str:
    """What both services' strict forms cannot say, or only one of them."""
    told: dict[str, list[str]] = {}
    for service, form in (("OpenAI", openai), ("Claude", claude)):
        words = [str(loss).removeprefix("`x` ") for loss in form.losses]
        spoken = [w.removesuffix(_SPOKEN) for w in words if w.endswith(_SPOKEN)]
        others = [w for w in words if not w.endswith(_SPOKEN)]
        for what in [*([f"{', '.join(spoken)} told in words"] if spoken else []), *others]:
            told.setdefault(what, []).append(service)
    each = [_escaped(what) + ("" if len(who) == 2 else f" ({who[0]})") for what, who in told.items()]
    return "; ".join(each) or "nothing"


def _code(text: str) -> str:
    return f"`{_escaped(text)}`"


def _escaped(text: str) -> str:
    return text.replace("|", "\\|")
