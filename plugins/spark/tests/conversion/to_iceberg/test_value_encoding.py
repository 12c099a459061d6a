"""Values of Delta logs become bounds and partition values of manifests, without Spark."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from pyiceberg.conversions import from_bytes
from pyiceberg.schema import Schema
from pyiceberg.types import PrimitiveType

from sluicegate.api import TableUnreadable, UnsupportedOperation
from sluicegate_spark.conversion.to_iceberg.value_encoding import bound, partition_value


def iceberg_type(name: str) -> PrimitiveType:
    field = {"id": 1, "name": "c", "required": False, "type": name}
    found = Schema.model_validate({"type": "struct", "fields": [field]}).find_field(1).field_type
    assert isinstance(found, PrimitiveType)
    return found


@pytest.mark.parametrize(
    ("type_", "value", "lower", "upper"),
    [
        ("int", -7, "-7", "-7"),
        ("long", 2**40, str(2**40), str(2**40)),
        ("double", 0.5, "0.5", "0.5"),
        ("double", 0, "-0.0", "0.0"),
        ("string", "Köln", "Köln", "Köln"),
        ("decimal(20, 3)", "-12345678901234567.891", *["-12345678901234567.891"] * 2),
        ("decimal(5, 0)", 128, "128", "128"),
        ("date", "1969-07-20", "-165", "-165"),
        ("timestamptz", "1970-01-01T00:00:01.500Z", "1500000", "1500999"),
        ("timestamptz", "1970-01-01T01:00:00.000+01:00", "0", "999"),
        ("timestamp", "1969-12-31T23:59:59.999", "-1000", "-1"),
    ],
)
def test_pyiceberg_reads_the_bounds_of_statistics(
    type_: str, value: Any, lower: str, upper: str
) -> None:
    for is_upper, expected in ((False, lower), (True, upper)):
        made = bound(value, type_, upper=is_upper)
        assert made is not None
        assert str(from_bytes(iceberg_type(type_), made)) == expected


@pytest.mark.parametrize(
    ("type_", "value"),
    [
        ("double", "NaN"),
        ("int", "x"),
        ("int", 2**31),
        ("date", "12024-01-01"),
        ("binary", "x"),
        ("boolean", True),
        ("decimal(5, 2)", 1.001),
        ("decimal(38, 0)", 2**63 - 1),
        ("decimal(38, 0)", -(2**63)),
        ("decimal(21, 2)", Decimal(1 - 2**63)),
    ],
)
def test_a_bound_that_cannot_be_expressed_exactly_is_left_out(type_: str, value: Any) -> None:
    assert bound(value, type_, upper=True) is None


def test_partition_values_are_read_by_type() -> None:
    cases = [
        ("7", "int", 7),
        ("", "string", None),
        (None, "int", None),
        ("a b%2F", "string", "a b%2F"),
        ("true", "boolean", True),
        ("1969-07-20", "date", -165),
        ("1970-01-01T00:00:00.000001Z", "timestamptz", 1),
        ("1970-01-01 00:00:01.5", "timestamp", 1_500_000),
        ("-1.50", "decimal(5, 2)", (-150).to_bytes(3, "big", signed=True)),
    ]
    assert [partition_value(text, type_, "p") for text, type_, _ in cases] == [
        expected for _, _, expected in cases
    ]
    with pytest.raises(UnsupportedOperation, match="no time zone"):
        partition_value("1970-01-01 00:00:00", "timestamptz", "p")
    with pytest.raises(TableUnreadable, match="'p' is not of type int"):
        partition_value("seven", "int", "p")
