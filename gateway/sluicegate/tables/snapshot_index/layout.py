"""The columns of an index's files.

An index consists of parts, which contain the files of a table, of one summary with a row for each part,
of one list of partitions, and of lookups by key. All of them are Parquet files with one row group.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import orjson
import pyarrow as pa

from sluicegate.tables.predicates.bounds import Bounds
from sluicegate.tables.predicates.columns import Family, TableColumn, find_column
from sluicegate.tables.snapshot import FILE_SCHEMA, TableMetadata

FORMAT = 2
"""Increased when a gateway can no longer read what an earlier one wrote."""
PART_ROWS = 16 * 1024
LOOKUP_ROWS = 128 * 1024

# As many columns as most predicates use. Each takes about 16 bytes for each file.
_MOST_DATA_COLUMNS = 16

FILE_COLUMNS = pa.schema(
    [
        field.with_type(pa.string()) if pa.types.is_dictionary(field.type) else field
        for field in FILE_SCHEMA
    ]
)
"""The columns of `FILE_SCHEMA`, as parts contain them."""

PARTITION_SCHEMA = pa.schema(
    [
        pa.field("partition_values", pa.string(), nullable=False),
        pa.field("part", pa.int32(), nullable=False),
        pa.field("files", pa.int64(), nullable=False),
        pa.field("size", pa.int64(), nullable=False),
        pa.field("vectors", pa.int64(), nullable=False),
    ]
)
"""Files, their bytes, and their deletion vectors, for each partition of each part."""

LOOKUP_SCHEMA = pa.schema(
    [pa.field("key", pa.int64(), nullable=False), pa.field("part", pa.int32(), nullable=False)]
)
"""The part of each file, by the digest of its key, in the order of digests."""

_PART_FIELDS = [
    pa.field("digest", pa.string(), nullable=False),
    pa.field("bytes", pa.int64(), nullable=False),
    pa.field("rows", pa.int32(), nullable=False),
    pa.field("first_partition", pa.string(), nullable=False),
]
FIRST_LOW = "first_low"
"""The summary's column with the lowest value in the first file of each part, of the sort column."""


@dataclass(frozen=True, slots=True)
class IndexedColumns:
    """The columns of a table whose bounds an index contains."""

    partitions: tuple[TableColumn, ...]
    data: tuple[TableColumn, ...]

    @classmethod
    def of(cls, metadata: TableMetadata) -> Self:
        """The partition columns, and the first data columns that can be compared."""
        names = [field["name"] for field in orjson.loads(metadata.schema_string)["fields"]]
        found = [column for name in names if (column := find_column(metadata, (name,))) is not None]
        compared = [column for column in found if column.type.family is not Family.OTHER]
        data = [column for column in compared if not column.is_partition]
        return cls(
            tuple(column for column in compared if column.is_partition),
            tuple(data[:_MOST_DATA_COLUMNS]),
        )

    def data_column(self, path: Sequence[str] | None) -> TableColumn | None:
        """The data column with a path. `None` if it has no bounds, or if the path is `None`."""
        return next((each for each in self.data if each.path == path), None)

    @property
    def all(self) -> tuple[TableColumn, ...]:
        """Partition columns and data columns. Their positions are part of the names of their bounds."""
        return self.partitions + self.data

    def part_schema(self) -> pa.Schema:
        """The columns of a part."""
        return pa.schema([*FILE_COLUMNS, *self.bounds_fields(self.data)])

    def summary_schema(self, sort_column: TableColumn | None) -> pa.Schema:
        """The columns of the summary: where each part is, and the bounds of all of its files."""
        first = [] if sort_column is None else [pa.field(FIRST_LOW, sort_column.type.domain)]
        return pa.schema([*_PART_FIELDS, *first, *self.bounds_fields(self.all)])

    def bounds_fields(self, columns: Sequence[TableColumn]) -> list[pa.Field]:
        """The fields that contain the bounds of some of the columns, four for each of them."""
        return [field for column in columns for field in self._fields(column)]

    def bounds_in(self, batch: pa.RecordBatch, columns: Sequence[TableColumn]) -> list[Bounds]:
        """The bounds of some of the columns in a batch that contains their fields."""
        return [
            Bounds.of_columns(column, *(batch.column(field.name) for field in self._fields(column)))
            for column in columns
        ]

    def arrays_of(self, bounds: Sequence[Bounds]) -> list[pa.Array]:
        """The columns of `bounds_fields`."""
        return [array for each in bounds for array in _arrays(each)]

    def _fields(self, column: TableColumn) -> Iterator[pa.Field]:
        number, domain = self.all.index(column), column.type.domain
        yield pa.field(f"low_{number}", domain)
        yield pa.field(f"high_{number}", domain)
        yield pa.field(f"has_null_{number}", pa.bool_())
        yield pa.field(f"has_value_{number}", pa.bool_())


def _arrays(bounds: Bounds) -> tuple[pa.Array, ...]:
    return bounds.low, bounds.high, bounds.has_null, bounds.has_value
