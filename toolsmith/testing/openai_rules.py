"""What OpenAI refuses on both of its APIs, and what Chat Completions refuses on top.

Sources are named rule by rule: "docs" is developers.openai.com/api/docs, "SDK" the types of openai 3.57, "spec" the
OpenAPI file openai/openai-openapi of August 2026; "issues" are 400s quoted in public issue trackers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from toolsmith.testing import judges
from toolsmith.testing.binding import reasons_by_default
from toolsmith.testing.hosted import openai_hosted_tool
from toolsmith.testing.recorded import Recorded, dicts, inside
from toolsmith.testing.rules import NAME, Finding, No, Rule, bearer, repeated, unknown_keys
from toolsmith.testing.script import Api

_TOOL_KEYS: dict[Api, frozenset[str]] = {
    "openai-chat": frozenset({"name", "description", "parameters", "strict"}),
    "openai": frozenset(
        {
            "type", "name", "description", "parameters", "strict", "defer_loading", "allowed_callers", "output_schema",
            "async",
        }
    ),
}  # fmt: skip


def bad(message: str, *, code: str | None = "invalid_value", param: str | None = None) -> No:
    """A 400 in OpenAI's words."""
    return No(message=message, code=code, param=param)


def missing(param: str) -> No:
    """A required parameter that is not there."""
    return bad(f"Missing required parameter: '{param}'.", code="missing_required_parameter", param=param)


def unknown(param: str) -> No:
    """A parameter that the API does not know."""
    return bad(f"Unknown parameter: '{param}'.", code="unknown_parameter", param=param)


def functions(request: Recorded) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each function tool's definition, and where it stands."""
    for number, tool in enumerate(dicts(request.body.get("tools"))):
        if tool.get("type") == "function":
            if request.api == "openai":
                yield f"tools[{number}]", tool
            else:
                inner = tool.get("function")
                found = cast("dict[str, Any]", inner) if isinstance(inner, dict) else {}
                yield f"tools[{number}].function", found


def shared_rules(api: Api, known: frozenset[str]) -> tuple[Rule, ...]:
    """The rules that both APIs have, ready to be put at the front of each list.

    Args:
        api: "openai" or "openai-chat".
        known: the top-level parameters that this API knows.
    """

    def unknown_parameter(request: Recorded) -> No | None:
        found = unknown_keys(request.body, known)
        return unknown(found[0]) if found else None

    def written(name: str, about: str, source: str, find: Finding) -> Rule:
        return Rule(api, name, about, source, find)

    return (
        written("bearer-key", "No API key in the `Authorization: Bearer` header.", "docs: errors", _bearer_key),
        written("unknown-parameter", "A top-level parameter that the API does not know.", "spec", unknown_parameter),
        written("model", "`model` is missing.", "spec", _model),
        written(
            "sampling-parameter", "`temperature` or `top_p` with a model that reasons.", "docs: Reasoning", _sampling
        ),
        written("tool-shape", "A tool in the other API's shape, or with an unknown key.", "SDK: types", _tool_shape),
        openai_hosted_tool(api),
        written("tool-name", "A tool name outside ^[a-zA-Z0-9_-]{1,64}$.", "spec; docs", _tool_name),
        written("tool-name-unique", "Two tools with one name.", "docs: Function calling", _tool_name_unique),
        written("tool-schema", "Parameters that are no JSON Schema of an object.", "docs; issues", _tool_schema),
        written("strict-schema", "A strict tool outside OpenAI's subset.", "docs: Structured outputs", _strict_schema),
        written("output-format", "A strict output schema outside that subset.", "docs: Structured outputs", _format),
        written("tool-choice", "`tool_choice` without tools, or naming no tool.", "docs: Function calling", _choice),
    )


def _bearer_key(request: Recorded) -> No | None:
    if bearer(request):
        return None
    words = (
        "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth."
    )
    return No(message=words, status=401)


def _model(request: Recorded) -> No | None:
    value = request.body.get("model")
    return None if isinstance(value, str) and value else missing("model")


def _sampling(request: Recorded) -> No | None:
    effort = request.body.get("reasoning_effort") or inside(request.body, "reasoning", "effort")
    if not reasons_by_default(request.model) or effort == "none":
        return None
    found = next((key for key in ("temperature", "top_p") if request.body.get(key) is not None), None)
    if found is None:
        return None
    words = f"Unsupported parameter: '{found}' is not supported with this model."
    return bad(words, code="unsupported_parameter", param=found)


