"""Reads the fields of skills from the `SKILL.md` file in their directories, and caches them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Final
from weakref import WeakValueDictionary

import anyio
from obstore.exceptions import BaseError

from sluicegate._util.lru import LRU
from sluicegate.api import (
    CatalogTable,
    ObjectDirectory,
    Principal,
    SharedAsset,
    Unavailable,
    UnsupportedOperation,
)
from sluicegate.plugins import Instances
from sluicegate.protocols.delta_sharing.assets.front_matter import (
    MOST_BYTES,
    SkillFields,
    parse_front_matter,
)
from sluicegate.protocols.delta_sharing.assets.resolver import errors_about
from sluicegate.telemetry import span
from sluicegate.vending import Vending

_FILE: Final = "SKILL.md"
_MAX_AGE_SECONDS: Final = 60.0
_CAPACITY: Final = 10_000
_TIMEOUT_SECONDS: Final = 10.0
# Parsing holds the interpreter's lock, so more threads would only delay other requests.
_PARSERS: Final = 1


@dataclass(frozen=True, slots=True)
class _Cached:
    """The fields of a skill, or why they cannot be read, and when they were requested."""

    found: SkillFields | UnsupportedOperation
    requested_at: float


class SkillFiles:
    """Reads the front matter of `SKILL.md` files.

    Args:
        instances: Storage.
        vending: Vends the credentials to read with, if the catalog of a skill does.
        clock: Monotonic seconds.
    """

    def __init__(
        self, instances: Instances, vending: Vending, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._instances = instances
        self._vending = vending
        self._clock = clock
        self._cache: LRU[Hashable, _Cached] = LRU(_CAPACITY)
        self._reading: WeakValueDictionary[Hashable, asyncio.Lock] = WeakValueDictionary()
        self._parsers = anyio.CapacityLimiter(_PARSERS)

    async def fields(
        self, principal: Principal, shared: SharedAsset, source: CatalogTable
    ) -> SkillFields:
        """The fields of a skill, which are at most a minute old.

        Args:
            principal: The recipient.
            shared: The skill.
            source: Its directory.

        Raises:
            UnsupportedOperation: There is no valid `SKILL.md` in the directory.
            Unavailable: The store does not respond.
        """
        key = shared.id, shared.name, source.id, source.location
        async with self._reading.setdefault(key, asyncio.Lock()):
            cached = self._cache.get(key)
            now = self._clock()
            if cached is None or now - cached.requested_at >= _MAX_AGE_SECONDS:
                cached = _Cached(await self._read(principal, shared, source), now)
                self._cache.put(key, cached)
        if isinstance(cached.found, UnsupportedOperation):
            raise UnsupportedOperation(cached.found.message, detail=cached.found.detail)
        return cached.found

    async def _read(
        self, principal: Principal, shared: SharedAsset, source: CatalogTable
    ) -> SkillFields | UnsupportedOperation:
        content = await self._content(principal, shared, source)
        try:
            if content is None:
                raise ValueError("the directory does not contain it")
            found = await anyio.to_thread.run_sync(parse_front_matter, content, limiter=self._parsers)
            folder = source.location.rpartition("/")[2]
            if not found.name == shared.name == folder:
                raise ValueError("its name is not that of the skill and of its directory")
        except ValueError as error:
            return UnsupportedOperation(
                f"the skill {shared.full_name} cannot be read: ask the provider to correct its "
                f"{_FILE} ({error})",
                detail=source.location,
            )
        return found

    async def _content(
        self, principal: Principal, shared: SharedAsset, source: CatalogTable
    ) -> bytes | None:
        """The beginning of the file, or `None` if there is no file."""
        try:
            with errors_about(shared), anyio.fail_after(_TIMEOUT_SECONDS):
                canonical, storage = self._instances.storage_for(source.location)
                credentials = await self._vending.for_gateway(principal, source)
                directory = await storage.open(canonical, credentials)
                return await _beginning(directory)
        except (BaseError, OSError, TimeoutError, ValueError) as error:
            raise Unavailable(
                f"the skill {shared.full_name} cannot be read now; try again later", detail=str(error)
            ) from error


async def _beginning(directory: ObjectDirectory) -> bytes | None:
    key = directory.key(_FILE)
    try:
        with span("store.head"):
            size = (await directory.store.head_async(key))["size"]
        if size == 0:
            return b""
        end = min(size, MOST_BYTES)
        with span("store.get"):
            return bytes(await directory.store.get_range_async(key, start=0, end=end))
    except FileNotFoundError:
        return None
