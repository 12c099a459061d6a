"""Delete files of a plan: the deletion vectors of its data files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import orjson
import pyarrow as pa

from sluicegate.protocols.iceberg_rest.view import TableView
from sluicegate.tables.snapshot import FileSet

PUFFIN: Final = "puffin"
"""The format of files with deletion vectors."""


@dataclass(frozen=True, slots=True)
class VectorBlob:
    """The place of a deletion vector that Iceberg clients can read, or of a position delete file.

    Source: Puffin specification, "`deletion-vector-v1` blob type".

    Attributes:
        path: The path of its file, as `ViewPaths.of` takes it.
        offset: Where the blob starts in the file.
        size: Bytes of the blob, with its length, magic number and checksum.
        cardinality: Number of deleted rows.
        file_size: Bytes of the file.
        file_format: `puffin`, or `parquet` for a position delete file, which has no blob.
    """

    path: str
    offset: int
    size: int
    cardinality: int
    file_size: int
    file_format: str = PUFFIN


class VectorBlobs(Protocol):
    """Finds the deletion vectors of data files."""

    def need_all(self, files: FileSet) -> bool:
        """Whether the places of some of these files' vectors depend on all files of the view."""

    async def of(self, view: TableView, files: pa.Table) -> Sequence[VectorBlob | None]:
        """The deletion vector of each file, in order, or `None` for files without one.

        Args:
            view: The view whose files these are.
            files: Rows of `FILE_SCHEMA`, at least one of them with a deletion vector.

        Raises:
            TableUnreadable: A descriptor is malformed.
            UnsupportedOperation: The format has deletion vectors that Iceberg clients cannot read.
        """


def delete_file(blob: VectorBlob, path: str, data_file: str, partition: bytes) -> bytes:
    """A delete file ("PositionDeleteFile").

    Args:
        blob: The deletion vector.
        path: The path of its file for clients.
        data_file: The path of the data file for clients.
        partition: The members `spec-id` and `partition` of the data file.
    """
    members: dict[str, object] = {
        "content": "position-deletes",
        "file-path": path,
        "file-format": blob.file_format,
        "file-size-in-bytes": blob.file_size,
        "record-count": blob.cardinality,
        "referenced-data-file": data_file,
    }
    if blob.file_format == PUFFIN:
        members |= {"content-offset": blob.offset, "content-size-in-bytes": blob.size}
    return b"{%b,%b" % (partition, orjson.dumps(members)[1:])
