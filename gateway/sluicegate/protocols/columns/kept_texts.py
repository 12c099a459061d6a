"""Encoded texts of files that are the same in each response about a version."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from itertools import chain, compress

import pyarrow as pa

from sluicegate.tables.reading.encoded_blocks import ChunkBlocks, EncodedBlocks
from sluicegate.tables.snapshot import FileBlock, FileChunk

# All rows of a block are unpacked, and encoded if necessary, for those that are live. If fewer of them
# are, encoding only these takes less time.
_LIVE_TO_UNPACK = 1 / 8
_LIVE_TO_ENCODE = 1 / 2

Encode = Callable[[pa.Table], Sequence[Sequence[bytes]] | None]


class KeptTexts:
    """The texts of one response, which are kept for further ones.

    Args:
        kept: Keeps them.
        encoding: Identifies all that `encode` depends on, besides the files.
        encode: Returns columns of texts of files (rows of `FILE_SCHEMA`), or `None` if they are not the
            same in each response.
        ignores_vectors: Whether the texts are the same for files with and without deletion vectors.
            Tables can get vectors in a version whose chunks share everything else with those of an
            earlier one.
    """

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
