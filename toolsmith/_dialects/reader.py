"""JSON Schema as it comes, read into the normal form of `jsonschema`.

What differs between drafts and habits is settled here, once: `definitions`, references to anywhere in the document,
tuple `items`, boolean bounds, `nullable`, boolean schemas. What only names or numbers a schema (`title`, `$schema`,
`$id`) is dropped, and so is a keyword with a value of the wrong type, as a loss.
"""

from __future__ import annotations

import json
import math
import re
from collections import deque
from collections.abc import Mapping
from typing import Any, cast

from toolsmith._dialects import schemawords as words
from toolsmith._dialects.jsonschema import (
    LISTS,
    MAPS,
    SINGLE,
    TOLD,
    Graph,
    Loss,
    Node,
    all_nodes,
    analyse,
    as_list,
    def_name,
)
from toolsmith.errors import DefinitionError

MAX_NODES = 20_000
"""Schemas inside one schema. The largest that a service takes in strict mode has 5,000 properties."""
MAX_DEPTH = 64
"""Levels of schemas within schemas, references not followed. A service takes 10 levels of objects at most."""

_NAMES_ONLY = frozenset(
    {"id", "title", "readOnly", "writeOnly", "discriminator", "definitions", "xml", "externalDocs", "example"}
)
_TYPES = frozenset({"object", "array", "string", "number", "integer", "boolean", "null"})
_KEEP_BOOLEAN = frozenset({"additionalProperties", "items", "unevaluatedItems", "unevaluatedProperties"})
_COUNTS = frozenset(
    {"minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains"}
)
_NUMBERS = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"})
_SCALARS = (str, int, bool, type(None))
_STRINGS = frozenset({"pattern", "format", "description", "contentEncoding", "contentMediaType"})


def read(schema: Mapping[str, Any]) -> Graph:
    """Read a JSON Schema of any draft since 4 into normal form. The schema itself is left untouched.

    Raises:
        DefinitionError: more than `MAX_NODES` schemas or `MAX_DEPTH` levels; a reference loop without a schema in it.
    """
    graph = _Reader(schema).read()
    _require_tags(graph)
    analyse(graph)
    return graph


class _Reader:
    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._source = schema
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
                f"The JSON Schema is too large: {limit} (at {path[:200] or 'the root'}). Split the tool into smaller "
                "ones, or take that part as a string of JSON."
            )
        if isinstance(schema, bool):
            return {} if schema else {"not": {}}
        given = _mapping(schema)
        if given is None:
            self._losses.append(Loss(path, f"is no schema but {type(schema).__name__}", fatal=True))
            return {}
        node: Node = {}
        for key, value in given.items():
            self._keyword(node, key, value, path, depth + 1)
        title = given.get("title")
        if member and isinstance(title, str) and "description" not in node and _plain(title) != _plain(member):
            node["description"] = title
        return _settle(node)

    def _keyword(self, node: Node, key: str, value: Any, path: str, depth: int) -> None:
        if key in _NAMES_ONLY or (key.startswith(("$", "x-")) and key != "$ref"):
            return
        if key == "$ref":
            self._reference(node, value, path)
        elif key in SINGLE or key == "additionalItems":
            if isinstance(value, list) and key == "items":  # before 2020-12
                self._keyword(node, "prefixItems", value, path, depth)
            elif isinstance(value, bool) and (key in _KEEP_BOOLEAN or key == "additionalItems"):
                node[key] = value
            else:
                node[key] = self._node(value, _below(path, key), depth)
        elif key == "dependencies":
            for name, needs in (_mapping(value) or {}).items():  # draft 4 to 7: two keywords in one
                kind = "dependentRequired" if isinstance(needs, list) else "dependentSchemas"
                self._keyword(node, kind, {**node.get(kind, {}), name: needs}, path, depth)
        elif key in LISTS:
            listed = [self._node(v, _below(path, key, str(i)), depth) for i, v in enumerate(as_list(value))]
            if listed:
                node[key] = listed
            elif key in {"anyOf", "oneOf"} or not isinstance(value, list):
                self._losses.append(Loss(path, f"has `{key}` without alternatives", fatal=True))
        elif key in MAPS:
            named = _mapping(value)
            if named is not None and not (key == "patternProperties" and not all(map(_compiles, named))):
                node[key] = {k: self._node(v, _below(path, key, k), depth, k) for k, v in named.items()}
            else:
                self._losses.append(Loss(path, f"has `{key}` that cannot be read", fatal=True))
        else:
            try:
                node[key] = _payload(key, value)
            except re.error:
                node[TOLD] = [*node.get(TOLD, []), *words.constraints({key: value})]
                self._losses.append(Loss(path, f"`{key}` is told in words: Python does not read it", fatal=False))
            except (TypeError, ValueError, OverflowError, RecursionError):
                self._losses.append(Loss(path, f"has `{key}` of a wrong kind, which is left out", fatal=False))

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
        own = self._source.get("$id")
        if isinstance(own, str) and own and ref.startswith(own):
            ref = ref[len(own) :] or "#"
        if ref == "#":
            return True, {"$ref": "#"}
        if not ref.startswith("#/"):
            return self._find_anchor(ref[1:]) if ref.startswith("#") else (False, None)
        place: Any = self._source
        for part in ref[2:].split("/"):
            part = re.sub("%([0-9A-Fa-f]{2})", lambda m: chr(int(m[1], 16)), part).replace("~1", "/").replace("~0", "~")
            named = _mapping(place)
            if named is not None and part in named:
                place = named[part]
            elif part.isdecimal() and int(part) < len(as_list(place)):
                place = as_list(place)[int(part)]
            else:
                return False, None
        return True, place

    def _find_anchor(self, anchor: str) -> tuple[bool, Any]:
        stack: list[Any] = [self._source]
        for _ in range(MAX_NODES):
            if not stack:
                break
            here = stack.pop()
            named = _mapping(here)
            if named is not None and named.get("$anchor") == anchor:
                return True, here
            stack.extend(named.values() if named is not None else as_list(here))
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


