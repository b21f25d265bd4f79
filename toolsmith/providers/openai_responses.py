"""OpenAI's Responses API, through the `openai` SDK's client (3.57 or newer). Stateless: the service keeps nothing.

Sources, read November 2026: the SDK's types (`openai/types/responses`) and developers.openai.com/api/docs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from toolsmith._dialects.tool_dicts import for_responses
from toolsmith._feedback import speaking
from toolsmith._run.room import Ceiling
from toolsmith.media import File, Image, Media
from toolsmith.messages import HostedTool, Message, Native, Part, Refusal, Reply, Request, Text, ToolCall, ToolOutput
from toolsmith.providers._hosted import responses_tool
from toolsmith.providers._media import OPENAI_CEILING, responses_part
from toolsmith.providers._openai import OpenAICarrier
from toolsmith.providers._responses_answers import ResponseStream, read_response
from toolsmith.providers._wire import HEADERS, check_settings, dump, items_of, joined, obj, wire_id, wire_name

if TYPE_CHECKING:
    from toolsmith.dialects import Offered, Service
    from toolsmith.providers import ModelSettings

# Parameters of `POST /responses` that are ours to pass on (openai/types/responses/response_create_params.py).
_KNOWN = frozenset(
    {
        "access_programs", "background", "background_options", "context_management", "conversation", "image",
        "include", "max_output_tokens", "max_tool_calls", "metadata", "moderation", "previous_response_id",
        "prompt", "prompt_cache_key", "prompt_cache_options", "prompt_cache_retention", "reasoning",
        "safety_identifier", "service_tier", "store", "stream_options", "temperature", "text", "tools",
        "top_logprobs", "top_p", "truncation", "user", "extra_body",
    }
)  # fmt: skip
_OURS = {
    "model": "Agent(model)",
    "input": "Agent.run(message_history=...)",
    "instructions": "Agent(instructions=...)",
    "tool_choice": "the run itself",
    "parallel_tool_calls": "Agent(parallel_tool_calls=...)",
    "stream": "Agent.run or Agent.run_stream",
}
_WRONG = {
    "extra_headers": HEADERS,
    "max_tokens": "on the Responses API it is called max_output_tokens",
    "max_completion_tokens": "on the Responses API it is called max_output_tokens",
    "reasoning_effort": "on the Responses API it is reasoning={'effort': ...}",
    "response_format": "on the Responses API it is text={'format': ...}",
    "verbosity": "on the Responses API it is text={'verbosity': ...}",
}
_REASONING = "reasoning.encrypted_content"
# Models that do not reason answer 400 to a request for encrypted reasoning.
_UNREASONING = re.compile(r"(?:ft:)?(?:gpt-3|gpt-4|chatgpt-4)|.*-chat(?:-latest)?$")


def create(model: str, settings: ModelSettings) -> OpenAIResponses:
    """The provider for "openai:MODEL"."""
    return OpenAIResponses(model, settings=settings)


class OpenAIResponses(OpenAICarrier):
    """An OpenAI model on the Responses API.

    Args:
        model: "gpt-6-astra".
        client: your own `OpenAI`, `AsyncOpenAI` or a cloud's client; None makes one from the environment.
        async_client: your own asyncio client, where `client` is a blocking one.
        settings: base URL, key and parameters. With a client of yours, its base URL and key are used.

    Raises:
        ConfigError: no key, or a parameter that cannot work.
    """

    api = "openai"
    _path = "/responses"

    def __init__(
        self, model: str, *, client: Any = None, async_client: Any = None, settings: ModelSettings | None = None
    ) -> None:
        super().__init__(model, client=client, async_client=async_client, settings=settings)
        self._check(self.settings)

    @property
    def service(self) -> Service:
        from toolsmith.dialects import OPENAI

        return OPENAI

    def _check(self, settings: Mapping[str, Any]) -> None:
        check_settings(settings, provider=self.name, known=_KNOWN, ours=_OURS, wrong=_WRONG)

    def hosts(self, tool: HostedTool) -> bool:
        """Web search, on OpenAI's own service; it has no list of sites to leave out."""
        return not tool.blocked_domains and (tool.insisted or self._is_at(".openai.com", "OPENAI_BASE_URL"))

    @property
    def ceiling(self) -> Ceiling:
        """Images and bytes of one request; nothing is known of other servers than OpenAI's."""
        return OPENAI_CEILING if self._is_openai else Ceiling()

    def encode_tools(self, tools: Sequence[Offered], hosted: Sequence[HostedTool] = ()) -> bytes:
        """The tool list, as JSON; b"" for none."""
        listed = [*map(for_responses, tools), *map(responses_tool, hosted)]
        return dump(listed) if listed else b""

    def encode_message(self, message: Message) -> bytes:
        """One message as items, joined by commas; b"" where there is nothing that this API may be shown."""
        if message.native is not None and message.native.api == self.api:
            return message.native.items
        if message.role == "user" and any(isinstance(p, (Image, File)) for p in message.parts):
            return dump({"role": "user", "content": [part for p in message.parts if (part := self._content(p))]})
        return b",".join([dump(item) for p in message.parts if (item := self._item(message.role, p))])

    def _content(self, part: Part) -> dict[str, Any] | None:
        if isinstance(part, (Image, File)):
            return self._shown(part)
        return {"type": "input_text", "text": part.text} if isinstance(part, Text) and part.text else None

    def _shown(self, media: Media, number: int = 0) -> dict[str, Any]:
        made = responses_part(media, self.name, number)
        return {"type": "input_text", "text": made} if isinstance(made, str) else made

    def _item(self, role: str, part: Part) -> dict[str, Any] | None:
        """A neutral part as an input item; None for what another service alone understands."""
        match part:
            case Text(text) | Refusal(text):
                if role == "assistant" and text and not self._is_openai:
                    return _said(text)
                return {"role": role, "content": text} if text or role == "user" else None
            case ToolCall(call_id, name, arguments):
                call = {"type": "function_call", "call_id": wire_id(call_id), "name": wire_name(name)}
                return {**call, "arguments": arguments}
            case ToolOutput(call_id, _, text, is_error):
                output: str | list[dict[str, Any]] = speaking().unflagged(text) if is_error else text
                if part.media and not is_error:
                    shown = (self._shown(one, number) for number, one in enumerate(part.media, 1))
                    output = [{"type": "input_text", "text": text}, *shown]
                return {"type": "function_call_output", "call_id": wire_id(call_id), "output": output}
            case _:
                return None

    def unbound(self, native: Native) -> Native:
        """All of them: the service itself drops reasoning that no longer fits (Response.input_transformations)."""
        items_of(native)
        return native

    def renamed(self, native: Native, ids: Mapping[str, str]) -> Native:
        """The turn with its calls under other ids."""
        items = items_of(native)
        calls = (item | {"call_id": ids[item["call_id"]]} if item.get("call_id") in ids else item for item in items)
        return replace(native, items=b",".join(map(dump, calls)))

    def effective_tool_choice(self, request: Request) -> str:
        """What `tool_choice` this request really carries: this API takes each."""
        return request.tool_choice

    def answer_settings(
        self, form: Offered, settings: Mapping[str, Any], hosted: Sequence[HostedTool] = ()
    ) -> Mapping[str, Any] | None:
        """`text.format`, beside what else stands in `text`."""
        if not form.strict:
            return None
        shape = {"type": "json_schema", "name": form.spec.name, "schema": form.schema, "strict": True}
        text = obj({**self.settings, **settings}.get("text"))
        return {**settings, "text": {**text, "format": shape}}

    def encode_request(self, request: Request, *, stream: bool) -> bytes:
        """The body of a request."""
        if request.settings:
            self._check(request.settings)
        settings = {**self.settings, **request.settings}
        extra, tools = settings.pop("extra_body", None), settings.pop("tools", None)
        head: dict[str, Any] = {"model": self.model, "store": False, **settings}
        if head["store"] is False and not _UNREASONING.match(self.model):
            # Without a store the reasoning comes back encrypted, and must go in again with the calls that follow it.
            head["include"] = list(dict.fromkeys([*(settings.get("include") or ()), _REASONING]))
        if request.instructions:
            head["instructions"] = request.instructions
        if request.tools:
            named = [{"type": tool.kind} for tool in request.hosted]
            choice = self._tool_choice(request, _function, [*named, *(_hosted(tool) for tool in tools or ())])
            uses = [tool.max_uses for tool in request.hosted if tool.max_uses is not None]
            if uses and "max_tool_calls" not in head:
                head["max_tool_calls"] = sum(uses)
            if choice != "auto":
                head["tool_choice"] = choice
            if request.parallel is not None:
                head["parallel_tool_calls"] = request.parallel
        if stream:
            head["stream"] = True
        head.update(obj(extra))
        listed = request.tools if not tools else joined(request.tools, dump(tools))
        parts = [dump(head)[:-1]]
        if listed:
            parts += [b',"tools":', listed]
        parts += [b',"input":[', b",".join(filter(None, request.messages)), b"]}"]
        return b"".join(parts)

    def decode(self, body: bytes) -> Reply:
        """Read an answer."""
        return read_response(self.name, body)

    def accumulator(self) -> ResponseStream:
        """For the answer to one streamed request."""
        return ResponseStream(self.name)


def _function(name: str) -> dict[str, Any]:
    """A function tool, as `tool_choice` names it."""
    return {"type": "function", "name": name}


def _hosted(tool: Mapping[str, Any]) -> dict[str, Any]:
    """A hosted tool, as `tool_choice` names it: by its type, and its name or label where it has one."""
    return {key: tool[key] for key in ("type", "name", "server_label") if key in tool}


def _said(text: str) -> dict[str, Any]:
    """Words of the model as the API itself writes them: llama.cpp's server takes no shorter form (November 2026).

    Without an id: one that we make up could meet another one, which OpenAI refuses.
    """
    content: dict[str, Any] = {"type": "output_text", "text": text, "annotations": []}
    return {"type": "message", "status": "completed", "role": "assistant", "content": [content]}
