"""Detects the table at a location: a Delta table, an Iceberg table, or nothing."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable

from sluicegate.api import CatalogTable, ObjectDirectory, TableUnreadable
from sluicegate_paths.iceberg import MetadataFile, newest_metadata

# After this time, a table that was created again in the other format is detected.
_DELTA_FOR_SECONDS = 300.0
_KNOWN = 10_000


def delta_table(location: str) -> CatalogTable:
    """Return the Delta table at a location."""
    return CatalogTable(_id(location), "delta", location)


def iceberg_table(location: str, newest: MetadataFile) -> CatalogTable:
    """Return the Iceberg table at a location."""
    metadata = f"{location}/{newest.name}"
    return CatalogTable(
        _id(location), "iceberg", location, metadata_location=metadata, metadata_tag=newest.tag
    )


def pinned_table(location: str, metadata: str) -> CatalogTable:
    """Return the Iceberg table at a location, pinned to one of its metadata files."""
    return CatalogTable(_id(metadata), "iceberg", location, metadata_location=metadata)


async def is_delta(directory: ObjectDirectory) -> bool:
    """Return whether a directory contains a Delta log."""
    async for _ in directory.store.list(directory.key("_delta_log"), chunk_size=1):
        return True
    return False


async def is_table(directory: ObjectDirectory) -> bool:
    """Return whether a directory contains a table of either format, even an ambiguous Iceberg table."""
    try:
        return await is_delta(directory) or await newest_metadata(directory) is not None
    except TableUnreadable:
        return True


class KnownDelta:
    """Locations with a known Delta log, which are not checked again for a while."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._until: dict[str, float] = {}

    def add(self, location: str) -> None:
        """Add a location."""
        if len(self._until) >= _KNOWN:
            self._until.clear()
        self._until[location] = self._clock() + _DELTA_FOR_SECONDS

    def __contains__(self, location: str) -> bool:
        return self._clock() < self._until.get(location, 0.0)


def _id(location: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_URL, location))
