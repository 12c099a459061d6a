"""Partitions of Iceberg tables: texts of the adapter as values of Avro and JSON."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any
from uuid import UUID

import fastavro
import orjson
import pytest

from sluicegate.protocols.iceberg_rest.manifests.avro_schemas import manifest_schema
from sluicegate.protocols.iceberg_rest.planning.dialects import Dialect
from sluicegate.protocols.iceberg_rest.planning.partitions import OwnPartitions, PartitionReader
from sluicegate.protocols.iceberg_rest.planning.specs import partition_specs, spec_without
from sluicegate.tables.iceberg.shape import (
    Field,
    IcebergShape,
    OwnMetadata,
    Spec,
    SpecField,
    Struct,
)


def shape(type_: str, transform: str = "identity") -> IcebergShape:
    fields = (SpecField(1000, 4, "key", transform, type_),)
    own = OwnMetadata(7, (), (Spec(0, ()), Spec(3, fields)), 3)
    return IcebergShape(Struct((Field(4, "key", type_, "key"),)), (), 4, 2, own=own)


def text(value: str | None, key: str = "=4", spec: str = "3") -> str:
    return orjson.dumps({"spec-id": spec, key: value}).decode()


def members(shape_: IcebergShape, text_: str, dialect: Dialect = Dialect.STANDARD) -> Any:
    return orjson.loads(b"{%b}" % PartitionReader(shape_, dialect).members(text_))


@pytest.mark.parametrize(
    ("type_", "written", "value", "json"),
    [
        ("int", "-7", -7, -7),
        ("long", "9223372036854775807", 2**63 - 1, 2**63 - 1),
        ("boolean", "true", True, True),
        ("string", "a\"'\u00e9", "a\"'\u00e9", "a\"'\u00e9"),
        ("string", "", "", ""),
        ("date", "20454", 20454, date(2026, 1, 1).isoformat()),
        ("timestamp", "1", 1, "1970-01-01T00:00:00.000001"),
        ("timestamptz", "0", 0, "1970-01-01T00:00:00+00:00"),
        ("decimal(9, 2)", "ff85", Decimal("-1.23"), "-1.23"),
        ("uuid", "00" * 15 + "01", UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        ("fixed[2]", "00ff", b"\0\xff", "00FF"),
        ("binary", "", b"", ""),
        ("double", "0.5", 0.5, 0.5),
    ],
)
def test_values_are_read_by_type(type_: str, written: str, value: object, json: object) -> None:
    found = OwnPartitions(own_of(type_)).of(text(written))
    assert (found.spec.id, found.values) == (3, (value,))
    assert members(shape(type_), text(written)) == {"spec-id": 3, "partition": [json]}
    assert fastavro.parse_schema(manifest_schema(shape(type_), 3))


def own_of(type_: str) -> OwnMetadata:
    own = shape(type_).own
    assert own is not None
    return own


@pytest.mark.parametrize("type_", ["int", "string", "uuid", "time"])
def test_null_is_a_value(type_: str) -> None:
    assert members(shape(type_), text(None)) == {"spec-id": 3, "partition": [None]}


@pytest.mark.parametrize(
    ("type_", "text_"),
    [
        ("int", text("99999999999")),
        ("int", text("x")),
        ("uuid", text("00")),
        ("fixed[3]", text("00")),
        ("decimal(2, 1)", text("7fff")),
        ("boolean", text("maybe")),
        ("int", text("1", key="1000")),
        ("int", text("1", spec="9")),
        ("int", "{}"),
    ],
)
def test_what_clients_cannot_read_has_no_partition(type_: str, text_: str) -> None:
    assert OwnPartitions(own_of(type_)).of(text_).spec.id == 0
    assert members(shape(type_), text_) == {"spec-id": 0, "partition": []}


@pytest.mark.parametrize(("type_", "written"), [("double", "nan"), ("float", "inf"), ("time", "5")])
def test_what_json_cannot_express_has_no_partition_in_plans(type_: str, written: str) -> None:
    assert OwnPartitions(own_of(type_)).of(text(written)).spec.id == 3
    assert members(shape(type_), text(written)) == {"spec-id": 0, "partition": []}


def test_pyiceberg_gets_no_partitions_in_plans() -> None:
    assert members(shape("int"), text("1"), Dialect.PYICEBERG) == {"spec-id": 0, "partition": []}


def test_transformed_values_are_found_by_the_id_of_their_field() -> None:
    assert members(shape("int", "bucket[4]"), text("3", key="1000"))["partition"] == [3]


def test_the_first_spec_is_that_of_new_files() -> None:
    own = shape("int")
    assert [spec["spec-id"] for spec in partition_specs(own)] == [3, 0]
    assert spec_without((), own) == 3
    assert partition_specs(own)[0]["fields"] == [
        {"field-id": 1000, "source-id": 4, "name": "key", "transform": "identity"}
    ]
