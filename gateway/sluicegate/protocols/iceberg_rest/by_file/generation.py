"""Generates the metadata and the other files of a view that no store contains, by their names."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence

import anyio.to_thread

from sluicegate.api import NotFound
from sluicegate.protocols.iceberg_rest.by_file.file_names import FileNames
from sluicegate.protocols.iceberg_rest.by_file.snapshots import (
    ListedVersions,
    SnapshotList,
    references,
)
from sluicegate.protocols.iceberg_rest.deletion_vectors.generation import VectorFiles
from sluicegate.protocols.iceberg_rest.file_access.file_paths import location_of
from sluicegate.protocols.iceberg_rest.file_access.generated_links import (
    MANIFEST_LIST,
    is_metadata,
    numbered,
)
from sluicegate.protocols.iceberg_rest.manifests.files import ManifestFiles
from sluicegate.protocols.iceberg_rest.view import IcebergView, TableView
from sluicegate.tables.iceberg.file_names import Names
from sluicegate.tables.iceberg.metadata import table_metadata


class MetadataFile:
    """Makes the metadata of views."""

    def __init__(self, versions: ListedVersions, names: FileNames) -> None:
        self._versions = versions
        self._names = names

    async def content(self, view: TableView, *, latest_only: bool = False) -> bytes:
        """The metadata of a view's table, as JSON."""
        listing = self._versions.latest(view) if latest_only else await self._versions.all(view)
        names = await self._names.of(view)
        return await anyio.to_thread.run_sync(_described, view, listing, names)


def _described(view: TableView, listing: SnapshotList, names: Sequence[Names]) -> bytes:
    shared = view.table.shared
    return table_metadata(
        identity=f"{shared.id} {view.snapshot.metadata.id}",
        location=location_of(shared),
        specs=listing.specs,
        snapshots=listing.snapshots,
        file_names=names,
        refs=references(view, {each.id for each in listing.snapshots}),
    )


_Make = Callable[[IcebergView, int], Awaitable[bytes]]


class Generator:
    """Generates metadata, manifest lists, manifests, deletion vectors and position delete files."""

    def __init__(self, metadata: MetadataFile, manifests: ManifestFiles, vectors: VectorFiles) -> None:
        self._metadata = metadata
        self._manifests = manifests
        self._makers: Mapping[str, _Make] = {
            "manifest": manifests.manifest,
            "vectors": vectors.content,
            "deletes": vectors.positions,
        }

    async def generate(self, view: IcebergView, name: str) -> bytes:
        """The bytes of a file. Except for metadata, the same view always has the same bytes."""
        if is_metadata(name):
            return await self._metadata.content(view)
        if name == MANIFEST_LIST:
            return await self._manifests.manifest_list(view)
        kind, number = numbered(name)
        make = self._makers.get(kind)
        if make is None:
            raise NotFound("there is no such file: load the table again")
        return await make(view, number)
