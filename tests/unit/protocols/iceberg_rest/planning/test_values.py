"""Values of primitive types, as partitions, literals and plans write them."""

from __future__ import annotations

import math
from typing import Any

import pytest

from sluicegate.protocols.iceberg_rest.planning.expressions.values import kind_of


@pytest.mark.parametrize(
    ("kind", "partition", "literals", "single_value"),
    [
        ("boolean", "true", [True, "true"], True),
        ("int", "-5", [-5, -5.0, "-5"], -5),
        ("long", "9223372036854775807", [2**63 - 1, str(2**63 - 1)], 2**63 - 1),
        ("float", "1.1", [1.1, "1.1", 1.10000002384], 1.1),
        ("float", "16777217", [16777216], 16777216.0),
        ("double", "1", [1, 1.0, "1.0"], 1.0),
        ("decimal(9, 2)", "1.5", ["1.50", 1.5], "1.50"),
        ("decimal(38,0)", "-" + "9" * 38, ["-" + "9" * 38], "-" + "9" * 38),
        ("string", "a'\u00e9\U0001f600", ["a'\u00e9\U0001f600"], "a'\u00e9\U0001f600"),
        ("date", "2024-01-02", ["2024-01-02", 19724], "2024-01-02"),
        (
            "timestamptz",
            "2024-01-02 03:04:05.000006",
            ["2024-01-02T03:04:05.000006+00:00", "2024-01-02T04:04:05.000006+01:00", 1704164645000006],
            "2024-01-02T03:04:05.000006+00:00",
        ),
        (
            "timestamptz",
            "2024-01-02T03:04:05Z",
            ["2024-01-02T03:04:05"],
            "2024-01-02T03:04:05+00:00",
        ),
        ("timestamp", "2024-01-02 03:04:05", ["2024-01-02T03:04:05"], "2024-01-02T03:04:05"),
        # Forms that only Spark casts.
        ("boolean", "T", [True], True),
        ("int", " 7.0", [7], 7),
        ("decimal(10,2)", "1E+1", ["10.00"], "10.00"),
        ("date", "2024-1-2 00:00:00", ["2024-01-02"], "2024-01-02"),
        ("timestamp", "2024-01-02", ["2024-01-02T00:00:00"], "2024-01-02T00:00:00"),
        ("binary", "a\x01", ["6101"], "6101"),
        (
            "uuid",
            "F79C3E09-677C-4BBD-A479-3F349CB785E7",
            ["f79c3e09-677c-4bbd-a479-3f349cb785e7"],
            "f79c3e09-677c-4bbd-a479-3f349cb785e7",
        ),
    ],
)
def test_values_are_equal_in_all_forms(
    kind: str, partition: str, literals: list[Any], single_value: Any
) -> None:
    found = kind_of(kind)
    assert found is not None
    value = found.of_partition(partition)
    assert [found.of_literal(literal) == value for literal in literals] == [True] * len(literals)
    written = found.single_value(value)
    assert (written, type(written)) == (single_value, type(single_value))


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("boolean", "maybe"),
        ("int", "1.5"),
        ("int", "1_000"),
        ("long", "9" * 40),
        ("float", "NaN"),
        ("float", "1e60"),
        ("double", "Infinity"),
        ("double", "x"),
        ("decimal(9,2)", "1e999999999"),
        ("date", "2024-13-01"),
        ("timestamp", "noon"),
        ("uuid", "x"),
    ],
)
def test_other_texts_of_partitions_are_no_values(kind: str, text: str) -> None:
    found = kind_of(kind)
    assert found is not None
    with pytest.raises(ValueError, match=r"^not "):
        found.of_partition(text)


@pytest.mark.parametrize(
    ("kind", "literal"),
    [
        ("boolean", 1),
        ("int", True),
        ("int", "five"),
        ("double", "NaN"),
        ("decimal(9,2)", "1e999999999"),
        ("string", 5),
        ("date", True),
        ("date", 1.5),
        ("date", "yesterday"),
        ("timestamp", 1.5),
        ("timestamptz", True),
        ("binary", "xyz"),
        ("uuid", 5),
    ],
)
def test_other_literals_are_no_values(kind: str, literal: Any) -> None:
    found = kind_of(kind)
    assert found is not None
    with pytest.raises(ValueError, match=r"^not "):
        found.of_literal(literal)


@pytest.mark.parametrize(
    ("kind", "text"), [("decimal(9,2)", "1.234"), ("date", "10000-01-01"), ("decimal(3,0)", "0.5")]
)
def test_values_that_json_cannot_express_are_refused(kind: str, text: str) -> None:
    found = kind_of(kind)
    assert found is not None
    with pytest.raises(ValueError, match=r"^not "):
        found.single_value(found.of_partition(text))


def test_days_far_from_today_are_compared_but_not_written() -> None:
    found = kind_of("date")
    assert found is not None
    assert found.of_literal(10**9) > found.of_partition("9999-12-31")
    with pytest.raises(ValueError, match="years 1 to 9999"):
        found.single_value(10**9)


def test_literals_beyond_single_precision_are_beyond_all_values() -> None:
    found = kind_of("float")
    assert found is not None
    assert found.of_literal(1e300) == math.inf
    assert found.of_literal(-1e300) == -math.inf


def test_types_without_values_in_partitions_have_no_kind() -> None:
    assert [kind_of(name) for name in ("variant", "geometry", "time")] == [None] * 3
