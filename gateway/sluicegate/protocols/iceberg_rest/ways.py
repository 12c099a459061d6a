"""How a client reads a table: with credentials for its directories, or file by file."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from sluicegate.api import (
    CatalogTable,
    InvalidRequest,
    Principal,
    SharedTable,
    UnsupportedOperation,
)
from sluicegate.protocols.common.iceberg_eligibility import IcebergOffers
from sluicegate.protocols.common.resolver import Resolver
from sluicegate.protocols.iceberg_rest.errors import NoSuchTable, missing_is
from sluicegate.protocols.iceberg_rest.loading import (
    DELEGATION_HEADER,
    SIGNING,
    VENDED,
    LoadRequest,
    TableLoader,
)

_SIGNING_ONLY = LoadRequest(with_credentials=False, referenced_only=False, with_signing=True)


class FileLoads(Protocol):
    """Loads tables that clients read file by file."""

    async def load(
        self,
        principal: Principal,
        shared: SharedTable,
        source: CatalogTable,
        request: LoadRequest,
    ) -> dict[str, Any]:
        """A LoadTableResult."""

    async def check(self, principal: Principal, shared: SharedTable, source: CatalogTable) -> None:
        """Check that the table can be loaded."""


class TableWays:
    """Decides how a table is loaded, and loads it.

    Args:
        resolver: Queries the catalogs.
        offers: Decides in which ways a table can be read.
        loader: Loads tables that are read with credentials.
        files: Loads tables that are read file by file. Creating it loads Arrow.
    """

    def __init__(
        self,
        resolver: Resolver,
        offers: IcebergOffers,
        loader: TableLoader,
        files: Callable[[], Awaitable[FileLoads]],
    ) -> None:
        self._resolver = resolver
        self._offers = offers
        self._loader = loader
        self._files = files

    async def load(
        self, principal: Principal, shared: SharedTable, request: LoadRequest
    ) -> dict[str, Any]:
        """A LoadTableResult, for the way that the request prefers.

        Raises:
            InvalidRequest: Only signing is requested, but the table is not shared by URL.
            NoSuchTable: This catalog does not offer the table, or its own catalog no longer has it.
            TableUnreadable: The table's metadata cannot be read.
            Unavailable: A catalog or store does not respond, or no credentials are available now.
        """
        source = await self._locate(shared)
        if self.by_credentials(shared, source, request):
            return await self._loader.load(principal, shared, request)
        return await (await self._files()).load(principal, shared, source, request)

    async def check(self, principal: Principal, shared: SharedTable) -> None:
        """Check that the table can be loaded; raises as `load` does."""
        source = await self._locate(shared)
        if self._offers.obstacle(shared, source) is not None:
            await self.check_files(principal, shared, source)

    async def check_signing(self, principal: Principal, shared: SharedTable) -> None:
        """Check that a client that sends its requests to be signed can load it; raises as `load`."""
        source = await self._locate(shared)
        self.by_credentials(shared, source, _SIGNING_ONLY)
        await (await self._files()).check(principal, shared, source)

    async def check_files(
        self, principal: Principal, shared: SharedTable, source: CatalogTable
    ) -> None:
        """Check that the table can be loaded file by file; raises as `load` does."""
        self._check_files(shared, source)
        await (await self._files()).check(principal, shared, source)

    async def check_planned(self, shared: SharedTable, request: LoadRequest) -> None:
        """Check that a client with these headers reads the table file by file.

        Raises:
            InvalidRequest: It reads the table with credentials, and plans scans itself.
            NoSuchTable: See `load`.
            Unavailable: The catalog does not respond.
        """
        source = await self._locate(shared)
        if self.by_credentials(shared, source, request):
            raise InvalidRequest(
                f"{shared.full_name} is read with temporary credentials, and its scans are planned by "
                f"the client: to let the gateway plan them, send {DELEGATION_HEADER}: {SIGNING}"
            )

    def by_credentials(self, shared: SharedTable, source: CatalogTable, request: LoadRequest) -> bool:
        """Whether the client reads the table with credentials; raises as `load` does."""
        prefers_signing = request.with_signing and not request.with_credentials
        if self._offers.obstacle(shared, source) is not None:
            self._check_files(shared, source)
            return False
        if not prefers_signing:
            return True
        obstacle = self._offers.file_obstacle(shared, source)
        if obstacle is not None:
            raise InvalidRequest(
                f"{SIGNING} is not offered for {shared.full_name}: {obstacle}; send "
                f"{DELEGATION_HEADER}: {VENDED} to get credentials"
            )
        return False

    def _check_files(self, shared: SharedTable, source: CatalogTable) -> None:
        obstacle = self._offers.file_obstacle(shared, source)
        if obstacle is None:
            return
        if "dir" in shared.access_modes:
            obstacle = f"{self._offers.obstacle(shared, source)}, and {obstacle}"
        raise NoSuchTable(
            f"the table {shared.full_name} is not offered by the Iceberg catalog: {obstacle}"
        )

    async def _locate(self, shared: SharedTable) -> CatalogTable:
        try:
            with missing_is(NoSuchTable):
                return await self._resolver.locate(shared)
        except UnsupportedOperation as error:
            raise NoSuchTable(error.message, detail=error.detail) from error
