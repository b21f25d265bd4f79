"""What has happened since the user last asked: the request, and each call with its outcome. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

LONGEST_REQUEST = 2_000
"""Characters of a request that are read; a model this small makes nothing of more."""


@dataclass(frozen=True, slots=True)
class Done:
    """A call that was answered."""

    name: str
    arguments: Mapping[str, Any]
    text: str
    failed: bool


@dataclass(frozen=True, slots=True)
class Episode:
    """The request at hand and the calls made for it so far."""

    request: str
    done: tuple[Done, ...] = ()

    def known(self) -> dict[str, Any]:
        """Values of this episode by name: arguments of calls that went well, then what those calls returned."""
        values: dict[str, Any] = {}
        for step in self.done:
            if not step.failed:
                values |= {k: v for k, v in step.arguments.items() if v is not None}
                values |= _leaves(step.text)
        return values


def read(messages: Sequence[Mapping[str, Any]], *, closing: bool = False) -> Episode:
    """Read the messages of a request, in the wire form of this provider.

    Args:
        messages: the conversation.
        closing: a user message that ends it, right behind tool results, does not ask for something new: the run tells
            the model to come to an end. Without it, that is a user who goes on where a call was cancelled.
    """
    asked: list[str] = []
    done: list[Done] = []
    calls: dict[str, Mapping[str, Any]] = {}
    behind_results = False
    for index, message in enumerate(messages):
        match message.get("role"):
            case "user" if not (closing and behind_results and asked and index == len(messages) - 1):
                asked.append(str(message.get("text") or ""))
                done.clear()
            case "assistant":
                parts = cast("Sequence[Mapping[str, Any]]", message.get("content") or ())
                calls |= {str(p["id"]): p for p in parts if p.get("type") == "tool_call"}
            case "tool":
                for result in cast("Sequence[Mapping[str, Any]]", message.get("results") or ()):
                    call = calls.get(str(result.get("call_id")), {})
                    done.append(
                        Done(
                            name=str(result.get("name") or call.get("name") or ""),
                            arguments=_arguments(call.get("arguments")),
                            text=str(result.get("text") or ""),
                            failed=bool(result.get("is_error")),
                        )
                    )
            case _:
                pass
        behind_results = message.get("role") == "tool"
    return Episode(asked[-1][:LONGEST_REQUEST] if asked else "", tuple(done))


def data(text: str) -> Any:
    """The JSON that a result's text is, or the text itself."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def _arguments(text: object) -> Mapping[str, Any]:
    found = data(text) if isinstance(text, str) else text
    return cast("Mapping[str, Any]", found) if isinstance(found, dict) else {}


def _leaves(text: str) -> dict[str, Any]:
    found = data(text)
    if not isinstance(found, dict):
        return {}
    items = cast("dict[str, Any]", found).items()
    return {k: v for k, v in items if isinstance(v, str | int | float) and not isinstance(v, bool)}
