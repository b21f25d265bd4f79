"""Where `fetch_page` may go: the public internet alone, whatever the spelling, the name server or the redirect."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path
from typing import Any

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from web_servers import Site, redirect, respond, site

from toolsmith import ToolError
from toolsmith.errors import ConfigError
from toolsmith.web import FetchPage, _http
from toolsmith.web._addresses import is_public

PAGE = respond(200, "<title>Inside</title><p>secret</p>")


@pytest.fixture
def inside() -> Iterator[Site]:
    """A server on loopback that must not be asked."""
    with site() as served:
        served.answers[""] = PAGE
        yield served


def refused(url: str, **options: Any) -> ToolError:
    with pytest.raises(ToolError) as caught:
        FetchPage(seconds=3, **options).fetch(url)
    return caught.value


def names(**known: Sequence[str]) -> Any:
    """A resolver that knows some names, written with `_` for `.`."""
    table = {name.replace("_", "."): addresses for name, addresses in known.items()}

    async def resolve(host: str) -> Sequence[str]:
        await asyncio.sleep(0)
        if host not in table:
            raise OSError("no such name")
        return table[host]

    return resolve


# ---- addresses

NOT_PUBLIC = [
    "127.0.0.1",
    "127.8.8.8",
    "0.0.0.0",
    "10.1.2.3",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.1.1",
    "169.254.169.254",
    "100.64.0.1",
    "100.100.100.200",
    "192.0.0.192",
    "198.18.0.1",
    "203.0.113.7",
    "224.0.0.1",
    "239.255.255.250",
    "255.255.255.255",
    "::1",
    "::",
    "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
    "::127.0.0.1",
    "64:ff9b::7f00:1",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b:1::1",
    "fe80::1",
    "fe80::1%1",
    "fc00::1",
    "fd00:ec2::254",
    "ff02::1",
    "2001::1",
    "2001:db8::1",
    "2002:7f00:1::",
    "3fff::1",
    "100::1",
    "5f00::1",
    "fec0::1",
]
PUBLIC = [
    "93.184.216.34",
    "172.32.0.1",
    "100.128.0.1",
    "2606:2800:220:1:248:1893:25c8:1946",
    "::ffff:8.8.8.8",
    "64:ff9b::808:808",
]


@pytest.mark.parametrize("address", NOT_PUBLIC)
def test_what_is_not_public(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("address", PUBLIC)
def test_what_is_public(address: str) -> None:
    assert is_public(address)


@given(st.one_of(st.ip_addresses(v=4), st.ip_addresses(v=6)))
def test_nothing_that_python_knows_as_private_is_public(address: IPv4Address | IPv6Address) -> None:
    """Another table, in another's hands, never is stricter; `is_global` but for multicast and what hides IPv4."""
    if is_public(str(address)):
        inner = address.ipv4_mapped if isinstance(address, IPv6Address) else None
        seen = inner or address
        if isinstance(seen, IPv6Address) and str(seen).startswith("64:ff9b::"):
            seen = IPv4Address(int(seen) & 0xFFFF_FFFF)
        assert not seen.is_private
        assert not seen.is_loopback
        assert not seen.is_link_local
        assert not seen.is_multicast
        assert not seen.is_reserved
        assert not seen.is_unspecified


@given(st.ip_addresses(v=4))
def test_an_ipv4_address_inside_ipv6_counts_as_what_it_is(address: IPv4Address) -> None:
    for text in (f"::ffff:{address}", str(IPv6Address(int(IPv6Address("64:ff9b::")) | int(address)))):
        assert is_public(text) == is_public(str(address))


# ---- spellings


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "2130706433",
        "0x7f000001",
        "0x7f.0.0.1",
        "0177.0.0.1",
        "127.1",
        "127.0.0.1.",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[0:0:0:0:0:0:0:1]",
        "localhost",
        "LOCALHOST",
        "localhost.",
        "１２７.０.０.１",
        "127。0。0。1",
        "①②⑦.⓪.⓪.①",
        "%31%32%37.0.0.1",
        "127.0.0.1%00.example.com",
        "0",
        "0x0",
    ],
)
def test_no_spelling_of_this_machine_leads_to_it(inside: Site, host: str) -> None:
    refused(f"http://{host}:{inside.port}/", ports=[inside.port])
    assert not inside.requests


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("http://user:pw@93.184.216.34/", "user name"),
        ("http://example.com@127.0.0.1/", "user name"),
        ("http://@127.0.0.1/", "not on the public internet"),
        ("http://127.0.0.1\\@example.com/", "not an address"),
        ("http://example.com\\.evil.example/", "not an address"),
        ("http://exa mple.com/", "not an address"),
        ("http://example.com/\r\nX-Evil: 1", "not an address"),
        ("file:///etc/passwd", "only http and https"),
        ("gopher://127.0.0.1:70/", "only http and https"),
        ("javascript:alert(1)", "only http and https"),
        ("data:text/html,hi", "only http and https"),
        ("example.org/page", "only http and https"),
        ("http://", "not an address"),
        ("http:///path", "not an address"),
        ("", "only http and https"),
        ("http://example.com:22/", "Port 22"),
        ("http://example.com:6379/", "Port 6379"),
        ("http://example.com:99999/", "Port 99999"),
        ("http://example.com:0/", "Port 0"),
        ("http://example.com/" + "a" * 2_000, "2,000 are the limit"),
        ("http://metadata/computeMetadata/v1/", "not on the public internet"),
        ("http://[fe80::1%25eth0]/", ""),
        ("http://0x7f.1/", "unusual spelling"),
        ("http://3232235777/", "unusual spelling"),
    ],
)
def test_addresses_that_are_not_asked_for(url: str, said: str) -> None:
    """Refused before any name is looked up; the text says what is wrong."""
    error = refused(url, resolver=names())
    assert said in error.message
    assert "cannot be found" not in error.message


