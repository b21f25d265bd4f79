"""`Agent(rag=..., web=...)`: the built-in tools by a word, from a settings file too."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from toolsmith import RAG, Agent, ConfigError, DefinitionError, ToolOutput, ToolRegistry, WebSearch, tool
from toolsmith.rag import Document
from toolsmith.testing import ScriptedModel, call, say


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An index that is not named lies in the current folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SEARXNG_URL", raising=False)
    monkeypatch.delenv("TAVILY_API_KEY", raising=False)


@tool
def today() -> str:
    """Today."""
    return "2026-11-30"


def _names(agent: Agent[Any]) -> list[str]:
    return [t.name for t in agent.tools]


def test_an_agent_searches_its_documents_and_cites() -> None:
    """One bucket is `rag_search`; its passages are fenced, and the marks in the answer lead back to them."""
    rag = RAG("docs", description="the handbook", embeddings=False)
    rag.add(Document("The office opens at nine.", "hours.md"))
    (hit,) = rag.search("office")
    model = ScriptedModel([call("rag_search", query="When does the office open?"), say(f"At nine [{hit.mark}].")])
    agent = Agent(model.provider("openai"), tools=[today], rag=rag)
    assert _names(agent) == ["today", "rag_search"]
    result = agent.run_sync("When does the office open?")
    (read,) = [p.text for m in result.messages for p in m.parts if isinstance(p, ToolOutput)]
    fence, _, behind = read.partition("\n</untrusted ")
    assert f"[{hit.mark}] hours.md" in fence
    assert "Put the mark of a passage" in behind
    assert [h.source for h in rag.cited(result.output)] == ["hours.md"]


def test_several_buckets_have_a_name_and_a_boundary_each() -> None:
    agent = Agent("openai:x", rag=[RAG("shop", embeddings=False), "garden"])
    assert _names(agent) == ["rag_search_shop", "rag_search_garden"]
    first, second = agent.tools
    assert "for others there is `rag_search_garden`" in first.description
    assert "for others there is `rag_search_shop`" in second.description
    with pytest.raises(ConfigError, match="two buckets named 'shop'"):
        Agent("openai:x", rag=["shop", "shop"])


def test_anything_that_gives_such_tools_will_do() -> None:
    """No class of ours has to be subclassed."""

    class Library:
        bucket = "library"

        def as_tools(self, *, prefix_bucket: bool = False, others: Sequence[str] = ()) -> list[Any]:
            return [today.renamed("rag_search_library" if prefix_bucket else "rag_search")]

    assert _names(Agent("openai:x", rag=Library())) == ["rag_search"]
    assert _names(Agent("openai:x", rag=[Library(), "docs"])) == ["rag_search_library", "rag_search_docs"]


@pytest.mark.parametrize("web", [True, "http://localhost:8888", WebSearch("http://localhost:8888")])
def test_the_web_by_a_word(web: Any) -> None:
    """Search, and `fetch_page` to read what it found; both give untrusted text."""
    agent = Agent("openai:x", web=web)
    assert _names(agent) == ["web_search", "fetch_page"]
    assert all(t.options.untrusted and t.options.effect == "read" for t in agent.tools)
    assert _names(Agent("openai:x", web=False)) == []


def test_a_registry_of_yours_stays_as_it_is() -> None:
    mine = ToolRegistry([today])
    agent = Agent("openai:x", tools=mine, rag="docs")
    assert _names(agent) == ["today", "rag_search"]
    assert [t.name for t in mine] == ["today"]
    assert Agent("openai:x", tools=mine).tools is mine


def test_what_is_neither() -> None:
    with pytest.raises(ConfigError, match=r"takes a RAG, the name of a bucket, or a list of these, not 7"):
        Agent("openai:x", rag=[7])  # pyright: ignore[reportArgumentType]
    with pytest.raises(ConfigError, match=r"takes True, a WebSearch or the name or address of an engine, not 7"):
        Agent("openai:x", web=7)  # pyright: ignore[reportArgumentType]
    with pytest.raises(DefinitionError, match="Two tools are named 'rag_search'"):
        Agent("openai:x", tools=[today.renamed("rag_search")], rag="docs")


def test_from_a_settings_file(tmp_path: Path) -> None:
    file = tmp_path / "toolsmith.toml"
    file.write_text('[agents.a]\nmodel = "openai:x"\nrag = ["docs", "news"]\nweb = true\nuntrusted = "deny"\n')
    agent = Agent.from_config(file, "a")
    assert _names(agent) == ["rag_search_docs", "rag_search_news", "web_search", "fetch_page"]
    assert agent.untrusted == "deny"
    file.write_text('[agents.a]\nmodel = "openai:x"\nrag = "docs"\nuntrusted = "never"\n')
    with pytest.raises(ConfigError, match=r'untrusted.*must be "ask", "deny" or "allow"'):
        Agent.from_config(file, "a")
