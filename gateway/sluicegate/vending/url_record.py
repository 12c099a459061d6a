"""The one entry that a query's presigned URLs have in the ledger; it grows batch by batch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from sluicegate.api import CatalogTable, Event, Principal, SharedTable
from sluicegate.vending.entries import LedgerEntry
from sluicegate.vending.ledger import Ledger


class UrlRecord:
    """Records what one answer gives.

    Args:
        ledger: Where it is noted.
        notify: Tells plugins, about each batch.
        principal: Who gets the URLs.
        shared: Of which table.
        source: What its catalog says.
        now: Epoch milliseconds.
    """

    def __init__(
        self,
        ledger: Ledger,
        notify: Callable[[Event], None],
        principal: Principal,
        shared: SharedTable,
        source: CatalogTable,
        now: Callable[[], int],
    ) -> None:
        self._ledger = ledger
        self._notify = notify
        self._principal = principal
        at = now()
        self._entry = LedgerEntry.of(
            principal,
            shared,
            (source.location,),
            kind="urls",
            given_at=at,
            issued_at=at,
            expires_at=at,
            files=0,
        )

    def add(self, files: int, expires_at: int) -> None:
        """Some more URLs were signed.

        Args:
            files: How many.
            expires_at: When they expire, epoch milliseconds; the entry tells the last moment.
        """
        before = self._entry
        last = max(before.expires_at or 0, expires_at)
        self._entry = replace(before, files=(before.files or 0) + files, expires_at=last)
        self._ledger.note(self._entry)
        batch = replace(before, files=files, expires_at=expires_at)
        self._notify(batch.event(self._principal))
