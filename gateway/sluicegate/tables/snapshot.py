"""A table at one version: protocol, metadata, and its live files as Arrow columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from sluicegate.tables.derived import DerivedColumns

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
    ]
)


@dataclass(frozen=True, slots=True)
class TableProtocol:
    """The versions and features that a reader must understand (Delta protocol, "Protocol Evolution").

    The feature lists are `None` where the version numbers say it all.
    """

    min_reader_version: int
    min_writer_version: int
    reader_features: tuple[str, ...] | None = None
    writer_features: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class TableMetadata:
    """Schema, partitioning and configuration (Delta protocol, "Change Metadata")."""

    id: str
    schema_string: str
    partition_columns: tuple[str, ...] = ()
    configuration: Mapping[str, str] = field(default_factory=dict)
    name: str | None = None
    description: str | None = None
    provider: str = "parquet"
    format_options: Mapping[str, str] = field(default_factory=dict)
    created_time: int | None = None


@dataclass(frozen=True, slots=True)
class FileSet:
    """Live files: a table of `FILE_SCHEMA`, and which of its rows live (`None`: all of them).

    Advancing a snapshot by a commit clears a few bits and appends a few rows; nothing is copied.

    Attributes:
        derived: What was computed from chunks of the table, such as the bounds that predicates need.
    """

    table: pa.Table
    live: pa.BooleanArray | None = None
    derived: DerivedColumns = field(default_factory=DerivedColumns, repr=False, compare=False)

    def __len__(self) -> int:
        """Number of live files."""
        return self.table.num_rows if self.live is None else int(self.live.true_count)

    @property
    def nbytes(self) -> int:
        """Bytes of memory that the columns hold, each buffer once, and what was derived from them."""
        live = 0 if self.live is None else int(self.live.nbytes)
        return int(self.table.get_total_buffer_size()) + live + self.derived.nbytes

    @property
    def size(self) -> int:
        """Bytes of all live data files."""
        sizes = self.table.column("size")
        if self.live is not None:
            sizes = pc.filter(sizes, self.live)
        return int(pc.sum(sizes).as_py() or 0)

    @property
    def deletion_vectors(self) -> bool:
        """Some live file has a deletion vector."""
        vectors = self.table.column("deletion_vector")
        if vectors.null_count == len(vectors):
            return False
        present = vectors.is_valid()
        return bool(pc.any(present if self.live is None else pc.and_(present, self.live)).as_py())

    def where(self, mask: pa.BooleanArray) -> FileSet:
        """The same rows with fewer of them living; `mask` covers every row of `table`."""
        live = mask if self.live is None else pc.and_(self.live, mask)
        return FileSet(self.table, live, self.derived)

    def batches(self, rows: int, first: int | None = None) -> Iterator[pa.Table]:
        """The live files in slices that hold at most `rows` of them; the first at most `first`."""
        start, size = 0, first or rows
        while start < self.table.num_rows:
            part = self.table.slice(start, size)
            live = None if self.live is None else self.live.slice(start, size)
            if live is not None and live.true_count < len(live):  # a filter copies what it keeps
                part = part.filter(live)
            if part.num_rows:
                yield part
            start, size = start + size, rows


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A table at one version.

    Attributes:
        version: The table version.
        timestamp: When that version was committed, epoch milliseconds.
        state: What the format's reader needs to advance this snapshot (opaque to everybody else).
    """

    version: int
    timestamp: int
    protocol: TableProtocol
    metadata: TableMetadata
    files: FileSet
    state: object = field(default=None, repr=False)

    @property
    def nbytes(self) -> int:
        """Bytes of memory that the snapshot holds, for the cache's bound."""
        return self.files.nbytes + len(self.metadata.schema_string)
