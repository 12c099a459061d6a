"""What a listing says about directory access.

Tables that are shared by `url` alone, as most are, need no answer of their catalogs: absent
`accessModes` means `url`. The others are listed as they are known, or without `accessModes`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from sluicegate.api import CatalogTable, SharedTable
from sluicegate.doors.learnt import LearntTables
from sluicegate.doors.resolve import Resolver
from sluicegate.sharing import listing
from sluicegate.sharing.directory import DirectoryAccess


class ListedOffers:
    """Shows tables with the offers that are known.

    Args:
        resolver: Asks the catalogs.
        access: Decides what is offered.
        clock: Monotonic seconds.
    """

    def __init__(
        self, resolver: Resolver, access: DirectoryAccess, clock: Callable[[], float] = time.monotonic
    ) -> None:
        def members(table: SharedTable, source: CatalogTable) -> dict[str, Any]:
            return access.offer(table, source).members()

        self._learnt = LearntTables(resolver, members, clock)

    async def learn(self, tables: Sequence[SharedTable]) -> None:
        """Find out what is not known of some tables, as far as that is quick; never fails."""
        await self._learnt.learn([table for table in tables if "dir" in table.access_modes])

    def show(self, table: SharedTable) -> dict[str, Any]:
        """The table as listings show it ("List Tables in a Schema")."""
        shown = listing.table(table)
        return shown | (self._learnt.known(table) or {}) if "dir" in table.access_modes else shown
