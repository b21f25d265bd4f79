"""Requires the tag of a tagged union wherever the union is read by it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, cast

Json = dict[str, Any]

_PREFIX = "#/$defs/"


def require_tags(schema: Json) -> None:
    """Require the tag in each branch of each tagged union, and drop OpenAPI's `discriminator`. Changes it in place.

    A tag with a default (`kind: Literal["cat"] = "cat"`) is optional in the branch's own schema. But pydantic cannot
    read the union without it, and refuses the value. Where the same class also stands alone, the tag stays optional.
    """
    definitions: dict[str, Json] = schema.get("$defs", {})
    nodes = list(_nodes(schema))
    uses = Counter(node["$ref"] for node in nodes if isinstance(node.get("$ref"), str))
    unions = [(node, tag) for node in nodes if (tag := _tag(node))]
    tagged = Counter(b["$ref"] for node, _ in unions for b in node["oneOf"] if isinstance(b.get("$ref"), str))

    def require(branch: Json, tag: str, depth: int) -> None:
        ref = branch.get("$ref", "")
        target = definitions.get(ref.removeprefix(_PREFIX), {}) if ref else branch
        for word in ("oneOf", "anyOf"):  # a union within the union has the tag in its own branches
            for inner in target.get(word, ()) if depth else ():
                require(inner, tag, depth - 1)
        if tag not in target.get("properties", {}) or tag in target.get("required", ()):
            return
        own = target if not ref or uses[ref] == tagged[ref] else branch
        wanted = {*own.get("required", ()), tag}
        own["required"] = [name for name in target["properties"] if name in wanted]
        if own is target and "additionalProperties" in own:
            own["additionalProperties"] = own.pop("additionalProperties")  # stays last

    for node, tag in unions:
        del node["discriminator"]
        for branch in node["oneOf"]:
            require(branch, tag, 4)


def _tag(node: Json) -> str:
    told: Any = node.get("discriminator")
    if not isinstance(told, dict) or not isinstance(node.get("oneOf"), list):
        return ""
    return str(cast("Json", told).get("propertyName", ""))


def _nodes(value: Any) -> Iterator[Json]:
    """Every object in a schema, itself first."""
    waiting: list[Any] = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            node = cast("Json", one)
            yield node
            waiting += [held for key, held in node.items() if key not in {"discriminator", "default", "examples"}]
        elif isinstance(one, list):
            waiting += cast("list[Any]", one)
