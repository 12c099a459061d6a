"""The tables that have indexes: opens their indexes, and advances them by later commits."""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable, Hashable
from contextlib import closing
from dataclasses import dataclass, replace
from operator import attrgetter

import anyio.to_thread

from sluicegate._util.lru import LRU
from sluicegate._util.singleflight import SingleFlight
from sluicegate.api.budget import Budget, TableLimits, Turns
from sluicegate.api.errors import SluicegateError, TableUnreadable
from sluicegate.api.models import CatalogTable, ObjectDirectory
from sluicegate.tables.delta.log import DeltaLog
from sluicegate.tables.snapshot_index.failures import IndexUnusable
from sluicegate.tables.snapshot_index.folder import IndexFolder, table_key
from sluicegate.tables.snapshot_index.index import SnapshotIndex
from sluicegate.tables.snapshot_index.snapshot import IndexedSnapshot
from sluicegate.telemetry import count, span

log = logging.getLogger(__name__)

# Seconds until a manifest is read again. New indexes are found so much later.
_RECHECK = 60.0
_NO_INDEXES = 10_000  # tables that are known to have no index


@dataclass(frozen=True, slots=True)
class _Opened:
    """The newest snapshot of a table, and when its manifest was read."""

    snapshot: IndexedSnapshot
    checked: float


class IndexedTables:
    """Reads snapshots whose files are in indexes. Concurrent requests share a load."""

    def __init__(
        self,
        folder: Callable[[], Awaitable[IndexFolder]],
        *,
        min_files: int,
        max_bytes: int,
        limits: TableLimits | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._folder = folder
        self._min_files = min_files
        self._limits = limits
        self._clock = clock
        self._turns = Turns()
        self._opened: LRU[Hashable, _Opened] = LRU(max_bytes, lambda each: each.snapshot.nbytes)
        self._earlier: LRU[Hashable, IndexedSnapshot] = LRU(max_bytes // 4, attrgetter("nbytes"))
        self._without: LRU[Hashable, float] = LRU(_NO_INDEXES)
        self._flights: SingleFlight[IndexedSnapshot | None] = SingleFlight()

    async def snapshot(
        self, table: CatalogTable, directory: ObjectDirectory, version: int | None = None
    ) -> IndexedSnapshot | None:
        """The newest snapshot, or the one of a version.

        Returns:
            `None` if it must be read from the table's log: there is no index, it is newer than the
                version, it is damaged, or the log no longer continues from it.
        """
        if table.format != "delta" or table.ref is not None:
            return None
        key = table_key(table)
        if (failed := self._without.get(key)) is not None and self._clock() < failed + _RECHECK:
            return None
        newest = await self._flights.run(
            key, lambda: self._usable(key, self._newest(key, table, directory))
        )
        if newest is None or version is None or version == newest.version:
            return newest
        return await self._flights.run(
            (key, version),
            lambda: self._usable(key, self._at(key, newest, table, directory, version)),
        )

    def distrust(self, table: CatalogTable, error: IndexUnusable) -> None:
        """Do not use a table's index for a while, because a part of it could not be read."""
        self._give_up(table_key(table), error)

    async def aclose(self) -> None:
        """Cancel the running loads."""
        await self._flights.aclose()

    async def _usable(
        self, key: str, loading: Awaitable[IndexedSnapshot | None]
    ) -> IndexedSnapshot | None:
        try:
            snapshot = await loading
        except (IndexUnusable, TableUnreadable) as error:
            # What is wrong with the log is reported when it is read.
            self._give_up(key, error)
            return None
        if snapshot is not None:
            count("sluicegate.index.snapshots", outcome="used")
        return snapshot

    def _give_up(self, key: str, error: Exception) -> None:
        self._opened.pop(key)
        self._without.put(key, self._clock())
        count("sluicegate.index.snapshots", outcome="failed")
        log.warning("the snapshot index %s is not used: %s", key, error)

    async def _newest(
        self, key: str, table: CatalogTable, directory: ObjectDirectory
    ) -> IndexedSnapshot | None:
        opened = self._opened.get(key)
        if opened is None or self._clock() >= opened.checked + _RECHECK:
            opened = await self._open(key, opened)
        if opened is None:
            self._opened.pop(key)
            self._without.put(key, self._clock())
            return None
        snapshot = await self._advanced(opened.snapshot, table, directory, None)
        if snapshot is None:
            raise IndexUnusable("the table's log does not continue from the indexed version")
        self._opened.put(key, replace(opened, snapshot=snapshot))
        return snapshot

    async def _open(self, key: str, opened: _Opened | None) -> _Opened | None:
        """Read the manifest, and open the index that it names unless this is the opened one."""
        with span("index"):
            folder = await self._opened_folder()
            manifest = await anyio.to_thread.run_sync(folder.manifest, key)
            if manifest is None or manifest.files < self._min_files:
                return None
            if opened is not None and opened.snapshot.files.index.manifest == manifest:
                return replace(opened, checked=self._clock())
            index = await anyio.to_thread.run_sync(SnapshotIndex.open, folder, manifest)
            return _Opened(IndexedSnapshot.of(index), self._clock())

    async def _opened_folder(self) -> IndexFolder:
        try:
            return await self._folder()
        except SluicegateError as error:
            raise IndexUnusable(f"the folder of indexes cannot be opened: {error.message}") from error

    async def _at(
        self,
        key: str,
        newest: IndexedSnapshot,
        table: CatalogTable,
        directory: ObjectDirectory,
        version: int,
    ) -> IndexedSnapshot | None:
        index = newest.files.index
        base, kept_as = IndexedSnapshot.of(index), (key, index.manifest.built, version)
        if not base.version <= version < newest.version:
            return None
        kept = self._earlier.get(kept_as)
        if kept is None:
            kept = await self._advanced(base, table, directory, version)
            if kept is not None:
                self._earlier.put(kept_as, kept)
        return kept

    async def _advanced(
        self,
        snapshot: IndexedSnapshot,
        table: CatalogTable,
        directory: ObjectDirectory,
        version: int | None,
    ) -> IndexedSnapshot | None:
        with closing(Budget(self._limits, self._turns)) as budget:
            limited = replace(directory, budget=budget, span=span)
            with span("snapshot"):
                later = await DeltaLog(table, limited).later(snapshot, version)
            if later is None:
                return None
            if not later.commits:
                return snapshot
            return await anyio.to_thread.run_sync(snapshot.after, later)
