"""CONVERT_TO_ICEBERG: commits a Delta table's live files as a snapshot of an Iceberg table."""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import partial
from typing import Any

import anyio.to_thread
import pyarrow as pa
from pydantic import Field

from sluicegate.api import CatalogTable, TaskFailed, TaskProgress, TaskResult
from sluicegate.formats import Snapshot
from sluicegate_iceberg.format.objects import TableObjects, literal_location
from sluicegate_iceberg.names import TableName
from sluicegate_spark.conversion.origin import Origin
from sluicegate_spark.conversion.to_iceberg.catalog_commit import Commit, next_commit
from sluicegate_spark.conversion.to_iceberg.field_id_checks import check_footers, dropped_fields
from sluicegate_spark.conversion.to_iceberg.parquet_footers import FILES, read_footers
from sluicegate_spark.conversion.to_iceberg.plan import Plan, plan_of
from sluicegate_spark.conversion.to_iceberg.snapshot_writer import (
    METADATA_FOLDER,
    PreviousManifest,
    SnapshotWriter,
    read_manifest,
    read_rows,
)
from sluicegate_spark.conversion.to_iceberg.table_creation import existing_table, table_for_snapshot
from sluicegate_spark.conversion.to_iceberg.table_metadata import IcebergTableMetadata
from sluicegate_spark.conversion.to_iceberg.target_table import TargetTable
from sluicegate_spark.delta_reader import delta_snapshot
from sluicegate_spark.objects import ObjectAccess
from sluicegate_spark.properties import Properties, parse
from sluicegate_spark.work import Work


class ToIceberg(Properties):
    """Properties of CONVERT_TO_ICEBERG."""

    target: str | None = Field(
        default=None,
        min_length=1,
        description="The Iceberg table, `namespace.table`, in the task's catalog. Default: the name "
        "of the task's table.",
    )


async def convert_to_iceberg(work: Work) -> TaskResult:
    """Convert the Delta table of a task to an Iceberg table, or update an earlier conversion.

    Raises:
        TaskFailed: The target is not a conversion of this table, or another writer changed it.
        UnsupportedOperation: Iceberg can't represent the table exactly.
    """
    properties = parse(ToIceberg, work.task.properties)
    if work.access.table.metadata_location is not None and properties.location is None:
        raise TaskFailed(
            "the task's table is an Iceberg table: set the property 'location' to the directory "
            "of the Delta table",
            error_code="INVALID_PAYLOAD",
        )
    location = literal_location(work.access.table.location)
    target = _target(work, properties)
    delta = await delta_snapshot(await work.access.objects(), location)
    if delta is None:
        raise TaskFailed(f"there is no Delta table in {location}", error_code="INVALID_PAYLOAD")
    origin = Origin(delta.metadata.id, str(delta.version), delta.version)
    existing = await existing_table(target, origin, location)
    if existing is not None and _is_up_to_date(origin, existing):
        return TaskResult("the Iceberg table already contains this version", further=_version(delta))
    plan = await anyio.to_thread.run_sync(plan_of, delta, location, existing)
    return await _Conversion(work, target, location, plan, origin).run(delta, existing)


def _target(work: Work, properties: ToIceberg) -> TargetTable:
    name = work.task.table
    catalog = work.catalogs.get(name.catalog)
    if catalog is None:
        raise TaskFailed(
            f"the catalog '{name.catalog}' of the Iceberg table is not configured for the executor",
            error_code="INVALID_PAYLOAD",
        )
    if properties.target is None:
        return TargetTable(catalog, TableName(name.namespace, name.name))
    try:
        return TargetTable(catalog, TableName.parse(properties.target))
    except ValueError as error:
        raise TaskFailed(f"properties: 'target': {error}", error_code="INVALID_PAYLOAD") from error


def _is_up_to_date(origin: Origin, existing: IcebergTableMetadata) -> bool:
    recorded = Origin.of(existing.properties)
    is_contained = origin.is_contained_in(recorded, "an Iceberg table of this name")
    if not existing.snapshots:
        return False  # an earlier attempt created the table and then stopped
    current = existing.current
    if current is None or Origin.of(current.summary) != recorded:
        raise TaskFailed(
            "another writer changed the converted Iceberg table, so conversions no longer update it",
            error_code="INVALID_PAYLOAD",
        )
    # Snapshots of earlier releases name a schema and a partition spec that some catalogs didn't
    # create.
    return is_contained and (recorded != origin or current.schema_id == existing.current_schema_id)


