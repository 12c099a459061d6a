"""Finds the files of a chain that can be deleted, from their records.

Names and times of files decide nothing, because anyone who can write to the directory can change them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sluicegate.audit.chain import ChainKeys, ChainPosition, parse_line
from sluicegate.audit.expiry import ExpiredRecords, ExpiryCheck
from sluicegate.audit.sinks.files.directory import Segment, last_lines, lines
from sluicegate.audit.times import time_of


@dataclass(frozen=True, slots=True)
class ExpiredFiles:
    """Files at the start of a chain whose records are all old."""

    segments: list[Segment]
    records: ExpiredRecords


def expired_files(
    segments: Sequence[Segment], keys: ChainKeys, after: ChainPosition, oldest: int
) -> ExpiredFiles | None:
    """The first files, as far as they only contain records from before a time."""
    check = ExpiryCheck(keys, after, oldest)
    expired = None
    for number, segment in enumerate(segments, 1):
        last_at = time_of(last_lines(segment.path)[-1])
        # Without this, each call would read the first file from start to end.
        if last_at is not None and last_at >= oldest:
            break
        before = check.expired
        if not check.feed(line.rstrip(b"\n") for _, line in lines(segment.path)):
            break
        if check.expired is not None and check.expired != before:
            expired = ExpiredFiles([*segments[:number]], check.expired)
    return expired


def excess(segments: Sequence[Segment], keep: int, max_size: int) -> int:
    """How many of the oldest files to delete, so that the others are not larger than `keep` full files.

    Their number does not decide, because anyone can split a file. A file counts as a full one at most,
    because anyone can append to it.
    """
    # The last file has just been started.
    sizes = [min(each.path.stat().st_size, max_size) for each in segments[:-1]]
    total, number = sum(sizes), 0
    while total > (keep - 1) * max_size:
        total -= sizes[number]
        number += 1
    return number


def end_of_first(
    count: int, segments: Sequence[Segment], keys: ChainKeys, after: ChainPosition
) -> ExpiredRecords | None:
    """Where the first `count` files end; `None` if `count` is 0."""
    previous, end = after, None
    for number, segment in enumerate(segments, 1):
        _check_continues(_first_line(segment.path), previous, keys, segment.path.name)
        *before, raw = last_lines(segment.path)
        previous = _position(raw)
        if number == count:
            is_sealed = not before or _continues(raw, _position(before[0]), keys)
            end = ExpiredRecords(previous, time_of(raw) if is_sealed else None)
    return end


def started(path: Path) -> int | None:
    """When the first record of a file was made, epoch milliseconds; `None` without one."""
    return time_of(_first_line(path))


def _first_line(path: Path) -> bytes:
    return next((line.rstrip(b"\n") for _, line in lines(path)), b"")


def _position(raw: bytes) -> ChainPosition:
    line = parse_line(raw)
    return ChainPosition(line.seq, line.mac)


def _continues(raw: bytes, previous: ChainPosition, keys: ChainKeys) -> bool:
    """Whether a line follows another one, as far as its key is known."""
    line = parse_line(raw)
    is_next = line.seq == previous.seq + 1
    return is_next and (not keys.knows(line.key) or keys.verifies(line, previous.mac))


def _check_continues(raw: bytes, previous: ChainPosition, keys: ChainKeys, name: str) -> None:
    if not _continues(raw, previous, keys):
        raise ValueError(f"{name} does not continue the file before it")
