"""Generates the files of a view that no store contains, by their names."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from sluicegate.api import NotFound
from sluicegate.protocols.iceberg_rest.by_file.metadata_file import MetadataFile
from sluicegate.protocols.iceberg_rest.deletion_vectors.generation import VectorFiles
from sluicegate.protocols.iceberg_rest.file_access.generated_names import (
    MANIFEST_LIST,
    METADATA,
    numbered,
)
from sluicegate.protocols.iceberg_rest.manifests.files import ManifestFiles
from sluicegate.protocols.iceberg_rest.view import IcebergView

_Make = Callable[[IcebergView, int], Awaitable[bytes]]


class Generator:
    """Generates metadata, manifest lists, manifests, deletion vectors and position delete files.

    Args:
        metadata: Generates metadata.
        manifests: Generates manifest lists and manifests.
        vectors: Generates files of deletion vectors, and position delete files.
    """

    def __init__(self, metadata: MetadataFile, manifests: ManifestFiles, vectors: VectorFiles) -> None:
        self._metadata = metadata
        self._manifests = manifests
        self._makers: Mapping[str, _Make] = {
            "manifest": manifests.manifest,
            "vectors": vectors.content,
            "deletes": vectors.positions,
        }

    async def generate(self, view: IcebergView, name: str) -> bytes:
        """The bytes of a file. Except for metadata, the same view always has the same bytes.

        Raises:
            NotFound: The view has no such file.
            TableUnreadable: The table's metadata is damaged.
            UnsupportedOperation: Iceberg clients cannot read a part of the table.
            Unavailable: The store does not respond.
        """
        if name == METADATA:
            return await self._metadata.content(view)
        if name == MANIFEST_LIST:
            return await self._manifests.manifest_list(view)
        kind, number = numbered(name)
        make = self._makers.get(kind)
        if make is None:
            raise NotFound("there is no such file: load the table again")
        return await make(view, number)
