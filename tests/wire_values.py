"""Values that a constrained sampler may write under a strict wire schema, and schemas as they come from elsewhere."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

from hypothesis import strategies as st

Schema = dict[str, Any]
Values = st.SearchStrategy[Any]

_TEXT = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), max_size=6)
_FORMATS: dict[str, Values] = {
    "date": st.dates(date(1950, 1, 1), date(2090, 1, 1)).map(date.isoformat),
    "date-time": st.datetimes(datetime(1950, 1, 1), datetime(2090, 1, 1)).map(lambda t: t.isoformat() + "Z"),
    "uuid": st.uuids().map(str),
    "email": st.just("a@example.com"),
}


@st.composite
def wire_values(draw: st.DrawFn, schema: Schema) -> Any:
    """What a sampler may write; nesting beyond a few levels is kept small."""
    return _written(draw, schema, schema, 0)


def _written(draw: st.DrawFn, schema: Schema, root: Schema, depth: int) -> Any:
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return _written(draw, root if schema["$ref"] == "#" else root["$defs"][name], root, depth + 1)
    if "anyOf" in schema:
        branches: list[Schema] = schema["anyOf"]
        if depth > 4:
            branches = sorted(branches, key=lambda b: _weight(b, root))[:1]
        return _written(draw, draw(st.sampled_from(branches)), root, depth + 1)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return draw(st.sampled_from(schema["enum"]))
    kinds: list[str] = [schema["type"]] if isinstance(schema["type"], str) else schema["type"]
    return _of_type(draw, draw(st.sampled_from(kinds)), schema, root, depth)


def _weight(schema: Schema, root: Schema) -> tuple[bool, int]:
    """Flat schemas are the lightest."""
    name = schema.get("$ref", "#").rpartition("/")[2]
    text = str(root["$defs"][name] if name != "#" else schema)
    return "$ref" in text, len(text)


def _of_type(draw: st.DrawFn, kind: str, schema: Schema, root: Schema, depth: int) -> Any:
    match kind:
        case "null":
            return None
        case "boolean":
            return draw(st.booleans())
        case "integer" | "number":
            return draw(_numbers(schema))
        case "string":
            if "pattern" in schema:
                return draw(st.from_regex(schema["pattern"], alphabet=st.characters(codec="ascii")))
            texts = st.text("abc é", min_size=schema.get("minLength", 0), max_size=schema.get("maxLength", 8))
            return draw(_FORMATS.get(schema.get("format", ""), texts))
        case "array":
            low = schema.get("minItems", 0)
            high = min(schema.get("maxItems", 3), low if depth > 4 else max(low, 3))
            return [_written(draw, schema["items"], root, depth + 1) for _ in range(draw(st.integers(low, high)))]
        case _:
            required: list[str] = schema.get("required", [])
            members: dict[str, Schema] = schema["properties"]
            given = [n for n in members if n in required or (depth <= 4 and draw(st.booleans()))]
            made = {name: _written(draw, members[name], root, depth + 1) for name in given}
            if "further members" in members.get("additional", {}).get("description", ""):
                made["additional"] = [p for p in made["additional"] if p["key"] not in members]
            return made


def _numbers(schema: Schema) -> Values:
    low = schema.get("minimum", schema.get("exclusiveMinimum", -100) + ("exclusiveMinimum" in schema))
    high = schema.get("maximum", schema.get("exclusiveMaximum", low + 200) - ("exclusiveMaximum" in schema))
    step = schema.get("multipleOf", 1)
    return st.integers(-int(-low // step), int(high // step)).map(lambda n: n * step)


# ---------------------------------------------------------------------------------------------- schemas from elsewhere

_NAMES = st.sampled_from(["a", "b", "kind", "key", "item_1", "omit", "größe", "x y", "additional", "entries"])
_VALUES: Values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 300)
    | st.sampled_from([0.5, -1.0])
    | st.sampled_from(["a", "omit", ""]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(_NAMES, inner, max_size=2),
    max_leaves=3,
)
_TYPES = ["object", "array", "string", "number", "integer", "boolean", "null"]
_COUNTS = st.integers(0, 3)
_REFS = st.sampled_from(["#", "#/$defs/A", "#/$defs/B", "#/definitions/C", "#/properties/a", "#/nowhere", "http://x/y"])


def _keywords(inner: Values, members: Values) -> Values:
    """Keywords of a schema, also with values of wrong kinds."""
    odd = _VALUES
    some = st.lists(inner, min_size=1, max_size=3)
    return st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(_TYPES)
            | st.lists(st.sampled_from(_TYPES), min_size=1, max_size=3, unique=True)
            | odd,
            "title": st.just("A title") | odd,
            "description": st.just("words") | odd,
            "default": _VALUES,
            "properties": members | odd,
            "required": st.lists(_NAMES, max_size=2) | odd,
            "additionalProperties": st.booleans() | inner | odd,
            "patternProperties": st.dictionaries(st.sampled_from(["^x", "["]), inner, max_size=1) | odd,
            "propertyNames": inner,
            "items": inner | st.booleans() | st.lists(inner, max_size=2) | odd,
            "prefixItems": some | odd,
            "anyOf": some | odd,
            "oneOf": some | odd,
            "allOf": some | odd,
            "not": inner | odd,
            "if": inner,
            "enum": st.lists(_VALUES, min_size=1, max_size=3) | odd,
            "const": _VALUES,
            "$ref": _REFS | odd,
            "minimum": _COUNTS | odd,
            "exclusiveMaximum": _COUNTS | st.booleans() | odd,
            "multipleOf": st.integers(1, 3) | odd,
            "minLength": _COUNTS | odd,
            "maxLength": _COUNTS | odd,
            "pattern": st.sampled_from(["^a", r"(?=b)", r"\bx", "[", "a{1,5000}"]) | odd,
            "format": st.sampled_from(["date", "uri", "path"]) | odd,
            "minItems": _COUNTS | odd,
            "maxItems": _COUNTS | odd,
            "uniqueItems": st.booleans() | odd,
            "minProperties": _COUNTS | odd,
            "dependentRequired": st.dictionaries(_NAMES, st.lists(_NAMES, max_size=2), max_size=1) | odd,
            "nullable": st.booleans(),
            "discriminator": st.just({"propertyName": "kind"}) | odd,
            "dependencies": st.dictionaries(_NAMES, st.lists(_NAMES, max_size=2) | inner, max_size=1) | odd,
            "examples": st.lists(_VALUES, max_size=2) | odd,
            "x-anything": _VALUES,
            "$comment": _VALUES,
            "contentSchema": inner | odd,
        },
    )


def _few(keywords: Values) -> Values:
    """Not all of the keywords at once."""
    return st.tuples(keywords, st.sets(st.integers(0, 8), min_size=1, max_size=4)).map(
        lambda drawn: {k: v for i, (k, v) in enumerate(drawn[0].items()) if i % 9 in drawn[1]}
    )


def foreign_schemas() -> Values:
    """Schemas of any draft, nested, with references that may lead nowhere or in circles."""
    plain: Values = st.sampled_from(
        [{"type": t} for t in _TYPES] + [True, False, {}, {"const": "a"}, {"$ref": "#/$defs/A"}]
    )
    schemas = st.recursive(
        plain,
        lambda inner: _few(_keywords(inner, st.dictionaries(_NAMES, inner, max_size=3))),
        max_leaves=6,
    )
    root = st.fixed_dictionaries(
        {"type": st.just("object"), "properties": st.dictionaries(_NAMES, schemas, max_size=3)},
        optional={
            "required": st.lists(_NAMES, max_size=2),
            "additionalProperties": st.booleans(),
            "anyOf": st.lists(schemas, min_size=1, max_size=2),
        },
    )
    whole = st.one_of(root, root, root, schemas.filter(lambda s: isinstance(s, dict)))
    defs = st.fixed_dictionaries({"A": schemas, "B": schemas})
    return st.tuples(whole, defs, schemas).map(lambda d: {**d[0], "$defs": d[1], "definitions": {"C": d[2]}})


def _tame_objects(inner: Values, names: Values) -> Values:
    """Closed objects; some members required."""
    members = st.dictionaries(names, inner, min_size=1, max_size=3)
    return st.tuples(members, st.integers(0, 7)).map(
        lambda d: {
            "type": "object",
            "properties": d[0],
            "required": [n for i, n in enumerate(d[0]) if d[1] >> i & 1],
            "additionalProperties": False,
        }
    )


def _tame(inner: Values) -> Values:
    plain = st.sampled_from(["a", "b", "kind", "key", "item_1", "omit", "additional", "entries"])
    described = st.fixed_dictionaries(
        {"$ref": st.sampled_from(["#/$defs/A", "#/definitions/C"]), "description": st.just("It.")}
    )
    bounded = st.fixed_dictionaries({"$ref": st.just("#/$defs/A"), "minimum": st.just(2)})
    alternatives = st.lists(inner, min_size=2, max_size=3)
    return st.one_of(
        _tame_objects(inner, plain),
        described,
        bounded,
        inner.map(lambda s: {"type": "array", "items": s}),
        inner.map(lambda s: {"type": "object", "additionalProperties": s}),
        st.lists(inner, min_size=1, max_size=2).map(lambda s: {"type": "array", "prefixItems": s, "items": False}),
        st.tuples(inner, inner).map(lambda s: {"type": "array", "prefixItems": [s[0]], "items": s[1], "minItems": 1}),
        alternatives.map(lambda s: {"anyOf": s}),
        alternatives.map(lambda s: {"allOf": [{"anyOf": s}, {"description": "Both."}]}),
        st.tuples(_tame_objects(inner, plain), inner).map(
            lambda s: {"allOf": [{k: v for k, v in s[0].items() if k != "additionalProperties"},
                                 {"properties": {"more": s[1]}}], "unevaluatedProperties": False}
        ),
        st.tuples(_tame_objects(inner, plain), inner).map(lambda s: {**s[0], "additionalProperties": s[1]}),
    )  # fmt: skip


def tame_schemas() -> Values:
    """Schemas from elsewhere that say what they mean, so that strict forms exist for most of them."""
    scalars: Values = st.sampled_from(
        [
            {"type": "string"},
            {"type": "integer", "minimum": 1},
            {"type": ["number", "null"]},
            {"type": ["string", "integer"]},
            {"type": ["boolean", "array"], "items": {"type": "string"}},
            {"enum": ["a", 1, None]},
            {"const": "omit"},
            {"type": ["string", "null"], "enum": ["x", "y", None]},
            {"type": "null"},
            {"type": "boolean", "default": True},
            {"allOf": [{"type": "integer"}, {"maximum": 9}]},
            {"type": "number", "exclusiveMinimum": 0},
        ]
    )
    schemas = st.recursive(scalars, _tame, max_leaves=5)
    roots = _tame_objects(schemas, st.sampled_from(["a", "b", "c"]))
    a = st.sampled_from([{"type": "integer"}, {"type": ["integer", "null"], "maximum": 50}])
    c = st.sampled_from(
        [
            {
                "type": "object",
                "properties": {"x": {"$ref": "#/definitions/C"}, "y": {"type": "string"}},
                "additionalProperties": False,
            },
            {"enum": ["a", "b"]},
        ]
    )
    return st.tuples(roots, a, c).map(lambda d: {**d[0], "$defs": {"A": d[1]}, "definitions": {"C": d[2]}})
