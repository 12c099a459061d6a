"""The signing and encoding steps of a snapshot's files: from columns to lines with presigned URLs."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from sluicegate.protocols.common.column_values import texts
from sluicegate.protocols.delta_sharing.encoding import delta as delta_lines
from sluicegate.protocols.delta_sharing.encoding import parquet as parquet_lines
from sluicegate.protocols.delta_sharing.view import View
from sluicegate.protocols.presigning.issued_urls import NO_FILES, IssuedUrls, Offered
from sluicegate.protocols.presigning.response_urls import Urls
from sluicegate.protocols.presigning.signer import Signer
from sluicegate.tables.canonical_partitions import canonical_partitions
from sluicegate.tables.partitions import answered_partitions
from sluicegate.tables.predicates.saturated_bounds import saturated_bounds


class FileLines:
    """Encodes the lines of a response, batch by batch.

    Args:
        signer: Presigns files, and counts what recipients are offered.
        view: The table.
        total: All files of the response, if they are known. They are counted at once. Otherwise each
            batch is counted before it is signed.
        shareable: Whether other recipients can get the same response.

    Attributes:
        offered: The files so far.

    Raises:
        RateLimited: The recipient would get more than it is allowed to get in a day.
    """

    def __init__(
        self, signer: Signer, view: View, total: Offered | None = None, *, shareable: bool = False
    ) -> None:
        if total is not None:
            signer.offer(view.table, total)
        self.offered = NO_FILES
        self._signer = signer
        self._counted = total is not None
        self._urls = Urls(signer, view.table, shareable=shareable)
        self._view = view
        self._partitions = canonical_partitions(view.snapshot.metadata)
        self._bounds = saturated_bounds(view.snapshot.metadata.schema_string)

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
            RateLimited: The recipient would get more than it is allowed to get in a day.
        """
        view = self._view
        more = offered_in(batch)
        if not self._counted:
            self._signer.offer(view.table, more)
        self.offered += more
        batch = self._bounds.without(answered_partitions(batch, view.snapshot.metadata))
        batch = self._partitions.of_files(batch)
        presigned = await self._urls.of(texts(batch.column("path")))
        if view.agreement.response_format == "parquet":
            return parquet_lines.files(batch, presigned, view.at, view.hash_name)
        vectors = await self._urls.of_vectors(batch.column("deletion_vector"))
        return delta_lines.files(batch, presigned, vectors, view.at, view.hash_name)


def offered_in(files: pa.Table) -> Offered:
    """The data files of a table with a column `size`."""
    return Offered(files.num_rows, pc.sum(files.column("size")).as_py() or 0)
