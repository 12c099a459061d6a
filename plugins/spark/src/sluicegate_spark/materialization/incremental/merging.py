"""Writes the statement that deletes and inserts rows of a copy in one commit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sluicegate_spark.maintenance.sql import identifier
from sluicegate_spark.materialization.incremental.row_changes import FLOATS

if TYPE_CHECKING:
    from pyspark.sql.types import StructField, StructType

VIEW: Final = "sluicegate_changes"
"""View with a column `row`, and a column `is_deletion`."""


def merge_statement(table: str, schema: StructType) -> str:
    """Return a statement that deletes all rows of `VIEW` that are deletions, and inserts the others.

    The log of the copy shows its conditions, so they contain no values.
    """
    columns = schema.fields
    equal = " AND ".join(f"{_compared(each)} <=> s.{identifier('row', each.name)}" for each in columns)
    names = ", ".join(identifier(each.name) for each in columns)
    values = ", ".join(_value(each) for each in columns)
    return (
        f"MERGE INTO {table} t USING {VIEW} s ON s.is_deletion AND {equal} "  # noqa: S608 (all are quoted)
        "WHEN MATCHED THEN DELETE "
        f"WHEN NOT MATCHED AND NOT s.is_deletion THEN INSERT ({names}) VALUES ({values})"
    )


def _compared(field: StructField) -> str:
    name = f"t.{identifier(field.name)}"
    return f"CAST({name} AS STRING)" if field.dataType.typeName() in FLOATS else name


def _value(field: StructField) -> str:
    name = f"s.{identifier('row', field.name)}"
    kind = field.dataType.typeName()
    return f"CAST({name} AS {kind.upper()})" if kind in FLOATS else name
