"""Schemas in which an author put keywords of JSON Schema beside the types: `WithJsonSchema`, `json_schema_extra`."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from pydantic_core import ValidationError

from toolsmith._arguments.refusals import kind_of
from toolsmith._arguments.shapes import JsonType, Shapes, closed_set, dict_of
from toolsmith._derive.judge import package
from toolsmith._derive.words import Unfit
from toolsmith.errors import DefinitionWarning

if TYPE_CHECKING:
    from toolsmith._derive.adapter import Built
    from toolsmith._derive.signature import Parameter, Reading

_SAMPLES: Final[Mapping[JsonType, Any]] = {
    "boolean": True,
    "integer": 1,
    "number": 1.5,
    "string": "a",
    "array": [],
    "object": {},
}


def confirm(schema: Mapping[str, Any]) -> None:
    """See to it that it still is a JSON Schema, by which arguments can be judged.

    Raises:
        Unfit: it is none.
    """
    jsonschema = package()
    try:
        jsonschema.Draft202012Validator.check_schema(schema)
    except jsonschema.SchemaError as error:
        at = ".".join(str(part) for part in error.path if part not in {"properties", "value"})
        raise Unfit(
            f"whose WithJsonSchema or json_schema_extra makes no JSON Schema (draft 2020-12): {error.message}"
            f"{f', at {at}' if at else ''}. Correct it, or leave it away"
        ) from None


def warn_of_contradictions(reading: Reading, parameters: Sequence[Parameter], built: Built, level: int) -> None:
    """Warn of parameters for which the schema asks for what the type refuses, whatever a model sends.

    Args:
        level: how many frames up the author's code is.
    """
    shapes = Shapes(built.schema)
    for name, parameter in zip(built.schema["properties"], parameters, strict=True):
        node = dict_of(built.schema["properties"][name])
        values = closed_set(node) or [_SAMPLES[t] for t in sorted(shapes.types(node)) if t in _SAMPLES]
        if values and all(_of_another_kind(built, name, value, closed_set(node) is not None) for value in values):
            warnings.warn(
                f"{reading.place.of_parameter(parameter.name)}: the schema of parameter {parameter.name!r} of "
                f"{reading.name!r} asks for what its type refuses ({json.dumps(node, default=str)}), so that a model "
                "is refused whatever it sends. Let the type take what WithJsonSchema or json_schema_extra says, with a "
                "BeforeValidator for one; or leave that away.",
                DefinitionWarning,
                stacklevel=level + 1,
            )


def _of_another_kind(built: Built, name: str, value: Any, listed: bool) -> bool:
    """Whether the validator refuses a value for its type; of one that the schema lists, also for what it is."""
    try:
        built.adapter.validator.validate_json(json.dumps({name: value}), strict=not built.doubts.lax)
    except ValidationError as error:
        kinds = [kind_of(one["type"])[0] for one in error.errors(include_url=False) if one["loc"][:1] == (name,)]
        return bool(kinds) and all(kind == "type" or (listed and kind == "value") for kind in kinds)
    except Exception:  # noqa: BLE001 - a validator of the author's own may raise anything
        return False
    return False
