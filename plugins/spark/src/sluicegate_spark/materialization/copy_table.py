"""The Delta table of a copy: what it was made from, its replacement, and the removal of old files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from sluicegate_spark.copies.config import CopyConfig, recipient_filter
from sluicegate_spark.maintenance.sql import identifier, literal
from sluicegate_spark.maintenance.storage_settings import hadoop_location
from sluicegate_spark.materialization.copy_state import State
from sluicegate_spark.materialization.failures import overtaken, races
from sluicegate_spark.materialization.incremental.merging import VIEW, merge_statement
from sluicegate_spark.materialization.incremental.row_changes import Changes, values
from sluicegate_spark.materialization.incremental.rules import RebuildRequired
from sluicegate_spark.materialization.leftovers import (
    delete_directory,
    delete_uncommitted,
    is_empty,
)
from sluicegate_spark.materialization.sources import NO_TABLE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

RECIPIENT_FILTER: Final = "sluicegate.recipientFilter"
"""Property with the partition filter that the gateway requires of shares of the table."""
REFRESHED_AT: Final = "sluicegate.refreshedAt"
"""Property with the time at which the sources were read."""
SETTINGS: Final[Mapping[str, str]] = {
    "spark.databricks.delta.vacuum.logging.enabled": "false",  # each VACUUM would add two versions
    "spark.databricks.delta.retentionDurationCheck.enabled": "false",
}
_AUTO_COMPACTION: Final = "spark.databricks.delta.autoCompact.enabled"
_METADATA: Final = "spark.databricks.delta.commitInfo.userMetadata"
_WRITER: Final = "spark.databricks.delta.write.txnAppId"
_SEQUENCE: Final = "spark.databricks.delta.write.txnVersion"
_APPLICATION: Final = "sluicegate"
_LATEST: Final = 50
_KEEPING_ROWS: Final = frozenset(
    {"OPTIMIZE", "SET TBLPROPERTIES", "UNSET TBLPROPERTIES", "VACUUM START", "VACUUM END"}
)
"""Operations of others after which a copy still has the rows of its last refresh."""
_SPECIAL: Final = re.compile(r"[ ,;{}()\n\t=]")
_NOT_HASHED: Final = re.compile(r"map<|variant")
# With them, deleted rows would remain in files that the current version names, or in files of changes.
_OFF: Final = ("delta.enableDeletionVectors", "delta.enableChangeDataFeed")


@dataclass(frozen=True, slots=True)
class Latest:
    """The current version of a copy."""

    version: int
    state: State | None
    is_described: bool


class CopyTable:
    """The table of a copy. Methods block."""

    def __init__(self, location: str, copy: CopyConfig) -> None:
        self._copy = copy
        self.location = location
        self._location = hadoop_location(location)
        self._name = f"delta.{identifier(self._location)}"

    def latest(self, spark: SparkSession) -> Latest | None:
        """Return the current version of the table, or `None` if there is no table yet."""
        from pyspark.errors import AnalysisException

        try:
            rows = self._history(spark, _LATEST)
        except AnalysisException as error:
            if error.getCondition() in NO_TABLE:
                return None
            raise
        states = [State.parse(row["userMetadata"]) for row in rows]
        place = next((place for place, state in enumerate(states) if state), None)
        state = None if place is None else states[place]
        if state is not None and not {row["operation"] for row in rows[:place]} <= _KEEPING_ROWS:
            state = State("", state.refreshed_at)  # its rows are no longer those that it was made from
        # A refresh ends with a replacement of the table, or with a commit of `describe`.
        is_incremental = state is not None and state.base is not None and state.base.refreshes > 0
        return Latest(int(rows[0]["version"]), state, is_described=bool(place) or not is_incremental)

    def rows(self, spark: SparkSession) -> DataFrame:
        """Return the rows of the current version."""
        detail: Any = spark.sql(f"DESCRIBE DETAIL {self._name}").first()
        if any(detail["properties"].get(name) != "false" for name in _OFF):
            raise RebuildRequired(f"the copy lacks one of the properties {', '.join(_OFF)}")
        return spark.read.format("delta").load(self._location)

    def replace(
        self, rows: DataFrame, partitions: Sequence[str], state: State, latest: Latest | None
    ) -> dict[str, int]:
        """Replace the table by rows in one commit, and return the numbers of its rows and files.

        If it fails, recipients continue to read the current version.
        """
        spark = rows.sparkSession
        writer: Any = self._arranged(rows, partitions).writeTo(self._name).using("delta")
        for name, value in self._properties(rows, state).items():
            writer = writer.tableProperty(name, value)
        if partitions:
            writer = writer.partitionedBy(*_columns(partitions))
        with _recorded(spark, state, latest), races():
            writer.createOrReplace()
        committed = self._committed(spark, state)
        metrics = committed["operationMetrics"]
        return {
            "version": int(committed["version"]),
            "rows": int(metrics["numOutputRows"]),
            "files": int(metrics["numFiles"]),
        }

    def apply(
        self, changes: Changes, partitions: Sequence[str], state: State, latest: Latest
    ) -> dict[str, int]:
        """Delete and insert rows in one commit, and return the numbers of rows and files.

        If it fails, recipients continue to read the current version.
        """
        spark = changes.rows.sparkSession
        inserted = changes.inserted()
        with _recorded(spark, state, latest), races():
            if changes.removed:
                marked = inserted.selectExpr("row", "false AS is_deletion")
                marked.unionAll(
                    changes.deleted().selectExpr("row", "true AS is_deletion")
                ).createTempView(VIEW)
                try:
                    spark.sql(merge_statement(self._name, changes.schema)).collect()
                finally:
                    spark.catalog.dropTempView(VIEW)
            else:
                rows = inserted.select(values(changes.schema))
                self._arranged(rows, partitions).writeTo(self._name).append()
        committed = self._committed(spark, state)
        self.describe(spark, state)
        detail: Any = spark.sql(f"DESCRIBE DETAIL {self._name}").first()
        return {
            "version": int(committed["version"]),
            "rows": int(spark.read.format("delta").load(self._location).count()),
            "files": int(detail["numFiles"]),
        }

    def describe(self, spark: SparkSession, state: State) -> None:
        """Write to the table's properties from when its data is.

        The commit does not contain the state: if another one came before it, the state would be wrong.
        """
        described = {"comment": _comment(state), REFRESHED_AT: _shown(state.refreshed_at)}
        pairs = ", ".join(f"{literal(name)} = {literal(value)}" for name, value in described.items())
        with races():
            spark.sql(f"ALTER TABLE {self._name} SET TBLPROPERTIES ({pairs})")

    def is_new(self, spark: SparkSession, latest: Latest | None) -> bool:
        """Return whether there is neither a table nor a file of another writer in the directory."""
        return latest is None and is_empty(spark, self._location)

    def clean_up(self, spark: SparkSession, *, is_new: bool) -> None:
        """Delete the files that a failed refresh wrote. Its task must be the only one of the copy."""
        if self.latest(spark) is not None:
            delete_uncommitted(spark, self._name, self._location, self._copy.retention / 3600)
        elif is_new:
            delete_directory(spark, self._location)

    def vacuum(self, spark: SparkSession) -> None:
        """Delete files that no version of the retention period needs."""
        spark.sql(f"VACUUM {self._name} RETAIN {self._copy.retention / 3600:.6f} HOURS").collect()

    def _arranged(self, rows: DataFrame, partitions: Sequence[str]) -> DataFrame:
        """Return the rows in the order in which files contain them.

        Only shared values decide which rows a file contains, and their order. The order of the source's
        rows, and its partitions, could show hidden values.
        """
        apart = _columns(partitions)
        mixed = _mixed(rows)
        if self._copy.cluster_by:
            columns = [*apart, *_columns(self._copy.cluster_by)]
            return rows.repartitionByRange(*columns).sortWithinPartitions(*columns, mixed)
        return rows.hint("rebalance", *(apart or [mixed])).sortWithinPartitions(*apart, mixed)

    def _history(self, spark: SparkSession, count: int) -> list[Any]:
        return list(spark.sql(f"DESCRIBE HISTORY {self._name} LIMIT {count}").collect())

    def _committed(self, spark: SparkSession, state: State) -> Any:
        """Return the last commit, which must be the one with a state.

        Delta ignores a write whose version of the transaction is not new.
        """
        [latest] = self._history(spark, 1)
        if latest["userMetadata"] != state.text():
            raise overtaken()
        return latest

    def _properties(self, rows: DataFrame, state: State) -> dict[str, str]:
        kept = f"interval {self._copy.retention} seconds"
        required = recipient_filter(self._copy)
        return {
            "comment": _comment(state),
            REFRESHED_AT: _shown(state.refreshed_at),
            **({} if required is None else {RECIPIENT_FILTER: required}),
            **dict.fromkeys(_OFF, "false"),
            "delta.columnMapping.mode": "name" if _needs_mapping(rows) else "none",
            "delta.deletedFileRetentionDuration": kept,
            # The log contains bounds of deleted rows. With each checkpoint, old entries are deleted.
            "delta.logRetentionDuration": kept,
            "delta.checkpointInterval": "1",
        }


def _columns(names: Sequence[str]) -> list[Any]:
    from pyspark.sql import functions as F  # noqa: N812 (PySpark's convention)

    return [F.col(identifier(name)) for name in names]


def _mixed(rows: DataFrame) -> Any:
    """Return a hash of the values of a row, without those that Spark doesn't hash."""
    from pyspark.sql import functions as F  # noqa: N812 (PySpark's convention)

    hashed = [
        field.name
        for field in rows.schema.fields
        if not _NOT_HASHED.search(field.dataType.simpleString())
    ]
    return F.xxhash64(*_columns(hashed)) if hashed else F.lit(0)


def _needs_mapping(rows: DataFrame) -> bool:
    return any(_SPECIAL.search(name) for name in _names(rows.schema.jsonValue()))


def _names(part: Any) -> list[str]:
    if isinstance(part, dict):
        own = [part["name"]] if "name" in part else []
        return own + [name for value in part.values() for name in _names(value)]
    return [name for each in part for name in _names(each)] if isinstance(part, list) else []


def _shown(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


def _comment(state: State) -> str:
    return f"Data of {_shown(state.refreshed_at)}"


@contextmanager
def _recorded(spark: SparkSession, state: State, latest: Latest | None) -> Iterator[None]:
    """Write a state to the next commit, which fails if another task commits at the same time.

    Delta accepts each version of an application's transactions once, and only in ascending order. A
    compaction would be another commit with the state, and put rows into another order.
    """
    settings = {_METADATA: state.text(), _AUTO_COMPACTION: "false"}
    if latest is not None:
        settings |= {_WRITER: _APPLICATION, _SEQUENCE: str(latest.version)}
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name in settings:
            spark.conf.unset(name)
