"""An address that a model wrote: is it one of the public web, and where does it lead?

The checks and the connection go by one parser, httpx2's, and by the very addresses that were checked: where two readers
of an address disagree, or a name is looked up twice, there is a way in.
"""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import Awaitable, Callable, Collection, Sequence
from ipaddress import ip_address
from typing import TYPE_CHECKING

from toolsmith._calls import workers
from toolsmith._dataclass import dataclass
from toolsmith._given import texts
from toolsmith.errors import ConfigError
from toolsmith.web import _page_wording as say
from toolsmith.web._addresses import is_public
from toolsmith.web._sites import is_below

if TYPE_CHECKING:
    from httpx2 import URL

Resolver = Callable[[str], Awaitable[Sequence[str]]]
"""Gives the IP addresses of a name; raises `OSError` where there are none."""

PORTS = (80, 443, 8080, 8443)
MAX_URL = 2_000
_DEFAULT_PORTS = {"http": 80, "https": 443}
_NOT_IN_AN_ADDRESS = re.compile(r"[\s\\\x00-\x20\x7f]")
# WHATWG: a host whose last part is a number is an IPv4 address, in however odd a spelling.
_NUMBER = re.compile(r"(?:\d+|0x[0-9a-f]*)\Z", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Target:
    """Where a request goes.

    Attributes:
        url: without a fragment.
        host: the name or IP address, as in the request.
        who: the same, for a sentence that the model reads.
        trusted: the developer named this host and port in `allow_private`.
    """

    url: URL
    host: str
    port: int
    trusted: bool
    who: str

    @property
    def origin(self) -> str:
        """Scheme, host and port."""
        shown = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.url.scheme}://{shown}:{self.port}"

    @property
    def is_address(self) -> bool:
        """Whether the host is an IP address itself."""
        return _is_address(self.host)


@dataclass(frozen=True, slots=True, kw_only=True)
class Border:
    """What may be asked for.

    Attributes:
        trusted: "host:port" that may be private; None as the port of a pair stands for every port.
        ports: of all others.
        allowed_domains: these sites and what is below them; empty for all.
        blocked_domains: none of these.
        resolver: of names.
    """

    trusted: Collection[tuple[str, int | None]] = ()
    ports: Collection[int] = PORTS
    allowed_domains: Sequence[str] = ()
    blocked_domains: Sequence[str] = ()
    resolver: Resolver | None = None

    def target(self, text: str, base: URL | None = None) -> Target:
        """Read an address.

        Args:
            text: as the model, or a `Location` header, has it.
            base: of a redirect: the address it is relative to.

        Raises:
            ToolError: it is none that may be asked for; says why and what to do.
        """
        import httpx2

        written = text if base is None else ""
        if len(text) > MAX_URL:
            raise say.address_too_long(len(text), MAX_URL)
        if _NOT_IN_AN_ADDRESS.search(text):
            raise say.not_an_address(written)
        try:
            url = (httpx2.URL(text) if base is None else base.join(text)).copy_with(fragment=None)
            host = url.raw_host.decode("ascii").lower().strip("[]")
        except (httpx2.InvalidURL, ValueError, TypeError) as error:
            raise say.not_an_address(written) from error
        if url.scheme not in _DEFAULT_PORTS:
            raise say.wrong_scheme(url.scheme)
        if url.userinfo:
            raise say.has_credentials()
        if not host:
            raise say.not_an_address(written)
        port = _DEFAULT_PORTS[url.scheme] if url.port is None else url.port
        who = say.shown(host) if base is None else say.ELSEWHERE
        trusted = (host, port) in self.trusted or (host, None) in self.trusted
        if not trusted:
            self._check(host, port, who)
        return Target(url, host, port, trusted, who)

    def _check(self, host: str, port: int, who: str) -> None:
        if port not in self.ports:
            raise say.wrong_port(port, sorted(self.ports))
        plain = host.rstrip(".")
        if not _is_address(host):
            if _NUMBER.match(plain.rpartition(".")[2]):
                raise say.odd_host(who)
            if "." not in plain or "%" in host:
                raise say.not_public(who)
        elif not is_public(host):
            raise say.not_public(who)
        if self.allowed_domains and not any(is_below(plain, domain) for domain in self.allowed_domains):
            raise say.site_not_allowed(who, self.allowed_domains)
        if any(is_below(plain, domain) for domain in self.blocked_domains):
            raise say.site_not_allowed(who, ())

    async def addresses(self, target: Target) -> Sequence[str]:
        """The IP addresses to connect to; every one of them has been checked.

        Raises:
            ToolError: there are none, or one of them is not public.
        """
        if target.is_address:
            return (target.host,)
        try:
            found = await (self.resolver or _resolve)(target.host)
        except (OSError, UnicodeError) as error:
            raise say.unknown_host(target.who) from error
        if not found:
            raise say.unknown_host(target.who)
        if not target.trusted and not all(map(is_public, found)):
            # One is enough: a name that leads here and there is no mistake of its owner.
            raise say.not_public(target.who)
        return tuple(dict.fromkeys(found))


async def _resolve(host: str) -> Sequence[str]:
    # On a daemon thread: the event loop's own executor would hold the exit for as long as the lookup hangs.
    loop = asyncio.get_running_loop()
    rows = await workers.call(loop, lambda: socket.getaddrinfo(host, None, type=socket.SOCK_STREAM))
    # IPv4 first: many machines have addresses of IPv6, and no way out by it.
    return [str(row[4][0]) for row in sorted(rows, key=lambda row: row[0] == socket.AF_INET6)]


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def trusted_hosts(given: Sequence[str]) -> frozenset[tuple[str, int | None]]:
    """["127.0.0.1:8000", "intranet.example"] as pairs.

    Raises:
        ConfigError: one of them is neither a host nor a host with a port.
    """
    if isinstance(given, str):
        raise ConfigError(f"FetchPage(allow_private={given!r}): give a list, [{given!r}].")
    texts("FetchPage", allow_private=given)
    found: set[tuple[str, int | None]] = set()
    for text in given:
        host, colon, port = (text, "", "") if _is_address(text) else text.rpartition(":")
        if not colon:
            host, port = text, ""
        host = host.strip("[]").lower()
        if not host or "/" in host or "@" in host or (colon and not (port.isascii() and port.isdigit())):
            raise ConfigError(
                f"FetchPage(allow_private=[{text!r}]): give hosts as they stand in an address, with or without a port, "
                "such as '127.0.0.1:8000' or 'wiki.internal'. Ranges of addresses cannot be given."
            )
        found.add((host, int(port) if port else None))
    return frozenset(found)
