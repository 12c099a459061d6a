"""Iceberg tables that are shared file by file have their own columns, specs, orders and references."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import date, datetime, time
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.transforms import BucketTransform, DayTransform, IdentityTransform, TruncateTransform
from pyiceberg.typedef import Record
from pyiceberg.types import (
    DateType,
    FixedType,
    ListType,
    LongType,
    NestedField,
    StringType,
    StructType,
    TimestampType,
    TimeType,
    UUIDType,
)
from support.gateways.iceberg_sharing import LATEST, PART, SCHEMA, SHARE, IcebergSharing
from support.tables.iceberg_deletes import data_files, delete_positions

pytestmark = [
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore:Delete operation did not match any records:UserWarning"),
]

PLANNING: Mapping[str, dict[str, str]] = {
    "by itself": {},
    "by the gateway": {"scan-planning-mode": "server"},
}
COLUMNS = Schema(
    NestedField(1, "id", LongType(), required=True, doc="the number of an event"),
    NestedField(2, "at", TimeType()),
    NestedField(3, "key", UUIDType()),
    NestedField(4, "digest", FixedType(4)),
    NestedField(5, "place", StructType(NestedField(6, "opens", TimeType()), NestedField(7, "n", LongType()))),  # noqa: E501
    NestedField(8, "times", ListType(9, TimeType(), element_required=True)),
    NestedField(10, "country", StringType()),
    NestedField(11, "moment", TimestampType()),
    NestedField(12, "day", DateType()),
    identifier_field_ids=[1],
)  # fmt: skip
KEYS = [UUID(int=1), UUID(int=2**127), UUID(int=2**128 - 1)]
ROWS = [
    {
        "id": number,
        "at": time(number, 30, 1, 5),
        "key": KEYS[number].bytes,
        "digest": bytes(range(number, number + 4)),
        "place": {"opens": time(number), "n": number},
        "times": [time(hour) for hour in range(number)],
        "country": ("DE", "FR", None)[number],
        "moment": datetime(2026, 1, number + 1, 23, 59),
        "day": date(2026, 1, number + 1),
    }
    for number in range(3)
]


def arrow(table: Table, rows: list[dict[str, Any]]) -> pa.Table:
    """Rows with the columns of a table."""
    columns = [
        pa.ExtensionArray.from_storage(type_, pa.array(values, type_.storage_type))
        if isinstance(type_, pa.BaseExtensionType)
        else pa.array(values, type_)
        for type_, values in (
            (field.type, [row.get(field.name) for row in rows]) for field in table.schema().as_arrow()
        )
    ]
    return pa.Table.from_arrays(columns, schema=table.schema().as_arrow())


def written(table: Table, rows: list[dict[str, Any]] = ROWS) -> None:
    table.append(arrow(table, rows))


def added(table: Table, rows: list[dict[str, Any]], *partition: Any) -> None:
    """Append a file to a partition. PyIceberg computes only identity partitions without its core."""
    path = Path(table.location().removeprefix("file://")) / f"data/{len(data_files(table))}.parquet"
    path.parent.mkdir(exist_ok=True)
    pq.write_table(arrow(table, rows).cast(schema_to_pyarrow(table.schema())), path)
    file = DataFile.from_args(
        content=DataFileContent.DATA,
        file_path=f"file://{path}",
        file_format=FileFormat.PARQUET,
        partition=Record(*partition),
        record_count=len(rows),
        file_size_in_bytes=path.stat().st_size,
    )
    file.spec_id = table.spec().spec_id
    with table.transaction() as transaction, transaction.update_snapshot().fast_append() as append:
        append.append_data_file(file)


def loaded(lake: IcebergSharing, name: str, planning: str = "by itself", schema: str = SCHEMA) -> Table:
    known = json.loads(lake.recipient.profile.read_text())
    catalog = RestCatalog(
        "share",
        uri=known["icebergEndpoint"],
        warehouse=SHARE,
        token=known["bearerToken"],
        **PLANNING[planning],
    )
    table: Table = catalog.load_table((schema, name))
    return table


def rows_of(table: Table, condition: str = "true", **options: Any) -> list[dict[str, Any]]:
    found = table.scan(condition, **options).to_arrow()
    return sorted(found.to_pylist(), key=lambda row: row["id"])


@pytest.mark.parametrize("planning", PLANNING)
def test_columns_are_those_of_the_table(lake: IcebergSharing, planning: str) -> None:
    name, table = lake.table(COLUMNS)
    written(table)
    found = loaded(lake, name, planning)
    assert found.schema() == table.schema()
    assert found.schema().schema_id == table.schema().schema_id
    assert found.schema().identifier_field_ids == table.schema().identifier_field_ids
    assert rows_of(found) == rows_of(table)
    assert [row["id"] for row in rows_of(found, "at > '01:00:00' and id < 2")] == [1]


def test_a_renamed_column_keeps_its_id_and_a_new_one_gets_its_own(lake: IcebergSharing) -> None:
    name, table = lake.table(COLUMNS)
    written(table)
    before = table.schema()
    with table.update_schema(allow_incompatible_changes=True) as update:
        update.rename_column("at", "time of day")
        update.delete_column("key")
        update.add_column("key", TimeType())
    written(table, [{**ROWS[0], "id": 7, "key": time(1), "time of day": time(2), "at": None}])
    found = loaded(lake, name)
    assert found.schemas() == table.schemas()
    assert found.schema().schema_id == table.schema().schema_id
    assert rows_of(found) == rows_of(table)
    first, _ = found.snapshots()
    assert found.scan(snapshot_id=first.snapshot_id).projection() == before
    assert rows_of(found, snapshot_id=first.snapshot_id) == ROWS_AS_READ
    last = found.current_snapshot()
    assert last is not None
    assert last.schema_id == table.schema().schema_id


ROWS_AS_READ = [{**row, "key": KEYS[number]} for number, row in enumerate(ROWS)]


def test_a_schema_without_a_new_version_is_seen(lake: IcebergSharing) -> None:
    name, table = lake.table(COLUMNS)
    written(table)
    assert loaded(lake, name).schema() == table.schema()
    with table.update_schema() as update:
        update.add_column("later", TimeType())
    assert loaded(lake, name).schema() == table.schema()


DAY = 20454  # 2026-01-01


@pytest.mark.parametrize("planning", PLANNING)
def test_specs_are_those_of_the_table(lake: IcebergSharing, planning: str) -> None:
    name, table = lake.table(COLUMNS)
    written(table, ROWS[:1])
    with table.update_spec() as spec:
        spec.add_identity("country")
        spec.add_field("moment", DayTransform(), "moment_day")
        spec.add_field("id", BucketTransform(4), "id_bucket")
    added(table, ROWS[1:2], "FR", DAY + 1, 2)
    with table.update_spec() as spec:
        spec.remove_field("id_bucket")
        spec.add_field("country", TruncateTransform(1), "initial")
        spec.add_identity("day")
    added(table, ROWS[2:], None, DAY + 2, None, DAY + 2)
    delete_positions(table, {path: [0] for path in data_files(table) if path.endswith("/1.parquet")})
    found = loaded(lake, name, planning)
    assert found.spec() == table.spec()
    assert found.specs() == table.specs()
    assert found.metadata.last_partition_id == table.metadata.last_partition_id
    assert [row["id"] for row in rows_of(found)] == [0, 2]
    wanted = {
        "country = 'DE'": [0],
        "moment >= '2026-01-02T00:00:00'": [2],
        "id = 2": [2],
        "country is null": [2],
        "day = '2026-01-02'": [],
    }
    for condition, ids in wanted.items():
        assert [row["id"] for row in rows_of(found, condition)] == ids, condition


def test_files_have_their_partitions(lake: IcebergSharing) -> None:
    name, table = lake.table(COLUMNS)
    with table.update_spec() as spec:
        for column in ("country", "key", "digest", "at", "moment"):
            spec.add_identity(column)
        spec.add_field("day", DayTransform(), "daily")
    for number, row in enumerate(ROWS):
        micros = (number * 3600 + 30 * 60 + 1) * 1_000_000 + 5
        moment = ((DAY + number) * 86_400 + 86_340) * 1_000_000
        key, digest = KEYS[number], bytes(range(number, number + 4))
        added(table, [row], row["country"], key, digest, micros, moment, DAY + number)

    def partitions(table: Table, condition: str = "true") -> list[tuple[int | None, str]]:
        tasks = table.scan(condition).plan_files()
        return sorted((task.file.spec_id, str(task.file.partition)) for task in tasks)

    found = loaded(lake, name)
    assert partitions(found) == partitions(table)
    for condition in ("country = 'DE'", "moment < '2026-01-02T00:00:00'", "day = '2026-01-02'"):
        assert len(partitions(found, condition)) == 1, condition
        assert partitions(found, condition) == partitions(table, condition)
    # There is always a spec without fields, so that Spark tests filters itself.
    others = [spec for id_, spec in found.specs().items() if id_ not in table.specs()]
    assert [list(spec.fields) for spec in others] == []
    assert any(not spec.fields for spec in found.specs().values())
    assert rows_of(found) == rows_of(table)


def test_plans_name_the_partitions(lake: IcebergSharing) -> None:
    name, table = lake.table(COLUMNS)
    with table.update_spec() as spec:
        spec.add_identity("country")
        spec.add_identity("day")
        spec.add_field("moment", DayTransform(), "moment_day")
    added(table, ROWS[:1], "DE", DAY, DAY)
    known = json.loads(lake.recipient.profile.read_text())
    answer = httpx.post(
        f"{known['icebergEndpoint']}/v1/shares/{SHARE}/namespaces/{SCHEMA}/tables/{name}/plan",
        headers={"authorization": f"Bearer {known['bearerToken']}"},
        json={},
        timeout=30,
    )
    [task] = answer.raise_for_status().json()["file-scan-tasks"]
    file = task["data-file"]
    assert (file["spec-id"], file["partition"]) == (1, ["DE", "2026-01-01", "2026-01-01"])


def test_a_sort_order_is_that_of_the_table(lake: IcebergSharing) -> None:
    name, table = lake.table(COLUMNS)
    with table.update_sort_order() as order:
        order.asc("country", IdentityTransform()).desc("id", IdentityTransform())
    written(table)
    assert loaded(lake, name).sort_order() == table.sort_order()


def test_branches_and_tags_name_the_versions_that_are_shared(lake: IcebergSharing) -> None:
    name, table = lake.table(COLUMNS)
    written(table, ROWS[:1])
    written(table, ROWS[1:2])
    first, second = table.snapshots()
    table.manage_snapshots().create_tag(first.snapshot_id, "2026-q1").create_branch(
        second.snapshot_id, "audit"
    ).create_branch(second.snapshot_id, "draft").commit()
    written(table, ROWS[2:])
    table.append(arrow(table, ROWS[:1]), branch="draft")
    found = loaded(lake, name)
    assert set(found.refs()) == {"main", "2026-q1", "audit"}
    assert found.refs()["2026-q1"].snapshot_ref_type == table.refs()["2026-q1"].snapshot_ref_type
    assert [
        row["id"]
        for row in sorted(
            found.scan().use_ref("2026-q1").to_arrow().to_pylist(), key=lambda row: row["id"]
        )
    ] == [0]
    assert [
        row["id"]
        for row in sorted(
            found.scan().use_ref("audit").to_arrow().to_pylist(), key=lambda row: row["id"]
        )
    ] == [0, 1]


@pytest.mark.parametrize("schema", [LATEST, PART, "audit", "main"])
def test_limited_tables_have_no_references(lake: IcebergSharing, schema: str) -> None:
    name, table = lake.table(COLUMNS)
    with table.update_spec() as spec:
        spec.add_identity("country")
    written(table)
    (only,) = table.snapshots()
    table.manage_snapshots().create_tag(only.snapshot_id, "secret").create_branch(
        only.snapshot_id, "audit"
    ).commit()
    assert set(loaded(lake, name, schema=schema).refs()) == {"main"}


def test_specs_of_former_versions_are_history(lake: IcebergSharing) -> None:
    name, table = lake.table(COLUMNS)
    with table.update_spec() as spec:
        spec.add_field("country", TruncateTransform(1), "secret")
    added(table, ROWS[:1], "D")
    with table.update_spec() as spec:
        spec.remove_field("secret")
        spec.add_identity("country")
    written(table)
    assert "secret" in str(loaded(lake, name, schema=LATEST).specs())
    table.overwrite(arrow(table, ROWS))
    assert "secret" not in str(loaded(lake, name, schema=LATEST).specs())
    assert loaded(lake, name, schema=LATEST).spec() == table.spec()
    assert loaded(lake, name).specs() == table.specs()


def test_files_of_a_spec_whose_column_is_gone_are_read(lake: IcebergSharing) -> None:
    name, table = lake.table(COLUMNS)
    with table.update_spec() as spec:
        spec.add_field("at", BucketTransform(2), "hidden")
    added(table, ROWS, 1)
    with table.update_spec() as spec:
        spec.remove_field("hidden")
    with table.update_schema() as update:
        update.delete_column("at")
    found = loaded(lake, name)
    assert [row["id"] for row in rows_of(found)] == [0, 1, 2]
    assert found.schema() == table.schema()
