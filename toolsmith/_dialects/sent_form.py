"""What is wrong with arguments, in the form in which the model sent them.

Arguments are checked as the tool's own schema has them. A model in strict mode has never seen that schema: it knows a
tuple as an object with `item_1` and `item_2`, a mapping as a list of keys and values. What it reads of them has to be
in those words, and to lead to the place where it wrote them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

from toolsmith._arguments.problems import ABSENT, Path, Problem, Repair, Schema
from toolsmith._dataclass import dataclass
from toolsmith._dialects.decoders import (
    Decoder,
    ListDecoder,
    ObjectDecoder,
    PairsDecoder,
    RefDecoder,
    TupleDecoder,
    UnionDecoder,
    fits,
)
from toolsmith._dialects.jsonschema import Node, def_name

_OF_THE_FORM = frozenset({"type", "missing", "json_text", "mismatch"})
"""Problems that are told by describing what is accepted, all of it."""

_FAR = 64  # references behind one another


@dataclass(frozen=True, slots=True, eq=False)
class _Place:
    """A place in what was sent.

    Attributes:
        path: to it.
        value: that stands there, `ABSENT` for nothing.
        node: of the schema on the wire, None where it is not known.
        decoder: of the value; None where the form is the tool's own, from here on down.
    """

    path: Path
    value: Any
    node: Node | None
    decoder: Decoder | None


def as_sent(problems: Sequence[Problem], schema: Node, decoder: Decoder, sent: object) -> list[Problem]:
    """Problems of decoded arguments, as problems of what the model sent.

    Args:
        schema: on the wire.
        decoder: of it.
        sent: the arguments before they were decoded.
    """
    top = _Place((), sent, schema, decoder)
    return [_told(problem, schema, _found(top, schema, problem.path, problem.kind == "key")) for problem in problems]


def mended_as_sent(repairs: Sequence[Repair], schema: Node, decoder: Decoder, sent: object) -> list[Repair]:
    """The same of what was mended; the list or object that was due is the one of the form."""
    top = _Place((), sent, schema, decoder)
    made: list[Repair] = []
    for repair in repairs:
        place = _found(top, schema, repair.path)
        due = _due(place.decoder, repair.used) if repair.kind == "json_text" else None
        made.append(replace(repair, path=place.path, used=repair.used if due is None else due))
    return made


def _due(decoder: Decoder | None, used: object) -> object:
    """An object where a list stands for one in the form, and the other way round; None where it is the same."""
    branches = decoder.branches if isinstance(decoder, UnionDecoder) else ()
    decoders = [branch.decoder for branch in branches] or [decoder]
    if isinstance(used, list) and any(isinstance(one, TupleDecoder) for one in decoders):
        return {}
    return [] if isinstance(used, dict) and any(isinstance(one, PairsDecoder) for one in decoders) else None


def _told(problem: Problem, schema: Node, place: _Place) -> Problem:
    if place.decoder is None or place.node is None:
        return replace(problem, path=place.path)
    sent = problem.sent if problem.sent is ABSENT or place.value is ABSENT else place.value
    counts = problem.kind == "count" and isinstance(place.decoder, TupleDecoder | PairsDecoder)
    if problem.kind not in _OF_THE_FORM and not counts:
        return replace(problem, path=place.path, sent=sent)
    return replace(problem, path=place.path, sent=sent, expected=_bounded(problem.expected, place.node), root=schema)


def _bounded(own: Schema, node: Node) -> Schema:
    """What is accepted on the wire, with the bounds of a mapping that only the tool's own schema may have."""
    if node.get("type") != "array" or isinstance(own, bool):
        return node
    names = (("minProperties", "minItems"), ("maxProperties", "maxItems"))
    return {**node, **{item: own[name] for name, item in names if name in own}}


