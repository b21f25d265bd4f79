"""Answers of Chat Completions, at once or streamed, from OpenAI or a server like it -> `Reply`.

Sources: openai/types/chat/chat_completion.py and chat_completion_chunk.py, version 3.57; for other servers what they
were seen to send (November 2026): no id or one id for all calls, arguments as an object, no index, content in parts,
reasoning beside the content, "stop" where calls follow, no usage.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from toolsmith._callids import LONGEST, first_id
from toolsmith.messages import Message, Native, Part, Reasoning, Refusal, Reply, Stop, Text, ToolCall, Usage
from toolsmith.providers._failures import refusal
from toolsmith.providers._wire import (
    CallIds,
    arguments_object,
    arguments_text,
    arr,
    bad_response,
    digest,
    dump,
    load,
    num,
    obj,
    replayable_arguments,
    txt,
    wire_id,
    wire_name,
)

_STOPS: dict[str, Stop] = {
    "stop": "end",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "length": "length",
    "content_filter": "filter",
    "model_length": "context",  # Mistral
    "error": "error",  # OpenRouter
    "insufficient_system_resource": "error",  # DeepSeek
}
# Where servers put readable reasoning: most, and OpenRouter and newer vLLM.
REASONING_KEYS = ("reasoning_content", "reasoning")
# What an answer holds and a request does not take (chat_completion_assistant_message_param.py).
_ANSWER_ONLY = frozenset({"annotations", "function_call", "tool_calls", "content", "role", "audio"})
_OF_A_CALL = frozenset({"id", "type", "function", "index"})

_SENT = "sent_"
_ID_LENGTH = 40  # OpenAI's own bound here: "string too long. Expected a string with maximum length 40" (public issues)


def label_of(sent: str) -> str:
    """A call's id as we name it: one that other APIs would refuse ("functions.f:0") is written so that they take it.

    The server must see its own id again: some models were trained on it. `server_id` gives it back.
    """
    ours = sent.startswith(_SENT) or first_id(sent) != sent
    if not ours and wire_id(sent, longest=_ID_LENGTH) == sent:
        return sent
    label = _SENT + re.sub(rb"[^a-zA-Z0-9_]", lambda m: b"-%02x" % m[0][0], sent.encode("utf-8", "replace")).decode()
    odd = ours or wire_id(sent, longest=len(sent)) != sent
    return label if odd and len(label) <= LONGEST else f"call_{digest(sent)}"


def server_id(label: str) -> str:
    """The id that a request carries for a call that we name `label`: the server's own, though it came before."""
    label = first_id(label)
    if not label.startswith(_SENT):
        return wire_id(label, longest=_ID_LENGTH)
    raw = re.sub(rb"-([0-9a-f]{2})", lambda m: bytes([int(m[1], 16)]), label.removeprefix(_SENT).encode())
    return raw.decode("utf-8", "replace")


def read_completion(provider: str, body: bytes) -> Reply:
    """An answer that came at once.

    Raises:
        ProviderError: it is an error, or none of this API.
    """
    try:
        completion = obj(load(body))
    except ValueError:
        raise bad_response(provider, body) from None
    choice = obj(next(iter(arr(completion.get("choices"))), None))
    if error := completion.get("error") or choice.get("error") or completion.get("detail"):
        raise refusal(provider, error if isinstance(error, str) else {"error": error})
    if completion.get("object") == "error":  # vLLM
        raise refusal(provider, completion)
    if not isinstance(choice.get("message"), dict):
        raise bad_response(provider, body)
    return reply_of(completion, obj(choice["message"]), choice.get("finish_reason"))


def reply_of(completion: Mapping[str, Any], message: Mapping[str, Any], finish: object) -> Reply:
    """A whole answer.

    Args:
        completion: the envelope, with `id`, `created`, `model`, `usage`.
        message: the assistant's message.
        finish: the `finish_reason`.
    """
    parts = _reasoning(message) + _content(message.get("content"))
    if words := txt(message.get("refusal")):
        parts.append(Refusal(words))
    calls, entries = _calls(completion, message)
    parts += calls
    stop, detail = _stop(finish, parts)
    return Reply(
        Message("assistant", tuple(parts), Native("openai-chat", _native(message, entries))),
        stop,
        _usage(obj(completion.get("usage"))),
        detail,
        txt(completion.get("model")),
        txt(completion.get("id")),
    )


