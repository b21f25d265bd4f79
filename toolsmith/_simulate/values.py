"""Mistakes with values: of another type, out of a set or a range, in another form, deep inside, of no alternative."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from toolsmith._arguments.problems import Schema
from toolsmith._arguments.shapes import JsonType, Shapes, json_type, list_of, number_of
from toolsmith._simulate import names
from toolsmith._simulate.baseline import NoBaseline, value_for
from toolsmith._simulate.patterns import NoString
from toolsmith._simulate.places import Case, Place, Slip, misspelt, scalar, shown

_OBJECT: Final[frozenset[JsonType]] = frozenset({"object"})
_MOST: Final = 40
"""Places that one mistake is made at."""
_OWN_WAYS: Final[Mapping[str, tuple[str, ...]]] = {
    "date": ("30/11/2026", "tomorrow"),
    "date-time": ("30/11/2026 6pm", "yesterday at noon"),
    "time": ("6 pm",),
    "duration": ("5 minutes",),
}


def _shown(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _changed(case: Case, place: Place, value: Any, *, wants: tuple[str, ...] = (), advice: str = "") -> Slip:
    return Slip(case.changed(place.path, value), path=place.path, wants=wants or case.accepted(place), advice=advice)


def null(case: Case) -> Iterator[Slip]:
    """Null for each value that may not be null."""
    for place in case.places[:_MOST]:
        if "null" not in place.types:
            yield _changed(case, place, None, wants=(*case.accepted(place), "taken as left out"))


def stringified(case: Case) -> Iterator[Slip]:
    """Each list and object as a string."""
    for place in case.places[:_MOST]:
        if not scalar(place.value) and "string" not in place.types:
            noun = "list" if json_type(place.value) == "array" else "object"
            yield _changed(case, place, _shown(place.value), wants=(noun,))


def near_enum(case: Case) -> Iterator[Slip]:
    """Each value of a set, misspelt."""
    for place in case.places[:_MOST]:
        if place.closed and isinstance(place.value, str) and (typo := misspelt(place.value, place.closed)):
            yield _changed(case, place, typo, wants=(shown(place.value),))


def enum_case(case: Case) -> Iterator[Slip]:
    """Each value of a set in capitals, or in small letters where it is in capitals."""
    for place in case.places[:_MOST]:
        if place.closed and isinstance(place.value, str):
            other = place.value.upper() if place.value != place.value.upper() else place.value.lower()
            if other not in place.closed:
                yield _changed(case, place, other, wants=(shown(place.value),))


def out_of_range(case: Case) -> Iterator[Slip]:
    """Each number a thousand times too large; below its least where it has no most."""
    for place in _numbers(case):
        most = number_of(place.facts.get("maximum", place.facts.get("exclusiveMaximum")))
        least = number_of(place.facts.get("minimum", place.facts.get("exclusiveMinimum")))
        if most is not None:
            yield _changed(case, place, int(max(abs(most) * 1_000, 1_000)))
        else:
            advice = f"`{place.name}` has no upper bound: one in the schema, as Field(le=...), would catch a wrong unit"
            yield _changed(case, place, place.value * 1_000 or 1_000, advice=advice)
            if least is not None:
                yield _changed(case, place, int(least - 1_000))


def empty_string(case: Case) -> Iterator[Slip]:
    """Nothing at all for each string that is free."""
    for place in case.places[:_MOST]:
        free = isinstance(place.value, str) or case.decimal(place)
        if "string" in place.types and place.closed is None and free:
            advice = f"`{place.name}` may be empty: Field(min_length=1) would catch it, where empty makes no sense"
            yield _changed(case, place, "", advice=advice)


def list_for_scalar(case: Case) -> Iterator[Slip]:
    """A list of one for each single value."""
    for place in case.places[:_MOST]:
        if scalar(place.value) and "array" not in place.types:
            yield _changed(case, place, [place.value])


def scalar_for_list(case: Case) -> Iterator[Slip]:
    """The first item for each list."""
    for place in case.places[:_MOST]:
        if json_type(place.value) == "array":
            first = place.value[0] if place.value else "all"
            if json_type(first) not in place.types:
                yield _changed(case, place, first, wants=("list",))


def _numbers(case: Case) -> Iterator[Place]:
    for place in case.places[:_MOST]:
        if json_type(place.value) in ("integer", "number") and "enum" not in place.facts and "const" not in place.facts:
            yield place


def quoted_number(case: Case) -> Iterator[Slip]:
    """Each number in quotes, alone and with a word; a decimal number with a word only, as quotes are right there."""
    for place in _numbers(case):
        if "string" not in place.types:
            yield _changed(case, place, _shown(place.value), wants=(*case.accepted(place), _shown(place.value)))
        if "string" not in place.types or case.decimal(place):
            yield _changed(case, place, f"about {_shown(place.value)}")
    for place in case.places[:_MOST]:
        if isinstance(place.value, str) and place.facts.get("format") is None and case.decimal(place):
            yield _changed(case, place, f"about {place.value}")


def fraction(case: Case) -> Iterator[Slip]:
    """Half more than each whole number."""
    for place in _numbers(case):
        if "number" not in place.types:
            yield _changed(case, place, place.value + 0.5)


def quoted_boolean(case: Case) -> Iterator[Slip]:
    """Each truth value in quotes, as a word and as a number."""
    for place in case.places[:_MOST]:
        if isinstance(place.value, bool) and place.types <= {"boolean", "null"}:
            for sent in (_shown(place.value), "yes", int(place.value)):
                yield _changed(case, place, sent, wants=(*case.accepted(place), "was read as"))


def date_format(case: Case) -> Iterator[Slip]:
    """Each date, time and duration as people write it."""
    for place in case.places[:_MOST]:
        for form in dict.fromkeys(case.formats(place.node)) if place.closed is None else ():
            for sent in _OWN_WAYS.get(form, ()):
                yield _changed(case, place, sent)


def deep_inside(case: Case) -> Iterator[Slip]:
    """The deepest places: of another type, and under a misspelt name."""
    inner = [p for p in case.places if len(p.path) > 1]
    deepest = max((len(p.path) for p in inner), default=0)
    for place in [p for p in inner if len(p.path) == deepest][:_MOST]:
        others: tuple[Any, ...] = ({"value": place.value}, 17, "some", [[]], True)
        for other in others:
            if json_type(other) not in place.types and not (other == 17 and "number" in place.types):
                yield _changed(case, place, other)
                break
    for place in inner[:_MOST]:
        if isinstance(place.path[-1], str) and (slip := names.inside(case, place)) is not None:
            yield slip


def wrong_branch(case: Case) -> Iterator[Slip]:
    """Where there are alternatives: one object with the members of another; and what is none of them."""
    for place in case.places[:_MOST]:
        branches = [
            b for word in ("anyOf", "oneOf") for b in list_of(place.facts.get(word)) if case.shapes.types(b) - {"null"}
        ]
        if len(branches) < 2 or place.closed:
            continue
        wants = (*case.accepted(place), *(f"`{n}`" for n in case.names(place)))
        objects = [b for b in branches if case.shapes.types(b) == _OBJECT]
        if len(objects) > 1 and json_type(place.value) == "object":
            mixed = _mixed(case.shapes, objects, place.value)
            if mixed is not None:
                yield Slip(case.changed(place.path, mixed), path=place.path, wants=wants, advice=_overlap(place))
        for none in ([["neither"]], {"neither": True}, 17.25, True):
            if json_type(none) not in place.types or (isinstance(none, dict) and not case.takes_any_name(place)):
                yield Slip(case.changed(place.path, none), path=place.path, wants=wants, advice=_overlap(place))
                break


def _overlap(place: Place) -> str:
    return f"the alternatives of `{place.name}` take it: give them a member that tells them apart, and no other names"


def _mixed(shapes: Shapes, branches: list[Schema], value: dict[str, Any]) -> dict[str, Any] | None:
    """The members that tell the first alternative, with the others of the second."""
    try:
        other: Any = value_for(shapes.root, branches[-1])
    except (NoBaseline, NoString):
        return None
    kept = {n: v for n, v in value.items() if n in other}
    added = {n: v for n, v in other.items() if n not in value}
    return {**kept, **added} if added else None
