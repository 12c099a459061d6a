"""Statistics of converted tables have bounds of all columns on each side, or none."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sluicegate.formats import TableMetadata
from sluicegate_spark.conversion.to_delta.column_bounds import ColumnBounds

if TYPE_CHECKING:
    from deltalake import DeltaTable


def table(*types: Any, partitioned: int = 0, mapped: bool = False) -> TableMetadata:
    """A table with the columns `c0`, `c1`, …, partitioned by the last ones."""
    fields = [
        {
            "name": f"c{place}",
            "type": type_,
            "nullable": True,
            "metadata": {"delta.columnMapping.physicalName": f"p{place}"} if mapped else {},
        }
        for place, type_ in enumerate(types)
    ]
    return TableMetadata(
        "id",
        json.dumps({"type": "struct", "fields": fields}),
        tuple(f"c{len(types) - 1 - place}" for place in range(partitioned)),
        {"delta.columnMapping.mode": "name"} if mapped else {},
    )


def stats(least: dict[str, Any], most: dict[str, Any], **nulls: int) -> dict[str, Any]:
    return {"numRecords": 2, "minValues": least, "maxValues": most, "nullCount": nulls}


def completed(metadata: TableMetadata, written: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(ColumnBounds.of(metadata).complete(json.dumps(written)))
    return found


@pytest.mark.parametrize(
    ("type_", "least", "most"),
    [
        ("boolean", False, True),
        ("byte", -128, 127),
        ("integer", -(2**31), 2**31 - 1),
        ("long", -(2**63), 2**63 - 1),
        ("decimal(5,2)", -999.99, 999.99),
        ("decimal(3,0)", -999, 999),
        ("decimal(2,2)", -0.99, 0.99),
        ("string", "", "\U0010ffff"),
    ],
)
def test_a_column_without_bounds_gets_those_of_its_type(type_: str, least: Any, most: Any) -> None:
    found = completed(table("long", type_), stats({"c0": 1}, {"c0": 2}, c0=0, c1=0))
    assert found == stats({"c0": 1, "c1": least}, {"c0": 2, "c1": most}, c0=0, c1=0)


@pytest.mark.parametrize(("type_", "least"), [("double", "-Infinity"), ("float", "-Infinity")])
def test_a_column_that_can_have_nan_leaves_the_file_without_maxima(type_: str, least: str) -> None:
    found = completed(table("long", type_), stats({"c0": 1}, {"c0": 2}, c0=0))
    assert found == {"numRecords": 2, "minValues": {"c0": 1, "c1": least}, "nullCount": {"c0": 0}}


@pytest.mark.parametrize("type_", ["date", "timestamp", "timestamp_ntz"])
def test_types_without_limits_leave_the_file_without_bounds(type_: str) -> None:
    found = completed(table("long", type_), stats({"c0": 1}, {"c0": 2}))
    assert found == {"numRecords": 2, "nullCount": {}}


def test_a_file_without_bounds_has_none() -> None:
    assert completed(table("long"), stats({}, {})) == {"numRecords": 2, "nullCount": {}}


@pytest.mark.parametrize(
    "metadata",
    [
        table("long", {"type": "array", "elementType": "long", "containsNull": True}),
        table("long", "binary"),
        table("long", "date", partitioned=1),
        table(*["long"] * 32, "date"),
    ],
    ids=["nested", "binary", "partition", "behind the 32nd"],
)
def test_columns_that_deltalake_reads_no_bounds_of_are_left_out(metadata: TableMetadata) -> None:
    bounds = {f"c{place}": 1 for place in range(32)}
    assert completed(metadata, stats(bounds, bounds)) == stats(bounds, bounds)


def test_a_column_of_nulls_needs_no_bounds() -> None:
    written = stats({"c0": 1}, {"c0": 2}, c1=2)
    assert completed(table("long", "date"), written) == written


def test_columns_have_physical_names() -> None:
    found = completed(table("long", "boolean", mapped=True), stats({"p0": 1}, {"p0": 2}))
    assert found == stats({"p0": 1, "p1": False}, {"p0": 2, "p1": True})


def test_numbers_and_texts_stay_as_they_are_written() -> None:
    digits = f"{'9' * 36}.10"
    text = f'{{"numRecords":2,"minValues":{{"c0":{digits},"c1":"\\"ü"}},"nullCount":{{}}}}'
    metadata = table("decimal(38,2)", "string")
    assert ColumnBounds.of(metadata).complete(text) == text


NAN = float("nan")
ROWS = {"c0": [1, 2], "c1": [1.5, NAN], "c2": [True, False], "c3": ["a", "b"], "c4": [7, 7]}


def by_deltalake(table: DeltaTable, column: str, value: Any) -> int:
    return len(table.to_pandas(filters=[(column, "=", value)]))


def by_polars(table: DeltaTable, column: str, value: Any) -> int:
    pl = pytest.importorskip("polars")
    height: int = pl.scan_delta(table.table_uri).filter(pl.col(column) == value).collect().height
    return height


def by_duckdb(table: DeltaTable, column: str, value: Any) -> int:
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect() as connection:
        files = connection.from_arrow(table.to_pyarrow_dataset())
        wanted = duckdb.ColumnExpression(column) == duckdb.ConstantExpression(value)
        return len(files.filter(wanted).fetchall())


@pytest.mark.parametrize("count", [by_deltalake, by_polars, by_duckdb])
def test_filters_find_the_rows_of_each_column(
    tmp_path: Path, count: Callable[[DeltaTable, str, Any], int]
) -> None:
    """Only the first column has all bounds, as where Iceberg has metrics of some columns only."""
    pq.write_table(pa.table(ROWS), tmp_path / "a.parquet")
    described = table("long", "double", "boolean", "string", "long")
    written = stats({"c0": 1, "c1": 1.5}, {"c0": 2}, **dict.fromkeys(ROWS, 0))
    metadata = {
        "id": "t",
        "format": {"provider": "parquet", "options": {}},
        "schemaString": described.schema_string,
        "partitionColumns": [],
        "configuration": {},
    }
    file = {
        "path": "a.parquet",
        "partitionValues": {},
        "size": (tmp_path / "a.parquet").stat().st_size,
        "modificationTime": 1,
        "dataChange": True,
        "stats": ColumnBounds.of(described).complete(json.dumps(written)),
    }
    protocol = {"minReaderVersion": 1, "minWriterVersion": 2}
    (tmp_path / "_delta_log").mkdir()
    (tmp_path / "_delta_log" / f"{0:020}.json").write_text(
        "\n".join(
            json.dumps(each) for each in ({"protocol": protocol}, {"metaData": metadata}, {"add": file})
        )
    )
    found = pytest.importorskip("deltalake").DeltaTable(tmp_path)
    wanted = {"c0": 2, "c1": 1.5, "c2": True, "c3": "b", "c4": 7}
    counts = {name: count(found, name, value) for name, value in wanted.items()}
    assert counts == {"c0": 1, "c1": 1, "c2": 1, "c3": 1, "c4": 2}
