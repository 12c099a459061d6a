"""Incremental scans: appended files only, and only those that the recipient can see."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from support.gateways.memory_gateway import shared_table
from support.tables.filesets import schema_field, table_metadata
from support.tables.iceberg_views import body, iceberg_view, paths
from support.tables.memory_tables import Made, MemoryFormat, change, snapshot

from sluicegate.api import InvalidRequest, UnsupportedOperation
from sluicegate.api.models import SharedTable
from sluicegate.protocols.iceberg_rest.planning.plan_scan import ScanPlanner, appended_files
from sluicegate.protocols.iceberg_rest.planning.request import PlanRequest
from sluicegate.protocols.iceberg_rest.planning.tokens import PlanTokens
from sluicegate.signing.keyring import KeyRing
from sluicegate.signing.opaque_tokens import TokenSigner
from sluicegate.tables.reading.reader import TableReader
from sluicegate.tables.snapshot import TableMetadata

METADATA = table_metadata([schema_field("id", "long"), schema_field("country", "string")], ["country"])
HISTORY = shared_table(history=True)


def added(path: str, country: str = "DE") -> dict[str, Any]:
    return change("add", path, partition_values=f'{{"country":"{country}"}}')


async def scanned(
    *made: Made,
    start: int,
    shared: SharedTable = HISTORY,
    filter: Any = True,
    before: TableMetadata = METADATA,
) -> list[str]:
    """The paths of a scan until version 4."""
    view = await iceberg_view(METADATA, snapshot().files, version=4, shared=shared)
    versions = [snapshot(version=3, metadata=before), snapshot(version=4, metadata=METADATA)]
    format = MemoryFormat(versions=versions, history=made)
    reader = TableReader({view.table.source.format: format}, 1 << 20)
    planner = ScanPlanner(reader, PlanTokens(TokenSigner(KeyRing((b"k" * 32,)), 60)), {})
    fields = {"start-snapshot-id": start + 1, "end-snapshot-id": 5, "filter": filter}
    request = PlanRequest.parse(orjson.dumps(fields))
    return paths(await body(await planner.plan(view, request)))


async def test_appended_files_are_planned_with_the_filter() -> None:
    made = (Made(3, [added("a"), added("b", "FR")]), Made(4, [added("c")]))
    assert await scanned(*made, start=2) == ["a", "b", "c"]
    german = {"type": "eq", "term": "country", "value": "DE"}
    assert await scanned(*made, start=2, filter=german) == ["a", "c"]


async def test_a_scan_from_a_snapshot_to_itself_is_empty() -> None:
    assert await scanned(start=4) == []
    view = await iceberg_view(METADATA, snapshot().files, version=4, shared=HISTORY)
    assert len(await appended_files(TableReader({}, 0), view, 4)) == 0


@pytest.mark.parametrize("kind", ["remove", "cdc"])
async def test_other_changes_are_refused(kind: str) -> None:
    made = (Made(3, [added("a")]), Made(4, [change(kind, "a", partition_values='{"country":"DE"}')]))
    with pytest.raises(UnsupportedOperation, match="snapshot 5 changed or removed rows"):
        await scanned(*made, start=2)


async def test_hidden_partitions_are_neither_planned_nor_refused() -> None:
    shared = shared_table(history=True, partition_filter="country = 'DE'")
    hidden = change("remove", "x", partition_values='{"country":"FR"}')
    made = (Made(3, [added("a"), added("b", "FR")]), Made(4, [hidden, added("c")]))
    assert await scanned(*made, start=2, shared=shared) == ["a", "c"]


async def test_the_first_snapshot_must_be_shared() -> None:
    with pytest.raises(UnsupportedOperation, match="without its history"):
        await scanned(start=2, shared=shared_table())
    with pytest.raises(InvalidRequest, match="version 2 is not shared"):
        await scanned(start=2, shared=shared_table(history=True, start_version=3))


async def test_other_partition_columns_are_refused() -> None:
    other = table_metadata([schema_field("id", "long")])
    made = (Made(3, [added("a")]), Made(4, metadata=METADATA))
    with pytest.raises(UnsupportedOperation, match="snapshot 4 has other partition columns"):
        await scanned(*made, start=2, before=other)
