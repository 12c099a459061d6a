"""Counts the files that recipients with a limit of files or bytes have requests signed for."""

from __future__ import annotations

import anyio.to_thread
import pyarrow as pa
import pyarrow.compute as pc

from sluicegate._util.lru import LRU
from sluicegate.protocols.common.resolver import OpenTable
from sluicegate.protocols.iceberg_rest.file_access.file_paths import ProvenFile
from sluicegate.protocols.presigning.issued_urls import Offered
from sluicegate.protocols.presigning.signer import Signer
from sluicegate.tables.reading.reader import TableReader

# Clients request a signature for each range of a file. Only the first one counts while its path is
# kept here, which takes about 300 bytes.
_KEPT = 50_000


class SignedFiles:
    """Counts each data file once for each path that it was issued under.

    A path proves that a recipient's view has the file, but not the file's size. The snapshot contains
    it. This costs a search through the snapshot's paths for each file, and only for these recipients.

    Args:
        signer: Counts what recipients are offered.
        reader: Reads snapshots.
    """

    def __init__(self, signer: Signer, reader: TableReader) -> None:
        self._signer = signer
        self._reader = reader
        self._counted: LRU[tuple[str, str], bool] = LRU(_KEPT)

    async def count(self, table: OpenTable, file: ProvenFile, key: str) -> None:
        """Count a file before a request for it is signed.

        Args:
            table: The table, and its recipient.
            file: The file that the path in the request proves.
            key: The path.

        Raises:
            RateLimited: The recipient would get more than it is allowed to get in a day.
            InvalidRequest: The version no longer exists.
        """
        if not self._signer.limits_offers(table):
            return
        path = table.principal.id, key
        if self._counted.get(path):
            return
        snapshot = await self._reader.at_version(table.source, table.directory, file.version)
        files = snapshot.files.table
        size = await anyio.to_thread.run_sync(_size, files, file.path)
        if self._counted.get(path):  # a request for another range was faster
            return
        if size is not None:
            self._signer.offer(table, Offered(1, size))
        self._counted.put(path, True)


def _size(files: pa.Table, path: str) -> int | None:
    """The size of a data file. `None` for other files, such as deletion vectors."""
    row = pc.index(files.column("path"), path).as_py()
    return None if row < 0 else int(files.column("size")[row].as_py())
