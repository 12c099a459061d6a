"""Converts an Iceberg table on Spark: executors read manifests and the log, and encode the commit."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from mmap import ACCESS_READ, mmap
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING

from sluicegate.api import Budget, TaskProgress, TaskResult
from sluicegate.formats import TableMetadata
from sluicegate_iceberg.format.manifests.field_ids import too_many_to_check
from sluicegate_iceberg.format.reading import described_by, way_of_reading
from sluicegate_spark.conversion.executor_errors import raise_failure
from sluicegate_spark.conversion.to_delta.checkpoints import checkpoint_if_due
from sluicegate_spark.conversion.to_delta.column_bounds import ColumnBounds
from sluicegate_spark.conversion.to_delta.converted_table import (
    FILES,
    MODE,
    ConvertedTable,
    check_commit_size,
    converted,
)
from sluicegate_spark.conversion.to_delta.delta_log import commit
from sluicegate_spark.conversion.to_delta.distributed.checkpoint_parts import (
    CheckpointedVersion,
    write_parts,
)
from sluicegate_spark.conversion.to_delta.distributed.comparison import (
    Changes,
    Comparison,
    FormerSnapshotLost,
    Log,
)
from sluicegate_spark.conversion.to_delta.distributed.deleted_rows import Deletes
from sluicegate_spark.conversion.to_delta.distributed.log_files import LogHead, list_log
from sluicegate_spark.conversion.to_delta.distributed.log_rows import LogReader
from sluicegate_spark.conversion.to_delta.distributed.manifest_rows import (
    Reading,
    SourceTable,
    schemas,
)
from sluicegate_spark.conversion.to_delta.distributed.scope import Manifests, Scope, scope_of
from sluicegate_spark.conversion.to_delta.iceberg_source import IcebergSource
from sluicegate_spark.conversion.to_delta.tombstones import KEPT
from sluicegate_spark.engine import TaskSession
from sluicegate_spark.work import Work

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class ClusterConversion:
    """One attempt to convert a table. Readers see nothing of it before its commit."""

    work: Work
    source: IcebergSource
    current: Manifests
    head: LogHead | None
    recorded: Mapping[str, str]
    writable: bool

    async def run(self) -> TaskResult:
        """Commit the current snapshot."""
        async with self.work.engine.session(self.work.task.id, {}) as session:
            reading = await self._reading(session)
            comparison = Comparison(
                await self._source_table(),
                reading,
                self._deletes(),
                None if self.head is None else Log(self.head.files, self.head.version),
                again=self.head is not None
                and self.head.configuration.get(MODE) != reading.shape.configuration.get(MODE),
                bounds=ColumnBounds.of(self._described(reading)),
            )
            try:
                now = time.time_ns() // 1_000_000
                changes = await self._changes(session, comparison, reading, now)
                table, files = self._table(reading, changes)
                version = 0 if self.head is None else self.head.version + 1
                await self._commit(session, version, changes, table.header(now))
            finally:
                await session.run(lambda _: comparison.close())
            state = CheckpointedVersion(version, table.protocol, table.metadata, files)
            await self._checkpoint(session, state)
        return converted(version, changes.added, changes.removed)

    async def _reading(self, session: TaskSession) -> Reading:
        source, metadata = await self._source_table(), self.source.metadata

        def written(spark: SparkSession) -> dict[str, str]:
            if not self.current.data:
                return {}
            rows = schemas(spark, source, self.current.data).collect()
            for row in rows:
                raise_failure(row["problem"])
            return {str(row["text"]): str(row["manifest"]) for row in rows}

        texts = await session.run(written)
        shape, required = way_of_reading(metadata, self.source.lineage.schema, texts, Budget())
        if metadata.name_mapping and not shape.by_name:
            raise too_many_to_check()
        timestamps = {each.id: each.timestamp for each in metadata.snapshots.values()}
        return Reading(shape, required, timestamps)

    def _deletes(self) -> Deletes | None:
        snapshot = self.source.lineage.latest.snapshot
        if not self.current.deletes or snapshot is None or snapshot.manifest_list is None:
            return None
        return Deletes(snapshot.manifest_list, self.current.deletes)

    async def _changes(
        self, session: TaskSession, comparison: Comparison, reading: Reading, now: int
    ) -> Changes:
        everything = Scope(self.current.data, None)
        scope = everything
        if self.head is not None:
            scope = await scope_of(self.source, self.current, reading, self.head.configuration)
        try:
            return await session.run(lambda spark: comparison.changes(spark, scope, now))
        except FormerSnapshotLost:
            return await session.run(lambda spark: comparison.changes(spark, everything, now))

    def _table(self, reading: Reading, changes: Changes) -> tuple[ConvertedTable, int]:
        """Return the table after the commit, and the number of its files."""
        latest, shape = self.source.lineage.latest, reading.shape
        files = changes.live
        if files is None:
            known = 0 if self.head is None else int(self.head.configuration[FILES])
            files = known + changes.added - changes.removed
        protocol = shape.protocol(deletion_vectors=changes.vectors)
        metadata = self._described(reading)
        table = ConvertedTable.marked(
            (latest.number, latest.timestamp, protocol, metadata),
            None if self.head is None else self.head.protocol,
            {**self.recorded, FILES: str(files)},
            writable=self.writable,
        )
        return table, files

    def _described(self, reading: Reading) -> TableMetadata:
        return described_by(reading.shape, self.source.metadata, self.source.table)

    async def _commit(
        self, session: TaskSession, version: int, changes: Changes, header: bytes
    ) -> None:
        total = changes.added + changes.removed
        check_commit_size(len(header) + changes.length, changes.added)
        self.work.run.report(TaskProgress("commit", files_total=total))
        with TemporaryFile() as file:
            await session.run(lambda _: _write(file, header, changes))
            # The store's client sends pages of the file, which are not part of the worker's heap.
            content = mmap(file.fileno(), 0, access=ACCESS_READ)
            directory = (await self.work.access.objects()).directory(self.work.access.table.location)
            await self.work.run.check_lease()
            await commit(directory, version, content)
        self.work.run.report(TaskProgress("commit", total, total, changes.size))

    async def _checkpoint(self, session: TaskSession, state: CheckpointedVersion) -> None:
        location = self.work.access.table.location

        async def write(now: datetime) -> None:
            objects = await self.work.access.objects()
            reader = LogReader(objects, location, stats=True)
            oldest = round((now - KEPT).timestamp() * 1000)
            await session.run(lambda spark: _write_checkpoint(spark, reader, state, oldest))

        await checkpoint_if_due(location, state.version, state.metadata.configuration, write)

    async def _source_table(self) -> SourceTable:
        return SourceTable(self.source.table, await self.work.access.objects())


def _write(file: IO[bytes], header: bytes, changes: Changes) -> None:
    file.write(header)
    for chunk in changes.chunks():
        file.write(chunk)
    file.flush()


def _write_checkpoint(
    spark: SparkSession, reader: LogReader, state: CheckpointedVersion, oldest: int
) -> None:
    write_parts(spark, reader, list_log(reader.directory()), state, oldest)
