"""From what a tool gives back to plain JSON data, by declared rules; what no rule covers is refused, never printed.

None, str, bool, int, finite float      themselves
NaN, infinities                         null, with a note
half of a surrogate pair in a text      U+FFFD, with a note
dict, any Mapping                       object, order kept; keys that are numbers, dates, enum members: their text
list, tuple, deque, range, ...          array
set, frozenset                          array, sorted where its items can be
named tuple, dataclass, attrs, msgspec  object of its fields
pydantic model                          its own `model_dump(mode="json")`
Enum member                             its value
datetime, date, time, timedelta         ISO 8601
Decimal, UUID, Path, URL, IP address    its text
bytes, bytearray, memoryview            its text if it is UTF-8, else base64, with a note
numpy scalar or array                   number, or nested arrays
iterator (map, zip, a generator)        array of its items, at most 100,000
exception                               {"error": its class}; for a ToolError its message; its text may hold secrets
Image, File                             a text that says so, "[image 1: image/png, 1,234 bytes]"; shown beside the data
SecretStr and the like                  masked
coroutine, class, function, open file   refused, as is what contains itself, is nested deeper than 200 levels, or has
                                        more than two million values or a hundred million characters
"""

from __future__ import annotations

import base64
import dataclasses
import inspect
import json
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, KeysView, Mapping, Sequence, Set, ValuesView
from decimal import Decimal
from enum import Enum
from functools import lru_cache
from io import IOBase
from itertools import islice
from math import isfinite
from pathlib import PurePath
from typing import Any, Literal, cast

from pydantic_core import PydanticSerializationError, to_jsonable_python

from toolsmith._calls.held import Held
from toolsmith._plain import (
    MAX_BITS,
    MAX_CHARACTERS,
    MAX_DEPTH,
    MAX_ITEMS,
    MAX_VALUES,
    NOT_PLAIN,
    characters_left,
    encodable,
    sound,
    values_left,
)
from toolsmith.errors import ToolError
from toolsmith.media import File, Image, Media, set_aside

Note = Literal["not_a_number", "broken_text", "base64"]
"""What was changed on the way, so that the model may be told."""

Why = Literal["unknown", "circular", "deep", "endless", "large", "pending", "keys", "digits"]
"""Why a value is refused: no rule for its type; it contains itself; nested too deeply; too many items; too much in all;
not awaited; a key without a text, or two keys with one text; a whole number that no reader takes."""

TOO_MUCH: frozenset[Why] = frozenset({"endless", "large"})


class NotJson(Exception):
    """A value that cannot be shown.

    Attributes:
        why: the rule it breaks.
        path: where in the result: keys and positions.
        type_name: of the value there, for people; a model has no use for it.
    """

    def __init__(self, why: Why, path: Sequence[str | int], value: Any) -> None:
        cls = cast("type[Any]", value if isinstance(value, type) else type(value))
        self.why: Why = why
        self.path = tuple(path)
        self.type_name = f"{cls.__module__}.{cls.__qualname__}".removeprefix("builtins.")
        place = "".join(f"[{p!r}]" for p in self.path)
        super().__init__(f"{self.type_name}{f' at result{place}' if place else ''} ({why})")


