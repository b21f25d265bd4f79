"""The judge of arguments where a JSON Schema came from elsewhere: the `jsonschema` package, loaded at the first need.

Three things are settled here, so that they are the same on every machine:

* `format` is enforced for those of `FORMATS`, the ones that strict modes of OpenAI and Claude know and one standard
  defines; every other format is a remark. (The package itself checks those for which it finds a library installed.)
* `pattern` runs in linear time where it can, so that no string sent by a model makes it hang: the same engine as for
  tools made from functions. Only patterns with look-around or back references need Python's `re`.
* Nothing is fetched.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import date
from ipaddress import IPv4Address, IPv6Address
from itertools import islice
from typing import Any, Final, cast

from jiter import from_json

from toolsmith._arguments.problems import ABSENT, Kind, Path, Schema
from toolsmith._arguments.refusals import Refusal, Refused
from toolsmith._arguments.repair import MAX_PROBLEMS, Reader
from toolsmith._arguments.shapes import Shapes, dict_of, list_of, matches

Json = dict[str, Any]


def package() -> Any:
    """The `jsonschema` package. It takes longer to load than all of this one: only tools with raw schemas pay."""
    import jsonschema  # with it come its parts `exceptions` and `validators`

    return jsonschema


class RawValidator:
    """Judges JSON text by a JSON Schema; it has the one method of pydantic's validators that the door uses."""

    def __init__(self, schema: Json, draft: Any) -> None:
        self._schema = schema
        self._judge = judge(schema, draft, formats=True)
        self._shapes = Shapes(schema)

    @property
    def explained(self) -> Json:
        """The schema by which problems are explained."""
        return _explained(self._schema)

    def validate_json(self, text: str | bytes, /, *, strict: bool | None = None) -> Any:
        """The arguments as plain JSON data, whole numbers as int where the schema wants an integer.

        Args:
            text: JSON.
            strict: for likeness with pydantic; JSON Schema knows no other way.

        Raises:
            Refused: they do not fit the schema.
            ValueError: the text is not JSON.
        """
        value: Any = from_json(text.encode() if isinstance(text, str) else text, allow_inf_nan=False)
        if refused := judged(self._judge, value):
            raise Refused(refused)
        reader = Reader(self._shapes)
        read = reader.read(self._schema, value)
        return value if reader.found.repairs or reader.found.problems else read


def judge(schema: Mapping[str, Any], draft: Any = None, *, formats: bool) -> Any:
    """A validator of the `jsonschema` package.

    Args:
        schema: valid for the draft.
        draft: one of the package's classes, None for draft 2020-12.
        formats: whether `FORMATS` are enforced.
    """
    jsonschema = package()
    # An empty registry of its own: the default one fetches what it does not know.
    registry = jsonschema.validators.referencing.Registry()
    checker = _format_checker() if formats else None
    return _safe(draft or jsonschema.Draft202012Validator)(schema, format_checker=checker, registry=registry)


def judged(by: Any, value: Any) -> list[Refusal]:
    """What a judge has against a value; not more of it than a model can use."""
    errors = islice(cast("Iterator[Any]", by.iter_errors(value)), MAX_PROBLEMS)
    return [refusal for error in errors for refusal in _refusals(error)]


def _safe(draft: Any) -> Any:
    """A draft's class whose patterns cannot hang, and that tells an integer from a number as JSON Schema does."""
    jsonschema = package()
    refusal = jsonschema.ValidationError

    def pattern(judge: Any, wanted: Any, instance: Any, _: Any) -> Iterator[Any]:
        if isinstance(instance, str) and isinstance(wanted, str) and not matches(wanted, instance):
            yield refusal("does not match")

    def pattern_properties(judge: Any, wanted: Any, instance: Any, _: Any) -> Iterator[Any]:
        if isinstance(instance, dict):
            members = cast("Json", instance)
            for expression, schema in dict_of(wanted).items():
                for name, value in members.items():
                    if matches(expression, name):
                        yield from judge.descend(value, schema, path=name, schema_path=expression)

    def additional_properties(judge: Any, wanted: Any, instance: Any, schema: Any) -> Iterator[Any]:
        if not isinstance(instance, dict):
            return
        named, patterns = dict_of(schema.get("properties")), dict_of(schema.get("patternProperties"))
        for name, value in cast("Json", instance).items():
            if name in named or any(matches(p, name) for p in patterns):
                continue
            if wanted is False:
                yield refusal("not accepted", path=[name])
            else:
                yield from judge.descend(value, wanted, path=name)

    keywords = {
        "pattern": pattern,
        "patternProperties": pattern_properties,
        "additionalProperties": additional_properties,
    }
    return jsonschema.validators.extend(draft, keywords)


