"""Reads snapshots from indexes, and from logs where no index can be used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sluicegate._util.lazy import Lazy
from sluicegate.api.models import CatalogTable, ObjectDirectory
from sluicegate.tables.reading.reader import TableReader
from sluicegate.tables.snapshot_index.failures import IndexUnsuitable, IndexUnusable

if TYPE_CHECKING:
    from sluicegate.tables.snapshot import Snapshot
    from sluicegate.tables.snapshot_index.snapshot import IndexedSnapshot
    from sluicegate.tables.snapshot_index.tables import IndexedTables


class TableSnapshots:
    """Reads a table from its index if it has one, and otherwise from its log."""

    def __init__(self, reader: TableReader, indexes: Lazy[IndexedTables] | None) -> None:
        self._reader = reader
        self._indexes = indexes

    async def read(
        self,
        table: CatalogTable,
        directory: ObjectDirectory,
        version: int | None = None,
        *,
        with_index: bool = True,
    ) -> Snapshot | IndexedSnapshot:
        """The newest snapshot, or that of a version; raises as the methods of `TableReader` do."""
        found = await self._indexed(table, directory, version) if with_index else None
        if found is not None:
            return found
        if version is None:
            return await self._reader.latest(table, directory)
        return await self._reader.at_version(table, directory, version)

    async def version_at(
        self,
        table: CatalogTable,
        directory: ObjectDirectory,
        timestamp: int,
        *,
        earliest_after: bool = False,
        with_index: bool = True,
    ) -> int:
        """The version at a timestamp, as `TableReader.version_at` finds it."""
        found = await self._indexed(table, directory, None) if with_index else None
        return await self._reader.version_at(
            table,
            directory,
            timestamp,
            earliest_after=earliest_after,
            newest=None if found is None else found.without_files(),
        )

    async def distrust(self, table: CatalogTable, error: IndexUnusable) -> None:
        """Read a table from its log for a while, unless only one request needs the log."""
        if self._indexes is not None and not isinstance(error, IndexUnsuitable):
            (await self._indexes.get()).distrust(table, error)

    async def _indexed(
        self, table: CatalogTable, directory: ObjectDirectory, version: int | None
    ) -> IndexedSnapshot | None:
        if self._indexes is None:
            return None
        return await (await self._indexes.get()).snapshot(table, directory, version)
