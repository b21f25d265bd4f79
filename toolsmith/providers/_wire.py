"""What the codecs of several APIs share: JSON in and out, ids, and settings that are passed through."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from hashlib import blake2s
from math import isfinite
from typing import TYPE_CHECKING, Any, cast

from pydantic_core import PydanticSerializationError, from_json, to_json

from toolsmith._plain import sound
from toolsmith.errors import ConfigError, HistoryError, ProviderError

if TYPE_CHECKING:
    from toolsmith.messages import Native

_ILLEGAL_IN_ID = re.compile(r"[^a-zA-Z0-9_-]")
_INVALID_KEY = "invalid_json"
HEADERS = "headers belong to the model's own settings, not to one request"


def load(data: bytes) -> Any:
    """Read JSON as a service sent it.

    Raises:
        ValueError: not JSON.
    """
    try:
        return from_json(data)
    except ValueError as refused:
        # Half a surrogate pair ("\\ud83d") is legal JSON that no UTF-8 can hold: some servers cut an emoji in two.
        try:
            mended = sound(json.dumps(json.loads(data), ensure_ascii=False)).encode()
        except RecursionError:
            raise refused from None  # nested too deeply: no service's answer, and no fault of ours
        return from_json(mended)


def is_whole(data: bytes) -> bool:
    """Whether the last event of a stream is complete: JSON to its end, or the word that ends a stream."""
    try:
        load(data)
    except ValueError:
        return data == b"[DONE]"
    return True


def dump(value: Any) -> bytes:
    """JSON that any service reads.

    A number too large for JSON becomes null instead of `Infinity`, half of a surrogate pair U+FFFD: a history that was
    made elsewhere may hold either.
    """
    try:
        return to_json(value, inf_nan_mode="null")
    except PydanticSerializationError:
        return to_json(sounded(value), inf_nan_mode="null")


def sounded(value: Any) -> Any:
    """JSON data with U+FFFD for each half of a surrogate pair in its texts."""
    match value:
        case str():
            return sound(value)
        case Mapping():
            return {sound(str(k)): sounded(v) for k, v in cast("Mapping[Any, Any]", value).items()}
        case list() | tuple():
            return [sounded(item) for item in cast("list[Any]", value)]
        case _:
            return value


def obj(value: Any) -> dict[str, Any]:
    """`value` if it is a JSON object, else an empty one: what is missing on the wire reads as absent."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def arr(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def txt(value: Any) -> str:
    return value if isinstance(value, str) else ""


def num(value: Any) -> int:
    return int(value) if isinstance(value, int) or (isinstance(value, float) and isfinite(value)) else 0


def items_of(native: Native) -> list[dict[str, Any]]:
    """The items of a turn that stands where it was not written, so that somebody else may have made them.

    Raises:
        HistoryError: they are no JSON objects, and would break the request; the text says what to do.
    """
    try:
        # Not `from_json`: what it refuses (199 levels of arguments in a message, half a character) may well be sent.
        items = json.loads(b"[%b]" % native.items)
    except (ValueError, RecursionError) as error:
        raise no_turn(native, f"they cannot be read as JSON ({error})") from None
    if not all(isinstance(item, dict) for item in items):
        raise no_turn(native, "they are no JSON objects")
    return items


def no_turn(native: Native, why: str) -> HistoryError:
    """For items that no service has written."""
    return HistoryError(
        f"The items are none of {native.api!r}: {why}. Leave them out, and the parts of the message are sent instead: "
        "replace(message, native=None)."
    )


def joined(first: bytes, second: bytes) -> bytes:
    """Two JSON arrays as one; b"" stands for an empty one."""
    items = [part for part in (first[1:-1], second[1:-1]) if part]
    return b"[" + b",".join(items) + b"]" if items else b""


def arguments_text(value: Any) -> str:
    """A call's arguments as JSON text. Some servers send an object instead of text, or nothing for "no arguments"."""
    if isinstance(value, str):
        return value if value.strip() else "{}"
    return "{}" if value is None else to_json(value).decode()


