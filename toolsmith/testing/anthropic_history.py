"""What Claude's Messages API refuses of a history: shapes, pairs of calls and results, thinking that was altered.

Sources are named rule by rule, as in `anthropic_rules.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import zip_longest
from typing import Any, cast

from toolsmith.testing.binding import BINDING_MODELS, Conversation, blocks_of, named_like, places, thought_tail
from toolsmith.testing.hosted import claude_search_result
from toolsmith.testing.media_rules import claude_error_result, claude_media, claude_media_room, claude_request_size
from toolsmith.testing.recorded import Recorded, dicts, inside
from toolsmith.testing.rules import CALL_ID, NAME, No, Rule, repeated, rule, unknown_keys

_API = "anthropic"
_CACHE = {"cache_control"}
# block type -> keys it may have, and the roles that may say it
_BLOCKS: Mapping[str, tuple[set[str], tuple[str, ...]]] = {
    "text": ({"type", "text", "citations"} | _CACHE, ("user", "assistant")),
    "image": ({"type", "source", "transformations"} | _CACHE, ("user",)),
    "document": ({"type", "source", "title", "context", "citations"} | _CACHE, ("user",)),
    "search_result": ({"type", "source", "title", "content", "citations"} | _CACHE, ("user",)),
    "container_upload": ({"type", "file_id"} | _CACHE, ("user", "assistant")),
    "tool_use": ({"type", "id", "name", "input", "caller", "toolset_name"} | _CACHE, ("assistant",)),
    "tool_result": ({"type", "tool_use_id", "content", "is_error", "toolset_name"} | _CACHE, ("user",)),
    "thinking": ({"type", "thinking", "signature"}, ("assistant",)),
    "redacted_thinking": ({"type", "data"}, ("assistant",)),
    "server_tool_use": ({"type", "id", "name", "input", "caller"} | _CACHE, ("assistant",)),
}
_SERVER_RESULT = "_tool_result"  # web_search_tool_result and its kin: any keys, echoed as they came
_IN_RESULT = ("text", "image", "document", "search_result", "tool_reference", "browser_state")
_BINDING_BETA = "thinking-binding-controls-2026-08-01"
_NO_PREFILL = ("claude-opus-4-6", "claude-opus-4-7", "claude-opus-4-8", "claude-sonnet-4-6", "claude-opus-5",
               "claude-sonnet-5", "claude-haiku-5", "claude-fable", "claude-mythos")  # fmt: skip


def _messages(request: Recorded) -> list[dict[str, Any]]:
    return dicts(request.body.get("messages"))


@rule(
    _API, "messages", "No message at all, or one that is no object with role and content.", source="docs: Messages API"
)
def messages(request: Recorded) -> No | None:
    given = request.body.get("messages")
    if not isinstance(given, list):
        return No(message="messages: Field required" if given is None else "messages: Input should be a valid list")
    if not given:
        return No(message="messages: at least one message is required")
    for number, message in enumerate(cast("list[Any]", given)):
        if not isinstance(message, dict):
            return No(message=f"messages.{number}: Input should be an object")
        known = cast("dict[str, Any]", message)
        for key in ("role", "content"):
            if key not in known:
                return No(message=f"messages.{number}.{key}: Field required")
        extra = unknown_keys(known, ("role", "content"))
        if extra:
            return No(message=f"messages.{number}.{extra[0]}: Extra inputs are not permitted")
    return None


@rule(
    _API, "role", "A role other than user and assistant, or a history that does not begin with the user.", source="docs"
)
def role(request: Recorded) -> No | None:
    found = _messages(request)
    for number, message in enumerate(found):
        if message["role"] not in ("user", "assistant"):
            words = f'Unexpected role "{message["role"]}". Allowed roles are "user" or "assistant".'
            return No(message=f"messages.{number}.role: {words}")
    return None if found[0]["role"] == "user" else No(message='messages: first message must use the "user" role')


@rule(_API, "empty-content", "A message without content, or a text block without words.", source="docs: errors; issues")
def empty_content(request: Recorded) -> No | None:
    found = _messages(request)
    for number, message in enumerate(found):
        if not message["content"] and not (number == len(found) - 1 and message["role"] == "assistant"):
            words = "all messages must have non-empty content except for the optional final assistant message"
            return No(message=f"messages.{number}: {words}")
    for place in places(request.body):
        text = place.block.get("text")
        if place.block.get("type") == "text" and not (isinstance(text, str) and text.strip()):
            said = "must be non-empty" if text == "" else "must contain non-whitespace text"
            return No(message=f"messages: text content blocks {said} ({place.path})")
    return None


@rule(
    _API,
    "block",
    "A block of an unknown type, with an unknown key, or in the wrong role.",
    source="SDK: types/*_param.py",
)
def block(request: Recorded) -> No | None:
    for place in places(request.body):
        kind = str(place.block.get("type"))
        if kind in request.known_blocks or kind.endswith(_SERVER_RESULT):
            continue
        if kind not in _BLOCKS:
            return No(
                message=f"{place.path}: Input tag '{kind}' found using 'type' does not match any of the expected tags"
            )
        keys, roles = _BLOCKS[kind]
        extra = unknown_keys(place.block, keys)
        if extra:
            return No(message=f"{place.path}.{kind}.{extra[0]}: Extra inputs are not permitted")
        if place.role not in roles:
            return No(message=f"{place.path}: `{kind}` blocks may only be in `{roles[0]}` messages")
        wrong = _wrong_inside(place.block)
        if wrong:
            return No(message=f"{place.path}.{kind}.{wrong}")
    return None


def _wrong_inside(block: Mapping[str, Any]) -> str | None:
    match block["type"]:
        case "tool_use":
            if not isinstance(block.get("input"), dict):
                return "input: Input should be a valid dictionary"
            if not NAME.fullmatch(str(block.get("name"))):
                return "name: String should match pattern '^[a-zA-Z0-9_-]{1,64}$'"
            if not CALL_ID.fullmatch(str(block.get("id"))):
                return "id: String should match pattern '^[a-zA-Z0-9_-]+$'"
        case "tool_result":
            if not CALL_ID.fullmatch(str(block.get("tool_use_id"))):
                return "tool_use_id: String should match pattern '^[a-zA-Z0-9_-]+$'"
            for number, inner in enumerate(blocks_of(block.get("content"))):
                if inner.get("type") not in _IN_RESULT:
                    return f"content.{number}: Input tag '{inner.get('type')}' does not match any of the expected tags"
                if inner.get("type") == "text" and isinstance(block.get("content"), list) and not inner.get("text"):
                    return f"content.{number}.text: text content blocks must be non-empty"
        case "thinking":
            if not isinstance(block.get("signature"), str):
                return "signature: Field required"
        case _:
            return None
    return None


@rule(_API, "call-id-unique", "Two tool_use blocks with one id.", source="issues: anthropics/claude-code#28515")
def call_id_unique(request: Recorded) -> No | None:
    seen: set[str] = set()
    for place in places(request.body):
        if place.block.get("type") == "tool_use":
            if place.block["id"] in seen:
                return No(message=f"{place.path}: `tool_use` ids must be unique")
            seen.add(place.block["id"])
    return None


def _turns(request: Recorded) -> Iterator[tuple[int, str, list[dict[str, Any]]]]:
    """Messages as the service reads them: neighbours of one role are one turn; with the number of the first."""
    kept: tuple[int, str, list[dict[str, Any]]] | None = None
    for number, message in enumerate(_messages(request)):
        blocks = blocks_of(message["content"])
        if kept is not None and kept[1] == message["role"]:
            kept[2].extend(blocks)
            continue
        if kept is not None:
            yield kept
        kept = (number, message["role"], list(blocks))
    if kept is not None:
        yield kept


def _ids(blocks: list[dict[str, Any]], kind: str, key: str) -> list[str]:
    return [str(block.get(key)) for block in blocks if block.get("type") == kind]


@rule(
    _API,
    "result-missing",
    "A tool_use without its tool_result in the very next message.",
    source="docs: Tool use; issues",
)
def result_missing(request: Recorded) -> No | None:
    turns = list(_turns(request))
    for (number, _, blocks), after in zip_longest(turns, turns[1:]):
        calls = _ids(blocks, "tool_use", "id")
        results = _ids(after[2], "tool_result", "tool_use_id") if after else []
        open_calls = [call for call in calls if call not in results]
        if open_calls:
            return No(
                message=f"messages.{number}: `tool_use` ids were found without `tool_result` blocks immediately after: "
                f"{', '.join(open_calls)}. Each `tool_use` block must have a corresponding `tool_result` block in the "
                "next message."
            )
    return None


@rule(
    _API, "result-orphan", "A tool_result without its tool_use in the message before.", source="docs: Tool use; issues"
)
def result_orphan(request: Recorded) -> No | None:
    before: list[str] = []
    for number, _, blocks in _turns(request):
        for index, result in enumerate(_ids(blocks, "tool_result", "tool_use_id")):
            if result not in before:
                return No(
                    message=f"messages.{number}.content.{index}: unexpected `tool_use_id` found in `tool_result` "
                    f"blocks: {result}. Each `tool_result` block must have a corresponding `tool_use` block in "
                    "the previous message."
                )
        before = _ids(blocks, "tool_use", "id")
    return None


@rule(_API, "result-twice", "Two tool_result blocks for one tool_use.", source="docs: Tool use")
def result_twice(request: Recorded) -> No | None:
    for number, _, blocks in _turns(request):
        twice = repeated(_ids(blocks, "tool_result", "tool_use_id"))
        if twice is not None:
            words = "each tool_use must have a single result. Found multiple `tool_result` blocks with id:"
            return No(message=f"messages.{number}: {words} {twice}")
    return None


@rule(_API, "result-first", "A tool_result behind other content of its message.", source="docs: Tool use")
def result_first(request: Recorded) -> No | None:
    for number, _, blocks in _turns(request):
        kinds = [block.get("type") == "tool_result" for block in blocks]
        if kinds != sorted(kinds, reverse=True):
            return No(message=f"messages.{number}: `tool_result` blocks must come first in the content of a message")
    return None


@rule(_API, "prefill", "A history that ends with the assistant, on a model without prefill.", source="docs: errors")
def prefill(request: Recorded) -> No | None:
    last = _messages(request)[-1]
    # a turn that the service paused goes back as it is: it has a tool that the service runs, or was compacted
    paused = any(block.get("type") in ("server_tool_use", "compaction") for block in blocks_of(last["content"]))
    if last["role"] != "assistant" or paused or not request.model.startswith(_NO_PREFILL):
        return None
    words = "This model does not support assistant message prefill. The conversation must end with a user message."
    return No(message=words)


@rule(
    _API,
    "thinking-signature",
    "A thinking block whose signature or text was altered, or made by another model.",
    source="docs: Thinking; issues: anthropics/anthropic-sdk-python#1598",
)
def thinking_signature(request: Recorded) -> No | None:
    for path, kind, differs in _altered(request):
        if differs in ("signature", "model", "thinking"):
            return No(message=f"{path}: Invalid `signature` in `{kind}` block")
    return None


@rule(
    _API,
    "thinking-prefix",
    "System, tools or an earlier message changed since a thinking block was made.",
    source="docs: Thinking; issues",
)
def thinking_prefix(request: Recorded) -> No | None:
    wish = inside(request.body, "thinking", "block_binding", "prefix_mismatch_behavior")
    dropping = wish == "drop_block"
    if dropping and _BINDING_BETA in request.headers.get("anthropic-beta", ""):
        return None
    if not named_like(request.model, BINDING_MODELS):
        return None
    for path, kind, differs in _altered(request):
        what = {"system": "`system` prompt differs", "tools": "`tools` differ", "messages": "earlier messages differ"}
        if differs in what:
            return No(
                message=f"{path}: Invalid `signature` in `{kind}` block. The block is bound to a different "
                "conversation. Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to "
                f'"drop_block". That setting requires the `{_BINDING_BETA}` value in the `anthropic-beta` '
                f"header. The {what[differs]} from the one this block was created with."
            )
    return None


def _altered(request: Recorded) -> Iterator[tuple[str, str, str]]:
    conversation = Conversation(request.body)
    for place in places(request.body):
        kind = str(place.block.get("type"))
        if kind in ("thinking", "redacted_thinking"):
            signature = place.block.get("signature" if kind == "thinking" else "data")
            differs = conversation.differs(str(place.block.get("thinking", "")), str(signature))
            if differs is not None:
                yield place.path, kind, differs
        conversation.add(place.role, place.block)


@rule(
    _API, "thinking-missing", "The latest turn lost the thinking that came before its calls.", source="docs: Thinking"
)
def thinking_missing(request: Recorded) -> No | None:
    latest = next((turn for turn in reversed(list(_turns(request))) if turn[1] == "assistant"), None)
    if latest is None:
        return None
    tail, thought = thought_tail(request.body), False
    for block in latest[2]:
        thought = thought or block.get("type") in ("thinking", "redacted_thinking")
        if block.get("type") == "tool_use" and str(block.get("id")).endswith(tail) and not thought:
            words = "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified."
            return No(
                message=f"messages.{latest[0]}: {words} These blocks must remain as they were in the original response."
            )
    return None


HISTORY_RULES: tuple[Rule, ...] = (
    messages,
    role,
    empty_content,
    block,
    claude_media,
    claude_media_room,
    claude_request_size,
    claude_error_result,
    claude_search_result,
    call_id_unique,
    result_missing,
    result_orphan,
    result_twice,
    result_first,
    prefill,
    thinking_signature,
    thinking_prefix,
    thinking_missing,
)