def test_options_that_cannot_work() -> None:
    for options in (
        {"allow_private": "127.0.0.1"},
        {"allow_private": ["10.0.0.0/8"]},
        {"allow_private": ["http://a/"]},
        {"allow_private": ["a:b"]},
        {"allowed_domains": ["https://a.example"]},
        {"seconds": 0},
        {"max_bytes": -1},
        {"user_agent": "a\r\nb"},
    ):
        with pytest.raises(ConfigError):
            FetchPage(**options)  # pyright: ignore[reportArgumentType]


# ---- names


@pytest.mark.parametrize("address", NOT_PUBLIC)
def test_a_name_that_leads_inside_is_not_followed(address: str) -> None:
    error = refused("http://innocent.example/", resolver=names(innocent_example=[address]))
    assert "`innocent.example` is not on the public internet" in error.message
    assert address not in error.message


def test_one_private_address_among_public_ones_is_enough() -> None:
    error = refused("http://mixed.example/", resolver=names(mixed_example=["93.184.216.34", "127.0.0.1"]))
    assert "not on the public internet" in error.message


def test_a_name_that_does_not_exist() -> None:
    assert "`gone.example` cannot be found" in refused("http://gone.example/", resolver=names()).message


def test_the_connection_is_made_to_the_address_that_was_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name server that answers otherwise the second time has no say: nothing is looked up twice, or by others."""
    asked: list[str] = []
    answers = [["93.184.216.34"], ["127.0.0.1"], ["127.0.0.1"]]

    async def resolve(host: str) -> Sequence[str]:
        asked.append(host)
        return answers[len(asked) - 1]

    made: list[httpx2.Request] = []

    async def connect(_: httpx2.AsyncHTTPTransport, request: httpx2.Request) -> httpx2.Response:
        made.append(request)
        return httpx2.Response(200, headers={"content-type": "text/plain"}, stream=httpx2.ByteStream(b"User-agent: x"))

    monkeypatch.setattr(httpx2.AsyncHTTPTransport, "handle_async_request", connect)
    page = FetchPage(resolver=resolve).fetch("https://rebind.example/a?b=c#d")
    assert page.url == "https://rebind.example/a?b=c"
    assert asked == ["rebind.example"]
    assert [str(r.url) for r in made] == ["https://93.184.216.34/robots.txt", "https://93.184.216.34/a?b=c"]
    assert {r.headers["host"] for r in made} == {"rebind.example"}
    assert {r.extensions["sni_hostname"] for r in made} == {"rebind.example"}


def test_names_are_looked_up_by_the_system(inside: Site) -> None:
    """Without a resolver: `localhost` leads inside, and is followed only where the developer has named it."""
    fetch = FetchPage(allow_private=[f"localhost:{inside.port}"], ports=[inside.port])
    assert fetch.fetch(f"http://localhost:{inside.port}/").title == "Inside"
    assert inside.requests[-1].headers["host"] == f"localhost:{inside.port}"
    with pytest.raises(ToolError, match="cannot be found"):
        fetch.fetch(f"http://no-such-name.invalid:{inside.port}/")


def test_the_next_address_is_tried_where_nobody_answers(inside: Site) -> None:
    fetch = FetchPage(
        allow_private=[f"two.example:{inside.port}"], resolver=names(two_example=["127.0.0.2", "127.0.0.1"])
    )
    assert fetch.fetch(f"http://two.example:{inside.port}/").title == "Inside"


def test_proxies_of_the_environment_are_not_used(inside: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    with site() as proxy:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.url)
        FetchPage(allow_private=[inside.host]).fetch(f"{inside.url}/")
        assert not proxy.requests


def test_a_proxy_that_is_asked_for_is_told_the_checked_address(inside: Site) -> None:
    with site() as proxy:
        proxy.answers[""] = respond(200, "<title>By proxy</title>")
        fetch = FetchPage(proxy=proxy.url, robots=False, resolver=names(a_example=["93.184.216.34"]))
        assert fetch.fetch("http://a.example/x").title == "By proxy"
        assert proxy.requests[0].target == "http://93.184.216.34/x"
        assert proxy.requests[0].headers["host"] == "a.example"
        assert "not on the public" in refused(f"{inside.url}/", proxy=proxy.url, ports=[inside.port]).message
        assert len(proxy.requests) == 1


# ---- redirects


@pytest.mark.parametrize(
    "location",
    [
        "http://169.254.169.254/latest/meta-data/",
        "http://[fd00:ec2::254]/",
        "//127.0.0.1/",
        "http://2852039166/",
        "http://localhost/",
        "http://intern.example/",
        "http://user:pw@example.com/",
        "file:///etc/passwd",
        "ftp://example.com/",
        "http://example.com:25/",
        "http://[::1",
    ],
)
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_inside_is_not_followed(inside: Site, location: str, status: int) -> None:
    """Each hop is checked like the first address; the model is told why it was not followed."""
    inside.answers["/go"] = redirect(location, status)
    fetch = FetchPage(allow_private=[inside.host], resolver=names(intern_example=["10.0.0.7"]), robots=False)
    with pytest.raises(ToolError, match="The address leads on to another one, which was not followed"):
        fetch.fetch(f"{inside.url}/go")
    assert len(inside.requests) == 1


def test_a_redirect_to_another_port_of_a_trusted_host(inside: Site) -> None:
    """Trust is for a host and a port: what else runs on that machine is none of the model's business."""
    with site() as trusted:
        trusted.answers["/go"] = redirect(f"{inside.url}/")
        fetch = FetchPage(allow_private=[trusted.host], ports=[inside.port], robots=False)
        with pytest.raises(ToolError, match="not on the public internet"):
            fetch.fetch(f"{trusted.url}/go")
    assert not inside.requests


