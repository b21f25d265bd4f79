"""Filters and metadata as they are written on a command line: `lang=en`, `year>=2020`, `tag=red,blue`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any, NoReturn, cast

from toolsmith.errors import ConfigError

OPERATORS = "= != < <= > >="
_FILTER = re.compile(r"([^=<>!]+)(!=|<=|>=|=|<|>)(.*)", re.DOTALL)
_NAMES = {"=": "in", "!=": "ne", "<": "lt", "<=": "lte", ">": "gt", ">=": "gte"}
_MEANT = {"=>": ">=", "=<": "<=", "<>": "!=", "=!": "!="}
_SECOND = re.compile(r"\s(and|or)\s+\S+\s*(!=|<=|>=|=|<|>)", re.IGNORECASE)


def filters(texts: Iterable[str]) -> dict[str, Any]:
    """What is given with `--where`, as `RAG.search` takes it: all must hold.

    Raises:
        ConfigError: one is no filter, or two say what the same key is; says what is allowed.
    """
    where: dict[str, Any] = {}
    for text in texts:
        key, operator, value = _parts(text)
        name = _NAMES[operator]
        if name in where.setdefault(key, {}):
            _refuse(text, f"{key!r} has a filter with {operator} already. For any of several values: {key}=red,blue.")
        where[key][name] = _wanted(text, operator, value)
    return where


def metadata(texts: Iterable[str]) -> dict[str, Any]:
    """What is given with `--metadata`.

    Raises:
        ConfigError: one is no KEY=VALUE, or a key comes twice.
    """
    found: dict[str, Any] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        key = key.strip()
        if not equals or not key:
            raise ConfigError(f"--metadata {text!r} is no KEY=VALUE.")
        if key in found:
            raise ConfigError(f'--metadata {text!r}: {key!r} is given twice. For a list: \'{key}=["red", "blue"]\'.')
        found[key] = _value(value, lists=True)
    return found


def _parts(text: str) -> tuple[str, str, str]:
    found = _FILTER.fullmatch(text)
    if found is None or not found[1].strip():
        raise ConfigError(
            f"--where {text!r} is no filter. Write a key, one of {OPERATORS}, and a value, in quotes for the shell: "
            'lang=en, "year>=2020", tag=red,blue.'
        )
    key, operator, value = found[1].strip(), found[2], found[3].strip()
    more = re.match(r"[=<>!]+", value)
    if more is not None:
        written = operator + more[0]
        meant = _MEANT.get(written, operator)
        rest = value[more.end() :].strip()
        _refuse(
            text,
            f"there is no operator {written}; there are {OPERATORS}. Did you mean {key}{meant}{rest}? A value that "
            f"begins with such a character stands in double quotes: '{key}{operator}{json.dumps(value)}'.",
        )
    if not value:
        _refuse(text, f"there is no value. An empty text is written '{key}{operator}\"\"'.")
    if _SECOND.search(value):
        _refuse(text, "this looks like several filters. Give each with a --where of its own; all must hold.")
    return key, operator, value


def _wanted(text: str, operator: str, value: str) -> Any:
    """The value of a filter, or several of which one must fit."""
    whole = _value(value, lists=operator in ("=", "!="))
    if "," not in value or whole != value:  # in JSON it is one value, such as a text in quotes
        return whole
    if operator not in ("=", "!="):
        _refuse(text, f"{operator} takes one value. One with a comma stands in double quotes: {json.dumps(value)}.")
    parts = [part.strip() for part in value.split(",")]
    if not all(parts):
        _refuse(text, "there is an empty value between commas.")
    return [_value(part) for part in parts]


def _refuse(text: str, why: str) -> NoReturn:
    raise ConfigError(f"--where {text!r}: {why}")


def _value(text: str, *, lists: bool = False) -> Any:
    """A scalar in JSON (or a list of them), else the text itself."""
    try:
        value: Any = json.loads(text, parse_constant=lambda name: name)
    except (ValueError, RecursionError):
        return text.strip()
    if lists and isinstance(value, list):
        many = cast("list[Any]", value)
        return many if all(map(_is_scalar, many)) else text.strip()
    return value if _is_scalar(value) else text.strip()


def _is_scalar(value: object) -> bool:
    return value is None or isinstance(value, str | int | float | bool)
