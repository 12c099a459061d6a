"""The values of generated rows, made of an id and a salt."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date, timedelta
from typing import Any

import pyarrow as pa
from histories.history import Column, Kind, Rows

ARROW: Mapping[str, pa.DataType] = {
    "long": pa.int64(),
    "integer": pa.int32(),
    "string": pa.string(),
    "double": pa.float64(),
    "date": pa.date32(),
}
_FIRST_DAY = date(2024, 2, 27)


def table(rows: Rows, columns: Sequence[Column]) -> pa.Table:
    """The rows as Arrow columns."""
    return pa.table(
        {
            column.name: pa.array([value(column, id, rows) for id in ids(rows)], ARROW[column.kind])
            for column in columns
        }
    )


def ids(rows: Rows) -> range:
    """The ids of rows."""
    return range(rows.first, rows.first + rows.count)


def value(column: Column, id: int, rows: Rows) -> Any:
    """What one of the rows has in a column."""
    if column.name == "id":
        return id
    if column.name == "part":
        return rows.parts[(id + rows.salt) % len(rows.parts)]
    number = id * 31 + rows.salt
    return None if number % 7 == 0 else _MAKERS[column.kind](number)


_MAKERS: Mapping[Kind, Callable[[int], Any]] = {
    "long": lambda number: number * 2**33,
    "integer": lambda number: number % 50,
    "string": lambda number: f"{number} 'ü' \\ \U0001f30a",
    "double": lambda number: number / 8,
    "date": lambda number: _FIRST_DAY + timedelta(days=number % 3),
}
