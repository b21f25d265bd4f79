"""What a search engine is to `WebSearch`: a name, and a question with its answer, blocking and for asyncio.

To add one, write a module with a class that has these members; `WebSearch(YourEngine())` takes it as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Protocol, cast
from urllib.parse import urlsplit

from toolsmith._dataclass import dataclass

MAX_RESULTS = 20
"""More than a model can make use of; no engine is asked for more at once."""

_MAX_TITLE = 200
_MAX_SNIPPET = 600
_MAX_URL = 2_000
_BLANK = re.compile(r"[\s\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202f\u2060-\u206f\ufeff]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class WebResult:
    """A page that a search engine names.

    Attributes:
        title: of the page, on one line; its address where it has none.
        url: http or https.
        snippet: what the engine shows of it, on one line; "" for nothing.
        published: when, as the engine says it (mostly ISO 8601), "" where it does not.
    """

    title: str
    url: str
    snippet: str = ""
    published: str = ""


@dataclass(frozen=True, slots=True)
class Found:
    """The answer to one search.

    Attributes:
        results: best first; none is no error.
        notes: what the model should know of this answer ("the engine X did not answer").
    """

    results: tuple[WebResult, ...] = ()
    notes: tuple[str, ...] = ()


class SearchBackend(Protocol):
    """A search engine."""

    @property
    def name(self) -> str:
        """For the model and for people: "searxng"."""
        ...

    def search(self, query: str, limit: int) -> Found:
        """Search, and wait for the answer.

        Args:
            query: words, not empty.
            limit: how many results at the most, from 1 to `MAX_RESULTS`.

        Raises:
            ToolError: the engine cannot be asked, or gave no answer; the text is for the model.
        """
        ...

    async def asearch(self, query: str, limit: int) -> Found:
        """`search` for asyncio; cancelling it closes the connection."""
        ...


def results_of(
    rows: Iterable[Any], limit: int, *, url: str = "url", snippet: str = "content", published: str = ""
) -> tuple[WebResult, ...]:
    """The rows of an engine's JSON as results: without those that have no web address, each address once.

    Args:
        rows: from outside, so each may be anything.
        limit: how many at the most.
        url: the key of the address, as `snippet` and `published` are of theirs; "" for none.
    """
    found: dict[str, WebResult] = {}
    for row in rows:
        if len(found) >= limit:
            break
        texts = object_of(row)
        address = str(texts.get(url) or "").strip()
        if not is_web_address(address) or address in found:
            continue
        found[address] = WebResult(
            title=one_line(texts.get("title"), _MAX_TITLE) or address,
            url=address,
            snippet=one_line(texts.get(snippet), _MAX_SNIPPET),
            published=one_line(texts.get(published), 40) if published else "",
        )
    return tuple(found.values())


def object_of(data: Any) -> Mapping[str, Any]:
    """A JSON object as it is; an empty one for anything else."""
    return cast("Mapping[str, Any]", data) if isinstance(data, Mapping) else {}


def is_web_address(text: str) -> bool:
    """Whether this is an http or https address, on one line and not endless."""
    if len(text) > _MAX_URL or _BLANK.search(text):
        return False
    try:
        parts = urlsplit(text)
        return parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        return False


def one_line(text: object, most: int) -> str:
    """A text from outside on one line: no control or invisible characters, cut at so many characters."""
    if not isinstance(text, str):
        return ""
    line = _BLANK.sub(" ", text[: most * 4]).strip()
    return line if len(line) <= most else f"{line[: most - 1].rstrip()}…"
