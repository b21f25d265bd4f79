"""Which JSON Schemas the two services take, strict and not: written from their documents alone.

On purpose nothing here is shared with `toolsmith.dialects`: what writes a schema must not be what judges it.

Sources: platform.claude.com/docs, "Structured outputs" and "Strict tool use", and the 400s quoted in public issues;
developers.openai.com, "Structured outputs", and what the API was seen to refuse (public issues; pydantic-ai's measured
profile of November 2026). Where the documents are silent, a keyword counts as refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, cast

from toolsmith.testing.recorded import dumps

Path = tuple[str | int, ...]
Problem = tuple[Path, str]
Schema = Mapping[str, Any]

_NOTES = frozenset({"title", "description"})
_SHARED = frozenset(
    {"type", "properties", "required", "additionalProperties", "items", "enum", "const", "anyOf", "$ref"}
)
_OPENAI_KEYWORDS = _NOTES | _SHARED | {
    "$defs", "pattern", "format", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf",
    "minItems", "maxItems", "minLength", "maxLength",
}  # fmt: skip
_CLAUDE_KEYWORDS = _NOTES | _SHARED | {"$defs", "definitions", "default", "allOf", "pattern", "format", "minItems"}
_OPENAI_FORMATS = frozenset({"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"})
_CLAUDE_FORMATS = _OPENAI_FORMATS | {"uri"}
_TYPING = ("type", "anyOf", "allOf", "enum", "const", "$ref")
_LOOKAROUND = re.compile(r"\(\?(?:=|!|<=|<!)")
_BEYOND_CLAUDE = re.compile(r"\(\?(?:=|!|<=|<!|P=)|\\[1-9bB]")
_REPEAT = re.compile(r"\{(\d+)(?:,(\d*))?\}")


def schema_problems(schema: Schema) -> list[Problem]:
    """What no service takes: no valid JSON Schema 2020-12, a root that is no object, a reference to nowhere."""
    return list(_plain(dumps(schema)))


def openai_problems(schema: Schema) -> list[Problem]:
    """What OpenAI refuses also without strict mode."""
    return list(_openai_plain(dumps(schema)))


def openai_strict_problems(schema: Schema) -> list[Problem]:
    """What OpenAI's strict mode refuses, each with where it stands and OpenAI's words for it."""
    return list(_openai_strict(dumps(schema)))


def claude_strict_problems(schema: Schema) -> list[Problem]:
    """What Claude's strict tools refuse, each with where it stands and Claude's words for it."""
    return list(_claude_strict(dumps(schema)))


def claude_counts(schema: Schema) -> tuple[int, int]:
    """How many optional and how many union-typed parameters a schema adds to the sums of a request.

    Counted as the API was seen to count: parameters reached without following a reference.
    """
    optional = union = 0
    for _, node in walk({key: value for key, value in schema.items() if key not in ("$defs", "definitions")}):
        required = node.get("required", [])
        for name, inner in _members(node).items():
            optional += name not in required
            union += "anyOf" in inner or isinstance(inner.get("type"), list)
    return optional, union


def walk(schema: Schema, path: Path = ()) -> Iterator[tuple[Path, Schema]]:
    """Every subschema with its path, the root first. Values (enum, const, default) are no schemas."""
    yield path, schema
    for key in ("properties", "$defs", "definitions", "patternProperties", "dependentSchemas"):
        for name, inner in _members(schema, key).items():
            yield from walk(inner, (*path, key, name))
    for key in ("anyOf", "oneOf", "allOf", "prefixItems"):
        for number, inner in enumerate(cast("list[object]", schema.get(key) or [])):
            if isinstance(inner, dict):
                yield from walk(cast("Schema", inner), (*path, key, number))
    for key in ("items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames"):
        if isinstance(schema.get(key), dict):
            yield from walk(schema[key], (*path, key))


@lru_cache(maxsize=4096)
def _plain(text: str) -> tuple[Problem, ...]:
    from jsonschema import Draft202012Validator, SchemaError

    schema = json.loads(text)
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        return ((tuple(error.absolute_path), f"JSON schema is invalid: {error.message}"),)
    if isinstance(schema, bool):  # JSON Schema allows it, the services do not
        return (((), f"JSON schema is invalid: {text} is not of type 'object'"),)
    found: list[Problem] = []
    if schema.get("type") != "object":
        found.append(
            ((), f"schema must be a JSON Schema of 'type: \"object\"', got 'type: {dumps(schema.get('type'))}'.")
        )
    for path, node in walk(schema):
        if "$ref" in node and _target(schema, node["$ref"]) is None:
            found.append((path, f"reference {node['$ref']!r} can not be resolved."))
    return tuple(found)


@lru_cache(maxsize=4096)
def _openai_plain(text: str) -> tuple[Problem, ...]:
    found = list(_plain(text))
    if not found:
        for path, node in walk(json.loads(text)):
            if _has_type(node, "array") and "items" not in node:
                found.append((path, "array schema missing items."))
    return tuple(found)


@lru_cache(maxsize=4096)
def _openai_strict(text: str) -> tuple[Problem, ...]:
    found = list(_openai_plain(text))
    if found:
        return tuple(found)
    root = cast("Schema", json.loads(text))
    if "anyOf" in root:
        found.append(((), "schema must not have 'anyOf' at the top level."))
    for path, node in walk(root):
        found += [(path, problem) for problem in _openai_node(root, path, node)]
    return tuple(found + [((), problem) for problem in _openai_sizes(root)])


def _openai_node(root: Schema, path: Path, node: Schema) -> Iterator[str]:
    yield from _keywords(node, _OPENAI_KEYWORDS | (frozenset[str]() if path else {"$schema"}))
    if "$defs" in node and path:
        yield "'$defs' is only permitted at the top level."
    if "$ref" in node and set(node) - {"$ref", "$defs"}:
        yield f"$ref cannot have keywords {set(node) - {'$ref'}}."
    if not any(key in node for key in _TYPING):
        yield "schema must have a 'type' key."
    if _has_type(node, "object"):
        if node.get("additionalProperties") is not False:
            yield "'additionalProperties' is required to be supplied and to be false."
        required, members = node.get("required", []), _members(node)
        for name in members:
            if name not in required:
                yield (
                    "'required' is required to be supplied and to be an array including every key in properties. "
                    f"Missing '{name}'."
                )
        for name in required:
            if name not in members:
                words = "'required' is required to be an array of keys in properties. Extra required key"
                yield f"{words} '{name}' supplied."
    if node.get("format", "uuid") not in _OPENAI_FORMATS:
        yield f"'{node['format']}' is not a valid format."
    if isinstance(node.get("pattern"), str) and _LOOKAROUND.search(node["pattern"]):
        yield "'pattern' with look-around is not permitted."
    yield from _scalars_only(node)
    yield from _first_keys(root, node)


def _first_keys(root: Schema, node: Schema) -> Iterator[str]:
    """Object branches of a union must be told apart by their first key, by its name or by its constant."""
    seen: list[tuple[str, frozenset[str]]] = []
    for branch in cast("list[Schema]", node.get("anyOf") or []):
        target = _target(root, branch["$ref"]) if "$ref" in branch else branch
        first = next(iter(_members(target or {}).items()), None)
        if first is None:
            continue
        name, inner = first
        values = inner.get("enum", [inner["const"]] if "const" in inner else [])
        told = frozenset(dumps(value) for value in values)
        if any(name == other and not (told and theirs and told.isdisjoint(theirs)) for other, theirs in seen):
            yield (
                "Objects provided via 'anyOf' must not share identical first keys. Consider adding a discriminator key "
                "or rearranging the properties to ensure the first key is unique."
            )
        seen.append((name, told))


def _openai_sizes(root: Schema) -> Iterator[str]:
    properties = values = letters = 0
    for _, node in walk(root):
        names = [*_members(node), *_members(node, "$defs")]
        enum = cast("list[object]", node.get("enum", []))
        words = [value for value in [*enum, node.get("const")] if isinstance(value, str)]
        properties += len(_members(node))
        values += len(enum)
        letters += sum(map(len, names)) + sum(map(len, words))
        if len(enum) > 250 and sum(map(len, words)) > 15_000:
            yield f"enum with {len(enum)} values has {sum(map(len, words))} characters, more than 15000."
    if properties > 5000:
        yield f"schema has {properties} properties, more than 5000."
    if values > 1000:
        yield f"schema has {values} enum values, more than 1000."
    if letters > 120_000:
        yield f"names and values have {letters} characters, more than 120000."
    deepest = max(_depth(node) for node in (root, *_members(root, "$defs").values()))
    if deepest > 10:
        yield f"schema has {deepest} levels of nesting, more than 10."


@lru_cache(maxsize=4096)
def _claude_strict(text: str) -> tuple[Problem, ...]:
    found = list(_plain(text))
    if found:
        return tuple(found)
    root = cast("Schema", json.loads(text))
    if any(key in root for key in ("anyOf", "oneOf", "allOf")):
        found.append(((), "input_schema does not support oneOf, allOf, or anyOf at the top level"))
    if _recursive(root):
        found.append(((), "Recursive schemas are not supported"))
    for path, node in walk(root):
        found += [(path, problem) for problem in _claude_node(path, node)]
    return tuple(found)


def _claude_node(path: Path, node: Schema) -> Iterator[str]:
    kind = node.get("type")
    what = f"For '{kind}' type, " if isinstance(kind, str) else ""
    for key in sorted(set(node) - _CLAUDE_KEYWORDS - (frozenset[str]() if path else {"$schema"})):
        yield f"{what}property '{key}' is not supported"
    if not any(key in node for key in _TYPING):
        yield "Schema must have one of 'type', 'anyOf', 'allOf', 'enum', 'const' or '$ref'"
    if _has_type(node, "object") and node.get("additionalProperties") is not False:
        yield "For 'object' type, 'additionalProperties' must be explicitly set to false"
    for name in cast("list[str]", node.get("required", [])):
        if name not in _members(node):
            yield f"Required property '{name}' is not defined in 'properties'"
    if "$ref" in node and set(node) - {"$ref", "$defs", "definitions", "default"} - _NOTES:
        yield "'$ref' cannot be combined with other keywords"
    if "minItems" in node and node["minItems"] not in (0, 1):
        yield "For 'array' type, 'minItems' values other than 0 or 1 are not supported"
    if _has_type(node, "array") and "items" not in node:
        yield "For 'array' type, 'items' must be given"
    if node.get("format", "uuid") not in _CLAUDE_FORMATS:
        yield f"String format '{node['format']}' is not supported"
    if isinstance(node.get("pattern"), str) and not _simple_pattern(node["pattern"]):
        yield f"Unsupported regex feature in pattern field: {node['pattern']}"
    if any("$ref" in inner for inner in cast("list[Schema]", node.get("allOf") or [])):
        yield "'allOf' cannot be combined with '$ref'"
    yield from _scalars_only(node)


def _simple_pattern(pattern: str) -> bool:
    repeats = [int(high or low) for low, high in _REPEAT.findall(pattern)]
    return not _BEYOND_CLAUDE.search(pattern.replace("\\\\", "")) and max(repeats, default=0) <= 1000


def _keywords(node: Schema, permitted: frozenset[str] | set[str]) -> Iterator[str]:
    for key in sorted(set(node) - permitted):
        yield f"'{key}' is not permitted."


def _scalars_only(node: Schema) -> Iterator[str]:
    values = [*cast("list[object]", node.get("enum", [])), node.get("const")]
    if any(isinstance(value, (dict, list)) for value in values):
        yield "enum and const take strings, numbers, booleans and null only."


def _members(node: Schema, key: str = "properties") -> dict[str, Schema]:
    value = node.get(key)
    if not isinstance(value, dict):
        return {}
    # `true` and `false` are schemas too: nothing typed, so they are judged as empty ones
    return {k: cast("Schema", v if isinstance(v, dict) else {}) for k, v in cast("dict[str, object]", value).items()}


def _has_type(node: Schema, kind: str) -> bool:
    value = node.get("type")
    return value == kind or (isinstance(value, list) and kind in value)


def _target(root: Schema, ref: object) -> Schema | None:
    if not isinstance(ref, str) or not ref.startswith("#"):
        return None
    node: object = root
    for step in ref[1:].split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(node, list) and name.isdigit() and int(name) < len(cast("list[object]", node)):
            node = cast("list[object]", node)[int(name)]
        elif isinstance(node, dict) and name in node:
            node = cast("dict[str, object]", node)[name]
        else:
            return None
    return cast("Schema", node) if isinstance(node, dict) else None


def _depth(node: Schema) -> int:
    """Levels of objects inside each other; references are not followed."""
    inner = [_depth(sub) for sub in _members(node).values()]
    inner += [_depth(node["items"])] if isinstance(node.get("items"), dict) else []
    inner += [_depth(sub) for sub in cast("list[Schema]", node.get("anyOf") or [])]
    return max(inner, default=0) + _has_type(node, "object")


def _recursive(root: Schema) -> bool:
    """Whether a reference leads back to itself."""

    def references(node: Schema) -> set[str]:
        shown = {key: value for key, value in node.items() if key not in ("$defs", "definitions")}
        return {sub["$ref"] for _, sub in walk(shown) if isinstance(sub.get("$ref"), str)}

    leads: dict[str, set[str]] = {"#": references(root)}
    todo = list(leads["#"])
    while todo:
        ref = todo.pop()
        if ref not in leads:
            leads[ref] = references(_target(root, ref) or {})
            todo += leads[ref]
    # take away what leads nowhere; what is left goes in circles
    while ends := {ref for ref, to in leads.items() if not to}:
        leads = {ref: to - ends for ref, to in leads.items() if ref not in ends}
    return bool(leads)
