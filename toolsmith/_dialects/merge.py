"""`allOf`, and `$ref` with keywords beside it: several schemas made into the one that says the same."""

from __future__ import annotations

import json
from math import lcm
from typing import Any, cast

from toolsmith._dialects import schemawords as words
from toolsmith._dialects.jsonschema import ANNOTATIONS, TOLD, Graph, Node, as_list, def_name

_MOST_BRANCHES = 64
_MOST_MERGED = 100
_DEEPEST = 32
_MERGING: Node = {"not": {}}
"""Stands for a definition while it is being merged."""
_TOO_MANY = "combines too many alternatives"
_LOWEST = frozenset({"minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties", "minContains"})
_HIGHEST = frozenset({"maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties", "maxContains"})
_FIRST = frozenset({"discriminator", "deprecated", "default"})


class UnmergeableError(Exception):
    """Two schemas that no single one can stand for; the text says why, as half a sentence."""


def flatten(node: Node, graph: Graph) -> Node:
    """The node without `allOf`, and with a `$ref` only where nothing but annotations stands beside it.

    What is merged with a recursive definition becomes a definition of its own, since it may contain itself.

    Raises:
        UnmergeableError: the parts contradict each other, or cannot be said in one schema.
    """
    while not _is_flat(node):
        kept = {k: v for k, v in node.items() if k in ANNOTATIONS}
        if (alone := _only_part(node)) is not None:
            node = alone
            continue
        if not any(name in graph.recursive for name in _merged_refs(node)):
            node = _flat(node, graph, 0)
            continue
        key = json.dumps({k: v for k, v in node.items() if k not in ANNOTATIONS}, sort_keys=True)
        if key not in graph.merged:
            name = f"merged_{len(graph.merged) + 1}"
            if len(graph.merged) >= _MOST_MERGED or name in graph.defs:
                raise UnmergeableError("merges recursive definitions in too many ways")
            graph.merged[key] = name
            graph.recursive.add(name)
            graph.defs[name] = _MERGING
            graph.defs[name] = _flat({k: v for k, v in node.items() if k not in ANNOTATIONS}, graph, 0)
        node = {"$ref": f"#/$defs/{graph.merged[key]}", **kept}
    return node


def branches_of(node: Node) -> list[Node]:
    """The alternatives of a union, each with whatever stands beside the union added to it.

    Raises:
        UnmergeableError: there are too many.
    """
    rest = {k: v for k, v in node.items() if k not in {"anyOf", "oneOf", "discriminator"} and k not in ANNOTATIONS}
    found: list[Node] = [rest]
    for key in ("anyOf", "oneOf"):
        if key in node:
            if len(found) * len(node[key]) > _MOST_BRANCHES:
                raise UnmergeableError(_TOO_MANY)
            found = [{"allOf": [a, b]} if a else b for a in found for b in node[key]]
    return found


def json_equal(a: Any, b: Any) -> bool:
    """Equality of JSON values: true is not 1, but 1.0 is 1."""
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, list) and isinstance(b, list):
        left, right = cast("list[Any]", a), cast("list[Any]", b)
        return len(left) == len(right) and all(json_equal(x, y) for x, y in zip(left, right, strict=True))
    if isinstance(a, dict) and isinstance(b, dict):
        one, two = cast("Node", a), cast("Node", b)
        return one.keys() == two.keys() and all(json_equal(v, two[k]) for k, v in one.items())
    return bool(a == b)


def _is_flat(node: Node) -> bool:
    return "allOf" not in node and ("$ref" not in node or node.keys() <= ANNOTATIONS | {"$ref"})


def _only_part(node: Node) -> Node | None:
    """The one schema that a node is made of, where all the others only describe it."""
    beside: Node = {k: v for k, v in node.items() if k != "allOf"}
    telling = [p for p in node.get("allOf", ()) if not p.keys() <= ANNOTATIONS]
    if len(telling) != 1 or not beside.keys() <= ANNOTATIONS:
        return None
    for part in node["allOf"]:
        if part is not telling[0]:
            beside = _merge(beside, part)
    return {**telling[0], **_annotations(telling[0], beside)}


def _merged_refs(node: Node) -> list[str]:
    """The definitions that a node is merged of."""
    own = [def_name(node["$ref"])] if "$ref" in node else []
    return own + [name for part in node.get("allOf", ()) for name in _merged_refs(part)]


def _flat(node: Node, graph: Graph, depth: int) -> Node:
    if depth > _DEEPEST:
        raise UnmergeableError("refers to itself without end")
    if _is_flat(node):
        return node
    merged: Node = {k: v for k, v in node.items() if k not in {"allOf", "$ref"}}
    parts: list[Node] = [*([{"$ref": node["$ref"]}] if "$ref" in node else []), *node.get("allOf", [])]
    if (alone := _only_part(node)) is not None:
        return _flat(alone, graph, depth + 1)
    for part in parts:
        merged = _merge(merged, _solid(part, graph, depth + 1))
    return _flat(merged, graph, depth + 1)


def _solid(node: Node, graph: Graph, depth: int) -> Node:
    """The node flattened, and with a bare reference replaced by what it refers to."""
    node = _flat(node, graph, depth)
    while "$ref" in node:
        depth += 1
        target = graph.target(node["$ref"])
        if target is _MERGING:
            raise UnmergeableError("is merged with itself")
        target = _flat(target, graph, depth)
        node = {**target, **_annotations(target, {k: v for k, v in node.items() if k != "$ref"})}
    return node


