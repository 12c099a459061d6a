"""What the plugin offers to the gateway."""

from __future__ import annotations

from collections.abc import Sequence

from sluicegate.api import CatalogType, hookimpl
from sluicegate_manifest.catalog import ManifestCatalog
from sluicegate_manifest.config import ManifestConfig


@hookimpl
def sluicegate_register_catalogs() -> Sequence[CatalogType]:
    """The catalog type `manifest`."""
    return [CatalogType("manifest", ManifestConfig, ManifestCatalog)]
