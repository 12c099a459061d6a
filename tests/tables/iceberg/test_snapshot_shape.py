"""The shape of a snapshot: partition fields, format version, and what cannot be expressed."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Any

import pytest
from support.tables.filesets import schema_field, table_metadata
from support.tables.memory_tables import PROTOCOL, WITH_VECTORS, file, snapshot

from sluicegate.api.errors import UnsupportedOperation
from sluicegate.tables.iceberg.shape import (
    Field,
    IcebergShape,
    ListOf,
    MapOf,
    PartitionField,
    Struct,
    children,
    fields_of,
)
from sluicegate.tables.iceberg.snapshot_shape import shape_of
from sluicegate.tables.snapshot import TableProtocol
from sluicegate.tables.versions import DescribedVersion

VECTOR = {"storageType": "u", "pathOrInlineDv": "x", "sizeInBytes": 40, "cardinality": 2}
MAPPING: dict[str, Any] = {"delta.columnMapping.mode": "name"}
LONGS = (schema_field("a", "long"), schema_field("b", "long"))


def made(
    *fields: dict[str, Any],
    partitions: Sequence[str] = (),
    protocol: TableProtocol = PROTOCOL,
    rows: Sequence[dict[str, Any]] = (),
    **config: str,
) -> IcebergShape:
    ids = count(1)
    metadata = table_metadata(fields or LONGS, partitions, **config)
    read = snapshot(*rows, metadata=metadata, protocol=protocol)
    return shape_of(DescribedVersion.of(read), lambda parent, name, kind: next(ids))


def said(*fields: dict[str, Any], **options: Any) -> str:
    with pytest.raises(UnsupportedOperation) as caught:
        made(*fields, **options)
    return caught.value.message


def mapped(name: str, kind: Any, id_: int, physical: str = "p") -> dict[str, Any]:
    keys = {"delta.columnMapping.id": id_, "delta.columnMapping.physicalName": physical}
    return schema_field(name, kind, **keys)


def test_a_plain_table_has_format_version_2() -> None:
    shape = made()
    assert (shape.format_version, shape.last_column_id, shape.partition_fields) == (2, 2, ())


def test_a_table_without_columns_has_a_shape() -> None:
    empty = DescribedVersion.of(snapshot(metadata=table_metadata([])))
    assert shape_of(empty, lambda *_: 1).last_column_id == 0


@pytest.mark.parametrize(("vector", "version"), [(VECTOR, 3), (None, 2)])
def test_only_files_with_deletion_vectors_require_version_3(vector: Any, version: int) -> None:
    shape = made(protocol=WITH_VECTORS, rows=[file("a", deletion_vector=vector)])
    assert shape.format_version == version


def test_the_highest_id_is_that_of_the_whole_tree() -> None:
    inner = {"type": "array", "elementType": {"type": "struct", "fields": [schema_field("x", "long")]}}
    assert made(schema_field("a", inner), schema_field("b", "long")).last_column_id == 4


def test_fields_come_before_those_in_their_types() -> None:
    key, value, inner = (Field(number, name, "long", name) for number, name in enumerate("kvi", 1))
    pair = Field(4, "m", MapOf(key, value), "m")
    part = Field(5, "e", Struct((inner, pair)), "e")
    listed = Field(6, "l", ListOf(part), "l")
    assert [each.id for each in fields_of(Struct((listed,)))] == [6, 5, 3, 4, 1, 2]
    assert children("long") == ()


def test_partition_fields_are_in_the_order_of_the_partition_columns() -> None:
    shape = made(*LONGS, partitions=["b", "A"])
    a, b = shape.schema.fields
    assert shape.partition_fields == (PartitionField(1002, b, "b"), PartitionField(1001, a, "A"))


def test_partition_values_of_mapped_columns_have_physical_names_as_keys() -> None:
    shape = made(mapped("a", "long", 7, "col-7"), partitions=["a"], **MAPPING)
    (field,) = shape.partition_fields
    assert (field.key, field.source.id, shape.last_column_id) == ("col-7", 7, 7)


def test_writers_can_add_columns_to_files() -> None:
    tracked: Any = {"delta.rowTracking.materializedRowIdColumnName": "_row-id-1"}
    assert made(**tracked).hidden == ("_change_type", "__is_cdc", "_row-id-1")
    assert made(schema_field("__is_cdc", "string")).hidden == ("_change_type",)


def test_ids_of_partition_fields_are_numbers_of_32_bits() -> None:
    message = said(mapped("a", "long", 2**31 - 1_000), partitions=["a"], **MAPPING)
    assert "'a' is a partition column with an id that is too large" in message


@pytest.mark.parametrize("name", ["missing", "s", ""])
def test_a_partition_column_must_be_primitive(name: str) -> None:
    inner = {"type": "struct", "fields": [schema_field("x", "long")]}
    message = said(schema_field("s", inner), partitions=[name])
    assert f"'{name}' is a partition column without a primitive type" in message


@pytest.mark.parametrize("names", [["a", "a"], ["a", "b", "A"]])
def test_a_column_partitions_only_once(names: list[str]) -> None:
    assert f"'{names[-1]}' is a partition column twice" in said(*LONGS, partitions=names)


@pytest.mark.parametrize("feature", ["rowTracking2", "clustering"])
def test_an_unknown_reader_feature_is_named(feature: str) -> None:
    protocol = TableProtocol(3, 7, (feature,), (feature,))
    message = said(schema_field("v", "long"), protocol=protocol)
    assert message.endswith(f"it uses {feature}, which Iceberg does not have")


@pytest.mark.parametrize(
    "feature",
    ["columnMapping", "timestampNtz", "typeWidening", "typeWidening-preview", "v2Checkpoint",
     "vacuumProtocolCheck", "deletionVectors", "variantType"],
)  # fmt: skip
def test_features_that_iceberg_has_or_that_are_not_used_are_no_obstacle(feature: str) -> None:
    assert made(protocol=TableProtocol(3, 7, (feature,), (feature,))).format_version == 2


@pytest.mark.parametrize(
    "kind",
    ["variant", {"type": "struct", "fields": [schema_field("x", "variant")]}],
    ids=["column", "nested field"],
)
@pytest.mark.parametrize("feature", ["variantType", "variantType-preview", "variantShredding"])
def test_variants_need_version_3(feature: str, kind: Any) -> None:
    protocol = TableProtocol(3, 7, (feature,), (feature,))
    assert made(schema_field("v", kind), protocol=protocol).format_version == 3


def test_a_variant_is_no_partition_column() -> None:
    message = said(schema_field("v", "variant"), partitions=["v"])
    assert "'v' is a partition column without a primitive type" in message


def test_two_fields_with_one_id_are_refused() -> None:
    nested = {"type": "struct", "fields": [mapped("x", "long", 7)]}
    message = said(mapped("a", "long", 7), mapped("s", nested, 8), **MAPPING)
    assert "column 'a' has the same id as another one" in message


def test_two_paths_that_are_the_same_with_dots_are_refused() -> None:
    nested = {"type": "struct", "fields": [schema_field("x", "long")]}
    message = said(schema_field("s", nested), schema_field("s.x", "long"))
    assert "column 's.x' has the same name as another one" in message
