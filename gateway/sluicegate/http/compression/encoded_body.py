"""Encodes bodies whose last bytes are different each time that the encoded rest is sent.

The rest is compressed once. Its end is added without decompressing or compressing it again.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass

from isal import isal_zlib

from sluicegate.http.compression.codings import CODINGS, compressed

_GZIP = "gzip"
_RAW_DEFLATE = -15
# RFC 8878, section 3.1.1.2.4: no block is longer.
_LONGEST_BLOCK = 128 * 1024


@dataclass(frozen=True, slots=True)
class BodyEnd:
    """Completes an encoded body.

    Attributes:
        coding: The body's coding; `None` if it is not encoded.
        checksum: CRC-32 of all bytes before encoding, for gzip.
        size: Number of these bytes, for gzip.
    """

    coding: str | None
    checksum: int = 0
    size: int = 0

    def finish(self, tail: bytes) -> bytes:
        """The encoded last bytes. Empty only if `tail` is empty and the body is not encoded."""
        if self.coding is None:
            return tail
        return self._gzip(tail) if self.coding == _GZIP else _zstd(tail)

    def _gzip(self, tail: bytes) -> bytes:
        """A last block and the trailer (RFC 1952, section 2.3.1).

        Another compressor can add the block because the body was flushed to a byte boundary.
        """
        stream = zlib.compressobj(wbits=_RAW_DEFLATE)
        block = stream.compress(tail) + stream.flush()
        size = (self.size + len(tail)) % 2**32
        return block + struct.pack("<LL", zlib.crc32(tail, self.checksum), size)


class BodyEncoder:
    """Encodes a body without its last bytes.

    Args:
        coding: One of `CODINGS`; `None` to leave the body as it is.
    """

    def __init__(self, coding: str | None) -> None:
        self._coding = coding
        self._compressor = None if coding is None else CODINGS[coding]()
        self._checksum = 0
        self._size = 0

    async def part(self, data: bytes) -> bytes:
        """Encode the next part. The first one must not be empty: the coding's header comes with it."""
        if self._compressor is None:
            return data
        if self._coding == _GZIP:
            self._checksum = isal_zlib.crc32(data, self._checksum)
            self._size += len(data)
        return await compressed(self._compressor, data, last=False)

    @property
    def end(self) -> BodyEnd:
        """Completes the parts so far."""
        return BodyEnd(self._coding, self._checksum, self._size)

    def finish(self, tail: bytes) -> bytes:
        """The encoded last bytes; see `BodyEnd.finish`."""
        return self.end.finish(tail)


def _zstd(tail: bytes) -> bytes:
    """The last blocks of a frame without a checksum, not compressed (RFC 8878, section 3.1.1.2)."""
    blocks = [tail[at : at + _LONGEST_BLOCK] for at in range(0, len(tail), _LONGEST_BLOCK)] or [b""]
    last = len(blocks) - 1
    return b"".join(
        struct.pack("<L", len(block) << 3 | (number == last))[:3] + block
        for number, block in enumerate(blocks)
    )
