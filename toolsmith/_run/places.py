"""Places in data as text: `rows[3].text`. In an object [3] is its fourth member, for names that are hard to write."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any, Final, cast, overload

Path = tuple[int, ...]

_PLAIN: Final = re.compile(r"[^\W\d][\w-]{0,59}")
_STEP: Final = re.compile(
    r"""\[\s*(?P<at>\d{1,9})\s*\]|\[\s*(?P<quoted>"(?:[^"\\]|\\.)*"|'[^']*')\s*\]|[./]*(?P<name>[^.\[\]/]+)""",
    re.DOTALL,
)


@overload
def place_of(value: Any, path: Path) -> str: ...
@overload
def place_of(value: Any, path: Path, *, most: int) -> str | None: ...
def place_of(value: Any, path: Path, *, most: int | None = None) -> str | None:
    """A place, in words that `find` reads; "" for the whole.

    Args:
        value: the whole.
        path: which item or member, from the outside in.
        most: characters; None is returned for a place that cannot be said in so many.
    """
    text = ""
    for part in path:
        if isinstance(value, dict):
            name, value = next(islice(cast("dict[str, Any]", value).items(), part, None))
            plain = _PLAIN.fullmatch(name) is not None
            text += (f".{name}" if text else name) if plain else f"[{part}]"
        else:
            value = value[part]
            text += f"[{part}]"
    if most is not None and len(text) > most:
        text = "".join(f"[{part}]" for part in path)
        return text if len(text) <= most else None
    return text


def find(value: Any, at: str) -> tuple[Any, Path, bool]:
    """What stands at a place, its path, and whether the whole place was found; else how far it leads.

    Args:
        value: the whole.
        at: as `place_of` writes it; `$.rows.3.text` and `/rows/3/text` are understood too.
    """
    path: list[int] = []
    for step in _steps(at.strip().strip("`").removeprefix("$")):
        inner = _inner(value, step)
        if inner is None:
            return value, tuple(path), False
        path.append(inner[0])
        value = inner[1]
    return value, tuple(path), True


def _steps(at: str) -> Iterator[int | str]:
    position = 0
    while position < len(at.rstrip("./")):
        step = _STEP.match(at, position)
        if step is None:
            yield at[position:]  # what nothing is named like
            return
        position = step.end()
        if (number := step["at"]) is not None:
            yield int(number)
        elif (quoted := step["quoted"]) is not None:
            yield _unquoted(quoted)
        else:
            yield step["name"].strip()


def _unquoted(text: str) -> str:
    if text[0] == "'":
        return text[1:-1]
    try:
        return str(json.loads(text))
    except ValueError:
        return text[1:-1]


def _inner(value: Any, step: int | str) -> tuple[int, Any] | None:
    """The part of a value that a step leads to, and which one it is."""
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value)
        if isinstance(step, str) and step in members:
            return next(i for i, name in enumerate(members) if name == step), members[step]
        items = [*members.values()] if isinstance(step, int) else None
    else:
        items = cast("list[Any]", value) if isinstance(value, list) else None
    number = int(step) if isinstance(step, int) or (step.isascii() and step.isdigit() and len(step) < 10) else None
    if items is None or number is None or number >= len(items):
        return None
    return number, items[number]
