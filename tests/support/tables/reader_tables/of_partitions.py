"""Tables with partition values of every type, nulls, and texts that paths escape."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal
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


def _in_other_forms(root: Path) -> None:
    """Values that Spark casts, in forms that other clients reject or read as other values."""
    schema = pa.schema(
        {
            "id": pa.int32(),
            "moment": pa.timestamp("us", "UTC"),
            "flag": pa.bool_(),
            "amount": pa.decimal128(10, 2),
            "day": pa.date32(),
            "number": pa.int32(),
        }
    )
    names = schema.names[1:]
    table = TableFolder(root, schema, partitioned_by=names)
    moment = datetime(2026, 1, 31, 23, 30, tzinfo=UTC)
    texts = [
        ("2026-01-31 23:30:00", "TRUE", "1", "2026-1-5", "007"),
        ("2026-02-01T00:30:00+01:00", "t", "1.0", "2026-01-05 00:00:00", " 7"),
        ("2026-01-31T23:30:00", "1", "1.000", "2026-01-05T12:00:00", "7.0"),
        ("2026-01-31T23:30:00.000000Z", "true", "1.00", "2026-01-05", "7"),
    ]
    value: Row = {
        "moment": moment, "flag": True, "amount": Decimal("1.00"), "day": moment.date().replace(day=5),
        "number": 7,
    }  # fmt: skip
    rows: list[Row] = [{"id": number, **value} for number in range(len(texts))]
    adds = [
        table.file(f"{number}.parquet", [row], partition=dict(zip(names, texts[number], strict=True)))
        for number, row in enumerate(rows)
    ]
    table.log.commit(0, protocol(), table.metadata(), *adds)
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
    "partitions-in-other-forms": ReaderTable(_in_other_forms),
    "partitions-of-empty-texts": ReaderTable(_with_an_empty_text),
    "part-as-a-data-column": ReaderTable(_in_data_files_too),
}
