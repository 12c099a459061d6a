"""Purges of tables that their catalog has already dropped, and whose name may belong to another table.

Source: Polaris delegation proposal, "Order Of Deletion", "Drop Metadata First Purge Second".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from sluicegate.api import DelegatedTask, TaskFailed
from sluicegate_spark.engine import TaskSession
from sluicegate_spark.purge.history import History, read_history
from sluicegate_spark.purge.old_metadata import OldMetadata, old_metadata
from sluicegate_spark.purge.sorted_files import SortedFiles
from sluicegate_spark.purge.stages import table_of
from sluicegate_spark.purge.table_files import TableFiles
from sluicegate_spark.purge.table_identity import is_requested_table
from sluicegate_spark.purge.waves import Listed, Waves
from sluicegate_spark.tables import Table, TableAccess
from sluicegate_spark.work import Work

_RESTORE = "restore it; nothing was deleted"


@dataclass(frozen=True, slots=True)
class PurgedTable:
    """A table with everything that its metadata files name."""

    access: TableAccess
    location: str
    history: History
    old: OldMetadata

    @property
    def metadata_files(self) -> Iterator[str]:
        """Return the metadata files, manifest lists and statistics."""
        yield from (self.location, *self.old.files, *self.old.links)
        yield from self.history.files


def dropped_table(task: DelegatedTask) -> Table | None:
    """Return a table that its catalog no longer has, or `None` if the payload doesn't describe it."""
    table = Table.of_payload(task, dropped=True)
    if table is None or table.metadata_location is None:
        return None
    folder, _, name = table.metadata_location.rpartition("/")
    begun = [table_of(stage)[0] for stage in task.stages]
    return replace(table, metadata_location=f"{folder}/{begun[-1] if begun else name}")


async def former_table(work: Work, successor: PurgedTable) -> PurgedTable | None:
    """Return the dropped table that a task is about, if its metadata file still exists."""
    table = dropped_table(work.task)
    if table is None or table.metadata_location is None:
        return None
    location = table.metadata_location
    if location in successor.metadata_files:
        return None
    access = work.access.of_other(table, work.task)
    access.granted.check((table.location, location))
    history = await read_history(await access.objects(), location)
    if history is None:
        return None
    access.granted.check(history.files)
    old = await old_metadata(access, history)
    access.granted.check((*old.files, *old.links))
    if not is_requested_table(work.task, location, history, old):
        return None
    return PurgedTable(access, location, history, old)


async def check_unused(session: TaskSession, table: PurgedTable, successor: PurgedTable) -> None:
    """Ensure that the metadata of a table names no file of a dropped one, as after `add_files`.

    Args:
        successor: The table that must not lose files.
    """
    async with (
        Waves.within(session, successor.access) as theirs,
        Waves.within(session, table.access) as ours,
    ):
        used = await _files(theirs, successor, skip_missing=False)
        # What is missing of the dropped table, the next steps report.
        doomed = await _files(ours, table, skip_missing=True)
        count, example = await ours.count_common(doomed, used)
    if count:
        raise TaskFailed(
            f"the table was dropped, and another one with its name uses {count:,} of its files, such "
            f"as '{example}'; nothing was deleted",
            error_code="INVALID_PAYLOAD",
        )


async def _files(waves: Waves, table: PurgedTable, *, skip_missing: bool) -> Listed:
    """Return all files of a table, with duplicates."""
    files = TableFiles(waves, table.history, skip_missing=skip_missing, remedy=_RESTORE)
    manifests = await files.manifests()
    content = await files.content_with_duplicates(manifests)
    if isinstance(manifests, SortedFiles):
        many = Listed([*content.frames, manifests.rows.select("path")], content.count + len(manifests))
        return await waves.joined(many, tuple(table.metadata_files))
    return await waves.joined(content, (*manifests, *table.metadata_files))
