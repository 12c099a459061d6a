"""Splits a log file of any size into lines of bounded size, without holding the file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

LONGEST_LINE: Final = 65_536
"""Bytes. S3 limits keys to 1,024 bytes, and headers to 8 kB in sum."""


class LogLine(NamedTuple):
    """A line, or its begin if it is too long.

    Attributes:
        content: At most `longest` bytes, without the end of the line.
    """

    number: int
    content: bytes
    is_complete: bool


def lines_of(chunks: Iterable[bytes], longest: int = LONGEST_LINE) -> Iterator[LogLine]:
    """Return the lines of a file that are not empty."""
    number, begin, is_complete = 1, b"", True
    for chunk in chunks:
        *ended, rest = chunk.split(b"\n")
        for part in ended:
            begin, is_complete = _joined(begin, part, is_complete, longest)
            if begin:
                yield LogLine(number, begin, is_complete)
            number, begin, is_complete = number + 1, b"", True
        begin, is_complete = _joined(begin, rest, is_complete, longest)
    if begin:
        yield LogLine(number, begin, is_complete)


def _joined(begin: bytes, part: bytes, is_complete: bool, longest: int) -> tuple[bytes, bool]:
    joined = begin + part[: longest + 1]
    return joined[:longest], is_complete and len(joined) <= longest