def call_ids(completion: Mapping[str, Any]) -> CallIds:
    """Ids for the calls of this answer; they differ from those of other turns even if the server names none."""
    return CallIds((completion.get("id"), completion.get("created")))


def _reasoning(message: Mapping[str, Any]) -> list[Part]:
    found = next((text for key in REASONING_KEYS if (text := txt(message.get(key)))), "")
    return [Reasoning(found)] if found else []


def _content(content: object) -> list[Part]:
    if isinstance(content, str):
        return [Text(content)] if content else []
    parts: list[Part] = []
    for raw in arr(content):  # Mistral's reasoning models, and servers that answer in parts
        item = obj(raw)
        if thinking := item.get("thinking"):
            parts.append(Reasoning(thinking if isinstance(thinking, str) else _texts(thinking)))
        elif text := txt(item.get("text")):
            parts.append(Text(text))
    return parts


def _texts(items: object) -> str:
    return "".join(txt(obj(item).get("text")) for item in arr(items))


def _calls(completion: Mapping[str, Any], message: Mapping[str, Any]) -> tuple[list[ToolCall], list[dict[str, Any]]]:
    """The calls, and the entries that go back to the server; both in the model's order."""
    ids = call_ids(completion)
    calls: list[ToolCall] = []
    entries: list[dict[str, Any]] = []
    legacy = obj(message.get("function_call"))
    for raw in arr(message.get("tool_calls")) or ([{"function": legacy}] if legacy else []):
        entry = obj(raw)
        function = obj(entry.get("function"))
        text = arguments_text(function.get("arguments"))
        sent = ids.take(entry.get("id"))
        label = label_of(sent)
        calls.append(ToolCall(label, txt(function.get("name")), text))
        if arguments_object(text) is None:
            # Some servers parse the arguments of old calls, and fail the request where they are no object.
            text = dump(replayable_arguments(text)).decode()
        name = wire_name(txt(function.get("name")))
        server = sent if label == sent else server_id(label)
        wire = {"id": server, "type": "function", "function": {**function, "name": name, "arguments": text}}
        more = {key: value for key, value in entry.items() if key not in _OF_A_CALL and value is not None}
        entries.append({**wire, **more})
    return calls, entries


def _native(message: Mapping[str, Any], entries: Sequence[dict[str, Any]]) -> bytes:
    """The message as the next request takes it, with all that the server added of its own."""
    wire: dict[str, Any] = {"role": "assistant", "content": message.get("content")}
    wire |= {key: value for key, value in message.items() if key not in _ANSWER_ONLY and value is not None}
    if audio := obj(message.get("audio")).get("id"):
        wire["audio"] = {"id": audio}
    if entries:
        wire["tool_calls"] = entries
    elif wire["content"] is None and "refusal" not in wire and "audio" not in wire:
        wire["content"] = ""  # null is for messages that hold something else
    return dump(wire)


def _stop(finish: object, parts: Sequence[Part]) -> tuple[Stop, str]:
    """Why it ended, in our word and in the server's."""
    called = any(isinstance(p, ToolCall) for p in parts)
    stop = _STOPS.get(txt(finish), "unknown")
    if stop == "end" and called:
        stop = "tool_calls"  # many servers say "stop" there
    elif stop == "tool_calls" and not called:
        stop = "unknown"
    elif stop == "end" and any(isinstance(p, Refusal) for p in parts):
        stop = "refusal"
    return stop, f"finish_reason: {finish}"


def _usage(usage: Mapping[str, Any]) -> Usage:
    prompt, completion = obj(usage.get("prompt_tokens_details")), obj(usage.get("completion_tokens_details"))
    return Usage(
        input_tokens=num(usage.get("prompt_tokens")),
        output_tokens=num(usage.get("completion_tokens")),
        cached_tokens=num(prompt.get("cached_tokens")),
        cache_write_tokens=num(prompt.get("cache_write_tokens")),
        reasoning_tokens=num(completion.get("reasoning_tokens")),
        requests=1,
    )
