"""The loose form of a schema: the neutral one, cleaned so that each service takes it, and short.

Nothing enforces it on the service's side, so it may say everything; our validator enforces it.
"""

from __future__ import annotations

from toolsmith._dataclass import dataclass
from toolsmith._dialects import schemawords as words
from toolsmith._dialects.decoders import Decoder, Member, ObjectDecoder
from toolsmith._dialects.jsonschema import (
    ANNOTATIONS,
    LISTS,
    MAPS,
    SINGLE,
    TOLD,
    Graph,
    Loss,
    Node,
    as_list,
    as_node,
    def_name,
)
from toolsmith._dialects.merge import UnmergeableError, branches_of, flatten, join_descriptions
from toolsmith._dialects.rules import LooseRules
from toolsmith._dialects.wire import SCALARS, nullable, types_of, wire_names


@dataclass(frozen=True, slots=True)
class Loosened:
    """The loose form of a whole schema; `decoder` puts back names that the service does not take."""

    schema: Node
    decoder: Decoder | None
    losses: tuple[Loss, ...]


def compile_loose(graph: Graph, rules: LooseRules) -> Loosened:
    """The loose form; a fatal loss means that no service takes this schema at all."""
    return _Compiler(graph, rules).compile()


class _Compiler:
    def __init__(self, graph: Graph, rules: LooseRules) -> None:
        self._graph = graph
        self._rules = rules
        self._losses: list[Loss] = list(graph.losses)
        self._defs: dict[str, Node] = {}
        self._wanted: list[str] = []

    def compile(self) -> Loosened:
        root = self._value(self._root())
        if "properties" not in root:
            root["properties"] = {}
        decoder = self._rename(root)
        for name in self._wanted:  # grows while it is read
            self._defs[name] = self._value(self._graph.defs[name])
        if self._defs:
            root["$defs"] = self._defs
        return Loosened(root, decoder, tuple(dict.fromkeys(self._losses)))

    def _root(self) -> Node:
        """The root as a plain object: Claude takes no union, no `allOf` and no reference there."""
        graph = self._graph
        try:
            node = flatten(graph.root, graph)
            while "$ref" in node:
                node = flatten(graph.solid(node), graph)
            if "anyOf" in node or "oneOf" in node:
                node = self._spread(node)
        except UnmergeableError as error:
            self._losses.append(Loss("", str(error), fatal=True))
            return {"type": "object"}
        kinds = types_of(node) or ["object"]
        if "object" not in kinds and kinds != [""]:
            self._losses.append(Loss("", "is no object at its root: wrap it in one", fatal=True))
        return {**node, "type": "object"}

    def _spread(self, node: Node) -> Node:
        """A union of objects as one object: any member of any alternative, with words about what goes together."""
        graph = self._graph
        branches = [flatten(graph.solid(b), graph) for b in branches_of(node)]
        objects = [b for b in branches if types_of(b) in (["object"], [""], [])]
        if not objects:
            raise UnmergeableError("is no object at its root: wrap it in one")
        members: dict[str, list[Node]] = {}
        for branch in objects:
            for name, schema in branch.get("properties", {}).items():
                if schema not in members.setdefault(name, []):
                    members[name].append(schema)
        shared = [
            n for n in as_list(objects[0].get("required")) if all(n in as_list(b.get("required")) for b in objects)
        ]
        out: Node = {k: v for k, v in node.items() if k in ANNOTATIONS} | {"type": "object"}
        out["properties"] = {name: s[0] if len(s) == 1 else {"anyOf": s} for name, s in members.items()}
        out |= {"required": shared} if shared else {}
        if all(b.get("additionalProperties") is False for b in objects):
            out["additionalProperties"] = False
        groups = [[n if n in as_list(b.get("required")) else f"{n}?" for n in b.get("properties", {})] for b in objects]
        out[TOLD] = [*node.get(TOLD, []), words.alternatives(groups)]
        self._losses.append(Loss("", "is a union at its root, sent as one object", fatal=False))
        return out

    def _rename(self, root: Node) -> Decoder | None:
        """Claude refuses a request for the name of one top-level member, strict or not."""
        members: Node = root["properties"]
        names = wire_names(members, self._rules.keys)
        odd = {name: sent for name, sent in names.items() if name != sent}
        if not odd:
            return None
        for name in odd:
            said = words.described(members[name].get("description", ""), [words.named(name)])
            members[name] = {**members[name], "description": said}
        root["properties"] = {names[name]: schema for name, schema in members.items()}
        if "required" in root:
            root["required"] = [names.get(name, name) for name in root["required"]]
        return ObjectDecoder(tuple(Member(sent, name) for name, sent in odd.items()))

    # ------------------------------------------------------------------------------------------------ any schema

    def _value(self, node: Node) -> Node:
        if "$ref" in node:
            node = self._in_place(node)
        out: Node = {}
        for key, value in node.items():
            if key in SINGLE:
                inner = as_node(value)
                out[key] = value if inner is None else self._value(inner)
            elif key in LISTS:
                out[key] = [self._value(v) for v in value]
            elif key in MAPS:
                out[key] = {name: self._value(v) for name, v in value.items()}
            elif key not in {"discriminator", TOLD} and not (key == "default" and value is None):
                out[key] = value
        if node.get(TOLD):
            out["description"] = words.described(out.get("description", ""), node[TOLD])
        if "array" in types_of(out) and "items" not in out:
            # OpenAI refuses a list without it ("array schema missing items"), also where prefixItems says it all
            out["items"] = {}
        if self._rules.short:
            self._shorten(out)
        return {k: out[k] for k in ("description", "type", "default") if k in out} | out

    def _in_place(self, node: Node) -> Node:
        """A reference to what is shorter in place, replaced; others are kept."""
        name = def_name(node["$ref"])
        while "$ref" in node and name in self._graph.inline:
            target, beside = self._graph.defs[name], {k: v for k, v in node.items() if k != "$ref"}
            if not beside.keys() <= ANNOTATIONS:
                break
            if "description" in target and "description" in beside:
                beside["description"] = join_descriptions(beside["description"], target["description"])
            node = {**target, **beside}
            name = def_name(node.get("$ref", "#"))
        if "$ref" in node and name != "#" and name not in self._wanted:
            self._wanted.append(name)
        return node

    def _shorten(self, node: Node) -> None:
        """Leave out what only a machine needs; anyOf [X, null] becomes X with a list of types."""
        if node.get("additionalProperties") is False and "properties" in node:
            del node["additionalProperties"]
        kind = node.get("type")
        if isinstance(kind, str) and kind in SCALARS and node.get("enum", []) and None not in node["enum"]:
            del node["type"]
        branches = as_list(node.get("anyOf"))
        rest: list[Node] = [b for b in branches if b != {"type": "null"}]
        if len(branches) != 2 or len(rest) != 1 or node.keys() - ANNOTATIONS != {"anyOf"}:
            return
        kind = rest[0].get("type")
        if isinstance(kind, str) and kind not in SCALARS and "anyOf" not in rest[0]:
            inner: Node = {**rest[0], "type": [kind, "null"]}
        else:
            inner = nullable(rest[0])
        if "anyOf" in inner:
            return
        beside = {k: v for k, v in node.items() if k != "anyOf"}
        if "description" in inner and "description" in beside:
            beside["description"] = join_descriptions(beside["description"], inner["description"])
        node.clear()
        node.update({**inner, **beside})
