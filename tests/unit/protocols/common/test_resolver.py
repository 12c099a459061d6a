"""Names become opened tables, within what grants and policies allow, and errors name only the table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from support.gateways.in_memory import InMemory, ListedCatalog, Restricted
from support.gateways.memory_grants import ACME, MemoryGrants
from support.gateways.memory_instances import LAKE

from sluicegate.api import (
    CatalogTable,
    NotFound,
    PermissionDenied,
    Policy,
    Principal,
    Schema,
    Share,
    SharedSchemaSource,
    SharedTable,
    SluicegateError,
    Unauthenticated,
    Unavailable,
    UnsupportedOperation,
)
from sluicegate.protocols.common.resolver import Resolver
from sluicegate_testing.fakes import MemoryVendor

SHARE = Share("s1", "sales")
DECLARED = Schema("d", SHARE, "eu")
WHOLE = Schema("w", SHARE, "us", source=SharedSchemaSource("main", "us"))
ORDERS = SharedTable(
    "1", "sales", "s1", "eu", "orders", "main", "eu.orders", access_modes=("url", "dir")
)
SECRET = replace(ORDERS, id="2", name="secret", identifier="eu.secret")
EVIL = Principal("r2", "evil", "bearer")


def located(name: str, **options: Any) -> CatalogTable:
    return CatalogTable(**{"id": name, "format": "delta", "location": f"{LAKE}/{name}", **options})


def gateway(orders: CatalogTable | None = None, policies: tuple[Policy, ...] = ()) -> InMemory:
    """The share `sales` with a declared schema, and one that is shared as a whole."""
    tables: Mapping[str, CatalogTable] = {"orders": orders or located("orders")}
    catalog = ListedCatalog({"eu": tables, "us": {"visits": located("visits")}})
    grants = MemoryGrants([SHARE], [DECLARED, WHOLE], {"d": [ORDERS, SECRET]})
    return InMemory({"main": catalog}, grants, policies=policies)


async def test_schemas_and_tables_are_declared_or_listed() -> None:
    resolver: Resolver = gateway().resolver
    assert await resolver.schemas(ACME, "sales") == [DECLARED, WHOLE]
    assert await resolver.schema(ACME, "sales", "US") == WHOLE
    assert await resolver.tables(DECLARED) == [ORDERS, SECRET]
    assert [table.name for table in await resolver.tables(WHOLE)] == ["visits"]
    every = [table.name for table in await resolver.all_tables(ACME, "sales")]
    assert every == ["orders", "secret", "visits"]


@pytest.mark.parametrize(("schema", "name"), [("EU", "Orders"), ("us", "VISITS")])
async def test_a_table_is_found_in_any_capitalization(schema: str, name: str) -> None:
    found = await gateway().resolver.table(ACME, "SALES", schema, name)
    assert found.name == name.lower()


@pytest.mark.parametrize(
    ("principal", "schema", "name"),
    [
        (ACME, "eu", "nothing"),
        (ACME, "us", "nothing"),
        (ACME, "asia", "orders"),
        (EVIL, "eu", "orders"),
    ],
)
async def test_a_table_that_is_not_there_is_not_found(
    principal: Principal, schema: str, name: str
) -> None:
    with pytest.raises(NotFound, match="there is no"):
        await gateway().resolver.table(principal, "sales", schema, name)


async def test_a_table_that_a_policy_hides_does_not_exist() -> None:
    resolver = gateway(policies=(Restricted(),)).resolver
    with pytest.raises(NotFound, match=r"there is no table 'secret' in sales\.eu"):
        await resolver.table(ACME, "sales", "eu", "secret")
    assert await resolver.shown(ACME, [ORDERS, SECRET]) == [ORDERS]
    [narrowed] = await resolver.narrowed(ACME, [ORDERS])
    assert narrowed.access_modes == ("url",)


async def test_credentials_that_a_policy_denies_are_refused() -> None:
    resolver = gateway(policies=(Restricted(),)).resolver
    assert await resolver.table(ACME, "sales", "eu", "orders") == ORDERS
    with pytest.raises(PermissionDenied, match=r"no temporary credentials for sales\.eu\.orders"):
        await resolver.table(ACME, "sales", "eu", "orders", "vend")
    with pytest.raises(NotFound):
        await resolver.table(ACME, "sales", "eu", "secret", "vend")


async def test_an_opened_table_has_its_storage_and_directory() -> None:
    made = gateway()
    opened = await made.resolver.open(ACME, ORDERS)
    assert (opened.principal, opened.shared, opened.source) == (ACME, ORDERS, located("orders"))
    assert (opened.storage, opened.directory.prefix) == (made.storage, "orders")
    assert opened.credentials is None


async def test_a_table_is_opened_at_the_branch_that_is_shared() -> None:
    table = located("orders", format="iceberg", refs=frozenset(("audit", "main")))
    opened = await gateway(table).resolver.open(ACME, replace(ORDERS, ref="audit"))
    assert opened.source == replace(table, ref="audit")
    assert (await gateway(table).resolver.open(ACME, ORDERS)).source == table


@pytest.mark.parametrize(
    ("source", "expected", "message"),
    [
        (located("orders"), UnsupportedOperation, "tables of format 'delta' have none"),
        (
            located("orders", format="iceberg", refs=frozenset(("main",))),
            NotFound,
            "the branch or tag at which the table is shared does not exist",
        ),
    ],
)
async def test_a_branch_that_the_table_does_not_have_is_refused(
    source: CatalogTable, expected: type[SluicegateError], message: str
) -> None:
    with pytest.raises(expected, match=message):
        await gateway(source).resolver.locate(replace(ORDERS, ref="audit"))


@pytest.mark.parametrize("location", ["mem://lake/orders", "mem://lake/orders/", f"{LAKE}/orders/"])
async def test_storage_gets_locations_below_its_prefix_in_whatever_form_they_are_listed(
    location: str,
) -> None:
    opened = await gateway(located("orders", location=location)).resolver.open(ACME, ORDERS)
    assert opened.directory.prefix == "orders"


async def test_a_catalog_that_vends_opens_its_tables_with_its_credentials() -> None:
    vendor = MemoryVendor()
    made = gateway(located("orders", vendor=vendor))
    opened = await made.resolver.open(ACME, ORDERS)
    [vended] = vendor.answered
    assert opened.credentials == vended
    assert made.storage.vendor.scopes == []


@pytest.mark.parametrize(
    ("shared", "source", "expected", "message"),
    [
        (replace(ORDERS, identifier="eu.gone"), None, NotFound, "sales.eu.orders no longer exists"),
        (replace(ORDERS, catalog="gone"), None, NotFound, "sales.eu.orders no longer exists"),
        (ORDERS, located("orders", location="s3://db-7/t"), Unavailable, "must fix the gateway's"),
    ],
)
async def test_errors_name_only_the_table(
    shared: SharedTable, source: CatalogTable | None, expected: type[NotFound], message: str
) -> None:
    with pytest.raises(expected, match=message) as refused:
        await gateway(source).resolver.open(ACME, shared)
    assert "gone" not in refused.value.message
    assert "db-7" not in refused.value.message
    assert refused.value.detail


@pytest.mark.parametrize("kind", [PermissionDenied, Unauthenticated])
async def test_a_catalog_that_denies_the_gateway_denies_no_recipient(
    kind: type[SluicegateError],
) -> None:
    made = gateway()
    catalog = made.instances.catalog("main")
    assert isinstance(catalog, ListedCatalog)
    catalog.failure = kind("role gw lacks SELECT", detail="db-7")
    with pytest.raises(Unavailable, match=r"table sales\.eu\.orders denies") as refused:
        await made.resolver.open(ACME, ORDERS)
    assert "gw" not in refused.value.message.split()
    assert refused.value.detail == "role gw lacks SELECT [db-7]"


async def test_a_catalog_that_is_down_is_temporary() -> None:
    made = gateway()
    catalog = made.instances.catalog("main")
    assert isinstance(catalog, ListedCatalog)
    catalog.failure = Unavailable("down")
    with pytest.raises(Unavailable, match="down"):
        await made.resolver.locate(ORDERS)
    assert [table.name for table in await made.resolver.all_tables(ACME, "sales")] == [
        *("orders", "secret")
    ]
