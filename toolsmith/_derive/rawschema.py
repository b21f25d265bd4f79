"""JSON Schemas that come from elsewhere: checked when the tool is made, and then the judge of its arguments.

References are local: nothing is ever fetched. Who judges, and how, is in `_derive/judge.py`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final, cast

from toolsmith._arguments.shapes import Shapes, dict_of, pointed, schema_of
from toolsmith._dataclass import dataclass
from toolsmith._derive.judge import Json, RawValidator, package
from toolsmith.errors import DefinitionError

MAX_CHARS: Final = 1_000_000
"""Longest schema, as JSON text."""
MAX_DEPTH: Final = 64
"""Deepest nesting of objects and arrays in a schema's text."""


@dataclass(frozen=True, slots=True, eq=False)
class RawContract:
    """A schema from elsewhere, made ready.

    Attributes:
        schema: a copy, whose root says `"type": "object"`.
        validator: judges JSON text by it.
    """

    schema: Json
    validator: RawValidator


def contract(parameters: object, *, name: str, origin: str = "") -> RawContract:
    """Check a schema from elsewhere and make its validator.

    Args:
        parameters: a JSON Schema (draft 2020-12; drafts 4 to 7 where it says so, or is valid only there) for an object.
        name: of the tool.
        origin: "file.py:12", where the tool is defined; "" where that is not known.

    Raises:
        DefinitionError: it is no such schema; every problem found, with its place and the way out.
    """
    where = f"{origin}: tool {name!r}" if origin else f"Tool {name!r}"
    if not isinstance(parameters, Mapping):
        raise DefinitionError(
            f"{where}: parameters= takes a JSON Schema as a dict, such as "
            f'{{"type": "object", "properties": {{}}}}, not {type(parameters).__name__}.'
        )
    schema = _copied(cast("Mapping[str, Any]", parameters), where)
    draft: Any = None
    problems = _references(schema)
    if not problems:
        draft, problems = _draft(schema)
    problems = problems or _object_root(schema)
    if problems:
        raise DefinitionError([f"{where}: {p}" for p in problems])
    schema["type"] = "object"
    return RawContract(schema, RawValidator(schema, draft))


# ---- checks when the tool is made


