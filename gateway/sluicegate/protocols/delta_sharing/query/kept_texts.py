"""The texts of lines that are the same in each response about a version."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain, compress

import pyarrow as pa

from sluicegate.api import quote_keys
from sluicegate.protocols.common.column_values import texts
from sluicegate.protocols.delta_sharing.view import View
from sluicegate.protocols.presigning.signer import is_scattered
from sluicegate.tables.column_mapping import mapping_mode
from sluicegate.tables.reading.encoded_blocks import ChunkBlocks, EncodedBlocks
from sluicegate.tables.snapshot import FileBlock

# All rows of a block are unpacked, and encoded if necessary, for those that are live. If fewer of them
# are, encoding only these takes less time.
_LIVE_TO_UNPACK = 1 / 8
_LIVE_TO_ENCODE = 1 / 2

Encode = Callable[[pa.Table], tuple[Sequence[bytes], ...]]


class KeptTexts:
    """Encoded paths and texts of lines, which are kept for further responses.

    Args:
        kept: Keeps them.
        view: What the response is about.
        encode: Returns the columns of texts of files (rows of `FILE_SCHEMA`), besides the paths.
    """

    def __init__(self, kept: EncodedBlocks, view: View, encode: Encode) -> None:
        metadata = view.snapshot.metadata
        self._kept = kept
        self._encode = encode
        self._with_vectors = view.agreement.response_format == "delta"
        # All that `encode` depends on, besides the files.
        self._encoding = (
            *(view.agreement.response_format, view.hash_name),
            *(metadata.schema_string, metadata.partition_columns, mapping_mode(metadata)),
            metadata.iceberg is None,
        )
        self._chunk: object = None
        self._blocks: ChunkBlocks | None = None

    def of(self, block: FileBlock) -> list[Sequence[bytes]] | None:
        """The percent-encoded paths of the live files, and the columns of their texts.

        `None` if the files have to be encoded for this response.
        """
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
        files = block.every_file()
        vectors, paths = files.column("deletion_vector"), texts(files.column("path"))
        if is_scattered(paths) or (self._with_vectors and vectors.null_count < len(vectors)):
            return None
        quoted = [path.encode() for path in quote_keys(paths)]
        return [*quoted, *chain.from_iterable(self._encode(files))]
