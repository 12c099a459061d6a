"""Writes the ledger: what must be recorded first, at once; the rest in batches in the background."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict

from sqlalchemy import delete
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection

from sluicegate.clock import epoch_ms
from sluicegate.errors import Unavailable
from sluicegate.store import Store
from sluicegate.store.tables import ledger
from sluicegate.vending.entries import LedgerEntry

log = logging.getLogger(__name__)

_CAPACITY = 50_000
_BATCH = 500
# Seconds: how long entries gather, how soon a failed write is tried again, how often old ones go.
_GATHER = 1.0
_RETRY = 5.0
_PURGE = 3600.0
_UPDATED = ("expires_at", "files")


class Ledger:
    """The writing side of the ledger.

    Args:
        store: The open database.
        retention: Seconds for which entries are kept.
        now: Epoch milliseconds.
        capacity: Entries that wait at most; with a database that is down for long, more are lost.
    """

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
        """Record an entry now.

        Raises:
            Unavailable: The database does not answer.
        """
        await self._write_all([entry])

    def note(self, entry: LedgerEntry) -> None:
        """Record an entry soon; one of the same id takes the place of what was noted before."""
        if len(self._waiting) >= self._capacity and entry.id not in self._waiting:
            self._lost += 1
            return
        self._waiting[entry.id] = entry
        self._wake.set()

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[None]:
        """Write what is noted, and delete what is too old, until the block ends; then all the rest."""
        tasks = [asyncio.ensure_future(self._write_noted()), asyncio.ensure_future(self._purge())]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            if not await self.flush():
                log.error("the ledger lost %d entries: the database does not answer", self._unwritten)

    async def flush(self) -> bool:
        """Write what is noted so far; whether it could be."""
        writing, self._waiting = self._waiting, {}
        self._wake.clear()
        written = False
        try:
            await self._write_all(writing.values())
            written = True
        except Unavailable as error:
            log.warning("the ledger cannot be written: %s [%s]", error.message, error.detail)
        finally:
            if not written:  # also where the task was cancelled
                self._waiting = writing | self._waiting
        if written and self._lost:
            log.error("the ledger lost %d entries while the database did not answer", self._lost)
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

    async def _purge(self) -> None:
        while True:
            try:
                async with self._store.append() as connection:
                    oldest = self._now() - self._retention * 1000
                    await connection.execute(delete(ledger).where(ledger.c.given_at < oldest))
            except Unavailable as error:
                log.warning("old entries of the ledger cannot be deleted: %s", error.message)
            await asyncio.sleep(_PURGE)

    async def _write_all(self, entries: Iterable[LedgerEntry]) -> None:
        rows = [_row(entry) for entry in entries]
        for start in range(0, len(rows), _BATCH):
            async with self._store.append() as connection:
                await _upsert(connection, rows[start : start + _BATCH])


def _row(entry: LedgerEntry) -> dict[str, object]:
    return asdict(entry) | {"locations": list(entry.locations)}


async def _upsert(connection: AsyncConnection, rows: Sequence[Mapping[str, object]]) -> None:
    """Insert entries; of one that was written before, only what grows while URLs are signed changes."""
    dialect = postgresql if connection.dialect.name == "postgresql" else sqlite
    statement = dialect.insert(ledger)
    grown = {name: statement.excluded[name] for name in _UPDATED}
    await connection.execute(statement.on_conflict_do_update(index_elements=["id"], set_=grown), rows)
