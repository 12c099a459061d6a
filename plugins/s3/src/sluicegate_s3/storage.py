"""One bucket, or a directory of it: presigns its objects and opens its tables."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import ClassVar

from sluicegate.api import (
    CredentialVendor,
    EndedSessions,
    Fresh,
    ObjectDirectory,
    ObjectKeys,
    PluginContext,
    Presigned,
    Principal,
    Scope,
    Storage,
    TemporaryCredentials,
    UnsupportedOperation,
    batches,
    signed_lifetime,
)
from sluicegate_s3.access import Access
from sluicegate_s3.address import respelled
from sluicegate_s3.bindings import Binding, FullBinding, RoleBinding, SessionBinding
from sluicegate_s3.config import S3Config
from sluicegate_s3.credentials import Credentials, given_credentials
from sluicegate_s3.signer import MAX_EXPIRES_IN, Presigner
from sluicegate_s3.stores import Stores
from sluicegate_s3.vendor import Vendor


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
        self._keys = ObjectKeys(config.prefix, f"s3://{config.bucket}/", respelled)
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
        keys = self._keys.of(locations)
        signing = (
            await self._credentials.get() if credentials is None else given_credentials(credentials)
        )
        presigner = self._presigner_with(signing)
        at = int(self._clock())
        lifetime = signed_lifetime(at, expires_in, MAX_EXPIRES_IN, signing.expires_at)
        urls: list[str] = []
        async for some in batches(keys):
            urls += presigner.sign(some, at, lifetime)
        return Presigned(urls, (at + lifetime) * 1000)

    async def open(
        self, location: str, credentials: TemporaryCredentials | None = None
    ) -> ObjectDirectory:
        """Open a directory for reading; see `Storage.open`.

        Raises:
            TableUnreadable: The directory's name has a segment or character that no listing can name
                (`//`, `.`, `..`, control characters).
        """
        key = self._keys.of_directory(location)
        if credentials is not None:
            return ObjectDirectory(self._stores.vended(given_credentials(credentials)), key)
        await self._credentials.get()
        return ObjectDirectory(self._stores.own(), key)

    def vends(self, location: str) -> bool:
        """Whether vending is configured, and the location below the prefix."""
        return self._vendor is not None and self._keys.has_directory(location)

    async def vend(self, scope: Scope) -> TemporaryCredentials:
        """Credentials for exactly the scope's directories; see `CredentialVendor.vend`.

        What the bindings `session` and `full` give is not limited to the directories; a session or key
        that is passed on keeps its own end, whatever the scope says.

        Raises:
            TableUnreadable: A directory's name is one that no listing can name.
        """
        directories = tuple(self._keys.of_directory(location) for location in scope.locations)
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

    def _presigner_with(self, credentials: Credentials) -> Presigner:
        if self._presigner is None or self._presigner[0] != credentials:
            self._presigner = (credentials, Presigner(self._address, self._region, credentials))
        return self._presigner[1]