def _mapping(value: Any) -> Mapping[str, Any] | None:
    """The value as a JSON object, None where it is something else."""
    if isinstance(value, Mapping) and all(isinstance(k, str) for k in cast("Mapping[Any, Any]", value)):
        return cast("Mapping[str, Any]", value)
    return None


def _payload(key: str, value: Any) -> Any:
    """A copy of the value of a keyword that holds no schema.

    Raises:
        TypeError, ValueError: the keyword cannot have this value, or it is no JSON.
        re.error: a pattern that Python's `re` does not know.
    """
    if key in {"exclusiveMinimum", "exclusiveMaximum"} and isinstance(value, bool):
        return value  # draft 4, settled later
    if key in _COUNTS or key in _NUMBERS:
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise TypeError(key)
        if (key in _COUNTS and value < 0) or (key == "multipleOf" and value <= 0):
            raise ValueError(key)
        return int(value) if key in _COUNTS else value
    if key in _STRINGS and not isinstance(value, str):
        raise TypeError(key)
    if key == "pattern":
        re.compile(value)
    copied: Any = value if type(value) in _SCALARS else json.loads(json.dumps(value, allow_nan=False))
    if key in {"enum", "examples"} and not _listed(copied):
        raise TypeError(key)
    if key in {"uniqueItems", "deprecated"} and not isinstance(copied, bool):
        raise TypeError(key)
    if key == "type":
        kinds = [_text(t) for t in ([copied] if isinstance(copied, str) else _listed(copied))]
        if not kinds or not _TYPES.issuperset(kinds):
            raise ValueError(key)
        return kinds[0] if len(kinds) == 1 else list(dict.fromkeys(kinds))
    if key == "required":
        return list(dict.fromkeys(_text(t) for t in _listed(copied)))
    if key == "dependentRequired":
        needs = cast("dict[str, Any]", copied) if isinstance(copied, dict) else {}
        return {k: list(dict.fromkeys(_text(n) for n in _listed(v))) for k, v in needs.items()}
    return copied


def _listed(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError
    return as_list(cast("Any", value))


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _compiles(pattern: str) -> bool:
    try:
        re.compile(pattern)
    except re.error:
        return False
    return True


def _plain(text: str) -> str:
    return re.sub(r"[\W_]", "", text).lower()


def _settle(node: Node) -> Node:
    """Older spellings of the same thing."""
    if "prefixItems" in node and "additionalItems" in node:
        node["items"] = node["additionalItems"]
    node.pop("additionalItems", None)
    for bound, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if isinstance(node.get(exclusive), bool) and node.pop(exclusive) and bound in node:  # draft 4
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


def _require_tags(graph: Graph) -> None:
    """Require the tag in each branch of a tagged union.

    A tag with a default ("kind: Literal['cat'] = 'cat'") is optional in the branch's own schema, yet the union cannot
    be read without it: OpenAPI 3.1 says so ("discriminator"), and pydantic refuses the value.
    """
    for node in list(all_nodes(graph)):
        branches = as_list(node.get("oneOf"))
        tag = _tag(graph, branches)
        for i, branch in enumerate(branches):
            target = graph.solid(branch)
            required: list[str] = target.get("required", [])
            if not tag or tag in required:
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
        if tag:
            node["discriminator"] = tag


def _tag(graph: Graph, branches: list[Any]) -> str:
    """The first member that each branch has, as a constant or as one of some, and none as another does; "" for none."""
    members: list[Node] = [graph.solid(b).get("properties", {}) for b in branches]
    for name in members[0] if len(members) > 1 else ():
        if not all(name in m for m in members):
            continue
        tags = [graph.solid(m[name]) for m in members]
        values = [[t["const"]] if "const" in t else as_list(t.get("enum")) for t in tags]
        flat = [json.dumps(v) for held in values for v in held]
        if all(values) and len(set(flat)) == len(flat):
            return name
    return ""
