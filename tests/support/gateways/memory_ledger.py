"""A ledger in memory, without a database."""

from __future__ import annotations

from dataclasses import replace

from sluicegate.vending import Ledger
from sluicegate.vending.entries import LedgerEntry


class MemoryLedger(Ledger):
    """Keeps entries in memory."""

    def __init__(self) -> None:
        self.written: list[LedgerEntry] = []
        self.noted: list[LedgerEntry] = []

    async def write(self, entry: LedgerEntry) -> None:
        """Keep it."""
        self.written.append(entry)

    def note(self, entry: LedgerEntry) -> None:
        """Keep it as it is now: entries of URLs grow."""
        self.noted.append(replace(entry))
