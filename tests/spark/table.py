"""A table that Spark with Delta Lake writes and reads: see `histories.oracle.Oracle`."""

from __future__ import annotations

import json
from bisect import bisect_right
from datetime import UTC
from functools import singledispatchmethod
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
from histories.generate import FEED
from histories.history import (
    Checkpoint,
    History,
    Operation,
    Optimize,
    Overwrite,
    SetFeed,
    Vacuum,
    columns_after,
)
from histories.oracle import TIMESTAMP, FeedOff, Gone, NoResponse, delta_columns
from spark.sql import declared, select
from spark.statements import statement

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# What Spark's errors say where files are missing, and where a feed cannot be read.
_MISSING = "FILE_NOT_EXIST"
_FEED_OFF = "DELTA_MISSING_CHANGE_DATA"
_RENAMED = "DELTA_CHANGE_DATA_FEED_INCOMPATIBLE"


class SparkTable:
    """See `Oracle`. Columns and files are read once for each version."""

    def __init__(self, spark: SparkSession, folder: Path, history: History) -> None:
        self._spark = spark
        self._folder = folder
        self._name = f"delta.`{folder}`"
        self._columns = history.columns
        self._known_columns: dict[int, list[tuple[str, str]]] = {}
        self._known_files: dict[int, set[str]] = {}
        self._timestamps: list[int] = []
        self._create(history)

    def apply(self, operation: Operation) -> None:
        """See `Oracle.apply`."""
        self._apply(operation)
        self._columns = columns_after(self._columns, operation)

    def version(self) -> int:
        """See `Oracle.version`."""
        commits = (self._folder / "_delta_log").glob("[0-9]*.json")
        return max(int(path.name.split(".")[0]) for path in commits)

    def version_at(self, timestamp: int) -> int:
        """See `Oracle.version_at`."""
        return bisect_right(self._times(), timestamp) - 1

    def timestamp(self, version: int) -> int:
        """See `Oracle.timestamp`."""
        return self._times()[version]

    def columns(self, version: int) -> list[tuple[str, str]]:
        """See `Oracle.columns`."""
        if version not in self._known_columns:
            schema = json.loads(self._at(version).schema.json())
            self._known_columns[version] = delta_columns(schema)
        return self._known_columns[version]

    def files(self, version: int) -> set[str]:
        """See `Oracle.files`."""
        if version not in self._known_files:
            prefix = f"file:{self._folder}/"
            files = self._at(version).inputFiles()
            self._known_files[version] = {location.removeprefix(prefix) for location in files}
        return self._known_files[version]

    def rows(self, version: int) -> pa.Table:
        """See `Oracle.rows`."""
        return _rows(self._at(version))

    def rows_at(self, moment: str) -> pa.Table:
        """Return the rows at a time in ISO 8601."""
        return _rows(self._read({"timestampAsOf": moment}))

    def changes(self, first: int, last: int) -> pa.Table:
        """See `Oracle.changes`."""
        bounds = {"startingVersion": str(first), "endingVersion": str(last)}
        feed = _rows(self._read({"readChangeFeed": "true", **bounds}))
        index = feed.schema.get_field_index(TIMESTAMP)
        times = feed.column(index).cast(pa.timestamp("ms", "UTC")).cast(pa.int64())
        return feed.set_column(index, TIMESTAMP, times)

    def _at(self, version: int) -> DataFrame:
        # Spark has the latest version in memory, and rebuilds every other one.
        latest = version == self.version()
        return self._read({} if latest else {"versionAsOf": str(version)})

    def _read(self, options: dict[str, str]) -> DataFrame:
        return self._spark.read.format("delta").options(**options).load(str(self._folder))

    def _times(self) -> list[int]:
        if len(self._timestamps) <= self.version():
            commits = self._sql(f"DESCRIBE HISTORY {self._name}").select("version", "timestamp")
            times = [row.timestamp.replace(tzinfo=UTC).timestamp() for row in sorted(commits.collect())]
            self._timestamps = [round(time * 1000) for time in times]
        return self._timestamps

    def _sql(self, statement: str) -> DataFrame:
        return self._spark.sql(statement)

    def _create(self, history: History) -> None:
        flavour = history.flavour
        properties = {
            **history.properties,
            "delta.enableDeletionVectors": str(flavour.deletion_vectors).lower(),
            "delta.columnMapping.mode": flavour.column_mapping,
        }
        listed = ", ".join(f"'{name}' = '{value}'" for name, value in properties.items())
        partitions = ", ".join(history.partition_columns)
        self._sql(
            f"CREATE TABLE {self._name} ({declared(history.columns)}) USING delta "
            f"{f'PARTITIONED BY ({partitions})' if partitions else ''} TBLPROPERTIES ({listed})"
        )

    @singledispatchmethod
    def _apply(self, operation: Operation) -> None:
        self._sql(statement(operation, self._name, self._columns))

    @_apply.register
    def _(self, overwrite: Overwrite) -> None:
        if overwrite.part is None:
            self._sql(statement(overwrite, self._name, self._columns))
        else:
            rows = select(overwrite.rows, self._columns)
            self._sql(f"INSERT INTO {self._name} REPLACE WHERE part = '{overwrite.part}' {rows}")

    @_apply.register
    def _(self, feed: SetFeed) -> None:
        value = str(feed.on).lower()
        self._sql(f"ALTER TABLE {self._name} SET TBLPROPERTIES ('{FEED}' = '{value}')")

    @_apply.register
    def _(self, _: Optimize) -> None:
        self._sql(f"OPTIMIZE {self._name}")

    @_apply.register
    def _(self, _: Vacuum) -> None:
        self._sql(f"VACUUM {self._name} RETAIN 0 HOURS")

    @_apply.register
    def _(self, _: Checkpoint) -> None:
        logs = self._spark._jvm.org.apache.spark.sql.delta.DeltaLog
        logs.forTable(self._spark._jsparkSession, str(self._folder)).checkpoint()


def _rows(frame: DataFrame) -> pa.Table:
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    try:
        return frame.toArrow()
    except (PySparkException, Py4JJavaError) as error:
        said = str(error)
        for code, meaning in ((_MISSING, Gone), (_FEED_OFF, FeedOff), (_RENAMED, NoResponse)):
            if code in said:
                raise meaning from None
        raise
