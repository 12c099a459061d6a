"""Entry point of the plugin `r2`."""

from __future__ import annotations

from collections.abc import Sequence

from sluicegate.api import StorageType, hookimpl
from sluicegate_r2.address import SCHEME, spelled_one_way
from sluicegate_r2.config import R2Config
from sluicegate_r2.storage import R2Storage


@hookimpl
def sluicegate_register_storage() -> Sequence[StorageType]:
    """The storage type `r2`."""
    return [
        StorageType(
            name="r2",
            schemes=(SCHEME,),
            config=R2Config,
            factory=R2Storage.configured,
            canonical=spelled_one_way,
        )
    ]
