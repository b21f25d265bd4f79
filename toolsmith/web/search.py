"""`WebSearch`: the tool `web_search`, on whichever search engine is there."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, cast
from urllib.parse import urlsplit

from toolsmith import _given as given
from toolsmith.errors import ConfigError
from toolsmith.messages import HostedTool
from toolsmith.web import _wording as say
from toolsmith.web._sites import is_below, sites
from toolsmith.web.backends import MAX_RESULTS, Found, SearchBackend, WebResult, is_web_address

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from toolsmith._derive.options import Options
    from toolsmith.tool import Tool

_UNSET = (
    "WebSearch has no search engine to ask. Set SEARXNG_URL to the address of a SearXNG instance (no key needed) or "
    "TAVILY_API_KEY to a key of Tavily; or name one: WebSearch('http://localhost:8888'), "
    "WebSearch(Tavily(api_key=...)), WebSearch('ddgs') (free, best effort)."
)


class WebSearch:
    """Web search for an agent.

        WebSearch().as_tool()                     # SEARXNG_URL or TAVILY_API_KEY in the environment
        WebSearch("http://localhost:8888")        # a SearXNG instance
        WebSearch(Tavily(topic="news"), limit=3)
        WebSearch("ddgs")                         # free, best effort
        Agent(model, tools=[WebSearch()])         # the model's own search, where its service has one

    Claude's and OpenAI's models can search by themselves: their service does it in the middle of a turn, and what they
    say comes with `Citation`s. `Agent(tools=[WebSearch(...)])` leaves the search to the service where that is wanted
    (see `hosted`) and there; for other models, also for one that takes over in the middle of a run, this program
    searches. Where neither is to be had, the model goes without, and a `ToolLeftOut` event says so.

    Args:
        backend: an engine (`toolsmith.web.SearXNG`, `Tavily`, `Ddgs`, or your own `SearchBackend`), the address of a
            SearXNG instance, or one of the names "searxng", "tavily" and "ddgs". None takes what the environment has:
            SEARXNG_URL before TAVILY_API_KEY.
        hosted: None: the service searches where it is known to, unless a `backend` is given. True: it does in any case,
            also at an address that is not its own, and a `backend` stands in only where there is no such tool. False:
            never.
        limit: how many results, where the model does not say; the service has a limit of its own.
        allowed_domains: only results of these sites and what is below them: "python.org".
        blocked_domains: no results of these. Not together with `allowed_domains`. OpenAI's own search cannot do that,
            so that a `backend` stands in.
        max_uses: how often: in one request where the service searches, in one run where this program does.
        location: where the user is, for the service's search: any of "country" (two letters), "region", "city" and
            "timezone".

    Raises:
        ConfigError: an engine that does not exist or lacks its address or key, a limit out of range, or a site that is
            not written as one.
    """

    def __init__(
        self,
        backend: SearchBackend | str | None = None,
        *,
        hosted: bool | None = None,
        limit: int = 5,
        allowed_domains: Sequence[str] = (),
        blocked_domains: Sequence[str] = (),
        max_uses: int | None = None,
        location: Mapping[str, str] | None = None,
    ) -> None:
        given.whole("WebSearch", limit=limit)
        given.whole("WebSearch", max_uses=max_uses, or_none=True)
        given.flag("WebSearch", hosted=hosted, or_none=True)
        given.mapping("WebSearch", example="{'country': 'NO'}", location=location)
        for key, value in (location or {}).items():
            given.text("WebSearch", **{f"location[{key!r}]": cast("Any", value)})
        if backend is not None and not isinstance(backend, str) and not callable(getattr(backend, "asearch", None)):
            raise given.wrong(
                "WebSearch", "backend", backend, "the address of a SearXNG or a SearchBackend", or_none=True
            )
        if not 1 <= limit <= MAX_RESULTS:
            raise ConfigError(f"WebSearch(limit={limit!r}): give a number from 1 to {MAX_RESULTS}.")
        if allowed_domains and blocked_domains:
            raise ConfigError("WebSearch takes allowed_domains or blocked_domains, not both.")
        self.limit = limit
        self.allowed_domains = sites("WebSearch(allowed_domains=", allowed_domains)
        self.blocked_domains = sites("WebSearch(blocked_domains=", blocked_domains)
        if max_uses is not None and max_uses < 1:
            raise ConfigError(f"WebSearch(max_uses={max_uses!r}): give a number from 1 on, or None.")
        if unknown := sorted(set(location or ()) - {"country", "region", "city", "timezone"}):
            raise ConfigError(f"WebSearch(location=...) has no {unknown[0]!r}: give country, region, city or timezone.")
        self.hosted = hosted
        self.max_uses = max_uses
        self.location = tuple((location or {}).items())
        self._backend = _named(backend) if isinstance(backend, str) else backend
        self._is_given = backend is not None

    @property
    def configured(self) -> bool:
        """Whether there is an engine to ask; the tool is to be offered only then."""
        return self._backend is not None or bool(os.environ.get("SEARXNG_URL") or os.environ.get("TAVILY_API_KEY"))

    @property
    def backend(self) -> SearchBackend:
        """The engine that is asked.

        Raises:
            ConfigError: there is none; it says what to set.
        """
        if self._backend is None:
            self._backend = _from_environment()
        return self._backend

    def search(self, query: str, limit: int | None = None) -> Found:
        """Search, and wait for the answer: results, best first, and notes about them.

        Args:
            query: words, not empty.
            limit: how many results at the most, up to 20; None for this object's own.

        Raises:
            TypeError: an argument of another type.
            ToolError: the engine cannot be asked, or gave no answer; or the query is empty.
            ConfigError: there is no engine.
        """
        most = self._most("WebSearch.search", query, limit)
        return self._chosen(self.backend.search(query, self._asked(most)), most)

    async def asearch(self, query: str, limit: int | None = None) -> Found:
        """`search` for asyncio; cancelling it closes the connection."""
        most = self._most("WebSearch.asearch", query, limit)
        return self._chosen(await self.backend.asearch(query, self._asked(most)), most)

    def as_tool(
        self, *, name: str = "web_search", description: str | None = None, **options: Unpack[Options]
    ) -> Tool[..., Any]:
        """The search as a tool of an agent.

        Args:
            name: as the model knows it.
            description: instead of ours.
            options: see `ToolOptions`; it is `read_only` and `untrusted`.

        Raises:
            ConfigError: there is no engine to ask, and `hosted` is not True; it says what to set. See `configured`.
            DefinitionError: the name is not legal.
        """
        if self.hosted is not True:
            _ = self.backend
        return search_tool(self, name=name, description=description, options=options)

    def __tool__(self) -> Tool[..., Any]:
        """For `Agent(tools=[WebSearch()])`: as `as_tool`, but without an engine it is left to the model's service."""
        return self.as_tool() if self.hosted is False else search_tool(self, name="web_search")

    @property
    def hosted_tool(self) -> HostedTool | None:
        """What the model's service is asked for; None where it is not to search."""
        if self.hosted is False or (self.hosted is None and self._is_given):
            return None
        return HostedTool(
            "web_search",
            self.max_uses,
            self.allowed_domains,
            self.blocked_domains,
            self.location,
            insisted=self.hosted is True,
        )

    def _most(self, call: str, query: str, limit: int | None) -> int:
        given.text(call, query=query)
        given.whole(call, limit=limit, or_none=True)
        if not query.strip():
            raise say.empty_query()
        return self.limit if limit is None else max(1, min(limit, MAX_RESULTS))

    def _asked(self, most: int) -> int:
        # Of what is found some may have to be left out.
        return MAX_RESULTS if self.allowed_domains or self.blocked_domains else most

    def _chosen(self, found: Found, most: int) -> Found:
        kept = [result for result in found.results if self._is_wanted(result)]
        left_out = len(found.results) - len(kept)
        notes = (*found.notes, say.filtered(left_out)) if left_out and len(kept) < most else found.notes
        return Found(tuple(kept[:most]), notes)

    def _is_wanted(self, result: WebResult) -> bool:
        host = (urlsplit(result.url).hostname or "").rstrip(".")
        if self.allowed_domains:
            return any(is_below(host, domain) for domain in self.allowed_domains)
        return not any(is_below(host, domain) for domain in self.blocked_domains)

    def __repr__(self) -> str:
        return f"WebSearch({self._backend!r})" if self._backend is not None else "WebSearch()"


