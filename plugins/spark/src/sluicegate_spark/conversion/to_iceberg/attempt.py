"""One attempt to convert a Delta table: what it reads, and the commit that it makes."""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

import anyio.to_thread

from sluicegate.api import CatalogTable, TableUnreadable, TaskProgress, TaskResult
from sluicegate.formats import DeltaVersion
from sluicegate_iceberg.format.objects import TableObjects, literal_location
from sluicegate_spark.conversion.origin import Origin
from sluicegate_spark.conversion.to_iceberg.catalog_commit import next_commit
from sluicegate_spark.conversion.to_iceberg.jobs.comparison import Comparison
from sluicegate_spark.conversion.to_iceberg.jobs.difference import (
    Difference,
    Source,
    TableComparison,
    TooLargeForWorker,
)
from sluicegate_spark.conversion.to_iceberg.jobs.small_comparison import (
    SmallComparison,
    is_small,
)
from sluicegate_spark.conversion.to_iceberg.manifests import Layout, records
from sluicegate_spark.conversion.to_iceberg.plan import Plan
from sluicegate_spark.conversion.to_iceberg.snapshot_writer import (
    METADATA_FOLDER,
    Row,
    SnapshotWriter,
)
from sluicegate_spark.conversion.to_iceberg.table_creation import table_for_snapshot
from sluicegate_spark.conversion.to_iceberg.table_metadata import IcebergTableMetadata
from sluicegate_spark.conversion.to_iceberg.target_table import TargetTable
from sluicegate_spark.work import Work

# Identifies the log file of the converted version, in the summary of a snapshot.
LOG_FILE: Final = "sluicegate.source.log-file"


