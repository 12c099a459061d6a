"""Loads tables: metadata, and credentials for the files that it references."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, Self

import anyio
import orjson

from sluicegate.api import (
    CatalogTable,
    InvalidRequest,
    Principal,
    SharedTable,
    TemporaryCredentials,
    UnsupportedOperation,
)
from sluicegate.protocols.common.iceberg_eligibility import IcebergOffers
from sluicegate.protocols.common.resolver import Resolver
from sluicegate.protocols.iceberg_rest import addresses
from sluicegate.protocols.iceberg_rest.errors import NoSuchTable, missing_is
from sluicegate.protocols.iceberg_rest.metadata import MetadataFiles, of_references
from sluicegate.protocols.iceberg_rest.planning.dialects import Dialect
from sluicegate.vending import Vending
from sluicegate.vending.iceberg_format import iceberg_config, refresh_config

DELEGATION_HEADER = "X-Iceberg-Access-Delegation"
VENDED = "vended-credentials"
SIGNING = "remote-signing"
_SNAPSHOTS = ("all", "refs")


@dataclass(frozen=True, slots=True)
class LoadRequest:
    """How to load a table."""

    with_credentials: bool
    referenced_only: bool
    with_signing: bool = False
    other_ways: bool = False
    dialect: Dialect = Dialect.STANDARD

    @classmethod
    def parse(cls, headers: Mapping[str, str], query: Mapping[str, str]) -> Self:
        """Parse `X-Iceberg-Access-Delegation`, `User-Agent` and `snapshots`."""
        ways = {way.strip() for way in headers.get(DELEGATION_HEADER, "").split(",")} - {""}
        others = bool(ways) and not ways & {VENDED, SIGNING}
        snapshots = query.get("snapshots") or "all"
        if snapshots not in _SNAPSHOTS:
            raise InvalidRequest(f"snapshots must be {' or '.join(_SNAPSHOTS)}")
        return cls(VENDED in ways, snapshots == "refs", SIGNING in ways, others, Dialect.of(headers))


class VendedTableLoader:
    """Loads tables that clients read with credentials: LoadTableResult and LoadCredentialsResponse."""

    def __init__(
        self, resolver: Resolver, offers: IcebergOffers, metadata: MetadataFiles, vending: Vending
    ) -> None:
        self._resolver = resolver
        self._offers = offers
        self._metadata = metadata
        self._vending = vending

    async def find(self, shared: SharedTable) -> tuple[CatalogTable, str]:
        """The location of a table, and its metadata file."""
        try:
            with missing_is(NoSuchTable):
                source = await self._resolver.locate(shared)
        except UnsupportedOperation as error:
            raise NoSuchTable(error.message, detail=error.detail) from error
        obstacle = self._offers.obstacle(shared, source)
        if obstacle is not None or source.metadata_location is None:
            raise NoSuchTable(
                f"the table {shared.full_name} is not offered by the Iceberg catalog: {obstacle}"
            )
        return source, source.metadata_location

    async def load(
        self, principal: Principal, shared: SharedTable, load_request: LoadRequest
    ) -> dict[str, Any]:
        """A LoadTableResult."""
        source, location = await self.find(shared)
        metadata = await self._metadata.read(principal, shared, source, location)
        if load_request.referenced_only:
            metadata = await anyio.to_thread.run_sync(of_references, metadata)
        loaded = {"metadata-location": location, "metadata": orjson.Fragment(metadata)}
        if not load_request.with_credentials:
            return loaded | {"config": {}}
        credentials = await self._issue(principal, shared, source)
        refresh = refresh_config(credentials, addresses.credentials_of(shared))
        return loaded | {
            "config": iceberg_config(credentials) | refresh,
            "storage-credentials": _storage_credentials(source, credentials),
        }

    async def credentials(self, principal: Principal, shared: SharedTable) -> dict[str, Any]:
        """A LoadCredentialsResponse (credentials refresh proposal, "Table credentials endpoint")."""
        source, _ = await self.find(shared)
        credentials = await self._issue(principal, shared, source)
        return {"storage-credentials": _storage_credentials(source, credentials)}

    async def _issue(
        self, principal: Principal, shared: SharedTable, source: CatalogTable
    ) -> TemporaryCredentials:
        locations = self._offers.locations(source)
        return await self._vending.issue(principal, shared, source, locations, kind="iceberg-config")


def _storage_credentials(source: CatalogTable, credentials: TemporaryCredentials) -> list[Any]:
    """One entry for the paths that the metadata names, because engines accept only one per cloud."""
    prefix = _common_directory(source.location, *source.auxiliary_locations)
    return [{"prefix": prefix, "config": iceberg_config(credentials)}]


def _common_directory(*locations: str) -> str:
    """The deepest common directory. If a bucket is written in several forms, the first location."""
    parts = []
    for level in zip(*(location.split("/") for location in locations), strict=False):
        if len(set(level)) > 1:
            break
        parts.append(level[0])
    return "/".join(parts) if len(parts) > 2 else locations[0]


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

    async def credentials(self, principal: Principal, shared: SharedTable) -> dict[str, Any]:
        """A LoadCredentialsResponse."""

    async def check(self, principal: Principal, shared: SharedTable, source: CatalogTable) -> None:
        """Check that the table can be loaded."""


class TableLoader:
    """Decides how a table is loaded, and loads it."""

    def __init__(
        self,
        resolver: Resolver,
        offers: IcebergOffers,
        vended: VendedTableLoader,
        files: Callable[[], Awaitable[FileLoads]],
    ) -> None:
        self._resolver = resolver
        self._offers = offers
        self._vended = vended
        self._files = files

    async def load(
        self, principal: Principal, shared: SharedTable, request: LoadRequest
    ) -> dict[str, Any]:
        """A LoadTableResult, for the way that the request prefers."""
        source = await self._locate(shared)
        if self.by_credentials(shared, source, request):
            return await self._vended.load(principal, shared, request)
        if request.other_ways:
            raise InvalidRequest(
                f"{shared.full_name} is read file by file: send {DELEGATION_HEADER}: {VENDED} to get "
                f"keys for its files, or {SIGNING} to send requests for them to be signed"
            )
        return await (await self._files()).load(principal, shared, source, request)

    async def credentials(self, principal: Principal, shared: SharedTable) -> dict[str, Any]:
        """A LoadCredentialsResponse: credentials of the storage, or else keys of the gateway."""
        source = await self._locate(shared)
        by_file = self._offers.file_obstacle(shared, source) is None
        if not by_file or self._offers.obstacle(shared, source) is None:
            return await self._vended.credentials(principal, shared)
        return await self.keys(principal, shared)

    async def keys(self, principal: Principal, shared: SharedTable) -> dict[str, Any]:
        """A LoadCredentialsResponse with keys of the gateway."""
        self._check_files(shared, await self._locate(shared))
        return await (await self._files()).credentials(principal, shared)

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
        """Check that a client with these headers reads the table file by file."""
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
