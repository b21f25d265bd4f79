"""From a function to its schema, its validator and the way to call it: one reading of its types for all three.

The parameters become one functional `TypedDict`, `NotRequired` where a call may leave one out, in one pydantic
`TypeAdapter`. What the schema says and what the validator takes come from that one object; a default is told to the
model but applied by Python, since an absent argument stays absent.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NotRequired, cast, get_args, get_origin

from pydantic import AfterValidator, Field, TypeAdapter
from pydantic.errors import PydanticUndefinedAnnotation
from pydantic.fields import FieldInfo
from pydantic_core import PydanticSerializationError

from toolsmith._dataclass import dataclass
from toolsmith._derive import docstring
from toolsmith._derive.adapter import Built, build
from toolsmith._derive.annotations import Scope
from toolsmith._derive.binding import Binder
from toolsmith._derive.inlining import inline
from toolsmith._derive.judged import Judged, Plain
from toolsmith._derive.lexical import names_at_hand
from toolsmith._derive.misfits import misfits
from toolsmith._derive.neutral import is_finite
from toolsmith._derive.signature import EMPTY, UNPACK, VAR_KEYWORD, VAR_POSITIONAL, Parameter, Reading
from toolsmith._derive.standins import NoStandIn, stand_in
from toolsmith._derive.words import sentences, words_for
from toolsmith.errors import DefinitionError, DefinitionWarning

Json = dict[str, Any]


class Deferred(Exception):
    """A type that an annotation names is defined only further down in the module."""


@dataclass(frozen=True, slots=True, eq=False)
class Signature:
    """A function as a tool.

    Attributes:
        schema: neutral JSON Schema (draft 2020-12) of the arguments: an object, closed, without titles.
        description: what the docstring says, without its parameters.
        validator: takes JSON text, gives values by parameter name.
        binder: calls the function with them.
        context_parameter: the name of the parameter that is handed the `RunContext`, None where there is none.
    """

    schema: Json
    description: str
    validator: Plain | Judged
    binder: Binder
    context_parameter: str | None


def derive(
    reading: Reading, *, description: str | None = None, strict_docs: bool = False, problems: Sequence[str] = ()
) -> Signature:
    """Make the schema, the validator and the binder of a function.

    Args:
        reading: what `_signature.read` gave.
        description: instead of what the docstring says.
        strict_docs: a docstring entry for a parameter that is not there is an error, not a warning.
        problems: what else is wrong with this tool, to be told in the same breath.

    Raises:
        DefinitionError: why this function cannot be a tool; every problem at once.
        Deferred: a type is not defined yet.
    """
    found = [*problems, *reading.problems]
    doc = docstring.parse(reading.doc, reading.documented)
    found += _stale(reading, doc, strict_docs)
    parameters = [p for p in reading.parameters if not p.is_context]
    scope = Scope(reading.function, reading.call)
    with names_at_hand(scope.at_hand):
        hints = _hints(reading, parameters, found)
    if reading.deferred is not None and not found:
        raise Deferred(reading.deferred)
    built = None if found else _attempt(reading, hints, scope)
    if built is None:
        # The whole failed, or must not be: find out which parameters are to blame, all of them.
        raise DefinitionError(found + misfits(reading, hints, scope, known=bool(found)))
    adapter, schema, doubts = built.adapter, built.schema, built.doubts
    _tell(built, parameters, _docs(doc.params, reading))
    if built.overridden:
        from toolsmith._derive.overrides import warn_of_contradictions

        warn_of_contradictions(reading, parameters, built, _author())
    contexts = [p.name for p in reading.parameters if p.is_context]
    validator = Judged(cast("Any", adapter.validator), schema, doubts) if doubts else Plain(adapter)
    return Signature(
        schema=inline(schema),
        description=doc.text if description is None else description,
        validator=validator,
        binder=Binder(reading.parameters),
        context_parameter=contexts[0] if contexts else None,
    )


def _stale(reading: Reading, doc: docstring.Doc, strict_docs: bool) -> list[str]:
    if reading.doc_of_class or reading.problems:
        return []
    stale = [name for name in doc.params if name not in reading.documented]
    if not stale or any(p.kind is VAR_KEYWORD for p in reading.parameters):
        return []
    names = " and ".join(repr(n) for n in stale)
    has = ", ".join(p.name for p in reading.parameters if not p.is_context) or "none"
    text = (
        f"{reading.place}: the docstring of {reading.name!r} describes {names}, but the function has no such parameter "
        f"(it has: {has}). Rename or remove that entry: what it says reaches no model."
    )
    if strict_docs:
        return [text]
    warnings.warn(text, DefinitionWarning, stacklevel=_author())
    return []


def _docs(entries: Mapping[str, str], reading: Reading) -> Mapping[str, str]:
    """Texts by parameter. What the docstring says of the keys of `**kwargs` is told there."""
    keys = [name for name in entries if name not in reading.documented]
    others = next((p.name for p in reading.parameters if p.kind is VAR_KEYWORD), None)
    if not keys or others is None:
        return entries
    said = [entries[others]] if others in entries else []
    return {**entries, others: "\n".join([*said, *(f"{name}: {entries[name]}" for name in keys)])}


def _hints(reading: Reading, parameters: list[Parameter], problems: list[str]) -> dict[str, Any]:
    """The fields of the TypedDict."""
    hints: dict[str, Any] = {}
    taken = sorted(reading.reserved)
    for parameter in parameters:
        try:
            hints[parameter.name] = _hint(parameter, taken)
        except Exception as error:  # noqa: BLE001 - NoStandIn says it all; hints of a class may run anybody's code
            place = reading.place.of_parameter(parameter.name)
            what = str(error) if isinstance(error, NoStandIn) else f"{type(error).__name__}: {error}"
            problems.append(f"{place}: parameter {parameter.name!r} of {reading.name!r} cannot be described: {what}.")
    return hints


def _hint(parameter: Parameter, taken: list[str]) -> Any:
    annotation = parameter.annotation
    if parameter.kind is VAR_POSITIONAL:
        unpacked = get_origin(annotation) in UNPACK
        return stand_in(get_args(annotation)[0]) if unpacked else NotRequired[list[stand_in(annotation)]]
    hint = stand_in(annotation)
    if parameter.kind is VAR_KEYWORD:
        return NotRequired[dict[_free_name(taken), hint] if taken else dict[str, hint]]
    default = parameter.default
    if isinstance(default, FieldInfo):
        hint = Annotated[hint, default]
    own = _field_default(hint)
    if own is not None and default is not EMPTY and not isinstance(default, FieldInfo):
        hint = Annotated[hint, Field(default=default)]  # Python's default wins over one in Annotated[..., Field()]
    required = own.is_required() if own is not None and not parameter.optional else not parameter.optional
    if isinstance(default, FieldInfo):
        required = default.is_required()
    return hint if required else NotRequired[hint]


def _field_default(hint: Any) -> FieldInfo | None:
    """The `Field` in an annotation that brings a default along."""
    for metadata in getattr(hint, "__metadata__", ()):
        if isinstance(metadata, FieldInfo) and not metadata.is_required():
            return metadata
    return None


def _free_name(taken: list[str]) -> Any:
    """The keys that `**kwargs` may have: Python would take another parameter's name for that parameter."""

    def free(name: str) -> str:
        if name in taken:
            raise ValueError(f"`{name}` is itself an argument of this function and cannot be given here")
        return name

    return Annotated[str, AfterValidator(free), Field(json_schema_extra={"not": {"enum": list(taken)}})]


