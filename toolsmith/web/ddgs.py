"""Free search engines through the `ddgs` package, which reads their result pages; no key. Best effort.

It breaks without notice when a page changes or an engine turns programs away. Each result says so; for anything that
others rely on take SearXNG or Tavily. Tested with ddgs 9.16, November 2026.
"""

from __future__ import annotations

import asyncio
from typing import Any

from toolsmith import _extras
from toolsmith import _given as given
from toolsmith._calls import workers
from toolsmith.web import _wording as say
from toolsmith.web._http import blocking
from toolsmith.web.backends import Found, results_of


class Ddgs:
    """The `ddgs` package: `pip install "toolsmith-agents[ddgs]"`.

    Args:
        engines: which of its engines to ask, "duckduckgo,brave"; "auto" leaves it to the package.
        region: "us-en", "ch-de", ...
        timeout: seconds for one search.

    Raises:
        ConfigError: the package is not installed.
    """

    name = "ddgs"

    def __init__(self, *, engines: str = "auto", region: str = "us-en", timeout: float = 20.0) -> None:
        given.text("Ddgs", engines=engines, region=region)
        given.number("Ddgs", timeout=timeout)
        if not _extras.has("ddgs"):
            _extras.load("ddgs", extra="ddgs", purpose="WebSearch('ddgs')")
        self._options: dict[str, Any] = {"backend": engines, "region": region}
        self._timeout = timeout

    def search(self, query: str, limit: int) -> Found:
        """Search, and wait for the answer."""
        return blocking(self.asearch(query, limit))

    async def asearch(self, query: str, limit: int) -> Found:
        """`search` for asyncio. The package blocks: it works on a thread, which a cancelled search leaves to itself."""
        given.text("Ddgs.search", query=query)
        given.whole("Ddgs.search", limit=limit)
        try:
            async with asyncio.timeout(self._timeout):
                return await workers.call(asyncio.get_running_loop(), lambda: self._ask(query, limit))
        except TimeoutError as error:
            raise say.too_slow(self.name, self._timeout) from error

    def _ask(self, query: str, limit: int) -> Found:
        from ddgs import DDGS  # pyright: ignore[reportUnknownVariableType] - loaded lazily there
        from ddgs.exceptions import DDGSException, RatelimitException, TimeoutException

        try:
            rows = DDGS(timeout=max(1, int(self._timeout) - 1)).text(query, max_results=limit, **self._options)
        except RatelimitException as error:
            raise say.too_many(self.name, None) from error
        except TimeoutException as error:
            raise say.too_slow(self.name, self._timeout) from error
        except DDGSException as error:
            # It carries the error of an engine, or a text of its own where none failed and nothing came: that may
            # also be an engine that turned the request away, which the package does not tell apart.
            if error.args and isinstance(error.args[0], Exception):
                raise say.unreachable(self.name) from error
            return Found((), (say.BEST_EFFORT,))
        except Exception as error:  # a page that changed may raise anything
            raise say.no_answer_of_it(self.name) from error
        return Found(results_of(rows, limit, url="href", snippet="body"), (say.BEST_EFFORT,))
