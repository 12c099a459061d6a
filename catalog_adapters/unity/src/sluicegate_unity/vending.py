"""Credentials for tables: for which the catalog gives any, and how it is asked for them."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import anyio

from sluicegate.api import (
    CredentialVendor,
    NotFound,
    PermissionDenied,
    Scope,
    StorageError,
    TemporaryCredentials,
    Unavailable,
    UnsupportedOperation,
)
from sluicegate_unity.answers import Refused
from sluicegate_unity.client import Question, UnityClient
from sluicegate_unity.granted import Granted, delta_credentials, table_credentials
from sluicegate_unity.locations import account_of, bucket_of, same_directory
from sluicegate_unity.tables import UnityTable

_CREDENTIALS: Final = "/temporary-table-credentials"
# How long it is believed that there are none, or fixed keys alone: the catalog may be mended.
_RELEARN_SECONDS: Final = 600.0


class CredentialDesk:
    """Asks a catalog for credentials, and knows for which tables it gives none.

    A catalog is configured bucket by bucket, or not at all: then its readers bring credentials of
    their own, which for the gateway are those of the storage configuration.

    Args:
        client: Asks the catalog.
        clock: Seconds, monotonic.
    """

    def __init__(self, client: UnityClient, clock: Callable[[], float] = time.monotonic) -> None:
        self._client = client
        self._clock = clock
        self._sessions: set[str] = set()  # buckets whose credentials end
        self._fixed_until: dict[str, float] = {}  # others, and when to look again
        self._none_until: dict[str, float] = {}
        self._learning = anyio.Lock()

    async def vendor(self, table: UnityTable) -> CredentialVendor | None:
        """Who vends for a table; `None` where its storage has to do by itself.

        The first table of a bucket costs a question. Where that fails, what is wrong will be told
        when credentials are needed.
        """
        if table.location.startswith("file://"):
            return None
        if not self._knows(table):
            async with self._learning:
                if not self._knows(table):
                    with suppress(Refused, Unavailable):
                        await self.grant(table)
        return None if self._has_none(table) else UnityVendor(self, table)

    def has_fixed_keys(self, table: UnityTable) -> bool:
        """Whether the catalog is known to give keys of the table's bucket that never end."""
        return bucket_of(table.location) in self._fixed_until

    async def grant(self, table: UnityTable) -> Granted:
        """What the catalog gives for reading a table now.

        Raises:
            Refused: It answers with an error.
            Unavailable: It does not answer, or not what can be used.
        """
        try:
            granted = await self._ask(table)
        except Refused as refused:
            if refused.status == 400:  # the bucket is not configured there, or the place cannot be
                self._note_none(table)
            raise
        if granted.kind is None:
            self._note_none(table)
        else:
            self._note_kind(bucket_of(table.location), granted)
        return granted

    def _knows(self, table: UnityTable) -> bool:
        bucket = bucket_of(table.location)
        fixed = self._clock() < self._fixed_until.get(bucket, 0.0)
        return bucket in self._sessions or fixed or self._has_none(table)

    def _has_none(self, table: UnityTable) -> bool:
        return self._clock() < self._none_until.get(table.id, 0.0)

    def _note_kind(self, bucket: str, granted: Granted) -> None:
        if granted.expires_at is None:
            self._sessions.discard(bucket)
            self._fixed_until[bucket] = self._clock() + _RELEARN_SECONDS
        else:
            self._sessions.add(bucket)
            self._fixed_until.pop(bucket, None)

    def _note_none(self, table: UnityTable) -> None:
        now = self._clock()
        lasting = {known: until for known, until in self._none_until.items() if until > now}
        self._none_until = lasting | {table.id: now + _RELEARN_SECONDS}

    async def _ask(self, table: UnityTable) -> Granted:
        try:
            if table.managed and (granted := await self._by_name(table)) is not None:
                return granted
            wanted = {"table_id": table.id, "operation": "READ"}
            answer = await self._client.ask(Question("POST", _CREDENTIALS, body=wanted))
            return table_credentials(answer, table.location)
        except ValueError as error:
            raise self._client.unavailable(f"credentials of {table.name}: {error}") from error

    async def _by_name(self, table: UnityTable) -> Granted | None:
        """By the Delta API, which some servers insist on for managed tables; older ones have none."""
        try:
            path = f"{table.name.delta_path}/credentials"
            answer = await self._client.get(path, {"operation": "READ"})
        except Refused as refused:
            if refused.has_no_route:
                return None
            raise
        return delta_credentials(answer, table.location)


@dataclass(frozen=True, slots=True)
class UnityVendor(CredentialVendor):
    """Vends for one table's own directory. Vendors of one table are equal, so that caches know them."""

    _desk: CredentialDesk
    _table: UnityTable

    def vends(self, location: str) -> bool:
        """Whether the location is the table's own directory; see `CredentialVendor.vends`."""
        return same_directory(location, self._table.location)

    def hands_on(self, location: str) -> bool:
        """Whether they end: fixed keys open the whole bucket; see `CredentialVendor.hands_on`."""
        return self.vends(location) and not self._desk.has_fixed_keys(self._table)

    async def vend(self, scope: Scope) -> TemporaryCredentials:
        """What the catalog gives, fixed keys too: these have no end, and are not for recipients.

        Raises:
            NotFound: The table is gone, or the gateway may not read it.
            PermissionDenied: Another directory is asked for.
            StorageError: The catalog has no credentials for the table now.
            UnsupportedOperation: The scope wants another binding than a role's session.
        """
        if len(scope.locations) != 1 or not self.vends(scope.locations[0]):
            raise PermissionDenied(
                "the table's catalog gives credentials for the table's own directory alone",
                detail=", ".join(scope.locations),
            )
        if scope.binding not in (None, "role"):
            raise UnsupportedOperation(f"the table's catalog knows no binding '{scope.binding}'")
        granted = await self._granted()
        if granted.kind is None:
            raise _none_now(f"{self._table.name}: the catalog has no credentials for its storage")
        account = account_of(self._table.location) if granted.kind == "azure" else None
        return TemporaryCredentials(
            location=scope.locations[0],
            kind=granted.kind,
            secret=granted.secret,
            expires_at=granted.expires_at,
            connection={"account": account} if account else {},
        )

    async def _granted(self) -> Granted:
        try:
            return await self._desk.grant(self._table)
        except Refused as refused:
            if refused.hides:
                raise NotFound("there is no such table", detail=refused.detail) from refused
            raise _none_now(refused.detail) from refused
        except Unavailable as error:
            raise _none_now(error.detail) from error


def _none_now(detail: str | None) -> StorageError:
    return StorageError(
        "the table's catalog gives no credentials for it now; try again later", detail=detail
    )
