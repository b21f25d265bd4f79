"""The 24 mistakes that models make most with tools, and how each is made of a tool's own valid arguments.

`MISTAKES` is the list. Each one gives as many slips as it has places in the arguments, or none: then the tool's schema
has nothing that could be got wrong in this way. The sources are public reports of models that did it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from toolsmith._dataclass import dataclass
from toolsmith._simulate import names, texts, values
from toolsmith._simulate.places import Case, Slip


@dataclass(frozen=True, slots=True)
class Mistake:
    """A kind of mistake.

    Attributes:
        name: for the command line and for machines: "near-enum".
        title: what the model does, for people.
        applies: when a tool's schema has room for it.
        source: a public report, as "owner/repository#number" on GitHub.
        make: the mistake at each place of a case.
    """

    name: str
    title: str
    applies: str
    source: str
    make: Callable[[Case], Iterator[Slip]]


MISTAKES: Final[tuple[Mistake, ...]] = (
    Mistake(
        "missing", "leaves a required argument out", "an argument is required", "google/adk-python#3137", names.missing
    ),
    Mistake(
        "extra",
        "invents an argument",
        "not every name is accepted",
        "ChromeDevTools/chrome-devtools-mcp#1940",
        names.extra,
    ),
    Mistake(
        "misspelt-name",
        "misspells an argument's name",
        "there are arguments",
        "ur-whitelab/MDCrow#124",
        names.misspelt_name,
    ),
    Mistake(
        "name-case",
        "writes a name in another case: camelCase for snake_case",
        "there are arguments",
        "grafana/mcp-grafana#641",
        names.name_case,
    ),
    Mistake(
        "unknown-tool",
        "calls the tool by another name",
        "always",
        "openai/openai-agents-python#3459",
        names.unknown_tool,
    ),
    Mistake(
        "wrapped",
        "puts the arguments inside another object",
        "not every name is accepted",
        "openclaw/openclaw#142304",
        names.wrapped,
    ),
    Mistake("null", "sends null", "something may not be null", "mastra-ai/mastra#14476", values.null),
    Mistake(
        "stringified",
        "sends a list or an object as a string of JSON",
        "there is a list or an object",
        "PrefectHQ/fastmcp#553",
        values.stringified,
    ),
    Mistake(
        "near-enum",
        "sends a value that is nearly one of the set",
        "there is a set of values",
        "567-labs/instructor#77",
        values.near_enum,
    ),
    Mistake(
        "enum-case",
        "writes one of the set in another case",
        "there is a set of values with letters",
        "aryamthecodebreaker/FixMap#235",
        values.enum_case,
    ),
    Mistake(
        "out-of-range",
        "sends a number in another unit, a thousand times too large",
        "there is a number",
        "mistralai/mistral-vibe#142",
        values.out_of_range,
    ),
    Mistake("empty-string", "sends an empty string", "there is a string", "coder/xum#2887", values.empty_string),
    Mistake(
        "list-for-scalar",
        "sends a list of one for a single value",
        "there is a single value",
        "tidyverse/ellmer#929",
        values.list_for_scalar,
    ),
    Mistake(
        "scalar-for-list",
        "sends a single value for a list",
        "there is a list",
        "NousResearch/hermes-agent#19717",
        values.scalar_for_list,
    ),
    Mistake(
        "quoted-number", "sends a number in quotes", "there is a number", "HKUDS/nanobot#1610", values.quoted_number
    ),
    Mistake("fraction", "sends a fraction", "there is a whole number", "tontinton/maki#142", values.fraction),
    Mistake(
        "quoted-boolean",
        "sends true or false in quotes, or as 1 or 0",
        "there is a truth value",
        "vllm-project/vllm#41122",
        values.quoted_boolean,
    ),
    Mistake(
        "date-format",
        "writes a date, a time or a duration its own way",
        "there is a date, a time or a duration",
        "NickMonrad/kernel-ai-assistant#307",
        values.date_format,
    ),
    Mistake(
        "deep-inside",
        "errs deep inside an object or a list",
        "an object or a list holds something",
        "vierisid/jarvis#199",
        values.deep_inside,
    ),
    Mistake(
        "wrong-branch",
        "mixes two alternatives, or sends none of them",
        "a value has alternatives",
        "modelcontextprotocol/modelcontextprotocol#2806",
        values.wrong_branch,
    ),
    Mistake(
        "cut-off", "stops in the middle of the JSON", "there are arguments", "pydantic/pydantic-ai#3118", texts.cut_off
    ),
    Mistake(
        "python-literal",
        "writes Python instead of JSON",
        "there are arguments",
        "anomalyco/opencode#1264",
        texts.python_literal,
    ),
    Mistake(
        "loose-json",
        "writes what JSON does not have: a last comma, a comment, a name twice, NaN",
        "there are arguments",
        "NousResearch/hermes-agent#79333",
        texts.loose_json,
    ),
    Mistake(
        "text-around",
        "writes words or a code fence around the JSON",
        "always",
        "earendil-works/pi#8858",
        texts.text_around,
    ),
)
