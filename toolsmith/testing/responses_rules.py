"""What the Responses API refuses. Sources as in `openai_rules.py`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import zip_longest
from typing import Any

from toolsmith.testing.binding import decrypts
from toolsmith.testing.media_rules import openai_media
from toolsmith.testing.openai_rules import bad, missing, shared_rules, unknown
from toolsmith.testing.recorded import Recorded, dicts, is_models_own
from toolsmith.testing.responses_wire import REASONED
from toolsmith.testing.rules import CALL_ID, NAME, No, Rule, rule, unknown_keys

_API = "openai"
_KNOWN = frozenset(
    {
        "access_programs", "background", "background_options", "context_management", "conversation", "image", "include",
        "input", "instructions", "max_output_tokens", "max_tool_calls", "metadata", "model", "moderation",
        "parallel_tool_calls", "previous_response_id", "prompt", "prompt_cache_key", "prompt_cache_options",
        "prompt_cache_retention", "reasoning", "safety_identifier", "service_tier", "store", "stream", "stream_options",
        "temperature", "text", "tool_choice", "tools", "top_logprobs", "top_p", "truncation", "user",
    }
)  # fmt: skip
# item type -> its keys; items of hosted tools are echoed as they came and not looked into
_ITEMS: Mapping[str, frozenset[str]] = {
    "message": frozenset({"type", "role", "content", "id", "status", "phase"}),
    "function_call": frozenset(
        {"type", "id", "call_id", "name", "arguments", "status", "caller", "namespace", "async"}
    ),
    "function_call_output": frozenset({"type", "id", "call_id", "output", "status", "caller", "name", "namespace"}),
    "reasoning": frozenset({"type", "id", "summary", "content", "encrypted_content", "status"}),
}
_HOSTED = (
    "file_search_call", "computer_call", "computer_call_output", "web_search_call", "tool_search_call",
    "tool_search_output", "additional_tools", "compaction", "compaction_trigger", "image_generation_call",
    "code_interpreter_call", "local_shell_call", "local_shell_call_output", "shell_call", "shell_call_output",
    "apply_patch_call", "apply_patch_call_output", "mcp_list_tools", "mcp_approval_request", "mcp_approval_response",
    "mcp_call", "custom_tool_call", "custom_tool_call_output", "item_reference", "program", "program_output",
    "configuration_update",
)  # fmt: skip
_IN = ("input_text", "input_image", "input_file")
_OUT = ("output_text", "refusal")
_PREFIX = {"function_call": "fc", "message": "msg", "reasoning": "rs", "function_call_output": "fc"}
_ID_LENGTH = 64


def _items(request: Recorded) -> list[tuple[str, dict[str, Any]]]:
    """Each item of `input` and where it stands; an item without a type is a message."""
    return [(f"input[{number}]", item) for number, item in enumerate(request.messages)]


def _kind(item: Mapping[str, Any]) -> str:
    return str(item.get("type", "message"))


def _of_kind(request: Recorded, *kinds: str) -> Iterator[tuple[str, dict[str, Any]]]:
    return ((path, item) for path, item in _items(request) if _kind(item) in kinds)


@rule(_API, "input", "`input` is missing or empty.", source="spec")
def input_given(request: Recorded) -> No | None:
    given = request.body.get("input")
    if not given:
        return missing("input")
    if isinstance(given, str) or dicts(given) == given:
        return None
    words = "Invalid type for 'input': expected a string or an array of objects."
    return bad(words, code="invalid_type", param="input")


@rule(
    _API,
    "server-state",
    "`previous_response_id` or `conversation`: this double keeps nothing.",
    source="docs: Conversation state",
)
def server_state(request: Recorded) -> No | None:
    found = request.body.get("previous_response_id")
    if found is None and request.body.get("conversation") is None:
        return None
    words = f"Previous response with id '{found}' not found."
    return bad(words, code="previous_response_not_found", param="previous_response_id")


@rule(_API, "max-output-tokens", "`max_output_tokens` below 16.", source="docs: Responses; issues")
def max_output_tokens(request: Recorded) -> No | None:
    value = request.body.get("max_output_tokens")
    if value is None or (isinstance(value, int) and value >= 16):
        return None
    words = (
        f"Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got {value} instead."
    )
    return bad(words, code="integer_below_min_value", param="max_output_tokens")


@rule(
    _API,
    "item",
    "An item of an unknown type or role, or with an unknown key.",
    source="SDK: response_input_item_param.py",
)
def item_known(request: Recorded) -> No | None:
    for path, item in _items(request):
        kind = _kind(item)
        if kind in _HOSTED or kind in request.known_blocks:
            continue
        if kind not in _ITEMS:
            return bad(
                f"Invalid value: '{kind}'. Supported values are: 'message', 'function_call', ...", param=f"{path}.type"
            )
        extra = unknown_keys(item, _ITEMS[kind])
        if extra:
            return unknown(f"{path}.{extra[0]}")
        if kind == "message" and item.get("role") not in ("user", "assistant", "system", "developer"):
            words = f"Invalid value: '{item.get('role')}'. Supported values are: 'assistant', 'system', 'developer', "
            return bad(words + "and 'user'.", param=f"{path}.role")
    return None


@rule(
    _API,
    "content",
    "A message without content, or with parts that its role does not have.",
    source="docs: Responses; issues",
)
def content(request: Recorded) -> No | None:
    for path, item in _of_kind(request, "message"):
        value = item.get("content")
        if value is None:
            return missing(f"{path}.content")
        allowed = _OUT if item.get("role") == "assistant" else _IN
        no = _parts(f"{path}.content", value, allowed)
        if no:
            return no
    for path, item in _of_kind(request, "function_call_output"):
        if item.get("output") is None:
            return missing(f"{path}.output")
        no = _parts(f"{path}.output", item["output"], _IN)
        if no:
            return no
    return None


def _parts(path: str, value: object, allowed: tuple[str, ...]) -> No | None:
    if isinstance(value, str):
        return None
    if not isinstance(value, list):
        return bad(f"Invalid type for '{path}': expected a string or an array.", code="invalid_type", param=path)
    for number, part in enumerate(dicts(value)):  # pyright: ignore[reportUnknownArgumentType]
        if part.get("type") not in allowed:
            words = f"Invalid value: '{part.get('type')}'. Supported values are: "
            return bad(words + " and ".join(f"'{kind}'" for kind in allowed) + ".", param=f"{path}[{number}]")
    return None


@rule(
    _API,
    "call",
    "A function call without id, name or arguments text; a call id that is too long or oddly spelt.",
    source="spec; issues: AnswerDotAI/fastllm#45",
)
def call(request: Recorded) -> No | None:
    for path, item in _of_kind(request, "function_call", "function_call_output"):
        call_id = item.get("call_id")
        if not isinstance(call_id, str) or not call_id:
            return missing(f"{path}.call_id")
        if len(call_id) > _ID_LENGTH:
            words = f"Invalid '{path}.call_id': string too long. Expected a string with maximum length {_ID_LENGTH}, "
            words += f"but got a string with length {len(call_id)} instead."
            return bad(words, code="string_above_max_length", param=f"{path}.call_id")
        if not CALL_ID.fullmatch(call_id):
            return bad(f"Invalid '{path}.call_id': string does not match pattern.", param=f"{path}.call_id")
        if _kind(item) == "function_call":
            if not NAME.fullmatch(str(item.get("name", ""))):
                return bad(f"Invalid '{path}.name': string does not match pattern.", param=f"{path}.name")
            if not isinstance(item.get("arguments"), str):
                return bad(f"Invalid type for '{path}.arguments': expected a string.", code="invalid_type")
    return None


@rule(
    _API,
    "item-id",
    "An item id with the wrong prefix, or one that comes twice.",
    source="issues: vercel/ai#13307, jlcodes99/cockpit-tools#2090",
)
def item_id(request: Recorded) -> No | None:
    seen: set[str] = set()
    for path, item in _items(request):
        value = item.get("id")
        if value is None or _kind(item) == "item_reference":
            continue
        prefix = _PREFIX.get(_kind(item), "")
        if not str(value).startswith(prefix):
            return bad(
                f"Invalid '{path}.id': '{value}'. Expected an ID that begins with '{prefix}'.", param=f"{path}.id"
            )
        if value in seen:
            words = f"Duplicate item found with id {value}. Remove duplicate items from your input and try again."
            return bad(words, code=None, param="input")
        seen.add(str(value))
    return None


@rule(_API, "result-missing", "A function call without its output.", source="docs: Function calling; issues")
def result_missing(request: Recorded) -> No | None:
    answered = {item.get("call_id") for _, item in _of_kind(request, "function_call_output")}
    for _, item in _of_kind(request, "function_call"):
        if item["call_id"] not in answered:
            return bad(f"No tool output found for function call {item['call_id']}.", code=None, param="input")
    return None


@rule(
    _API,
    "result-orphan",
    "An output whose call is not in the history before it, or is answered already.",
    source="docs: Function calling; issues",
)
def result_orphan(request: Recorded) -> No | None:
    waiting: list[str] = []
    for _, item in _of_kind(request, "function_call", "function_call_output"):
        if _kind(item) == "function_call":
            if item["call_id"] in waiting:
                return bad(f"Duplicate function call with call_id {item['call_id']}.", code=None, param="input")
            waiting.append(item["call_id"])
        elif item["call_id"] in waiting:
            waiting.remove(item["call_id"])
        else:
            words = f"No tool call found for function call output with call_id {item['call_id']}."
            return bad(words, code=None, param="input")
    return None


@rule(
    _API,
    "reasoning-content",
    "A reasoning item without its encrypted content in a stateless request, or with an altered one.",
    source="docs: Reasoning; issues",
)
def reasoning_content(request: Recorded) -> No | None:
    for path, item in _of_kind(request, "reasoning"):
        name, secret = item.get("id"), item.get("encrypted_content")
        if not isinstance(name, str):
            return missing(f"{path}.id")
        if not isinstance(item.get("summary"), list):
            return missing(f"{path}.summary")
        if secret is None and request.body.get("store", True) is False:
            words = f"Item with id '{name}' not found. Items are not persisted when `store` is set to false. "
            return No(
                message=words + "Try again with `store` set to true, or remove this item from your input.", status=404
            )
        if secret is not None and not decrypts(name, secret):
            words = f"The encrypted content for item {name} could not be verified."
            return bad(words, code="invalid_encrypted_content", param=path)
    return None


@rule(_API, "reasoning-follower", "A reasoning item without the item that it led to.", source="docs: Reasoning; issues")
def reasoning_follower(request: Recorded) -> No | None:
    items = [item for _, item in _items(request)]
    for item, after in zip_longest(items, items[1:]):
        if _kind(item) == "reasoning" and (after is None or not is_models_own(after)):
            words = f"Item '{item['id']}' of type 'reasoning' was provided without its required following item."
            return bad(words, code=None, param="input")
    return None


@rule(_API, "reasoning-missing", "An item without the reasoning that led to it.", source="docs: Reasoning; issues")
def reasoning_missing(request: Recorded) -> No | None:
    reasoned = False
    for _, item in _items(request):
        if not is_models_own(item):
            reasoned = False
        elif _kind(item) == "reasoning":
            reasoned = True
        elif str(item.get("id", "")).endswith(REASONED) and not reasoned:
            words = f"Item '{item['id']}' of type '{_kind(item)}' was provided without its required 'reasoning' item."
            return bad(words, code=None, param="input")
    return None


RESPONSES_RULES: tuple[Rule, ...] = (
    *shared_rules(_API, _KNOWN),
    input_given,
    server_state,
    max_output_tokens,
    item_known,
    content,
    openai_media(_API),
    call,
    item_id,
    result_missing,
    result_orphan,
    reasoning_content,
    reasoning_follower,
    reasoning_missing,
)