def _annotations(inner: Node, outer: Node) -> Node:
    """Outer annotations win, but no description is lost."""
    merged = dict(outer)
    if "description" in inner and "description" in outer:
        merged["description"] = join_descriptions(outer["description"], inner["description"])
    return merged


def join_descriptions(outer: str, inner: str) -> str:
    """Both descriptions, unless one already holds the other."""
    if inner.rstrip(". ").lower() in outer.lower():
        return outer
    if outer.rstrip(". ").lower() in inner.lower():
        return inner
    return f"{outer} {inner}" if outer.endswith((".", "!", "?", ":")) else f"{outer}. {inner}"


def _merge(a: Node, b: Node) -> Node:
    """Two flat schemas without references as one; what is inside of both is left to be merged when it is reached."""
    if not a or not b:
        return a or b
    out: Node = dict(a)
    _merge_objects(out, a, b)
    for key, value in b.items():
        if key in {"properties", "additionalProperties", "required", "patternProperties"}:
            continue
        out[key] = _keyword(key, a[key], value, out) if key in a else value
    if "const" in out and "enum" in out:
        if not any(json_equal(out["const"], v) for v in as_list(out["enum"])):
            raise UnmergeableError("asks for values that exclude each other")
        del out["enum"]
    return out


def _keyword(key: str, a: Any, b: Any, out: Node) -> Any:
    if key not in {"anyOf", "oneOf"} and json_equal(a, b):
        return a
    if key == "type":
        return _types(a, b)
    if key == "enum":
        both = [v for v in as_list(a) if any(json_equal(v, w) for w in as_list(b))]
        if not both:
            raise UnmergeableError("asks for values that exclude each other")
        return both
    if key == "description":
        return join_descriptions(str(a), str(b))
    if key in _LOWEST | _HIGHEST:
        return max(a, b) if key in _LOWEST else min(a, b)
    if key in {"items", "propertyNames", "unevaluatedProperties", "unevaluatedItems"}:
        return _both(a, b)
    if key in {"prefixItems", "anyOf", "oneOf"}:
        return _lists(key, as_list(a), as_list(b))
    if key == "multipleOf" and isinstance(a, int) and isinstance(b, int):
        return lcm(a, b)
    if key == "uniqueItems":
        return bool(a or b)
    if key in {"pattern", "format", "not", "contains"}:
        out[TOLD] = [*out.get(TOLD, []), *words.constraints({key: b})]
        return a
    if key in {TOLD, "examples"}:
        return [*as_list(a), *as_list(b)]
    if key in _FIRST:
        return a
    raise UnmergeableError(f"combines two schemas that differ in `{key}`")


def _lists(key: str, a: list[Node], b: list[Node]) -> list[Any]:
    """Two lists of schemas: alternatives combine each with each, tuple items one with one."""
    if key != "prefixItems" and len(a) * len(b) <= _MOST_BRANCHES:
        return [_both(x, y) for x in a for y in b]
    if key == "prefixItems" and len(a) == len(b):
        return [_both(x, y) for x, y in zip(a, b, strict=True)]
    raise UnmergeableError("combines tuples of two lengths" if key == "prefixItems" else _TOO_MANY)


def _types(a: Any, b: Any) -> Any:
    left: list[str] = [a] if isinstance(a, str) else as_list(a)
    right: list[str] = [b] if isinstance(b, str) else as_list(b)
    both = [t for t in left if t in right or (t == "integer" and "number" in right)]
    if "number" in left and "integer" in right and "integer" not in both:
        both.append("integer")
    if not both:
        raise UnmergeableError("asks for types that exclude each other")
    return both[0] if len(both) == 1 else both


def _both(a: Any, b: Any) -> Any:
    """Two schemas or booleans for the same place."""
    if a is False or b is False:
        return False
    if a is True or b is True or json_equal(a, b):
        return b if a is True else a
    return {"allOf": [a, b]}


def _merge_objects(out: Node, a: Node, b: Node) -> None:
    shaping = {"properties", "additionalProperties", "patternProperties"}
    if not b.keys() & (shaping | {"required"}):
        return
    if "patternProperties" in a or "patternProperties" in b:
        if a.keys() & shaping and b.keys() & shaping:
            raise UnmergeableError("combines `patternProperties` with other members")
        if "patternProperties" in b:
            out["patternProperties"] = b["patternProperties"]
    mine, theirs = a.get("properties", {}), b.get("properties", {})
    rest_a, rest_b = a.get("additionalProperties", True), b.get("additionalProperties", True)
    members: Node = {}
    for name in [*mine, *(n for n in theirs if n not in mine)]:
        made = _both(mine.get(name, rest_a), theirs.get(name, rest_b))
        if made is not False:
            members[name] = {} if made is True else made
    required = list(dict.fromkeys([*a.get("required", []), *b.get("required", [])]))
    if missing := [n for n in required if n not in members and (n in mine or n in theirs)]:
        raise UnmergeableError(f"requires `{missing[0]}` and forbids it")
    if members or "properties" in a or "properties" in b:
        out["properties"] = members
    if required:
        out["required"] = required
    if "additionalProperties" in a or "additionalProperties" in b:
        out["additionalProperties"] = _both(rest_a, rest_b)
