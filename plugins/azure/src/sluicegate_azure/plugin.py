"""Entry point of the plugin `azure`."""

from __future__ import annotations

from collections.abc import Sequence

from sluicegate.api import StorageType, hookimpl
from sluicegate_azure.address import SCHEMES, canonical_spelling
from sluicegate_azure.config import AzureConfig
from sluicegate_azure.storage import AzureStorage


@hookimpl
def sluicegate_register_storage() -> Sequence[StorageType]:
    """The storage type `azure`."""
    return [
        StorageType(
            name="azure",
            schemes=SCHEMES,
            config=AzureConfig,
            factory=AzureStorage.configured,
            canonical=canonical_spelling,
        )
    ]
