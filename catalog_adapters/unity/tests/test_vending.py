from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from sluicegate.api import (
    CredentialVendor,
    NotFound,
    PermissionDenied,
    Principal,
    Scope,
    StorageError,
    UnsupportedOperation,
)
from sluicegate_testing.servers.unity_catalog.unity import (
    UnityReply,
    UnityRequest,
    UnityServer,
    table_info,
)
from sluicegate_unity.catalog import UnityCatalog
from sluicegate_unity.client import UnityClient
from sluicegate_unity.config import UnityConfig
from sluicegate_unity.vending import CredentialDesk

from .conftest import Connected

S3 = "s3://lake/orders"
ADLS = "abfss://box@acme.dfs.core.windows.net/orders"
ENDS = 1_900_000_000_000
SESSION = {"access_key_id": "AK", "secret_access_key": "SK", "session_token": "ST"}
ROLE = {"aws_temp_credentials": SESSION, "expiration_time": ENDS}
KEYS = {"aws_temp_credentials": {**SESSION, "session_token": None}, "expiration_time": None}
BY_ID = "/temporary-table-credentials"
BY_NAME = "/tables/orders/credentials"
Lie = Callable[[UnityRequest], UnityReply | None]


def scope(*locations: str, binding: str | None = None) -> Scope:
    return Scope(locations, 900, Principal("r1", "acme", "bearer"), binding)


def register(unity: UnityServer, granted: dict[str, Any] | None, **changed: Any) -> str:
    info = table_info("main.eu.orders", S3, **changed)
    unity.state.add(info)
    if granted is not None:
        unity.state.credentials[info["table_id"]] = granted
    return str(info["storage_location"])


async def vendor_of(connected: Connected, **settings: Any) -> CredentialVendor | None:
    return (await connected(**settings).load_table("eu.orders")).vendor


@pytest.mark.parametrize("kind", ["EXTERNAL", "MANAGED"])
@pytest.mark.parametrize(
    ("location", "granted", "cloud", "secret", "connection"),
    [
        (S3, ROLE, "aws", SESSION, {}),
        (S3, KEYS, "aws", {"access_key_id": "AK", "secret_access_key": "SK"}, {}),
        (
            ADLS,
            {"azure_user_delegation_sas": {"sas_token": "sv=1&sig=2"}, "expiration_time": ENDS},
            "azure",
            {"sas_token": "sv=1&sig=2"},
            {"account": "acme"},
        ),
        (
            "gs://lake/orders",
            {"gcp_oauth_token": {"oauth_token": "ya29"}, "expiration_time": ENDS},
            "gcp",
            {"oauth_token": "ya29"},
            {},
        ),
    ],
)
async def test_the_catalogs_credentials_are_vended(
    unity: UnityServer,
    connected: Connected,
    kind: str,
    location: str,
    granted: dict[str, Any],
    cloud: str,
    secret: dict[str, str],
    connection: dict[str, str],
) -> None:
    register(unity, granted, table_type=kind, storage_location=location)
    vendor = await vendor_of(connected)
    assert vendor is not None
    given = await vendor.vend(scope(location))
    assert (given.location, given.kind, given.secret) == (location, cloud, secret)
    assert (given.expires_at, given.connection) == (granted["expiration_time"], connection)
    assert "SK" not in repr(given) + repr(vendor)
    assert unity.count(BY_ID) + unity.count(BY_NAME) == 1  # the credentials of the lookup are used


async def test_credentials_for_r2_are_vended_where_a_catalog_has_them(
    unity: UnityServer, connected: Connected
) -> None:
    bucket = "r2://lake@0123456789abcdef0123456789abcdef.r2.cloudflarestorage.com"
    granted = {"r2_temp_credentials": SESSION, "expiration_time": ENDS}
    register(unity, granted, storage_location=f"{bucket}/orders")
    vendor = await vendor_of(connected)
    assert vendor is not None
    given = await vendor.vend(scope(f"{bucket}/orders"))
    assert (given.kind, given.secret) == ("r2", SESSION)


