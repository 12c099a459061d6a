"""A table at one version as one recipient sees it, in the form that was agreed for the answer."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import anyio.to_thread

from sluicegate.api import Principal, SharedTable
from sluicegate.doors.resolve import OpenTable, Resolver
from sluicegate.sharing import capabilities, delta_lines, parquet_lines
from sluicegate.sharing.answer import VERSION_HEADER
from sluicegate.sharing.directory import DirectoryAccess, Offer
from sluicegate.sharing.limits import check_history, check_version, visible
from sluicegate.sharing.lines import At, TableTotals
from sluicegate.sharing.negotiation import Agreement, negotiate
from sluicegate.sharing.question import FILE_ID_HASH, Form, Travel
from sluicegate.tables.features import FeatureNeeds, feature_needs
from sluicegate.tables.reader import TableReader
from sluicegate.tables.snapshot import FileSet, Snapshot
from sluicegate.telemetry import span


@dataclass(frozen=True, slots=True)
class View:
    """What the steps behind negotiation work on.

    Attributes:
        offer: How the table can be read, which its metadata tells.
        files: The files of the snapshot that are shared with the recipient.
        at: The version that was asked for by time travel; lines then carry it.
        hash_name: Makes file ids.
    """

    table: OpenTable
    snapshot: Snapshot
    files: FileSet
    needs: FeatureNeeds
    agreement: Agreement
    offer: Offer
    at: At | None
    hash_name: str

    def head(self) -> bytes:
        """The protocol and the metadata line; the same bytes for the same version and recipient."""
        metadata = self.snapshot.metadata
        totals = TableTotals(self.files.size, len(self.files))
        version = None if self.at is None else self.at.version
        if self.agreement.response_format == "parquet":
            return parquet_lines.protocol() + parquet_lines.metadata(
                metadata, totals=totals, version=version, access=self.offer.members()
            )
        return delta_lines.protocol(
            self.snapshot.protocol, self.needs, self.agreement.reader_features
        ) + delta_lines.metadata(metadata, totals=totals, version=version, access=self.offer.members())

    def headers(self, form: Form) -> dict[str, str]:
        """The response headers: version, agreed capabilities, the echoed choice of file ids."""
        return table_headers(self.snapshot.version, self.agreement, form)


def table_headers(version: int, agreement: Agreement, form: Form) -> dict[str, str]:
    """Headers of every answer about a table (since-the-seed.md, "What clients depend on")."""
    headers = {
        VERSION_HEADER: str(version),
        capabilities.HEADER: capabilities.encode(agreement.header()),
    }
    if form.file_id_hash is not None:
        headers[FILE_ID_HASH] = form.file_id_hash
    return headers


class Viewer:
    """Takes the way from a shared table to a view: resolve → snapshot → negotiate."""

    def __init__(self, resolver: Resolver, reader: TableReader, access: DirectoryAccess) -> None:
        self._resolver = resolver
        self._reader = reader
        self._access = access

    async def version(self, principal: Principal, shared: SharedTable, starting: int | None) -> int:
        """The latest version, or the earliest at or after a time ("Query Table Version").

        Args:
            principal: Who asks.
            shared: The table.
            starting: Epoch milliseconds.
        """
        if starting is not None:
            check_history(shared, "startingTimestamp")
        if starting is None:
            snapshot = await self.latest(principal, shared)
            check_version(shared, snapshot.version)
            return snapshot.version
        table = await self._resolver.open(principal, shared)
        version = await self._reader.version_at(
            table.source, table.directory, starting, earliest_after=True
        )
        return max(version, shared.start_version)

    async def latest(self, principal: Principal, shared: SharedTable) -> Snapshot:
        """The newest snapshot of a table, whatever of it is shared."""
        table = await self._resolver.open(principal, shared)
        return await self._reader.latest(table.source, table.directory)

    async def view(
        self,
        principal: Principal,
        shared: SharedTable,
        form: Form,
        *,
        travel: Travel,
        pinned: int | None = None,
        metadata: bool = False,
    ) -> View:
        """The view of the latest version, or of one that is asked for.

        Args:
            principal: Who asks.
            shared: The table.
            form: The form that the client can take.
            travel: The version that is asked for.
            pinned: The version that a token of ours has pinned; it wins over `travel`.
            metadata: No URLs are wanted, so a table that is shared by directory access alone will do.
        """
        if travel:
            check_history(shared, "time travel (version, timestamp)")
        if travel.version is not None:
            check_version(shared, travel.version)
        table = await self._resolver.open(principal, shared)
        with span("snapshot"):
            snapshot = await self._snapshot(table, travel, pinned)
        check_version(shared, snapshot.version)
        needs = feature_needs(snapshot)
        offer = await self._offer(table, snapshot)
        agreement = negotiate(form.capabilities, needs, offered=offer.modes, metadata=metadata)
        return View(
            table,
            snapshot,
            visible(shared, principal, snapshot.metadata, snapshot.files),
            needs,
            agreement,
            offer,
            At(snapshot.version, snapshot.timestamp) if travel else None,
            form.hash_name(agreement.response_format),
        )

    async def _offer(self, table: OpenTable, snapshot: Snapshot) -> Offer:
        """How the table can be read; where that takes a look at all of its paths, on another thread."""
        decide = partial(self._access.offer, table.shared, table.source, snapshot)
        if "dir" in table.shared.access_modes:
            return await anyio.to_thread.run_sync(decide)
        return decide()

    async def _snapshot(self, table: OpenTable, travel: Travel, pinned: int | None) -> Snapshot:
        version = travel.version if pinned is None else pinned
        if version is None and travel.timestamp is not None:
            version = await self._reader.version_at(
                table.source, table.directory, travel.timestamp, earliest_after=False
            )
        if version is None:
            return await self._reader.latest(table.source, table.directory)
        return await self._reader.at_version(table.source, table.directory, version)
