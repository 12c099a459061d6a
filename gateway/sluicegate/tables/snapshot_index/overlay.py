"""What later commits changed in the files of an index."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Self

import pyarrow as pa
import pyarrow.compute as pc

from sluicegate.tables.delta.replay import FileChanges, apply, touched_rows
from sluicegate.tables.snapshot import FileSet
from sluicegate.tables.snapshot_index.failures import IndexUnusable
from sluicegate.tables.snapshot_index.index import SnapshotIndex

_DEAD_SCHEMA = pa.schema(
    [
        pa.field("part", pa.int32()),
        pa.field("row", pa.int32()),
        pa.field("size", pa.int64()),
        pa.field("partition_values", pa.string()),
        pa.field("vectors", pa.int64()),
    ]
)
_KEY_COLUMNS = ("path", "size", "partition_values", "deletion_vector")
# More changes than this make an index useless: they are in memory, and each is looked up in the parts.
_MOST_CHANGES = 10_000
_MOST_CHANGED = 0.1  # of the files


@dataclass(frozen=True, slots=True)
class Overlay:
    """The changes since an index was written.

    Attributes:
        added: Files that were added and not removed again.
    """

    keys: pa.Array = field(default_factory=lambda: pa.array([], pa.string()))
    added: FileSet = field(default_factory=lambda: FileSet.of([]))
    dead: pa.Table = field(default_factory=_DEAD_SCHEMA.empty_table)

    def after(self, index: SnapshotIndex, changes: FileChanges) -> Self:
        """The changes including those of further commits. Blocks."""
        new = changes.keys.filter(pc.invert(pc.is_in(changes.keys, value_set=self.keys)))
        keys = pa.concat_arrays([self.keys, new])
        if len(keys) > max(_MOST_CHANGES, _MOST_CHANGED * index.manifest.files):
            raise IndexUnusable(
                f"{len(keys)} files were added or removed since it was written: build it again"
            )
        dead = _dead_rows(index, replace(changes, keys=new))
        return replace(
            self,
            keys=keys,
            added=apply(self.added, changes),
            dead=pa.concat_tables([self.dead, dead]).combine_chunks(),
        )

    def live(self, part: int, rows: int) -> pa.BooleanArray | None:
        """Which rows of a part are live. `None` if all of them are."""
        dead = self.dead.column("row").filter(pc.equal(self.dead.column("part"), part))
        if not len(dead):
            return None
        every = pa.array(range(rows), pa.int32())
        return pc.invert(pc.is_in(every, value_set=dead.combine_chunks()))


def key_digests(keys: Iterable[str]) -> list[int]:
    """Digests of keys, which lookups contain. Different keys can have the same."""
    return [
        int.from_bytes(hashlib.blake2b(key.encode(), digest_size=8).digest(), "big", signed=True)
        for key in keys
    ]


def _dead_rows(index: SnapshotIndex, changes: FileChanges) -> pa.Table:
    """Rows of the index that the changes remove or replace."""
    found = [_DEAD_SCHEMA.empty_table()]
    for part in index.files_with(sorted(key_digests(changes.keys.to_pylist()))):
        row = 0
        for batch in index.part(part).batches(_KEY_COLUMNS):
            mask = touched_rows(with_plain_paths(batch), changes)
            if mask is not None and mask.true_count:
                rows = pc.add(pc.cast(pc.indices_nonzero(mask), pa.int32()), row)
                found.append(_dead(part, rows, batch.filter(mask)))
            row += batch.num_rows
    return pa.concat_tables(found)


def with_plain_paths(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch with paths that are not a dictionary, as `touched_rows` needs them."""
    at = batch.schema.get_field_index("path")
    return batch.set_column(at, "path", batch.column(at).cast(pa.string()))


def _dead(part: int, rows: pa.Array, files: pa.RecordBatch) -> pa.Table:
    columns = [
        pa.repeat(pa.scalar(part, pa.int32()), len(rows)),
        rows,
        files.column("size"),
        files.column("partition_values").cast(pa.string()),
        files.column("deletion_vector").is_valid().cast(pa.int64()),
    ]
    return pa.Table.from_arrays(columns, schema=_DEAD_SCHEMA)
