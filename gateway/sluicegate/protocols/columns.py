"""Columns of Arrow tables as Python values, and their texts, kept for the next request.

`to_pylist` creates an Arrow scalar for every value, which would cost a query more than its signatures.
These functions read the columns' buffers if there are no nulls (Arrow columnar format, "Fixed-size
Primitive Layout" and "Variable-size Binary Layout").
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from itertools import chain, compress, pairwise
from typing import Any

import pyarrow as pa

from sluicegate.tables.reading.encoded_blocks import ChunkBlocks, EncodedBlocks
from sluicegate.tables.snapshot import FileBlock, FileChunk


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


# All rows of a block are unpacked, and encoded if necessary, for those that are live. If fewer of them
# are, encoding only these takes less time.
_LIVE_TO_UNPACK = 1 / 8
_LIVE_TO_ENCODE = 1 / 2

Encode = Callable[[pa.Table], Sequence[Sequence[bytes]] | None]


class KeptTexts:
    """The texts of one response, which are kept for further ones."""

    def __init__(
        self,
        kept: EncodedBlocks,
        encoding: Hashable,
        encode: Encode,
        *,
        ignores_vectors: bool = False,
    ) -> None:
        self._kept = kept
        self._encoding = encoding
        self._encode = encode
        self._ignores_vectors = ignores_vectors
        self._chunk: FileChunk | None = None
        self._blocks: ChunkBlocks | None = None

    def of(self, block: FileBlock) -> list[Sequence[bytes]] | None:
        """The columns of the live files. `None` if they have to be encoded for this response."""
        if block.has_vectors and not self._ignores_vectors:
            return None
        rows, blocks = block.rows, self._of_chunk(block)
        if len(block) < rows * _LIVE_TO_UNPACK:
            return None
        kept = blocks.get(block.start, rows)
        if kept is None and blocks.wanted and len(block) >= rows * _LIVE_TO_ENCODE:
            kept = self._new(block)
            if kept is not None:
                blocks.keep(block.start, rows, kept)
        if kept is None:
            return None
        columns: list[Sequence[bytes]] = [
            kept[start : start + rows] for start in range(0, len(kept), rows)
        ]
        if block.live is None:
            return columns
        live = block.live.to_pylist()
        return [list(compress(column, live)) for column in columns]

    def _of_chunk(self, block: FileBlock) -> ChunkBlocks:
        if self._blocks is None or self._chunk is not block.chunk:
            self._blocks = self._kept.open(block.chunk.stats, self._encoding)
            self._chunk = block.chunk
        return self._blocks

    def _new(self, block: FileBlock) -> list[bytes] | None:
        columns = self._encode(block.every_file())
        return None if columns is None else [*chain.from_iterable(columns)]
