"""Compares the files of an Iceberg snapshot with those in a Delta log, on Spark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from sluicegate.api import TableUnreadable
from sluicegate_iceberg.format.manifests.manifest_files import Manifest
from sluicegate_spark.cluster import KeptFrames
from sluicegate_spark.conversion.executor_errors import raise_failure
from sluicegate_spark.conversion.to_delta.column_bounds import ColumnBounds
from sluicegate_spark.conversion.to_delta.distributed.deleted_rows import (
    Deletes,
    delete_file_rows,
    deleted_rows,
    with_deletes,
    without_deletes,
)
from sluicegate_spark.conversion.to_delta.distributed.encoding import add_rows, remove_rows
from sluicegate_spark.conversion.to_delta.distributed.log_files import LogFiles
from sluicegate_spark.conversion.to_delta.distributed.log_rows import LogReader, newest
from sluicegate_spark.conversion.to_delta.distributed.manifest_rows import (
    Reading,
    SourceTable,
    former_files,
    live_files,
)
from sluicegate_spark.conversion.to_delta.distributed.problems import PROBLEM
from sluicegate_spark.conversion.to_delta.distributed.scope import Scope

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_KEY = ["path", "vector"]
_SUMS = ("added", "removed", "length", "size")
_FILES_A_TASK = 64  # delete files


@dataclass(frozen=True, slots=True)
class Changes:
    """The lines of a commit, kept on the cluster.

    Attributes:
        length: Size of the lines, in bytes.
        size: Size of the added files, in bytes.
    """

    lines: DataFrame
    added: int
    removed: int
    length: int
    size: int
    vectors: bool
    live: int | None

    def chunks(self) -> Iterator[bytes]:
        """Yield the lines. The worker has those of one partition in memory."""
        for row in self.lines.select("lines").toLocalIterator():
            yield bytes(row["lines"])


@dataclass(frozen=True, slots=True)
class Log:
    """A version of a Delta log."""

    files: LogFiles
    version: int


@dataclass(slots=True)
class Comparison:
    """One comparison. Frames that are used more than once are kept on the cluster until `close`.

    Attributes:
        deletes: Delete manifests of the snapshot; `None` if there are none.
        again: Whether to add all files again, with new statistics.
    """

    source: SourceTable
    reading: Reading
    deletes: Deletes | None
    log: Log | None
    again: bool
    bounds: ColumnBounds
    _kept: KeptFrames = field(default_factory=KeptFrames)

    def changes(self, spark: SparkSession, scope: Scope, now: int) -> Changes:
        """Return the changes that the log lacks."""
        files = self._checked(live_files(spark, self.source, scope.data, self.reading))
        touched = None
        if scope.former is not None:
            files, touched = self._changed(spark, files, scope.former)
        described = self._described(spark, files)
        added, removed = described, None
        if self.log is not None:
            live = self._live(spark, self.log, touched)
            removed = live.join(described.select(_KEY), _KEY, "left_anti")
            if not self.again:
                added = described.join(live.select(_KEY), _KEY, "left_anti")
        changes = self._encoded(added.dropDuplicates(_KEY), removed, now)
        if touched is not None:
            return changes
        return replace(changes, live=int(described.select("path").distinct().count()))

    def close(self) -> None:
        """Release what is kept on the cluster."""
        self._kept.drop()

    def _changed(
        self, spark: SparkSession, files: DataFrame, manifests: Sequence[Manifest]
    ) -> tuple[DataFrame, DataFrame]:
        """Return the files that were added since the converted snapshot, and the changed paths.

        A file that was removed and added again has another sequence number, and other deleted rows.
        """
        try:
            former = self._checked(former_files(spark, self.source, manifests))
        except TableUnreadable as error:
            raise FormerSnapshotLost from error
        both = ["location", "sequence_number"]
        added = files.join(former.select(both), both, "left_anti")
        removed = former.join(files.select("location"), "location", "left_anti")
        touched = added.select("path").union(removed.select("path")).distinct()
        return added, touched.withColumnRenamed("path", "touched")

    def _described(self, spark: SparkSession, files: DataFrame) -> DataFrame:
        if self.deletes is None:
            return self._checked(without_deletes(self.source, files))
        oldest = files.agg({"sequence_number": "min"}).collect()[0][0]
        found = self._checked(delete_file_rows(spark, self.source, self.deletes, oldest))
        tasks = max(1, -(-int(found.count()) // _FILES_A_TASK))
        deleted = self._checked(deleted_rows(self.source, found, tasks))
        return self._checked(with_deletes(self.source, files, deleted, self.deletes.manifest_list))

    def _live(self, spark: SparkSession, log: Log, touched: DataFrame | None) -> DataFrame:
        """Return the live files of the log, or those with some paths."""
        reader = LogReader(self.source.access, self.source.table.location, stats=False)
        damaged = None
        for segment in log.files.segments(log.version):
            actions = reader.actions(spark, segment)
            if touched is not None:
                same = actions["path"] == touched["touched"]
                actions = actions.join(touched, same, "left")
                actions = actions.where(
                    "touched IS NOT NULL OR coalesce(ungranted, problem) IS NOT NULL"
                )
            try:
                live = self._checked(newest(actions)).where("kind = 'add'")
            except TableUnreadable as error:  # an older checkpoint, or commits, might be sufficient
                damaged = error
                continue
            return live if touched is None else self._granted(live)
        raise damaged or TableUnreadable("the Delta log lacks commits")

    def _granted(self, live: DataFrame) -> DataFrame:
        """Return the touched files of the log, and ensure that all others are granted."""
        others = live.where("touched IS NULL").agg({"ungranted": "max"}).collect()[0][0]
        self.source.access.granted.check([] if others is None else [others])
        return live.where("touched IS NOT NULL")

    def _encoded(self, added: DataFrame, removed: DataFrame | None, now: int) -> Changes:
        lines = add_rows(added, self.bounds)
        if removed is not None:
            lines = remove_rows(removed, now).union(lines)
        kept = self._kept.keep(lines, in_memory=True)
        totals = [f"sum({name}) AS {name}" for name in _SUMS]
        row = kept.selectExpr(*totals, "max(vectors) AS vectors").collect()[0]
        sums = {name: int(row[name] or 0) for name in _SUMS}
        return Changes(kept, **sums, vectors=bool(row["vectors"]), live=None)

    def _checked(self, frame: DataFrame) -> DataFrame:
        """Compute a frame, and raise the error that it contains, if any."""
        kept = self._kept.keep(frame, in_memory=True)
        raise_failure(kept.agg({PROBLEM: "max"}).collect()[0][0])
        return kept


class FormerSnapshotLost(Exception):
    """Manifests of the converted snapshot no longer exist, so all files must be compared."""
