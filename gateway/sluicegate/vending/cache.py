"""Credentials that were vended lately, reused for the same recipient while they are young."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass

from sluicegate.clock import epoch_ms
from sluicegate.lru import LRU
from sluicegate.nouns import TemporaryCredentials
from sluicegate.tables.singleflight import SingleFlight

_CAPACITY = 10_000


@dataclass(frozen=True, slots=True)
class Vended:
    """Credentials, and when they were asked for (epoch milliseconds)."""

    credentials: TemporaryCredentials
    issued_at: int

    def reusable(self, now: int, since: int) -> bool:
        """Whether at least half of the life is left, and they are younger than `since`."""
        expires_at = self.credentials.expires_at
        if expires_at is None or self.issued_at <= since:
            return False
        return expires_at - now >= now - self.issued_at


# Given the moment from which on the credentials are reckoned to live.
Vend = Callable[[int], Awaitable[TemporaryCredentials]]


class CredentialCache:
    """Keeps a bounded number of credentials; concurrent requests for the same ones vend once.

    Args:
        now: Epoch milliseconds.
        capacity: How many credentials are kept.
    """

    def __init__(self, now: Callable[[], int] = epoch_ms, capacity: int = _CAPACITY) -> None:
        self._now = now
        self._kept: LRU[Hashable, Vended] = LRU(capacity)
        self._flights = SingleFlight[Vended]()

    def get(self, key: Hashable, since: int) -> Vended | None:
        """What is kept under a key and still young enough.

        Args:
            key: All that tells credentials apart, the recipient first.
            since: Epoch milliseconds; what is older is not reused: its sessions may have been ended.
        """
        kept = self._kept.get(key)
        return kept if kept is not None and kept.reusable(self._now(), since) else None

    async def vend(self, key: Hashable, since: int, make: Vend) -> Vended:
        """New credentials under a key; who asks while they are made gets the same ones."""
        return await self._flights.run((key, since), lambda: self._make(key, make))

    async def aclose(self) -> None:
        """Stop what is still being made."""
        await self._flights.aclose()

    async def _make(self, key: Hashable, make: Vend) -> Vended:
        issued_at = self._now()
        vended = Vended(await make(issued_at), issued_at)
        self._kept.put(key, vended)
        return vended
