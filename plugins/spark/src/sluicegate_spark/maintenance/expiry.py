"""SNAPSHOT_EXPIRY: old snapshots of an Iceberg table go, and the files that no other one needs.

Source: Iceberg's documentation, "Spark procedures", `expire_snapshots`.
"""

from __future__ import annotations

from typing import Final, Literal

from pydantic import Field

from sluicegate.api import TaskResult
from sluicegate_spark.maintenance.session import iceberg_table
from sluicegate_spark.maintenance.values import Moment
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

    format: Literal["iceberg"] | None = Field(default=None, description="What the table is.")
    older_than: Moment | None = Field(
        default=None,
        description="Expire snapshots of before; by default the table's own property says, else 5d.",
    )
    retain_last: int | None = Field(
        default=None, ge=1, description="Keep so many snapshots, however old; by default 1."
    )
    clean_expired_metadata: bool | None = Field(
        default=None, description="Also forget schemas and partition specs that nothing needs."
    )


async def expire(work: Work) -> TaskResult:
    """Expire the snapshots of a task's table.

    Raises:
        TaskFailed: A property is wrong, or another writer was quicker.
    """
    told = parse(Expiry, work.task.properties)
    arguments = {
        "older_than": told.older_than,
        "retain_last": told.retain_last,
        "clean_expired_metadata": told.clean_expired_metadata,
        # The names of deleted files come in portions: there may be millions.
        "stream_results": True,
    }
    async with iceberg_table(work) as table:
        (row,) = await table.procedure("expire_snapshots", arguments)
    deleted = {f"deleted_{kind}": row[f"deleted_{kind}_count"] or 0 for kind in _DELETED}
    count = sum(deleted.values())
    return TaskResult(
        f"{count} files that only expired snapshots needed were deleted",
        files_deleted=count,
        further=deleted,
    )
