"""JSON Schema in one normal form: a root and a table of named definitions, and what a look at the whole tells.

In the normal form each `$ref` is "#" or "#/$defs/NAME" with NAME in the table; there are no boolean schemas but for
`additionalProperties`, `items` and their unevaluated kin; no keyword has a value of the wrong type. `reader` makes it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Any, cast

from toolsmith._dataclass import dataclass

Node = dict[str, Any]

SINGLE = frozenset(
    {"additionalProperties", "contains", "contentSchema", "else", "if", "items", "not", "propertyNames", "then"}
    | {"unevaluatedItems", "unevaluatedProperties"}
)
LISTS = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
MAPS = frozenset({"dependentSchemas", "patternProperties", "properties"})
TOLD = "told"
"""Key of a node: words about it for which a schema has no keyword."""
ANNOTATIONS = frozenset({"description", "default", "examples", "deprecated", TOLD})

_SAME_VALUE = frozenset({"allOf", "anyOf", "oneOf"})  # schemas for the value itself, not for a part of it
_MAX_INLINED = 24  # levels of a definition that is written in place of a reference
# What naming a definition and each reference to it cost besides its name, in characters of the schema it would replace:
# "$defs":{"NAME":} and {"anyOf":[{"$ref":"#/$defs/NAME"}]}, whose characters make more tokens than those of words do.
_NAMED, _REFERENCE = 24, 38


@dataclass(frozen=True, slots=True)
class Loss:
    """Something that a service's mode cannot say.

    Attributes:
        path: where, in the neutral schema: "where.values[]", "" for the root.
        what: what is lost, as half a sentence ("`maximum` is told in words").
        fatal: True where meaning would be lost, so that there is no such form; False where our own validator still
            enforces what the form leaves out.
    """

    path: str
    what: str
    fatal: bool

    def __str__(self) -> str:
        return f"`{self.path}` {self.what}" if self.path else self.what


@dataclass(slots=True)
class Graph:
    """A schema in normal form.

    Attributes:
        root: the schema itself.
        defs: its definitions, by name.
        losses: what could not be read.
        recursive: definitions that contain themselves.
        inline: definitions that are shorter written in place than referred to.
        merged: schemas, as JSON text, that were merged into a definition of their own, by `merge`.
    """

    root: Node
    defs: dict[str, Node]
    losses: list[Loss]
    recursive: set[str] = field(default_factory=set[str])
    inline: set[str] = field(default_factory=set[str])
    merged: dict[str, str] = field(default_factory=dict[str, str])

    def target(self, ref: str) -> Node:
        """What a reference of the normal form points to."""
        return self.root if ref == "#" else self.defs[def_name(ref)]

    def solid(self, node: Node) -> Node:
        """The node behind a chain of bare references; a chain that bites its own tail is {"not": {}}."""
        seen: set[str] = set()
        while "$ref" in node:
            if node["$ref"] in seen:
                return {"not": {}}
            seen.add(node["$ref"])
            node = self.target(node["$ref"])
        return node


def def_name(ref: str) -> str:
    """The name in the table for a reference of the normal form; "#" is its own name."""
    return ref if ref == "#" else ref[len("#/$defs/") :]


def as_node(value: Any) -> Node | None:
    """The value as a schema object, None where it is something else."""
    return cast("Node", value) if isinstance(value, dict) else None


def as_list(value: Any) -> list[Any]:
    """The value as a list, [] where it is something else."""
    return cast("list[Any]", value) if isinstance(value, list) else []


def children(node: Node) -> Iterator[Node]:
    """The schemas directly inside a node of the normal form."""
    for key, value in node.items():
        if key in SINGLE:
            if isinstance(value, dict):
                yield cast("Node", value)
        elif key in LISTS:
            yield from cast("list[Node]", value)
        elif key in MAPS:
            yield from cast("dict[str, Node]", value).values()


def all_nodes(graph: Graph) -> Iterator[Node]:
    stack = [graph.root, *graph.defs.values()]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(children(node))


def analyse(graph: Graph) -> None:
    """Drop what is not reached; find which definitions are recursive, and which are shorter when written in place."""
    edges = {name: _refs(node) for name, node in graph.defs.items()}
    edges["#"] = _refs(graph.root)
    reached, stack = {"#"}, ["#"]
    while stack:
        fresh = [n for n in edges[stack.pop()] if n not in reached]
        reached.update(fresh)
        stack.extend(fresh)
    graph.defs = {name: node for name, node in graph.defs.items() if name in reached}
    uses: Counter[str] = Counter()
    for name in reached:
        uses.update(edges[name])
    _break_loops(graph)
    order, cyclic = _peel({name: set(found) for name, found in edges.items() if name in reached})
    height = {"#": 0}
    size = {name: len(json.dumps(node, default=str, separators=(",", ":"))) for name, node in graph.defs.items()}
    for name in order:
        if name != "#":
            size[name] += sum(count * size[n] for n, count in edges[name].items() if n in graph.inline)
            height[name] = _height(graph.defs[name], {n: h for n, h in height.items() if n in graph.inline})
            by_name = size[name] + len(name) + _NAMED + uses[name] * (len(name) + _REFERENCE)
            if uses[name] * size[name] <= by_name and height[name] <= _MAX_INLINED:
                graph.inline.add(name)
    # of those that reach a cycle, the ones that a cycle also reaches
    backwards: dict[str, set[str]] = {name: set() for name in cyclic}
    for name, found in cyclic.items():
        for n in found:
            backwards[n].add(name)
    graph.recursive = set(_peel(backwards)[1])


def _break_loops(graph: Graph) -> None:
    """Definitions that are nothing but themselves ("A is B or A") describe nothing and would be followed forever."""
    edges = {name: set(_refs(node, within=_SAME_VALUE)) for name, node in [*graph.defs.items(), ("#", graph.root)]}
    for name in _peel(edges)[1]:
        graph.losses.append(Loss("" if name == "#" else name, "refers to itself without end", fatal=True))
        if name == "#":
            graph.root = {"type": "object"}
        else:
            graph.defs[name] = {"not": {}}


def _refs(node: Node, within: frozenset[str] | None = None) -> Counter[str]:
    """How often a node refers to each definition; `within` limits the look to some keywords."""
    found: Counter[str] = Counter()
    stack = [node]
    while stack:
        here = stack.pop()
        if "$ref" in here:
            found[def_name(here["$ref"])] += 1
        stack.extend(children(here if within is None else {k: v for k, v in here.items() if k in within}))
    return found


def _height(node: Node, inlined: Mapping[str, int]) -> int:
    below = max((_height(child, inlined) for child in children(node)), default=0)
    return 1 + max(below, inlined.get(def_name(node["$ref"]), 0) if "$ref" in node else 0)


def _peel(edges: dict[str, set[str]]) -> tuple[list[str], dict[str, set[str]]]:
    """Take leaves off a graph until none is left: their order, and what remains (it leads to a cycle)."""
    left = {name: set(found) for name, found in edges.items()}
    users: dict[str, list[str]] = {name: [] for name in left}
    for name, found in left.items():
        for n in found:
            users[n].append(name)
    order = [name for name, found in left.items() if not found]
    for name in order:  # grows while it is read
        for user in users[name]:
            left[user].discard(name)
            if not left[user]:
                order.append(user)
    done = set(order)
    return order, {name: found for name, found in left.items() if name not in done}
