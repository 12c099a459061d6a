"""TABLE_PURGE: checks a table, deletes its files in stages, and reports the result."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field

from sluicegate.api import DelegatedTask, TaskFailed, TaskResult, TaskRun, Unavailable
from sluicegate_iceberg.rest.refusal import Refused
from sluicegate_spark.properties import Properties, parse
from sluicegate_spark.purge.dropped_tables import PurgedTable, check_unused, former_table
from sluicegate_spark.purge.history import (
    check_unshared,
    metadata_files_in_folder,
    read_history,
)
from sluicegate_spark.purge.old_metadata import old_metadata
from sluicegate_spark.purge.progress import DeletionProgress
from sluicegate_spark.purge.stages import LISTS, MANIFESTS, METADATA, OLD_METADATA, Stages, stage_of
from sluicegate_spark.purge.table_identity import is_requested_table
from sluicegate_spark.purge.waves import SETTINGS, Waves
from sluicegate_spark.tables import Table, TaskCatalog
from sluicegate_spark.work import Work


def catalog_of(table: Table) -> TaskCatalog:
    """Return the catalog from which the table can be dropped."""
    if table.catalog is None:
        raise TaskFailed(
            "the property 'drop_catalog_entry' needs the table's catalog, which is not configured for "
            "the executor; nothing was deleted",
            error_code="INVALID_PAYLOAD",
        )
    return table.catalog


async def drop_entry(table: Table) -> None:
    """Drop a purged table from its catalog, unless the entry is missing or now of another table."""
    client = catalog_of(table).client
    try:
        if await _is_current(table):
            await client.drop(table.name, lambda: _is_current(table))
    except Unavailable as error:
        raise _unfinished(
            "the table's files were deleted, but its catalog did not drop the table; the next attempt "
            "tries again",
            error.detail,
        ) from error


async def check_entry(table: Table) -> None:
    """Ensure that no writer changed a purged table meanwhile: its new metadata names deleted files.

    If the catalog can't load the table without its metadata file, no writer has changed it.
    """
    if table.catalog is None:
        return
    try:
        loaded = await table.catalog.client.load(table.name)
    except Refused:
        return
    except Unavailable as error:
        raise _unfinished(
            "the table's files were deleted, but its catalog does not respond, so a writer may have "
            "changed the table meanwhile; the next attempt checks again",
            error.detail,
        ) from error
    is_same = loaded.metadata.identity == table.table_id
    if is_same and loaded.metadata_location != table.metadata_location:
        raise _unfinished(
            "a writer changed the table while its files were deleted: the catalog still has the table, "
            f"with the metadata file '{loaded.metadata_location}', but it can no longer be read; the "
            "next attempt deletes what the writer added"
        )


def _unfinished(why: str, detail: str | None = None) -> TaskFailed:
    return TaskFailed(why, error_code="STORAGE_FAILED", retryable=True, detail=detail)


async def _is_current(table: Table) -> bool:
    """Return whether the catalog still has the purged table.

    Some catalogs need the metadata file to load a table: without it, they report a missing table.
    """
    try:
        loaded = await catalog_of(table).client.load(table.name)
    except Refused as refused:
        if not refused.says_missing:
            raise
        return True
    return loaded.metadata_location == table.metadata_location


TABLE_PURGE = "TABLE_PURGE"
_HINT = "version-hint.text"


class PurgeProperties(Properties):
    """Properties of a purge. Unknown ones are ignored: catalogs of the proposal also send others."""

    model_config = ConfigDict(extra="ignore")

    missing_manifests: Literal["fail", "skip"] = Field(
        default="fail",
        description="With `skip`, missing or broken manifests and manifest lists are skipped, and "
        "the files that only they name remain.",
    )
    drop_catalog_entry: bool = Field(
        default=False,
        description="Drop the table from its catalog at the end. For catalogs that don't do this "
        "themselves.",
    )


async def purge(work: Work) -> TaskResult:
    """Delete all files of an Iceberg table. Work of earlier attempts is not repeated."""
    task, access = work.task, work.access
    properties = parse(PurgeProperties, task.properties)
    location = _metadata_location(work)
    drops_entry = properties.drop_catalog_entry and not access.table.dropped
    if drops_entry:
        catalog_of(access.table)
    progress = DeletionProgress.resumed(task, work.run)
    history = await read_history(await access.objects(), location)
    if history is None:
        if not has_purged_metadata(task):
            await _check_purged(work, location)
    else:
        access.granted.check(history.files)
        old = await old_metadata(access, history)
        access.granted.check((*old.files, *old.links))
        current = PurgedTable(access, location, history, old)
        if not is_requested_table(task, location, history, old):
            return await _purge_former(work, properties, progress, current)
        check_unshared(history)
        await _delete(work, properties, progress, current)
    if drops_entry:
        await work.run.check_lease()
        await drop_entry(access.table)
    await check_entry(access.table)
    return _result(progress, "purged" if history or task.stages else "already purged")


async def _delete(
    work: Work,
    properties: PurgeProperties,
    progress: DeletionProgress,
    table: PurgedTable,
    successor: PurgedTable | None = None,
) -> None:
    """Delete the files of a table, unless the table that has its name now uses some of them."""
    task, limit = work.task, work.deletions_per_second
    access, location, history, old = table.access, table.location, table.history, table.old
    stages = Stages(access, work.run, progress, location, history.table_uuid, task.stages, limit)
    if stages.is_due(MANIFESTS):
        progress.report("listing")
        async with (
            work.engine.session(task.id, SETTINGS) as session,
            Waves.within(session, access, limit, work.run.check_lease) as waves,
        ):
            if successor is not None:
                await check_unused(session, table, successor)
            skip = properties.missing_manifests == "skip" or stages.have_deleted_manifests
            await stages.on_spark(waves, history, old, skip_missing=skip)
    await stages.here(LISTS, history.manifest_lists)
    hint = f"{location.rpartition('/')[0]}/{_HINT}"
    # The hint might be of the table that has the name now.
    hints = (hint,) if successor is None else ()
    await stages.here(OLD_METADATA, (*old.files, *hints), last=old.links)
    await stages.here(METADATA, (location,))


def _metadata_location(work: Work) -> str:
    location = work.access.table.metadata_location
    if location is None:
        raise TaskFailed(
            "only Iceberg tables can be purged, and the location of this table's metadata file "
            "is unknown: the payload needs metadata_location",
            error_code="INVALID_PAYLOAD",
        )
    return location


async def _purge_former(
    work: Work, properties: PurgeProperties, progress: DeletionProgress, successor: PurgedTable
) -> TaskResult:
    """Purge a table that was dropped, whose name now belongs to another one."""
    former = await former_table(work, successor)
    if former is not None:
        check_unshared(former.history)
        await _delete(work, properties, progress, former, successor)
    elif not has_purged_metadata(work.task):
        raise TaskFailed(
            "the table is not the one that the payload or an earlier attempt names: that one was "
            "dropped, and another one with its name was created; nothing of this one was deleted",
            error_code="INVALID_PAYLOAD",
        )
    return _result(progress, "purged")


async def _check_purged(work: Work, location: str) -> None:
    """Ensure that a table without its metadata file was purged: no other metadata file exists."""
    others = await metadata_files_in_folder(await work.access.objects(), location)
    if others:
        raise TaskFailed(
            f"the table's metadata file '{location}' does not exist, but others do, such as "
            f"'{others[-1]}': nothing was deleted; submit the location of the current one",
            error_code="INVALID_PAYLOAD",
        )


def has_purged_metadata(task: DelegatedTask) -> bool:
    """Return whether earlier attempts deleted so much that the catalog may no longer show the table."""
    return task.operation == TABLE_PURGE and OLD_METADATA in map(stage_of, task.stages)


def finished_result(task: DelegatedTask, run: TaskRun) -> TaskResult:
    """Return the result of such a task: an earlier attempt finished, but could not report it."""
    return _result(DeletionProgress.resumed(task, run), "purged")


def _result(progress: DeletionProgress, what: str) -> TaskResult:
    return TaskResult(
        f"the table was {what}: {progress.files:,} files deleted",
        files_deleted=progress.files,
        bytes_deleted=progress.size,
    )
