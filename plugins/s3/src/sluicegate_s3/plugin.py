"""Entry point of the plugin `s3`."""

from __future__ import annotations

from collections.abc import Sequence

from sluicegate.api import StorageType, hookimpl
from sluicegate_s3.address import SCHEMES
from sluicegate_s3.config import S3Config
from sluicegate_s3.storage import S3Storage

sluicegate_api_version = "1.2"


@hookimpl
def sluicegate_register_storage() -> Sequence[StorageType]:
    """Return the storage type `s3`."""
    return [StorageType(name="s3", schemes=SCHEMES, config=S3Config, factory=S3Storage.configured)]
