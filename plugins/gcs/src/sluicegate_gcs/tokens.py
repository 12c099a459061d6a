"""Access tokens of Google, and how they are kept fresh."""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import anyio

from sluicegate.api import StorageError, TemporaryCredentials

_logger = logging.getLogger(__name__)

_RETRY_MS = 30_000


@dataclass(frozen=True, slots=True)
class AccessToken:
    """An OAuth token, and when Google refuses it (epoch milliseconds); `repr` does not show it."""

    value: str = field(repr=False)
    expires_at: int


class FreshTokens:
    """The tokens of a loader, loaded anew when half of their life is gone.

    What is made from a token, ends with it: renewing at half leaves recipients at least that long.
    When renewing fails, the old token serves until it expires.
    """

    def __init__(
        self, load: Callable[[], Awaitable[AccessToken]], clock: Callable[[], float] = time.time
    ) -> None:
        self._load = load
        self._clock = clock
        self._lock = anyio.Lock()
        self._current: AccessToken | None = None
        self._due = 0

    async def get(self) -> AccessToken:
        """A token that has not expired.

        Raises:
            StorageError: There is none, or who gives them does not answer.
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

    def _another_renews(self, current: AccessToken) -> bool:
        return self._lock.locked() and current.expires_at > self._now()

    async def _renewed(self, current: AccessToken | None) -> AccessToken:
        try:
            loaded = await self._load()
        except StorageError as error:
            if current is None or current.expires_at <= self._now():
                raise
            _logger.warning("Google's token could not be renewed, using the old one: %s", error)
            self._due = self._now() + _RETRY_MS
            return current
        self._due = (self._now() + loaded.expires_at) // 2
        return loaded


def given_token(given: TemporaryCredentials) -> AccessToken:
    """The token that a vendor gave, in the plugin's own form.

    Raises:
        StorageError: The credentials are another cloud's, or incomplete.
    """
    if given.kind != "gcp" or "oauth_token" not in given.secret or given.expires_at is None:
        raise StorageError(
            "the credentials given for this table do not open its storage; ask the gateway's operator",
            detail=f"{given.kind} credentials ({sorted(given.secret)}) for {given.location}",
        )
    return AccessToken(given.secret["oauth_token"], given.expires_at)
