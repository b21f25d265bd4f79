"""JSON Schema as it comes, read into one normal form: a root and a table of named definitions.

What differs between drafts and habits is settled here, once: `definitions`, references to anywhere in the document, tuple
`items`, boolean bounds, `nullable`, boolean schemas. What only names or numbers a schema (`title`, `$schema`, `$id`) is
dropped. In the normal form each `$ref` is "#" or "#/$defs/NAME" with NAME in the table.
"""

from __future__ import annotations

import json
import re
from collections import Counter, deque
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, cast

from toolsmith.errors import DefinitionError

Node = dict[str, Any]

MAX_NODES = 20_000
"""Schemas inside one schema. The largest that a service takes in strict mode has 5,000 properties."""
MAX_DEPTH = 64
"""Levels of schemas within schemas, references not followed. The deepest that a service takes is 10 levels of objects."""
_MAX_INLINED = 24  # levels of a definition that is written in place of a reference

SINGLE = frozenset(
    {"additionalProperties", "contains", "else", "if", "items", "not", "propertyNames", "then"}
    | {"unevaluatedItems", "unevaluatedProperties"}
)
LISTS = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
MAPS = frozenset({"dependentSchemas", "patternProperties", "properties"})
TOLD = "told"
"""Key of a node: words about it for which a schema has no keyword."""
ANNOTATIONS = frozenset({"description", "default", "examples", "deprecated", TOLD})

_NAMES_ONLY = frozenset(
    {"$schema", "$id", "id", "$comment", "$anchor", "$vocabulary", "title", "readOnly", "writeOnly"}
    | {"$defs", "definitions", "xml", "externalDocs", "example"}
)
_KEEP_BOOLEAN = frozenset({"additionalProperties", "items", "unevaluatedItems", "unevaluatedProperties"})


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
    """A schema in normal form."""

    root: Node
    defs: dict[str, Node]
    losses: list[Loss]
    recursive: set[str] = field(default_factory=set[str])
    inline: set[str] = field(default_factory=set[str])

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


def read(schema: Mapping[str, Any]) -> Graph:
    """Read a JSON Schema of any draft since 4 into normal form. The schema itself is left untouched.

    Raises:
        DefinitionError: more than `MAX_NODES` schemas or `MAX_DEPTH` levels; a reference loop without a schema in it.
    """
    graph = _Reader(schema).read()
    _tag_discriminated(graph)
    _analyse(graph)
    return graph


