"""A request as the scripted model got it, with the few questions that a script or a test asks of it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any, cast

from toolsmith._dataclass import dataclass
from toolsmith._plain import encodable
from toolsmith.media import File, Image, Media
from toolsmith.testing.script import Api

# Where the SDKs look under a right base URL; and OpenAI's interfaces as its clouds have them, under /openai.
_PATHS: Mapping[Api, re.Pattern[str]] = {
    "anthropic": re.compile(r"/v1/messages"),
    "openai": re.compile(r"/v1/responses|/openai(/v1)?/responses"),
    "openai-chat": re.compile(r"/v1/chat/completions|/openai(/v1|/deployments/[^/]+)/chat/completions"),
}

# Output items of Responses, as they come back in `input`: what the model said itself.
_TOLD_TO_THE_MODEL = frozenset({"function_call_output", "custom_tool_call_output", "item_reference"})


def api_of(path: str) -> Api | None:
    """The API that a path belongs to, None for no path of the three."""
    plain = path.partition("?")[0]
    return next((api for api, form in _PATHS.items() if form.fullmatch(plain)), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """One request.

    Attributes:
        api: the API that it was made to.
        path: of the URL, with the query.
        headers: names in lower case; empty where the request was made as a plain function call.
        raw: the body's bytes.
        body: the body, parsed.
        number: 0 for the first request that this scripted model got.
    """

    api: Api
    path: str
    headers: Mapping[str, str]
    raw: bytes
    body: dict[str, Any]
    number: int
    # types of blocks that the script itself brought into the world, and so may come back
    known_blocks: frozenset[str] = field(default=frozenset(), repr=False)

    @property
    def model(self) -> str:
        """The model that was asked."""
        return str(self.body.get("model", ""))

    @property
    def streamed(self) -> bool:
        """Whether a stream is asked for."""
        return self.body.get("stream") is True

    @property
    def tools(self) -> dict[str, dict[str, Any]]:
        """The function tools offered: name -> {"schema": ..., "strict": ..., "description": ...}."""
        found: dict[str, dict[str, Any]] = {}
        for tool in dicts(self.body.get("tools")):
            inner = cast("dict[str, Any]", tool.get("function")) if isinstance(tool.get("function"), dict) else tool
            schema = inner.get("input_schema", inner.get("parameters"))
            if isinstance(inner.get("name"), str) and isinstance(schema, dict):
                found[inner["name"]] = {
                    "schema": schema,
                    "strict": inner.get("strict"),
                    "description": inner.get("description", ""),
                }
        return found

    @property
    def instructions(self) -> str:
        """The system text, "" for none."""
        if self.api == "anthropic":
            return text_of(self.body.get("system"))
        if self.api == "openai":
            return str(self.body.get("instructions") or "")
        told = [m for m in self.messages if m.get("role") in ("system", "developer")]
        return "\n".join(text_of(m.get("content")) for m in told)

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The history: messages, or the items of `input` for Responses (a plain string as a user message)."""
        key = "input" if self.api == "openai" else "messages"
        value = self.body.get(key)
        return [{"role": "user", "content": value}] if isinstance(value, str) else dicts(value)

    @property
    def prompt(self) -> str:
        """The last words of the user."""
        for message in reversed(self.messages):
            text = text_of(message.get("content")) if message.get("role") == "user" else ""
            if text:
                return text
        return ""

    @property
    def turn(self) -> int:
        """How many turns the model has had in this conversation."""
        before, turns = False, 0
        for message in self.messages:
            now = is_models_own(message)
            turns += now and not (before and self.api == "openai")
            before = now
        return turns

    @property
    def results(self) -> list[tuple[str, str]]:
        """What the tools gave in the last round: (call id, text), in the order sent."""
        found: list[tuple[str, str]] = []
        for message in self.messages:
            if is_models_own(message):
                found = []
            else:
                found += list(_results_in(message))
        return found

    @property
    def media(self) -> list[Media]:
        """The images and files of the whole history, in the order sent, read back from the form of the API."""
        return [one for message in self.messages for one in _media_in(message)]


def _media_in(value: Mapping[str, Any]) -> Iterator[Media]:
    for part in (*dicts(value.get("content")), *dicts(value.get("output"))):
        source, file = part.get("source"), part.get("file")
        match part.get("type"):
            case "image":
                yield Image(url=_claudes(source))
            case "document" if inside(source, "type") == "text":
                yield File(str(inside(source, "data")).encode(), name=str(part.get("title", "")))
            case "document":
                kind = "application/pdf"  # what else they may be stands as text
                yield File(url=_claudes(source), media_type=kind, name=str(part.get("title", "")))
            case "input_image":
                yield Image(url=part["image_url"])
            case "image_url":
                yield Image(url=str(inside(part, "image_url", "url")))
            case "input_file":
                yield File(url=part.get("file_data") or part["file_url"], name=str(part.get("filename", "")))
            case "file":
                yield File(url=str(inside(file, "file_data")), name=str(inside(file, "filename")))
            case _:
                yield from _media_in(part)  # a tool_result has content of its own


def _claudes(source: object) -> str:
    if inside(source, "type") == "url":
        return str(inside(source, "url"))
    return f"data:{inside(source, 'media_type')};base64,{inside(source, 'data')}"


def is_models_own(message: Mapping[str, Any]) -> bool:
    """Whether a message or item is the model's and not the user's or a tool's."""
    if message.get("role") is not None:
        return message["role"] == "assistant"
    return message.get("type") not in _TOLD_TO_THE_MODEL


def _results_in(message: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if message.get("type") == "function_call_output":
        yield str(message.get("call_id", "")), text_of(message.get("output"))
    elif message.get("role") == "tool":
        yield str(message.get("tool_call_id", "")), text_of(message.get("content"))
    elif message.get("role") == "user":
        for block in dicts(message.get("content")):
            if block.get("type") == "tool_result":
                yield str(block.get("tool_use_id", "")), text_of(block.get("content"))


def dicts(value: object) -> list[dict[str, Any]]:
    """The objects in a list; [] for anything that is no list."""
    if not isinstance(value, list):
        return []
    return [cast("dict[str, Any]", item) for item in cast("list[object]", value) if isinstance(item, dict)]


def inside(value: object, *keys: str) -> Any:
    """What stands at the end of a path of keys; None where the path leads nowhere."""
    for key in keys:
        value = cast("dict[str, object]", value).get(key) if isinstance(value, dict) else None
    return value


def text_of(content: object) -> str:
    """The words of a content value, a string or a list of parts."""
    if isinstance(content, str):
        return content
    return "".join(str(part.get("text", "")) for part in dicts(content) if isinstance(part.get("text"), str))


def dumps(value: object) -> str:
    """JSON as services write it: compact, Unicode as it is, but for halves of a character, which only JSON can hold."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text if encodable(text) else json.dumps(value, separators=(",", ":"))


def pieces(text: str, chop: Any) -> Sequence[str]:
    """Cut a text into deltas, by size or by the function given."""
    if callable(chop):
        return cast("Sequence[str]", chop(text))
    size = max(int(chop), 1)
    return [text[i : i + size] for i in range(0, len(text), size)]