class Writer:
    """Writes one result. Knows where it is, and what it is inside of.

    Attributes:
        notes: what was changed on the way.
        media: the images and files met, in order.
    """

    def __init__(self, mark: Callable[[int, Media], str], media: Sequence[Media] = ()) -> None:
        self.notes: dict[Note, None] = {}
        self.media: list[Media] = [*media]
        self._mark = mark
        self.path: list[str | int] = []
        self._open: set[int] = set()
        self._values = MAX_VALUES
        self._characters = MAX_CHARACTERS

    def write(self, value: Any) -> Any:
        self._values -= 1  # what is shared, or made on the way, is to come to an end
        if self._values < 0 or self._characters < 0:
            raise NotJson("large", self.path, value)
        rule = _rule_of(value)
        if rule is None:
            raise NotJson("unknown", self.path, value)
        if rule in _SCALARS:
            return rule(self, value)
        if id(value) in self._open:
            raise NotJson("circular", self.path, value)
        if len(self._open) >= MAX_DEPTH:
            raise NotJson("deep", self.path, value)
        self._open.add(id(value))
        try:
            return rule(self, value)
        finally:
            self._open.discard(id(value))

    def kept(self, value: Any, left: int) -> Any:
        """Plain data as it is, other data written.

        Args:
            left: what `values_left` said of it.
        """
        if left == NOT_PLAIN:
            return self.write(value)
        self._values = left
        if left > 0:
            self._characters = characters_left(value, self._characters)
        if left < 0 or self._characters < 0:
            raise NotJson("large", self.path, value)
        return value

    # ---- values without parts

    def number(self, value: Any) -> Any:
        if isinstance(value, float):
            if isfinite(value):
                return float(value)
            self.notes["not_a_number"] = None
            return None
        if int(value).bit_length() > MAX_BITS:
            raise NotJson("digits", self.path, value)
        return int(value)

    def text(self, value: str) -> str:
        plain = str.__str__(value)
        self._characters -= len(plain)
        if not plain.isascii() and not encodable(plain):
            self.notes["broken_text"] = None
            return sound(plain)
        return plain

    def itself(self, value: Any) -> Any:
        return value

    def bytes_(self, value: Any) -> str:
        raw = bytes(value)
        try:
            return self.text(raw.decode())
        except UnicodeDecodeError:
            self.notes["base64"] = None
            return self.text(base64.b64encode(raw).decode())

    def error(self, value: BaseException) -> Any:
        return {"error": self.text(value.message) if isinstance(value, ToolError) else type(value).__name__}

    def path_(self, value: PurePath) -> str:
        return self.text(str(value))  # a name on disk may be no valid text

    def decimal(self, value: Decimal) -> str | None:
        if value.is_finite():
            return str(value)
        self.notes["not_a_number"] = None
        return None

    def known(self, value: Any) -> Any:
        """Dates, UUIDs, URLs and so on: pydantic's own forms."""
        try:
            made = to_jsonable_python(value)
        except PydanticSerializationError:
            raise NotJson("unknown", self.path, value) from None
        return self.kept(made, values_left(made, left=self._values))

    def shown_beside(self, value: Media) -> str:
        for number, known in enumerate(self.media, 1):
            if known is value:
                return self._mark(number, value)
        self.media.append(value)
        return self._mark(len(self.media), value)

    def pending(self, value: Any) -> Any:
        if inspect.iscoroutine(value):
            value.close()  # or Python warns, at some later time, that nobody awaited it
        raise NotJson("pending", self.path, value)

    # ---- values with parts

    def member(self, value: Enum) -> Any:
        return self.write(value.value)

    def mapping(self, value: Mapping[Any, Any]) -> dict[str, Any]:
        made: dict[str, Any] = {}
        for key, item in value.items():
            name = self.text(key) if isinstance(key, str) and not isinstance(key, Enum) else self.key(key)
            if name in made:
                raise NotJson("keys", self.path, key)
            self.path.append(name)
            made[name] = self.write(item)
            self.path.pop()
        return made

    def key(self, key: Any) -> str:
        rule = _rule_of(key)
        made = rule(self, key) if rule is not None and (rule in _SCALARS or rule is Writer.member) else key
        match made:
            case str():
                return made
            case bool() | None:
                return json.dumps(made)
            case int() | float():
                return repr(made)
            case _:
                raise NotJson("keys", self.path, key)

    def items(self, values: Iterable[Any]) -> list[Any]:
        made: list[Any] = []
        for index, item in enumerate(values):
            self.path.append(index)
            made.append(self.write(item))
            self.path.pop()
        return made

    def numbers(self, values: range) -> list[Any]:
        if values[self._values :]:
            raise NotJson("large", self.path, values)
        return self.items(values)

    def unordered(self, values: Set[Any]) -> list[Any]:
        known = [*islice(values, self._values + 1)]
        try:
            return self.items(sorted(known))
        except TypeError:
            return sorted(self.items(known), key=lambda item: json.dumps(item, sort_keys=True))

    def iterator(self, values: Iterator[Any]) -> list[Any]:
        made = self.items(islice(values, MAX_ITEMS))
        if len(made) == MAX_ITEMS and next(values, self) is not self:
            raise NotJson("endless", self.path, values)
        return made

    def named_tuple(self, value: Any) -> dict[str, Any]:
        return self.mapping(dict(zip(value._fields, value, strict=True)))

    def data_class(self, value: Any) -> dict[str, Any]:
        return self.mapping({f.name: getattr(value, f.name) for f in dataclasses.fields(value)})

    def attrs_class(self, value: Any) -> dict[str, Any]:
        names: list[str] = [a.name for a in value.__attrs_attrs__]
        return self.mapping({name: getattr(value, name) for name in names})

    def struct(self, value: Any) -> dict[str, Any]:
        names: tuple[str, ...] = value.__struct_fields__
        return self.mapping({name: getattr(value, name) for name in names})

    def model(self, value: Any) -> Any:
        held = Held(self._values, self._characters)
        if why := held.take(value):
            raise NotJson(why, self.path, value)
        mode = "python" if held.iterators else "json"  # as JSON it would read one to its end, and there may be none
        token = set_aside.set(self.shown_beside)
        try:
            made = value.model_dump(mode=mode, warnings=False)
        except PydanticSerializationError:
            raise NotJson("unknown", self.path, value) from None
        finally:
            set_aside.reset(token)
        return self.kept(made, values_left(made, left=self._values))

    def array(self, value: Any) -> Any:
        if value.size > self._values:  # one number may stand for any size
            raise NotJson("large", self.path, value)
        return self.write(value.tolist())


