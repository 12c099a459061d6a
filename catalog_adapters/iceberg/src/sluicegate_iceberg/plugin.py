"""Registers the adapter with the gateway."""

from __future__ import annotations

from collections.abc import Sequence

from sluicegate.api import CatalogType, FormatType, hookimpl
from sluicegate_iceberg.catalog import IcebergCatalog
from sluicegate_iceberg.config import IcebergConfig
from sluicegate_iceberg.format.table_format import IcebergFormat

sluicegate_api_version = "1.1"


@hookimpl
def sluicegate_register_catalogs() -> Sequence[CatalogType]:
    """Return the catalog type `iceberg`."""
    return [CatalogType("iceberg", IcebergConfig, IcebergCatalog.configured)]


@hookimpl
def sluicegate_register_formats() -> Sequence[FormatType]:
    """Return the table format `iceberg`."""
    return [FormatType("iceberg", IcebergFormat)]
