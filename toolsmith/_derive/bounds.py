"""Bounds around types that pydantic cannot write them into: put where they apply, told, or refused.

pydantic writes a bound (`ge`, `max_length`, `pattern`) into a plain type and into `T | None`. Around all else, a union
for one, it puts a function that fails on values which it cannot compare or measure, and describes it by words that are
no JSON Schema. Here such a bound goes into those branches to which it applies, as JSON Schema has it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import partial
from math import ceil, floor
from typing import Any, Final, NamedTuple, cast, get_origin
from uuid import UUID

from pydantic_core import PydanticKnownError, SchemaValidator, to_jsonable_python

from toolsmith._derive.words import Unfit
from toolsmith._wording.numbers import beyond

Core = dict[str, Any]
"""A schema of pydantic's core."""

PLACED: Final = "toolsmith_placed"
"""In the metadata of a bound that stays a function, where it applies."""

_VALIDATORS: Final = "pydantic._internal._validators"
_OF_TEXT: Final = "apply_known_metadata.<locals>._apply_constraint_with_incompatibility_info"

_LEAST: Final = {"ge", "gt", "min_length"}
_MOST: Final = {"le", "lt", "max_length"}
_ORDER: Final = {"ge", "gt", "le", "lt"}
_LENGTH: Final = {"min_length", "max_length"}
_NUMBERS: Final = {"int", "float", "decimal"}
_MOMENTS: Final[Mapping[str, type[Any]]] = {"date": date, "datetime": date, "time": time, "timedelta": timedelta}
_SIZED: Final = {"str", "bytes", "list", "tuple", "set", "frozenset", "dict"}
_CLASSES: Final[Mapping[str, type[Any]]] = {"str": str, "bytes": bytes, "uuid": UUID, "typed-dict": dict}
_WITHIN: Final = {"nullable", "default", "function-before", "json", "custom-error"}
_KNOWN: Final = {"any", "none", "bool", "complex", "literal", "enum", *_NUMBERS, *_MOMENTS, *_SIZED, *_CLASSES}
_INNER: Final = (
    *("schema", "items_schema", "keys_schema", "values_schema", "extras_schema", "json_schema", "python_schema"),
    *("lax_schema", "strict_schema", "steps", "choices", "fields", "definitions"),
)


class Bound(NamedTuple):
    """A bound as pydantic holds it by a function.

    Attributes:
        limits: by pydantic's names.
        around: puts the function around a schema.
        check: raises `PydanticKnownError` for a value out of bounds, TypeError for one that it cannot be asked of.
    """

    limits: Mapping[str, Any]
    around: Callable[[Core], Core]
    check: Callable[[Any], Any]


def bound_of(core: Any) -> Bound | None:
    """The bound that a schema of type "function-after" or "chain" is; None where it is another thing."""
    if core["type"] == "chain":
        steps: list[Any] = core["steps"][1:]
        if not steps or any(getattr(_function(s), "__qualname__", "") != _OF_TEXT for s in steps):
            return None
        limits = {k: v for s in steps for k, v in s["schema"].items() if k != "type"}
        return Bound(limits, partial(_chained, steps), _not_asked)
    function = _function(core)
    if function.__class__ is partial and function.func.__module__ == _VALIDATORS:
        limits = function.keywords
    elif getattr(function, "__module__", "") == _VALIDATORS and function.__name__ == "forbid_inf_nan_check":
        limits = {"allow_inf_nan": False}
    else:
        return None
    return Bound(limits, partial(_checked, core["function"]), function)


def _chained(steps: list[Any], inner: Core) -> Core:
    return {"type": "chain", "steps": [inner, *steps], "metadata": {PLACED: True}}


def _checked(function: Any, inner: Core) -> Core:
    return {"type": "function-after", "function": function, "schema": inner, "metadata": {PLACED: True}}


