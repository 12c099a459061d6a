"""Which copies tasks can refresh, and which credentials open them."""

from __future__ import annotations

from typing import Any

import pytest

from sluicegate.api import DelegatedTask, RealmGrant, TableIdentity, TaskFailed
from sluicegate_spark.config import SparkConfig
from sluicegate_spark.copies.config import MATERIALIZED
from sluicegate_spark.executor import SparkExecutor
from sluicegate_spark.materialization import REFRESH_MATERIALIZATION
from sluicegate_spark.tables import TableAccess

KEY = "of-the-tests-" + "k" * 32
CREDENTIALS = {"s3.access-key-id": "of-the-copies", "s3.secret-access-key": "secret"}
OTHERS = {"s3.access-key-id": "of-the-payload", "s3.secret-access-key": "secret"}
GRANT = RealmGrant(catalogs=frozenset({MATERIALIZED}), locations=("s3://shares/",))


def task(
    table: str = "orders", catalog: str = MATERIALIZED, grant: RealmGrant = GRANT, **given: Any
) -> DelegatedTask:
    identity = TableIdentity("7", catalog, ("sales",), table)
    return DelegatedTask("t", REFRESH_MATERIALIZATION, "prod", identity, grant=grant, **given)


async def acquired(task: DelegatedTask, **section: Any) -> TableAccess | None:
    materialized = {
        "location": "s3://shares/copies",
        "key": KEY,
        "file_io": CREDENTIALS,
        "tables": {"sales.orders": {"source": {"location": "s3://lake/orders"}}},
    }
    config = SparkConfig.model_validate({"materialized": materialized} | section)
    executor = SparkExecutor(config)
    try:
        return await executor.acquire(task)
    finally:
        await executor.aclose()


async def test_only_the_configured_credentials_open_a_copy() -> None:
    found = await acquired(task(config=OTHERS))
    assert found is not None
    assert found.table.location == "s3://shares/copies/sales/orders"
    credentials = await found.credentials_of_task()
    assert credentials is not None
    assert credentials.secret["access_key_id"] == "of-the-copies"


@pytest.mark.parametrize(
    ("wrong", "code", "message"),
    [
        (task("other"), "INVALID_PAYLOAD", "has no table 'sales.other'"),
        (task(catalog="lake"), "INVALID_PAYLOAD", "is 'materialized'"),
        (task(grant=RealmGrant(None, frozenset(), None)), "NOT_GRANTED", "the catalog 'materialized'"),
        (
            task(grant=RealmGrant(None, None, ("s3://other/",))),
            "NOT_GRANTED",
            "the location 's3://shares/copies/sales/orders'",
        ),
    ],
)
async def test_a_task_refreshes_only_what_is_configured_and_granted(
    wrong: DelegatedTask, code: str, message: str
) -> None:
    with pytest.raises(TaskFailed, match=message) as failed:
        await acquired(wrong)
    assert (failed.value.error_code, failed.value.retryable) == (code, False)


async def test_without_the_section_there_are_no_copies() -> None:
    with pytest.raises(TaskFailed, match=r"has no table 'sales\.orders'"):
        await acquired(task(), materialized=None)
