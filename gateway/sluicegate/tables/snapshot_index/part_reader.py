"""Reads rows of an index's parts: live ones, in wanted partitions, that satisfy conditions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from sluicegate.tables.derived_columns import DerivedColumns
from sluicegate.tables.packed import PackedTexts
from sluicegate.tables.partitions import partition_mask
from sluicegate.tables.predicates.conditions import Condition
from sluicegate.tables.predicates.pruning import still_wanted
from sluicegate.tables.predicates.truth import FileEvidence
from sluicegate.tables.snapshot import FILE_SCHEMA, FileChunk, FileSet
from sluicegate.tables.snapshot_index.files import IndexedFiles
from sluicegate.tables.snapshot_index.index import PartFile
from sluicegate.tables.snapshot_index.layout import FILE_COLUMNS

_STATS = "stats"


@dataclass(frozen=True, slots=True)
class PartTotals:
    """The selected files of a part, and the bytes of their data files."""

    files: int
    size: int


@dataclass(frozen=True, slots=True)
class _OpenPart:
    number: int
    file: PartFile
    mask: pa.BooleanArray
    totals: PartTotals


class PartReader:
    """Reads the selected rows of parts. All methods block. Not thread-safe.

    Args:
        conditions: What rows must satisfy, in addition to the wanted partitions.
    """

    def __init__(self, files: IndexedFiles, conditions: Sequence[Condition] = ()) -> None:
        self._files = files
        self._conditions = conditions
        self._columns = {column for each in conditions for column in each.columns}
        data = [column for column in self._columns if not column.is_partition]
        indexed = files.index.columns
        self._known = [column for column in indexed.data if column in data]
        self._names = {"size", "partition_values"}
        self._names |= {each.name for each in indexed.bounds_fields(self._known)}
        if len(self._known) < len(data):
            self._names.add(_STATS)  # for columns whose bounds the index does not contain
        self._last: _OpenPart | None = None

    def totals(self, number: int) -> PartTotals:
        """Count the selected files of a part."""
        return self._open(number).totals

    def files(self, number: int) -> FileSet:
        """The selected files of a part; raises as `totals` does."""
        part = self._open(number)
        chunks, start = [], 0
        for batch in part.file.batches(FILE_COLUMNS.names):
            rows = batch.filter(part.mask.slice(start, len(batch)))
            start += len(batch)
            if rows.num_rows:
                chunks.append(FileChunk.of(_file_rows(rows)))
        return FileSet.of(chunks)

    def _open(self, number: int) -> _OpenPart:
        """Fetch a part, unless it is the last one that was fetched."""
        if self._last is None or self._last.number != number:
            self._last = None
            file = self._files.index.part(number)
            masks, size = [pa.array([], pa.bool_())], 0
            for mask, bytes in self._masks(file, number):
                masks.append(mask)
                size += bytes
            mask = pa.concat_arrays(masks)
            self._last = _OpenPart(number, file, mask, PartTotals(int(mask.true_count), size))
        return self._last

    def _masks(self, file: PartFile, number: int) -> Iterator[tuple[pa.BooleanArray, int]]:
        """Which rows of each batch are selected, and the bytes of their data files."""
        live, start = self._files.overlay.live(number, self._files.index.rows(number)), 0
        for batch in file.batches(self._names):
            mask = pa.repeat(True, len(batch)) if live is None else live.slice(start, len(batch))
            start += len(batch)
            if self._files.wanted is not None:
                verdicts = partition_mask(batch.column("partition_values"), self._files.wanted)
                mask = pc.and_(mask, verdicts)
            if self._conditions:
                mask = still_wanted(mask, self._conditions, self._evidence(batch))
            yield mask, pc.sum(batch.column("size").filter(mask)).as_py() or 0

    def _evidence(self, batch: pa.RecordBatch) -> FileEvidence:
        stats = pa.nulls(len(batch), pa.string())
        if _STATS in self._names:
            stats = batch.column(_STATS).cast(pa.string())
        bounds = self._files.index.columns.bounds_in(batch, self._known)
        known = dict(zip(self._known, bounds, strict=True))
        return FileEvidence(
            FileChunk(batch, PackedTexts(stats)), DerivedColumns(), self._columns, known
        )


def _file_rows(rows: pa.RecordBatch) -> pa.RecordBatch:
    """Rows of `FILE_SCHEMA`. Texts are dictionaries before."""
    columns = [rows.column(each.name).cast(each.type) for each in FILE_SCHEMA]
    return pa.RecordBatch.from_arrays(columns, schema=FILE_SCHEMA)
