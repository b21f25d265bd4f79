"""Tools that a service runs itself: which ones it knows, how a search looks on the wire, what may come back of it.

Sources: anthropic/types/tool_union_param.py, web_search_tool_*_param.py and web_search_result_block.py (2.14),
openai/types/responses/tool_param.py and response_function_web_search.py (3.57), and both services' pages about web
search, read November 2026.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from toolsmith.testing.binding import decrypts, encrypt
from toolsmith.testing.recorded import Recorded, dicts, dumps, inside
from toolsmith.testing.rules import No, Rule, rule, unknown_keys
from toolsmith.testing.script import Api, Say, ScriptError, Search

_CLAUDE_SEARCH = ("web_search_20250305", "web_search_20260209", "web_search_20260318")
_CLAUDE_KEYS = frozenset(
    {
        "type", "name", "allowed_callers", "allowed_domains", "blocked_domains", "cache_control", "defer_loading",
        "max_uses", "strict", "user_location",
    }
)  # fmt: skip
_CLAUDE_OTHERS = (
    "web_fetch_20250910", "web_fetch_20260209", "web_fetch_20260309", "web_fetch_20260318", "code_execution_20250522",
    "code_execution_20250825", "code_execution_20260120", "code_execution_20260521", "tool_search_tool_regex",
    "tool_search_tool_regex_20251119", "tool_search_tool_bm25", "tool_search_tool_bm25_20251119", "bash_20250124",
    "text_editor_20250124", "text_editor_20250429", "text_editor_20250728", "memory_20250818",
    "computer_toolset_20260801", "browser_toolset_20260801", "mcp_toolset", "advisor_20260301", "bash_20241022",
    "computer_20241022", "computer_20250124", "computer_20251124",
)  # fmt: skip
_OPENAI_SEARCH = ("web_search", "web_search_2025_08_26")
_OPENAI_KEYS = frozenset({"type", "filters", "user_location", "search_context_size", "external_web_access"})
_OPENAI_OTHERS = (
    "function", "file_search", "computer", "computer_use_preview", "web_search_preview",
    "web_search_preview_2025_03_11", "mcp", "code_interpreter", "programmatic_tool_calling", "image_generation",
    "local_shell", "shell", "apply_patch", "tool_search", "custom", "namespace",
)  # fmt: skip
_CHAT = ("function", "custom")
_RESULT = "web_search_tool_result"


# ---- what is refused


@rule(
    "anthropic",
    "hosted-tool",
    "A tool of the service of an unknown version, under another name, or with what its version does not have.",
    source="SDK: types/web_search_tool_*_param.py; docs: Web search tool",
)
def claude_hosted_tool(request: Recorded) -> No | None:
    for number, tool in enumerate(dicts(request.body.get("tools"))):
        kind = tool.get("type")
        if kind in (None, "custom", *_CLAUDE_OTHERS):
            continue
        if kind not in _CLAUDE_SEARCH:
            words = f"Input tag '{kind}' found using 'type' does not match any of the expected tags"
            return No(message=f"tools.{number}: {words}")
        if tool.get("name") != "web_search":
            return No(message=f"tools.{number}.{kind}.name: Input should be 'web_search'")
        newest = kind == _CLAUDE_SEARCH[-1]
        extra = unknown_keys(tool, _CLAUDE_KEYS | {"response_inclusion"} if newest else _CLAUDE_KEYS)
        if extra:
            return No(message=f"tools.{number}.{kind}.{extra[0]}: Extra inputs are not permitted")
        if tool.get("allowed_domains") and tool.get("blocked_domains"):
            words = "Only one of allowed_domains and blocked_domains may be specified"
            return No(message=f"tools.{number}.{kind}: {words}")
    return None


@rule(
    "anthropic",
    "search-result",
    "A search without its results, results without their search, or with an altered `encrypted_content`.",
    source="docs: Web search tool",
)
def claude_search_result(request: Recorded) -> No | None:
    for number, message in enumerate(dicts(request.body.get("messages"))):
        searches: set[str] = set()
        for at, block in enumerate(dicts(message.get("content"))):
            where = f"messages.{number}.content.{at}"
            if block.get("type") == "server_tool_use":
                searches.add(str(block.get("id")))
            if block.get("type") != _RESULT:
                continue
            if block.get("tool_use_id") not in searches:
                words = "unexpected `tool_use_id`: each result block must have a corresponding `server_tool_use` block"
                return No(message=f"{where}: {words} before it")
            for page in dicts(block.get("content")):
                if not decrypts(str(page.get("url")), str(page.get("encrypted_content"))):
                    return No(message=f"{where}: Invalid `encrypted_content` in `{_RESULT}` block")
    return None


def openai_hosted_tool(api: Api) -> Rule:
    """The rule of either API about the types of tools."""

    def find(request: Recorded) -> No | None:
        known = _CHAT if api == "openai-chat" else (*_OPENAI_SEARCH, *_OPENAI_OTHERS)
        for number, tool in enumerate(dicts(request.body.get("tools"))):
            path, kind = f"tools[{number}]", tool.get("type")
            if kind not in known:
                words = f"Invalid value: '{kind}'. Supported values are: {', '.join(map(repr, known))}."
                return No(message=words, code="invalid_value", param=f"{path}.type")
            if kind in _OPENAI_SEARCH:
                extra = [*unknown_keys(tool, _OPENAI_KEYS)]
                filters: dict[str, Any] = inside(tool, "filters") or {}
                extra += [f"filters.{key}" for key in filters if key != "allowed_domains"]
                if extra:
                    words = f"Unknown parameter: '{path}.{extra[0]}'."
                    return No(message=words, code="unknown_parameter", param=f"{path}.{extra[0]}")
        return None

    about = "A tool of a type that the API does not have, or a web search with an unknown key."
    return Rule(api, "hosted-tool", about, "SDK: types; docs: Web search", find)


# ---- how a search is answered


def _offered(request: Recorded) -> bool:
    kinds = _CLAUDE_SEARCH if request.api == "anthropic" else _OPENAI_SEARCH
    return any(tool.get("type") in kinds for tool in dicts(request.body.get("tools")))


def _check(request: Recorded) -> None:
    if not _offered(request):
        raise ScriptError(
            "search(...): the request offers no web search of the service. If the program has one of its own, the "
            "model asks for it by call('web_search', query=...)."
        )


def claude_blocks(
    request: Recorded, part: Search, new_id: Callable[[str], str]
) -> Iterator[tuple[dict[str, Any], str]]:
    """The search and its results as blocks, each beside the text that its stream is made of."""
    _check(request)
    name, asked, caller = new_id("srvtoolu_01"), {"query": part.query}, {"type": "direct"}
    call = {"type": "server_tool_use", "id": name, "name": "web_search", "input": asked, "caller": caller}
    yield call, dumps(asked)
    found: object = [
        {
            "type": "web_search_result",
            "url": url,
            "title": title,
            "encrypted_content": encrypt(url),
            "page_age": None,
        }
        for url, title in part.pages
    ]
    if part.error:
        found = {"type": "web_search_tool_result_error", "error_code": part.error}
    yield {"type": _RESULT, "tool_use_id": name, "content": found, "caller": caller}, ""


def responses_item(request: Recorded, part: Search, item_id: str) -> dict[str, Any]:
    """The search as an item."""
    _check(request)
    action: dict[str, Any] = {"type": "search", "query": part.query, "queries": [part.query]}
    if "web_search_call.action.sources" in (request.body.get("include") or ()):
        action["sources"] = [{"type": "url", "url": url} for url, _ in part.pages]
    status = "failed" if part.error else "completed"
    return {"id": item_id, "type": "web_search_call", "status": status, "action": action}


def claude_citations(part: Say) -> dict[str, Any]:
    """The `citations` of a text block; nothing for words without sources."""
    cited = [
        {
            "type": "web_search_result_location",
            "url": url,
            "title": title,
            "cited_text": text,
            "encrypted_index": encrypt(url),
        }
        for url, title, text in part.cites
    ]
    return {"citations": cited} if cited else {}


def url_annotations(part: Say) -> list[Mapping[str, Any]]:
    """The `annotations` of an output text, each about all of it."""
    end = len(part.text)
    return [
        {"type": "url_citation", "url": url, "title": title, "start_index": 0, "end_index": end}
        for url, title, _ in part.cites
    ]
