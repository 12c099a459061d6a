"""obstore stores of one container: the storage's own, and some for vended tokens."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeAlias

from sluicegate.api import ObjectStores, client_options, retry_config
from sluicegate_azure.access import Access
from sluicegate_azure.config import AzureConfig
from sluicegate_azure.vended_sas import VendedSas

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from obstore.store import AzureCredential, AzureStore

    Provider: TypeAlias = Callable[[], Coroutine[None, None, AzureCredential]]


class Stores(ObjectStores[VendedSas, "AzureStore"]):
    """Stores of one container.

    Args:
        config: The container's configuration.
        access: Provides credentials for the storage's own store.
    """

    def __init__(self, config: AzureConfig, access: Access) -> None:
        super().__init__()
        self._config = config
        self._access = access

    def _make_own(self) -> AzureStore:
        return self._store(self._access.credential)

    def _make_vended(self, given: VendedSas) -> AzureStore:
        return self._store(_always(given))

    def _store(self, provider: Provider) -> AzureStore:
        """Return a store with exactly this configuration.

        obstore falls back to environment variables for missing arguments.
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
            client_options=client_options(endpoint),
            retry_config=retry_config(),
            credential_provider=provider,
        )


def _always(given: VendedSas) -> Provider:
    async def provide() -> AzureCredential:
        end = datetime.fromtimestamp(given.expires_at / 1000, UTC)
        return {"sas_token": given.token, "expires_at": end}

    return provide
