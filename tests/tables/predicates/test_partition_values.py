"""What partition values prove: they are exact, but for moments without a zone."""

from __future__ import annotations

import json
from typing import Any

import pyarrow.compute as pc
import pytest
from support.tables.filesets import file_set, kept, schema_field, table_metadata

COLUMNS = {
    "country": "string",
    "day": "date",
    "number": "integer",
    "flag": "boolean",
    "ratio": "double",
    "price": "decimal(20,2)",
    "moment": "timestamp",
    "clock": "timestamp_ntz",
    "raw": "binary",
}
TWO_MOMENTS = ["2021-04-28T10:00:00Z", "2021-04-28 10:00:00"]
METADATA = table_metadata([schema_field(*column) for column in COLUMNS.items()], list(COLUMNS))


def left(column: str, values: list[Any], hint: str) -> list[Any]:
    """Those of the values whose files a hint leaves."""
    numbers = kept(file_set([(json.dumps({column: value}), None) for value in values]), METADATA, hint)
    return [values[number] for number in sorted(numbers)]


@pytest.mark.parametrize(
    ("column", "values", "hint", "expected"),
    [
        ("country", ["DE", "FR", None, ""], "country = 'DE'", ["DE"]),
        ("country", ["DE", "FR", None, ""], "country <> 'DE'", ["FR"]),
        ("country", ["DE", "FR", None, ""], "country IS NULL", [None, ""]),
        ("country", ["DE", "FR", None, ""], "country IS NOT NULL", ["DE", "FR"]),
        ("country", ["DE", "FR", None, ""], "NOT (country = 'DE' OR country IS NULL)", ["FR"]),
        ("country", ["DE", "FR", None, ""], "country NOT IN ('FR', NULL)", []),
        ("country", ["DE", "FR", None, ""], "country > 'DE' OR country <=> NULL", ["FR", None, ""]),
        ("day", ["2021-04-28", "2021-04-29"], "day = '2021-04-29'", ["2021-04-29"]),
        ("day", ["2021-04-28", "2021-04-29"], "CAST(day AS DATE) < DATE '2021-04-29'", ["2021-04-28"]),
        ("day", ["2021-04-28", "tomorrow"], "day = '2021-04-29'", ["tomorrow"]),
        ("number", ["9", "10", "x"], "number < 10", ["9", "x"]),
        ("number", ["9", "10"], "number = 9.5", ["9", "10"]),
        ("flag", ["true", "false", None], "flag", ["true"]),
        ("flag", ["true", "false", None], "NOT flag", ["false"]),
        ("ratio", ["1.5", "NaN", "2.5"], "ratio > 2", ["NaN", "2.5"]),
        ("price", ["1.10", "12345678901234.89"], "price = 12345678901234.88BD", []),
        ("price", ["1.10", "12345678901234.89"], "price > 12345678901234.88BD", ["12345678901234.89"]),
        ("moment", TWO_MOMENTS, "moment < '2021-04-28T09:00:00Z'", TWO_MOMENTS[1:]),
        ("moment", TWO_MOMENTS, "moment < '2021-04-27T09:00:00Z'", []),
        ("clock", ["2021-04-28 10:00:00.5"], "clock < '2021-04-28 10:00:00'", []),
        ("raw", ["a", "b"], "raw = 'b'", ["a", "b"]),
        ("raw", ["a", None], "raw IS NULL", [None]),
    ],
)  # fmt: skip
def test_values(column: str, values: list[Any], hint: str, expected: list[Any]) -> None:
    assert left(column, values, hint) == expected


@pytest.mark.parametrize("text", ["{}", '{"number": 7}', "[]", "{"])
def test_partitions_whose_value_is_missing_or_no_text_are_kept(text: str) -> None:
    assert kept(file_set([(text, None)]), METADATA, "number = 5") == {0}


def test_the_name_in_the_log_is_the_physical_one() -> None:
    field = schema_field("Country", "string", **{"delta.columnMapping.physicalName": "col-1"})
    mapped = table_metadata([field], ["Country"], **{"delta.columnMapping.mode": "name"})
    files = file_set([(json.dumps({"col-1": value}), None) for value in ("DE", "FR")])
    assert kept(files, mapped, "country = 'FR'") == {1}
    assert kept(files, mapped, "`col-1` = 'FR'") == {0, 1}


def test_a_name_that_fits_two_columns_in_other_cases_must_be_written_exactly() -> None:
    twins = table_metadata([schema_field("a", "long"), schema_field("A", "long")], ["a", "A"])
    files = file_set([(json.dumps({"a": "1", "A": "2"}), None)])
    assert kept(files, twins, "A = 1") == set()
    assert kept(files, twins, "a = 1") == {0}


def test_only_living_files_are_left() -> None:
    files = file_set([('{"number": "5"}', None)] * 3)
    left = kept(files, METADATA, "number = 5")
    narrowed = files.where(pc.equal(files.table.column("path"), "1").combine_chunks())
    assert left == {0, 1, 2}
    assert kept(narrowed, METADATA, "number = 5") == {1}


def test_conditions_on_partitions_and_on_data_hold_together() -> None:
    fields = [schema_field("number", "integer"), schema_field("x", "long")]
    mixed = table_metadata(fields, ["number"])
    files = file_set(
        [
            (
                json.dumps({"number": str(number)}),
                json.dumps({"minValues": {"x": x}, "maxValues": {"x": x}}),
            )
            for number in (1, 2)
            for x in (10, 20)
        ]
    )
    assert kept(files, mixed, "number = 1 AND x = 20") == {1}
    assert kept(files, mixed, "number = 1 OR x = 20") == {0, 1, 3}
    assert kept(files, mixed, "number = 1", "x = 10") == {0}
    assert kept(files, mixed, "NOT (number = 1 OR x = 20)") == {2}
