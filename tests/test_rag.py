"""`RAG` through its public face: what is added is found, with its place; filters; the tool and its citations."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rag_stores import STORES, store

from toolsmith import RAG, Agent, Document, Hit
from toolsmith.errors import RAGError
from toolsmith.rag import Progress, tools_of
from toolsmith.testing import ScriptedModel, call, say

GUIDE = """\
# Guide

An introduction.

## Install

Run the installer on Linux with sudo.

```sh
# not a heading
apt install thing
```

## Take away

Delete the folder.
"""


@pytest.fixture(params=STORES)
def rag(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[RAG]:
    """On each store in turn: they answer alike."""
    with store(request.param, tmp_path) as backend:
        yield RAG(backend=backend, embeddings=False)


def sources(hits: list[Hit]) -> list[str]:
    return [hit.source for hit in hits]


def test_a_file_is_found_with_its_place(rag: RAG, tmp_path: Path) -> None:
    """A hit says where its passage stands: source, headings, lines; and code is not taken apart."""
    path = tmp_path / "guide.md"
    path.write_text(GUIDE)
    account = rag.add(path)
    assert account.added == (path.as_posix(),)
    assert account.passages == 3
    hit = rag.search("How do I install it on Linux?")[0]
    assert hit.source == path.as_posix()
    assert hit.position.headings == ("Guide", "Install")
    assert hit.position.lines == (7, 12)
    assert hit.text == "Run the installer on Linux with sudo.\n\n```sh\n# not a heading\napt install thing\n```"
    assert hit.place == f"{path.as_posix()}, Guide > Install, lines 7-12"
    assert "installer on Linux" in hit.snippet
    assert 0 < hit.score <= 1


def test_lines_are_those_of_the_file(rag: RAG, tmp_path: Path) -> None:
    """The line span of each passage, cut out of the file, holds the passage's words."""
    lines = [f"Line {n} has its number, which is {n}." if n % 7 else "" for n in range(400)]
    path = tmp_path / "long.txt"
    path.write_text("\n".join(lines))
    rag.add(path)
    for n in (1, 50, 123, 397):
        hit = next(h for h in rag.search(f"number {n}", 20) if f"Line {n} " in h.text)
        first, last = hit.position.lines or (0, 0)
        assert lines[first - 1 : last] == hit.text.splitlines()


def test_what_has_not_changed_is_not_read_again(rag: RAG, tmp_path: Path) -> None:
    """By content: a touched file is unchanged, a changed one is replaced, its old text is gone; others stay."""
    one, two = tmp_path / "one.txt", tmp_path / "two.txt"
    one.write_text("The bakery opens at seven.")
    two.write_text("The library opens at nine.")
    assert sorted(rag.add(tmp_path, match="*.txt").added) == [one.as_posix(), two.as_posix()]
    one.touch()
    two.write_text("The library opens at ten.")
    account = rag.add([one, two])
    assert (account.added, account.unchanged, account.replaced) == ((), (one.as_posix(),), (two.as_posix(),))
    assert [h.text for h in rag.search("library nine ten")] == ["The library opens at ten."]
    assert rag.stats().passages == 2


def test_metadata_is_part_of_the_content(rag: RAG) -> None:
    rag.add(Document("A text.", "a", {"lang": "en"}))
    assert rag.add(Document("A text.", "a", {"lang": "en"})).unchanged == ("a",)
    assert rag.add(Document("A text.", "a", {"lang": "de"})).replaced == ("a",)
    assert rag.search("text", where={"lang": "de"})[0].metadata == {"lang": "de"}
    assert rag.search("text", where={"lang": "en"}) == []


def test_removing(rag: RAG) -> None:
    rag.add([Document("Apples are red.", "apples"), Document("Pears are green.", "pears")])
    assert rag.remove(["apples", "plums"]) == ["apples"]
    assert sources(rag.search("apples pears")) == ["pears"]
    assert rag.sources() == ["pears"]
    assert rag.clear() == 1
    assert rag.search("pears") == []


