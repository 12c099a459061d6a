"""SQL for operations on generated tables that Delta and Iceberg have in common."""

from __future__ import annotations

from collections.abc import Sequence

from histories.history import (
    AddColumn,
    Column,
    Delete,
    DropColumn,
    Insert,
    Merge,
    Operation,
    Overwrite,
    RenameColumn,
    Update,
)
from spark.sql import declared, quoted, select


def statement(operation: Operation, table: str, columns: Sequence[Column]) -> str:
    """Return the statement of an operation."""
    match operation:
        case Insert(rows):
            return f"INSERT INTO {table} {select(rows, columns)}"
        case Overwrite(rows, None):
            return f"INSERT OVERWRITE {table} {select(rows, columns)}"
        case Update(where, column, value):
            shown = f"'{value}'" if isinstance(value, str) else value
            return f"UPDATE {table} SET {quoted(column)} = {shown} WHERE {where}"
        case Delete(where):
            return f"DELETE FROM {table} WHERE {where}"
        case Merge(rows):
            return (
                f"MERGE INTO {table} old USING ({select(rows, columns)}) new ON old.id = new.id "
                "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
            )
        case AddColumn(column):
            return f"ALTER TABLE {table} ADD COLUMNS ({declared([column])})"
        case RenameColumn(old, new):
            return f"ALTER TABLE {table} RENAME COLUMN {quoted(old)} TO {quoted(new)}"
        case DropColumn(name):
            return f"ALTER TABLE {table} DROP COLUMN {quoted(name)}"
        case _:
            raise NotImplementedError(f"not the same in all formats: {operation}")
