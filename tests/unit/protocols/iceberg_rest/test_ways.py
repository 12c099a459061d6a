"""Which way a table is loaded in, by what the client prefers and what is shared."""

from __future__ import annotations

import pytest
from support.gateways.iceberg_in_memory import IcebergInMemory, located, shared
from support.gateways.memory_grants import ACME

from sluicegate.api import InvalidRequest
from sluicegate.protocols.iceberg_rest.errors import NoSuchTable
from sluicegate.protocols.iceberg_rest.loading import LoadRequest
from sluicegate.protocols.iceberg_rest.ways import TableWays

NEITHER = LoadRequest(False, False)
CREDENTIALS = LoadRequest(True, False)
SIGNING = LoadRequest(False, False, with_signing=True)
BOTH = LoadRequest(True, False, with_signing=True)
REQUESTS = (NEITHER, CREDENTIALS, SIGNING, BOTH)


@pytest.fixture
async def iceberg() -> IcebergInMemory:
    made = IcebergInMemory()
    await made.put("orders")
    return made


@pytest.mark.parametrize(
    ("request_", "by_credentials"),
    [(NEITHER, True), (CREDENTIALS, True), (BOTH, True), (SIGNING, False)],
)
async def test_a_table_shared_both_ways_is_loaded_as_the_client_prefers(
    iceberg: IcebergInMemory, request_: LoadRequest, by_credentials: bool
) -> None:
    orders = shared("orders")
    assert iceberg.ways.by_credentials(orders, located("orders"), request_) is by_credentials
    loaded = await iceberg.ways.load(ACME, orders, request_)
    assert (loaded["config"].get("by") == "file") is not by_credentials


@pytest.mark.parametrize("request_", REQUESTS)
async def test_a_table_that_is_only_shared_by_url_is_loaded_file_by_file(
    iceberg: IcebergInMemory, request_: LoadRequest
) -> None:
    by_url = shared("by_url", access_modes=("url",))
    assert (await iceberg.ways.load(ACME, by_url, request_))["config"]["by"] == "file"
    await iceberg.ways.check_planned(by_url, request_)


async def test_signing_is_refused_for_a_table_that_is_not_shared_by_url(
    iceberg: IcebergInMemory,
) -> None:
    orders = shared("orders", access_modes=("dir",))
    with pytest.raises(InvalidRequest, match="send X-Iceberg-Access-Delegation: vended-credentials"):
        await iceberg.ways.load(ACME, orders, SIGNING)
    assert iceberg.files.asked == []


@pytest.mark.parametrize("request_", REQUESTS)
async def test_a_table_without_any_way_is_not_offered_for_both_reasons(
    iceberg: IcebergInMemory, request_: LoadRequest
) -> None:
    plain = shared("plain", access_modes=("dir",))
    with pytest.raises(NoSuchTable, match="it has no Iceberg metadata, and it is not shared with"):
        await iceberg.ways.load(ACME, plain, request_)
    with pytest.raises(NoSuchTable):
        await iceberg.ways.check(ACME, plain)


async def test_scans_are_planned_only_for_clients_that_read_file_by_file(
    iceberg: IcebergInMemory,
) -> None:
    orders = shared("orders")
    await iceberg.ways.check_planned(orders, SIGNING)
    for request_ in (NEITHER, CREDENTIALS, BOTH):
        with pytest.raises(InvalidRequest, match="send X-Iceberg-Access-Delegation: remote-signing"):
            await iceberg.ways.check_planned(orders, request_)


async def test_a_check_reads_only_tables_that_are_loaded_file_by_file(iceberg: IcebergInMemory) -> None:
    await iceberg.ways.check(ACME, shared("orders"))
    assert iceberg.files.asked == []
    iceberg.files.obstacles["plain"] = "its column 'v' has the type variant"
    with pytest.raises(NoSuchTable, match="has the type variant"):
        await iceberg.ways.check(ACME, shared("plain"))


async def test_a_table_that_its_catalog_no_longer_has_does_not_exist(iceberg: IcebergInMemory) -> None:
    gone = shared("gone")
    ways: TableWays = iceberg.ways
    for ask in (
        ways.load(ACME, gone, BOTH),
        ways.check(ACME, gone),
        ways.check_planned(gone, SIGNING),
    ):
        with pytest.raises(NoSuchTable):
            await ask
