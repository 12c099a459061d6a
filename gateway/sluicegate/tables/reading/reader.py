"""Reads tables of any format for all protocols, with a cache; each snapshot is loaded once."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from operator import attrgetter
from typing import TYPE_CHECKING, TypeVar

from sluicegate._util.lru import LRU
from sluicegate._util.singleflight import SingleFlight
from sluicegate._util.timers import call_later
from sluicegate.api import CatalogTable, ObjectDirectory, TableFormat, UnsupportedOperation
from sluicegate.api.budget import Budget, TableLimits, Turns
from sluicegate.tables.derived_files import DerivedFile, DerivedFiles
from sluicegate.tables.reading.encoded_blocks import EncodedBlocks
from sluicegate.tables.reading.failures import Failures, release_locals
from sluicegate.tables.refs import without_refs
from sluicegate.telemetry import count, span
from sluicegate.telemetry.metrics import gauge

if TYPE_CHECKING:
    from sluicegate.tables.changes import Changes
    from sluicegate.tables.snapshot import Snapshot
    from sluicegate.tables.versions import DescribedVersion

_RECENT_SECONDS = (
    60.0  # several polling intervals of clients, or intervals between the pages of a response
)
_AT_ONCE = 2  # the maximum number of large reads that run concurrently


class RecentSnapshots:
    """Keeps a few snapshots until they have not been used for a while.

    Without it, each page of a response and each poll of an asynchronous query would read the table
    again.
    """

    def __init__(self) -> None:
        self._kept: OrderedDict[Hashable, tuple[Snapshot, asyncio.TimerHandle]] = OrderedDict()

    def get(self, key: Hashable) -> Snapshot | None:
        """The snapshot, whose time starts again."""
        kept = self._kept.get(key)
        if kept is None:
            return None
        self.put(key, kept[0])
        return kept[0]

    def put(self, key: Hashable, snapshot: Snapshot) -> None:
        """Keep a snapshot, and drop the least recently used one if there are too many."""
        self.drop(key)
        self._kept[key] = snapshot, call_later(_RECENT_SECONDS, self.drop, key)
        while len(self._kept) > _AT_ONCE:
            self.drop(next(iter(self._kept)))

    def drop(self, key: Hashable) -> None:
        """Drop a snapshot, if it is there."""
        kept = self._kept.pop(key, None)
        if kept is not None:
            kept[1].cancel()

    def clear(self) -> None:
        """Drop all snapshots."""
        for key in list(self._kept):
            self.drop(key)


_T = TypeVar("_T")

_LISTED_VERSIONS = 20_000  # about 150 bytes each, which share their schemas


class TableReader:
    """Reads tables through their formats, and caches snapshots. Concurrent requests share a load.

    Attributes:
        encoded: Keeps texts of files in the memory that is left of `max_bytes`.
    """

    def __init__(
        self,
        formats: Mapping[str, TableFormat],
        max_bytes: int,
        limits: TableLimits | None = None,
    ) -> None:
        self._formats = formats
        self._limits = limits
        self._turns = Turns()
        self._failures = Failures()
        self._max_bytes = max_bytes
        self._cache: LRU[Hashable, Snapshot] = LRU(max_bytes, attrgetter("nbytes"))
        self._recent = RecentSnapshots()
        self._flights: SingleFlight[Snapshot] = SingleFlight()
        self._change_flights: SingleFlight[Changes] = SingleFlight()
        self._listed: LRU[Hashable, Sequence[DescribedVersion]] = LRU(
            _LISTED_VERSIONS, lambda versions: len(versions) + 1
        )
        self._listing_flights: SingleFlight[Sequence[DescribedVersion]] = SingleFlight()
        self._derived = DerivedFiles()
        self.encoded = EncodedBlocks(max_bytes)

    async def latest(self, table: CatalogTable, directory: ObjectDirectory) -> Snapshot:
        """The newest snapshot: the cached one, advanced by later commits."""
        key = _key(table)
        read = self._format(table).latest

        async def advance() -> Snapshot:
            previous = self._kept(key)
            snapshot = await self._failures.run(
                failing,
                lambda: self._limited(directory, lambda limited: read(table, limited, previous)),
            )
            if snapshot is not previous:
                self._keep(key, snapshot)
            count("sluicegate.snapshots", outcome=_outcome(previous, snapshot))
            return snapshot

        failing = (key, "latest", table.latest_version, table.metadata_location, table.metadata_tag)
        return await self._flights.run(failing, advance)

    async def at_version(
        self, table: CatalogTable, directory: ObjectDirectory, version: int
    ) -> Snapshot:
        """The snapshot of one version.

        Raises as `latest` does, which is called first: a table that was dropped and created again has
        different versions with the same numbers.
        """
        newest = await self.latest(table, directory)
        if newest.version == version:
            return newest
        key = (*_key(table), newest.metadata.id, version)
        read = self._format(table).at_version

        async def load() -> Snapshot:
            snapshot = await self._failures.run(
                key,
                lambda: self._limited(directory, lambda limited: read(table, limited, version)),
            )
            self._keep(key, snapshot)
            return snapshot

        kept = self._kept(key)
        if kept is not None and self._format(table).still_has(newest, version):
            return kept
        return await self._flights.run(key, load)

    async def version_at(
        self,
        table: CatalogTable,
        directory: ObjectDirectory,
        timestamp: int,
        *,
        earliest_after: bool = False,
        newest: Snapshot | None = None,
    ) -> int:
        """The version at a timestamp in epoch milliseconds; raises as `at_version` does."""
        newest = newest or await self.latest(table, directory)
        find = self._format(table).version_at
        return await self._limited(
            directory,
            lambda limited: find(table, limited, newest, timestamp, earliest_after=earliest_after),
        )

    async def earlier_versions(
        self,
        table: CatalogTable,
        directory: ObjectDirectory,
        latest: Snapshot,
        start: int,
        limit: int,
    ) -> Sequence[DescribedVersion]:
        """Versions before the latest one; see `TableFormat.earlier_versions`."""
        named = (table.metadata_location, table.metadata_tag)  # versions can expire without a new one
        key = (*_key(table), *named, latest.metadata.id, latest.version, start, limit)
        if (known := self._listed.get(key)) is not None:
            return known
        read = self._format(table).earlier_versions

        async def load() -> Sequence[DescribedVersion]:
            found = await self._failures.run(
                key,
                lambda: self._limited(
                    directory, lambda limited: read(table, limited, latest, start, limit)
                ),
            )
            self._listed.put(key, found)
            return found

        return await self._listing_flights.run(key, load)

    async def changes(
        self,
        table: CatalogTable,
        directory: ObjectDirectory,
        latest: Snapshot,
        start: int,
        end: int,
    ) -> Changes:
        """The commits from one version to another; see `TableFormat.changes`."""
        key = (*_key(table), latest.metadata.id, start, end)
        read = self._format(table).changes
        return await self._change_flights.run(
            key,
            lambda: self._failures.run(
                key,
                lambda: self._limited(
                    directory, lambda limited: read(table, limited, latest, start, end)
                ),
            ),
        )

    async def derived(
        self, table: CatalogTable, directory: ObjectDirectory, file: DerivedFile
    ) -> bytes:
        """The bytes of a file that the table's format generates; see `TableFormat.derived`."""
        make = self._format(table).derived
        key = _key(table)
        return await self._derived.get(
            key,
            file,
            lambda: self._limited(directory, lambda limited: make(table, limited, file.recipe)),
        )

    async def aclose(self) -> None:
        """Cancel the running loads."""
        self._recent.clear()
        await self._flights.aclose()
        await self._change_flights.aclose()
        await self._listing_flights.aclose()
        await self._derived.aclose()

    def _kept(self, key: Hashable) -> Snapshot | None:
        return self._cache.get(key) or self._recent.get(key)

    def _keep(self, key: Hashable, snapshot: Snapshot) -> None:
        self._cache.put(key, snapshot)
        self.encoded.resize(self._max_bytes - self._cache.weight)
        gauge("sluicegate.snapshots.memory", self._cache.weight)
        if snapshot.nbytes > self._max_bytes:
            self._recent.put(key, snapshot)
        else:
            self._recent.drop(key)

    async def _limited(
        self, directory: ObjectDirectory, read: Callable[[ObjectDirectory], Awaitable[_T]]
    ) -> _T:
        """Read from a directory with a separate budget for this read."""
        with closing(Budget(self._limits, self._turns)) as budget:
            try:
                return await read(replace(directory, budget=budget, span=span))
            except BaseException as error:
                release_locals(error)
                raise

    def _format(self, table: CatalogTable) -> TableFormat:
        found = self._formats.get(table.format)
        if found is None:
            raise UnsupportedOperation(
                f"tables of format '{table.format}' cannot be read: no enabled plugin reads them"
            )
        if table.ref is not None and not found.reads_refs:
            raise without_refs(table.format)
        return found


def _key(table: CatalogTable) -> tuple[str | None, ...]:
    return table.id, table.location, table.ref


def _outcome(previous: Snapshot | None, snapshot: Snapshot) -> str:
    if previous is None:
        return "loaded"
    return "cached" if snapshot is previous else "advanced"
