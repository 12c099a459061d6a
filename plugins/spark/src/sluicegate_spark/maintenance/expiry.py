"""SNAPSHOT_EXPIRY: removes old snapshots of an Iceberg table, and files that only they need.

Source: Iceberg documentation, "Spark procedures", `expire_snapshots`.
"""

from __future__ import annotations

from typing import Final, Literal

from pydantic import Field

from sluicegate.api import TaskResult
from sluicegate_spark.maintenance.need.iceberg import measured_snapshots
from sluicegate_spark.maintenance.need.thresholds import unneeded
from sluicegate_spark.maintenance.property_types import Moment
from sluicegate_spark.maintenance.session import iceberg_table
from sluicegate_spark.properties import Properties, parse
from sluicegate_spark.work import Work

_DELETED: Final = (
    "data_files",
    "position_delete_files",
    "equality_delete_files",
    "manifest_files",
    "manifest_lists",
    "statistics_files",
)


class Expiry(Properties):
    """Properties of SNAPSHOT_EXPIRY."""

    format: Literal["iceberg"] | None = Field(default=None, description="The table format.")
    older_than: Moment | None = Field(
        default=None,
        description="Expire snapshots older than this. Default: the table's own property, or else 5d.",
    )
    retain_last: int | None = Field(
        default=None,
        ge=1,
        description="The minimum number of snapshots to keep, regardless of age. Default: 1.",
    )
    clean_expired_metadata: bool | None = Field(
        default=None, description="Also remove schemas and partition specs that are no longer needed."
    )
    only_if_snapshots: int | None = Field(
        default=None,
        ge=2,
        description="Do nothing if the table has fewer snapshots, unless another threshold is reached.",
    )
    only_if_older_than: Moment | None = Field(
        default=None,
        description="Do nothing if no snapshot is older than this, except those of branches and tags, "
        "unless another threshold is reached.",
    )


async def expire(work: Work) -> TaskResult:
    """Expire the snapshots of a task's table."""
    properties = parse(Expiry, work.task.properties)
    arguments = {
        "older_than": properties.older_than,
        "retain_last": properties.retain_last,
        "clean_expired_metadata": properties.clean_expired_metadata,
        # Names of deleted files arrive in portions, because there can be millions.
        "stream_results": True,
    }
    async with iceberg_table(work) as table:
        measured = await measured_snapshots(
            table, properties.only_if_snapshots, properties.only_if_older_than
        )
        if (done := unneeded(measured)) is not None:
            return done
        (row,) = await table.procedure("expire_snapshots", arguments)
    deleted = {f"deleted_{kind}": row[f"deleted_{kind}_count"] or 0 for kind in _DELETED}
    count = sum(deleted.values())
    return TaskResult(
        f"{count} files that only expired snapshots needed were deleted",
        files_deleted=count,
        further=deleted,
    )