@pytest.mark.parametrize(
    ("location", "granted", "settings"),
    [
        ("file:///lake/orders", None, {}),
        (S3, None, {}),  # 400: the bucket is not configured
        (S3, {}, {}),
        (S3, ROLE, {"credentials": "storage"}),
    ],
)
@pytest.mark.parametrize("kind", ["EXTERNAL", "MANAGED"])
async def test_where_the_catalog_has_none_the_storage_does_by_itself(
    unity: UnityServer,
    connected: Connected,
    kind: str,
    location: str,
    granted: dict[str, Any] | None,
    settings: dict[str, str],
) -> None:
    register(unity, granted, table_type=kind, storage_location=location)
    assert await vendor_of(connected, **settings) is None


@pytest.mark.parametrize(
    ("granted", "asks"),
    [(ROLE, 1), (None, 2)],  # once for a bucket; for each table without a bucket
)
async def test_who_vends_is_learnt_once(
    unity: UnityServer, connected: Connected, granted: dict[str, Any] | None, asks: int
) -> None:
    register(unity, granted)
    unity.state.add(table_info("main.eu.visits", "s3://lake/visits", 2))
    catalog = connected()
    found = [await catalog.load_table("eu.orders")]
    names = ["eu.orders", "eu.visits", "eu.orders"]
    found += await asyncio.gather(*(catalog.load_table(name) for name in names))
    assert {table.vendor is None for table in found} == {granted is None}
    assert unity.count(BY_ID) == asks


async def test_a_table_for_which_the_catalog_cannot_vend_leaves_its_neighbours_alone(
    unity: UnityServer, connected: Connected
) -> None:
    register(unity, ROLE)
    unity.state.add(table_info("main.eu.all", "s3://lake", 2))  # no prefix to limit credentials to
    catalog = connected()
    vendors = {name: (await catalog.load_table(f"eu.{name}")).vendor for name in ("all", "orders")}
    assert {name: vendor is None for name, vendor in vendors.items()} == {"all": True, "orders": False}


async def test_that_the_catalog_has_none_is_believed_for_ten_minutes(unity: UnityServer) -> None:
    register(unity, None)
    now = [0.0]
    client = UnityClient.configured("lake", UnityConfig.model_validate({"uri": unity.uri}))
    catalog = UnityCatalog(client, "main", CredentialDesk(client, lambda: now[0]))
    found = []
    for now[0] in (0.0, 599.0, 600.0):
        found.append((await catalog.load_table("eu.orders")).vendor is not None)
        register(unity, ROLE)  # corrected in the meantime
    await catalog.aclose()
    assert found == [False, False, True]


async def test_fixed_keys_are_not_handed_on_until_the_catalog_is_mended(unity: UnityServer) -> None:
    register(unity, KEYS)
    now = [0.0]
    client = UnityClient.configured("lake", UnityConfig.model_validate({"uri": unity.uri}))
    catalog = UnityCatalog(client, "main", CredentialDesk(client, lambda: now[0]))
    found = []
    for now[0] in (0.0, 599.0, 600.0):
        vendor = (await catalog.load_table("eu.orders")).vendor
        assert vendor is not None
        assert vendor.vends(S3)  # the gateway reads with them
        found.append((vendor.can_delegate(S3), unity.count(BY_ID)))
        register(unity, ROLE)  # corrected in the meantime
    await catalog.aclose()
    assert found == [(False, 1), (False, 1), (True, 2)]


async def test_what_is_vended_shows_whether_it_is_handed_on(
    unity: UnityServer, connected: Connected
) -> None:
    register(unity, ROLE)
    vendor = await vendor_of(connected)
    assert vendor is not None
    await vendor.vend(scope(S3))
    handed_on = [vendor.can_delegate(S3)]
    for granted in (KEYS, ROLE):
        register(unity, granted)
        await vendor.vend(scope(S3))
        handed_on.append(vendor.can_delegate(S3))
    assert handed_on == [True, False, True]
    assert not vendor.can_delegate("s3://lake/other")


