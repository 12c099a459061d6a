"""Vends credentials for tables and assets, and tracks for which of them the catalog vends any."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, Protocol

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
from sluicegate_unity.client import Question, UnityClient
from sluicegate_unity.granted import Granted, delta_credentials, table_credentials
from sluicegate_unity.locations import account_of, bucket_of, same_directory
from sluicegate_unity.responses import Refused

# How long it is cached that there are no credentials, or only fixed keys. The catalog might be
# reconfigured in the meantime.
_RELEARN_SECONDS: Final = 600.0
# How long credentials that were requested to test a bucket are kept for later use.
_KEPT_SECONDS: Final = 60.0
_MOST_KEPT: Final = 1000


class VendedDirectory(Protocol):
    """A directory for which the catalog can vend credentials: of a table, volume, or version."""

    @property
    def name(self) -> object:
        """Return the name, for the log."""

    @property
    def kind(self) -> str:
        """Return what it is, for messages."""

    @property
    def id(self) -> str:
        """Return the unique id."""

    @property
    def location(self) -> str:
        """Return the directory, literal and normalized."""

    @property
    def delta_path(self) -> str | None:
        """Return the route in the Delta API that must be tried first, if any."""

    @property
    def request(self) -> tuple[str, Mapping[str, Any]]:
        """Return the route for credentials, and the body of the request."""

    def __hash__(self) -> int:
        """Return the hash, because vendors are keys of caches."""


class CredentialDesk:
    """Requests credentials from a catalog, and knows for which tables it vends none.

    Catalogs are configured bucket by bucket, or not at all. In the latter case, readers use their own
    credentials, which for the gateway are those of the storage configuration.
    """

    def __init__(self, client: UnityClient, clock: Callable[[], float] = time.monotonic) -> None:
        self._client = client
        self._clock = clock
        self._sessions: set[str] = set()  # buckets whose credentials expire
        self._fixed_until: dict[str, float] = {}  # other buckets, and when to check again
        self._none_until: dict[str, float] = {}
        self._kept: dict[str, tuple[float, Granted]] = {}  # by table, with expiry
        self._learning = anyio.Lock()

    async def vendor(self, table: VendedDirectory) -> CredentialVendor | None:
        """Return the vendor for a table; `None` if the configured storage must be used.

        The first table of a bucket costs one request. If it fails, the error is reported when
        credentials are needed.
        """
        if table.location.startswith("file://"):
            return None
        if not self._knows(table):
            async with self._learning:
                if not self._knows(table):
                    with suppress(Refused, Unavailable):
                        self._keep(table, await self.grant(table))
        return None if self._has_none(table) else UnityVendor(self, table)

    def has_fixed_keys(self, table: VendedDirectory) -> bool:
        """Return whether the catalog is known to vend keys of the table's bucket that never expire."""
        return bucket_of(table.location) in self._fixed_until

    async def granted(self, table: VendedDirectory) -> Granted:
        """Return recent unused credentials of the table, or else new ones."""
        until, kept = self._kept.pop(table.id, (0.0, None))
        return kept if kept is not None and self._clock() < until else await self.grant(table)

    async def grant(self, table: VendedDirectory) -> Granted:
        """Return new credentials for reading a table."""
        try:
            granted = await self._ask(table)
        except Refused as refused:
            if (
                refused.status == 400
            ):  # the bucket is not configured there, or the location is not supported
                self._note_none(table)
            raise
        if granted.kind is None:
            self._note_none(table)
        else:
            self._note_kind(bucket_of(table.location), granted)
        return granted

    def _keep(self, table: VendedDirectory, granted: Granted) -> None:
        now = self._clock()
        lasting = {known: kept for known, kept in self._kept.items() if kept[0] > now}
        if granted.kind is not None and len(lasting) < _MOST_KEPT:
            lasting[table.id] = now + _KEPT_SECONDS, granted
        self._kept = lasting

    def _knows(self, table: VendedDirectory) -> bool:
        bucket = bucket_of(table.location)
        fixed = self._clock() < self._fixed_until.get(bucket, 0.0)
        return bucket in self._sessions or fixed or self._has_none(table)

    def _has_none(self, table: VendedDirectory) -> bool:
        return self._clock() < self._none_until.get(table.id, 0.0)

    def _note_kind(self, bucket: str, granted: Granted) -> None:
        if granted.expires_at is None:
            self._sessions.discard(bucket)
            self._fixed_until[bucket] = self._clock() + _RELEARN_SECONDS
        else:
            self._sessions.add(bucket)
            self._fixed_until.pop(bucket, None)

    def _note_none(self, table: VendedDirectory) -> None:
        now = self._clock()
        lasting = {known: until for known, until in self._none_until.items() if until > now}
        self._none_until = lasting | {table.id: now + _RELEARN_SECONDS}

    async def _ask(self, table: VendedDirectory) -> Granted:
        try:
            if table.delta_path and (granted := await self._by_name(table.delta_path, table)):
                return granted
            path, wanted = table.request
            answer = await self._client.ask(Question("POST", path, body=wanted))
            return table_credentials(answer, table.location)
        except ValueError as error:
            raise self._client.unavailable(f"credentials of {table.name}: {error}") from error

    async def _by_name(self, path: str, table: VendedDirectory) -> Granted | None:
        """Use the Delta API, which some servers require for managed tables, but older ones lack."""
        try:
            answer = await self._client.get(f"{path}/credentials", {"operation": "READ"})
        except Refused as refused:
            if refused.has_no_route:
                return None
            raise
        return delta_credentials(answer, table.location)


@dataclass(frozen=True, slots=True)
class UnityVendor(CredentialVendor):
    """Vends credentials for the own directory of one table, volume or version of a model.

    Vendors of one directory are equal, so that caches recognize them.
    """

    _desk: CredentialDesk
    _table: VendedDirectory

    def vends(self, location: str) -> bool:
        """Return whether the location is the table's own directory; see `CredentialVendor.vends`."""
        return same_directory(location, self._table.location)

    def can_delegate(self, location: str) -> bool:
        """Return whether they expire.

        Fixed keys cover the entire bucket; see `CredentialVendor.can_delegate`.
        """
        return self.vends(location) and not self._desk.has_fixed_keys(self._table)

    async def vend(self, scope: Scope) -> TemporaryCredentials:
        """Return the catalog's credentials. Fixed keys never expire, and are not for recipients."""
        if len(scope.locations) != 1 or not self.vends(scope.locations[0]):
            raise PermissionDenied(
                f"the catalog vends credentials only for the {self._table.kind}'s own directory",
                detail=", ".join(scope.locations),
            )
        if scope.binding not in (None, "role"):
            raise UnsupportedOperation(
                f"the {self._table.kind}'s catalog has no credential binding '{scope.binding}'; "
                "request credentials without a binding"
            )
        granted = await self._granted()
        if granted.kind is None:
            raise self._none_now(f"{self._table.name}: the catalog has no credentials for its storage")
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
            return await self._desk.granted(self._table)
        except Refused as refused:
            if refused.hides:
                raise NotFound(
                    f"the {self._table.kind} no longer exists", detail=refused.detail
                ) from refused
            raise self._none_now(refused.detail) from refused
        except Unavailable as error:
            raise self._none_now(error.detail) from error

    def _none_now(self, detail: str | None) -> StorageError:
        return StorageError(
            f"the {self._table.kind}'s catalog vends no credentials for it now; try again later",
            detail=detail,
        )
