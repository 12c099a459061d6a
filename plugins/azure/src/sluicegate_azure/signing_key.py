"""Keys that sign shared access signatures, and how they are kept fresh."""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import anyio

from sluicegate.api import StorageError

_logger = logging.getLogger(__name__)

_RETRY_MS = 30_000


@dataclass(frozen=True, slots=True)
class Delegation:
    """Who a user delegation key acts for and when it is valid, as Azure spelled it.

    Attributes:
        oid: Object id of the identity.
        tid: Its tenant.
        start: When the key begins, ISO 8601 in UTC.
        expiry: When it ends, likewise.
        service: `b`, the blob service.
        version: The service version that made the key.
    """

    oid: str
    tid: str
    start: str
    expiry: str
    service: str
    version: str


@dataclass(frozen=True, slots=True)
class SigningKey:
    """What signs; `repr` shows no secret.

    Attributes:
        value: The key's bytes.
        delegation: What its signatures carry of a user delegation key; `None` for an account key.
        expires_at: When its signatures end, epoch milliseconds; `None` where they do not.
    """

    value: bytes = field(repr=False)
    delegation: Delegation | None = None
    expires_at: int | None = None


class FreshKey:
    """A signing key, loaded anew when half of its life is gone.

    Signatures die with their key: renewing at half keeps them alive for at least that long. When
    renewing fails, the old key serves until it ends.

    Args:
        load: Gets a key that is valid now, or raises `StorageError`.
        clock: Epoch seconds.
    """

    def __init__(
        self, load: Callable[[], Awaitable[SigningKey]], clock: Callable[[], float] = time.time
    ) -> None:
        self._load = load
        self._clock = clock
        self._lock = anyio.Lock()
        self._current: SigningKey | None = None
        self._due = 0.0

    async def get(self) -> SigningKey:
        """A key that has not ended.

        Raises:
            StorageError: There is none, or who gives it does not answer.
        """
        current = self._current
        if current is not None and (not self._is_due() or self._another_renews(current)):
            return current
        async with self._lock:
            if self._current is None or self._is_due():
                self._current = await self._renewed(self._current)
            return self._current

    def _now(self) -> int:
        return int(self._clock() * 1000)

    def _is_due(self) -> bool:
        return self._now() >= self._due

    def _another_renews(self, current: SigningKey) -> bool:
        return self._lock.locked() and self._is_alive(current)

    def _is_alive(self, key: SigningKey) -> bool:
        return key.expires_at is None or key.expires_at > self._now()

    async def _renewed(self, current: SigningKey | None) -> SigningKey:
        try:
            loaded = await self._load()
        except StorageError as error:
            if current is None or not self._is_alive(current):
                raise
            _logger.warning("Azure's delegation key could not be renewed, using the old one: %s", error)
            self._due = self._now() + _RETRY_MS
            return current
        end = loaded.expires_at
        self._due = float("inf") if end is None else (self._now() + end) / 2
        return loaded
