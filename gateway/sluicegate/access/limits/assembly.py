"""Assembles the limits of recipients and addresses of a gateway."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

from starlette.responses import Response
from starlette.types import ASGIApp

from sluicegate.access.grants import Grants
from sluicegate.access.limits.addresses import AddressLimit
from sluicegate.access.limits.bucket import Rate
from sluicegate.access.limits.recipients import RecipientLimiter
from sluicegate.access.limits.rows import add_use, delete_old_use, load_limits, load_use
from sluicegate.api.errors import SluicegateError, Unavailable
from sluicegate.config import Settings
from sluicegate.database import Store

log = logging.getLogger(__name__)

# Seconds: between two exchanges of what recipients were offered, before a failed one is repeated, and
# until all of a day is read again, also what transactions have written that took long to commit.
INTERVAL = 2.0
_RETRY = 5.0
_READ_ALL = 600.0


class LimitSync:
    """Reads the limits of the shares file when it changes, and exchanges the use of recipients.

    While there are quotas of a day, what this gateway offered is written every `interval` seconds, and
    what others offered since the last time is read.
    """

    def __init__(
        self,
        store: Store,
        limiter: RecipientLimiter,
        *,
        interval: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._clock = clock
        self._limiter = limiter
        self._interval = INTERVAL if interval is None else interval
        self._changed = asyncio.Event()
        self._due = asyncio.Event()
        self._stopping = asyncio.Event()
        self._cleaned = -1  # the day on which old rows were deleted
        # The day that was read completely, and when; and when rows that had changed were read.
        self._complete, self._complete_at, self._read_at = -1, 0.0, 0.0

    def changed(self) -> None:
        """The recipients in the database have changed."""
        self._changed.set()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Read limits and today's use, keep them current until the block ends, then write the rest."""
        await self._reload()
        if self._limiter.has_quotas:
            await self.exchange()
        tasks = [
            asyncio.create_task(self._when(self._changed, 0.0, self._reload)),
            asyncio.create_task(self._when(self._due, self._interval, self._exchange_again)),
        ]
        try:
            yield
        finally:
            # They are not cancelled: what a transaction has written must not be written twice.
            self._stopping.set()
            await asyncio.gather(*tasks)
            try:
                if self._limiter.has_quotas:
                    await self.exchange()
            except Unavailable as error:
                log.error("what recipients were offered last cannot be counted: %s", error.message)

    async def exchange(self) -> None:
        """Write what this gateway offered, and read what others did."""
        use, today, now = self._limiter.use, self._limiter.today, self._clock()
        whole = self._complete != today or now - self._complete_at > _READ_ALL
        seconds = None if whole else now - self._read_at
        writing, done = use.begin_write(), False
        try:
            async with self._store.append() if writing else self._store.read() as connection:
                if writing:
                    await add_use(connection, writing)
                    if self._cleaned != today:
                        await delete_old_use(connection, today)
                        self._cleaned = today
                stored = await load_use(connection, today, seconds)
            done = True
        finally:
            if done:
                use.written()
            else:
                use.not_written()
        use.learn(today, stored)
        self._read_at = now
        if whole:
            self._complete, self._complete_at = today, now

    async def _exchange_again(self) -> None:
        await self.exchange()
        if self._limiter.has_quotas:
            self._due.set()

    async def _reload(self) -> None:
        async with self._store.read() as connection:
            self._limiter.adopt(await load_limits(connection))
        if self._limiter.has_quotas:
            self._due.set()

    async def _when(
        self, event: asyncio.Event, pause: float, step: Callable[[], Awaitable[None]]
    ) -> None:
        """Run a step some time after each event, until the gateway stops."""
        while await self._until(event) and not await self._stops_within(pause):
            event.clear()
            try:
                await step()
            except Unavailable as error:
                log.warning("limits of recipients are not current: %s [%s]", error, error.detail)
                event.set()
                await self._stops_within(_RETRY)

    async def _until(self, event: asyncio.Event) -> bool:
        """Wait for an event. Returns whether the gateway still runs."""
        waiting = [asyncio.ensure_future(each.wait()) for each in (event, self._stopping)]
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in waiting:
                each.cancel()
        return not self._stopping.is_set()

    async def _stops_within(self, seconds: float) -> bool:
        if seconds:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), seconds)
        return self._stopping.is_set()


@asynccontextmanager
async def recipient_limits(
    settings: Settings, store: Store, grants: Grants
) -> AsyncIterator[RecipientLimiter]:
    """The limits of recipients, which are kept current until the block ends."""
    limiter = RecipientLimiter(settings.limits.recipient, settings.limits.address)
    sync = LimitSync(store, limiter)
    grants.on_change(sync.changed, ["recipients"])
    async with sync.running():
        yield limiter


def limit_addresses(
    app: ASGIApp, settings: Settings, refuse: Callable[[str, SluicegateError], Response]
) -> ASGIApp:
    """The application, with the limits of addresses if there are any."""
    limits = settings.limits.address
    per_minute, concurrent = limits.requests_per_minute, limits.concurrent_requests
    if per_minute is None and concurrent is None:
        return app
    rate = None if per_minute is None else Rate(per_minute, limits.burst or per_minute)
    return AddressLimit(app, refuse, rate=rate, concurrent=concurrent)
