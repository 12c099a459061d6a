"""Caches vended credentials, for reuse by the same recipient in the first half of their lifetime."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass

from sluicegate._util.clock import epoch_ms
from sluicegate._util.lru import LRU
from sluicegate._util.singleflight import SingleFlight
from sluicegate.api.vending import TemporaryCredentials

_CAPACITY = 10_000


@dataclass(frozen=True, slots=True)
class Vended:
    """Credentials, and when they were requested (epoch milliseconds)."""

    credentials: TemporaryCredentials
    issued_at: int

    def reusable(self, now: int, since: int) -> bool:
        """Whether at least half of the lifetime remains, and they were requested after `since`."""
        expires_at = self.credentials.expires_at
        if expires_at is None or self.issued_at <= since:
            return False
        return expires_at - now >= now - self.issued_at


# The argument is the time from which the lifetime of the credentials is measured.
Vend = Callable[[int], Awaitable[TemporaryCredentials]]


class CredentialCache:
    """Caches a limited number of credentials. Concurrent requests for the same ones vend once."""

    def __init__(self, now: Callable[[], int] = epoch_ms, capacity: int = _CAPACITY) -> None:
        self._now = now
        self._kept: LRU[Hashable, Vended] = LRU(capacity)
        self._flights = SingleFlight[Vended]()

    def get(self, key: Hashable, since: int) -> Vended | None:
        """Return the cached credentials of a key if they are reusable.

        Args:
            since: Epoch milliseconds. Older credentials are not reused, because their sessions might
                have been ended.
        """
        kept = self._kept.get(key)
        return kept if kept is not None and kept.reusable(self._now(), since) else None

    async def vend(self, key: Hashable, since: int, make: Vend) -> Vended:
        """Vend new credentials for a key. Concurrent callers get the same ones."""
        return await self._flights.run((key, since), lambda: self._make(key, make))

    async def aclose(self) -> None:
        """Cancel vending in progress."""
        await self._flights.aclose()

    async def _make(self, key: Hashable, make: Vend) -> Vended:
        issued_at = self._now()
        vended = Vended(await make(issued_at), issued_at)
        self._kept.put(key, vended)
        return vended
