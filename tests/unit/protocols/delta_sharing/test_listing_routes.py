"""Endpoints that list shares, schemas and tables, and what policies leave of them and of tables."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import httpx
import pytest
from support.gateways.memory_client import send
from support.gateways.memory_gateway import MemoryGateway, catalog_table, memory_gateway, shared_table
from support.gateways.memory_instances import LAKE
from support.gateways.memory_sharing import sharing_parts
from support.tables.memory_tables import MemoryFormat, file, snapshot

from sluicegate.api import Policy, PolicyAction, Principal, SharedTable
from sluicegate.protocols.delta_sharing.routes import SharingEndpoints

pytestmark = pytest.mark.usefixtures("same_allocators")
SHARES = "/delta-sharing/shares"
SHARE = f"{SHARES}/sales"
TABLES = f"{SHARE}/schemas/eu/tables"
TABLE = f"{TABLES}/orders"
LISTINGS = [SHARES, f"{SHARE}/schemas", TABLES, f"{SHARE}/schemas/us/tables", f"{SHARE}/all-tables"]


async def get(gateway: MemoryGateway, path: str) -> httpx.Response:
    return await send(SharingEndpoints(**sharing_parts(gateway)).routes(), "GET", path)


async def post(gateway: MemoryGateway, path: str, body: Any) -> httpx.Response:
    return await send(SharingEndpoints(**sharing_parts(gateway)).routes(), "POST", path, body)


@pytest.fixture
def gateway() -> MemoryGateway:
    """Tables in two schemas."""
    named = (("eu", "b"), ("eu", "A"), ("us", "C"), ("eu", "c"))
    return memory_gateway(*(replace(shared_table(name), schema=schema) for schema, name in named))


async def test_shares_and_schemas_are_listed(gateway: MemoryGateway) -> None:
    share = {"name": "sales", "id": "s1", "displayName": "Sales"}
    assert (await get(gateway, SHARES)).json() == {"items": [share]}
    assert (await get(gateway, SHARE)).json() == {"share": share}
    schemas = (await get(gateway, f"{SHARE}/schemas")).json()
    assert schemas["items"] == [
        {"name": name, "share": "sales", "id": f"schema-{name}"} for name in ("eu", "us")
    ]
    (table,) = (await get(gateway, f"{SHARE}/schemas/us/tables")).json()["items"]
    assert table == {
        "name": "C",
        "schema": "us",
        "share": "sales",
        "shareId": "s1",
        "id": "t-C",
    }


async def names(gateway: MemoryGateway, path: str, query: str = "") -> list[list[str]]:
    """The names on each page of a listing."""
    found: list[list[str]] = []
    token = ""
    while True:
        response = await get(gateway, f"{path}?maxResults=2{query}{token}")
        assert response.status_code == 200, response.text
        page = response.json()
        found.append([item["name"] for item in page["items"]])
        if "nextPageToken" not in page:
            return found
        token = f"&pageToken={page['nextPageToken']}"


async def test_listings_have_pages_in_the_order_of_names(gateway: MemoryGateway) -> None:
    assert await names(gateway, TABLES) == [["A", "b"], ["c"]]
    assert await names(gateway, f"{SHARE}/all-tables") == [["A", "b"], ["c", "C"]]
    assert await names(gateway, f"{SHARE}/schemas") == [["eu", "us"]]


@pytest.mark.parametrize("other", range(1, len(LISTINGS)))
async def test_a_token_of_one_listing_is_not_valid_for_another(
    gateway: MemoryGateway, other: int
) -> None:
    for path, wrong in zip(LISTINGS, [*LISTINGS[other:], *LISTINGS[:other]], strict=True):
        token = (await get(gateway, f"{path}?maxResults=0")).json()["nextPageToken"]
        assert (await get(gateway, f"{path}?pageToken={token}")).status_code == 200
        assert (await get(gateway, f"{wrong}?pageToken={token}")).status_code == 400


@pytest.mark.parametrize("path", LISTINGS)
async def test_a_listing_rejects_too_many_results(gateway: MemoryGateway, path: str) -> None:
    response = await get(gateway, f"{path}?maxResults=501")
    assert (response.status_code, response.json()["errorCode"]) == (400, "INVALID_PARAMETER_VALUE")


class Narrowing(Policy):
    """Hides the table `hidden`, and allows no credentials for the table `by_url`."""

    async def allowed(
        self, principal: Principal, action: PolicyAction, tables: frozenset[SharedTable]
    ) -> frozenset[SharedTable]:
        denied = {"hidden"} if action == "read" else {"hidden", "by_url"}
        return frozenset(table for table in tables if table.name not in denied)


@pytest.fixture
def narrowed() -> MemoryGateway:
    named = ("by_url", "hidden", "orders")
    return memory_gateway(
        *(shared_table(name, access_modes=("url", "dir")) for name in named),
        format=MemoryFormat([snapshot(file("a"))]),
        sources=[catalog_table(name, format="delta") for name in named],
        policy=Narrowing(),
    )


@pytest.mark.parametrize("listing", ["schemas/eu/tables", "all-tables"])
async def test_policies_narrow_listings(narrowed: MemoryGateway, listing: str) -> None:
    items = (await get(narrowed, f"{SHARE}/{listing}")).json()["items"]
    assert [(item["name"], item.get("location")) for item in items] == [
        ("by_url", None),
        ("orders", f"{LAKE}/orders"),
    ]


async def test_policies_narrow_tables(narrowed: MemoryGateway) -> None:
    assert (await get(narrowed, f"{TABLES}/hidden")).status_code == 404
    assert "location" not in (await get(narrowed, f"{TABLES}/by_url")).json()
    metadata = (await get(narrowed, f"{TABLES}/by_url/metadata")).text
    assert "accessModes" not in metadata
    assert (await get(narrowed, f"{TABLES}/orders")).json()["location"] == f"{LAKE}/orders"


async def test_credentials_are_not_stored_by_caches(narrowed: MemoryGateway) -> None:
    response = await post(narrowed, f"{TABLE}/temporary-table-credentials", {})
    assert (response.status_code, response.headers["cache-control"]) == (200, "private, no-store")
    credentials = response.json()["credentials"]
    assert credentials["location"] == f"{LAKE}/orders"
    assert credentials["awsTempCredentials"]["accessKeyId"] == "access-key-id-1"
    elsewhere = {"location": f"{LAKE}/by_url"}
    response = await post(narrowed, f"{TABLE}/temporary-table-credentials", elsewhere)
    assert (response.status_code, "is not a directory" in response.json()["message"]) == (400, True)


async def test_policies_deny_credentials(narrowed: MemoryGateway) -> None:
    path = f"{TABLES}/by_url/temporary-table-credentials"
    response = await post(narrowed, path, {})
    assert (response.status_code, response.json()["errorCode"]) == (403, "PERMISSION_DENIED")
    assert narrowed.storage.vendor.scopes == []
