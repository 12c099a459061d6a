"""Finds the records at the start of a chain that are old enough to be deleted."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sluicegate.audit.chain import ChainKeys, ChainPosition, Line, parse_line
from sluicegate.audit.times import time_of


@dataclass(frozen=True, slots=True)
class ExpiredRecords:
    """Records that are older than a time.

    Attributes:
        last_at: The largest of their times, epoch milliseconds; `None` if no key has sealed it.
    """

    last: ChainPosition
    last_at: int | None


class ExpiryCheck:
    """Takes the lines of a chain in their order, and decides which of them are old.

    It uses only the times of records that a key of the chain has sealed. Records that can't be
    verified, such as those of a lost key, are old if a later record is, because each record was sealed
    after all records before it.
    """

    def __init__(self, keys: ChainKeys, after: ChainPosition, oldest: int, chain: int = 0) -> None:
        self._keys = keys
        self._chain = chain
        self._oldest = oldest
        self._previous: ChainPosition | None = after
        self._highest = after.seq
        self._last_at = 0  # of what is verified
        self.expired: ExpiredRecords | None = None
        self.problem: str | None = None

    def feed(self, lines: Iterable[bytes]) -> bool:
        """Take the next lines, without line breaks, which can only be deleted together.

        Returns:
            Whether later lines can be old, too. `expired` then includes these lines, unless the last of
            them can't be verified.
        """
        last = None
        for raw in lines:
            try:
                line = parse_line(raw)
            except ValueError:
                self._previous = last = None
                continue
            if line.seq <= self._highest:
                self.problem = f"record {line.seq} is not at its place"
                return False
            last = self._verified(line)
            if last is not None:
                at = time_of(raw)
                if at is None or at >= self._oldest:
                    return False
                self._last_at = max(self._last_at, at)
        if last is not None:
            self.expired = ExpiredRecords(last, self._last_at)
        return True

    def skip_unreadable(self) -> None:
        """Note that the next lines can't be read."""
        self._previous = None

    def _verified(self, line: Line) -> ChainPosition | None:
        """The position of the next line if it continues the line before it."""
        previous, self._highest = self._previous, line.seq
        position = self._previous = line.position
        if previous is None or line.chain != self._chain or not self._keys.knows(line.key):
            return None
        return position if self._keys.verifies(line, previous.mac) else None
