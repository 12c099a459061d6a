"""Tests with a real catalog: that of SeaweedFS, whose credentials cover one table and expire."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass

import anyio
import obstore
import pyarrow as pa
import pytest
import pytest_asyncio
from obstore.exceptions import BaseError
from obstore.store import S3Store
from pyiceberg.catalog.rest import RestCatalog

from sluicegate.api import CatalogTable, NotFound, Principal, Scope, TemporaryCredentials, Unavailable
from sluicegate_iceberg.catalog import IcebergCatalog
from sluicegate_iceberg.config import IcebergConfig
from sluicegate_testing.fakes import FakeContext
from sluicegate_testing.servers.seaweedfs import Identity, SeaweedFS

WAREHOUSE = "warehouse"
SESSION_SECONDS = 6


@dataclass(frozen=True)
class Lake:
    """Start the server, with a table that PyIceberg created in each of two nested namespaces."""

    server: SeaweedFS
    written: RestCatalog

    def connect(self, identity: Identity) -> IcebergCatalog:
        oauth2 = {"client_id": identity.access_key_id, "client_secret": identity.secret_access_key}
        section = {"uri": self.server.iceberg_uri, "warehouse": WAREHOUSE, "oauth2": oauth2}
        return IcebergCatalog.configured(IcebergConfig.model_validate(section), FakeContext("lake"))


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    directory = tmp_path_factory.mktemp("seaweedfs")
    with SeaweedFS.start(directory, session_seconds=SESSION_SECONDS, warehouse=WAREHOUSE) as server:
        admin = server.admin
        written = RestCatalog(
            "written",
            uri=server.iceberg_uri,
            warehouse=WAREHOUSE,
            credential=f"{admin.access_key_id}:{admin.secret_access_key}",
            **{"oauth2-server-uri": f"{server.iceberg_uri}/v1/oauth/tokens"},
        )
        for namespace in (("eu",), ("eu", "north")):
            written.create_namespace(namespace)
            rows = pa.table({"id": [1, 2, 3]})
            written.create_table((*namespace, "orders"), schema=rows.schema).append(rows)
        yield Lake(server, written)


@pytest_asyncio.fixture
async def catalog(lake: Lake) -> AsyncIterator[IcebergCatalog]:
    connected = lake.connect(lake.server.admin)
    yield connected
    await connected.aclose()


async def test_what_pyiceberg_created_is_listed(catalog: IcebergCatalog) -> None:
    assert await catalog.list_schemas() == ["eu", "eu.north"]
    assert await catalog.list_tables("eu") == ["orders"]
    assert await catalog.list_tables("eu.north") == ["orders"]


async def test_a_table_is_where_pyiceberg_sees_it(lake: Lake, catalog: IcebergCatalog) -> None:
    theirs = lake.written.load_table(("eu", "north", "orders"))
    ours = await catalog.load_table("eu.north.orders")
    assert (ours.id, ours.location, ours.metadata_location, ours.format) == (
        str(theirs.metadata.table_uuid),
        theirs.location(),
        theirs.metadata_location,
        "iceberg",
    )


async def test_a_commit_is_seen_and_the_table_stays_the_same(
    lake: Lake, catalog: IcebergCatalog
) -> None:
    before = await catalog.load_table("eu.orders")
    lake.written.load_table("eu.orders").append(pa.table({"id": [4]}))
    after = await catalog.load_table("eu.orders")
    assert (after.id, after.vendor) == (before.id, before.vendor)
    assert after.metadata_location != before.metadata_location


async def test_a_table_created_anew_is_another_one(lake: Lake, catalog: IcebergCatalog) -> None:
    schema = pa.schema([("id", pa.int64())])
    ids = []
    for _ in range(2):
        lake.written.create_table("eu.passing", schema=schema)
        ids.append((await catalog.load_table("eu.passing")).id)
        lake.written.drop_table("eu.passing")
    assert ids[0] != ids[1]
    with pytest.raises(NotFound):
        await catalog.load_table("eu.passing")


async def test_vended_credentials_open_their_table_and_no_other(
    lake: Lake, catalog: IcebergCatalog
) -> None:
    table, other = [await catalog.load_table(name) for name in ("eu.orders", "eu.north.orders")]
    store = opened(await vended(table))
    assert readable(store, table)
    assert not readable(store, other)


async def test_ended_credentials_are_replaced_without_asking_for_the_table_again(
    catalog: IcebergCatalog,
) -> None:
    table = await catalog.load_table("eu.orders")
    first = await vended(table)
    assert first.expires_at is not None
    assert readable(opened(first), table)
    await anyio.sleep(first.expires_at / 1000 - time.time() + 1)
    assert not readable(opened(first), table)
    assert readable(opened(await vended(table)), table)


async def test_a_recipient_without_access_receives_nothing(lake: Lake) -> None:
    catalog = lake.connect(lake.server.nobody)
    with pytest.raises(Unavailable):
        await catalog.list_schemas()
    for question in (catalog.list_tables("eu"), catalog.load_table("eu.orders")):
        with pytest.raises(NotFound):
            await question
    await catalog.aclose()


async def test_a_wrong_secret_is_no_reason_to_say_that_tables_are_gone(lake: Lake) -> None:
    unknown = Identity.invent("unknown")
    catalog = lake.connect(unknown)
    with pytest.raises(Unavailable) as raised:
        await catalog.load_table("eu.orders")
    assert unknown.secret_access_key not in f"{raised.value} {raised.value.detail}"
    await catalog.aclose()


async def vended(table: CatalogTable) -> TemporaryCredentials:
    assert table.vendor is not None
    return await table.vendor.vend(Scope((table.location,), 3600, Principal("1", "acme", "token")))


def opened(credentials: TemporaryCredentials) -> S3Store:
    """Return a store as a client creates it, only from the vended credentials."""
    secret, known = credentials.secret, credentials.connection
    return S3Store(
        WAREHOUSE,
        endpoint=known["endpoint"],
        region=known["region"],
        virtual_hosted_style_request=known["path_style"] != "true",
        access_key_id=secret["access_key_id"],
        secret_access_key=secret["secret_access_key"],
        session_token=secret["session_token"],
        client_options={"allow_http": True},
        retry_config={"max_retries": 0},
    )


def readable(store: S3Store, table: CatalogTable) -> bool:
    assert table.metadata_location is not None
    key = table.metadata_location.removeprefix(f"s3://{WAREHOUSE}/")
    try:
        return bool(obstore.get(store, key).bytes())
    except BaseError:
        return False
