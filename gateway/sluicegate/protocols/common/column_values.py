"""Values of Arrow columns as Python lists.

`to_pylist` creates an Arrow scalar for every value, which would cost a query more than its signatures.
These functions read the columns' buffers if there are no nulls (Arrow columnar format, "Fixed-size
Primitive Layout" and "Variable-size Binary Layout").
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import pyarrow as pa


def texts(column: pa.ChunkedArray) -> list[Any]:
    """Same result as `to_pylist` for a column of `string`, or of a dictionary of strings."""
    chunks = column.chunks
    if pa.types.is_dictionary(column.type):
        chunks = [chunk.dictionary_decode() for chunk in chunks]
    return _each_chunk(chunks, _texts)


def encoded_texts(column: pa.ChunkedArray) -> list[bytes]:
    """The UTF-8 form of the values of a `string` column without nulls."""
    return _each_chunk(column.chunks, _encoded)


def integers(column: pa.ChunkedArray) -> list[Any]:
    """Same result as `to_pylist` for a column of `int64`."""
    return _each_chunk(column.chunks, _integers)


def _each_chunk(chunks: Sequence[pa.Array], read: Callable[[pa.Array], list[Any]]) -> list[Any]:
    values: list[Any] = []
    for chunk in chunks:
        if len(chunk):  # without rows, there might be no buffers
            values += chunk.to_pylist() if chunk.null_count else read(chunk)
    return values


def _integers(chunk: pa.Array) -> list[Any]:
    values = memoryview(chunk.buffers()[1]).cast("q")
    return values[chunk.offset : chunk.offset + len(chunk)].tolist()


def _encoded(chunk: pa.Array) -> list[Any]:
    _, offsets, data = chunk.buffers()
    ends = memoryview(offsets).cast("i")[chunk.offset : chunk.offset + len(chunk) + 1].tolist()
    start = ends[0]
    content = bytes(memoryview(data or b"")[start : ends[-1]])
    return [content[begin - start : end - start] for begin, end in pairwise(ends)]


def _texts(chunk: pa.Array) -> list[Any]:
    _, offsets, data = chunk.buffers()
    ends = memoryview(offsets).cast("i")[chunk.offset : chunk.offset + len(chunk) + 1].tolist()
    start = ends[0]
    text = str(memoryview(data or b"")[start : ends[-1]], "utf-8")
    if len(text) < ends[-1] - start:  # not ASCII: the text has fewer characters than bytes
        return list(chunk.to_pylist())
    if start:
        ends = [end - start for end in ends]
    return [text[begin:end] for begin, end in pairwise(ends)]
