"""`toolsmith rag`: add documents to an index, search it, say what is in it."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from toolsmith.cli import _exits
from toolsmith.cli._filters import OPERATORS, filters, metadata
from toolsmith.cli._words import Parser, UsageError, guess, number_in, one_of
from toolsmith.errors import ConfigError, ToolsmithError

if TYPE_CHECKING:
    from collections.abc import Callable

    from toolsmith.rag import RAG, Account, Hit, Progress

FINE, NOT_ALL = 0, 1
ACTIONS = ("add", "search", "stats", "remove")

DESCRIPTION = """\
Search your own documents.

  toolsmith rag add handbook/ notes.pdf     add files and folders; what has not changed is skipped
  toolsmith rag search "how long is the warranty?"
  toolsmith rag stats                       what is in the index
  toolsmith rag remove handbook/old.md      take documents out, by the sources that a search names"""

EPILOG = f"""\
Text, Markdown, code, HTML, PDF and Word documents (.docx) are read. A file that cannot be read is named with the
reason, and hurts no other. Stopped at any moment, adding goes on where it was when it is called again.

filters:
  --where lang=en --where "year>=2020" --where tag=red,blue     all of them must hold; a list means any of it
  Operators: {OPERATORS}. Values that are numbers, true, false or null in JSON are taken as such; one in double
  quotes is a text, whatever is in it. So are those of --metadata, where a JSON list makes a list.

exit codes:
  {FINE}    added, found, removed
  {NOT_ALL}    add: something could not be read or embedded; search: nothing found; remove: something was not there;
       or the index cannot be used
  {_exits.USAGE}    usage: a wrong option, a filter that cannot be, an index or bucket that is not there, a package that
       is missing
  {_exits.INTERRUPTED}  interrupted

output:
  With --json: search prints a hit a line; the others one JSON object.
