"""Citations reach the answer: what tools say they took a result from, and what of it the answer names."""

from __future__ import annotations

import pytest

from toolsmith import RAG, Agent, Citation, Pending, Source, ToolResult, tool
from toolsmith._run.citing import cited
from toolsmith.rag import Document
from toolsmith.testing import ScriptedModel, call, say
from toolsmith.testing import search as searches

MARKED = (Source("a.md", "A", "alpha", "docs-1"), Source("b.md", "B", "beta", "docs-12"))
PAGES = (Source("https://law.example/", "The law", "25 days"), Source("https://law.example/page?id=7", "Page", "more"))


def _told(answer: str, *sources: Source) -> list[tuple[str, str]]:
    """What is cited, and the words that it was found by."""
    return [(c.url, answer[c.start : c.end]) for c in cited(answer, sources)]


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("Alpha [docs-1]. Beta [docs-12]!", [("a.md", "docs-1"), ("b.md", "docs-12")]),
        ("Both [docs-12, docs-1], again docs-1.", [("b.md", "docs-12"), ("a.md", "docs-1"), ("a.md", "docs-1")]),
        ("Not docs-123, nor xdocs-1 or docs-1x or my-docs-1.", []),
        ("Nothing.", []),
    ],
)
def test_marks(answer: str, expected: list[tuple[str, str]]) -> None:
    """In the order of the answer, whole marks alone."""
    assert _told(answer, *MARKED) == expected


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        ("See https://law.example.", ["https://law.example"]),
        (
            "See https://law.example/, or (https://law.example/page?id=7).",
            ["https://law.example", "https://law.example/page?id=7"],
        ),
        (
            "[the law](https://law.example/) **https://law.example/page?id=7**",
            ["https://law.example", "https://law.example/page?id=7"],
        ),
        ("<https://law.example/>", ["https://law.example"]),
        ("https://law.example/page?id=77 and https://law.example.evil.example/", []),
        ("http://law.example/", []),
    ],
)
def test_addresses(answer: str, found: list[str]) -> None:
    """As models write them, and no other ones that begin alike."""
    assert [said for _, said in _told(answer, *PAGES)] == found


def test_an_answer_from_documents_and_pages() -> None:
    """`RunResult.citations` has the passages of `rag_search`, and the sources of any tool of yours."""
    rag = RAG("docs", path=":memory:", embeddings=False)
    rag.add(Document("The office opens at nine.", "hours.md", title="Hours"))
    (hit,) = rag.search("office")

    @tool
    def read_law() -> ToolResult:
        """The law."""
        return ToolResult(True, "25 days", sources=PAGES[:1])

    answer = f"At nine [{hit.mark}]. Holidays are 25 days (https://law.example/)."
    model = ScriptedModel([[call("rag_search", query="office"), call("read_law")], say(answer)])
    result = Agent(model.provider("openai"), tools=[read_law], rag=rag).run_sync("When?")
    assert [(c.url, c.title, c.cited_text) for c in result.citations] == [
        ("hours.md", "Hours", "The office opens at nine."),
        ("https://law.example/", "The law", "25 days"),
    ]
    assert [answer[c.start : c.end] for c in result.citations] == [hit.mark, "https://law.example"]


def test_what_is_not_cited_is_no_citation() -> None:
    @tool
    def read_law() -> ToolResult:
        """The law."""
        return ToolResult(True, "25 days", sources=PAGES)

    model = ScriptedModel([call("read_law"), say("25 days.")])
    assert Agent(model.provider("openai"), tools=[read_law]).run_sync("?").citations == []


def test_both_kinds() -> None:
    """The service's own come first."""

    @tool
    def read_law() -> ToolResult:
        """The law."""
        return ToolResult(True, "25 days", sources=PAGES[:1])

    from toolsmith import WebSearch

    page = ("https://web.example/", "Web", "a passage")
    last = [searches("x", page[:2]), say("So it is, see https://law.example/.", cites=[page])]
    model = ScriptedModel([call("read_law"), last])
    result = Agent(model.provider("anthropic"), tools=[read_law, WebSearch()]).run_sync("?")
    assert [c.url for c in result.citations] == ["https://web.example/", "https://law.example/"]


def test_sources_outlive_a_wait_for_a_person() -> None:
    """They are kept with the results of the turn that waits."""

    @tool
    def read_law() -> ToolResult:
        """The law."""
        return ToolResult(True, "25 days", sources=PAGES[:1])

    @tool(requires_approval=True)
    def book() -> str:
        """Book."""
        return "booked"

    model = ScriptedModel([[call("read_law"), call("book")], say("Booked, by https://law.example/.")])
    agent = Agent(model.provider("openai"), tools=[read_law, book])
    waiting = agent.run_sync("Book.")
    assert waiting.pending is not None
    result = agent.resume_sync(Pending.load(waiting.pending.dump()), approve=True)
    assert result.citations == [Citation("https://law.example/", "The law", "25 days", 11, 30)]
