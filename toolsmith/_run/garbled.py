"""A turn that the service itself could not read, and sent back as an error with what the model had written.

Groq does so ("code": "tool_use_failed", "failed_generation": ...), also for a tool that is not there and for arguments
that do not fit: a 400 for what elsewhere is a call like any other. It is read here, and judged where all calls are.
Forms as seen in public reports, November 2026.
"""

from __future__ import annotations

import json
import re
from typing import Any, cast

from toolsmith.messages import Message, Part, Reply, Text, ToolCall, Usage

_TAGGED = re.compile(r"<function=([\w.-]+)\W*?(\{.*?\})\s*\)?\s*(?:</function>|(?=<function=)|$)", re.DOTALL)


def reread(text: str, number: int) -> Reply:
    """The turn that the model meant; without calls where none can be found in it.

    Args:
        text: what the model had written.
        number: of the turn; it makes the ids.
    """
    found = _in_json(text) or [(name, arguments) for name, arguments in _TAGGED.findall(text)]
    calls = [ToolCall(f"unread_{number}_{n}", name, arguments) for n, (name, arguments) in enumerate(found, 1)]
    parts: tuple[Part, ...] = tuple(calls) or (Text(text),)
    return Reply(Message("assistant", parts), "tool_calls" if calls else "unknown", Usage(requests=1))


def _in_json(text: str) -> list[tuple[str, str]]:
    try:
        value: Any = json.loads(text)
    except (ValueError, RecursionError):
        return []
    items = cast("list[Any]", value) if isinstance(value, list) else [value]
    found = [_call(item) for item in items]
    return [call for call in found if call is not None] if all(found) else []


def _call(item: Any) -> tuple[str, str] | None:
    """A call as an object: {"name", "arguments"}, also within "function", and with "parameters" instead."""
    if not isinstance(item, dict):
        return None
    entry = cast("dict[str, Any]", item)
    entry = cast("dict[str, Any]", entry["function"]) if isinstance(entry.get("function"), dict) else entry
    name, arguments = entry.get("name"), entry.get("arguments", entry.get("parameters"))
    if not isinstance(name, str):
        return None
    return name, arguments if isinstance(arguments, str) else json.dumps(arguments or {}, ensure_ascii=False)
