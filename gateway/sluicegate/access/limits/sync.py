"""Shares limits and their use with other gateways through the database, in the background."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

from sluicegate.access.limits.recipients import RecipientLimiter
from sluicegate.access.limits.rows import add_use, delete_old_use, load_limits, load_use
from sluicegate.api.errors import Unavailable
from sluicegate.database import Store

log = logging.getLogger(__name__)

# Seconds: between two exchanges of what recipients were offered, and before a failed one is repeated.
INTERVAL = 2.0
_RETRY = 5.0


class LimitSync:
    """Reads the limits of the shares file when it changes, and exchanges the use of recipients.

    Only while recipients with quotas of a day send requests, what this gateway offers them is written
    every `interval` seconds, and what all gateways offered them is read.

    Args:
        store: The open database.
        limiter: Applies the limits.
        interval: Seconds between two exchanges; by default, `INTERVAL`.
    """

    def __init__(
        self, store: Store, limiter: RecipientLimiter, *, interval: float | None = None
    ) -> None:
        self._store = store
        self._limiter = limiter
        self._interval = INTERVAL if interval is None else interval
        self._changed = asyncio.Event()
        self._active = asyncio.Event()
        self._stopping = asyncio.Event()
        self._cleaned = -1  # the day on which old rows were deleted
        limiter.on_active = self._active.set

    def changed(self) -> None:
        """The shares, grants or recipients in the database have changed."""
        self._changed.set()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Read limits and today's use, keep them current until the block ends, then write the rest.

        Raises:
            Unavailable: The database does not respond.
        """
        await self._reload()
        await self._read_use()
        tasks = [
            asyncio.create_task(self._when(self._changed, 0.0, self._reload)),
            asyncio.create_task(self._when(self._active, self._interval, self.exchange)),
        ]
        try:
            yield
        finally:
            # They are not cancelled: what a transaction has written must not be written twice.
            self._stopping.set()
            await asyncio.gather(*tasks)
            try:
                await self.exchange()
            except Unavailable as error:
                log.error("what recipients were offered last cannot be counted: %s", error.message)

    async def exchange(self) -> None:
        """Write what this gateway offered, and read what all gateways offered to active recipients.

        Raises:
            Unavailable: The database does not respond.
        """
        limiter = self._limiter
        use, today = limiter.use, limiter.today
        writing = use.begin_write()
        active, limiter.active = limiter.active, set()
        if not writing and not active:
            return
        complete = False
        try:
            async with self._store.append() as connection:
                await add_use(connection, writing)
                if self._cleaned != today:
                    await delete_old_use(connection, today)
                stored = await load_use(connection, today, active)
            complete = True
        finally:
            if complete:
                use.written()
                self._cleaned = today
                use.learn(today, stored)
            else:
                use.not_written()
                limiter.active |= active

    async def _reload(self) -> None:
        async with self._store.read() as connection:
            self._limiter.adopt(await load_limits(connection))

    async def _read_use(self) -> None:
        limiter = self._limiter
        if limiter.has_quotas:
            async with self._store.read() as connection:
                limiter.use.learn(limiter.today, await load_use(connection, limiter.today))

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