def rebound(core: Any) -> tuple[Any, SchemaValidator]:
    """A schema with its bounds where they apply, and the validator for it.

    Raises:
        Unfit: one applies nowhere.
    """
    listed: list[Core] = core["definitions"] if core["type"] == "definitions" else []
    new: Any = _Placing({d["ref"]: d for d in listed}).placed(core, ())
    return new, SchemaValidator(new, _use_prebuilt=False)  # the classes' own ones have the bounds as they were


class _Placing:
    def __init__(self, definitions: Mapping[str, Core]) -> None:
        self._definitions = definitions

    def placed(self, core: Core, where: tuple[str, ...]) -> Core:
        """The same schema, itself where nothing is to be done; `where` are the fields that lead there."""
        changed: Core = {}
        for key in _INNER:
            if (held := core.get(key)) is not None:
                new = self._held(held, where, named=key == "fields", tagged=key == "choices")
                if new is not held:
                    changed[key] = new
        new = {**core, **changed} if changed else core
        bound = bound_of(new) if new["type"] in {"function-after", "chain"} else None
        if bound is None:
            return new
        inner: Core = new["steps"][0] if new["type"] == "chain" else new["schema"]
        put = self._put(inner, bound, where)
        if put is None:
            if not self._unsure(inner):
                raise Unfit(_unfit(bound.limits, where))
            put = bound.around(inner)
        return {**put, "ref": core["ref"]} if "ref" in core else put

    def _held(self, held: Any, where: tuple[str, ...], *, named: bool, tagged: bool) -> Any:
        if isinstance(held, list | tuple):
            items = cast("list[Any]", held)
            new = [self._held(i, where, named=named, tagged=False) for i in items]
            same = all(a is b for a, b in zip(new, items, strict=True))
            return items if same else tuple(new) if isinstance(held, tuple) else new
        if not isinstance(held, dict):
            return held
        members = cast("dict[str, Any]", held)
        if named and isinstance(name := members.get("name"), str):  # one of the fields of a dataclass
            return self.placed(members, (*where, name))
        if not named and not tagged:
            return self.placed(members, where)
        each = {k: self._one(v, (*where, k) if named else where) for k, v in members.items()}
        return members if all(each[k] is members[k] for k in members) else each

    def _one(self, member: Any, where: tuple[str, ...]) -> Any:
        return self.placed(cast("Core", member), where) if isinstance(member, dict) else member

    # ---- one bound

    def _put(self, core: Core, bound: Bound, where: tuple[str, ...], depth: int = 0) -> Core | None:
        """A schema with a bound in it, itself or without a name of its own; None where the bound does not apply."""
        if depth > 20:
            return None
        kind: str = core["type"]
        if kind == "definition-ref":
            target = self._definitions.get(core["schema_ref"])
            put = None if target is None else self._put(target, bound, where, depth + 1)
            return core if put is target and put is not None else put
        bare = {k: v for k, v in core.items() if k != "ref"}
        if kind == "union":
            return self._put_in_union(bare, bound, where, depth)
        if kind in _WITHIN or (kind == "function-after" and _function(core) in {iter, bytearray}):
            inner = self._put(core["schema"], bound, where, depth + 1)
            return None if inner is None else {**bare, "schema": inner}
        if kind in {"function-after", "function-wrap"} or (kind == "chain" and bound_of(core)):
            within: Core = core["steps"][0] if kind == "chain" else core["schema"]
            # What a function makes of a value, nobody knows: of the same kind, as a rule.
            return None if self._put(within, bound, where, depth + 1) is None else bound.around(core)
        if kind in {"literal", "enum"}:
            return _of_members(core, bound, where)
        if (native := _native(bare, bound)) is not None:
            return native
        return bound.around(core) if _applies(core, bound.limits) else None

    def _put_in_union(self, bare: Core, bound: Bound, where: tuple[str, ...], depth: int) -> Core | None:
        choices: list[Any] = bare["choices"]
        each: list[Any] = []
        applied = False
        for choice in choices:
            branch, *label = cast("tuple[Any, ...]", choice) if isinstance(choice, tuple) else (choice,)
            put = self._put(branch, bound, where, depth + 1)
            applied |= put is not None
            each.append(choice if put is None else (put, *label) if label else put)
        return {**bare, "choices": each} if applied else None

    def _unsure(self, core: Core, depth: int = 0) -> bool:
        """Whether it cannot be told of what class the values are, to which a bound may apply: a function makes them."""
        kind: str = core["type"]
        if kind in {"function-after", "function-wrap", "function-plain"}:
            inner = bound_of(core) if kind == "function-after" else None
            known = inner or _function(core) in {iter, bytearray}
            return self._unsure(core["schema"], depth) if known else True
        if kind in _WITHIN:
            return self._unsure(core["schema"], depth)
        if kind == "definition-ref":
            target = self._definitions.get(core["schema_ref"])
            return target is None or depth > 20 or self._unsure(target, depth + 1)
        if kind in {"union", "tagged-union"}:
            choices: Any = core["choices"].values() if kind == "tagged-union" else core["choices"]
            branches: list[Core] = [cast("Any", c)[0] if isinstance(c, tuple) else c for c in choices]
            return any(self._unsure(b, depth + 1) for b in branches)
        return kind not in _KNOWN and _class_of(core) is None


