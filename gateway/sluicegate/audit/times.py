"""Reads the times of records from the lines of a chain, which MACs cover, without decoding the lines.

Columns of the database and attributes of files also have times. Nothing is decided by them alone,
because anyone who can write there can change them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

# `encode` writes the time first.
_AT = re.compile(
    rb'\{"seq":[0-9]{1,19},"key":"[0-9a-f]{16}",(?:"chain":[0-9]{1,9},)?"at":([0-9]{1,19}),'
)


@dataclass(frozen=True, slots=True)
class TimeSpan:
    """The smallest and the largest time of records, epoch milliseconds."""

    first: int
    last: int


def time_of(line: bytes) -> int | None:
    """When the record in a line was made, epoch milliseconds; `None` if it isn't a record."""
    found = _AT.match(line)
    return None if found is None else int(found[1])


def span_of(lines: Iterable[bytes]) -> TimeSpan | None:
    """The times of the records in lines; `None` if they contain no record."""
    times = [at for at in map(time_of, lines) if at is not None]
    return TimeSpan(min(times), max(times)) if times else None
