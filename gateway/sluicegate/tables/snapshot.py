"""A table at one version: protocol, metadata, and its live files as Arrow columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import pyarrow as pa
import pyarrow.compute as pc

from sluicegate._util.unused_pandas import keep_pandas_unloaded
from sluicegate.tables.declaration import IcebergDeclaration
from sluicegate.tables.derived_columns import DerivedColumns
from sluicegate.tables.packed import PackedTexts, TextsReader

keep_pandas_unloaded()  # whatever reads tables imports this module first

# Maximum rows of one chunk of a snapshot's columns, which is decoded, joined or rewritten at once.
CHUNK_ROWS = 32 * 1024

DELETION_VECTOR = pa.struct(
    [
        pa.field("storageType", pa.string()),
        pa.field("pathOrInlineDv", pa.string()),
        pa.field("offset", pa.int32()),
        pa.field("sizeInBytes", pa.int32()),
        pa.field("cardinality", pa.int64()),
        pa.field("maxRowIndex", pa.int64()),
    ]
)
"""A deletion vector's descriptor, with the field names of the Delta log."""

FILE_SCHEMA = pa.schema(
    [
        # Literal (not percent-encoded), relative to the table's location or an absolute location.
        pa.field("path", pa.string(), nullable=False),
        pa.field("size", pa.int64(), nullable=False),
        pa.field("modification_time", pa.int64()),
        # JSON text of the partition values, one dictionary entry for each distinct partition.
        pa.field("partition_values", pa.dictionary(pa.int32(), pa.string()), nullable=False),
        pa.field("stats", pa.string()),
        pa.field("deletion_vector", DELETION_VECTOR),
        # JSON text of the log's map, null where the log has none.
        pa.field("tags", pa.string()),
        pa.field("base_row_id", pa.int64()),
        pa.field("default_row_commit_version", pa.int64()),
        pa.field("clustering_provider", pa.string()),
        # The path as written in the table's metadata, null if that is `path`: file ids are made of it.
        pa.field("spelled_path", pa.string()),
    ]
)
"""The columns of a snapshot's files. Sizes are in bytes, times in epoch milliseconds."""
_STATS = FILE_SCHEMA.get_field_index("stats")
PLAIN_SCHEMA = FILE_SCHEMA.remove(_STATS)
"""The columns of `FILE_SCHEMA` without `stats`, which are stored compressed."""


@dataclass(frozen=True, slots=True)
class TableProtocol:
    """The versions and features that a reader must support (Delta protocol, "Protocol Evolution").

    The feature lists are `None` if the version numbers are sufficient.
    """

    min_reader_version: int
    min_writer_version: int
    reader_features: tuple[str, ...] | None = None
    writer_features: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class TableMetadata:
    """Schema, partitioning and configuration (Delta protocol, "Change Metadata").

    Attributes:
        parquet_schema_string: The schema that parquet format declares, if it is a different one. Its
            readers use the files' own types, so it can contain types that Delta does not have.
        field_ids: The field ids in data files, if the format assigns ids to all fields. By the path of
            names, separated by dots, with `element`, `key` and `value` for the parts of lists and maps.
            Fields without an id are not offered to Iceberg clients.
        iceberg: What an Iceberg table declares itself. Not compared: it decides nothing for clients of
            Delta Sharing.
    """

    id: str
    schema_string: str
    partition_columns: tuple[str, ...] = ()
    configuration: Mapping[str, str] = field(default_factory=dict)
    name: str | None = None
    description: str | None = None
    provider: str = "parquet"
    format_options: Mapping[str, str] = field(default_factory=dict)
    created_time: int | None = None
    parquet_schema_string: str | None = None
    field_ids: Mapping[str, int] | None = None
    iceberg: IcebergDeclaration | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class FileChunk:
    """Files as stored in memory: columns of `PLAIN_SCHEMA`, and compressed statistics."""

    plain: pa.RecordBatch
    stats: PackedTexts

    @classmethod
    def of(cls, files: pa.RecordBatch) -> FileChunk:
        """Pack a batch of `FILE_SCHEMA`."""
        return cls(files.select(PLAIN_SCHEMA.names), PackedTexts(files.column(_STATS)))

    def __len__(self) -> int:
        return int(self.plain.num_rows)

    def unpack(self) -> pa.RecordBatch:
        """The batch of `FILE_SCHEMA` again."""
        return self.plain.add_column(_STATS, FILE_SCHEMA.field(_STATS), self.stats.unpack())

    def blocks(
        self, live: pa.BooleanArray | None, rows: int, first: int | None = None
    ) -> Iterator[FileBlock]:
        """Like `FileSet.blocks`."""
        reader, start, size = self.stats.reader(), 0, first or rows
        while start < len(self):
            mask = None if live is None else live.slice(start, size)
            if mask is None or mask.true_count:
                count = min(size, len(self) - start)
                some = mask is not None and mask.true_count < count
                yield FileBlock(self, start, count, mask if some else None, reader)
            start, size = start + size, rows