"""

_OF_ONE_ACTION = {
    "metadata": ("add", "--metadata", "--where filters a search"),
    "match": ("add", "--match", ""),
    "remove_missing": ("add", "--remove-missing", ""),
    "limit": ("search", "--limit", ""),
    "where": ("search", "--where", "--metadata gives documents theirs"),
    "full": ("search", "--full", ""),
}
_DEFAULT_LIMIT, _MOST_HITS = 5, 100


def add_to(verbs: Any) -> Parser:
    """Add the command to the others."""
    verb: Parser = verbs.add_parser(
        "rag",
        help="search your own documents",
        usage='%(prog)s {add,search,stats,remove} [options] [PATH ... | "QUERY" | SOURCE ...]',
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    verb.add_argument("action", nargs="?", type=one_of(ACTIONS), metavar="{add,search,stats,remove}", help="what to do")
    verb.add_argument("words", nargs="*", metavar="WORD", help="paths, a query, or sources")
    verb.add_argument("--bucket", metavar="NAME", help="the bucket of documents (default: docs)")
    place = verb.add_mutually_exclusive_group()
    place.add_argument("--index", metavar="FILE", help="the SQLite file (default: .toolsmith/rag.sqlite3)")
    place.add_argument(
        "--postgres", action="store_true", help="an index on Postgres, at the address in $TOOLSMITH_POSTGRES"
    )
    verb.add_argument("--words-only", action="store_true", help="do without embeddings")
    verb.add_argument(
        "--metadata", metavar="KEY=VALUE", action="append", default=[], help="add: metadata of the documents"
    )
    verb.add_argument(
        "--match", metavar="PATTERN", action="append", default=[], help='add: files of folders, as "*.md"'
    )
    verb.add_argument("--remove-missing", action="store_true", help="add: remove documents that are not named any more")
    verb.add_argument(
        "--limit", type=number_in(1, _MOST_HITS), metavar="N", help="search: how many passages (default: 5)"
    )
    verb.add_argument("--where", metavar="FILTER", action="append", default=[], help="search: filters on metadata")
    verb.add_argument("--full", action="store_true", help="search: whole passages, not the telling part")
    verb.add_argument("--json", action="store_true", help="for machines")
    verb.add_argument("-q", "--quiet", action="store_true", help="add: no progress, and only what failed")
    verb.end = _ended_wrong
    return verb


def _ended_wrong(message: str) -> dict[str, Any]:
    return {"error": message, "exit_code": _exits.USAGE}


def run(options: argparse.Namespace, out: TextIO) -> int:
    """Do what is asked; the exit code."""
    _check(options)
    try:
        options.where, options.metadata = filters(options.where), metadata(options.metadata)
        with _rag(options) as rag:
            if options.action != "add":
                _check_bucket(rag, options)
            match options.action:
                case "add":
                    return _add(rag, options, out)
                case "search":
                    return _search(rag, options, out)
                case "stats":
                    return _stats(rag, options, out)
                case _:
                    return _remove(rag, options, out)
    except (ToolsmithError, ValueError, KeyboardInterrupt) as error:
        code = _exits.USAGE if isinstance(error, ValueError) else _exits.of_error(error)
        said = "interrupted" if isinstance(error, KeyboardInterrupt) else str(error)
        if options.json:
            _line(out, {"error": said, "exit_code": code})
        print(f"toolsmith: {said}", file=sys.stderr)
        return code


def _check(options: argparse.Namespace) -> None:
    """What the parser cannot know: which words and options an action takes."""
    if options.action is None:
        raise UsageError(f"say what to do: {', '.join(ACTIONS)}. `toolsmith rag --help` says more.")
    if options.action == "stats" and options.words:
        raise UsageError(f"stats takes no words; for a bucket: --bucket {options.words[0]}.")
    if options.action != "stats" and not options.words:
        what = {"add": "files and folders", "search": "a query", "remove": "sources"}[options.action]
        raise UsageError(f"toolsmith rag {options.action} needs {what}. `toolsmith rag --help` says more.")
    if options.action == "search" and not " ".join(options.words).strip():
        raise UsageError("the query is empty: say what to look for.")
    addresses = [word for word in options.words if word.startswith(("http://", "https://"))]
    if options.action == "add" and addresses:
        raise UsageError(f"{addresses[0]} is an address; files and folders can be added. Save the page first.")
    for name, (action, option, other) in _OF_ONE_ACTION.items():
        if getattr(options, name) and options.action != action:
            hint = f" ({other})" if other else ""
            raise UsageError(f"{option} is an option of toolsmith rag {action}, not of {options.action}{hint}.")


def _check_bucket(rag: RAG, options: argparse.Namespace) -> None:
    """Refuse to look into what is not there: a misspelt name would be taken for "nothing was found"."""
    buckets = rag.buckets()
    if buckets and rag.bucket not in buckets:
        raise ConfigError(
            f"there is no bucket {rag.bucket!r}; there are: {', '.join(buckets)}.{guess(rag.bucket, buckets)}"
            + ("" if options.bucket else " Name one with --bucket.")
        )


def _check_index(options: argparse.Namespace) -> None:
    """Refuse to look into an index that is not there, and would be made by looking."""
    if options.action == "add" or options.postgres:
        return
    from toolsmith.rag import DEFAULT_PATH

    path = Path(options.index or DEFAULT_PATH).expanduser()
    if not os.path.exists(path):
        raise ConfigError(
            f"there is no index {path}{'' if path.is_absolute() else f' in {Path.cwd()}'}: `toolsmith rag add` makes "
            "it, --index names another."
        )


def _rag(options: argparse.Namespace) -> RAG:
    from toolsmith.rag import RAG

    backend = None
    if options.postgres:
        from toolsmith.rag.postgres import PostgresBackend

        address = os.environ.get("TOOLSMITH_POSTGRES", "")
        if not address:
            raise ConfigError("--postgres takes the server's address from $TOOLSMITH_POSTGRES, which is not set.")
        backend = PostgresBackend(address)
    embeddings = False if options.words_only else None
    rag = RAG(options.bucket or "docs", path=options.index, backend=backend, embeddings=embeddings)
    _check_index(options)
    return rag


def _add(rag: RAG, options: argparse.Namespace, out: TextIO) -> int:
    named = [path for word in options.words for path in _paths(word)]
    with _progress(quiet=options.quiet or options.json) as told:
        account = rag.add(
            named,
            metadata=options.metadata,
            match=options.match or "*",
            remove_missing=options.remove_missing,
            progress=told,
        )
    code = NOT_ALL if account.failed or account.unembedded else FINE
    if not (account.added or account.replaced or account.unchanged or account.failed):
        fits = f" that fits {' or '.join(options.match)}" if options.match else ", by their names"
        print(f"toolsmith: there is no document in {' or '.join(options.words)}{fits}.", file=sys.stderr)
    if options.json:
        _line(out, {**asdict(account), "exit_code": code})
    else:
        _print(_of_account(account, quiet=options.quiet), out)
    return code


def _paths(word: str) -> list[Path]:
    """What a word names. Here it is always a path or a pattern: a misspelt one must not become a text."""
    from toolsmith.rag._patterns import files

    path = Path(word)
    is_there = os.path.exists(path.expanduser())  # a name that is too long is no file
    found = files(word) if any(c in word for c in "*?[") and not is_there else []
    return [Path(file) for file in found] or [path]


def _of_account(account: Account, *, quiet: bool) -> str:
    text = str(account)
    return "\n".join(text.splitlines()[1:]) if quiet else text


def _search(rag: RAG, options: argparse.Namespace, out: TextIO) -> int:
    hits = rag.search(" ".join(options.words), options.limit or _DEFAULT_LIMIT, where=options.where)
    for hit in hits:
        if options.json:
            _line(out, asdict(hit))
        else:
            _print(_shown(hit, full=options.full), out)
    if not hits:
        print(_why_nothing(rag, options.where), file=sys.stderr)
    return FINE if hits else NOT_ALL


def _why_nothing(rag: RAG, where: Mapping[str, Any]) -> str:
    if not rag.stats().documents:
        return "Nothing was found: there are no documents in here."
    keys = rag.keys() if where else []
    missing = next((key for key in where if key not in keys), None)
    if missing is None:
        return "Nothing was found."
    there = f"there are: {', '.join(keys)}." if keys else "it has none at all."
    return f"Nothing was found: no document has {missing!r} in its metadata; {there}{guess(missing, keys)}"


def _shown(hit: Hit, *, full: bool) -> str:
    text = hit.text if full else hit.snippet
    return f"[{hit.mark}] {hit.place} ({hit.score:.2f})\n" + "".join(f"    {line}\n" for line in text.splitlines())


def _stats(rag: RAG, options: argparse.Namespace, out: TextIO) -> int:
    stats = rag.stats()
    if options.json:
        _line(out, {**asdict(stats), "sources": rag.sources()})
        return FINE
    _print(
        f"bucket {stats.bucket}: {stats.documents:,} documents, {stats.passages:,} passages "
        f"({stats.embedded:,} with a vector), {stats.characters:,} characters; {stats.bytes / 1e6:,.1f} MB on disk",
        out,
    )
    return FINE


def _remove(rag: RAG, options: argparse.Namespace, out: TextIO) -> int:
    removed = rag.remove(options.words)
    missing = [word for word in options.words if word not in removed]
    if options.json:
        _line(out, {"removed": removed, "missing": missing})
    else:
        known = rag.sources() if missing else []
        told = [f"not there: {source}{_near(source, known)}" for source in missing]
        _print("\n".join([*(f"removed: {source}" for source in removed), *told]), out)
    return NOT_ALL if missing else FINE


def _near(source: str, known: Sequence[str]) -> str:
    """What may have been meant by a source that is not there."""
    within = [one for one in known if one.startswith(f"{source.rstrip('/')}/")]
    if within:
        more = f" and {len(within) - 3:,} more" if len(within) > 3 else ""
        return f" (name its documents: {', '.join(within[:3])}{more})"
    return guess(source, known).replace(" Did", ". Did", 1)


@contextmanager
def _progress(*, quiet: bool) -> Generator[Callable[[Progress], None] | None]:
    """A bar on standard error, if that is a terminal."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        tasks = {"read": bar.add_task("reading", total=None)}

        def told(progress: Progress) -> None:
            if progress.phase not in tasks:
                tasks[progress.phase] = bar.add_task("embedding", total=None)
            bar.update(tasks[progress.phase], completed=progress.done, total=progress.total or None)

        yield told


def _line(out: TextIO, data: dict[str, Any]) -> None:
    print(json.dumps(data, ensure_ascii=False), file=out, flush=True)


def _print(text: str, out: TextIO) -> None:
    from toolsmith.cli._people import printable

    if text:
        print("\n".join(printable(line) for line in text.splitlines()), file=out)
