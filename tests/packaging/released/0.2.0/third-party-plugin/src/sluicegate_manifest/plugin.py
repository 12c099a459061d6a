"""Entry point of the plugin `manifest`."""

from __future__ import annotations

from collections.abc import Sequence

from sluicegate.api import CatalogType, hookimpl
from sluicegate_manifest.catalog import ManifestCatalog
from sluicegate_manifest.config import ManifestConfig

sluicegate_api_version = "1.0"


@hookimpl
def sluicegate_register_catalogs() -> Sequence[CatalogType]:
    """Return the catalog type `manifest`."""
    return [CatalogType("manifest", ManifestConfig, ManifestCatalog)]
