"""Credentials of one table, as its catalog vends them.

Source: iceberg-credentials-refresh.md, "Table credentials endpoint".
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
from sluicegate_iceberg.answers import LoadedCredentials, LoadedTable, StorageCredential
from sluicegate_iceberg.client import IcebergClient
from sluicegate_iceberg.credentials import chosen
from sluicegate_iceberg.names import TableName
from sluicegate_iceberg.properties import refresh_endpoint
from sluicegate_iceberg.refusal import Refused

log = logging.getLogger(__name__)

_DELEGATION = {"X-Iceberg-Access-Delegation": "vended-credentials"}
_LOOK_AGAIN_SECONDS = 600.0
_REMEMBERED_TABLES = 10_000


class Delegation:
    """Asks a catalog for the credentials of its tables: at their own endpoint, or with the whole table.

    Args:
        client: Asks the catalog.
        clock: Seconds, monotonic.
    """

    def __init__(self, client: IcebergClient, clock: Callable[[], float] = time.monotonic) -> None:
        self._client = client
        self._clock = clock
        self._without_endpoint_until = 0.0
        self._kept_until: LRUCache[str, float] = LRUCache(_REMEMBERED_TABLES)

    def keeps(self, table_id: str) -> bool:
        """Whether what was vended for a table lately is for the gateway alone."""
        return self._clock() < self._kept_until.get(table_id, 0.0)

    def note(self, table_id: str, *, kept: bool) -> None:
        """Remember whether what was vended for a table is for the gateway alone, for ten minutes."""
        self._kept_until[table_id] = self._clock() + _LOOK_AGAIN_SECONDS if kept else 0.0

    async def credentials(
        self, table: TableName, table_id: str, locations: tuple[str, ...], properties: Mapping[str, str]
    ) -> TemporaryCredentials | None:
        """Credentials for directories of a table; `None` where the catalog vends none.

        Args:
            table: The table.
            table_id: Tells it from another one of its name, which gets no credentials for it.
            locations: Directories, without trailing slashes.
            properties: What the catalog last said of the table's storage.

        Raises:
            StorageError: The table was created anew since it was looked up.
            Refused: There is no such table, or the gateway may have no credentials.
            Unavailable: The catalog does not answer.
        """
        settings = await self._client.settings()
        known = {**settings.properties, **properties}
        if self._clock() >= self._without_endpoint_until:
            url = settings.credentials(table, refresh_endpoint(properties))
            found = chosen(await self._at_endpoint(url), locations, known)
            if found is not None:
                return found
        loaded = await self._client.rest.ask(settings.table(table), LoadedTable, _DELEGATION)
        if loaded.metadata.identity != table_id:
            raise _none_now(f"{table} was created anew since it was looked up")
        everywhere = StorageCredential(prefix=loaded.metadata.location, config=loaded.config)
        offered = (*loaded.storage_credentials, everywhere)
        return chosen(offered, locations, {**known, **loaded.config})

    async def _at_endpoint(self, url: str) -> tuple[StorageCredential, ...]:
        """What the endpoint offers; nothing where the catalog has no such endpoint."""
        try:
            return (await self._client.rest.ask(url, LoadedCredentials)).storage_credentials
        except Refused as refused:
            if refused.says_dropped or not refused.says_not_offered:
                raise
            self._without_endpoint_until = self._clock() + _LOOK_AGAIN_SECONDS
            log.info("a catalog has no credentials endpoint: %s", refused.detail)
            return ()


@dataclass(frozen=True, slots=True)
class TableVendor(CredentialVendor):
    """Vends what the catalog vends; equal for all answers about one table.

    Attributes:
        catalog: The catalog's name in the configuration, for messages.
        delegation: Asks the catalog.
        table: The table.
        table_id: Tells it from another one of its name, before or after it.
        properties: How its storage is reached, none of it secret.
    """

    catalog: str
    delegation: Delegation
    table: TableName
    table_id: str
    properties: Mapping[str, str] = field(compare=False)

    def hands_on(self, location: str) -> bool:
        """Whether the last credentials ended, and opened the table alone; see `CredentialVendor`."""
        return not self.delegation.keeps(self.table_id)

    async def vend(self, scope: Scope) -> TemporaryCredentials:
        """Credentials as the catalog gives them; see `CredentialVendor.vend`.

        Raises:
            NotFound: The table is not there any more.
            Unavailable: The catalog does not answer.
        """
        if scope.binding is not None:
            raise UnsupportedOperation(f"the table's catalog knows no binding '{scope.binding}'")
        try:
            found = await self.delegation.credentials(
                self.table, self.table_id, scope.locations, self.properties
            )
        except Refused as refused:
            if refused.says_dropped:
                raise NotFound("the table is not there any more", detail=refused.detail) from refused
            if refused.http_status == 403:
                raise PermissionDenied(
                    "the gateway may not have credentials for this table; ask the gateway's operator",
                    detail=refused.detail,
                ) from refused
            raise
        if found is None:
            raise _none_now(
                f"the catalog '{self.catalog}' vended none for {', '.join(scope.locations)}: let it "
                "vend, or set credentials: storage"
            )
        wider = found.location != scope.locations[0]
        self.delegation.note(self.table_id, kept=wider or found.expires_at is None)
        return found


def _none_now(detail: str) -> StorageError:
    return StorageError("no credentials for this table can be had now; try again later", detail=detail)
