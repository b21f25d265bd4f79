"""Fetches what a model asked for: only from the public internet, by the site's own rules, bounded in size.

The connection is made to an address that was checked, with the name in `Host` and in the TLS handshake: a name that is
looked up again when connecting (DNS rebinding) has no say. Redirects are followed by hand, each checked like the first
address. The environment's proxies are not used: behind one it would be the proxy that looks up names. Time is the
caller's matter: it cancels.
"""

from __future__ import annotations

import ssl
import zlib
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, Final

from toolsmith._dataclass import dataclass
from toolsmith.errors import ToolError
from toolsmith.web import _page_wording as say
from toolsmith.web import _robots
from toolsmith.web._http import seconds_of, tls
from toolsmith.web._kept import Kept
from toolsmith.web._targets import Border, Target

if TYPE_CHECKING:
    from httpx2 import Response

REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
MAX_REDIRECTS: Final = 5
_CONNECT_SECONDS = 6.0
_MOST_ADDRESSES = 3
_ROBOTS_SECONDS = 3_600.0  # RFC 9309, 2.4: not longer than a day
_ROBOTS_KEPT = 256


@dataclass(frozen=True, slots=True)
class Fetched:
    """A page as it came.

    Attributes:
        url: where it was, behind all redirects.
        kind: the whole `Content-Type`, "" for none.
        body: unpacked.
        cut: whether there was more of it.
        moved: whether it was elsewhere than asked.
    """

    url: str
    kind: str
    body: bytes
    cut: bool
    moved: bool


@dataclass(slots=True)
class Fetcher:
    """Gets pages.

    Attributes:
        border: what may be asked for.
        user_agent: the whole header; its first word is the program's name for robots.txt.
        robots: whether the sites' rules for programs are kept.
        max_bytes: of a page, unpacked.
        proxy: the address of one, None for none. It is told the checked IP addresses, not the names.
    """

    border: Border
    user_agent: str
    robots: bool
    max_bytes: int
    proxy: str | None = None
    _rules: Kept[_robots.Rules | str] = field(default_factory=lambda: Kept[_robots.Rules | str](_ROBOTS_KEPT))

    async def get(self, url: str, *, reads: Callable[[str], bool]) -> Fetched:
        """Get a page.

        Args:
            url: as the model wrote it.
            reads: whether a `Content-Type` can be read; the body of another is not even received.

        Raises:
            ToolError: it was not asked for, or did not come.
        """
        target = self.border.target(url)
        addresses = await self.border.addresses(target)
        for hop in range(MAX_REDIRECTS + 1):
            if self.robots:
                await self._ask_robots(target, addresses)
            async with self._response(target, addresses, "*/*") as response:
                if response.status_code not in REDIRECTS or "location" not in response.headers:
                    return await self._read(target, response, reads, moved=hop > 0)
                target, addresses = await self._next(target, response)
        raise say.too_many_redirects(MAX_REDIRECTS)

    async def _next(self, target: Target, response: Response) -> tuple[Target, Sequence[str]]:
        """Where a redirect leads, checked as if the model had asked for that."""
        try:
            target = self.border.target(response.headers["location"], base=target.url)
            return target, await self.border.addresses(target)
        except ToolError as error:
            raise say.bad_redirect(error) from error

    async def _read(self, target: Target, response: Response, reads: Callable[[str], bool], *, moved: bool) -> Fetched:
        if response.status_code != 200:
            wait = seconds_of(response.headers.get("retry-after"))
            raise say.bad_status(target.who, response.status_code, wait)
        kind = response.headers.get("content-type", "")
        if not reads(kind):
            raise say.not_text(kind.partition(";")[0])
        body, cut = await _body(response, self.max_bytes)
        return Fetched(str(target.url), kind, body, cut, moved)

    # ---- one request

    @asynccontextmanager
    async def _response(self, target: Target, addresses: Sequence[str], accept: str) -> AsyncGenerator[Response]:
        """Ask, and give the answer, its body still to come.

        Raises:
            ToolError: no connection, or a broken answer.
        """
        import httpx2

        # No connection is kept: one of another name on the same address would be taken for this one's.
        limits = httpx2.Limits(max_keepalive_connections=0)
        transport = httpx2.AsyncHTTPTransport(verify=tls(), limits=limits, proxy=self.proxy)
        try:
            async with transport:
                response = await self._first(transport, target, addresses[:_MOST_ADDRESSES], accept)
                try:
                    yield response
                finally:
                    await response.aclose()
        except httpx2.HTTPError as error:
            if _is_certificate(error):
                raise say.not_secure(target.who) from error
            raise say.unreachable(target.who) from error

    async def _first(self, transport: Any, target: Target, addresses: Sequence[str], accept: str) -> Response:
        """The answer from the first address that takes the connection."""
        import httpx2

        for left, address in zip(range(len(addresses) - 1, -1, -1), addresses, strict=True):
            headers = {
                "host": target.url.netloc.decode("ascii"),
                "user-agent": self.user_agent,
                "accept": accept,
                "accept-encoding": "gzip, deflate",
                "connection": "close",
            }
            # Reading is bounded by the caller's deadline; a connection that nobody answers leaves time for the next.
            extensions: dict[str, Any] = {"timeout": {"connect": _CONNECT_SECONDS}}
            if not target.is_address:
                extensions["sni_hostname"] = target.host
            pinned = target.url.copy_with(host=address)
            request = httpx2.Request("GET", pinned, headers=headers, extensions=extensions)
            try:
                return await transport.handle_async_request(request)
            except (httpx2.ConnectError, httpx2.ConnectTimeout):
                if not left:
                    raise
        raise AssertionError("there is at least one address")

    # ---- robots.txt

    async def _ask_robots(self, target: Target, addresses: Sequence[str]) -> None:
        rules = self._rules.get(target.origin)
        if rules is None:
            rules = await self._robots_of(target, addresses)
            # What is out of reach may be back soon.
            self._rules.put(target.origin, rules, 60.0 if isinstance(rules, str) else _ROBOTS_SECONDS)
        if isinstance(rules, str):
            raise say.robots_unknown(target.who, rules)
        if not rules.allow(target.url.raw_path.decode("ascii")):
            raise say.robots_forbid(target.who)

    async def _robots_of(self, target: Target, addresses: Sequence[str]) -> _robots.Rules | str:
        """The rules of a site; a text where they are out of reach, which forbids everything (RFC 9309, 2.3.1)."""
        at = replace(target, url=target.url.join("/robots.txt"))
        moved = False
        try:
            for _ in range(MAX_REDIRECTS + 1):
                async with self._response(at, addresses, "text/plain, */*") as response:
                    status = response.status_code
                    if status in REDIRECTS and "location" in response.headers:
                        moved = True
                        at, addresses = await self._next(at, response)
                        continue
                    if status == 429 or status >= 500:
                        return f"HTTP status {status}"
                    if status != 200:
                        return _robots.Rules()  # "unavailable": all is allowed
                    body, _ = await _body(response, _robots.MAX_BYTES)
                    name = self.user_agent.partition("/")[0].strip()
                    return _robots.rules_for(name, body.decode("utf-8", "replace"))
        except ToolError as error:
            if not moved:
                raise  # then the page itself could not be had either
            return error.message.rstrip(".")
        return _robots.Rules()  # after five redirects it counts as unavailable


