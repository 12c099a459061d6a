"""An R2 bucket, or a directory of it: read and signed like S3, with R2's own credentials."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from sluicegate.api import (
    EndedSessions,
    ObjectKeys,
    PluginContext,
    Principal,
    Scope,
    TemporaryCredentials,
)
from sluicegate_r2.address import canonical_location
from sluicegate_r2.config import R2Config
from sluicegate_r2.vending import MAX_LIFETIME, Vending, configured_vending
from sluicegate_s3.access import Access
from sluicegate_s3.bucket import S3Bucket
from sluicegate_s3.config import S3Config

REGION = "auto"


class R2Storage(S3Bucket):
    """Signs, opens and vends locations below one prefix of one bucket."""

    kind = "r2"
    service = "R2"

    def __init__(
        self, config: R2Config, vending: Vending | None, clock: Callable[[], float] = time.time
    ) -> None:
        bucket = f"{config.bucket.location}/"
        s3 = S3Config(
            prefix=f"s3://{config.bucket.name}/{config.prefix.removeprefix(bucket)}",
            region=REGION,
            endpoint=config.origin,
            access_key_id=config.access_key_id,
            secret_access_key=config.secret_access_key,
        )
        keys = ObjectKeys(config.prefix, bucket, canonical_location)
        credentials = Access.configured(s3).reading
        super().__init__(keys, s3, credentials, clock, vending=vending is not None)
        self._origin = config.origin
        self._vended = vending

    @classmethod
    def configured(cls, config: R2Config, context: PluginContext) -> R2Storage:
        """Return the configured storage, without connecting to it."""
        return cls(config, configured_vending(config))

    async def end_sessions(self, principal: Principal, before: int) -> EndedSessions:
        """Explain what an administrator can do: R2 can't revoke single credentials."""
        return EndedSessions(
            applied=False,
            instructions="R2 cannot revoke single temporary credentials. To revoke all of them and "
            "all signed URLs, roll the R2 API token whose access key id is "
            f"{self._config.access_key_id} in Cloudflare's dashboard, and configure the new keys in "
            "the gateway. This interrupts the access of all recipients.",
        )

    async def aclose(self) -> None:
        """Release connections."""
        await super().aclose()
        if self._vended is not None:
            await self._vended.aclose()

    async def _vend(self, scope: Scope, directories: Sequence[str]) -> TemporaryCredentials:
        if self._vended is None:
            return await super()._vend(scope, directories)
        prefixes = [] if "" in directories else [f"{directory}/" for directory in directories]
        at, lifetime = int(self._clock()), min(scope.lifetime, MAX_LIFETIME)
        return TemporaryCredentials(
            location=scope.locations[0],
            kind="r2",
            secret=await self._vended.secret(prefixes, at, lifetime),
            expires_at=(at + lifetime) * 1000,
            connection={"region": REGION, "endpoint": self._origin, "path_style": "true"},
        )