class Conversion:
    """One attempt to convert a table. Readers see nothing of it before its final commit."""

    def __init__(self, work: Work, target: TargetTable, plan: Plan, origin: Origin) -> None:
        self._work = work
        self._target = target
        self._location = plan.files.location
        self._plan = plan
        self._origin = origin

    async def run(self, delta: DeltaVersion, existing: IcebergTableMetadata | None) -> TaskResult:
        """Convert a version of the Delta table."""
        source = await self._source(delta, existing)
        previous = [] if existing is None else await self._previous_manifests(existing)
        work, entries, most = self._work, self._plan.files, self._work.files_in_worker
        if is_small(source, previous, most):
            here = SmallComparison(work.access, entries, previous, most)
            with suppress(TooLargeForWorker):
                return await self._converted(here, source, previous, delta, existing)
        async with (
            work.engine.session(work.task.id, {}) as session,
            Comparison.within(session, work.access, entries, previous) as comparison,
        ):
            return await self._converted(comparison, source, previous, delta, existing)

    async def _converted(
        self,
        comparison: TableComparison,
        source: Source,
        previous: Sequence[Row],
        delta: DeltaVersion,
        existing: IcebergTableMetadata | None,
    ) -> TaskResult:
        difference, size = await comparison.difference(source), 0
        if difference.added:
            self._report("footers", 0, difference.added)
            checked = await comparison.check_added(difference.added)
            self._plan, size = self._plan.with_dropped(checked.dropped), checked.size
        await self._write(comparison, difference, previous, delta, existing, size)
        return TaskResult(
            "the table was converted to an Iceberg table with the same data files",
            further={
                **version_of(delta),
                "files_added": difference.added,
                "files_removed": sum(difference.removed.values()),
            },
        )

    async def _source(self, delta: DeltaVersion, existing: IcebergTableMetadata | None) -> Source:
        """Return what to read of the log: only the changes, if these are known."""
        summary = {} if existing is None or existing.current is None else existing.current.summary
        recorded, mark = Origin.of(summary), summary.get(LOG_FILE)
        if recorded is not None and mark is not None:
            parts = await delta.since(recorded.moment, mark)
            if parts is not None:
                return Source(parts, complete=False)
        return Source(delta.parts, complete=True)

    async def _previous_manifests(self, existing: IcebergTableMetadata) -> list[Row]:
        """Return the rows of the current manifest list whose manifests contain live files."""
        if existing.current is None:
            return []
        objects = await self._work.access.objects()
        table = CatalogTable(self._location, "iceberg", self._location)
        reader = TableObjects(table, objects.directory(self._location))
        data = await reader.read(existing.current.manifest_list)
        rows = await anyio.to_thread.run_sync(lambda: list(records(data)))
        _check_manifests(rows, self._location)
        return [row for row in rows if _live_files(row)]

    async def _write(
        self,
        comparison: TableComparison,
        difference: Difference,
        previous: Sequence[Row],
        delta: DeltaVersion,
        existing: IcebergTableMetadata | None,
        size: int,
    ) -> None:
        """Write the snapshot, and commit it to the table, which is created if it doesn't exist."""
        removed = sum(difference.removed.values())
        total = sum(map(_live_files, previous)) + difference.added - removed
        async with table_for_snapshot(self._target, self._plan, self.properties(), existing) as table:
            commit = next_commit(self._plan, table)
            writer = await self.writer(commit.layout, table)
            self._report("write", 0, total)
            spec = commit.layout.spec_id
            rewritten = {
                number: row
                for number, row in enumerate(previous)
                if number in difference.removed or row["partition_spec_id"] != spec
            }
            written = await comparison.write(writer, difference.added, rewritten)
            rows = [row for number, row in enumerate(previous) if number not in rewritten] + written
            manifest_list = await anyio.to_thread.run_sync(writer.finish, rows)
            snapshot = self.snapshot(writer, manifest_list, delta, appends=not removed)
            await self._work.run.check_lease()
            await self._target.commit(commit.requirements, commit.updates(self.properties(), snapshot))
        self._report("write", total, total, size)

    async def writer(self, layout: Layout, table: IcebergTableMetadata) -> SnapshotWriter:
        """Return what writes the next snapshot of the table."""
        return SnapshotWriter(
            await self._work.access.objects(),
            self._location,
            layout,
            secrets.randbits(62) + 1,
            table.last_sequence_number + 1,
            table.current_snapshot_id,
        )

    def properties(self) -> dict[str, str]:
        """Return the properties of the Iceberg table."""
        return {
            **self._plan.properties,
            **self._origin.properties(),
            # The Delta table uses the same data files.
            "gc.enabled": "false",
            "write.metadata.path": f"{self._location}/{METADATA_FOLDER}",
        }

    def snapshot(
        self, writer: SnapshotWriter, manifest_list: str, delta: DeltaVersion, *, appends: bool
    ) -> dict[str, Any]:
        """Return a snapshot for the table's metadata."""
        parent = {} if writer.parent is None else {"parent-snapshot-id": writer.parent}
        return {
            "snapshot-id": writer.id,
            **parent,
            "sequence-number": writer.sequence_number,
            "timestamp-ms": time.time_ns() // 1_000_000,
            "manifest-list": manifest_list,
            "summary": {
                "operation": "append" if appends else "overwrite",
                **self._origin.properties(),
                LOG_FILE: delta.mark,
            },
        }

    def _report(self, stage: str, done: int, total: int, size: int = 0) -> None:
        self._work.run.report(TaskProgress(stage, done, total, size))


def version_of(delta: DeltaVersion) -> Mapping[str, int | str]:
    """Return the version of the Delta table for the result of the task."""
    return {"delta_version": delta.version}


def _check_manifests(rows: Sequence[Row], location: str) -> None:
    """Reject manifests outside of the table's directory: executors open each of them."""
    for row in rows:
        manifest = literal_location(row["manifest_path"])
        if not manifest.startswith(f"{location}/") or {".", ".."} & set(manifest.split("/")):
            raise TableUnreadable(
                "the Iceberg table's metadata refers to files outside the table's directories",
                detail=manifest,
            )


def _live_files(row: Row) -> int:
    return int(row["added_files_count"]) + int(row["existing_files_count"])
