"""The endpoints of the protocol: which there are, and those of one table."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx
import pytest
from starlette.routing import Route
from support.gateways.memory_client import send
from support.gateways.memory_gateway import MemoryGateway, memory_gateway, shared_table
from support.gateways.memory_sharing import MAX_BODY, sharing_parts
from support.tables.memory_tables import FEED, Made, MemoryFormat, change, file, snapshot

from sluicegate.protocols.delta_sharing.routes import SharingEndpoints

SHARE = "/delta-sharing/shares/sales"
TABLE = f"{SHARE}/schemas/eu/tables/orders"
pytestmark = pytest.mark.usefixtures("same_allocators")
FULL = shared_table(history=True, change_feed=True)


@pytest.fixture
def gateway() -> MemoryGateway:
    versions = [snapshot(file("a"), version=0, metadata=FEED)]
    versions.append(snapshot(file("a"), file("b"), version=1, metadata=FEED))
    history = [Made(0, [change("add", "a")]), Made(1, [change("add", "b")])]
    return memory_gateway(FULL, format=MemoryFormat(versions, history))


def routes(gateway: MemoryGateway, threshold: float = 5.0) -> list[Route]:
    return SharingEndpoints(**sharing_parts(gateway, threshold)).routes()


async def get(gateway: MemoryGateway, path: str, **options: Any) -> httpx.Response:
    return await send(routes(gateway), "GET", path, **options)


async def post(gateway: MemoryGateway, path: str, body: Any = None, **options: Any) -> httpx.Response:
    return await send(routes(gateway), "POST", path, body, **options)


def kinds(response: httpx.Response) -> list[str]:
    assert response.status_code == 200, response.text
    assert response.headers["content-type"] == "application/x-ndjson; charset=utf-8"
    assert response.headers["cache-control"] == "private, no-store"
    return [next(iter(json.loads(line))) for line in response.text.splitlines()]


def test_the_routes_of_the_specification(gateway: MemoryGateway) -> None:
    table = "/shares/{share}/schemas/{schema}/tables/{table}"
    found = [(route.path, sorted(route.methods or ())) for route in routes(gateway)]
    assert found == [
        (f"/delta-sharing{path}", ["GET", "HEAD"] if method == "GET" else [method])
        for method, path in (
            ("GET", "/shares"),
            ("GET", "/shares/{share}"),
            ("GET", "/shares/{share}/schemas"),
            ("GET", "/shares/{share}/schemas/{schema}/tables"),
            ("GET", "/shares/{share}/all-tables"),
            ("GET", table),
            ("GET", f"{table}/version"),
            ("GET", f"{table}/metadata"),
            ("POST", f"{table}/query"),
            ("GET", f"{table}/changes"),
            ("POST", f"{table}/queries/{{query_id}}"),
            ("POST", f"{table}/temporary-table-credentials"),
        )
    ]


READS = [
    ("GET", "/delta-sharing/shares", None),
    ("GET", SHARE, None),
    ("GET", f"{SHARE}/schemas", None),
    ("GET", f"{SHARE}/schemas/eu/tables", None),
    ("GET", f"{SHARE}/all-tables", None),
    ("GET", TABLE, None),
    ("HEAD", TABLE, None),
    ("GET", f"{TABLE}/version", None),
    ("GET", f"{TABLE}/metadata", None),
    ("POST", f"{TABLE}/query", {}),
    ("POST", f"{TABLE}/query", {"startingVersion": 0}),
    ("GET", f"{TABLE}/changes?startingVersion=0", None),
    ("POST", f"{TABLE}/queries/x", {}),
    ("POST", f"{TABLE}/temporary-table-credentials", {}),
]


@pytest.mark.parametrize(("method", "path", "body"), READS)
async def test_every_route_needs_a_recipient_with_the_grant(
    gateway: MemoryGateway, method: str, path: str, body: Any
) -> None:
    nobody = await send(routes(gateway), method, path, body, recipient=None)
    assert nobody.status_code == 401
    rival = await send(routes(gateway), method, path, body, recipient="rival")
    if path == "/delta-sharing/shares":
        assert rival.json() == {"items": []}
    else:
        assert rival.status_code == 404
    assert gateway.format.read == []


async def test_a_table_has_its_formats(gateway: MemoryGateway) -> None:
    listed = {"name": "orders", "schema": "eu", "share": "sales", "shareId": "s1", "id": "t-orders"}
    assert (await get(gateway, TABLE)).json() == {**listed, "format": "delta"}
    assert (await get(gateway, TABLE.replace("orders", "ORDERS"))).json()["name"] == "orders"
    assert (await get(gateway, f"{SHARE}/schemas/eu/tables")).json() == {"items": [listed]}


@pytest.mark.parametrize(
    ("method", "path", "version"),
    [
        ("HEAD", TABLE, "1"),
        ("GET", f"{TABLE}/version", "1"),
        ("GET", f"{TABLE}/version?startingTimestamp=2023-11-14T22:13:20Z", "0"),
        ("GET", f"{TABLE}/version?startingTimestamp=2023-11-14T22:13:20.001Z", "1"),
    ],
)
async def test_the_version_is_a_header(
    gateway: MemoryGateway, method: str, path: str, version: str
) -> None:
    response = await send(routes(gateway), method, path)
    assert (response.status_code, response.headers["delta-table-version"]) == (200, version)
    assert response.content == b""


async def test_metadata_of_a_version(gateway: MemoryGateway) -> None:
    response = await get(gateway, f"{TABLE}/metadata?version=0")
    assert kinds(response) == ["protocol", "metaData"]
    assert response.headers["delta-table-version"] == "0"


async def test_a_query_of_a_snapshot(gateway: MemoryGateway) -> None:
    assert kinds(await post(gateway, f"{TABLE}/query")) == ["protocol", "metaData", "file", "file"]
    delta = {"delta-sharing-capabilities": "responseformat=delta"}
    response = await post(gateway, f"{TABLE}/query", {"version": 0}, headers=delta)
    assert kinds(response) == ["protocol", "metaData", "file"]
    assert response.headers["delta-sharing-capabilities"] == "responseformat=delta"


async def test_a_stream_and_a_feed(gateway: MemoryGateway) -> None:
    stream = await post(gateway, f"{TABLE}/query", {"startingVersion": 1})
    assert kinds(stream) == ["protocol", "metaData", "add"]
    feed = await get(gateway, f"{TABLE}/changes?startingVersion=0")
    assert kinds(feed) == ["protocol", "metaData", "add", "add"]
    assert feed.headers["delta-table-version"] == "0"


ASYNC = {"delta-sharing-capabilities": "asyncquery=true"}


async def test_a_slow_query_can_be_polled(gateway: MemoryGateway) -> None:
    served = routes(gateway, 0.01)
    gateway.format.closed = asyncio.Event()
    body = {"idempotencyKey": "k"}
    pending = await send(served, "POST", f"{TABLE}/query", body, headers=ASYNC)
    assert kinds(pending) == ["queryStatus"]
    query_id = pending.json()["queryStatus"]["queryId"]
    gateway.format.closed.set()
    done = await send(served, "POST", f"{TABLE}/queries/{query_id}", {"maxFiles": 1}, headers=ASYNC)
    assert kinds(done) == ["protocol", "metaData", "file", "endStreamAction"]
    elsewhere = f"{SHARE}/schemas/eu/tables/other/queries/{query_id}"
    assert (await send(served, "POST", elsewhere, {})).status_code == 404


async def test_a_client_that_cannot_poll_waits(gateway: MemoryGateway) -> None:
    gateway.format.closed = asyncio.Event()
    pending = asyncio.create_task(send(routes(gateway, 0.001), "POST", f"{TABLE}/query", {}))
    await asyncio.sleep(0.02)
    assert not pending.done()
    gateway.format.closed.set()
    assert kinds(await pending) == ["protocol", "metaData", "file", "file"]


@pytest.mark.parametrize(
    ("method", "path", "body", "says"),
    [
        ("GET", "metadata?version=x", None, "version must be a whole number"),
        ("GET", "metadata?version=0&timestamp=2024-01-01T00:00:00Z", None, "only one of"),
        ("GET", "version?startingTimestamp=now", None, "startingTimestamp must be"),
        ("GET", "changes", None, "startingVersion or startingTimestamp must be given"),
        ("POST", "query", b"{", "the body is not JSON"),
        ("POST", "query", b"[]", "the body must be a JSON object"),
        ("POST", "query", {"maxFiles": 0}, "maxFiles must be between"),
        ("POST", "query", {"startingVersion": -1}, "startingVersion must be between"),
        ("POST", "queries/x", {"maxFiles": 0}, "maxFiles must be between"),
        ("POST", "temporary-table-credentials", {"location": 1}, "location must be a string"),
    ],
)
async def test_a_request_that_is_not_valid_reads_nothing(
    gateway: MemoryGateway, method: str, path: str, body: Any, says: str
) -> None:
    response = await send(routes(gateway), method, f"{TABLE}/{path}", body)
    assert (response.status_code, says in response.json()["message"]) == (400, True), response.text
    assert gateway.format.read == []


@pytest.mark.parametrize("path", ["metadata", "query", "changes?startingVersion=0", "queries/x"])
async def test_an_unknown_choice_of_file_ids_is_rejected(gateway: MemoryGateway, path: str) -> None:
    method = "POST" if path.startswith("quer") else "GET"
    headers = {"fileidhash": "crc32"}
    response = await send(routes(gateway), method, f"{TABLE}/{path}", headers=headers)
    assert (response.status_code, "fileidhash" in response.json()["message"]) == (400, True)


@pytest.mark.parametrize("path", ["query", "queries/x", "temporary-table-credentials"])
async def test_a_body_has_a_limit(gateway: MemoryGateway, path: str) -> None:
    response = await post(gateway, f"{TABLE}/{path}", b" " * (MAX_BODY + 1))
    assert (response.status_code, response.json()["errorCode"]) == (413, "REQUEST_TOO_LARGE")
