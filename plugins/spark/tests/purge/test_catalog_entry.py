"""Dropping a purged table from a catalog that loses requests and responses."""

from __future__ import annotations

from uuid import uuid4

import pytest

from sluicegate_iceberg.names import TableName
from sluicegate_spark.purge.operation import drop_entry
from sluicegate_spark.tables import Table, TaskCatalog
from sluicegate_testing.servers.committing_catalog import CommittingCatalog, Fault

KEY = "sales/tables/orders"
NAME = TableName(("sales",), "orders")
CREATE = ({"type": "assert-create"},)


def creation() -> list[dict[str, str]]:
    uuid = str(uuid4())
    location = {"action": "set-location", "location": f"s3://lake/orders/_iceberg/{uuid}"}
    return [{"action": "assign-uuid", "uuid": uuid}, location]


@pytest.mark.parametrize("fault", Fault)
async def test_the_entry_of_a_purged_table_is_dropped_once(
    task_catalog: TaskCatalog, catalog: CommittingCatalog, fault: Fault
) -> None:
    await task_catalog.client.commit(NAME, CREATE, creation())
    loaded = await task_catalog.client.load(NAME)
    location = loaded.metadata.location
    catalog.faults.append(fault)
    await drop_entry(Table(NAME, task_catalog, location, loaded.metadata_location, {}))
    catalog.settle()
    uuid = loaded.metadata.table_uuid
    assert catalog.changes == [uuid, f"dropped {uuid}"]


async def test_the_entry_of_another_table_is_not_dropped(
    task_catalog: TaskCatalog, catalog: CommittingCatalog
) -> None:
    await task_catalog.client.commit(NAME, CREATE, creation())
    await drop_entry(
        Table(NAME, task_catalog, "s3://lake/orders", "s3://lake/orders/metadata/1.json", {})
    )
    assert KEY in catalog.tables