async def test_what_nobody_used_within_a_minute_is_requested_again(unity: UnityServer) -> None:
    register(unity, ROLE)
    now = 0.0
    client = UnityClient.configured("lake", UnityConfig.model_validate({"uri": unity.uri}))
    catalog = UnityCatalog(client, "main", CredentialDesk(client, lambda: now))
    vendor = (await catalog.load_table("eu.orders")).vendor
    assert vendor is not None
    now = 60.0
    for count in (2, 3):
        await vendor.vend(scope(S3))
        assert unity.count(BY_ID) == count
    await catalog.aclose()


async def test_vendors_of_one_table_are_equal_and_of_two_are_not(
    unity: UnityServer, connected: Connected
) -> None:
    register(unity, ROLE)
    catalog = connected()
    first = (await catalog.load_table("eu.orders")).vendor
    register(unity, ROLE, comment="changed", properties={"a": "b"})
    assert (await catalog.load_table("eu.orders")).vendor == first
    assert hash((await catalog.load_table("eu.orders")).vendor) == hash(first)
    register(unity, ROLE, table_id="00000000-0000-0000-0000-000000000002")
    assert (await catalog.load_table("eu.orders")).vendor != first


async def test_a_failure_while_learning_is_reported_when_credentials_are_needed(
    unity: UnityServer, connected: Connected
) -> None:
    register(unity, ROLE)
    unity.instead = lambda asked: UnityReply(500) if asked.path.endswith(BY_ID) else None
    vendor = await vendor_of(connected)
    assert vendor is not None
    with pytest.raises(StorageError, match="vends no credentials"):
        await vendor.vend(scope(S3))
    unity.instead = None
    assert (await vendor.vend(scope(S3))).secret == SESSION


async def test_managed_tables_of_older_servers_are_requested_by_id(
    unity: UnityServer, connected: Connected
) -> None:
    unity.state.version = "0.4"
    register(unity, ROLE, table_type="MANAGED")
    vendor = await vendor_of(connected)
    assert vendor is not None
    assert (await vendor.vend(scope(S3))).secret == SESSION


async def test_managed_tables_are_never_requested_by_id_where_the_server_insists(
    unity: UnityServer, connected: Connected
) -> None:
    unity.state.delta_api_only = True
    register(unity, ROLE, table_type="MANAGED")
    vendor = await vendor_of(connected)
    assert vendor is not None
    assert (await vendor.vend(scope(S3))).secret == SESSION
    assert unity.count(BY_ID) == 0
    assert unity.requests[-1].query == {"operation": "READ"}


@pytest.mark.parametrize(
    ("location", "vends"),
    [
        (S3, True),
        (f"{S3}/", True),
        ("s3a://lake/orders", True),
        (f"{S3}/part", False),
        ("s3://lake", False),
        ("s3://lake/orders2", False),
        ("s3://lake/Orders", False),
        ("gs://lake/orders", False),
    ],
)
async def test_only_the_tables_own_directory_is_opened(
    unity: UnityServer, connected: Connected, location: str, vends: bool
) -> None:
    register(unity, ROLE)
    vendor = await vendor_of(connected)
    assert vendor is not None
    assert vendor.vends(location) is vends
    if not vends:
        with pytest.raises(PermissionDenied):
            await vendor.vend(scope(location))
    with pytest.raises(PermissionDenied):
        await vendor.vend(scope(S3, location))


