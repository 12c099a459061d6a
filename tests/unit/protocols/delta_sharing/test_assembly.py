"""The protocol as a gateway serves it: all routes, one pipeline, a key for each purpose."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx
import pytest
from starlette.routing import Route
from support.gateways.memory_client import send
from support.gateways.memory_gateway import (
    KEYS,
    MemoryGateway,
    catalog_table,
    memory_gateway,
    shared_table,
)
from support.gateways.memory_instances import SigningStorage
from support.gateways.memory_sharing import remaining_lifetime
from support.gateways.parts import gateway_parts
from support.tables.memory_tables import WITH_VECTORS, MemoryFormat, file, snapshot

from sluicegate.config import Settings
from sluicegate.protocols.delta_sharing import assembly
from sluicegate.protocols.delta_sharing.assembly import lazy_pipeline, sharing_routes
from sluicegate.signing.keyring import KeyRing
from sluicegate.tables.derived_files import DERIVED, DerivedFile

SHARE = "/delta-sharing/shares/sales"
TABLE = f"{SHARE}/schemas/eu/tables/orders"
GENERATED = DerivedFile.of(b"rows", "recipe")
VECTOR = {"storageType": DERIVED, "pathOrInlineDv": str(GENERATED), "cardinality": 1}
FEATURES = "responseformat=delta;readerfeatures=deletionvectors"
DELTA = {"delta-sharing-capabilities": FEATURES}
OTHER_KEYS = KeyRing((b"n" * 32,))


@pytest.fixture
def gateway() -> MemoryGateway:
    """A table in S3 with a deletion vector that its format generates."""
    rows = [file("a"), file("b", deletion_vector=VECTOR)]
    return memory_gateway(
        shared_table(access_modes=("url", "dir")),
        format=MemoryFormat([snapshot(*rows, protocol=WITH_VECTORS)], generated={"recipe": b"rows"}),
        sources=[catalog_table(format="delta", location="s3://lake/orders")],
        storage=SigningStorage("s3://lake/"),
    )


def routes(gateway: MemoryGateway, keys: KeyRing = KEYS, **sections: Any) -> list[Route]:
    parts = gateway_parts(gateway, Settings.model_validate(sections), keys=keys)
    return sharing_routes(parts, lazy_pipeline(parts))


def end_of(response: httpx.Response) -> dict[str, Any]:
    assert response.status_code == 200, response.text
    end: dict[str, Any] = json.loads(response.text.splitlines()[-1])["endStreamAction"]
    return end


def test_tokens_for_hadoop_and_derived_files_are_routes_too(gateway: MemoryGateway) -> None:
    paths = [route.path for route in routes(gateway)]
    table = "/delta-sharing/shares/{share}/schemas/{schema}/tables/{table}"
    assert len(paths) == len(set(paths)) == 14 + 15  # 15 are those of other assets
    assert paths[12:14] == [f"{table}/hadoop-delegation-token", "/content/~derived/{link}"]


async def test_the_pipeline_is_built_once_when_it_is_needed(
    gateway: MemoryGateway, same_allocators: list[str]
) -> None:
    served = routes(gateway)
    await send(served, "GET", TABLE)
    await send(served, "POST", f"{TABLE}/temporary-table-credentials", {})
    assert same_allocators == []
    for _ in range(2):
        response = await send(served, "POST", f"{TABLE}/query", headers=DELTA)
        assert response.status_code == 200, response.text
    assert same_allocators == ["pipeline"]


async def test_a_directory_that_only_the_log_knows_is_read_by_the_pipeline(
    gateway: MemoryGateway, same_allocators: list[str]
) -> None:
    elsewhere = {"location": "s3://lake/other"}
    response = await send(routes(gateway), "POST", f"{TABLE}/temporary-table-credentials", elsewhere)
    assert (response.status_code, same_allocators) == (400, ["pipeline"])
    assert gateway.format.read == ["latest"]


@pytest.mark.usefixtures("same_allocators")
async def test_links_of_responses_are_served(gateway: MemoryGateway) -> None:
    served = routes(gateway, public_url="https://gateway.example")
    response = await send(served, "POST", f"{TABLE}/query", headers=DELTA)
    line = json.loads(response.text.splitlines()[-1])
    url = line["file"]["deltaSingleAction"]["add"]["deletionVector"]["pathOrInlineDv"]
    assert url.startswith("https://gateway.example/content/~derived/")
    fetched = await send(served, "GET", url, recipient=None)
    assert (fetched.status_code, fetched.content) == (200, b"rows")
    assert (await send(routes(gateway, OTHER_KEYS), "GET", url)).status_code == 403


@pytest.mark.usefixtures("same_allocators")
@pytest.mark.parametrize(("keys", "status"), [(KEYS, 200), (OTHER_KEYS, 400)])
async def test_any_replica_continues_pages(gateway: MemoryGateway, keys: KeyRing, status: int) -> None:
    body = {"maxFiles": 1}
    first = await send(routes(gateway), "POST", f"{TABLE}/query", body, headers=DELTA)
    body["pageToken"] = end_of(first)["nextPageToken"]
    later = await send(routes(gateway, keys), "POST", f"{TABLE}/query", body, headers=DELTA)
    assert later.status_code == status
    listing = await send(routes(gateway), "GET", f"{SHARE}/all-tables?maxResults=0")
    token = listing.json()["nextPageToken"]
    path = f"{SHARE}/all-tables?pageToken={token}"
    assert (await send(routes(gateway, keys), "GET", path)).status_code == status


@pytest.mark.usefixtures("same_allocators")
async def test_a_slow_query_is_pending_after_the_threshold(gateway: MemoryGateway) -> None:
    gateway.format.closed = asyncio.Event()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(assembly, "ASYNC_QUERY_THRESHOLD", 0.001)
        served = routes(gateway)
    headers = {"delta-sharing-capabilities": f"asyncquery=true;{FEATURES}"}
    body = {"idempotencyKey": "k"}
    pending = await send(served, "POST", f"{TABLE}/query", body, headers=headers)
    query_id = pending.json()["queryStatus"]["queryId"]
    gateway.format.closed.set()
    path = f"{TABLE}/queries/{query_id}"
    done = await send(routes(gateway), "POST", path, {}, headers=headers)
    assert '"file"' in done.text
    assert (await send(routes(gateway, OTHER_KEYS), "POST", path, {})).status_code == 404


@pytest.mark.usefixtures("same_allocators")
@pytest.mark.parametrize(("keys", "is_known"), [(KEYS, True), (OTHER_KEYS, False)])
async def test_any_replica_knows_hadoop_tokens(
    gateway: MemoryGateway, keys: KeyRing, is_known: bool
) -> None:
    path = f"{TABLE}/hadoop-delegation-token"
    (first,) = (await send(routes(gateway), "POST", path, {})).json()["tokens"]
    shown = {"tokens": [first["token"]]}
    (again,) = (await send(routes(gateway, keys), "POST", path, shown)).json()["tokens"]
    assert again["bonded"] is is_known


@pytest.mark.usefixtures("same_allocators")
@pytest.mark.parametrize(
    "path", ["query", "queries/x", "temporary-table-credentials", "hadoop-delegation-token"]
)
async def test_bodies_have_the_configured_limit(gateway: MemoryGateway, path: str) -> None:
    served = routes(gateway, limits={"request_body": {"sharing": 1024}})
    for size, is_too_large in ((1024, False), (1025, True)):
        response = await send(served, "POST", f"{TABLE}/{path}", b" " * size)
        assert (response.status_code == 413) is is_too_large


@pytest.mark.usefixtures("same_allocators")
async def test_page_tokens_are_valid_for_an_hour(gateway: MemoryGateway) -> None:
    served = routes(gateway)
    listing = await send(served, "GET", f"{SHARE}/all-tables?maxResults=0")
    query = await send(served, "POST", f"{TABLE}/query", {"maxFiles": 1}, headers=DELTA)
    for token in (listing.json()["nextPageToken"], end_of(query)["nextPageToken"]):
        assert remaining_lifetime(token) == pytest.approx(3600, abs=30)
