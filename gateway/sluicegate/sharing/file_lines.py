"""The sign and encode steps of a snapshot's files: from columns to lines with presigned URLs."""

from __future__ import annotations

import pyarrow as pa

from sluicegate.sharing import delta_lines, parquet_lines
from sluicegate.sharing.signing import Signer
from sluicegate.sharing.urls import Urls
from sluicegate.sharing.values import texts
from sluicegate.sharing.view import View


class FileLines:
    """Makes the lines of an answer, batch by batch."""

    def __init__(self, signer: Signer, view: View) -> None:
        self._urls = Urls(signer, view.table)
        self._view = view

    @property
    def expires_at(self) -> int | None:
        """When the first URL so far expires, epoch milliseconds; `None` before any."""
        return self._urls.expires_at

    async def encode(self, batch: pa.Table) -> bytes:
        """The lines of a batch of files (rows of `FILE_SCHEMA`).

        Raises:
            StorageError: Nothing can be signed now.
            TableUnreadable: A deletion vector's descriptor is malformed.
        """
        view = self._view
        presigned = await self._urls.of(texts(batch.column("path")))
        if view.agreement.response_format == "parquet":
            return parquet_lines.files(batch, presigned, view.at, view.hash_name)
        vectors = await self._urls.of_vectors(batch.column("deletion_vector"))
        return delta_lines.files(batch, presigned, vectors, view.at, view.hash_name)
