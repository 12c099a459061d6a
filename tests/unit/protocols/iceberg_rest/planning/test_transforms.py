"""Transforms of partition values, with the examples of the specification."""

from __future__ import annotations

import uuid
from decimal import Decimal
from typing import Any

import pytest

from sluicegate.protocols.iceberg_rest.planning.expressions.transforms import (
    murmur3,
    transform_of,
    two_complement,
)
from sluicegate.protocols.iceberg_rest.planning.expressions.values import kind_of


@pytest.mark.parametrize(
    ("data", "hashed"),
    [
        ((34).to_bytes(8, "little"), 2017239379),
        ((17486).to_bytes(8, "little"), -653330422),
        ((1510871468000000).to_bytes(8, "little"), -2047944441),
        (b"iceberg", 1210000089),
        (two_complement(1420), -500754589),
        (uuid.UUID("f79c3e09-677c-4bbd-a479-3f349cb785e7").bytes, 1488055340),
        (b"\0\1\2\3", -188683207),
    ],
)
def test_hashes_are_those_of_the_specification(data: bytes, hashed: int) -> None:
    assert murmur3(data) == hashed % (1 << 32)


@pytest.mark.parametrize(
    ("kind", "text", "transform", "result"),
    [
        ("int", "34", "bucket[100]", (2017239379 & 0x7FFFFFFF) % 100),
        ("long", "34", "bucket[100]", (2017239379 & 0x7FFFFFFF) % 100),
        ("string", "iceberg", "bucket[7]", 1210000089 % 7),
        ("decimal(9,2)", "14.2", "bucket[7]", (-500754589 & 0x7FFFFFFF) % 7),
        ("date", "2017-11-16", "bucket[7]", (-653330422 & 0x7FFFFFFF) % 7),
        ("timestamp", "2017-11-16 22:31:08", "bucket[7]", (-2047944441 & 0x7FFFFFFF) % 7),
        ("uuid", "f79c3e09-677c-4bbd-a479-3f349cb785e7", "bucket[7]", 1488055340 % 7),
        ("binary", "\0\1\2\3", "bucket[7]", (-188683207 & 0x7FFFFFFF) % 7),
        ("int", "-1", "truncate[10]", -10),
        ("long", "19", "truncate[10]", 10),
        ("string", "\U0001f600bc", "truncate[2]", "\U0001f600b"),
        ("binary", "abc", "truncate[2]", b"ab"),
        ("decimal(9,2)", "10.65", "truncate[50]", Decimal("10.50")),
        ("decimal(9,2)", "-0.1", "truncate[50]", Decimal("-0.50")),
        ("date", "2017-11-16", "year", 47),
        ("date", "1969-12-31", "year", -1),
        ("date", "2017-11-16", "month", 574),
        ("date", "1969-12-31", "month", -1),
        ("date", "2017-11-16", "day", 17486),
        ("timestamp", "2017-11-16 22:31:08", "year", 47),
        ("timestamptz", "2017-11-16T22:31:08Z", "month", 574),
        ("timestamp", "1969-12-31 23:59:59", "day", -1),
        ("timestamp", "2017-11-16 22:31:08", "hour", 419686),
        ("timestamp", "1969-12-31 23:59:59", "hour", -1),
    ],
)
def test_values_are_transformed(kind: str, text: str, transform: str, result: Any) -> None:
    found, values = transform_of(transform, kind), kind_of(kind)
    assert found is not None
    assert values is not None
    assert found[0](values.of_partition(text)) == result


@pytest.mark.parametrize(
    ("transform", "kind"),
    [
        ("bucket[0]", "int"),
        ("bucket[4]", "double"),
        ("bucket", "int"),
        ("truncate[4]", "date"),
        ("year", "string"),
        ("hour", "date"),
        ("void", "int"),
        ("week", "date"),
    ],
)
def test_other_transforms_are_not_known(transform: str, kind: str) -> None:
    assert transform_of(transform, kind) is None
