"""A link to a derived file is served as long as its recipient may read the table."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from ipaddress import ip_network
from urllib.parse import unquote, urlsplit

import pytest
from starlette.requests import Request
from starlette.responses import Response
from support.gateways.memory_client import send
from support.gateways.memory_gateway import KEYS, MemoryGateway, memory_gateway, shared_table
from support.gateways.memory_grants import ACME, RIVAL, record
from support.process.clock import Clock
from support.tables.memory_tables import MemoryFormat

from sluicegate.api import NotFound, PermissionDenied, UnsupportedOperation
from sluicegate.http.concurrency_limit import ConcurrencyLimit, RequestSlots
from sluicegate.http.limits import ConcurrencyLimits
from sluicegate.protocols.derived_files import DerivedFileEndpoint, DerivedLink
from sluicegate.signing.keyring import KeyRing
from sluicegate.tables.derived_files import DerivedFile

CONTENT = b"0123456789"
OTHER_KEYS = KeyRing((b"n" * 32,))
FILE = DerivedFile.of(CONTENT, "recipe")


@pytest.fixture
def gateway() -> MemoryGateway:
    return memory_gateway(format=MemoryFormat(generated={"recipe": CONTENT}))


async def link(gateway: MemoryGateway, file: DerivedFile = FILE) -> str:
    table = await gateway.open(shared_table())
    return gateway.signer.presign_derived(table, [file]).urls[0]


async def fetch(
    gateway: MemoryGateway,
    url: str,
    method: str = "GET",
    headers: Mapping[str, str] | None = None,
    *,
    clock: Clock | None = None,
    keys: KeyRing = KEYS,
) -> Response:
    now = clock or Clock(1_000)
    endpoint = DerivedFileEndpoint(keys, gateway.grants, gateway.resolver, gateway.reader, now)
    route, parts = endpoint.route(), urlsplit(url)
    assert {"GET", "HEAD"} == route.methods
    match = route.path_regex.fullmatch(unquote(parts.path))
    assert match is not None
    request = Request(
        {
            "type": "http",
            "method": method,
            "scheme": "https",
            "server": ("gateway.example", 443),
            "path": parts.path,
            "query_string": parts.query.encode(),
            "headers": [(name.encode(), value.encode()) for name, value in (headers or {}).items()],
            "client": ("192.0.2.7", 1),
            "path_params": match.groupdict(),
        }
    )
    response: Response = await route.endpoint(request)
    return response


async def test_the_file_is_generated_and_sent(gateway: MemoryGateway) -> None:
    response = await fetch(gateway, await link(gateway))
    assert (response.status_code, response.body) == (200, CONTENT)
    assert response.headers["etag"] == f'"{FILE.digest}"'
    assert response.headers["cache-control"] == "private, no-store"
    assert gateway.format.read == ["derived recipe"]


@pytest.mark.parametrize(
    ("method", "headers", "status", "body"),
    [
        ("GET", {"range": "bytes=2-4"}, 206, b"234"),
        ("GET", {"range": "bytes=99-"}, 416, None),
        ("HEAD", {}, 200, b""),
        ("GET", {"if-none-match": f'"{FILE.digest}"'}, 304, b""),
        ("GET", {"if-match": '"other"'}, 412, None),
    ],
)
async def test_ranges_and_preconditions(
    gateway: MemoryGateway, method: str, headers: dict[str, str], status: int, body: bytes | None
) -> None:
    response = await fetch(gateway, await link(gateway), method, headers)
    assert response.status_code == status
    assert body is None or bytes(response.body) == body


async def test_a_link_that_was_changed_or_has_expired_is_denied(gateway: MemoryGateway) -> None:
    url = await link(gateway)
    other = DerivedLink.parse(urlsplit(url).path.rpartition("/")[2])
    forged = url.replace(other.path, replace(other, table="customers").path)
    with pytest.raises(PermissionDenied, match="not valid"):
        await fetch(gateway, forged)
    with pytest.raises(PermissionDenied, match="not valid"):
        await fetch(gateway, url, keys=OTHER_KEYS)
    with pytest.raises(PermissionDenied, match="expired"):
        await fetch(gateway, url, clock=Clock(10_000_000_000))
    assert gateway.format.read == []


async def test_a_link_ends_with_its_recipient(gateway: MemoryGateway) -> None:
    url = await link(gateway)
    gateway.grants.recipients["acme"] = record(ACME, revoked_at=1)
    with pytest.raises(PermissionDenied, match="revoked"):
        await fetch(gateway, url)
    del gateway.grants.recipients["acme"]
    with pytest.raises(PermissionDenied, match="no longer exists"):
        await fetch(gateway, url)
    assert gateway.format.read == []


async def test_another_recipient_of_the_same_name_is_denied(gateway: MemoryGateway) -> None:
    url = await link(gateway)
    gateway.grants.recipients["acme"] = record(RIVAL, name="acme")
    with pytest.raises(PermissionDenied, match="no longer exists"):
        await fetch(gateway, url)


@pytest.mark.parametrize(("network", "is_admitted"), [("192.0.2.0/24", True), ("10.0.0.0/8", False)])
async def test_a_link_is_served_where_the_recipient_may_call_from(
    gateway: MemoryGateway, network: str, is_admitted: bool
) -> None:
    url = await link(gateway)
    gateway.grants.recipients["acme"] = record(ACME, allow_from=(ip_network(network),))
    if is_admitted:
        assert (await fetch(gateway, url)).status_code == 200
    else:
        with pytest.raises(PermissionDenied, match="may not call from this address"):
            await fetch(gateway, url)


async def test_reading_a_link_counts_as_a_request_in_progress(gateway: MemoryGateway) -> None:
    limit = ConcurrencyLimit(ConcurrencyLimits(max_requests=1))
    endpoint = DerivedFileEndpoint(KEYS, gateway.grants, gateway.resolver, gateway.reader)
    url = await link(gateway)
    other = RequestSlots(limit, "192.0.2.9")
    await other.enter(None)
    fetched = asyncio.create_task(send([endpoint.route()], "GET", url, recipient=None, limit=limit))
    await asyncio.sleep(0.01)
    assert (fetched.done(), gateway.format.read) == (False, [])
    other.leave()
    assert (await fetched).content == CONTENT
    assert limit.enter_now(RIVAL.id)  # it has left


async def test_a_link_that_is_not_valid_waits_for_no_other_request(gateway: MemoryGateway) -> None:
    limit = ConcurrencyLimit(ConcurrencyLimits(max_requests=1))
    endpoint = DerivedFileEndpoint(OTHER_KEYS, gateway.grants, gateway.resolver, gateway.reader)
    await RequestSlots(limit, "192.0.2.9").enter(None)
    url = await link(gateway)
    refused = await send([endpoint.route()], "GET", url, recipient=None, limit=limit)
    assert refused.status_code == 403


async def test_a_link_ends_with_the_grant(gateway: MemoryGateway) -> None:
    url = await link(gateway)
    without = memory_gateway(shared_table("customers"), format=gateway.format)
    with pytest.raises(NotFound, match="there is no table 'orders'"):
        await fetch(without, url)


async def test_a_file_that_can_no_longer_be_generated_is_not_found(gateway: MemoryGateway) -> None:
    url = await link(gateway, DerivedFile.of(b"x", "forgotten"))
    with pytest.raises(NotFound, match="no longer available: query the table again"):
        await fetch(gateway, url)
    changed = await link(gateway, DerivedFile.of(b"other bytes", "recipe"))
    with pytest.raises(NotFound, match="no longer available: query the table again"):
        await fetch(gateway, changed)


async def test_a_format_without_such_files_says_so(gateway: MemoryGateway) -> None:
    url = await link(gateway)
    gateway.catalog["orders"] = replace(gateway.catalog["orders"], format="other")
    with pytest.raises(UnsupportedOperation, match="tables of format 'other' cannot be read"):
        await fetch(gateway, url)
