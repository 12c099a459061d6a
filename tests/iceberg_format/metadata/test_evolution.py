"""Tables whose columns were renamed, moved, dropped and added again."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pytest
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.types import DoubleType, IntegerType, LongType, NestedField, StringType, StructType
from support.clients.recipient import refusal_of
from support.gateways.iceberg_sharing import IcebergSharing
from support.tables.iceberg_deletes import data_files, delete_positions
from support.tables.rows import assert_same_rows

pytestmark = pytest.mark.filterwarnings("ignore:The behavior of DataFrame concatenation:FutureWarning")

Step = Callable[[Table], None]
SCHEMA = Schema(
    NestedField(1, "id", LongType()),
    NestedField(2, "name", StringType()),
    NestedField(3, "count", IntegerType()),
    NestedField(
        4, "place", StructType(NestedField(5, "x", DoubleType()), NestedField(6, "y", DoubleType()))
    ),
)


def append(table: Table) -> None:
    """Three rows of whatever columns the table has now."""
    schema = table.refresh().schema().as_arrow()
    table.append(pa.table([_values(column.type) for column in schema], schema=schema))


def _values(type_: pa.DataType) -> pa.Array:
    if pa.types.is_struct(type_):
        return pa.array([{field.name: 1.5 for field in type_}, None, {}], type_)
    texts = pa.types.is_string(type_) or pa.types.is_large_string(type_)
    return pa.array(["a", None, "c"] if texts else [1, 2, None], type_)


def rename(old: str, new: str) -> Step:
    def step(table: Table) -> None:
        with table.update_schema() as update:
            update.rename_column(old, new)

    return step


def drop(name: str) -> Step:
    def step(table: Table) -> None:
        with table.update_schema(allow_incompatible_changes=True) as update:
            update.delete_column(name)

    return step


def add(name: str) -> Step:
    def step(table: Table) -> None:
        with table.update_schema() as update:
            update.add_column(name, StringType())

    return step


def widen(name: str) -> Step:
    def step(table: Table) -> None:
        with table.update_schema() as update:
            update.update_column(name, LongType())

    return step


def move_first(name: str) -> Step:
    def step(table: Table) -> None:
        with table.update_schema() as update:
            update.move_first(name)

    return step


@pytest.mark.parametrize(
    ("steps", "format_"),
    [
        ([widen("count"), append], "parquet"),
        ([move_first("name"), append], "parquet"),
        ([drop("count"), append], "parquet"),
        ([rename("name", "title")], "delta"),
        ([rename("name", "title"), append], "delta"),
        ([rename("name", "title"), rename("title", "name"), append], "delta"),
        ([rename("name", "NAME"), append], "delta"),
        ([rename("place.x", "z"), append], "delta"),
        ([drop("name"), add("name"), append], "delta"),
        ([drop("name"), add("NAME"), append], "delta"),
        ([rename("id", "old"), rename("name", "id"), append], "delta"),
        ([drop("place.x"), append], "parquet"),
        ([add("with space"), append], "delta"),
        ([add("größe"), append], "delta"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_rows_are_those_of_iceberg_after(lake: IcebergSharing, steps: list[Step], format_: str) -> None:
    name, table = lake.table(SCHEMA)
    append(table)
    for step in steps:
        step(table)
        table.refresh()
    assert lake.recipient.negotiated_format(name) == format_
    for use_delta_format in {None, True}:
        found = lake.recipient.read(name, use_delta_format=use_delta_format)
        assert_same_rows(table.scan().to_arrow(), found)


def test_renamed_columns_and_deleted_rows_together(lake: IcebergSharing) -> None:
    name, table = lake.table(SCHEMA)
    append(table)
    rename("name", "title")(table)
    append(table)
    delete_positions(table, {path: [1] for path in data_files(table)})
    assert_same_rows(table.scan().to_arrow(), lake.recipient.read(name))


def test_old_versions_have_the_names_of_their_time(lake: IcebergSharing) -> None:
    name, table = lake.table(SCHEMA)
    append(table)
    rename("name", "title")(table)
    append(table)
    old = lake.recipient.read(name, version=1)
    assert list(old.columns) == ["id", "name", "count", "place"]
    assert len(old) == 3


def test_changes_over_renames_are_refused(lake: IcebergSharing) -> None:
    name, table = lake.table(SCHEMA)
    append(table)
    rename("name", "title")(table)
    append(table)
    refused = refusal_of(
        lambda: lake.recipient.changes(name, use_delta_format=True, starting_version=1)
    )
    assert refused.status == 400
