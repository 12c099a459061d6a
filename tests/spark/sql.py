"""Spark SQL for generated rows."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Any

from histories.history import Column, Rows
from histories.values import ids, value

_TYPES = {"long": "BIGINT", "integer": "INT", "string": "STRING", "double": "DOUBLE", "date": "DATE"}


def quoted(name: str) -> str:
    """Quote the name of a column."""
    return f"`{name}`"


def declared(columns: Sequence[Column]) -> str:
    """Return columns with their types, as in CREATE TABLE."""
    return ", ".join(f"{quoted(column.name)} {_TYPES[column.kind]}" for column in columns)


def select(rows: Rows, columns: Sequence[Column]) -> str:
    """Return a query whose result is the rows."""
    tuples = (
        ", ".join(literal(value(column, id, rows), column) for column in columns) for id in ids(rows)
    )
    names = ", ".join(quoted(column.name) for column in columns)
    return f"SELECT * FROM VALUES {', '.join(f'({each})' for each in tuples)} AS made({names})"


def literal(value: Any, column: Column) -> str:
    """Return a value of a column as a literal."""
    if isinstance(value, str):
        text = value.replace("\\", "\\\\").replace("'", "\\'")
    elif isinstance(value, date):
        text = value.isoformat()
    else:
        text = "" if value is None else str(value)
    shown = "NULL" if value is None else f"'{text}'"
    return f"CAST({shown} AS {_TYPES[column.kind]})"
