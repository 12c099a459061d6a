"""The target table of a conversion in a catalog that loses requests and responses, without Spark."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast
from uuid import uuid4

import pytest

from sluicegate.api import TaskFailed
from sluicegate_iceberg.names import TableName
from sluicegate_spark.conversion.to_iceberg.plan import Plan
from sluicegate_spark.conversion.to_iceberg.table_creation import table_for_snapshot
from sluicegate_spark.conversion.to_iceberg.target_table import TargetTable
from sluicegate_spark.tables import TaskCatalog
from sluicegate_testing.servers.committing_catalog import CommittingCatalog, Fault

KEY = "sales/tables/orders"
NAME = TableName(("sales",), "orders")
CREATE = ({"type": "assert-create"},)


@pytest.fixture
def target(task_catalog: TaskCatalog) -> TargetTable:
    return TargetTable(task_catalog, NAME)


def creation() -> list[dict[str, str]]:
    uuid = str(uuid4())
    location = {"action": "set-location", "location": f"s3://lake/orders/_iceberg/{uuid}"}
    return [{"action": "assign-uuid", "uuid": uuid}, location]


@pytest.mark.parametrize("fault", Fault)
async def test_a_table_is_created_and_dropped_once(
    target: TargetTable, catalog: CommittingCatalog, fault: Fault
) -> None:
    catalog.faults.append(fault)
    await target.commit(CREATE, creation())
    shown = await target.load()
    assert shown is not None
    catalog.faults.append(fault)
    assert await target.drop_empty(shown.table_uuid, "s3://lake/orders")
    catalog.settle()
    assert catalog.changes == [shown.table_uuid, f"dropped {shown.table_uuid}"]


async def test_a_commit_that_cannot_be_found_out_is_tried_again_with_a_code(
    target: TargetTable, catalog: CommittingCatalog
) -> None:
    catalog.faults.append(Fault.CUT_AFTER)
    catalog.reading_faults.extend([Fault.CUT_BEFORE] * 10)
    with pytest.raises(TaskFailed, match="it is unknown whether the commit was applied") as failed:
        await target.commit(CREATE, creation())
    assert (failed.value.error_code, failed.value.retryable) == ("COMMIT_STATE_UNKNOWN", True)


async def test_another_writers_table_is_a_conflict(
    target: TargetTable, catalog: CommittingCatalog
) -> None:
    await target.commit(CREATE, creation())
    catalog.faults.append(Fault.BAD_GATEWAY_BEFORE)
    with pytest.raises(TaskFailed, match="another writer changed the table") as failed:
        await target.commit(CREATE, creation())
    assert (failed.value.error_code, failed.value.retryable) == ("STORAGE_FAILED", True)


@pytest.mark.parametrize(("reads", "left"), [([], False), ([Fault.CUT_BEFORE] * 10, True)])
async def test_a_new_table_whose_snapshot_may_be_in_it_is_not_dropped(
    target: TargetTable, catalog: CommittingCatalog, *, reads: list[Fault], left: bool
) -> None:
    await target.commit(CREATE, creation())
    empty = await target.load()
    assert empty is not None
    columns = SimpleNamespace(schema={"fields": []}, ambiguous_names=[])
    files = SimpleNamespace(location="s3://lake/orders")
    plan = SimpleNamespace(columns=columns, partition_sources=(), files=files)
    catalog.faults.append(Fault.CUT_BEFORE)

    async def filled() -> None:
        async with table_for_snapshot(target, cast("Plan", plan), {}, empty):
            catalog.reading_faults.extend(reads)
            snapshot = {"action": "add-snapshot", "snapshot": {"snapshot-id": 1}}
            await target.commit([{"type": "assert-table-uuid", "uuid": "another"}], [snapshot])

    with pytest.raises(TaskFailed):
        await filled()
    assert (KEY in catalog.tables) is left
