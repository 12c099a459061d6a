"""Reads what snapshots of an Iceberg table changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from sluicegate_spark.maintenance.sql import identifier
from sluicegate_spark.materialization.copy_state import Base
from sluicegate_spark.materialization.incremental.rules import IcebergSnapshot, way_of_iceberg
from sluicegate_spark.materialization.incremental.source_version import SourceChanges, without

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sluicegate_spark.materialization.incremental.source_version import SourceVersion

OF_CHANGELOG: Final = ("_change_type", "_change_ordinal", "_commit_snapshot_id")


def changes_of_iceberg(
    spark: SparkSession, name: Sequence[str], base: Base, version: SourceVersion
) -> SourceChanges:
    """Return the rows that were added to an Iceberg table, and those that were removed."""
    last = version.readable()
    snapshots = {each.id: each for each in _snapshots(spark, name)}
    way = way_of_iceberg(snapshots, base.version, last)
    if way == "nothing":
        return SourceChanges()
    reader = spark.read.option("start-snapshot-id", base.version).option("end-snapshot-id", last)
    if way == "appends":
        return SourceChanges(added=reader.table(identifier(*name)))
    # The changes contain rows that a commit only moved, once as added and once as removed. Iceberg
    # can't filter by a column that only changes have, and Spark doesn't push this condition down.
    changes = reader.table(identifier(*name, "changes"))
    return SourceChanges(
        without(changes.where("lower(_change_type) = 'insert'"), OF_CHANGELOG),
        without(changes.where("lower(_change_type) = 'delete'"), OF_CHANGELOG),
    )


def _snapshots(spark: SparkSession, name: Sequence[str]) -> list[IcebergSnapshot]:
    rows: list[Any] = list(
        spark.table(identifier(*name, "snapshots"))
        .select("snapshot_id", "parent_id", "operation", "summary")
        .collect()
    )
    return [
        IcebergSnapshot(
            id=int(row["snapshot_id"]),
            parent=None if row["parent_id"] is None else int(row["parent_id"]),
            operation=str(row["operation"]),
            changed_bytes=_number(row, "added-files-size") + _number(row, "removed-files-size"),
            table_bytes=_number(row, "total-files-size"),
            has_deletes=(row["summary"] or {}).get("total-delete-files") != "0",
        )
        for row in rows
    ]


def _number(row: Any, name: str) -> int:
    text = str((row["summary"] or {}).get(name) or "0")
    return int(text) if text.isdecimal() else 0
