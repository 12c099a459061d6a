"""Files that are open for reading, in the form in which obstore returns objects."""

from __future__ import annotations

import errno
import os
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Protocol, Self, TypeVar

import obstore

if TYPE_CHECKING:
    from obstore import Bytes, ObjectMeta

_T = TypeVar("_T")
_CHUNK = 10 * 1024 * 1024  # obstore's default
_SMALL = 64 * 1024  # read when the file is opened, which saves a change of threads
_LAST_SECOND = 253_402_300_799  # in the year 9999, the last one that `datetime` can represent


class InThread(Protocol):
    """Runs a blocking call in a thread."""

    def __call__(self, call: Callable[[], _T], /) -> Awaitable[_T]:
        """Run the call, and return its result."""


def object_meta(path: str, found: os.stat_result) -> ObjectMeta:
    """Return the metadata of a file as obstore does, with the same entity tag."""
    nanoseconds = max(found.st_mtime_ns, 0)
    seconds = min(nanoseconds // 10**9, _LAST_SECOND)
    modified = datetime.fromtimestamp(seconds, UTC).replace(microsecond=nanoseconds // 1000 % 10**6)
    return {
        "path": path,
        "last_modified": modified,
        "size": found.st_size,
        "e_tag": f'"{found.st_ino:x}-{nanoseconds // 1000:x}-{found.st_size:x}"',
        "version": None,
    }


class OpenedFile:
    """A file that is open for reading. It's closed when nothing refers to it."""

    def __init__(self, descriptor: int, path: str) -> None:
        self._descriptor = descriptor
        self.meta = object_meta(path, os.fstat(descriptor))

    @property
    def size(self) -> int:
        """Its size in bytes when it was opened."""
        return self.meta["size"]

    def read(self, start: int, end: int) -> bytes:
        """Read a part."""
        parts = []
        while start < end:
            part = os.pread(self._descriptor, end - start, start)
            if not part:
                raise OSError(errno.EIO, "the file became shorter while it was read", self.meta["path"])
            parts.append(part)
            start += len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def __del__(self) -> None:
        os.close(self._descriptor)


class FileResult:
    """A part of a file; obstore's `GetResult`."""

    def __init__(self, file: OpenedFile, start: int, end: int, in_thread: InThread) -> None:
        self._file = file
        self._in_thread = in_thread
        self._content = file.read(start, end) if end - start <= _SMALL else None
        self.range = (start, end)
        self.meta = file.meta
        self.attributes: dict[str, str] = {}

    def bytes(self) -> Bytes:
        """Read the part."""
        content = self._content
        return obstore.Bytes(self._file.read(*self.range) if content is None else content)

    async def bytes_async(self) -> Bytes:
        """Read the part."""
        return self.bytes() if self._content is not None else await self._in_thread(self.bytes)

    buffer, buffer_async = bytes, bytes_async

    def stream(self, min_chunk_size: int = _CHUNK) -> Chunks:
        """Read the part in chunks."""
        return Chunks(self._file, *self.range, min_chunk_size, self._in_thread)

    def __iter__(self) -> Chunks:
        return self.stream()

    def __aiter__(self) -> Chunks:
        return self.stream()


class Chunks:
    """The chunks of a part of a file; obstore's `BytesStream`."""

    def __init__(self, file: OpenedFile, start: int, end: int, size: int, in_thread: InThread) -> None:
        self._parts = ((each, min(each + size, end)) for each in range(start, end, size))
        self._file, self._in_thread = file, in_thread

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> bytes:
        return self._file.read(*next(self._parts))

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        part = next(self._parts, None)
        if part is None:
            raise StopAsyncIteration
        return await self._in_thread(partial(self._file.read, *part))
