"""Whether the alternatives of a strict union can be told apart again when a value comes back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from toolsmith._dialects.decoders import (
    Decoder,
    ListDecoder,
    ObjectDecoder,
    PairsDecoder,
    RefDecoder,
    TupleDecoder,
    UnionDecoder,
    kind_of,
)
from toolsmith._dialects.jsonschema import Node, as_list, def_name
from toolsmith._dialects.merge import json_equal

_DEEPEST = 12


def ambiguities(decoders: Iterable[Decoder | None], defs: Mapping[str, Node]) -> Iterator[tuple[str, str]]:
    """Each union that cannot be read back: its path, and why as half a sentence.

    A value that has the shape of two alternatives is harmless where both are decoded alike, or not at all.
    """
    for union in _unions(decoders):
        branches = union.branches
        for i, a in enumerate(branches):
            if any(not _tellable(a.schema, a.decoder, b.schema, b.decoder, defs, 0) for b in branches[i + 1 :]):
                yield union.path, "has alternatives that look alike in strict form: give each a constant of its own"
                break


def _unions(decoders: Iterable[Decoder | None]) -> Iterator[UnionDecoder]:
    stack: list[Decoder | None] = list(decoders)
    while stack:
        match stack.pop():
            case UnionDecoder() as found:
                yield found
                stack.extend(b.decoder for b in found.branches)
            case ObjectDecoder(members=members, pairs=pairs):
                stack.extend([*(m.decoder for m in members), pairs])
            case TupleDecoder(members=members, rest_item=rest):
                stack.extend([*(m.decoder for m in members), rest])
            case PairsDecoder(value=inner) | ListDecoder(item=inner):
                stack.append(inner)
            case _:
                pass


def _tellable(a: Node, da: Decoder | None, b: Node, db: Decoder | None, defs: Mapping[str, Node], depth: int) -> bool:
    """Whether a value of either schema is decoded rightly by "the first that fits"."""
    if da == db:
        return True
    for one in _plain(a, defs):
        for two in _plain(b, defs):
            common = _kinds(one) & _kinds(two)
            if "object" in common and not apart(one, two, defs):
                return False
            if "array" in common and not _lists_tellable(one, da, two, db, defs, depth):
                return False
    return True


def _lists_tellable(
    a: Node, da: Decoder | None, b: Node, db: Decoder | None, defs: Mapping[str, Node], depth: int
) -> bool:
    items: list[Decoder | None] = []
    for decoder in (da, db):
        while isinstance(decoder, RefDecoder):
            decoder = decoder.table[decoder.name]
        match decoder:
            case None:
                items.append(None)
            case ListDecoder(item=item):
                items.append(item)
            case _:
                return False
    return depth < _DEEPEST and _tellable(a["items"], items[0], b["items"], items[1], defs, depth + 1)


def apart(a: Node, b: Node, defs: Mapping[str, Node], depth: int = 0) -> bool:
    """Whether no value has the shape of both schemas; False where that is not certain."""
    return depth < _DEEPEST and all(
        _plain_apart(one, two, defs, depth) for one in _plain(a, defs) for two in _plain(b, defs)
    )


def _plain_apart(a: Node, b: Node, defs: Mapping[str, Node], depth: int) -> bool:
    values = [_values(s) for s in (a, b)]
    if values[0] is not None and values[1] is not None:
        return not any(json_equal(x, y) for x in values[0] for y in values[1])
    common = _kinds(a) & _kinds(b)
    if not common:
        return True
    if common != {"object"}:
        return False
    mine, theirs = a["properties"], b["properties"]
    needed, wanted = set(a.get("required", ())), set(b.get("required", ()))
    if needed - theirs.keys() or wanted - mine.keys():
        return True
    return any(apart(mine[name], theirs[name], defs, depth + 1) for name in sorted(needed & wanted))


def _values(schema: Node) -> list[Any] | None:
    if "const" in schema:
        return [schema["const"]]
    return as_list(schema["enum"]) if "enum" in schema else None


def _kinds(schema: Node) -> set[str]:
    values = _values(schema)
    kinds = schema.get("type", [kind_of(v) for v in values or ()])
    found: set[Any] = {kinds} if isinstance(kinds, str) else set(as_list(kinds))
    return {"number" if k == "integer" else str(k) for k in found}


def _plain(schema: Node, defs: Mapping[str, Node]) -> list[Node]:
    """The schemas behind references and unions."""
    out: list[Node] = []
    stack, seen = [schema], set[str]()
    while stack:
        node = stack.pop()
        if "$ref" in node:
            name = def_name(node["$ref"])
            if name not in seen:
                seen.add(name)
                stack.append(defs[name])
        elif "anyOf" in node:
            stack.extend(node["anyOf"])
        else:
            out.append(node)
    return out
