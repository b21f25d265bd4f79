"""From a validator's refusal to `Problem`s: finds the place in the arguments that was meant, and the schema for it.

Pydantic mixes the names of union branches, validators and classes into its locations; none of them may reach a model.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, Final, NamedTuple, cast, get_args

from pydantic_core import ValidationError, core_schema

from toolsmith._arguments.jsontext import Exact
from toolsmith._arguments.problems import ABSENT, Findings, Kind, Path, Problem, Schema
from toolsmith._arguments.repair import MAX_PROBLEMS
from toolsmith._arguments.shapes import Shapes, dict_of, json_type, list_of, schema_of

_MOST_ERRORS: Final = 5_000
"""Above this many the details of a refusal are not asked for, if there is something else to say..."""
_FAR_TOO_MANY: Final = 200_000
"""...and above this many not at all: pydantic gives all or none, at a microsecond each."""
_STEPS: Final = 2_000

_CORE_TYPES: frozenset[str] = frozenset(get_args(core_schema.ErrorType))

# What a reading of the schema finds by itself, and says better: for the branch that was meant only.
_STRUCTURAL: Mapping[str, Kind] = {
    "missing": "missing",
    "missing_argument": "missing",
    "missing_keyword_only_argument": "missing",
    "missing_positional_only_argument": "missing",
    "extra_forbidden": "unknown",
    "unexpected_keyword_argument": "unknown",
    "unexpected_positional_argument": "count",
    "literal_error": "value",
    "enum": "value",
    "union_tag_invalid": "mismatch",
    "union_tag_not_found": "mismatch",
    "int_from_float": "type",
    "none_required": "type",
    "greater_than": "range",
    "greater_than_equal": "range",
    "less_than": "range",
    "less_than_equal": "range",
    "finite_number": "overflow",
    "too_short": "count",
    "too_long": "count",
    "string_too_short": "length",
    "string_too_long": "length",
    "string_pattern_mismatch": "pattern",
}
_OTHER: Mapping[str, Kind] = {
    "multiple_of": "range",
    "bytes_too_short": "length",
    "bytes_too_long": "length",
    "set_item_not_hashable": "type",
    "recursion_loop": "type",
}
_CUSTOM = frozenset({"value_error", "assertion_error"})
# Keys of a mapping are strings; these are what they have to spell.
_SPELLED: Mapping[str, Schema] = {
    "int_parsing": {"type": "integer"},
    "float_parsing": {"type": "number"},
    "bool_parsing": {"type": "boolean"},
    "decimal_parsing": {"type": "number"},
    "date_from_datetime_parsing": {"type": "string", "format": "date"},
    "date_parsing": {"type": "string", "format": "date"},
    "datetime_parsing": {"type": "string", "format": "date-time"},
    "datetime_from_date_parsing": {"type": "string", "format": "date-time"},
    "uuid_parsing": {"type": "string", "format": "uuid"},
}
# What the schemas for these types cannot say.
_UNSAID: Mapping[str, Schema] = {
    "decimal_parsing": {"type": "string", "format": "decimal"},
    "fraction_parsing": {"type": "string", "format": "fraction"},
    "complex_str_parsing": {"type": "string", "format": "complex"},
}
_JSON = frozenset[type]({str, int, float, bool, type(None), list, dict, Exact})
_NUMBERS = frozenset[type]({int, float, bool, Exact})
_DECIMAL: Mapping[str, Any] = {"type": "number", "format": "decimal"}
_BOUNDS = {"gt": "exclusiveMinimum", "ge": "minimum", "lt": "exclusiveMaximum", "le": "maximum"}
# A nested ValidationError brings its own decoration along.
_DECORATION = re.compile(r"\s*For further information visit \S+|\s*\[type=\w+, input_value=.*?, input_type=\w+\]")


class Refusal(NamedTuple):
    """One error of a validator.

    Attributes:
        structural: the schema says it too, so that a reading of the schema finds it.
        branched: the location went through a branch of a union, maybe not the one that was meant.
        expected: the schema that was not met, where the validator names it.
        beyond: what the schema cannot say: the bound of a date or another text, by JSON Schema's word for a number's.
    """

    path: Path
    kind: Kind
    sent: Any
    structural: bool
    branched: bool = False
    message: str = ""
    expected: Schema | None = None
    beyond: Mapping[str, str] | None = None


class Refused(Exception):
    """What a validator raises that is not pydantic's."""

    def __init__(self, found: Sequence[Refusal]) -> None:
        super().__init__(f"{len(found)} problems")
        self.refusals = tuple(found)


