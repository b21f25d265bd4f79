"""What Chat Completions refuses. Sources as in `openai_rules.py`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from toolsmith.testing.binding import reasons_by_default
from toolsmith.testing.media_rules import openai_media
from toolsmith.testing.openai_rules import bad, missing, shared_rules, unknown
from toolsmith.testing.recorded import Recorded, dicts, inside
from toolsmith.testing.rules import NAME, No, Rule, repeated, rule, unknown_keys

_API = "openai-chat"
_KNOWN = frozenset(
    {
        "audio", "frequency_penalty", "function_call", "functions", "logit_bias", "logprobs", "max_completion_tokens",
        "max_tokens", "messages", "metadata", "modalities", "model", "moderation", "n", "parallel_tool_calls",
        "prediction", "presence_penalty", "prompt_cache_key", "prompt_cache_options", "prompt_cache_retention",
        "reasoning_effort", "response_format", "safety_identifier", "seed", "service_tier", "stop", "store", "stream",
        "stream_options", "temperature", "tool_choice", "tools", "top_logprobs", "top_p", "user", "verbosity",
        "web_search_options",
    }
)  # fmt: skip
# role -> keys of its messages. `annotations` and `reasoning_content` come back from clients that echo a whole answer.
_KEYS: Mapping[str, frozenset[str]] = {
    "developer": frozenset({"role", "content", "name"}),
    "system": frozenset({"role", "content", "name"}),
    "user": frozenset({"role", "content", "name"}),
    "assistant": frozenset(
        {
            "role",
            "content",
            "name",
            "refusal",
            "audio",
            "tool_calls",
            "function_call",
            "annotations",
            "reasoning_content",
        }
    ),
    "tool": frozenset({"role", "content", "tool_call_id"}),
}
# role -> types of content parts
_PARTS: Mapping[str, tuple[str, ...]] = {
    "developer": ("text",),
    "system": ("text",),
    "user": ("text", "image_url", "input_audio", "file"),
    "assistant": ("text", "refusal"),
    "tool": ("text",),
}
_ID_LENGTH = 40


def _messages(request: Recorded) -> list[dict[str, Any]]:
    return dicts(request.body.get("messages"))


def _calls(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    return dicts(message.get("tool_calls"))


@rule(_API, "max-tokens", "`max_tokens` with a model that reasons.", source="SDK: completion_create_params.py; issues")
def max_tokens(request: Recorded) -> No | None:
    if request.body.get("max_tokens") is None or not reasons_by_default(request.model):
        return None
    words = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
    return bad(words, code="unsupported_parameter", param="max_tokens")


@rule(_API, "stream-options", "`stream_options` where nothing is streamed.", source="docs: Streaming; issues")
def stream_options(request: Recorded) -> No | None:
    if request.streamed or request.body.get("stream_options") is None:
        return None
    words = "The 'stream_options' parameter is only allowed when 'stream' is enabled."
    return bad(words, code=None, param="stream_options")


@rule(_API, "empty-tools", "An empty list of tools.", source="issues: \"Invalid 'tools': empty array\"")
def empty_tools(request: Recorded) -> No | None:
    if request.body.get("tools") != []:
        return None
    words = "Invalid 'tools': empty array. Expected an array with minimum length 1, but got an empty array instead."
    return bad(words, code="empty_array", param="tools")


@rule(_API, "parallel-without-tools", "`parallel_tool_calls` without tools.", source="issues: Upsonic/Upsonic#323")
def parallel_without_tools(request: Recorded) -> No | None:
    if request.body.get("parallel_tool_calls") is None or request.body.get("tools"):
        return None
    words = "Invalid value for 'parallel_tool_calls': 'parallel_tool_calls' is only allowed when 'tools' are specified."
    return bad(words, param="parallel_tool_calls")


@rule(_API, "messages", "No message at all.", source="spec")
def messages(request: Recorded) -> No | None:
    if "messages" not in request.body:
        return missing("messages")
    if request.body["messages"] and _messages(request) == request.body["messages"]:
        return None
    words = "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead."
    return bad(words, code="empty_array", param="messages")


@rule(_API, "role", "A role that the API does not have.", source="spec")
def role(request: Recorded) -> No | None:
    for number, message in enumerate(_messages(request)):
        if str(message.get("role")) not in _KEYS:
            words = f"Invalid value: '{message.get('role')}'. Supported values are: 'system', 'assistant', 'user', "
            return bad(words + "'tool', and 'developer'.", param=f"messages[{number}].role")
    return None


@rule(_API, "message-key", "A key that a message of its role does not have.", source="SDK: types/chat; spec")
def message_key(request: Recorded) -> No | None:
    for number, message in enumerate(_messages(request)):
        extra = unknown_keys(message, _KEYS[message["role"]] | request.known_blocks)
        if extra:
            return unknown(f"messages[{number}].{extra[0]}")
    return None


@rule(
    _API,
    "content",
    "Content that is missing, empty or of a type that the role does not have (images from a tool).",
    source="SDK: chat_completion_tool_message_param.py; spec",
)
def content(request: Recorded) -> No | None:
    for number, message in enumerate(_messages(request)):
        path, value = f"messages[{number}].content", message.get("content")
        if isinstance(value, str):
            continue
        if value is None:
            if message["role"] == "assistant" and (_calls(message) or message.get("refusal") or message.get("audio")):
                continue
            words = f"Invalid value for 'content': expected a string, got null. ({path})"
            return bad(words, code=None, param=path)
        if not isinstance(value, list) or not value:
            return bad(f"Invalid '{path}': empty array or wrong type.", code="empty_array", param=path)
        for index, part in enumerate(dicts(cast("list[object]", value))):
            if part.get("type") not in _PARTS[message["role"]]:
                allowed = " and ".join(f"'{kind}'" for kind in _PARTS[message["role"]])
                words = f"Invalid value: '{part.get('type')}'. Supported values are: {allowed}."
                return bad(words, param=f"{path}[{index}].type")
    return None


@rule(
    _API,
    "call",
    "A tool call without id, name or arguments text; an id longer than 40 characters.",
    source="SDK: types/chat; issues: microsoft/autogen#6377",
)
def call(request: Recorded) -> No | None:
    for number, message in enumerate(_messages(request)):
        if message.get("tool_calls") == []:
            return bad(f"Invalid 'messages[{number}].tool_calls': empty array.", code="empty_array")
        for index, made in enumerate(_calls(message)):
            path = f"messages[{number}].tool_calls[{index}]"
            function = made.get("function")
            for key in ("id", "type"):
                if not isinstance(made.get(key), str):
                    return missing(f"{path}.{key}")
            if len(made["id"]) > _ID_LENGTH or not made["id"]:
                return _length(f"{path}.id", made["id"])
            if made["type"] == "function":
                if not NAME.fullmatch(str(inside(function, "name"))):
                    return bad(f"Invalid '{path}.function.name': string does not match pattern.", param=path)
                if not isinstance(inside(function, "arguments"), str):
                    words = f"Invalid type for '{path}.function.arguments': expected a string."
                    return bad(words, code="invalid_type", param=f"{path}.function.arguments")
    return None


def _length(path: str, value: str) -> No:
    if not value:
        words = f"Invalid '{path}': empty string. Expected a string with minimum length 1."
        return bad(words, code="empty_string", param=path)
    words = f"Invalid '{path}': string too long. Expected a string with maximum length {_ID_LENGTH}, "
    return bad(
        words + f"but got a string with length {len(value)} instead.", code="string_above_max_length", param=path
    )


@rule(_API, "call-id-unique", "Two calls of one turn with one id.", source="docs: Function calling")
def call_id_unique(request: Recorded) -> No | None:
    for number, message in enumerate(_messages(request)):
        twice = repeated(str(made.get("id")) for made in _calls(message))
        if twice is not None:
            return bad(f"Duplicate value for 'tool_call_id' of '{twice}' in message[{number}].", param="messages")
    return None


@rule(
    _API,
    "result-missing",
    "A tool call without its tool message directly after.",
    source="docs: Function calling; issues",
)
def result_missing(request: Recorded) -> No | None:
    found = _messages(request)
    for number, message in enumerate(found):
        wanted = [str(made.get("id")) for made in _calls(message)]
        answered: list[str] = []
        for after in found[number + 1 :]:
            if after["role"] != "tool":
                break
            answered.append(str(after.get("tool_call_id")))
        open_calls = [one for one in wanted if one not in answered]
        if open_calls:
            words = (
                "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
                "'tool_call_id'. The following tool_call_ids did not have response messages: "
            )
            return bad(words + ", ".join(open_calls), code=None, param=f"messages.[{number + 1}].role")
    return None


@rule(
    _API,
    "result-orphan",
    "A tool message that answers no call of the turn before.",
    source="docs: Function calling; issues",
)
def result_orphan(request: Recorded) -> No | None:
    waiting: list[str] = []
    for number, message in enumerate(_messages(request)):
        if message["role"] != "tool":
            waiting = [str(made.get("id")) for made in _calls(message)]
            continue
        if not isinstance(message.get("tool_call_id"), str):
            return missing(f"messages[{number}].tool_call_id")
        if message["tool_call_id"] not in waiting:
            words = (
                "messages with role 'tool' must be a response to a preceding message with 'tool_calls'. "
                f"No open call has the id '{message['tool_call_id']}'."
            )
            return bad(f"Invalid parameter: {words}", code=None, param=f"messages.[{number}].role")
        waiting.remove(message["tool_call_id"])  # a second result for the same call is an orphan
    return None


CHAT_RULES: tuple[Rule, ...] = (
    *shared_rules(_API, _KNOWN),
    max_tokens,
    stream_options,
    empty_tools,
    parallel_without_tools,
    messages,
    role,
    message_key,
    content,
    openai_media(_API),
    call,
    call_id_unique,
    result_missing,
    result_orphan,
)
