"""Values that expire (credentials, tokens, keys), and are reloaded before they do."""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable
from typing import Final, Generic, Protocol, TypeVar

import anyio

from sluicegate.api.errors import Unavailable

_logger = logging.getLogger(__name__)

_RETRY_MS: Final = 30_000
_MARGIN_SHARE: Final = 0.2


class Expiring(Protocol):
    """A value that can expire."""

    @property
    def expires_at(self) -> int | None:
        """Time of expiry in epoch milliseconds; `None` if it never expires or the time is unknown."""


_Value = TypeVar("_Value", bound=Expiring)


class RefreshingValue(Generic[_Value]):
    """Provides a value that is reloaded after half of its lifetime, or shortly before it expires.

    A presigned URL expires together with the credentials that signed it. Renewal after half of the
    lifetime leaves recipients at least the other half. For tokens that sign nothing, set `margin`, so
    that they are used for longer. Of concurrent callers, one renews the value, and the others get the
    old one until it expires. If renewal fails, the old value stays in use until it expires, with half a
    minute between attempts.

    Args:
        load: Returns a valid value, or raises `Unavailable`.
        what: Name of the value in log lines about failed renewals.
        reload_after: Seconds after which a value without expiry is reloaded; `None` is never.
        margin: Seconds before its expiry at which a value is reloaded, or a fifth of its lifetime if
            that is shorter; `None` is half of its lifetime.
        clock: Epoch seconds.
    """

    def __init__(
        self,
        load: Callable[[], Awaitable[_Value]],
        what: str,
        *,
        reload_after: int | None = None,
        margin: int | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._load = load
        self._what = what
        self._endless_ms = float("inf") if reload_after is None else reload_after * 1000
        self._margin = margin
        self._clock = clock
        self._lock = anyio.Lock()
        self._current: _Value | None = None
        self._due = 0.0

    async def get(self) -> _Value:
        """Return a value that has not expired.

        Raises:
            Unavailable: There is no valid value, and the loader cannot get one.
        """
        current = self._current
        if current is not None and (not self._is_due() or self._another_renews(current)):
            return current
        async with self._lock:
            if self._current is None or self._is_due():
                self._current = await self._renewed(self._current)
            return self._current

    async def instead_of(self, refused: _Value) -> _Value:
        """Return another value than one that was rejected before its expiry.

        If several callers report the same value, it is reloaded once for all of them.

        Raises:
            Unavailable: There is no valid value, and the loader cannot get one.
        """
        async with self._lock:
            if self._current is None or self._current == refused:
                self._current = await self._loaded()
            return self._current

    def _now(self) -> int:
        return int(self._clock() * 1000)

    def _is_due(self) -> bool:
        return self._now() >= self._due

    def _another_renews(self, current: _Value) -> bool:
        return self._lock.locked() and self._is_alive(current)

    def _is_alive(self, value: _Value) -> bool:
        return value.expires_at is None or value.expires_at > self._now()

    async def _renewed(self, current: _Value | None) -> _Value:
        try:
            return await self._loaded()
        except Unavailable as error:
            if current is None or not self._is_alive(current):
                raise
            _logger.warning(
                "%s could not be renewed, using the old value: %s", self._what, error.for_operators
            )
            retry = self._now() + _RETRY_MS
            self._due = retry if current.expires_at is None else min(retry, current.expires_at)
            return current

    async def _loaded(self) -> _Value:
        asked_at = self._now()
        loaded = await self._load()
        self._due = self._due_of(loaded, asked_at)
        return loaded

    def _due_of(self, loaded: _Value, asked_at: int) -> float:
        end = loaded.expires_at
        if end is None:
            return asked_at + self._endless_ms
        if self._margin is None:
            return (asked_at + end) / 2
        return end - min(self._margin * 1000, (end - asked_at) * _MARGIN_SHARE)
