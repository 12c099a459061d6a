"""Hosts that others name: those that lead into the machine are known, however they are written."""

from __future__ import annotations

import pytest

from sluicegate.api import internal_addresses


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "127.9.9.9",
        "127.1",
        "2130706433",
        "0x7f.1",
        "localhost",
        "0.0.0.0",  # noqa: S104 (nothing is bound)
        "0.1.2.3",
        "::",
        "::1",
        "::127.0.0.1",
        "::ffff:127.0.0.1",
        "169.254.169.254",
        "::ffff:169.254.169.254",
        "::ffff:a9fe:a9fe",
        "64:ff9b::a9fe:a9fe",
        "2002:a9fe:a9fe::1",
        "fe80::1",
        "fe80::1%lo",
        "fd00:ec2::254",
        "168.63.129.16",
        "100.100.100.200",
        "224.0.0.1",
    ],
)
async def test_an_address_inside_is_known(host: str) -> None:
    assert await internal_addresses(host)


@pytest.mark.parametrize(
    "host",
    ["8.8.8.8", "10.0.0.1", "192.168.1.1", "2001:4860:4860::8888", "::ffff:8.8.8.8", "no.invalid", ""],
)
async def test_other_addresses_are_not_refused(host: str) -> None:
    assert await internal_addresses(host) == () or not host