def test_a_bucket_can_mirror_a_folder(rag: RAG, tmp_path: Path) -> None:
    """With `remove_missing`, what is no longer there is removed; without, it stays."""
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "old.md").write_text("Old words.")
    (folder / "kept.md").write_text("Kept words.")
    rag.add(folder)
    (folder / "old.md").unlink()
    assert rag.add(folder).removed == ()
    account = rag.add(folder, remove_missing=True)
    assert account.removed == ((folder / "old.md").as_posix(),)
    assert sources(rag.search("words")) == [(folder / "kept.md").as_posix()]
    folder.rename(tmp_path / "elsewhere")
    assert rag.add(folder, remove_missing=True).removed == ()
    folder.mkdir()
    assert rag.add(folder, remove_missing=True).removed == (), "an empty mount point is no empty folder"


def test_buckets_know_nothing_of_each_other(tmp_path: Path) -> None:
    path = tmp_path / "index.sqlite3"
    with RAG("shop", path=path, embeddings=False) as shop, RAG("garden", path=path, embeddings=False) as garden:
        shop.add(Document("Returns within thirty days.", "policy"))
        garden.add(Document("Roses return each year.", "roses"))
        assert sources(shop.search("return")) == ["policy"]
        assert sources(garden.search("return")) == ["roses"]
        shop.clear()
        assert sources(garden.search("return")) == ["roses"]


@pytest.mark.parametrize(
    "query",
    ['"', "'", "a AND", "NEAR(", "text:*", "^", "-text", "x OR", "()", "\x00text", "\ud800", "?", "*" * 5000, "{text}"],
)
def test_a_query_has_no_syntax(rag: RAG, query: str) -> None:
    """Whatever a model sends is a query of words."""
    rag.add(Document("A text with words.", "a"))
    assert sources(rag.search(query)) in ([], ["a"])


def test_parts_of_words_and_accents_are_found(rag: RAG) -> None:
    rag.add(
        [
            Document("Die Donaudampfschifffahrt begann früh.", "ship"),
            Document("東京都の図書館は九時に開きます。", "tokyo"),
        ]
    )
    assert sources(rag.search("Dampfschiff")) == ["ship"]
    assert sources(rag.search("frueh begann FRUH")) == ["ship"]
    assert sources(rag.search("図書館はいつ開きますか")) == ["tokyo"]


def test_texts_paths_and_patterns_are_told_apart(rag: RAG, tmp_path: Path) -> None:
    """A string is a path if it is there or looks like one; a misspelt path is a failure, never a text."""
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.md").write_text("Alpha words.")
    (tmp_path / "sub" / "b.md").write_text("Beta words.")
    (tmp_path / "sub" / ".hidden.md").write_text("Hidden words.")
    account = rag.add(
        [f"{tmp_path}/**/*.md", "A text of its own.", f"{tmp_path}/missing.md", "guide.md", "", "no/such/*.md"]
    )
    assert len(account.added) == 3
    assert [failure.source for failure in account.failed] == [
        f"{tmp_path}/missing.md",
        "guide.md",
        "''",
        "no/such/*.md",
    ]
    assert rag.search("own text")[0].source.startswith("text-")
    with pytest.raises(TypeError, match="give a path, a pattern, a text, a Document"):
        rag.add(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="give a path, a pattern, a text, a Document"):
        rag.add(b"bytes")  # type: ignore[arg-type]


