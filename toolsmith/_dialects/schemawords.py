"""What a model reads inside a schema: the words that stand in for what a service's schema subset cannot say.

They are appended to a description in parentheses, so each is short, has no capital and no full stop.
"""

from __future__ import annotations

import json
import re
from typing import Any

_LONGEST = 300  # characters of a default, an example or a pattern; beyond that the words would outweigh the schema

OMIT = "omit"
"""What a model sends for an optional member that it leaves out, where null is itself a value of that member."""


def literal(value: Any) -> str:
    """A JSON value as compact JSON, shortened where it is very long."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def default(value: Any, *, omit: str = "") -> str:
    """The default of an optional member; `omit` is what to send to get it, where that is not plain null."""
    said = f"default {literal(value)}"
    return f"{said}, send {omit} for it" if omit else said


def states_default(description: str, value: Any) -> bool:
    """Whether a description ends a phrase with this very default: "Defaults to 10.", "How (default: 'fast')"."""
    if "default" not in description.lower():
        return False
    forms = {json.dumps(value, ensure_ascii=False), repr(value)}
    if isinstance(value, str) and value.strip():
        forms.add(value)
    named = "|".join(map(re.escape, sorted(forms)))
    # a phrase ends there: "10" is not the default of "Defaults to 10.5", nor of "Defaults to 10 unless ..."
    stated = rf"\bdefaults?(?: value)?(?: is| to|:| ?=)? ?[`'\"]*(?-i:{named})[`'\"]*(?=[.,;:)\]]+(?:\s|$)|\s*$)"
    return re.search(stated, description, re.IGNORECASE) is not None


def omittable(omit: str) -> str:
    """An optional member without a default, for which null is a value of its own."""
    return f"send {omit} to leave it out"


def examples(values: list[Any]) -> str:
    """Examples of a value."""
    return "e.g. " + ", ".join(literal(v) for v in values[:3])


def keys_once() -> str:
    """For a mapping that travels as a list of pairs."""
    return "each key once"


def undeclared() -> str:
    """For the list that holds the members of an object that it does not declare."""
    return "further members"


def named(name: str) -> str:
    """The real name of a member whose name the service does not take."""
    return f"named {literal(name)}"


def one_of_groups(groups: list[list[str]]) -> str:
    """A rule that one of several sets of members must be given."""
    return "needs one of: " + "; ".join(" + ".join(g) for g in groups)


def alternatives(groups: list[list[str]]) -> str:
    """Which members go together, where a union at the root had to become one object."""
    return "one of: " + "; ".join("{" + ", ".join(g) + "}" for g in groups)


def _span(low: int | None, high: int | None, what: str) -> str:
    if low is not None and high is not None:
        return f"{low} {what}" if low == high else f"{low} to {high} {what}"
    return f"at least {low} {what}" if high is None else f"at most {high} {what}"


_PLAIN = {
    "minimum": ">= {}",
    "exclusiveMinimum": "> {}",
    "maximum": "<= {}",
    "exclusiveMaximum": "< {}",
    "multipleOf": "multiple of {}",
    "pattern": "pattern: {}",
    "format": "format: {}",
    "contentEncoding": "encoding: {}",
    "contentMediaType": "media type: {}",
}
_SPANS = {
    "characters": ("minLength", "maxLength"),
    "items": ("minItems", "maxItems"),
    "keys": ("minProperties", "maxProperties"),
}


def constraints(left_out: dict[str, Any]) -> list[str]:
    """The keywords that the schema itself does not carry, in words."""
    words: list[str] = []
    for key, value in left_out.items():
        if key in _PLAIN:
            words.append(_PLAIN[key].format(value if isinstance(value, str) else literal(value)))
        elif key == "uniqueItems":
            if value:
                words.append("no duplicates")
        elif key in {"minLength", "minItems", "minProperties", "maxLength", "maxItems", "maxProperties"}:
            what, (low, high) = next((w, pair) for w, pair in _SPANS.items() if key in pair)
            if key == high and low in left_out:
                continue  # said together with the lower bound
            words.append(_span(left_out.get(low), left_out.get(high), what))
        elif key == "dependentRequired":
            words.extend(f"{name} needs {' + '.join(needs)}" for name, needs in value.items())
        else:
            words.append(f"{key}: {literal(value)}")
    return words


def described(description: str, words: list[str]) -> str:
    """A description with further words behind it."""
    said = ", ".join(words)
    if not said:
        return description
    return f"{description} ({said})" if description else said
