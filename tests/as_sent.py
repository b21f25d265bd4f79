"""How a model that keeps to a strict schema sends a value: written from the rules, not from the library.

The rules, in the words of the documentation:
    - OpenAI: an optional member that is left out is sent as null; where null is a value of the member itself, as
      "omit", or as {"omit": true} where the member could be that text. If its default is null, it is sent as null.
    - Claude and the local grammar: it is left out.
    - a mapping is a list of {key, value}; in a union with a list it is {"entries": [...]}.
    - a tuple is an object with the members item_1, item_2, ...; a named tuple is one with its own names, unless there
      is another object in the union.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from jsonschema import Draft202012Validator, FormatChecker

Json = Any
Schema = dict[str, Any]


def valid(schema: Draft202012Validator | Schema, value: Json) -> bool:
    """Judge: jsonschema."""
    judge: Any = schema if isinstance(schema, Draft202012Validator) else Draft202012Validator(schema)
    return bool(judge.is_valid(value))


def fits(schema: Schema, value: Json) -> bool:
    """As `valid`, and texts have the formats that are asked for: a sampler goes by these too."""
    judge: Any = Draft202012Validator(schema, format_checker=FormatChecker())
    return bool(judge.is_valid(value))


class Sender:
    """Sends values of one neutral schema in the manner of one mode."""

    def __init__(self, root: Schema, *, nulls: bool) -> None:
        self._root = root
        self._nulls = nulls
        self._validators: dict[int, Draft202012Validator] = {}

    def send(self, arguments: dict[str, Json]) -> Json:
        """All arguments of a call."""
        return self._value(arguments, self._root)

    def _admits(self, schema: Schema, value: Json) -> bool:
        if id(schema) not in self._validators:
            self._validators[id(schema)] = Draft202012Validator(self._whole(schema))
        return valid(self._validators[id(schema)], value)

    def _whole(self, schema: Schema) -> Schema:
        return schema if schema is self._root else {**schema, "$defs": self._root.get("$defs", {})}

    def _solid(self, schema: Schema) -> Schema:
        while "$ref" in schema:
            schema = self._root["$defs"][schema["$ref"].rpartition("/")[2]]
        return schema

    def _opened(self, branches: list[Schema]) -> list[Schema]:
        """With the unions in a union as parts of it, where a named tuple in them stands beside another object."""
        flat = list(self._flat(branches, frozenset()))
        solid = [self._solid(b) for b in flat]
        tuples: list[Json] = [b.get("prefixItems") for b in solid]
        named = any("properties" in b and list(b["properties"].values()) in tuples for b in solid)
        return flat if named and sum(b.get("type") == "object" for b in solid) > 1 else branches

    def _flat(self, branches: list[Schema], within: frozenset[str]) -> Iterator[Schema]:
        for branch in branches:
            inner: list[Schema] = self._solid(branch).get("anyOf", [])
            name: str = branch.get("$ref", "")
            if inner and name not in within:
                yield from self._flat(inner, within | {name})
            else:
                yield branch

    def _value(self, value: Json, schema: Schema, *, beside_list: bool = False) -> Json:
        schema = self._solid(schema)
        branches: list[Schema] = schema.get("anyOf") or schema.get("oneOf") or []
        if branches:
            branches = self._opened(branches)
            lists = any(self._is_list(b) for b in branches)
            admitting = [b for b in branches if self._admits(b, value)]
            branch = next((b for b in admitting if fits(self._whole(b), value)), admitting[0])
            objects = [b for b in map(self._solid, branches) if b.get("type") == "object"]
            # Beside another object it could be taken for that one, and goes as a tuple.
            for named in objects if isinstance(value, list) and len(objects) == 1 else []:
                names: Schema = named.get("properties", {})
                if names and list(names.values()) == self._solid(branch).get("prefixItems"):
                    return self._value(dict(zip(names, cast("list[Json]", value), strict=False)), named)
            return self._value(value, branch, beside_list=lists)
        if isinstance(value, dict):
            return self._object(cast("dict[str, Json]", value), schema, beside_list)
        if isinstance(value, list):
            items = cast("list[Json]", value)
            if "prefixItems" in schema:
                members: list[Schema] = schema["prefixItems"]
                given = {f"item_{i + 1}": self._value(v, members[i]) for i, v in enumerate(items)}
                tail = {f"item_{i + 1}": self._left_out(m) for i, m in enumerate(members) if i >= len(items)}
                return given | tail if self._nulls else given
            return [self._value(v, schema["items"]) for v in items]
        return value

    def _is_list(self, schema: Schema) -> bool:
        solid = self._solid(schema)
        return solid.get("type") == "array" and "prefixItems" not in solid

    def _object(self, value: dict[str, Json], schema: Schema, beside_list: bool) -> Json:
        if "properties" not in schema:
            pairs = [{"key": k, "value": self._value(v, schema["additionalProperties"])} for k, v in value.items()]
            return {"entries": pairs} if beside_list else pairs
        sent: dict[str, Json] = {}
        for name, member in schema["properties"].items():
            if name in value:
                sent[name] = self._value(value[name], member)
            elif self._nulls:
                sent[name] = self._left_out(member)
        return sent

    def _left_out(self, member: Schema) -> Json:
        if not self._admits(member, None) or ("default" in member and member["default"] is None):
            return None
        return {"omit": True} if self._may_be_text(member) else "omit"

    def _may_be_text(self, schema: Schema) -> bool:
        solid = self._solid(schema)
        if any(k in solid for k in ("anyOf", "oneOf")):
            return any(self._may_be_text(b) for b in [*solid.get("anyOf", []), *solid.get("oneOf", [])])
        if "enum" in solid or "const" in solid:
            return "omit" in solid.get("enum", [solid.get("const")])
        return solid.get("type") == "string"

    def filled(self, value: Json, schema: Schema) -> Json:
        """See `with_null_defaults`."""
        solid = self._solid(schema)
        branches: list[Schema] = solid.get("anyOf") or solid.get("oneOf") or []
        if branches:
            branch = next((b for b in branches if self._admits(b, value)), None)
            return value if branch is None else self.filled(value, branch)
        if isinstance(value, list):
            prefix: list[Schema] = solid.get("prefixItems", [])
            items = enumerate(cast("list[Json]", value))
            return [self.filled(v, prefix[i] if i < len(prefix) else solid["items"]) for i, v in items]
        if not isinstance(value, dict):
            return value
        held = cast("dict[str, Json]", value)
        if "properties" not in solid:
            return {k: self.filled(v, solid["additionalProperties"]) for k, v in held.items()}
        out: dict[str, Json] = {}
        for name, member in solid["properties"].items():
            if name in held:
                out[name] = self.filled(held[name], member)
            elif "default" in member and member["default"] is None and self._admits(member, None):
                out[name] = None
        return out


def with_null_defaults(value: Json, schema: Schema) -> Json:
    """The value with each absent member whose default is null as null: absent and null mean the same there."""
    return Sender(schema, nulls=True).filled(value, schema)


def in_schema_order(value: Json, schema: Schema, root: Schema) -> Json:
    """The value with members in the order of the wire schema, in which a constrained sampler writes them."""
    while "$ref" in schema:
        schema = root if schema["$ref"] == "#" else root["$defs"][schema["$ref"].rpartition("/")[2]]
    if "anyOf" in schema:
        fitting = [b for b in schema["anyOf"] if valid({**b, "$defs": root.get("$defs", {})}, value)]
        return in_schema_order(value, fitting[0], root) if fitting else value
    if isinstance(value, list):
        return [in_schema_order(v, schema["items"], root) for v in cast("list[Json]", value)]
    if isinstance(value, dict):
        held = cast("dict[str, Json]", value)
        members: Schema = schema.get("properties", {})
        return {n: in_schema_order(held[n], m, root) for n, m in members.items() if n in held}
    return value


def without_formats(schema: Any) -> Any:
    """The schema without `format`."""
    if isinstance(schema, list):
        return [without_formats(s) for s in cast("list[Any]", schema)]
    if not isinstance(schema, dict):
        return schema
    kept = cast("Schema", schema).items()
    return {k: without_formats(v) for k, v in kept if not (k == "format" and isinstance(v, str))}


def places(value: Json, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of each value within a value."""
    yield path
    if isinstance(value, dict):
        for key, inner in cast("dict[str, Json]", value).items():
            yield from places(inner, (*path, key))
    elif isinstance(value, list):
        for i, inner in enumerate(cast("list[Json]", value)):
            yield from places(inner, (*path, i))
