"""The strict form of a schema, and the way back, written together.

One pass over the normal form makes, for each schema, what stands on the wire and the decoder that undoes it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from toolsmith._dataclass import dataclass
from toolsmith._dialects import schemawords as words
from toolsmith._dialects.apart import ambiguities
from toolsmith._dialects.containers import array_wire, object_wire
from toolsmith._dialects.decoders import (
    Branch,
    Decoder,
    RefDecoder,
    UnionDecoder,
    live_definitions,
    pruned,
)
from toolsmith._dialects.first_keys import clashes
from toolsmith._dialects.jsonschema import ANNOTATIONS, TOLD, Graph, Loss, Node, as_list, def_name
from toolsmith._dialects.merge import UnmergeableError, branches_of, flatten, join_descriptions
from toolsmith._dialects.rules import Rules, plain_pattern
from toolsmith._dialects.wire import (
    Wire,
    literal,
    literal_types,
    nullable,
    of_type,
    size_problems,
    types_of,
    union,
)

_ABOUT = {
    "string": ("minLength", "maxLength", "pattern", "format", "contentEncoding", "contentMediaType"),
    "number": ("minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum", "multipleOf"),
    "array": ("minItems", "maxItems", "uniqueItems", "contains", "minContains", "maxContains"),
    "object": ("minProperties", "maxProperties", "dependentRequired"),
}
_AS_ITEMS = {"minProperties": "minItems", "maxProperties": "maxItems"}


@dataclass(frozen=True, slots=True)
class Compiled:
    """The strict form of a whole schema."""

    schema: Node
    decoder: Decoder | None
    losses: tuple[Loss, ...]


def compile_strict(graph: Graph, rules: Rules) -> Compiled:
    """The strict form under a service's rules; it may be used only where no loss is fatal."""
    compiled = _Compiler(graph, rules, inline=True).compile()
    if rules.limits and graph.inline and any(loss.fatal for loss in compiled.losses):
        # definitions written in place nest deeper than definitions referred to: the service counts each by itself
        apart = _Compiler(graph, rules, inline=False).compile()
        return compiled if any(loss.fatal for loss in apart.losses) else apart
    return compiled


