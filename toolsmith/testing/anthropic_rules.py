"""What Claude's Messages API refuses: the envelope and the tools. The history is in `anthropic_history.py`.

Sources are named rule by rule: "docs" is platform.claude.com/docs and "SDK" the types of anthropic 2.14, both read in
November 2026; "issues" are 400s quoted in public issue trackers.
"""

from __future__ import annotations

import re
from typing import Any, cast

from toolsmith.testing import judges
from toolsmith.testing.binding import ALWAYS_THINKING, BINDING_MODELS, NO_FORCED_CHOICE, named_like
from toolsmith.testing.hosted import claude_hosted_tool
from toolsmith.testing.recorded import Recorded, dicts, inside
from toolsmith.testing.rules import NAME, No, Rule, bearer, repeated, rule, unknown_keys

VERSION = "2026-10-21"
_API = "anthropic"
_SAMPLING = ("temperature", "top_p", "top_k")
_KNOWN = frozenset(
    {
        "cache_control", "container", "diagnostics", "inference_geo", "max_tokens", "messages", "metadata", "model",
        "output_config", "service_tier", "speed", "stop_sequences", "stream", "system", "thinking", "tool_choice",
        "tools",
    }
)  # fmt: skip
_TOOL_KEYS = frozenset(
    {
        "allowed_callers", "cache_control", "defer_loading", "description", "eager_input_streaming", "input_examples",
        "input_schema", "name", "strict", "type",
    }
)  # fmt: skip
_PROPERTY = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
_STRICT_TOOLS, _OPTIONAL, _UNION = 20, 24, 16


def _extra(path: str) -> No:
    return No(message=f"{path}: Extra inputs are not permitted")


@rule(_API, "bearer-key", "No API key in the `Authorization: Bearer` header.", source="SDK: _client.py")
def bearer_key(request: Recorded) -> No | None:
    if bearer(request):
        return None
    return No(message="Authorization header is required", status=401, type="authentication_error")


@rule(_API, "version-header", f"`anthropic-version` is missing or not {VERSION}.", source="SDK: _constants.py")
def version_header(request: Recorded) -> No | None:
    if not request.headers or request.headers.get("anthropic-version") == VERSION:
        return None
    given = request.headers.get("anthropic-version")
    if given is None:
        return No(message="anthropic-version: header is required")
    return No(message=f"anthropic-version: {given!r} is not a valid version")


@rule(_API, "sampling-parameter", "`temperature`, `top_p` and `top_k` are gone.", source=f"docs: changes in {VERSION}")
def sampling_parameter(request: Recorded) -> No | None:
    found = next((key for key in _SAMPLING if key in request.body), None)
    return _extra(found) if found else None


@rule(_API, "unknown-parameter", "A top-level parameter that the API does not know.", source="SDK: types; docs: errors")
def unknown_parameter(request: Recorded) -> No | None:
    found = unknown_keys(request.body, _KNOWN)
    return _extra(found[0]) if found else None


@rule(_API, "model", "`model` is missing or no string.", source="SDK: types/message_create_params.py")
def model(request: Recorded) -> No | None:
    if "model" not in request.body:
        return No(message="model: Field required")
    return None if isinstance(request.body["model"], str) else No(message="model: Input should be a valid string")


@rule(_API, "max-tokens", "`max_tokens` is missing or no positive integer.", source="docs: Messages API")
def max_tokens(request: Recorded) -> No | None:
    if "max_tokens" not in request.body:
        return No(message="max_tokens: Field required")
    value = request.body["max_tokens"]
    if isinstance(value, bool) or not isinstance(value, int):
        return No(message="max_tokens: Input should be a valid integer")
    if value < 1:
        return No(message="max_tokens: Input should be greater than or equal to 1")
    if value > 128_000:
        words = "which is the maximum allowed number of output tokens"
        return No(message=f"max_tokens: {value} > 128000, {words} for {request.model}")
    return None


