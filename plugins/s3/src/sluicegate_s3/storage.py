"""One bucket, or a directory of it: presigns its objects and opens its tables."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from typing import ClassVar

import anyio.lowlevel

from sluicegate.api import (
    CredentialVendor,
    EndedSessions,
    Fresh,
    InvalidRequest,
    ObjectDirectory,
    PermissionDenied,
    PluginContext,
    Presigned,
    Principal,
    Scope,
    Storage,
    StorageError,
    TableUnreadable,
    TemporaryCredentials,
    UnsupportedOperation,
)
from sluicegate_s3.access import Access
from sluicegate_s3.address import canonical_location
from sluicegate_s3.bindings import Binding, FullBinding, RoleBinding, SessionBinding
from sluicegate_s3.config import S3Config
from sluicegate_s3.credentials import Credentials, given_credentials
from sluicegate_s3.signer import MAX_EXPIRES_IN, Presigner
from sluicegate_s3.stores import Stores
from sluicegate_s3.vendor import Vendor

_SIGN_BATCH = 1024
_UNLISTABLE = re.compile(r"/\.{0,2}(?=/)|[\x00-\x1f\x7f\ud800-\udfff]")


class S3Storage(Storage, CredentialVendor):
    """Presigns, opens and vends credentials for the locations below one prefix of one bucket.

    Attributes:
        bindings: The ways to make credentials that a configuration can name.
    """

    bindings: ClassVar[tuple[type[Binding], ...]] = (RoleBinding, SessionBinding, FullBinding)

    def __init__(
        self,
        config: S3Config,
        credentials: Fresh[Credentials],
        clock: Callable[[], float] = time.time,
        vendor: Vendor | None = None,
    ) -> None:
        self._prefix = config.prefix
        self._bucket_prefix = f"s3://{config.bucket}/"
        self._address = config.public_address
        self._region = config.signing_region
        self._credentials = credentials
        self._clock = clock
        self._stores = Stores(config, credentials)
        self._presigner: tuple[Credentials, Presigner] | None = None
        self._vendor = vendor

    @classmethod
    def configured(cls, config: S3Config, context: PluginContext) -> S3Storage:
        """The storage that a configuration describes; nothing is asked of the store yet."""
        access = Access.configured(config)
        vendor = None
        if config.vending is not None:
            named = [each for each in cls.bindings if each.name in config.vending.bindings]
            ways = [binding(config, config.vending, access) for binding in named]
            vendor = Vendor(config, config.vending, access.own, ways)
        return cls(config, access.reading, vendor=vendor)

    @property
    def prefix(self) -> str:
        """The location prefix, with the scheme `s3` and a slash at its end."""
        return self._prefix

    async def presign(
        self,
        locations: Sequence[str],
        expires_in: int,
        credentials: TemporaryCredentials | None = None,
    ) -> Presigned:
        """Presigned GET URLs, thousands at once; see `Storage.presign`.

        All are signed for one instant. They live `expires_in` seconds, but at most seven days and no
        longer than the session that signs them.

        Raises:
            TableUnreadable: A location is no valid Unicode.
        """
        if expires_in < 1:
            raise InvalidRequest("a presigned URL must live for at least one second")
        keys = self._keys(locations)
        signing = (
            await self._credentials.get() if credentials is None else given_credentials(credentials)
        )
        presigner = self._presigner_with(signing)
        at = int(self._clock())
        lifetime = _lifetime(signing, at, expires_in)
        urls: list[str] = []
        for start in range(0, len(keys), _SIGN_BATCH):
            urls += _signed(presigner, keys[start : start + _SIGN_BATCH], at, lifetime)
            await anyio.lowlevel.checkpoint()
        return Presigned(urls, (at + lifetime) * 1000)

    async def open(
        self, location: str, credentials: TemporaryCredentials | None = None
    ) -> ObjectDirectory:
        """Open a directory for reading; see `Storage.open`.

        Raises:
            TableUnreadable: The directory's name has a segment or character that no listing can name
                (`//`, `.`, `..`, control characters).
        """
        key = self._directory_key(location)
        if credentials is not None:
            return ObjectDirectory(self._stores.vended(credentials), key)
        await self._credentials.get()
        return ObjectDirectory(self._stores.own(), key)

    def vends(self, location: str) -> bool:
        """Whether vending is configured, and the location below the prefix."""
        if self._vendor is None:
            return False
        try:
            self._directory_key(location)
        except (PermissionDenied, TableUnreadable):
            return False
        return True

    async def vend(self, scope: Scope) -> TemporaryCredentials:
        """Credentials for exactly the scope's directories; see `CredentialVendor.vend`.

        What the bindings `session` and `full` give is not limited to the directories; a session or key
        that is passed on keeps its own end, whatever the scope says.

        Raises:
            TableUnreadable: A directory's name is one that no listing can name.
        """
        directories = tuple(self._directory_key(location) for location in scope.locations)
        return await self._vending().vend(scope, directories)

    async def end_sessions(self, principal: Principal, before: int) -> EndedSessions:
        """End sessions of the role; see `CredentialVendor.end_sessions`."""
        return await self._vending().end_sessions(principal, before)

    async def aclose(self) -> None:
        """Release connections."""
        self._stores.clear()

    def _vending(self) -> Vendor:
        if self._vendor is None:
            raise UnsupportedOperation("this storage gives no temporary credentials, only URLs")
        return self._vendor

    def _keys(self, locations: Sequence[str]) -> list[str]:
        prefix, start = self._prefix, len(self._bucket_prefix)
        return [
            (location if location.startswith(prefix) else self._respelled(location))[start:]
            for location in locations
        ]

    def _respelled(self, location: str) -> str:
        """A location of another S3 scheme, spelled as ours."""
        try:
            canonical = canonical_location(location)
        except ValueError:
            canonical = ""
        if not canonical.startswith(self._prefix):
            raise PermissionDenied(
                "the table refers to a file outside of its storage, which the gateway does not serve",
                detail=f"{location} is not below {self._prefix}",
            )
        return canonical

    def _directory_key(self, location: str) -> str:
        directory = location.removesuffix("/")
        key = self._keys([f"{directory}/"])[0].removesuffix("/")
        if _UNLISTABLE.search(f"/{key}/" if key else ""):
            raise TableUnreadable(
                "the name of the table's directory has an empty, '.' or '..' segment or a control "
                "character, so the table cannot be read; its owner should move it to a plain name",
                detail=ascii(location),
            )
        return key

    def _presigner_with(self, credentials: Credentials) -> Presigner:
        if self._presigner is None or self._presigner[0] != credentials:
            self._presigner = (credentials, Presigner(self._address, self._region, credentials))
        return self._presigner[1]


def _signed(presigner: Presigner, keys: Sequence[str], at: int, lifetime: int) -> list[str]:
    try:
        return presigner.sign(keys, at, lifetime)
    except UnicodeEncodeError as error:
        raise TableUnreadable(
            "the table names a file by text that is no valid Unicode; no store can hold such a file",
            detail=ascii(error.object[error.start - 40 : error.end]),
        ) from error


def _lifetime(credentials: Credentials, at: int, expires_in: int) -> int:
    """Seconds from `at` on that a URL lives, given what signs it."""
    lifetime = min(expires_in, MAX_EXPIRES_IN)
    if credentials.expires_at is not None:
        lifetime = min(lifetime, credentials.expires_at // 1000 - at)
    if lifetime < 1:
        raise StorageError("the gateway's session with this storage has ended; try again in a moment")
    return lifetime