def test_a_pattern_may_have_spaces(rag: RAG, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is one if a file fits it, or if it looks like one: it must not become a text in silence."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my notes").mkdir()
    (tmp_path / "my notes" / "a day.md").write_text("Alpha words.")
    (tmp_path / "my notes" / "b day.md").write_text("Beta words.")
    (tmp_path / "trip to Rome.md").write_text("Roma words.")
    assert set(rag.add("my notes/*.md").added) == {"my notes/a day.md", "my notes/b day.md"}
    assert rag.add("trip to *").added == ("trip to Rome.md",)
    assert rag.add("**/a day.m?").unchanged == ("my notes/a day.md",)
    missing = ["my notes/*.txt", "./no such folder/*", "other notes/**/*.md", "old day [0-9].md", "my?notes dir/x.pdf"]
    account = rag.add(missing)
    assert [failure.source for failure in account.failed] == missing
    assert all("no file fits this pattern" in failure.reason for failure in account.failed)
    assert all("Document(text, source)" in failure.reason for failure in account.failed)
    texts = ["Which of them? All.", "2 * 3 / 4 is 1.5", "a list [1] of and/or *things*", "Is it km/h?"]
    assert len(rag.add(texts).added) == len(texts)


def test_links_that_lead_out_of_a_folder_are_left_alone(rag: RAG, tmp_path: Path) -> None:
    """An index of a folder holds nothing from elsewhere, however the folder was prepared."""
    (tmp_path / "secret.md").write_text("The secret word is xyzzy.")
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "link.md").symlink_to(tmp_path / "secret.md")
    (folder / "loop").symlink_to(folder)
    (folder / "good.md").write_text("A good page.")
    assert rag.add(folder).added == ((folder / "good.md").as_posix(),)
    assert rag.search("xyzzy") == []


WHERES: list[tuple[dict[str, Any], set[str]]] = [
    ({"lang": "en"}, {"a", "b"}),
    ({"lang": ["en", "de"]}, {"a", "b", "c"}),
    ({"lang": {"ne": "en"}}, {"c", "d"}),
    ({"lang": None}, {"d"}),
    ({"year": {"gte": 2020}}, {"b", "c"}),
    ({"year": {"gt": 2020, "lt": 2025}}, {"c"}),
    ({"year": 2020.0}, {"b"}),
    ({"year": "2020"}, set()),
    ({"tags": "red"}, {"a", "b"}),
    ({"tags": {"in": ["blue", "green"]}}, {"b"}),
    ({"tags": {"ne": "red"}}, {"c", "d"}),
    ({"public": True}, {"a"}),
    ({"public": 1}, set()),
    ({"day": {"lte": "2024-06-30"}}, {"a", "b"}),
    ({"day": {"lte": 5}}, set()),
    ({"lang": "en", "year": {"lt": 2020}}, {"a"}),
    ({"lang": []}, set()),
    ({"a.b": 1}, {"d"}),
    ({"x' OR '1'='1": 1}, set()),
    ({"lang": "en' OR 1=1 --"}, set()),
    ({"missing": 1}, set()),
    ({}, {"a", "b", "c", "d"}),
]

FILTERED = [
    Document("Same words.", "a", {"lang": "en", "year": 2010, "tags": ["red"], "public": True, "day": "2024-01-05"}),
    Document("Same words.", "b", {"lang": "en", "year": 2020, "tags": ["red", "blue"], "day": "2024-06-30"}),
    Document("Same words.", "c", {"lang": "de", "year": 2024.5, "tags": [], "public": False, "day": "2025-01-01"}),
    Document("Same words.", "d", {"lang": None, "a.b": 1}),
]


