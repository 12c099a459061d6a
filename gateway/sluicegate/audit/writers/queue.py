"""What waits for the next step of a writer."""

from __future__ import annotations

from collections import deque
from typing import Generic, TypeVar

from sluicegate.audit.own_records import LogEntry

CAPACITY = 16_000_000
"""Bytes that can wait."""

_STEP_BYTES = 2_000_000
_STEP_RECORDS = 512
# Bytes that are added for each record: those of its objects.
_OVERHEAD = 500

_Ticket = TypeVar("_Ticket")


class EntryQueue(Generic[_Ticket]):
    """Entries with one more value each, in order."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._waiting: deque[tuple[LogEntry, _Ticket]] = deque()
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def is_full(self) -> bool:
        """Whether it has no space."""
        return self._bytes >= self._capacity

    def put(self, entry: LogEntry, ticket: _Ticket) -> None:
        """Add an entry."""
        self._waiting.append((entry, ticket))
        self._bytes += len(entry.body) + _OVERHEAD

    def take(self) -> list[tuple[LogEntry, _Ticket]]:
        """Remove and return as many entries as one step writes."""
        taken: list[tuple[LogEntry, _Ticket]] = []
        size, waiting = 0, self._waiting
        while waiting and len(taken) < _STEP_RECORDS and size < _STEP_BYTES:
            each = waiting.popleft()
            size += len(each[0].body) + _OVERHEAD
            taken.append(each)
        self._bytes -= size
        return taken

    def put_back(self, taken: list[tuple[LogEntry, _Ticket]]) -> None:
        """Return what `take` returned, also if it exceeds the capacity."""
        self._waiting.extendleft(reversed(taken))
        self._bytes += sum(len(entry.body) + _OVERHEAD for entry, _ in taken)

    def take_all(self) -> list[tuple[LogEntry, _Ticket]]:
        """Remove and return all entries."""
        taken = list(self._waiting)
        self._waiting.clear()
        self._bytes = 0
        return taken
