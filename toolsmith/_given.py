"""What a caller gave, looked at before it is used: of a wrong type it is told where it stands and what to give.

Each function takes the name of the call and the arguments to look at, by name:

    given.whole("RAG.search", limit=limit)   # TypeError: RAG.search(limit='3'): give a whole number, as in limit=3.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import PathLike
from typing import cast

_SHOWN = 60


def text(call: str, /, *, or_none: bool = False, **given: object) -> None:
    """Each is a text."""
    for name, value in given.items():
        if not isinstance(value, str) and not (or_none and value is None):
            raise wrong(call, name, value, "a text (str)", or_none=or_none)


def path(call: str, /, *, or_none: bool = False, **given: object) -> None:
    """Each is the path of a file or folder."""
    for name, value in given.items():
        if not isinstance(value, str | PathLike) and not (or_none and value is None):
            raise wrong(call, name, value, "a path (str or pathlib.Path)", or_none=or_none)


def whole(call: str, /, *, or_none: bool = False, **given: object) -> None:
    """Each is a whole number; True and False are none."""
    for name, value in given.items():
        is_whole = hasattr(type(value), "__index__") and not isinstance(value, bool)
        if not is_whole and not (or_none and value is None):
            raise wrong(call, name, value, "a whole number", or_none=or_none)


def number(call: str, /, *, or_none: bool = False, **given: object) -> None:
    """Each is a number; True and False are none."""
    for name, value in given.items():
        is_number = hasattr(type(value), "__float__") and not isinstance(value, bool)
        if not is_number and not (or_none and value is None):
            raise wrong(call, name, value, "a number", or_none=or_none)


def flag(call: str, /, *, or_none: bool = False, **given: object) -> None:
    """Each is True or False: of a text such as "no" nobody would expect that it means yes."""
    for name, value in given.items():
        if not isinstance(value, bool) and not (or_none and value is None):
            raise wrong(call, name, value, "True or False", or_none=or_none)


def texts(call: str, /, *, or_one: bool = False, **given: object) -> None:
    """Each is a list, tuple or set of texts; not one text, which is a list of its letters, unless `or_one`."""
    for name, value in given.items():
        if isinstance(value, str):
            if or_one:
                continue
            raise wrong(call, name, value, f"a list, as in {name}=[{_shown(value)}]")
        if not isinstance(value, Iterable) or isinstance(value, bytes | bytearray | Mapping):
            raise wrong(
                call, name, cast("object", value), "a text, or a list of texts" if or_one else "a list of texts"
            )
        for one in cast("Iterable[object]", value):
            if not isinstance(one, str):
                raise TypeError(f"{call}({name}=...): give texts (str) in it, not {_shown(one)}.")


def mapping(call: str, /, *, example: str, **given: object) -> None:
    """Each is a mapping, or None."""
    for name, value in given.items():
        if value is not None and not isinstance(value, Mapping):
            raise wrong(call, name, value, f"a dict, as in {name}={example}", or_none=True)


def function(call: str, /, **given: object) -> None:
    """Each is a function, or None."""
    for name, value in given.items():
        if value is not None and not callable(value):
            raise wrong(call, name, value, "a function", or_none=True)


def wrong(call: str, name: str, value: object, wanted: str, *, or_none: bool = False) -> TypeError:
    """The error for an argument of a wrong type.

    Args:
        call: as its caller wrote it, "RAG.search".
        name: of the argument.
        wanted: what it takes, "a whole number".
        or_none: None is taken too.
    """
    meant = ""
    if isinstance(value, str) and wanted in {"a whole number", "a number"}:
        plain = value.strip().removeprefix("-")
        is_one = plain.isdigit() or (wanted == "a number" and plain.replace(".", "", 1).isdigit())
        meant = f", as in {name}={value.strip()}" if plain.isascii() and is_one else ""
    return TypeError(f"{call}({name}={_shown(value)}): give {wanted}{meant}{', or None' if or_none else ''}.")


def _shown(value: object) -> str:
    try:
        said = repr(value)
    except Exception:  # noqa: BLE001 - anybody's code
        said = f"<{type(value).__name__}>"
    return said if len(said) <= _SHOWN else f"{said[: _SHOWN - 3]}..."
