"""The second judge of every request: the SDKs' own request types, by pydantic, with extra keys forbidden.

Independent of `toolsmith.testing`: what that package believes of an API is checked here against the SDK's types.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from importlib import import_module
from typing import Any, cast

from pydantic import ConfigDict, TypeAdapter, ValidationError

from toolsmith.testing import Recorded

# Keys that a whole answer has when it is sent back as it came. The services take them; the SDKs' parameter types do not
# know them. (`reasoning_content` comes from compatible servers.)
_ECHOED_IN_CHAT = ("annotations", "reasoning_content")


def problems(request: Recorded) -> list[str]:
    """What the SDK's types find wrong with a request, a line for each; [] for a request that they could have built."""
    body = _without_what_no_type_knows(request)
    # kept in a name: what is validated lazily below needs it alive, also while another thread fills the cache
    adapter = _adapter(request.api, streamed=request.streamed)
    try:
        _walk(adapter.validate_python(body))
    except ValidationError as error:
        # a value that fits no member of a large union is reported for each member: the first few tell enough
        return [f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors()[:6]]
    return []


@cache
def _adapter(api: str, *, streamed: bool) -> TypeAdapter[Any]:
    _forbid_extra_keys()
    if api == "anthropic":
        from anthropic.types import message_create_params as claude

        wanted: Any = claude.MessageCreateParamsStreaming if streamed else claude.MessageCreateParamsNonStreaming
    elif api == "openai":
        from openai.types.responses import response_create_params as responses

        wanted = responses.ResponseCreateParamsStreaming if streamed else responses.ResponseCreateParamsNonStreaming
    else:
        from openai.types.chat import completion_create_params as chat

        wanted = chat.CompletionCreateParamsStreaming if streamed else chat.CompletionCreateParamsNonStreaming
    return TypeAdapter(wanted)


@cache
def _forbid_extra_keys() -> None:
    """Give every TypedDict of both SDKs the configuration that pydantic looks for."""
    for name in ("anthropic.types", "openai.types.chat", "openai.types.responses"):
        import_module(name)
    config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)
    for name, module in list(sys.modules.items()):
        if name.startswith(("anthropic.types", "openai.types")):
            for value in list(vars(module).values()):
                # one that has a configuration keeps it: a JSON Schema may have any key
                if hasattr(value, "__total__") and "__pydantic_config__" not in vars(value):
                    value.__pydantic_config__ = config


def _walk(value: object) -> None:
    """Go through everything: fields typed `Iterable` are validated only as they are read."""
    if isinstance(value, dict):
        for inner in cast("dict[str, object]", value).values():
            _walk(inner)
    elif isinstance(value, Iterable) and not isinstance(value, (str, bytes)):
        for inner in cast("Iterable[object]", value):
            _walk(inner)


def _without_what_no_type_knows(request: Recorded) -> dict[str, Any]:
    body = copy.deepcopy(request.body)
    key = "input" if request.api == "openai" else "messages"
    if isinstance(body.get(key), list):
        body[key] = list(_known_only(body[key], request))
    return body


def _known_only(items: list[Any], request: Recorded) -> Iterator[Any]:
    """Without the blocks that a script invented, and without the keys that only a whole answer has."""
    for item in items:
        if item.get("type") in request.known_blocks:
            continue
        if request.api == "openai" and item.get("type") == "message" and item.get("role") == "assistant":
            item.setdefault("id", "msg_0")  # the services do without it; the SDK's type for its own answers does not
        if request.api == "openai-chat" and item.get("role") == "assistant":
            for echoed in (*_ECHOED_IN_CHAT, *(request.known_blocks - {"content", "tool_calls", "role"})):
                item.pop(echoed, None)
        if request.api == "anthropic" and isinstance(item.get("content"), list):
            item["content"] = [block for block in item["content"] if block.get("type") not in request.known_blocks]
        yield item