class _Compiler:
    def __init__(self, graph: Graph, rules: Rules, *, inline: bool) -> None:
        self.graph = graph
        self.rules = rules
        self._inline = graph.inline if inline else set[str]()
        self._losses: list[Loss] = list(graph.losses)
        self._schemas: dict[str, Node] = {}  # definitions as they are sent, and "#"
        self._decoders: dict[str, Decoder | None] = {}
        self._waiting: deque[tuple[str, str]] = deque()

    def compile(self) -> Compiled:
        root = self._root()
        while self._waiting:
            name, path = self._waiting.popleft()
            wire = self.value(self.graph.target(f"#/$defs/{name}"), path)
            self._schemas[name], self._decoders[name] = wire.sealed(), wire.decoder
        self._schemas["#"], self._decoders["#"] = root.schema, root.decoder
        live = live_definitions(self._decoders)
        for name, decoder in self._decoders.items():
            self._decoders[name] = pruned(decoder, live)
        for path, what in ambiguities(self._decoders.values(), self._schemas):
            self.lose(path, what)
        if self.rules.first_keys:
            for path in clashes(self._schemas):
                self.lose(path, "has alternatives that begin with the same member: give each a constant of its own")
        schema = dict(root.schema)
        if len(self._schemas) > 1:
            schema["$defs"] = {name: s for name, s in self._schemas.items() if name != "#"}
        if self.rules.limits:
            for what in size_problems(schema, self.rules.limits):
                self.lose("", what)
        return Compiled(schema, self._decoders["#"], tuple(dict.fromkeys(self._losses)))

    def lose(self, path: str, what: str, *, fatal: bool = True) -> None:
        self._losses.append(Loss(path, what, fatal))

    def refuse(self, path: str, what: str) -> Wire:
        """No strict form; the wire schema is a stand-in that is never sent."""
        self.lose(path, what)
        return Wire({"type": "null"})

    def _root(self) -> Wire:
        try:
            node = flatten(self.graph.root, self.graph)
            while "$ref" in node:
                node = flatten(self.graph.solid(node), self.graph)
        except UnmergeableError as error:
            return self.refuse("", str(error))
        node = self._told_unions(node, "")
        if "anyOf" in node or "oneOf" in node:
            return self.refuse("", "is a union at its root: make each alternative a tool, or the whole one parameter")
        if types_of(node) != ["object"]:
            return self.refuse("", "is no object at its root")
        wire = object_wire(self, node, "", root=True)
        wire.schema = wire.sealed()
        return wire

    def wire(self, schema: Node, node: Node, decoder: Decoder | None = None, said: Sequence[str] = ()) -> Wire:
        notes = [*said, *node.get(TOLD, [])]
        if as_list(node.get("examples")):
            notes.append(words.examples(node["examples"]))
        return Wire(schema, decoder, str(node.get("description", "")), notes)

    # ------------------------------------------------------------------------------------------------ any schema

    def value(self, node: Node, path: str, *, wrap: bool = False) -> Wire:
        """Any schema; `wrap` asks for a mapping that cannot be taken for a list."""
        try:
            node = flatten(node, self.graph)
            if "$ref" in node:
                return self._reference(node, path, wrap=wrap)
            node = self._told_unions(node, path)
            if "anyOf" in node or "oneOf" in node:
                return self._union(node, path)
        except UnmergeableError as error:
            return self.refuse(path, str(error))
        if node.get("not", True) == {}:
            return self.refuse(path, "can have no value")
        if "const" in node or "enum" in node:
            return self._literal(node, path)
        kinds = types_of(node)
        if not any(kinds):
            return self.refuse(path, "takes anything: give it a type")
        if "type" not in node:
            self.lose(path, f"has no `type`, read as {kinds[0]}", fatal=False)
        if len(kinds) > 2 or (len(kinds) == 2 and "null" not in kinds):
            alone = {k: v for k, v in node.items() if k not in ANNOTATIONS}
            beside = {k: v for k, v in node.items() if k in ANNOTATIONS}
            return self._union(beside | {"anyOf": [{**alone, "type": k} for k in kinds]}, path)
        wire = self._typed(next((k for k in kinds if k != "null"), "null"), node, path, wrap=wrap)
        if len(kinds) == 2:
            wire.schema = nullable(wire.schema)
        return wire

    def _typed(self, kind: str, node: Node, path: str, *, wrap: bool = False) -> Wire:
        match kind:
            case "object":
                return object_wire(self, node, path, wrap=wrap)
            case "array":
                return array_wire(self, node, path)
            case "string" | "number" | "integer" | "boolean" | "null":
                schema: Node = {"type": kind}
                said = self.about("number" if kind == "integer" else kind, node, schema, path)
                return self.wire(schema, node, None, said)
            case _:
                return self.refuse(path, f"has the unknown type {kind!r}")

    def about(self, kind: str, node: Node, schema: Node | None, path: str, *, as_items: bool = False) -> list[str]:
        """Keywords about a value: into its wire schema as far as the service takes them, the rest given back in words.

        Args:
            kind: JSON type, "number" also for integers.
            node: where the keywords stand.
            schema: where they are put; None to have all in words.
            path: for losses.
            as_items: the node is a mapping, the schema its list of pairs.
        """
        left_out: Node = {}
        for key in (*_ABOUT.get(kind, ()), "not"):
            if key in node:
                sent = _AS_ITEMS.get(key, key) if as_items else key
                if schema is not None and self._keeps(sent, node[key]):
                    schema[sent] = node[key]
                else:
                    left_out[key] = node[key]
                    self.lose(path, f"`{key}` is told in words", fatal=False)
        return words.constraints(left_out)

    def _keeps(self, key: str, value: Any) -> bool:
        if key not in self.rules.kept:
            return False
        if key == "pattern":
            return isinstance(value, str) and plain_pattern(value)
        if key == "format":
            return value in self.rules.formats
        return key != "minItems" or self.rules.min_items is None or value <= self.rules.min_items

    def _literal(self, node: Node, path: str) -> Wire:
        values = [node["const"]] if "const" in node else as_list(node["enum"])
        if "type" in node:
            values = [v for v in values if of_type(v, types_of(node))]
        kinds = literal_types(values)
        if not values:
            return self.refuse(path, "can have no value")
        if "object" in kinds or "array" in kinds:
            return self.refuse(path, "enumerates objects or lists: describe them by a schema")
        named = [k for k in kinds if k != "null"]
        if len(named) > 1 and self.rules.literal_types:
            alike = [[v for v in values if of_type(v, [k])] for k in kinds]
            return self.wire(union([literal(held, typed=True) for held in alike]), node)
        return self.wire(literal(values, typed=self.rules.literal_types), node)

    # ------------------------------------------------------------------------------------ references and unions

    def _reference(self, node: Node, path: str, *, wrap: bool) -> Wire:
        graph, name = self.graph, def_name(node["$ref"])
        target = graph.target(node["$ref"])
        if name in graph.recursive and not self.rules.recursion:
            return self.refuse(path, "is recursive, which this service's strict mode does not take")
        in_place = name in self._inline or target.keys() == {"$ref"} or (wrap and _is_map(target))
        if in_place and name not in graph.recursive:
            inner = {**target, **{k: v for k, v in node.items() if k != "$ref"}}
            if "description" in target and "description" in node:
                inner["description"] = join_descriptions(node["description"], target["description"])
            return self.value(inner, path, wrap=wrap)
        if name not in self._decoders:
            self._decoders[name] = None
            if name != "#":
                self._waiting.append((name, path))
        return self.wire({"$ref": node["$ref"]}, node, RefDecoder(name, self._decoders))

    def _told_unions(self, node: Node, path: str) -> Node:
        """A union whose alternatives only say which members are required becomes words."""
        for key in ("anyOf", "oneOf"):
            branches: list[Node] = node.get(key, [])
            groups = [as_list(b.get("required")) for b in branches]
            if groups and all(groups) and all(b.keys() <= {"required", "not", "type"} for b in branches):
                node = {k: v for k, v in node.items() if k != key}
                node[TOLD] = [*node.get(TOLD, []), words.one_of_groups(groups)]
                self.lose(path, f"`{key}` is told in words", fatal=False)
        return node

    def _union(self, node: Node, path: str) -> Wire:
        branches = [flatten(b, self.graph) for b in branches_of(node)]
        branches = [b for b in branches if b.get("not", True) != {}]
        if not branches:
            return self.refuse(path, "can have no value")
        if "oneOf" in node and "discriminator" not in node:
            self.lose(path, "`oneOf` is sent as `anyOf`", fatal=False)
        branches = self._without_twins(self._opened(branches), path)
        lists = any(self._is_list(b) for b in branches)
        made: list[tuple[Node, Wire]] = []
        for branch in branches:
            wire = self.value(branch, path, wrap=lists)
            sealed = wire.sealed()
            if not any(sealed == s and wire.decoder == w.decoder for s, w in made):
                made.append((sealed, wire))
        if len(made) == 1:
            wire = made[0][1]
            outer = self.wire({}, node)
            text = join_descriptions(outer.text, wire.text) if outer.text and wire.text else outer.text or wire.text
            return Wire(wire.schema, wire.decoder, text, [*wire.said, *outer.said])
        decoder = None
        if any(w.decoder for _, w in made):
            decoder = UnionDecoder(tuple(Branch(s, w.decoder) for s, w in made), self._schemas, path)
        return self.wire(union([s for s, _ in made]), node, decoder)

    def _opened(self, branches: list[Node]) -> list[Node]:
        """Unions in this one as alternatives of its own, where a named tuple in them stands beside another object."""
        flat = list(self._flat(branches, set[str]()))
        solid = [self.graph.solid(b) for b in flat]
        twins = any(self._twin(list(n["properties"].values()), solid) for n in solid if n.get("properties"))
        return flat if twins and sum("object" in types_of(n) for n in solid) > 1 else branches

    def _flat(self, branches: list[Node], seen: set[str]) -> Iterator[Node]:
        for branch in branches:
            inner: list[Node] = self.graph.solid(branch).get("anyOf", [])
            name = branch.get("$ref", "")
            if not inner:
                yield branch
            elif name not in seen:  # a second time it would add nothing
                seen |= {name} - {""}
                yield from self._flat(inner, seen)

    def _without_twins(self, branches: list[Node], path: str) -> list[Node]:
        """A named tuple may be sent as an object or as a list: the object alone says all, and says the names.

        Beside another object it is the list: read back as an object, one could be taken for the other.
        """
        solid = [self.graph.solid(b) for b in branches]
        named = [n for n in solid if (members := list(n.get("properties", {}).values())) and self._twin(members, solid)]
        if not named:
            return branches
        if sum("object" in types_of(n) for n in solid) > len(named) or len(named) > 1:
            self.lose(path, "is sent as a list, not also as an object", fatal=False)
            return [b for b, n in zip(branches, solid, strict=True) if n not in named]
        self.lose(path, "is sent as an object, not also as a list", fatal=False)
        members = list(named[0]["properties"].values())
        return [b for b, n in zip(branches, solid, strict=True) if n.get("prefixItems") != members]

    @staticmethod
    def _twin(members: list[Node], branches: Iterable[Node]) -> bool:
        return any(b.get("prefixItems") == members for b in branches)

    def _is_list(self, branch: Node) -> bool:
        solid = self.graph.solid(branch)
        return "array" in types_of(solid) and not as_list(solid.get("prefixItems"))


def _is_map(node: Node) -> bool:
    return "object" in types_of(node) and not node.get("properties")
