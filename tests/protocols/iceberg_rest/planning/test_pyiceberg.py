"""Plans as PyIceberg reads them: the files of a Delta table, which lack its partition columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog.rest.scan_planning import PlanCompleted, PlanTableScanRequest
from pyiceberg.expressions import AlwaysTrue, BooleanExpression
from pyiceberg.expressions.parser import parse
from pyiceberg.io.pyarrow import ArrowScan, PyArrowFileIO
from pyiceberg.table import FileScanTask
from pyiceberg.table.metadata import TableMetadata, TableMetadataUtil
from support.gateways.memory_gateway import KEYS
from support.tables.filesets import schema_field, table_metadata
from support.tables.iceberg_views import iceberg_view
from support.tables.memory_tables import file, snapshot

from sluicegate.api import InvalidRequest, UnsupportedOperation
from sluicegate.protocols.iceberg_rest.planning.dialects import Dialect
from sluicegate.protocols.iceberg_rest.planning.plan_scan import ScanPlanner
from sluicegate.protocols.iceberg_rest.planning.request import PlanRequest
from sluicegate.protocols.iceberg_rest.planning.specs import partition_specs, spec_without
from sluicegate.protocols.iceberg_rest.planning.tokens import PlanTokens
from sluicegate.protocols.iceberg_rest.view import IcebergView
from sluicegate.signing.opaque_tokens import TokenSigner
from sluicegate.tables.reading.reader import TableReader
from sluicegate.tables.snapshot import TableMetadata as DeltaMetadata

TYPES = {"day": "date", "at": "timestamp", "land": "string", "price": "decimal(9,2)"}
METADATA = table_metadata(
    [schema_field("id", "long"), *(schema_field(*each) for each in TYPES.items())], list(TYPES)
)
AT = datetime(2024, 1, 2, 3, 4, 5, 6, UTC)
PARTITIONS: Sequence[dict[str, str | None]] = (
    {"day": "2024-01-01", "at": "2024-01-02 03:04:05.000006", "land": "DE", "price": "1"},
    {"day": "2024-01-02", "at": None, "land": "FR", "price": "2.00"},
    {"day": None, "at": None, "land": None, "price": None},
)
ROWS = [
    (0, date(2024, 1, 1), AT, "DE", Decimal("1.00")),
    (1, date(2024, 1, 1), AT, "DE", Decimal("1.00")),
    (10, date(2024, 1, 2), None, "FR", Decimal("2.00")),
    (11, date(2024, 1, 2), None, "FR", Decimal("2.00")),
    (20, None, None, None, None),
    (21, None, None, None, None),
]


@dataclass(frozen=True)
class Local:
    """Names files by their paths on this machine."""

    folder: Path

    def of(self, paths: Sequence[str]) -> list[str]:
        return [f"file://{self.folder}/{path}" for path in paths]


async def written(
    folder: Path,
    stats: bool = True,
    metadata: DeltaMetadata = METADATA,
    partitions: Sequence[dict[str, str | None]] = PARTITIONS,
) -> IcebergView:
    """Two rows for each partition, in files that have only the column `id`."""
    rows = []
    for number, values in enumerate(partitions):
        ids = pa.table({"id": pa.array([number * 10, number * 10 + 1], pa.int64())})
        pq.write_table(ids, folder / f"{number}.parquet")
        size = (folder / f"{number}.parquet").stat().st_size
        text = orjson.dumps({"numRecords": 2}).decode() if stats else None
        partition = orjson.dumps(values).decode()
        rows.append(file(f"{number}.parquet", size=size, partition_values=partition, stats=text))
    view = await iceberg_view(metadata, snapshot(*rows).files)
    return replace(view, paths=Local(folder))


def metadata_of(view: IcebergView, folder: Path) -> TableMetadata:
    fields = [
        {"id": field.id, "name": field.name, "type": field.type, "required": False}
        for field in view.shape.schema.fields
    ]
    mapping = [{"field-id": each["id"], "names": [each["name"]]} for each in fields]
    return TableMetadataUtil.parse_obj(
        {
            "format-version": 2,
            "table-uuid": "f79c3e09-677c-4bbd-a479-3f349cb785e7",
            "location": f"file://{folder}",
            "last-sequence-number": 1,
            "last-updated-ms": 1,
            "last-column-id": 5,
            "current-schema-id": 0,
            "schemas": [{"type": "struct", "schema-id": 0, "fields": fields}],
            "default-spec-id": spec_without((), view.shape),
            "partition-specs": partition_specs(view.shape),
            "last-partition-id": 1003,
            "default-sort-order-id": 0,
            "sort-orders": [{"order-id": 0, "fields": []}],
            "properties": {"schema.name-mapping.default": orjson.dumps(mapping).decode()},
        }
    )


async def tasks_of(
    view: IcebergView, row_filter: BooleanExpression, select: Sequence[str] = ()
) -> list[FileScanTask]:
    """The tasks of a plan, from PyIceberg's request to PyIceberg's tasks."""
    sent = PlanTableScanRequest(
        filter=None if row_filter == AlwaysTrue() else row_filter, select=list(select) or None
    )
    request = PlanRequest.parse(
        sent.model_dump_json(by_alias=True, exclude_none=True).encode(), Dialect.PYICEBERG
    )
    planner = ScanPlanner(TableReader({}, 0), PlanTokens(TokenSigner(KEYS, 60)), {})
    text = b"".join([part async for part in await planner.plan(view, request)])
    plan = PlanCompleted.model_validate_json(text)
    return [FileScanTask.from_rest_response(task, plan.delete_files) for task in plan.file_scan_tasks]


async def rows_of(
    view: IcebergView, folder: Path, row_filter: BooleanExpression, select: Sequence[str] = ()
) -> list[tuple[Any, ...]]:
    metadata = metadata_of(view, folder)
    schema = metadata.schema().select(*select) if select else metadata.schema()
    scan = ArrowScan(metadata, PyArrowFileIO(), schema, row_filter)
    tasks = await tasks_of(view, row_filter, select)
    return sorted(tuple(row.values()) for row in scan.to_table(tasks).to_pylist())


@pytest.mark.parametrize(
    ("row_filter", "expected"),
    [
        ("day is null or day is not null", [0, 1, 10, 11, 20, 21]),
        ("day = '2024-01-01'", [0, 1]),
        ("at = '2024-01-02T03:04:05.000006+00:00'", [0, 1]),
        ("price >= 2.00", [10, 11]),
        ("land in ('DE', 'IT')", [0, 1]),
        ("land like 'F%'", [10, 11]),
        ("land is null", [20, 21]),
        ("at is not null", [0, 1]),
        ("id > 0 and day = '2024-01-01'", [1]),
        ("id = 20 or land = 'FR'", [10, 11, 20]),
    ],
)
async def test_the_rows_have_the_values_of_their_partitions(
    tmp_path: Path, row_filter: str, expected: list[int]
) -> None:
    view = await written(tmp_path)
    rows = await rows_of(view, tmp_path, parse(row_filter))
    assert rows == [row for row in ROWS if row[0] in expected]


@pytest.mark.parametrize("literal", ["0.1", "0.10000000149011612"])
@pytest.mark.parametrize(
    ("test", "is_true"),
    [("=", True), (">=", True), ("<=", True), ("<", False), (">", False), ("!=", False)],
)
async def test_floats_are_compared_with_single_precision(
    tmp_path: Path, test: str, is_true: bool, literal: str
) -> None:
    """Both literals mean the same `float`, but PyIceberg compares what it has as doubles."""
    metadata = table_metadata([schema_field("id", "long"), schema_field("share", "float")], ["share"])
    view = await written(tmp_path, metadata=metadata, partitions=[{"share": "0.1"}])
    rows = await rows_of(view, tmp_path, parse(f"share {test} {literal} or id = 1"))
    assert [row[0] for row in rows] == ([0, 1] if is_true else [1])


async def test_without_a_filter_all_rows_are_read(tmp_path: Path) -> None:
    assert await rows_of(await written(tmp_path), tmp_path, AlwaysTrue()) == ROWS


async def test_rows_are_counted_without_reading_decided_files(tmp_path: Path) -> None:
    view = await written(tmp_path)
    tasks = await tasks_of(view, parse("land = 'DE'"))
    assert [(task.residual, task.file.record_count) for task in tasks] == [(AlwaysTrue(), 2)]
    tasks = await tasks_of(await written(tmp_path, stats=False), AlwaysTrue())
    assert [task.residual == AlwaysTrue() for task in tasks] == [False] * 3


async def test_a_filter_of_an_unselected_partition_column_is_refused(tmp_path: Path) -> None:
    """PyIceberg would answer no rows."""
    view = await written(tmp_path)
    german = parse("land = 'DE'")
    with pytest.raises(UnsupportedOperation, match="'land' without reading it"):
        await tasks_of(view, parse("land = 'DE' and id = 0"), ["id"])
    assert await rows_of(view, tmp_path, german, ["id", "land"]) == [(0, "DE"), (1, "DE")]
    assert await tasks_of(view, parse("land = 'XX'"), ["id"]) == []
    with pytest.raises(InvalidRequest, match="select: the table has no column named 'x'"):
        await tasks_of(view, german, ["x"])
