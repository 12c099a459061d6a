"""Delta tables of tasks: how they are recognized, and which credentials open them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from sluicegate.api import DelegatedTask, RealmGrant, TableIdentity, TaskFailed
from sluicegate_spark.config import SparkConfig
from sluicegate_spark.executor import SparkExecutor
from sluicegate_spark.tables import TableAccess
from sluicegate_testing.servers.catalog_http import Reply, Request, serve

GENERIC = "/polaris/v1/lake/namespaces/eu/generic-tables/orders"
KEYS = {"s3.access-key-id": "id", "s3.secret-access-key": "key"}
GRANT = RealmGrant(catalogs=frozenset({"lake"}), locations=("s3://lake/orders/",))
HADOOP = {"spark.hadoop.fs.s3a.access.key": "of-spark"}
FILE_IO = {"s3.access-key-id": "of-the-catalog", "s3.secret-access-key": "key"}


@contextmanager
def polaris(generic: Mapping[str, str]) -> Iterator[str]:
    """Serve a catalog with one generic table and no Iceberg tables, and return its address."""
    addresses: list[str] = []

    def answer(request: Request) -> Reply:
        if request.path == "/v1/config":
            routes = ["GET polaris/v1/{prefix}/namespaces/{namespace}/generic-tables"]
            return Reply(200, {"overrides": {"prefix": "lake"}, "endpoints": routes})
        if request.path == GENERIC:
            return Reply(200, {"table": {"name": "orders", **generic}})
        return Reply(404, {"error": {"type": "NoSuchTableException", "message": "no", "code": 404}})

    def at(port: int) -> Callable[[Request], Reply]:
        addresses.append(f"http://127.0.0.1:{port}")
        return answer

    with serve(at):
        yield addresses[0]


def task(catalog: str = "lake", table: str = "orders", **given: Any) -> DelegatedTask:
    identity = TableIdentity("7", catalog, ("eu",), table)
    return DelegatedTask("t", "TABLE_COMPACTION", "prod", identity, **{"grant": GRANT, **given})


async def acquired(section: Mapping[str, Any], task: DelegatedTask) -> TableAccess:
    executor = SparkExecutor(SparkConfig.model_validate(section))
    try:
        found = await executor.acquire(task)
    finally:
        await executor.aclose()
    assert found is not None
    return found


async def test_a_generic_table_of_the_catalog_is_a_delta_table() -> None:
    with polaris({"format": "DELTA", "base-location": "s3://lake/orders/"}) as uri:
        found = await acquired({"catalogs": {"lake": {"uri": uri}}}, task(config=KEYS))
    assert (found.table.format, found.table.location) == ("delta", "s3://lake/orders")


@pytest.mark.parametrize(
    ("generic", "table", "message"),
    [
        (
            {"format": "csv", "base-location": "s3://lake/orders"},
            "orders",
            "neither an Iceberg table nor a Delta table",
        ),
        ({"format": "delta"}, "orders", "nor a Delta table with a location"),
        ({"format": "delta"}, "others", "shows no such table"),
    ],
)
async def test_what_is_no_table_of_tasks_is_refused(
    generic: dict[str, str], table: str, message: str
) -> None:
    with polaris(generic) as uri, pytest.raises(TaskFailed, match=message) as failed:
        await acquired({"catalogs": {"lake": {"uri": uri}}}, task(table=table, config=KEYS))
    assert not failed.value.retryable


@pytest.mark.parametrize(
    ("location", "granted", "code"),
    [
        ("s3://lake/orders", "s3://lake/", "CREDENTIAL_VENDING_FAILED"),
        ("hdfs://name/t", "hdfs://name/", "CREDENTIAL_VENDING_FAILED"),
        ("file:///", "file:///lake/", "NOT_GRANTED"),
        ("file:///lake", "s3://lake/", "NOT_GRANTED"),
    ],
)
async def test_sparks_own_configuration_opens_nothing(location: str, granted: str, code: str) -> None:
    told = task("none", properties={"format": "delta", "location": location}, config={"token": "x"})
    told = replace(told, grant=RealmGrant(None, None, (granted,)))
    for conf in (HADOOP, {}):
        with pytest.raises(TaskFailed) as failed:
            await acquired({"conf": conf}, told)
        assert failed.value.error_code == code


async def test_disks_are_opened_only_where_they_are_granted() -> None:
    told = task("none", properties={"format": "delta", "location": "file:///lake/t"})
    grant = RealmGrant(None, None, ("file:///lake/",))
    assert (await acquired({}, replace(told, grant=grant))).is_local_delta
    for other in (RealmGrant(None, None, None), RealmGrant(None, None, ("file:///lake/t2/",))):
        with pytest.raises(TaskFailed):
            await acquired({}, replace(told, grant=other))


async def test_a_catalogs_configured_credentials_open_its_tables() -> None:
    with polaris({"format": "delta", "base-location": "s3://lake/orders"}) as uri:
        section = {"catalogs": {"lake": {"uri": uri, "file_io": FILE_IO}}}
        own = await (await acquired(section, task())).credentials_of_task()
        given = await (await acquired(section, task(config=KEYS))).credentials_of_task()
        # An endpoint without keys is no credential: keys that are configured do not go there.
        allowed = {**section, "endpoints": ["127.0.0.1"]}
        told = {"s3.endpoint": "http://127.0.0.1:9"}
        kept = await (await acquired(allowed, task(config=told))).credentials_of_task()
    keys = [each and each.secret["access_key_id"] for each in (own, given, kept)]
    assert keys == ["of-the-catalog", "id", "of-the-catalog"]
    assert kept == own


@pytest.mark.parametrize(
    ("grant", "named"),
    [
        (RealmGrant(locations=("s3://lake/orders/",)), "the catalog 'lake'"),
        (RealmGrant(catalogs=None), "the location 's3://lake/orders'"),
        (RealmGrant(catalogs=None, locations=("s3://lake/order/",)), "the location 's3://lake/orders'"),
    ],
)
async def test_what_the_catalog_says_has_to_be_granted(grant: RealmGrant, named: str) -> None:
    with (
        polaris({"format": "delta", "base-location": "s3://lake/orders"}) as uri,
        pytest.raises(TaskFailed, match=named) as failed,
    ):
        await acquired({"catalogs": {"lake": {"uri": uri}}}, task(config=KEYS, grant=grant))
    assert (failed.value.error_code, failed.value.retryable) == ("NOT_GRANTED", False)


@pytest.mark.parametrize(
    "told",
    [
        {"metadata": {"location": "s3://lake/other"}},
        {"metadata_location": "s3://lake/other/metadata/1.metadata.json"},
        {"properties": {"location": "s3://lake/other"}},
        {"properties": {"location": "file:///lake/orders"}},
    ],
)
async def test_what_only_the_payload_says_has_to_be_granted(told: dict[str, Any]) -> None:
    with pytest.raises(TaskFailed, match="is not granted the location"):
        await acquired({}, task("none", config=KEYS, **told))
    unlimited = RealmGrant(None, None, None)
    with pytest.raises(TaskFailed, match="is not granted the location"):
        await acquired({}, task("none", config=KEYS, grant=unlimited, **told))


async def test_an_iceberg_table_needs_credentials_all_the_same() -> None:
    told = task("none", metadata_location="s3://lake/orders/metadata/1.metadata.json")
    with pytest.raises(TaskFailed, match="no credentials for the table's files"):
        await acquired({"conf": HADOOP}, told)
