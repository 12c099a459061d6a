"""The shape of a snapshot: partition fields, format version, and what cannot be expressed."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Any

import orjson
import pytest
from support.tables.filesets import schema_field, table_metadata
from support.tables.memory_tables import PROTOCOL, WITH_VECTORS, file, snapshot

from sluicegate.api import TableUnreadable, UnsupportedOperation
from sluicegate.tables.declaration import IcebergDeclaration
from sluicegate.tables.iceberg.metadata import schema_json
from sluicegate.tables.iceberg.shape import (
    Field,
    IcebergShape,
    ListOf,
    MapOf,
    OwnMetadata,
    PartitionField,
    Struct,
    children,
    fields_of,
)
from sluicegate.tables.iceberg.snapshot_shape import declared_shape, shape_of
from sluicegate.tables.snapshot import TableMetadata, TableProtocol
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


def field(id_: int, name: str, type_: Any, **more: Any) -> dict[str, Any]:
    return {"id": id_, "name": name, "required": False, "type": type_, **more}


def spec(id_: int, *fields: tuple[int, int, str, str]) -> dict[str, Any]:
    names = ("field-id", "source-id", "name", "transform")
    return {"spec-id": id_, "fields": [dict(zip(names, each, strict=True)) for each in fields]}


def shape(
    *fields: dict[str, Any], specs: Any = (), default: int = 0, identifiers: tuple[int, ...] = ()
) -> IcebergShape:
    written = {
        "type": "struct",
        "schema-id": 5,
        "fields": fields,
        "identifier-field-ids": identifiers,
    }
    declaration = IcebergDeclaration(
        orjson.dumps(written).decode(), orjson.dumps(list(specs)).decode(), default
    )
    metadata = TableMetadata("t", '{"type":"struct","fields":[]}', iceberg=declaration)
    return declared_shape(metadata, declaration, 2)


def own(shape_: IcebergShape) -> OwnMetadata:
    assert shape_.own is not None
    return shape_.own


def test_the_schema_is_the_same_as_json() -> None:
    columns = [
        field(1, "id", "long", required=True, doc="a number"),
        field(2, "at", "time"),
        field(3, "key", "uuid"),
        field(4, "digest", "fixed[4]"),
        field(5, "price", "decimal(9, 2)"),
        field(6, "place", {"type": "struct", "fields": [field(7, "x", "double", required=True)]}),
        field(8, "list", {
            "type": "list", "element-id": 9, "element-required": True, "element": "time"
        }),
        field(10, "map", {
            "type": "map", "key-id": 11, "key": "string",
            "value-id": 12, "value-required": False, "value": "uuid",
        }),
    ]  # fmt: skip
    found = shape(*columns, identifiers=(1, 99))
    assert schema_json(found.schema) == {"type": "struct", "fields": columns}
    assert (found.last_column_id, found.format_version) == (12, 2)
    assert (own(found).schema_id, own(found).identifiers) == (5, (1,))


def test_types_are_written_in_one_way() -> None:
    found = shape(field(1, "a", "decimal(9,2)"), field(2, "b", "fixed[ 4 ]"))
    assert [each.type for each in children(found.schema)] == ["decimal(9, 2)", "fixed[4]"]


def test_nanoseconds_need_version_3() -> None:
    assert shape(field(1, "a", "timestamptz_ns")).format_version == 3


def test_names_in_statistics_are_those_of_mapped_columns() -> None:
    mapping = {"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "col-1"}
    delta = {"fields": [{"name": "a", "type": "long", "metadata": mapping}]}
    declaration = IcebergDeclaration(
        orjson.dumps(
            {"schema-id": 0, "fields": [field(1, "a", "long"), field(2, "b", "time")]}
        ).decode()
    )
    metadata = TableMetadata("t", orjson.dumps(delta).decode(), iceberg=declaration)
    found = declared_shape(metadata, declaration, 2)
    assert [each.physical_name for each in found.schema.fields] == ["col-1", "field-2"]


def test_specs_that_clients_cannot_read_are_left_out() -> None:
    specs = [
        spec(0, (1000, 1, "a", "identity")),
        spec(1, (1000, 1, "a", "identity"), (1001, 9, "gone", "identity")),
        spec(2, (1002, 1, "a", "new[1]")),
        spec(3, (1003, 2, "day", "day"), (1004, 1, "part", "bucket[16]")),
    ]
    found = own(shape(field(1, "a", "string"), field(2, "t", "timestamp"), specs=specs, default=3))
    listed = {each.id: [part.type for part in each.fields] for each in found.specs}
    assert listed == {0: ["string"], 3: ["date", "int"], 1_000_000_000: []}
    assert (found.default_spec, found.unpartitioned) == (3, 1_000_000_000)


def test_a_table_with_a_spec_without_fields_gets_no_other_one() -> None:
    specs = [spec(0), spec(1, (1000, 9, "gone", "identity"))]
    found = own(shape(field(1, "a", "long"), specs=specs, default=1))
    assert ([each.id for each in found.specs], found.default_spec) == ([0], 0)


@pytest.mark.parametrize("type_", ["variant", "geometry(srid:4326)", "unknown"])
def test_other_types_are_refused(type_: str) -> None:
    with pytest.raises(UnsupportedOperation, match="'a' has the type"):
        shape(field(1, "a", type_))


@pytest.mark.parametrize("id_", [None, True, -1, 2**31 - 1])
def test_fields_without_a_valid_id_are_refused(id_: Any) -> None:
    with pytest.raises(UnsupportedOperation, match="'a' has no valid field id"):
        shape({**field(1, "a", "long"), "id": id_})


def test_a_malformed_declaration_is_unreadable() -> None:
    with pytest.raises(TableUnreadable, match="malformed schema"):
        shape({"id": 1})
