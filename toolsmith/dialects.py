"""What each service's strict and loose modes accept, and the two-way translation of a tool's schema and arguments.

A tool's own schema is *neutral*: JSON Schema draft 2020-12, as its Python signature says it. A `Dialect` encodes it
into what one mode of one service takes, tells what that form cannot say, and decodes the arguments that a model sends
in that form into arguments of the neutral schema. For each valid value v: decode(v as the mode's model sends it) == v.

    encoded = OPENAI_STRICT.encode(schema)   # .schema goes on the wire, .losses says what it cannot
    OPENAI_STRICT.decode({"limit": None}, schema)   # {}: an optional argument that is null was not given

Which tools of a request are strict is `plan`'s decision: see there. Pure: nothing here mutates or keeps its input, and
the same input gives the same output. To add a service, write a `Rules` in `_dialects.rules` and a `Service` below.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Protocol

from toolsmith._dataclass import dataclass
from toolsmith._dialects.decoders import Decoder, DialectError
from toolsmith._dialects.jsonschema import Loss
from toolsmith._dialects.loose import compile_loose
from toolsmith._dialects.planner import Ceilings, Offered, Service, StrictReport, heaviest, plan, strict_report
from toolsmith._dialects.reader import read
from toolsmith._dialects.rules import (
    CLAUDE_KEYS,
    CLAUDE_RULES,
    COMPATIBLE_RULES,
    LOCAL_RULES,
    OPENAI_RULES,
    LooseRules,
    Rules,
)
from toolsmith._dialects.strict import compile_strict

__all__ = [
    "CLAUDE",
    "CLAUDE_LOOSE",
    "CLAUDE_STRICT",
    "COMPATIBLE",
    "COMPATIBLE_LOOSE",
    "COMPATIBLE_STRICT",
    "LOCAL",
    "LOCAL_STRICT",
    "OPENAI",
    "OPENAI_LOOSE",
    "OPENAI_STRICT",
    "Ceilings",
    "Dialect",
    "DialectError",
    "Encoded",
    "Loss",
    "Offered",
    "Service",
    "StrictReport",
    "heaviest",
    "plan",
    "strict_report",
]


@dataclass(frozen=True, slots=True)
class Encoded:
    """A schema in a service's form.

    Attributes:
        schema: what goes on the wire; shared, so copy before changing it. Not to be sent if a loss is fatal.
        losses: what it cannot say, and what became words.
        exact: decoding changes nothing, so a model's raw text may go straight to the validator.
        decoder: undoes the form; None where `exact`.
    """

    schema: dict[str, Any]
    losses: tuple[Loss, ...]
    exact: bool
    decoder: Decoder | None = field(default=None, repr=False, compare=False)

    @property
    def fatal(self) -> tuple[Loss, ...]:
        """The losses for which there is no such form."""
        return tuple(loss for loss in self.losses if loss.fatal)


class Dialect(Protocol):
    """One mode of one service."""

    @property
    def name(self) -> str:
        """For people: "OpenAI strict"."""
        ...

    @property
    def strict(self) -> bool:
        """Whether the service's sampler is held to the schema."""
        ...

    def encode(self, schema: Mapping[str, Any]) -> Encoded:
        """The form of a neutral schema that this mode takes.

        Raises:
            DefinitionError: the schema is absurdly large or deep; everything else is a `Loss`.
        """
        ...

    def decode(self, arguments: Any, schema: Mapping[str, Any]) -> Any:
        """Arguments as this mode's model sends them, parsed, as values of the neutral schema.

        What does not have the mode's shape passes as it is: judging it is the validator's.

        Raises:
            DialectError: the arguments say two things at once (a key twice in a mapping).
        """
        ...


@dataclass(frozen=True, slots=True)
class _StrictDialect:
    name: str
    rules: Rules = field(repr=False)
    strict: bool = True

    def encode(self, schema: Mapping[str, Any]) -> Encoded:
        compiled = compile_strict(read(schema), self.rules)
        return Encoded(compiled.schema, compiled.losses, compiled.decoder is None, compiled.decoder)

    def decode(self, arguments: Any, schema: Mapping[str, Any]) -> Any:
        decoder = self.encode(schema).decoder
        return arguments if decoder is None else decoder.decode(arguments, "")


@dataclass(frozen=True, slots=True)
class _LooseDialect:
    name: str
    rules: LooseRules = field(repr=False)
    strict: bool = False

    def encode(self, schema: Mapping[str, Any]) -> Encoded:
        made = compile_loose(read(schema), self.rules)
        return Encoded(made.schema, made.losses, made.decoder is None, made.decoder)

    def decode(self, arguments: Any, schema: Mapping[str, Any]) -> Any:
        decoder = self.encode(schema).decoder
        return arguments if decoder is None else decoder.decode(arguments, "")


OPENAI_STRICT: Dialect = _StrictDialect("OpenAI strict", OPENAI_RULES)
OPENAI_LOOSE: Dialect = _LooseDialect("OpenAI loose", LooseRules())
CLAUDE_STRICT: Dialect = _StrictDialect("Claude strict", CLAUDE_RULES)
CLAUDE_LOOSE: Dialect = _LooseDialect("Claude loose", LooseRules(keys=CLAUDE_KEYS))
COMPATIBLE_STRICT: Dialect = _StrictDialect("compatible strict", COMPATIBLE_RULES)
COMPATIBLE_LOOSE: Dialect = _LooseDialect("compatible loose", LooseRules(short=False))
LOCAL_STRICT: Dialect = _StrictDialect("local grammar", LOCAL_RULES)

OPENAI = Service("OpenAI", OPENAI_STRICT, OPENAI_LOOSE)

# Hard ceilings: "Structured outputs", "Schema complexity limits" (read 2026-11-30), counted over one request. The
# budget that is spent unasked is far below, since whole requests fail earlier: 400s on record at 7 to 9 strict tools
# (anthropic-sdk-typescript#885) and at 13 (alphaXiv/agents#49); Vercel's SDK stops at 10 optional parameters.
CLAUDE = Service(
    "Claude",
    CLAUDE_STRICT,
    CLAUDE_LOOSE,
    ceilings=Ceilings(strict_tools=20, optional_parameters=24, union_parameters=16),
    budget=Ceilings(strict_tools=6, optional_parameters=10, union_parameters=8),
)

COMPATIBLE = Service("compatible servers", COMPATIBLE_STRICT, COMPATIBLE_LOOSE, strict_unasked=False)
LOCAL = Service("the local model", LOCAL_STRICT, COMPATIBLE_LOOSE)
