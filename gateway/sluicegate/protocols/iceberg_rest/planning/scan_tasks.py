"""Encodes file scan tasks, from columns to JSON (Iceberg REST specification, "FileScanTask")."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import orjson
import pyarrow as pa
import pyarrow.compute as pc

from sluicegate._util.limited_threads import LimitedThreads
from sluicegate.api.errors import UnsupportedOperation
from sluicegate.protocols.columns import KeptTexts, integers, texts
from sluicegate.protocols.iceberg_rest.planning.partitions import PartitionReader
from sluicegate.protocols.iceberg_rest.planning.selection import NOTHING_LEFT, TaskSelection
from sluicegate.protocols.iceberg_rest.planning.statistics import Statistics
from sluicegate.protocols.iceberg_rest.view import TableView
from sluicegate.protocols.joined_columns import JoinedColumns
from sluicegate.tables.iceberg.shape import IcebergShape
from sluicegate.tables.reading.encoded_blocks import EncodedBlocks
from sluicegate.tables.snapshot import FileBlock, FileSet

PUFFIN: Final = "puffin"
"""The format of files with deletion vectors."""


@dataclass(frozen=True, slots=True)
class VectorBlob:
    """The place of a deletion vector that Iceberg clients can read, or of a position delete file.

    Source: Puffin specification, "`deletion-vector-v1` blob type".

    Attributes:
        size: Bytes of the blob, with its length, magic number and checksum.
        file_size: Bytes of the file.
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
        """The deletion vector of each file, in order, or `None` for files without one."""


def delete_file(blob: VectorBlob, path: str, data_file: str, partition: bytes) -> bytes:
    """A delete file ("PositionDeleteFile")."""
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


_ENCODING = "sizes and records of Iceberg tasks"
_RECORDS = re.compile(r'\{"numRecords":(\d{1,18})[,}]')
_BATCH_FILES = 256  # larger batches outgrow the CPU cache, and block the event loop for longer
_BATCH_BYTES = 1 << 20  # of residuals
_FEW_COLUMNS = 8  # whose statistics are about as large as the rest of a task
UNKNOWN_RECORDS = -1
"""The number of records if there are no statistics, which Java takes for unknown, too."""


@dataclass(frozen=True, slots=True)
class Encoded:
    """A batch of tasks."""

    tasks: bytes
    rows: int