def _function(core: Any) -> Any:
    return core["function"]["function"] if "function" in core else None


def _not_asked(value: Any) -> Any:
    raise TypeError


def _of_members(core: Core, bound: Bound, where: tuple[str, ...]) -> Core | None:
    """A closed set, if all members are within the bound; None if it applies to none of them."""
    members: list[Any] = core["expected"] if core["type"] == "literal" else core["members"]
    asked, out = 0, list[str]()
    for member in members:
        try:
            bound.check(member)
        except PydanticKnownError:
            out.append(repr(getattr(member, "value", member)))
        except TypeError:
            continue
        asked += 1
    if out:
        raise Unfit(
            f"whose {_said(bound.limits)}{_place(where)} shuts out {', '.join(out)} of its own values. Leave the bound "
            f"away, and write a Literal of the values that you mean"
        )
    return core if asked else None


def _native(bare: Core, bound: Bound) -> Core | None:
    """A plain type with the bounds written into it; None where it has no place for them."""
    kind: str = bare["type"]
    new = bare
    for name, given in bound.limits.items():
        value = _fitting(kind, name, given)
        if value is None:
            return None
        held = bare.get(name)
        if held is not None and held != value:
            if name not in _LEAST | _MOST:
                return bound.around(bare)
            value = max(held, value) if name in _LEAST else min(held, value)
        new = {**new, name: value}
    return new


def _fitting(kind: str, name: str, value: Any) -> Any:
    """What to write for a bound into a type of pydantic's core; None where it has no place for it."""
    if name in _ORDER or name == "multiple_of":
        moment = _MOMENTS.get(kind)
        if moment is not None and name in _ORDER:
            return value if isinstance(value, moment) and (kind != "date" or not isinstance(value, datetime)) else None
        if kind not in _NUMBERS or isinstance(value, bool) or not isinstance(value, int | float | Decimal):
            return None
        if kind == "decimal":
            return value
        if kind == "float":
            return float(value) if isinstance(value, Decimal) else value
        return _whole(name, value)
    if name in _LENGTH:
        return value if kind in _SIZED else None
    if name in {"max_digits", "decimal_places"}:
        return value if kind == "decimal" else None
    if name == "allow_inf_nan":
        return value if kind in {"float", "decimal"} else None
    return value if kind == "str" else None


def _whole(name: str, value: Any) -> int | None:
    """A bound for whole numbers: those of at least 0.5 are those of at least 1."""
    if name == "multiple_of":
        return int(value) if value == int(value) else None
    try:
        return ceil(value) if name in {"ge", "lt"} else floor(value)
    except (OverflowError, ValueError):  # an infinity
        return None


