"""Footers of Parquet files as the gateway reads them, beside what Arrow says of them."""

from __future__ import annotations

from io import BytesIO

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.tables.parquet_footers import contradicted

from sluicegate.api.budget import Budget
from sluicegate.api.errors import SluicegateError
from sluicegate.formats import parquet_batches
from sluicegate.tables.parquet.decoding import ParquetBytes
from sluicegate.tables.parquet.footer import Footer
from sluicegate.tables.parquet.thrift import I16, I32, I64, STRUCT, ThriftReader

_TABLE = pa.table(
    {
        "n": pa.array([{"a": "x", "b": [1]}, {"a": None, "b": None}, {"a": "z", "b": [2, 3]}]),
        "t": pa.array(["a", "b", "c"]),
    }
)


def _written(table: pa.Table = _TABLE, **options: str | bool) -> bytes:
    file = BytesIO()
    pq.write_table(table, file, row_group_size=2, **options)
    return file.getvalue()


def _footer(data: bytes) -> Footer:
    return ParquetBytes.of(memoryview(data)).footer("a file", Budget())


@pytest.mark.parametrize("dictionary", [True, False])
@pytest.mark.parametrize("codec", ["none", "snappy", "gzip", "brotli", "zstd", "lz4"])
def test_column_chunks_are_those_that_arrow_reads(codec: str, dictionary: bool) -> None:
    data = _written(compression=codec, use_dictionary=dictionary)
    known = pq.read_metadata(BytesIO(data))
    for group in range(known.num_row_groups):
        chunks = _footer(data).chunks(group, range(known.num_columns))
        for number, chunk in enumerate(chunks):
            column = known.row_group(group).column(number)
            start = column.dictionary_page_offset if dictionary else column.data_page_offset
            assert (chunk.start, chunk.end) == (start, start + column.total_compressed_size)
            assert (chunk.values, chunk.nulls) == (column.num_values, column.statistics.null_count)
    (texts,) = _footer(data).chunks(0, [2])
    assert texts.bounds == (b"a", b"b")


def test_a_column_that_is_missing_is_damage() -> None:
    with pytest.raises(ValueError, match="lacks columns"):
        _footer(_written()).chunks(0, [3])


def test_statistics_that_contradict_the_schema_are_damage_at_the_most() -> None:
    schema = pa.schema({"t": pa.string()})
    data = contradicted(_written(pa.table({"t": ["a", "b", "c"], "l": [[1], [2], [3]]})))
    try:
        batches = list(parquet_batches(data, schema, "a file", Budget(), ("t", "a")))
    except (ValueError, OSError, SluicegateError):
        return
    assert pa.Table.from_batches(batches).column("t").to_pylist() == ["a", "b"]


@pytest.mark.parametrize(
    ("kind", "data"),
    [(I16, b"\x80\x80\x04"), (I32, b"\x8e\x80\x80\x80\x10"), (I64, b"\x82" + b"\x80" * 8 + b"\x02")],
)
def test_integers_that_others_would_cut_off_are_refused(kind: int, data: bytes) -> None:
    with pytest.raises(ValueError, match="more bits"):
        ThriftReader(memoryview(data)).integer(kind)


def test_a_field_that_comes_twice_is_refused() -> None:
    reader = ThriftReader(memoryview(b"\x15\x02\x05\x02\x04\x00"))
    with pytest.raises(ValueError, match="twice"):
        reader.skip(STRUCT)


@pytest.mark.parametrize(
    "header",
    [b"\xf1" * 3000, b"\x01\xfe\xff\x03\x11", b"\x01\x01"],
    ids=["steps", "one more", "negative"],
)
def test_field_numbers_have_16_bits(header: bytes) -> None:
    with pytest.raises(ValueError, match="number"):
        ThriftReader(memoryview(header)).skip(STRUCT)


@pytest.mark.parametrize(
    "elements",
    [b"\xfc\xd0\x86\x03" + b"\0" * 50_000, b"\xf9\xd0\x86\x03" + b"\x0c" * 50_000],
    ids=["structs", "lists"],
)
def test_parsing_ends_soon_after_its_time(elements: bytes) -> None:
    """However values are nested, the time is checked every few thousand bytes."""

    def pause() -> None:
        if reader.position:
            raise TimeoutError

    reader = ThriftReader(memoryview(b"\x1c" * 3 + b"\x19" + elements), 0, pause)
    with pytest.raises(TimeoutError):
        reader.skip(STRUCT)
    assert reader.position < 10_000
