"""Reads Delta tables with the gateway's reader and the task's credentials."""

from __future__ import annotations

from sluicegate.api import CatalogTable, NotFound
from sluicegate.formats import DeltaFormat, Snapshot
from sluicegate_spark.objects import ObjectAccess


async def delta_snapshot(objects: ObjectAccess, location: str) -> Snapshot | None:
    """Return the newest snapshot of the Delta table in a directory, or `None` if there is no table.

    Raises:
        TableUnreadable: The log is broken, or needs an unsupported feature.
        StorageError: The store doesn't respond or denies access.
    """
    table = CatalogTable(location, "delta", location)
    try:
        return await DeltaFormat().latest(table, objects.directory(location), None)
    except NotFound:
        return None
