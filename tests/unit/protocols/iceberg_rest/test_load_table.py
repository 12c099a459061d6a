"""What a loaded table contains: its metadata, and credentials if they are requested."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from starlette.datastructures import Headers
from support.gateways.iceberg_in_memory import METADATA, IcebergInMemory, located, shared
from support.gateways.memory_grants import ACME
from support.gateways.memory_instances import LAKE

from sluicegate.api import InvalidRequest, Principal, SharedTable, Unauthenticated, Unavailable
from sluicegate.protocols.iceberg_rest.errors import NoSuchTable
from sluicegate.protocols.iceberg_rest.load_table import LoadRequest, TableLoader

ORDERS = shared("orders")
VENDED, PLAIN = LoadRequest(True, False), LoadRequest(False, False)
SECRETS = {"s3.access-key-id", "s3.secret-access-key", "s3.session-token"}


@pytest.fixture
async def iceberg() -> IcebergInMemory:
    made = IcebergInMemory()
    await made.put("orders")
    return made


async def load(made: IcebergInMemory, request: LoadRequest) -> dict[str, Any]:
    """A load as clients see it."""
    loaded: dict[str, Any] = orjson.loads(orjson.dumps(await made.vended.load(ACME, ORDERS, request)))
    return loaded


@pytest.mark.parametrize(
    ("header", "credentials", "signing", "others"),
    [
        (None, False, False, False),
        ("", False, False, False),
        ("something-new", False, False, True),
        ("something-new,vended-credentials", True, False, False),
        ("vended-credentials", True, False, False),
        ("remote-signing", False, True, False),
        ("remote-signing,vended-credentials", True, True, False),
        (" vended-credentials , remote-signing", True, True, False),
    ],
)
def test_access_is_requested_by_a_header(
    header: str | None, credentials: bool, signing: bool, others: bool
) -> None:
    headers = Headers({} if header is None else {"x-iceberg-access-delegation": header})
    assert LoadRequest.parse(headers, {}) == LoadRequest(credentials, False, signing, others)


@pytest.mark.parametrize(("value", "expected"), [("all", False), ("", False), ("refs", True)])
def test_snapshots_are_requested_by_a_parameter(value: str, expected: bool) -> None:
    assert LoadRequest.parse({}, {"snapshots": value}) == LoadRequest(False, expected)


@pytest.mark.parametrize("value", ["some", "ALL"])
def test_unknown_sets_of_snapshots_are_refused(value: str) -> None:
    with pytest.raises(InvalidRequest, match="snapshots must be all or refs"):
        LoadRequest.parse({}, {"snapshots": value})


async def test_a_load_without_credentials_vends_none(iceberg: IcebergInMemory) -> None:
    assert await load(iceberg, PLAIN) == {
        "metadata-location": f"{LAKE}/orders/metadata/v1.json",
        "metadata": METADATA,
        "config": {},
    }
    assert iceberg.made.ledger.written == []


async def test_a_load_with_credentials_says_where_new_ones_are(iceberg: IcebergInMemory) -> None:
    loaded = await load(iceberg, VENDED)
    config = loaded["config"]
    refresh = config.pop("client.refresh-credentials-endpoint")
    assert refresh == "v1/shares/sales/namespaces/eu/tables/orders/credentials"
    assert config.keys() > SECRETS
    assert loaded["storage-credentials"] == [{"prefix": f"{LAKE}/orders", "config": config}]
    assert await iceberg.vended.credentials(ACME, ORDERS) == {
        "storage-credentials": loaded["storage-credentials"]
    }


async def test_issued_credentials_are_in_the_ledger(iceberg: IcebergInMemory) -> None:
    await load(iceberg, VENDED)
    [entry] = iceberg.made.ledger.written
    assert (entry.kind, entry.recipient, entry.table) == ("iceberg-config", "acme", "orders")
    assert entry.locations == (f"{LAKE}/orders",)


async def test_one_set_of_credentials_is_for_all_directories(iceberg: IcebergInMemory) -> None:
    iceberg.tables["orders"] = located("orders", auxiliary_locations=("mem://lake/data/orders",))
    [credential] = (await load(iceberg, VENDED))["storage-credentials"]
    [scope] = iceberg.made.storage.vendor.scopes
    assert scope.locations == (f"{LAKE}/orders", f"{LAKE}/data/orders")
    assert credential["prefix"] == f"{LAKE}/orders"


@pytest.mark.parametrize(
    ("auxiliary", "prefix"),
    [
        ([], f"{LAKE}/orders"),
        ([f"{LAKE}/data/orders"], LAKE),
        ([f"{LAKE}/orders/data"], f"{LAKE}/orders"),
        ([f"{LAKE}/orders2"], LAKE),
    ],
)
async def test_the_prefix_is_the_deepest_common_directory(
    iceberg: IcebergInMemory, auxiliary: list[str], prefix: str
) -> None:
    iceberg.tables["orders"] = located("orders", auxiliary_locations=tuple(auxiliary))
    [credential] = (await load(iceberg, VENDED))["storage-credentials"]
    assert credential["prefix"] == prefix


async def test_only_referenced_snapshots_are_loaded_if_requested(iceberg: IcebergInMemory) -> None:
    async def numbers(request: LoadRequest) -> list[int]:
        snapshots = (await load(iceberg, request))["metadata"]["snapshots"]
        return [each["snapshot-id"] for each in snapshots]

    assert await numbers(LoadRequest(False, False)) == [1, 2, 3]
    assert await numbers(LoadRequest(False, True)) == [1, 3]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (shared("gone"), "the table sales.eu.gone no longer exists"),
        (shared("plain"), "sales.eu.plain is not offered .*: it has no Iceberg metadata"),
        (shared("orders", access_modes=("url",)), "not offered .*: it is not shared with directory"),
        (shared("orders", partition_filter="a = 1"), "not offered .*: only a part of it is shared"),
    ],
)
async def test_a_table_that_is_not_offered_is_not_found_and_its_files_are_not_read(
    iceberg: IcebergInMemory, table: SharedTable, message: str
) -> None:
    for attempt in (
        iceberg.vended.find(table),
        iceberg.vended.load(ACME, table, VENDED),
        iceberg.vended.credentials(ACME, table),
    ):
        with pytest.raises(NoSuchTable, match=message):
            await attempt
    assert iceberg.made.storage.vendor.scopes == []


async def test_a_catalog_that_is_down_is_not_a_missing_table(iceberg: IcebergInMemory) -> None:
    iceberg.catalog.failure = Unavailable("down")
    with pytest.raises(Unavailable):
        await load(iceberg, PLAIN)


async def test_a_revoked_recipient_gets_no_credentials(iceberg: IcebergInMemory) -> None:
    revoked = Principal("r9", "evil", "bearer")  # its record has another id
    with pytest.raises(Unauthenticated):
        await iceberg.vended.load(revoked, ORDERS, VENDED)


async def test_a_vendor_that_fails_is_private(iceberg: IcebergInMemory) -> None:
    iceberg.made.storage.vendor.failure = RuntimeError("with a secret of the upstream")
    with pytest.raises(Unavailable) as refused:
        await load(iceberg, VENDED)
    assert "upstream" not in f"{refused.value.message} {refused.value.detail}"


NEITHER = LoadRequest(False, False)
CREDENTIALS = LoadRequest(True, False)
SIGNING = LoadRequest(False, False, with_signing=True)
BOTH = LoadRequest(True, False, with_signing=True)
REQUESTS = (NEITHER, CREDENTIALS, SIGNING, BOTH)


@pytest.mark.parametrize(
    ("request_", "by_credentials"),
    [(NEITHER, True), (CREDENTIALS, True), (BOTH, True), (SIGNING, False)],
)
async def test_a_table_shared_both_ways_is_loaded_as_the_client_prefers(
    iceberg: IcebergInMemory, request_: LoadRequest, by_credentials: bool
) -> None:
    orders = shared("orders")
    assert iceberg.loader.by_credentials(orders, located("orders"), request_) is by_credentials
    loaded = await iceberg.loader.load(ACME, orders, request_)
    assert (loaded["config"].get("by") == "file") is not by_credentials


@pytest.mark.parametrize("request_", REQUESTS)
async def test_a_table_that_is_only_shared_by_url_is_loaded_file_by_file(
    iceberg: IcebergInMemory, request_: LoadRequest
) -> None:
    by_url = shared("by_url", access_modes=("url",))
    assert (await iceberg.loader.load(ACME, by_url, request_))["config"]["by"] == "file"
    await iceberg.loader.check_planned(by_url, request_)


async def test_signing_is_refused_for_a_table_that_is_not_shared_by_url(
    iceberg: IcebergInMemory,
) -> None:
    orders = shared("orders", access_modes=("dir",))
    with pytest.raises(InvalidRequest, match="send X-Iceberg-Access-Delegation: vended-credentials"):
        await iceberg.loader.load(ACME, orders, SIGNING)
    assert iceberg.files.asked == []


@pytest.mark.parametrize("request_", REQUESTS)
async def test_a_table_without_any_way_is_not_offered_for_both_reasons(
    iceberg: IcebergInMemory, request_: LoadRequest
) -> None:
    plain = shared("plain", access_modes=("dir",))
    with pytest.raises(NoSuchTable, match="it has no Iceberg metadata, and it is not shared with"):
        await iceberg.loader.load(ACME, plain, request_)
    with pytest.raises(NoSuchTable):
        await iceberg.loader.check(ACME, plain)


async def test_scans_are_planned_only_for_clients_that_read_file_by_file(
    iceberg: IcebergInMemory,
) -> None:
    orders = shared("orders")
    await iceberg.loader.check_planned(orders, SIGNING)
    for request_ in (NEITHER, CREDENTIALS, BOTH):
        with pytest.raises(InvalidRequest, match="send X-Iceberg-Access-Delegation: remote-signing"):
            await iceberg.loader.check_planned(orders, request_)


async def test_a_check_reads_only_tables_that_are_loaded_file_by_file(iceberg: IcebergInMemory) -> None:
    await iceberg.loader.check(ACME, shared("orders"))
    assert iceberg.files.asked == []
    iceberg.files.obstacles["plain"] = "its column 'v' has the type variant"
    with pytest.raises(NoSuchTable, match="has the type variant"):
        await iceberg.loader.check(ACME, shared("plain"))


async def test_a_table_that_its_catalog_no_longer_has_does_not_exist(iceberg: IcebergInMemory) -> None:
    gone = shared("gone")
    loader: TableLoader = iceberg.loader
    for ask in (
        loader.load(ACME, gone, BOTH),
        loader.check(ACME, gone),
        loader.check_planned(gone, SIGNING),
    ):
        with pytest.raises(NoSuchTable):
            await ask
