"""Where names and numbers stand in arguments, for types that take them over just as they were sent.

pydantic takes the last of two equal names without a word, and reads infinity where a number is too large. A second
parse finds both, and costs nearly as much as the validation. For the types below it can be told from the values: each
name of the text has a colon, so there are as many colons as there are names in the values only if each came once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

_SCALARS: Final = frozenset(
    {"str", "int", "bool", "none", "literal", "date", "time", "datetime", "timedelta", "uuid", "bytes"}
)
_LISTS: Final = frozenset({"list", "set", "frozenset"})
_DEPTH: Final = 8
"""Of objects in each other; also the end of what is recursive."""


class Layout(NamedTuple):
    """An object whose values bear the names that were sent, all of them and no others.

    Attributes:
        numbers: the names of its floats.
        inner: the objects in it, by name.
    """

    numbers: tuple[str, ...]
    inner: tuple[tuple[str, Layout], ...]


def layout_of(core: Mapping[str, Any]) -> Layout | None:
    """The layout of a typed dict or model, by its core schema; None where it holds more than what is known here.

    Lists of objects, unions, dicts, dataclasses, aliases, validators of anybody's own: with those, the values say too
    little about the text.
    """
    definitions: dict[str, Mapping[str, Any]] = {}
    if core["type"] == "definitions":
        definitions = {d["ref"]: d for d in core["definitions"]}
        core = core["schema"]
    return _object(core, definitions, 0)


def _object(core: Mapping[str, Any], definitions: Mapping[str, Mapping[str, Any]], depth: int) -> Layout | None:
    core = definitions.get(core["schema_ref"], core) if core["type"] == "definition-ref" else core
    model = core["type"] == "model"
    if model:
        if core.get("custom_init") or core.get("post_init") or core.get("root_model"):
            return None
        core = core["schema"]
    if depth > _DEPTH or core["type"] != ("model-fields" if model else "typed-dict"):
        return None
    numbers: list[str] = []
    inner: list[tuple[str, Layout]] = []
    for name, field in core["fields"].items():
        value = field["schema"]
        if field.get("validation_alias") is not None:
            return None
        while value["type"] == "nullable" or (model and value["type"] == "default"):  # a typed dict's is a name more
            value = value["schema"]
        if value["type"] == "float":
            numbers.append(name)
        elif value["type"] in _LISTS:
            if value.get("items_schema", value)["type"] not in _SCALARS:
                return None
        elif value["type"] not in _SCALARS:
            member = _object(value, definitions, depth + 1)
            if member is None:
                return None
            inner.append((name, member))
    return Layout(tuple(numbers), tuple(inner))


def names_in(value: Any, layout: Layout) -> int:
    """How many names were sent for an object and the objects in it; -1 where a number may be too large for a float.

    Args:
        value: a dict or a model, as the validator made it.
        layout: of its type.
    """
    numbers, inner = layout
    given: Any = value
    members: dict[str, Any] = value
    if value.__class__ is not dict:
        given, members = value.__pydantic_fields_set__, value.__dict__  # `model_fields_set`, which is a call more
    count = len(given)
    if numbers:  # as is the loop over nothing
        for name in numbers:
            number: Any = members.get(name)
            if number.__class__ is float:
                if number - number != 0.0:
                    return -1
            elif number is not None:
                return -1
    for name, member in inner:
        if name in given and (found := members[name]) is not None:
            inside = names_in(found, member)
            if inside < 0:
                return -1
            count += inside
    return count
