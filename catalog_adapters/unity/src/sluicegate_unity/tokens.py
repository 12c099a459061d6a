"""The bearer tokens that the gateway shows to the catalog, renewed before they expire."""

from __future__ import annotations

import asyncio
import logging
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final

from sluicegate.api import SecretStr, Unavailable

_MARGIN_SECONDS: Final = 300.0
_MARGIN_SHARE: Final = 0.2
# A token that still works is used on; its renewal is tried again after this.
_RETRY_SECONDS: Final = 5.0

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class AccessToken:
    """A token, and for how many seconds it works; `None` where nobody said."""

    value: str = field(repr=False)
    expires_in: float | None


class TokenSource(ABC):
    """Where tokens come from."""

    @abstractmethod
    async def token(self) -> str | None:
        """The token to show; `None` where the catalog asks for none.

        Raises:
            Unavailable: There is none now.
        """

    async def renewed(self, rejected: str | None) -> str | None:
        """Another token instead of one that the catalog does not take; `None` if there is no other.

        Raises:
            Unavailable: There is none now.
        """
        return None

    async def aclose(self) -> None:  # noqa: B027 (a fixed token has nothing to stop)
        """Stop a renewal that is under way."""


class FixedToken(TokenSource):
    """One token for ever, or none."""

    def __init__(self, token: SecretStr | None) -> None:
        self._token = token

    async def token(self) -> str | None:
        """See `TokenSource.token`."""
        return None if self._token is None else self._token.get_secret_value()


class RenewedToken(TokenSource):
    """Tokens that expire. However many ask, one renewal is under way.

    Args:
        fetch: Gets a new one; raises `Unavailable`.
        clock: Seconds, monotonic.
    """

    def __init__(
        self,
        fetch: Callable[[], Awaitable[AccessToken]],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._fetch = fetch
        self._clock = clock
        self._current: AccessToken | None = None
        self._renew_at = self._expires_at = float("-inf")
        self._renewal: asyncio.Task[str] | None = None

    async def token(self) -> str | None:
        """See `TokenSource.token`."""
        current = self._current
        if current is not None and self._clock() < self._renew_at:
            return current.value
        try:
            return await self._renew()
        except Unavailable as error:
            if current is None or self._clock() >= self._expires_at:
                raise
            self._renew_at = self._clock() + _RETRY_SECONDS
            log.warning("an access token is used on: %s [%s]", error.message, error.detail)
            return current.value

    async def renewed(self, rejected: str | None) -> str | None:
        """See `TokenSource.renewed`; a token that came meanwhile is the other."""
        current = self._current
        if current is not None and current.value != rejected:
            return current.value
        return await self._renew()

    async def aclose(self) -> None:
        """See `TokenSource.aclose`."""
        if self._renewal is not None:
            self._renewal.cancel()
            await asyncio.gather(self._renewal, return_exceptions=True)

    async def _renew(self) -> str:
        if self._renewal is None:
            self._renewal = asyncio.create_task(self._fetched())
            self._renewal.add_done_callback(self._over)
        # Who gives up waiting does not take the token from the others.
        return await asyncio.shield(self._renewal)

    async def _fetched(self) -> str:
        asked_at = self._clock()
        fetched = await self._fetch()
        lifetime = float("inf") if fetched.expires_in is None else fetched.expires_in
        self._expires_at = asked_at + lifetime
        self._renew_at = self._expires_at - min(_MARGIN_SECONDS, lifetime * _MARGIN_SHARE)
        self._current = fetched
        return fetched.value

    def _over(self, task: asyncio.Task[str]) -> None:
        self._renewal = None
        if not task.cancelled():
            task.exception()  # nobody may be waiting any more
