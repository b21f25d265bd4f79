"""Puts a definition that is used once where it is used: shorter for the model, and plain for every service."""

from __future__ import annotations

from collections import defaultdict
from typing import Any, cast

from toolsmith._derive.definitions import DATA, NAMED, PREFIX

Json = dict[str, Any]

_MOST_LEVELS = 6
"""Definitions within definitions become objects within objects, of which a service may allow few (OpenAI: 10)."""

_Site = tuple[Any, Any]
"""A reference: the dict or list that it stands in, and under which key."""


def inline(schema: Json) -> Json:
    """Move each definition that has one use, and does not contain itself, to that use. Changes the schema in place."""
    definitions: dict[str, Json] = schema.get("$defs", {})
    if not definitions:
        return schema
    inner: dict[str, dict[str, list[_Site]]] = {}
    for name, definition in definitions.items():
        inner[name] = defaultdict(list)
        _find(definition, inner[name])
    sites: dict[str, list[_Site]] = defaultdict(list)
    _find({k: v for k, v in schema.items() if k != "$defs"}, sites)
    for found in inner.values():
        for name, more in found.items():
            sites[name] += more
    once = [n for n in definitions if len(sites[n]) == 1 and not _recursive(n, inner)]
    if _levels(once, inner) > _MOST_LEVELS:
        return schema
    for name in once:
        container, key = sites[name][0]
        container[key] = _joined(definitions.pop(name), {k: v for k, v in container[key].items() if k != "$ref"})
    if not definitions:
        del schema["$defs"]
    return schema


def _find(node: Json, sites: dict[str, list[_Site]]) -> None:
    """Note each reference below a schema. One that is the schema itself cannot be moved, and counts twice."""
    if isinstance(ref := node.get("$ref"), str):
        sites[ref.removeprefix(PREFIX)] += [(None, None)] * 2
    for key, value in node.items():
        if key in DATA:
            continue
        if isinstance(value, dict):
            if key in NAMED:
                _find_in(cast("Json", value).items(), value, sites)
            else:
                _find_in([(key, value)], node, sites)
        elif isinstance(value, list):
            _find_in(enumerate(cast("list[Any]", value)), value, sites)


def _find_in(items: Any, container: Any, sites: dict[str, list[_Site]]) -> None:
    for key, value in items:
        if isinstance(value, dict):
            ref = cast("Json", value).get("$ref")
            if isinstance(ref, str):
                sites[ref.removeprefix(PREFIX)].append((container, key))
            else:
                _find(cast("Json", value), sites)


def _recursive(name: str, inner: dict[str, dict[str, list[_Site]]]) -> bool:
    """Whether a definition can reach itself."""
    seen: set[str] = set()
    waiting = [name]
    while waiting:
        reached = inner.get(waiting.pop(), {}).keys()
        if name in reached:
            return True
        waiting += reached - seen
        seen |= reached
    return False


def _levels(once: list[str], inner: dict[str, dict[str, list[_Site]]]) -> int:
    """How deep the definitions that are to be moved lie within each other."""
    if len(once) <= _MOST_LEVELS:
        return len(once)

    def depth(name: str) -> int:
        return 1 + max((depth(n) for n in inner.get(name, {}) if n in once), default=0)

    return max(map(depth, once))


def _joined(definition: Json, beside: Json) -> Json:
    """A definition with what stood beside the reference to it. Of two descriptions none is lost."""
    if not beside:
        return definition
    general, own = definition.get("description", ""), beside.get("description", "")
    made = {**definition, **beside}
    if general and own and general.strip(" .") not in own:
        made["description"] = f"{own}\n{general}"
    head = {k: made[k] for k in ("type", "description") if k in made}
    definition.clear()  # it stays the same dict, as other references may stand in it that are to be replaced next
    definition.update({**head, **made})
    return definition
