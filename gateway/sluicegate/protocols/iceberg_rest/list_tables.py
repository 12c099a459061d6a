"""Which tables a listing shows: those that can be loaded, in one of the ways."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from sluicegate._util.background_jobs import BackgroundJobs
from sluicegate._util.lru import LRU
from sluicegate.api import CatalogTable, Principal, SharedTable
from sluicegate.api.errors import SluicegateError
from sluicegate.protocols.common.iceberg_eligibility import IcebergOffers
from sluicegate.protocols.common.offer_cache import OfferCache
from sluicegate.protocols.common.resolver import Resolver
from sluicegate.protocols.iceberg_rest.errors import NoSuchTable

log = logging.getLogger(__name__)

_CAPACITY = 20_000  # tables
_AT_ONCE = 8
_TIMEOUT = 5.0  # seconds that a listing waits for tables that were not read before
_MAX_AGE = 300.0  # seconds


CheckFiles = Callable[[Principal, SharedTable, CatalogTable], Awaitable[None]]
"""Checks that a table can be read file by file; raises `NoSuchTable` if not."""


@dataclass(frozen=True, slots=True)
class _Offer:
    """Where a table is, and whether it is offered with credentials, or else file by file."""

    source: CatalogTable
    credentials: bool
    files: bool


@dataclass(frozen=True, slots=True)
class _Verdict:
    """Whether a table could be loaded file by file when it was read, and until when that is used."""

    shared: SharedTable
    source_id: str
    loadable: bool
    due_at: float


class TableListing:
    """Selects the tables of listings.

    Whether a table can be expressed as an Iceberg table depends on its metadata. Tables that are
    offered file by file are therefore read before they are first listed. The results are cached. A
    listing does not wait longer than a few seconds, and shows tables that were not read until then.
    """

    def __init__(
        self,
        resolver: Resolver,
        offers: IcebergOffers,
        check: CheckFiles,
        background: BackgroundJobs,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        def compute(shared: SharedTable, source: CatalogTable) -> _Offer:
            credentials = offers.obstacle(shared, source) is None
            return _Offer(source, credentials, offers.file_obstacle(shared, source) is None)

        self._offers = OfferCache(resolver, compute, background)
        self._check = check
        self._background = background
        self._clock = clock
        self._turns = asyncio.Semaphore(_AT_ONCE)
        self._verdicts: LRU[str, _Verdict] = LRU(_CAPACITY)
        self._running: dict[str, asyncio.Task[None]] = {}

    async def of(self, principal: Principal, tables: Sequence[SharedTable]) -> list[SharedTable]:
        """The tables that can be loaded, in their order."""
        await self._offers.prefetch(tables)
        unread = [
            self._reading(principal, table, offer.source)
            for table in tables
            if (offer := self._by_files(table)) and self._verdict(table, offer.source) is None
        ]
        if unread:
            await asyncio.wait(unread, timeout=_TIMEOUT)
        return [table for table in tables if self._is_listed(table)]

    def _by_files(self, table: SharedTable) -> _Offer | None:
        """The offer of a table that can only be read file by file."""
        offer = self._offers.get(table)
        return offer if offer is not None and offer.files and not offer.credentials else None

    def _is_listed(self, table: SharedTable) -> bool:
        offer = self._offers.get(table)
        if offer is None or offer.credentials or not offer.files:
            return offer is not None and offer.credentials
        verdict = self._verdict(table, offer.source)
        return verdict is None or verdict.loadable

    def _verdict(self, table: SharedTable, source: CatalogTable) -> _Verdict | None:
        found = self._verdicts.get(table.id)
        if found is None or (found.shared, found.source_id) != (table, source.id):
            return None
        return found if self._clock() < found.due_at else None

    def _reading(
        self, principal: Principal, table: SharedTable, source: CatalogTable
    ) -> asyncio.Task[None]:
        """The task that reads a table, which all listings wait for together."""
        running = self._running.get(table.id)
        if running is None:
            running = self._running[table.id] = self._background.start(
                self._read(principal, table, source)
            )
            running.add_done_callback(lambda _: self._running.pop(table.id, None))
        return running

    async def _read(self, principal: Principal, table: SharedTable, source: CatalogTable) -> None:
        loadable = True
        async with self._turns:
            try:
                await self._check(principal, table, source)
            except NoSuchTable:
                loadable = False
            except SluicegateError as error:
                log.warning("the table %s is listed, but cannot be read: %s", table.full_name, error)
        due_at = self._clock() + _MAX_AGE
        self._verdicts.put(table.id, _Verdict(table, source.id, loadable, due_at))
