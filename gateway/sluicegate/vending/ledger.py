"""Writes the ledger: credentials before they are issued, and other entries in background batches."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict
from functools import cached_property

from sqlalchemy import delete

from sluicegate._util.clock import epoch_ms
from sluicegate._util.tasks import cancel_all
from sluicegate.api import CatalogTable, Event, Principal, SharedTable
from sluicegate.api.clients.url_labels import url_label
from sluicegate.api.errors import Unavailable
from sluicegate.audit.trail import note_issued
from sluicegate.database import Store
from sluicegate.database.async_engine import AsyncConnection
from sluicegate.database.statements.upserts import insert_into
from sluicegate.database.tables import ledger
from sluicegate.vending.entries import LedgerEntry
from sluicegate.vending.usage.summaries import summarize_days

log = logging.getLogger(__name__)

_CAPACITY = 50_000
_BATCH = 500
# Seconds: between batches, before a failed write is retried, and between summaries and deletions.
_GATHER = 1.0
_RETRY = 5.0
_MAINTAIN = 3600.0
_UPDATED = ("expires_at", "files")


class Ledger:
    """Writes entries to the ledger."""

    def __init__(
        self,
        store: Store,
        *,
        retention: int,
        now: Callable[[], int] = epoch_ms,
        capacity: int = _CAPACITY,
    ) -> None:
        self._store = store
        self._retention = retention
        self._now = now
        self._capacity = capacity
        self._waiting: dict[str, LedgerEntry] = {}
        self._lost = 0
        self._wake = asyncio.Event()

    async def write(self, entry: LedgerEntry) -> None:
        """Record an entry immediately."""
        await self._write_all([entry])

    def note(self, entry: LedgerEntry) -> None:
        """Record an entry in the next batch. It replaces a waiting entry with the same id."""
        if len(self._waiting) >= self._capacity and entry.id not in self._waiting:
            self._lost += 1
            return
        self._waiting[entry.id] = entry
        self._wake.set()

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[None]:
        """Write batches, sum days and delete old entries until the block ends, then write the rest."""
        tasks = [asyncio.ensure_future(self._write_noted()), asyncio.ensure_future(self._maintain())]
        try:
            yield
        finally:
            await cancel_all(*tasks)
            if not await self.flush():
                log.error("the ledger lost %d entries: the database does not respond", self._unwritten)

    async def flush(self) -> bool:
        """Write the waiting entries, and return whether this succeeded."""
        writing, self._waiting = self._waiting, {}
        self._wake.clear()
        written = False
        try:
            await self._write_all(writing.values())
            written = True
        except Unavailable as error:
            log.warning("the ledger cannot be written: %s [%s]", error.message, error.detail)
        finally:
            if not written:  # also if the task was cancelled
                self._waiting = writing | self._waiting
        if written and self._lost:
            log.error("the ledger lost %d entries while the database did not respond", self._lost)
            self._lost = 0
        return written

    @property
    def _unwritten(self) -> int:
        return self._lost + len(self._waiting)

    async def _write_noted(self) -> None:
        while True:
            await self._wake.wait()
            await asyncio.sleep(_GATHER)
            if not await self.flush():
                await asyncio.sleep(_RETRY)
                self._wake.set()

    async def _maintain(self) -> None:
        while True:
            now = self._now()
            oldest = now - self._retention * 1000
            try:
                await summarize_days(self._store, now, oldest)
                async with self._store.append() as connection:
                    await connection.execute(delete(ledger).where(ledger.c.given_at < oldest))
            except Unavailable as error:
                log.warning("days of the ledger cannot be summed or deleted: %s", error.message)
            await asyncio.sleep(_MAINTAIN)

    async def _write_all(self, entries: Iterable[LedgerEntry]) -> None:
        rows = [_row(entry) for entry in entries]
        for start in range(0, len(rows), _BATCH):
            async with self._store.append() as connection:
                await _upsert(connection, rows[start : start + _BATCH])


def _row(entry: LedgerEntry) -> dict[str, object]:
    return asdict(entry) | {"locations": list(entry.locations)}


async def _upsert(connection: AsyncConnection, rows: Sequence[Mapping[str, object]]) -> None:
    """Insert entries. Existing ones are updated only in the columns that grow as URLs are signed."""
    statement = insert_into(ledger, connection.dialect.name)
    grown = {name: statement.excluded[name] for name in _UPDATED}
    await connection.execute(statement.on_conflict_do_update(index_elements=["id"], set_=grown), rows)


class UrlRecord:
    """Records the URLs of one response."""

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
        """Record a batch of signed URLs."""
        entry = self.entry
        entry.files = (entry.files or 0) + files
        entry.expires_at = max(entry.expires_at or 0, expires_at)
        self._ledger.note(entry)
        note_issued("urls", entry.id, expires_at=expires_at)
        self._notify(entry.batch_event(self._principal, files, expires_at))