@pytest.mark.parametrize(("binding", "known"), [("role", True), ("full", False), ("session", False)])
async def test_the_catalog_knows_one_binding(
    unity: UnityServer, connected: Connected, binding: str, known: bool
) -> None:
    register(unity, ROLE)
    vendor = await vendor_of(connected)
    assert vendor is not None
    if known:
        assert (await vendor.vend(scope(S3, binding=binding))).kind == "aws"
        return
    with pytest.raises(UnsupportedOperation, match=f"no credential binding '{binding}'"):
        await vendor.vend(scope(S3, binding=binding))


@pytest.mark.parametrize(
    ("lie", "found"),
    [
        (UnityReply.refusing("TABLE_NOT_FOUND"), NotFound),
        (UnityReply.refusing("PERMISSION_DENIED"), NotFound),
        (UnityReply.refusing("UNAUTHENTICATED"), StorageError),
        (UnityReply.refusing("FAILED_PRECONDITION"), StorageError),
        (UnityReply.refusing("INTERNAL"), StorageError),
        (UnityReply(200, b"<html>"), StorageError),
        (UnityReply.no_route(), StorageError),
        (UnityReply.of({"aws_temp_credentials": None, "expiration_time": None}), StorageError),
        (UnityReply.of({**ROLE, "url": "s3://lake/other"}), StorageError),
        (UnityReply.of({**ROLE, "url": "s3://lake"}), StorageError),
        (UnityReply.of({**ROLE, "gcp_oauth_token": {"oauth_token": "x"}}), StorageError),
        (UnityReply.of({**ROLE, "expiration_time": "soon"}), StorageError),
        (UnityReply.of({**ROLE, "aws_temp_credentials": "AK:SK"}), StorageError),
        (UnityReply.of({**ROLE, "aws_temp_credentials": {"access_key_id": 7}}), StorageError),
    ],
)
async def test_what_cannot_be_credentials_is_not_vended(
    unity: UnityServer, connected: Connected, lie: UnityReply, found: type[Exception]
) -> None:
    register(unity, ROLE)
    vendor = await vendor_of(connected)
    assert vendor is not None
    await vendor.vend(scope(S3))  # with the credentials of the lookup
    unity.instead = lambda _: lie
    with pytest.raises(found) as raised:
        await vendor.vend(scope(S3))
    assert "10.0.0.7" not in str(raised.value)
    assert "SK" not in f"{raised.value} {getattr(raised.value, 'detail', '')}"


CONFIG = {"s3.access-key-id": "AK", "s3.secret-access-key": "SK", "s3.session-token": "ST"}
ENTRY = {"prefix": S3, "operation": "READ", "config": CONFIG, "expiration-time-ms": ENDS}


@pytest.mark.parametrize(
    ("entries", "vended"),
    [
        ([ENTRY], True),
        ([{**ENTRY, "prefix": f"{S3}/"}], True),
        ([{**ENTRY, "prefix": "s3://lake/"}, ENTRY], True),
        ([{**ENTRY, "prefix": "s3://lake/"}], False),
        ([{**ENTRY, "prefix": f"{S3}/part"}], False),
        ([{**ENTRY, "prefix": None}], False),
        ([{**ENTRY, "operation": "READ_WRITE"}], False),
        ([{**ENTRY, "config": None}], False),
        ([{**ENTRY, "config": {**CONFIG, "gcs.oauth-token": "x"}}], False),
        ([{**ENTRY, "expiration-time-ms": "soon"}], False),
        ([], False),
        (["none"], False),
        (None, False),
    ],
)
async def test_of_the_delta_api_only_the_tables_own_credentials_count(
    unity: UnityServer, connected: Connected, entries: object, vended: bool
) -> None:
    register(unity, ROLE, table_type="MANAGED")
    vendor = await vendor_of(connected)
    assert vendor is not None
    await vendor.vend(scope(S3))  # with the credentials of the lookup
    unity.instead = lambda _: UnityReply.of({"storage-credentials": entries})
    if vended:
        assert (await vendor.vend(scope(S3))).secret == SESSION
        return
    with pytest.raises(StorageError):
        await vendor.vend(scope(S3))
