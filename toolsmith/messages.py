"""The neutral history: what user, model and tools said, whichever service the model runs on.

Beside each assistant turn stand the service's own items (`Native`), so that the next request to the same API replays
them byte for byte; another API is served from the neutral parts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, Literal

from toolsmith._dataclass import dataclass
from toolsmith._plain import encodable, sound
from toolsmith.media import File, Image, Media

Role = Literal["user", "assistant", "tool"]

Stop = Literal[
    "end",  # the model finished its answer
    "tool_calls",  # the model asks for tool calls
    "length",  # cut at the output limit
    "context",  # the context window is full
    "refusal",  # the model declined
    "filter",  # a content filter stepped in
    "pause",  # the service paused a long turn: send it back to go on
    "error",  # the service gave up in the middle
    "unknown",  # a reason we do not know: never run calls on it
]


@dataclass(frozen=True, slots=True)
class Citation:
    """Where words of the model come from: as the service that searched for it says, or as it cites what tools gave.

    Attributes:
        url: of the source, or the name of a document; "" where it has none.
        title: of the source, "" where it is not told.
        cited_text: the passage of the source, "" where it is not told.
        start, end: the part of the `Text` that the citation stands for, as positions in its `text`.
    """

    url: str
    title: str = ""
    cited_text: str = ""
    start: int = 0
    end: int = 0


@dataclass(frozen=True, slots=True)
class Text:
    """Words of the user or the model; `citations` say where the model has them from."""

    text: str
    citations: tuple[Citation, ...] = ()


@dataclass(frozen=True, slots=True)
class Refusal:
    """The model declined; `text` is its explanation, maybe empty."""

    text: str = ""
    category: str = ""


@dataclass(frozen=True, slots=True)
class Reasoning:
    """Readable part of the model's reasoning; signatures and encrypted content stay in `Message.native`."""

    text: str = ""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """The model asks for a call. `arguments` is the JSON text as the model wrote it: possibly not valid JSON."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """What the model is told about one of its calls.

    Attributes:
        text: the words; they name each of `media` as "[image 1: image/png, 1,234 bytes]".
        media: what is shown beside the words, where the service takes it.
    """

    call_id: str
    name: str
    text: str
    is_error: bool = False
    media: tuple[Media, ...] = ()


@dataclass(frozen=True, slots=True)
class Opaque:
    """Something only one service understands (a hosted search, an unknown block); its content is in `native`."""

    kind: str


class Words:
    """Puts the texts of one message together, at once or as they arrive.

    Claude says "I look that up.", its service searches, and it goes on with "There are two.": two sentences that would
    otherwise stand without a space between them.
    """

    def __init__(self) -> None:
        self._ended_in = ""
        self._interrupted = False

    def interrupt(self) -> None:
        """Something else stands here: a search that the service made, or what is newer than we."""
        self._interrupted = bool(self._ended_in)

    def next(self, text: str) -> str:
        """A text, or a piece of one, with what belongs before it."""
        if not text:
            return ""
        apart = self._interrupted and not self._ended_in.isspace() and not text[0].isspace()
        self._ended_in, self._interrupted = text[-1], False
        return f"\n\n{text}" if apart else text


Part = Text | Image | File | Refusal | Reasoning | ToolCall | ToolOutput | Opaque

Prompt = str | Image | File | Sequence[str | Image | File]
"""What a run may be asked: a text, or texts, images and files in the order they are to be read."""


def prompt_parts(prompt: Prompt) -> tuple[Text | Image | File, ...]:
    """A prompt as the parts of a message.

    Raises:
        TypeError: it holds something else; the text says how to make an image or a file of it.
        ValueError: it is empty, or a text has half of a surrogate pair in it, which UTF-8 cannot hold.
    """
    if isinstance(prompt, str):
        return _said(Text(encoded_text(prompt, "The prompt")))
    if isinstance(prompt, (Image, File)):
        return (prompt,)
    if not isinstance(prompt, Sequence) or isinstance(prompt, (bytes, bytearray, memoryview)):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"A prompt is a text, or a list of texts, Image(...) and File(...), not {_kind(prompt)}.")
    for number, item in enumerate(prompt, 1):
        if not isinstance(item, (str, Image, File)):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(
                f"Item {number} of the prompt is {_kind(item)}. A prompt is a text, or a list of texts, Image(...) and "
                "File(...); from a path: Image.from_path(path), File.from_path(path)."
            )
    return _said(
        *(
            Text(encoded_text(item, f"Item {number} of the prompt")) if isinstance(item, str) else item
            for number, item in enumerate(prompt, 1)
        )
    )


def _said(*parts: Text | Image | File) -> tuple[Text | Image | File, ...]:
    """The parts, if they say something: services refuse a message that does not, each in words of its own."""
    if all(isinstance(part, Text) and not part.text.strip() for part in parts):
        raise ValueError("The prompt is empty. Say what to do; to go on from message_history as it stands, give None.")
    return parts


def encoded_text(text: str, what: str) -> str:
    """The text itself, if it can be sent.

    Raises:
        ValueError: it has half of a surrogate pair in it; `what` says which text that is.
    """
    if text.isascii() or encodable(text):
        return text
    at = next(i for i, c in enumerate(text) if "\ud800" <= c <= "\udfff")
    raise ValueError(
        f"{what} has half of a surrogate pair, {text[at]!a}, at position {at}: no service takes that. Most often "
        "a text was cut in the middle of a character or decoded with errors='surrogateescape'; decode it with "
        "errors='replace', or take that character out."
    )


def _kind(value: object) -> str:
    return f"a value of type {type(value).__name__}"


@dataclass(frozen=True, slots=True)
class Native:
    """A turn as the service itself wrote it.

    Attributes:
        api: the API that can replay it ("anthropic", "openai", "openai-chat", "local").
        items: JSON, ready to be joined into a request of that API.
        prefix: of what the model had read before it wrote this (model, instructions, tools and all messages), a digest.
            Signed reasoning is only good behind the very same bytes; elsewhere it is left out.
    """

    api: str
    items: bytes
    prefix: str = ""


@dataclass(frozen=True, slots=True)
class Message:
    """One entry of the history. Roles: "user", "assistant", "tool" (all results of one turn together)."""

    role: Role
    parts: tuple[Part, ...]
    native: Native | None = None

    @property
    def text(self) -> str:
        """The words of this message, reasoning left out; a new paragraph after what the service did in between."""
        words, pieces = Words(), list[str]()
        for part in self.parts:
            if isinstance(part, Text):
                pieces.append(words.next(part.text))
            elif isinstance(part, Opaque):
                words.interrupt()
        return "".join(pieces)

    @property
    def citations(self) -> tuple[Citation, ...]:
        """The sources of this message's words, in the order of the words."""
        return tuple(c for p in self.parts if isinstance(p, Text) for c in p.citations)

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The calls that this message asks for, in the model's order."""
        return tuple([p for p in self.parts if isinstance(p, ToolCall)])


