"""Which definitions a schema needs, and what they are called: the shortest names that tell them apart.

Until the schema is complete a definition goes by what pydantic knows its type by, a core ref: `shop.Order:94…`, for a
generic class `shop.Page:94…[shop.Order:93…]`. Done in one walk; pydantic's own way copies all definitions and walks
over the schema five times.
"""

from __future__ import annotations

import copy
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, cast

Json = dict[str, Any]

PREFIX = "#/$defs/"
DATA = frozenset({"default", "examples", "enum", "const", "required"})
"""Keywords whose values are no schemas."""
NAMED = frozenset({"properties", "patternProperties", "$defs"})
"""Keywords that hold schemas by name."""

_ID = re.compile(r":\d+(?=[\[\],]|$)")
_MODULE = re.compile(r"[^.\[\],]+\.")
_ODD = re.compile(r"[^A-Za-z0-9_\-]")

_Site = tuple[Json, str]
"""A reference: the object that it stands in, and under which key."""


def gather(schema: Json, known: Mapping[str, Json]) -> Json:
    """Add the definitions that a schema refers to, under `$defs`, and let its references name them. Changes both.

    Args:
        schema: refers to definitions as `#/$defs/` and their core ref.
        known: definitions by core ref; also such as are not needed.

    Raises:
        KeyError: a reference to nothing.
    """
    needed: dict[str, list[_Site]] = defaultdict(list)
    waiting = [schema]
    while waiting:
        for container, key in _references(waiting.pop()):
            core_ref = container[key].removeprefix(PREFIX)
            if core_ref not in needed:
                waiting.append(known[core_ref])
            needed[core_ref].append((container, key))
    if not needed:
        return schema
    definitions = {core_ref: known[core_ref] for core_ref in known if core_ref in needed}
    names = _names(definitions)
    for core_ref, sites in needed.items():
        for container, key in sites:
            container[key] = PREFIX + names[core_ref]
    schema["$defs"] = {names[core_ref]: definition for core_ref, definition in definitions.items()}
    return schema


def _references(schema: Json) -> Iterator[_Site]:
    waiting: list[Any] = [schema]
    while waiting:
        node = waiting.pop()
        if not isinstance(node, dict):
            waiting += [item for item in node if isinstance(item, (dict, list))]
            continue
        for key, value in cast("Json", node).items():
            if isinstance(value, (dict, list)):
                if key in NAMED and isinstance(value, dict):
                    waiting += [held for held in cast("Json", value).values() if isinstance(held, dict)]
                elif key == "mapping" and isinstance(value, dict):  # of OpenAPI's `discriminator`: references by tag
                    yield from ((cast("Json", value), tag) for tag in cast("Json", value))
                elif key not in DATA:
                    waiting.append(value)
            elif key == "$ref" and isinstance(value, str) and not value.startswith(("http://", "https://")):
                yield cast("Json", node), key


def _names(definitions: Mapping[str, Json]) -> dict[str, str]:
    """A name for each definition, by core ref; one name for those that say the same."""
    short = {core_ref: _short(core_ref) for core_ref in definitions}
    if len(set(short.values())) == len(short):
        return short
    kinds = _kinds(definitions, short)
    named: dict[tuple[str, str], str] = {}
    alike = Counter(name for name, _ in set(kinds.values()))
    taken: Counter[str] = Counter()
    for core_ref, kind in kinds.items():
        if kind not in named:
            name = short[core_ref] if alike[short[core_ref]] == 1 else _qualified(core_ref)
            taken[name] += 1
            named[kind] = name if taken[name] == 1 else f"{name}__{taken[name]}"
    return {core_ref: named[kind] for core_ref, kind in kinds.items()}


def _kinds(definitions: Mapping[str, Json], short: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """What tells definitions apart: their short name, and what they say, where references mean what they lead to."""
    kinds = {core_ref: (name, "") for core_ref, name in short.items()}
    while True:
        # Two that looked alike so far are different if they refer to two that are.
        numbers = {kind: str(number) for number, kind in enumerate(dict.fromkeys(kinds.values()))}
        said = {
            core_ref: json.dumps(_renamed(definition, {c: numbers[k] for c, k in kinds.items()}), default=repr)
            for core_ref, definition in definitions.items()
        }
        finer = {core_ref: (short[core_ref], said[core_ref]) for core_ref in definitions}
        if len(set(finer.values())) == len(set(kinds.values())):
            return kinds
        kinds = finer


def _renamed(definition: Json, names: Mapping[str, str]) -> Json:
    copied = copy.deepcopy(definition)
    # Named first, renamed then: an object may stand in two places.
    sites = [(container, key, names[container[key].removeprefix(PREFIX)]) for container, key in _references(copied)]
    for container, key, name in sites:
        container[key] = name
    return copied


def _qualified(core_ref: str) -> str:
    return _ODD.sub("_", _ID.sub("", core_ref).replace(".", "__"))


def _short(core_ref: str) -> str:
    return _ODD.sub("_", _MODULE.sub("", _ID.sub("", core_ref)))
