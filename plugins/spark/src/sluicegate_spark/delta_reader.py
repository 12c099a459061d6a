"""Reads Delta tables with the gateway's reader and the task's credentials."""

from __future__ import annotations

from collections.abc import Collection

from sluicegate.api import CatalogTable, NotFound
from sluicegate.formats import DeltaFormat, DeltaVersion, Snapshot, latest_delta_version
from sluicegate_spark.objects import ObjectAccess


async def delta_snapshot(objects: ObjectAccess, location: str) -> Snapshot | None:
    """Return the newest snapshot of the Delta table in a directory, or `None` if there is no table."""
    table = CatalogTable(location, "delta", location)
    try:
        return await DeltaFormat().latest(table, objects.directory(location), None)
    except NotFound:
        return None


async def delta_version(
    objects: ObjectAccess, location: str, without: Collection[str] = ()
) -> DeltaVersion | None:
    """Return the newest version of a Delta table without its files, or `None` if there is no table."""
    table = CatalogTable(location, "delta", location)
    try:
        return await latest_delta_version(table, objects.directory(location), without)
    except NotFound:
        return None
