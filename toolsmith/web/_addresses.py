"""Which IP addresses are of the public internet. All others may be the machine itself, its neighbours or its cloud.

Source: IANA's special-purpose address registries for IPv4 and IPv6, read November 2026. The tables stand here because
`ipaddress` changes its mind: its `is_global` has other values from one Python release to the next, and takes multicast
for public.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

_NOT_PUBLIC_4 = tuple(
    IPv4Network(text)
    for text in (
        "0.0.0.0/8",  # "this network"; 0.0.0.0 is the machine itself on Linux
        "10.0.0.0/8",
        "100.64.0.0/10",  # carrier-grade NAT, and some clouds' metadata
        "127.0.0.0/8",
        "169.254.0.0/16",  # link-local; 169.254.169.254 hands out a cloud machine's credentials
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.31.196.0/24",
        "192.52.193.0/24",
        "192.88.99.0/24",
        "192.168.0.0/16",
        "192.175.48.0/24",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/3",  # multicast, reserved, broadcast
    )
)

# Of IPv6 only 2000::/3 is given out as public; these parts of it are not.
_PUBLIC_6 = IPv6Network("2000::/3")
_NOT_PUBLIC_6 = tuple(
    IPv6Network(text)
    for text in (
        "2001::/23",  # protocol assignments, Teredo among them: an IPv4 address inside
        "2001:db8::/32",
        "2002::/16",  # 6to4: an IPv4 address inside
        "2620:4f:8000::/48",
        "3fff::/20",
    )
)
_NAT64 = IPv6Network("64:ff9b::/96")


def is_public(address: str) -> bool:
    """Whether a text is an IP address of the public internet.

    An IPv4 address inside an IPv6 one, mapped or through NAT64, counts as what it is; other ways to hide one are never
    public. So are addresses with a zone ("fe80::1%eth0"), and whatever is no address.
    """
    try:
        found = ip_address(address)
    except ValueError:
        return False
    if isinstance(found, IPv6Address):
        if found.scope_id is not None:
            return False
        inner = found.ipv4_mapped or (IPv4Address(int(found) & 0xFFFF_FFFF) if found in _NAT64 else None)
        if inner is None:
            return found in _PUBLIC_6 and not any(found in network for network in _NOT_PUBLIC_6)
        found = inner
    return not any(found in network for network in _NOT_PUBLIC_4)
