"""When a worker must stop, because another one may have taken its task over."""

from __future__ import annotations

import anyio


class LeaseDeadline:
    """The end of a lease, as far as the worker knows.

    The database's clock decides when a lease has ended. The worker counts from a time before the
    database prolonged the lease, so it never stops later than that.
    """

    def __init__(self, ttl: float, prolonged_at: float) -> None:
        self._ttl = ttl
        self._prolonged_at = prolonged_at

    def prolonged(self, since: float) -> None:
        """Note that the database has prolonged the lease, some time after `since`."""
        self._prolonged_at = max(self._prolonged_at, since)

    async def passed(self) -> None:
        """Wait until the lease has ended."""
        ends_at = 0.0
        while ends_at != self._prolonged_at + self._ttl:
            ends_at = self._prolonged_at + self._ttl
            await anyio.sleep_until(ends_at)
