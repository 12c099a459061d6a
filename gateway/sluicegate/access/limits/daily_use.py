"""What recipients and addresses were offered today, by this process and, as far as known, by others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sluicegate._util.lru import LRU

_SUBJECTS = 100_000


@dataclass(frozen=True, slots=True)
class Amount:
    """Data files, and their bytes."""

    files: int = 0
    bytes: int = 0

    def __add__(self, other: Amount) -> Amount:
        return Amount(self.files + other.files, self.bytes + other.bytes)


NOTHING = Amount()

UseKey = tuple[str, int]
"""The id of a recipient or an address, and a day in days since the epoch."""


class DailyUse:
    """Counts what this process offers, on top of what the database contains.

    What a day's use is, depends only on the day that is requested. If the clock goes back to the day
    before, that day's use is counted on.
    """

    def __init__(self) -> None:
        self._stored: LRU[UseKey, Amount] = LRU(_SUBJECTS)
        self._pending: dict[UseKey, Amount] = {}
        self._writing: dict[UseKey, Amount] = {}

    def of(self, subject: str, day: int) -> Amount:
        """What a recipient or address was offered on a day."""
        key = subject, day
        stored = self._stored.get(key) or NOTHING
        return stored + self._writing.get(key, NOTHING) + self._pending.get(key, NOTHING)

    def add(self, subject: str, day: int, amount: Amount) -> None:
        """Count what a recipient or address is offered."""
        key = subject, day
        self._pending[key] = self._pending.get(key, NOTHING) + amount

    def begin_write(self) -> Mapping[UseKey, Amount]:
        """What is to be added to the database. Call `written` or `not_written` next."""
        self._writing, self._pending = self._pending, {}
        return self._writing

    def written(self) -> None:
        """The amounts of `begin_write` are in the database."""
        for key, amount in self._writing.items():
            self._stored.put(key, (self._stored.get(key) or NOTHING) + amount)
        self._writing = {}

    def not_written(self) -> None:
        """They are not, and are written again."""
        for (subject, day), amount in self._writing.items():
            self.add(subject, day, amount)
        self._writing = {}

    def learn(self, day: int, stored: Mapping[str, Amount]) -> None:
        """Adopt what the database contains. It includes what this process has written."""
        for subject, amount in stored.items():
            self._stored.put((subject, day), amount)
