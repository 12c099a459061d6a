"""The Delta table format: snapshots from the log, read by the gateway itself."""

from __future__ import annotations

from sluicegate.api import CatalogTable, InvalidRequest, NotFound, ObjectDirectory, TableFormat
from sluicegate.errors import TableUnreadable
from sluicegate.tables.delta.log import DeltaLog
from sluicegate.tables.delta.segment import LogListing
from sluicegate.tables.delta.timestamps import Timeline
from sluicegate.tables.snapshot import Snapshot
from sluicegate.telemetry import span


class DeltaFormat(TableFormat):
    """Reads Delta tables up to reader version 3, catalog-managed ones included (Delta protocol)."""

    async def latest(
        self, table: CatalogTable, directory: ObjectDirectory, previous: Snapshot | None
    ) -> Snapshot:
        """See `TableFormat.latest`: an unchanged table costs one listing from its newest commit on."""
        with span("snapshot"):
            log = DeltaLog(table, directory)
            advanced = None if previous is None else await log.advance(previous)
            return advanced or await _load_latest(log)

    async def at_version(
        self, table: CatalogTable, directory: ObjectDirectory, version: int
    ) -> Snapshot:
        """See `TableFormat.at_version`."""
        with span("snapshot", version=version):
            log = DeltaLog(table, directory)
            listing = await log.listing()
            first, last = _range(listing)
            if not first <= version <= last:
                raise InvalidRequest(
                    f"Version {version} of the table does not exist or cannot be rebuilt any more: "
                    f"versions {first} to {last} can be read."
                )
            return await log.load(listing, version)

    async def version_at(
        self,
        table: CatalogTable,
        directory: ObjectDirectory,
        latest: Snapshot,
        timestamp: int,
        *,
        earliest_after: bool,
    ) -> int:
        """See `TableFormat.version_at`."""
        with span("version_at"):
            log = DeltaLog(table, directory)
            listing = await log.listing()
            timeline = Timeline(log.store, listing, latest.metadata)
            first, last = _committed(listing)
            if earliest_after:
                return await timeline.earliest_from(timestamp, first, last)
            rebuildable, _ = _range(listing)
            return await timeline.latest_until(timestamp, max(first, rebuildable), last)


async def _load_latest(log: DeltaLog) -> Snapshot:
    """Load from the checkpoint that `_last_checkpoint` hints at, or from a listing of everything."""
    hint = await log.checkpoint_hint()
    if hint is not None:
        listing = await log.listing(hint)
        if listing.latest is not None:
            try:
                return await log.load(listing, listing.latest)
            except TableUnreadable:
                pass  # an older checkpoint, or the commits from 0 on, may do
    listing = await log.listing()
    return await log.load(listing, _range(listing)[1])


def _range(listing: LogListing) -> tuple[int, int]:
    """The first version that can be rebuilt, and the last one."""
    if listing.latest is None:
        raise NotFound("There is no Delta table: its location has no _delta_log with commits.")
    if listing.earliest is None:
        raise TableUnreadable(
            "The Delta log has no complete checkpoint "
            f"and lacks commit {listing.missing(listing.latest)}."
        )
    return listing.earliest, listing.latest


def _committed(listing: LogListing) -> tuple[int, int]:
    """The first and the last of the newest commits that follow each other without a gap."""
    _, last = _range(listing)
    first = last
    while first - 1 in listing.commits:
        first -= 1
    return first, last
