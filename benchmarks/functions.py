"""The functions that every side of the side-by-side benchmark offers as tools.

`LOOKUPS` are all named `lookup`, since that is what `fake_service` calls; they differ in what they do. `searches(n)`
are distinct functions of six parameters, as people write them: a Literal, an Optional, a list, a pydantic model,
defaults, and a docstring with a line for each parameter.
"""

import asyncio
import time
from collections.abc import Callable
from typing import Any, Literal, Optional

from pydantic import BaseModel, Field

KILOBYTE = "The quick brown fox jumps over the lazy dog. " * 21
STAMPS: list[int] = []
"""CPU time of this process, in ns, at each call of a `lookup` that answers at once."""

DOC = """Look one item up.

    Args:
        key: The item's key.
        number: Which edition of it.
        note: A remark.

    Returns:
        What is known of it.
    """


async def _at_once(key: str, number: int, note: str = "") -> str:
    STAMPS.append(time.process_time_ns())
    return f"{key} {number} {KILOBYTE}"


async def _after_10_ms(key: str, number: int, note: str = "") -> str:
    await asyncio.sleep(0.01)
    return key


async def _length(key: str, number: int, note: str = "") -> str:
    return str(len(note))


def _blocking(key: str, number: int, note: str = "") -> str:
    time.sleep(0.2)
    return key


LOOKUPS = {"at once": _at_once, "after 10 ms": _after_10_ms, "length": _length, "blocking": _blocking}
for _function in LOOKUPS.values():
    _function.__name__ = _function.__qualname__ = "lookup"
    _function.__doc__ = DOC


def add(a: int, b: int) -> int:
    """Add two numbers.

    Args:
        a: The first number.
        b: The second number.

    Returns:
        The sum.
    """
    return a + b


async def add_async(a: int, b: int) -> int:
    """Add two numbers.

    Args:
        a: The first number.
        b: The second number.

    Returns:
        The sum.
    """
    return a + b


NOUNS = ("orders", "tickets", "users", "files", "events", "pages", "commits", "invoices", "alerts", "products")
FILTER = '''
class Filter{i}(BaseModel):
    """A filter on one field."""

    field: str = Field(description="Name of the field to filter on")
    op: Literal["eq", "ne", "lt", "gt", "in"] = Field(default="eq", description="How to compare")
    values: list[str] = Field(default_factory=list, description="What to compare with")
    weight: Optional[float] = None
'''
SEARCH = '''
{kind}def search_{noun}_{i:03d}(
    query: str,
    mode: Literal["fast", "exact", "fuzzy_{i}"],
    labels: list[str],
    where: Filter{m},
    limit: int = {limit},
    cursor: Optional[str] = None,
) -> dict:
    """Search the {noun} index number {i}.

    Runs the query over the {noun} that the caller may see and gives back the best
    hits first. Use the cursor of the last answer to go on.

    Args:
        query: The text to search the {noun} for.
        mode: How to match the query: fast, exact or fuzzy.
        labels: Labels that every one of the {noun} must carry.
        where: A filter on one field of the {noun}.
        limit: Highest number of hits to give back.
        cursor: Where the page before this one ended, if there was one.

    Returns:
        The hits and the cursor of the next page.
    """
    return {{
        "hits": [{{"id": k, "title": query, "score": 0.5 + k, "labels": labels}} for k in range(3)],
        "mode": mode,
        "filter": [where.field, where.op, where.values],
        "cursor": cursor,
        "total": limit,
    }}
'''


TOLD = {
    "what it does": "Runs the query over the", "its result": "The hits and the cursor of the next page",
    "its parameters": "Highest number of hits to give back", "their members": "Name of the field to filter on",
    "choices": '"exact"', "choices in members": '"ne"',
    "defaults": 'default":10', "defaults in members": 'default":"eq"',
}  # fmt: skip
"""What a definition of a `searches` function says of it, and the words by which that is known."""


def untold(definitions: str) -> list[str]:
    """What some definitions, as compact JSON, do not say; a default may also be told in words."""
    text = definitions.replace("default 10)", 'default":10').replace('default \\"eq\\")', 'default":"eq"')
    return [what for what, words in TOLD.items() if words not in text]


def searches(count: int, *, kind: Literal["", "async "] = "") -> list[Callable[..., Any]]:
    """So many functions, each with a text of its own."""
    made: dict[str, Any] = {
        "__name__": __name__, "BaseModel": BaseModel, "Field": Field, "Literal": Literal, "Optional": Optional,
    }  # fmt: skip
    for i in range(len(NOUNS)):
        exec(FILTER.format(i=i), made)
    for i in range(count):
        noun = NOUNS[i % 10]
        exec(SEARCH.format(kind=kind, noun=noun, i=i, m=i % 10, limit=10 + i), made)
    return [made[f"search_{NOUNS[i % 10]}_{i:03d}"] for i in range(count)]


TWO = '{"a": 20, "b": 22}'
SIX = (
    '{"query": "blue running shoes under fifty", "mode": "exact", "labels": ["sale", "new", "shoes", "eu"], '
    '"where": {"field": "price", "op": "lt", "values": ["50", "eur"], "weight": 0.75}, "limit": 25, '
    '"cursor": "eyJwYWdlIjogMn0="}'
)
