"""Loads tables: metadata, and credentials for the files that it references."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

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
from sluicegate.protocols.iceberg_rest import paths as addresses
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
    """How to load a table.

    Attributes:
        with_credentials: Whether temporary credentials are requested.
        referenced_only: Whether only snapshots that a branch or tag references are requested.
        with_signing: Whether the client can send its requests to be signed.
        dialect: What the client can read.
    """

    with_credentials: bool
    referenced_only: bool
    with_signing: bool = False
    dialect: Dialect = Dialect.STANDARD

    @classmethod
    def parse(cls, headers: Mapping[str, str], query: Mapping[str, str]) -> Self:
        """Parse `X-Iceberg-Access-Delegation`, `User-Agent` and `snapshots`.

        Raises:
            InvalidRequest: An unknown set of snapshots is requested.
        """
        ways = {way.strip() for way in headers.get(DELEGATION_HEADER, "").split(",")}
        snapshots = query.get("snapshots") or "all"
        if snapshots not in _SNAPSHOTS:
            raise InvalidRequest(f"snapshots must be {' or '.join(_SNAPSHOTS)}")
        return cls(VENDED in ways, snapshots == "refs", SIGNING in ways, Dialect.of(headers))


class TableLoader:
    """Loads tables that clients read with credentials: LoadTableResult and LoadCredentialsResponse.

    Args:
        resolver: Queries the catalogs.
        offers: Decides which tables the catalog offers.
        metadata: Reads metadata files.
        vending: Vends credentials.
    """

    def __init__(
        self, resolver: Resolver, offers: IcebergOffers, metadata: MetadataFiles, vending: Vending
    ) -> None:
        self._resolver = resolver
        self._offers = offers
        self._metadata = metadata
        self._vending = vending

    async def find(self, shared: SharedTable) -> tuple[CatalogTable, str]:
        """The location of a table, and its metadata file.

        Raises:
            NoSuchTable: This catalog does not offer it, or its own catalog no longer has it, or has a
                view of that name.
            Unavailable: Its catalog does not respond.
        """
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
        """A LoadTableResult.

        Raises:
            NoSuchTable: See `find`.
            TableUnreadable: The metadata file cannot be read.
            Unavailable: A catalog or store does not respond, or no credentials are available now.
        """
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
        """A LoadCredentialsResponse (credentials refresh proposal, "Table credentials endpoint").

        Raises:
            NoSuchTable: See `find`.
            Unavailable: No credentials are available now.
        """
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
