"""Objects, mappings, lists and tuples in strict form."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from toolsmith._dialects import schemawords as words
from toolsmith._dialects.decoders import (
    Decoder,
    ListDecoder,
    Member,
    ObjectDecoder,
    PairsDecoder,
    TupleDecoder,
)
from toolsmith._dialects.jsonschema import Graph, Node, as_list, as_node
from toolsmith._dialects.rules import Rules
from toolsmith._dialects.wire import Wire, closed, literal_types, may_hold, nullable, types_of, union, wire_names

_CONDITIONAL = ("if", "then", "else", "dependentSchemas", "dependencies", "unevaluatedItems")


class Compiler(Protocol):
    """What the containers need of the compiler: see `strict`."""

    rules: Rules
    graph: Graph

    def value(self, node: Node, path: str) -> Wire: ...
    def wire(self, schema: Node, node: Node, decoder: Decoder | None = None, said: Sequence[str] = ()) -> Wire: ...
    def about(self, kind: str, node: Node, schema: Node | None, path: str, *, as_items: bool = False) -> list[str]: ...
    def lose(self, path: str, what: str, *, fatal: bool = True) -> None: ...
    def refuse(self, path: str, what: str) -> Wire: ...


def object_wire(compiler: Compiler, node: Node, path: str, *, root: bool = False, wrap: bool = False) -> Wire:
    """An object: closed, with its open part, if it has a typed one, as a list of pairs."""
    members: Node = {k: v for k, v in node.get("properties", {}).items() if v.get("not", True) != {}}
    if why := _unsayable(node, members, root=root):
        return compiler.refuse(path, why)
    key, held = _open_part(node)
    if held is None:
        if "additionalProperties" not in node and "unevaluatedProperties" not in node:
            compiler.lose(path, "is closed: members that are not declared cannot be sent", fatal=False)
    elif not members and not root:
        return _map(compiler, node, key, held, path, wrap=wrap)
    strict_null = compiler.rules.optional == "null"
    names = wire_names(members, compiler.rules.keys)
    required: list[str] = as_list(node.get("required"))
    properties: Node = {}
    sent: list[Member] = []
    for name, schema in members.items():
        below = f"{path}.{name}" if path else name
        properties[names[name]], member = _member(compiler, schema, names[name], name, below, name not in required)
        sent.append(member)
    wanted = [m.sent for m in sent if strict_null or not m.optional]
    pairs, extra = None, ""
    if held is not None:
        extra = _free_name("additional", properties)
        below = f"{path}.*" if path else "*"
        schema, value = _pairs(compiler, key, held, below)
        properties[extra] = {**schema, "description": words.described(words.undeclared(), [words.keys_once()])}
        pairs = PairsDecoder(value)
        wanted.append(extra)
    schema = closed(properties, wanted, always=strict_null)
    decoder = None if pairs is None and all(m.plain for m in sent) else ObjectDecoder(tuple(sent), extra, pairs)
    return compiler.wire(schema, node, decoder, compiler.about("object", node, None, path))


def _unsayable(node: Node, members: Node, *, root: bool) -> str:
    """Why an object has no strict form, "" where it has one."""
    if found := next((k for k in _CONDITIONAL if k in node), ""):
        return f"is conditional (`{found}`)"
    rest = node.get("additionalProperties", node.get("unevaluatedProperties"))
    patterns = node.get("patternProperties", {})
    if len(patterns) > 1 or (patterns and rest is not False):
        return "has members by patterns of their names"
    free = rest is True or (isinstance(rest, dict) and not rest)
    if free or (rest is None and not patterns and not members and not (root and "properties" in node)):
        return "is a free-form object: declare its members, or the type of its values"
    ghosts = [n for n in as_list(node.get("required")) if n not in members]
    if ghosts and (rest is None or (rest is False and not patterns)):
        return f"requires `{ghosts[0]}`, which it does not describe"
    return ""


def _open_part(node: Node) -> tuple[Node, Node | None]:
    """Schema of the keys and of the values of undeclared members; None where there are none."""
    key: Node = {"type": "string"}
    for pattern, held in node.get("patternProperties", {}).items():
        return {**key, "pattern": pattern}, held
    rest = as_node(node.get("additionalProperties", node.get("unevaluatedProperties")))
    if rest is None or rest.get("not", True) == {}:
        return key, None
    return {**key, "allOf": [node["propertyNames"]]} if "propertyNames" in node else key, rest


def _member(compiler: Compiler, node: Node, sent: str, name: str, path: str, optional: bool) -> tuple[Node, Member]:
    """One member's wire schema, and how to read it back."""
    wire = compiler.value(node, path)
    if sent != name:
        wire.said.append(words.named(name))
    marked, absent, omit = False, None, ""
    if optional and compiler.rules.optional == "null":
        if not may_hold(node, None, compiler.graph):
            wire.schema, marked = nullable(wire.schema), True
        elif "default" not in node or node["default"] is not None:
            marked, absent = True, _marker(compiler, node, path)
            omit = words.literal(absent)
            wire.schema = union([wire.schema, _constant(absent)])
    default = node.get("default")
    if default is not None and wire.schema.get("const") != default:
        if compiler.rules.default and wire.decoder is None and not omit and "$ref" not in wire.schema:
            wire.schema = {**wire.schema, "default": default}
        elif not words.states_default(wire.text, default):
            wire.said.append(words.default(default, omit=omit))
        elif omit:
            wire.said.append(words.omittable(omit))
    elif omit:
        wire.said.append(words.omittable(omit))
    return wire.sealed(), Member(sent, name, optional, marked, absent, wire.decoder)


