"""Groups signatures of the same minute in one entry of the ledger.

Clients request a signature for each range that they read. One row for each of them would make the
ledger's table the most expensive part of a signature.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sluicegate._util.lru import LRU
from sluicegate.protocols.common.resolver import OpenTable
from sluicegate.vending.url_ledger import UrlRecord

_SECONDS = 60
_KEPT = 10_000

_Key = tuple[str, str | None, str, str, str]


@dataclass(frozen=True, slots=True)
class _Recent:
    minute: int
    record: UrlRecord


class RecentRecords:
    """The records of recipients that currently read tables.

    Args:
        start: Starts the record of a table for its recipient.
        clock: Seconds since the epoch.
    """

    def __init__(self, start: Callable[[OpenTable], UrlRecord], clock: Callable[[], float]) -> None:
        self._start = start
        self._clock = clock
        self._recent: LRU[_Key, _Recent] = LRU(_KEPT)

    def of(self, table: OpenTable) -> UrlRecord:
        """The record of this minute for a table, its recipient, and the recipient's address."""
        shared, principal = table.shared, table.principal
        names = (principal.id, principal.address, shared.share_id, shared.id)
        key = (*names, table.source.location)
        minute = int(self._clock()) // _SECONDS
        recent = self._recent.get(key)
        if recent is None or recent.minute != minute:
            recent = _Recent(minute, self._start(table))
            self._recent.put(key, recent)
        return recent.record
