"""Networks of IP addresses."""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_address


def is_within(address: str | None, networks: Iterable[IPv4Network | IPv6Network]) -> bool:
    """Whether an address is in one of some networks. What is no IP address is in none.

    Addresses of IPv4 that are written as IPv6 (`::ffff:192.0.2.1`) are those of IPv4.
    """
    try:
        caller = ip_address(address or "")
    except ValueError:
        return False
    if isinstance(caller, IPv6Address) and caller.ipv4_mapped:
        caller = caller.ipv4_mapped
    return any(caller in network for network in networks)