@dataclass(frozen=True, slots=True)
class FileBlock:
    """Adjacent rows of a chunk, at least one of which is live.

    Attributes:
        chunk: The chunk.
        start: The number of the first row in the chunk.
        rows: The number of rows.
        live: Which of them are live (`None`: all of them).
    """

    chunk: FileChunk
    start: int
    rows: int
    live: pa.BooleanArray | None
    _reader: TextsReader

    def __len__(self) -> int:
        """Number of live files."""
        return self.rows if self.live is None else int(self.live.true_count)

    @property
    def has_vectors(self) -> bool:
        """Whether a file has a deletion vector, live or not."""
        vectors = self.chunk.plain.column("deletion_vector").slice(self.start, self.rows)
        return int(vectors.null_count) < self.rows

    def column(self, name: str) -> pa.ChunkedArray:
        """A column of the live files, which is not `stats`."""
        column = pa.chunked_array([self.chunk.plain.column(name).slice(self.start, self.rows)])
        return column if self.live is None else column.filter(self.live)

    def every_file(self) -> pa.Table:
        """All rows, of `FILE_SCHEMA`."""
        plain = pa.Table.from_batches([self.chunk.plain.slice(self.start, self.rows)])
        stats = self._reader.slice(self.start, self.rows)
        return plain.add_column(_STATS, FILE_SCHEMA.field(_STATS), stats)

    def files(self) -> pa.Table:
        """The live files, of `FILE_SCHEMA`."""
        files = self.every_file()
        return files if self.live is None else files.filter(self.live)  # a filter copies what it keeps


@dataclass(frozen=True, slots=True)
class FileSet:
    """Live files: chunks of files, and which of their rows are live (`None`: all of them).

    Advancing a snapshot by a commit clears a few bits and appends a few rows. Nothing is copied.

    Attributes:
        table: The plain columns of all chunks, of `PLAIN_SCHEMA`.
        stats: The statistics of each chunk of the table.
        derived: Cached values computed from chunks of the columns, such as the bounds for predicates.
    """

    table: pa.Table
    stats: tuple[PackedTexts, ...]
    live: pa.BooleanArray | None = None
    derived: DerivedColumns = field(default_factory=DerivedColumns, repr=False, compare=False)

    @classmethod
    def of(cls, chunks: Iterable[FileChunk], live: pa.BooleanArray | None = None) -> FileSet:
        """A set of these files."""
        filled = [chunk for chunk in chunks if len(chunk)]
        table = pa.Table.from_batches([chunk.plain for chunk in filled], schema=PLAIN_SCHEMA)
        return cls(table, tuple(chunk.stats for chunk in filled), live)

    def __len__(self) -> int:
        """Number of live files."""
        return self.table.num_rows if self.live is None else int(self.live.true_count)

    @property
    def nbytes(self) -> int:
        """Bytes of memory of the columns, each buffer once, and of the derived values."""
        plain = int(self.table.get_total_buffer_size()) + sum(stats.nbytes for stats in self.stats)
        live = 0 if self.live is None else int(self.live.nbytes)
        return plain + live + self.derived.nbytes

    @property
    def size(self) -> int:
        """Bytes of all live data files."""
        sizes = self.table.column("size")
        if self.live is not None:
            sizes = pc.filter(sizes, self.live)
        return int(pc.sum(sizes).as_py() or 0)

    @property
    def deletion_vectors(self) -> bool:
        """Whether a live file has a deletion vector."""
        vectors = self.table.column("deletion_vector")
        if vectors.null_count == len(vectors):
            return False
        present = vectors.is_valid()
        return bool(pc.any(present if self.live is None else pc.and_(present, self.live)).as_py())

    def where(self, mask: pa.BooleanArray) -> FileSet:
        """The same rows with fewer of them live. `mask` covers every row of `table`."""
        live = mask if self.live is None else pc.and_(self.live, mask)
        return replace(self, live=live)

    def chunks(self) -> Iterator[tuple[FileChunk, pa.BooleanArray | None]]:
        """The chunks, and which rows of each are live (`None`: all of them)."""
        start = 0
        for plain, stats in zip(self.table.to_batches(), self.stats, strict=True):
            yield (
                FileChunk(plain, stats),
                None if self.live is None else self.live.slice(start, len(stats)),
            )
            start += len(stats)

    def blocks(self, rows: int, first: int | None = None) -> Iterator[FileBlock]:
        """The blocks with live files, at most `rows` each; the first at most `first`."""
        for chunk, live in self.chunks():
            for block in chunk.blocks(live, rows, first):
                first = None
                yield block

    def batches(self, rows: int, first: int | None = None) -> Iterator[pa.Table]:
        """The live files of `blocks`, in tables of `FILE_SCHEMA`. Only these blocks are unpacked."""
        return (block.files() for block in self.blocks(rows, first))


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Snapshot:
    """A table at one version.

    Attributes:
        version: The table version.
        timestamp: When that version was committed, epoch milliseconds.
        state: Data that the format's reader needs to advance this snapshot. Opaque to other code,
            except for its `nbytes`, if it has this attribute.
    """

    version: int
    timestamp: int
    protocol: TableProtocol
    metadata: TableMetadata
    files: FileSet
    state: object = field(default=None, repr=False)

    @property
    def nbytes(self) -> int:
        """Bytes of memory of the snapshot, for the cache's limit."""
        state = int(getattr(self.state, "nbytes", 0))
        return self.files.nbytes + len(self.metadata.schema_string) + state
