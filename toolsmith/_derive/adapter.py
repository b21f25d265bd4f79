"""One pydantic adapter for all parameters of a function, and the schema that says what it takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, NotRequired, cast, get_args, get_origin

from pydantic import ConfigDict, TypeAdapter
from pydantic.errors import PydanticInvalidForJsonSchema, PydanticUndefinedAnnotation
from pydantic_core import SchemaError
from typing_extensions import TypedDict

from toolsmith._dataclass import dataclass
from toolsmith._derive.annotations import Scope, Unresolved
from toolsmith._derive.judged import Doubts
from toolsmith._derive.neutral import NeutralSchema
from toolsmith._derive.words import Unfit

Json = dict[str, Any]


class NothingButNull(TypeError):
    """A type of which JSON can carry null and nothing else."""


@dataclass(frozen=True, slots=True, eq=False)
class Built:
    """A TypedDict's adapter, the schema of what it accepts, and where the two may part ways.

    Attributes:
        overridden: whether the schema has keywords that its author put in, of which the types know nothing.
        told: by field what its description has to say beside the words of its author.
    """

    adapter: TypeAdapter[Any]
    schema: Json
    doubts: Doubts
    told: Mapping[str, str]
    overridden: bool = False


def build(name: str, hints: Mapping[str, Any], scope: Scope | None = None) -> Built:
    """Make adapter and schema of a TypedDict with these fields.

    Args:
        scope: where names are looked for that the types themselves have in their own fields.

    Raises:
        PydanticUndefinedAnnotation: such a name cannot be found.
        Unfit: metadata asks for what cannot be held.
        NothingButNull: pydantic would drop from a union what JSON lacks, and only null is left.
        Exception: pydantic's own, for types that it cannot take or describe; what a type's own hooks raise.
    """
    adapter, names = _adapter(name, hints, scope)
    generator = NeutralSchema()
    schema = generator.generate(adapter.core_schema)
    if generator.bounds:
        from toolsmith._derive.bounds import rebound

        adapter.core_schema, adapter.validator = rebound(adapter.core_schema)
        generator = NeutralSchema()
        schema = generator.generate(adapter.core_schema)
    if generator.overridden:
        from toolsmith._derive.overrides import confirm

        confirm(schema)
    if generator.impossible:
        raise PydanticInvalidForJsonSchema(f"Cannot generate a JsonSchema for {generator.impossible}")
    for model in generator.models:
        # So that the function can make one, and its result be shown: pydantic does this itself at a first use.
        if not model.__pydantic_complete__:
            model.model_rebuild(raise_errors=False, _types_namespace=names)
    if len(schema["properties"]) != len(hints):
        raise Unfit(
            "which SkipJsonSchema hides from the schema, so that no model could know of it. Leave SkipJsonSchema away "
            "to let the model send it; or let it be handed in: by RunContext[...] for what a run brings along, by "
            "functools.partial for what never changes."
        )
    if any(
        shown == {"type": "null"} and not _means_null(hint)
        for shown, hint in zip(schema["properties"].values(), hints.values(), strict=True)
    ):
        raise NothingButNull
    return Built(adapter, schema, generator.doubts, generator.told, generator.overridden)


def _adapter(name: str, hints: Mapping[str, Any], scope: Scope | None) -> tuple[TypeAdapter[Any], Json]:
    arguments = cast("Any", TypedDict)(name, dict(hints))
    arguments.__pydantic_config__ = ConfigDict(extra="forbid", defer_build=True)
    try:
        return _complete(TypeAdapter(arguments), scope)
    except SchemaError as error:
        if "look-around" not in str(error) and "backreference" not in str(error):
            raise
        # The usual engine is quicker and cannot be made to hang, but knows neither.
        arguments.__pydantic_config__ = ConfigDict(extra="forbid", defer_build=True, regex_engine="python-re")
        return _complete(TypeAdapter(arguments), scope)


def _complete(adapter: TypeAdapter[Any], scope: Scope | None) -> tuple[TypeAdapter[Any], Json]:
    """Build an adapter. pydantic would look for names in the frame that calls it, which is one of this package.

    Gives also the names that it had to be told.
    """
    names: Json = {}
    while True:
        try:
            if not adapter.rebuild(force=True, _types_namespace=names):
                raise TypeError("the types that it names in turn are not complete")
            return adapter, names
        except PydanticUndefinedAnnotation as error:
            if scope is None or error.name is None or error.name in names:
                raise
            try:
                names[error.name] = scope.find(error.name)
            except Unresolved:
                raise error from None


def _means_null(hint: Any) -> bool:
    while get_origin(hint) in {NotRequired, Annotated}:
        hint = get_args(hint)[0]
    return hint is None or hint is type(None)
