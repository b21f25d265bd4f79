"""Tavily, a search engine for programs; takes a key (TAVILY_API_KEY). Spoken to directly, without its SDK.

Source: POST https://api.tavily.com/search as in docs.tavily.com and tavily-python (tavily/tavily.py), November 2026:
401 is a wrong key, 429 too many requests, 432 and 433 a plan or a budget that is used up.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Literal, cast, get_args

from toolsmith import _given as given
from toolsmith.errors import ConfigError
from toolsmith.web import _wording as say
from toolsmith.web._http import Answer, blocking, exchange
from toolsmith.web.backends import Found, is_web_address, object_of, one_line, results_of

VARIABLE = "TAVILY_API_KEY"


Topic = Literal["general", "news", "finance"]
Depth = Literal["basic", "advanced"]
TOPICS, DEPTHS = get_args(Topic), get_args(Depth)


class Tavily:
    """Tavily's search API.

    Args:
        api_key: None takes the variable `TAVILY_API_KEY`.
        topic: "general", "news" or "finance"; news have dates.
        depth: "basic", or "advanced" for better extracts at twice the price.
        include_domains: only these sites.
        exclude_domains: none of these.
        base_url: of another server that speaks this API.
        timeout: seconds for one search.

    Raises:
        TypeError: an argument of another type.
        ConfigError: no key, an address that is none, or a topic or depth that there is not.
    """

    name = "tavily"

    def __init__(
        self,
        api_key: str | None = None,
        *,
        topic: Topic = "general",
        depth: Depth = "basic",
        include_domains: Sequence[str] = (),
        exclude_domains: Sequence[str] = (),
        base_url: str = "https://api.tavily.com",
        timeout: float = 20.0,
    ) -> None:
        given.text("Tavily", api_key=api_key, or_none=True)
        given.text("Tavily", base_url=base_url)
        given.number("Tavily", timeout=timeout)
        given.texts("Tavily", include_domains=include_domains, exclude_domains=exclude_domains)
        for name, value, choice in (("topic", topic, TOPICS), ("depth", depth, DEPTHS)):
            if value not in choice:
                raise ConfigError(f"Tavily({name}={value!r}): give one of {', '.join(map(repr, choice))}.")
        key = (api_key if api_key is not None else os.environ.get(VARIABLE, "")).strip()
        if not key:
            raise ConfigError(f"Tavily() has no key. Give one, Tavily(api_key=...), or set {VARIABLE}=...")
        if not key.isascii() or not key.isprintable():
            raise ConfigError(f"The key for Tavily has characters that no key has. Look at {VARIABLE}.")
        if not is_web_address(base_url):
            raise ConfigError(f"Tavily(base_url={base_url!r}): write http://HOST:PORT or https://HOST.")
        self._headers = {"authorization": f"Bearer {key}"}
        self._url = f"{base_url.rstrip('/')}/search"
        self._timeout = timeout
        self._body: dict[str, Any] = {"topic": topic, "search_depth": depth}
        if include_domains:
            self._body["include_domains"] = list(include_domains)
        if exclude_domains:
            self._body["exclude_domains"] = list(exclude_domains)

    def search(self, query: str, limit: int) -> Found:
        """Search, and wait for the answer."""
        return blocking(self.asearch(query, limit))

    async def asearch(self, query: str, limit: int) -> Found:
        """`search` for asyncio."""
        given.text("Tavily.search", query=query)
        given.whole("Tavily.search", limit=limit)
        body = {**self._body, "query": query, "max_results": limit}
        answer = await exchange(
            "POST", self._url, engine=self.name, timeout=self._timeout, headers=self._headers, content=body
        )
        return self._read(answer, limit)

    def _read(self, answer: Answer, limit: int) -> Found:
        data = object_of(answer.json())
        match answer.status:
            case 200:
                rows = data.get("results")
                if not isinstance(rows, list):
                    raise say.no_answer_of_it(self.name)
                return Found(results_of(cast("list[Any]", rows), limit, published="published_date"))
            case 400 | 422:
                raise say.bad_query(self.name, one_line(object_of(data.get("detail")).get("error"), 200))
            case 401 | 403:
                raise say.refused_key(self.name)
            case 429:
                raise say.too_many(self.name, answer.retry_after)
            case 432 | 433:
                raise say.used_up(self.name)
            case status:
                raise say.failed(self.name, status)

    def __repr__(self) -> str:
        return "Tavily()"
