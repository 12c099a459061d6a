"""Lists all files that an Iceberg table's current metadata names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sluicegate.api import TaskFailed
from sluicegate_iceberg.rest.responses import GenericTable
from sluicegate_spark.purge.history import History, check_unshared, read_history
from sluicegate_spark.purge.old_metadata import old_metadata
from sluicegate_spark.purge.sorted_files import SortedFiles
from sluicegate_spark.purge.table_files import TableFiles
from sluicegate_spark.purge.waves import Listed, Waves
from sluicegate_spark.tables import Table, TableAccess, TaskCatalog

_HINT: Final = "version-hint.text"
_RESTORE: Final = "restore it; nothing was deleted"


@dataclass(frozen=True, slots=True)
class UsedFiles:
    """Locations that the metadata names, with duplicates."""

    listed: Listed
    others: Sequence[str]

    @property
    def count(self) -> int:
        """Return the number of locations."""
        return self.listed.count + len(self.others)


async def read_current(access: TableAccess, location: str) -> History:
    """Read a current metadata file, and check that orphans of its table can be removed."""
    history = await read_history(await access.objects(), location)
    if history is None:
        raise TaskFailed(
            f"the table's metadata file '{location}' does not exist, so its files are unknown; nothing "
            "was deleted",
            error_code="STORAGE_FAILED",
            retryable=True,  # another writer might have replaced it
        )
    check_unshared(history)
    access.granted.check((*history.files, *history.write_paths))
    return history


async def current_location(catalog: TaskCatalog, table: Table) -> str:
    """Return a table's present metadata file.

    Load it after the table's directory is listed: what a writer commits meanwhile are no orphans.
    """
    loaded = await catalog.load(table.name)
    if (
        isinstance(loaded, GenericTable)
        or loaded.metadata_location is None
        or loaded.metadata.identity != table.table_id
        or loaded.metadata.location.rstrip("/") != table.location
    ):
        raise TaskFailed(
            "the table was dropped and created again, or its directory was changed, while its files "
            "were listed; nothing was deleted",
            error_code="INVALID_PAYLOAD",
        )
    return loaded.metadata_location


async def used_files(waves: Waves, access: TableAccess, location: str, history: History) -> UsedFiles:
    """Return the files that the metadata names."""
    files = TableFiles(waves, history, skip_missing=False, remedy=_RESTORE)
    manifests = await files.manifests()
    content = await files.content_with_duplicates(manifests)
    old = await old_metadata(access, history)
    hint = f"{location.rpartition('/')[0]}/{_HINT}"
    named = [location, hint, *history.files, *old.files, *old.links]
    if not isinstance(manifests, SortedFiles):
        return UsedFiles(content, [*named, *manifests])
    frames = [*content.frames, manifests.rows.select("path")]
    return UsedFiles(Listed(frames, content.count + len(manifests)), named)