@dataclass(frozen=True, slots=True, eq=False)
class ToolSpec:
    """All that a provider may know of a tool: its name, description and neutral JSON Schema (draft 2020-12)."""

    name: str
    description: str
    schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class HostedTool:
    """A tool that the model's own service runs, in the middle of a turn: its web search.

    Attributes:
        kind: which one.
        max_uses: how often in one request, None for the service's own limit.
        allowed_domains: only sources of these sites.
        blocked_domains: none of these.
        location: where the user is, roughly: "country" (two letters), "region", "city" and "timezone" (IANA).
        insisted: also where the address is not the service's own, so that nobody knows whether it has this tool.
    """

    kind: Literal["web_search"]
    max_uses: int | None = None
    allowed_domains: tuple[str, ...] = ()
    blocked_domains: tuple[str, ...] = ()
    location: tuple[tuple[str, str], ...] = ()
    insisted: bool = False


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens, in one meaning for all services.

    Attributes:
        input_tokens: all input, cached or not.
        output_tokens: all output, reasoning included.
        cached_tokens: the part of the input that was read from a cache.
        cache_write_tokens: the part of the input that was written to a cache.
        reasoning_tokens: the part of the output that was reasoning.
        requests: how many requests this counts.
        searches: web searches that the services made themselves and report, which they bill apart.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0
    requests: int = 0
    searches: int = 0

    @property
    def total_tokens(self) -> int:
        return self.input_tokens + self.output_tokens

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cached_tokens + other.cached_tokens,
            self.cache_write_tokens + other.cache_write_tokens,
            self.reasoning_tokens + other.reasoning_tokens,
            self.requests + other.requests,
            self.searches + other.searches,
        )


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer of a model.

    Attributes:
        message: the assistant's turn, with its native items.
        stop: why it ended; tool calls may run only on "tool_calls".
        usage: of this request.
        detail: the service's own words for `stop` ("stop_reason: refusal (cyber)"), for people.
        model: the model that answered, as the service names it.
        response_id: the service's id of the answer.
    """

    message: Message
    stop: Stop
    usage: Usage = Usage()
    detail: str = ""
    model: str = ""
    response_id: str = ""


@dataclass(frozen=True, slots=True)
class Request:
    """One request, in ready bytes as far as possible: a provider joins them and adds its own envelope.

    Attributes:
        instructions: the system text, "" for none.
        tools: what `Provider.encode_tools` gave, b"" for no tools.
        messages: what `Provider.encode_message` gave, one entry a message.
        tool_choice: "auto", "none", "required" or a tool's name.
        parallel: False forbids several calls in one turn; None leaves it to the service.
        settings: the API's own parameters, passed through ("max_tokens", "reasoning", ...).
        allowed: of `tools`, the names that may be called in this turn, in their order; None for all. A service that can
            is told so; calls of others are refused in any case.
        hosted: of `tools`, those that the service runs itself and that may be used in this turn.
    """

    instructions: str
    tools: bytes
    messages: list[bytes]
    tool_choice: str = "auto"
    parallel: bool | None = None
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    allowed: tuple[str, ...] | None = None
    hosted: tuple[HostedTool, ...] = ()


@dataclass(frozen=True, slots=True)
class Source:
    """What a tool's result was taken from, so that an answer which cites it leads back there.

    Attributes:
        url: its address, or the name of a document.
        title: "" for none.
        text: the passage.
        mark: by which the model was asked to cite it, as "docs-17"; "" where it cites by the address.
    """

    url: str
    title: str = ""
    text: str = ""
    mark: str = ""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a handler gives back, and what the model is told.

    A handler may return one itself; any other value is taken as the `data` of a success.

    Attributes:
        success: whether the call did what it was asked to.
        data: plain JSON data (a str is shown to the model as it is). Where the tool gave an `Image` or a `File`, there
            stands a text that names it, such as "[image 1: image/png, 1,234 bytes]".
        error: for a failure, the text that the model reads.
        notes: remarks for the model that go with a success ("'RED' was read as 'red'").
        media: the images and files themselves, in the order of their numbers; a failure shows none.
        untrusted: others have written it, as for a tool with that option; the model is shown `data` between fences.
        sources: what it was taken from, for `RunResult.citations`, which has those that the answer cites; the model is
            not shown them.

    Half of a surrogate pair in `error` or `notes` becomes U+FFFD here: a text that cannot be encoded reaches no model,
    and would end the run.
    """

    success: bool
    data: Any = None
    error: str | None = None
    notes: tuple[str, ...] = ()
    media: tuple[Media, ...] = ()
    untrusted: bool = False
    sources: tuple[Source, ...] = ()

    def __post_init__(self) -> None:
        if isinstance(self.error, str):
            object.__setattr__(self, "error", sound(self.error))
        if self.notes:
            object.__setattr__(self, "notes", tuple(map(sound, self.notes)))
