"""The purge as a task: checks, stages, and what to say in the end."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field

from sluicegate.api import DelegatedTask, TaskFailed, TaskResult, TaskRun
from sluicegate_spark.properties import Properties, parse
from sluicegate_spark.purge.chain import OldMetadata, old_metadata
from sluicegate_spark.purge.entry import catalog_of, drop_entry
from sluicegate_spark.purge.history import History, others_beside, read_history
from sluicegate_spark.purge.meant import is_meant
from sluicegate_spark.purge.stages import LISTS, MANIFESTS, METADATA, OLD_METADATA, Stages, stage_of
from sluicegate_spark.purge.tally import Tally
from sluicegate_spark.purge.waves import Waves
from sluicegate_spark.work import Work

TABLE_PURGE = "TABLE_PURGE"
_HINT = "version-hint.text"


class PurgeProperties(Properties):
    """What the payload's `properties` tell a purge; the document's catalogs send others, too."""

    model_config = ConfigDict(extra="ignore")

    missing_manifests: Literal["fail", "skip"] = Field(
        default="fail",
        description="`skip` purges the rest where manifests or lists of them are missing or broken; "
        "what they alone named stays.",
    )
    drop_catalog_entry: bool = Field(
        default=False,
        description="The table is dropped from its catalog in the end, for catalogs that do not do it.",
    )


async def purge(work: Work) -> TaskResult:
    """Delete all files of an Iceberg table; what an earlier attempt did is not done again.

    Raises:
        TaskFailed: The payload is about another table, or the table's files may be another one's
            (`INVALID_PAYLOAD`); files cannot be listed or deleted (`STORAGE_FAILED`).
    """
    task, access = work.task, work.access
    told = parse(PurgeProperties, task.properties)
    location = _metadata_location(work)
    if told.drop_catalog_entry:
        catalog_of(access.table)
    tally = Tally.resumed(task, work.run)
    history = await read_history(await access.objects(), location)
    if history is None:
        if not gone_with_table(task):
            await _check_purged(work, location)
    else:
        access.granted.check(history.files)
        old = await old_metadata(access, history)
        access.granted.check((*old.files, *old.links))
        if not is_meant(task, location, history, old):
            return _another_table(work)
        _check_unshared(history)
        await _delete(work, told, tally, location, history, old)
    if told.drop_catalog_entry:
        await drop_entry(access.table)
    return _result(tally, "purged" if history or task.stages else "already purged")


async def _delete(
    work: Work,
    told: PurgeProperties,
    tally: Tally,
    location: str,
    history: History,
    old: OldMetadata,
) -> None:
    task, access = work.task, work.access
    stages = Stages(access, work.run, tally, location, history.table_uuid, task.stages)
    if stages.is_due(MANIFESTS):
        tally.report("listing")
        async with (
            work.engine.session(task.id, {}) as session,
            Waves.within(session, access) as waves,
        ):
            skip = told.missing_manifests == "skip"
            await stages.on_spark(waves, history, old, skip_missing=skip)
    await stages.here(LISTS, history.manifest_lists)
    hint = f"{location.rpartition('/')[0]}/{_HINT}"
    await stages.here(OLD_METADATA, (*old.files, hint), last=old.links)
    await stages.here(METADATA, (location,))


def _metadata_location(work: Work) -> str:
    location = work.access.table.metadata_location
    if location is None:
        raise TaskFailed(
            "only Iceberg tables can be purged, and nothing says where this one's metadata file is: "
            "the payload needs metadata_location",
            error_code="INVALID_PAYLOAD",
        )
    return location


def _another_table(work: Work) -> TaskResult:
    """The end where the name is another table's: of the one that was meant, all is gone, or too little.

    Raises:
        TaskFailed: Earlier attempts have not come to its metadata (`INVALID_PAYLOAD`).
    """
    if gone_with_table(work.task):
        return purged_with_table(work.task, work.run)
    raise TaskFailed(
        "the table is not the one that the payload or an earlier attempt names: that one was dropped, "
        "and another one of its name created; nothing of this one was deleted",
        error_code="INVALID_PAYLOAD",
    )


def _check_unshared(history: History) -> None:
    if history.shared:
        raise TaskFailed(
            "the table's property gc.enabled is false, so its files may be other tables', too; set it "
            "to true to have them deleted",
            error_code="INVALID_PAYLOAD",
        )


async def _check_purged(work: Work, location: str) -> None:
    """A table without its metadata file was purged, unless other ones tell otherwise.

    Raises:
        TaskFailed: It is another file that is current, or this one was lost.
    """
    others = await others_beside(await work.access.objects(), location)
    if others:
        raise TaskFailed(
            f"the table's metadata file '{location}' does not exist, but others do, such as "
            f"'{others[-1]}': nothing was deleted; hand over the location of the current one",
            error_code="INVALID_PAYLOAD",
        )


def gone_with_table(task: DelegatedTask) -> bool:
    """Whether earlier attempts have deleted so much that the catalog may show no table any more."""
    return task.operation == TABLE_PURGE and OLD_METADATA in map(stage_of, task.stages)


def purged_with_table(task: DelegatedTask, run: TaskRun) -> TaskResult:
    """The end of such a task: an earlier attempt could not tell any more that it was at the end."""
    return _result(Tally.resumed(task, run), "purged")


def _result(tally: Tally, what: str) -> TaskResult:
    return TaskResult(
        f"the table was {what}: {tally.files:,} files deleted",
        files_deleted=tally.files,
        bytes_deleted=tally.size,
    )
