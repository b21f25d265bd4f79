"""The way back: what a model sent in a service's strict form, turned into what the function's own schema says.

A decoder never judges a value: what does not have the expected shape passes as it is, and the validator says what is
wrong with it. None stands for the decoder that changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from typing import Any, Literal, Protocol, cast

from toolsmith._dataclass import dataclass
from toolsmith._dialects.jsonschema import Node, as_list, as_node, def_name
from toolsmith._dialects.merge import json_equal


class DialectError(ValueError):
    """What a model sent cannot be read back: it says two things at once. The argument door tells the model.

    Attributes:
        path: where, in the neutral schema: "stock".
        text: what is wrong, as half a sentence.
        kind: "duplicate_key" (a key that stands twice in a list of pairs) or "gap" (a tuple with a hole in it).
        name: the key, or the member of the tuple that is missing.
    """

    def __init__(self, path: str, text: str, *, kind: Literal["duplicate_key", "gap"], name: str) -> None:
        super().__init__(f"{path}: {text}" if path else text)
        self.path = path
        self.text = text
        self.kind = kind
        self.name = name


class Decoder(Protocol):
    """Turns one value back. Compared by structure: equal decoders do the same."""

    def decode(self, value: Any, path: str) -> Any:
        """The neutral value.

        Raises:
            DialectError: the value says two things at once.
        """
        ...

    def prune(self, live: set[str]) -> Decoder | None:
        """The same decoder without parts that change nothing; `live` are the definitions that do change something."""
        ...


@dataclass(frozen=True, slots=True)
class Member:
    """One member of an object.

    Attributes:
        sent: its name as the model sends it.
        name: its name in the neutral schema.
        optional: whether it may be absent in the neutral schema.
        absent: what the model sends to leave it out, where that is a value (null or a marker); only if `marked`.
        marked: whether there is such a value.
        decoder: for its value.
    """

    sent: str
    name: str
    optional: bool = False
    marked: bool = False
    absent: Any = None
    decoder: Decoder | None = None

    @property
    def plain(self) -> bool:
        """Whether the member passes as it is."""
        return self.sent == self.name and not self.marked and self.decoder is None

    def left_out(self, value: Any) -> bool:
        """Whether the value stands for "not given"."""
        return self.marked and json_equal(value, self.absent)


@dataclass(frozen=True, slots=True)
class ObjectDecoder:
    """An object; `extra` names the member that holds undeclared members as pairs."""

    members: tuple[Member, ...]
    extra: str = ""
    pairs: PairsDecoder | None = None

    def decode(self, value: Any, path: str) -> Any:
        if not isinstance(value, dict):
            return value
        by_name = {m.sent: m for m in self.members}
        out: Node = {}
        for sent, inner in cast("Node", value).items():
            if self.pairs is not None and sent == self.extra:
                decoded = self.pairs.decode(inner, path)
                if isinstance(decoded, dict):
                    for key, held in cast("Node", decoded).items():
                        _put(out, key, held, path)
                    continue
            member = by_name.get(sent)
            if member is None:
                _put(out, sent, inner, path)
            elif not member.left_out(inner):
                below = f"{path}.{member.name}" if path else member.name
                _put(out, member.name, member.decoder.decode(inner, below) if member.decoder else inner, path)
        return out

    def prune(self, live: set[str]) -> Decoder | None:
        kept = tuple(m for m in (_pruned_member(m, live) for m in self.members) if not m.plain)
        pairs = None if self.pairs is None else PairsDecoder(pruned(self.pairs.value, live))
        return ObjectDecoder(kept, self.extra, pairs) if kept or pairs else None


@dataclass(frozen=True, slots=True)
class PairsDecoder:
    """A mapping that travels as a list of {key, value}; within `wrapped`, the one member of an object."""

    value: Decoder | None = None
    wrapped: str = ""

    def decode(self, value: Any, path: str) -> Any:
        held = as_node(value)
        if held is not None and self.wrapped and held.keys() == {self.wrapped}:
            value = held[self.wrapped]
        if not isinstance(value, list):
            return held if held is not None else value
        pairs = as_list(cast("Any", value))
        if not all(isinstance(p, dict) and p.keys() == {"key", "value"} and isinstance(p["key"], str) for p in pairs):
            return pairs
        out: Node = {}
        for pair in cast("list[Node]", pairs):
            below = f"{path}.{pair['key']}" if path else pair["key"]
            _put(out, pair["key"], self.value.decode(pair["value"], below) if self.value else pair["value"], path)
        return out

    def prune(self, live: set[str]) -> Decoder | None:
        return PairsDecoder(pruned(self.value, live), self.wrapped)


@dataclass(frozen=True, slots=True)
class TupleDecoder:
    """A tuple that travels as an object of numbered members; `rest` names the member that holds the tail."""

    members: tuple[Member, ...]
    rest: str = ""
    rest_item: Decoder | None = None

    def decode(self, value: Any, path: str) -> Any:
        if not isinstance(value, dict):
            return value
        held = cast("Node", value)
        if not held.keys() <= {m.sent for m in self.members} | {self.rest}:
            return held
        out: list[Any] = []
        missing = ""
        for i, member in enumerate(self.members):
            if member.sent not in held or member.left_out(held[member.sent]):
                missing = missing or member.sent
                continue
            if missing:
                raise _gap(path, missing)
            inner = held[member.sent]
            out.append(member.decoder.decode(inner, f"{path}[{i}]") if member.decoder else inner)
        tail: Any = held.get(self.rest, []) if self.rest else []
        if not isinstance(tail, list):
            return held
        if tail and missing:
            raise _gap(path, missing)
        for inner in as_list(cast("Any", tail)):
            out.append(self.rest_item.decode(inner, f"{path}[{len(out)}]") if self.rest_item else inner)
        return out

    def prune(self, live: set[str]) -> Decoder | None:
        members = tuple(_pruned_member(m, live) for m in self.members)
        return TupleDecoder(members, self.rest, pruned(self.rest_item, live))


@dataclass(frozen=True, slots=True)
class ListDecoder:
    """A list whose items need decoding."""

    item: Decoder

    def decode(self, value: Any, path: str) -> Any:
        if not isinstance(value, list):
            return value
        return [self.item.decode(v, f"{path}[{i}]") for i, v in enumerate(as_list(cast("Any", value)))]

    def prune(self, live: set[str]) -> Decoder | None:
        item = pruned(self.item, live)
        return None if item is None else ListDecoder(item)


@dataclass(frozen=True, slots=True)
class RefDecoder:
    """Whatever the named definition needs."""

    name: str
    table: Mapping[str, Decoder | None] = field(compare=False, repr=False)

    def decode(self, value: Any, path: str) -> Any:
        decoder = self.table[self.name]
        return value if decoder is None else decoder.decode(value, path)

    def prune(self, live: set[str]) -> Decoder | None:
        return self if self.name in live else None


@dataclass(frozen=True, slots=True)
class Branch:
    """One alternative of a union: its schema on the wire and how to decode a value of it."""

    schema: Node
    decoder: Decoder | None


@dataclass(frozen=True, slots=True)
class UnionDecoder:
    """A union: the first alternative that the value has the shape of."""

    branches: tuple[Branch, ...]
    defs: Mapping[str, Node] = field(compare=False, repr=False)
    path: str = field(default="", compare=False)

    def decode(self, value: Any, path: str) -> Any:
        # a server without strict mode may leave out what should be null; Claude may change the case of a constant
        for exact in (True, False):
            for branch in self.branches:
                if fits(value, branch.schema, self.defs, exact=exact):
                    return value if branch.decoder is None else branch.decoder.decode(value, path)
        return value

    def prune(self, live: set[str]) -> Decoder | None:
        branches = tuple(Branch(b.schema, pruned(b.decoder, live)) for b in self.branches)
        return UnionDecoder(branches, self.defs, self.path) if any(b.decoder for b in branches) else None


def pruned(decoder: Decoder | None, live: set[str]) -> Decoder | None:
    """`Decoder.prune`, also of nothing."""
    return None if decoder is None else decoder.prune(live)


def _pruned_member(member: Member, live: set[str]) -> Member:
    decoder = pruned(member.decoder, live)
    return member if decoder is member.decoder else replace(member, decoder=decoder)


def live_definitions(table: Mapping[str, Decoder | None]) -> set[str]:
    """The definitions whose decoders change something, themselves or by what they refer to."""
    live: set[str] = set()
    if len(table) == 1:
        return live  # the root alone: nothing refers to it
    while True:
        found = {name for name, decoder in table.items() if pruned(decoder, live) is not None}
        if found == live:
            return live
        live = found


def fits(value: Any, schema: Node, defs: Mapping[str, Node], *, exact: bool = True) -> bool:
    """Whether a value has the shape of a wire schema: types, constants, members. Bounds and patterns are not looked at.

    Args:
        value: as the model sent it.
        schema: of a strict form.
        defs: what its references name; "#" for the root.
        exact: False forgives missing members, and the case of constants.
    """
    if "$ref" in schema:
        return fits(value, defs[def_name(schema["$ref"])], defs, exact=exact)
    if "anyOf" in schema:
        return any(fits(value, s, defs, exact=exact) for s in schema["anyOf"])
    if "const" in schema or "enum" in schema:
        values: list[Any] = [schema["const"]] if "const" in schema else schema["enum"]
        if isinstance(value, str) and not exact:
            return value.casefold() in [v.casefold() for v in values if isinstance(v, str)]
        return any(json_equal(value, v) for v in values)
    kinds = schema.get("type", [])
    kind = kind_of(value)
    allowed = [kinds] if isinstance(kinds, str) else as_list(kinds)
    if not (kind in allowed or (kind == "integer" and "number" in allowed)):
        return kind == "number" and "integer" in allowed and float(value).is_integer()
    if kind == "array":
        return all(fits(v, schema["items"], defs, exact=exact) for v in value)
    if kind == "object":
        members = schema.get("properties", {})
        if exact and not value.keys() >= set(schema.get("required", ())):
            return False
        return all(k in members and fits(v, members[k], defs, exact=exact) for k, v in value.items())
    return True


def kind_of(value: Any) -> str:
    """The JSON type of a value; whole floats are numbers."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"


def _put(out: Node, key: str, value: Any, path: str) -> None:
    if key in out:
        raise DialectError(path, f"has the key {key!r} twice", kind="duplicate_key", name=key)
    out[key] = value


def _gap(path: str, name: str) -> DialectError:
    return DialectError(path, f"leaves out {name!r} but gives a later item", kind="gap", name=name)
