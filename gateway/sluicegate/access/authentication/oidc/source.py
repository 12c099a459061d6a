"""Caches the keys of an issuer, and limits how often they are requested."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable

from sluicegate._util.tasks import cancel_all
from sluicegate.access.authentication.oidc.discovery import KeyFetcher
from sluicegate.access.authentication.oidc.fetch import FetchFailed
from sluicegate.access.authentication.oidc.keys import KeySet, VerificationKey
from sluicegate.api.errors import Unavailable
from sluicegate.config.sections.authentication import IssuerSettings

log = logging.getLogger(__name__)

_SECONDS_BETWEEN_ATTEMPTS = 10.0


class KeySource:
    """The keys of one issuer, cached.

    Known keys are returned immediately. They are refreshed in the background after `max_age`. If this
    fails, they are used until `max_stale`. Unknown keys are requested from the issuer, but at most once
    in 10 seconds, so that tokens with invented keys don't cause requests.
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
    def of(cls, settings: IssuerSettings, on_change: Callable[[], None]) -> KeySource:
        """Create a source that fetches the issuer's keys when they are needed."""
        return cls(
            KeyFetcher(settings),
            on_change,
            max_age=settings.keys_max_age,
            max_stale=settings.keys_max_stale,
        )

    async def ensure_current(self) -> KeySet:
        """Return the keys, which can be up to `max_stale` old."""
        age = self._clock() - self._fetched_at
        if self._keys is None or age >= self._max_stale:
            await self._renew()
            age = self._clock() - self._fetched_at
        elif age >= self._max_age:
            self._start_renewal()
        if self._keys is None or age >= self._max_stale:
            raise Unavailable("the issuer of the access token does not respond; try again later")
        return self._keys

    async def find(self, key_id: object, algorithm: object) -> VerificationKey | None:
        """Return the key that a token's header names; `None` if the issuer has no such key."""
        found = (await self.ensure_current()).find(key_id, algorithm)
        if found is not None:
            return found
        await self._renew()
        found = (await self.ensure_current()).find(key_id, algorithm)
        if found is None and self._tried_at > self._fetched_at:
            raise Unavailable("the issuer of the access token does not respond; try again later")
        return found

    async def aclose(self) -> None:
        """Cancel a running request."""
        if self._renewing is not None:
            await cancel_all(self._renewing)
        await self._fetcher.aclose()

    async def _renew(self) -> None:
        """Fetch the keys, unless they were just fetched. Concurrent callers share the request."""
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
