"""BUILD_SNAPSHOT_INDEX: indexes with which the gateway reads large Delta tables in part."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from sluicegate.api import (
    DelegatedTask,
    NotFound,
    SnapshotIndexes,
    TaskFailed,
    TaskProgress,
    TaskResult,
    TaskRun,
    UnsupportedOperation,
)
from sluicegate_spark.granted_locations import GrantedLocations, check_catalog


async def build_snapshot_index(
    indexes: SnapshotIndexes | None, catalogs: Collection[str], task: DelegatedTask, run: TaskRun
) -> TaskResult:
    """Build the index of a table of a catalog of the gateway, in the folder of the configuration."""
    if indexes is None:
        raise _unfit(
            "there is no folder for indexes: 'index.location' of the gateway is not configured"
        )
    if task.table.catalog not in catalogs:
        raise _unfit(f"'index_catalogs' of the executor does not name '{task.table.catalog}'")
    if task.properties:
        raise _unfit(f"{task.operation} has no properties: its configuration is the section 'index'")
    check_catalog(task)
    granted = GrantedLocations(task.realm, task.grant, of_catalog=True)
    run.report(TaskProgress("index"))
    name = ".".join((*task.table.namespace, task.table.name))
    try:
        built = await indexes.build(
            task.table.catalog,
            name,
            check_location=lambda location: granted.check([location]),
            before_publication=run.check_lease,
        )
    except (NotFound, UnsupportedOperation) as error:
        raise _unfit(error.message) from error
    if built is None:
        return TaskResult("the table has fewer files than index.min_files, so it needs no index")
    reason = f", because {built.full_build}" if built.full_build else ""
    return TaskResult(
        f"version {built.version} was indexed: {built.written_parts:,} of {built.parts:,} parts were "
        f"written{reason}",
        further={
            "version": built.version,
            "files": built.files,
            "parts": built.parts,
            "written_parts": built.written_parts,
        },
    )


def _unfit(why: str) -> TaskFailed:
    return TaskFailed(why, error_code="INVALID_PAYLOAD")


BUILD_SNAPSHOT_INDEX: Final = "BUILD_SNAPSHOT_INDEX"