def refusals(error: Exception, data: Any, *, unless: bool = False) -> Sequence[Refusal]:
    """What a validator said, as places in the arguments.

    Args:
        error: what `validate_json` raised.
        data: the arguments that were validated.
        unless: there is something to say already, so leave out what would take long.
    """
    if isinstance(error, Refused):
        return error.refusals
    if not isinstance(error, ValidationError) or error.error_count() > (_MOST_ERRORS if unless else _FAR_TOO_MANY):
        return ()
    found: list[Refusal] = []
    for one in error.errors(include_url=False):
        name = one["type"]
        location = one["loc"]
        kind, structural = kind_of(name)
        if name == "finite_number" and isinstance(one["input"], str):
            kind, structural = "format", False  # "NaN" is not too large, but no number
        if location[-1:] == ("[key]",):
            path, branched = _place(location[:-1], data, ABSENT)
            if kind == "custom":
                found.append(Refusal(path, kind, one["input"], False, branched, _words(one)))
                continue
            found.append(Refusal(path, "key", ABSENT, False, branched, expected=_SPELLED.get(name)))
            continue
        if kind == "missing" and location:
            path, branched = _place(location[:-1], data, one["input"])
            found.append(Refusal((*path, location[-1]), kind, ABSENT, structural, branched))
            continue
        path, branched = _place(location, data, one["input"])
        if kind == "range" and one["input"].__class__ not in _NUMBERS and _is_number(one):
            kind, structural = "custom", False  # what is out of bounds, a validator of the tool's own made of the value
        message = _words(one) if kind == "custom" else ""
        unsaid = _of_decimal(one) or (None if branched else _UNSAID.get(name))
        sent = one["input"] if one["input"].__class__ in _JSON else _value_at(path, data)
        beyond = None if unsaid else _beyond(one)
        structural = structural and not (unsaid or beyond)
        found.append(Refusal(path, kind, sent, structural, branched, message, unsaid, beyond))
    return found


def _value_at(path: Path, data: Any) -> Any:
    """What was sent, where a validator only tells what it had made of it."""
    for part in path:
        data = data[part]
    return data


def _is_number(one: Any) -> bool:
    """Whether a bound is one for numbers, and not for a `Decimal`."""
    limits: dict[str, Any] = one.get("ctx") or {}
    return any(isinstance(v, int | float) for k, v in limits.items() if k in _BOUNDS)


def _beyond(one: Any) -> Mapping[str, str] | None:
    """A bound of what is no number. pydantic tells it as a text."""
    limits: dict[str, Any] = one.get("ctx") or {}
    found = {_BOUNDS[k]: v if isinstance(v, str) else str(v) for k, v in limits.items() if k in _BOUNDS}
    return found if found and (isinstance(one["input"], str) or one["input"].__class__ not in _JSON) else None


def _of_decimal(one: Any) -> Schema | None:
    """What a `Decimal` has to be, as far as its schema does not say it: of a string that spells one, nothing."""
    spelled = isinstance(one["input"], str)
    limits: dict[str, Any] = one.get("ctx", {})
    match one["type"]:
        case "finite_number" if spelled:
            return _UNSAID["decimal_parsing"]
        case "decimal_max_digits":
            return {**_DECIMAL, "maxDigits": limits["max_digits"]}
        case "decimal_max_places":
            return {**_DECIMAL, "maxPlaces": limits["decimal_places"]}
        case "decimal_whole_digits":
            return {**_DECIMAL, "maxWholeDigits": limits["whole_digits"]}
        case "greater_than" | "greater_than_equal" | "less_than" | "less_than_equal" if spelled:
            bounds = {_BOUNDS[k]: float(v) for k, v in limits.items() if k in _BOUNDS and isinstance(v, Decimal)}
            return {**_DECIMAL, **bounds} if bounds else None
        case _:
            return None


def kind_of(name: str) -> tuple[Kind, bool]:
    """What sort of problem an error type of pydantic is, and whether the schema says it too."""
    if name in _CUSTOM or name not in _CORE_TYPES:
        return "custom", False
    if name in _STRUCTURAL:
        return _STRUCTURAL[name], True
    if name.endswith("_type"):
        return "type", True
    return _OTHER.get(name, "format"), False


def _words(one: Any) -> str:
    """The words of the tool's own check."""
    cause = one.get("ctx", {}).get("error")
    text = str(cause) if one["type"] in _CUSTOM and isinstance(cause, Exception) else str(one["msg"])
    return _DECORATION.sub("", text).strip()


