"""Finds the versions that the metadata of a table lists, so that clients can read earlier ones."""

from __future__ import annotations

from collections.abc import Sequence

from sluicegate.api import UnsupportedOperation
from sluicegate.protocols.common.shared_scope import shared_partitions
from sluicegate.protocols.iceberg_rest.by_file.own_history import hidden_specs
from sluicegate.protocols.iceberg_rest.by_file.snapshot_list import SnapshotList
from sluicegate.protocols.iceberg_rest.by_file.viewer import MakePaths, MakeShape
from sluicegate.protocols.iceberg_rest.file_access.generated_names import MANIFEST_LIST
from sluicegate.protocols.iceberg_rest.view import TableView, snapshot_id
from sluicegate.tables.iceberg.metadata import ListedSnapshot
from sluicegate.tables.iceberg.shape import IcebergShape
from sluicegate.tables.reading.reader import TableReader
from sluicegate.tables.versions import DescribedVersion


class ListedVersions:
    """Lists the snapshots that a recipient can read.

    Args:
        reader: Lists versions.
        shape: Expresses a version as an Iceberg table; raises `UnsupportedOperation` if it cannot.
        paths: Names the files of a table's version.
        limit: Maximum number of snapshots, including the latest one.
    """

    def __init__(self, reader: TableReader, shape: MakeShape, paths: MakePaths, limit: int) -> None:
        self._reader = reader
        self._shape = shape
        self._paths = paths
        self._limit = limit

    def latest(self, view: TableView) -> SnapshotList:
        """Only the snapshot of a view of the latest version."""
        [manifest_list] = view.paths.of([MANIFEST_LIST])
        snapshot = view.snapshot
        return SnapshotList(
            ListedSnapshot(
                snapshot_id(snapshot.version), snapshot.timestamp, view.shape, manifest_list
            ),
            hidden_specs(view),
        )

    async def all(self, view: TableView) -> SnapshotList:
        """The snapshot of a view of the latest version, and the earlier ones that are shared.

        Versions are left out if Iceberg cannot express them, or not together with later ones.

        Raises:
            TableUnreadable: The table's metadata is damaged.
            Unavailable: The store or the database does not respond.
        """
        listing, table = self.latest(view), view.table
        if not table.shared.history or self._limit == 1:
            return listing
        versions = await self._reader.earlier_versions(
            table.source,
            table.directory,
            view.head(),
            table.shared.start_version,
            self._limit - 1,
        )
        shapes = await self._shapes(view, versions)
        for version, shape in zip(reversed(versions), reversed(shapes), strict=True):
            if shape is not None:
                listing.add_earlier(self._snapshot(view, version, shape))
        return listing

    async def _shapes(
        self, view: TableView, versions: Sequence[DescribedVersion]
    ) -> list[IcebergShape | None]:
        """The shapes of versions, in ascending order, so that new columns get higher ids."""
        shapes: list[IcebergShape | None] = []
        before: DescribedVersion | None = None
        for version in versions:
            if before is None or not _same_shape(before, version):
                shapes.append(await self._shape_of(view, version))
            else:
                shapes.append(shapes[-1])
            before = version
        return shapes

    async def _shape_of(self, view: TableView, version: DescribedVersion) -> IcebergShape | None:
        table = view.table
        try:
            shared_partitions(table.shared, table.principal, version.metadata)
            return await self._shape(table, version)
        except UnsupportedOperation:
            return None

    def _snapshot(
        self, view: TableView, version: DescribedVersion, shape: IcebergShape
    ) -> ListedSnapshot:
        paths = self._paths(view.table, version.version, None)
        [manifest_list] = paths.of([MANIFEST_LIST])
        return ListedSnapshot(snapshot_id(version.version), version.timestamp, shape, manifest_list)


def _same_shape(one: DescribedVersion, other: DescribedVersion) -> bool:
    """Whether both have the same schema, partitioning and features. Formats share these objects."""
    return (
        one.metadata is other.metadata
        and one.protocol is other.protocol
        and one.deletion_vectors == other.deletion_vectors
    )
