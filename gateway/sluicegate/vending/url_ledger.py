"""Records the presigned URLs of a query in one ledger entry, which grows with each batch."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

from sluicegate.api import CatalogTable, Event, Principal, SharedTable
from sluicegate.api.clients.url_labels import url_label
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

    @cached_property
    def label(self) -> str:
        """The label of the URLs. It names the entry, and is no secret."""
        return url_label(self.entry.id)

    def add(self, files: int, expires_at: int) -> None:
        """Record a batch of signed URLs.

        Args:
            files: Number of URLs.
            expires_at: When they expire, epoch milliseconds. The entry has the latest expiry.
        """
        entry = self.entry
        entry.files = (entry.files or 0) + files
        entry.expires_at = max(entry.expires_at or 0, expires_at)
        self._ledger.note(entry)
        note_issued("urls", entry.id, expires_at=expires_at)
        self._notify(entry.batch_event(self._principal, files, expires_at))
