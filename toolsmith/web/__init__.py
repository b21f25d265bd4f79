"""The web as tools: `web_search` on the engine that you have, and `fetch_page` to read what it found.

    from toolsmith import Agent, WebSearch
    from toolsmith.web import fetch_page

    agent = Agent("anthropic:claude-opus-5-5", tools=[WebSearch(), fetch_page])

Each search engine is one file with a class of the protocol `SearchBackend`. Names are loaded when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from toolsmith.tool import Tool
    from toolsmith.web.backends import Found, SearchBackend, WebResult
    from toolsmith.web.ddgs import Ddgs
    from toolsmith.web.fetch import FetchPage, WebPage
    from toolsmith.web.search import WebSearch
    from toolsmith.web.searxng import SearXNG
    from toolsmith.web.tavily import Tavily

    fetch_page: Tool[..., Any]

_MODULE_OF = {
    "Ddgs": "ddgs",
    "FetchPage": "fetch",
    "Found": "backends",
    "SearXNG": "searxng",
    "SearchBackend": "backends",
    "Tavily": "tavily",
    "WebPage": "fetch",
    "WebResult": "backends",
    "WebSearch": "search",
}

__all__ = [
    "Ddgs",
    "FetchPage",
    "Found",
    "SearXNG",
    "SearchBackend",
    "Tavily",
    "WebPage",
    "WebResult",
    "WebSearch",
    "fetch_page",
]


def __getattr__(name: str) -> Any:
    if name == "fetch_page":
        value = import_module("toolsmith.web.fetch").FetchPage().as_tool()
    elif name in _MODULE_OF:
        value = getattr(import_module(f"toolsmith.web.{_MODULE_OF[name]}"), name)
    else:
        raise AttributeError(f"module 'toolsmith.web' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
