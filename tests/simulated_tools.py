"""Tools of many shapes, to which the mistakes of `simulate` are sent. None of them may ever be called."""

from __future__ import annotations

import enum
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import AfterValidator, AnyUrl, BaseModel, ConfigDict, Field
from typing_extensions import TypedDict

from toolsmith import Tool, ToolRegistry


class Called(BaseException):
    """A function was called; `BaseException`, so that nothing takes it for a failure of the tool."""


class Colour(enum.Enum):
    RED = "red"
    DARK_BLUE = "dark blue"
    GREEN = "green"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 3


@dataclass
class Stop:
    """A place on a route."""

    place: str
    nights: int = 1


@dataclass
class Leg:
    start: Stop
    end: Stop
    by: Literal["train", "ship"] = "train"


class Point(NamedTuple):
    x: float
    y: float


class Filter(TypedDict, total=False):
    column: str
    op: Literal["eq", "lt", "gt"]
    value: str | int


class Card(BaseModel):
    model_config = ConfigDict(extra="forbid")
    kind: Literal["card"] = "card"
    number: Annotated[str, Field(pattern=r"^\d{4}-\d{4}$")]


class Transfer(BaseModel):
    model_config = ConfigDict(extra="forbid")
    kind: Literal["transfer"] = "transfer"
    iban: Annotated[str, Field(min_length=15, max_length=34)]
    urgent: bool = False


class Tree(BaseModel):
    name: str
    children: list[Tree] = []


@dataclass
class Line:
    article: str
    count: Annotated[int, Field(ge=1, le=99)]
    options: dict[str, str] = field(default_factory=dict[str, str])


def even(number: int) -> int:
    if number % 2:
        raise ValueError("Seats are sold in pairs: give an even number.")
    return number


def nothing() -> None:
    """Take a look."""
    raise Called


def one_text(text: str) -> None:
    """Say something."""
    raise Called


def two_texts(text: str, language_code: Annotated[str, Field(min_length=2, max_length=2)] = "en") -> None:
    """Translate."""
    raise Called


def whole(count: int) -> None:
    """Count."""
    raise Called


def bounded(timeout_seconds: Annotated[int, Field(ge=1, le=60)] = 30) -> None:
    """Wait."""
    raise Called


def numbers(
    x: float, ratio: Annotated[float, Field(gt=0, lt=1)], step: Annotated[int, Field(multiple_of=5)] = 10
) -> None:
    """Compute."""
    raise Called


def truth(path: str, recursive: bool, dry_run: bool = True) -> None:
    """Delete."""
    raise Called


def choice(
    mode: Literal["append", "overwrite", "create"], colour: Colour = Colour.RED, level: Level = Level.LOW
) -> None:
    """Choose."""
    raise Called


def days(day: date, until: datetime | None = None, at: time = time(9), length: timedelta = timedelta(hours=1)) -> None:
    """Book."""
    raise Called


def kinds(key: uuid.UUID, price: Decimal, file: Path, page: AnyUrl, raw: bytes = b"") -> None:
    """Take all kinds of strings."""
    raise Called


def texts(tags: list[str], names: Annotated[list[str], Field(min_length=2, max_length=5)]) -> None:
    """Tag."""
    raise Called


def unique(words: set[str], pair: tuple[int, str], row: tuple[float, ...] = ()) -> None:
    """Collect."""
    raise Called


def mapping(prices: dict[str, float], labels: dict[str, list[int]] | None = None) -> None:
    """Map."""
    raise Called


def objects(stops: list[Stop]) -> None:
    """Plan."""
    raise Called


def deep(leg: Leg, legs: list[Leg] | None = None) -> None:
    """Plan more."""
    raise Called


def named(point: Point, points: list[Point]) -> None:
    """Draw."""
    raise Called


def query(table: str, filters: list[Filter], limit: Annotated[int, Field(ge=1, le=1000)] = 100) -> None:
    """Query."""
    raise Called


def tagged(pay: Annotated[Card | Transfer, Field(discriminator="kind")], amount: Decimal) -> None:
    """Pay."""
    raise Called


def untagged(where: Stop | Point | str) -> None:
    """Go."""
    raise Called


def scalars(key: int | str, other: int | list[int], maybe: float | None = None) -> None:
    """Look up."""
    raise Called


def recursive(tree: Tree) -> None:
    """Grow."""
    raise Called


def anything(data: Any, more: dict[str, Any] | None = None) -> None:
    """Store."""
    raise Called


def model(order: Card) -> None:
    """Order."""
    raise Called


def lines(order_id: Annotated[str, Field(pattern=r"^ORD-[0-9]{6}$")], lines: list[Line]) -> None:
    """Order lines."""
    raise Called


def checked(seats: Annotated[int, Field(ge=2, le=10), AfterValidator(even)]) -> None:
    """Sell."""
    raise Called


def open_ended(subject: str, **headers: str) -> None:
    """Send."""
    raise Called


def examples(code: Annotated[str, Field(pattern=r"^(?!00)\d{2}$", examples=["42"])]) -> None:
    """Open."""
    raise Called


def long_set(
    country: Literal["AT", "BE", "CH", "DE", "DK", "ES", "FI", "FR", "IT", "NL", "NO", "PL", "PT", "SE"],
) -> None:
    """Travel."""
    raise Called


def optional(a: int | None = None, b: str | None = None, c: bool | None = None, d: list[int] | None = None) -> None:
    """Take what there is."""
    raise Called


@dataclass
class Schrank:
    höhe: int
    tiefe: Annotated[int, Field(ge=1)] = 1


def umlauts(größe: int, schränke: list[Schrank], farbe: Colour = Colour.RED) -> None:
    """Has names that not every service takes."""
    raise Called


def _raw(**arguments: Any) -> None:
    raise Called


RAW = Tool(
    name="from_elsewhere",
    description="Came with a schema of its own.",
    parameters={
        "type": "object",
        "properties": {
            "query": {"type": "string", "minLength": 1},
            "sort": {"enum": ["asc", "desc"]},
            "page": {"type": "integer", "minimum": 1, "maximum": 50},
            "at": {"type": "string", "format": "time"},
            "since": {"type": "string", "format": "date-time"},
            "for": {"type": "string", "format": "duration"},
            "window": {
                "type": "object",
                "properties": {"from": {"type": "string", "format": "date"}, "size": {"type": "integer"}},
                "required": ["from"],
                "additionalProperties": False,
            },
            "target": {
                "oneOf": [
                    {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]},
                    {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
                ]
            },
        },
        "required": ["query", "window"],
        "additionalProperties": False,
    },
    handler=_raw,
)

FUNCTIONS: tuple[Callable[..., Any], ...] = (
    nothing,
    one_text,
    two_texts,
    whole,
    bounded,
    numbers,
    truth,
    choice,
    days,
    kinds,
    texts,
    unique,
    mapping,
    objects,
    deep,
    named,
    query,
    tagged,
    untagged,
    scalars,
    recursive,
    anything,
    model,
    lines,
    checked,
    open_ended,
    examples,
    long_set,
    optional,
    umlauts,
)
TOOLS: tuple[Tool[..., Any], ...] = (*ToolRegistry(FUNCTIONS), RAW)
