"""Registers the adapter with the gateway."""

from __future__ import annotations

from collections.abc import Sequence

from sluicegate.api import CatalogType, hookimpl
from sluicegate_unity.catalog import UnityCatalog
from sluicegate_unity.config import UnityConfig

sluicegate_api_version = "1.1"


@hookimpl
def sluicegate_register_catalogs() -> Sequence[CatalogType]:
    """Return the catalog type `unity`."""
    return [CatalogType("unity", UnityConfig, UnityCatalog.configured)]
