"""`fetch_page`: the tool that reads a page of the public web, and `FetchPage`, which makes one by your rules."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final, cast

from toolsmith import __version__, _extras
from toolsmith import _given as given
from toolsmith._calls import workers
from toolsmith._dataclass import dataclass
from toolsmith.errors import ConfigError
from toolsmith.web import _page_wording as say
from toolsmith.web._guarded import Fetcher
from toolsmith.web._http import blocking
from toolsmith.web._kept import Kept
from toolsmith.web._reading import content_of, reads
from toolsmith.web._sites import sites
from toolsmith.web._targets import PORTS, Border, Resolver, trusted_hosts

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from toolsmith._derive.options import Options
    from toolsmith.tool import Tool

USER_AGENT: Final = f"toolsmith/{__version__} (reads single pages for its user)"
_KEPT_PAGES = 16
_KEPT_SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class WebPage:
    """A page that was read.

    Attributes:
        url: where it was, behind all redirects.
        title: "" where it has none.
        text: Markdown-like; all of it, not cut into parts. "" where there is nothing to read.
        kind: its `Content-Type`, "" for none.
        notes: what a reader should know ("only the first 4,000,000 bytes were read").
    """

    url: str
    title: str
    text: str
    kind: str = ""
    notes: tuple[str, ...] = ()


class FetchPage:
    """Reads pages of the public web, and of it only.

        fetch = FetchPage(allow_private=["127.0.0.1:8000"], seconds=10)
        agent = Agent(model, tools=[fetch.as_tool()])
        page = fetch.fetch("https://example.org/")

    Refused are, at the first address and at every redirect: other schemes than http and https, user names in addresses,
    IP addresses in odd spellings, other ports, and every host that is, or whose name leads to, an address that is not
    public: loopback, private and link-local networks, cloud metadata, also inside IPv6. The connection is made to the
    very address that was checked.

    Args:
        seconds: for a page, redirects, robots.txt and reading included.
        max_bytes: of a page, unpacked; of a longer one the first so many are read.
        page_chars: how long a part of a page is that the model is given.
        robots: whether a site's robots.txt is kept (RFC 9309; the program's name there is the user agent's first word).
        allow_private: hosts, with or without port, that may be private: "127.0.0.1:8000", "wiki.internal".
        allowed_domains: only pages of these sites and what is below them. Where a model may read secrets, name them:
            an address is a way to send something out.
        blocked_domains: no pages of these.
        ports: of hosts that are not in `allow_private`.
        user_agent: sent with each request.
        proxy: the address of an HTTP proxy; the environment's are not used. Names are looked up and checked here.
        resolver: gives the IP addresses of a name; None for the system's.

    Raises:
        ConfigError: an option that cannot work.
    """

    def __init__(
        self,
        *,
        seconds: float = 20.0,
        max_bytes: int = 4_000_000,
        page_chars: int = 12_000,
        robots: bool = True,
        allow_private: Sequence[str] = (),
        allowed_domains: Sequence[str] = (),
        blocked_domains: Sequence[str] = (),
        ports: Sequence[int] = PORTS,
        user_agent: str = USER_AGENT,
        proxy: str | None = None,
        resolver: Resolver | None = None,
    ) -> None:
        given.number("FetchPage", seconds=seconds)
        given.whole("FetchPage", max_bytes=max_bytes, page_chars=page_chars)
        given.flag("FetchPage", robots=robots)
        given.text("FetchPage", user_agent=user_agent)
        given.text("FetchPage", proxy=proxy, or_none=True)
        given.function("FetchPage", resolver=resolver)
        if isinstance(ports, str) or not isinstance(cast("object", ports), Iterable):
            raise given.wrong("FetchPage", "ports", ports, "a list of whole numbers, as in ports=[80, 443]")
        for port in ports:
            given.whole("FetchPage", ports=port)
        for name, value in (("seconds", seconds), ("max_bytes", max_bytes), ("page_chars", page_chars)):
            if not value > 0:
                raise ConfigError(f"FetchPage({name}={value!r}): give a number above 0.")
        if not user_agent.strip() or not user_agent.isascii() or not user_agent.isprintable():
            raise ConfigError("FetchPage(user_agent=...): give a name such as 'my-program/1.0', in ASCII.")
        border = Border(
            trusted=trusted_hosts(allow_private),
            ports=frozenset(ports),
            allowed_domains=sites("FetchPage(allowed_domains=", allowed_domains),
            blocked_domains=sites("FetchPage(blocked_domains=", blocked_domains),
            resolver=resolver,
        )
        self._fetcher = Fetcher(border, user_agent, robots, max_bytes, proxy)
        self._seconds = seconds
        self._page_chars = page_chars
        self._kept: Kept[WebPage] = Kept(_KEPT_PAGES)

    def fetch(self, url: str) -> WebPage:
        """Read a page, and wait for it.

        Raises:
            TypeError: the address is no text.
            ToolError: it was not asked for, did not come, or cannot be read.
            ConfigError: the package lxml is not installed.
        """
        return blocking(self.afetch(url))

    async def afetch(self, url: str) -> WebPage:
        """`fetch` for asyncio; cancelling it closes the connection."""
        given.text("FetchPage.fetch", url=url)
        url = url.strip()
        try:
            async with asyncio.timeout(self._seconds):
                got = await self._fetcher.get(url, reads=reads)
                # On a thread: a large page takes a second, and no other call shall wait for it.
                read = await workers.call(
                    asyncio.get_running_loop(), lambda: content_of(got.body, got.kind, got.url, cut=got.cut)
                )
        except TimeoutError as error:
            raise say.too_slow(say.shown(url), self._seconds) from error
        moved = (say.REDIRECTED,) if got.moved else ()
        return WebPage(got.url, read.title, read.text, got.kind, (*moved, *read.notes))

    def as_tool(
        self, *, name: str = "fetch_page", description: str | None = None, **options: Unpack[Options]
    ) -> Tool[..., Any]:
        """The tool for an agent. A page stays in memory for five minutes, so that its parts fit together.

        Args:
            name: as the model knows it.
            description: instead of ours.
            options: see `ToolOptions`; it is `read_only` and `untrusted`.

        Raises:
            ConfigError: the package lxml is not installed.
            DefinitionError: the name is not legal.
        """
        from pydantic import Field

        from toolsmith.messages import Source, ToolResult
        from toolsmith.tool import Tool

        if not _extras.has("lxml"):
            _extras.load("lxml", extra="web", purpose="Reading web pages")

        async def fetch_page(
            url: Annotated[str, Field(description=say.URL)],
            offset: Annotated[int, Field(ge=0, description=say.OFFSET)] = 0,
        ) -> ToolResult:
            page = await self._page(url, again=offset == 0)
            if not page.text:
                # An empty text is what the loop breaker takes for "found nothing".
                return ToolResult(True, "", notes=(say.no_text(), *page.notes))
            # By the address that was asked for, too: that is the one that the model knows.
            sources = tuple(Source(address, page.title) for address in dict.fromkeys((url.strip(), page.url)))
            return ToolResult(True, self._part(page, offset, name), notes=page.notes, sources=sources)

        chosen: Options = {"read_only": True, "untrusted": True, **options}
        chosen.setdefault("timeout", self._seconds + 5.0)
        return Tool(fetch_page, name=name, description=description or say.FETCH_PAGE, **chosen)

    async def _page(self, url: str, *, again: bool) -> WebPage:
        """A page that is kept, or a new one; the first part is always of a new one."""
        page = None if again else self._kept.get(url)
        if page is None:
            page = await self.afetch(url)
            self._kept.put(url, page, _KEPT_SECONDS)
        return page

    def _part(self, page: WebPage, offset: int, tool: str) -> str:
        size = len(page.text)
        if offset >= size:
            raise say.past_the_end(offset, size)
        text = page.text[offset : offset + self._page_chars]
        if offset + len(text) < size:
            # Between paragraphs, else lines, if there is one in the last fifth.
            least = len(text) * 4 // 5
            end = max(text.rfind("\n\n", least), 0) or max(text.rfind("\n", least), 0) or len(text)
            text = text[:end]
        return say.part(title=page.title, url=page.url, text=text, start=offset, size=size, tool=tool)

    def __repr__(self) -> str:
        return "FetchPage()"
