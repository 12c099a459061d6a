"""One R2 bucket, or a directory of it: read and signed as S3, with credentials of R2's own kind."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from sluicegate.api import (
    CredentialVendor,
    EndedSessions,
    ObjectDirectory,
    ObjectKeys,
    PluginContext,
    Presigned,
    Principal,
    Scope,
    Storage,
    StorageError,
    TemporaryCredentials,
    UnsupportedOperation,
)
from sluicegate_r2.address import spelled_one_way
from sluicegate_r2.config import R2Config
from sluicegate_r2.vending import MAX_LIFETIME, Vending, configured_vending
from sluicegate_s3.config import S3Config
from sluicegate_s3.storage import S3Storage

REGION = "auto"


class R2Storage(Storage, CredentialVendor):
    """Signs, opens and vends the locations below one prefix of one bucket.

    Args:
        config: What is served.
        s3: The same bucket and directory by R2's S3 API.
        vending: How temporary credentials are made, if at all.
        clock: Seconds since the epoch.
    """

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
        self._keys = ObjectKeys(config.prefix, f"{config.bucket.location}/", spelled_one_way)

    @classmethod
    def configured(cls, config: R2Config, context: PluginContext) -> R2Storage:
        """The storage that a configuration describes; nothing is asked of the store yet."""
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
        """The location prefix, in its one spelling, with a slash at its end."""
        return self._config.prefix

    async def presign(
        self,
        locations: Sequence[str],
        expires_in: int,
        credentials: TemporaryCredentials | None = None,
    ) -> Presigned:
        """Presigned GET URLs, thousands at once; see `Storage.presign`.

        They live `expires_in` seconds, but at most seven days, and no longer than the credentials.

        Raises:
            TableUnreadable: A location is no valid Unicode.
        """
        return await self._s3.presign(self._as_s3(locations), expires_in, _as_aws(credentials))

    async def open(
        self, location: str, credentials: TemporaryCredentials | None = None
    ) -> ObjectDirectory:
        """Open a directory for reading; see `Storage.open`.

        Raises:
            TableUnreadable: The directory's name has a segment or character that no listing can name.
        """
        (respelled,) = self._as_s3([f"{location.removesuffix('/')}/"])
        return await self._s3.open(respelled, _as_aws(credentials))

    def vends(self, location: str) -> bool:
        """Whether vending is configured, and the location below the prefix."""
        below = f"{spelled_one_way(location).rstrip('/')}/".startswith(self.prefix)
        return self._vending is not None and below

    async def vend(self, scope: Scope) -> TemporaryCredentials:
        """Credentials that read the scope's directories; see `CredentialVendor.vend`.

        Raises:
            UnsupportedOperation: Vending is not configured, or the scope names a binding.
        """
        if self._vending is None:
            raise UnsupportedOperation(
                "no credentials are given for the table's storage; read it by URLs"
            )
        if scope.binding is not None:
            raise UnsupportedOperation(f"R2 knows no binding '{scope.binding}'")
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
        """Says what an administrator can do: R2 ends no single credentials."""
        return EndedSessions(
            applied=False,
            instructions="R2 cannot revoke single temporary credentials. To end all of them at once, "
            "and all signed URLs, roll the R2 API token whose access key id is "
            f"{self._config.access_key_id} in Cloudflare's dashboard, and give the gateway the new "
            "keys; that stops all recipients.",
        )

    async def aclose(self) -> None:
        """Release connections."""
        await self._s3.aclose()
        if self._vending is not None:
            await self._vending.aclose()

    def _as_s3(self, locations: Sequence[str]) -> list[str]:
        """The same locations as R2's S3 API names them."""
        bucket = self._config.bucket.name
        return [f"s3://{bucket}/{key}" for key in self._keys.of(locations)]


def _as_aws(credentials: TemporaryCredentials | None) -> TemporaryCredentials | None:
    """R2's credentials as its S3 API takes them."""
    if credentials is None:
        return None
    if credentials.kind != "r2":
        raise StorageError(
            "the credentials given for this table do not open its storage; ask the gateway's operator",
            detail=f"{credentials.kind} credentials for {credentials.location}",
        )
    return replace(credentials, kind="aws")
