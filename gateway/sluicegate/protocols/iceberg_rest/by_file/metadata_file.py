"""The metadata of a table for Iceberg clients: in a loaded table, and as a generated file."""

from __future__ import annotations

from collections.abc import Sequence

import anyio.to_thread

from sluicegate.protocols.iceberg_rest import paths as addresses
from sluicegate.protocols.iceberg_rest.by_file.file_names import FileNames
from sluicegate.protocols.iceberg_rest.by_file.listed_versions import ListedVersions
from sluicegate.protocols.iceberg_rest.by_file.own_history import references
from sluicegate.protocols.iceberg_rest.by_file.snapshot_list import SnapshotList
from sluicegate.protocols.iceberg_rest.view import TableView
from sluicegate.tables.iceberg.file_names import Names
from sluicegate.tables.iceberg.metadata import table_metadata


class MetadataFile:
    """Makes the metadata of views.

    Args:
        versions: Lists snapshots.
        names: Finds names in data files.
    """

    def __init__(self, versions: ListedVersions, names: FileNames) -> None:
        self._versions = versions
        self._names = names

    async def content(self, view: TableView, *, latest_only: bool = False) -> bytes:
        """The metadata of a view's table, as JSON.

        Args:
            view: The table.
            latest_only: List only the snapshot of the view, even if the history is shared.

        Raises:
            TableUnreadable: The table's metadata is damaged.
            Unavailable: The store or the database does not respond.
        """
        listing = self._versions.latest(view) if latest_only else await self._versions.all(view)
        names = await self._names.of(view)
        return await anyio.to_thread.run_sync(_described, view, listing, names)


def _described(view: TableView, listing: SnapshotList, names: Sequence[Names]) -> bytes:
    shared = view.table.shared
    return table_metadata(
        identity=f"{shared.id} {view.snapshot.metadata.id}",
        location=addresses.location_of(shared),
        specs=listing.specs,
        snapshots=listing.snapshots,
        file_names=names,
        refs=references(view, {each.id for each in listing.snapshots}),
    )