def _found(place: _Place, root: Node, path: Path, is_key: bool = False) -> _Place:
    """Where a place of the decoded arguments stands in what was sent."""
    for at, part in enumerate(path):
        place = _chosen(_resolved(place, root), root)
        last = is_key and at == len(path) - 1
        match place.decoder, part:
            case ObjectDecoder() as decoder, str() if isinstance(place.value, dict):
                place = _member(place, decoder, part, last)
            case PairsDecoder() as decoder, str():
                place = _pair(place, decoder, part, last)
            case TupleDecoder() as decoder, int() if isinstance(place.value, dict):
                place = _item(place, decoder, part)
            case ListDecoder(item=item), int():
                place = _Place((*place.path, part), _at(place.value, part), _below(place.node, "items"), item)
            case _:
                # As it was sent: either the form is the tool's own, or the value is of no form, and was left as it is.
                place = _Place((*place.path, part), _at(place.value, part), None, None)
    return _resolved(place, root)


def _member(place: _Place, decoder: ObjectDecoder, name: str, is_key: bool) -> _Place:
    for member in decoder.members:
        if member.name == name:
            node = _below(place.node, "properties", member.sent)
            return _Place((*place.path, member.sent), _at(place.value, member.sent), node, member.decoder)
    held = _at(place.value, decoder.extra)
    if decoder.pairs is not None and held is not ABSENT:
        extra = _Place((*place.path, decoder.extra), held, _below(place.node, "properties", decoder.extra), None)
        found = _pair(extra, decoder.pairs, name, is_key)
        if found.path != (*extra.path, name):
            return found
    return _Place((*place.path, name), _at(place.value, name), _below(place.node, "properties", name), None)


def _pair(place: _Place, decoder: PairsDecoder, key: str, is_key: bool) -> _Place:
    path, pairs, node = place.path, place.value, place.node
    if decoder.wrapped and isinstance(pairs, dict):
        path, pairs = (*path, decoder.wrapped), _at(cast("object", pairs), decoder.wrapped)
        node = _below(node, "properties", decoder.wrapped)
    if isinstance(pairs, list):
        for number, pair in enumerate(cast("list[Any]", pairs)):
            if _at(pair, "key") == key:
                name = "key" if is_key else "value"
                below = _below(node, "items", "properties", name)
                return _Place((*path, number, name), _at(pair, name), below, None if is_key else decoder.value)
    return _Place((*place.path, key), _at(place.value, key), None, None)


def _item(place: _Place, decoder: TupleDecoder, number: int) -> _Place:
    if number < len(decoder.members):
        member = decoder.members[number]
        node = _below(place.node, "properties", member.sent)
        return _Place((*place.path, member.sent), _at(place.value, member.sent), node, member.decoder)
    behind = number - len(decoder.members)
    value = _at(_at(place.value, decoder.rest), behind)
    node = _below(place.node, "properties", decoder.rest, "items")
    return _Place((*place.path, decoder.rest, behind), value, node, decoder.rest_item)


def _resolved(place: _Place, root: Node) -> _Place:
    """The same place, with what its references name."""
    node, decoder = place.node, place.decoder
    for _ in range(_FAR):
        if node is not None and "$ref" in node:
            node = _named(node["$ref"], root)
        elif isinstance(decoder, RefDecoder):
            decoder = decoder.table[decoder.name]
        else:
            break
    return _Place(place.path, place.value, node, decoder)


def _named(reference: str, root: Node) -> Node | None:
    name = def_name(reference)
    return root if name == "#" else cast("Node | None", root.get("$defs", {}).get(name))


def _chosen(place: _Place, root: Node) -> _Place:
    """The alternative of a union by which the value was decoded."""
    if not isinstance(place.decoder, UnionDecoder):
        return place
    for exact in (True, False):
        for branch in place.decoder.branches:
            if fits(place.value, branch.schema, place.decoder.defs, exact=exact):
                return _resolved(_Place(place.path, place.value, branch.schema, branch.decoder), root)
    return _Place(place.path, place.value, None, None)


def _at(value: object, part: str | int) -> Any:
    if isinstance(value, dict) and isinstance(part, str):
        return cast("dict[str, Any]", value).get(part, ABSENT)
    if isinstance(value, list) and isinstance(part, int):
        items = cast("list[Any]", value)
        return items[part] if 0 <= part < len(items) else ABSENT
    return ABSENT


def _below(node: Node | None, *names: str) -> Node | None:
    for name in names:
        node = cast("Node | None", node.get(name)) if isinstance(node, dict) else None
    return node