@rule(_API, "system", "`system` is neither a string nor a list of non-empty text blocks.", source="docs: Messages API")
def system(request: Recorded) -> No | None:
    value = request.body.get("system", "")
    if isinstance(value, str):
        return None
    if not isinstance(value, list):
        return No(message="system: Input should be a valid list")
    for number, block in enumerate(cast("list[object]", value)):
        if inside(block, "type") != "text":
            return No(message=f"system.{number}: Input should be a valid text block")
        if not inside(block, "text"):
            return No(message="system: text content blocks must be non-empty")
    return None


@rule(
    _API, "thinking-config", "A `thinking` setting that the model does not have.", source="docs: Thinking; SDK: types"
)
def thinking_config(request: Recorded) -> No | None:
    kind, budget = (inside(request.body, "thinking", key) for key in ("type", "budget_tokens"))
    if kind == "enabled" and (named_like(request.model, BINDING_MODELS) or "-4-7" in request.model):
        return No(message="thinking.type: `enabled` is not supported by this model. Use `adaptive`.")
    if kind == "enabled" and (not isinstance(budget, int) or budget < 1024):
        return No(message="thinking.enabled.budget_tokens: Input should be greater than or equal to 1024")
    if kind == "disabled" and named_like(request.model, ALWAYS_THINKING):
        return No(message="thinking.type: `disabled` is not supported by this model.")
    return None


def _tools(request: Recorded) -> list[dict[str, Any]]:
    """The tools that the client runs; those of the service itself have a `type` of their own."""
    return [tool for tool in dicts(request.body.get("tools")) if tool.get("type") in (None, "custom")]


@rule(
    _API, "tool-shape", "A tool lacks a key, or has one that the API does not know.", source="SDK: types/tool_param.py"
)
def tool_shape(request: Recorded) -> No | None:
    for number, tool in enumerate(_tools(request)):
        for key in ("name", "input_schema"):
            if key not in tool:
                return No(message=f"tools.{number}.custom.{key}: Field required")
        extra = unknown_keys(tool, _TOOL_KEYS)
        if extra:
            return _extra(f"tools.{number}.custom.{extra[0]}")
        if not isinstance(tool["input_schema"], dict):
            return No(message=f"tools.{number}.custom.input_schema: Input should be a valid dictionary")
    return None


@rule(_API, "tool-name", "A tool name outside ^[a-zA-Z0-9_-]{1,64}$.", source="docs: Tool use")
def tool_name(request: Recorded) -> No | None:
    for number, tool in enumerate(_tools(request)):
        if not NAME.fullmatch(str(tool.get("name", ""))):
            return No(message=f"tools.{number}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{{1,64}}$'")
    return None


@rule(_API, "tool-name-unique", "Two tools with one name.", source="issues: anthropics/claude-code#10687")
def tool_name_unique(request: Recorded) -> No | None:
    twice = repeated(str(tool.get("name")) for tool in dicts(request.body.get("tools")))
    return None if twice is None else No(message="tools: Tool names must be unique.", code="tool_name_conflict")


@rule(
    _API, "tool-schema", "An input schema that is no JSON Schema, or whose root is no object.", source="docs: Tool use"
)
def tool_schema(request: Recorded) -> No | None:
    for number, tool in enumerate(_tools(request)):
        schema = tool["input_schema"]
        if schema.get("type") != "object":
            return No(message=f"tools.{number}.custom.input_schema.type: Input should be 'object'")
        if any(key in schema for key in ("oneOf", "allOf", "anyOf")):
            words = "input_schema does not support oneOf, allOf, or anyOf at the top level"
            return No(message=f"tools.{number}.custom.input_schema: {words}")
        if judges.schema_problems(schema):
            words = "JSON schema is invalid. It must match JSON Schema draft 2020-12"
            return No(message=f"tools.{number}.custom.input_schema: {words} ({_where(judges.schema_problems(schema))})")
    return None


