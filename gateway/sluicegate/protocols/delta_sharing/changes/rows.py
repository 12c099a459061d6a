"""Rows of changed files before encoding: limited to shared partitions and to the page size."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from sluicegate.protocols.delta_sharing.encoding.ndjson import VersionStamp, travelled
from sluicegate.tables.changes import CHANGE_SCHEMA, Commit
from sluicegate.tables.partitions import PartitionValues, partition_mask


@dataclass(frozen=True, slots=True)
class SharedRows:
    """File actions of one commit that a recipient can see.

    Attributes:
        files: Rows of `CHANGE_SCHEMA`.
        first: Number of shared file actions of the commit before these. Hidden ones do not count,
            because page tokens contain this number and recipients can read them.
    """

    files: pa.RecordBatch
    first: int

    @classmethod
    def of(
        cls, files: pa.RecordBatch, shared: Callable[[PartitionValues], bool] | None, first: int
    ) -> SharedRows:
        """The rows of the shared partitions, without the first ones of them."""
        if shared is not None:
            kept = pc.indices_nonzero(partition_mask(files.column("partition_values"), shared))
            files = files.take(kept)
        return cls(files.slice(first), first)

    def __len__(self) -> int:
        """Number of rows."""
        return int(self.files.num_rows)

    def behind(self, count: int) -> SharedRows:
        """The same without the first rows."""
        return SharedRows(self.files.slice(count), self.first + count)

    def together(self, wanted: int) -> int:
        """How many rows to take if `wanted` are requested, so that rows of one path stay together.

        The result is less than `wanted`, or all rows of the first path if these are more.
        """
        if wanted >= len(self):
            return len(self)
        paths = self.files.column("path")
        cut = wanted
        while cut and paths[cut - 1] == paths[cut]:
            cut -= 1
        if cut:
            return cut
        cut = wanted
        while cut < len(self) and paths[cut] == paths[0]:
            cut += 1
        return cut


class RowGroup:
    """Rows of several commits that are signed and encoded together.

    Attributes:
        at: For each row, the JSON members with its version.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._batches: list[pa.RecordBatch] = []
        self.at: list[str] = []

    @property
    def room(self) -> int:
        """How many more rows fit."""
        return self._size - len(self.at)

    def add(self, commit: Commit, rows: pa.RecordBatch) -> None:
        """Append rows of a commit."""
        self._batches.append(rows)
        self.at += [travelled(VersionStamp(commit.version, commit.timestamp))] * rows.num_rows

    def table(self) -> pa.Table:
        """All rows of `CHANGE_SCHEMA`, in one chunk."""
        return pa.Table.from_batches(self._batches, schema=CHANGE_SCHEMA).combine_chunks()
