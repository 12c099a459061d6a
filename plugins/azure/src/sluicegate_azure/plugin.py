"""Entry point of the plugin `azure`."""

from __future__ import annotations

from collections.abc import Sequence

from sluicegate.api import StorageType, hookimpl
from sluicegate_azure.address import SCHEMES, canonical_location
from sluicegate_azure.config import AzureConfig
from sluicegate_azure.storage import AzureStorage

sluicegate_api_version = "1.2"


@hookimpl
def sluicegate_register_storage() -> Sequence[StorageType]:
    """Return the storage type `azure`."""
    return [
        StorageType(
            name="azure",
            schemes=SCHEMES,
            config=AzureConfig,
            factory=AzureStorage.configured,
            canonical=canonical_location,
        )
    ]
