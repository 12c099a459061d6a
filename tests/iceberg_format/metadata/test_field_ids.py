"""Ids of fields by their paths, as in the data files."""

from __future__ import annotations

from typing import Any

from pyiceberg.schema import Schema
from pyiceberg.types import ListType, LongType, MapType, NestedField, StringType, StructType

from sluicegate_iceberg.format.metadata.schema import parse_struct
from sluicegate_iceberg.format.reading import field_ids


def parsed(*types: Any) -> dict[str, int]:
    fields = [
        {"id": number, "name": f"c{number}", "required": False, "type": type_}
        for number, type_ in enumerate(types, start=1)
    ]
    return field_ids(parse_struct({"type": "struct", "fields": fields}).fields)


def test_the_ids_are_those_that_pyiceberg_finds_by_name() -> None:
    point = StructType(
        NestedField(10, "x", LongType()), NestedField(11, "tags", ListType(12, StringType()))
    )
    schema = Schema(
        NestedField(5, "places", MapType(6, StringType(), 7, point)),
        NestedField(2, "id", LongType()),
        NestedField(3, "points", ListType(4, StructType(NestedField(9, "y", LongType())))),
    )
    found = field_ids(parse_struct(schema.model_dump()).fields)
    paths = {field.field_id: schema.find_column_name(field.field_id) for field in schema.fields}
    assert set(found.values()) == schema.field_ids
    assert {id_: path for path, id_ in found.items() if id_ in paths} == paths
    assert found == {path: schema.find_field(path).field_id for path in found}


def test_nanoseconds_have_no_id() -> None:
    assert parsed("timestamp_ns", "long", "timestamptz_ns") == {"c2": 2}


def test_a_malformed_id_of_an_element_is_left_out() -> None:
    for id_ in (-1, "4", True, 2**31):
        element = {"type": "list", "element-id": id_, "element-required": False, "element": "long"}
        assert parsed(element) == {"c1": 1}
