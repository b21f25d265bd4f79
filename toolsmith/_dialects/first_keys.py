"""OpenAI's rule for unions of objects: no two alternatives may begin with the same member.

The service says: "Objects provided via 'anyOf' must not share identical first keys. Consider adding a discriminator key
or rearranging the properties to ensure the first key is unique." A constant of its own in that member will do.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from toolsmith._dialects.jsonschema import Node, as_list, def_name


def clashes(schemas: Mapping[str, Node]) -> Iterator[str]:
    """Rearrange members, in place, so that the alternatives of each union begin differently.

    Args:
        schemas: definitions as they are sent, and "#".

    Yields:
        the path of each union for which it cannot be done.
    """
    unions = [found for name, schema in schemas.items() for found in _unions(schema, "" if name == "#" else name)]
    for _, branches in unions:
        _rearrange(branches, schemas)
    for path, branches in unions:  # a definition in two unions may have been rearranged twice
        begun: list[tuple[str, frozenset[str]]] = []
        for members in _objects(branches, schemas):
            name, schema = next(iter(members.items()))
            if not _free(name, schema, begun):
                yield path
                break
            begun.append((name, _constants(schema)))


def _unions(schema: Node, path: str) -> Iterator[tuple[str, list[Node]]]:
    branches: list[Node] = as_list(schema.get("anyOf"))
    if branches:
        yield path, branches
    for branch in branches:
        yield from _unions(branch, path)
    if "items" in schema:
        yield from _unions(schema["items"], f"{path}[]")
    for name, member in schema.get("properties", {}).items():
        yield from _unions(member, f"{path}.{name}" if path else name)


def _objects(branches: list[Node], schemas: Mapping[str, Node]) -> Iterator[Node]:
    """The members of each alternative that is an object."""
    for branch in branches:
        target = schemas[def_name(branch["$ref"])] if "$ref" in branch else branch
        if target.get("properties"):
            yield target["properties"]


def _rearrange(branches: list[Node], schemas: Mapping[str, Node]) -> None:
    begun: list[tuple[str, frozenset[str]]] = []
    for members in _objects(branches, schemas):
        name = next((n for n, s in members.items() if _free(n, s, begun)), "")
        if not name:
            continue
        if name != next(iter(members)):
            ordered = {name: members[name], **members}
            members.clear()
            members.update(ordered)
        begun.append((name, _constants(members[name])))


def _free(name: str, schema: Node, begun: list[tuple[str, frozenset[str]]]) -> bool:
    mine = _constants(schema)
    return all(name != other or (mine and theirs and not mine & theirs) for other, theirs in begun)


def _constants(schema: Node) -> frozenset[str]:
    return frozenset(map(json.dumps, [schema["const"]] if "const" in schema else as_list(schema.get("enum"))))
