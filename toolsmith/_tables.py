"""TOML tables read into frozen dataclasses, with every problem named at once.

A dataclass is the declaration: its fields are the keys a table may have, their annotations what a key takes.

| annotation | in the file |
|---|---|
| `str`, `int`, `float` | text, a whole number, a number |
| `int \\| None`, `float \\| None` | the same, or "none" for no bound (TOML has no null) |
| `str \\| None` | text |
| `tuple[str, ...]` | a list of texts; a single text is a list of one |
| `Mapping[str, Any]` | any table |
| `Mapping[str, int]` | a table of whole numbers |
| a dataclass | a table of that shape |
| `Mapping[str, a dataclass]` | named tables of that shape |

A field whose metadata says `in_file: False` is not for files. A field made with `checked` has a say of its own about
values of the right kind.

Values are never quoted in a problem: someone may have put a secret where none belongs.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, field, fields, is_dataclass
from difflib import get_close_matches
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, TypeVar, cast, get_args, get_origin, get_type_hints

from toolsmith.errors import ConfigError

T = TypeVar("T")
Where = tuple[str, ...]
Check = Callable[[Any, "TableReader"], Iterable[str]]

_NO_BOUND = "none"


def checked(check: Check, default: Any = MISSING) -> Any:
    """A dataclass field whose value from a file must also pass `check`, which gives what is wrong with it."""
    return field(default=default, metadata={"check": check})


class _Unusable(Exception):
    """A value was refused; its problem is noted."""


class TableReader:
    """Reads one file and gathers what is wrong with it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.problems: list[str] = []
        self._lines: Sequence[str] = ()
        self._data: dict[str, Any] = {}

    def read(self, shape: type[T]) -> T:
        """The file as a `shape`, without the tables that `problems` names. All fields of the shape need defaults.

        Raises:
            ConfigError: the file cannot be read or is no TOML.
        """
        try:
            # "utf-8-sig": some editors begin a file with a byte order mark, which TOML does not know.
            text = self.path.read_text(encoding="utf-8-sig")
        except OSError as error:
            raise ConfigError(f"{self.path}: cannot be read: {error.strerror or error}.") from error
        except UnicodeDecodeError as error:
            raise ConfigError(f"{self.path}: is not UTF-8 text, as TOML must be ({error.reason}).") from error
        try:
            self._data = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise ConfigError(f"{self.path}: is not valid TOML: {error}") from error
        self._lines = text.splitlines()
        return self._table(self._data, shape, ())

    def names(self, table: str) -> Sequence[str]:
        """The keys of a top-level table as they stand in the file, the unusable ones too."""
        value = self._data.get(table)
        return list(cast("dict[str, Any]", value)) if isinstance(value, dict) else []

    def problem(self, where: Where, text: str) -> None:
        """Note a problem of the key at `where`: ("models", "fast", "base_url")."""
        self.problems.append(f"{self.locate(where)}: {text}")

    def locate(self, where: Where) -> str:
        """`toolsmith.toml:12: [models.fast] base_url`; without a line where that cannot be told."""
        line = _find_line(self._lines, where)
        place = f"{self.path}:{line}" if line else f"{self.path}"
        value: Any = self._data
        for name in where:
            value = cast("dict[str, Any]", value).get(name) if isinstance(value, dict) else None
        if isinstance(value, dict):
            return f"{place}: [{'.'.join(where)}]"
        *table, key = where
        return f"{place}: [{'.'.join(table)}] {key}" if table else f"{place}: {key}"

    def _table(self, data: Mapping[str, Any], shape: type[T], where: Where) -> T:
        known: Sequence[Field[Any]] = fields(cast("Any", shape))
        declared = {f.name: f for f in known if f.metadata.get("in_file", True)}
        hints = get_type_hints(shape)
        before = len(self.problems)
        for key in [k for k in data if k not in declared]:
            near = get_close_matches(key, declared, n=1)
            guess = f" Did you mean {near[0]}?" if near else ""
            self.problem((*where, key), f"there is no such setting.{guess} Allowed here: {', '.join(declared)}.")
        values: dict[str, Any] = {}
        for name, spec in declared.items():
            if name in data:
                try:
                    values[name] = self._field(spec, data[name], hints[name], (*where, name))
                except _Unusable:
                    continue
            elif _required(spec):
                self.problem((*where, name), "is missing. This table must have it.")
        # Tried even with what is left of a faulty table: the shape may have more to say about the rest.
        try:
            made = None if any(_required(f) and f.name not in values for f in declared.values()) else shape(**values)
        except ValueError as error:
            self.problem(where, str(error))
            made = None
        if made is None or (where and len(self.problems) > before):
            raise _Unusable
        return made

    def _field(self, spec: Field[Any], raw: Any, hint: Any, where: Where) -> Any:
        value = self._value(raw, hint, where)
        check: Check | None = spec.metadata.get("check")
        faults = list(check(value, self)) if check is not None and value is not None else []
        for fault in faults:
            self.problem(where, fault)
        if faults:
            raise _Unusable
        return value

    def _value(self, value: Any, hint: Any, where: Where) -> Any:
        optional = get_origin(hint) is UnionType and NoneType in get_args(hint)
        kind = next(a for a in get_args(hint) if a is not NoneType) if optional else hint
        if optional and kind in (int, float) and value == _NO_BOUND:
            return None
        if is_dataclass(kind):
            return self._table(self._dict(value, where), cast("type[Any]", kind), where)
        if get_origin(kind) is Mapping:
            item = get_args(kind)[1]
            table = self._dict(value, where)
            if item is int:
                return {name: self._value(count, int, (*where, name)) for name, count in table.items()}
            return table if item is Any else self._named(table, item, where)
        if kind is str and isinstance(value, str):
            return value
        if kind is int and isinstance(value, int) and not isinstance(value, bool):
            return value
        if kind is float and isinstance(value, (int, float)) and not isinstance(value, bool):
            return value
        if kind is bool and isinstance(value, bool):
            return value
        if get_origin(kind) is tuple and (texts := _texts(value)) is not None:
            return texts
        wanted = {str: "text in quotes", int: "a whole number", float: "a number", bool: "true or false"}.get(
            kind, "a list of texts"
        )
        or_none = f', or "{_NO_BOUND}" for no bound' if optional and kind in (int, float) else ""
        self.problem(where, f"takes {wanted}{or_none}, not {_describe(value)}.")
        raise _Unusable

    def _named(self, table: Mapping[str, Any], shape: type[Any], where: Where) -> dict[str, Any]:
        made: dict[str, Any] = {}
        for name, value in table.items():
            try:
                made[name] = self._table(self._dict(value, (*where, name)), shape, (*where, name))
            except _Unusable:
                continue
        return made

    def _dict(self, value: Any, where: Where) -> dict[str, Any]:
        if isinstance(value, dict):
            return cast("dict[str, Any]", value)
        self.problem(where, f"takes a table, [{'.'.join(where)}], not {_describe(value)}.")
        raise _Unusable


