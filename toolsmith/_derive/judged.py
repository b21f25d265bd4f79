"""A validator with a second judge beside it, the neutral schema itself: for types that pydantic takes otherwise."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final, cast, get_origin

from pydantic_core import SchemaValidator, from_json

from toolsmith._dataclass import dataclass
from toolsmith._derive.layout import layout_of

if TYPE_CHECKING:
    from pydantic import TypeAdapter


_ASKING: Final = frozenset(
    (
        *("$ref", "$dynamicRef", "type", "enum", "const", "allOf", "anyOf", "oneOf", "not", "if", "then", "else"),
        *("multipleOf", "maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum", "maxLength", "minLength"),
        *("pattern", "prefixItems", "items", "contains", "maxContains", "minContains", "maxItems", "minItems"),
        *("uniqueItems", "unevaluatedItems", "properties", "patternProperties", "additionalProperties"),
        *("propertyNames", "maxProperties", "minProperties", "required", "dependentRequired", "dependentSchemas"),
        "unevaluatedProperties",
    )
)
"""The keywords of JSON Schema (draft 2020-12) that ask something of a value."""

EXTRA: Final = "pydantic_js_extra"
"""Where pydantic's core has a `json_schema_extra`."""
_FUNCTIONS: Final = "pydantic_js_annotation_functions"
_STEPS: Final = {
    "default": "schema",
    "nullable": "schema",
    "list": "items_schema",
    "set": "items_schema",
    "frozenset": "items_schema",
    "dict": "values_schema",
    "function-before": "schema",
    "function-after": "schema",
    "function-wrap": "schema",
}


def asks(extra: Any) -> bool:
    """Whether a `json_schema_extra` asks something of a value; nobody knows that of a function."""
    return bool(extra) and not (isinstance(extra, dict) and _ASKING.isdisjoint(cast("dict[str, Any]", extra)))


def overridden(core: Any) -> bool:
    """Whether an author put keywords into the schema of a type, which knows nothing of them; classes aside."""
    while True:
        metadata: Any = core.get("metadata")
        if metadata and (EXTRA in metadata or _FUNCTIONS in metadata) and _asking(metadata, core):
            return True
        step = _STEPS.get(core["type"])
        if step is None or step not in core:
            break
        core = core[step]
    held: Any = core["choices"] if core["type"] == "union" else core["items_schema"] if core["type"] == "tuple" else ()
    return any(overridden(cast("Any", one)[0] if isinstance(one, tuple) else one) for one in held) if held else False


def _asking(metadata: Any, core: Any) -> bool:
    if any(type(getattr(f, "__self__", None)).__name__ == "WithJsonSchema" for f in metadata.get(_FUNCTIONS, ())):
        return True
    function: Any = core.get("function", {}).get("function")
    ours = (getattr(function, "__module__", None) or "").startswith("toolsmith.")  # says what it checks
    return not ours and asks(metadata.get("pydantic_js_extra"))


@dataclass(slots=True)
class Doubts:
    """Where pydantic's strict mode and the schema part ways.

    Attributes:
        always: the validator takes what the schema does not: judge each call by the schema too.
        booleans: only `true` where 1 is meant, or the like: judge the calls in which a boolean occurs.
        lax: a validator of the author's own runs before pydantic's; strict mode would then refuse text for dates and
            arrays for sets. The schema is as strict, so let the schema be.
        open: a model that takes extra keys lies within; forbidding them on all models would close it.
        json: a string that holds JSON lies within (`Json[...]`); pydantic reads NaN and infinities in it.
        lazy: an `Iterable` lies within, whose items pydantic would look at only while the function reads them.
    """

    always: bool = False
    booleans: bool = False
    lax: bool = False
    open: bool = False
    json: bool = False
    lazy: bool = False

    def __bool__(self) -> bool:
        return self.always or self.booleans or self.lax or self.open or self.json or self.lazy


