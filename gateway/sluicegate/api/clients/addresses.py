"""Detects hosts that resolve to this machine or to a metadata service of its cloud."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Final

import anyio

# Metadata services outside the link-local range: Azure's WireServer, and those of Alibaba, Oracle and,
# over IPv6, Amazon.
_METADATA: Final = frozenset(
    map(ip_address, ("168.63.129.16", "100.100.100.200", "192.0.0.192", "fd00:ec2::254"))
)
_NAT64: Final = ip_network("64:ff9b::/96")


async def internal_addresses(host: str) -> tuple[str, ...]:
    """Return the host's addresses that are loopback, link-local, or of a cloud's metadata service.

    Names are resolved as for connections, so that `127.1` and names with such addresses are detected,
    too. For a name that doesn't resolve, the result is empty.

    Args:
        host: A name or an address; IPv6 without brackets.
    """
    return tuple(str(each) for each in await _resolved(host) if is_internal(each))


def is_internal(address: IPv4Address | IPv6Address) -> bool:
    """Whether an address, or the IPv4 address that is embedded in it, is one of these."""
    return any(
        each.is_loopback
        or each.is_link_local
        or each.is_unspecified
        or each.is_multicast
        or (isinstance(each, IPv4Address) and each.packed[0] == 0)
        or each in _METADATA
        for each in _meant(address)
    )


async def _resolved(host: str) -> list[IPv4Address | IPv6Address]:
    try:
        found = await anyio.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return []
    return [ip_address(str(address[0]).partition("%")[0]) for *_, address in found]


def _meant(address: IPv4Address | IPv6Address) -> Iterator[IPv4Address | IPv6Address]:
    yield address
    if isinstance(address, IPv6Address):
        yield from filter(None, (address.ipv4_mapped, address.sixtofour, *(address.teredo or ())))
        if address in _NAT64 or address.packed[:12] == bytes(12):
            yield IPv4Address(address.packed[12:])
