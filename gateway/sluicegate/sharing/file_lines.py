"""The sign and encode steps of a snapshot's files: from columns to lines with presigned URLs."""

from __future__ import annotations

import pyarrow as pa

from sluicegate.api import Presigned
from sluicegate.sharing import delta_lines, parquet_lines
from sluicegate.sharing.deletion_vectors import location as vector_location
from sluicegate.sharing.signing import Signer
from sluicegate.sharing.values import texts
from sluicegate.sharing.view import View


class FileLines:
    """Makes the lines of an answer, batch by batch.

    Attributes:
        expires_at: When the first URL so far expires, epoch milliseconds; `None` before any.
    """

    def __init__(self, signer: Signer, view: View) -> None:
        self._signer = signer
        self._view = view
        self.expires_at: int | None = None

    async def encode(self, batch: pa.Table) -> bytes:
        """The lines of a batch of files (rows of `FILE_SCHEMA`).

        Raises:
            StorageError: Nothing can be signed now.
            TableUnreadable: A deletion vector's descriptor is malformed.
        """
        view = self._view
        presigned = await self._presign(texts(batch.column("path")))
        if view.agreement.response_format == "parquet":
            return parquet_lines.files(batch, presigned, view.at, view.hash_name)
        vectors = await self._vectors(batch.column("deletion_vector"))
        return delta_lines.files(batch, presigned, vectors, view.at, view.hash_name)

    async def _vectors(self, column: pa.ChunkedArray) -> dict[int, tuple[str, str]]:
        """By row: the location and the URL of a deletion vector that is a file."""
        if column.null_count == len(column):
            return {}
        root = self._view.table.source.location
        located = {
            row: location
            for row, vector in enumerate(column.to_pylist())
            if vector is not None and (location := vector_location(root, vector)) is not None
        }
        if not located:
            return {}
        signed = await self._presign(list(located.values()))
        return {
            row: (location, url)
            for (row, location), url in zip(located.items(), signed.urls, strict=True)
        }

    async def _presign(self, paths: list[str]) -> Presigned:
        signed = await self._signer.presign(self._view.table, paths)
        self.expires_at = min(self.expires_at or signed.expires_at, signed.expires_at)
        return signed