def _place(location: Sequence[int | str], data: Any, sent: Any) -> tuple[Path, bool]:
    """The place in the data that a location means, and whether parts of it were no keys or positions.

    Every part is tried as a step into the data first; a text may also be the name of a branch, and is passed over then.
    The value that is found must be the one that the error tells of.
    """
    steps = _STEPS

    def walk(index: int, node: Any, path: Path, check: bool) -> Path | None:
        nonlocal steps
        steps -= 1
        if steps < 0:
            return None
        if index == len(location):
            return path if not check or _alike(node, sent) else None
        part = location[index]
        if isinstance(part, int) and isinstance(node, list):
            items = cast("list[Any]", node)
            return walk(index + 1, items[part], (*path, part), check) if part < len(items) else None
        if isinstance(node, dict) and str(part) in node:
            inner = cast("dict[str, Any]", node)[str(part)]
            if (found := walk(index + 1, inner, (*path, str(part)), check)) is not None:
                return found
        return walk(index + 1, node, path, check) if isinstance(part, str) else None

    path = walk(0, data, (), sent is not ABSENT)
    if path is None:
        path = walk(0, data, (), False) or ()
    return path, len(path) != len(location)


def _alike(value: Any, sent: Any) -> bool:
    if isinstance(value, (dict, list)):
        return isinstance(sent, type(cast("Any", value))) and len(cast("list[Any]", value)) == len(sent)
    return type(value) is type(sent) and value == sent


def combined(found: Findings, refused: Sequence[Refusal], data: Any, shapes: Shapes) -> list[Problem]:
    """The problems of a reading, and what only the validator knows: formats, and the tool's own checks."""
    told = list(found.problems)
    seen = {p.path for p in told}
    sure = bool(told)
    # A branch that was not meant complains of its structure, the one that was meant of the content.
    content = [r for r in refused if not r.structural and not (sure and r.branched)]
    chosen = content if sure or content else refused
    for one in sorted(chosen, key=lambda r: r.beyond is None):  # a bound says most
        if len(told) >= MAX_PROBLEMS:
            break
        if not any(_overlap(one.path, p) for p in seen):
            seen.add(one.path)
            told.append(_problem(one, data, shapes))
    # By argument, in the order in which they were sent; what is missing comes last.
    order = {name: index for index, name in enumerate(cast("dict[str, Any]", data) if isinstance(data, dict) else ())}
    return sorted(told, key=lambda p: order.get(str(p.path[0]), len(order)) if p.path else -1)


def _overlap(one: Path, other: Path) -> bool:
    shorter = min(len(one), len(other))
    return one[:shorter] == other[:shorter]


def _problem(refusal: Refusal, data: Any, shapes: Shapes) -> Problem:
    node = refusal.expected
    if node is None:
        node = _keys(shapes, refusal.path, data) if refusal.kind == "key" else node_at(shapes, refusal.path, data)
    if refusal.beyond is not None:
        node = {"allOf": [node], "beyond": refusal.beyond}
    return Problem(refusal.path, refusal.kind, refusal.sent, node, shapes.root, message=refusal.message)


def _keys(shapes: Shapes, path: Path, data: Any) -> Schema:
    """The schema for the keys of the object that holds a place; True where there is none."""
    for part in shapes.parts(node_at(shapes, path[:-1], data)):
        keys = schema_of(part.get("propertyNames")) if isinstance(part, Mapping) else None
        if keys is not None:
            return {"allOf": [{"type": "string"}, keys]}
    return True


def node_at(shapes: Shapes, path: Path, data: Any) -> Schema:
    """The schema for a place in the arguments; an `anyOf` of all that apply, True where none does."""
    nodes: list[Schema] = [shapes.root]
    value: Any = data
    for part in path:
        inner: dict[int, Schema] = {}
        for node in nodes:
            for candidate in _children(shapes, node, part, value, 0):
                inner[id(candidate)] = candidate
        nodes = list(inner.values())
        try:
            value = value[part]
        except (KeyError, IndexError, TypeError):
            value = ABSENT
    match nodes:
        case []:
            return True
        case [node]:
            return node
        case _:
            return {"anyOf": nodes}


def _children(shapes: Shapes, node: Schema, part: str | int, value: Any, depth: int) -> list[Schema]:
    if depth > 8 or (value is not ABSENT and json_type(value) not in shapes.types(node)):
        return []
    found: list[Any] = []
    for one in shapes.parts(node):
        if not isinstance(one, Mapping):
            continue
        if isinstance(part, str):
            named = dict_of(one.get("properties"))
            found.append(named[part] if part in named else one.get("additionalProperties"))
        else:
            first = list_of(one.get("prefixItems"))
            found.append(first[part] if part < len(first) else one.get("items"))
        for word in ("anyOf", "oneOf"):
            for branch in list_of(one.get(word)):
                found += _children(shapes, branch, part, value, depth + 1)
    return [c for c in map(schema_of, found) if c is not None and c is not False]
