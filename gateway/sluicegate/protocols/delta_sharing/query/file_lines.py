"""The signing and encoding steps of a snapshot's files: from columns to lines with presigned URLs."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from sluicegate.api import quote_keys
from sluicegate.protocols.columns import KeptTexts, texts
from sluicegate.protocols.delta_sharing.encoding import delta as delta_lines
from sluicegate.protocols.delta_sharing.encoding import parquet as parquet_lines
from sluicegate.protocols.delta_sharing.encoding.ndjson import expiration, signed_urls, urls
from sluicegate.protocols.delta_sharing.view import View
from sluicegate.protocols.presigning.response_urls import Urls
from sluicegate.protocols.presigning.signer import NO_FILES, IssuedUrls, Offered, Signer, is_scattered
from sluicegate.tables.canonical_partitions import canonical_partitions
from sluicegate.tables.column_mapping import mapping_mode
from sluicegate.tables.partitions import answered_partitions
from sluicegate.tables.predicates.bounds import saturated_bounds
from sluicegate.tables.reading.encoded_blocks import EncodedBlocks
from sluicegate.tables.snapshot import FileBlock


class FileLines:
    """Encodes the lines of a response, batch by batch."""

    def __init__(
        self,
        signer: Signer,
        view: View,
        kept: EncodedBlocks,
        total: Offered | None = None,
        *,
        shareable: bool = False,
    ) -> None:
        if total is not None:
            signer.offer(view.table, total)
        self.offered = NO_FILES if total is None else total
        self._signer = signer
        self._counted = total is not None
        self._urls = Urls(signer, view.table, shareable=shareable)
        self._view = view
        self._partitions = canonical_partitions(view.snapshot.metadata)
        self._bounds = saturated_bounds(view.snapshot.metadata.schema_string)
        self._parquet = view.agreement.response_format == "parquet"
        self._kept = KeptTexts(kept, _encoding(view), self._file_texts, ignores_vectors=self._parquet)

    @property
    def expires_at(self) -> int | None:
        """Expiry of the first URL so far, in epoch milliseconds. `None` before any URL."""
        return self._urls.expires_at

    @property
    def issued(self) -> IssuedUrls:
        """The URLs so far."""
        return self._urls.issued

    async def encode(self, batch: pa.Table | FileBlock) -> bytes:
        """The lines of a batch of files (a block, or rows of `FILE_SCHEMA`)."""
        view = self._view
        if not self._counted:
            more = offered_in(batch)
            self._signer.offer(view.table, more)
            self.offered += more
        if isinstance(batch, FileBlock):
            kept = self._kept.of(batch)
            if kept is not None:
                return await self._joined(batch, *kept)
            batch = batch.files()
        batch = self._answered(batch)
        presigned = await self._urls.of(texts(batch.column("path")))
        if self._parquet:
            return parquet_lines.files(batch, presigned, view.at, view.hash_name)
        vectors = await self._urls.of_vectors(batch.column("deletion_vector"))
        return delta_lines.files(batch, presigned, vectors, view.at, view.hash_name)

    async def _joined(
        self, block: FileBlock, paths: Sequence[bytes], *columns: Sequence[bytes]
    ) -> bytes:
        signed = await self._urls.of_encoded(paths)
        if signed is not None:
            url, expires = signed_urls(paths, signed), expiration(signed)
        else:
            presigned = await self._urls.of(texts(block.column("path")))
            url, expires = urls(presigned), expiration(presigned)
        lines = parquet_lines.lines if self._parquet else delta_lines.lines
        return lines(url, columns, self._view.at, expires)

    def _file_texts(self, files: pa.Table) -> Sequence[Sequence[bytes]] | None:
        """Encoded paths, and texts of lines, if these do not depend on signatures."""
        paths = texts(files.column("path"))
        if is_scattered(paths):
            return None
        encode = parquet_lines.file_texts if self._parquet else delta_lines.file_texts
        quoted = [path.encode() for path in quote_keys(paths)]
        return quoted, *encode(self._answered(files), self._view.hash_name)

    def _answered(self, files: pa.Table) -> pa.Table:
        """The files with the partition values and statistics that responses have."""
        files = answered_partitions(files, self._view.snapshot.metadata)
        return self._partitions.of_files(self._bounds.without(files))


def _encoding(view: View) -> Hashable:
    """All that the texts of lines depend on, besides the files."""
    metadata = view.snapshot.metadata
    return (
        *(view.agreement.response_format, view.hash_name),
        *(metadata.schema_string, metadata.partition_columns, mapping_mode(metadata)),
        metadata.iceberg is None,
    )


def offered_in(files: pa.Table | FileBlock) -> Offered:
    """The data files of a block, or of a table with a column `size`."""
    sizes = files.column("size")
    return Offered(len(sizes), pc.sum(sizes).as_py() or 0)
