"""The obstore stores of one bucket: its own, and some for tokens that others vended."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from sluicegate_gcs.tokens import AccessToken

if TYPE_CHECKING:
    from obstore.store import ClientConfig, GCSCredential, GCSStore, RetryConfig

_MOST_VENDED = 64


class Stores:
    """Makes stores when first needed and keeps them: each has a connection pool."""

    def __init__(self, bucket: str, endpoint: str, token: Callable[[], Awaitable[AccessToken]]) -> None:
        self._bucket = bucket
        self._endpoint = endpoint
        self._token = token
        self._own: GCSStore | None = None
        self._vended: OrderedDict[AccessToken, GCSStore] = OrderedDict()

    def own(self) -> GCSStore:
        """The store that reads as the gateway, always with a fresh token."""
        if self._own is None:
            self._own = self._store(self._token)
        return self._own

    def vended(self, token: AccessToken) -> GCSStore:
        """A store that reads with a given token; the least recently used one makes room."""

        async def given() -> AccessToken:
            return token

        store = self._vended.pop(token, None) or self._store(given)
        self._vended[token] = store
        if len(self._vended) > _MOST_VENDED:
            self._vended.popitem(last=False)
        return store

    def clear(self) -> None:
        """Forget all stores, and with them their connections."""
        self._own = None
        self._vended.clear()

    def _store(self, token: Callable[[], Awaitable[AccessToken]]) -> GCSStore:
        from obstore.store import GCSStore

        async def provide() -> GCSCredential:
            current = await token()
            end = datetime.fromtimestamp(current.expires_at / 1000, UTC)
            return {"token": current.value, "expires_at": end}

        return GCSStore(
            self._bucket,
            base_url=self._endpoint,
            skip_signature=False,  # else an environment variable decides
            client_options=_client_options(self._endpoint),
            retry_config=_retries(),
            credential_provider=provide,
        )


def _client_options(endpoint: str) -> ClientConfig:
    """Give up on silence quickly, not on size: a whole answer may take long as long as bytes flow."""
    return {
        "allow_http": endpoint.startswith("http://"),
        "connect_timeout": timedelta(seconds=2),
        "read_timeout": timedelta(seconds=5),
        "timeout": timedelta(minutes=5),
    }


def _retries() -> RetryConfig:
    """No attempt starts after four seconds, so a dead store is an error within ten."""
    return {
        "max_retries": 3,
        "retry_timeout": timedelta(seconds=4),
        "backoff": {
            "init_backoff": timedelta(milliseconds=100),
            "max_backoff": timedelta(seconds=1),
            "base": 2,
        },
    }
