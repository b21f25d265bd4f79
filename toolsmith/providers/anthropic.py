"""Claude's Messages API, through the `anthropic` SDK's client (2.14 or newer).

Sources, read November 2026: the SDK's types (`anthropic/types`), and platform.claude.com/docs for the rules in between.
"""

from __future__ import annotations

import inspect
import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from toolsmith._dialects.tool_dicts import for_claude
from toolsmith._feedback import speaking
from toolsmith.errors import ConfigError
from toolsmith.media import File, Image, Media
from toolsmith.messages import HostedTool, Message, Native, Part, Refusal, Reply, Request, Text, ToolCall, ToolOutput
from toolsmith.providers._anthropic_answers import MessageStream, read_message
from toolsmith.providers._hosted import claude_tool
from toolsmith.providers._http import SDKCarrier
from toolsmith.providers._media import claude_block, claude_ceiling
from toolsmith.providers._wire import (
    HEADERS,
    arr,
    check_settings,
    dump,
    items_of,
    joined,
    no_turn,
    num,
    obj,
    replayable_arguments,
    wire_id,
    wire_name,
)

if TYPE_CHECKING:
    from toolsmith._run.room import Ceiling
    from toolsmith.dialects import Offered, Service
    from toolsmith.providers import ModelSettings

DEFAULT_MAX_TOKENS = 16_000
# The SDK's own bound (`_calculate_nonstreaming_timeout`): more may take longer than ten minutes, and connections that
# are silent for so long get lost on the way.
MAX_TOKENS_AT_ONCE = 21_333

# These models answer 400 to `tool_choice` any and tool (release notes; measured by others too). Snapshots and the
# clouds' names ("anthropic.claude-opus-5-5-v1:0", "claude-opus-5-5@20260801") are of the same kind.
_NOT_FORCED = re.compile(r"claude-(?:fable-5-[12]|mythos-5-[12]|opus-5-5|sonnet-5-5)(?!\d)")

# Parameters of `POST /v1/messages` that are ours to pass on (anthropic/types/message_create_params.py).
_KNOWN = frozenset(
    {
        "cache_control", "container", "diagnostics", "inference_geo", "max_tokens", "metadata", "output_config",
        "service_tier", "speed", "stop_sequences", "thinking", "tools", "extra_body",
    }
)  # fmt: skip
_OURS = {
    "model": "Agent(model)",
    "messages": "Agent.run(message_history=...)",
    "system": "Agent(instructions=...)",
    "tool_choice": "the run itself",
    "stream": "Agent.run or Agent.run_stream",
}
_GONE = "the Messages API takes no sampling parameters since 2026-10-21; drop it"
_WRONG = {
    "extra_headers": HEADERS,
    "temperature": _GONE,
    "top_p": _GONE,
    "top_k": _GONE,
    "max_output_tokens": "on Claude it is called max_tokens",
    "max_completion_tokens": "on Claude it is called max_tokens",
    "reasoning": "on Claude it is called thinking, and output_config={'effort': ...}",
}


def create(model: str, settings: ModelSettings) -> AnthropicMessages:
    """The provider for "anthropic:MODEL"."""
    return AnthropicMessages(model, settings=settings)


