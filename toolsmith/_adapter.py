"""One pydantic adapter for all parameters of a function, and the schema that says what it takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, NotRequired, cast, get_args, get_origin

from pydantic import ConfigDict, TypeAdapter
from pydantic_core import SchemaError
from typing_extensions import TypedDict

from toolsmith._neutral import Doubts, NeutralSchema

Json = dict[str, Any]


class NothingButNull(TypeError):
    """A type of which JSON can carry null and nothing else."""


@dataclass(frozen=True, slots=True, eq=False)
class Built:
    """A TypedDict's adapter, the schema of what it accepts, and where the two may part ways."""

    adapter: TypeAdapter[Any]
    schema: Json
    doubts: Doubts


def build(name: str, hints: Mapping[str, Any]) -> Built:
    """Make adapter and schema of a TypedDict with these fields.

    Raises:
        NothingButNull: pydantic would drop from a union what JSON lacks, and only null is left.
        Exception: pydantic's own, for types that it cannot take or describe; what a type's own hooks raise.
    """
    adapter = _adapter(name, hints)
    generator = NeutralSchema()
    schema = generator.generate(adapter.core_schema)
    if any(
        shown == {"type": "null"} and not _means_null(hint)
        for shown, hint in zip(schema["properties"].values(), hints.values(), strict=True)
    ):
        raise NothingButNull
    return Built(adapter, schema, generator.doubts)


def _adapter(name: str, hints: Mapping[str, Any]) -> TypeAdapter[Any]:
    arguments = cast("Any", TypedDict)(name, dict(hints))
    arguments.__pydantic_config__ = ConfigDict(extra="forbid")
    try:
        return TypeAdapter(arguments)
    except SchemaError as error:
        if "look-around" not in str(error) and "backreference" not in str(error):
            raise
        # The usual engine is quicker and cannot be made to hang, but knows neither.
        arguments.__pydantic_config__ = ConfigDict(extra="forbid", regex_engine="python-re")
        return TypeAdapter(arguments)


def _means_null(hint: Any) -> bool:
    while get_origin(hint) in {NotRequired, Annotated}:
        hint = get_args(hint)[0]
    return hint is None or hint is type(None)
