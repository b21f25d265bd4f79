"""What a scripted model says, turn by turn, in words that belong to no API.

A *turn* is one answer to one request. It is made of parts (`say`, `think`, `call`, `refuse`, `block`), or it is a fault
(`fail`, `drop`, `html`, `garbage`). `deliver` says how the answer travels: late, slowly, in pieces, cut off.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, Literal

from toolsmith import _given as given
from toolsmith._dataclass import dataclass
from toolsmith.errors import ErrorCategory, ToolsmithError
from toolsmith.messages import Stop, Usage

if TYPE_CHECKING:
    from toolsmith.testing.recorded import Recorded

Api = Literal["anthropic", "openai", "openai-chat"]

# A current model of each API, taken where a test names none.
DEFAULT_MODELS: Mapping[Api, str] = {
    "anthropic": "claude-opus-5-5",
    "openai": "gpt-6-astra",
    "openai-chat": "gpt-6-astra",
}

Quirk = Literal[
    "no_index",  # tool-call deltas without `index`
    "same_index",  # every call has index 0
    "no_id",  # calls without an id
    "repeat_names",  # id and name again in every delta
    "dict_arguments",  # arguments as an object, not as JSON text
    "no_usage",  # no usage, asked for or not
    "no_done",  # the stream ends without `[DONE]`
    "no_finish",  # no finish_reason at all
    "finish_stop",  # finish_reason "stop" although there are calls
]


class ScriptError(ToolsmithError):
    """The script asks for something that this API cannot say. A mistake of the test, not of the code under test."""


@dataclass(frozen=True, slots=True)
class Say:
    """Words of the answer.

    Attributes:
        phase: OpenAI's label of a message; None lets the scripted model choose.
        cites: where the words come from: address, title and passage of each source.
    """

    text: str
    phase: Literal["commentary", "final_answer"] | None = None
    cites: tuple[tuple[str, str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Think:
    """Reasoning. The scripted model signs or encrypts it, and refuses it when it comes back altered."""

    text: str = ""
    redacted: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call.

    Attributes:
        name: the tool's name; it may be one that does not exist.
        arguments: a mapping is written as a model writes it in the mode that the request offers (in OpenAI's strict
            mode a left-out optional parameter becomes null, a dict a list of pairs; for Claude "größe" becomes "groe").
            What a model bound to a strict schema cannot write is a `ScriptError`. A str goes onto the wire as it is.
        id: the call's id, None for a new one.
        keep: only so many characters of the arguments are written, as when the output limit cuts a call.
    """

    name: str
    arguments: Mapping[str, Any] | str
    id: str | None = None
    keep: int | None = None

    def with_id(self, id: str) -> Call:
        """The same call under an id of your choice, also an empty or a repeated one."""
        return replace(self, id=id)

    def cut(self, keep: int) -> Call:
        """The same call, its arguments cut off after `keep` characters; put it into `turn(..., stop="length")`."""
        return replace(self, keep=keep)


@dataclass(frozen=True, slots=True)
class Search:
    """The service itself searches the web.

    Attributes:
        pages: address and title of each page that it finds.
        error: the service's code of a search that failed ("unavailable", "max_uses_exceeded"), "" for none.
    """

    query: str
    pages: tuple[tuple[str, str], ...] = ()
    error: str = ""


@dataclass(frozen=True, slots=True)
class Refuse:
    """The model declines, in the way of each API."""

    text: str = ""
    category: str = "general_harms"


@dataclass(frozen=True, slots=True)
class Block:
    """A block (Claude), an item (Responses) or extra keys of the message (Chat), exactly as given."""

    raw: Mapping[str, Any]


