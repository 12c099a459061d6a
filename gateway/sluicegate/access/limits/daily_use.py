"""What recipients were offered today, by this process and, as far as it is known, by others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sluicegate._util.lru import LRU

_RECIPIENTS = 100_000


@dataclass(frozen=True, slots=True)
class Amount:
    """Data files, and their bytes."""

    files: int = 0
    bytes: int = 0

    def __add__(self, other: Amount) -> Amount:
        return Amount(self.files + other.files, self.bytes + other.bytes)


NOTHING = Amount()

UseKey = tuple[str, int]
"""The id of a recipient, and a day in days since the epoch."""


class DailyUse:
    """Counts what this process offers, on top of what the database contains.

    What a day's use is, depends only on the day that is requested. If the clock goes back to the day
    before, that day's use is counted on.
    """

    def __init__(self) -> None:
        self._stored: LRU[UseKey, Amount] = LRU(_RECIPIENTS)
        self._pending: dict[UseKey, Amount] = {}
        self._writing: dict[UseKey, Amount] = {}

    def of(self, recipient: str, day: int) -> Amount:
        """What a recipient was offered on a day."""
        key = recipient, day
        stored = self._stored.get(key) or NOTHING
        return stored + self._writing.get(key, NOTHING) + self._pending.get(key, NOTHING)

    def add(self, recipient: str, day: int, amount: Amount) -> None:
        """Count what a recipient is offered."""
        key = recipient, day
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
        for (recipient, day), amount in self._writing.items():
            self.add(recipient, day, amount)
        self._writing = {}

    def learn(self, day: int, stored: Mapping[str, Amount]) -> None:
        """Adopt what the database contains, by recipient. It includes what this process has written."""
        for recipient, amount in stored.items():
            self._stored.put((recipient, day), amount)