def _marker(compiler: Compiler, node: Node, path: str) -> Any:
    """A value that stands for "left out" and that the member itself can never have."""
    for marker in (words.OMIT, {words.OMIT: True}):
        if not may_hold(node, marker, compiler.graph):
            return marker
    compiler.lose(path, f"takes null, and even an object with a member `{words.OMIT}`, so it cannot be left out")
    return words.OMIT


def _constant(value: Any) -> Node:
    if isinstance(value, dict):
        return closed({words.OMIT: {"type": "boolean", "const": True}}, [words.OMIT], always=True)
    return {"type": "string", "const": value}


def _free_name(stem: str, taken: Node) -> str:
    while stem in taken:
        stem += "_"
    return stem


# ---------------------------------------------------------------------------------------------------- mappings


def _map(compiler: Compiler, node: Node, key: Node, held: Node, path: str, *, wrap: bool) -> Wire:
    """A mapping: a list of pairs, which is the one member of an object where a list would be taken for another."""
    pairs, value = _pairs(compiler, key, held, f"{path}.*" if path else "*")
    said = [words.keys_once(), *compiler.about("object", node, pairs, path, as_items=True)]
    if not wrap:
        return compiler.wire(pairs, node, PairsDecoder(value), said)
    schema = closed({"entries": pairs}, ["entries"], always=True)
    return compiler.wire(schema, node, PairsDecoder(value, wrapped="entries"), said)


def _pairs(compiler: Compiler, key: Node, held: Node, path: str) -> tuple[Node, Decoder | None]:
    """A list of {key, value}, and how to read a value back."""
    value = compiler.value(held, path)
    pair = closed({"key": _key(compiler, key, path), "value": value.sealed()}, ["key", "value"], always=True)
    return {"type": "array", "items": pair}, value.decoder


def _key(compiler: Compiler, key: Node, path: str) -> Node:
    """The schema of a key: a string, whatever the key is in Python."""
    names: Node = compiler.graph.solid(key["allOf"][0]) if "allOf" in key else {}
    values = as_list(names.get("enum", [names["const"]] if "const" in names else []))
    if values and literal_types(values) != ["string"]:
        return {"type": "string", "enum": [v if isinstance(v, str) else words.literal(v) for v in values]}
    if names and types_of(names) and "string" not in types_of(names):
        key = {"type": "string"}  # numbers and the like, which are strings as keys
    return compiler.value(key, path).sealed()


# ---------------------------------------------------------------------------------------------------- lists, tuples


def array_wire(compiler: Compiler, node: Node, path: str) -> Wire:
    """A list, or a tuple, which is an object of numbered members."""
    if as_list(node.get("prefixItems")):
        return _tuple(compiler, node, path)
    items = node.get("items", {})
    if items is False or node.get("maxItems") == 0:
        items = {"type": "null"}  # stands for the items that cannot be
    elif items is True or not items:
        return compiler.refuse(path, "is a list of anything: give its items a type")
    wire = compiler.value(items, f"{path}[]")
    schema: Node = {"type": "array", "items": wire.sealed()}
    said = compiler.about("array", node, schema, path)
    return compiler.wire(schema, node, None if wire.decoder is None else ListDecoder(wire.decoder), said)


def _tuple(compiler: Compiler, node: Node, path: str) -> Wire:
    """A tuple: numbered members; those beyond `minItems` are optional, and a tail of any length is a list."""
    prefix: list[Node] = node["prefixItems"]
    least, most = node.get("minItems", 0), node.get("maxItems")
    rest = node.get("items", True)
    if isinstance(most, int) and most <= len(prefix):
        prefix, rest = prefix[:most], False
    if rest is True or rest == {}:
        return compiler.refuse(path, "is a tuple with an untyped tail: give `items` a type")
    properties: Node = {}
    members: list[Member] = []
    for i, schema in enumerate(prefix):
        sent = f"item_{i + 1}"
        properties[sent], member = _member(compiler, schema, sent, sent, f"{path}[{i}]", i >= least)
        members.append(member)
    wanted = [m.sent for m in members if compiler.rules.optional == "null" or not m.optional]
    tail, item = "", None
    tail_items = as_node(rest)
    if tail_items is not None:
        tail = "rest"
        wire = compiler.value(tail_items, f"{path}[]")
        properties[tail], item = {"type": "array", "items": wire.sealed()}, wire.decoder
        wanted.append(tail)
    bounds = {k: v for k, v in node.items() if not (k == "minItems" and v <= len(prefix)) and k != "maxItems"}
    if tail and most is not None:
        bounds["maxItems"] = most
    said = compiler.about("array", bounds, None, path)
    return compiler.wire(closed(properties, wanted, always=True), node, TupleDecoder(tuple(members), tail, item), said)
