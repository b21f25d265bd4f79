"""How well, and how fast, documents are found: `RAG` beside the bare engine (FTS5) and a peer (bm25s).

    python benchmarks/rag.py                 # figures as a table
    python benchmarks/rag.py --half tuning   # only the questions that weights may be set by

The corpus is made here: each docstring of Python's standard library is a document, those of some installed packages
stand around them as distractors. Questions are paraphrases with a known answer (`rag_queries.json`); every second
one is held out. All engines are given the same texts: the dotted name, then the docstring. Times are of the processor,
so that what else the machine does counts little.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import sqlite3
import statistics
import sys
import sysconfig
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from toolsmith import RAG, Document

PACKAGES = ("pydantic", "openai", "anthropic", "rich", "hypothesis", "numpy", "pygments", "jsonschema")
LIMIT = 20_000
SKIPPED = {
    "test",
    "tests",
    "idlelib",
    "lib2to3",
    "site-packages",
    "turtledemo",
    "__pycache__",
    "ensurepip",
    "encodings",
}


def docstrings(root: Path, prefix: str) -> Iterator[tuple[str, str]]:
    """Dotted names and docstrings of all modules under a folder, private functions too."""
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        if SKIPPED & set(parts):
            continue
        name = ".".join((*filter(None, [prefix]), *(parts[:-1] if parts[-1] == "__init__" else parts)))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = ast.parse(path.read_text(encoding="utf-8"))
        except (SyntaxError, UnicodeDecodeError):
            continue
        yield from within(tree, name)


def within(node: ast.AST, name: str) -> Iterator[tuple[str, str]]:
    if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        text = ast.get_docstring(node)
        if text and name:
            yield name, text
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield from within(child, f"{name}.{child.name}" if name else child.name)


def corpus() -> dict[str, str]:
    found: dict[str, str] = {}
    for name, text in docstrings(Path(sysconfig.get_paths()["stdlib"]), ""):
        found.setdefault(name, text)
    for package in PACKAGES:
        spec = find_spec(package)
        if spec and spec.submodule_search_locations:
            for name, text in docstrings(Path(spec.submodule_search_locations[0]), package):
                found.setdefault(name, text)
    return dict(list(found.items())[:LIMIT])


@dataclass
class Result:
    engine: str
    index_seconds: float
    megabytes: float
    milliseconds: float
    first: int
    five: int
    ten: int
    mrr: float
    missed: list[str]


Search = Callable[[str, int], list[str]]


def judge(
    engine: str, index_seconds: float, size: int, search: Search, questions: Sequence[tuple[str, list[str]]]
) -> Result:
    times: list[float] = []
    ranks: list[int] = []
    missed: list[str] = []
    search("warm up", 10)
    for question, answers in questions:
        began = time.process_time()
        found = list(dict.fromkeys(search(question, 20)))[:10]
        times.append((time.process_time() - began) * 1000)
        rank = next((i for i, name in enumerate(found, 1) if name in answers), 0)
        ranks.append(rank)
        if not 1 <= rank <= 5:
            missed.append(f"{question} (rank {rank or '-'}; got {', '.join(found[:3])})")
    return Result(
        engine,
        index_seconds,
        size / 1e6,
        statistics.median(times),
        sum(r == 1 for r in ranks),
        sum(1 <= r <= 5 for r in ranks),
        sum(1 <= r <= 10 for r in ranks),
        statistics.fmean(1 / r if r else 0.0 for r in ranks),
        missed,
    )


def fts5(docs: dict[str, str], folder: Path, tokenizer: str) -> tuple[float, int, Search]:
    """The bare engine as its manual has it: one table, OR of quoted words, bm25()."""
    path = folder / f"fts5-{tokenizer[:6]}.sqlite3"
    began = time.process_time()
    file = sqlite3.connect(path)
    file.execute(f"CREATE VIRTUAL TABLE t USING fts5(name UNINDEXED, text, tokenize='{tokenizer}')")
    file.executemany("INSERT INTO t VALUES (?, ?)", ((name, f"{name}\n{text}") for name, text in docs.items()))
    file.commit()
    took = time.process_time() - began

    def search(query: str, limit: int) -> list[str]:
        asked = " OR ".join(f'"{w}"' for w in re.findall(r"\w+", query))
        rows = file.execute("SELECT name FROM t WHERE t MATCH ? ORDER BY rank LIMIT ?", (asked, limit))
        return [row[0] for row in rows]

    return took, path.stat().st_size, search


def bm25s(docs: dict[str, str]) -> tuple[float, int, Search]:
    import bm25s as engine

    try:
        import Stemmer

        stemmer = Stemmer.Stemmer("english")
    except ImportError:
        stemmer = None
    names = list(docs)
    began = time.process_time()
    tokens = engine.tokenize(
        [f"{n}\n{t}" for n, t in docs.items()], stopwords="en", stemmer=stemmer, show_progress=False
    )
    index = engine.BM25()
    index.index(tokens, show_progress=False)
    took = time.process_time() - began

    def search(query: str, limit: int) -> list[str]:
        asked = engine.tokenize(query, stopwords="en", stemmer=stemmer, show_progress=False)
        found, scores = index.retrieve(asked, k=limit, show_progress=False)
        return [names[i] for i, s in zip(found[0], scores[0], strict=True) if s > 0]

    return took, 0, search


def ours(docs: dict[str, str], folder: Path, embeddings: bool | None) -> tuple[float, int, Search]:
    rag = RAG("docs", path=folder / f"ours-{embeddings}.sqlite3", embeddings=embeddings)
    began = time.process_time()
    rag.add(Document(text, name, title=name) for name, text in docs.items())
    took = time.process_time() - began

    def search(query: str, limit: int) -> list[str]:
        return [hit.source for hit in rag.search(query, limit)]

    return took, rag.stats().bytes, search


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--half", choices=("all", "tuning", "heldout"), default="all")
    parser.add_argument("--missed", action="store_true", help="list the questions that RAG does not answer in five")
    options = parser.parse_args()
    text = (Path(__file__).parent / "rag_queries.json").read_text(encoding="utf-8")
    questions = [(q, a) for q, a in json.loads(text)["queries"]]
    docs = corpus()
    questions = [(q, a) for q, a in questions if any(name in docs for name in a)]
    questions = {"all": questions, "tuning": questions[::2], "heldout": questions[1::2]}[options.half]
    mean = statistics.fmean(map(len, docs.values()))
    print(f"{len(docs):,} documents, {mean:.0f} characters on average; {len(questions)} questions ({options.half})\n")
    results: list[Result] = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        results.append(judge("FTS5 porter", *fts5(docs, folder, "porter unicode61"), questions))
        results.append(judge("FTS5 trigram", *fts5(docs, folder, "trigram"), questions))
        if find_spec("bm25s"):
            results.append(judge("bm25s", *bm25s(docs), questions))
        results.append(judge("RAG, words", *ours(docs, folder, False), questions))
        results.append(judge("RAG, words and WordLlama", *ours(docs, folder, None), questions))
    print(f"{'engine':26} {'index s':>8} {'MB':>6} {'p50 ms':>7} {'hit@1':>6} {'hit@5':>6} {'hit@10':>7} {'MRR':>5}")
    for r in results:
        print(
            f"{r.engine:26} {r.index_seconds:8.1f} {r.megabytes:6.1f} {r.milliseconds:7.1f} {r.first:6} {r.five:6} "
            f"{r.ten:7} {r.mrr:5.2f}"
        )
    if options.missed:
        print("\nnot in the first five of the last engine:\n" + "\n".join(f"  {m}" for m in results[-1].missed))


if __name__ == "__main__":
    sys.exit(main())
