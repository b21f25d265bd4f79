"""Arguments of a wrong type, given to `toolsmith.rag` and `toolsmith.web`: told at once, where and what to give."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from toolsmith import RAG, ConfigError, DefinitionError, Document, Tool, ToolError, WebSearch
from toolsmith.rag import CallableEmbeddings
from toolsmith.rag.embeddings import OpenAIEmbeddings
from toolsmith.rag.postgres import PostgresBackend
from toolsmith.web import FetchPage, Found, SearXNG, Tavily


class Engine:
    """A search engine that must not be asked."""

    name = "engine"

    def search(self, query: str, limit: int) -> Found:
        raise AssertionError

    async def asearch(self, query: str, limit: int) -> Found:
        raise AssertionError


def _any(value: Any) -> Any:
    return value


SEARCH = WebSearch(Engine())
FETCH = FetchPage()
SEARXNG = SearXNG("http://127.0.0.1:9")
TAVILY = Tavily("key", base_url="http://127.0.0.1:9")

RAG_CALLS: list[tuple[Callable[[RAG, Any], Any], Any, str]] = [
    (lambda r, x: r.search(x), None, "RAG.search(query=None): give a text (str)."),
    (lambda r, x: r.search(x), b"x", "RAG.search(query=b'x'): give a text (str)."),
    (lambda r, x: r.search("x", limit=x), "3", "RAG.search(limit='3'): give a whole number, as in limit=3."),
    (lambda r, x: r.search("x", limit=x), 2.5, "RAG.search(limit=2.5): give a whole number."),
    (lambda r, x: r.search("x", limit=x), True, "RAG.search(limit=True): give a whole number."),
    (
        lambda r, x: r.search("x", where=x),
        "a",
        "RAG.search(where='a'): give a dict, as in where={'lang': 'en'}, or None.",
    ),
    (lambda r, x: r.cited(x), 3, "RAG.cited(answer=3): give a text (str)."),
    (
        lambda r, x: r.cited("x", where=x),
        [1],
        "RAG.cited(where=[1]): give a dict, as in where={'lang': 'en'}, or None.",
    ),
    (
        lambda r, x: r.add(x),
        None,
        "RAG.add(what=None): give a path, a pattern, a text, a Document, or a list of them.",
    ),
    (
        lambda r, x: r.add([x]),
        b"x",
        "RAG.add(what=b'x'): give a path, a pattern, a text, a Document, or a list of them.",
    ),
    (lambda r, x: r.add("x", match=x), None, "RAG.add(match=None): give a text, or a list of texts."),
    (lambda r, x: r.add("x", match=[x]), 3, "RAG.add(match=...): give texts (str) in it, not 3."),
    (lambda r, x: r.add("x", remove_missing=x), "no", "RAG.add(remove_missing='no'): give True or False."),
    (lambda r, x: r.add("x", progress=x), 3, "RAG.add(progress=3): give a function, or None."),
    (
        lambda r, x: r.add("x", metadata=x),
        [1],
        "RAG.add(metadata=[1]): give a dict, as in metadata={'lang': 'en'}, or None.",
    ),
    (
        lambda r, x: r.remove(x),
        None,
        "RAG.remove(sources=None): give a source (str or pathlib.Path), or a list of them.",
    ),
    (lambda r, x: r.remove([x]), 3, "RAG.remove(sources=3): give a path (str or pathlib.Path)."),
    (lambda r, x: r.as_tool(name=x), 3, "RAG.as_tool(name=3): give a text (str), or None."),
    (lambda r, x: r.as_tool(limit=x), None, "RAG.as_tool(limit=None): give a whole number."),
    (lambda r, x: r.as_tool(others=x), "a", "RAG.as_tool(others='a'): give a list, as in others=['a']."),
    (lambda r, x: r.as_tool(untrusted=x), "no", "RAG.as_tool(untrusted='no'): give True or False."),
    (lambda r, x: r.as_tools(prefix_bucket=x), 1, "RAG.as_tools(prefix_bucket=1): give True or False."),
    (lambda r, x: r.as_tools(others=x), {"a": 1}, "RAG.as_tools(others={'a': 1}): give a list of texts."),
]

CALLS: list[tuple[Callable[[Any], Any], Any, str]] = [
    (RAG, None, "RAG(bucket=None): give a text (str)."),
    (lambda x: RAG(description=x), 3, "RAG(description=3): give a text (str)."),
    (lambda x: RAG(path=x), b"x", "RAG(path=b'x'): give a path (str or pathlib.Path), or None."),
    (
        lambda x: RAG(backend=x),
        "postgresql://",
        "RAG(backend='postgresql://'): give a store, such as PostgresBackend(address), or None.",
    ),
    (lambda x: RAG(passage=x), "900", "RAG(passage='900'): give a whole number, as in passage=900."),
    (lambda x: RAG(max_file_bytes=x), None, "RAG(max_file_bytes=None): give a whole number."),
    (lambda x: RAG(seconds_a_file=x), "2.5", "RAG(seconds_a_file='2.5'): give a number, as in seconds_a_file=2.5."),
    (lambda x: Document(x, "a"), None, "Document(text=None): give a text (str)."),
    (lambda x: Document("a", x), Path("a"), f"Document(source={Path('a')!r}): give a text (str)."),
    (
        lambda x: Document("a", "b", metadata=x),
        3,
        "Document(metadata=3): give a dict, as in metadata={'lang': 'en'}, or None.",
    ),
    (
        lambda x: CallableEmbeddings(x, name="a"),
        3,
        "CallableEmbeddings(fn=3): give a function from a list of texts to their vectors.",
    ),
    (lambda x: OpenAIEmbeddings(batch=x), "9", "OpenAIEmbeddings(batch='9'): give a whole number, as in batch=9."),
    (PostgresBackend, None, "PostgresBackend(address=None): give a text (str)."),
    (WebSearch, 3, "WebSearch(backend=3): give the address of a SearXNG or a SearchBackend, or None."),
    (lambda x: WebSearch(Engine(), limit=x), "3", "WebSearch(limit='3'): give a whole number, as in limit=3."),
    (lambda x: WebSearch(Engine(), hosted=x), "yes", "WebSearch(hosted='yes'): give True or False, or None."),
    (lambda x: WebSearch(Engine(), max_uses=x), 1.5, "WebSearch(max_uses=1.5): give a whole number, or None."),
    (lambda x: WebSearch(Engine(), allowed_domains=x), 3, "WebSearch(allowed_domains=3): give a list of texts."),
    (
        lambda x: WebSearch(Engine(), blocked_domains=[x]),
        None,
        "WebSearch(blocked_domains=...): give texts (str) in it, not None.",
    ),
    (
        lambda x: WebSearch(Engine(), location=x),
        "NO",
        "WebSearch(location='NO'): give a dict, as in location={'country': 'NO'}, or None.",
    ),
    (
        lambda x: WebSearch(Engine(), location={"country": x}),
        47,
        "WebSearch(location['country']=47): give a text (str).",
    ),
    (SEARCH.search, None, "WebSearch.search(query=None): give a text (str)."),
    (
        lambda x: SEARCH.search("x", x),
        "3",
        "WebSearch.search(limit='3'): give a whole number, as in limit=3, or None.",
    ),
    (lambda x: FetchPage(seconds=x), "3", "FetchPage(seconds='3'): give a number, as in seconds=3."),
    (lambda x: FetchPage(max_bytes=x), 1.5, "FetchPage(max_bytes=1.5): give a whole number."),
    (lambda x: FetchPage(robots=x), "no", "FetchPage(robots='no'): give True or False."),
    (lambda x: FetchPage(allow_private=x), None, "FetchPage(allow_private=None): give a list of texts."),
    (
        lambda x: FetchPage(ports=x),
        80,
        "FetchPage(ports=80): give a list of whole numbers, as in ports=[80, 443].",
    ),
    (lambda x: FetchPage(ports=[x]), "80", "FetchPage(ports='80'): give a whole number, as in ports=80."),
    (lambda x: FetchPage(user_agent=x), None, "FetchPage(user_agent=None): give a text (str)."),
    (lambda x: FetchPage(proxy=x), 3, "FetchPage(proxy=3): give a text (str), or None."),
    (lambda x: FetchPage(resolver=x), 3, "FetchPage(resolver=3): give a function, or None."),
    (FETCH.fetch, None, "FetchPage.fetch(url=None): give a text (str)."),
    (SearXNG, 3, "SearXNG(url=3): give a text (str), or None."),
    (
        lambda x: SearXNG("http://127.0.0.1:9", timeout=x),
        "3",
        "SearXNG(timeout='3'): give a number, as in timeout=3.",
    ),
    (lambda x: SEARXNG.search(x, 3), None, "SearXNG.search(query=None): give a text (str)."),
    (Tavily, 3, "Tavily(api_key=3): give a text (str), or None."),
    (
        lambda x: Tavily("k", include_domains=x),
        "a.example",
        "Tavily(include_domains='a.example'): give a list, as in include_domains=['a.example'].",
    ),
    (lambda x: TAVILY.search("x", x), "3", "Tavily.search(limit='3'): give a whole number, as in limit=3."),
]


@pytest.mark.parametrize(("ask", "value", "said"), RAG_CALLS, ids=[said.partition(":")[0] for *_, said in RAG_CALLS])
def test_rag_tells_what_is_given_wrongly(tmp_path: Path, ask: Callable[[RAG, Any], Any], value: Any, said: str) -> None:
    """Which argument of which call, what it was, and what to give; and nothing is done."""
    rag = RAG(path=tmp_path / "index.sqlite3", embeddings=False)
    with pytest.raises(TypeError) as caught:
        ask(rag, value)
    assert str(caught.value) == said
    assert not (tmp_path / "index.sqlite3").exists()


@pytest.mark.parametrize(("ask", "value", "said"), CALLS, ids=[said.partition(":")[0] for *_, said in CALLS])
def test_others_tell_what_is_given_wrongly(ask: Callable[[Any], Any], value: Any, said: str) -> None:
    """The same of the constructors, and of the web: no engine and no site is asked."""
    with pytest.raises(TypeError) as caught:
        ask(value)
    assert str(caught.value) == said


def test_a_long_value_is_told_in_short() -> None:
    """What was given may be a whole document."""
    with pytest.raises(TypeError) as caught:
        FETCH.fetch(_any(["page"] * 1_000))
    assert len(str(caught.value)) < 140


def test_choices_and_empty_queries() -> None:
    """What has the right type and a wrong value is told as well."""
    with pytest.raises(ConfigError, match=r"Tavily\(topic='sport'\): give one of 'general', 'news', 'finance'\."):
        Tavily("k", topic=_any("sport"))
    with pytest.raises(ToolError, match="query is empty"):
        SEARCH.search("  ")


def test_the_name_of_a_tool_is_a_text() -> None:
    """A definition error, as for any other name that a tool cannot have."""

    def act() -> None:
        """Act."""

    with pytest.raises(DefinitionError, match=r"test_given\.py:\d+: .* is a text \(str\), not 3\. Write name='...'"):
        Tool(act, name=_any(3))
