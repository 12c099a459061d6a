"""The table's entry in its catalog, for catalogs that do not drop it themselves after the purge.

Source: polaris-delegation-service.md, "Order Of Deletion".
"""

from __future__ import annotations

from sluicegate.api import TaskFailed, Unavailable
from sluicegate_iceberg.refusal import Refused
from sluicegate_spark.tables import Table, TaskCatalog


def catalog_of(table: Table) -> TaskCatalog:
    """The catalog that an entry can be dropped from.

    Raises:
        TaskFailed: The executor does not know it (`INVALID_PAYLOAD`).
    """
    if table.catalog is None:
        raise TaskFailed(
            "drop_catalog_entry needs the table's catalog among the executor's catalogs; nothing was "
            "deleted",
            error_code="INVALID_PAYLOAD",
        )
    return table.catalog


async def drop_entry(table: Table) -> None:
    """Drop the entry of a purged table; one that is gone, or another table's by now, is left alone.

    Raises:
        TaskFailed: The catalog refuses, to be tried again as when it does not answer.
    """
    client = catalog_of(table).client
    try:
        if await _is_current(table):
            await client.drop(table.name)
    except Unavailable as error:
        if isinstance(error, Refused) and error.says_dropped:
            return
        raise TaskFailed(
            "the table's files are deleted, but its catalog does not drop its entry now",
            error_code="STORAGE_FAILED",
            retryable=True,
            detail=error.detail,
        ) from error


async def _is_current(table: Table) -> bool:
    """Whether the entry is still that of the purged metadata; some catalogs cannot tell without it."""
    try:
        loaded = await catalog_of(table).client.load(table.name)
    except Refused as refused:
        if not refused.says_missing:
            raise
        return True
    return loaded.metadata_location == table.metadata_location
