"""A bucket, or a directory of it: presigns objects, opens tables, vends credentials."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import ClassVar

from sluicegate.api import (
    CredentialVendor,
    EndedSessions,
    ObjectDirectory,
    ObjectKeys,
    ObjectRequest,
    PathSigner,
    PluginContext,
    Presigned,
    Principal,
    RefreshingValue,
    Scope,
    SignedPaths,
    Storage,
    TemporaryCredentials,
    UnsupportedOperation,
    batches,
    signed_lifetime,
)
from sluicegate_s3.access import Access
from sluicegate_s3.address import with_canonical_scheme
from sluicegate_s3.aws import import_botocore
from sluicegate_s3.config import S3Config
from sluicegate_s3.credentials import Credentials, parse_vended_credentials
from sluicegate_s3.signer import GET, MAX_EXPIRES_IN, Presigner
from sluicegate_s3.stores import Stores
from sluicegate_s3.vending.bindings import Binding, FullBinding, RoleBinding, SessionBinding
from sluicegate_s3.vending.vendor import Vendor


class S3Storage(Storage, PathSigner, CredentialVendor):
    """Presigns, opens and vends credentials for locations below one prefix of one bucket.

    Attributes:
        bindings: The ways to create credentials that a configuration can name.
    """

    binds_method: ClassVar[bool] = True

    bindings: ClassVar[tuple[type[Binding], ...]] = (RoleBinding, SessionBinding, FullBinding)

    def __init__(
        self,
        config: S3Config,
        credentials: RefreshingValue[Credentials],
        clock: Callable[[], float] = time.time,
        vendor: Vendor | None = None,
    ) -> None:
        self._prefix = config.prefix
        self._keys = ObjectKeys(config.prefix, f"s3://{config.bucket}/", with_canonical_scheme)
        self._address = config.public_address
        self._region = config.signing_region
        self._labels_urls = config.label_urls
        self._credentials = credentials
        self._clock = clock
        self._stores = Stores(config, credentials)
        self._uses_botocore = config.access_key_id is None or config.role_arn is not None
        self._presigner: tuple[Credentials, Presigner] | None = None
        self._vendor = vendor

    @classmethod
    def configured(cls, config: S3Config, context: PluginContext) -> S3Storage:
        """Return the configured storage, without connecting to it."""
        access = Access.configured(config)
        vendor = None
        if config.vending is not None:
            named = [each for each in cls.bindings if each.name in config.vending.bindings]
            ways = [binding(config, config.vending, access) for binding in named]
            vendor = Vendor(config, config.vending, access.own, ways)
        return cls(config, access.reading, vendor=vendor)

    @property
    def prefix(self) -> str:
        """Return the location prefix, with the scheme `s3` and a trailing slash."""
        return self._prefix

    async def presign(
        self,
        locations: Sequence[str],
        expires_in: int,
        credentials: TemporaryCredentials | None = None,
    ) -> Presigned:
        """Return presigned GET URLs, thousands at a time; see `Storage.presign`.

        All have the same signing time. They are valid for `expires_in` seconds, but at most for seven
        days and not longer than the session that signs them.

        Raises:
            TableUnreadable: A location is not valid Unicode.
        """
        return await self.presign_request(GET, locations, expires_in, credentials)

    async def presign_request(
        self,
        request: ObjectRequest,
        locations: Sequence[str],
        expires_in: int,
        credentials: TemporaryCredentials | None = None,
    ) -> Presigned:
        """Return presigned URLs for one kind of request; see `presign`.

        The signature covers the headers of the request that start with `x-amz-`, and the label, which
        is left out unless `label_urls` is configured.
        """
        keys = self._keys.of(locations)
        presigner, at, lifetime = await self._signing(expires_in, credentials)
        urls: list[str] = []
        async for some in batches(keys):
            urls += presigner.sign(some, at, lifetime, request)
        return Presigned(urls, (at + lifetime) * 1000)

    async def sign_paths(
        self,
        request: ObjectRequest,
        directory: str,
        paths: Sequence[bytes],
        expires_in: int,
        credentials: TemporaryCredentials | None = None,
    ) -> SignedPaths:
        """Return the URLs of `presign_request` in parts; see `PathSigner.sign_paths`."""
        (key,) = self._keys.of([directory])
        presigner, at, lifetime = await self._signing(expires_in, credentials)
        return presigner.sign_paths(key, paths, at, lifetime, request)

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
            return ObjectDirectory(self._stores.vended(parse_vended_credentials(credentials)), key)
        await self._credentials.get()
        return ObjectDirectory(self._stores.own(), key)

    def vends(self, location: str) -> bool:
        """Return whether vending is configured, and the location is below the prefix."""
        return self._vendor is not None and self._keys.has_directory(location)

    async def vend(self, scope: Scope) -> TemporaryCredentials:
        """Return credentials for exactly the scope's directories; see `CredentialVendor.vend`.

        Credentials of the bindings `session` and `full` are not limited to the directories. A session
        or key that is passed on keeps its own expiry, whatever the scope says.

        Raises:
            TableUnreadable: No listing can name a directory's name.
        """
        directories = tuple(self._keys.of_directory(location) for location in scope.locations)
        return await self._vending().vend(scope, directories)

    async def end_sessions(self, principal: Principal, before: int) -> EndedSessions:
        """End sessions of the role; see `CredentialVendor.end_sessions`."""
        return await self._vending().end_sessions(principal, before)

    def preload(self) -> None:
        """Create the store, which loads certificates, and import botocore if credentials need it."""
        self._stores.own()
        if self._uses_botocore:
            import_botocore()

    async def aclose(self) -> None:
        """Release connections."""
        self._stores.clear()

    async def _signing(
        self, expires_in: int, credentials: TemporaryCredentials | None
    ) -> tuple[Presigner, int, int]:
        """Return what signs, the time of signing in epoch seconds, and the lifetime in seconds."""
        signing = (
            await self._credentials.get()
            if credentials is None
            else parse_vended_credentials(credentials)
        )
        at = int(self._clock())
        lifetime = signed_lifetime(at, expires_in, MAX_EXPIRES_IN, signing.expires_at)
        return self._presigner_with(signing), at, lifetime

    def _vending(self) -> Vendor:
        if self._vendor is None:
            raise UnsupportedOperation(
                "the table's storage issues no temporary credentials; read the table with 'url' access"
            )
        return self._vendor

    def _presigner_with(self, credentials: Credentials) -> Presigner:
        if self._presigner is None or self._presigner[0] != credentials:
            presigner = Presigner(self._address, self._region, credentials, labels=self._labels_urls)
            self._presigner = (credentials, presigner)
        return self._presigner[1]
