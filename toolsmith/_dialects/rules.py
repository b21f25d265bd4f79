"""What the services' schema subsets accept, as data. Read 2026-11-30 unless said otherwise.

Sources:
    OpenAI: guide "Structured model outputs", "Supported schemas"
        (developers.openai.com/api/docs/guides/structured-outputs#supported-schemas); keywords that the guide does not
        name: openai-node 7.59.0 lib/transform.js, and 400s on record (pydantic-ai#7315: `prefixItems`, and `minLength`
        accepted; openai-agents-python#1884: `oneOf`; can1357/oh-my-pi#211: `uniqueItems`, format "uri";
        openclaw/clawpatch#60: an enumeration without `type`; instructor#1074: `default`, which api.openai.com takes by
        now and Azure does not, openai-agents-python#4390).
    Claude: "Structured outputs", "JSON Schema limitations" and "Schema complexity limits"
        (platform.claude.com/docs/en/build-with-claude/structured-outputs#json-schema-limitations), "Strict tool use".
    Names of members on Claude, strict or not: 400 "Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'"
        (anthropics/claude-code#79418, ComposioHQ/composio#3500).
"""

from __future__ import annotations

import re
from typing import Literal

from toolsmith._dataclass import dataclass

_NUMBER_BOUNDS = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"})
_LENGTHS = frozenset({"minLength", "maxLength"})
# The services also take "date-time", "time" and "duration", but a grammar made of them cannot write all that Python's
# types take: RFC 3339 wants an offset with every time, so "2026-01-02T03:04:05" would be out and a naive `datetime`
# could never be sent; and it knows no half seconds and no negative durations. In words they lose nothing.
_FORMATS = frozenset({"date", "email", "hostname", "ipv4", "ipv6", "uuid"})

CLAUDE_KEYS = re.compile(r"[a-zA-Z0-9_.-]{1,64}")


@dataclass(frozen=True, slots=True)
class SizeLimits:
    """How large one schema may be.

    Attributes:
        members: members of all objects together.
        levels: objects within objects; each definition counts on its own.
        characters: of all names, constants and enumerated strings.
        enum_values: of all enumerations together.
        enum_characters: of one enumeration with more than `enum_long` values.
        enum_long: see `enum_characters`.
    """

    members: int = 5_000
    levels: int = 10
    characters: int = 120_000
    enum_values: int = 1_000
    enum_characters: int = 15_000
    enum_long: int = 250


@dataclass(frozen=True, slots=True)
class Rules:
    """A schema subset, and how it says what it has no keyword for.

    Attributes:
        optional: an optional member is required and may be null ("null"), or is left out of `required` ("absent").
        kept: keywords about values that may stand in the schema; others are told in words.
        formats: values of `format` that may stand in the schema.
        min_items: the largest `minItems` that may stand in the schema; None for any.
        recursion: whether a definition may refer to itself.
        default: whether `default` may stand in the schema.
        literal_types: whether constants and enumerations name their type: without one OpenAI answers "schema must
            have a 'type' key"; Claude's own SDK leaves it out (anthropic 2.14.0, lib/_parse/_transform.py).
        keys: what a member's name must match in full; None for anything. Other names are replaced.
        first_keys: whether alternatives of a union must begin with different members (or different constants in it):
            "Objects provided via 'anyOf' must not share identical first keys".
        limits: sizes beyond which a schema is refused.
    """

    optional: Literal["null", "absent"]
    kept: frozenset[str]
    formats: frozenset[str]
    min_items: int | None
    recursion: bool
    default: bool
    literal_types: bool
    keys: re.Pattern[str] | None = None
    first_keys: bool = False
    limits: SizeLimits | None = None


@dataclass(frozen=True, slots=True)
class LooseRules:
    """How a schema without strict mode is written.

    Attributes:
        short: whether to leave out what a model can do without, because nothing enforces it: that objects are closed
            and the type of an enumeration; and to write "T or null" as a list of types. Some compatible servers read
            only a single type, and some do enforce the schema.
        keys: what a top-level member's name must match in full; None for anything.
    """

    short: bool = True
    keys: re.Pattern[str] | None = None


OPENAI_RULES = Rules(
    optional="null",
    kept=_NUMBER_BOUNDS | _LENGTHS | {"minItems", "maxItems", "pattern", "format"},
    formats=_FORMATS,
    min_items=None,
    recursion=True,
    default=False,
    literal_types=True,
    first_keys=True,
    limits=SizeLimits(),
)

# Compatible servers and Azure refuse lengths that api.openai.com takes (Azure: "Structured outputs", unsupported)
COMPATIBLE_RULES = Rules(
    optional="null",
    kept=_NUMBER_BOUNDS | {"minItems", "maxItems", "pattern", "format"},
    formats=_FORMATS,
    min_items=None,
    recursion=True,
    default=False,
    literal_types=True,
    first_keys=True,
    limits=SizeLimits(),
)

CLAUDE_RULES = Rules(
    optional="absent",
    kept=frozenset({"minItems", "pattern", "format"}),
    formats=_FORMATS | {"uri"},
    min_items=1,
    recursion=False,
    default=True,
    literal_types=False,
    keys=CLAUDE_KEYS,
)

# A grammar made on this machine: it needs closed objects, and takes formats as hints where in a text to look
LOCAL_RULES = Rules(
    optional="absent",
    kept=_NUMBER_BOUNDS | _LENGTHS | {"minItems", "maxItems", "pattern", "format"},
    formats=_FORMATS | {"uri", "date-time", "time", "duration"},
    min_items=None,
    recursion=True,
    default=False,
    literal_types=True,
)


_ODD_REGEX = re.compile(
    r"\\[1-9bBAZzGkpPXRKxuU]"  # back-references, word boundaries, and what only some engines know
    r"|\\[wW]"  # letters of all languages in Python, ASCII in ECMA 262 and in grammars: "é" could not be sent
    r"|\(\?(?!:)"  # look-around, named groups, flags
    r"|[*+?}]\+"  # possessive
    r"|\\\d"
)


def plain_pattern(pattern: str) -> bool:
    """Whether a pattern uses only what every engine reads alike: no look-around, back-reference, boundary or flag.

    Claude refuses large repeats; beyond 200 they are kept out everywhere.
    """
    unescaped = pattern.replace("\\\\", "")
    if _ODD_REGEX.search(unescaped):
        return False
    if any(int(high or low) > 200 for low, high in re.findall(r"\{(\d+)(?:,(\d*))?\}", unescaped)):
        return False
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError):
        return False
    return True
