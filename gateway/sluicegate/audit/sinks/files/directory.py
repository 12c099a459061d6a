"""Names the files in a directory of chains: `00.head`, `00-000000000001.ndjson`, and so on."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sluicegate.audit.chain import parse_line

_SEGMENT = re.compile(r"([0-9]{2,3})-([0-9]{12,19})\.ndjson")
_HEAD = re.compile(r"([0-9]{2,3})\.head")
_LARGEST_LINE = 128 * 1024


@dataclass(frozen=True, slots=True, order=True)
class Segment:
    """A file with lines of a chain."""

    first_seq: int
    path: Path


def head_path(directory: Path, slot: int) -> Path:
    """The file with the head of a chain, which its writer locks."""
    return directory / f"{slot:02}.head"


def segment_path(directory: Path, slot: int, first_seq: int) -> Path:
    """The file whose first line has this number."""
    return directory / f"{slot:02}-{first_seq:012}.ndjson"


def chain_name(slot: int) -> str:
    """The name of a chain."""
    return f"files {slot:02}"


def slots(directory: Path) -> list[int]:
    """The numbers of the chains in a directory, in order."""
    names = [path.name for path in directory.iterdir()]
    found = [each for name in names for each in (_HEAD.fullmatch(name), _SEGMENT.fullmatch(name))]
    return sorted({int(each[1]) for each in found if each is not None})


def segments(directory: Path, slot: int) -> list[Segment]:
    """The files with the lines of a chain, in order."""
    found = ((path, _SEGMENT.fullmatch(path.name)) for path in directory.iterdir())
    return sorted(
        Segment(int(each[2]), path) for path, each in found if each is not None and int(each[1]) == slot
    )


def lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """The lines of a file with their offsets. Only the last one can be without a line break."""
    offset = 0
    with path.open("rb") as file:
        while line := file.readline(_LARGEST_LINE):
            yield offset, line
            offset += len(line)


def first_seq_of(path: Path) -> int | None:
    """The number of the first line of a file; `None` without one."""
    for _, line in lines(path):
        try:
            return parse_line(line.rstrip(b"\n")).seq
        except ValueError:
            break
    return None


def last_lines(path: Path) -> list[bytes]:
    """The last two lines of a file, without line breaks; fewer if it has fewer, but at least one."""
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(size - 2 * _LARGEST_LINE, 0))
        return file.read().rstrip(b"\n").split(b"\n")[-2:]


def is_complete(path: Path) -> bool:
    """Whether a file is empty or ends with a line break."""
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(size - 1, 0))
        return file.read() in (b"", b"\n")


def sync_directory(directory: Path) -> None:
    """Make created and deleted files durable."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
