"""Shapes of Iceberg tables, from what the tables declare."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from sluicegate.api import TableUnreadable, UnsupportedOperation
from sluicegate.tables.declaration import IcebergDeclaration
from sluicegate.tables.iceberg.declared_shape import declared_shape
from sluicegate.tables.iceberg.metadata import schema_json
from sluicegate.tables.iceberg.shape import IcebergShape, OwnMetadata, children
from sluicegate.tables.snapshot import TableMetadata


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