class _Reader:
    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._source: Any = schema
        self._names: dict[str, str] = {"#": "#"}  # reference as written -> reference of the normal form
        self._defs: dict[str, Node] = {}
        self._waiting: deque[tuple[str, Any]] = deque()
        self._losses: list[Loss] = []
        self._count = 0

    def read(self) -> Graph:
        root = self._node(self._source, "", 0)
        while self._waiting:
            name, target = self._waiting.popleft()
            self._defs[name] = self._node(target, name, 0)
        return Graph(root, self._defs, self._losses)

    def _node(self, schema: Any, path: str, depth: int, member: str = "") -> Node:
        self._count += 1
        if self._count > MAX_NODES or depth > MAX_DEPTH:
            limit = f"more than {MAX_NODES} schemas" if depth <= MAX_DEPTH else f"nested deeper than {MAX_DEPTH} levels"
            raise DefinitionError(
                f"The JSON Schema is too large: {limit} (at {path or 'the root'}). Split the tool into smaller ones, or "
                "take the part as a string of JSON."
            )
        if isinstance(schema, bool):
            return {} if schema else {"not": {}}
        if not isinstance(schema, Mapping):
            self._losses.append(Loss(path, f"is no schema but {type(schema).__name__}", fatal=True))
            return {}
        node: Node = {}
        for key, value in cast("Mapping[str, Any]", schema).items():
            self._keyword(node, key, value, path, depth + 1)
        title: Any = cast("Mapping[str, Any]", schema).get("title")
        if member and isinstance(title, str) and "description" not in node and _plain(title) != _plain(member):
            node["description"] = title
        return _settle(node)

    def _keyword(self, node: Node, key: str, value: Any, path: str, depth: int) -> None:
        if key in _NAMES_ONLY:
            return
        if key == "$ref":
            self._reference(node, value, path)
        elif key == "discriminator":  # OpenAPI's; kept as the name of the member that tells branches apart
            tag = value.get("propertyName") if isinstance(value, Mapping) else None  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
            if isinstance(tag, str):
                node[key] = tag
        elif key in SINGLE or key == "additionalItems":
            if isinstance(value, list) and key == "items":
                node["prefixItems"] = [self._node(v, f"{path}[{i}]", depth) for i, v in enumerate(as_list(value))]
            elif isinstance(value, bool) and (key in _KEEP_BOOLEAN or key == "additionalItems"):
                node[key] = value
            else:
                node[key] = self._node(value, _below(path, key), depth)
        elif key in LISTS:
            if isinstance(value, list):
                node[key] = [self._node(v, _below(path, key, str(i)), depth) for i, v in enumerate(as_list(value))]
            else:
                self._losses.append(Loss(path, f"has `{key}` that is no list", fatal=True))
        elif key in MAPS:
            if isinstance(value, Mapping):
                items = cast("Mapping[str, Any]", value).items()
                node[key] = {str(k): self._node(v, _below(path, key, str(k)), depth, str(k)) for k, v in items}
            else:
                self._losses.append(Loss(path, f"has `{key}` that is no object", fatal=True))
        else:
            node[key] = deepcopy(value) if isinstance(value, dict | list) else value

    def _reference(self, node: Node, ref: Any, path: str) -> None:
        text = str(ref)
        if text not in self._names:
            found, target = self._find(text)
            if not found:
                self._losses.append(Loss(path, f"refers to {text}, which is not in the schema", fatal=True))
                return
            name = self._new_name(text)
            self._names[text] = f"#/$defs/{name}"
            self._waiting.append((name, target))
        node["$ref"] = self._names[text]

    def _find(self, ref: str) -> tuple[bool, Any]:
        own = self._source.get("$id") if isinstance(self._source, Mapping) else None  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
        if isinstance(own, str) and own and ref.startswith(own):
            ref = ref[len(own) :] or "#"
        if ref == "#":
            return True, {"$ref": "#"}
        if not ref.startswith("#/"):
            return self._find_anchor(self._source, ref[1:]) if ref.startswith("#") else (False, None)
        place: Any = self._source
        for part in ref[2:].split("/"):
            part = re.sub("%([0-9A-Fa-f]{2})", lambda m: chr(int(m[1], 16)), part).replace("~1", "/").replace("~0", "~")
            if isinstance(place, Mapping) and part in place:
                place = cast("Mapping[str, Any]", place)[part]
            elif isinstance(place, list) and part.isdigit() and int(part) < len(as_list(place)):
                place = as_list(place)[int(part)]
            else:
                return False, None
        return True, place

    def _find_anchor(self, place: Any, anchor: str) -> tuple[bool, Any]:
        stack = [place]
        for _ in range(MAX_NODES):
            if not stack:
                break
            here: Any = stack.pop()
            if isinstance(here, Mapping):
                if cast("Mapping[str, Any]", here).get("$anchor") == anchor:
                    return True, here  # pyright: ignore[reportUnknownVariableType]
                stack.extend(cast("Mapping[str, Any]", here).values())
            elif isinstance(here, list):
                stack.extend(as_list(here))
        return False, None

    def _new_name(self, ref: str) -> str:
        stem = re.sub(r"[^A-Za-z0-9_.-]", "_", ref.rpartition("/")[2].lstrip("#")) or "schema"
        taken = set(self._names.values())
        name, n = stem, 2
        while f"#/$defs/{name}" in taken:
            name, n = f"{stem}_{n}", n + 1
        return name