async def _body(response: Response, most: int) -> tuple[bytes, bool]:
    """The body, unpacked, and whether there was more of it than `most`.

    Raises:
        ToolError: it is packed in a way that was not asked for, or is not what it says.
    """
    unpack = _unpacker(response.headers.get("content-encoding", ""))
    body = bytearray()
    raw = 0
    async for chunk in response.aiter_raw():
        raw += len(chunk)
        try:
            body += chunk if unpack is None else unpack(chunk, most + 1 - len(body))
        except zlib.error as error:
            raise say.garbled() from error
        if len(body) > most or raw > most:
            return bytes(body[:most]), True
    return bytes(body), False


def _unpacker(encoding: str) -> Callable[[bytes, int], bytes] | None:
    """Unpacks piece by piece, never more than asked for: a small file may unpack to a huge one."""
    match encoding.strip().lower():
        case "" | "identity":
            return None
        case "gzip" | "x-gzip":
            return zlib.decompressobj(zlib.MAX_WBITS | 16).decompress
        case "deflate":
            return _Deflated().feed
        case _:
            raise say.garbled()


class _Deflated:
    """ "deflate" is a zlib stream, and of some servers a bare one."""

    def __init__(self) -> None:
        self._stream = zlib.decompressobj()
        self._begun = False

    def feed(self, chunk: bytes, most: int) -> bytes:
        try:
            out = self._stream.decompress(chunk, most)
        except zlib.error:
            if self._begun:
                raise
            self._stream = zlib.decompressobj(-zlib.MAX_WBITS)
            out = self._stream.decompress(chunk, most)
        self._begun = True
        return out


def _is_certificate(error: BaseException | None) -> bool:
    seen = 0
    while error is not None and seen < 10:
        if isinstance(error, ssl.SSLCertVerificationError):
            return True
        error, seen = error.__cause__ or error.__context__, seen + 1
    return False
