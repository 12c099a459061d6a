"""Tables with partition values of every type, nulls, and texts that paths escape."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
from support.tables.deltalog import Action, protocol
from support.tables.reader_tables.folder import TableFolder
from support.tables.reader_tables.of_types import PRIMITIVES
from support.tables.reader_tables.served import ReaderTable, Served
from support.tables.reader_tables.values import Row, rows_of

_VALUE = pa.struct({"val": pa.int32()})
_TEXTS = ("bar+%21", "bar+%22", "+ =%0", "null", "a/b:c", "ü✓ 'quoted\"", "__x__", "..", "#?&", " ")


def _of_all_types(root: Path) -> None:
    kinds = {name: kind for name, kind in PRIMITIVES.items() if name != "bytes"}
    files = {"value": pa.string(), "records": pa.list_(_VALUE), "record": _VALUE}
    schema = pa.schema({**kinds, **files})
    nulls: Row = dict.fromkeys(kinds)
    rows = [*rows_of(schema, [3, 0, -3]), *(row | nulls for row in rows_of(schema, [8]))]
    _one_file_each(root, schema, list(kinds), rows)


def _of_texts(root: Path, texts: Sequence[str] = _TEXTS) -> None:
    schema = pa.schema({"id": pa.int32(), "part": pa.string()})
    _one_file_each(
        root, schema, ["part"], [{"id": number, "part": text} for number, text in enumerate(texts)]
    )


def _of_decimals(root: Path) -> None:
    schema = pa.schema({"part": pa.decimal128(12, 5), "amount": pa.decimal128(5, 2)})
    _one_file_each(root, schema, ["part"], rows_of(schema, [-99_999, 4, 0, 12_345]))


def _one_file_each(
    root: Path, schema: pa.Schema, partitioned_by: Sequence[str], rows: Sequence[Row]
) -> None:
    table = TableFolder(root, schema, partitioned_by=partitioned_by)
    adds = [table.file(f"{number}.parquet", [row]) for number, row in enumerate(rows)]
    table.log.commit(0, protocol(), table.metadata(), *adds)
    table.expect(rows)


def _with_an_empty_text(root: Path) -> None:
    """An empty text means null, whatever the column's type."""
    schema = pa.schema({"id": pa.int32(), "part": pa.string(), "number": pa.int32()})
    table = TableFolder(root, schema, partitioned_by=["part", "number"])
    rows: list[Row] = [{"id": 1, "part": None, "number": None}, {"id": 2, "part": "x", "number": 2}]
    empty: Action = table.file("1.parquet", rows[:1], partition={"part": "", "number": ""})
    table.log.commit(0, protocol(), table.metadata(), empty, table.file("2.parquet", rows[1:]))
    table.expect(rows)


def _in_data_files_too(root: Path) -> None:
    """A column that others partition by, here one like the other, in a file for each value."""
    schema = pa.schema({"part": pa.int32(), "id": pa.int32()})
    table, rows = TableFolder(root, schema), [{"part": n // 2, "id": n % 2} for n in range(4)]
    for version, row in enumerate(rows):
        first = [protocol(), table.metadata()] if version == 0 else []
        table.log.commit(version, *first, table.file(f"{version}.parquet", [row]))
    table.expect(rows)


TABLES = {
    "partitions-of-all-types": ReaderTable(_of_all_types, Served(zone=("moment", "UTC"))),
    "partitions-of-escaped-texts": ReaderTable(_of_texts),
    "partitions-of-decimals": ReaderTable(_of_decimals),
    "partitions-of-empty-texts": ReaderTable(_with_an_empty_text),
    "part-as-a-data-column": ReaderTable(_in_data_files_too),
}
