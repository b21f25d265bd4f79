"""The line to the model for one run: which provider, the tools as it was offered them, the history in its bytes.

Each message is encoded once, when it is first sent; a request is a join of ready bytes. When a model fails for good,
the line goes over to the next one and encodes the history anew for it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from toolsmith._callids import another_id
from toolsmith._dataclass import dataclass
from toolsmith._feedback import speaks
from toolsmith._run.hosting import share
from toolsmith._run.room import Ceiling, Room
from toolsmith.errors import ErrorCategory, HistoryError, ProviderError
from toolsmith.events import (
    Delta,
    Event,
    ModelSwitched,
    RequestRetried,
    StrictDemoted,
    ToolArgumentsDelta,
    ToolCallStarted,
    ToolLeftOut,
)
from toolsmith.messages import Message, Reply, Request, ToolCall

if TYPE_CHECKING:
    from toolsmith._run.loop import Conversation
    from toolsmith._run.steps import Ask
    from toolsmith.approvals import Approve
    from toolsmith.dialects import Offered
    from toolsmith.messages import HostedTool
    from toolsmith.providers import Provider
    from toolsmith.tool import Tool

log = logging.getLogger("toolsmith")

FAILOVER: frozenset[ErrorCategory] = frozenset(
    {"rate_limit", "quota", "overloaded", "server", "timeout", "connection", "auth", "not_found", "bad_response"}
)
"""Failures that another model may not have. A bad request or a full context would most likely fail there too."""


@dataclass(frozen=True, slots=True, eq=False)
class Offer:
    """A registry as one service is told of it: planned and encoded once.

    Attributes:
        hosted: by name, what the service runs itself.
    """

    offered: Mapping[str, Offered]
    tools: bytes
    hosted: Mapping[str, HostedTool]


class Offers:
    """Keeps what was planned and encoded, so that 1,000 runs of an agent encode its tools once.

    Attributes:
        reader: the tool to read on with in long results, once it was needed.
        unhosted: names of the models that do not take their service's own tools after all.
    """

    def __init__(self) -> None:
        self._kept: dict[tuple[object, ...], Offer] = {}
        self.unhosted: set[str] = set()
        self.reader: Tool[..., Any] | None = None

    def get(
        self,
        provider: Provider,
        tools: Sequence[Tool[..., Any]],
        demoted: frozenset[str] = frozenset(),
        hosted: Mapping[str, HostedTool] | None = None,
    ) -> Offer:
        """The offer for a provider.

        Raises:
            DefinitionError: a tool with `strict=True` has no strict form on this service.
        """
        # What is hosted depends on the model too.
        also = (provider.name, *hosted.items()) if hosted else ()
        key = (provider.api, provider.service.name, demoted, also, *tools)
        offer = self._kept.get(key)
        if offer is None:
            offer = self._kept[key] = _make_offer(provider, tools, demoted, hosted or {})
        return offer


def _make_offer(
    provider: Provider,
    tools: Sequence[Tool[..., Any]],
    demoted: frozenset[str],
    hosted: Mapping[str, HostedTool],
) -> Offer:
    from toolsmith.dialects import plan

    chosen = plan([(t.spec, t.options.strict) for t in tools], provider.service, demoted=demoted)
    if hosted:
        encoded = provider.encode_tools(chosen, tuple(hosted.values()))
    else:
        encoded = provider.encode_tools(chosen) if chosen else b""
    return Offer({o.spec.name: o for o in chosen}, encoded, hosted)


@dataclass(slots=True, eq=False)
class Line:
    """What a driver needs to ask the model.

    Attributes:
        providers: in the order they are to be tried; never empty.
        emit: takes events; None where nobody listens.
        approve: decides about calls that need a person's word; None leaves them open.
    """

    conversation: Conversation
    providers: Sequence[Provider]
    offers: Offers
    instructions: str
    settings: Mapping[str, Any]
    parallel: bool | None = None
    emit: Callable[[Event], None] | None = None
    approve: Approve | None = None
    _settings: Mapping[str, Any] | None = None
    _at: int = 0
    _demoted: frozenset[str] = frozenset()
    _encoded: list[bytes] = field(default_factory=list[bytes])
    _offer: Offer | None = None
    _answered: bool = False
    _unhosted: bool = False
    _read: Any = None
    _room: Room = field(default_factory=lambda: Room(Ceiling(), ""))
    _ids: set[str] = field(default_factory=set[str])  # of the calls in the first `_seen` messages of the history
    _seen: int = 0

    @property
    def provider(self) -> Provider:
        """The one in use."""
        return self.providers[self._at]

    def body(self, ask: Ask, *, stream: bool) -> bytes:
        """The next request, ready to send."""
        provider, encoded = self.provider, self._encoded
        offer = self._offer or self._make_offer()
        with speaks(self.conversation.feedback):
            for message in self.conversation.history[len(encoded) :]:
                encoded.append(self._encode(message))
            return provider.encode_request(self._request(ask, offer, encoded), stream=stream)

    def _request(self, ask: Ask, offer: Offer, encoded: Sequence[bytes]) -> Request:
        return Request(
            self.instructions,
            offer.tools,
            list(filter(None, encoded)),
            "auto" if ask.tool_choice in offer.hosted else ask.tool_choice,  # nobody can force the service to search
            self.parallel,
            self.settings if self._settings is None else self._settings,
            self._allowed(offer),
            tuple(tool for name, tool in offer.hosted.items() if self._may(name)),
        )

    def _allowed(self, offer: Offer) -> tuple[str, ...] | None:
        """The names that this turn may call; that of the answer's own tool is always among them."""
        talk = self.conversation
        if talk.allowed is None:
            return None
        answer = "" if talk.output is None else talk.output.tool.name
        names = tuple(name for name in offer.offered if name == answer or name in talk.allowed)
        return None if len(names) == len(offer.offered) and all(map(self._may, offer.hosted)) else names

    def _may(self, name: str) -> bool:
        """Whether a tool may be used in this turn."""
        allowed = self.conversation.allowed
        return allowed is None or name in allowed

    def _make_offer(self) -> Offer:
        """Tell the conversation how its tools, and its answer, are put to the provider in use."""
        talk, provider = self.conversation, self.provider
        shared = share(tuple(talk.tools), provider, refused=self._unhosted or provider.name in self.offers.unhosted)
        tools: Sequence[Tool[..., Any]] = shared.own
        for name in shared.left_out:
            self._tell_left_out(name)
        self._settings, talk.answer_form = None, None
        if talk.output is not None:
            form = self.offers.get(provider, [talk.output.tool]).offered[talk.output.tool.name]
            hosted = tuple(shared.hosted.values())
            asked = provider.answer_settings(form, self.settings, *([hosted] if hosted else []))
            if asked is None:
                tools = (*tools, talk.output.tool)
            else:
                self._settings, talk.answer_form = asked, form
        self._offer = self.offers.get(provider, tools, self._demoted, shared.hosted)
        talk.offered = self._offer.offered
        # The history is encoded after this, and anew where the offer is made anew.
        self._encoded.clear()
        self._room = Room(provider.ceiling, provider.name)
        self._room.taken(len(self.instructions) + len(self._offer.tools))
        self._read = blake2b(digest_size=16)
        for part in (provider.name.encode(), self.instructions.encode(), self._offer.tools):
            self._read.update(len(part).to_bytes(8) + part)
        return self._offer

    def _tell_left_out(self, name: str) -> None:
        log.warning("%s has no %s of its own, and none is set up here: the model gets none.", self.provider.name, name)
        if self.emit is not None:
            self.emit(ToolLeftOut(self.provider.name, name))

    def _encode(self, message: Message) -> bytes:
        """A message's bytes; without what is bound to other bytes than those it now stands behind."""
        native = message.native
        if native is not None and native.api == self.provider.api and native.prefix != self._read.hexdigest():
            try:
                message = replace(message, native=self.provider.unbound(native))
            except HistoryError as error:
                raise HistoryError(f"messages[{len(self._encoded)}].native: {error}") from None
        item = self.provider.encode_message(self._room.fit(message, self.conversation.feedback))
        self._room.taken(len(item))
        self._read.update(item)
        return item

    def answered(self, reply: Reply) -> Reply:
        """A request succeeded: the tool list must keep its bytes from now on, and the reply knows what it follows."""
        self._answered = True
        if self._unhosted:
            # That was the reason, then; another one would have come back.
            self.offers.unhosted.add(self.provider.name)
        message = self._renamed(reply.message)
        if message.native is not None:
            message = replace(message, native=replace(message.native, prefix=self._read.hexdigest()))
        return replace(reply, message=message)

    def call_id(self, given: str) -> str:
        """The id of a call of the next answer: the given one, unless the history has it already.

        Some servers begin to count anew with each answer. Their histories must be valid elsewhere too, and whoever
        listens keeps calls by their ids.
        """
        known = self._known_ids()
        return another_id(given, known) if given in known else given

    def _known_ids(self) -> set[str]:
        history = self.conversation.history
        for message in history[self._seen :]:
            self._ids.update(call.id for call in message.tool_calls)
        self._seen = len(history)
        return self._ids

    def told(self, delta: Delta) -> Delta:
        """A piece of the next answer, under the id that its call will have."""
        if isinstance(delta, (ToolCallStarted, ToolArgumentsDelta)):
            call_id = self.call_id(delta.call_id)
            return delta if call_id == delta.call_id else replace(delta, call_id=call_id)
        return delta

    def _renamed(self, message: Message) -> Message:
        known = self._known_ids()
        ids = {call.id: another_id(call.id, known) for call in message.tool_calls if call.id in known}
        if not ids:
            return message
        parts = (replace(p, id=ids.get(p.id, p.id)) if isinstance(p, ToolCall) else p for p in message.parts)
        native = message.native and self.provider.renamed(message.native, ids)
        return replace(message, parts=tuple(parts), native=native)

    def recover(self, error: ProviderError) -> bool:
        """Try to make the next attempt better; False where there is nothing left to try."""
        if error.category == "grammar" and not self._answered and not self._demoted:
            return self._demote()
        if error.category == "bad_request" and not self._answered and self._unhost():
            return True
        in_time = not self.conversation.budget.out_of_time
        if error.category in FAILOVER and self._at + 1 < len(self.providers) and in_time:
            self._at += 1
            self._offer, self._demoted, self._answered, self._unhosted = None, frozenset(), False, False
            if self.emit is not None:
                self.emit(ModelSwitched(self.providers[self._at - 1].name, self.provider.name, error))
            return True
        return False

    def _unhost(self) -> bool:
        """Ask without the service's own tools: a model may lack them, or an organisation have turned them off."""
        assert self._offer is not None
        hosted = self._offer.hosted
        if all(tool.insisted for tool in hosted.values()):
            return False
        names = ", ".join(hosted)
        log.warning("%s refuses a request with %s of its own; it is asked without.", self.provider.name, names)
        self._unhosted, self._offer = True, None
        return True

    def _demote(self) -> bool:
        from toolsmith.dialects import heaviest

        assert self._offer is not None
        free = {t.name for t in self.conversation.tools if t.options.strict is None}
        names = [n for n in heaviest(tuple(self._offer.offered.values())) if n in free]
        if not names:
            return False
        self._demoted, self._offer = frozenset(names), None
        if self.emit is not None:
            self.emit(StrictDemoted(self.provider.name, tuple(names)))
        return True

    def retried(self, error: Exception, attempt: int, wait: float) -> None:
        """A request failed in a way that may pass; it is sent again after `wait` seconds."""
        if self.emit is not None:
            self.emit(RequestRetried(self.provider.name, error, attempt, wait))
