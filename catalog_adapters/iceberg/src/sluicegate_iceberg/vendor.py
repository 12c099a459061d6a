"""Vends credentials of one table from its catalog.

Source: credentials refresh proposal, "Table credentials endpoint".
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from cachetools import LRUCache

from sluicegate.api import (
    CredentialVendor,
    NotFound,
    PermissionDenied,
    Scope,
    StorageError,
    TemporaryCredentials,
    UnsupportedOperation,
)
from sluicegate_iceberg.credentials import chosen
from sluicegate_iceberg.names import TableName
from sluicegate_iceberg.properties import refresh_endpoint
from sluicegate_iceberg.rest.client import IcebergClient
from sluicegate_iceberg.rest.refusal import Refused
from sluicegate_iceberg.rest.responses import LoadedCredentials, LoadedTable, StorageCredential
from sluicegate_iceberg.rest.settings import Settings

log = logging.getLogger(__name__)

_DELEGATION = {"X-Iceberg-Access-Delegation": "vended-credentials"}
# The table itself could be loaded without the header just before.
_NOT_DELEGATED = frozenset({400, 405, 406, 501})
_LOOK_AGAIN_SECONDS = 600.0
_REMEMBERED_TABLES = 10_000


class Delegation:
    """Requests credentials from a catalog: at the credentials endpoint, or by loading the table."""

    def __init__(self, client: IcebergClient, clock: Callable[[], float] = time.monotonic) -> None:
        self._client = client
        self._clock = clock
        self._without_endpoint_until = 0.0
        self._kept_until: LRUCache[str, float] = LRUCache(_REMEMBERED_TABLES)
        self._advertised: LRUCache[str, str] = LRUCache(_REMEMBERED_TABLES)

    def keeps(self, table_id: str) -> bool:
        """Return whether the table's recently vended credentials are for the gateway alone."""
        return self._clock() < self._kept_until.get(table_id, 0.0)

    def note(self, table_id: str, *, kept: bool) -> None:
        """Record, for ten minutes, whether a table's vended credentials are for the gateway alone."""
        self._kept_until[table_id] = self._clock() + _LOOK_AGAIN_SECONDS if kept else 0.0

    async def credentials(
        self, table: TableName, table_id: str, locations: tuple[str, ...], properties: Mapping[str, str]
    ) -> TemporaryCredentials | None:
        """Return credentials for directories of a table; `None` if the catalog vends none."""
        settings = await self._client.settings()
        known = {**settings.properties, **properties}
        url = self._endpoint(settings, table, table_id, properties)
        if url is not None:
            found = chosen(await self._at_endpoint(url), locations, known)
            if found is not None:
                # Compared after the credentials were issued, because they might belong to a later
                # table.
                _check_same(table, table_id, await self._client.load(table))
                return found
        loaded = await self._with_table(settings.table(table))
        if loaded is None:
            return None
        _check_same(table, table_id, loaded)
        if (advertised := refresh_endpoint(loaded.config)) is not None:
            self._advertised[table_id] = advertised
        everywhere = StorageCredential(prefix=loaded.metadata.location, config=loaded.config)
        offered = (*loaded.storage_credentials, everywhere)
        return chosen(offered, locations, {**known, **loaded.config})

    def _endpoint(
        self, settings: Settings, table: TableName, table_id: str, properties: Mapping[str, str]
    ) -> str | None:
        """Return the URL of a table's credentials, if the catalog states that it has one.

        It lists the endpoint, or names it in a response about the table: Polaris does that only in
        responses with credentials. Catalogs that list no endpoints are tried.
        """
        if self._clock() < self._without_endpoint_until:
            return None
        advertised = refresh_endpoint(properties) or self._advertised.get(table_id)
        if advertised is None and not settings.vends:
            return None
        return settings.credentials(table, advertised)

    async def _with_table(self, url: str) -> LoadedTable | None:
        """Load a table with credentials; `None` if the catalog rejects requests for credentials."""
        try:
            return await self._client.rest.ask(url, LoadedTable, _DELEGATION)
        except Refused as refused:
            if refused.http_status not in _NOT_DELEGATED:
                raise
            log.info("a catalog vends no credentials: %s", refused.detail)
            return None

    async def _at_endpoint(self, url: str) -> tuple[StorageCredential, ...]:
        """Return credentials from the endpoint; none if the catalog has no such endpoint."""
        try:
            return (await self._client.rest.ask(url, LoadedCredentials)).storage_credentials
        except Refused as refused:
            # Iceberg's own catalog returns 400 for a route that it doesn't have.
            offered = refused.http_status != 400 and not refused.says_not_offered
            if refused.says_dropped or offered:
                raise
            self._without_endpoint_until = self._clock() + _LOOK_AGAIN_SECONDS
            log.info("a catalog has no credentials endpoint: %s", refused.detail)
            return ()


@dataclass(frozen=True, slots=True)
class TableVendor(CredentialVendor):
    """Vends a catalog's credentials. Vendors for the same table are equal."""

    catalog: str
    delegation: Delegation
    table: TableName
    table_id: str
    properties: Mapping[str, str] = field(compare=False)

    def can_delegate(self, location: str) -> bool:
        """Return whether the last credentials expire and cover only the table.

        See `CredentialVendor`.
        """
        return not self.delegation.keeps(self.table_id)

    async def vend(self, scope: Scope) -> TemporaryCredentials:
        """Return credentials as vended by the catalog; see `CredentialVendor.vend`."""
        if scope.binding is not None:
            raise UnsupportedOperation(
                f"the table's catalog has no credential binding '{scope.binding}'; request "
                "credentials without a binding"
            )
        try:
            found = await self.delegation.credentials(
                self.table, self.table_id, scope.locations, self.properties
            )
        except Refused as refused:
            if refused.says_dropped:
                raise NotFound("the table no longer exists", detail=refused.detail) from refused
            if refused.http_status == 403:
                raise PermissionDenied(
                    "the table's catalog denies the gateway credentials for this table; ask the "
                    "gateway's operator",
                    detail=refused.detail,
                ) from refused
            raise
        if found is None:
            raise _none_now(
                f"the catalog '{self.catalog}' vended no credentials for "
                f"{', '.join(scope.locations)}: enable credential vending in the catalog, or set "
                "credentials: storage"
            )
        wider = found.location != scope.locations[0]
        self.delegation.note(self.table_id, kept=wider or found.expires_at is None)
        return found


def _check_same(table: TableName, table_id: str, loaded: LoadedTable) -> None:
    """Reject credentials if another table has taken the name, and perhaps the location."""
    if loaded.metadata.identity != table_id:
        raise _none_now(f"{table} was dropped and created again since it was looked up")


def _none_now(detail: str) -> StorageError:
    return StorageError(
        "credentials for this table are not available now; try again later", detail=detail
    )
