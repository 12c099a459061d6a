"""Keeps the keys of an issuer current, without asking it more often than it deserves."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable

from sluicegate.access.oidc.discovery import KeyFetcher
from sluicegate.access.oidc.fetch import FetchFailed
from sluicegate.access.oidc.keys import KeySet, VerificationKey
from sluicegate.config import OidcSettings
from sluicegate.errors import Unavailable

log = logging.getLogger(__name__)

_SECONDS_BETWEEN_ATTEMPTS = 10.0


class KeySource:
    """The keys of one issuer, cached.

    Known keys are served at once; they are renewed in the background when they are `max_age` old, and
    served until they are `max_stale` old where that fails. A key that is not known is asked for, but
    the issuer is asked at most once in ten seconds, however many tokens with made-up keys there are.

    Args:
        fetcher: Gets the issuer's key set; closed with the source.
        on_change: Called when the keys have changed.
        max_age: Seconds.
        max_stale: Seconds, since the keys were last fetched.
        clock: Monotonic seconds.
    """

    def __init__(
        self,
        fetcher: KeyFetcher,
        on_change: Callable[[], None],
        *,
        max_age: float,
        max_stale: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._fetcher = fetcher
        self._on_change = on_change
        self._max_age = max_age
        self._max_stale = max(max_stale, max_age)
        self._clock = clock
        self._keys: KeySet | None = None
        self._fetched_at = self._tried_at = float("-inf")
        self._renewing: asyncio.Task[None] | None = None

    @classmethod
    def of(cls, settings: OidcSettings, on_change: Callable[[], None]) -> KeySource:
        """The keys of an issuer from the network; nothing is fetched before it is needed.

        Args:
            settings: The issuer's section.
            on_change: Called when the keys have changed.
        """
        return cls(
            KeyFetcher(settings),
            on_change,
            max_age=settings.keys_max_age,
            max_stale=settings.keys_max_stale,
        )

    async def ensure_current(self) -> KeySet:
        """The keys, which may be up to `max_stale` old.

        Raises:
            Unavailable: There are none, and the issuer does not answer.
        """
        age = self._clock() - self._fetched_at
        if self._keys is None or age >= self._max_stale:
            await self._renew()
            age = self._clock() - self._fetched_at
        elif age >= self._max_age:
            self._start_renewal()
        if self._keys is None or age >= self._max_stale:
            raise Unavailable("the issuer of the access token does not answer; try again later")
        return self._keys

    async def find(self, key_id: object, algorithm: object) -> VerificationKey | None:
        """The key that a token's header names; `None` if the issuer has no such key.

        Raises:
            Unavailable: The issuer does not answer, so that it cannot be told.
        """
        found = (await self.ensure_current()).find(key_id, algorithm)
        if found is not None:
            return found
        await self._renew()
        found = (await self.ensure_current()).find(key_id, algorithm)
        if found is None and self._tried_at > self._fetched_at:
            raise Unavailable("the issuer of the access token does not answer; try again later")
        return found

    async def aclose(self) -> None:
        """Give up what is under way."""
        if self._renewing is not None:
            self._renewing.cancel()
            await asyncio.gather(self._renewing, return_exceptions=True)
        await self._fetcher.aclose()

    async def _renew(self) -> None:
        """Fetch the keys, unless they were just fetched; who comes meanwhile waits for the same."""
        self._start_renewal()
        if self._renewing is not None:
            await asyncio.shield(self._renewing)

    def _start_renewal(self) -> None:
        if self._renewing is None and self._clock() >= self._tried_at + _SECONDS_BETWEEN_ATTEMPTS:
            self._tried_at = self._clock()
            self._renewing = asyncio.create_task(self._fetch_keys())
            self._renewing.add_done_callback(self._end_renewal)

    def _end_renewal(self, _: asyncio.Task[None]) -> None:
        self._renewing = None

    async def _fetch_keys(self) -> None:
        try:
            keys = await self._fetcher.fetch()
        except FetchFailed as error:
            log.warning("the keys of an OIDC issuer were not renewed: %s", error)
            return
        self._fetched_at = self._tried_at
        if self._keys is None or not keys.same_as(self._keys):
            self._keys = keys
            self._on_change()
