"""Reads Delta tables with the gateway's reader and the task's credentials."""

from __future__ import annotations

from collections.abc import Collection

from sluicegate.api import CatalogTable, NotFound
from sluicegate.formats import DeltaFormat, DeltaVersion, Snapshot, latest_delta_version
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


async def delta_version(
    objects: ObjectAccess, location: str, without: Collection[str] = ()
) -> DeltaVersion | None:
    """Return the newest version of a Delta table without its files, or `None` if there is no table.

    Args:
        objects: Opens the log.
        location: The table's directory.
        without: Names of unreadable parts of the log. Checkpoints with them are not used.

    Raises:
        TableUnreadable: The log is broken, or needs an unsupported feature.
        StorageError: The store doesn't respond or denies access.
    """
    table = CatalogTable(location, "delta", location)
    try:
        return await latest_delta_version(table, objects.directory(location), without)
    except NotFound:
        return None
