"""Finds where a chain in files ends, also after a crash."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sluicegate.audit.chain import START, ChainKeys, ChainPosition, Head, parse_line
from sluicegate.audit.own_records import LogEntry, broken, repaired
from sluicegate.audit.sinks.files.directory import Segment, is_complete, last_lines, lines


@dataclass(slots=True)
class Recovered:
    """The end of a chain."""

    head: Head
    notes: list[LogEntry] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def without_deleted(stored: Head | None, segments: Sequence[Segment]) -> list[Segment]:
    """Remove files that the gateway has deleted from the chain, if it was stopped meanwhile.

    Returns:
        The other files. A file with later records stays, whatever its name is.
    """
    kept = []
    for segment in segments:
        if stored is not None and _was_deleted(segment, stored.checkpoint.seq):
            segment.path.unlink(missing_ok=True)
        else:
            kept.append(segment)
    return kept


def _was_deleted(segment: Segment, checkpoint: int) -> bool:
    if segment.first_seq > checkpoint:
        return False
    try:
        return parse_line(last_lines(segment.path)[-1]).seq <= checkpoint
    except ValueError:
        return False


def recover(
    stored: Head | None, segments: Sequence[Segment], keys: ChainKeys, *, is_new: bool
) -> Recovered:
    """Find the end of a chain, and remove an incomplete last line.

    The head is written after the lines, without waiting for the disk. After a crash, more lines can
    exist. They belong to the chain if their MACs continue it.

    Args:
        is_new: Whether the head was never written.
    """
    torn = [_cut_incomplete_line(segments[-1].path)] if segments else []
    found = (
        _without_head(segments, is_new=is_new) if stored is None else _with_head(stored, segments, keys)
    )
    found.notes += [note for note in torn if note is not None]
    found.notes += [broken(problem, str(found.head.last)) for problem in found.problems]
    return found


def _with_head(stored: Head, segments: Sequence[Segment], keys: ChainKeys) -> Recovered:
    last, found = stored.last, stored.last == stored.checkpoint
    problems = []
    for segment in _from(stored.last.seq, segments):
        for _, raw in lines(segment.path):
            try:
                line = parse_line(raw.rstrip(b"\n"))
            except ValueError:
                problems.append(f"{segment.path.name} contains a line that is not a record")
                continue
            if line.seq == stored.last.seq:
                found = found or line.mac == stored.last.mac
            elif line.seq > stored.last.seq:
                if line.seq == last.seq + 1 and keys.knows(line.key) and keys.verifies(line, last.mac):
                    last = ChainPosition(line.seq, line.mac)
                else:
                    problems.append(f"record {line.seq} after the end was not written by the gateway")
    if not found:
        problems.append(f"record {stored.last.seq}, which was the last one, is missing or was changed")
    return Recovered(Head(last, stored.checkpoint), problems=problems[:1])


def _without_head(segments: Sequence[Segment], *, is_new: bool) -> Recovered:
    if is_new and not segments:
        return Recovered(Head())
    last = START
    for segment in segments[-2:]:
        for _, raw in lines(segment.path):
            try:
                line = parse_line(raw.rstrip(b"\n"))
            except ValueError:
                continue
            last = ChainPosition(line.seq, line.mac)
    reason = "the head is missing" if is_new else "no configured key has sealed the head of the chain"
    return Recovered(Head(last), problems=[reason])


def _from(seq: int, segments: Sequence[Segment]) -> Sequence[Segment]:
    """The files from the one on that can contain a line."""
    earlier = sum(segment.first_seq <= seq for segment in segments)
    return segments[max(earlier - 1, 0) :]


def _cut_incomplete_line(path: Path) -> LogEntry | None:
    """Remove what follows the last line break of a file, and return a record with it."""
    if is_complete(path):
        return None
    end, rest = 0, b""
    for offset, line in lines(path):
        if line.endswith(b"\n"):
            end = offset + len(line)
            rest = b""
        else:
            rest += line
    with path.open("r+b") as file:
        file.truncate(end)
        os.fsync(file.fileno())
    return repaired(path.name, end, rest)
