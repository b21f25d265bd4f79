"""Small pieces of wire schemas, and questions about schemas that the strict and the loose form both ask."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator, Mapping
from dataclasses import field
from typing import Any, cast

from toolsmith._dataclass import dataclass
from toolsmith._dialects import schemawords as words
from toolsmith._dialects.decoders import Decoder, kind_of
from toolsmith._dialects.jsonschema import Graph, Node, as_list, children
from toolsmith._dialects.merge import json_equal
from toolsmith._dialects.rules import SizeLimits

SCALARS = frozenset({"string", "number", "integer", "boolean"})


@dataclass(slots=True)
class Wire:
    """A schema as it stands on the wire, how to undo it, and what its description is to say."""

    schema: Node
    decoder: Decoder | None = None
    text: str = ""
    said: list[str] = field(default_factory=list[str])

    def sealed(self) -> Node:
        """The schema with its description; a reference is wrapped, since OpenAI takes nothing beside it."""
        description = words.described(self.text, self.said)
        if not description:
            return self.schema
        # first the words: the order costs nothing, and a token less each
        return {"description": description, **({"anyOf": [self.schema]} if "$ref" in self.schema else self.schema)}


_HINTS = {
    "object": ("properties", "additionalProperties", "required", "patternProperties", "propertyNames", "minProperties"),
    "array": ("items", "prefixItems", "minItems", "maxItems", "uniqueItems"),
    "string": ("minLength", "maxLength", "pattern", "format"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
}


def types_of(node: Node) -> list[str]:
    """The JSON types that a node (no union, no reference) names or, naming none, is plainly about; [] for anything."""
    kinds = node.get("type")
    if isinstance(kinds, str):
        return [kinds]
    if isinstance(kinds, list):
        named = [str(k) for k in as_list(cast("Any", kinds))]
        return [k for k in named if not (k == "integer" and "number" in named)]
    if "const" in node or "enum" in node:
        return literal_types([node["const"]] if "const" in node else as_list(node["enum"]))
    return [next((kind for kind, hints in _HINTS.items() if any(h in node for h in hints)), "")] if node else []


def literal_types(values: list[Any]) -> list[str]:
    """The JSON types of some values, each once, in order."""
    kinds = list(dict.fromkeys(kind_of(v) for v in values))
    return [k for k in kinds if not (k == "integer" and "number" in kinds)]


def literal(values: list[Any], *, typed: bool) -> Node:
    """A schema for some constants; `typed` names their type, which some services want and others do without."""
    if values == [None]:
        return {"type": "null"}
    kinds = literal_types(values)
    schema: Node = {"type": kinds[0] if len(kinds) == 1 else kinds} if typed else {}
    return schema | ({"const": values[0]} if len(values) == 1 else {"enum": list(values)})


def of_type(value: Any, kinds: Collection[str]) -> bool:
    """Whether a constant is of one of some JSON types."""
    kind = kind_of(value)
    whole = kind == "integer" or (kind == "number" and float(value).is_integer())
    return kind in kinds or (whole and ("integer" in kinds or (kind == "integer" and "number" in kinds)))


def may_hold(node: Node, value: Any, graph: Graph, seen: tuple[str, ...] = ()) -> bool:
    """Whether a neutral schema may take a value, judged by types, constants and names of members only."""
    if "$ref" in node:
        ref = node["$ref"]
        return ref not in seen and may_hold(graph.target(ref), value, graph, (*seen, ref))
    for key in ("anyOf", "oneOf"):
        if key in node:
            return any(may_hold(b, value, graph, seen) for b in node[key])
    if "allOf" in node and not all(may_hold(b, value, graph, seen) for b in node["allOf"]):
        return False
    if "const" in node:
        return json_equal(value, node["const"])
    if "enum" in node:
        return any(json_equal(value, v) for v in node["enum"])
    kinds = types_of(node)
    if kinds and kind_of(value) not in kinds:
        return False
    return not isinstance(value, dict) or any(k in node.get("properties", {}) for k in cast("Node", value))


def closed(properties: Node, required: list[str], *, always: bool) -> Node:
    """An object that takes its own members and no others; `always` writes `required` even where it is empty."""
    schema: Node = {"type": "object", "properties": properties}
    if required or always:
        schema["required"] = required
    schema["additionalProperties"] = False
    return schema


def nullable(schema: Node) -> Node:
    """The schema, or null."""
    kind = schema.get("type")
    if "anyOf" in schema:
        if any(b.get("type") == "null" for b in schema["anyOf"]):
            return schema
        return {**schema, "anyOf": [*schema["anyOf"], {"type": "null"}]}
    if (
        kind == "null"
        or (isinstance(kind, list) and "null" in kind)
        or (kind is None and None in schema.get("enum", ()))
    ):
        return schema
    out: Node = dict(schema)
    if kind is not None:
        kinds = [kind] if isinstance(kind, str) else as_list(kind)
        if not SCALARS.issuperset(kinds):
            # a list of types is refused for what has parts: 'array schema missing items' (dcdpr/jp#674)
            return {"anyOf": [schema, {"type": "null"}]}
        out["type"] = [*kinds, "null"]
    elif "const" not in schema and "enum" not in schema:
        return {"anyOf": [schema, {"type": "null"}]}
    if "const" in out:
        return _replaced(out, "const", "enum", [out["const"], None])
    if "enum" in out and None not in out["enum"]:
        out["enum"] = [*out["enum"], None]
    return out


def _replaced(node: Node, key: str, by: str, value: Any) -> Node:
    return {by if k == key else k: value if k == key else v for k, v in node.items()}


def union(branches: list[Node]) -> Node:
    """One of several schemas, in the shortest way."""
    rest = [b for b in branches if b != {"type": "null"}]
    flat = [s for b in rest for s in (b["anyOf"] if b.keys() == {"anyOf"} else [b])]
    flat = [b for i, b in enumerate(flat) if b not in flat[:i]]
    made = flat[0] if len(flat) == 1 else {"anyOf": flat}
    if len(rest) == len(branches):
        return made
    return nullable(made) if flat else {"type": "null"}


def wire_name(name: str, keys: re.Pattern[str] | None, taken: Collection[str]) -> str:
    """The name itself, or the nearest one that a service takes and that is not taken yet."""
    if keys is None or keys.fullmatch(name):
        return name
    folded = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    stem = re.sub(r"[^a-zA-Z0-9_.-]+", "_", folded).strip("_")[:56] or "member"
    made, n = stem, 2
    while made in taken:
        made, n = f"{stem}_{n}", n + 1
    return made


def wire_names(names: Collection[str], keys: re.Pattern[str] | None) -> dict[str, str]:
    """Neutral name -> name on the wire, for all members of an object."""
    made: dict[str, str] = {}
    taken = {n for n in names if keys is None or keys.fullmatch(n)}
    for name in names:
        made[name] = wire_name(name, keys, taken)
        taken.add(made[name])
    return made


def nodes(schema: Node) -> Iterator[Node]:
    """Each schema of a wire schema, its definitions included."""
    stack: list[Node] = [schema, *cast("Mapping[str, Node]", schema.get("$defs", {})).values()]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(children(node))


def size_problems(schema: Node, limits: SizeLimits) -> list[str]:
    """Which of a service's limits a wire schema exceeds, each as half a sentence."""
    members = characters = values = 0
    problems: list[str] = []
    for node in nodes(schema):
        names = node.get("properties", {})
        members += len(names)
        enum = as_list(node.get("enum"))
        values += len(enum)
        texts = sum(len(v) for v in enum if isinstance(v, str))
        constant = node.get("const")
        characters += sum(map(len, names)) + texts + (len(constant) if isinstance(constant, str) else 0)
        if len(enum) > limits.enum_long and texts > limits.enum_characters:
            problems.append(f"has an enumeration of {texts:,} characters, the service takes {limits.enum_characters:,}")
    characters += sum(map(len, schema.get("$defs", {})))
    levels = max(_levels(s) for s in [schema, *schema.get("$defs", {}).values()])
    for count, most, what in (
        (members, limits.members, "members"),
        (levels, limits.levels, "levels of objects"),
        (characters, limits.characters, "characters of names and constants"),
        (values, limits.enum_values, "enumerated values"),
    ):
        if count > most:
            problems.append(f"has {count:,} {what}, the service takes {most:,}")
    return problems


def _levels(schema: Node) -> int:
    here = 1 if "properties" in schema else 0
    return here + max((_levels(c) for c in children(schema)), default=0)
