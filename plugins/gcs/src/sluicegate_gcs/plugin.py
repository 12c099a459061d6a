"""Entry point of the plugin `gcs`."""

from __future__ import annotations

from collections.abc import Sequence

from sluicegate.api import StorageType, hookimpl
from sluicegate_gcs.address import SCHEMES
from sluicegate_gcs.config import GCSConfig
from sluicegate_gcs.storage import GCSStorage

sluicegate_api_version = "1.2"


@hookimpl
def sluicegate_register_storage() -> Sequence[StorageType]:
    """Return the storage type `gcs`."""
    return [StorageType(name="gcs", schemes=SCHEMES, config=GCSConfig, factory=GCSStorage.configured)]
