"""The Delta table of a copy: what it was made from, its replacement, and the removal of old files."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import orjson

from sluicegate_spark.copies.config import CopyConfig, recipient_filter
from sluicegate_spark.maintenance.sql import identifier
from sluicegate_spark.maintenance.storage_settings import hadoop_location
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
_STATE: Final = "spark.databricks.delta.commitInfo.userMetadata"
_MEMBER: Final = "sluicegate"
_LATEST: Final = 50
_SPECIAL: Final = re.compile(r"[ ,;{}()\n\t=]")
_NOT_HASHED: Final = re.compile(r"map<|variant")


@dataclass(frozen=True, slots=True)
class State:
    """What the current version of a copy was made from.

    Attributes:
        origin: Digest of the configuration of the copy, and of the versions of its sources.
        refreshed_at: When the sources were read.
    """

    origin: str
    refreshed_at: datetime


class CopyTable:
    """The table of a copy. Methods block.

    Args:
        location: Its directory.
        copy: Its configuration.
    """

    def __init__(self, location: str, copy: CopyConfig) -> None:
        self._copy = copy
        self._name = f"delta.{identifier(hadoop_location(location))}"

    def state(self, spark: SparkSession) -> State | None:
        """Return what the table was made from, or `None` if there is no table yet."""
        from pyspark.errors import AnalysisException

        try:
            rows: list[Any] = list(
                spark.sql(f"DESCRIBE HISTORY {self._name} LIMIT {_LATEST}").collect()
            )
        except AnalysisException as error:
            if error.getCondition() in NO_TABLE:
                return None
            raise
        return next((found for row in rows if (found := _state(row["userMetadata"]))), None)

    def replace(self, rows: DataFrame, partitions: Sequence[str], state: State) -> dict[str, int]:
        """Replace the table by rows in one commit, and return the numbers of its rows and files.

        If it fails, recipients continue to read the current version.
        """
        spark = rows.sparkSession
        writer: Any = self._arranged(rows, partitions).writeTo(self._name).using("delta")
        for name, value in self._properties(rows, state).items():
            writer = writer.tableProperty(name, value)
        if partitions:
            writer = writer.partitionedBy(*_columns(partitions))
        spark.conf.set(_STATE, _text(state))
        try:
            writer.createOrReplace()
        finally:
            spark.conf.set(_STATE, "")
        latest: Any = spark.sql(f"DESCRIBE HISTORY {self._name} LIMIT 1").first()
        metrics = latest["operationMetrics"]
        return {
            "version": int(latest["version"]),
            "rows": int(metrics["numOutputRows"]),
            "files": int(metrics["numFiles"]),
        }

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

    def _properties(self, rows: DataFrame, state: State) -> dict[str, str]:
        kept = f"interval {self._copy.retention} seconds"
        required = recipient_filter(self._copy)
        return {
            "comment": f"Data of {_shown(state.refreshed_at)}",
            REFRESHED_AT: _shown(state.refreshed_at),
            **({} if required is None else {RECIPIENT_FILTER: required}),
            "delta.enableDeletionVectors": "false",
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


def _text(state: State) -> str:
    return orjson.dumps(
        {_MEMBER: {"origin": state.origin, "refreshed_at": state.refreshed_at.isoformat()}}
    ).decode()


def _state(text: str | None) -> State | None:
    try:
        found = orjson.loads(text or "null")[_MEMBER]
        return State(str(found["origin"]), datetime.fromisoformat(found["refreshed_at"]))
    except (orjson.JSONDecodeError, TypeError, KeyError, ValueError):
        return None
