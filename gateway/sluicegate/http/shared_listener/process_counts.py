"""How many connections each of several processes has open that accept from one listener."""

from __future__ import annotations

import mmap
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

# What a place contains instead of a number: nobody has it, or its process accepts no connections.
_FREE, _CLOSED = -2, -1
_BYTES = 4


class ProcessCounts:
    """The numbers in memory that the processes share. Each process changes only its own.

    Args:
        descriptor: A file that all of them have open.
    """

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self._counts = memoryview(mmap.mmap(descriptor, 0)).cast("i")

    @classmethod
    @contextmanager
    def with_places(cls, places: int) -> Iterator[ProcessCounts]:
        """Create the file, which has no name, with a place for so many processes."""
        with _new_file() as file:
            file.write(_FREE.to_bytes(_BYTES, sys.byteorder, signed=True) * places)
            file.flush()
            yield cls(file.fileno())

    def take(self) -> int:
        """Reserve a place for a process that is about to start, and return its number.

        Raises:
            OSError: There are too many processes.
        """
        for place, count in enumerate(self._counts):
            if count == _FREE:
                self._counts[place] = _CLOSED
                return place
        raise OSError("too many processes")

    def give_back(self, place: int) -> None:
        """Free the place of a process that has ended."""
        self._counts[place] = _FREE

    def share(self, place: int) -> ListenerShare:
        """The view of one process."""
        return ListenerShare(self._counts, place)


class ListenerShare:
    """The share of one process in the connections of all.

    Args:
        counts: For each place, how many connections its process has open; negative if it accepts none.
        place: The place of this process.
    """

    def __init__(self, counts: memoryview, place: int) -> None:
        self._counts = counts
        self._place = place

    def publish(self, count: int) -> None:
        """Tell the others how many connections this process has open."""
        self._counts[self._place] = count

    def leave(self) -> None:
        """Tell the others that this process accepts no more connections."""
        self._counts[self._place] = _CLOSED

    def is_exceeded(self) -> bool:
        """Whether another process accepts connections, and has clearly fewer than this one."""
        least = min(count for count in self._counts if count >= 0)
        return self._counts[self._place] > least + least // 8


def _new_file() -> IO[bytes]:
    """A file without a name. Linux needs no directory for it, which containers can lack."""
    if sys.platform == "linux":
        return os.fdopen(os.memfd_create("sluicegate-connections"), "r+b")
    return tempfile.TemporaryFile()
