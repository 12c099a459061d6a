"""Generates the Puffin files of a view."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import anyio
import anyio.to_thread

from sluicegate.api.errors import TableUnreadable
from sluicegate.protocols.common.resolver import OpenTable
from sluicegate.protocols.iceberg_rest.deletion_vectors.layout import (
    FILE_VECTORS,
    VectorLayout,
    described,
)
from sluicegate.protocols.iceberg_rest.deletion_vectors.sources import VectorSources
from sluicegate.protocols.iceberg_rest.view import IcebergView
from sluicegate.tables.iceberg.position_deletes import position_delete_file
from sluicegate.tables.iceberg.puffin import puffin_file
from sluicegate.tables.iceberg.roaring import positions
from sluicegate.tables.iceberg.vector_blobs import Vector


class VectorFiles:
    """Generates files with the layouts that plans refer to.

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
        members = await anyio.to_thread.run_sync(_members, view, number, FILE_VECTORS)
        blobs = await self._read(view.table, [vector for _, vector in members])
        return await anyio.to_thread.run_sync(_assembled, view, members, blobs)

    async def positions(self, view: IcebergView, number: int) -> bytes:
        """The file that `deletes_name(number)` names in a view; raises as `content` does."""
        [(path, vector)] = await anyio.to_thread.run_sync(_members, view, number, 1)
        [blob] = await self._read(view.table, [vector])
        [data_file] = view.paths.of([path])
        return await anyio.to_thread.run_sync(_positions, view, data_file, vector, blob)

    async def _read(self, table: OpenTable, vectors: Sequence[Vector]) -> list[bytes]:
        with _naming(table):
            return await self._sources.blobs(table, vectors)


def _members(view: IcebergView, number: int, per_file: int) -> list[tuple[str, Vector]]:
    return VectorLayout(view.files, stored=True, per_file=per_file).members(number)


def _positions(view: IcebergView, data_file: str, vector: Vector, blob: bytes) -> bytes:
    with _naming(view.table):
        return position_delete_file(data_file, positions(vector.payload(blob), vector.cardinality))


def _assembled(
    view: IcebergView, members: Sequence[tuple[str, Vector]], blobs: Sequence[bytes]
) -> bytes:
    return puffin_file(described(members, view.paths), blobs)


@contextmanager
def _naming(table: OpenTable) -> Iterator[None]:
    """Add the name of the table to errors."""
    try:
        yield
    except TableUnreadable as error:
        raise TableUnreadable(
            f"{table.shared.full_name}: {error.message}", detail=error.detail
        ) from error
