"""Credentials for the directories of a table.

Source: delta-sharing-protocol.md, "Generate Temporary Table Credential".
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import anyio

from sluicegate.api import (
    CatalogTable,
    InvalidRequest,
    Principal,
    SharedTable,
    TemporaryCredentials,
    UnsupportedOperation,
)
from sluicegate.doors.resolve import Resolver
from sluicegate.late import Late
from sluicegate.sharing.directory import DirectoryAccess, Offer
from sluicegate.vending import Vending

if TYPE_CHECKING:
    from sluicegate.sharing.table_steps import TableSteps


class TableCredentials:
    """Decides which directories are meant, and whether they are given.

    Args:
        resolver: Asks the catalogs.
        access: Decides what is offered.
        steps: Those of reading a table, which are heavy to load.
        vending: Gives the credentials.
    """

    def __init__(
        self, resolver: Resolver, access: DirectoryAccess, steps: Late[TableSteps], vending: Vending
    ) -> None:
        self._resolver = resolver
        self._access = access
        self._steps = steps
        self._vending = vending

    async def issue(
        self, principal: Principal, shared: SharedTable, location: str | None
    ) -> TemporaryCredentials:
        """Credentials for one directory; the table's log is read only where that is an unusual one.

        Args:
            principal: Who asks.
            shared: The table.
            location: Its root or an auxiliary location, in any spelling; `None` is the root.

        Raises:
            UnsupportedOperation: The table is not offered by directory access.
            InvalidRequest: The location is not one of the table's.
            StorageError: No credentials can be had now.
        """
        source = await self._resolver.locate(shared)
        directory = await self._directory(principal, shared, source, location)
        return await self._vending.issue(principal, shared, source, [directory])

    async def directories(
        self, principal: Principal, shared: SharedTable
    ) -> tuple[CatalogTable, tuple[str, ...]]:
        """What the catalog says of a table, and all of its directories, root first.

        Raises:
            UnsupportedOperation: The table is not offered by directory access.
        """
        source = await self._resolver.locate(shared)
        _directories(shared, self._access.offer(shared, source))
        return source, await self._all_directories(principal, shared, source)

    async def _directory(
        self, principal: Principal, shared: SharedTable, source: CatalogTable, location: str | None
    ) -> str:
        known = _directories(shared, self._access.offer(shared, source))
        if location is None:
            return known[0]
        wanted = self._vending.vendors.canonical(location)
        if wanted not in known:
            known = await self._all_directories(principal, shared, source)
        if wanted not in known:
            raise InvalidRequest(
                f"location is not a directory of the table {shared.full_name}: send its location or "
                "one of its auxiliaryLocations, or leave it out"
            )
        return wanted

    async def _all_directories(
        self, principal: Principal, shared: SharedTable, source: CatalogTable
    ) -> tuple[str, ...]:
        """With those that absolute paths of the log lead to."""
        steps = await self._steps.get()
        snapshot = await steps.viewer.latest(principal, shared)
        offer = partial(self._access.offer, shared, source, snapshot)
        return _directories(shared, await anyio.to_thread.run_sync(offer))


def _directories(shared: SharedTable, offer: Offer) -> tuple[str, ...]:
    if "dir" in offer.modes:
        return offer.locations
    instead = "; read it by presigned URLs (url)" if offer.modes else ""
    raise UnsupportedOperation(
        f"the table {shared.full_name} is not offered by directory access (dir){instead}"
    )
