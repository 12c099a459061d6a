"""Credentials for the directories of a table.

Source: Delta Sharing protocol, "Generate Temporary Table Credential".
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
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
from sluicegate.protocols.common.resolver import Resolver
from sluicegate.protocols.delta_sharing.directory_access.offer import DirectoryAccess, Offer
from sluicegate.protocols.delta_sharing.negotiation import ICEBERG_CATALOG
from sluicegate.vending import Vending

if TYPE_CHECKING:
    from sluicegate.tables.snapshot import Snapshot


class TableCredentials:
    """Resolves the requested directory, and decides whether credentials for it are vended."""

    def __init__(
        self,
        resolver: Resolver,
        access: DirectoryAccess,
        latest: Callable[[Principal, SharedTable], Awaitable[Snapshot]],
        vending: Vending,
    ) -> None:
        self._resolver = resolver
        self._access = access
        self._latest = latest
        self._vending = vending

    async def issue(
        self, principal: Principal, shared: SharedTable, location: str | None
    ) -> TemporaryCredentials:
        """Credentials for one directory.

        The log is read only if the directory is not a declared one.
        """
        source = await self._resolver.locate(shared)
        directory = await self._directory(principal, shared, source, location)
        return await self._vending.issue(principal, shared, source, [directory])

    async def check(self, shared: SharedTable) -> tuple[str, ...]:
        """The directories that a recipient without a `location` can choose from, root first."""
        source = await self._resolver.locate(shared)
        return _directories(shared, self._access.offer(shared, source))

    async def directories(
        self, principal: Principal, shared: SharedTable
    ) -> tuple[CatalogTable, tuple[str, ...]]:
        """The table's catalog entry and all of its directories, root first."""
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
                "one of its auxiliaryLocations, or omit it"
            )
        return wanted

    async def _all_directories(
        self, principal: Principal, shared: SharedTable, source: CatalogTable
    ) -> tuple[str, ...]:
        """All directories, including those that absolute paths of the log point to."""
        snapshot = await self._latest(principal, shared)
        offer = partial(self._access.offer, shared, source, snapshot)
        return _directories(shared, await anyio.to_thread.run_sync(offer))


def _directories(shared: SharedTable, offer: Offer) -> tuple[str, ...]:
    if "dir" in offer.modes:
        return offer.locations
    ways = [ICEBERG_CATALOG] if offer.iceberg else []
    ways += ["by presigned URLs (url)"] if offer.modes else []
    instead = f"; read it {', or '.join(ways)}" if ways else ""
    raise UnsupportedOperation(
        f"the table {shared.full_name} does not offer directory access (dir){instead}"
    ).decided_by("access mode")
