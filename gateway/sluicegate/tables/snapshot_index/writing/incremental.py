"""Applies later commits to an index: only the parts that change are written again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from sluicegate.api.models import CatalogTable
from sluicegate.tables.delta.log import LaterVersion
from sluicegate.tables.delta.log_files.commits import damaged
from sluicegate.tables.delta.replay import FileChanges, reconcile, touched_rows
from sluicegate.tables.snapshot_index.index import SnapshotIndex
from sluicegate.tables.snapshot_index.layout import PART_ROWS, IndexedColumns
from sluicegate.tables.snapshot_index.overlay import key_digests, with_plain_paths
from sluicegate.tables.snapshot_index.writing.index_writer import IndexWriter, WrittenIndex, nothing
from sluicegate.tables.snapshot_index.writing.order import Placement
from sluicegate.tables.snapshot_index.writing.spilling import with_bounds

# A part that changes is joined with the next one if it has fewer files than this share of a full one.
_LEAST_FILLED = 4


class FullBuildNeeded(Exception):
    """Later commits cannot be applied to an index. The message says why."""


def write_later_index(
    index: SnapshotIndex,
    table: CatalogTable,
    later: LaterVersion,
    part_rows: int = PART_ROWS,
    check: Callable[[], None] = nothing,
) -> WrittenIndex:
    """Write the index of a later version. Parts that do not change are kept. Blocks.

    The later commits are in memory, and a few parts at a time. In addition, each file of a part that is
    written takes 12 bytes.
    """
    if IndexedColumns.of(later.metadata) != index.columns:
        raise FullBuildNeeded("the columns with bounds are different ones since then")
    if not len(index):
        raise FullBuildNeeded("the table had no files")
    with damaged("the Delta log"):
        changes = reconcile(later.commits)
    writer = IndexWriter(index.folder, table, index.columns, index.sort_column, check)
    merge = _Merge.of(index, changes)
    for group in _groups(merge.parts(), part_rows // _LEAST_FILLED):
        if any(part.is_changed for part in group):
            for rows in _pieces(merge.rows([part.number for part in group]), part_rows):
                writer.add(rows)
        else:
            for part in group:
                writer.keep(index, part.number)
    return writer.finish(later, index)


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of the previous index, and how many files it has after the changes."""

    number: int
    files: int
    is_changed: bool


@dataclass(frozen=True, slots=True)
class _Merge:
    """The files of an index and of later commits.

    Attributes:
        added: Added files with their bounds, sorted.
    """

    index: SnapshotIndex
    changes: FileChanges
    placement: Placement
    removed: Mapping[int, int]
    added: pa.Table
    ranges: Mapping[int, tuple[int, int]]

    @classmethod
    def of(cls, index: SnapshotIndex, changes: FileChanges) -> _Merge:
        """Find out which parts change, without reading them."""
        schema = index.columns.part_schema()
        batches = [
            with_bounds(pa.Table.from_batches([batch]), index.columns) for batch in changes.files
        ]
        added = pa.Table.from_batches(batches, schema=schema)
        placement = Placement.of(index, added)
        added = placement.sorted(added)
        removed = index.files_with(sorted(key_digests(changes.keys.to_pylist())))
        ranges = _ranges(placement.parts_of(added))
        return cls(index, changes, placement, removed, added, ranges)

    def parts(self) -> Iterator[_Part]:
        """All parts of the index."""
        for number in range(len(self.index)):
            removed = self.removed.get(number, 0)
            _, added = self.ranges.get(number, (0, 0))
            files = self.index.rows(number) - removed + added
            yield _Part(number, files, removed > 0 or added > 0)

    def rows(self, parts: Sequence[int]) -> pa.Table:
        """The live files of some parts, sorted."""
        found = [self.added.slice(0, 0)]
        for part in parts:
            found.append(self._left(part))
            found.append(self.added.slice(*self.ranges.get(part, (0, 0))))
        return self.placement.sorted(pa.concat_tables(found))

    def _left(self, number: int) -> pa.Table:
        """The files of a part that are not removed."""
        schema, batches = self.index.columns.part_schema(), []
        for batch in self.index.part(number).batches(schema.names):
            dead = touched_rows(with_plain_paths(batch), self.changes)
            batches.append(batch if dead is None else batch.filter(pc.invert(dead)))
        return pa.Table.from_batches(batches).cast(schema)


def _ranges(parts: pa.Array) -> Mapping[int, tuple[int, int]]:
    """Where each value of a sorted array begins, and how often it occurs."""
    counts, start = pc.value_counts(parts).to_pylist(), 0
    found = {}
    for each in counts:
        found[each["values"]] = start, each["counts"]
        start += each["counts"]
    return found


def _groups(parts: Iterator[_Part], least: int) -> Iterator[list[_Part]]:
    """Parts that are written or kept together: changed ones with few files are joined with others."""
    before: list[_Part] = []
    group: list[_Part] = []
    for part in parts:
        group.append(part)
        files = sum(each.files for each in group)
        if not group[0].is_changed or not 0 < files < least:
            yield before
            before, group = group, []
    yield before + group


def _pieces(rows: pa.Table, most: int) -> Iterator[pa.Table]:
    """As few tables of about the same length as possible."""
    number = -(-rows.num_rows // most)
    for piece in range(number):
        start = rows.num_rows * piece // number
        yield rows.slice(start, rows.num_rows * (piece + 1) // number - start)
