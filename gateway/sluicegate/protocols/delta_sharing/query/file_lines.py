"""The signing and encoding steps of a snapshot's files: from columns to lines with presigned URLs."""

from __future__ import annotations

import pyarrow as pa

from sluicegate.protocols.common.column_values import texts
from sluicegate.protocols.delta_sharing.encoding import delta as delta_lines
from sluicegate.protocols.delta_sharing.encoding import parquet as parquet_lines
from sluicegate.protocols.delta_sharing.view import View
from sluicegate.protocols.presigning.issued_urls import IssuedUrls
from sluicegate.protocols.presigning.response_urls import Urls
from sluicegate.protocols.presigning.signer import Signer


class FileLines:
    """Encodes the lines of a response, batch by batch."""

    def __init__(self, signer: Signer, view: View) -> None:
        self._urls = Urls(signer, view.table)
        self._view = view

    @property
    def expires_at(self) -> int | None:
        """Expiry of the first URL so far, in epoch milliseconds. `None` before any URL."""
        return self._urls.expires_at

    @property
    def issued(self) -> IssuedUrls:
        """The URLs so far."""
        return self._urls.issued

    async def encode(self, batch: pa.Table) -> bytes:
        """The lines of a batch of files (rows of `FILE_SCHEMA`).

        Raises:
            StorageError: The store cannot sign now.
            TableUnreadable: A deletion vector's descriptor is malformed.
        """
        view = self._view

        presigned = await self._urls.of(texts(batch.column("path")))
        if view.agreement.response_format == "parquet":
            return parquet_lines.files(batch, presigned, view.at, view.hash_name)
        vectors = await self._urls.of_vectors(batch.column("deletion_vector"))
        return delta_lines.files(batch, presigned, vectors, view.at, view.hash_name)
