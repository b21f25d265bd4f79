"""Signed thinking and encrypted reasoning: what the services use to notice that a history was altered.

Nothing is remembered between requests. A signature carries short digests of the model, the system text, the tool list,
all that was said before it, and the thinking itself; whether they still fit is worked out from the request at hand.
Source: "thinking block binding" on platform.claude.com/docs, August 2026, and the 400s quoted in public issues.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from toolsmith._dataclass import dataclass
from toolsmith.testing.recorded import dicts, dumps, inside

# Models that think unless told otherwise and bind each thinking block to all that came before it.
BINDING_MODELS = (
    "claude-fable-5-1",
    "claude-fable-5-2",
    "claude-mythos-5-1",
    "claude-mythos-5-2",
    "claude-opus-5-5",
    "claude-sonnet-5-5",
    "claude-haiku-5-5",
)
# Models that refuse `tool_choice` any and tool: release notes of each model, November 2026.
NO_FORCED_CHOICE = tuple(model for model in BINDING_MODELS if "haiku" not in model)
# Models on which thinking cannot be switched off.
ALWAYS_THINKING = tuple(m for m in BINDING_MODELS if any(word in m for word in ("opus", "fable", "mythos")))

_SIZE = 4
_HEAD = "EqQB"
Field = Literal["model", "system", "tools", "messages", "thinking"]
_FIELDS: tuple[Field, ...] = ("model", "system", "tools", "messages", "thinking")


def named_like(model: str, family: tuple[str, ...]) -> bool:
    """Whether a model belongs to a family, dated snapshots included."""
    return model.startswith(family)


def thinks_by_default(body: Mapping[str, Any]) -> bool:
    """Whether Claude answers this request with a thinking block although nobody asked for one."""
    return inside(body, "thinking", "type") != "disabled" and named_like(str(body.get("model", "")), BINDING_MODELS)


def reasons_by_default(model: str) -> bool:
    """Whether an OpenAI model writes a reasoning item before it acts."""
    return model.startswith(("gpt-5", "gpt-6", "o1", "o3", "o4"))


class Conversation:
    """Goes through the blocks of a Claude request, or of an answer to it, and signs or checks what it meets."""

    def __init__(self, body: Mapping[str, Any]) -> None:
        self._model = _digest(str(body.get("model", "")))
        self._system = _digest(dumps([_plain(block) for block in blocks_of(body.get("system"))]))
        self._tools = _digest(dumps([_plain(tool) for tool in dicts(body.get("tools"))]))
        self._said = hashlib.blake2b(digest_size=_SIZE)

    def add(self, role: str, block: Mapping[str, Any]) -> None:
        """One more block of the conversation; thinking itself does not count, a client may leave old thoughts out."""
        if block.get("type") not in ("thinking", "redacted_thinking"):
            self._said.update(f"{role}\n{dumps(_plain(block))}\n".encode())

    def frame(self) -> bytes:
        """A digest of what stands around the messages: model, system text and tools."""
        return hashlib.blake2b(self._model + self._system + self._tools, digest_size=_SIZE).digest()

    def sign(self, thinking: str) -> str:
        """The signature of a thinking block at this point."""
        parts = (self._model, self._system, self._tools, self._said.digest(), _digest(thinking))
        return _HEAD + base64.urlsafe_b64encode(b"".join(parts)).decode()

    def differs(self, thinking: str, signature: str) -> Field | Literal["signature"] | None:
        """What does not fit a block that came back, None where all does, "signature" where it is none of ours."""
        try:
            raw = base64.b64decode(signature.removeprefix(_HEAD), altchars=b"-_", validate=True)
        except (binascii.Error, ValueError):
            return "signature"
        if not signature.startswith(_HEAD) or len(raw) != _SIZE * len(_FIELDS):
            return "signature"
        parts = (self._model, self._system, self._tools, self._said.digest(), _digest(thinking))
        for name, part, at in zip(_FIELDS, parts, range(0, len(raw), _SIZE), strict=True):
            if raw[at : at + _SIZE] != part:
                return name
        return None


@dataclass(frozen=True, slots=True)
class Place:
    """A block of a Claude request and where it stands."""

    message: int
    index: int
    role: str
    block: dict[str, Any]

    @property
    def path(self) -> str:
        return f"messages.{self.message}.content.{self.index}"


def blocks_of(content: object) -> list[dict[str, Any]]:
    """A content value as blocks; a plain string is one text block."""
    return [{"type": "text", "text": content}] if isinstance(content, str) else dicts(content)


def places(body: Mapping[str, Any]) -> Iterator[Place]:
    """Every block of a Claude request, in order."""
    for number, message in enumerate(dicts(body.get("messages"))):
        for index, block in enumerate(blocks_of(message.get("content"))):
            yield Place(number, index, str(message.get("role")), block)


def replayed(body: Mapping[str, Any]) -> Conversation:
    """A conversation that has heard all of a request, ready to sign the answer."""
    conversation = Conversation(body)
    for place in places(body):
        conversation.add(place.role, place.block)
    return conversation


def thought_tail(body: Mapping[str, Any]) -> str:
    """Marks the id of a call that was made after a thought, so that a thought that went missing is noticed.

    It holds for one model, system text and tool list: where these change, a thought has to be left out.
    """
    return f"k{Conversation(body).frame().hex()[:4]}"


def encrypt(item_id: str) -> str:
    """The `encrypted_content` of a reasoning item."""
    return "gAAAAAB" + base64.urlsafe_b64encode(_digest(item_id) + item_id.encode()).decode()


def decrypts(item_id: str, content: object) -> bool:
    """Whether `encrypted_content` is the one that was given out with this item."""
    return content == encrypt(item_id)


def _plain(block: Mapping[str, Any]) -> dict[str, Any]:
    """A block without its cache markers: they move from turn to turn, and the service does not count them."""
    plain = {key: value for key, value in block.items() if key != "cache_control"}
    if block.get("type") == "tool_result":
        plain["content"] = [_plain(inner) for inner in blocks_of(block.get("content"))]
    return plain


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode(), digest_size=_SIZE).digest()