def arguments_object(text: str) -> dict[str, Any] | None:
    """The arguments as an object, or None where the text is not a JSON object."""
    try:
        value = from_json(text)
    except TypeError:  # so it calls a str with half a character in it
        return arguments_object(sound(text))
    except ValueError:
        return None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def replayable_arguments(text: str) -> dict[str, Any]:
    """Arguments for a history that must hold an object: text that is none (cut, invalid) stays readable as a string."""
    value = arguments_object(text)
    return {_INVALID_KEY: text} if value is None else value


def wire_id(call_id: str, *, longest: int = 64) -> str:
    """The id that stands for `call_id` in a request: itself where that is legal, else the same substitute each time.

    Legal is `^[a-zA-Z0-9_-]{1,64}$` (the documentation of Claude and of OpenAI's Responses API, November 2026). Call
    and output are encoded apart, so the substitute depends on nothing but the id.
    """
    if 0 < len(call_id) <= longest and not _ILLEGAL_IN_ID.search(call_id):
        return call_id
    readable = _ILLEGAL_IN_ID.sub("_", call_id)[:20]
    return f"{readable or 'call'}_{digest(call_id)}"


def wire_name(name: str) -> str:
    """The name of a tool in a call that goes back to the service: itself where that is legal, else the nearest to it.

    Models write names that no tool has ("functions.add", "add<|channel|>json"), and no service takes those back. Legal
    is `^[a-zA-Z0-9_-]{1,64}$` (the documentation of Claude and of OpenAI, November 2026).
    """
    return _ILLEGAL_IN_ID.sub("_", name)[:64] or "unnamed"


class CallIds:
    """Gives each call of one answer an id of its own; compatible servers leave ids out or repeat them.

    The same answer gets the same ids each time it is read, streamed or not.
    """

    __slots__ = ("_count", "_seed", "_taken")

    def __init__(self, seed: object) -> None:
        self._seed = seed
        self._count = 0
        self._taken: set[str] = set()

    def take(self, given: object) -> str:
        """The id of the next call, in the model's order; `given` is what the server called it."""
        self._count += 1
        wanted = txt(given) or f"call_{digest(f'{self._seed}/{self._count}')}"
        label, copies = wanted, 1
        while label in self._taken:
            copies += 1
            label = f"{wanted}_{copies}"
        self._taken.add(label)
        return label


def digest(text: str) -> str:
    """16 characters that stand for a text, legal in an id."""
    return blake2s(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def bad_response(provider: str, body: bytes) -> ProviderError:
    """For an answer that is none of this API; shows how it begins."""
    words = " ".join(body[:400].decode("utf-8", "replace").split())[:120]
    shown = f"It begins: {words}" if words else "It is empty."
    return ProviderError(
        f"{provider} sent an answer that this API does not know. {shown} "
        "A proxy in between or a wrong base_url does that: check the address.",
        category="bad_response",
        provider=provider,
    )


def check_settings(
    settings: Mapping[str, Any],
    *,
    provider: str,
    known: Collection[str],
    ours: Mapping[str, str],
    wrong: Mapping[str, str],
) -> None:
    """Refuse settings that cannot work. What is unknown and near to no known name passes: the API may be newer than we.

    Args:
        settings: parameters of the API.
        provider: for the message, "anthropic:claude-opus-5-5".
        known: the parameters that the API takes.
        ours: parameters that toolsmith sets itself -> where to set them instead.
        wrong: parameters of other APIs, or that no longer exist -> what to do.

    Raises:
        ConfigError: with each problem found.
    """
    problems: list[str] = []
    for name in settings:
        if name in known:
            continue
        if name in ours:
            problems.append(f"{provider}: the setting {name!r} is toolsmith's own: it comes from {ours[name]}.")
        elif name in wrong:
            problems.append(f"{provider}: the setting {name!r} cannot work: {wrong[name]}.")
        elif near := _near(name, known):
            problems.append(
                f"{provider}: this API has no setting {name!r}. Did you mean {near!r}? If not, put it into extra_body."
            )
    if problems:
        raise ConfigError(problems)


def _near(name: str, known: Collection[str]) -> str | None:
    from difflib import get_close_matches

    found = get_close_matches(name, known, n=1, cutoff=0.85)
    return found[0] if found else None
