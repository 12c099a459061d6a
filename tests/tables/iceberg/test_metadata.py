"""Table metadata for Iceberg clients: PyIceberg accepts it, and it lists no more than it must."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
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

from sluicegate.tables.iceberg.metadata import (
    ListedSnapshot,
    name_mapping,
    schema_json,
    table_metadata,
)
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
ROOT = "s3://sluicegate/sales/eu/orders"


def shape(version: int = 2, schema: Struct = COLUMNS) -> IcebergShape:
    return IcebergShape(schema, (PartitionField(1000, DAY, "col-2"),), 12, version)


def listed(number: int, of: IcebergShape, timestamp: int = 1_700_000_000_000) -> ListedSnapshot:
    path = f"s3://sluicegate/p{number}/~/manifest-list.avro"
    return ListedSnapshot(number, timestamp, of, path)


def written(*shapes: IcebergShape, identity: str = "t1 m1") -> Any:
    """The metadata of a table whose snapshots have these shapes. The last snapshot has the id 6."""
    first = 7 - len(shapes)
    snapshots = [
        listed(number, each, 1_700_000_000_000 + number) for number, each in enumerate(shapes, first)
    ]
    made = table_metadata(identity=identity, location=ROOT, specs=SPECS, snapshots=snapshots)
    return orjson.loads(made)


def parsed(*shapes: IcebergShape) -> TableMetadata:
    return TableMetadataUtil.parse_obj(written(*shapes))


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
        1_700_000_000_006,
    )
    assert current.manifest_list == "s3://sluicegate/p6/~/manifest-list.avro"
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
    items, pair = schema.find_type("l"), schema.find_type("m")
    assert isinstance(items, ListType)
    assert (items.element_id, items.element_required) == (5, False)
    assert isinstance(items.element_type, StructType)
    assert schema.find_type("l.element.x") == DecimalType(9, 2)
    assert isinstance(pair, MapType)
    assert (pair.key_id, pair.key_type, pair.value_id) == (8, StringType(), 9)
    assert pair.value_type == TimestamptzType()


def test_files_without_ids_are_read_by_their_own_names() -> None:
    mapping = parsed(shape()).name_mapping()
    assert mapping is not None
    id_, day, items, pair = mapping
    assert [(each.field_id, each.names) for each in (id_, day)] == [(1, ["id"]), (2, ["col-2"])]
    (element,) = items.fields
    assert [(each.field_id, each.names) for each in element.fields] == [(6, ["col-6"])]
    assert [(each.field_id, each.names) for each in pair.fields] == [(8, ["key"]), (9, ["value"])]


def test_hidden_columns_of_files_are_mapped_to_ids_that_no_column_has() -> None:
    column = Field(1, "_change_type", "string", "_change_type")
    hidden = replace(shape(schema=Struct((column,))), hidden=("__is_cdc", "_change_type", "_row-id"))
    mapping = parsed(hidden).name_mapping()
    assert mapping is not None
    assert [(each.field_id, each.names) for each in mapping] == [
        (1, ["_change_type"]),
        (2_147_483_400, ["__is_cdc"]),
        (2_147_483_402, ["_row-id"]),
    ]


def test_all_listed_snapshots_are_in_the_log_and_no_other() -> None:
    found = parsed(shape(), shape())
    assert [(each.snapshot_id, each.parent_snapshot_id) for each in found.snapshots] == [
        (5, None), (6, 5),
    ]  # fmt: skip
    assert [(each.snapshot_id, each.timestamp_ms) for each in found.snapshot_log] == [
        (5, 1_700_000_000_005), (6, 1_700_000_000_006),
    ]  # fmt: skip
    assert (found.current_snapshot_id, found.last_updated_ms) == (6, 1_700_000_000_006)
    assert written(shape(), shape())["last-sequence-number"] == 6
    assert found.metadata_log == []


def test_clients_do_not_look_for_files_that_a_snapshot_appended() -> None:
    operations = [each["summary"]["operation"] for each in written(shape(), shape())["snapshots"]]
    assert operations == ["append", "overwrite"]


def test_each_snapshot_has_its_schema() -> None:
    older = shape(schema=Struct((COLUMNS.fields[0], Field(3, "gone", "string", "gone"))))
    found = parsed(older, shape(), shape(), older, shape())
    assert [each.schema_id for each in found.snapshots] == [0, 1, 1, 0, 1]
    assert [[each.name for each in schema.fields] for schema in found.schemas] == [
        ["id", "gone"],
        ["id", "day", "l", "m"],
    ]
    assert found.current_schema_id == 1
    mapping = found.name_mapping()
    assert mapping is not None
    assert [each.field_id for each in mapping] == [1, 3, 2, 4, 7]


def test_one_field_in_several_schemas_is_mapped_once_with_all_fields_in_it() -> None:
    nested = [Field(3, "x", "long", "x"), Field(4, "y", "long", "y")]
    schemas = [
        Struct((Field(1, "s", Struct(tuple(each)), "s"),)) for each in (nested[:1], nested, nested[1:])
    ]
    assert name_mapping(schemas) == [
        {
            "field-id": 1,
            "names": ["s"],
            "fields": [{"field-id": 3, "names": ["x"]}, {"field-id": 4, "names": ["y"]}],
        }
    ]


def test_the_metadata_has_what_the_most_demanding_snapshot_needs() -> None:
    demanding = IcebergShape(COLUMNS, (PartitionField(1007, DAY, "day"),), 90, 3)
    plain = IcebergShape(Struct(COLUMNS.fields[:1]), (), 20, 2)
    found = parsed(demanding, plain)
    assert (found.format_version, found.last_column_id, found.last_partition_id) == (3, 90, 1007)
    assert found.properties["read.parquet.vectorization.enabled"] == "false"


@pytest.mark.parametrize("version", [2, 3])
def test_nothing_is_revealed_about_files(version: int) -> None:
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
        table_metadata(identity="i", location=ROOT, specs=SPECS, snapshots=[listed(6, shape())])
        for _ in range(2)
    )
    assert first == second


def test_a_primitive_type_is_its_name() -> None:
    assert schema_json("decimal(9, 2)") == "decimal(9, 2)"


def test_spark_can_read_tables_without_timestamps_in_batches() -> None:
    without = shape(schema=Struct(COLUMNS.fields[:2]))
    assert parsed(without).properties.keys() == {"schema.name-mapping.default"}