def search_tool(
    search: WebSearch, *, name: str, description: str | None = None, options: Options | None = None
) -> Tool[..., Any]:
    """The tool of a search."""
    from pydantic import Field

    from toolsmith.messages import Source, ToolResult
    from toolsmith.tool import Tool

    engine = search.backend if search.configured else None

    async def web_search(
        query: Annotated[str, Field(max_length=400, description=say.QUERY)],
        limit: Annotated[int, Field(ge=1, le=MAX_RESULTS, description=say.LIMIT)] = search.limit,
    ) -> ToolResult:
        if engine is None:
            raise say.not_here()
        found = await search.asearch(query.strip(), limit)
        if found.results:
            sources = tuple(Source(each.url, each.title, each.snippet) for each in found.results)
            text = say.results_text(query, found.results, engine.name)
            return ToolResult(True, text, notes=found.notes, sources=sources)
        # An empty list is what the loop breaker takes for "found nothing".
        return ToolResult(True, [], notes=(say.nothing_found(query), *found.notes))

    chosen: Options = {"read_only": True, "untrusted": True, "max_calls_per_run": search.max_uses, **(options or {})}
    made = Tool(web_search, name=name, description=description or say.WEB_SEARCH, **chosen)
    made.hosted, made.only_hosted = search.hosted_tool, engine is None
    return made


def _named(backend: str) -> SearchBackend:
    match backend:
        case "searxng":
            from toolsmith.web.searxng import SearXNG

            return SearXNG()
        case "tavily":
            from toolsmith.web.tavily import Tavily

            return Tavily()
        case "ddgs":
            from toolsmith.web.ddgs import Ddgs

            return Ddgs()
        case _ if is_web_address(backend):
            from toolsmith.web.searxng import SearXNG

            return SearXNG(backend)
        case _:
            raise ConfigError(
                f"WebSearch({backend!r}): give 'searxng', 'tavily', 'ddgs', the address of a SearXNG instance "
                "(http://HOST:PORT), or an object that can search."
            )


def _from_environment() -> SearchBackend:
    if os.environ.get("SEARXNG_URL"):
        return _named("searxng")
    if os.environ.get("TAVILY_API_KEY"):
        return _named("tavily")
    raise ConfigError(_UNSET)
