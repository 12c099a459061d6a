"""One chain in files. It blocks, so a thread uses it."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from sluicegate.audit.chain import ChainKeys, Head
from sluicegate.audit.expiry import ExpiredRecords
from sluicegate.audit.own_records import LogEntry, deleted
from sluicegate.audit.sinks.files.directory import (
    Segment,
    segment_path,
    segments,
    sync_directory,
)
from sluicegate.audit.sinks.files.expiry import (
    ExpiredFiles,
    end_of_first,
    excess,
    expired_files,
    started,
)
from sluicegate.audit.sinks.files.head_file import HeadFile
from sluicegate.audit.sinks.files.recovery import recover, without_deleted

log = logging.getLogger(__name__)


class ChainFiles:
    """The files of a chain, of which this is the only writer."""

    def __init__(self, directory: Path, slot: int, head_file: HeadFile, keys: ChainKeys) -> None:
        self._directory = directory
        self._slot = slot
        self._head_file = head_file
        self._keys = keys
        stored = head_file.read()
        self._segments = without_deleted(stored, segments(directory, slot))
        found = recover(stored, self._segments, keys, is_new=head_file.is_new)
        for problem in found.problems:
            log.error("the audit log in %s was changed, or its key was lost: %s", directory, problem)
        self._head = found.head
        self._notes = found.notes
        self._descriptor: int | None = None
        self._size = 0
        self._is_damaged = False
        self._measured = 0

    def append(self, entries: Sequence[LogEntry], *, max_size: int) -> None:
        """Add records, all or none, and return when they are durable."""
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

    def delete_excess(self, keep: int, *, max_size: int) -> None:
        """Delete the oldest files if all together are larger than `keep` full files."""
        if len(self._segments) <= keep or len(self._segments) == self._measured:
            return  # only a new file can make them too many
        self._measured = len(self._segments)
        try:
            count = excess(self._segments, keep, max_size)
            end = end_of_first(count, self._segments, self._keys, self._head.checkpoint)
        except (OSError, ValueError) as error:
            log.error(
                "the oldest files of the audit log in %s are not deleted, because its files were "
                "changed: %s; run sluicegate audit verify",
                self._directory,
                error,
            )
            return
        if end is not None:
            self._delete(count, end, {"keep": keep}, max_size)
            self._measured = len(self._segments)

    def expired(self, oldest: int) -> ExpiredFiles | None:
        """The first files, as far as their records are all from before a time, epoch milliseconds.

        It changes nothing, so that another thread can call it while this one writes.
        """
        return expired_files([*self._segments], self._keys, self._head.checkpoint, oldest)

    def delete_expired(self, expired: ExpiredFiles, oldest: int, *, max_size: int) -> None:
        """Delete the files that `expired` returned."""
        if self._segments[: len(expired.segments)] != expired.segments:
            return  # there were more than `keep`
        is_all = len(expired.segments) == len(self._segments)
        if is_all and (self._head.last != expired.records.last or not self._start_another()):
            return  # it has newer records by now
        self._delete(len(expired.segments), expired.records, {"before": oldest}, max_size)

    def start_segment_after(self, age: int) -> None:
        """Start another file if the current one has existed for `age` seconds."""
        first_at = started(self._segments[-1].path) if self._segments else None
        if first_at is not None and time.time() - first_at / 1000 > age:
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

    def _delete(
        self, count: int, records: ExpiredRecords, because: Mapping[str, int], max_size: int
    ) -> None:
        removed, checkpoint = self._segments[:count], records.last
        number = checkpoint.seq - self._head.checkpoint.seq
        note = deleted(number, str(checkpoint), records.last_at, because)
        self.append([note], max_size=max_size)
        self._move(Head(self._head.last, checkpoint))
        self._head_file.sync()
        for segment in removed:
            segment.path.unlink(missing_ok=True)
        self._segments = self._segments[count:]
        sync_directory(self._directory)

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