class _Conversion:
    """One attempt to convert a table. Readers see nothing of it before its final commit."""

    def __init__(
        self, work: Work, target: TargetTable, location: str, plan: Plan, origin: Origin
    ) -> None:
        self._work = work
        self._target = target
        self._location = location
        self._plan = plan
        self._origin = origin

    async def run(self, delta: Snapshot, existing: IcebergTableMetadata | None) -> TaskResult:
        live = await anyio.to_thread.run_sync(self._plan.files.sizes)
        objects = await self._work.access.objects()
        previous = [] if existing is None else await self._previous_manifests(objects, existing)
        before = {each["data_file"]["file_path"] for manifest in previous for each in manifest.entries}
        added = {place: size for place, size in live.items() if place not in before}
        rows = await self._rows(added)
        async with table_for_snapshot(self._target, self._plan, self._properties(), existing) as table:
            commit = next_commit(self._plan, table)
            writer = self._snapshot_writer(await self._work.access.objects(), commit, table)
            self._report("write", 0, len(live))
            for manifest in previous:
                await writer.carry_over(manifest, live)
            await writer.write(self._plan.files.entries(rows))
            manifests = await writer.finish()
            snapshot = self._snapshot(writer, manifests, appends=before <= live.keys())
            await self._target.commit(commit.requirements, commit.updates(self._properties(), snapshot))
        self._report("write", len(live), len(live), delta.files.size)
        return TaskResult(
            "the table was converted to an Iceberg table with the same data files",
            further={
                **_version(delta),
                "files_added": len(added),
                "files_removed": len(before - live.keys()),
            },
        )

    async def _previous_manifests(
        self, objects: ObjectAccess, existing: IcebergTableMetadata
    ) -> list[PreviousManifest]:
        """Return the manifests of the previous snapshot."""
        if existing.current is None:
            return []
        table = CatalogTable(self._location, "iceberg", self._location)
        reader = TableObjects(table, objects.directory(self._location))
        rows = list(read_rows(await reader.read(existing.current.manifest_list)))
        contents = await reader.read_all([row["manifest_path"] for row in rows])
        made = partial(map, read_manifest, rows, contents)
        return await anyio.to_thread.run_sync(lambda: list(made()))

    async def _rows(self, added: Mapping[str, int]) -> dict[str, int]:
        """Return row counts of the new files, and check their footers."""
        if not added:
            return {}
        self._report("footers", 0, len(added))
        files = pa.table([list(added), list(added.values())], schema=FILES)
        objects = await self._work.access.objects()
        async with self._work.engine.session(self._work.task.id, {}) as session:
            found = await session.run(lambda spark: read_footers(spark, files, objects))
        field_ids = self._plan.columns.field_ids
        await anyio.to_thread.run_sync(check_footers, found, field_ids)
        self._plan = self._plan.with_dropped(
            await anyio.to_thread.run_sync(dropped_fields, found, field_ids)
        )
        int96 = frozenset(found.filter(found.column("int96")).column("location").to_pylist())
        await anyio.to_thread.run_sync(self._plan.files.check_int96_timestamps, int96)
        return dict(
            zip(*(found.column(name).to_pylist() for name in ("location", "rows")), strict=True)
        )

    def _snapshot_writer(
        self, objects: ObjectAccess, commit: Commit, table: IcebergTableMetadata
    ) -> SnapshotWriter:
        return SnapshotWriter(
            objects.directory(self._location),
            self._location,
            commit.layout,
            table.last_sequence_number + 1,
            table.current_snapshot_id,
        )

    def _properties(self) -> dict[str, str]:
        return {
            **self._plan.properties,
            **self._origin.properties(),
            # The Delta table uses the same data files.
            "gc.enabled": "false",
            "write.metadata.path": f"{self._location}/{METADATA_FOLDER}",
        }

    def _snapshot(self, writer: SnapshotWriter, manifest_list: str, *, appends: bool) -> dict[str, Any]:
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
            },
        }

    def _report(self, stage: str, done: int, total: int, size: int = 0) -> None:
        self._work.run.report(TaskProgress(stage, done, total, size))


def _version(delta: Snapshot) -> dict[str, int | str]:
    return {"delta_version": delta.version}
