"""Decodes Parquet files with a table's metadata within the budget of a read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from sluicegate.api.budget import Budget
from sluicegate.tables.parquet.decoding import ParquetBytes, columns_in, decoded
from sluicegate.tables.parquet.footer import ColumnChunk


def parquet_batches(
    data: bytes,
    schema: pa.Schema,
    what: str,
    budget: Budget,
    holding: tuple[str, str] | None = None,
) -> Iterator[pa.RecordBatch]:
    """Batches of some columns of a Parquet file. Bytes are counted before and during decoding.

    Args:
        data: The file.
        schema: The columns and their types. Text columns are returned as dictionaries.
        what: Description of the file for users.
        budget: Counts the bytes.
        holding: A column and a text in it. Row groups whose statistics exclude the text are not
            decoded.

    Raises:
        TableTooLarge: It exceeds the budget.
        ValueError: It is damaged, or a column has another type. `IndexError` or an Arrow exception is
            also possible.
    """
    import pyarrow.parquet as pq

    source = ParquetBytes.of(memoryview(data))
    footer = source.footer(what, budget)
    texts = [field.name for field in schema if pa.types.is_string(field.type)]
    parquet = pq.ParquetFile(source.file(), read_dictionary=texts)
    _check_types(parquet.metadata.schema.to_arrow_schema(), schema)
    groups: Sequence[int] = range(parquet.num_row_groups)
    if holding is not None:
        column, text = columns_in(parquet, [holding[0]]), holding[1].encode()
        groups = [
            group
            for group in groups
            if all(_may_hold(each, text) for each in footer.chunks(group, column))
        ]
    yield from decoded(source, footer, parquet, schema.names, what, budget, groups)


def _may_hold(chunk: ColumnChunk, text: bytes) -> bool:
    return chunk.bounds is None or chunk.bounds[0] <= text <= chunk.bounds[1]


def check_parquet_footer(data: bytes, what: str, budget: Budget) -> int:
    """Reject a footer that is unsafe for Arrow, which limits neither memory nor stack for it.

    Args:
        data: The end of a Parquet file, including the entire footer.
        what: Description of the file for users.
        budget: Counts the memory of the decoded footer.

    Returns:
        The bytes that were counted, to subtract after the decoded footer is dropped.

    Raises:
        TableTooLarge: It exceeds the budget.
        ValueError: It is damaged or nested too deeply. `IndexError` is also possible.
    """
    return ParquetBytes.of(memoryview(data)).footer(what, budget).decoded_bytes


def _check_types(found: pa.Schema, wanted: pa.Schema) -> None:
    for field in wanted:
        fields: Sequence[pa.Field] = [each for each in found if each.name == field.name]
        if [each.type for each in fields] != [field.type]:
            raise ValueError(f"column {field.name} is missing or of another type than {field.type}")
