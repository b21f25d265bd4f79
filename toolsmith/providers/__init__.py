"""What a provider is: a codec to bytes, and four short methods that carry the bytes.

A provider is one file. The codec half is pure and is told nothing but neutral values; the carrying half hands the bytes
to the SDK client's raw `post` (so auth, base URL, proxies and connection pool stay the SDK's) and turns its exceptions
into `ProviderError`. No SDK type crosses this border.

To add one, write a module with a class that has these members and name it in `_PROVIDERS` below.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import field
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, cast

from toolsmith._dataclass import dataclass
from toolsmith.errors import ConfigError

if TYPE_CHECKING:
    from toolsmith._run.room import Ceiling as Ceiling
    from toolsmith.dialects import Offered, Service
    from toolsmith.events import Delta
    from toolsmith.messages import HostedTool, Message, Native, Reply, Request


def __getattr__(name: str) -> Any:
    if name == "Ceiling":  # for providers from outside; loaded when one asks for it
        from toolsmith._run.room import Ceiling

        return Ceiling
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class Accumulator(Protocol):
    """Puts the bytes of one stream together. Pure; a new one for each answer."""

    @property
    def over(self) -> bool:
        """Whether the answer has had its terminal event, or an error in its place: nothing behind it matters."""
        ...

    def feed(self, chunk: bytes) -> Sequence[Delta]:
        """Take the next bytes, cut anywhere; give the events they complete."""
        ...

    def end(self) -> Sequence[Delta]:
        """The bytes have ended, or `over` is true: give the events that were waiting for more bytes.

        Called before `finish`, and maybe twice: the second time there are none. None as well where `finish` will
        raise: what a program was shown of an answer keeps it from being asked for again.
        """
        ...

    def finish(self) -> Reply:
        """The whole answer, equal to what `decode` gives for the same answer sent at once.

        Raises:
            ProviderError: category "connection" where the stream ended without its terminal event; or the error that
                the service reported inside the stream.
        """
        ...


class Provider(Protocol):
    """One API of one service, for one model."""

    @property
    def api(self) -> str:
        """Which API this speaks: "anthropic", "openai", "openai-chat", "local". `Native` items are kept by it."""
        ...

    @property
    def model(self) -> str:
        """The model's name, as the service knows it."""
        ...

    @property
    def name(self) -> str:
        """For people: "anthropic:claude-opus-5-5"."""
        ...

    @property
    def service(self) -> Service:
        """What this service's strict and loose modes accept, and its ceilings for one request."""
        ...

    def hosts(self, tool: HostedTool) -> bool:
        """Whether the service has this tool, for this model and with all that is wanted of it."""
        ...

    @property
    def ceiling(self) -> Ceiling:
        """How much of images, files and bytes one request may hold."""
        ...

    def encode_tools(self, tools: Sequence[Offered], hosted: Sequence[HostedTool] = ()) -> bytes:
        """The tool list of a whole run, as JSON. Called once; the same bytes go into each request.

        Args:
            tools: those that the run itself carries out.
            hosted: those that the service does; each one that it `hosts`.
        """
        ...

    def encode_message(self, message: Message) -> bytes:
        """One message as JSON items joined by commas, without brackets; b"" where this API has nothing to say.

        `message.native` is replayed as it is where `message.native.api == self.api`; otherwise the message is built
        from its neutral parts, with ids mapped to what this API takes and foreign reasoning left out.
        """
        ...

    def unbound(self, native: Native) -> Native | None:
        """A turn's items without what the service takes only behind the very bytes it was written behind.

        None where nothing of them is left. For messages of this provider's API.

        Raises:
            HistoryError: they are not what this API could have written.
        """
        ...

    def renamed(self, native: Native, ids: Mapping[str, str]) -> Native:
        """A turn's items under the ids that its calls now have: old id -> new one.

        A server may give an id that a call of another turn has. Called once, before the turn is sent back for the first
        time. An API whose items need not have unique ids may leave them as they are, if it knows how `encode_message`
        finds a call's own id again.
        """
        ...

    def effective_tool_choice(self, request: Request) -> str:
        """What `tool_choice` this request really carries: "auto" where the service refuses to be forced to a call.

        A run that needs the call looks here, and asks for it in words, or again, where it differs from
        `request.tool_choice`.
        """
        ...

    def answer_settings(
        self, form: Offered, settings: Mapping[str, Any], hosted: Sequence[HostedTool] = ()
    ) -> Mapping[str, Any] | None:
        """The settings that hold the model's answer itself to a schema.

        Args:
            form: the schema, as this service's strict mode takes it, if it does.
            settings: the run's own, which are kept.
            hosted: the tools that the service runs itself.

        Returns:
            All of the request's settings; or None where this API, this model or this schema does not allow it: then
            the run gives the model a tool to answer with.
        """
        ...

    def encode_request(self, request: Request, *, stream: bool) -> bytes:
        """The body of a request: a join of ready bytes."""
        ...

    def decode(self, body: bytes) -> Reply:
        """Read an answer.

        Raises:
            ProviderError: category "bad_response" where the body is no answer of this API.
        """
        ...

    def accumulator(self) -> Accumulator:
        """For the answer to one streamed request."""
        ...

    def send(self, body: bytes, *, timeout: float | None) -> bytes:
        """Post a body, get the answer's body. One attempt: repeating is `_run.retry`'s.

        Args:
            body: from `encode_request`.
            timeout: seconds for the whole request, None for the client's own.

        Raises:
            ProviderError: with the category of the failure.
        """
        ...

    async def asend(self, body: bytes, *, timeout: float | None) -> bytes:
        """`send` for asyncio."""
        ...

    def stream(self, body: bytes, *, timeout: float | None) -> AbstractContextManager[Iterator[bytes]]:
        """Post a body, get the answer's bytes as they arrive. Leaving the block closes the response."""
        ...

    def astream(self, body: bytes, *, timeout: float | None) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """`stream` for asyncio."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSettings:
    """Where a model is and how to reach it; what a profile in `toolsmith.toml` holds.

    Attributes:
        model: "anthropic:claude-opus-5-5", "openai:gpt-6-astra", "openai-chat:NAME", "local:smollm2".
        base_url: of a compatible server; None for the SDK's own (and its environment variable).
        api_key: the key itself, None for the SDK's own environment variable.
        api_key_env: name of the environment variable that holds the key; wins over the SDK's own.
        settings: parameters of the API, passed through with each request ("max_tokens", "reasoning", ...).
    """

    model: str
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    api_key_env: str | None = None
    settings: Mapping[str, Any] | None = None

    def key(self) -> str | None:
        """The API key to use, or None to leave it to the SDK.

        Raises:
            ConfigError: the variable named by `api_key_env` is not set.
        """
        if self.api_key is not None:
            return self.api_key
        if self.api_key_env is None:
            return None
        value = os.environ.get(self.api_key_env, "")
        if not value:
            raise ConfigError(
                f"Model {self.model!r} takes its API key from the environment variable {self.api_key_env}, "
                f"which is not set. Set it: export {self.api_key_env}=..."
            )
        return value


# provider prefix -> module; each module has `create(model: str, settings: ModelSettings) -> Provider`
_PROVIDERS: dict[str, str] = {
    "anthropic": "toolsmith.providers.anthropic",
    "openai": "toolsmith.providers.openai_responses",
    "openai-chat": "toolsmith.providers.openai_chat",
    "local": "toolsmith.providers.local",
}


def resolve(model: str | ModelSettings) -> Provider:
    """The provider for "PROVIDER:MODEL" (or "PROVIDER/MODEL"); imports its SDK only now.

    Raises:
        ConfigError: an unknown provider, no model name, or a missing key or package.
    """
    settings = ModelSettings(model=model) if isinstance(model, str) else model
    prefix, name = split_model(settings.model)
    module = import_module(_PROVIDERS[prefix])
    create = cast("Callable[[str, ModelSettings], Provider]", module.create)
    return create(name, settings)


def names_provider(model: str) -> bool:
    """Whether a model is written with a provider, known or not, rather than as the name of a profile."""
    return ":" in model or "/" in model


def split_model(model: str) -> tuple[str, str]:
    """The two parts of "PROVIDER:MODEL" (or "PROVIDER/MODEL"); imports nothing.

    Raises:
        ConfigError: an unknown provider or no model name.
    """
    known = ", ".join(_PROVIDERS)
    for sep in (":", "/"):
        prefix, found, name = model.partition(sep)
        if found and prefix in _PROVIDERS:
            if not name:
                raise ConfigError(f"Model {model!r} names no model. Write it as {prefix}:MODEL.")
            return prefix, name
    from difflib import get_close_matches

    prefix = model.replace("/", ":").partition(":")[0]
    near = get_close_matches(prefix.lower(), _PROVIDERS, n=1)
    guess = f" Did you mean {near[0]!r}?" if near else ""
    raise ConfigError(
        f"Model {model!r} names no known provider. Write it as PROVIDER:MODEL, PROVIDER one of {known}.{guess} "
        "Compatible servers are openai-chat:MODEL with a base_url."
    )