class AnthropicMessages(SDKCarrier):
    """A Claude model, on Anthropic's own service or a compatible one.

    Args:
        model: "claude-opus-5-5".
        client: your own `Anthropic`, `AsyncAnthropic`, or a cloud's client; None makes one from the environment.
        async_client: your own asyncio client, where `client` is a blocking one.
        settings: base URL, key and parameters. With a client of yours, its base URL and key are used.

    Raises:
        ConfigError: no key, or a parameter that cannot work.
    """

    api = "anthropic"
    _sdk = "anthropic"
    _clients = ("Anthropic", "AsyncAnthropic")
    _path = "/v1/messages"
    _span: ClassVar[Mapping[str, str]] = {"span_name": "anthropic.messages.create", "span_route": "/v1/messages"}
    _key_variable = "ANTHROPIC_API_KEY"

    def __init__(
        self, model: str, *, client: Any = None, async_client: Any = None, settings: ModelSettings | None = None
    ) -> None:
        super().__init__(model, client=client, async_client=async_client, settings=settings)
        self._check(self.settings)

    @property
    def service(self) -> Service:
        from toolsmith.dialects import CLAUDE

        return CLAUDE

    def _without_key(self, profile: ModelSettings) -> str | None:
        import os

        if os.environ.get("ANTHROPIC_AUTH_TOKEN") and not profile.api_key:
            return None
        import anthropic  # only now: profiles, files and workload identity are the SDK's own business

        try:
            with anthropic.Anthropic(base_url=self._base_url) as client:
                found = client.credentials is not None or {"authorization", "x-api-key"} & {
                    name.lower() for name in client.default_headers
                }
        except (anthropic.AnthropicError, ValueError) as error:
            raise ConfigError(f"{self.name}: the credentials cannot be read: {error}") from error
        if not found:
            raise self._missing_key()
        return None

    def _check(self, settings: Mapping[str, Any]) -> None:
        check_settings(settings, provider=self.name, known=_KNOWN, ours=_OURS, wrong=_WRONG)

    def _begin(self) -> None:
        # The SDK's own `create` warns so; a raw post does not.
        from anthropic.resources.messages import DEPRECATED_MODELS

        if end := DEPRECATED_MODELS.get(self.model):
            text = f"{self.name} reaches its end of life on {end}. Choose a newer model."
            warnings.warn(text, DeprecationWarning, stacklevel=_callers_level())

    # --- requests ---------------------------------------------------------------------------------------------------

    def hosts(self, tool: HostedTool) -> bool:
        """Web search, on Anthropic's own service; the clouds have other versions of it, or none."""
        return tool.insisted or (self._is_sdks_own and self._is_at(".anthropic.com", "ANTHROPIC_BASE_URL"))

    @property
    def ceiling(self) -> Ceiling:
        """Images and bytes of one request."""
        return claude_ceiling(self.model, cloud=not self._is_sdks_own)

    def encode_tools(self, tools: Sequence[Offered], hosted: Sequence[HostedTool] = ()) -> bytes:
        """The tool list, as JSON; b"" for none."""
        listed = [*map(for_claude, tools), *(claude_tool(t, self.model) for t in hosted)]
        return dump(listed) if listed else b""

    def encode_message(self, message: Message) -> bytes:
        """One message, as JSON; b"" where there is nothing that Claude may be shown."""
        if message.native is not None and message.native.api == self.api:
            return message.native.items
        if message.role == "tool":
            blocks = [self._result_block(p) for p in message.parts if isinstance(p, ToolOutput)]
        elif message.role == "user":
            shown = (self._shown(p) if isinstance(p, (Image, File)) else _block(p) for p in message.parts)
            blocks = [block for block in shown if block]
        else:
            blocks = [block for p in message.parts if (block := _block(p))]
        role = "assistant" if message.role == "assistant" else "user"
        return dump({"role": role, "content": blocks}) if blocks else b""

    def _shown(self, media: Media, number: int = 0) -> dict[str, Any]:
        made = claude_block(media, self.name, cloud=not self._is_sdks_own, number=number)
        return {"type": "text", "text": made} if isinstance(made, str) else made

    def _result_block(self, output: ToolOutput) -> dict[str, Any]:
        content: str | list[dict[str, Any]] = output.text
        if output.media and not output.is_error:  # beside an error only text may stand
            words = [{"type": "text", "text": output.text}] if output.text.strip() else []
            content = [*words, *(self._shown(one, number) for number, one in enumerate(output.media, 1))]
        block = {"type": "tool_result", "tool_use_id": wire_id(output.call_id), "content": content}
        return {**block, "is_error": True} if output.is_error else block

    def unbound(self, native: Native) -> Native | None:
        """The turn without its thinking: a signature holds only behind the bytes it was made behind (facts of 2026)."""
        if not native.items:
            return None  # Claude may answer with nothing at all
        message, *more = items_of(native)
        content = message.get("content")
        if isinstance(content, str) and not more:
            return native
        if more or not isinstance(content, list) or not all(isinstance(b, dict) for b in arr(content)):
            raise no_turn(native, "they are not one message with a content")
        blocks = [b for b in arr(content) if b.get("type") not in ("thinking", "redacted_thinking")]
        return Native(self.api, dump({**message, "content": blocks})) if blocks else None

    def renamed(self, native: Native, ids: Mapping[str, str]) -> Native:
        """The turn with its calls under other ids; the API wants each id once in a whole history."""
        (message,) = items_of(native)
        calls = (obj(b) | {"id": ids[b["id"]]} if obj(b).get("id") in ids else b for b in message["content"])
        return replace(native, items=dump({**message, "content": list(calls)}))

    def effective_tool_choice(self, request: Request) -> str:
        """What `tool_choice` this request really carries: "auto" where the model, or its thinking, takes no force."""
        if request.tool_choice in ("auto", "none"):
            return request.tool_choice
        thinking = obj({**self.settings, **request.settings}.get("thinking"))
        refused = _NOT_FORCED.search(self.model) or thinking.get("type") == "enabled"
        return "auto" if refused else request.tool_choice

    def answer_settings(
        self, form: Offered, settings: Mapping[str, Any], hosted: Sequence[HostedTool] = ()
    ) -> Mapping[str, Any] | None:
        """`output_config.format`, beside what else stands in `output_config` (A/types/output_config_param.py).

        Never with a search of the service: its sources are cited, and a schema with citations is a 400 (docs, November
        2026: Structured outputs).
        """
        if not form.strict or hosted:
            return None
        config = obj({**self.settings, **settings}.get("output_config"))
        shape = {"type": "json_schema", "schema": form.schema}
        return {**settings, "output_config": {**config, "format": shape}}

    def encode_request(self, request: Request, *, stream: bool) -> bytes:
        """The body of a request."""
        if request.settings:
            self._check(request.settings)
        settings = {**self.settings, **request.settings}
        extra, tools = settings.pop("extra_body", None), settings.pop("tools", None)
        head: dict[str, Any] = {"model": self.model, "max_tokens": DEFAULT_MAX_TOKENS, **settings}
        if not stream:
            self._check_length(num(head["max_tokens"]))
        self._mark_cache(head)
        if request.instructions:
            head["system"] = request.instructions
        if stream:
            head["stream"] = True
        choice = self._tool_choice(request) if request.tools else None
        if choice is not None:
            head["tool_choice"] = choice
        head.update(obj(extra))
        listed = request.tools if not tools else joined(request.tools, dump(tools))
        parts = [dump(head)[:-1]]
        if listed:
            parts += [b',"tools":', listed]
        messages = list(filter(None, request.messages))
        if messages and messages[0].startswith(b'{"role":"assistant"'):
            # A history may have been trimmed; the first word has to be the user's.
            messages.insert(0, dump({"role": "user", "content": speaking().nothing_before()}))
        parts += [b',"messages":[', b",".join(messages), b"]}"]
        return b"".join(parts)

    def _tool_choice(self, request: Request) -> dict[str, Any] | None:
        alone = {"disable_parallel_tool_use": True} if request.parallel is False else {}
        match self.effective_tool_choice(request):
            case "auto":
                return {"type": "auto", **alone} if alone else None
            case "none":
                return {"type": "none"}
            case "required":
                return {"type": "any", **alone}
            case name:
                return {"type": "tool", "name": name, **alone}

    def _mark_cache(self, head: dict[str, Any]) -> None:
        """By default the service caches all that the next request repeats; `cache_control=None` in settings stops it.

        The clouds do not take the marker at the top level (docs, prompt caching): their clients get none.
        """
        if "cache_control" not in head and self._is_sdks_own:
            head["cache_control"] = {"type": "ephemeral"}
        if not head.get("cache_control"):
            head.pop("cache_control", None)

    def _check_length(self, max_tokens: int) -> None:
        if max_tokens > MAX_TOKENS_AT_ONCE and not self._has_own_timeout:
            raise ConfigError(
                f"{self.name}: max_tokens={max_tokens} may take longer than ten minutes, too long for an answer that "
                f"comes at once. Use run_stream, ask for at most {MAX_TOKENS_AT_ONCE}, or pass your own client with "
                "its own timeout."
            )

    # --- answers ----------------------------------------------------------------------------------------------------

    def decode(self, body: bytes) -> Reply:
        """Read an answer."""
        return read_message(self.name, body)

    def accumulator(self) -> MessageStream:
        """For the answer to one streamed request."""
        return MessageStream(self.name)


def _callers_level() -> int:
    """How far up the code stands that started the run: a warning is shown for it, not for us."""
    frame, level = inspect.currentframe(), 0
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] in ("toolsmith", "contextlib"):
        frame, level = frame.f_back, level + 1
    return level


def _block(part: Part) -> dict[str, Any] | None:
    """A neutral part as a content block; None for what another service alone understands."""
    match part:
        case Text(text) | Refusal(text):
            return {"type": "text", "text": text} if text.strip() else None  # blank blocks are a 400
        case ToolCall(call_id, name, arguments):
            wire = {"type": "tool_use", "id": wire_id(call_id), "name": wire_name(name)}
            return {**wire, "input": replayable_arguments(arguments)}
        case _:
            return None
