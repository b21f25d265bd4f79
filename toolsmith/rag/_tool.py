"""The search as a tool for a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from toolsmith.messages import Source, ToolResult
from toolsmith.rag import _wording
from toolsmith.tool import Tool

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from toolsmith.rag.documents import Hit

MAX_LIMIT = 20


def search_tool(
    name: str,
    bucket: str,
    *,
    about: str,
    others: Sequence[str],
    search: Callable[..., list[Hit]],
    is_empty: Callable[[], bool],
    limit: int,
    where: Mapping[str, Any] | None,
    untrusted: bool = True,
) -> Tool[..., Any]:
    """A tool that searches one bucket.

    Args:
        limit: passages given where the model does not say how many.
        where: a filter that the model does not see and cannot change.
        untrusted: others have written the documents.
    """

    def rag_search(
        query: Annotated[str, Field(min_length=1, max_length=2_000, description=_wording.QUERY)],
        limit: Annotated[int, Field(ge=1, le=MAX_LIMIT, description=_wording.LIMIT)] = limit,
    ) -> ToolResult:
        hits = search(query, limit=limit, where=where)
        if hits:
            sources = tuple(Source(hit.source, hit.title, hit.text, hit.mark) for hit in hits)
            return ToolResult(True, _wording.passages(hits), notes=(_wording.cite(hits),), sources=sources)
        # An empty list is what the loop breaker takes for "found nothing".
        return ToolResult(True, [], notes=(_wording.nothing(query, empty=is_empty()),))

    described = _wording.description(bucket, about, others)
    return Tool(rag_search, name=name, description=described, read_only=True, untrusted=untrusted)