_Rule = Callable[[Writer, Any], Any]
_SCALARS: frozenset[_Rule | None] = frozenset(
    {
        *(Writer.number, Writer.decimal, Writer.path_, Writer.text, Writer.itself, Writer.bytes_),
        *(Writer.error, Writer.known, Writer.pending, Writer.shown_beside),
    }
)

# The first that fits counts: an IntEnum is an Enum before it is a number, a named tuple before it is a tuple.
_BY_CLASS: tuple[tuple[type | tuple[type, ...], _Rule], ...] = (
    ((bool, type(None)), Writer.itself),
    ((Image, File), Writer.shown_beside),
    (Enum, Writer.member),
    ((int, float), Writer.number),
    (str, Writer.text),
    ((bytes, bytearray, memoryview), Writer.bytes_),
    (Decimal, Writer.decimal),
    (PurePath, Writer.path_),
    (BaseException, Writer.error),
    (Mapping, Writer.mapping),
    (range, Writer.numbers),
    ((list, tuple, deque, KeysView, ValuesView), Writer.items),
    (Set, Writer.unordered),
)


_BY_MARK: tuple[tuple[str, _Rule], ...] = (
    ("model_dump", Writer.model),
    ("__dataclass_fields__", Writer.data_class),
    ("__attrs_attrs__", Writer.attrs_class),
    ("__struct_fields__", Writer.struct),
    ("__await__", Writer.pending),
    ("__aiter__", Writer.pending),
)


def can_show(cls: type[Any]) -> bool:
    """Whether instances of a class may be a result; False for classes of an author's own that are no data."""
    if _rule_for(cls) is not Writer.known or hasattr(cls, "__pydantic_serializer__"):
        return _rule_for(cls) is not None
    return cls.__module__.partition(".")[0] in {*sys.stdlib_module_names, "pydantic", "pydantic_core"}


def _rule_of(value: Any) -> _Rule | None:
    return _rule_for(value.__class__)


@lru_cache(maxsize=1024)
def _rule_for(cls: type[Any]) -> _Rule | None:
    """The rule for values of a class; None where there is none."""
    names = frozenset(dir(cls))
    if issubclass(cls, tuple) and "_fields" in names:
        return Writer.named_tuple
    if "tolist" in names and cls.__module__.partition(".")[0] == "numpy":
        return Writer.array
    for kinds, rule in _BY_CLASS:
        if issubclass(cls, kinds):
            return rule
    for mark, rule in _BY_MARK:
        if mark in names:
            return rule
    if issubclass(cls, type | IOBase):
        return None
    if issubclass(cls, Iterator):
        return Writer.iterator
    return None if cls.__module__ == "builtins" else Writer.known