Part = Say | Think | Call | Search | Refuse | Block


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """How an answer travels; see `deliver`."""

    delay: float = 0.0
    pace: float = 0.0
    chop: int | Callable[[str], Sequence[str]] = 7
    packet: int | None = None
    cut: int | None = None
    unfinished: bool = False
    error: ErrorCategory | None = None
    error_after: int | None = None
    quirks: frozenset[Quirk] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """An answer; see `turn`."""

    parts: tuple[Part, ...]
    stop: Stop
    raw_stop: str | None = None
    usage: Usage | None = None
    delivery: Delivery = Delivery()


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """No answer of the model: an HTTP error, a page of a proxy, a broken connection; see `fail`, `html`, `drop`."""

    kind: ErrorCategory = "server"
    status: int | None = None
    message: str | None = None
    code: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    body: bytes | None = None
    content_type: str = "application/json"
    dropped: bool = False
    delivery: Delivery = Delivery()


Scripted = Part | Turn | Fault | Sequence[Part]
Answering = Callable[["Recorded"], Scripted]
Step = Scripted | Answering


def say(
    text: str,
    *,
    phase: Literal["commentary", "final_answer"] | None = None,
    cites: Sequence[tuple[str, str, str]] = (),
) -> Say:
    """The model answers with these words.

    Args:
        phase: OpenAI's label of a message.
        cites: what the words rest on: (address, title, passage) of each source, as after a `search`.
    """
    given.text("say", text=text)
    return Say(text, phase, tuple(cites))


def search(query: str, *pages: tuple[str, str], error: str = "") -> Search:
    """The service searches by itself, where the request offers that (`WebSearch`): on Claude and Responses.

        [search("night train", ("https://trains.example/", "Night trains")), say("At nine.", cites=[...])]

    Args:
        query: what the model looks for.
        pages: address and title of each page found.
        error: the service's code of a search that failed.
    """
    return Search(query, pages, error)


def think(text: str = "", *, redacted: bool = False) -> Think:
    """The model reasons; with Claude the block is signed, with Responses it is encrypted, and both must come back.

    Args:
        text: the readable part; current models often show none.
        redacted: Claude's `redacted_thinking`, which has no readable part.
    """
    return Think(text, redacted)


def call(name: str, arguments: Mapping[str, Any] | None = None, /, **more: Any) -> Call:
    """The model asks for a tool call: `call("add", a=1, b=2)`.

    What a model that is bound to a strict schema cannot write is a `ScriptError`: the client gets a 400 that says so.

    Args:
        name: the tool's name.
        arguments: for argument names that Python cannot take as keywords.
        more: the arguments, as the Python function takes them.
    """
    given.mapping("call", example="{'city': 'Oslo'}", arguments=arguments)
    return Call(name, {**(arguments or {}), **more})


def raw_call(name: str, text: str) -> Call:
    """The model asks for a tool call with exactly this text as arguments, valid JSON or not.

    An answer of Claude that is not streamed has an object there: text that is none is a `ScriptError` in place of it.
    """
    given.text("raw_call", text=text)
    return Call(name, text)


def refuse(text: str = "I can't help with that.", *, category: str = "general_harms") -> Refuse:
    """The model declines. `category` is Claude's (cyber, bio, frontier_llm, reasoning_extraction, general_harms)."""
    return Refuse(text, category)


def block(raw: Mapping[str, Any]) -> Block:
    """Something that only this API knows, or will know one day: `block({"type": "hologram", "data": "..."})`."""
    given.mapping("block", example="{'type': 'hologram'}", raw=raw)
    return Block(raw)


def turn(*parts: Part, stop: Stop | None = None, raw_stop: str | None = None, usage: Usage | None = None) -> Turn:
    """One answer with its ending.

    Args:
        parts: what the model says, in order; several calls are parallel calls.
        stop: why it ended; None for what follows from the parts. "length" cuts it at the output limit, "pause" is
            Claude's `pause_turn`, "unknown" a reason that no client knows yet.
        raw_stop: the API's own word instead (`stop_reason`, `incomplete_details.reason`, `finish_reason`).
        usage: token counts; None for an estimate.
    """
    _check_parts(parts, "turn(...) holds")
    if stop is None:
        kinds = {type(part) for part in parts}
        stop = "refusal" if Refuse in kinds else "tool_calls" if Call in kinds else "end"
    return Turn(parts=parts, stop=stop, raw_stop=raw_stop, usage=usage)