@rule(_API, "property-name", "A parameter's name outside ^[a-zA-Z0-9_.-]{1,64}$, strict or not.", source="issues")
def property_name(request: Recorded) -> No | None:
    for number, tool in enumerate(_tools(request)):
        members = inside(tool, "input_schema", "properties")
        names = cast("dict[str, object]", members) if isinstance(members, dict) else {}
        if not all(_PROPERTY.fullmatch(name) for name in names):
            words = "Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'"
            return No(message=f"tools.{number}.custom.input_schema.properties: {words}")
    return None


@rule(_API, "strict-schema", "A strict tool outside Claude's subset of JSON Schema.", source="docs: Strict tool use")
def strict_schema(request: Recorded) -> No | None:
    for number, tool in enumerate(_tools(request)):
        problems = judges.claude_strict_problems(tool["input_schema"]) if tool.get("strict") is True else []
        if problems:
            return No(message=f"tools.{number}.custom: {problems[0][1]} ({_where(problems)})")
    return None


@rule(
    _API,
    "strict-ceilings",
    "More than 20 strict tools, 24 optional or 16 union parameters.",
    source="docs: Strict tool use",
)
def strict_ceilings(request: Recorded) -> No | None:
    strict = [tool["input_schema"] for tool in _tools(request) if tool.get("strict") is True]
    counts = [judges.claude_counts(schema) for schema in strict]
    optional, union = sum(o for o, _ in counts), sum(u for _, u in counts)
    for what, count, most in (
        ("strict tools", len(strict), _STRICT_TOOLS),
        ("optional parameters in strict tools", optional, _OPTIONAL),
        ("parameters with union types in strict tools", union, _UNION),
    ):
        if count > most:
            return No(message=f"tools: Too many {what} ({count}). The maximum is {most}. Schema is too complex.")
    return None


@rule(_API, "output-format", "A structured-output schema outside Claude's subset.", source="docs: Structured outputs")
def output_format(request: Recorded) -> No | None:
    schema = inside(request.body, "output_config", "format", "schema")
    problems = judges.claude_strict_problems(cast("judges.Schema", schema)) if isinstance(schema, dict) else []
    return No(message=f"output_config.format.schema: {problems[0][1]} ({_where(problems)})") if problems else None


@rule(
    _API, "tool-choice", "`tool_choice` without tools, of an unknown kind, or naming no tool.", source="docs: Tool use"
)
def tool_choice(request: Recorded) -> No | None:
    if request.body.get("tool_choice") is None:
        return None
    kind, name = (inside(request.body, "tool_choice", key) for key in ("type", "name"))
    kinds = ("auto", "any", "tool", "none")
    if kind not in kinds:
        return No(message=f"tool_choice: Input tag should be one of {kinds}")
    if not request.body.get("tools"):
        return No(message="tool_choice may only be specified while providing tools")
    names = [tool.get("name") for tool in dicts(request.body.get("tools"))]
    if kind == "tool" and name not in names:
        return No(message=f"Tool '{name}' not found in provided tools")
    return None


@rule(
    _API, "forced-choice", "Forcing a call on a model that cannot be forced.", source="docs: what's new in each model"
)
def forced_choice(request: Recorded) -> No | None:
    kind = inside(request.body, "tool_choice", "type")
    if kind not in ("any", "tool"):
        return None
    if named_like(request.model, NO_FORCED_CHOICE):
        return No(message=f"tool_choice: type '{kind}' is not supported by this model.")
    if inside(request.body, "thinking", "type") == "enabled":
        return No(message="Thinking may not be enabled when tool_choice forces tool use.")
    return None


def _where(problems: list[judges.Problem]) -> str:
    path = problems[0][0]
    return "at " + ("/".join(map(str, path)) if path else "the root")


ENVELOPE_RULES: tuple[Rule, ...] = (
    bearer_key,
    version_header,
    sampling_parameter,
    unknown_parameter,
    model,
    max_tokens,
    system,
    thinking_config,
    tool_shape,
    claude_hosted_tool,
    tool_name,
    tool_name_unique,
    tool_schema,
    property_name,
    strict_schema,
    strict_ceilings,
    output_format,
    tool_choice,
    forced_choice,
)
