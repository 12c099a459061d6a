"""Drops a purged table from its catalog, for catalogs that don't do this themselves.

Source: Polaris delegation proposal, "Order Of Deletion".
"""

from __future__ import annotations

from sluicegate.api import TaskFailed, Unavailable
from sluicegate_iceberg.rest.refusal import Refused
from sluicegate_spark.tables import Table, TaskCatalog


def catalog_of(table: Table) -> TaskCatalog:
    """Return the catalog from which the table can be dropped."""
    if table.catalog is None:
        raise TaskFailed(
            "the property 'drop_catalog_entry' needs the table's catalog, which is not configured for "
            "the executor; nothing was deleted",
            error_code="INVALID_PAYLOAD",
        )
    return table.catalog


async def drop_entry(table: Table) -> None:
    """Drop a purged table from its catalog, unless the entry is missing or now of another table."""
    client = catalog_of(table).client
    try:
        if await _is_current(table):
            await client.drop(table.name, lambda: _is_current(table))
    except Unavailable as error:
        raise _unfinished(
            "the table's files were deleted, but its catalog did not drop the table; the next attempt "
            "tries again",
            error.detail,
        ) from error


async def check_entry(table: Table) -> None:
    """Ensure that no writer changed a purged table meanwhile: its new metadata names deleted files.

    If the catalog can't load the table without its metadata file, no writer has changed it.
    """
    if table.catalog is None:
        return
    try:
        loaded = await table.catalog.client.load(table.name)
    except Refused:
        return
    except Unavailable as error:
        raise _unfinished(
            "the table's files were deleted, but its catalog does not respond, so a writer may have "
            "changed the table meanwhile; the next attempt checks again",
            error.detail,
        ) from error
    is_same = loaded.metadata.identity == table.table_id
    if is_same and loaded.metadata_location != table.metadata_location:
        raise _unfinished(
            "a writer changed the table while its files were deleted: the catalog still has the table, "
            f"with the metadata file '{loaded.metadata_location}', but it can no longer be read; the "
            "next attempt deletes what the writer added"
        )


def _unfinished(why: str, detail: str | None = None) -> TaskFailed:
    return TaskFailed(why, error_code="STORAGE_FAILED", retryable=True, detail=detail)


async def _is_current(table: Table) -> bool:
    """Return whether the catalog still has the purged table.

    Some catalogs need the metadata file to load a table: without it, they report a missing table.
    """
    try:
        loaded = await catalog_of(table).client.load(table.name)
    except Refused as refused:
        if not refused.says_missing:
            raise
        return True
    return loaded.metadata_location == table.metadata_location