def _below(path: str, key: str, name: str = "") -> str:
    """The path of a schema inside another: members by name, items by [], alternatives at their parent's path."""
    match key:
        case "properties" | "dependentSchemas":
            return f"{path}.{name}" if path else name
        case "items" | "contains" | "additionalItems" | "unevaluatedItems":
            return f"{path}[]"
        case "prefixItems":
            return f"{path}[{name}]"
        case "additionalProperties" | "patternProperties" | "unevaluatedProperties":
            return f"{path}.*" if path else "*"
        case _:
            return path


def _plain(text: str) -> str:
    return re.sub(r"[\W_]", "", text).lower()


def _settle(node: Node) -> Node:
    """Older spellings of the same thing."""
    if "prefixItems" in node and "additionalItems" in node:
        node["items"] = node["additionalItems"]
    node.pop("additionalItems", None)
    for bound, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if isinstance(node.get(exclusive), bool):  # draft 4
            if node.pop(exclusive) and bound in node:
                node[exclusive] = node.pop(bound)
    if node.pop("nullable", False) is True and "$ref" not in node:  # OpenAPI 3.0
        kind = node.get("type")
        if isinstance(kind, str):
            node["type"] = [kind, "null"]
            if isinstance(node.get("enum"), list) and None not in node["enum"]:
                node["enum"].append(None)
    kinds = node.get("type")
    if isinstance(kinds, list) and len(as_list(kinds)) == 1:
        node["type"] = kinds[0]
    if isinstance(node.get("description"), str):
        node["description"] = node["description"].strip()
        if not node["description"]:
            del node["description"]
    return node


def _tag_discriminated(graph: Graph) -> None:
    """Require the tag in each branch of a tagged union.

    A tag with a default ("kind: Literal['cat'] = 'cat'") is optional in the branch's own schema, yet the union cannot
    be read without it: OpenAPI 3.1 says so ("discriminator"), and pydantic refuses the value.
    """
    for node in list(_all_nodes(graph)):
        tag = node.get("discriminator")
        if not isinstance(tag, str):
            continue
        branches = as_list(node.get("oneOf")) or as_list(node.get("anyOf"))
        for i, branch in enumerate(branches):
            target = graph.solid(branch)
            required: list[str] = target.get("required", [])
            if tag in required or tag not in target.get("properties", {}):
                continue
            tagged = {**target, "required": [*required, tag]}
            if "$ref" not in branch:
                branches[i] = tagged
                continue
            name = f"{def_name(branch['$ref'])}_by_{re.sub(r'[^A-Za-z0-9_.-]', '_', tag)}"
            while graph.defs.get(name, tagged) != tagged:
                name += "_"
            graph.defs[name] = tagged
            branches[i] = {**branch, "$ref": f"#/$defs/{name}"}


def _all_nodes(graph: Graph) -> Iterator[Node]:
    stack = [graph.root, *graph.defs.values()]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(children(node))


def _refs(node: Node) -> Counter[str]:
    found: Counter[str] = Counter()
    stack = [node]
    while stack:
        here = stack.pop()
        if "$ref" in here:
            found[def_name(here["$ref"])] += 1
        stack.extend(children(here))
    return found


def _analyse(graph: Graph) -> None:
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
    order, cyclic = _peel({name: set(found) for name, found in edges.items() if name in reached})
    height = {"#": 0}
    size = {name: len(json.dumps(node, default=str)) for name, node in graph.defs.items()}
    for name in order:
        if name != "#":
            size[name] += sum(count * size[n] for n, count in edges[name].items() if n in graph.inline)
            height[name] = _height(graph.defs[name], {n: h for n, h in height.items() if n in graph.inline})
            by_name = size[name] + len(name) + 4 + uses[name] * (len(name) + 22)
            if uses[name] * size[name] <= by_name and height[name] <= _MAX_INLINED:
                graph.inline.add(name)
    # of those that reach a cycle, the ones that a cycle also reaches
    backwards: dict[str, set[str]] = {name: set() for name in cyclic}
    for name, found in cyclic.items():
        for n in found:
            backwards[n].add(name)
    graph.recursive = set(_peel(backwards)[1])


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