def _required(spec: Field[Any]) -> bool:
    return spec.default is MISSING and spec.default_factory is MISSING


def _texts(value: object) -> tuple[str, ...] | None:
    values = cast("list[object]", value) if isinstance(value, list) else [value]
    texts = tuple(v for v in values if isinstance(v, str))
    return texts if len(texts) == len(values) else None


def _describe(value: object) -> str:
    match value:
        case bool():
            return "true or false"
        case str():
            return "text"
        case int():
            return "a number"
        case float():
            return "a number with a fraction"
        case list():
            return "a list" if _texts(cast("object", value)) is not None else "a list of other things"
        case dict():
            return "a table"
        case _:
            return "a date or time"


_HEADER = re.compile(r"\s*\[(?!\[)(?P<name>[^\]]+)\]\s*(#.*)?")
_KEY = re.compile(r"\s*(?P<key>(?:\"[^\"]*\"|'[^']*'|[\w-]+)(?:\s*\.\s*(?:\"[^\"]*\"|'[^']*'|[\w-]+))*)\s*=")


def _find_line(lines: Sequence[str], where: Where) -> int | None:
    """The line of a key or of its table's header: the deepest one that stands there, if it stands there once.

    `tomllib` tells no positions. Reading headers and keys line by line can be fooled by a text of several lines that
    looks like TOML; then a line is found twice, and none is told.
    """
    found: dict[Where, list[int]] = {}
    table: Where = ()
    for number, line in enumerate(lines, 1):
        if header := _HEADER.fullmatch(line):
            table = _split_key(header["name"])
            found.setdefault(table, []).append(number)
        elif key := _KEY.match(line):
            path = (*table, *_split_key(key["key"]))
            # An inline table and a dotted key also say where their parents are.
            for depth in range(len(table) + 1, len(path) + 1):
                found.setdefault(path[:depth], []).append(number)
    for depth in range(len(where), 0, -1):
        numbers = found.get(where[:depth], [])
        if numbers:
            return numbers[0] if len(set(numbers)) == 1 else None
    return None


def _split_key(text: str) -> Where:
    try:
        level: Any = tomllib.loads(f"{text} = 0")
    except tomllib.TOMLDecodeError:
        return ()
    parts: list[str] = []
    while isinstance(level, dict):
        name, level = next(iter(cast("dict[str, Any]", level).items()))
        parts.append(name)
    return tuple(parts)
