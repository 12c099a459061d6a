"""Selects files of an index: parts that can match, and of these the rows that can match."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from sluicegate.tables.predicates.bounds import Bounds
from sluicegate.tables.predicates.columns import TableColumn
from sluicegate.tables.predicates.hints import Predicate
from sluicegate.tables.predicates.pruning import affordable_conditions, prune, still_wanted
from sluicegate.tables.predicates.truth import Evidence, Truth
from sluicegate.tables.snapshot import FileSet, TableMetadata
from sluicegate.tables.snapshot_index.failures import IndexUnsuitable
from sluicegate.tables.snapshot_index.files import IndexedFiles
from sluicegate.tables.snapshot_index.index import SnapshotIndex
from sluicegate.tables.snapshot_index.part_reader import PartReader

# Files that a selection keeps in memory, of 160 to 300 bytes each. Others are read again when they are
# encoded.
MOST_KEPT = 100_000


@dataclass(frozen=True, slots=True)
class SelectedPart:
    """Files of a part; `files` contains them if they are kept in memory."""

    number: int
    files: FileSet | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class SelectedFiles:
    """Files of an index that a request needs, and files that were added since.

    Attributes:
        size: Bytes of the data files.
    """

    reader: PartReader
    parts: Sequence[SelectedPart]
    added: FileSet
    count: int
    size: int

    def __len__(self) -> int:
        """Number of files."""
        return self.count

    def batches(self, rows: int, first: int | None = None) -> Iterator[pa.Table]:
        """Like `FileSet.batches`, with one part in memory at a time. Blocks."""
        for files in self._sets():
            for batch in files.batches(rows, first):
                first = None
                yield batch

    def loaded(self) -> FileSet:
        """All files in memory. Blocks; raises as `batches` does."""
        chunks, masks = [], [pa.array([], pa.bool_())]
        for files in self._sets():
            for chunk, live in files.chunks():
                chunks.append(chunk)
                masks.append(pa.repeat(True, len(chunk)) if live is None else live)
        return FileSet.of(chunks, pa.concat_arrays(masks))

    def _sets(self) -> Iterator[FileSet]:
        for part in self.parts:
            yield self.reader.files(part.number) if part.files is None else part.files
        yield self.added


def select_files(
    files: IndexedFiles, metadata: TableMetadata, predicate: Predicate | None
) -> SelectedFiles:
    """The files that can contain a row for which a predicate is true. Blocks.

    These are the files that `prune` leaves of all files. Terms that `prune` omits, because they would
    be compared with too many files, are evaluated if few parts are left.
    """
    if predicate is None:
        parts = [SelectedPart(number) for number in files.parts]
        return SelectedFiles(PartReader(files), parts, files.added, len(files), files.size)
    return _selected(files, metadata, predicate)


def load_files(files: IndexedFiles, metadata: TableMetadata, predicate: Predicate | None) -> FileSet:
    """The files that `select_files` selects, in memory. Blocks."""
    if predicate is not None:
        return _selected(files, metadata, predicate, most=MOST_KEPT).loaded()
    _check_number(len(files), MOST_KEPT)
    return select_files(files, metadata, None).loaded()


def parts_left(files: IndexedFiles, metadata: TableMetadata, predicate: Predicate) -> list[int]:
    """The parts that can contain a file that can match, without reading them."""
    index = files.index
    conditions = affordable_conditions(len(index), metadata, predicate)
    left = still_wanted(pa.repeat(True, len(index)), conditions, _PartsEvidence(index))
    wanted = set(pc.indices_nonzero(left).to_pylist())
    return [part for part in files.parts if part in wanted]


class _PartsEvidence(Evidence):
    """The bounds of all files of each part. A part has many rows, as a file has."""

    def __init__(self, index: SnapshotIndex) -> None:
        self._index = index

    def truth(self, column: TableColumn, test: Callable[[Bounds], Truth]) -> Truth:
        """The result of a test of a column's values, for each part."""
        bounds = self._index.bounds.get(column)
        return test(Bounds.unknown(column, len(self._index)) if bounds is None else bounds)


def _selected(
    files: IndexedFiles, metadata: TableMetadata, predicate: Predicate, most: int | None = None
) -> SelectedFiles:
    """Count the selected files, and keep as many of them as memory allows."""
    numbers = parts_left(files, metadata, predicate)
    rows = sum(map(files.index.rows, numbers))
    reader = PartReader(files, affordable_conditions(rows, metadata, predicate))
    added = prune(files.added, metadata, predicate) if len(files.added) else files.added
    parts: list[SelectedPart] = []
    count, size, kept = len(added), added.size, 0
    _check_number(count, most)
    for number in numbers:
        found = reader.totals(number)
        if found.files:
            keep = kept + found.files <= MOST_KEPT
            kept += found.files if keep else 0
            parts.append(SelectedPart(number, reader.files(number) if keep else None))
            count, size = count + found.files, size + found.size
            _check_number(count, most)
    return SelectedFiles(reader, parts, added, count, size)


def _check_number(files: int, most: int | None) -> None:
    if most is not None and files > most:
        raise IndexUnsuitable(f"more than {most} files are needed in memory")
