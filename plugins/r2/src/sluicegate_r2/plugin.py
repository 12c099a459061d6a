"""Entry point of the plugin `r2`."""

from __future__ import annotations

from collections.abc import Sequence

from sluicegate.api import StorageType, hookimpl
from sluicegate_r2.address import SCHEME, canonical_location
from sluicegate_r2.config import R2Config
from sluicegate_r2.storage import R2Storage

sluicegate_api_version = "1.2"


@hookimpl
def sluicegate_register_storage() -> Sequence[StorageType]:
    """Return the storage type `r2`."""
    return [
        StorageType(
            name="r2",
            schemes=(SCHEME,),
            config=R2Config,
            factory=R2Storage.configured,
            canonical=canonical_location,
        )
    ]