def _attempt(reading: Reading, hints: Mapping[str, Any], scope: Scope) -> Built | None:
    try:
        return build(reading.name, hints, scope)
    except PydanticUndefinedAnnotation as error:
        # A class that one of the types names in turn may still come, further down.
        if reading.final or error.name is None or not scope.expects(error.name):
            return None
        raise Deferred(error.name) from None
    except Exception:  # noqa: BLE001 - types may run anybody's code; `misfits` finds out whose, and says so
        return None


# ---- what the model is told beside the types


def _tell(built: Built, parameters: Sequence[Parameter], docs: Mapping[str, str]) -> None:
    """Add descriptions and defaults to the properties, which stand in the order of the parameters."""
    properties: Json = built.schema["properties"]
    for key, parameter in zip(properties, parameters, strict=True):
        shown: Json = properties[key]
        words = shown.pop("description", "") or _annotated_text(parameter.annotation) or docs.get(parameter.name, "")
        if key in built.told:
            words = sentences(words, built.told[key])
        default = parameter.default
        if default is not EMPTY and not isinstance(default, FieldInfo) and "default" not in shown:
            words = _tell_default(shown, parameter, words, built.adapter)
        if words:
            # First what it is, then what it means; bounds and the default come after.
            properties[key] = _described(shown, words)


def _described(shown: Json, words: str) -> Json:
    head = {k: shown[k] for k in ("$ref", "type") if k in shown}
    return {**head, "description": words, **{k: v for k, v in shown.items() if k not in head}}


def _annotated_text(annotation: Any) -> str:
    """What `Annotated[int, "how many"]` or `Annotated[int, Doc("how many")]` says."""
    said: tuple[Any, ...] = getattr(annotation, "__metadata__", ())
    for metadata in reversed(said):
        text: Any = metadata if isinstance(metadata, str) else getattr(metadata, "documentation", None)
        if isinstance(text, str) and text.strip():
            return text.strip()
    return ""


def _tell_default(shown: Json, parameter: Parameter, words: str, adapter: TypeAdapter[Any]) -> str:
    """Put the default into the schema where JSON can say it; else add it to the words."""
    default = parameter.default
    if default is None:
        if _takes_null(shown):
            shown["default"] = None
        return words
    if type(default) in {str, int, bool}:
        shown["default"] = default
        return words
    said = words_for(default)
    if not said and not hasattr(default, "get_secret_value"):
        try:
            encoded = adapter.dump_python({parameter.name: default}, mode="json", warnings=False)[parameter.name]
            if is_finite(encoded):
                shown["default"] = encoded
                return words
        except (PydanticSerializationError, TypeError, ValueError, AttributeError, RecursionError):
            pass
    return sentences(words, said or "Default: chosen by the tool.")


def _takes_null(shown: Json) -> bool:
    if not shown.keys() - {"description", "default", "title"}:
        return True
    if shown.get("type") == "null" or None in shown.get("enum", ()):
        return True
    return any(_takes_null(b) for b in shown.get("anyOf", ()))


def _author() -> int:
    """How many frames up the code outside of this package is: that is where a warning points."""
    import inspect

    level = 0
    frame = inspect.currentframe()
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "toolsmith":
        frame = frame.f_back
        level += 1
    return level
