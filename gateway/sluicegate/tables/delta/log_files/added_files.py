"""Completes removes of old writers with size and partition values from adds of the same files.

Delta protocol, "Add File and Remove File": both are optional in a remove, but recipients need them
(Delta Sharing protocol, "Remove File").
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from sluicegate.tables.changes import CHANGE_SCHEMA, CommitFiles
from sluicegate.tables.snapshot import FileSet

_SCHEMA = pa.schema(
    [
        pa.field("path", pa.string()),
        pa.field("size", pa.int64()),
        pa.field("partition_values", pa.string()),
    ]
)
_SIZE = CHANGE_SCHEMA.get_field_index("size")
_PARTITION = CHANGE_SCHEMA.get_field_index("partition_values")
_NO_PARTITION = "{}"


@dataclass(frozen=True, slots=True)
class AddedFiles:
    """Path, size and partition values (JSON text) of files, the newest add of each path last."""

    table: pa.Table
    complete: bool = True

    @classmethod
    def live(cls, files: FileSet, paths: pa.Array) -> AddedFiles:
        """The files of a snapshot that have one of these paths."""
        wanted = pc.is_in(files.table.column("path"), value_set=paths)
        if files.live is not None:
            wanted = pc.and_(wanted, files.live)
        return cls(_plain(files.table.select(_SCHEMA.names).filter(wanted)))

    @classmethod
    def of(cls, adds: pa.RecordBatch, paths: pa.Array) -> AddedFiles:
        """The adds of a commit that have one of these paths."""
        wanted = pc.is_in(adds.column("path"), value_set=paths)
        return cls(_plain(pa.Table.from_batches([adds.select(_SCHEMA.names).filter(wanted)])))

    @classmethod
    def joined(cls, parts: Iterable[AddedFiles]) -> AddedFiles:
        """All of the parts, where later parts come after earlier ones."""
        return cls(pa.concat_tables([_SCHEMA.empty_table(), *(part.table for part in parts)]))

    @property
    def nbytes(self) -> int:
        """Bytes of memory that the columns hold."""
        return int(self.table.nbytes)

    def with_paths(self, paths: pa.Array) -> AddedFiles:
        """The files that have one of these paths."""
        known = self.table.column("path")
        found = self.table.filter(pc.is_in(known, value_set=paths)).combine_chunks()
        complete = pc.all(pc.is_in(paths, value_set=known.combine_chunks()), min_count=0).as_py()
        return AddedFiles(found, bool(complete))

    def completed(self, files: CommitFiles) -> CommitFiles:
        """A commit's files, with known values filled in for its removes."""
        data = self._filled(files.data)
        return replace(files, data=data, feed=data if files.feed is files.data else files.feed)

    def _filled(self, changes: pa.RecordBatch) -> pa.RecordBatch:
        newest_first = self.table.take(pa.array(range(len(self.table) - 1, -1, -1), pa.int64()))
        paths = newest_first.column("path").combine_chunks()
        rows = pc.index_in(changes.column("path"), value_set=paths)
        sizes, partitions = (
            pc.coalesce(
                changes.column(name).cast(kind), newest_first.column(name).combine_chunks().take(rows)
            )
            for name, kind in (("size", pa.int64()), ("partition_values", pa.string()))
        )
        return changes.set_column(_SIZE, CHANGE_SCHEMA.field(_SIZE), sizes).set_column(
            _PARTITION, CHANGE_SCHEMA.field(_PARTITION), partitions.dictionary_encode()
        )


def removed_without_values(changes: pa.RecordBatch) -> pa.Array:
    """Paths of the removes that have no size or no partition values."""
    paths = changes.column("path")
    if not (changes.column("size").null_count or changes.column("partition_values").null_count):
        return paths.slice(0, 0)
    lacking = pc.or_(changes.column("size").is_null(), changes.column("partition_values").is_null())
    removes = pc.equal(changes.column("kind").cast(pa.string()), "remove")
    return paths.filter(pc.and_(lacking, removes))


def _plain(files: pa.Table) -> pa.Table:
    """Columns of the schema. Missing partition values mean no partition."""
    partitions = files.column("partition_values").cast(pa.string()).fill_null(_NO_PARTITION)
    return files.set_column(2, _SCHEMA.field(2), partitions).cast(_SCHEMA)
