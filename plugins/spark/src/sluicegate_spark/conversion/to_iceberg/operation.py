"""CONVERT_TO_ICEBERG: commits a Delta table's live files as a snapshot of an Iceberg table."""

from __future__ import annotations

from collections.abc import Mapping

import anyio.to_thread
from pydantic import Field

from sluicegate.api import TableUnreadable, TaskFailed, TaskResult
from sluicegate.formats import DeltaVersion
from sluicegate_iceberg.format.objects import literal_location
from sluicegate_iceberg.names import TableName
from sluicegate_spark.conversion.executor_errors import raise_failure
from sluicegate_spark.conversion.origin import Origin
from sluicegate_spark.conversion.to_iceberg.attempt import Conversion, version_of
from sluicegate_spark.conversion.to_iceberg.jobs.difference import UnreadablePart
from sluicegate_spark.conversion.to_iceberg.plan import plan_of
from sluicegate_spark.conversion.to_iceberg.table_creation import existing_table
from sluicegate_spark.conversion.to_iceberg.table_metadata import IcebergTableMetadata
from sluicegate_spark.conversion.to_iceberg.target_table import TargetTable
from sluicegate_spark.delta_reader import delta_version
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
    """Convert the Delta table of a task to an Iceberg table, or update an earlier conversion."""
    properties = parse(ToIceberg, work.task.properties)
    if work.access.table.metadata_location is not None and properties.location is None:
        raise TaskFailed(
            "the task's table is an Iceberg table: set the property 'location' to the directory "
            "of the Delta table",
            error_code="INVALID_PAYLOAD",
        )
    location = literal_location(work.access.table.location)
    target = _target(work, properties)
    unreadable: dict[str, str] = {}
    while True:
        delta = await _latest(work, location, unreadable)
        try:
            return await _converted(work, target, location, delta)
        except UnreadablePart as error:
            unreadable[error.name] = error.failure


async def _latest(work: Work, location: str, unreadable: Mapping[str, str]) -> DeltaVersion:
    """Return the latest version, from a checkpoint without unreadable parts."""
    objects = await work.access.objects()
    try:
        delta = await delta_version(objects, location, tuple(unreadable))
    except TableUnreadable:
        for failure in unreadable.values():
            raise_failure(failure)
        raise
    if delta is None:
        raise TaskFailed(f"there is no Delta table in {location}", error_code="INVALID_PAYLOAD")
    return delta


async def _converted(work: Work, target: TargetTable, location: str, delta: DeltaVersion) -> TaskResult:
    origin = Origin(delta.metadata.id, str(delta.version), delta.version)
    existing = await existing_table(target, origin, location)
    if existing is not None and _is_up_to_date(origin, existing):
        return TaskResult("the Iceberg table already contains this version", further=version_of(delta))
    plan = await anyio.to_thread.run_sync(plan_of, delta, location, existing)
    return await Conversion(work, target, plan, origin).run(delta, existing)


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