class Plain:
    """Strict, and closed to unknown keys at every depth. The usual case: nothing to doubt.

    Attributes:
        layout: where names and numbers stand, if the values tell all about the text that they were made of.
    """

    __slots__ = ("_validate", "layout")

    def __init__(self, adapter: TypeAdapter[Any]) -> None:
        self._validate = cast("SchemaValidator", adapter.validator).validate_json
        self.layout = layout_of(cast("Any", adapter.core_schema))

    def validate_json(self, data: bytes, /, *, strict: bool | None = None) -> Any:
        """The values that a JSON text stands for.

        Raises:
            ValidationError: the validator does not accept them.
        """
        return self._validate(data, strict=True, extra="forbid")


class Judged:
    """Accepts what the schema and the validator both accept."""

    def __init__(self, validator: SchemaValidator, schema: Mapping[str, Any], doubts: Doubts) -> None:
        self._schema = schema
        self._json = doubts.json
        self._always = doubts.always or doubts.lax or doubts.open or doubts.lazy
        self._lazy = doubts.lazy
        # What is forbidden or lax here has been judged by the schema before.
        self._validate = partial(
            validator.validate_json, strict=not doubts.lax, extra=None if doubts.open else "forbid"
        )

    @cached_property
    def _judge(self) -> Any:
        from toolsmith._derive.judge import judge

        return judge(self._schema, formats=False)  # of formats the validator knows more

    def validate_json(self, data: bytes, /, *, strict: bool | None = None) -> Any:
        """The values that a JSON text stands for.

        Raises:
            Refused: the schema does not accept them.
            ValidationError: the validator does not accept them.
        """
        if self._json:
            self._look_inside(from_json(data))
        if self._always or b"true" in data or b"false" in data:
            value = from_json(data)
            if not self._judge.is_valid(value):
                from toolsmith._arguments.refusals import Refused
                from toolsmith._derive.judge import judged

                raise Refused(judged(self._judge, value))
        values = self._validate(data)
        return _read_out(values) if self._lazy else values

    def _look_inside(self, value: Any) -> None:
        """See to it that strings that hold JSON hold what is read in one way only, and finite numbers."""
        from toolsmith._arguments.jsontext import Parsed, parse
        from toolsmith._arguments.refusals import Refusal, Refused, node_at
        from toolsmith._arguments.shapes import Shapes

        found: list[Refusal] = []
        shapes = Shapes(self._schema)
        for path, text in _texts(value, ()):
            read = parse(text)
            if isinstance(read, Parsed) and not read.infinite and not read.repairs and text.strip():
                continue
            parts = shapes.parts(node_at(shapes, path, value))
            if any(isinstance(p, Mapping) and p.get("contentMediaType") == "application/json" for p in parts):
                found.append(Refusal(path, "format", text, False))
        if found:
            raise Refused(found)


def _read_out(value: Any) -> Any:
    """Values with lists in place of what pydantic validates only while it is read, and only once.

    A `Generator` stays what `next` can be called on.
    """
    kind = value.__class__
    if kind.__name__ == "ValidatorIterator":
        return [_read_out(item) for item in value]
    if kind is list:
        return [_read_out(item) for item in value]
    fields: Mapping[str, Any] = getattr(kind, "model_fields", {})
    members: Any = value if kind is dict else getattr(value, "__dict__", {})
    for name in members if kind is dict or fields or hasattr(kind, "__dataclass_fields__") else ():
        member = _read_out(members[name])
        once = name in fields and get_origin(fields[name].annotation) is Generator
        members[name] = iter(member) if once and member is not members[name] else member
    return value


def _texts(value: Any, path: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], str]]:
    match value:
        case str():
            yield path, value
        case dict():
            for name, member in cast("dict[str, Any]", value).items():
                yield from _texts(member, (*path, name))
        case list():
            for index, item in enumerate(cast("list[Any]", value)):
                yield from _texts(item, (*path, index))
        case _:
            pass