class TaskEncoder:
    """Encodes the tasks of one response, batch by batch."""

    def __init__(
        self,
        view: TableView,
        selection: TaskSelection,
        statistics: Statistics | None,
        blobs: VectorBlobs | None,
        partitions: PartitionReader,
        threads: LimitedThreads,
        kept: EncodedBlocks | None = None,
    ) -> None:
        self.delete_files: list[bytes] = []
        self._view = view
        self._selection = selection
        self._statistics = statistics
        self._blobs = blobs
        self._threads = threads
        self._partitions = partitions
        self._members: dict[str, bytes] = {}
        self._templates: dict[str, tuple[bytes, bytes, bool]] = {}
        self._uncounted = _always_true(view.shape)
        self._kept = None
        if kept is not None and statistics is None:
            self._kept = KeptTexts(kept, _ENCODING, _plain_members)

    @property
    def batch_files(self) -> int:
        """The most files of one batch: fewer for many statistics or long residuals."""
        columns = 0 if self._statistics is None else self._statistics.columns
        within = _BATCH_BYTES // (1 + self._selection.longest)
        return max(1, min(_BATCH_FILES // (1 + columns // _FEW_COLUMNS), within))

    async def encode(self, block: FileBlock) -> Encoded:
        """The tasks of a block of files."""
        kept = None if self._kept is None else self._kept.of(block)
        if kept is None:
            return await self._encode(block.files())
        paths = self._view.paths.of(texts(block.column("path")))
        templates = [self._template(each) for each in texts(block.column("partition_values"))]
        residuals = [residual for _, residual, _ in templates]
        return Encoded(_joined(templates, paths, kept[0], residuals), 0)

    async def _encode(self, files: pa.Table) -> Encoded:
        paths = self._view.paths.of(texts(files.column("path")))
        partitions = texts(files.column("partition_values"))
        references, deleted = await self._references(files, paths, partitions)
        stats = texts(files.column("stats"))
        bounds = await self._bounds(stats)
        counts = [number_of_records(text) for text in stats]
        templates = [self._template(partition) for partition in partitions]
        rows, residuals = 0, []
        for (_, residual, decided), records, gone in zip(templates, counts, deleted, strict=True):
            if decided and records != UNKNOWN_RECORDS:
                rows += records - gone
            uncounted = decided and records == UNKNOWN_RECORDS
            residuals.append(self._uncounted if uncounted else residual)
        members = [
            f"{plain}{bound}}}{reference}".encode()
            for plain, bound, reference in zip(
                _members(integers(files.column("size")), counts), bounds, references, strict=True
            )
        ]
        return Encoded(_joined(templates, paths, members, residuals), rows)

    async def _bounds(self, stats: Sequence[str | None]) -> Sequence[str]:
        if self._statistics is None:
            return [""] * len(stats)
        # Each statistic takes about 10 µs, and a table can have thousands of columns.
        return await self._threads.run(self._statistics.members, stats)

    def _template(self, partition: str) -> tuple[bytes, bytes, bool]:
        """The start of a task, its residual, and whether nothing is left of the filter."""
        found = self._templates.get(partition)
        if found is None:
            members, residual = self._of_partition(partition), self._selection.residual(partition)
            head = b',{"data-file":{"content":"data",%b,"file-format":"parquet","file-path":' % members
            found = head, residual, residual == NOTHING_LEFT
            self._templates[partition] = found
        return found

    def _of_partition(self, partition: str) -> bytes:
        if partition not in self._members:
            self._members[partition] = self._partitions.members(partition)
        return self._members[partition]

    async def _references(
        self, files: pa.Table, paths: Sequence[str], partitions: Sequence[str]
    ) -> tuple[list[str], list[int]]:
        """For each file, the member that refers to its delete file, and its deleted rows."""
        references, deleted = [""] * files.num_rows, [0] * files.num_rows
        vectors = files.column("deletion_vector")
        if vectors.null_count == len(vectors):
            return references, deleted
        if self._blobs is None:
            raise UnsupportedOperation(
                "the table has deletion vectors that this Iceberg client cannot read: use another "
                "client or protocol"
            )
        blobs = await self._blobs.of(self._view, files)
        found = [(row, blob) for row, blob in enumerate(blobs) if blob is not None]
        places = self._view.paths.of([blob.path for _, blob in found])
        for (row, blob), place in zip(found, places, strict=True):
            references[row] = f',"delete-file-references":[{len(self.delete_files)}]'
            deleted[row] = blob.cardinality
            members = self._of_partition(partitions[row])
            self.delete_files.append(delete_file(blob, place, paths[row], members))
        if len(found) < pc.sum(vectors.is_valid()).as_py():
            raise UnsupportedOperation("a deletion vector of the table cannot be read")
        return references, deleted


def number_of_records(stats: str | None) -> int:
    """The number of records of a file by its statistics, deleted ones included."""
    if stats is None:
        return UNKNOWN_RECORDS
    if found := _RECORDS.match(stats):
        return int(found[1])
    try:
        value = orjson.loads(stats).get("numRecords")
    except (orjson.JSONDecodeError, AttributeError):
        return UNKNOWN_RECORDS
    return value if type(value) is int and value >= 0 else UNKNOWN_RECORDS


def _plain_members(files: pa.Table) -> Sequence[Sequence[bytes]] | None:
    """The ends of tasks before their residuals, if these are the same in each plan."""
    counts = [number_of_records(text) for text in texts(files.column("stats"))]
    if UNKNOWN_RECORDS in counts:
        return None
    members = _members(integers(files.column("size")), counts)
    return ([f"{each}}}".encode() for each in members],)


def _members(sizes: Sequence[int], counts: Sequence[int]) -> list[str]:
    return [
        f',"file-size-in-bytes":{size},"record-count":{records}'
        for size, records in zip(sizes, counts, strict=True)
    ]


def _joined(
    templates: Sequence[tuple[bytes, bytes, bool]],
    paths: Sequence[str],
    members: Sequence[bytes],
    residuals: Sequence[bytes],
) -> bytes:
    """Tasks, separated by commas."""
    columns = ([head for head, _, _ in templates], _quoted(paths), members, residuals)
    between = (b"", b"", b"", b',"residual-filter":', b"}")
    return JoinedColumns(between, columns).joined()[1:]


def _quoted(paths: Sequence[str]) -> list[bytes]:
    """Each path as a JSON string. Most have nothing to escape."""
    quoted = orjson.dumps(" ".join(paths))
    found = quoted.replace(b" ", b'" "').split(b" ")
    if b"\\" in quoted or len(found) != len(paths):
        return [orjson.dumps(path) for path in paths]
    return found


def _always_true(shape: IcebergShape) -> bytes:
    """A residual that is true for all rows, but not the constant.

    For the constant, PyIceberg counts rows by `record-count` instead of reading the file.
    """
    partitions = {part.source.id for part in shape.partition_fields}
    names = [field.name for field in shape.schema.fields if field.id not in partitions]
    if not names:
        return NOTHING_LEFT
    term = names[0]
    tests = [{"type": kind, "term": term} for kind in ("is-null", "not-null")]
    return orjson.dumps({"type": "or", "left": tests[0], "right": tests[1]})
