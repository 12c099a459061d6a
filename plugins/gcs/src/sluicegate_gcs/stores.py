"""obstore stores of one bucket: the storage's own, and some for vended tokens."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from sluicegate.api import ObjectStores, client_options, retry_config
from sluicegate_gcs.tokens import AccessToken

if TYPE_CHECKING:
    from obstore.store import GCSCredential, GCSStore


class Stores(ObjectStores[AccessToken, "GCSStore"]):
    """Stores of one bucket at one endpoint."""

    def __init__(self, bucket: str, endpoint: str, token: Callable[[], Awaitable[AccessToken]]) -> None:
        super().__init__()
        self._bucket = bucket
        self._endpoint = endpoint
        self._token = token

    def _make_own(self) -> GCSStore:
        return self._store(self._token)

    def _make_vended(self, given: AccessToken) -> GCSStore:
        async def token() -> AccessToken:
            return given

        return self._store(token)

    def _store(self, token: Callable[[], Awaitable[AccessToken]]) -> GCSStore:
        from obstore.store import GCSStore

        async def provide() -> GCSCredential:
            current = await token()
            end = datetime.fromtimestamp(current.expires_at / 1000, UTC)
            return {"token": current.value, "expires_at": end}

        return GCSStore(
            self._bucket,
            base_url=self._endpoint,
            skip_signature=False,  # otherwise, an environment variable decides
            client_options=client_options(self._endpoint),
            retry_config=retry_config(),
            credential_provider=provide,
        )
