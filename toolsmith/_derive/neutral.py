"""The neutral JSON Schema (draft 2020-12) of a tool's arguments: closed, without titles, true to the validator.

pydantic's own generator describes some types more loosely, or more tightly, than its validator takes them. Here the
description is brought in line; where JSON Schema alone cannot do that, the generator notes which `Doubts` remain, and
`judged` has arguments judged by the schema as well.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Mapping
from typing import Any, cast

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import PydanticSerializationError, core_schema

from toolsmith._derive.definitions import PREFIX, gather
from toolsmith._derive.enum_docs import member_docs
from toolsmith._derive.exactly import Exactly
from toolsmith._derive.judged import EXTRA, Doubts, asks, overridden
from toolsmith._derive.tags import require_tags
from toolsmith._derive.words import TOLD, Words, sentences, tell, words_for

Json = dict[str, Any]

_INT_KEY = r"^(0|-?[1-9][0-9]*)$"
# Of finite numbers only, so that "1e999" does not arrive as infinity.
_FLOAT = r"(0|[1-9][0-9]{0,199})(\.[0-9]+)?([eE][+-]?[0-9]{1,2})?"
_FLOAT_KEY = rf"^-?{_FLOAT}$"
_COMPLEX = rf"^([+-]?{_FLOAT}|[+-]?({_FLOAT})?[jJ]|[+-]?{_FLOAT}[+-]({_FLOAT})?[jJ])$"


_PLAIN = frozenset({"str", "int", "float", "bool"})


class NeutralSchema(GenerateJsonSchema):
    """Generates one neutral schema.

    Attributes:
        doubts: what it could not settle.
        bounds: there are some that pydantic holds by functions, and that are not yet where they apply.
        overridden: keywords that the author put in, of which the types know nothing.
        told: for the properties of the whole what their descriptions have to say beside the words of their author.
    """

    ignored_warning_kinds = {"skipped-choice", "non-serializable-default", "skipped-discriminator"}  # noqa: RUF012

    def __init__(self) -> None:
        super().__init__()
        self.doubts = Doubts()
        self.models: list[type[BaseModel]] = []
        self._exact = 0
        self.impossible = ""
        self._documented: dict[str, str] = {}
        self.bounds = False
        self.overridden = False
        self.told: dict[str, str] = {}
        self._in_words = False
        self._tagged = False

    def build_schema_type_to_method(self) -> Any:
        # The same table as pydantic's, which looks all names up anew for each schema.
        if not _methods:
            made = cast("dict[Any, Any]", super().build_schema_type_to_method())
            _methods.update((kind, method.__name__) for kind, method in made.items())
        return {kind: getattr(self, name) for kind, name in _methods.items()}

    # What comes in; a model may ask to be described as what goes out. No property, as it is asked for at each type.
    mode = cast("Any", "validation")  # pyright: ignore[reportIncompatibleMethodOverride]

    def get_defs_ref(self, core_mode_ref: Any) -> Any:
        return core_mode_ref[0]  # `gather` names those that are needed

    def generate(self, schema: Any, mode: Any = "validation") -> Json:
        made = self.generate_inner(schema)
        if "$ref" in made:  # all parameters together, which nothing refers to
            made = self.definitions.pop(made["$ref"].removeprefix(PREFIX))
        try:
            gather(made, cast("dict[str, Json]", self.definitions))
        except KeyError:
            self.get_json_ref_counts(made)  # which knows why there is none
            raise
        for name, definition in made.get("$defs", {}).items():
            # pydantic gives an enum its title and description last of all.
            title = definition.get("title", "")
            if "enum" in definition and title and name.endswith(title):
                del definition["title"]
                if said := self._documented.get(title):
                    general = definition.get("description")
                    definition["description"] = f"{general}\n{said}" if general else said
        if self._in_words:
            self.told = {k: v.pop(TOLD) for k, v in made.get("properties", {}).items() if TOLD in v}
            tell(made)
        if self._tagged:
            require_tags(made)
        return made

    def tagged_union_schema(self, schema: core_schema.TaggedUnionSchema) -> Json:
        self._tagged = True
        return super().tagged_union_schema(schema)

    def sort(self, value: Json, parent_key: str | None = None) -> Json:
        return value

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    # ---- objects: closed, unless their author opened them

    def typed_dict_schema(self, schema: core_schema.TypedDictSchema) -> Json:
        return self._closed(super().typed_dict_schema(schema), schema.get("cls"))

    def dataclass_schema(self, schema: core_schema.DataclassSchema) -> Json:
        return self._closed(super().dataclass_schema(schema), schema["cls"])

    def model_schema(self, schema: core_schema.ModelSchema) -> Json:
        made = super().model_schema(schema)
        if hasattr(schema["cls"], "__pydantic_complete__"):
            self.models.append(schema["cls"])
        config = schema["cls"].model_config
        if config.get("populate_by_name") or config.get("validate_by_name"):
            self.doubts.always = True  # the schema names the alias only
        return self._closed(made, schema["cls"])

    def _closed(self, made: Json, cls: type[Any] | None) -> Json:
        if cls is not None:
            config: dict[str, Any] = (
                getattr(cls, "model_config", None) or getattr(cls, "__pydantic_config__", None) or {}
            )
            if "json_schema_extra" in config and asks(config["json_schema_extra"]):
                self._note_override()
            if made.get("title") == cls.__name__ and not config.get("title"):
                del made["title"]
        if made.get("type") == "object" and "properties" in made:
            if made.get("additionalProperties", False) is False:
                made["additionalProperties"] = False
            else:
                self.doubts.open = True
        return made

    def typed_dict_field_schema(self, schema: core_schema.TypedDictField) -> Json:
        self._note_field(schema)
        return super().typed_dict_field_schema(schema)

    def model_field_schema(self, schema: core_schema.ModelField) -> Json:
        self._note_field(schema)
        return super().model_field_schema(schema)

    def dataclass_field_schema(self, schema: core_schema.DataclassField) -> Json:
        self._note_field(schema)
        return super().dataclass_field_schema(schema)

    def _note_override(self) -> None:
        self.overridden = self.doubts.always = True

    def _note_field(self, schema: Any) -> None:
        core: Any = schema["schema"]
        if (core["type"] not in _PLAIN or "metadata" in core) and overridden(core):
            self._note_override()
        if EXTRA in schema.get("metadata", ()) and asks(schema["metadata"][EXTRA]):
            self._note_override()
        alias: Any = schema.get("validation_alias")
        if not isinstance(alias, list):
            return
        self.doubts.always = True  # AliasChoices: the schema names the first one only
        first = cast("list[Any]", alias[0] if isinstance(alias[0], list) else alias)
        if len(first) > 1:  # AliasPath; the schema would ask for the field under its own name
            path = ".".join(map(str, first))
            self.impossible = self.impossible or f"a field that is read from a path, {path} (nest a model there)"

    def named_tuple_schema(self, schema: core_schema.NamedTupleSchema) -> Json:
        # The validator takes an object, which tells a model the names, and an array as well.
        array = super().named_tuple_schema(schema)
        names = [f["name"] for f in schema["fields"]]
        named: Json = {"type": "object", "properties": dict(zip(names, array.get("prefixItems", ()), strict=True))}
        if required := names[: array.get("minItems", 0)]:
            named["required"] = required
        named["additionalProperties"] = False
        return {"anyOf": [named, array]}

    # ---- values

    def enum_schema(self, schema: core_schema.EnumSchema) -> Json:
        cls = cast("type[enum.Enum]", schema["cls"])
        members = list({id(m): m for m in schema["members"]}.values())  # an alias is the same member again
        made = super().enum_schema({**schema, "members": members})
        if schema.get("missing") is not None:
            self.doubts.always = True
        self._note_numbers(made["enum"])
        if docs := member_docs(cls):
            self._documented[cls.__name__] = "\n".join(f"{v}: {docs[n]}" for n, v in _values(cls) if n in docs)
        return made

    def literal_schema(self, schema: core_schema.LiteralSchema) -> Json:
        if any(isinstance(v, bytes) for v in schema["expected"]):
            return self.handle_invalid_for_json_schema(schema, "bytes in a Literal")
        for member in () if self._exact or self.doubts.lax else schema["expected"]:
            # pydantic wants the member itself there, unless it is a text or a number too or a validator makes it one.
            if isinstance(member, enum.Enum) and not isinstance(member, (str, int, float)):
                kind = type(member).__name__
                way = f"derive {kind} from str as well, or write the values instead of the members"
                # Of a union pydantic would only leave this branch out.
                self.impossible = self.impossible or f"{member} in the Literal of a field ({way})"
        made = super().literal_schema(schema)
        self._note_numbers(made["enum"] if "enum" in made else [made["const"]])
        return made

    def _note_numbers(self, values: list[Any]) -> None:
        if self._exact:
            return
        if any(isinstance(v, bool) for v in values):
            self.doubts.always = True
        elif any(isinstance(v, (int, float)) for v in values):
            self.doubts.booleans = True

    def set_schema(self, schema: core_schema.SetSchema) -> Json:
        return self._unordered(super().set_schema(schema))

    def frozenset_schema(self, schema: core_schema.FrozenSetSchema) -> Json:
        return self._unordered(super().frozenset_schema(schema))

    def _unordered(self, made: Json) -> Json:
        """Duplicates merge, so that they are no error; but where items are counted, merged ones would count twice."""
        if "minItems" in made or "maxItems" in made:
            self.doubts.always = True
        else:
            made.pop("uniqueItems", None)
        return made

    def generator_schema(self, schema: core_schema.GeneratorSchema) -> Json:
        self.doubts.lazy = True
        return super().generator_schema(schema)

    def dict_schema(self, schema: core_schema.DictSchema) -> Json:
        return self._keyed(super().dict_schema(schema), schema)

    def ordered_dict_schema(self, schema: core_schema.OrderedDictSchema) -> Json:
        return self._keyed(super().ordered_dict_schema(schema), schema)

    def counter_schema(self, schema: core_schema.CounterSchema) -> Json:
        return self._keyed(super().counter_schema(schema), schema)

    def _keyed(self, made: Json, schema: Any) -> Json:
        """Say what keys look like where they are more than text: pydantic reads "01", " 1" and "1.0" as the key 1."""
        for pattern, held in made.pop("patternProperties", {}).items():
            # pydantic leaves an object open to the keys that do not match, which its validator refuses.
            made["propertyNames"] = {**made.get("propertyNames", {}), "pattern": pattern}
            if held:
                made["additionalProperties"] = held
        keys: Any = schema.get("keys_schema") or {"type": "any"}
        while keys["type"] == "function-after":  # takes less than the schema says, never more
            keys = keys["schema"]
        kind: str = keys["type"]
        if kind in {"any", "str"}:
            return made
        if kind == "int":
            made["propertyNames"] = {"pattern": _INT_KEY}
        elif kind in {"float", "decimal"}:
            made["propertyNames"] = {"pattern": _FLOAT_KEY}
        elif kind == "complex":
            made["propertyNames"] = {"pattern": _COMPLEX}
        elif kind == "bool":
            made["propertyNames"] = {"enum": ["true", "false"]}
        elif kind in {"tuple", "none"}:
            self.impossible = self.impossible or f"{kind} as the key of an object (make the keys texts)"
        elif kind == "enum":
            made["propertyNames"] = {"enum": [str(_json_key(m.value)) for m in keys["members"]]}
        self.doubts.always = True
        return made

    def decimal_schema(self, schema: core_schema.DecimalSchema) -> Json:
        made = super().decimal_schema(schema)
        for branch in made.get("anyOf", ()):
            if branch.get("type") == "string":
                branch["format"] = "decimal"  # not any text
        return made

    def complex_schema(self, schema: core_schema.ComplexSchema) -> Json:
        self.doubts.always = True
        return {"type": "string", "pattern": _COMPLEX}

    def date_schema(self, schema: core_schema.DateSchema) -> Json:
        return self._in_time(super().date_schema(schema), schema)

    def datetime_schema(self, schema: core_schema.DatetimeSchema) -> Json:
        return self._in_time(super().datetime_schema(schema), schema)

    def time_schema(self, schema: core_schema.TimeSchema) -> Json:
        return self._in_time(super().time_schema(schema), schema)

    def timedelta_schema(self, schema: core_schema.TimedeltaSchema) -> Json:
        return self._in_time(super().timedelta_schema(schema), schema)

    def _in_time(self, made: Json, schema: Any) -> Json:
        limits = {k: schema[k] for k in ("ge", "gt", "le", "lt") if k in schema}
        return self._bounded(made, limits) if limits else made

    def _bounded(self, made: Json, limits: Mapping[str, Any]) -> Json:
        from toolsmith._derive.bounds import in_words, keywords

        told = {**made, **keywords(limits, made.get("type"))}
        if words := in_words(limits, made):
            self._in_words = True
            told[TOLD] = Words(sentences(told.get(TOLD, ""), words))
        return told

    def json_schema(self, schema: core_schema.JsonSchema) -> Json:
        self.doubts.json = True
        return super().json_schema(schema)

    def is_subclass_schema(self, schema: core_schema.IsSubclassSchema) -> Json:
        return self.handle_invalid_for_json_schema(schema, "a class")

    def function_after_schema(self, schema: core_schema.AfterValidatorFunctionSchema) -> Json:
        made = super().function_after_schema(schema)
        module = getattr(
            getattr(schema["function"]["function"], "func", schema["function"]["function"]), "__module__", ""
        )
        return self._around(made, schema) if module == "pydantic._internal._validators" else made

    def chain_schema(self, schema: core_schema.ChainSchema) -> Json:
        made = super().chain_schema(schema)
        return self._around(made, schema) if schema["steps"][-1]["type"] == "function-wrap" else made

    def _around(self, made: Json, schema: Any) -> Json:
        from toolsmith._derive.bounds import PLACED, bound_of

        bound = bound_of(schema)
        if bound is None:
            return made
        self.bounds |= PLACED not in schema.get("metadata", ())
        return self._bounded(made, bound.limits)

    # ---- validators of somebody's own

    def function_before_schema(self, schema: core_schema.BeforeValidatorFunctionSchema) -> Json:
        if isinstance(schema["function"]["function"], Exactly):
            self._exact += 1
            try:
                return super().function_before_schema(schema)
            finally:
                self._exact -= 1
        self._note_validator(schema["function"]["function"])
        return super().function_before_schema(schema)

    def function_wrap_schema(self, schema: core_schema.WrapValidatorFunctionSchema) -> Json:
        self._note_validator(schema["function"]["function"])
        return super().function_wrap_schema(schema)

    def _note_validator(self, function: Callable[..., Any]) -> None:
        if not (getattr(function, "__module__", None) or "").startswith("pydantic."):
            self.doubts.lax = True

    # ---- defaults

    def encode_default(self, dft: Any) -> Any:
        if dft is None or type(dft) in {str, int, bool}:
            return dft
        if words := words_for(dft):
            self._in_words = True
            return Words(words)
        encoded = super().encode_default(dft)
        if not is_finite(encoded):
            raise PydanticSerializationError("not JSON")
        return encoded


_methods: dict[Any, str] = {}


def is_finite(value: Any) -> bool:
    """Whether plain JSON data is free of NaN and infinities, which JSON has no words for."""
    match value:
        case float():
            return math.isfinite(value)
        case dict():
            return all(is_finite(v) for v in cast("dict[Any, Any]", value).values())
        case list():
            return all(is_finite(v) for v in cast("list[Any]", value))
        case _:
            return True


def _values(cls: type[enum.Enum]) -> list[tuple[str, Any]]:
    return [(m.name, m.value) for m in cls]


def _json_key(value: Any) -> Any:
    return ("true" if value else "false") if isinstance(value, bool) else value
