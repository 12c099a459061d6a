"""The longest text that a dictionary page can repeat, for lengths that are all the same or differ."""

from __future__ import annotations

import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sluicegate.api.budget import Budget
from sluicegate.tables.parquet.decoding import ParquetBytes, chunk_cost

_SAME = [f"day=1/part-{number:05}.parquet" for number in range(500)]
_LONGER_LAST = [*_SAME, "é" * 40]
_LONGER_FIRST = ["x" * 70, *_SAME]


@pytest.mark.parametrize("codec", ["none", "snappy", "zstd"])
@pytest.mark.parametrize(("texts", "longest"), [(_SAME, 24), (_LONGER_LAST, 80), (_LONGER_FIRST, 70)])
def test_the_longest_text_of_a_dictionary(texts: list[str], longest: int, codec: str) -> None:
    sink = io.BytesIO()
    pq.write_table(pa.table({"path": texts}), sink, compression=codec)
    source = ParquetBytes.of(memoryview(sink.getvalue()))
    (chunk,) = source.footer("a checkpoint", Budget()).chunks(0, [0])
    cost = chunk_cost(source.part(chunk.start, chunk.end), chunk.codec, "BYTE_ARRAY", lambda: None)
    assert (cost.longest, cost.values) == (longest, len(texts))
