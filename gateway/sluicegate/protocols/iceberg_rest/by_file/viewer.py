"""Turns a shared table into a view for Iceberg clients: resolve → snapshot → visible files → shape."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from sluicegate._util.lazy import Lazy
from sluicegate.api import (
    CatalogTable,
    InvalidRequest,
    Principal,
    SharedTable,
    UnsupportedOperation,
)
from sluicegate.protocols.common.resolver import OpenTable, Resolver
from sluicegate.protocols.common.shared_scope import check_history, check_version, visible
from sluicegate.protocols.iceberg_rest.errors import NoSuchTable, missing_is
from sluicegate.protocols.iceberg_rest.view import IcebergView, TableView, ViewPaths, version_of
from sluicegate.tables.iceberg.shape import IcebergShape
from sluicegate.tables.reading.reader import TableReader
from sluicegate.tables.snapshot import FileSet, Snapshot
from sluicegate.tables.snapshot_index.failures import IndexUnusable
from sluicegate.tables.snapshot_index.table_snapshots import TableSnapshots
from sluicegate.tables.versions import DescribedVersion
from sluicegate.telemetry import span

if TYPE_CHECKING:
    from sluicegate.tables.snapshot_index.snapshot import IndexedSnapshot
    from sluicegate.tables.snapshot_index.tables import IndexedTables

MakeShape = Callable[[OpenTable, DescribedVersion], Awaitable[IcebergShape]]
MakePaths = Callable[[OpenTable, int, int | None], ViewPaths]


class IcebergViewer:
    """Builds views.

    Args:
        grace: Seconds for which a version that is no longer the latest can be planned by recipients
            without access to the history, because their client loaded the table earlier.
    """

    def __init__(
        self,
        resolver: Resolver,
        reader: TableReader,
        shape: MakeShape,
        paths: MakePaths,
        grace: int,
        clock: Callable[[], float] = time.time,
        indexes: Lazy[IndexedTables] | None = None,
    ) -> None:
        self._resolver = resolver
        self._reader = reader
        self._shape = shape
        self._paths = paths
        self._grace = grace
        self._clock = clock
        self._snapshots = TableSnapshots(reader, indexes)

    async def latest(
        self,
        principal: Principal,
        shared: SharedTable,
        source: CatalogTable | None = None,
        *,
        with_index: bool = True,
    ) -> TableView:
        """The view of the latest version."""
        table = await self._open(principal, shared, source)
        return await self._view(table, await self._latest(table, with_index=with_index))

    async def planned(
        self,
        principal: Principal,
        shared: SharedTable,
        snapshot_id: int,
        start: int | None = None,
        *,
        with_index: bool = True,
    ) -> TableView:
        """The view of a snapshot id that a client sends."""
        if start is not None:
            check_history(shared, "an incremental scan")
            check_version(shared, start)
            with_index = False
        table = await self._open(principal, shared, None)
        latest = await self._latest(table, with_index=with_index)
        version = version_of(snapshot_id)
        if version == latest.version:
            return await self._view(table, latest)
        check_version(shared, version)
        if version > latest.version or version < 0:
            raise InvalidRequest(f"the table {shared.full_name} has no snapshot {snapshot_id}")
        if not shared.history and version < await self._oldest_allowed(table, with_index=with_index):
            raise InvalidRequest(
                f"snapshot {snapshot_id} is no longer the latest one of {shared.full_name}, which is "
                "shared without its history: load the table again"
            )
        snapshot = await self._snapshots.read(
            table.source, table.directory, version, with_index=with_index
        )
        return await self._view(table, snapshot)

    async def issued(
        self, principal: Principal, shared: SharedTable, version: int, issued: int
    ) -> IcebergView:
        """The view of a version whose paths were issued before, and verified; see `latest`."""
        table = await self._open(principal, shared, None)
        snapshot = await self._reader.at_version(table.source, table.directory, version)
        view = await self._view(table, snapshot, issued)
        return view.in_memory()

    async def distrust_index(self, table: OpenTable, error: IndexUnusable) -> None:
        """Read a table from its log for a while, unless only this request needs the log."""
        await self._snapshots.distrust(table.source, error)

    async def _open(
        self, principal: Principal, shared: SharedTable, source: CatalogTable | None
    ) -> OpenTable:
        with missing_is(NoSuchTable):
            if source is None:
                return await self._resolver.open(principal, shared)
            return await self._resolver.open_located(principal, shared, source)

    async def _latest(self, table: OpenTable, *, with_index: bool) -> Snapshot | IndexedSnapshot:
        with span("snapshot"), missing_is(NoSuchTable):
            return await self._snapshots.read(table.source, table.directory, with_index=with_index)

    async def _view(
        self, table: OpenTable, snapshot: Snapshot | IndexedSnapshot, issued: int | None = None
    ) -> TableView:
        check_version(table.shared, snapshot.version)
        files = await visible(table.shared, table.principal, snapshot.metadata, snapshot.files)
        try:
            shape = await self._shape(table, _described(snapshot))
        except UnsupportedOperation as error:
            raise NoSuchTable(
                f"the table {table.shared.full_name} is not offered by the Iceberg catalog: "
                f"{error.message}",
                detail=error.detail,
            ) from error
        paths = self._paths(table, snapshot.version, issued)
        if isinstance(snapshot, Snapshot) and isinstance(files, FileSet):
            return IcebergView(table, snapshot, files, shape, paths)
        return TableView(table, snapshot, files, shape, paths)

    async def _oldest_allowed(self, table: OpenTable, *, with_index: bool) -> int:
        """The version that was the latest at the start of the grace period."""
        start = int((self._clock() - self._grace) * 1000)
        try:
            return await self._snapshots.version_at(
                table.source, table.directory, start, with_index=with_index
            )
        except InvalidRequest:  # the table is younger
            return 0


def _described(snapshot: Snapshot | IndexedSnapshot) -> DescribedVersion:
    if isinstance(snapshot, Snapshot):
        return DescribedVersion.of(snapshot)
    return snapshot.described()
