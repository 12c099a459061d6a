"""Lines of a chain that were written together, as bytes."""

from __future__ import annotations

import sys
from collections.abc import Sequence

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

# Level 1: higher levels take longer, and save nothing here. Short blocks get longer by it.
_LEVEL = 1
_SHORTEST = 1_000
_LINE_BREAK = b"\n"
# Bytes of a decompressed block: more than a writer ever puts into one.
_LONGEST = 64_000_000


class Packer:
    """Makes blocks in sequence. It keeps a compressor: a new one takes longer than a block."""

    def __init__(self) -> None:
        self._compressor = zstd.ZstdCompressor(_LEVEL)

    def pack(self, lines: Sequence[bytes]) -> bytes:
        """Return lines as one value, which is compressed if that saves space."""
        plain = _LINE_BREAK.join(lines)
        if len(plain) < _SHORTEST:
            return plain
        return self._compressor.compress(plain, zstd.ZstdCompressor.FLUSH_FRAME)


def unpack(packed: bytes) -> list[bytes]:
    """Return the lines of a value.

    Raises:
        ValueError: `Packer` did not return this value.
    """
    if packed.startswith(b"{"):
        return packed.split(_LINE_BREAK)
    decompressor = zstd.ZstdDecompressor()
    try:
        plain = decompressor.decompress(packed, max_length=_LONGEST)
    except zstd.ZstdError as error:
        raise ValueError(str(error)) from None
    if not decompressor.eof or decompressor.unused_data:
        raise ValueError("the block is too long or incomplete")
    return plain.split(_LINE_BREAK)