def test_a_robots_txt_that_leads_inside(inside: Site) -> None:
    with site() as outside:
        outside.answers["/robots.txt"] = redirect(f"{inside.url}/")
        outside.answers["/"] = PAGE
        fetch = FetchPage(allow_private=[outside.host], ports=[inside.port])
        with pytest.raises(ToolError, match=r"robots\.txt"):
            fetch.fetch(f"{outside.url}/")
        assert outside.paths() == ["/robots.txt"]
    assert not inside.requests


def test_sites_can_be_limited(inside: Site) -> None:
    """Also behind a redirect."""
    where = {"resolver": names(a_example=["127.0.0.1"], b_example=["127.0.0.1"], www_a_example=["127.0.0.1"])}
    error = refused("http://b.example/", allowed_domains=["a.example"], **where)
    assert "pages of these sites: a.example" in error.message
    assert "not on the public" in refused("http://www.a.example/", allowed_domains=["a.example"], **where).message
    assert "does not read pages of" in refused("http://b.example/", blocked_domains=["b.example"], **where).message
    inside.answers["/go"] = redirect("https://b.example/?q=secret")
    fetch = FetchPage(allow_private=[inside.host], allowed_domains=["a.example"], robots=False, **where)
    with pytest.raises(
        ToolError, match=r"which was not followed: This program does not read pages of the site that it leads to"
    ):
        fetch.fetch(f"{inside.url}/go")


# ---- TLS


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate for pages.example, and its key."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "pages.example")])
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(datetime.now(UTC) - timedelta(days=1))
        .not_valid_after(datetime.now(UTC) + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("pages.example")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    folder = tmp_path_factory.mktemp("tls")
    (folder / "cert.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    plain = serialization.NoEncryption()
    (folder / "key.pem").write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
    )
    return folder / "cert.pem", folder / "key.pem"


def test_the_certificate_is_checked_against_the_name(
    certificate: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though the connection is to an IP address: the name goes into the handshake, and must be the certificate's."""
    cert, key = certificate
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(cert, key)
    monkeypatch.setattr(_http, "_context", ssl.create_default_context(cafile=str(cert)))
    with site(tls=server) as served:
        served.answers[""] = PAGE
        both = ["127.0.0.1"]
        fetch = FetchPage(
            allow_private=[f"pages.example:{served.port}", f"other.example:{served.port}"],
            resolver=names(pages_example=both, other_example=both),
            robots=False,
        )
        assert fetch.fetch(f"https://pages.example:{served.port}/").title == "Inside"
        assert served.requests[0].headers["host"] == f"pages.example:{served.port}"
        with pytest.raises(ToolError, match="its certificate is not valid"):
            fetch.fetch(f"https://other.example:{served.port}/")
        assert len(served.requests) == 1


def test_nothing_is_wrong_with_the_table() -> None:
    """Each entry of the lists above is an address."""
    assert all(ip_address(a) for a in [*NOT_PUBLIC, *PUBLIC])
