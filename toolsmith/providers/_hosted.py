"""Tools that the services run themselves, as each API writes them, and what their answers cite.

Sources, read November 2026: anthropic/types/web_search_tool_20260318_param.py and text_citation.py (2.14),
openai/types/responses/web_search_tool_param.py and response_output_text.py (3.57), and both services' pages about web
search.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from toolsmith.messages import Citation, HostedTool
from toolsmith.providers._wire import arr, num, obj, txt

# Models before 4.6 know the first version alone.
_FIRST_SEARCH = re.compile(r"claude-(?:[123](?!\d)|(?:opus|sonnet|haiku)-4(?:-[0-5](?!\d)|-\d{8}|@|-v|$))")


def claude_tool(tool: HostedTool, model: str) -> dict[str, Any]:
    """Claude's own tool.

    The versions after the first also let Claude search from code that it runs at the service. Such code lives in a
    container that the next request would have to name, and what passes through it is kept; so the model alone may call.
    """
    if _FIRST_SEARCH.search(model):
        made: dict[str, Any] = {"type": "web_search_20250305", "name": "web_search"}
    else:
        made = {"type": "web_search_20260318", "name": "web_search", "allowed_callers": ["direct"]}
    if tool.max_uses is not None:
        made["max_uses"] = tool.max_uses
    if tool.allowed_domains:
        made["allowed_domains"] = list(tool.allowed_domains)
    if tool.blocked_domains:
        made["blocked_domains"] = list(tool.blocked_domains)
    return {**made, **_location(tool)}


def responses_tool(tool: HostedTool) -> dict[str, Any]:
    """OpenAI's own tool. How often it may be used is no part of it, but of the request."""
    made: dict[str, Any] = {"type": "web_search"}
    if tool.allowed_domains:
        made["filters"] = {"allowed_domains": list(tool.allowed_domains)}
    return {**made, **_location(tool)}


def _location(tool: HostedTool) -> dict[str, Any]:
    return {"user_location": {"type": "approximate", **dict(tool.location)}} if tool.location else {}


def claude_citations(block: Mapping[str, Any]) -> tuple[Citation, ...]:
    """What a text block of Claude's cites: pages, and also documents and search results that it was given.

    The whole block stands on its sources: Claude begins a new one where they change.
    """
    end = len(txt(block.get("text")))
    return tuple(
        Citation(
            txt(found.get("url")) or txt(found.get("source")),
            txt(found.get("title")) or txt(found.get("document_title")),
            txt(found.get("cited_text")),
            0,
            end,
        )
        for found in map(obj, arr(block.get("citations")))
    )


def url_citations(content: Mapping[str, Any]) -> tuple[Citation, ...]:
    """What a text of the Responses API cites: each part of it that names a page."""
    size = len(txt(content.get("text")))
    cited: list[Citation] = []
    for found in map(obj, arr(content.get("annotations"))):
        if found.get("type") != "url_citation":
            continue
        end = min(max(num(found.get("end_index")), 0), size)
        start = min(max(num(found.get("start_index")), 0), end)
        cited.append(Citation(txt(found.get("url")), txt(found.get("title")), "", start, end))
    return tuple(cited)
