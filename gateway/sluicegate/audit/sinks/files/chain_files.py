"""One chain in files. It blocks, so a thread uses it."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Sequence
from pathlib import Path

from sluicegate.audit.chain import GENESIS, ChainKeys, ChainPosition, Head, parse_line
from sluicegate.audit.encoding import decode
from sluicegate.audit.own_records import LogEntry, deleted
from sluicegate.audit.sinks.files.directory import (
    Segment,
    last_line,
    lines,
    segment_path,
    segments,
    sync_directory,
)
from sluicegate.audit.sinks.files.head_file import HeadFile
from sluicegate.audit.sinks.files.recovery import recover

log = logging.getLogger(__name__)


class ChainFiles:
    """The files of a chain, of which this is the only writer.

    Args:
        directory: The directory.
        slot: Number of the chain in the directory.
        head_file: Its locked head.
        keys: The keys of the chain.

    Raises:
        OSError: A file can't be read or repaired.
    """

    def __init__(self, directory: Path, slot: int, head_file: HeadFile, keys: ChainKeys) -> None:
        self._directory = directory
        self._slot = slot
        self._head_file = head_file
        self._keys = keys
        self._segments = segments(directory, slot)
        found = recover(head_file.read(), self._segments, keys, is_new=head_file.is_new)
        for problem in found.problems:
            log.error("the audit log in %s was changed, or its key was lost: %s", directory, problem)
        self._head = found.head
        self._notes = found.notes
        self._descriptor: int | None = None
        self._size = 0
        self._is_damaged = False

    @property
    def count(self) -> int:
        """Number of files with lines."""
        return len(self._segments)

    def append(self, entries: Sequence[LogEntry], *, max_size: int) -> None:
        """Add records, all or none, and return when they are durable.

        Args:
            entries: The records.
            max_size: Bytes of a file, after which another one is started.

        Raises:
            OSError: They can't be stored.
        """
        added = [*self._notes, *entries]
        if not added:
            return
        sealed, last = self._keys.sealing.seal([entry.body for entry in added], self._head.last)
        data = b"\n".join(sealed) + b"\n"
        descriptor = self._opened()
        if self._size and self._size + len(data) > max_size:
            descriptor = self._start_segment()
        self._write(descriptor, data)
        self._notes = []
        self._move(Head(last, self._head.checkpoint))

    def delete_first(self, count: int, *, max_size: int) -> None:
        """Delete the oldest files, but never the one that is written.

        Raises:
            OSError: The record of the deletion can't be stored, or a file can't be deleted.
        """
        removed, kept = self._segments[:count], self._segments[count:]
        if not removed or not kept:
            return
        checkpoint = _end(removed[-1], kept[0])
        records = checkpoint.seq - self._head.checkpoint.seq
        self.append([deleted(records, str(checkpoint))], max_size=max_size)
        self._move(Head(self._head.last, checkpoint))
        self._head_file.sync()
        for segment in removed:
            segment.path.unlink(missing_ok=True)
        self._segments = self._segments[count:]
        sync_directory(self._directory)

    def written_before(self, oldest: int) -> int:
        """Number of files at the start that were last written before a time, epoch milliseconds.

        The last file is not counted. If it is that old, a new one is started first.

        Raises:
            OSError: A file can't be read or created.
        """
        old = 0
        for segment in self._segments:
            if _modified(segment.path) >= oldest:
                break
            old += 1
        if old == len(self._segments) and not self._start_another():
            old = max(old - 1, 0)
        return old

    def start_segment_after(self, age: int) -> None:
        """Start another file if the current one has existed for `age` seconds.

        Raises:
            OSError: A file can't be read or created.
        """
        if self._segments and time.time() - _started(self._segments[-1].path) > age:
            self._start_another()

    def close(self) -> None:
        """Close the files and release the lock."""
        try:
            if self._descriptor is not None:
                os.close(self._descriptor)
                self._head_file.sync()
        finally:
            self._descriptor = None
            self._head_file.close()

    def _opened(self) -> int:
        """The last file. What a failed write left in it is removed."""
        if self._descriptor is None:
            if not self._segments:
                return self._start_segment()
            path = self._segments[-1].path
            self._descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW)
            self._size = os.fstat(self._descriptor).st_size
        if self._is_damaged:
            os.ftruncate(self._descriptor, self._size)
            self._is_damaged = False
        return self._descriptor

    def _start_another(self) -> bool:
        """Start another file, unless the last one has no lines yet."""
        if not self._segments:
            return False
        self._opened()
        if not self._size:
            return False
        self._start_segment()
        return True

    def _start_segment(self) -> int:
        first_seq = self._head.last.seq + 1
        path = segment_path(self._directory, self._slot, first_seq)
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        descriptor = os.open(path, flags, 0o600)
        if self._descriptor is not None:
            os.close(self._descriptor)
        self._descriptor, self._size = descriptor, 0
        self._segments.append(Segment(first_seq, path))
        sync_directory(self._directory)
        self._head_file.sync()
        return descriptor

    def _write(self, descriptor: int, data: bytes) -> None:
        self._is_damaged = True
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[os.write(descriptor, rest) :]
            os.fdatasync(descriptor)
        except OSError:
            # Incomplete lines would break the chain. If this fails, too, the next write repeats it.
            os.ftruncate(descriptor, self._size)
            self._is_damaged = False
            raise
        self._is_damaged = False
        self._size += len(data)

    def _move(self, head: Head) -> None:
        self._head = head
        try:
            self._head_file.write(head)
        except OSError as error:
            # The records are durable. Without a newer head, only a removed end would not be found.
            log.warning("the head of the audit log can't be written: %s", error.strerror)


def _end(segment: Segment, following: Segment) -> ChainPosition:
    """The last line of a file, before another one."""
    try:
        line = parse_line(last_line(segment.path))
    except ValueError:  # It was changed, which verification will report for the first line that stays.
        return ChainPosition(following.first_seq - 1, GENESIS)
    return ChainPosition(line.seq, line.mac)


def _modified(path: Path) -> int:
    return path.stat().st_mtime_ns // 1_000_000


def _started(path: Path) -> float:
    """When the first record of a file was made, in seconds since the epoch."""
    for _, line in lines(path):
        try:
            return decode(line).at / 1000
        except ValueError:
            break
    return path.stat().st_mtime
