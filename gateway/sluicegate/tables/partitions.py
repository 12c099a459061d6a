"""Selects files by partition: decided once for each distinct partition, not per file."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import orjson
import pyarrow as pa
import pyarrow.compute as pc

from sluicegate._util.lru import cached_by_text
from sluicegate.tables.column_mapping import PHYSICAL_NAME, is_mapped
from sluicegate.tables.snapshot import FileSet, TableMetadata

PartitionValues = Mapping[str, str | None]


def in_partitions(files: FileSet, wanted: Callable[[PartitionValues], bool]) -> FileSet:
    """The files whose partition satisfies a condition.

    Args:
        files: Live files.
        wanted: Called with the partition values as in the log: by physical column name, as text.
    """
    chunks = files.table.column("partition_values").chunks
    masks = [partition_mask(chunk, wanted) for chunk in chunks]
    return files.where(pa.chunked_array(masks, pa.bool_()).combine_chunks())


def partition_count(files: FileSet) -> int:
    """The number of partitions that `in_partitions` decides: the distinct ones of each chunk."""
    return sum(len(chunk.dictionary) for chunk in files.table.column("partition_values").chunks)


def partition_texts(files: FileSet) -> set[str]:
    """The texts of the partitions that have live files."""
    found, start = set[str](), 0
    for chunk in files.table.column("partition_values").chunks:
        live = chunk if files.live is None else chunk.filter(files.live.slice(start, len(chunk)))
        found.update(live.unique().to_pylist())
        start += len(chunk)
    return found


def partition_mask(
    values: pa.DictionaryArray, wanted: Callable[[PartitionValues], bool]
) -> pa.BooleanArray:
    """Which of a column of partition values satisfy a condition. Nulls do not."""
    verdicts = [wanted(orjson.loads(text)) for text in values.dictionary.to_pylist()]
    return pc.fill_null(pa.array(verdicts, pa.bool_()).take(values.indices), False)


def partition_key(metadata: TableMetadata, column: str) -> str | None:
    """The key of a column in partition values: its physical name if columns are mapped.

    Args:
        metadata: The table's metadata.
        column: A column's name, which is case-insensitive as everywhere in Delta.

    Returns:
        `None` if the table is not partitioned by such a column.
    """
    names = {name.casefold(): name for name in metadata.partition_columns}
    name = names.get(column.casefold())
    if name is None or not is_mapped(metadata):
        return name
    return _physical_names(metadata.schema_string).get(name, name)


def answered_partitions(files: pa.Table, metadata: TableMetadata) -> pa.Table:
    """The files with the partition values that responses of Delta Sharing have.

    Args:
        files: Rows with the column `partition_values`.
        metadata: Metadata of one of their versions. Those of Iceberg tables have no partition columns.
    """
    return files if metadata.iceberg is None else without_partitions(files)


def without_partitions(files: pa.Table) -> pa.Table:
    """Files as those of a table that has no partition columns.

    Args:
        files: Rows with the column `partition_values`.
    """
    place = files.column_names.index("partition_values")
    none = pa.DictionaryArray.from_arrays(pa.repeat(pa.scalar(0, pa.int32()), len(files)), ["{}"])
    return files.set_column(place, files.schema.field(place), pa.chunked_array([none]))


@cached_by_text
def _physical_names(schema_string: str) -> Mapping[str, str]:
    fields = orjson.loads(schema_string)["fields"]
    return {
        field["name"]: field.get("metadata", {}).get(PHYSICAL_NAME, field["name"]) for field in fields
    }
