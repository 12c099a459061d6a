"""Types of Delta as types of Iceberg, and which changes of types both formats allow."""

from __future__ import annotations

import pytest

from sluicegate.tables.iceberg.delta_types import can_widen, kind_of, primitive_type


@pytest.mark.parametrize(
    ("delta", "iceberg"),
    [
        ("byte", "int"),
        ("short", "int"),
        ("integer", "int"),
        ("long", "long"),
        ("float", "float"),
        ("double", "double"),
        ("boolean", "boolean"),
        ("string", "string"),
        ("varchar(10)", "string"),
        ("char(3)", "string"),
        ("binary", "binary"),
        ("date", "date"),
        ("timestamp", "timestamptz"),
        ("timestamp_ntz", "timestamp"),
        ("variant", "variant"),
        ("decimal(10,2)", "decimal(10, 2)"),
        ("decimal(38, 38)", "decimal(38, 38)"),
    ],
)
def test_a_type_has_its_iceberg_type(delta: str, iceberg: str) -> None:
    assert primitive_type(delta) == iceberg


@pytest.mark.parametrize(
    "delta",
    [
        "void",
        "interval day to second",
        "Long",
        "",
        "decimal",
        "decimal(0,0)",
        "decimal(39,2)",
        "decimal(2,5)",
        "decimal(-1,0)",
        f"decimal({'9' * 5000},0)",
        "long ",
        "varchar(10)x",
    ],
)
def test_other_types_have_none(delta: str) -> None:
    assert primitive_type(delta) is None
    assert not can_widen(delta, "long")
    assert not can_widen("long", delta)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("byte", "integer"),
        ("short", "long"),
        ("integer", "long"),
        ("float", "double"),
        ("decimal(10,2)", "decimal(12,2)"),
        ("varchar(3)", "string"),
        ("long", "long"),
    ],
)
def test_iceberg_readers_widen_these_types(old: str, new: str) -> None:
    assert can_widen(old, new)
    iceberg = [primitive_type(name) for name in (old, new)]
    assert None not in iceberg
    assert len({kind_of(str(name)) for name in iceberg}) == 1, "the column must keep its id"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("integer", "double"),
        ("integer", "decimal(10,0)"),
        ("long", "integer"),
        ("double", "float"),
        ("date", "timestamp_ntz"),
        ("timestamp", "timestamp_ntz"),
        ("decimal(10,2)", "decimal(12,3)"),
        ("decimal(12,2)", "decimal(10,2)"),
        ("string", "binary"),
    ],
)
def test_other_changes_cannot_be_read(old: str, new: str) -> None:
    assert not can_widen(old, new)


def test_the_kinds_of_different_types_differ() -> None:
    types = ("int", "double", "decimal(9, 2)", "string", "binary", "date", "timestamp", "timestamptz")
    assert len({kind_of(each) for each in types}) == len(types)
