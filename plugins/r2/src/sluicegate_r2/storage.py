"""An R2 bucket, or a directory of it: read and signed like S3, with R2's own credentials."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
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
    Scope,
    SignedPaths,
    Storage,
    StorageError,
    TemporaryCredentials,
    UnsupportedOperation,
)
from sluicegate_r2.address import canonical_location
from sluicegate_r2.config import R2Config
from sluicegate_r2.vending import MAX_LIFETIME, Vending, configured_vending
from sluicegate_s3.config import S3Config
from sluicegate_s3.storage import S3Storage

REGION = "auto"


class R2Storage(Storage, PathSigner, CredentialVendor):
    """Signs, opens and vends locations below one prefix of one bucket.

    Args:
        config: The bucket's configuration.
        s3: The same bucket and directory in R2's S3 API.
        vending: How temporary credentials are created, if at all.
        clock: Returns seconds since the epoch.
    """

    binds_method: ClassVar[bool] = True

    def __init__(
        self,
        config: R2Config,
        s3: S3Storage,
        vending: Vending | None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._config = config
        self._s3 = s3
        self._vending = vending
        self._clock = clock
        self._keys = ObjectKeys(config.prefix, f"{config.bucket.location}/", canonical_location)

    @classmethod
    def configured(cls, config: R2Config, context: PluginContext) -> R2Storage:
        """Return the configured storage, without connecting to it."""
        directory = config.prefix.removeprefix(f"{config.bucket.location}/")
        s3 = S3Config(
            prefix=f"s3://{config.bucket.name}/{directory}",
            region=REGION,
            endpoint=config.origin,
            access_key_id=config.access_key_id,
            secret_access_key=config.secret_access_key,
        )
        return cls(config, S3Storage.configured(s3, context), configured_vending(config))

    @property
    def prefix(self) -> str:
        """Return the location prefix in normalized form, with a trailing slash."""
        return self._config.prefix

    async def presign(
        self,
        locations: Sequence[str],
        expires_in: int,
        credentials: TemporaryCredentials | None = None,
    ) -> Presigned:
        """Return presigned GET URLs, thousands at a time; see `Storage.presign`.

        They are valid for `expires_in` seconds, but at most for seven days, and not longer than the
        credentials.

        Raises:
            TableUnreadable: A location is not valid Unicode.
        """
        return await self._s3.presign(self._as_s3(locations), expires_in, _as_aws(credentials))

    async def presign_request(
        self,
        request: ObjectRequest,
        locations: Sequence[str],
        expires_in: int,
        credentials: TemporaryCredentials | None = None,
    ) -> Presigned:
        """Return presigned URLs for one kind of request; see `S3Storage.presign_request`."""
        aws, s3_locations = _as_aws(credentials), self._as_s3(locations)
        return await self._s3.presign_request(request, s3_locations, expires_in, aws)

    async def sign_paths(
        self,
        request: ObjectRequest,
        directory: str,
        paths: Sequence[bytes],
        expires_in: int,
        credentials: TemporaryCredentials | None = None,
    ) -> SignedPaths:
        """Return the URLs of `presign_request` in parts; see `PathSigner.sign_paths`."""
        (s3_directory,) = self._as_s3([directory])
        return await self._s3.sign_paths(request, s3_directory, paths, expires_in, _as_aws(credentials))

    async def open(
        self, location: str, credentials: TemporaryCredentials | None = None
    ) -> ObjectDirectory:
        """Open a directory for reading; see `Storage.open`.

        Raises:
            TableUnreadable: The directory's name has a segment or character that no listing can name.
        """
        (s3_location,) = self._as_s3([f"{location.removesuffix('/')}/"])
        return await self._s3.open(s3_location, _as_aws(credentials))

    def vends(self, location: str) -> bool:
        """Return whether vending is configured, and the location is below the prefix."""
        below = f"{canonical_location(location).rstrip('/')}/".startswith(self.prefix)
        return self._vending is not None and below

    async def vend(self, scope: Scope) -> TemporaryCredentials:
        """Return credentials that read the scope's directories; see `CredentialVendor.vend`.

        Raises:
            UnsupportedOperation: Vending is not configured, or the scope names a binding.
        """
        if self._vending is None:
            raise UnsupportedOperation(
                "the table's storage issues no temporary credentials; read the table with 'url' access"
            )
        if scope.binding is not None:
            raise UnsupportedOperation(
                f"R2 has no credential binding '{scope.binding}'; request credentials without a binding"
            )
        directories = [f"{location.rstrip('/')}/" for location in scope.locations]
        prefixes = self._keys.of(directories)
        at, lifetime = int(self._clock()), min(scope.lifetime, MAX_LIFETIME)
        secret = await self._vending.secret([] if "" in prefixes else prefixes, at, lifetime)
        return TemporaryCredentials(
            location=scope.locations[0],
            kind="r2",
            secret=secret,
            expires_at=(at + lifetime) * 1000,
            connection={"region": REGION, "endpoint": self._config.origin, "path_style": "true"},
        )

    async def end_sessions(self, principal: Principal, before: int) -> EndedSessions:
        """Explain what an administrator can do: R2 can't revoke single credentials."""
        return EndedSessions(
            applied=False,
            instructions="R2 cannot revoke single temporary credentials. To revoke all of them and "
            "all signed URLs, roll the R2 API token whose access key id is "
            f"{self._config.access_key_id} in Cloudflare's dashboard, and configure the new keys in "
            "the gateway. This interrupts the access of all recipients.",
        )

    def preload(self) -> None:
        """Load what reading a table needs; see `S3Storage.preload`."""
        self._s3.preload()

    async def aclose(self) -> None:
        """Release connections."""
        await self._s3.aclose()
        if self._vending is not None:
            await self._vending.aclose()

    def _as_s3(self, locations: Sequence[str]) -> list[str]:
        """Return the same locations in the form of R2's S3 API."""
        bucket = self._config.bucket.name
        return [f"s3://{bucket}/{key}" for key in self._keys.of(locations)]


def _as_aws(credentials: TemporaryCredentials | None) -> TemporaryCredentials | None:
    """Return R2's credentials in the form of its S3 API."""
    if credentials is None:
        return None
    if credentials.kind != "r2":
        raise StorageError(
            "the credentials vended for this table are not valid for its storage; ask the gateway's "
            "operator",
            detail=f"{credentials.kind} credentials for {credentials.location}",
        )
    return replace(credentials, kind="aws")
