"""The obstore stores of one container: its own, and some for tokens that others vended."""

from __future__ import annotations

from collections import OrderedDict
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, TypeAlias

from sluicegate_azure.access import Access
from sluicegate_azure.config import AzureConfig
from sluicegate_azure.given import GivenSas

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from obstore.store import AzureCredential, AzureStore, ClientConfig, RetryConfig

    Provider: TypeAlias = Callable[[], Coroutine[None, None, AzureCredential]]

_MOST_VENDED = 64


class Stores:
    """Makes stores when first needed and keeps them: each has a connection pool.

    Args:
        config: The container.
        access: What the instance's own store reads with.
    """

    def __init__(self, config: AzureConfig, access: Access) -> None:
        self._config = config
        self._access = access
        self._own: AzureStore | None = None
        self._vended: OrderedDict[GivenSas, AzureStore] = OrderedDict()

    def own(self) -> AzureStore:
        """The store that reads with the instance's own access."""
        if self._own is None:
            self._own = self._store(self._access.credential)
        return self._own

    def vended(self, given: GivenSas) -> AzureStore:
        """A store that reads with a given token; the least recently used one makes room."""
        store = self._vended.pop(given, None) or self._store(_always(given))
        self._vended[given] = store
        if len(self._vended) > _MOST_VENDED:
            self._vended.popitem(last=False)
        return store

    def clear(self) -> None:
        """Forget all stores, and with them their connections."""
        self._own = None
        self._vended.clear()

    def _store(self, provider: Provider) -> AzureStore:
        """A store of exactly this configuration.

        obstore lets environment variables speak where an argument is missing.
        """
        from obstore.store import AzureStore

        endpoint = self._config.service_endpoint
        return AzureStore(
            self._config.container.name,
            account_name=self._config.container.account,
            endpoint=endpoint,
            use_emulator=False,
            use_fabric_endpoint=False,
            skip_signature=False,
            client_options=_client_options(endpoint),
            retry_config=_retries(),
            credential_provider=provider,
        )


def _always(given: GivenSas) -> Provider:
    async def provide() -> AzureCredential:
        end = datetime.fromtimestamp(given.expires_at / 1000, UTC)
        return {"sas_token": given.token, "expires_at": end}

    return provide


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
