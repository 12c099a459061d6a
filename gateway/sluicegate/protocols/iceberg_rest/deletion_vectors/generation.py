"""Generates the Puffin files of a view."""

from __future__ import annotations

from collections.abc import Sequence

import anyio
import anyio.to_thread

from sluicegate.api.errors import TableUnreadable
from sluicegate.protocols.common.resolver import OpenTable
from sluicegate.protocols.iceberg_rest.deletion_vectors.layout import VectorLayout, described
from sluicegate.protocols.iceberg_rest.deletion_vectors.sources import VectorSources
from sluicegate.protocols.iceberg_rest.view import IcebergView
from sluicegate.tables.iceberg.puffin import puffin_file
from sluicegate.tables.iceberg.vector_blobs import Vector


class VectorFiles:
    """Generates files with the layout that plans refer to.

    Args:
        sources: Reads the vectors.
    """

    def __init__(self, sources: VectorSources) -> None:
        self._sources = sources

    async def content(self, view: IcebergView, number: int) -> bytes:
        """The file that `vectors_name(number)` names in a view. The same view has the same bytes.

        Raises:
            NotFound: The view has no such file.
            TableUnreadable: A vector is damaged or missing.
            UnsupportedOperation: A vector is at a location that the table is not allowed to use.
            StorageError: The store does not respond, or denies access.
        """
        members = await anyio.to_thread.run_sync(_members, view, number)
        blobs = await self._read(view.table, [vector for _, vector in members])
        return await anyio.to_thread.run_sync(_assembled, view, members, blobs)

    async def _read(self, table: OpenTable, vectors: Sequence[Vector]) -> list[bytes]:
        try:
            return await self._sources.blobs(table, vectors)
        except TableUnreadable as error:
            raise TableUnreadable(
                f"{table.shared.full_name}: {error.message}", detail=error.detail
            ) from error


def _members(view: IcebergView, number: int) -> list[tuple[str, Vector]]:
    return VectorLayout(view.files, stored=True).members(number)


def _assembled(
    view: IcebergView, members: Sequence[tuple[str, Vector]], blobs: Sequence[bytes]
) -> bytes:
    return puffin_file(described(members, view.paths), blobs)