def _applies(core: Core, limits: Mapping[str, Any]) -> bool:
    """Whether pydantic's functions can ask the bounds of what a schema makes."""
    kind: str = core["type"]
    cls = _class_of(core)
    if kind in _NUMBERS:
        return all(k == "multiple_of" and isinstance(v, int | float | Decimal) for k, v in limits.items())
    if cls is None:
        return False
    for name, value in limits.items():
        if name in _ORDER:
            own = getattr(cls, "__ge__", None) is not getattr(object, "__ge__")  # noqa: B009 - unknown to type checkers
            if not own or not (isinstance(value, cls) or kind in {"model", "dataclass"}):
                return False
        elif name not in _LENGTH or not hasattr(cls, "__len__"):
            return False
    return True


def _class_of(core: Core) -> Any:
    """The class of the values that a schema makes; None where that is not known, or there are several."""
    match core["type"]:
        case "is-instance" | "model" | "dataclass":
            return get_origin(core["cls"]) or core["cls"]
        case "lax-or-strict":
            return _class_of(core["strict_schema"])
        case "json-or-python":
            return _class_of(core["python_schema"])
        case "chain" | "union":
            first: Any = core["steps" if core["type"] == "chain" else "choices"][0]
            return _class_of(cast("Core", first)) if isinstance(first, dict) else None
        case kind:
            return _CLASSES.get(kind) or (dict if kind == "dict" else list if kind in _SIZED else None)


# ---- in words


def _said(limits: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in limits.items())


def _place(where: tuple[str, ...]) -> str:
    fields = where[1:]  # the first is the parameter
    return f" in the field {'.'.join(fields)!r}" if fields else ""


def _unfit(limits: Mapping[str, Any], where: tuple[str, ...]) -> str:
    name = next(iter(limits))
    if name in _ORDER or name == "multiple_of":
        kinds = "a number (int, float, Decimal), a date or a time" if name in _ORDER else "an int, a float or a Decimal"
    elif name in _LENGTH:
        kinds = "a str, a list, a set or a dict"
    elif name in {"max_digits", "decimal_places"}:
        kinds = "a Decimal"
    else:
        kinds = "a float or a Decimal" if name == "allow_inf_nan" else "a str"
    return (
        f"whose {_said(limits)}{_place(where)} applies to nothing that it takes: pydantic would fail at each call. "
        f"Write it on {kinds}, and make what you need of that in the function; or leave it away, and check the value "
        f"in the function"
    )


_KEYWORDS: Final = {"ge": "minimum", "gt": "exclusiveMinimum", "le": "maximum", "lt": "exclusiveMaximum"}
_SIZES: Final = {"string": "Length", "array": "Items", "object": "Properties"}


def keywords(limits: Mapping[str, Any], kind: str | None) -> Core:
    """The keywords of JSON Schema for bounds on values of a JSON type, as far as there are any."""
    found: Core = {}
    for name, value in limits.items():
        if name in _LENGTH and kind in _SIZES:
            found[f"{name[:3]}{_SIZES[kind]}"] = value
        elif name in _ORDER and kind in {"integer", "number"}:
            found[_KEYWORDS[name]] = to_jsonable_python(value)
        elif name == "multiple_of" and kind in {"integer", "number"}:
            found["multipleOf"] = to_jsonable_python(value)
        elif name == "pattern" and kind == "string":
            found["pattern"] = getattr(value, "pattern", value)
    return found


def in_words(limits: Mapping[str, Any], made: Core) -> str:
    """What JSON Schema has no keyword for: "Not before 2024-01-01."; "" where there is nothing of the kind.

    Args:
        limits: by pydantic's names.
        made: the schema of what is bounded.
    """
    found = {
        _KEYWORDS[name]: to_jsonable_python(value, fallback=str)
        for name, value in limits.items()
        if name in _ORDER and not isinstance(value, int | float | Decimal)
    }
    text = beyond({**made, "beyond": found}).removeprefix(", ")
    return f"{text[:1].upper()}{text[1:]}." if text else ""
