"""An opened index: its summary in memory, its parts on demand."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

import pyarrow as pa
import pyarrow.compute as pc

from sluicegate.tables.predicates.bounds import Bounds
from sluicegate.tables.predicates.columns import TableColumn
from sluicegate.tables.snapshot_index.failures import IndexUnusable
from sluicegate.tables.snapshot_index.folder import IndexFolder, decoded
from sluicegate.tables.snapshot_index.layout import LOOKUP_SCHEMA, PARTITION_SCHEMA, IndexedColumns
from sluicegate.tables.snapshot_index.manifest import FileRef, LookupRef, Manifest

_VALUES = PARTITION_SCHEMA.get_field_index("partition_values")


@dataclass(frozen=True, slots=True)
class PartFile:
    """The content of a part, of which columns are decoded as they are needed."""

    content: bytes = field(repr=False)
    schema: pa.Schema
    what: str

    def batches(self, names: Collection[str]) -> Iterator[pa.RecordBatch]:
        """Batches of some columns, in the order of the schema. Texts are dictionaries."""
        wanted = pa.schema([each for each in self.schema if each.name in names])
        return decoded(self.content, wanted, self.what)


@dataclass(frozen=True, slots=True)
class SnapshotIndex:
    """An index of one version.

    Attributes:
        sort_column: The data column by which the files of a partition are sorted.
    """

    folder: IndexFolder
    manifest: Manifest
    columns: IndexedColumns
    sort_column: TableColumn | None
    summary: pa.RecordBatch
    bounds: Mapping[TableColumn, Bounds]
    partitions: pa.Table

    @classmethod
    def open(cls, folder: IndexFolder, manifest: Manifest) -> Self:
        """Read what is needed to find parts. Blocks."""
        columns = IndexedColumns.of(manifest.metadata)
        sort_column = columns.data_column(manifest.sorted_by)
        schema = columns.summary_schema(sort_column)
        summary = _one_batch(folder, manifest, manifest.summary, schema)
        bounds = dict(zip(columns.all, columns.bounds_in(summary, columns.all), strict=True))
        partitions = _table(folder, manifest, manifest.partitions, PARTITION_SCHEMA)
        if pc.sum(summary.column("rows")).as_py() not in (manifest.files, None):
            raise IndexUnusable("its parts have other files than the manifest")
        return cls(folder, manifest, columns, sort_column, summary, bounds, partitions)

    def __len__(self) -> int:
        """Number of parts."""
        return int(self.summary.num_rows)

    @property
    def nbytes(self) -> int:
        """Bytes of memory of the summary and the partitions."""
        return int(self.summary.nbytes + self.partitions.nbytes)

    @property
    def partition_values(self) -> pa.DictionaryArray:
        """The partition of each row of `partitions`."""
        return self.partitions.column(_VALUES).combine_chunks()

    def rows(self, part: int) -> int:
        """Number of files in a part."""
        return int(self.summary.column("rows")[part].as_py())

    def file_of(self, part: int) -> FileRef:
        """The file of a part."""
        digest, size = self.summary.column("digest")[part], self.summary.column("bytes")[part]
        return FileRef(digest.as_py(), size.as_py())

    def part(self, number: int) -> PartFile:
        """Fetch a part. Blocks."""
        content = self.folder.read(self.manifest.table, self.file_of(number))
        return PartFile(content, self.columns.part_schema(), f"part {number} of the index")

    def files_with(self, keys: Sequence[int]) -> Mapping[int, int]:
        """How many files with these key digests each part can contain, by ascending part. Blocks."""
        wanted, found = pa.array(keys, pa.int64()), Counter[int]()
        for lookup in self.manifest.lookups:
            at = bisect_left(keys, lookup.first)
            if at < len(keys) and keys[at] <= lookup.last:
                for batch in self.lookup(lookup):
                    mask = pc.is_in(batch.column("key"), value_set=wanted)
                    found.update(batch.column("part").filter(mask).to_pylist())
        return dict(sorted(found.items()))

    def lookup(self, file: LookupRef) -> Iterator[pa.RecordBatch]:
        """Batches of `LOOKUP_SCHEMA`, in the order of keys; raises as `files_with` does. Blocks."""
        content = self.folder.read(self.manifest.table, file.file)
        return decoded(content, LOOKUP_SCHEMA, "a lookup of the index")


def _table(folder: IndexFolder, manifest: Manifest, file: FileRef, schema: pa.Schema) -> pa.Table:
    batches = list(decoded(folder.read(manifest.table, file), schema, "a file of the index"))
    if not batches:
        types = [pa.dictionary(pa.int32(), each) if pa.types.is_string(each) else each
                 for each in schema.types]  # fmt: skip
        return pa.schema(list(zip(schema.names, types, strict=True))).empty_table()
    return pa.Table.from_batches(batches).unify_dictionaries().combine_chunks()


def _one_batch(
    folder: IndexFolder, manifest: Manifest, file: FileRef, schema: pa.Schema
) -> pa.RecordBatch:
    table = _table(folder, manifest, file, schema)
    return pa.RecordBatch.from_arrays(
        [column.combine_chunks() for column in table.columns], names=schema.names
    )
