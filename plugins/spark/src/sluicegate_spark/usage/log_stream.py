"""Reads new log files with Structured Streaming, and stores their reads and broken lines exactly once.

Spark's checkpoint only says which files need not be read again. Rows are merged by the ids of their
events, so a batch that is repeated, or a lost checkpoint, adds nothing twice. Delta's own check for
repeated batches (`txnAppId`, `txnVersion`) is not used: with a checkpoint of which a part is lost, it
takes new batches for repeated ones, and drops them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from sluicegate_spark.cluster import cores_of
from sluicegate_spark.maintenance.storage_settings import hadoop_location
from sluicegate_spark.usage.log_reader import BROKEN, FILE, OTHER, READ, ROWS, LogReader
from sluicegate_spark.usage.tables import READS, REJECTED, UsageTables, names_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

CHECKPOINTS: Final = "_checkpoints"
"""Directory of the checkpoints, next to the tables."""

FILES_PER_BATCH: Final = 10_000
"""Files that are read before their rows are stored. A task that is stopped reads so many again."""

_FILES: Final = "path string, modificationTime timestamp, length bigint, content binary"
# Spark drops files from its list that are older than the newest one by more than this, and ignores
# unknown ones. A store writes files with the present time, so all files of this age have been seen.
_REMEMBERED: Final = "60d"
_TASKS_OF_CORE: Final = 2


@dataclass
class LineCounts:
    """What a task has read so far. A repeated batch is counted again."""

    files: int = 0
    reads: int = 0
    late: int = 0
    rejected: int = 0
    other: int = 0

    def add(self, kind: str, lines: int, late: int) -> None:
        """Add lines of a batch."""
        self.files += lines if kind == FILE else 0
        self.late += late
        self.reads += lines if kind == READ else 0
        self.rejected += lines if kind == BROKEN else 0
        self.other += lines if kind == OTHER else 0


class LogStream:
    """The stream of one directory of logs."""

    def __init__(
        self,
        tables: UsageTables,
        directory: str,
        reader: LogReader,
        counts: LineCounts,
    ) -> None:
        self._tables = tables
        self._directory = directory
        self._reader = reader
        self._counts = counts
        self._query: StreamingQuery | None = None
        self._is_stopped = False

    def run(self, spark: SparkSession) -> None:
        """Read all files that are new, and end. Can be stopped by `stop` of another thread."""
        from pyspark.errors import AnalysisException

        try:
            self._run(spark)
        except AnalysisException as error:
            # Before the store writes its first file, there is no directory.
            if error.getCondition() != "PATH_NOT_FOUND":
                raise

    def stop(self) -> None:
        """Stop the stream. What it has not stored is read again by the next task."""
        self._is_stopped = True
        if self._query is not None:
            self._query.stop()

    def _run(self, spark: SparkSession) -> None:
        files = (
            spark.readStream.format("binaryFile")
            .schema(_FILES)
            .option("recursiveFileLookup", "true")
            .option("maxFilesPerTrigger", str(FILES_PER_BATCH))
            .option("maxFileAge", _REMEMBERED)
            .load(hadoop_location(self._directory))
            .select("path", "modificationTime")
        )
        self._query = (
            files.writeStream.foreachBatch(self._store)
            .option("checkpointLocation", self._checkpoint)
            .trigger(availableNow=True)
            .start()
        )
        if self._is_stopped:  # while it was started
            self._query.stop()
        self._query.awaitTermination()

    @property
    def _checkpoint(self) -> str:
        bucket_and_path = self._directory.partition("://")[2]
        return self._tables.path(f"{CHECKPOINTS}/{bucket_and_path}")

    def _store(self, files: DataFrame, _batch: int) -> None:
        """Store the rows of a batch of files. Can be repeated."""
        from pyspark.sql.functions import expr
        from pyspark.storagelevel import StorageLevel

        tasks = _TASKS_OF_CORE * cores_of(files.sparkSession)
        rows = files.repartition(tasks).mapInArrow(self._reader, ROWS).persist(StorageLevel.DISK_ONLY)
        try:
            by_day = rows.groupBy("kind", "day").agg(expr("sum(lines)"), expr("count_if(is_late)"))
            sums: list[Any] = by_day.collect()
            for kind, table, columns in ((READ, "reads", READS), (BROKEN, "rejected", REJECTED)):
                days = [day for found, day, *_ in sums if found == kind]
                if days:
                    names = [name for name in names_of(columns) if name in rows.columns]
                    found = rows.where(f"kind = '{kind}'").select(*names)
                    self._tables.insert_new(found, table, days)
            for kind, _day, lines, late in sums:
                self._counts.add(str(kind), int(lines), int(late))
        finally:
            rows.unpersist()
