"""Breaks loops: remembers calls that fail, or find nothing, again and again in the same way. Pure; it does no I/O.

The same call is the same tool with arguments that are equal as JSON: the order of names, spaces, the spelling of a
number or a character make no difference, nor whether an optional argument is left out or sent as the null that stands
for that. Two such calls in a row with the same failure are enough: a third would most likely end the same way and is
not to be run. Other calls in between do not matter, so that A-B-A-B is seen too, unless one of them may have changed
something: the success of another tool that is not `read_only`, or of the same tool with other arguments and something
to show for it. Then all counts begin anew.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import field
from decimal import Decimal
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from jiter import from_json

from toolsmith._arguments.jsontext import Exact, Parsed, parse
from toolsmith._arguments.problems import Schema
from toolsmith._arguments.shapes import Shapes, dict_of, list_of
from toolsmith._dataclass import dataclass

if TYPE_CHECKING:
    from toolsmith.dialects import Offered

MOST: Final = 2
"""How often in a row the same call may end in the same way before it is not run any more."""

EMPTY: Final = ""
"""Stands for a failure where there was none, but an empty result."""

_tuple = cast("Any", tuple).__new__  # half of what it costs to call Key()
_SCALARS: Final = frozenset({str, int, bool, type(None)})
_MAY_BE_FLOAT: Final = re.compile(r"[0-9][.eE]|-0")
_SHORT: Final = 200
"""Characters up to which a text stands for itself: to keep it takes less than to digest it."""


class Key(NamedTuple):
    """What makes two calls the same.

    Attributes:
        tool: its name.
        arguments: as text that is the same for equal ones; of a long one a digest.
    """

    tool: str
    arguments: str


def key_of(tool: str, arguments: str, form: Offered | None = None) -> Key:
    """The key of a call.

    Args:
        tool: its name.
        arguments: JSON text as the model wrote it; what is no JSON is equal to itself only.
        form: in which the model was offered the tool.
    """
    try:
        if form is not None and "null" in arguments:
            text = _careful(arguments, form)
        else:
            text = _plainly(arguments) or _careful(arguments)
    except RecursionError:
        text = arguments
    return _tuple(Key, (tool, text if len(text) <= _SHORT else _digest(text)))


def _plainly(arguments: str) -> str | None:
    """The text of an object without a float, of which the quick parser says all there is to know; None of others."""
    try:
        value = from_json(arguments.encode(), catch_duplicate_keys=True, allow_inf_nan=False)
    except ValueError:
        return None
    if not isinstance(value, dict):
        return None
    members = cast("dict[str, Any]", value)
    if _SCALARS.issuperset(map(type, members.values())):
        return repr(dict(sorted(members.items())))
    return None if _MAY_BE_FLOAT.search(arguments) else repr(_canonical(members))


def _careful(arguments: str, form: Offered | None = None) -> str:
    parsed = parse(arguments)
    if isinstance(parsed, Parsed) and isinstance(parsed.value, str):
        parsed = parse(parsed.value)  # some models encode their arguments twice
    if not isinstance(parsed, Parsed):
        return arguments
    value = parsed.value
    if form is not None:
        value = _without_nulls(value, [form.spec.schema], Shapes(form.spec.schema), strict=form.strict)
    return repr(_canonical(value))


def _without_nulls(value: Any, nodes: Sequence[Schema], shapes: Shapes, *, strict: bool) -> Any:
    """Arguments without the members whose null says no more than their absence would.

    Args:
        value: JSON data.
        nodes: the schemas that may hold for it.
        shapes: of the whole schema.
        strict: null stands for what is left out wherever it is no value itself; else only where it is the default.
    """
    found = list(nodes)
    for node in found:  # grows on the way
        for part in map(dict_of, shapes.parts(node)):
            found += [b for word in ("anyOf", "oneOf") for b in list_of(part.get(word)) if len(found) < 100]
    parts = [dict_of(part) for node in found for part in shapes.parts(node)]
    if isinstance(value, list):
        items: list[Schema] = [part["items"] for part in parts if "items" in part]
        return [_without_nulls(v, items, shapes, strict=strict) for v in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    kept: dict[str, Any] = {}
    for name, inner in cast("dict[str, Any]", value).items():
        owners = [p for p in parts if name in dict_of(p.get("properties"))]
        members: list[Schema] = [p["properties"][name] for p in owners]
        if inner is None and owners and not any(name in list_of(p.get("required")) for p in owners):
            absent = [_defaults_to_null(m) or (strict and "null" not in shapes.types(m)) for m in members]
            if all(absent):
                continue
        kept[name] = _without_nulls(inner, members, shapes, strict=strict)
    return kept


def _defaults_to_null(node: Schema) -> bool:
    return dict_of(node).get("default", ...) is None


def _canonical(value: Any) -> Any:
    """Parsed JSON as something with the same `repr` for all that is equal, and another for all that is not.

    Objects have their names in order; numbers that no int is become decimal ones.
    """
    if isinstance(value, dict):
        members = sorted(cast("dict[str, Any]", value).items())  # no name comes twice, so that no values are compared
        return {k: v if v.__class__ in _SCALARS else _canonical(v) for k, v in members}
    if isinstance(value, list):
        return [_canonical(v) for v in cast("list[Any]", value)]
    if isinstance(value, float):
        exact = Decimal(value.text if isinstance(value, Exact) else repr(value))
        return int(exact) if exact.is_finite() and exact == exact.to_integral_value() else exact.normalize()
    return value


def _digest(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


@dataclass(frozen=True, slots=True)
class Strike:
    """How a call ended the last time, and how often in a row."""

    failure: str
    times: int


@dataclass(slots=True)
class Breaker:
    """The calls of a run that failed, or found nothing, since something changed.

    Attributes:
        strikes: by call, how it ended.
        warned: by tool, how often the model was told that a call ended as it did before.
        stopped: by tool, how many calls were not run for that reason.
    """

    strikes: dict[Key, Strike] = field(default_factory=dict[Key, Strike])
    warned: Counter[str] = field(default_factory=Counter[str])
    stopped: Counter[str] = field(default_factory=Counter[str])

    def knows(self, tool: str) -> bool:
        """Whether any call of a tool has a strike."""
        return any(key.tool == tool for key in self.strikes)

    def times(self, key: Key) -> int:
        """How often in a row a call has ended in the same bad way."""
        strike = self.strikes.get(key)
        return 0 if strike is None else strike.times

    def found_nothing(self, key: Key) -> bool:
        """Whether the bad way was an empty result."""
        strike = self.strikes.get(key)
        return strike is not None and strike.failure == EMPTY

    def failed(self, key: Key, failure: str) -> int:
        """Note that a call failed, or (`EMPTY`) found nothing.

        Returns:
            How often in a row it has ended in this way, this time included.
        """
        told = failure if len(failure) <= _SHORT else _digest(failure)
        strike = self.strikes.get(key)
        times = strike.times + 1 if strike is not None and strike.failure == told else 1
        self.strikes[key] = Strike(told, times)
        if times >= MOST:
            self.warned[key.tool] += 1
        return times

    def succeeded(self, key: Key) -> None:
        """Note that a call gave what it should."""
        self.strikes.pop(key, None)

    def changed(self, key: Key, *, empty: bool) -> None:
        """Note the success of a call that may have changed something, so that others may end otherwise now.

        Args:
            key: of the call; its own strikes are left to `failed` and `succeeded`.
            empty: it had nothing to show. A search that finds nothing does not make another search find something.
        """
        self.strikes = {k: strike for k, strike in self.strikes.items() if k == key or (empty and k.tool == key.tool)}

    def stop(self, key: Key) -> int:
        """Note that a call is not run; how often it has ended in the same way."""
        self.stopped[key.tool] += 1
        return self.times(key)

    # ---- kept while a run waits for a person

    def copy(self) -> Breaker:
        """The same, to go on from."""
        return Breaker(dict(self.strikes), self.warned.copy(), self.stopped.copy())

    def dump(self) -> dict[str, Any]:
        """As JSON data, for `load`."""
        strikes = [[*key, strike.failure, strike.times] for key, strike in self.strikes.items()]
        return {"strikes": strikes, "warned": dict(self.warned), "stopped": dict(self.stopped)}

    @classmethod
    def load(cls, data: Mapping[str, Any]) -> Breaker:
        """What `dump` gave.

        Raises:
            KeyError, TypeError, ValueError: this is none of that.
        """
        rows: Sequence[tuple[str, str, str, int]] = data["strikes"]
        strikes = {Key(tool, args): Strike(failure, times) for tool, args, failure, times in rows}
        return cls(strikes, Counter(data["warned"]), Counter(data["stopped"]))
