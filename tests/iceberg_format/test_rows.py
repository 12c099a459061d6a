"""Iceberg tables that PyIceberg wrote, as the official Delta Sharing client reads them."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import FixedType, LongType, NestedField, StringType, TimeType
from support.clients.recipient import refusal_of
from support.gateways.iceberg_sharing import IcebergSharing
from support.tables.iceberg_deletes import change_entries, only_manifest
from support.tables.rows import assert_same_rows

pytestmark = [
    pytest.mark.filterwarnings("ignore:The behavior of DataFrame concatenation:FutureWarning"),
    # The client leaves its folder to the garbage collector where a table is empty.
    pytest.mark.filterwarnings("ignore:Implicitly cleaning up:ResourceWarning"),
]

SIMPLE = pa.table(
    {
        "id": pa.array([1, 2, 3], pa.int64()),
        "name": ["one", None, "three"],
        "price": [1.5, float("nan"), None],
    }
)


@pytest.mark.parametrize("format_version", [1, 2])
@pytest.mark.parametrize("use_delta_format", [False, True, None], ids=["parquet", "delta", "agreed"])
def test_appended_overwritten_and_deleted_rows_are_read_as_they_are(
    lake: IcebergSharing, format_version: int, use_delta_format: bool | None
) -> None:
    name, table = lake.table(SIMPLE.schema, format_version=format_version)
    steps: list[Callable[[], None]] = [
        lambda: table.append(SIMPLE),
        lambda: table.append(SIMPLE),
        lambda: table.delete("id = 1"),
        lambda: table.overwrite(SIMPLE.slice(0, 1), "id = 2"),
    ]
    for step in steps:
        step()
        found = lake.recipient.read(name, use_delta_format=use_delta_format)
        assert_same_rows(table.scan().to_arrow(), found)
    assert lake.recipient.negotiated_format(name) == "parquet"


def test_columns_of_every_portable_type(lake: IcebergSharing) -> None:
    rows = pa.table(
        {
            "flag": [True, None],
            "small": pa.array([1, -2], pa.int32()),
            "big": pa.array([2**40, None], pa.int64()),
            "single": pa.array([0.5, None], pa.float32()),
            "double": [0.1, -0.0],
            "amount": pa.array([Decimal("12.34"), Decimal("-0.01")], pa.decimal128(9, 2)),
            "day": [date(2024, 2, 29), date(1960, 1, 1)],
            "text": ["a", "ü"],
            "raw": [b"\x00\xff", None],
            "moment": pa.array(
                [datetime(2024, 1, 1, 12, 0, 0, 123456, UTC), None], pa.timestamp("us", "UTC")
            ),
            "clock": pa.array([datetime(2024, 1, 1, 12, 0, 0, 123456), None], pa.timestamp("us")),
        }
    )
    name, table = lake.table(rows.schema)
    table.append(rows)
    for use_delta_format in (False, True):
        found = lake.recipient.read(name, use_delta_format=use_delta_format)
        assert_same_rows(table.scan().to_arrow(), found)


def test_columns_that_a_format_cannot_say_are_left_out(lake: IcebergSharing) -> None:
    schema = Schema(
        NestedField(1, "id", LongType()),
        NestedField(2, "key", FixedType(4)),
        NestedField(3, "at", TimeType()),
    )
    name, table = lake.table(schema)
    rows = {"id": [1, 2], "key": [b"abcd", None], "at": [time(12, 30), None]}
    table.append(pa.table(rows, schema=schema.as_arrow()))
    wanted = table.scan().to_arrow()
    in_parquet = lake.recipient.read(name, use_delta_format=False)
    assert list(in_parquet["key"]) == wanted["key"].to_pylist()
    in_delta = lake.recipient.read(name, use_delta_format=True)
    assert list(in_delta.columns) == ["id"]
    assert list(in_delta["id"]) == list(in_parquet["id"]) == [1, 2]


def test_data_files_that_are_no_parquet_are_refused(lake: IcebergSharing) -> None:
    name, table = lake.table(SIMPLE.schema)
    table.append(SIMPLE)
    snapshot = table.current_snapshot()
    assert snapshot is not None
    (manifest,) = snapshot.manifests(table.io)
    change_entries(manifest, file_format="ORC")
    refused = refusal_of(lambda: lake.recipient.read(name))
    assert (refused.status, "rewrite_data_files" in refused.message) == (400, True)


@pytest.mark.parametrize(
    ("way", "why"),
    [
        ("{lake}/{other}/data/x.parquet", "outside of its own directories"),
        ("{table}/../{other}/data/x.parquet", "does not name a file in its folder"),
    ],
)
def test_files_of_another_table_are_not_given_away(lake: IcebergSharing, way: str, why: str) -> None:
    other, secret = lake.table(SIMPLE.schema)
    secret.append(SIMPLE)
    name, table = lake.table(SIMPLE.schema)
    table.append(SIMPLE)
    snapshot = table.current_snapshot()
    assert snapshot is not None
    (manifest,) = snapshot.manifests(table.io)
    location = way.format(lake=f"file://{lake.folder}", table=table.location(), other=other)
    change_entries(manifest, file_path=location)
    refused = refusal_of(lambda: lake.recipient.read(name))
    assert (refused.status, why in refused.message) == (400, True)


def test_files_that_were_added_without_field_ids(lake: IcebergSharing) -> None:
    name, table = lake.table(SIMPLE.schema)
    table.append(SIMPLE)
    path = lake.folder / name / "added.parquet"
    pq.write_table(SIMPLE, path)
    table.add_files([f"file://{path}"])
    for use_delta_format in (False, True):
        found = lake.recipient.read(name, use_delta_format=use_delta_format)
        assert_same_rows(table.scan().to_arrow(), found)
    with table.update_schema() as update:
        update.rename_column("name", "title")
    refused = refusal_of(lambda: lake.recipient.read(name))
    assert (refused.status, "lack field ids" in refused.message) == (400, True)


@pytest.mark.parametrize("counted", [True, False])
def test_files_that_lack_what_they_are_partitioned_by_are_refused(
    lake: IcebergSharing, counted: bool
) -> None:
    name, table = lake.table(SIMPLE.schema)
    with table.update_spec() as spec:
        spec.add_identity("name")
    with table.transaction() as transaction:
        mapping = '[{"field-id": 2, "names": ["name"]}]'
        transaction.set_properties({"schema.name-mapping.default": mapping})
    table.append(SIMPLE)
    if counted:
        assert_same_rows(SIMPLE, lake.recipient.read(name))
        return
    change_entries(only_manifest(table), null_value_counts=[])
    refused = refusal_of(lambda: lake.recipient.read(name))
    assert refused.status == 400
    assert "lack columns that it is partitioned by (name)" in refused.message


def test_a_column_whose_files_call_it_otherwise_is_found_by_its_field_id(lake: IcebergSharing) -> None:
    name, table = lake.table(SIMPLE.schema)
    with table.transaction() as transaction:
        mapping = '[{"field-id": 1, "names": ["col-1"]}]'
        transaction.set_properties({"schema.name-mapping.default": mapping})
    table.append(SIMPLE)
    (task,) = table.scan().plan_files()
    path = task.file.file_path.removeprefix("file://")
    written = pq.read_table(path)
    pq.write_table(written.rename_columns(["col-1", "name", "price"]), path)
    change_entries(only_manifest(table), file_size_in_bytes=Path(path).stat().st_size)
    assert_same_rows(SIMPLE, lake.recipient.read(name))


def test_a_name_mapping_does_no_harm_where_all_files_have_field_ids(lake: IcebergSharing) -> None:
    inner = pa.struct([pa.field("city", pa.string()), pa.field("codes", pa.list_(pa.int64()))])
    rows = pa.table(
        {
            # A footer that is longer than what is read of a file at first.
            **{f"filler with a long name {number}": [number] for number in range(300)},
            "place": pa.array([{"city": "Ulm", "codes": [1, 2]}], inner),
            "tags": pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64())),
        }
    )
    name, table = lake.table(rows.schema)
    with table.transaction() as transaction:
        mapping = '[{"field-id": 1, "names": ["id"]}]'
        transaction.set_properties({"schema.name-mapping.default": mapping})
    table.append(rows)
    with table.update_schema() as update:
        update.rename_column("place", "where")
    assert_same_rows(table.scan().to_arrow(), lake.recipient.read(name))
    table.append(rows.rename_columns({"place": "where"}))
    assert_same_rows(table.scan().to_arrow(), lake.recipient.read(name))


@pytest.mark.parametrize("renamed", [False, True])
def test_predicates_leave_out_files_by_their_bounds(lake: IcebergSharing, renamed: bool) -> None:
    name, table = lake.table(SIMPLE.schema)
    for first in (0, 10, 20):
        table.append(SIMPLE.set_column(0, "id", pa.array([first, first + 1, None], pa.int64())))
    column = "id"
    if renamed:
        column = "number"
        with table.update_schema() as update:
            update.rename_column("id", "number")
    found = lake.recipient.read(name, jsonPredicateHints=hint(column, 11))
    assert sorted(found[column].dropna()) == [10, 11]


def hint(column: str, value: int) -> str:
    operands = [
        {"op": "column", "name": column, "valueType": "long"},
        {"op": "literal", "value": str(value), "valueType": "long"},
    ]
    return json.dumps({"op": "equal", "children": operands})


def test_an_empty_table_has_its_columns(lake: IcebergSharing) -> None:
    name, _ = lake.table(SIMPLE.schema)
    for use_delta_format in (False, True):
        found = lake.recipient.read(name, use_delta_format=use_delta_format)
        assert list(found.columns) == ["id", "name", "price"]
        assert len(found) == 0


def test_added_columns_are_null_where_files_lack_them(lake: IcebergSharing) -> None:
    name, table = lake.table(SIMPLE.schema)
    table.append(SIMPLE)
    with table.update_schema() as update:
        update.add_column("city", StringType())
    for use_delta_format in (False, True):
        found = lake.recipient.read(name, use_delta_format=use_delta_format)
        assert_same_rows(table.scan().to_arrow(), found)
    table.append(SIMPLE.append_column("city", pa.array(["Ulm", None, "Bonn"])))
    for use_delta_format in (False, True):
        found = lake.recipient.read(name, use_delta_format=use_delta_format)
        assert_same_rows(table.scan().to_arrow(), found)
