"""Tasks on tables of a catalog that vends no credentials, such as Iceberg's own REST catalog."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio

from sluicegate.api import DelegatedTask, RealmGrant, TableIdentity, TaskFailed
from sluicegate_spark.config import SparkConfig
from sluicegate_spark.executor import SparkExecutor
from sluicegate_testing.servers.polaris import Polaris, Reply

LOCATION = "s3://lake/wh/ns0/t0"
KEYS = {"s3.access-key-id": "own-key", "s3.secret-access-key": "own-secret"}
EVERYTHING = RealmGrant(None, None, None)
NO_ROUTE = Reply.error(400, "BadRequestException", "No route for request: GET v1/…/credentials")


@pytest.fixture
def catalog() -> Iterator[Polaris]:
    with Polaris.start() as running:
        running.add(("ns0",), "t0", LOCATION)
        metadata = {"table-uuid": "u-1", "location": LOCATION}
        loaded = {"metadata-location": f"{LOCATION}/metadata/1.json", "metadata": metadata}
        running.tell("/tables/t0", Reply(200, loaded))
        running.tell("/credentials", NO_ROUTE)
        yield running


@pytest_asyncio.fixture
async def executor(catalog: Polaris) -> AsyncIterator[SparkExecutor]:
    oauth2 = {
        "client_id": catalog.client_id,
        "client_secret": catalog.client_secret,
        "scope": catalog.scope,
    }
    section = {"uri": catalog.uri, "warehouse": catalog.warehouse, "oauth2": oauth2, "file_io": KEYS}
    made = SparkExecutor(SparkConfig.model_validate({"catalogs": {"lake": section}}))
    yield made
    await made.aclose()


def compaction(name: str = "t0") -> DelegatedTask:
    table = TableIdentity("1", "lake", ("ns0",), name)
    return DelegatedTask("1", "TABLE_COMPACTION", "prod", table, grant=EVERYTHING)


@pytest.mark.parametrize("endpoints", [["GET /v1/{prefix}/namespaces"], []])
async def test_file_io_opens_the_table(
    catalog: Polaris, executor: SparkExecutor, endpoints: list[str]
) -> None:
    config = {"overrides": {"prefix": catalog.warehouse}, "endpoints": endpoints}
    catalog.tell("/v1/config", Reply(200, config))
    access = await executor.acquire(compaction())
    assert access is not None
    assert (await access.objects()).credentials.secret["access_key_id"] == "own-key"


async def test_a_rejected_request_is_no_missing_table(
    catalog: Polaris, executor: SparkExecutor
) -> None:
    catalog.tell("/tables/t1", Reply.error(400, "BadRequestException", "private words"))
    with pytest.raises(TaskFailed, match="rejects the request for the table as invalid") as failed:
        await executor.acquire(compaction("t1"))
    assert not failed.value.retryable
