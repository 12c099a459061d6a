"""A table at one version as one recipient sees it, in the negotiated format."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import anyio.to_thread

from sluicegate._util.lazy import Lazy
from sluicegate.api import Principal, SharedTable
from sluicegate.protocols.common.resolver import OpenTable, Resolver
from sluicegate.protocols.common.shared_scope import check_history, check_version, visible
from sluicegate.protocols.delta_sharing import negotiation
from sluicegate.protocols.delta_sharing.directory_access.offer import DirectoryAccess, Offer
from sluicegate.protocols.delta_sharing.encoding import delta as delta_lines
from sluicegate.protocols.delta_sharing.encoding import parquet as parquet_lines
from sluicegate.protocols.delta_sharing.encoding.delta_features import AnsweredFeatures
from sluicegate.protocols.delta_sharing.encoding.ndjson import TableTotals, VersionStamp
from sluicegate.protocols.delta_sharing.negotiation import Agreement, negotiate
from sluicegate.protocols.delta_sharing.request import FILE_ID_HASH, ResponseOptions, TimeTravel
from sluicegate.protocols.delta_sharing.response import VERSION_HEADER
from sluicegate.tables.features import FeatureNeeds, declaring, needs_of
from sluicegate.tables.reading.reader import TableReader
from sluicegate.tables.snapshot import FileSet, Snapshot
from sluicegate.tables.snapshot_index.failures import IndexUnusable
from sluicegate.tables.snapshot_index.table_snapshots import TableSnapshots
from sluicegate.telemetry import span

if TYPE_CHECKING:
    from sluicegate.tables.snapshot_index.files import IndexedFiles
    from sluicegate.tables.snapshot_index.snapshot import IndexedSnapshot
    from sluicegate.tables.snapshot_index.tables import IndexedTables


@dataclass(frozen=True, slots=True)
class View:
    """Input of the steps after negotiation."""

    table: OpenTable
    snapshot: Snapshot | IndexedSnapshot
    files: FileSet | IndexedFiles
    needs: FeatureNeeds
    agreement: Agreement
    offer: Offer
    at: VersionStamp | None
    hash_name: str

    def head(self) -> bytes:
        """The protocol and the metadata line, the same bytes for the same version and recipient."""
        metadata = self.snapshot.metadata
        totals = TableTotals(self.files.size, len(self.files))
        version = None if self.at is None else self.at.version
        if self.agreement.response_format == "parquet":
            return parquet_lines.protocol() + parquet_lines.metadata(
                metadata, totals=totals, version=version, access=self.offer.members()
            )
        kept, required = self.agreement.reader_features, self.needs.required
        features = AnsweredFeatures.of(kept, required, [metadata])
        protocol = features.protocol(declaring(self.snapshot.protocol, required))
        return delta_lines.protocol(protocol) + delta_lines.metadata(
            metadata, protocol, totals=totals, version=version, access=self.offer.members()
        )

    def headers(self, form: ResponseOptions) -> dict[str, str]:
        """The response headers: version, negotiated capabilities, the echoed choice of file ids."""
        return table_headers(self.snapshot.version, self.agreement, form)


def table_headers(version: int, agreement: Agreement, form: ResponseOptions) -> dict[str, str]:
    """Headers of every response about a table (docs/interop.md, "What clients depend on")."""
    headers = {
        VERSION_HEADER: str(version),
        negotiation.HEADER: negotiation.encode(agreement.header()),
    }
    if form.file_id_hash is not None:
        headers[FILE_ID_HASH] = form.file_id_hash
    return headers


class Viewer:
    """Turns a shared table into a view: resolve → snapshot → negotiate."""

    def __init__(
        self,
        resolver: Resolver,
        reader: TableReader,
        access: DirectoryAccess,
        indexes: Lazy[IndexedTables] | None = None,
    ) -> None:
        self._resolver = resolver
        self._reader = reader
        self._access = access
        self._snapshots = TableSnapshots(reader, indexes)

    async def version(self, principal: Principal, shared: SharedTable, starting: int | None) -> int:
        """The latest version, or the earliest at or after a time ("Query Table Version")."""
        if starting is not None:
            check_history(shared, "startingTimestamp")
        if starting is None:
            _, snapshot = await self._loaded(principal, shared, TimeTravel(), None)
            return snapshot.version
        table = await self._resolver.open(principal, shared)
        version = await self._snapshots.version_at(
            table.source, table.directory, starting, earliest_after=True
        )
        return max(version, shared.start_version)

    async def latest(self, principal: Principal, shared: SharedTable) -> Snapshot:
        """The newest snapshot of a table, regardless of how much of it is shared."""
        table = await self._resolver.open(principal, shared)
        return await self._reader.latest(table.source, table.directory)

    async def view(
        self,
        principal: Principal,
        shared: SharedTable,
        form: ResponseOptions,
        *,
        travel: TimeTravel,
        pinned: int | None = None,
        metadata: bool = False,
        with_index: bool = True,
    ) -> View:
        """The view of the latest version, or of a requested version."""
        table, snapshot = await self._loaded(principal, shared, travel, pinned, with_index=with_index)
        vectors = snapshot.files.deletion_vectors
        needs = needs_of(snapshot.protocol, snapshot.metadata, deletion_vectors=vectors)
        offer = await self._offer(table, snapshot)
        agreement = negotiate(
            form.capabilities,
            needs,
            offered=offer.modes,
            metadata=metadata,
            iceberg=offer.iceberg and "dir" not in offer.modes,
        )
        return View(
            table,
            snapshot,
            await visible(shared, principal, snapshot.metadata, snapshot.files),
            needs,
            agreement,
            offer,
            VersionStamp(snapshot.version, snapshot.timestamp) if travel else None,
            form.hash_name(agreement.response_format),
        )

    async def load(self, principal: Principal, shared: SharedTable, travel: TimeTravel) -> None:
        """Load the snapshot that `view` works on; raises as `view` does for what is not shared."""
        await self._loaded(principal, shared, travel, None)

    async def distrust_index(self, table: OpenTable, error: IndexUnusable) -> None:
        """Read a table from its log for a while, unless only this request needs the log."""
        await self._snapshots.distrust(table.source, error)

    async def _loaded(
        self,
        principal: Principal,
        shared: SharedTable,
        travel: TimeTravel,
        pinned: int | None,
        *,
        with_index: bool = True,
    ) -> tuple[OpenTable, Snapshot | IndexedSnapshot]:
        if travel:
            check_history(shared, "time travel (version, timestamp)")
        if travel.version is not None:
            check_version(shared, travel.version)
        table = await self._resolver.open(principal, shared)
        with span("snapshot"):
            snapshot = await self._snapshot(table, travel, pinned, with_index=with_index)
        check_version(shared, snapshot.version)
        return table, snapshot

    async def _offer(self, table: OpenTable, snapshot: Snapshot | IndexedSnapshot) -> Offer:
        """How the table can be read. Checks of all of its paths run in another thread."""
        if "dir" in table.shared.access_modes and isinstance(snapshot, Snapshot):
            decide = partial(self._access.offer, table.shared, table.source, snapshot)
            return await anyio.to_thread.run_sync(decide)
        return self._access.offer(table.shared, table.source)

    async def _snapshot(
        self, table: OpenTable, travel: TimeTravel, pinned: int | None, *, with_index: bool
    ) -> Snapshot | IndexedSnapshot:
        # Directory access depends on the paths of all files.
        with_index = with_index and "dir" not in table.shared.access_modes
        version = travel.version if pinned is None else pinned
        if version is None and travel.timestamp is not None:
            version = await self._snapshots.version_at(
                table.source, table.directory, travel.timestamp, with_index=with_index
            )
        return await self._snapshots.read(table.source, table.directory, version, with_index=with_index)
