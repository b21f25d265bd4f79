"""SearXNG, a search engine of your own that asks many others; no key. Also its ancestor, searx.

Source: docs.searxng.org/dev/search_api.html and the JSON of searx 1.1, read November 2026. An instance answers with
JSON only where `formats` in the `search` section of its settings.yml lists json; the default is html alone.
"""

from __future__ import annotations

import logging
import os
import re
from typing import Any, cast
from urllib.parse import urlsplit

from toolsmith import _given as given
from toolsmith.errors import ConfigError
from toolsmith.web import _wording as say
from toolsmith.web._http import Answer, blocking, exchange
from toolsmith.web.backends import Found, is_web_address, object_of, one_line, results_of

VARIABLE = "SEARXNG_URL"

_NAME = re.compile(r"[A-Za-z0-9-]{1,20}( [A-Za-z0-9-]{1,12}){0,2}")

log = logging.getLogger("toolsmith")


class SearXNG:
    """A SearXNG instance.

    Args:
        url: its address, "http://localhost:8888"; None takes the variable `SEARXNG_URL`.
        categories: "general,news"; None for the instance's own choice.
        language: "en", "de-CH"; None for the instance's own.
        timeout: seconds for one search.

    Raises:
        ConfigError: no address, or none of http or https.
    """

    name = "searxng"

    def __init__(
        self,
        url: str | None = None,
        *,
        categories: str | None = None,
        language: str | None = None,
        timeout: float = 15.0,
    ) -> None:
        given.text("SearXNG", url=url, categories=categories, language=language, or_none=True)
        given.number("SearXNG", timeout=timeout)
        address = url if url is not None else os.environ.get(VARIABLE, "")
        where = f"{VARIABLE}=" if url is None else "SearXNG(url) "
        if not is_web_address(address):
            raise ConfigError(
                f"{where}{address!r} is not the address of a SearXNG instance: write http://HOST:PORT or https://HOST."
                if address
                else f"SearXNG() has no address. Give one, or set {VARIABLE}=http://HOST:PORT."
            )
        self._address = address.rstrip("/").removesuffix("/search")
        self._fixed = {"categories": categories, "language": language}
        self._timeout = timeout

    def search(self, query: str, limit: int) -> Found:
        """Search, and wait for the answer."""
        return blocking(self.asearch(query, limit))

    async def asearch(self, query: str, limit: int) -> Found:
        """`search` for asyncio."""
        given.text("SearXNG.search", query=query)
        given.whole("SearXNG.search", limit=limit)
        params = {"q": query, "format": "json", **{k: v for k, v in self._fixed.items() if v}}
        answer = await exchange(
            "GET", f"{self._address}/search", engine=self.name, timeout=self._timeout, params=params
        )
        return self._read(answer, limit)

    def _read(self, answer: Answer, limit: int) -> Found:
        data = answer.json()
        is_page = data is None and "html" in answer.headers.get("content-type", "").lower()
        if answer.status == 429:
            # The instance's own limiter, or a proxy before it.
            raise say.too_many(self.name, answer.retry_after)
        if answer.status == 403 or (answer.status == 200 and is_page):
            # SearXNG answers 403 to a format that is not allowed; searx sends the page instead.
            log.warning("SearXNG at %s sends no JSON: add json to `formats` in its settings.yml", self._shown)
            raise say.no_json()
        if answer.status == 400:
            raise say.bad_query(self.name, one_line(object_of(data).get("error"), 200))
        if answer.status != 200:
            raise say.failed(self.name, answer.status)
        rows = object_of(data).get("results")
        if not isinstance(rows, list):
            raise say.no_answer_of_it(self.name)
        found = results_of(cast("list[Any]", rows), limit, published="publishedDate")
        silent = _unresponsive(object_of(data).get("unresponsive_engines"))
        if silent and not found:
            raise say.engines_silent([f"{engine} ({why})" if why else engine for engine, why in silent])
        # A note stands outside of the fence: what the instance calls its engines is told only if it is a name.
        named = [engine if _NAME.fullmatch(engine) else "another" for engine, _ in silent]
        notes = (say.some_engines_silent(tuple(dict.fromkeys(named))),) if silent else ()
        return Found(found, notes)

    @property
    def _shown(self) -> str:
        """The address without what may be secret in it."""
        parts = urlsplit(self._address)
        return f"{parts.scheme}://{parts.hostname}{f':{parts.port}' if parts.port else ''}"

    def __repr__(self) -> str:
        return f"SearXNG({self._shown!r})"


def _unresponsive(rows: Any) -> list[tuple[str, str]]:
    """[["brave", "timeout"], ...] as pairs of lines: a name, and why."""
    if not isinstance(rows, list):
        return []
    found: list[tuple[str, str]] = []
    for row in cast("list[Any]", rows):
        pair = cast("list[Any]", row if isinstance(row, list) else [row])
        name, why = (one_line(part, 80) for part in [*pair, "", ""][:2])
        if name:
            found.append((name, why))
    return found
