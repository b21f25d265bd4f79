"""OpenAI's Chat Completions API and the many servers that speak it, through the `openai` SDK's client (3.57 or newer).

Sources, read November 2026: the SDK's types (`openai/types/chat`), and what compatible servers were seen to send.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from toolsmith._dialects.tool_dicts import for_chat
from toolsmith._feedback import speaking
from toolsmith._run.room import Ceiling
from toolsmith.media import File, Image, Media
from toolsmith.messages import HostedTool, Message, Native, Refusal, Reply, Request, Text, ToolCall, ToolOutput
from toolsmith.providers._chat_answers import read_completion, server_id
from toolsmith.providers._chat_stream import ChatStream
from toolsmith.providers._media import OPENAI_CEILING, Shown, chat_part
from toolsmith.providers._openai import OpenAICarrier
from toolsmith.providers._wire import (
    HEADERS,
    check_settings,
    dump,
    items_of,
    joined,
    obj,
    replayable_arguments,
    wire_name,
)

if TYPE_CHECKING:
    from toolsmith.dialects import Offered, Service
    from toolsmith.providers import ModelSettings

# Parameters of `POST /chat/completions` that are ours to pass on (openai/types/chat/completion_create_params.py).
_KNOWN = frozenset(
    {
        "audio", "frequency_penalty", "function_call", "functions", "logit_bias", "logprobs",
        "max_completion_tokens", "max_tokens", "metadata", "modalities", "moderation", "prediction",
        "presence_penalty", "prompt_cache_key", "prompt_cache_options", "prompt_cache_retention",
        "reasoning_effort", "response_format", "safety_identifier", "seed", "service_tier", "stop", "store",
        "stream_options", "temperature", "tools", "top_logprobs", "top_p", "user", "verbosity",
        "web_search_options", "extra_body",
    }
)  # fmt: skip
_OURS = {
    "model": "Agent(model)",
    "messages": "Agent.run(message_history=...)",
    "tool_choice": "the run itself",
    "parallel_tool_calls": "Agent(parallel_tool_calls=...)",
    "stream": "Agent.run or Agent.run_stream",
}
_WRONG = {
    "max_output_tokens": "on Chat Completions it is called max_completion_tokens, on many servers max_tokens",
    "n": "a run follows one answer",
    "extra_headers": HEADERS,
}
# The SDK refuses to start without a key, and most servers of one's own want none.
_NO_KEY = "no-key-needed"


def create(model: str, settings: ModelSettings) -> OpenAIChat:
    """The provider for "openai-chat:MODEL"."""
    return OpenAIChat(model, settings=settings)


class OpenAIChat(OpenAICarrier):
    """A model behind Chat Completions: OpenAI's own, or any server's that speaks this API.

    Args:
        model: as the server names it.
        client: your own `OpenAI`, `AsyncOpenAI`, `AzureOpenAI` ...; None makes one from the environment.
        async_client: your own asyncio client, where `client` is a blocking one.
        settings: base URL, key and parameters. With a base URL a key may be left out; `OPENAI_API_KEY` is sent where
            it is set, as the SDK does. With a client of yours, its base URL and key are used.

    Raises:
        ConfigError: no key for OpenAI's own service, or a parameter that cannot work.
    """

    api = "openai-chat"
    _path = "/chat/completions"

    def __init__(
        self, model: str, *, client: Any = None, async_client: Any = None, settings: ModelSettings | None = None
    ) -> None:
        super().__init__(model, client=client, async_client=async_client, settings=settings)
        self._check(self.settings)

    @property
    def service(self) -> Service:
        from toolsmith import dialects

        return dialects.OPENAI if self._is_openai else dialects.COMPATIBLE

    def _without_key(self, profile: ModelSettings) -> str | None:
        if profile.base_url or os.environ.get("OPENAI_BASE_URL"):
            return _NO_KEY
        raise self._missing_key()

    def _check(self, settings: Mapping[str, Any]) -> None:
        check_settings(settings, provider=self.name, known=_KNOWN, ours=_OURS, wrong=_WRONG)

    def hosts(self, tool: HostedTool) -> bool:
        """None: on this API only models made for it search, and always."""
        return False

    @property
    def ceiling(self) -> Ceiling:
        """Images and bytes of one request; nothing is known of other servers than OpenAI's."""
        return OPENAI_CEILING if self._is_openai else Ceiling()

    def encode_tools(self, tools: Sequence[Offered], hosted: Sequence[HostedTool] = ()) -> bytes:
        """The tool list, as JSON; b"" for none."""
        return dump([for_chat(t) for t in tools]) if tools else b""

    def encode_message(self, message: Message) -> bytes:
        """One message as wire messages, joined by commas; b"" where there is nothing that this API may be shown."""
        if message.native is not None and message.native.api == self.api:
            return message.native.items
        match message.role:
            case "user":
                if any(isinstance(p, (Image, File)) for p in message.parts):
                    return dump({"role": "user", "content": self._contents(message)})
                return dump({"role": "user", "content": message.text})
            case "assistant":
                return _assistant(message)
            case "tool":
                return b",".join(map(dump, self._outputs([p for p in message.parts if isinstance(p, ToolOutput)])))

    def _shown(self, media: Media, number: int = 0) -> Shown:
        return chat_part(media, self.name, openai=self._is_openai, number=number)

    def _contents(self, message: Message) -> list[dict[str, Any]]:
        """A user's message with images or files in it."""
        parts: list[dict[str, Any]] = []
        for part in message.parts:
            made = self._shown(part) if isinstance(part, (Image, File)) else part.text if isinstance(part, Text) else ""
            if made:
                parts.append({"type": "text", "text": made} if isinstance(made, str) else made)
        return parts

    def _outputs(self, outputs: Sequence[ToolOutput]) -> list[dict[str, Any]]:
        """One message each. They take text only: what tools gave to look at follows in a message of the user's role."""
        messages: list[dict[str, Any]] = []
        beside: list[dict[str, Any]] = []
        for output in outputs:
            call_id = server_id(output.call_id)
            text = speaking().unflagged(output.text) if output.is_error else output.text
            for number, one in enumerate(() if output.is_error else output.media, 1):
                made = self._shown(one, number)
                if isinstance(made, str):
                    text = f"{text}\n{made}"
                else:
                    beside += [{"type": "text", "text": speaking().media_of(output.name, call_id, number, one)}, made]
            messages.append({"role": "tool", "tool_call_id": call_id, "content": text})
        return [*messages, {"role": "user", "content": beside}] if beside else messages

    def unbound(self, native: Native) -> Native:
        """All of them: nothing is bound to what came before."""
        items_of(native)
        return native

    def renamed(self, native: Native, ids: Mapping[str, str]) -> Native:
        """As it is: the server is shown its own ids, which `server_id` finds again."""
        return native

    def effective_tool_choice(self, request: Request) -> str:
        """What `tool_choice` this request really carries: this API takes each."""
        return request.tool_choice

    def answer_settings(
        self, form: Offered, settings: Mapping[str, Any], hosted: Sequence[HostedTool] = ()
    ) -> Mapping[str, Any] | None:
        """`response_format`, on OpenAI's own service: of the others many ignore it."""
        if not (form.strict and self._is_openai):
            return None
        shape = {"name": form.spec.name, "schema": form.schema, "strict": True}
        return {**settings, "response_format": {"type": "json_schema", "json_schema": shape}}

    def encode_request(self, request: Request, *, stream: bool) -> bytes:
        """The body of a request."""
        if request.settings:
            self._check(request.settings)
        settings = {**self.settings, **request.settings}
        extra, tools = settings.pop("extra_body", None), settings.pop("tools", None)
        head: dict[str, Any] = {"model": self.model, **settings}
        if request.tools:
            choice = self._tool_choice(request, _function, [_named(tool) for tool in tools or ()])
            if isinstance(choice, dict) and choice["type"] == "allowed_tools":  # nested here, flat on the other API
                inner = {key: choice[key] for key in ("mode", "tools")}
                choice = {"type": "allowed_tools", "allowed_tools": inner}
            if choice != "auto":
                head["tool_choice"] = choice
            if request.parallel is not None:
                head["parallel_tool_calls"] = request.parallel
        if stream:
            head["stream"] = True
            head["stream_options"] = {"include_usage": True, **obj(settings.get("stream_options"))}
        else:
            head.pop("stream_options", None)  # the API refuses it there
        head.update(obj(extra))
        listed = request.tools if not tools else joined(request.tools, dump(tools))
        parts = [dump(head)[:-1]]
        if listed:
            parts += [b',"tools":', listed]
        messages = list(filter(None, request.messages))
        if request.instructions:
            messages.insert(0, dump({"role": "system", "content": request.instructions}))
        parts += [b',"messages":[', b",".join(messages), b"]}"]
        return b"".join(parts)

    def decode(self, body: bytes) -> Reply:
        """Read an answer."""
        return read_completion(self.name, body)

    def accumulator(self) -> ChatStream:
        """For the answer to one streamed request."""
        return ChatStream(self.name)


def _function(name: str) -> dict[str, Any]:
    """A function tool, as `tool_choice` names it."""
    return {"type": "function", "function": {"name": name}}


def _named(tool: Mapping[str, Any]) -> dict[str, Any]:
    """A tool of the user's settings, as `tool_choice` names it."""
    kind = tool["type"]
    return {"type": kind, kind: {"name": obj(tool.get(kind)).get("name")}}


def _assistant(message: Message) -> bytes:
    """An assistant's turn from its neutral parts; what another service alone understands is left out."""
    words = "".join(p.text for p in message.parts if isinstance(p, (Text, Refusal)))
    calls = [_call(p) for p in message.parts if isinstance(p, ToolCall)]
    if not words and not calls:
        return b""
    wire: dict[str, Any] = {"role": "assistant", "content": words or None}
    return dump({**wire, "tool_calls": calls} if calls else wire)


def _call(call: ToolCall) -> dict[str, Any]:
    # Some servers parse the arguments of old calls, and fail the request where they are no object.
    arguments = dump(replayable_arguments(call.arguments)).decode()
    return {
        "id": server_id(call.id),
        "type": "function",
        "function": {"name": wire_name(call.name), "arguments": arguments},
    }
