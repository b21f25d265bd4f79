"""What a model reads from the web tools: their descriptions, results, notes and failures, all in one place.

A failure is raised as `ToolError` with one of these texts, and `_feedback` adds which tool it was.
"""

from __future__ import annotations

from collections.abc import Sequence

from toolsmith.errors import ModelRetry, ToolError
from toolsmith.web.backends import WebResult

WEB_SEARCH = (
    "Search the web; gives titles, addresses and extracts of the best pages.\n\n"
    "Use it for what you cannot know: recent events, current figures, names and places you are not sure of. Ask in a "
    "few plain words, as for a search engine; ask again in other words if the results do not fit. In your answer name "
    "the addresses of the pages that you used."
)
QUERY = "what to look for, a few words such as: night train Oslo Bergen timetable"
LIMIT = "how many results at the most"


def counted(count: float, noun: str) -> str:
    """A number of things: "1 second", "2.5 seconds"."""
    said = int(count) if count == int(count) else round(count, 2)
    return f"{said:,} {noun}" if said == 1 else f"{said:,} {noun}s"


def own(message: str, *, hint: str) -> ToolError:
    """A failure in words of our own, in which nothing of a page or an engine stands: it needs no fence."""
    return ToolError(message, hint=hint, untrusted=False)


def own_retry(message: str, *, hint: str) -> ModelRetry:
    """The same, for what other arguments mend."""
    return ModelRetry(message, hint=hint, untrusted=False)


# ---- search: results


def results_text(query: str, results: Sequence[WebResult], engine: str) -> str:
    """Numbered results, each with its source."""
    entries = [f"{counted(len(results), 'result')} for {_quoted(query)}, from {engine}:"]
    for number, found in enumerate(results, 1):
        when = f" ({found.published})" if found.published else ""
        lines = [f"[{number}] {found.title}", f"{found.url}{when}", found.snippet]
        entries.append("\n".join(line for line in lines if line))
    return "\n\n".join(entries)


def nothing_found(query: str) -> str:
    """A note beside an empty result."""
    long = len(query.split()) > 6 or '"' in query
    advice = "Ask with fewer words and without quotation marks" if long else "Ask in other words, or more generally"
    return f"nothing was found for {_quoted(query)}. {advice}; the same search would find nothing again."


def filtered(left_out: int) -> str:
    """A note: results of sites that were not wanted."""
    many = counted(left_out, "result")
    return f"{many} of other sites left out: this search is limited to certain sites."


def some_engines_silent(engines: Sequence[str]) -> str:
    """A note beside results that may be incomplete."""
    which = "this engine" if len(engines) == 1 else "these engines"
    return f"the search is incomplete, because {which} did not answer: {', '.join(engines[:8])}."


BEST_EFFORT = (
    "these results come from a free service without any guarantee; they may be incomplete, and it may stop answering."
)


# ---- search: failures

_LATER = "Do not repeat the search at once; go on with what you know, and say that the search did not work."
_NEVER = "Searching again will not help in this run; answer without it, and say so."


def engines_silent(engines: Sequence[str]) -> ToolError:
    """No result, and engines that failed: that is not "nothing found"."""
    return ToolError(
        f"The search gave no results because its engines did not answer: {'; '.join(engines[:8])}.",
        hint="Ask once more in other words, without quotation marks; if that fails too, go on without the search.",
    )


def unreachable(engine: str) -> ToolError:
    """No connection, or it broke."""
    return own(f"The search engine ({engine}) cannot be reached.", hint=_LATER)


def too_slow(engine: str, seconds: float) -> ToolError:
    """No answer in time."""
    return own(f"The search engine ({engine}) gave no answer within {counted(seconds, 'second')}.", hint=_LATER)


def refused_key(engine: str) -> ToolError:
    """The key is missing there, wrong or powerless."""
    return own(f"The search engine ({engine}) does not accept this program's key.", hint=_NEVER)


def used_up(engine: str) -> ToolError:
    """The plan or the money is used up."""
    return own(f"The searches that this program may make with {engine} are used up.", hint=_NEVER)


def too_many(engine: str, wait: float | None) -> ToolError:
    """Too many requests.

    Args:
        engine: its name.
        wait: seconds it asks to wait, None where it does not say.
    """
    how_long = f" It asks to wait {counted(round(wait), 'second')}." if wait else ""
    return own(f"The search engine ({engine}) takes no more searches at the moment.{how_long}", hint=_LATER)


def empty_query() -> ToolError:
    """Nothing to look for."""
    return own_retry("The query is empty.", hint="Give a few words to look for.")


def bad_query(engine: str, said: str) -> ToolError:
    """The engine refuses the query as it stands."""
    why = f": {said}" if said else "."
    return ToolError(
        f"The search engine ({engine}) does not take this query{why}",
        hint="Ask in other words: shorter, plain text.",
        untrusted=None if said else False,
    )


def failed(engine: str, status: int) -> ToolError:
    """An error of the engine itself."""
    return own(f"The search engine ({engine}) failed (HTTP status {status}).", hint=_LATER)


def no_answer_of_it(engine: str) -> ToolError:
    """What came back is no answer of this engine."""
    return own(f"What came back from the search engine ({engine}) is not a search result.", hint=_NEVER)


def not_here() -> ToolError:
    """The model calls the search of its service as if it were ours."""
    return own(
        "This program has no search engine of its own.", hint="Search with your own web search, or answer without one."
    )


def no_json() -> ToolError:
    """A SearXNG whose settings do not allow JSON; a person is told where by the log."""
    return own(
        "The search engine (searxng) answers with web pages instead of JSON: the `formats` setting in the `search` "
        "section of its settings.yml has to list json.",
        hint=_NEVER,
    )


def _quoted(query: str) -> str:
    shown = query if len(query) <= 200 else f"{query[:199]}…"
    return f"“{shown}”"
