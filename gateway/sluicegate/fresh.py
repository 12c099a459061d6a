"""What is good for a while only (credentials, tokens, keys), loaded anew before it ends."""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable
from typing import Final, Generic, Protocol, TypeVar

import anyio

from sluicegate.errors import StorageError

_logger = logging.getLogger(__name__)

_RETRY_MS: Final = 30_000


class Expiring(Protocol):
    """Something with an end."""

    @property
    def expires_at(self) -> int | None:
        """Epoch milliseconds; `None` is never, or not known."""


_Value = TypeVar("_Value", bound=Expiring)


class Fresh(Generic[_Value]):
    """The values of a loader, loaded anew when half of their life is gone.

    What is made from a value, such as a presigned URL, dies with it: renewing at half leaves recipients
    at least that long. Of many that ask at once, one renews; the others use the old value while it
    lives. When renewing fails, it serves until it ends, and half a minute passes between attempts.

    Args:
        load: Gets a value that is valid now, or raises `StorageError`.
        what: Names the values where renewing fails, in the log.
        reload_after: Seconds after which a value without an end is loaded anew; `None` is never.
        clock: Epoch seconds.
    """

    def __init__(
        self,
        load: Callable[[], Awaitable[_Value]],
        what: str,
        *,
        reload_after: int | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._load = load
        self._what = what
        self._endless_ms = float("inf") if reload_after is None else reload_after * 1000
        self._clock = clock
        self._lock = anyio.Lock()
        self._current: _Value | None = None
        self._due = 0.0

    async def get(self) -> _Value:
        """A value that has not ended.

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

    def _another_renews(self, current: _Value) -> bool:
        return self._lock.locked() and self._is_alive(current)

    def _is_alive(self, value: _Value) -> bool:
        return value.expires_at is None or value.expires_at > self._now()

    async def _renewed(self, current: _Value | None) -> _Value:
        try:
            loaded = await self._load()
        except StorageError as error:
            if current is None or not self._is_alive(current):
                raise
            _logger.warning("%s could not be renewed, using the old: %s", self._what, error)
            self._due = self._now() + _RETRY_MS
            return current
        now, end = self._now(), loaded.expires_at
        self._due = now + self._endless_ms if end is None else (now + end) / 2
        return loaded
