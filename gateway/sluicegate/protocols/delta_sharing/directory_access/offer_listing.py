"""Information about directory access in listings.

Most tables are shared with `url` only and need no catalog lookup: absent `accessModes` means `url`.
Other tables are listed with cached information, or without `accessModes`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from sluicegate._util.background_jobs import BackgroundJobs
from sluicegate.api import CatalogTable, SharedTable
from sluicegate.protocols.common.offer_cache import OfferCache
from sluicegate.protocols.common.resolver import Resolver
from sluicegate.protocols.delta_sharing import listings as listing
from sluicegate.protocols.delta_sharing.directory_access.offer import DirectoryAccess


class ListedOffers:
    """Shows tables with the cached offers."""

    def __init__(
        self,
        resolver: Resolver,
        access: DirectoryAccess,
        background: BackgroundJobs,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        def members(table: SharedTable, source: CatalogTable) -> dict[str, Any]:
            return access.offer(table, source).members()

        self._cache = OfferCache(resolver, members, background, clock)

    async def prefetch(self, tables: Sequence[SharedTable]) -> None:
        """Look up tables that are not cached, as far as that is quick. Never fails."""
        await self._cache.prefetch([table for table in tables if "dir" in table.access_modes])

    def show(self, table: SharedTable) -> dict[str, Any]:
        """The table as listings show it ("List Tables in a Schema")."""
        shown = listing.table(table)
        return shown | (self._cache.get(table) or {}) if "dir" in table.access_modes else shown