def _tool_shape(request: Recorded) -> No | None:
    given: object = request.body.get("tools")
    if given is not None and not isinstance(given, list):
        return bad("Invalid type for 'tools': expected an array of objects.", code="invalid_type", param="tools")
    for number, tool in enumerate(dicts(request.body.get("tools"))):
        if not isinstance(tool.get("type"), str):
            return missing(f"tools[{number}].type")
    for path, function in functions(request):
        for key in ("name", "parameters") if request.api == "openai" else ("name",):
            if key not in function:
                return missing(f"{path}.{key}")
        extra = unknown_keys(function, _TOOL_KEYS[request.api])
        if extra:
            return unknown(f"{path}.{extra[0]}")
        if function.get("strict") not in (True, False, None):
            return bad(f"Invalid type for '{path}.strict': expected a boolean.", code="invalid_type", param=path)
    return None


def _tool_name(request: Recorded) -> No | None:
    for path, function in functions(request):
        name = function.get("name")
        if not isinstance(name, str) or not NAME.fullmatch(name):
            words = f"Invalid '{path}.name': string does not match pattern. Expected '^[a-zA-Z0-9_-]+$', 1 to 64 long."
            return bad(words, param=f"{path}.name")
    return None


def _tool_name_unique(request: Recorded) -> No | None:
    twice = repeated(str(function.get("name")) for _, function in functions(request))
    # the text is ours: that OpenAI wants unique names is documented, its words for it are not
    return None if twice is None else bad(f"Tool names must be unique. Found '{twice}' twice.", param="tools")


def _schema_refusal(path: str, name: str, problems: list[judges.Problem]) -> No | None:
    if not problems:
        return None
    where, words = problems[0]
    context = "(" + ", ".join(repr(str(step)) for step in where) + ("," if len(where) == 1 else "") + ")"
    text = f"Invalid schema for function '{name}': In context={context}, {words}"
    return bad(text, code="invalid_function_parameters", param=f"{path}.parameters")


def _tool_schema(request: Recorded) -> No | None:
    for path, function in functions(request):
        schema = function.get("parameters")
        if isinstance(schema, dict):
            no = _schema_refusal(path, function["name"], judges.openai_problems(cast("judges.Schema", schema)))
            if no:
                return no
    return None


def _strict_schema(request: Recorded) -> No | None:
    for path, function in functions(request):
        if function.get("strict") is True:
            schema = cast("judges.Schema", function.get("parameters") or {})
            no = _schema_refusal(path, function["name"], judges.openai_strict_problems(schema))
            if no:
                return no
    return None


def _format(request: Recorded) -> No | None:
    outer = inside(request.body, "text", "format") or request.body.get("response_format")
    wanted = inside(outer, "json_schema") or outer
    schema = inside(wanted, "schema")
    if inside(outer, "type") != "json_schema" or inside(wanted, "strict") is not True or not isinstance(schema, dict):
        return None
    problems = judges.openai_strict_problems(cast("judges.Schema", schema))
    if not problems:
        return None
    where, words = problems[0]
    text = f"Invalid schema for response_format '{inside(wanted, 'name')}': In context={where}, {words}"
    return bad(text, code=None, param="text.format.schema" if request.api == "openai" else "response_format")


def _choice(request: Recorded) -> No | None:
    choice = request.body.get("tool_choice")
    if choice is None:
        return None
    if isinstance(choice, str) and choice not in ("none", "auto", "required"):
        words = f"Invalid value: '{choice}'. Supported values are: 'none', 'auto', and 'required'."
        return bad(words, param="tool_choice")
    if not request.body.get("tools"):
        if request.api == "openai" and choice in ("none", "auto"):
            return None
        words = "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified."
        return bad(words, param="tool_choice")
    if (no := _allowed_shape(request, choice)) is not None:
        return no
    names = [function.get("name") for _, function in functions(request)]
    for name in _chosen(choice):
        if name not in names:
            return bad(f"Tool choice '{name}' not found in 'tools' parameter.", param="tool_choice")
    return None


def _allowed_shape(request: Recorded, choice: object) -> No | None:
    """A list of allowed tools: flat on Responses, one object deeper on Chat Completions; never an empty one."""
    if inside(choice, "type") != "allowed_tools":
        return None
    path = "tool_choice" if request.api == "openai" else "tool_choice.allowed_tools"
    held = choice if request.api == "openai" else inside(choice, "allowed_tools")
    if inside(held, "mode") not in ("auto", "required"):
        return missing(f"{path}.mode")
    return None if dicts(inside(held, "tools")) else missing(f"{path}.tools")


def _chosen(choice: object) -> Iterator[object]:
    """The names of functions that a tool_choice object holds, in the shape of either API."""
    if inside(choice, "type") == "function":
        yield inside(choice, "function", "name") or inside(choice, "name")
    elif inside(choice, "type") == "allowed_tools":
        for tool in dicts(inside(choice, "allowed_tools", "tools") or inside(choice, "tools")):
            yield from _chosen(tool)
