"""Parquet files that hold a table's metadata, decoded within the budget of a reading."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from sluicegate.budget import Budget
from sluicegate.tables.delta.decoding import ParquetBytes, decoded

if TYPE_CHECKING:
    import pyarrow.parquet as pq


def parquet_batches(
    data: bytes,
    schema: pa.Schema,
    what: str,
    budget: Budget,
    wanted: Callable[[pq.RowGroupMetaData], bool] | None = None,
) -> Iterator[pa.RecordBatch]:
    """Batches of some columns of a Parquet file; bytes are counted before and while it is decoded.

    Args:
        data: The file.
        schema: The columns and their types; those of texts come as dictionaries.
        what: The file, in words for users.
        budget: Counts the bytes.
        wanted: Whether a row group may hold what is looked for; all are read without it.

    Raises:
        TableTooLarge: It exceeds the budget.
        ValueError: It is damaged, or a column is of another type; or `IndexError`, or one of Arrow's.
    """
    import pyarrow.parquet as pq

    source = ParquetBytes.of(memoryview(data))
    source.check_footer(what, budget)
    texts = [field.name for field in schema if pa.types.is_string(field.type)]
    parquet = pq.ParquetFile(source.file(), read_dictionary=texts)
    footer = parquet.metadata
    _check_types(footer.schema.to_arrow_schema(), schema)
    groups = [
        number
        for number in range(footer.num_row_groups)
        if wanted is None or wanted(footer.row_group(number))
    ]
    yield from decoded(source, parquet, schema.names, what, budget, groups)


def check_parquet_footer(data: bytes, what: str, budget: Budget) -> None:
    """Refuse a footer that Arrow should not see: its memory and its stack have no bound.

    Args:
        data: The end of a Parquet file, footer and all.
        what: The file, in words for users.
        budget: Counts what the footer becomes.

    Raises:
        TableTooLarge: It exceeds the budget.
        ValueError: It is damaged or nested too deeply; or `IndexError`.
    """
    ParquetBytes.of(memoryview(data)).check_footer(what, budget)


def _check_types(found: pa.Schema, wanted: pa.Schema) -> None:
    for field in wanted:
        fields: Sequence[pa.Field] = [each for each in found if each.name == field.name]
        if [each.type for each in fields] != [field.type]:
            raise ValueError(f"column {field.name} is missing or of another type than {field.type}")
