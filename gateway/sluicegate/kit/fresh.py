"""What is good for a while only (credentials, tokens, keys), loaded anew before it ends."""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable
from typing import Final, Generic, Protocol, TypeVar

import anyio

from sluicegate.errors import Unavailable

_logger = logging.getLogger(__name__)

_RETRY_MS: Final = 30_000
_MARGIN_SHARE: Final = 0.2


class Expiring(Protocol):
    """Something with an end."""

    @property
    def expires_at(self) -> int | None:
        """Epoch milliseconds; `None` is never, or not known."""


_Value = TypeVar("_Value", bound=Expiring)


class Fresh(Generic[_Value]):
    """The values of a loader, loaded anew when half of their life is gone, or shortly before their end.

    What is made from a value, such as a presigned URL, dies with it: renewing at half leaves recipients
    at least that long. A token from which nothing is made is good nearly to its end: there, give a
    margin. Of many that ask at once, one renews; the others use the old value while it lives. When
    renewing fails, it serves until it ends, and half a minute passes between attempts.

    Args:
        load: Gets a value that is valid now, or raises `Unavailable`.
        what: Names the values where renewing fails, in the log.
        reload_after: Seconds after which a value without an end is loaded anew; `None` is never.
        margin: Seconds before its end at which a value is loaded anew, or a fifth of its life where
            that is shorter; `None` is half of its life.
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
        """A value that has not ended.

        Raises:
            Unavailable: There is none, or who gives it does not answer.
        """
        current = self._current
        if current is not None and (not self._is_due() or self._another_renews(current)):
            return current
        async with self._lock:
            if self._current is None or self._is_due():
                self._current = await self._renewed(self._current)
            return self._current

    async def instead_of(self, refused: _Value) -> _Value:
        """Another value than one that was not taken, though it has not ended.

        Of many whose value was refused, one loads another; it is for all of them.

        Raises:
            Unavailable: There is none, or who gives it does not answer.
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
                "%s could not be renewed, using the old: %s", self._what, error.for_operators
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