@pytest.mark.parametrize(("where", "expected"), WHERES, ids=[str(where)[:40] for where, _ in WHERES])
def test_filters(rag: RAG, where: dict[str, Any], expected: set[str]) -> None:
    """By value, list, range and absence; types are told apart; a filter is data, never a part of the query."""
    rag.add(FILTERED)
    assert set(sources(rag.search("words", 10, where=where))) == expected


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ({"year": {"gte": [1]}}, "takes a number or a string"),
        ({"year": {"gte": True}}, "takes a number or a string"),
        ({"year": {"$gte": 1}}, "there is no operator '\\$gte'"),
        ({"year": {}}, "give an operator"),
        ({"year": float("nan")}, "no string, finite number"),
        ({'a"b': 1}, "is no key"),
        ({3: 1}, "is no key"),
        ({"year": list(range(2000))}, "1000 are the most"),
        ({"year": {">=": 1}}, "there are eq, in, ne, gt, gte, lt, lte\\. Did you mean 'gte'\\?"),
        ({"year": {"$nin": [1]}}, "there is no operator '\\$nin'.*Did you mean 'ne'\\?"),
        ({"year": {"GTE": 1}}, "Did you mean 'gte'\\?"),
        ({"year": {5: 1}}, "there is no operator 5; there are eq, in, ne"),
        ({"year": ">2020"}, r"write \{'year': \{'gt': 2020\}\}; the operators are eq, in, ne, gt"),
        ({"day": ">= 2024-01-05"}, r"write \{'day': \{'gte': '2024-01-05'\}\}"),
        ({"year>=": 2020}, r"write \{'year': \{'gte': 2020\}\}"),
        ({"year >>": 2020}, r"write \{'year': \{'gt': 2020\}\}"),
        ({"year__gte": 2020}, r"write \{'year': \{'gte': 2020\}\}"),
        ({"lang !=": "en"}, r"write \{'lang': \{'ne': 'en'\}\}"),
        ({"$or": [{"lang": "en"}]}, "all of its keys must hold"),
        ({"$and": {"lang": "en"}}, "all of its keys must hold"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_filter_that_cannot_be_is_refused(rag: RAG, where: dict[Any, Any], said: str) -> None:
    """Also one that would compare something else than is meant, and never find anything."""
    for use in (lambda: rag.search("x", where=where), lambda: rag.cited("x", where=where)):
        with pytest.raises(ValueError, match=said):
            use()
    with pytest.raises(ValueError, match=said):
        rag.as_tool(where=where)


def test_what_looks_like_an_operator_can_be_meant(rag: RAG) -> None:
    """As `eq`, whatever stands in a key or a value."""
    rag.add([Document("Same words.", "a", {"year>": ">2020", "x__gte": 1}), Document("Same words.", "b")])
    for where in ({"year>": {"eq": ">2020"}}, {"x__gte": {"eq": 1}}):
        assert sources(rag.search("words", where=where)) == ["a"]


def test_buckets_and_keys(rag: RAG) -> None:
    """What there is to search in and to filter by."""
    rag.add(FILTERED)
    assert rag.keys() == ["a.b", "day", "lang", "public", "tags", "year"]
    assert rag.buckets() == [rag.bucket]
    rag.clear()
    assert rag.keys() == []


@pytest.mark.parametrize(
    "metadata", [{"a": {"b": 1}}, {"a": float("inf")}, {'"': 1}, {"a": [[1]]}, {"a": "x" * 30_000}]
)
def test_metadata_that_cannot_be_stored_is_refused(rag: RAG, metadata: dict[str, Any]) -> None:
    """Before anything is written."""
    with pytest.raises(ValueError, match="metadata of"):
        rag.add([Document("Good.", "good"), Document("Text.", "a", metadata)])
    assert rag.sources() == []


def test_progress_is_told(rag: RAG) -> None:
    told: list[Progress] = []
    rag.add([Document(f"Text {n}.", f"d{n}") for n in range(3)], progress=told.append)
    assert [(p.done, p.total) for p in told] == [(0, 3), (1, 3), (2, 3), (3, 3)]
    assert told[-1].source == "d2"


def test_documents_of_a_generator_are_taken_one_by_one(rag: RAG) -> None:
    """More of them than fit into memory can be added: those before are stored while the next are made."""
    stored: list[int] = []

    def documents() -> Iterator[Document]:
        for n in range(200):
            stored.append(len(rag.sources()))
            yield Document(f"Text {n}.", f"d{n}")

    told: list[Progress] = []
    assert len(rag.add(documents(), progress=told.append, remove_missing=True).added) == 200
    assert stored[-1] >= 128
    assert (told[-1].done, told[-1].total) == (200, 0)
    assert len(rag.add((d for d in [Document("Text 1.", "d1")]), remove_missing=True).removed) == 199


@pytest.mark.parametrize("bucket", ["", "Docs", "1a", "a-b", "a b", "x" * 41, "a; DROP TABLE chunks", "é"])
def test_names_that_a_bucket_cannot_have(bucket: str) -> None:
    with pytest.raises(ValueError, match="a bucket's name is"):
        RAG(bucket)


# ---- the tool


def test_the_tool_cites(rag: RAG) -> None:
    """Its result has marks, sources and the request to cite; marks in an answer lead back to the passages."""
    rag.add(Document("# Opening\n\nThe shop opens at nine.\n\n# Returns\n\nReturns take thirty days.", "hours.md"))
    tool = rag.as_tool()
    result = tool.call_json_sync(json.dumps({"query": "When does the shop open?"}))
    assert result.success
    hit = rag.search("When does the shop open?")[0]
    assert f"[{hit.mark}] hours.md, Opening, line 3\nThe shop opens at nine." in result.data
    assert f"Put the mark of a passage, such as [{hit.mark}]" in result.notes[0]
    assert result.untrusted
    assert not rag.as_tool(untrusted=False).call_json_sync('{"query": "When does the shop open?"}').untrusted
    answer = f"It opens at nine [{hit.mark}], as was said [{hit.mark}]; and [docs-99999] is made up."
    assert [h.text for h in rag.cited(answer)] == ["The shop opens at nine."]
    assert rag.cited("Nothing is cited here.") == []


def test_a_mark_does_not_lead_past_the_filter(rag: RAG) -> None:
    """A model may name marks that it was not shown: with the tool's filter they lead nowhere."""
    values: list[Any] = [1, 1.5, 3, "1", "b", True, False, None, [], [1, "b"], [None, 3]]
    rag.add([Document("The wage is secret.", f"d{n}", metadata={"level": value}) for n, value in enumerate(values)])
    rag.add(Document("The wage is secret.", "none"))
    everything = rag.search("secret wage", 100)
    answer = " ".join(f"[{hit.mark}]" for hit in everything)
    assert len(rag.cited(answer)) == len(values) + 1
    for wanted in (
        *values,
        {"lte": 1},
        {"gt": 1},
        {"lt": "b"},
        {"gte": "b"},
        {"ne": 1},
        {"ne": [None, True]},
        [1, "b"],
    ):
        where = {"level": wanted}
        shown = {hit.source for hit in rag.search("secret wage", 100, where=where)}
        assert {hit.source for hit in rag.cited(answer, where=where)} == shown, wanted


def test_a_filter_is_a_dict(rag: RAG) -> None:
    for wrong in ("level=1", ["level"]):
        with pytest.raises(TypeError, match=r"where=.*: give a dict"):
            rag.search("wage", where=wrong)  # pyright: ignore[reportArgumentType]


def test_the_tool_says_what_it_searches(rag: RAG) -> None:
    assert rag.as_tool().name == "rag_search"
    assert rag.as_tool().options.read_only
    assert rag.as_tools(prefix_bucket=True)[0].name == "rag_search_docs"
    rag.description = "the handbook\n of the shop."
    assert rag.as_tool().description.startswith("Search the handbook of the shop. Gives the passages")
    for provider in ("openai", "anthropic"):
        assert rag.as_tool().strict_report(provider).strict


def test_several_buckets_have_boundaries(tmp_path: Path) -> None:
    """Each tool says what it searches and which tools search the rest."""
    shop, garden = (
        RAG(name, path=tmp_path / "i.sqlite3", description=about, embeddings=False)
        for name, about in (("shop", "the rules of the shop"), ("garden", "what to know of plants"))
    )
    one, two = tools_of([shop, garden])
    assert (one.name, two.name) == ("rag_search_shop", "rag_search_garden")
    assert "Search the rules of the shop." in one.description
    assert "for others there is `rag_search_garden`" in one.description
    assert [t.name for t in tools_of([shop])] == ["rag_search"]
    with pytest.raises(ValueError, match="Two buckets have one name"):
        tools_of([shop, shop])


def test_nothing_found_says_what_to_try(rag: RAG) -> None:
    tool = rag.as_tool()
    assert "there are no documents yet" in tool.call_json_sync('{"query": "anything"}').notes[0]
    rag.add(Document("The shop opens at nine.", "hours"))
    nothing = tool.call_json_sync('{"query": "zzyzx"}')
    assert (nothing.data, nothing.untrusted) == ([], False)
    (said,) = nothing.notes
    assert said.startswith("Nothing was found for 'zzyzx'. Try other words")


def test_a_filter_of_the_tool_is_not_the_models(rag: RAG) -> None:
    """What a user may not see is not found, whatever the model asks."""
    rag.add([Document("Salary table.", "secret", {"level": 2}), Document("Salary day.", "open", {"level": 1})])
    tool = rag.as_tool(where={"level": {"lte": 1}})
    assert "secret" not in tool.call_json_sync('{"query": "salary table level 2", "limit": 20}').data
    assert "where" not in tool.input_schema["properties"]


def test_an_agent_answers_with_citations(rag: RAG) -> None:
    """The marks are in what the model reads, and its answer leads back to the source."""
    rag.add(Document("The shop opens at nine.", "hours.md"))
    mark = rag.search("opens")[0].mark
    model = ScriptedModel([call("rag_search", query="opening hours shop"), say(f"At nine [{mark}].")])
    result = Agent(model.provider("openai"), tools=rag.as_tools()).run_sync("When does the shop open?")
    assert f"[{mark}] hours.md\nThe shop opens at nine." in str(result.tool_calls[0].result.data)
    assert [hit.source for hit in rag.cited(result.output)] == ["hours.md"]


def test_an_index_that_was_never_made(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A misspelt path is told, and neither a search nor a look at it makes folders or a file there."""
    path = tmp_path / "ruels" / "typo.sqlite3"
    rag = RAG("rules", path=path, embeddings=False)
    said = rf"There is no index {path}: RAG\.add\(\.\.\.\) makes it; RAG\(path=\.\.\.\) names another"
    for ask in (lambda: rag.search("fruit"), lambda: rag.cited("[rules-1]"), lambda: rag.remove("a")):
        with pytest.raises(RAGError, match=said):
            ask()
    assert (rag.stats().documents, rag.sources(), rag.buckets(), rag.keys(), rag.clear()) == (0, [], [], [], 0)
    model = ScriptedModel([call("rag_search", query="fruit"), say("Nothing.")])
    result = Agent(model.provider("openai"), rag=rag).run_sync("Fruit?")
    assert "there are no documents" in str(result.tool_calls[0].result.notes)
    assert said.split(":")[0] in caplog.text
    assert not rag.add([path.parent / "nope.txt", Document(" ", "b")], remove_missing=True).added
    assert not path.parent.exists()
    rag.add(Document("Fruit is sold by weight.", "a"))
    assert path.exists()
    assert sources(RAG("rules", path=path, embeddings=False).search("fruit")) == ["a"]


def test_an_index_that_another_one_makes(tmp_path: Path) -> None:
    """Who has looked in vain finds what is added later, by whomever."""
    early, late = (RAG(path=tmp_path / "x.sqlite3", embeddings=False) for _ in range(2))
    with pytest.raises(RAGError):
        early.search("fruit")
    assert early.sources() == []
    late.add(Document("Fruit is sold by weight.", "a"))
    assert (sources(early.search("fruit")), early.sources()) == (["a"], ["a"])
