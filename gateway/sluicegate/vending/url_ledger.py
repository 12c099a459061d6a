"""Records the presigned URLs of a query in one ledger entry, which grows with each batch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from sluicegate.api import CatalogTable, Event, Principal, SharedTable
from sluicegate.audit.trail import note_issued
from sluicegate.vending.entries import LedgerEntry
from sluicegate.vending.ledger import Ledger


class UrlRecord:
    """Records the URLs of one response.

    Args:
        ledger: The ledger to write to.
        notify: Sends an event to plugins for each batch.
        principal: The recipient of the URLs.
        shared: The table.
        source: The table in its catalog.
        now: Epoch milliseconds.
        issued_at: When the URLs were signed, epoch milliseconds. The default is now.

    Attributes:
        entry: The entry so far.
    """

    def __init__(
        self,
        ledger: Ledger,
        notify: Callable[[Event], None],
        principal: Principal,
        shared: SharedTable,
        source: CatalogTable,
        now: Callable[[], int],
        issued_at: int | None = None,
    ) -> None:
        self._ledger = ledger
        self._notify = notify
        self._principal = principal
        at = now()
        self.entry = LedgerEntry.of(
            principal,
            shared,
            (source.location,),
            kind="urls",
            given_at=at,
            issued_at=at if issued_at is None else issued_at,
            expires_at=at,
            files=0,
        )

    def add(self, files: int, expires_at: int) -> None:
        """Record a batch of signed URLs.

        Args:
            files: Number of URLs.
            expires_at: When they expire, epoch milliseconds. The entry has the latest expiry.
        """
        before = self.entry
        last = max(before.expires_at or 0, expires_at)
        self.entry = replace(before, files=(before.files or 0) + files, expires_at=last)
        self._ledger.note(self.entry)
        note_issued("urls", self.entry.id, expires_at=expires_at)
        batch = replace(before, files=files, expires_at=expires_at)
        self._notify(batch.event(self._principal))
