"""Ranges of bytes as a file."""

from __future__ import annotations

import io
from abc import abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import Buffer


class RangedFile(io.RawIOBase):
    """A file that can be read and searched; each read is one range of bytes.

    Args:
        size: Its size in bytes.
    """

    def __init__(self, size: int) -> None:
        super().__init__()
        self._size, self._position = size, 0

    @abstractmethod
    def fetch(self, start: int, end: int) -> Buffer:
        """Return the bytes in `start <= position < end`, which the file has."""

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        self._position = base + offset
        return self._position

    def read(self, size: int | None = -1) -> bytes:
        end = self._size if size is None or size < 0 else min(self._size, self._position + size)
        if end <= self._position:
            return b""
        data = bytes(self.fetch(self._position, end))
        self._position += len(data)
        return data

    def readinto(self, buffer: Buffer) -> int:
        view = memoryview(buffer).cast("B")
        data = self.read(len(view))
        view[: len(data)] = data
        return len(data)