def pause(*parts: Part) -> Turn:
    """Claude pauses a long turn (`pause_turn`); the client sends it back as it is to go on."""
    return turn(*parts, stop="pause")


def as_answer(what: Scripted, where: str = "A step of the script is") -> Turn | Fault:
    """A part or a list of parts as a turn; turns and faults as they are.

    Raises:
        TypeError: it is something else; `where` says what gave it.
    """
    match what:
        case Turn() | Fault():
            return what
        case Say() | Think() | Call() | Search() | Refuse() | Block():
            return turn(what)
        case list() | tuple():
            _check_parts(what, where.rpartition(" ")[0] + " holds")
            return turn(*what)
        case _:
            raise _no_step(what, where)


def steps_of(script: Iterable[Step], call: str) -> list[Step]:
    """The steps of a script, each looked at.

    Raises:
        TypeError: it is no list of steps; the text says what to write.
    """
    if _is_no_list(script):
        raise _no_script(script, call)
    steps = list(script)
    for number, step in enumerate(steps, 1):
        if not callable(step):
            as_answer(step, f"Step {number} of the script is")
    return steps


def by_turn(steps: Sequence[Step]) -> Answering:
    """A script that reads from each request how far its conversation is: step n answers the n-th turn of the model.

    Unlike a plain list it keeps no count, so that one scripted model serves many runs at the same time.
    """
    held = steps_of(steps, "by_turn")

    def answer(request: Recorded) -> Scripted:
        if request.turn >= len(held):
            raise ScriptError(f"The script has {turns(len(held))}, and the model is asked for turn {request.turn + 1}.")
        step = held[request.turn]
        return step(request) if callable(step) else step

    return answer


def turns(number: int) -> str:
    """A number of turns in words."""
    return "1 turn" if number == 1 else f"{number} turns"


def _is_no_list(script: object) -> bool:
    return isinstance(script, str | bytes | Mapping | Part | Turn | Fault) or not isinstance(script, Iterable)


def _no_script(script: object, call: str) -> TypeError:
    maker = _maker(script)
    shown = f"{maker}(...)" if maker else repr(script)
    if isinstance(script, str):
        way = f"write {call}([say({script!r})])."
    else:
        way = f"put it into one: [{shown}]." if maker else "as in [say('...')]."
    return TypeError(f"{call}({shown}): a script is a list of steps, one for each request; {way}")


def _check_parts(parts: Iterable[object], where: str) -> None:
    for part in parts:
        if not isinstance(part, Part):
            raise _no_step(part, where, among_parts=True)


def _no_step(what: object, where: str, *, among_parts: bool = False) -> TypeError:
    if isinstance(what, str):
        return TypeError(f"{where} {what!r}, a text. For words write say({what!r}).")
    if among_parts and (isinstance(what, Turn | Fault) or callable(what)):
        kind = "function" if callable(what) else f"{_maker(what)}(...)"
        return TypeError(f"{where} a {kind}, which is a step of its own: a list holds parts, and they are one answer.")
    known = "a part is" if among_parts else "a step is"
    shown = f"{where} {what!r:.200}, which is none: {known} say('...'), call('tool', x=1) and the like"
    if among_parts:
        return TypeError(f"{shown}; of a list turn(*parts) makes one answer.")
    return TypeError(f"{shown}, a list of them, or a fault; see toolsmith.testing.")


def _maker(what: object) -> str:
    """The function that makes a thing of its kind, "" for none."""
    match what:
        case Fault():
            return "fail"
        case Say() | Think() | Call() | Search() | Refuse() | Block() | Turn():
            return type(what).__name__.lower()
        case _:
            return ""
