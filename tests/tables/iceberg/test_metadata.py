"""Table metadata for Iceberg clients: PyIceberg accepts it, and it lists no more than it must."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson
import pytest
from pyiceberg.table.metadata import TableMetadata, TableMetadataUtil
from pyiceberg.types import (
    DateType,
    DecimalType,
    ListType,
    LongType,
    MapType,
    StringType,
    StructType,
    TimestamptzType,
)

from sluicegate.tables.iceberg.metadata import ListedSnapshot, schema_json, table_metadata
from sluicegate.tables.iceberg.shape import (
    Field,
    IcebergShape,
    ListOf,
    MapOf,
    PartitionField,
    Struct,
)

DAY = Field(2, "day", "date", "col-2", doc="of the order")
ELEMENT = Field(5, "element", Struct((Field(6, "x", "decimal(9, 2)", "col-6"),)), "element")
PAIR = MapOf(Field(8, "key", "string", "key", required=True), Field(9, "value", "timestamptz", "value"))
COLUMNS = Struct(
    (
        Field(1, "id", "long", "id", required=True),
        DAY,
        Field(4, "l", ListOf(ELEMENT), "l"),
        Field(7, "m", PAIR, "m"),
    )
)
SPECS: list[Mapping[str, Any]] = [
    {
        "spec-id": 0,
        "fields": [{"field-id": 1000, "source-id": 2, "name": "day", "transform": "identity"}],
    },
    {"spec-id": 1, "fields": []},
]
CURRENT = ListedSnapshot(6, 1_700_000_000_000, "s3://sluicegate/p/~/manifest-list.avro")
ROOT = "s3://sluicegate/sales/eu/orders"


def shape(version: int = 2, schema: Struct = COLUMNS) -> IcebergShape:
    return IcebergShape(schema, (PartitionField(1000, DAY, "col-2"),), 12, version)


def written(of: IcebergShape, *snapshots: ListedSnapshot, identity: str = "t1 m1") -> Any:
    listed = snapshots or (CURRENT,)
    made = table_metadata(of, identity=identity, location=ROOT, specs=SPECS, snapshots=listed)
    return orjson.loads(made)


def parsed(of: IcebergShape, *snapshots: ListedSnapshot) -> TableMetadata:
    return TableMetadataUtil.parse_obj(written(of, *snapshots))


@pytest.mark.parametrize("version", [2, 3])
def test_pyiceberg_accepts_each_version(version: int) -> None:
    found = parsed(shape(version))
    assert (found.format_version, found.location, found.last_column_id) == (version, ROOT, 12)
    assert (found.default_spec_id, found.last_partition_id) == (0, 1000)
    assert [len(each.fields) for each in found.partition_specs] == [1, 0]
    assert found.properties["read.parquet.vectorization.enabled"] == "false"
    current = found.current_snapshot()
    assert current is not None
    assert (current.snapshot_id, current.sequence_number, current.timestamp_ms) == (
        6,
        6,
        CURRENT.timestamp,
    )
    assert current.manifest_list == CURRENT.manifest_list
    assert found.refs["main"].snapshot_id == 6


def test_pyiceberg_reads_the_types_and_ids() -> None:
    schema = parsed(shape()).schema()
    assert [(each.field_id, each.name, each.required, each.doc) for each in schema.fields] == [
        (1, "id", True, None),
        (2, "day", False, "of the order"),
        (4, "l", False, None),
        (7, "m", False, None),
    ]
    assert schema.find_type("id") == LongType()
    assert schema.find_type("day") == DateType()
    listed, pair = schema.find_type("l"), schema.find_type("m")
    assert isinstance(listed, ListType)
    assert (listed.element_id, listed.element_required) == (5, False)
    assert isinstance(listed.element_type, StructType)
    assert schema.find_type("l.element.x") == DecimalType(9, 2)
    assert isinstance(pair, MapType)
    assert (pair.key_id, pair.key_type, pair.value_id) == (8, StringType(), 9)
    assert pair.value_type == TimestamptzType()


def test_files_without_ids_are_read_by_their_own_names() -> None:
    mapping = parsed(shape()).name_mapping()
    assert mapping is not None
    id_, day, listed, pair = mapping
    assert [(each.field_id, each.names) for each in (id_, day)] == [(1, ["id"]), (2, ["col-2"])]
    (element,) = listed.fields
    assert [(each.field_id, each.names) for each in element.fields] == [(6, ["col-6"])]
    assert [(each.field_id, each.names) for each in pair.fields] == [(8, ["key"]), (9, ["value"])]


def test_all_listed_snapshots_are_in_the_log_and_no_other() -> None:
    older = ListedSnapshot(4, 1_600_000_000_000, "s3://sluicegate/q/~/manifest-list.avro")
    found = parsed(shape(), older, CURRENT)
    assert [each.snapshot_id for each in found.snapshots] == [4, 6]
    assert [(each.snapshot_id, each.timestamp_ms) for each in found.snapshot_log] == [
        (4, older.timestamp), (6, CURRENT.timestamp),
    ]  # fmt: skip
    assert (found.current_snapshot_id, found.last_updated_ms) == (6, CURRENT.timestamp)
    assert written(shape(), older, CURRENT)["last-sequence-number"] == 6
    assert found.metadata_log == []


@pytest.mark.parametrize("version", [2, 3])
def test_nothing_is_told_about_files(version: int) -> None:
    content = written(shape(version))
    (current,) = content["snapshots"]
    assert current["summary"] == {"operation": "append"}
    assert "parent-snapshot-id" not in current
    assert not {"statistics", "partition-statistics"} & content.keys()
    lineage = (content.get("next-row-id"), current.get("first-row-id"), current.get("added-rows"))
    assert lineage == ((0, 0, 0) if version == 3 else (None, None, None))


def test_a_table_without_partitions_has_the_conventional_last_id() -> None:
    plain = IcebergShape(Struct(()), (), 0, 2)
    assert written(plain)["last-partition-id"] == 999
    assert TableMetadataUtil.parse_obj(written(plain)).schema().fields == ()


def test_the_uuid_is_that_of_the_shared_table() -> None:
    cases = ((2, "t1 m1"), (3, "t1 m1"), (2, "t2 m1"), (2, "t1 m2"))
    uuids = [written(shape(version), identity=name)["table-uuid"] for version, name in cases]
    assert uuids[0] == uuids[1]
    assert len(set(uuids)) == 3


def test_equal_views_have_equal_bytes() -> None:
    first, second = (
        table_metadata(shape(), identity="i", location=ROOT, specs=SPECS, snapshots=[CURRENT])
        for _ in range(2)
    )
    assert first == second


def test_a_primitive_type_is_its_name() -> None:
    assert schema_json("decimal(9, 2)") == "decimal(9, 2)"


def test_spark_can_read_tables_without_timestamps_in_batches() -> None:
    without = shape(schema=Struct(COLUMNS.fields[:2]))
    assert parsed(without).properties.keys() == {"schema.name-mapping.default"}
