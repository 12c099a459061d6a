"""The obstore store of a container."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeAlias

from sluicegate.api import client_options, retry_config
from sluicegate_azure.config import AzureConfig
from sluicegate_azure.vended_sas import VendedSas

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from obstore.store import AzureCredential, AzureStore

    Provider: TypeAlias = Callable[[], Coroutine[None, None, AzureCredential]]


def make_store(config: AzureConfig, provider: Provider) -> AzureStore:
    """Return a store with exactly this configuration.

    obstore falls back to environment variables for missing arguments.
    """
    from obstore.store import AzureStore

    endpoint = config.service_endpoint
    return AzureStore(
        config.container.name,
        account_name=config.container.account,
        endpoint=endpoint,
        use_emulator=False,
        use_fabric_endpoint=False,
        skip_signature=False,
        client_options=client_options(endpoint),
        retry_config=retry_config(),
        credential_provider=provider,
    )


def always(given: VendedSas) -> Provider:
    """Return a provider of vended credentials."""

    async def provide() -> AzureCredential:
        end = datetime.fromtimestamp(given.expires_at / 1000, UTC)
        return {"sas_token": given.token, "expires_at": end}

    return provide
