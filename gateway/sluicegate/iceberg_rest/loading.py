"""Loads tables: metadata, and the credentials that open the files which it leads to."""

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
)
from sluicegate.doors.iceberg_offers import IcebergOffers
from sluicegate.doors.resolve import Resolver
from sluicegate.iceberg_rest import addresses
from sluicegate.iceberg_rest.errors import NoSuchTable, missing_is
from sluicegate.iceberg_rest.metadata import MetadataFiles, of_references
from sluicegate.vending import Vending
from sluicegate.vending.iceberg_config import iceberg_config, refresh_config

DELEGATION_HEADER = "X-Iceberg-Access-Delegation"
VENDED = "vended-credentials"
_SIGNING = "remote-signing"
_SNAPSHOTS = ("all", "refs")


@dataclass(frozen=True, slots=True)
class LoadRequest:
    """How a table shall be loaded.

    Attributes:
        with_credentials: Temporary credentials are wanted.
        referenced_only: Snapshots are wanted that a branch or tag names, not all.
    """

    with_credentials: bool
    referenced_only: bool

    @classmethod
    def parse(cls, headers: Mapping[str, str], query: Mapping[str, str]) -> Self:
        """Read `X-Iceberg-Access-Delegation` and `snapshots`.

        Raises:
            InvalidRequest: Remote signing alone is asked for, or an unknown set of snapshots.
        """
        ways = {way.strip() for way in headers.get(DELEGATION_HEADER, "").split(",")}
        if _SIGNING in ways and VENDED not in ways:
            raise InvalidRequest(
                f"{_SIGNING} is not offered: send {DELEGATION_HEADER}: {VENDED} to get credentials"
            )
        snapshots = query.get("snapshots") or "all"
        if snapshots not in _SNAPSHOTS:
            raise InvalidRequest(f"snapshots must be {' or '.join(_SNAPSHOTS)}")
        return cls(VENDED in ways, snapshots == "refs")


class TableLoader:
    """Answers what the Iceberg REST catalog calls LoadTableResult and LoadCredentialsResponse.

    Args:
        resolver: Asks the catalogs.
        offers: Decides which tables are here.
        metadata: Reads metadata files.
        vending: Gives credentials.
    """

    def __init__(
        self, resolver: Resolver, offers: IcebergOffers, metadata: MetadataFiles, vending: Vending
    ) -> None:
        self._resolver = resolver
        self._offers = offers
        self._metadata = metadata
        self._vending = vending

    async def find(self, shared: SharedTable) -> tuple[CatalogTable, str]:
        """Where a table is, and its metadata file.

        Raises:
            NoSuchTable: It is not offered by this catalog, or not in its own any more.
            Unavailable: Its catalog does not answer.
        """
        with missing_is(NoSuchTable):
            source = await self._resolver.locate(shared)
        obstacle = self._offers.obstacle(shared, source)
        if obstacle is not None or source.metadata_location is None:
            raise NoSuchTable(
                f"the table {shared.full_name} is not offered by the Iceberg catalog: {obstacle}"
            )
        return source, source.metadata_location

    async def load(
        self, principal: Principal, shared: SharedTable, asked: LoadRequest
    ) -> dict[str, Any]:
        """A LoadTableResult.

        Raises:
            NoSuchTable: See `find`.
            TableUnreadable: The metadata file cannot be read.
            Unavailable: A catalog or store does not answer, or there are no credentials now.
        """
        source, location = await self.find(shared)
        metadata = await self._metadata.read(principal, shared, source, location)
        if asked.referenced_only:
            metadata = await anyio.to_thread.run_sync(of_references, metadata)
        loaded = {"metadata-location": location, "metadata": orjson.Fragment(metadata)}
        if not asked.with_credentials:
            return loaded | {"config": {}}
        credentials = await self._issue(principal, shared, source)
        refresh = refresh_config(credentials, addresses.credentials_of(shared))
        return loaded | {
            "config": iceberg_config(credentials) | refresh,
            "storage-credentials": _storage_credentials(source, credentials),
        }

    async def credentials(self, principal: Principal, shared: SharedTable) -> dict[str, Any]:
        """A LoadCredentialsResponse (iceberg-credentials-refresh.md, "Table credentials endpoint").

        Raises:
            NoSuchTable: See `find`.
            Unavailable: There are no credentials now.
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
    """One entry, as engines take no more of one cloud, for the paths that the metadata names."""
    prefix = _common_directory(source.location, *source.auxiliary_locations)
    return [{"prefix": prefix, "config": iceberg_config(credentials)}]


def _common_directory(*locations: str) -> str:
    """The deepest directory that all lie in; of other spellings of one bucket, the first location."""
    parts = []
    for level in zip(*(location.split("/") for location in locations), strict=False):
        if len(set(level)) > 1:
            break
        parts.append(level[0])
    return "/".join(parts) if len(parts) > 2 else locations[0]