_KINDS: Mapping[str, tuple[Kind, bool]] = {
    # keyword: the kind of problem, and whether a reading of the schema finds it by itself
    "type": ("type", True),
    "enum": ("value", True),
    "const": ("value", True),
    "required": ("missing", True),
    "additionalProperties": ("unknown", True),
    "minimum": ("range", True),
    "maximum": ("range", True),
    "exclusiveMinimum": ("range", True),
    "exclusiveMaximum": ("range", True),
    "minLength": ("length", True),
    "maxLength": ("length", True),
    "minItems": ("count", True),
    "maxItems": ("count", True),
    "minProperties": ("count", True),
    "maxProperties": ("count", True),
    "pattern": ("pattern", True),
    "multipleOf": ("range", False),
    "format": ("format", False),
    "uniqueItems": ("repeated", False),
    "propertyNames": ("key", False),
    "not": ("excluded", False),
    "dependentRequired": ("missing", False),
}


def _refusals(error: Any) -> list[Refusal]:
    path: Path = tuple(error.absolute_path)
    word = str(error.validator)
    trail = list(error.absolute_schema_path)
    if "propertyNames" in trail:
        return [
            Refusal((*path, str(error.instance)), "key", ABSENT, False, expected={"type": "string", **error.schema})
        ]
    kind, structural = _KINDS.get(word, ("mismatch", word in ("anyOf", "oneOf", "allOf", "$ref")))
    if {"then", "else", "not", "dependentSchemas"} & set(trail[:-1]):
        structural = False  # a reading of the schema does not follow conditions
    expected: Schema | None = None if structural else _explained(error.schema)
    if word == "not":
        expected = error.validator_value
    if word == "oneOf" and not error.context:
        kind, structural = "ambiguous", False
    if word == "required":
        names = [n for n in list_of(error.validator_value) if isinstance(n, str) and n not in error.instance]
        return [Refusal((*path, n), "missing", ABSENT, structural) for n in names]
    if word == "dependentRequired":
        present = error.instance
        names = [n for k, needed in dict_of(error.validator_value).items() if k in present for n in list_of(needed)]
        return [Refusal((*path, n), "missing", ABSENT, structural) for n in names if n not in present]
    return [Refusal(path, kind, error.instance, structural, expected=expected)]


def _explained(node: Any, key: str = "") -> Any:
    """A schema whose times of day are those of RFC 3339, which have an offset; the words for Python's know of none."""
    whole: Any = node
    if isinstance(node, dict) and key not in {"const", "default"}:
        return {k: _explained(v, k) for k, v in cast("Json", node).items()}
    if isinstance(node, list) and key not in {"enum", "examples"}:
        return [_explained(v) for v in cast("list[Any]", node)]
    return "full-time" if (key, node) == ("format", "time") else whole


# ---- formats

_DATE_TIME = re.compile(r"(\d{4}-\d\d-\d\d)[Tt](\S+)")
_TIME = re.compile(r"([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(\.\d+)?([Zz]|[+-]([01]\d|2[0-3]):[0-5]\d)")
_DURATION = re.compile(
    r"P(?=.)(\d+W|(\d+Y)?(\d+M)?(\d+D)?(T(?=\d)(\d+H)?(\d+M)?(\d+(\.\d+)?S)?)?)",
)
_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_LABEL = r"[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_HOSTNAME = re.compile(rf"(?=.{{1,253}}$){_LABEL}(\.{_LABEL})*")
_EMAIL = re.compile(r"[^@\s]{1,64}@[^@\s]{1,255}")
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\s<>\"{}|\\^`]+")


def _is_date(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return len(text) == 10  # Python also takes 20261130 and 2026-W48-1


def _is_date_time(text: str) -> bool:
    parts = _DATE_TIME.fullmatch(text)
    return parts is not None and _is_date(parts[1]) and _TIME.fullmatch(parts[2]) is not None


def _is_address(kind: Callable[[str], object]) -> Callable[[str], bool]:
    def check(text: str) -> bool:
        try:
            kind(text)
        except ValueError:
            return False
        return "%" not in text

    return check


def _matching(pattern: re.Pattern[str]) -> Callable[[str], bool]:
    return lambda text: pattern.fullmatch(text) is not None


FORMATS: Final[Mapping[str, Callable[[str], bool]]] = {
    "date": _is_date,
    "date-time": _is_date_time,
    "time": _matching(_TIME),
    "duration": _matching(_DURATION),
    "uuid": _matching(_UUID),
    "email": _matching(_EMAIL),
    "hostname": _matching(_HOSTNAME),
    "ipv4": _is_address(IPv4Address),
    "ipv6": _is_address(IPv6Address),
    "uri": _matching(_URI),
}
"""The formats that are enforced: dates, times and durations by RFC 3339, UUID by RFC 9562, addresses by their RFCs."""


def _format_checker() -> Any:
    checker = package().FormatChecker(formats=())
    for name, accepts in FORMATS.items():
        # The package calls it with whatever stands there; formats concern strings alone.
        checker.checkers = {**checker.checkers, name: (_on_strings(accepts), ())}
    return checker


def _on_strings(accepts: Callable[[str], bool]) -> Callable[[object], bool]:
    return lambda value: not isinstance(value, str) or accepts(value)
