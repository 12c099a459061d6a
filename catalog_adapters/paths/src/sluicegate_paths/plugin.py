"""Registers the adapter with the gateway."""

from collections.abc import Sequence

from sluicegate.api import CatalogType, PluginContext, hookimpl
from sluicegate_paths.catalog import PathsCatalog
from sluicegate_paths.config import PathsConfig

sluicegate_api_version = "1.1"


@hookimpl
def sluicegate_register_catalogs() -> Sequence[CatalogType]:
    """Return the catalog type `paths`."""
    return [CatalogType("paths", PathsConfig, _build)]


def _build(config: PathsConfig, context: PluginContext) -> PathsCatalog:
    return PathsCatalog(config, context)
