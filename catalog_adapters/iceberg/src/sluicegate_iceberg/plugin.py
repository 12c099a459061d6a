"""What the adapter offers to the gateway."""

from __future__ import annotations

from collections.abc import Sequence

from sluicegate.api import CatalogType, FormatType, hookimpl
from sluicegate_iceberg.catalog import IcebergCatalog
from sluicegate_iceberg.config import IcebergConfig
from sluicegate_iceberg.format.table_format import IcebergFormat


@hookimpl
def sluicegate_register_catalogs() -> Sequence[CatalogType]:
    """The catalog type `iceberg`."""
    return [CatalogType("iceberg", IcebergConfig, IcebergCatalog.configured)]


@hookimpl
def sluicegate_register_formats() -> Sequence[FormatType]:
    """The table format `iceberg`."""
    return [FormatType("iceberg", IcebergFormat)]
