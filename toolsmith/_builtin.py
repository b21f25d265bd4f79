"""The built-in tools that an agent is given by a word: `Agent(rag=..., web=...)`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from toolsmith.errors import ConfigError

if TYPE_CHECKING:
    from toolsmith.tool import Tool


@runtime_checkable
class Searchable(Protocol):
    """What `rag` takes: a `RAG`, or anything of yours that gives such tools."""

    @property
    def bucket(self) -> str:
        """Its name, part of its tool's name where there are several."""
        ...

    def as_tools(self, *, prefix_bucket: bool = False, others: Sequence[str] = ()) -> Sequence[Tool[..., Any]]:
        """Its tools: `rag_search`, or with `prefix_bucket` `rag_search_BUCKET`.

        Args:
            prefix_bucket: it stands beside other ones.
            others: the names of their tools, for the boundary in its description.
        """
        ...


Documents = Searchable | str
"""A `RAG`, or the name of a bucket in the index of the current folder."""


def built_in(rag: Documents | Sequence[Documents] | None, web: Any) -> list[Any]:
    """The tools for `Agent(rag=..., web=...)`.

    Args:
        rag: documents to search.
        web: True for `WebSearch()` and `fetch_page`; a `WebSearch`, or the engine that one takes, in its place.

    Raises:
        ConfigError: something that is none of these, or two buckets of one name.
    """
    return [*_of_documents(rag), *_of_web(web)]


def _of_documents(rag: Documents | Sequence[Documents] | None) -> list[Any]:
    if rag is None:
        return []
    given: Sequence[object] = [rag] if isinstance(rag, (str, Searchable)) else rag
    found = [_searchable(each) for each in given]
    if len(found) == 1:
        return [*found[0].as_tools()]
    buckets = [each.bucket for each in found]
    if twice := sorted({bucket for bucket in buckets if buckets.count(bucket) > 1}):
        raise ConfigError(f"Agent(rag=[...]) has two buckets named {twice[0]!r}. Give RAG another bucket name.")
    names = {each.bucket: f"rag_search_{each.bucket}" for each in found}
    return [
        tool
        for each in found
        for tool in each.as_tools(
            prefix_bucket=True, others=[name for bucket, name in names.items() if bucket != each.bucket]
        )
    ]


def _searchable(given: object) -> Searchable:
    if isinstance(given, str):
        from toolsmith.rag import RAG

        return RAG(given)
    if isinstance(given, Searchable):
        return given
    raise ConfigError(f"Agent(rag=...) takes a RAG, the name of a bucket, or a list of these, not {given!r}.")


def _of_web(web: object) -> list[Any]:
    if web is None or web is False:
        return []
    from toolsmith.web import WebSearch, fetch_page

    if web is True:
        return [WebSearch(), fetch_page]
    if isinstance(web, str):
        return [WebSearch(web), fetch_page]
    if isinstance(web, WebSearch):
        return [web, fetch_page]
    raise ConfigError(f"Agent(web=...) takes True, a WebSearch or the name or address of an engine, not {web!r}.")
