"""The obstore store of a bucket."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from sluicegate.api import client_options, retry_config
from sluicegate_gcs.tokens import AccessToken

if TYPE_CHECKING:
    from obstore.store import GCSCredential, GCSStore


def make_store(bucket: str, endpoint: str, token: Callable[[], Awaitable[AccessToken]]) -> GCSStore:
    """Return a store of the bucket, which reads with the current token."""
    from obstore.store import GCSStore

    async def provide() -> GCSCredential:
        current = await token()
        end = datetime.fromtimestamp(current.expires_at / 1000, UTC)
        return {"token": current.value, "expires_at": end}

    return GCSStore(
        bucket,
        base_url=endpoint,
        skip_signature=False,  # otherwise, an environment variable decides
        client_options=client_options(endpoint),
        retry_config=retry_config(),
        credential_provider=provide,
    )