def _copied(parameters: Mapping[str, Any], where: str) -> Json:
    """A deep copy as plain JSON."""
    try:
        if _too_deep(parameters):
            raise DefinitionError(
                f"{where}: its JSON Schema is nested deeper than {MAX_DEPTH} levels, or holds itself. "
                "Use $defs and $ref for what repeats."
            )
        text = json.dumps(parameters, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise DefinitionError(f"{where}: its JSON Schema is not plain JSON: {error}.") from None
    if len(text) > MAX_CHARS:
        raise DefinitionError(
            f"{where}: its JSON Schema has {len(text):,} characters; {MAX_CHARS:,} is the limit. No service "
            "takes one of that size: split the tool."
        )
    return cast("Json", json.loads(text))


def _too_deep(value: object) -> bool:
    level: list[object] = [value]
    for _ in range(MAX_DEPTH + 1):
        inner: list[object] = []
        for item in level:
            if isinstance(item, Mapping):
                inner += cast("Mapping[str, object]", item).values()
            elif isinstance(item, (list, tuple)):
                inner += cast("Sequence[object]", item)
        if not inner:
            return False
        # A schema that holds itself twice would double at each level.
        level = list({id(i): i for i in inner}.values())
    return True


def _nodes(value: Any, path: str = "") -> Iterator[tuple[str, Json]]:
    """All objects within a schema, with where they stand; names that are properties and data in enums among them."""
    waiting: list[tuple[str, Any]] = [(path, value)]
    while waiting:
        place, item = waiting.pop()
        if isinstance(item, dict):
            node = cast("Json", item)
            yield place, node
            waiting += [
                (f"{place}/{k}", v) for k, v in node.items() if k not in ("enum", "const", "default", "examples")
            ]
        elif isinstance(item, list):
            waiting += [(f"{place}/{i}", v) for i, v in enumerate(cast("list[Any]", item))]


def _references(schema: Json) -> list[str]:
    problems: list[str] = []
    for place, node in _nodes(schema):
        for word in ("$dynamicRef", "$recursiveRef"):
            if isinstance(node.get(word), str):
                problems.append(f"{place or '/'} uses {word}, which no model service reads. Use $ref.")
        if place and isinstance(node.get("$id"), str):
            problems.append(f"{place} has an $id of its own, which changes what #/$defs/NAME means. Leave it out.")
        if "$ref" not in node or place.endswith("/properties"):
            continue
        reference: Any = node["$ref"]
        if not isinstance(reference, str) or not (reference == "#" or reference.startswith("#/")):
            problems.append(
                f"{place or '/'} refers to {reference!r}. References must be local (#/$defs/NAME), as nothing is "
                "fetched: put what it names into $defs."
            )
        elif schema_of(pointed(reference, schema)) is None:
            problems.append(f"{place or '/'} refers to {reference!r}, which is not in the schema.")
    return problems or _circles(schema)


_IN_PLACE = ("allOf", "anyOf", "oneOf", "not", "if", "then", "else")


def _same_value(node: Json, schema: Json) -> list[Json]:
    """The schemas that a node applies to the very value it stands for."""
    found: list[Any] = [pointed(node["$ref"], schema)] if isinstance(node.get("$ref"), str) else []
    for word in _IN_PLACE:
        member: Any = node.get(word)
        found += cast("list[Any]", member) if isinstance(member, list) else [member]
    found += dict_of(node.get("dependentSchemas")).values()
    return [cast("Json", f) for f in found if isinstance(f, dict)]


def _circles(schema: Json) -> list[str]:
    """Schemas that lead back to themselves without a step into the value: a judge would go round for ever."""
    done: set[int] = set()
    for place, start in _nodes(schema):
        trail: list[tuple[int, Iterator[Json]]] = [(id(start), iter(_same_value(start, schema)))]
        open_ids = {id(start)}
        while trail:
            current, rest = trail[-1]
            following = next((n for n in rest if id(n) not in done), None)
            if following is None:
                trail.pop()
                open_ids.discard(current)
                done.add(current)
            elif id(following) in open_ids:
                return [
                    f"{place or '/'} leads back to itself through $ref, and to nothing else. Let it name a real shape."
                ]
            else:
                open_ids.add(id(following))
                trail.append((id(following), iter(_same_value(following, schema))))
    return []


def _object_root(schema: Json) -> list[str]:
    if "object" in Shapes(schema).types(schema):
        return []
    return [
        "the root of its JSON Schema is not an object. A model always sends named arguments: "
        'write {"type": "object", "properties": {"value": <your schema>}, "required": ["value"]}.'
    ]


def _draft(schema: Json) -> tuple[Any, list[str]]:
    """The class that judges by a schema's own draft, or the newest by which it is valid; and what is wrong with it."""
    jsonschema = package()
    named: Any = schema.get("$schema")
    if isinstance(named, str):
        found: Any = jsonschema.validators.validator_for({"$schema": named}, default=None)
        if found is None:
            return None, [f"its $schema is {named!r}, which is unknown. Leave it out, or name a JSON Schema draft."]
        drafts: list[Any] = [found]
    else:
        drafts = [jsonschema.Draft202012Validator, jsonschema.Draft7Validator, jsonschema.Draft4Validator]
    first: list[str] = []
    for draft in drafts:
        errors = list(islice(cast("Iterator[Any]", draft(draft.META_SCHEMA).iter_errors(schema)), 10))
        if not errors:
            return draft, []
        first = first or [_schema_error(e) for e in errors]
    return None, first


def _schema_error(error: Any) -> str:
    deepest: Any = package().exceptions.best_match([error]) or error
    place = "/".join(str(p) for p in deepest.absolute_path)
    words = str(deepest.message)
    return f"its JSON Schema is not valid at /{place}: {words if len(words) <= 300 else words[:297] + '...'}"
